//! Added tokens: found in a text before the model sees it.
//!
//! Those that are not `normalized` are searched for in the text as it is, the others in what is left,
//! after its normalization, with their own texts normalized. At each position the longest token
//! counts, and the leftmost match wins. Of tokens that their normalization makes equal, the first one
//! is found; tokenizers 0.23 takes one at random whenever it reads the file.
//!
//! | property | what it does to a match |
//! |---|---|
//! | `single_word` | dropped if a word character stands before or after it |
//! | `lstrip` | extended over the white space before it, up to the match before |
//! | `rstrip` | extended over the white space after it |
//!
//! The search for the next token begins at the end of the token itself, not at that of its white
//! space. What becomes of a special token that a call does not allow depends on the program, see
//! [`Search`].

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use crate::base::decode_char;
use crate::piece::MAX_PIECE_BYTES;
use crate::special::{Scope, Segment, find_in_scopes};
use crate::trie::TrieTooLarge;
use crate::trie::texts::ByteTrie;

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

/// What becomes of tokens that a call does not find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Search {
    /// They are found all the same, but not cut out: their text is ordinary text, in which no other
    /// token is found. So in tokenizers.
    All,
    /// They are not searched for, as in tiktoken. That program compiles the tokens to an expression
    /// in no certain order; for tokens of which one begins another, the longest counts here.
    Found,
}

/// Why added tokens cannot be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AddedTokensError {
    /// The normalized text of a token is empty.
    Empty,
    /// The text of a token has [`MAX_PIECE_BYTES`] or more.
    TooLong,
    /// They need too many cells of a trie.
    TooLarge,
}

impl From<TrieTooLarge> for AddedTokensError {
    fn from(TrieTooLarge: TrieTooLarge) -> Self {
        Self::TooLarge
    }
}

/// The added tokens of a vocabulary, ready to be searched for.
#[derive(Debug)]
pub(crate) struct AddedTokens {
    tokens: Vec<SpecialToken>,
    search: Search,
    as_is: TokenTrie,
    normalized: TokenTrie,
    /// The number of the token of each id; of several, the first.
    by_id: HashMap<u32, usize, foldhash::fast::RandomState>,
    by_text: HashMap<String, u32>,
    /// The text of each token, normalized if it is searched for like that.
    texts: Vec<String>,
    /// The texts of special tokens.
    special: HashSet<Vec<u8>>,
}

#[derive(Debug, Default)]
struct TokenTrie {
    trie: ByteTrie,
    /// Whether a token begins with the byte.
    first: Option<Box<[bool; 256]>>,
}

/// Which added tokens a call cuts out of its texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct FoundTokens {
    /// By the number of the token.
    is_found: Vec<bool>,
    /// The same for the tokens that are searched for in normalized text.
    in_normalized: Arc<[bool]>,
    /// Whether any is found in text as it is, and in normalized text.
    any_as_is: bool,
    any_normalized: bool,
}

impl FoundTokens {
    /// Which tokens are found in normalized text.
    pub(crate) fn in_normalized(&self) -> &Arc<[bool]> {
        &self.in_normalized
    }

    /// Whether no token is found.
    #[inline]
    pub(crate) fn finds_nothing(&self) -> bool {
        !self.any_as_is && !self.any_normalized
    }

    /// Whether any token is found in normalized text.
    pub(crate) fn finds_in_normalized(&self) -> bool {
        self.any_normalized
    }

    #[inline]
    fn is_found(&self, token: usize) -> bool {
        self.is_found.get(token).copied().unwrap_or_default()
    }
}

impl AddedTokens {
    /// `normalize` gives the text of a token after the normalizer.
    pub(crate) fn new<E: From<AddedTokensError>>(
        tokens: Vec<SpecialToken>,
        search: Search,
        normalize: impl Fn(&str) -> Result<String, E>,
    ) -> Result<Self, E> {
        let mut texts = Vec::with_capacity(tokens.len());
        for token in &tokens {
            texts.push(match token.normalized {
                true => normalize(&token.text)?,
                false => token.text.clone(),
            });
        }
        if texts.iter().any(|text| text.len() >= MAX_PIECE_BYTES) {
            return Err(AddedTokensError::TooLong.into());
        }
        let trie = |normalizes: bool| {
            let chosen = tokens.iter().zip(&texts).zip(0..);
            let chosen = chosen.filter(|((token, _), _)| token.normalized == normalizes);
            TokenTrie::new(
                chosen
                    .map(|((_, text), number)| (&text[..], number))
                    .collect(),
            )
        };
        let special = tokens.iter().filter(|token| token.special);
        let special = special.map(|token| token.text.clone().into_bytes());
        let numbered = tokens.iter().enumerate().rev();
        Ok(Self {
            search,
            as_is: trie(false)?,
            normalized: trie(true)?,
            special: special.collect(),
            by_id: numbered.map(|(number, token)| (token.id, number)).collect(),
            by_text: (tokens.iter())
                .map(|token| (token.text.clone(), token.id))
                .collect(),
            texts,
            tokens,
        })
    }

    /// The tokens with their ids.
    pub(crate) fn tokens(&self) -> &[SpecialToken] {
        &self.tokens
    }

    /// The id of the token with this text.
    pub(crate) fn id(&self, text: &str) -> Option<u32> {
        self.by_text.get(text).copied()
    }

    /// The text of an id, normalized if the token is searched for like that.
    pub(crate) fn text(&self, id: u32) -> Option<&str> {
        let number = *self.by_id.get(&id)?;
        Some(&self.texts[number])
    }

    /// Whether decoding without special tokens leaves out a token with this text, whatever its id.
    pub(crate) fn is_hidden(&self, text: &[u8]) -> bool {
        self.special.contains(text)
    }

    /// The tokens that are searched for in normalized text, with their texts there.
    pub(crate) fn normalized_tokens(&self) -> impl Iterator<Item = (&SpecialToken, &str)> {
        let tokens = self.tokens.iter().zip(&self.texts);
        let normalized = tokens.filter(|(token, _)| token.normalized);
        normalized.map(|(token, text)| (token, &text[..]))
    }

    /// The tokens of a call: the special ones for which `allows` is true, and the others if
    /// `finds_added`.
    pub(crate) fn found(&self, allows: impl Fn(&str) -> bool, finds_added: bool) -> FoundTokens {
        let is_found = |token: &SpecialToken| match token.special {
            true => allows(&token.text),
            false => finds_added,
        };
        let any = |normalized: bool| {
            let mut tokens = self.tokens.iter();
            tokens.any(|token| token.normalized == normalized && is_found(token))
        };
        let normalized = self.tokens.iter().filter(|token| token.normalized);
        FoundTokens {
            is_found: self.tokens.iter().map(is_found).collect(),
            in_normalized: normalized.map(is_found).collect(),
            any_as_is: any(false),
            any_normalized: any(true),
        }
    }

    /// Passes the parts of a text with the tokens that are found in it as it is.
    pub(crate) fn cut_as_is(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        on_segment: impl FnMut(Segment),
    ) {
        let trie = |found: &FoundTokens| found.any_as_is.then_some(&self.as_is);
        self.cut(trie, text, scopes, on_segment);
    }

    /// Passes the parts of a normalized text.
    pub(crate) fn cut_normalized(
        &self,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        on_segment: impl FnMut(Segment),
    ) {
        let trie = |found: &FoundTokens| found.any_normalized.then_some(&self.normalized);
        self.cut(trie, text, scopes, on_segment);
    }

    /// The bytes of the longest token.
    pub(crate) fn longest(&self) -> usize {
        let lengths = self.tokens.iter().map(|token| token.text.len());
        lengths.max().unwrap_or(0)
    }

    /// Whether a token that is searched for in text as it is begins before a position, or at it, and
    /// ends after it, or at it.
    pub(crate) fn touches_as_is(&self, text: &[u8], at: usize) -> bool {
        self.as_is.touches(text, at)
    }

    /// The same for tokens that are searched for in normalized text.
    pub(crate) fn touches_normalized(&self, text: &[u8], at: usize) -> bool {
        self.normalized.touches(text, at)
    }

    /// The id of the token with a number.
    pub(crate) fn id_of(&self, number: usize) -> u32 {
        self.tokens[number].id
    }

    fn cut<'s>(
        &'s self,
        trie: impl Fn(&FoundTokens) -> Option<&'s TokenTrie>,
        text: &[u8],
        scopes: &[Scope<'_, FoundTokens>],
        mut on_segment: impl FnMut(Segment),
    ) {
        let mut rest = scopes;
        let mut next = |at| {
            find_in_scopes(&mut rest, at, |found, range| {
                let is_searched = |number| self.search == Search::All || found.is_found(number);
                let text = &text[..range.end];
                let (number, range) = trie(found)?.find(text, range.start, is_searched)?;
                Some((found, number, range))
            })
        };
        // What stands before the first scope is passed by nobody.
        let mut done = scopes.first().map_or(0, |scope| scope.range.start);
        let mut at = done;
        // The last run of white space after a token. Tokens inside of it have the same end.
        let mut run = 0..0;
        while let Some((found, number, range)) = next(at) {
            at = range.end;
            let token = &self.tokens[number];
            if !found.is_found(number) {
                continue;
            }
            let (before, after) = (&text[..range.start], &text[range.end..]);
            if token.single_word && (is_word(last_char(before)) || is_word(first_char(after))) {
                continue;
            }
            let mut span = range;
            if token.lstrip {
                // No further than the match before, so that no white space is looked at twice.
                let unused = before.get(done..).unwrap_or_default();
                span.start = span.start.max(done) - spaces_at_end(unused);
            }
            if token.rstrip {
                if !(run.start..=run.end).contains(&span.end) {
                    run = span.end..span.end + spaces_at_start(after);
                }
                span.end = run.end;
            }
            if done < span.start {
                on_segment(Segment::Text(done..span.start));
            }
            done = span.end;
            // All of it can be white space that the match before has taken.
            if !span.is_empty() {
                on_segment(Segment::Special(number, span));
            }
        }
        if done < text.len() {
            on_segment(Segment::Text(done..text.len()));
        }
    }
}

impl TokenTrie {
    fn new(tokens: Vec<(&str, u32)>) -> Result<Self, AddedTokensError> {
        if tokens.is_empty() {
            return Ok(Self::default());
        }
        if tokens.iter().any(|(text, _)| text.is_empty()) {
            return Err(AddedTokensError::Empty);
        }
        let mut first = Box::new([false; 256]);
        for byte in tokens.iter().filter_map(|(text, _)| text.bytes().next()) {
            first[usize::from(byte)] = true;
        }
        Ok(Self {
            trie: ByteTrie::new(tokens.into_iter())?,
            first: Some(first),
        })
    }

    /// See [`AddedTokens::touches_as_is`].
    fn touches(&self, text: &[u8], at: usize) -> bool {
        (0..=at).any(|start| {
            let mut prefixes = self.trie.prefixes(&text[start..]);
            prefixes.any(|(length, _)| start + length >= at)
        })
    }

    /// The first searched token at or after `at`, the longest of those there.
    fn find(
        &self,
        text: &[u8],
        at: usize,
        is_searched: impl Fn(usize) -> bool,
    ) -> Option<(usize, Range<usize>)> {
        let first = self.first.as_deref()?;
        let rest = text.get(at..)?;
        let mut begins = rest
            .iter()
            .enumerate()
            .filter(|(_, byte)| first[usize::from(**byte)]);
        begins.find_map(|(begin, _)| {
            let begin = at + begin;
            let prefixes = self.trie.prefixes(&text[begin..]);
            let prefixes = prefixes.map(|(length, number)| (number as usize, length));
            let (number, length) = prefixes.filter(|(number, _)| is_searched(*number)).last()?;
            Some((number, begin..begin + length))
        })
    }
}

/// Whether it is a letter, mark, digit or the like.
fn is_word(char: &[u8]) -> bool {
    let c = decode_char(char).0;
    c.is_some_and(|c| regex_syntax::try_is_word_character(c).unwrap_or_default())
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
