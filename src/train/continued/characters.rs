//! Characters that the model lacks and that may become pieces.
//!
//! Input: the model, the distinct words, and how characters are chosen. Output: candidates with their gains, which say when
//! they become pieces:
//!
//! | rule | candidates | gain |
//! |---|---|---|
//! | [`NewCharacters::ByGain`] | all | count · (tokens that an unknown character costs - 1); with byte fallback these are its bytes |
//! | [`NewCharacters::Coverage`] | those that training would choose | above all counts, so that they come before all merges |
//! | [`NewCharacters::Never`] | none | |
//!
//! With byte fallback, a character of one byte gains nothing: its byte piece does the same. It is never a candidate, since
//! as a piece it would only give every text with it other ids. Without byte fallback an unknown character loses
//! information; it counts as two tokens.
//!
//! Example: a model with byte fallback lacks `東` (3 bytes), which occurs 40 times: the gain is 80. It becomes a piece before
//! a pair that occurs 80 times, and after one that occurs 81 times.
//!
//! Cost: linear in the distinct words.

use std::collections::HashSet;

use crate::error::TrainError;
use crate::model::Model;
use crate::text::WHITESPACE_MARK;
use crate::train::alphabet::{Alphabet, CharacterCounts};
use crate::train::bpe::merge::continuation::CharacterCandidate;
use crate::train::counts::ShardedCounts;
use crate::train::options::TrainOptions;
use crate::train::split::is_breaking;

/// How characters that a model lacks become pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NewCharacters {
    /// A character competes with merges: it becomes a piece if that saves as many tokens as the next merge.
    #[default]
    ByGain,
    /// The characters that training would choose by
    /// [`character_coverage`](crate::TrainOptions::character_coverage) become pieces, before all merges.
    Coverage,
    /// No character becomes a piece.
    Never,
}

/// The candidates, in no particular order. Runs on the threads of the current pool.
pub(super) fn candidates(
    model: &Model,
    words: &ShardedCounts,
    options: &TrainOptions,
    rule: NewCharacters,
) -> Result<Vec<CharacterCandidate>, TrainError> {
    let counts = CharacterCounts::of(words)?;
    let known: HashSet<&[u8]> = model.pieces().map(|piece| piece.text).collect();
    let has_bytes = model.trainer_spec().byte_fallback();
    let is_candidate = |c: &char| {
        let text = c.to_string();
        let is_new = !is_breaking(*c) && !known.contains(text.as_bytes());
        is_new && (*c == WHITESPACE_MARK || !has_bytes || text.len() > 1)
    };
    let all: Vec<(char, u64)> = match rule {
        NewCharacters::Never => Vec::new(),
        NewCharacters::ByGain => counts.iter().collect(),
        NewCharacters::Coverage => {
            Alphabet::choose(&counts.without_breaking(), options)?.characters
        }
    };
    let candidates = all.into_iter().filter(|(c, _)| is_candidate(c));
    Ok(candidates
        .map(|(character, count)| CharacterCandidate {
            character,
            count,
            gain: gain(character, count, (rule, has_bytes)),
        })
        .collect())
}

/// Before which merges a character becomes a piece.
fn gain(character: char, count: u64, (rule, has_bytes): (NewCharacters, bool)) -> u64 {
    let saved = if has_bytes {
        character.len_utf8() as u64 - 1
    } else {
        1
    };
    match rule {
        // Above all counts of pairs, and in the order of the counts. There are fewer than 2^63 characters.
        NewCharacters::Coverage => (1 << 63) | count,
        _ => count.saturating_mul(saved),
    }
}
