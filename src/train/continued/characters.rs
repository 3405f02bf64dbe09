//! The characters without a piece in the model that may become pieces.
//!
//! Input: the model, the distinct words, and how characters are chosen. Output: candidates with
//! their gains, which say when they become pieces:
//!
//! | rule | candidates | gain |
//! |---|---|---|
//! | [`NewCharacters::ByGain`] | all | count · (tokens that an unknown character costs - 1); with byte fallback these are its bytes |
//! | [`NewCharacters::Coverage`] | those that training would choose | above all counts, so that they come before all merges |
//! | [`NewCharacters::Never`] | none | |
//!
//! With byte fallback, a character of one byte gains nothing: its byte piece is also one token. It
//! is never a candidate, since as a piece it would only change the ids of texts that contain it.
//! Without byte fallback an unknown character loses information; it counts as two tokens.
//!
//! Example: a model with byte fallback lacks `東` (3 bytes), which occurs 40 times: the gain is 80.
//! It becomes a piece before a pair that occurs 80 times, and after one that occurs 81 times.
//!
//! Cost: linear in the distinct words.

use std::collections::HashSet;

use crate::error::TrainError;
use crate::model::Model;
use crate::text::WHITESPACE_MARK;
use crate::train::alphabet::{Alphabet, CharacterCounts};
use crate::train::bpe::merge::continuation::CharacterCandidate;
use crate::train::counts::WordTable;
use crate::train::options::TrainOptions;
use crate::train::split::is_breaking;

/// How characters that a model lacks become pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NewCharacters {
    /// A character competes with merges: it becomes a piece once that saves at least as many tokens
    /// as the next merge.
    #[default]
    ByGain,
    /// The characters that training would choose by
    /// [`character_coverage`](crate::TrainOptions::character_coverage) become pieces, before all
    /// merges.
    Coverage,
    /// No character becomes a piece.
    Never,
}

/// The candidates, in no particular order. Runs on the threads of the current pool.
pub(super) fn candidates(
    model: &Model,
    words: &WordTable,
    options: &TrainOptions,
    rule: NewCharacters,
) -> Result<Vec<CharacterCandidate>, TrainError> {
    let counts = CharacterCounts::of(words)?;
    let characters: Vec<(char, u64)> = match rule {
        NewCharacters::Never => Vec::new(),
        NewCharacters::ByGain => counts.iter().collect(),
        NewCharacters::Coverage => {
            Alphabet::choose(&counts.without_breaking(), options)?.characters
        }
    };
    Ok(CandidateRules::new(model, rule).candidates(characters))
}

/// Which characters are candidates, and what they gain.
struct CandidateRules<'m> {
    rule: NewCharacters,
    /// The texts of the pieces of the model.
    known: HashSet<&'m [u8]>,
    /// Whether the model has byte fallback.
    has_bytes: bool,
}

impl<'m> CandidateRules<'m> {
    fn new(model: &'m Model, rule: NewCharacters) -> Self {
        Self {
            rule,
            known: model.pieces().map(|piece| piece.text).collect(),
            has_bytes: model.trainer_spec().byte_fallback(),
        }
    }

    fn candidates(&self, characters: Vec<(char, u64)>) -> Vec<CharacterCandidate> {
        let counted = characters.into_iter().filter(|(c, _)| self.allows(*c));
        counted.map(|(c, count)| self.candidate(c, count)).collect()
    }

    /// Whether the model lacks a piece for a character that can be one.
    fn allows(&self, c: char) -> bool {
        let text = c.to_string();
        !is_breaking(c) && !self.known.contains(text.as_bytes()) && self.saves_tokens(c)
    }

    /// Whether a piece takes fewer tokens than the character without it. The whitespace mark is
    /// always a candidate.
    fn saves_tokens(&self, c: char) -> bool {
        c == WHITESPACE_MARK || !self.has_bytes || !c.is_ascii()
    }

    fn candidate(&self, character: char, count: u64) -> CharacterCandidate {
        CharacterCandidate {
            character,
            count,
            gain: self.gain(character, count),
        }
    }

    /// The gain of a character: it becomes a piece before merges with this count or a lower one.
    fn gain(&self, c: char, count: u64) -> u64 {
        match self.rule {
            // Above all counts of pairs, and in the order of the counts. There are fewer than 2^63
            // characters.
            NewCharacters::Coverage => (1 << 63) | count,
            _ => count.saturating_mul(self.saved_tokens(c)),
        }
    }

    /// The tokens that a piece saves where the character occurs.
    fn saved_tokens(&self, c: char) -> u64 {
        if self.has_bytes {
            c.len_utf8() as u64 - 1
        } else {
            1
        }
    }
}
