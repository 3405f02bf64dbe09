//! Added tokens: found in a text before the model sees it.
//!
//! Those that are not `normalized` are searched for in the text as it is, the others in what is left,
//! after its normalization, with their own texts normalized. At each position the longest token
//! counts, and the leftmost match wins.
//!
//! | property | what it does to a match |
//! |---|---|
//! | `single_word` | dropped if a word character stands before or after it |
//! | `lstrip` | extended over the white space before it, up to the match before |
//! | `rstrip` | extended over the white space after it |
//!
//! A special token that a call does not allow is found all the same, but not cut out: its text is
//! ordinary text, in which no other added token is found. The search for the next token begins at the
//! end of the token itself, not at that of its white space.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::PipelineError;
use super::byte_trie::ByteTrie;
use super::model::ModelVocabulary;
use super::normalizer::Normalizer;
use super::text::{Malformed, MappedText};
use crate::base::decode_char;
use crate::special::{
    Segment, SpecialToken, first_char, last_char, spaces_at_end, spaces_at_start,
};

/// The added tokens of a pipeline, ready to be searched for.
#[derive(Debug)]
pub(crate) struct AddedTokens {
    /// With the ids that they have in the library.
    tokens: Vec<SpecialToken>,
    as_is: TokenTrie,
    normalized: TokenTrie,
    /// The number of the token of each id.
    by_id: HashMap<u32, usize>,
    by_text: HashMap<String, u32>,
    /// The text of each token, normalized if it is searched for like that.
    texts: Vec<String>,
    /// Whether the normalized text is that of a special token.
    hidden: Vec<bool>,
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
    pub(super) fn in_normalized(&self) -> &Arc<[bool]> {
        &self.in_normalized
    }

    #[inline]
    fn is_found(&self, token: usize) -> bool {
        self.is_found.get(token).copied().unwrap_or_default()
    }
}

impl AddedTokens {
    /// `tokens` in the order of the file; `model_size` is the number of tokens of the model. Their ids
    /// are those of the vocabulary, and otherwise the next ones after it.
    pub(super) fn new(
        tokens: Vec<SpecialToken>,
        vocabulary: &ModelVocabulary,
        model_size: u32,
        normalizer: &[Normalizer],
    ) -> Result<Self, PipelineError> {
        let mut by_text: HashMap<String, u32> = HashMap::new();
        let mut by_id: HashMap<u32, usize> = HashMap::new();
        let mut added: Vec<SpecialToken> = Vec::new();
        let mut next_id = model_size;
        for mut token in tokens.into_iter().filter(|token| !token.text.is_empty()) {
            let known = by_text.get(&token.text).copied();
            token.id = known
                .or_else(|| vocabulary.id(&token.text))
                .unwrap_or_else(|| {
                    next_id += 1;
                    next_id - 1
                });
            by_text.insert(token.text.clone(), token.id);
            // A later token takes the place of one with the same id.
            match by_id.get(&token.id) {
                Some(number) => added[*number] = token,
                None => {
                    by_id.insert(token.id, added.len());
                    added.push(token);
                }
            }
        }
        let mut texts = Vec::with_capacity(added.len());
        for token in &added {
            texts.push(match token.normalized {
                true => normalized(normalizer, &token.text)?,
                false => token.text.clone(),
            });
        }
        let trie = |normalizes: bool| -> Result<TokenTrie, PipelineError> {
            let chosen = added.iter().zip(&texts).zip(0..);
            let chosen = chosen.filter(|((token, _), _)| token.normalized == normalizes);
            TokenTrie::new(
                chosen
                    .map(|((_, text), number)| (&text[..], number))
                    .collect(),
            )
        };
        let special = added.iter().filter(|token| token.special);
        let special: HashSet<&str> = special.map(|token| &token.text[..]).collect();
        Ok(Self {
            as_is: trie(false)?,
            normalized: trie(true)?,
            hidden: texts
                .iter()
                .map(|text| special.contains(&text[..]))
                .collect(),
            tokens: added,
            by_id,
            by_text,
            texts,
        })
    }

    /// The tokens, with the ids that they have in the library.
    pub(crate) fn tokens(&self) -> &[SpecialToken] {
        &self.tokens
    }

    /// The id of the token with this text.
    pub(super) fn id(&self, text: &str) -> Option<u32> {
        self.by_text.get(text).copied()
    }

    /// The text of an id, normalized if the token is searched for like that.
    pub(super) fn text(&self, id: u32) -> Option<&str> {
        let number = *self.by_id.get(&id)?;
        Some(&self.texts[number])
    }

    /// Whether decoding without special tokens leaves out the text of an id.
    pub(super) fn is_hidden(&self, id: u32) -> bool {
        let number = self.by_id.get(&id);
        number.is_some_and(|number| self.hidden[*number])
    }

    /// The tokens that are searched for in normalized text, with their texts there.
    pub(super) fn normalized_tokens(&self) -> impl Iterator<Item = (&SpecialToken, &str)> {
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
    pub(super) fn cut_as_is(
        &self,
        text: &[u8],
        found: &FoundTokens,
        on_segment: impl FnMut(Segment),
    ) {
        let trie = found.any_as_is.then_some(&self.as_is);
        self.cut(trie, text, found, on_segment);
    }

    /// Passes the parts of a normalized text.
    pub(super) fn cut_normalized(
        &self,
        text: &[u8],
        found: &FoundTokens,
        on_segment: impl FnMut(Segment),
    ) {
        let trie = found.any_normalized.then_some(&self.normalized);
        self.cut(trie, text, found, on_segment);
    }

    /// The id of the token with a number.
    pub(super) fn id_of(&self, number: usize) -> u32 {
        self.tokens[number].id
    }

    fn cut(
        &self,
        trie: Option<&TokenTrie>,
        text: &[u8],
        found: &FoundTokens,
        mut on_segment: impl FnMut(Segment),
    ) {
        let mut done = 0;
        let mut at = 0;
        // The last run of white space after a token. Tokens inside of it have the same end.
        let mut run = 0..0;
        while let Some((number, range)) = trie.and_then(|trie| trie.find(text, at)) {
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

/// A text after the normalizer.
fn normalized(normalizer: &[Normalizer], text: &str) -> Result<String, PipelineError> {
    let mut mapped = MappedText::default();
    mapped.start(text.as_bytes(), 0..text.len(), true, Malformed::Replaced);
    for step in normalizer {
        step.apply(&mut mapped, true)?;
    }
    Ok(mapped.text)
}

impl TokenTrie {
    fn new(tokens: Vec<(&str, u32)>) -> Result<Self, PipelineError> {
        if tokens.is_empty() {
            return Ok(Self::default());
        }
        if tokens.iter().any(|(text, _)| text.is_empty()) {
            return Err(PipelineError::EmptyAddedToken);
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

    /// The first token at or after `at`, the longest of those there.
    fn find(&self, text: &[u8], at: usize) -> Option<(usize, Range<usize>)> {
        let first = self.first.as_deref()?;
        let rest = text.get(at..)?;
        let mut begins = rest
            .iter()
            .enumerate()
            .filter(|(_, byte)| first[usize::from(**byte)]);
        begins.find_map(|(begin, _)| {
            let begin = at + begin;
            let (length, number) = self.trie.prefixes(&text[begin..]).last()?;
            Some((number as usize, begin..begin + length))
        })
    }
}

/// Whether it is a letter, mark, digit or the like.
fn is_word(char: &[u8]) -> bool {
    let c = decode_char(char).0;
    c.is_some_and(|c| regex_syntax::try_is_word_character(c).unwrap_or_default())
}
