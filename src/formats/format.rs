//! File formats: recognized by content when reading, by path when writing.
//!
//! A GGUF file starts with its magic number. A `tokenizer.json` is a JSON object, so it starts with
//! a brace and a quote (or a second brace), apart from whitespace; so do `vocab.json`, whose first
//! value is a number, and `tekken.json`, which has fields that no other file has. The first line
//! tells the files of tiktoken and minbpe, and lists of merges; a line `[UNK]` the `vocab.txt` of
//! BERT. Everything else is treated as a `.model` file, whose reader reports what is wrong with it.
//! No usual `.model` file starts like JSON: the brace would be the length of its first piece (123
//! bytes), and the quote the length of that piece's text (34 bytes), which do not fit together.

use super::{bytes, wordpiece};
use std::fmt;
use std::path::{Path, is_separator};
use std::str::FromStr;

/// The first bytes of a GGUF file.
const GGUF_MAGIC: &[u8] = b"GGUF";
/// The byte order mark of UTF-8. JSON must not start with it, but some editors write it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// A file format of tokenizers.
///
/// ```
/// use spiece::formats::FileFormat;
/// use std::path::Path;
///
/// assert_eq!(FileFormat::of_content(b"{\"version\": \"1.0\"}"), FileFormat::TokenizerJson);
/// assert_eq!(FileFormat::of_content(b"GGUF\x03\0\0\0"), FileFormat::Gguf);
/// assert_eq!(FileFormat::of_path(Path::new("m/")), Some(FileFormat::Folder));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileFormat {
    /// A `.model` file of SentencePiece.
    Model,
    /// A `tokenizer.json` of the library `tokenizers`.
    TokenizerJson,
    /// A GGUF file of llama.cpp.
    Gguf,
    /// Byte-level tokens and ranks of tiktoken.
    Tiktoken,
    /// The `vocab.json` or `merges.txt` of GPT-2, of which one needs the other.
    VocabMerges,
    /// The `tekken.json` of Mistral.
    Tekken,
    /// A `.model` file of minbpe.
    Minbpe,
    /// The `vocab.txt` of BERT: WordPiece pieces.
    VocabTxt,
    /// A folder for `AutoTokenizer.from_pretrained` of the library `transformers`.
    Folder,
}

impl FileFormat {
    /// The format of a file that starts with these bytes; [`FileFormat::Model`] if they match no
    /// other format.
    pub fn of_content(start: &[u8]) -> Self {
        if start.starts_with(GGUF_MAGIC) {
            Self::Gguf
        } else if is_json_object(start) {
            if bytes::is_start_of_vocab(start) {
                return Self::VocabMerges;
            } else if bytes::is_start_of_tekken(start) {
                return Self::Tekken;
            }
            Self::TokenizerJson
        } else {
            if bytes::is_start_of_minbpe(start) {
                return Self::Minbpe;
            } else if bytes::is_start_of_merges(start) {
                return Self::VocabMerges;
            } else if bytes::is_start_of_tiktoken(start) {
                return Self::Tiktoken;
            } else if wordpiece::is_start(start) {
                return Self::VocabTxt;
            }
            Self::Model
        }
    }

    /// The format that an output path asks for: a folder if it ends with a separator, otherwise the
    /// format of its name or extension. `.model` is the format of SentencePiece, not that of
    /// minbpe.
    pub fn of_path(path: &Path) -> Option<Self> {
        if ends_with_separator(path) {
            return Some(Self::Folder);
        }
        let name = path.file_name()?.to_str()?;
        if ["vocab.json", "merges.txt", "encoder.json", "vocab.bpe"]
            .iter()
            .any(|end| name.ends_with(end))
        {
            return Some(Self::VocabMerges);
        } else if name == "tekken.json" {
            return Some(Self::Tekken);
        } else if name.ends_with("vocab.txt") {
            return Some(Self::VocabTxt);
        }
        match path.extension()?.to_str()? {
            "model" => Some(Self::Model),
            "json" => Some(Self::TokenizerJson),
            "gguf" => Some(Self::Gguf),
            "tiktoken" => Some(Self::Tiktoken),
            _ => None,
        }
    }

    /// The name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Model => ".model",
            Self::TokenizerJson => "tokenizer.json",
            Self::Gguf => "GGUF",
            Self::Tiktoken => ".tiktoken",
            Self::VocabMerges => "vocab.json and merges.txt",
            Self::Tekken => "tekken.json",
            Self::Minbpe => "minbpe .model",
            Self::VocabTxt => "vocab.txt",
            Self::Folder => "folder",
        }
    }
}

/// A format by its name in options: `model`, `tokenizer.json`, `gguf`, `tiktoken`, `vocab-merges`,
/// `tekken`, `minbpe` or `folder`.
impl FromStr for FileFormat {
    type Err = ParseFileFormatError;

    fn from_str(name: &str) -> Result<Self, ParseFileFormatError> {
        Ok(match name {
            "model" => Self::Model,
            "tokenizer.json" => Self::TokenizerJson,
            "gguf" => Self::Gguf,
            "tiktoken" => Self::Tiktoken,
            "vocab-merges" => Self::VocabMerges,
            "tekken" => Self::Tekken,
            "minbpe" => Self::Minbpe,
            "folder" => Self::Folder,
            _ => {
                let name = name.to_owned();
                return Err(ParseFileFormatError { name });
            }
        })
    }
}

/// A name that no [`FileFormat`] has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseFileFormatError {
    /// The name.
    pub name: String,
}

impl fmt::Display for ParseFileFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown format {:?}; use model, tokenizer.json, gguf, tiktoken, vocab-merges, tekken, \
             minbpe or folder",
            self.name
        )
    }
}

impl std::error::Error for ParseFileFormatError {}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

fn ends_with_separator(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|byte| is_separator(char::from(*byte)))
}

/// Whether the bytes start like a JSON object.
fn is_json_object(start: &[u8]) -> bool {
    let start = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(start);
    let Some(inside) = start.trim_ascii_start().strip_prefix(b"{") else {
        return false;
    };
    matches!(inside.trim_ascii_start().first(), Some(b'"' | b'}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognized_after_whitespace_and_a_byte_order_mark() {
        for json in [
            "{\"a\": {}}",
            " \n\t{ \"a\"",
            "{}",
            "\u{feff}{\"a\"",
            "{\n}",
        ] {
            let format = FileFormat::of_content(json.as_bytes());
            assert_eq!(format, FileFormat::TokenizerJson, "{json:?}");
        }
        // A piece of 123 bytes, whose length is the brace.
        for other in [&b"\n{\nt"[..], b"", b"{", b"[1]", b"\x0a\x0e\x0a\x05<unk>"] {
            let format = FileFormat::of_content(other);
            assert_eq!(format, FileFormat::Model, "{other:?}");
        }
    }
    #[test]
    fn byte_level_vocabularies_are_recognized() {
        let vocab = [
            "{\"!\": 0",
            "{ \"\\\"\": 1, ",
            "\u{feff}{\"a\":7}",
            "#version: 0.2\n",
        ];
        let tekken = ["{\"config\": {\"pattern\": \"\", \"default_num_special_tokens\": 1"];
        let minbpe = ["minbpe v1\n", "minbpe v1\r\n\r\n0"];
        let tiktoken = ["IQ== 0\nIg== 1\nIw== 2\n", "\nIQ== 0", "IQ==\t0\r\n\r\n"];
        for (format, starts) in [
            (FileFormat::VocabMerges, &vocab[..]),
            (FileFormat::Tekken, &tekken),
            (FileFormat::Minbpe, &minbpe),
            (FileFormat::Tiktoken, &tiktoken),
            (
                FileFormat::Model,
                &["minbpe v10", "IQ= 0", "IQ== x", "abcd", "IQ== 0 1"],
            ),
            (
                FileFormat::TokenizerJson,
                &["{\"a\": \"1\"", "{\"a\": {\"b\": 1}"],
            ),
        ] {
            for start in starts {
                assert_eq!(
                    FileFormat::of_content(start.as_bytes()),
                    format,
                    "{start:?}"
                );
            }
        }
    }

    #[test]
    fn outputs_are_named_by_extension() {
        let of = |name: &str| FileFormat::of_path(Path::new(name));
        assert_eq!(of("a/tokenizer.json"), Some(FileFormat::TokenizerJson));
        assert_eq!(of("a.model"), Some(FileFormat::Model));
        assert_eq!(of("a.b.gguf"), Some(FileFormat::Gguf));
        assert_eq!(of("a.json/"), Some(FileFormat::Folder));
        assert_eq!(of("a/m.tiktoken"), Some(FileFormat::Tiktoken));
        for name in ["m-vocab.json", "a/merges.txt", "encoder.json", "vocab.bpe"] {
            assert_eq!(of(name), Some(FileFormat::VocabMerges), "{name}");
        }
        assert_eq!(of("tekken.json"), Some(FileFormat::Tekken));
        assert_eq!(of("a/vocab.txt"), Some(FileFormat::VocabTxt));
        assert_eq!(of("a.txt"), None);
        assert_eq!(of("a"), None);
    }
}
