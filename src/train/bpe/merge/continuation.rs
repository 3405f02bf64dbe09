//! Merging that continues from the pieces of a model.
//!
//! The words of the [`MergeTrainer`] are segmented by a model. The model keeps its pieces, and the
//! new ones get lower scores, in the order in which they are learned; so the words are always
//! segmented as the model with the new pieces would segment them. Two things differ from training:
//!
//! * A *character* becomes a piece when its gain is at least the count of the best pair. The gain
//!   of a merge is its count, the number of tokens that it saves. The gain of a character is given;
//!   with byte fallback it is the number of its bytes minus one, times its count. Its pairs may
//!   then be more frequent than the best pair, but not more frequent than the character.
//! * A merge can make one half of an unfound piece (see [`old_pieces`](super::old_pieces)).
//!
//! Example: the model has `a` and byte pieces; the words are `ab` (9 times) and `é` (6 times). The
//! characters `b` and `é` are not pieces. `é` is a candidate with gain 6; `b` is not, since it
//! has one byte. There is no pair, since `b` is inactive; so `é` is the next piece, and the last
//! one.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::old_pieces::UnfoundPieces;
use super::{LearnedMerge, MergeTrainer, OnMerge};
use crate::train::TrainError;
use crate::train::bpe::queue::TieOrder;
use crate::train::bpe::symbols::Symbol;
use crate::train::bpe::word_buffer::MergeOp;

/// A character that may become a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CharacterCandidate {
    pub(crate) character: char,
    /// How often it occurs.
    pub(crate) count: u64,
    /// The character becomes a piece before pairs with this count or a lower one.
    pub(crate) gain: u64,
}

/// The input of a continuation besides the words.
pub(crate) struct Continuation {
    /// In reverse order: the last is the next, with the highest gain and then the lowest code
    /// point.
    characters: Vec<CharacterCandidate>,
    /// Where they occur.
    positions: HashMap<char, Vec<u32>, FixedState>,
    unfound: UnfoundPieces,
    /// Pairs that occur less often are not merged.
    min_frequency: u64,
}

impl Continuation {
    /// Takes the characters in any order, and the unfound pieces of the model.
    pub(crate) fn new(mut characters: Vec<CharacterCandidate>, unfound: UnfoundPieces) -> Self {
        characters.sort_unstable_by_key(|candidate| {
            let last_first = std::cmp::Reverse(candidate.character);
            (candidate.gain, last_first)
        });
        Self {
            characters,
            positions: HashMap::default(),
            unfound,
            min_frequency: 1,
        }
    }

    /// Pairs that occur less often than `min_frequency` are not merged. 0 and 1 allow all.
    pub(crate) fn with_min_frequency(mut self, min_frequency: u64) -> Self {
        self.min_frequency = min_frequency.max(1);
        self
    }

    /// The next character, if its gain is at least `count`.
    fn next_character(&mut self, count: u64) -> Option<CharacterCandidate> {
        self.characters.pop_if(|candidate| candidate.gain >= count)
    }

    /// Removes and returns the positions of a character.
    fn take_positions(&mut self, c: char) -> Vec<u32> {
        self.positions.remove(&c).unwrap_or_default()
    }
}

impl<Order: TieOrder> MergeTrainer<'_, Order> {
    /// The first `wanted` new pieces, or fewer if no pair occurs any more.
    pub(crate) fn run_continuation(
        mut self,
        mut continuation: Continuation,
        wanted: usize,
        on_merge: OnMerge<'_>,
    ) -> Result<Vec<LearnedMerge>, TrainError> {
        let characters = continuation.characters.iter();
        let characters = characters.map(|candidate| candidate.character);
        continuation.positions = self.words.inactive_positions(characters);
        self.words_may_move = continuation.positions.is_empty() && continuation.unfound.is_empty();
        self.min_frequency = continuation.min_frequency;
        while self.merges.len() < wanted {
            let best = self.next_candidate(wanted)?;
            let count = best.as_ref().map_or(0, |best| best.count);
            if let Some(character) = continuation.next_character(count) {
                best.into_iter().for_each(|best| self.queue.put_back(best));
                let positions = continuation.take_positions(character.character);
                self.add_character(&character, &positions)?;
            } else if let Some(best) = best {
                let unfound = &continuation.unfound;
                let (left, right) = best.symbols;
                if !unfound.is_empty() && unfound.have_part(&self.symbols.joined_text(left, right))
                {
                    self.take_with_old_pieces(&best, unfound)?;
                } else {
                    self.take(&best)?;
                }
            } else {
                break;
            }
            on_merge(&self.merges)?;
        }
        Ok(self.merges)
    }

    /// Adds a character as a piece.
    fn add_character(
        &mut self,
        candidate: &CharacterCandidate,
        positions: &[u32],
    ) -> Result<(), TrainError> {
        let c = candidate.character;
        if let Some(shape) = self.rules.shape_of(c) {
            let symbol = self.symbols.add_character(c, shape)?;
            self.activate((c, symbol), positions)?;
        }
        self.merges.push(LearnedMerge {
            text: c.encode_utf8(&mut [0; 4]).as_bytes().into(),
            count: candidate.count,
        });
        Ok(())
    }

    /// Makes a character a symbol at all of its positions.
    fn activate(&mut self, character: (char, Symbol), positions: &[u32]) -> Result<(), TrainError> {
        let (_, symbol) = character;
        self.reset_contexts(1);
        let near = &mut self.neighbours;
        self.words
            .activate(character, positions, |found| near.add(found));
        // As a merge that creates the character; no old pair loses occurrences.
        let merge_op = MergeOp {
            left: (symbol, 1),
            right: (symbol, 1),
            merged: symbol,
        };
        self.add_new_pairs(&merge_op)
    }
}
