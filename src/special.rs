//! Cuts special tokens out of texts.
//!
//! At each position the longest token counts, and the leftmost match wins, as in tokenizers.
//! tiktoken compiles the tokens to a regular expression in no certain order, so for tokens of which
//! one begins another it has no certain result; for all others the result is the same.
//!
//! Added tokens of tokenizers have four properties. Those with `normalized` are searched for in
//! what the others leave, after its normalization. A match of a token with `single_word` beside a
//! word character is dropped, and the search goes on after it. `lstrip` and `rstrip` extend the
//! span over white space, but the search for the next token begins at the end of the token itself.

use std::ops::Range;

use crate::base::decode_char;
use crate::pattern::{Pattern, PatternError, Pretokenizer};
use crate::trie::prefix::PrefixTrie;

/// A token that is cut out of a text before anything else, if the caller allows it.
///
/// The last four properties are those of the added tokens of the library tokenizers. In all other
/// formats, special tokens are found as they are: all four are false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecialToken {
    /// Its text; neither empty nor with a NUL.
    pub text: String,
    /// Its id.
    pub id: u32,
    /// Whether it is found only if the caller allows it. If not, it is found in every text.
    pub special: bool,
    /// Whether it is searched for in the normalized text, with its own text normalized; after
    /// those that are not.
    pub normalized: bool,
    /// Whether the white space before it belongs to it.
    pub lstrip: bool,
    /// Whether the white space after it belongs to it.
    pub rstrip: bool,
    /// Whether it is found only where no letter, mark, digit or underscore is next to it.
    pub single_word: bool,
}

impl SpecialToken {
    /// A token that is found as it is, if the caller allows it.
    pub fn new(text: impl Into<String>, id: u32) -> Self {
        Self {
            text: text.into(),
            id,
            special: true,
            normalized: false,
            lstrip: false,
            rstrip: false,
            single_word: false,
        }
    }
}

/// Why special tokens cannot be looked for.
#[derive(Debug)]
pub(crate) enum SpecialError {
    /// They need too many cells of a trie.
    TooLarge,
    /// A token with `single_word` needs the feature `regex`.
    SingleWord { source: PatternError },
    /// A text was named that no token has.
    NotSpecial { text: String },
}

/// Names special tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SpecialNames {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
    /// Those with these texts.
    Of(Vec<String>),
}

/// The special tokens that are found in texts; all others are ordinary text. From
/// [`ByteBpe::special_set`](crate::ByteBpe::special_set).
#[derive(Debug, Clone)]
pub struct SpecialSet {
    /// The tokens that are found in text as it is; their indexes.
    pub(crate) as_is: PrefixTrie,
    /// The tokens that are found in normalized text.
    pub(crate) normalized: PrefixTrie,
}

impl SpecialSet {
    /// Tokens that are not `special` are found if `finds_added`.
    pub(crate) fn new(
        tokens: &[SpecialToken],
        normalize: impl Fn(&str) -> Vec<u8>,
        (allowed, finds_added): (&SpecialNames, bool),
    ) -> Result<Self, SpecialError> {
        if let SpecialNames::Of(names) = allowed {
            let is_token = |name: &&String| tokens.iter().any(|token| token.text == **name);
            if let Some(text) = names.iter().find(|name| !is_token(name)).cloned() {
                return Err(SpecialError::NotSpecial { text });
            }
        }
        let is_allowed = |token: &SpecialToken| match allowed {
            _ if !token.special => finds_added,
            SpecialNames::None => false,
            SpecialNames::All => true,
            SpecialNames::Of(names) => names.contains(&token.text),
        };
        let trie = |normalizes: bool| {
            let is_in = |token: &SpecialToken| is_allowed(token) && token.normalized == normalizes;
            let chosen = (0..).zip(tokens).filter(|(_, token)| is_in(token));
            let keys: Vec<(Vec<u8>, u32)> = chosen
                .map(|(index, token)| match normalizes {
                    true => (normalize(&token.text), index),
                    false => (token.text.as_bytes().to_vec(), index),
                })
                .collect();
            PrefixTrie::with_values(keys.iter().map(|(key, index)| (&key[..], *index)))
                .map_err(|_| SpecialError::TooLarge)
        };
        Ok(Self {
            as_is: trie(false)?,
            normalized: trie(true)?,
        })
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Segment {
    /// Ordinary text, not empty.
    Text(Range<usize>),
    /// The special token with this value in the trie.
    Special(usize, Range<usize>),
}

/// Passes the segments of `text`, from left to right, with the tokens of `trie`. `span_of` extends
/// a match over what belongs to it, or drops it; it also gets where the segment before ends.
pub(crate) fn cut(
    trie: &PrefixTrie,
    text: &[u8],
    mut span_of: impl FnMut(usize, Range<usize>, usize) -> Option<Range<usize>>,
    mut on_segment: impl FnMut(Segment),
) {
    let mut at = 0;
    let mut start = 0;
    while let Some((found, token)) = find(trie, text, at) {
        at = found.end;
        let Some(span) = span_of(token, found.clone(), start) else {
            continue;
        };
        // White space that belongs to the token before does not belong to this one, too. A token
        // that begins with white space can be found in what belongs to the one before.
        let begin = span.start.max(start.min(found.start));
        if start < begin {
            on_segment(Segment::Text(start..begin));
        }
        start = span.end;
        on_segment(Segment::Special(token, begin..span.end));
    }
    if start < text.len() {
        on_segment(Segment::Text(start..text.len()));
    }
}

/// The first token at or after `at`, the longest of those there.
pub(crate) fn find(trie: &PrefixTrie, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    if trie.is_empty() {
        return None;
    }
    (at..text.len()).find_map(|at| {
        let (length, token) = trie.longest_with_value(&text[at..])?;
        Some((at..at + length, token as usize))
    })
}

/// Cuts texts at special tokens with the properties of tokenizers.
#[derive(Debug)]
pub(crate) struct Cutter {
    pub(crate) tokens: Vec<SpecialToken>,
    /// The pattern of word characters, if a token needs it.
    word: Option<Pretokenizer>,
}

impl Cutter {
    pub(crate) fn new(tokens: Vec<SpecialToken>) -> Result<Self, SpecialError> {
        let word = match tokens.iter().any(|token| token.single_word) {
            true => {
                let pattern = Pattern::new(r"\w");
                let pattern = pattern.map_err(|source| SpecialError::SingleWord { source })?;
                Some(Pretokenizer::of(pattern))
            }
            false => None,
        };
        Ok(Self { tokens, word })
    }

    /// Passes the segments of `text`, from left to right, with the tokens of `trie`.
    pub(crate) fn cut(&self, trie: &PrefixTrie, text: &[u8], on_segment: impl FnMut(Segment)) {
        // The last run of white space after a token. Tokens inside of it have the same end.
        let mut run = 0..0;
        let span_of = |index: usize, found: Range<usize>, start: usize| {
            let token = &self.tokens[index];
            let (before, after) = (&text[..found.start], &text[found.end..]);
            if token.single_word
                && (self.is_word(last_char(before)) || self.is_word(first_char(after)))
            {
                return None;
            }
            let mut span = found;
            if token.lstrip {
                // No further than the segment before, so that no white space is looked at twice.
                span.start -= spaces_at_end(before.get(start..).unwrap_or_default());
            }
            if token.rstrip {
                if !(run.start..=run.end).contains(&span.end) {
                    run = span.end..span.end + spaces_at_start(after);
                }
                span.end = run.end;
            }
            Some(span)
        };
        cut(trie, text, span_of, on_segment);
    }

    /// Whether a character is a letter, mark, digit or the like.
    fn is_word(&self, char: &[u8]) -> bool {
        let mut is_word = false;
        if let Some(word) = &self.word {
            let set: &mut dyn FnMut(_) = &mut |_| is_word = true;
            word.for_each(char, set);
        }
        is_word
    }
}

/// The first character, or byte that belongs to none; empty for an empty text.
pub(crate) fn first_char(text: &[u8]) -> &[u8] {
    &text[..decode_char(text).1]
}

/// The last character, or byte that belongs to none; empty for an empty text.
pub(crate) fn last_char(text: &[u8]) -> &[u8] {
    let starts = (1..=4.min(text.len()))
        .rev()
        .map(|width| &text[text.len() - width..]);
    let mut whole = starts.filter(|char| first_char(char).len() == char.len());
    whole.next().unwrap_or_default()
}

fn is_space(char: &[u8]) -> bool {
    decode_char(char).0.is_some_and(char::is_whitespace)
}

/// The bytes of the white space at the start of a text.
pub(crate) fn spaces_at_start(text: &[u8]) -> usize {
    let mut rest = text;
    while is_space(rest) {
        rest = &rest[first_char(rest).len()..];
    }
    text.len() - rest.len()
}

/// The bytes of the white space at the end of a text.
pub(crate) fn spaces_at_end(text: &[u8]) -> usize {
    let mut rest = text;
    while is_space(last_char(rest)) {
        rest = &rest[..rest.len() - last_char(rest).len()];
    }
    text.len() - rest.len()
}
