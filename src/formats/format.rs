//! The file formats, and which of them a path asks for.

use std::fmt;
use std::path::{Path, is_separator};
use std::str::FromStr;

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
    /// A `tokenizer.json` of version 2.0, which tokenizers 1.0 reads and 0.23 refuses. What is read is a
    /// [`TokenizerJson`](Self::TokenizerJson), whatever its version.
    TokenizerJson2,
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
    /// The format that an output path asks for: a folder if it ends with a separator, otherwise the
    /// format of its name or extension. `.model` is the format of SentencePiece, not that of
    /// minbpe.
    pub fn of_path(path: &Path) -> Option<Self> {
        if ends_with_separator(path) {
            return Some(Self::Folder);
        }
        let name = path.file_name()?.to_str()?;
        // Such as `gpt2-vocab.json`; `my_vocab.json` is a tokenizer.json.
        let is_one_of = |end: &&str| {
            name.strip_suffix(*end)
                .is_some_and(|it| it.is_empty() || it.ends_with('-'))
        };
        if ["vocab.json", "merges.txt", "encoder.json", "vocab.bpe"]
            .iter()
            .any(is_one_of)
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
            Self::TokenizerJson2 => "tokenizer.json@2",
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

/// A format by its name in options: `model`, `tokenizer.json`, `tokenizer.json@2`, `gguf`, `tiktoken`, `vocab-merges`,
/// `tekken`, `minbpe`, `vocab.txt` or `folder`.
impl FromStr for FileFormat {
    type Err = ParseFileFormatError;

    fn from_str(name: &str) -> Result<Self, ParseFileFormatError> {
        Ok(match name {
            "model" => Self::Model,
            "tokenizer.json" => Self::TokenizerJson,
            "tokenizer.json@2" => Self::TokenizerJson2,
            "gguf" => Self::Gguf,
            "tiktoken" => Self::Tiktoken,
            "vocab-merges" => Self::VocabMerges,
            "tekken" => Self::Tekken,
            "minbpe" => Self::Minbpe,
            "vocab.txt" => Self::VocabTxt,
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
            "unknown format {:?}; use model, tokenizer.json, tokenizer.json@2, gguf, tiktoken, vocab-merges, tekken, \
             minbpe, vocab.txt or folder",
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

#[cfg(test)]
mod tests {
    use super::*;

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
