//! `.model` files of minbpe: text, with the pattern, the special tokens and the merges.
//!
//! ```text
//! minbpe v1
//! PATTERN                  empty: the text is one pretoken (`BasicTokenizer`)
//! NUMBER-OF-SPECIAL-TOKENS
//! <|endoftext|> 100257
//! 101 32                   the ids of the pair that becomes id 256
//! 256 116                  257, and so on
//! ```
//!
//! The first 256 ids are the bytes. minbpe merges all occurrences of the pair with the lowest id,
//! from left to right, which is the rule "lowest rank first, leftmost first": a pair that a merge
//! makes possible has a higher id. A pair can spell the bytes of an earlier token; minbpe never
//! gives the later one then (`merge_list`, lemma). A vocabulary has one id for each token, so it is an
//! error here.

use super::ranked::RankedTokens;
use super::tokens::{TokenList, checked_id, shown};
use super::written::{as_it_is_reasons, has_properties, one_pattern, pattern_reason};
use super::{ByteFiles, ByteFormatOptions, ByteVocabulary};
use crate::byte_bpe::{ByteBpeParts, SpecialToken};
use crate::encode::bpe::merge_list::{ListOrder, ListedPair, Units, symbol_of_token};
use crate::formats::Converted;
use crate::formats::FileFormat;
use crate::formats::error::{FormatError, Place, syntax};
use crate::pattern::{Pattern, Pretokenizer};

const FORMAT: FileFormat = FileFormat::Minbpe;
const VERSION: &str = "minbpe v1";
/// The remedy for ids that minbpe would not give.
const OTHER_FORMAT: &str = "write another format";
/// The bytes of all tokens together, at most. Each merge can double the length of a token.
const MAX_TOKEN_BYTES: usize = 1 << 28;

/// Whether bytes begin like such a file.
pub(in crate::formats) fn is_start(start: &[u8]) -> bool {
    let rest = start.strip_prefix(VERSION.as_bytes());
    rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// Reads a file.
pub(super) fn read(
    text: &str,
    options: &ByteFormatOptions,
) -> Result<Converted<ByteVocabulary>, FormatError> {
    options.refuse_pattern(FORMAT)?;
    let mut lines = (1_usize..).zip(text.lines()).skip(1);
    let (_, pattern) = lines.next().ok_or_else(ends_early)?;
    let pretokenizer = match pattern.trim() {
        "" => Pretokenizer::new(Vec::new()),
        pattern => {
            let pattern = Pattern::new(pattern).map_err(|source| FormatError::Pattern {
                format: FORMAT,
                place: Place::Line(2),
                source,
            })?;
            Pretokenizer::of(pattern)
        }
    };
    let special_tokens = read_special_tokens(&mut lines)?;
    let (tokens, pairs) = read_merges(lines)?;
    let parts = ByteBpeParts {
        special_tokens,
        whole_pretokens_first: false,
        ..ByteBpeParts::new(pretokenizer)
    };
    let order = ListOrder::new(tokens.texts(), &pairs, Units::Bytes);
    ByteVocabulary::of_order(&tokens, order, parts)
}

/// Reads the number of special tokens, and a line for each of them.
fn read_special_tokens<'t>(
    lines: &mut impl Iterator<Item = (usize, &'t str)>,
) -> Result<Vec<SpecialToken>, FormatError> {
    let (line, count) = lines.next().ok_or_else(ends_early)?;
    let count: usize = count.trim().parse().map_err(|_| {
        let problem = "the number of special tokens is not a number";
        syntax(FORMAT, Place::Line(line), problem)
    })?;
    let mut special_tokens = Vec::new();
    for _ in 0..count {
        let (line, text) = lines.next().ok_or_else(ends_early)?;
        let place = || Place::Line(line);
        let token = text
            .trim()
            .split_once(' ')
            .and_then(|(text, id)| Some((text, id.parse().ok()?)));
        let (text, id) = token.ok_or_else(|| {
            syntax(
                FORMAT,
                place(),
                "a special token is a text, a space and an id",
            )
        })?;
        let id = checked_id(FORMAT, id, place)?;
        special_tokens.push(SpecialToken::new(text, id));
    }
    Ok(special_tokens)
}

/// Reads a merge from each line. They make the tokens from id 256 on.
fn read_merges<'t>(
    lines: impl Iterator<Item = (usize, &'t str)>,
) -> Result<(TokenList, Vec<ListedPair>), FormatError> {
    let mut tokens = TokenList::new(FORMAT);
    for byte in 0..=u8::MAX {
        tokens.push(&[byte], u64::from(byte), || Place::File)?;
    }
    let mut pairs = Vec::new();
    let mut token = Vec::new();
    let mut size = 0;
    for ((line, text), joined) in lines.zip(256..) {
        let place = || Place::Line(line);
        let ids = text.split_once(' ').and_then(|(left, right)| {
            Some([left.trim().parse().ok()?, right.trim().parse().ok()?])
        });
        let ids: [u32; 2] =
            ids.ok_or_else(|| syntax(FORMAT, place(), "a merge is two ids with a space between"))?;
        token.clear();
        for id in ids {
            if id >= joined {
                return Err(FormatError::UnknownToken {
                    format: FORMAT,
                    place: place(),
                    token: format!("with the id {id}"),
                });
            }
            token.extend_from_slice(tokens.bytes(id as usize));
        }
        size += token.len();
        if size > MAX_TOKEN_BYTES {
            let problem = format!("the tokens up to here have more than {MAX_TOKEN_BYTES} bytes");
            return Err(syntax(FORMAT, place(), problem));
        }
        if let Some(first) = tokens.find(&token) {
            return Err(FormatError::Unsupported {
                format: FORMAT,
                place: place(),
                found: format!(
                    "a second merge to {}, the token {}",
                    shown(&token),
                    tokens.id(first)
                ),
                remedy: "minbpe loads the file, but gives the second id for no text; train without text that gives both, \
                         since here each token has one id",
            });
        }
        tokens.push(&token, u64::from(joined), place)?;
        // The id of a token is its position.
        let symbol = |id: u32| symbol_of_token(tokens.texts(), id as usize);
        let [left, right] = ids.map(symbol);
        pairs.push(ListedPair {
            left,
            right,
            joined: symbol(joined),
        });
    }
    Ok((tokens, pairs))
}

fn ends_early() -> FormatError {
    syntax(FORMAT, Place::File, "it ends before the merges")
}

/// Writes a file.
///
/// # Errors
/// The ids are not those that minbpe gives, or a text would be read as another one.
pub(super) fn write(tokens: &RankedTokens<'_>) -> Result<ByteFiles, FormatError> {
    let pattern = one_pattern(tokens.bpe.pretokenizer());
    let expression = pattern.as_deref().unwrap_or_default();
    // minbpe strips the line.
    if expression.trim() != expression || expression.contains(['\n', '\r']) {
        return Err(no_form(
            format!("the pattern {expression:?}"),
            "write its line ends and the spaces at its ends as \\n and \\x20",
        ));
    }
    let special = tokens.special_by_id();
    let mut file = format!("{VERSION}\n{expression}\n{}\n", special.len());
    for token in special {
        if token.text.contains(char::is_whitespace) {
            return Err(no_form(
                format!("the special token {:?}, which has white space", token.text),
                "leave it out, and register it with `register_special_tokens`",
            ));
        }
        file.push_str(&format!("{} {}\n", token.text, token.id));
    }
    check_tokens(tokens)?;
    for ((parts, rank), id) in tokens.merges().zip(256..) {
        let parts = parts.map(|part| tokens.id(part));
        if tokens.id(rank) != id || parts.iter().any(|part| *part >= id) {
            let what = format!(
                "the id {} for the token {}, which has {id} there",
                tokens.id(rank),
                shown(tokens.bytes(rank)),
            );
            return Err(no_form(what, OTHER_FORMAT));
        }
        file.push_str(&format!("{} {}\n", parts[0], parts[1]));
    }
    let mut written = ByteFiles::one("vocabulary.model", file.into_bytes());
    written.add_reasons(pattern_reason("minbpe", pattern.as_deref()));
    written.add_reasons(as_it_is_reasons("minbpe", tokens.bpe, has_properties));
    Ok(written)
}

/// Refuses bytes that are not their own ids, and tokens of several bytes that merging does not give.
fn check_tokens(tokens: &RankedTokens<'_>) -> Result<(), FormatError> {
    for rank in 0..tokens.len() {
        let (bytes, id) = (tokens.bytes(rank), tokens.id(rank));
        let what = match bytes {
            [byte] if u32::from(*byte) != id => {
                format!("the id {id} for the byte 0x{byte:02X}, which is its own id there")
            }
            _ if !tokens.is_merged(rank) && !tokens.is_only_special(rank) => {
                format!("the token {}, which merging does not give", shown(bytes))
            }
            _ => continue,
        };
        return Err(no_form(what, OTHER_FORMAT));
    }
    Ok(())
}

fn no_form(what: String, remedy: &'static str) -> FormatError {
    FormatError::no_form(FORMAT, what, remedy)
}
