//! The rank files of js-tiktoken, as JSON or as a module of JavaScript.
//!
//! ```text
//! {"pat_str": "...", "special_tokens": {"<|endoftext|>": 50256}, "bpe_ranks": "! 0 IQ== Ig==\n! 9 ..."}
//! ```
//!
//! A line of ranks has the rank of its first token; the next tokens have the next ranks. The expression is one of
//! JavaScript, whose `\s` has U+FEFF and lacks U+0085. It is read as tiktoken would read it, and where the tokens are
//! those of a published vocabulary, that one's expression takes its place.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::tokens::{TokenList, checked_id};
use super::vocabulary::known_or_given;
use super::{ByteFormatOptions, ByteVocabulary};
use crate::byte_bpe::SpecialToken;
use crate::encode::bpe::merge_list::ListOrder;
use crate::formats::error::{FormatError, Place, json_error, syntax};
use crate::formats::tokenizer_json::JsonText;
use crate::formats::{Converted, FileFormat};
use crate::pattern::{PatternSyntax, Pretokenizer};

const FORMAT: FileFormat = FileFormat::Tiktoken;
/// What stands before the object in modules.
const MODULE_STARTS: [&str; 2] = ["export default ", "module.exports = "];

#[derive(serde::Deserialize)]
struct JsRanks<'j> {
    #[serde(borrow)]
    pat_str: JsonText<'j>,
    #[serde(default)]
    special_tokens: BTreeMap<String, u64>,
    #[serde(borrow)]
    bpe_ranks: JsonText<'j>,
}

/// Whether bytes begin like such a file: with an object that has these fields near its start.
pub(in crate::formats) fn is_start(start: &[u8]) -> bool {
    let start = &start[..start.len().min(4096)];
    let object = object_of(start);
    let has = |field: &[u8]| memchr::memmem::find(object, field).is_some();
    object.starts_with(b"{") && (has(b"\"pat_str\"") || has(b"\"bpe_ranks\""))
}

/// The bytes from the object on.
fn object_of(file: &[u8]) -> &[u8] {
    let file = file.trim_ascii_start();
    let module = MODULE_STARTS
        .iter()
        .find_map(|start| file.strip_prefix(start.as_bytes()));
    module.unwrap_or(file)
}

/// Reads a file.
pub(super) fn read(
    text: &str,
    options: &ByteFormatOptions,
) -> Result<Converted<ByteVocabulary>, FormatError> {
    options.refuse_pattern(FORMAT)?;
    let object = object_of(text.as_bytes()).trim_ascii_end();
    let object = object.strip_suffix(b";").unwrap_or(object);
    let file: JsRanks<'_> =
        serde_json::from_slice(object).map_err(|error| json_error(FORMAT, &error))?;
    let tokens = read_ranks(&file.bpe_ranks)?;
    let special_tokens = file.special_tokens.iter().map(|(text, id)| {
        let id = checked_id(FORMAT, *id, || Place::field("special_tokens"))?;
        Ok(SpecialToken::new(text, id))
    });
    let order = ListOrder::by_id(tokens.ids());
    let mut given = options.clone();
    given.special_tokens = Some(special_tokens.collect::<Result<_, FormatError>>()?);
    let parts = match known_or_given(&tokens, &order, &given) {
        Err(FormatError::NoPattern { .. }) => {
            let cuts = Pretokenizer::parse(&file.pat_str, PatternSyntax::Rust);
            given.pretokenizer = Some(cuts.map_err(|source| FormatError::Pattern {
                format: FORMAT,
                place: Place::field("pat_str"),
                source,
            })?);
            known_or_given(&tokens, &order, &given)
        }
        parts => parts,
    };
    ByteVocabulary::of_order(&tokens, order, parts?)
}

fn read_ranks(ranks: &str) -> Result<TokenList, FormatError> {
    let mut tokens = TokenList::new(FORMAT);
    let mut bytes = Vec::new();
    for (line, text) in (1..).zip(ranks.lines()) {
        let place = || Place::Field(format!("bpe_ranks: line {line}"));
        let problem =
            "a line is an exclamation mark, the rank of its first token, and tokens in base64";
        let mut words = text.split_ascii_whitespace();
        let (Some("!"), Some(first)) = (words.next(), words.next()) else {
            return Err(syntax(FORMAT, place(), problem));
        };
        let first: u64 = first
            .parse()
            .map_err(|_| syntax(FORMAT, place(), problem))?;
        for (rank, base64) in (first..).zip(words) {
            bytes.clear();
            let decoded = BASE64_STANDARD.decode_vec(base64, &mut bytes);
            decoded.map_err(|error| {
                let problem = format!("the token {base64:?} is not base64: {error}");
                syntax(FORMAT, place(), problem)
            })?;
            tokens.push(&bytes, rank, place)?;
        }
    }
    tokens.check(|_| Place::field("bpe_ranks"))?;
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokenizer;

    /// A file with the bytes in two lines, and `ab` with the rank 256.
    fn file(pattern: &str) -> String {
        let encoded = |bytes: &[u8]| BASE64_STANDARD.encode(bytes);
        let bytes = |range: std::ops::RangeInclusive<u8>| -> String {
            range.map(|byte| format!(" {}", encoded(&[byte]))).collect()
        };
        let ranks = format!(
            "! 0{}\n! 128{} {}",
            bytes(0..=127),
            bytes(128..=255),
            encoded(b"ab")
        );
        serde_json::json!({"pat_str": pattern, "special_tokens": {"<end>": 300}, "bpe_ranks": ranks}).to_string()
    }

    #[test]
    fn files_and_modules_have_their_pattern_tokens_and_special_tokens() {
        let json = file("[a-z]+|[^a-z]+");
        for text in [
            json.clone(),
            format!("export default {json};\n"),
            format!("module.exports = {json};"),
        ] {
            let tokenizer = Tokenizer::from_bytes(text.as_bytes()).unwrap();
            assert_eq!(tokenizer.encode("ab1ab"), [256, 49, 256]);
            assert_eq!(tokenizer.piece_to_id("<end>"), Some(300.into()));
        }
        let cut = Tokenizer::from_bytes(file("a|b").as_bytes()).unwrap();
        assert_eq!(cut.encode("ab"), [97, 98]);
    }

    #[test]
    fn malformed_files_are_refused_with_the_line_or_field() {
        let json = file("a");
        for (text, place) in [
            (json.replace("! 128", "! x"), "bpe_ranks: line 2"),
            (json.replace("! 0", "0"), "bpe_ranks: line 1"),
            (json.replace("! 128", "! 127"), "the id 127"),
            (
                json.replace("\"pat_str\":\"a\"", "\"pat_str\":\"(\""),
                "pat_str",
            ),
            (json.replace("300", "99999999"), "special_tokens"),
        ] {
            let error = Tokenizer::from_bytes(text.as_bytes())
                .unwrap_err()
                .to_string();
            assert!(error.contains(place), "{error}");
        }
    }
}
