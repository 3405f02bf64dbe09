//! All words as one flat array of symbols that is changed in place.
//!
//! Every character of a word has a slot (in continued training every piece of the model; see
//! [`segmented`]). A symbol is stored in the slot of its first character; the other slots of its
//! characters are marked as inside, and the last of them holds the symbol's length. So both
//! neighbours of a symbol are found in constant time. Slots never move, so the position of a pair
//! (the slot of its left symbol) remains valid. A mark precedes each word; the last word ends at
//! the end of the array.
//!
//! For example, the word `abab` at slot 10, where `^` is the mark, `(n)` the last slot of a symbol
//! of length n, and `( )` an inside slot whose length is not read:
//!
//! ```text
//! slot                10  11  12  13  14
//! characters          ^   a   b   a   b
//! after a + b -> ab   ^   ab  (2) ab  (2)       positions of the pair: 11 and 13
//! after ab + ab       ^  abab ( ) ( ) (4)       position of the pair: 11
//! ```
//!
//! The symbol after the one at slot 11 is at slot 11 plus its length. After the first merge, the
//! symbol before slot 13 ends at slot 12, which holds the length 2, so it is at slot 11.
//!
//! Words with equal counts are adjacent and form a run that stores the count. Positions are visited
//! in ascending order, so the run changes rarely. A slot takes 4 bytes.

mod segmented;

use std::collections::BTreeSet;
use std::ops::Range;

use foldhash::fast::SeedableRandomState;
use rayon::prelude::*;

pub(crate) use self::segmented::{SegmentSink, WordPart};
use crate::base::TextArena;
use crate::base::num::low_u32;
use crate::train::TrainError;
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::counts::{PlacedCount, Tally, TextCounts, WordTable};
use crate::train::execution::SeededMap;

/// The number of positions that are read together.
const LOOKAHEAD: usize = 64;

/// A slot inside a symbol, with a length if it is the last one. Slots below this are symbols.
const INSIDE: u32 = 1 << 31;
/// A character that is not a symbol yet, with its code point. Slots from here on are not part of a
/// symbol.
const INACTIVE: u32 = 0b11 << 30;
const WORD_START: u32 = u32::MAX;

/// The words of the corpus that merging needs: words of one character are left out.
#[derive(Debug, Default)]
pub(crate) struct WordBuffer {
    slots: Vec<u32>,
    runs: Vec<CountRun>,
}

/// Adjacent words with equal counts.
#[derive(Debug, Clone, Copy, Default)]
struct CountRun {
    /// The first slot.
    start: usize,
    /// The slot after the last.
    end: usize,
    count: u64,
}

impl CountRun {
    #[inline]
    fn contains(&self, slot: usize) -> bool {
        (self.start..self.end).contains(&slot)
    }
}

/// Looks up the counts of the words at positions; fastest for ascending positions.
struct RunCounts<'s> {
    runs: &'s [CountRun],
    /// The run of the last lookup.
    current: CountRun,
}

impl RunCounts<'_> {
    fn at(&mut self, slot: usize) -> u64 {
        if !self.current.contains(slot) {
            self.current = self.run_at(slot);
        }
        self.current.count
    }

    fn run_at(&self, slot: usize) -> CountRun {
        let index = self.runs.partition_point(|run| run.end <= slot);
        self.runs[index]
    }
}

/// The words in a part of the array.
pub(crate) struct WordBufferMut<'s> {
    slots: &'s mut [u32],
    /// Index of `slots[0]` in the whole array.
    offset: usize,
    runs: &'s [CountRun],
}

/// A symbol's neighbours at a position, before the merge there.
pub(crate) struct Occurrence {
    pub(crate) count: u64,
    pub(crate) position: u32,
    /// The symbol to the left and its slot.
    pub(crate) left: Option<(Symbol, u32)>,
    pub(crate) right: Option<Symbol>,
}

impl WordBuffer {
    /// Divides `words` into their initial symbols, on the threads of the current pool. The words
    /// are freed group by group.
    pub(crate) fn new(
        words: WordTable,
        spelling: &impl WordSpelling,
        hasher: &SeedableRandomState,
    ) -> Result<Self, TrainError> {
        let groups = words.into_groups(rayon::current_num_threads());
        let needs: Vec<SeededMap<u64, usize>> = groups
            .par_iter()
            .map(|group| slots_by_count(group, spelling, hasher))
            .collect();
        let total = total_slots(&needs)?;
        // Zeroed memory is not committed before it is written, and by then words have been freed.
        let mut slots = vec![0; total];
        let (runs, parts) = divide_slots(&mut slots, &needs, hasher);
        groups
            .into_par_iter()
            .zip(parts)
            .for_each(|(group, parts)| fill(group, spelling, parts));
        Ok(Self { slots, runs })
    }

    /// As [`new`](Self::new), with the words in the order of their places, so that few words have
    /// runs in common.
    pub(crate) fn in_order_of_places(
        words: WordTable<PlacedCount>,
        spelling: &impl WordSpelling,
    ) -> Result<Self, TrainError> {
        let mut placed = Vec::new();
        let mut texts = TextArena::default();
        let mut needed = 0;
        for shard in words.shards() {
            for_each_word(shard, spelling, |text, length, count: PlacedCount| {
                needed += 1 + length;
                placed.push((count.place(), texts.len(), count.count()));
                texts.push(text);
            });
        }
        drop(words);
        check_slots(needed as u64)?;
        placed.sort_unstable();
        let mut slots = vec![WORD_START; needed];
        let mut runs: Vec<CountRun> = Vec::new();
        let mut start = 0;
        for (_, text, count) in placed {
            let text = texts.get(text);
            let end = start + 1 + spelling.length(text);
            spelling.spell(text, &mut slots[start + 1..end]);
            match runs.last_mut().filter(|run| run.count == count) {
                Some(run) => run.end = end,
                None => runs.push(CountRun { start, end, count }),
            }
            start = end;
        }
        Ok(Self { slots, runs })
    }

    /// Whether a pair, whose left symbol has a length in slots, occurs at a position.
    pub(crate) fn has_pair_at(
        &self,
        (left, length): (Symbol, usize),
        right: Symbol,
        position: u32,
    ) -> bool {
        let at = position as usize;
        self.slots.get(at) == Some(&left.0) && symbol_at(&self.slots, at + length) == Some(right)
    }

    /// Splits every symbol into its initial symbols, each of which takes one slot.
    pub(crate) fn split_symbols(&mut self, symbols: &SymbolArena) {
        for at in 0..self.slots.len() {
            let slot = self.slots[at];
            if slot & INSIDE == 0 {
                let mut next = at;
                symbols.for_each_initial(Symbol(slot), &mut |initial| {
                    self.slots[next] = initial.0;
                    next += 1;
                });
            }
        }
    }

    /// The first slot at or after `slot` that begins a word.
    fn next_word(&self, slot: usize) -> usize {
        let end = self.slots.len();
        (slot..end)
            .find(|slot| self.slots[*slot] == WORD_START)
            .unwrap_or(end)
    }

    /// The array in this many parts of about equal size, each of which begins with a word. Parts
    /// may be empty.
    pub(crate) fn parts(&self, parts: usize) -> Vec<Range<usize>> {
        let parts = parts.max(1);
        let starts = (0..=parts).map(|part| self.next_word(self.slots.len() / parts * part));
        let mut bounds: Vec<usize> = starts.collect();
        bounds[0] = 0;
        bounds[parts] = self.slots.len();
        bounds.windows(2).map(|bound| bound[0]..bound[1]).collect()
    }

    /// Calls `visit` with the position, the count and the two symbols of every pair that begins in
    /// `slots`, in order.
    pub(crate) fn for_each_pair(
        &self,
        symbols: &SymbolArena,
        slots: Range<usize>,
        mut visit: impl FnMut(u32, u64, Symbol, Symbol),
    ) {
        let mut counts = counts(&self.runs);
        let first = position_of(slots.start);
        for (at, position) in slots.zip(first..) {
            let left = self.slots[at];
            if left & INSIDE != 0 {
                continue;
            }
            let left = Symbol(left);
            if let Some(right) = symbol_at(&self.slots, at + symbols.length(left)) {
                visit(position, counts.at(at), left, right);
            }
        }
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The whole array as one part.
    pub(crate) fn whole(&mut self) -> WordBufferMut<'_> {
        WordBufferMut {
            slots: &mut self.slots,
            offset: 0,
            runs: &self.runs,
        }
    }

    /// The array in parts, of which all but the first begin with the first word at or after each of
    /// the ascending `slots`.
    pub(crate) fn split_at(&mut self, slots: impl Iterator<Item = u32>) -> Vec<WordBufferMut<'_>> {
        let starts: Vec<usize> = slots.map(|slot| self.next_word(slot as usize)).collect();
        let mut parts = Vec::with_capacity(starts.len() + 1);
        let mut rest = self.slots.as_mut_slice();
        let mut offset = 0;
        for start in starts {
            let (slots, after) = rest.split_at_mut(start - offset);
            parts.push(WordBufferMut {
                slots,
                offset,
                runs: &self.runs,
            });
            rest = after;
            offset = start;
        }
        parts.push(WordBufferMut {
            slots: rest,
            offset,
            runs: &self.runs,
        });
        parts
    }
}

/// The number of slots that the words need: a mark and the characters for each.
///
/// # Errors
/// More than 2^32 - 1 slots, since positions are 32 bits wide.
fn total_slots(needs: &[SeededMap<u64, usize>]) -> Result<usize, TrainError> {
    let slots = needs.iter().flat_map(SeededMap::values);
    check_slots(slots.map(|slots| *slots as u64).sum())
}

fn check_slots(total: u64) -> Result<usize, TrainError> {
    match u32::try_from(total) {
        Ok(total) => Ok(total as usize),
        Err(_) => Err(TrainError::TooLarge {
            what: "characters in distinct words",
        }),
    }
}

/// The free slots of a group of words, by the count of the words.
type FreeSlots<'s> = SeededMap<u64, &'s mut [u32]>;

/// Divides the slots into runs, one for each count in ascending order, and every run into one part
/// for each group, so that the groups can be written in parallel. `needs` has the slots that each
/// group needs for each count.
///
/// For example, if group 0 needs 3 slots for count 1 and 4 for count 2, and group 1 needs 5 for
/// count 1, the run of count 1 is 0..8, of which group 0 gets 0..3 and group 1 gets 3..8; the run
/// of count 2 is 8..12.
fn divide_slots<'s>(
    slots: &'s mut [u32],
    needs: &[SeededMap<u64, usize>],
    hasher: &SeedableRandomState,
) -> (Vec<CountRun>, Vec<FreeSlots<'s>>) {
    let total = slots.len();
    let mut runs = Vec::new();
    let mut parts: Vec<FreeSlots<'s>> = needs
        .iter()
        .map(|need| SeededMap::with_capacity_and_hasher(need.len(), hasher.clone()))
        .collect();
    let mut rest = slots;
    let counts: BTreeSet<u64> = needs.iter().flat_map(SeededMap::keys).copied().collect();
    for count in counts {
        let start = total - rest.len();
        for (need, parts) in needs.iter().zip(&mut parts) {
            let length = need.get(&count).copied().unwrap_or(0);
            let (free, after) = rest.split_at_mut(length);
            parts.insert(count, free);
            rest = after;
        }
        let end = total - rest.len();
        runs.push(CountRun { start, end, count });
    }
    (runs, parts)
}

/// The number of a slot as positions are stored. [`WordBuffer::new`] refuses more than 2^32 - 1
/// slots.
#[inline]
fn position_of(slot: usize) -> u32 {
    low_u32(slot as u64)
}

fn counts(runs: &[CountRun]) -> RunCounts<'_> {
    RunCounts {
        runs,
        current: CountRun::default(),
    }
}

/// How the words of a corpus are spelled with initial symbols.
pub(crate) trait WordSpelling: Sync {
    /// The number of initial symbols of a word.
    fn length(&self, word: &[u8]) -> usize;

    /// Writes the initial symbols of a word, [`length`](Self::length) in number, as slots.
    fn spell(&self, word: &[u8], slots: &mut [u32]);
}

/// Each character is an initial symbol. Characters without a symbol divide a word.
pub(crate) struct CharacterSpelling {
    /// The slot of each character, by code point, up to the highest character with a symbol.
    slot_of: Vec<u32>,
}

impl CharacterSpelling {
    /// Of these symbols, those that are one character.
    pub(crate) fn of(symbols: &SymbolArena) -> Self {
        let mut slot_of = Vec::new();
        for (text, symbol) in symbols.texts() {
            let mut characters = text.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
            if let (Some(c), None) = (characters.next(), characters.next()) {
                let code = c as usize;
                if slot_of.len() <= code {
                    slot_of.resize(code + 1, WORD_START);
                }
                slot_of[code] = symbol.0;
            }
        }
        Self { slot_of }
    }
}

impl WordSpelling for CharacterSpelling {
    fn length(&self, word: &[u8]) -> usize {
        word.iter().filter(|byte| is_boundary(**byte)).count()
    }

    fn spell(&self, word: &[u8], slots: &mut [u32]) {
        // Words are parts of valid text.
        let chars = std::str::from_utf8(word).unwrap_or_default().chars();
        slots.iter_mut().zip(chars).for_each(|(slot, c)| {
            *slot = self.slot_of.get(c as usize).copied().unwrap_or(WORD_START)
        });
    }
}

/// Each byte is an initial symbol.
pub(crate) struct ByteSpelling {
    /// The slot of each byte.
    slot_of: [u32; 256],
}

impl ByteSpelling {
    /// Of the symbols of [`SymbolArena::of_bytes`].
    pub(crate) fn of(symbols: &SymbolArena) -> Self {
        let mut slot_of = [WORD_START; 256];
        for (text, symbol) in symbols.texts() {
            if let [byte] = text {
                slot_of[usize::from(*byte)] = symbol.0;
            }
        }
        Self { slot_of }
    }
}

impl WordSpelling for ByteSpelling {
    fn length(&self, word: &[u8]) -> usize {
        word.len()
    }

    fn spell(&self, word: &[u8], slots: &mut [u32]) {
        slots
            .iter_mut()
            .zip(word)
            .for_each(|(slot, byte)| *slot = self.slot_of[usize::from(*byte)]);
    }
}

/// Calls `visit` with every word of two or more initial symbols, the number of these, and the
/// word's count.
fn for_each_word<T: Tally>(
    words: &TextCounts<T>,
    spelling: &impl WordSpelling,
    mut visit: impl FnMut(&[u8], usize, T),
) {
    words.visit(|text, count| {
        let length = spelling.length(text);
        if length > 1 {
            visit(text, length, count);
        }
    });
}

/// How many slots the words of each count take.
fn slots_by_count(
    words: &[TextCounts],
    spelling: &impl WordSpelling,
    hasher: &SeedableRandomState,
) -> SeededMap<u64, usize> {
    let mut slots = SeededMap::with_hasher(hasher.clone());
    for words in words {
        for_each_word(words, spelling, |_, length, count| {
            *slots.entry(count).or_default() += 1 + length
        });
    }
    slots
}

/// Writes words into the free part of the run of their count.
fn fill(words: Vec<TextCounts>, spelling: &impl WordSpelling, mut free_parts: FreeSlots<'_>) {
    for words in words {
        for_each_word(&words, spelling, |text, length, count| {
            let Some(free) = free_parts.get_mut(&count) else {
                return;
            };
            let (word, rest) = std::mem::take(free).split_at_mut(1 + length);
            *free = rest;
            word[0] = WORD_START;
            spelling.spell(text, &mut word[1..]);
        });
    }
}

/// Whether a byte of valid text begins a character.
fn is_boundary(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The symbol that begins at `at`, if the word continues there.
fn symbol_at(slots: &[u32], at: usize) -> Option<Symbol> {
    // `at` is directly after a symbol, so it is not inside another one.
    slots
        .get(at)
        .filter(|slot| **slot < INSIDE)
        .map(|slot| Symbol(*slot))
}

/// A merge: two symbols with their lengths in slots, and the symbol that they become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeOp {
    pub(crate) left: (Symbol, usize),
    pub(crate) right: (Symbol, usize),
    pub(crate) merged: Symbol,
}

impl WordBufferMut<'_> {
    /// The position of the first slot.
    pub(crate) fn start(&self) -> u32 {
        position_of(self.offset)
    }

    /// Merges the pair at those of the ascending `positions` where it still occurs, and calls
    /// `visit` for each.
    pub(crate) fn apply(
        &mut self,
        merge_op: &MergeOp,
        positions: &[u32],
        mut visit: impl FnMut(&Occurrence),
    ) {
        let mut counts = counts(self.runs);
        let mut found = [0; LOOKAHEAD];
        for positions in positions.chunks(LOOKAHEAD) {
            for &position in self.find(merge_op, positions, &mut found) {
                let at = position as usize - self.offset;
                // An overlapping earlier position may have been merged since.
                if self.slots[at] == merge_op.left.0.0 {
                    let count = counts.at(position as usize);
                    visit(&self.merge_at(merge_op, at, position, count));
                }
            }
        }
    }

    /// Those of the `positions` where the pair occurs. The positions are scattered in memory, so
    /// the loop has no branch that depends on the slots: there are no mispredictions, and the
    /// memory accesses of many positions overlap.
    #[inline]
    fn find<'f>(
        &self,
        merge_op: &MergeOp,
        positions: &[u32],
        found: &'f mut [u32; LOOKAHEAD],
    ) -> &'f [u32] {
        let (Symbol(left), left_length) = merge_op.left;
        let (Symbol(right), _) = merge_op.right;
        let mut length = 0;
        for &position in positions {
            let at = position as usize - self.offset;
            let next = self
                .slots
                .get(at + left_length)
                .copied()
                .unwrap_or(WORD_START);
            found[length] = position;
            length += usize::from((self.slots[at] == left) & (next == right));
        }
        &found[..length]
    }

    #[inline]
    fn merge_at(&mut self, merge_op: &MergeOp, at: usize, position: u32, count: u64) -> Occurrence {
        let (_, left_length) = merge_op.left;
        let length = left_length + merge_op.right.1;
        let left = self.symbol_before(at, position);
        let found = Occurrence {
            count,
            position,
            left,
            right: symbol_at(self.slots, at + length),
        };
        self.slots[at] = merge_op.merged.0;
        self.slots[at + left_length] = INSIDE;
        self.slots[at + length - 1] = INSIDE | position_of(length);
        found
    }

    /// The symbol that ends before the slot `at`, which is `position` in the whole array, and its
    /// position.
    #[inline]
    fn symbol_before(&self, at: usize, position: u32) -> Option<(Symbol, u32)> {
        let before = self.slots[at - 1];
        if before >= INACTIVE {
            return None;
        }
        let length = if before & INSIDE == 0 {
            1
        } else {
            before & !INSIDE
        };
        Some((Symbol(self.slots[at - length as usize]), position - length))
    }
}
