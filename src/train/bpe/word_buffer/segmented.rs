//! Words that begin as symbols of several characters or bytes, and characters that become symbols
//! later.
//!
//! Used by continued training: a word is divided into symbols, which are the pieces of a model, and
//! characters without a symbol, with one slot for each of these, regardless of the length of the
//! symbols' texts. Words of one slot are left out. In byte-level BPE all bytes have a symbol.
//!
//! A character without a symbol is *inactive*: it is part of no pair. [`WordBuffer::activate`]
//! makes it a symbol wherever it occurs.
//!
//! Example: with the pieces `▁` and `都`, the word `▁東京都` has the slots
//! `^ ▁ (東) (京) 都`, which contain no pair. After `東` has become a symbol, the only
//! pair is `▁` and `東`.

use std::collections::BTreeSet;

use foldhash::fast::FixedState;
use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;
use rayon::prelude::*;

use super::{
    CountRun, Occurrence, WordBuffer, WordSlot, counts, position_of, symbol_at, symbol_before,
};
use crate::train::TrainError;
use crate::train::bpe::symbols::Symbol;
use crate::train::execution_config::SeededMap;
use crate::train::word_table::{TextCounts, WordTable};

/// A part of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordPart {
    Symbol(Symbol),
    /// A character that is not a symbol.
    Inactive(char),
}

impl WordPart {
    /// The part that a slot begins, if it begins one.
    fn of(slot: u32) -> Option<Self> {
        let symbol = slot.symbol().map(Self::Symbol);
        symbol.or_else(|| inactive_character(slot).map(Self::Inactive))
    }
}

/// The character that has no symbol in a slot.
fn inactive_character(slot: u32) -> Option<char> {
    let code_point = (slot >= u32::INACTIVE).then_some(slot & !u32::INACTIVE);
    code_point.and_then(char::from_u32)
}

/// Receives the parts of one word, from left to right.
pub(crate) struct SegmentSink<'s>(&'s mut Vec<u32>);

impl SegmentSink<'_> {
    /// Adds a symbol.
    pub(crate) fn symbol(&mut self, symbol: Symbol) {
        self.0.push(symbol.0);
    }

    /// Adds a character that is not a symbol yet.
    pub(crate) fn inactive(&mut self, c: char) {
        self.0.push(u32::INACTIVE | c as u32);
    }
}

/// Slots of words by their count.
type SlotsByCount = SeededMap<u64, Vec<u32>>;

impl WordBuffer {
    /// Divides `words` with `segment` on the threads of the current pool; `make` creates the state
    /// for a group of words. The words are freed group by group.
    ///
    /// # Errors
    /// More than 2^32 - 1 slots.
    pub(crate) fn of_segments<S>(
        words: WordTable,
        hasher: &SeedableRandomState,
        make: impl Fn() -> S + Sync,
        segment: impl Fn(&mut S, &[u8], &mut SegmentSink<'_>) + Sync,
    ) -> Result<Self, TrainError> {
        let groups = words.into_groups(rayon::current_num_threads());
        let divided: Vec<SlotsByCount> = groups
            .into_par_iter()
            .map(|group| divide(group, hasher, make(), &segment))
            .collect();
        joined(divided)
    }

    /// The ascending positions of those of the `characters` that are inactive.
    pub(crate) fn inactive_positions(
        &mut self,
        characters: impl Iterator<Item = char>,
    ) -> HashMap<char, Vec<u32>, FixedState> {
        let mut positions: HashMap<char, Vec<u32>, FixedState> =
            characters.map(|c| (c, Vec::new())).collect();
        for (slot, position) in self.slots.widen().iter().zip(0..) {
            if let Some(c) = inactive_character(*slot)
                && let Some(positions) = positions.get_mut(&c)
            {
                positions.push(position);
            }
        }
        positions
    }
}

/// Divides the words of a group.
fn divide<S>(
    group: Vec<TextCounts>,
    hasher: &SeedableRandomState,
    mut state: S,
    segment: &impl Fn(&mut S, &[u8], &mut SegmentSink<'_>),
) -> SlotsByCount {
    let mut slots = SlotsByCount::with_hasher(hasher.clone());
    let mut word = Vec::new();
    for words in group {
        words.visit(|text, count| {
            word.clear();
            segment(&mut state, text, &mut SegmentSink(&mut word));
            if word.len() > 1 {
                let slots = slots.entry(count).or_default();
                slots.push(u32::WORD_START);
                slots.extend_from_slice(&word);
            }
        });
    }
    slots
}

/// Joins the slots of all groups, with equal counts adjacent.
fn joined(mut groups: Vec<SlotsByCount>) -> Result<WordBuffer, TrainError> {
    let lengths = groups.iter().flat_map(SeededMap::values).map(Vec::len);
    let total: usize = lengths.sum();
    if u32::try_from(total).is_err() {
        return Err(TrainError::TooLarge {
            what: "tokens in distinct words",
        });
    }
    let distinct: BTreeSet<u64> = groups.iter().flat_map(SeededMap::keys).copied().collect();
    let mut slots: Vec<u32> = Vec::with_capacity(total);
    let mut runs = Vec::with_capacity(distinct.len());
    for count in distinct {
        let start = slots.len();
        for group in &mut groups {
            slots.extend(group.remove(&count).unwrap_or_default());
        }
        let end = slots.len();
        runs.push(CountRun { start, end, count });
    }
    Ok(WordBuffer::of_runs(slots, runs))
}

/// Slots have 4 bytes afterwards, so that a slot can hold any character.
impl WordBuffer {
    /// Makes an inactive character a symbol at those of the `positions` where it still occurs, and
    /// then calls `visit` with its neighbours at each of them. A left neighbour that is the same
    /// symbol is omitted, since that pair has been visited from the left.
    pub(crate) fn activate(
        &mut self,
        (c, symbol): (char, Symbol),
        positions: &[u32],
        mut visit: impl FnMut(&Occurrence),
    ) {
        let slots = self.slots.widen();
        for position in positions {
            let slot = &mut slots[*position as usize];
            // It may have become part of an old piece since.
            if *slot == u32::INACTIVE | c as u32 {
                *slot = symbol.0;
            }
        }
        let mut counts = counts(&self.runs);
        for &position in positions {
            let at = position as usize;
            if slots[at] != symbol.0 {
                continue;
            }
            let left = symbol_before(slots, at, position);
            visit(&Occurrence {
                count: counts.at(at),
                position,
                left: left.filter(|(left, _)| *left != symbol),
                right: symbol_at(slots, at + 1),
            });
        }
    }

    /// The slots of the word that contains `position`: the first one and the one after the last.
    pub(crate) fn word_around(&mut self, position: u32) -> (u32, u32) {
        let slots = self.slots.widen();
        let at = position as usize;
        let is_start = |slot: &u32| *slot == u32::WORD_START;
        let before = slots[..at].iter().rposition(is_start);
        let after = slots[at..].iter().position(is_start);
        let start = before.map_or(0, |mark| mark + 1);
        let end = after.map_or(slots.len(), |length| at + length);
        (position_of(start), position_of(end))
    }

    /// Calls `visit` with the position of each part of a word, and the part.
    pub(crate) fn visit_parts(
        &mut self,
        (start, end): (u32, u32),
        mut visit: impl FnMut(u32, WordPart),
    ) {
        let slots = self.slots.widen();
        for position in start..end {
            if let Some(part) = WordPart::of(slots[position as usize]) {
                visit(position, part);
            }
        }
    }

    /// Writes a symbol that takes `length` slots.
    pub(crate) fn write(&mut self, position: u32, symbol: Symbol, length: u32) {
        let slots = self.slots.widen();
        let at = position as usize;
        let last = at + length as usize - 1;
        slots[at..=last].fill(u32::INSIDE);
        slots[last] = u32::INSIDE | length;
        slots[at] = symbol.0;
    }

    /// The count of the word at a position.
    pub(crate) fn count_at(&self, position: u32) -> u64 {
        counts(&self.runs).at(position as usize)
    }
}
