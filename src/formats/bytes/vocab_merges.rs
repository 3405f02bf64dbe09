//! `vocab.json` and `merges.txt`, which GPT-2 calls `encoder.json` and `vocab.bpe`.
//!
//! The first is a JSON object of tokens and ids; the second has the two tokens of a merge in each
//! line, after a line that begins with `#version`. Neither has the pattern or the special tokens.

use super::printable::PrintableVocabulary;
use super::ranked::{PretokenRule, RankedTokens};
use super::vocabulary::known_or_given;
use super::written::{as_it_is_reasons, has_properties, one_pattern};
use super::{ByteFiles, ByteFormatOptions, ByteVocabulary};
use crate::base::byte_chars::printable;
use crate::byte_bpe::ByteBpeParts;
use crate::encode::bpe::merge_list::{ListOrder, Units};
use crate::formats::Converted;
use crate::formats::FileFormat;
use crate::formats::error::{FormatError, Place, json_error, syntax};
use crate::formats::tokenizer_json::{JsonVocab, Placement, vocabulary};

const FORMAT: FileFormat = FileFormat::VocabMerges;

/// The ends of the names of the two files.
pub(super) const NAMES: [[&str; 2]; 2] =
    [["vocab.json", "merges.txt"], ["encoder.json", "vocab.bpe"]];

/// Whether bytes begin like a list of merges.
pub(in crate::formats) fn is_start_of_merges(start: &[u8]) -> bool {
    start.starts_with(b"#version")
}

/// Whether bytes begin like a JSON object of tokens and ids.
pub(in crate::formats) fn is_start_of_vocab(start: &[u8]) -> bool {
    // The value of the first key decides: a number.
    let value = value_of_first_key(start).unwrap_or_default();
    value.first().is_some_and(u8::is_ascii_digit)
}

/// What follows after the first key of a JSON object and its colon.
fn value_of_first_key(json: &[u8]) -> Option<&[u8]> {
    let json = json.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(json);
    let key = json.trim_ascii_start().strip_prefix(b"{")?;
    let key = key.trim_ascii_start().strip_prefix(b"\"")?;
    let mut is_escaped = false;
    let end = key.iter().position(|byte| {
        let is_end = *byte == b'"' && !is_escaped;
        is_escaped = *byte == b'\\' && !is_escaped;
        is_end
    })?;
    let value = key[end + 1..].trim_ascii_start().strip_prefix(b":")?;
    Some(value.trim_ascii_start())
}

/// Writes the two files as `save` of tokenizers 0.23.3 does for a BPE model.
///
/// # Errors
/// A special token has another id there.
pub(super) fn write(tokens: &RankedTokens<'_>) -> Result<ByteFiles, FormatError> {
    let (vocab, _) = vocabulary(FORMAT, tokens, Placement::All)?;
    let vocab = serde_json::to_vec(&vocab).map_err(|error| json_error(FORMAT, &error))?;
    let mut merges = "#version: 0.2\n".to_owned();
    for (parts, _) in tokens.merges() {
        let [left, right] = parts.map(|part| printable(tokens.bytes(part)));
        merges.push_str(&format!("{left} {right}\n"));
    }
    let [[vocab_name, merges_name], _] = NAMES;
    let mut written = ByteFiles::one(vocab_name, vocab);
    written.files.push((merges_name, merges.into_bytes()));
    written.add_reasons(tokens.rule_reason(PretokenRule::Merge));
    written.add_reasons(as_it_is_reasons(
        "a tokenizer of these files",
        tokens.bpe,
        has_properties,
    ));
    let pattern = one_pattern(tokens.bpe.pretokenizer());
    Ok(written.without_pattern_and_special_tokens(tokens.bpe, pattern))
}

/// Reads the two files.
pub(super) fn read(
    vocab: &str,
    merges: &str,
    options: &ByteFormatOptions,
) -> Result<Converted<ByteVocabulary>, FormatError> {
    options.refuse_bert(FORMAT)?;
    let vocab: JsonVocab<'_> =
        serde_json::from_str(vocab).map_err(|error| json_error(FORMAT, &error))?;
    let JsonVocab::Ids(entries) = &vocab else {
        return Err(syntax(
            FORMAT,
            Place::File,
            "the vocabulary is not an object of tokens and ids",
        ));
    };
    let mut lines = Vec::new();
    let mut pairs = Vec::new();
    for (line, text) in (1..).zip(merges.lines()) {
        if text.is_empty() || text.starts_with("#version") {
            continue;
        }
        let mut parts = text.split(' ');
        let (Some(left), Some(right), None) = (parts.next(), parts.next(), parts.next()) else {
            let problem = "a merge is two tokens with a space between";
            return Err(syntax(FORMAT, Place::Line(line), problem));
        };
        lines.push(line);
        pairs.push([left, right]);
    }
    let entries = entries.iter().map(|(text, id)| (&**text, *id));
    let mut vocabulary = PrintableVocabulary::new(FORMAT, "vocab", entries)?;
    vocabulary.add_merges(pairs.into_iter(), |index| Place::Line(lines[index]))?;
    vocabulary.add_others(options.special_tokens.as_deref().unwrap_or_default())?;
    let tokens = &vocabulary.tokens;
    let order = ListOrder::new(tokens.texts(), &vocabulary.pairs, Units::Bytes);
    let parts = ByteBpeParts {
        whole_pretokens_first: false,
        ..known_or_given(tokens, &order, options)?
    };
    ByteVocabulary::of_order(tokens, order, parts)
}
