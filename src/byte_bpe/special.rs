//! Cuts special tokens out of texts.
//!
//! At each position the longest token counts, and the leftmost match wins, as in tokenizers.
//! tiktoken compiles the tokens to a regular expression in no certain order, so for tokens of which
//! one begins another it has no certain result; for all others the result is the same.
//!
//! Added tokens of tokenizers have four properties. Those with `normalized` are searched for in what
//! the others leave, after its normalization. A match of a token with `single_word` beside a word
//! character is dropped, and the search goes on after it. `lstrip` and `rstrip` extend the span over
//! white space, but the search for the next token begins at the end of the token itself.

use std::ops::Range;

use super::error::{ByteBpeError, RefusedSpecialError};
use super::parts::SpecialToken;
use crate::base::decode_char;
use crate::pattern::{Pattern, Pretokenizer};
use crate::trie::prefix::PrefixTrie;

/// Names special tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum SpecialNames {
    /// None of them.
    #[default]
    None,
    /// All of them; as those that are refused, all that are not allowed.
    All,
    /// Those with these texts.
    Of(Vec<String>),
}

/// What becomes of special tokens in texts: some are found, some are refused, all others are
/// ordinary text. From [`ByteBpe::special_set`](super::ByteBpe::special_set).
#[derive(Debug, Clone)]
pub struct SpecialSet {
    /// The tokens that are found in text as it is; their indexes.
    pub(super) as_is: PrefixTrie,
    /// The tokens that are found in normalized text.
    pub(super) normalized: PrefixTrie,
    refused: PrefixTrie,
}

impl SpecialSet {
    /// Tokens that are not `special` are found if `finds_added`.
    pub(super) fn new(
        tokens: &[SpecialToken],
        normalize: impl Fn(&str) -> Vec<u8>,
        (allowed, finds_added): (&SpecialNames, bool),
        refused: &SpecialNames,
    ) -> Result<Self, ByteBpeError> {
        let names = [allowed, refused]
            .into_iter()
            .filter_map(|names| match names {
                SpecialNames::Of(names) => Some(names),
                _ => None,
            });
        for name in names.flatten() {
            if tokens.iter().all(|token| token.text != *name) {
                return Err(ByteBpeError::NotSpecial { text: name.clone() });
            }
        }
        let is_allowed = |token: &SpecialToken| match allowed {
            _ if !token.special => finds_added,
            SpecialNames::None => false,
            SpecialNames::All => true,
            SpecialNames::Of(names) => names.contains(&token.text),
        };
        let is_refused = |token: &SpecialToken| match refused {
            SpecialNames::None => false,
            SpecialNames::All => !is_allowed(token),
            SpecialNames::Of(names) => names.contains(&token.text),
        };
        let trie = |is_in: &dyn Fn(&SpecialToken) -> bool, normalizes: bool| {
            let chosen = (0..).zip(tokens).filter(|(_, token)| is_in(token));
            let keys: Vec<(Vec<u8>, u32)> = chosen
                .map(|(index, token)| match normalizes {
                    true => (normalize(&token.text), index),
                    false => (token.text.as_bytes().to_vec(), index),
                })
                .collect();
            PrefixTrie::with_values(keys.iter().map(|(key, index)| (&key[..], *index)))
                .map_err(|_| ByteBpeError::SpecialTooLarge)
        };
        Ok(Self {
            as_is: trie(&|token| is_allowed(token) && !token.normalized, false)?,
            normalized: trie(&|token| is_allowed(token) && token.normalized, true)?,
            refused: trie(&is_refused, false)?,
        })
    }

    /// # Errors
    /// The text has a token that is refused.
    pub(super) fn check(
        &self,
        tokens: &[SpecialToken],
        text: &[u8],
    ) -> Result<(), RefusedSpecialError> {
        match find(&self.refused, text, 0) {
            None => Ok(()),
            Some((range, index)) => Err(RefusedSpecialError {
                token: tokens[index].text.clone(),
                begin: range.start,
            }),
        }
    }
}

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Ordinary text, not empty.
    Text(Range<usize>),
    /// The special token with this index.
    Special(usize, Range<usize>),
}

/// Cuts texts at special tokens.
#[derive(Debug)]
pub(super) struct Cutter {
    pub(super) tokens: Vec<SpecialToken>,
    /// The pattern of word characters, if a token needs it.
    word: Option<Pretokenizer>,
}

impl Cutter {
    pub(super) fn new(tokens: Vec<SpecialToken>) -> Result<Self, ByteBpeError> {
        let word = match tokens.iter().any(|token| token.single_word) {
            true => {
                let pattern = Pattern::new(r"\w");
                let pattern = pattern.map_err(|source| ByteBpeError::SingleWord { source })?;
                Some(Pretokenizer::of(pattern))
            }
            false => None,
        };
        Ok(Self { tokens, word })
    }

    /// Passes the segments of `text`, from left to right, with the tokens of `trie`.
    pub(super) fn cut(&self, trie: &PrefixTrie, text: &[u8], mut on_segment: impl FnMut(Segment)) {
        let mut at = 0;
        let mut start = 0;
        while let Some((found, index)) = find(trie, text, at) {
            at = found.end;
            let token = &self.tokens[index];
            let (before, after) = (&text[..found.start], &text[found.end..]);
            if token.single_word
                && (self.is_word(last_char(before)) || self.is_word(first_char(after)))
            {
                continue;
            }
            let mut range = found.clone();
            if token.lstrip {
                range.start = (before.len() - spaces_at_end(before)).max(start);
            }
            if token.rstrip {
                range.end += spaces_at_start(after);
            }
            if start < range.start {
                on_segment(Segment::Text(start..range.start));
            }
            start = range.end;
            on_segment(Segment::Special(index, range));
        }
        if start < text.len() {
            on_segment(Segment::Text(start..text.len()));
        }
    }

    /// Whether a character is a letter, mark, digit or the like.
    fn is_word(&self, char: &[u8]) -> bool {
        let mut is_word = false;
        if let Some(word) = &self.word {
            word.for_each(char, &mut |_| is_word = true);
        }
        is_word
    }
}

/// The first token at or after `at`, the longest of those there.
fn find(trie: &PrefixTrie, text: &[u8], at: usize) -> Option<(Range<usize>, usize)> {
    if trie.is_empty() {
        return None;
    }
    (at..text.len()).find_map(|at| {
        let (length, index) = trie.longest_with_value(&text[at..])?;
        Some((at..at + length, index as usize))
    })
}

/// The first character, or byte that belongs to none; empty for an empty text.
fn first_char(text: &[u8]) -> &[u8] {
    &text[..decode_char(text).1]
}

/// The last character, or byte that belongs to none; empty for an empty text.
fn last_char(text: &[u8]) -> &[u8] {
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
fn spaces_at_start(text: &[u8]) -> usize {
    let mut rest = text;
    while is_space(rest) {
        rest = &rest[first_char(rest).len()..];
    }
    text.len() - rest.len()
}

/// The bytes of the white space at the end of a text.
fn spaces_at_end(text: &[u8]) -> usize {
    let mut rest = text;
    while is_space(last_char(rest)) {
        rest = &rest[..rest.len() - last_char(rest).len()];
    }
    text.len() - rest.len()
}
