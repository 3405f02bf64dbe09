//! Word and char models: the most frequent words or characters of the corpus.
//!
//! Input: the counts of the words or characters. Output: the learned pieces, most frequent first. The score of a piece is
//! ln(its count) - ln(the sum of all counts), each in 32-bit floats.
//!
//! Example: the words `▁to` 2 and `▁be` 1 have the scores ln 2 - ln 3 = -0.405 and ln 1 - ln 3 = -1.099.
//!
//! Words with unknown characters are no pieces, but their counts are part of the sum.
//!
//! Cost: sorting the distinct words. Source: `word_model_trainer.cc` and `char_model_trainer.cc` of SentencePiece 0.2.3.

use std::convert::Infallible;

use rayon::prelude::*;

use crate::error::TrainError;
use crate::text::num::count_to_f32;
use crate::train::alphabet::Alphabet;
use crate::train::assemble::LearnedPiece;
use crate::train::counts::ShardedCounts;
use crate::train::log_f32::log_f32;

/// The pieces of a word model, at most `room`.
///
/// # Errors
/// There are 2^63 words or more.
pub(crate) fn word_pieces(
    words: &ShardedCounts,
    alphabet: &Alphabet,
    room: usize,
) -> Result<Vec<LearnedPiece>, TrainError> {
    let known = alphabet.known();
    let mut sum = 0u64;
    let mut candidates: Vec<(Box<str>, u64)> = Vec::new();
    for shard in words.shards() {
        let collected: Result<(), Infallible> = shard.for_each(|text, count| {
            sum = sum.saturating_add(count);
            // Words are parts of valid text.
            let text = std::str::from_utf8(text).unwrap_or_default();
            if text.chars().all(|c| known.contains(c)) {
                candidates.push((text.into(), count));
            }
            Ok(())
        });
        match collected {
            Ok(()) => {}
        }
    }
    if i64::try_from(sum).is_err() {
        return Err(TrainError::TooLarge { what: "words" });
    }
    candidates.par_sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    candidates.truncate(room);
    Ok(scored(candidates, sum))
}

/// The pieces of a char model, at most `room`.
///
/// # Errors
/// No character of the alphabet occurs.
pub(crate) fn char_pieces(
    alphabet: &Alphabet,
    room: usize,
) -> Result<Vec<LearnedPiece>, TrainError> {
    let sum = alphabet.characters.iter().map(|(_, count)| *count).sum();
    if sum == 0 {
        return Err(TrainError::NoText);
    }
    let characters = alphabet.characters.iter().take(room);
    let texts = characters.map(|(c, count)| (c.to_string().into_boxed_str(), *count));
    Ok(scored(texts.collect(), sum))
}

fn scored(counted: Vec<(Box<str>, u64)>, sum: u64) -> Vec<LearnedPiece> {
    let log_sum = log_of(sum);
    let piece = |(text, count)| LearnedPiece {
        text,
        score: log_of(count) - log_sum,
    };
    counted.into_iter().map(piece).collect()
}

/// The logarithm of a count, rounded to 32 bits before and after.
fn log_of(count: u64) -> f32 {
    log_f32(count_to_f32(count))
}

#[cfg(test)]
mod tests;
