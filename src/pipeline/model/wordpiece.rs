//! WordPiece: a part begins with the longest token that it begins with, and goes on with the longest
//! of those with a prefix. If there is none, the whole part is unknown.
//!
//! Both kinds of tokens are a trie, which is walked once for each token of the part.

use super::{ModelToken, ModelVocabulary, NoUnknownToken};
use crate::trie::TrieTooLarge;
use crate::trie::texts::{ByteTrie, without_nul};

/// A vocabulary of beginnings and continuations of parts.
#[derive(Debug)]
pub struct WordPieceModel {
    vocabulary: ModelVocabulary,
    /// The tokens that parts begin with.
    starts: ByteTrie,
    /// The tokens with the prefix, without it.
    continuations: ByteTrie,
    unknown_token: String,
    unknown: Option<u32>,
    prefix: String,
    max_chars: usize,
}

impl WordPieceModel {
    /// Tokens that continue a part begin with `prefix`. A part of more than `max_chars` characters is
    /// `unknown_token`.
    pub(crate) fn new(
        vocabulary: ModelVocabulary,
        unknown_token: impl Into<String>,
        prefix: impl Into<String>,
        max_chars: usize,
    ) -> Result<Self, TrieTooLarge> {
        let (unknown_token, prefix) = (unknown_token.into(), prefix.into());
        let rest = |(text, id): (_, _)| Some((str::strip_prefix(text, prefix.as_str())?, id));
        Ok(Self {
            starts: ByteTrie::new(vocabulary.tokens())?,
            continuations: ByteTrie::new(vocabulary.tokens().filter_map(rest))?,
            unknown: vocabulary.id(&unknown_token),
            vocabulary,
            unknown_token,
            prefix,
            max_chars,
        })
    }

    /// The tokens with their ids.
    pub fn vocabulary(&self) -> &ModelVocabulary {
        &self.vocabulary
    }

    /// The text of the token for parts without tokens.
    pub fn unknown_token(&self) -> &str {
        &self.unknown_token
    }

    /// What tokens that continue a part begin with.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// The characters that a part may have.
    pub fn max_chars(&self) -> usize {
        self.max_chars
    }

    pub(super) fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    pub(super) fn encode(
        &self,
        part: &str,
        out: &mut Vec<ModelToken>,
    ) -> Result<(), NoUnknownToken> {
        let start = out.len();
        let is_short = part.len() <= self.max_chars || part.chars().count() <= self.max_chars;
        let text = without_nul(part.as_bytes());
        let mut at = 0;
        let mut trie = &self.starts;
        while is_short && at < part.len() {
            let Some((length, id)) = trie.prefixes(&text[at..]).last() else {
                break;
            };
            out.push(ModelToken::new(id, at..at + length));
            at += length;
            trie = &self.continuations;
        }
        if at < part.len() {
            out.truncate(start);
            let unknown = self.unknown.ok_or(NoUnknownToken)?;
            out.push(ModelToken::new(unknown, 0..part.len()));
        }
        Ok(())
    }
}
