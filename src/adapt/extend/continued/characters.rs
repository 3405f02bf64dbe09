//! The characters without a piece in the model that may become pieces.
//!
//! Their gains say when they become pieces:
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

use std::collections::HashSet;

use crate::model::Model;
use crate::train::TrainError;
use crate::train::alphabet::{Alphabet, CharacterCounts};
use crate::train::bpe::merge::continuation::CharacterCandidate;
use crate::train::options::TrainOptions;
use crate::train::split::is_breaking;
use crate::train::word_table::WordTable;

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
    let known: HashSet<&[u8]> = model.pieces().map(|piece| piece.text).collect();
    let has_bytes = model.trainer_spec().byte_fallback();
    let mut candidates = Vec::new();
    for (character, count) in characters {
        let length = character.len_utf8() as u64;
        // The tokens that a piece saves where the character occurs.
        let saved = if has_bytes { length - 1 } else { 1 };
        let is_known = known.contains(character.encode_utf8(&mut [0; 4]).as_bytes());
        if is_breaking(character) || is_known || saved == 0 {
            continue;
        }
        let gain = match rule {
            // Above all counts of pairs, and in the order of the counts. There are fewer than 2^63
            // characters.
            NewCharacters::Coverage => (1 << 63) | count,
            _ => count.saturating_mul(saved),
        };
        candidates.push(CharacterCandidate {
            character,
            count,
            gain,
        });
    }
    Ok(candidates)
}
