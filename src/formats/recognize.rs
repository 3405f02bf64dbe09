//! The format of a file, recognized by its content.
//!
//! A GGUF file starts with its magic number. A `tokenizer.json` is a JSON object, so it starts with
//! a brace and a quote (or a second brace), apart from whitespace; so do `vocab.json`, whose first
//! value is a number, and `tekken.json`, which has fields that no other file has. The first line
//! tells the files of tiktoken and minbpe, and lists of merges; a line `[UNK]` the `vocab.txt` of
//! BERT. Everything else is treated as a `.model` file, whose reader reports what is wrong with it.
//! No usual `.model` file starts like JSON: the brace would be the length of its first piece (123
//! bytes), and the quote the length of that piece's text (34 bytes), which do not fit together.

use super::bytes;
use super::format::FileFormat;
use super::wordpiece;

/// The first bytes of a GGUF file.
const GGUF_MAGIC: &[u8] = b"GGUF";
/// The byte order mark of UTF-8. JSON must not start with it, but some editors write it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

impl FileFormat {
    /// The format of a file that starts with these bytes; [`FileFormat::Model`] if they match no
    /// other format.
    pub fn of_content(start: &[u8]) -> Self {
        if start.starts_with(GGUF_MAGIC) {
            Self::Gguf
        } else if bytes::is_start_of_js_ranks(start) {
            Self::Tiktoken
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
}
