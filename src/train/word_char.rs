//! Word and char models: the most frequent words or characters of the corpus.
//!
//! The score of a piece is ln(its count) - ln(the sum of all counts), each as a 32-bit float. The
//! sum is over all words, or over the characters of the alphabet.
//!
//! Example: the words `▁to` 2 and `▁be` 1 have the scores ln 2 - ln 3 = -0.405 and ln 1 - ln 3 =
//! -1.099.
//!
//! Words with unknown characters do not become pieces, but their counts are part of the sum.
//!
//! Source: `word_model_trainer.cc` and `char_model_trainer.cc` of SentencePiece 0.2.3.

use std::cmp::Ordering;

use rayon::prelude::*;

use crate::base::num::count_to_f32;
use crate::train::TrainError;
use crate::train::alphabet::{Alphabet, KnownCharacters};
use crate::train::assemble::LearnedPiece;
use crate::train::log_f32::log_f32;
use crate::train::word_table::WordTable;

/// This many words are collected, or twice as many as wanted if that is more, before the less
/// frequent ones are dropped.
const MIN_CANDIDATES: usize = 1 << 16;

/// The pieces of a word model, at most `room`.
///
/// # Errors
/// The sum of the counts is 2^63 or more.
pub(crate) fn word_pieces(
    words: &WordTable,
    alphabet: &Alphabet,
    room: usize,
) -> Result<Vec<LearnedPiece>, TrainError> {
    let known = alphabet.known();
    let mut sum = 0u64;
    let mut best = BestWords::new(room);
    for shard in words.shards() {
        shard.visit(|text, count| {
            sum = sum.saturating_add(count);
            if best.min_count.is_none_or(|min_count| count >= min_count) {
                best.offer(text, count, &known);
            }
        });
    }
    if i64::try_from(sum).is_err() {
        return Err(TrainError::TooLarge { what: "words" });
    }
    Ok(scored(best.into_sorted(), sum))
}

/// A word or character and its count.
type CountedText = (Box<str>, u64);

/// Collects the most frequent words.
struct BestWords {
    /// How many words are wanted.
    room: usize,
    candidates: Vec<CountedText>,
    /// Words with lower counts are not among the best, of which there are enough; `None` before
    /// that. Most words occur once.
    min_count: Option<u64>,
}

impl BestWords {
    fn new(room: usize) -> Self {
        Self {
            room,
            candidates: Vec::new(),
            min_count: None,
        }
    }

    /// Adds a word that may be among the best, if all of its characters are known.
    fn offer(&mut self, text: &[u8], count: u64, known: &KnownCharacters) {
        // Words are parts of valid text.
        let text = std::str::from_utf8(text).unwrap_or_default();
        if text.chars().all(|c| known.contains(c)) {
            self.candidates.push((text.into(), count));
        }
        if self.candidates.len() >= self.max_candidates() {
            self.drop_others();
        }
    }

    fn max_candidates(&self) -> usize {
        self.room.saturating_mul(2).max(MIN_CANDIDATES)
    }

    /// Keeps the best `room` words, in no particular order. The lowest of their counts becomes
    /// `min_count`.
    fn drop_others(&mut self) {
        self.candidates.select_nth_unstable_by(self.room, by_count);
        self.candidates.truncate(self.room);
        let counts = self.candidates.iter().map(|(_, count)| *count);
        self.min_count = counts.min();
    }

    /// The wanted words, best first; fewer if there are no more.
    fn into_sorted(mut self) -> Vec<CountedText> {
        self.candidates.par_sort_unstable_by(by_count);
        self.candidates.truncate(self.room);
        self.candidates
    }
}

/// The order of words: by count, descending, and then by bytes.
fn by_count(a: &CountedText, b: &CountedText) -> Ordering {
    b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0))
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
        return Err(TrainError::NoCharacters);
    }
    let characters = alphabet.characters.iter().take(room);
    let texts = characters.map(|(c, count)| (c.to_string().into_boxed_str(), *count));
    Ok(scored(texts.collect(), sum))
}

fn scored(counted: Vec<CountedText>, sum: u64) -> Vec<LearnedPiece> {
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
