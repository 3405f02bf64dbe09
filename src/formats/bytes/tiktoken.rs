//! `.tiktoken` files: a token in base64, a space and its rank in each line.
//!
//! The rank is the order of merges and the id. A line can have any white space between the two, and
//! lines can be empty, as tiktoken reads them; unlike there, what is no base64 is an error.
//!
//! ```text
//! IQ== 0
//! Ig== 1
//! ```

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::ranked::{PretokenRule, RankedTokens};
use super::tokens::TokenList;
use super::vocabulary::known_or_given;
use super::written::{
    as_it_is_reasons, ascending_ids, has_properties, one_pattern, pattern_reason,
};
use super::{ByteFiles, ByteFormatOptions, ByteVocabulary};
use crate::encode::bpe::merge_list::ListOrder;
use crate::formats::Converted;
use crate::formats::FileFormat;
use crate::formats::error::{FormatError, Place, syntax};
use crate::pattern::{Pretokenizer, SplitBehavior};

const FORMAT: FileFormat = FileFormat::Tiktoken;

/// Whether bytes begin with lines of such a file.
pub(in crate::formats) fn is_start(start: &[u8]) -> bool {
    // The last line can be cut off.
    let lines = without_mark(start).split(|byte| *byte == b'\n').take(3);
    let mut lines = lines
        .filter(|line| !line.trim_ascii().is_empty())
        .peekable();
    lines.peek().is_some()
        && lines.all(|line| {
            fields(line).is_some_and(|[token, rank]| {
                let is_base64 =
                    |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=');
                token.len() % 4 == 0
                    && token.iter().all(is_base64)
                    && rank.iter().all(u8::is_ascii_digit)
            })
        })
}

/// Reads a file.
pub(super) fn read(
    file: &[u8],
    options: &ByteFormatOptions,
) -> Result<Converted<ByteVocabulary>, FormatError> {
    options.refuse_bert(FORMAT)?;
    let mut tokens = TokenList::new(FORMAT);
    let mut token = Vec::new();
    // The lines of the tokens, unless it is the line after that of the token before.
    let mut lines = Vec::new();
    for (line, text) in (1..).zip(without_mark(file).split(|byte| *byte == b'\n')) {
        let text = text.trim_ascii();
        if text.is_empty() {
            continue;
        }
        let place = || Place::Line(line);
        let [base64, rank] = fields(text).ok_or_else(|| {
            syntax(
                FORMAT,
                place(),
                "a line is a token in base64, a space and a rank",
            )
        })?;
        token.clear();
        // Python decodes padding alone to no bytes.
        let is_padding = base64.iter().all(|byte| *byte == b'=');
        let base64 = if is_padding { b"" } else { base64 };
        BASE64_STANDARD
            .decode_vec(base64, &mut token)
            .map_err(|error| {
                syntax(FORMAT, place(), format!("the token is not base64: {error}"))
            })?;
        let rank =
            parse_rank(rank).ok_or_else(|| syntax(FORMAT, place(), "the rank is not a number"))?;
        tokens.push(&token, rank, place)?;
        if !token.is_empty() {
            lines.push(line);
        }
    }
    tokens.check(|at| Place::Line(lines[at]))?;
    let order = ListOrder::by_id(tokens.ids());
    let parts = known_or_given(&tokens, &order, options)?;
    ByteVocabulary::of_order(&tokens, order, parts)
}

/// Writes a file, with a line for each token in the order of the ids.
///
/// # Errors
/// The order of the ids is not that of the merges.
pub(super) fn write(tokens: &RankedTokens<'_>) -> Result<ByteFiles, FormatError> {
    ascending_ids(FORMAT, tokens)?;
    let mut file = String::new();
    let ranks = (0..tokens.len()).filter(|rank| !tokens.is_only_special(*rank));
    let written = ranks.map(|rank| (tokens.id(rank), tokens.bytes(rank)));
    let empty = tokens.bpe.empty_token().map(|id| (id.get(), &[][..]));
    let mut lines: Vec<(u32, &[u8])> = written.chain(empty).collect();
    lines.sort_unstable();
    for (id, bytes) in lines {
        match bytes {
            // As in Whisper's files.
            [] => file.push('='),
            bytes => BASE64_STANDARD.encode_string(bytes, &mut file),
        }
        file.push_str(&format!(" {id}\n"));
    }
    let mut written = ByteFiles::one("vocabulary.tiktoken", file.into_bytes());
    let pattern = pattern_of(tokens.bpe.pretokenizer());
    written.add_reasons(pattern_reason("tiktoken", pattern.as_deref()));
    written.add_reasons(tokens.rule_reason(PretokenRule::LookUpFirst));
    written.add_reasons(as_it_is_reasons("tiktoken", tokens.bpe, has_properties));
    Ok(written.without_pattern_and_special_tokens(tokens.bpe, pattern))
}

/// The expression whose matches are the pretokens. If the texts between the matches of a pattern
/// are pretokens, too, it matches these as well.
fn pattern_of(pretokenizer: &Pretokenizer) -> Option<String> {
    if let Some(expression) = one_pattern(pretokenizer) {
        return Some(expression);
    }
    match pretokenizer.splits() {
        [split] if split.behavior == SplitBehavior::Isolated => {
            Some(split.pattern.with_gaps()?.expression().to_owned())
        }
        _ => None,
    }
}

/// The text without a byte order mark, which tiktoken skips as what is no base64.
fn without_mark(file: &[u8]) -> &[u8] {
    file.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(file)
}

/// The two fields of a line.
fn fields(line: &[u8]) -> Option<[&[u8]; 2]> {
    let mut fields = line
        .split(u8::is_ascii_whitespace)
        .filter(|field| !field.is_empty());
    let (token, rank) = (fields.next()?, fields.next()?);
    fields.next().is_none().then_some([token, rank])
}

/// A number of decimal digits; the largest one if it does not fit.
fn parse_rank(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok()?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}
