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
//! in ascending order, so the run changes rarely. A slot takes 2 bytes, or 4 bytes once there are
//! many symbols; see [`slots`].

mod segmented;
mod slots;

use std::collections::BTreeSet;
use std::iter;
use std::ops::Range;

use foldhash::fast::SeedableRandomState;
use rayon::prelude::*;

pub(crate) use self::segmented::{SegmentSink, WordPart};
pub(crate) use self::slots::WordSlot;
use self::slots::{SlotArray, narrow, with_slots};
use crate::base::num::low_u32;
use crate::train::TrainError;
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::execution_config::SeededMap;
use crate::train::word_table::{TextCounts, WordTable};

/// The number of positions that are read together.
const LOOKAHEAD: usize = 64;

/// The words of the corpus that merging needs: words of one character are left out.
#[derive(Debug, Default)]
pub(crate) struct WordBuffer {
    slots: SlotArray,
    runs: Vec<CountRun>,
    /// The words that have become one symbol and been removed, by that symbol.
    finished: Vec<(Symbol, u64)>,
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
    #[inline]
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
    ///
    /// # Errors
    /// More than 2^32 - 1 slots.
    pub(crate) fn new(
        words: WordTable,
        spelling: &impl WordSpelling,
        hasher: &SeedableRandomState,
    ) -> Result<Self, TrainError> {
        let groups = words.into_groups(rayon::current_num_threads());
        match narrow_slots(spelling) {
            Some(slot_of) => Self::of_groups(groups, (spelling, &slot_of), hasher),
            None => Self::of_groups(groups, (spelling, spelling.slots()), hasher),
        }
    }

    /// The initial symbols have the slots `slot_of`.
    fn of_groups<S: WordSlot>(
        groups: Vec<Vec<TextCounts>>,
        (spelling, slot_of): (&impl WordSpelling, &[S]),
        hasher: &SeedableRandomState,
    ) -> Result<Self, TrainError>
    where
        SlotArray: From<Vec<S>>,
    {
        let needs: Vec<SeededMap<u64, usize>> = groups
            .par_iter()
            .map(|group| slots_by_count(group, spelling, hasher))
            .collect();
        let total = total_slots(&needs)?;
        // Zeroed memory is not committed before it is written, and by then words have been freed.
        let mut slots = vec![S::default(); total];
        let (runs, parts) = divide_slots(&mut slots, &needs, hasher);
        groups
            .into_par_iter()
            .zip(parts)
            .for_each(|(group, parts)| fill(group, (spelling, slot_of), parts));
        Ok(Self::of_runs(slots, runs))
    }

    /// As [`new`](Self::new), with the words in this order, so that few words have runs in common.
    pub(crate) fn in_order<'t>(
        words: impl Iterator<Item = (&'t [u8], u64)> + Clone,
        spelling: &impl WordSpelling,
    ) -> Result<Self, TrainError> {
        let words = words.filter(|(text, _)| spelling.length(text) > 1);
        let lengths = words.clone().map(|(text, _)| spelling.length(text));
        let needed = check_slots(lengths.map(|length| 1 + length as u64).sum())?;
        Ok(match narrow_slots(spelling) {
            Some(slot_of) => Self::spelled_in_order(words, needed, (spelling, &slot_of)),
            None => Self::spelled_in_order(words, needed, (spelling, spelling.slots())),
        })
    }

    /// Of words that need so many slots.
    fn spelled_in_order<'t, S: WordSlot>(
        words: impl Iterator<Item = (&'t [u8], u64)>,
        needed: usize,
        (spelling, slot_of): (&impl WordSpelling, &[S]),
    ) -> Self
    where
        SlotArray: From<Vec<S>>,
    {
        let mut slots = vec![S::WORD_START; needed];
        let mut runs: Vec<CountRun> = Vec::new();
        let mut start = 0;
        for (text, count) in words {
            let end = start + 1 + spelling.length(text);
            spelling.spell(text, slot_of, &mut slots[start + 1..end]);
            match runs.last_mut().filter(|run| run.count == count) {
                Some(run) => run.end = end,
                None => runs.push(CountRun { start, end, count }),
            }
            start = end;
        }
        Self::of_runs(slots, runs)
    }

    fn of_runs<S>(slots: Vec<S>, runs: Vec<CountRun>) -> Self
    where
        SlotArray: From<Vec<S>>,
    {
        Self {
            slots: slots.into(),
            runs,
            finished: Vec::new(),
        }
    }

    /// Whether a pair, whose left symbol has a length in slots, occurs at a position.
    pub(crate) fn has_pair_at(
        &self,
        (left, length): (Symbol, usize),
        right: Symbol,
        position: u32,
    ) -> bool {
        let at = position as usize;
        with_slots!(self.slots, slots => {
            symbol_at(slots, at) == Some(left) && symbol_at(slots, at + length) == Some(right)
        })
    }

    /// Removes the slots inside symbols, and the words that have become one symbol. Afterwards
    /// each symbol takes one slot, and other positions are valid; the words keep their order.
    pub(crate) fn compact(&mut self, symbols: &mut SymbolArena) {
        let Self {
            slots,
            runs,
            finished,
        } = self;
        with_slots!(mut slots, slots => compact(slots, runs, finished));
        // Parts of words between characters without a symbol can have equal texts.
        finished.sort_unstable_by_key(|(symbol, _)| *symbol);
        finished.dedup_by(|(symbol, count), (first, sum)| {
            let is_equal = symbol == first;
            if is_equal {
                *sum = sum.saturating_add(*count);
            }
            is_equal
        });
        symbols.set_unit_lengths();
    }

    /// Splits every symbol into its initial symbols, each of which takes one slot, also those that
    /// have been [removed](Self::compact).
    pub(crate) fn split_symbols(&mut self, symbols: &SymbolArena) {
        let joined = std::mem::take(self.slots.widen());
        let mut slots = Vec::with_capacity(joined.len());
        let mut runs = Vec::with_capacity(self.runs.len() + self.finished.len());
        let mut add_run = |joined: &[u32], count| {
            let start = slots.len();
            for slot in joined {
                match slot.symbol() {
                    Some(symbol) => {
                        symbols.for_each_initial(symbol, &mut |initial| slots.push(initial.0));
                    }
                    None if slot.is_inside() => {}
                    None => slots.push(*slot),
                }
            }
            let end = slots.len();
            runs.push(CountRun { start, end, count });
        };
        for run in &self.runs {
            add_run(&joined[run.start..run.end], run.count);
        }
        for (symbol, count) in &self.finished {
            add_run(&[u32::WORD_START, symbol.0], *count);
        }
        *self = Self::of_runs(slots, runs);
    }

    /// The first slot at or after `slot` that begins a word.
    fn next_word(&self, slot: usize) -> usize {
        with_slots!(self.slots, slots => next_word(slots, slot))
    }

    /// The array in this many parts of about equal size, each of which begins with a word. Parts
    /// may be empty.
    pub(crate) fn parts(&self, parts: usize) -> Vec<Range<usize>> {
        let parts = parts.max(1);
        let starts = (0..=parts).map(|part| self.next_word(self.len() / parts * part));
        let mut bounds: Vec<usize> = starts.collect();
        bounds[0] = 0;
        bounds[parts] = self.len();
        bounds.windows(2).map(|bound| bound[0]..bound[1]).collect()
    }

    /// Calls `visit` with the position, the count and the two symbols of every pair that begins in
    /// `range`, in order.
    pub(crate) fn for_each_pair(
        &self,
        symbols: &SymbolArena,
        range: Range<usize>,
        mut visit: impl FnMut(u32, u64, Symbol, Symbol),
    ) {
        let mut counts = counts(&self.runs);
        let first = position_of(range.start);
        with_slots!(self.slots, slots => {
            for (at, position) in range.zip(first..) {
                let Some(left) = slots[at].symbol() else {
                    continue;
                };
                if let Some(right) = symbol_at(slots, at + symbols.length(left)) {
                    visit(position, counts.at(at), left, right);
                }
            }
        });
    }

    /// Number of slots.
    pub(crate) fn len(&self) -> usize {
        with_slots!(self.slots, slots => slots.len())
    }

    /// The memory of the slots.
    pub(crate) fn bytes(&self) -> usize {
        with_slots!(self.slots, slots => size_of_val(slots.as_slice()))
    }

    /// The array in parts in which `merge_op` can be applied. All but the first begin with the
    /// first word at or after each of the ascending `slots`.
    pub(crate) fn parts_to_merge(
        &mut self,
        merge_op: &MergeOp,
        slots: impl Iterator<Item = u32>,
    ) -> Vec<PartToMerge<'_>> {
        let starts = slots.map(|slot| self.next_word(slot as usize)).collect();
        match (&mut self.slots, merge_op.narrow()) {
            (SlotArray { narrow, wide: None }, Some(op)) => {
                let parts = WordSlots::divide(narrow, &self.runs, starts);
                parts.map(|part| PartToMerge::Narrow(part, op)).collect()
            }
            (slots, _) => {
                let parts = WordSlots::divide(slots.widen(), &self.runs, starts);
                parts
                    .map(|part| PartToMerge::Wide(part, merge_op.wide()))
                    .collect()
            }
        }
    }
}

/// The slots in 2 bytes of the initial symbols, if they fit.
fn narrow_slots(spelling: &impl WordSpelling) -> Option<Vec<u16>> {
    spelling.slots().iter().copied().map(narrow).collect()
}

/// As [`WordBuffer::compact`].
fn compact<S: WordSlot>(
    slots: &mut Vec<S>,
    runs: &mut Vec<CountRun>,
    finished: &mut Vec<(Symbol, u64)>,
) {
    let mut end = 0;
    for run in runs.iter_mut() {
        let mut finished = |symbol| finished.push((symbol, run.count));
        let start = end;
        // The mark of the current word.
        let mut word = end;
        for at in run.start..run.end {
            let slot = slots[at];
            if slot == S::WORD_START {
                finish_word(slots, word, &mut end, &mut finished);
                word = end;
            }
            if !slot.is_inside() {
                slots[end] = slot;
                end += 1;
            }
        }
        finish_word(slots, word, &mut end, &mut finished);
        (run.start, run.end) = (start, end);
    }
    runs.retain(|run| run.start < run.end);
    slots.truncate(end);
    slots.shrink_to_fit();
}

/// Removes the word that begins at `word`, before `end`, if it is empty or one symbol, with which
/// `finished` is called.
fn finish_word<S: WordSlot>(
    slots: &[S],
    word: usize,
    end: &mut usize,
    finished: &mut impl FnMut(Symbol),
) {
    match &slots[word..*end] {
        [_mark] => *end = word,
        [_mark, slot] => {
            if let Some(symbol) = slot.symbol() {
                finished(symbol);
                *end = word;
            }
        }
        _ => {}
    }
}

/// The first slot at or after `slot` that begins a word.
fn next_word<S: WordSlot>(slots: &[S], slot: usize) -> usize {
    let end = slots.len();
    (slot..end)
        .find(|slot| slots[*slot] == S::WORD_START)
        .unwrap_or(end)
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
type FreeSlots<'s, S> = SeededMap<u64, &'s mut [S]>;

/// Divides the slots into runs, one for each count in ascending order, and every run into one part
/// for each group, so that the groups can be written in parallel. `needs` has the slots that each
/// group needs for each count.
///
/// For example, if group 0 needs 3 slots for count 1 and 4 for count 2, and group 1 needs 5 for
/// count 1, the run of count 1 is 0..8, of which group 0 gets 0..3 and group 1 gets 3..8; the run
/// of count 2 is 8..12.
fn divide_slots<'s, S>(
    slots: &'s mut [S],
    needs: &[SeededMap<u64, usize>],
    hasher: &SeedableRandomState,
) -> (Vec<CountRun>, Vec<FreeSlots<'s, S>>) {
    let total = slots.len();
    let mut runs = Vec::new();
    let mut parts: Vec<FreeSlots<'s, S>> = needs
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

    /// The slots of all characters or bytes.
    fn slots(&self) -> &[u32];

    /// Writes the initial symbols of a word, [`length`](Self::length) in number, which have the
    /// slots `slot_of`: [`slots`](Self::slots) in any width.
    fn spell<S: WordSlot>(&self, word: &[u8], slot_of: &[S], slots: &mut [S]);
}

/// Each character is an initial symbol. Characters without a symbol divide a word.
pub(crate) struct CharacterSpelling {
    /// The slot of each character, by code point, up to the highest character with a symbol.
    slots: Vec<u32>,
}

impl CharacterSpelling {
    /// Of these symbols, those that are one character.
    pub(crate) fn of(symbols: &SymbolArena) -> Self {
        let mut slots = Vec::new();
        for (text, symbol) in symbols.texts() {
            let mut characters = text.utf8_chunks().flat_map(|chunk| chunk.valid().chars());
            if let (Some(c), None) = (characters.next(), characters.next()) {
                let code = c as usize;
                if slots.len() <= code {
                    slots.resize(code + 1, u32::WORD_START);
                }
                slots[code] = symbol.0;
            }
        }
        Self { slots }
    }
}

impl WordSpelling for CharacterSpelling {
    fn length(&self, word: &[u8]) -> usize {
        word.iter().filter(|byte| is_boundary(**byte)).count()
    }

    fn slots(&self) -> &[u32] {
        &self.slots
    }

    fn spell<S: WordSlot>(&self, word: &[u8], slot_of: &[S], slots: &mut [S]) {
        // Words are parts of valid text.
        let chars = std::str::from_utf8(word).unwrap_or_default().chars();
        for (slot, c) in slots.iter_mut().zip(chars) {
            *slot = slot_of.get(c as usize).copied().unwrap_or(S::WORD_START);
        }
    }
}

/// Each byte is an initial symbol.
pub(crate) struct ByteSpelling {
    /// The slot of each byte.
    slots: [u32; 256],
}

impl ByteSpelling {
    /// Of the symbols of [`SymbolArena::of_bytes`].
    pub(crate) fn of(symbols: &SymbolArena) -> Self {
        let mut slots = [u32::WORD_START; 256];
        for (text, symbol) in symbols.texts() {
            if let [byte] = text {
                slots[usize::from(*byte)] = symbol.0;
            }
        }
        Self { slots }
    }
}

impl WordSpelling for ByteSpelling {
    fn length(&self, word: &[u8]) -> usize {
        word.len()
    }

    fn slots(&self) -> &[u32] {
        &self.slots
    }

    fn spell<S: WordSlot>(&self, word: &[u8], slot_of: &[S], slots: &mut [S]) {
        for (slot, byte) in slots.iter_mut().zip(word) {
            *slot = slot_of[usize::from(*byte)];
        }
    }
}

/// Calls `visit` with every word of two or more initial symbols, the number of these, and the
/// word's count.
fn for_each_word(
    words: &TextCounts,
    spelling: &impl WordSpelling,
    mut visit: impl FnMut(&[u8], usize, u64),
) {
    words.visit(|text, count| {
        let length = spelling.length(text);
        if length > 1 {
            visit(text, length, count);
        }
    });
}

/// Most words have a count below this, which is an index instead of a key.
const SMALL_COUNTS: usize = 256;

/// How many slots the words of each count take.
fn slots_by_count(
    words: &[TextCounts],
    spelling: &impl WordSpelling,
    hasher: &SeedableRandomState,
) -> SeededMap<u64, usize> {
    let mut slots = SeededMap::with_hasher(hasher.clone());
    let mut small = [0; SMALL_COUNTS];
    for words in words {
        for_each_word(words, spelling, |_, length, count| {
            let sum = match usize::try_from(count)
                .ok()
                .and_then(|count| small.get_mut(count))
            {
                Some(sum) => sum,
                None => slots.entry(count).or_default(),
            };
            *sum += 1 + length;
        });
    }
    let small = (0..).zip(small).filter(|(_, length)| *length > 0);
    slots.extend(small);
    slots
}

/// Writes words into the free part of the run of their count.
fn fill<S: WordSlot>(
    words: Vec<TextCounts>,
    (spelling, slot_of): (&impl WordSpelling, &[S]),
    mut free_parts: FreeSlots<'_, S>,
) {
    let small = (0..SMALL_COUNTS as u64).map(|count| free_parts.remove(&count));
    let mut small: Vec<Option<&mut [S]>> = small.collect();
    for words in words {
        for_each_word(&words, spelling, |text, length, count| {
            let free = match usize::try_from(count)
                .ok()
                .and_then(|count| small.get_mut(count))
            {
                Some(free) => free.as_mut(),
                None => free_parts.get_mut(&count),
            };
            let Some(free) = free else {
                return;
            };
            let (word, rest) = std::mem::take(free).split_at_mut(1 + length);
            *free = rest;
            word[0] = S::WORD_START;
            spelling.spell(text, slot_of, &mut word[1..]);
        });
    }
}

/// Whether a byte of valid text begins a character.
fn is_boundary(byte: u8) -> bool {
    byte & 0xc0 != 0x80
}

/// The symbol that begins at `at`, if the word continues there.
#[inline]
fn symbol_at<S: WordSlot>(slots: &[S], at: usize) -> Option<Symbol> {
    // `at` is directly after a symbol, so it is not inside another one.
    slots.get(at).and_then(|slot| slot.symbol())
}

/// A merge: two symbols with their lengths in slots, and the symbol that they become.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MergeOp {
    pub(crate) left: (Symbol, usize),
    pub(crate) right: (Symbol, usize),
    pub(crate) merged: Symbol,
}

impl MergeOp {
    fn wide(&self) -> SlotMerge<u32> {
        let left_length = self.left.1;
        let length = left_length + self.right.1;
        SlotMerge {
            left: self.left.0.0,
            right: self.right.0.0,
            merged: self.merged.0,
            last: u32::INSIDE | position_of(length),
            left_length,
            length,
        }
    }

    /// The merge in slots of 2 bytes, if all of them fit.
    fn narrow(&self) -> Option<SlotMerge<u16>> {
        let wide = self.wide();
        Some(SlotMerge {
            left: narrow(wide.left)?,
            right: narrow(wide.right)?,
            merged: narrow(wide.merged)?,
            last: narrow(wide.last)?,
            left_length: wide.left_length,
            length: wide.length,
        })
    }
}

/// A merge in slots.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlotMerge<S> {
    left: S,
    right: S,
    merged: S,
    /// The last slot of the merged symbol.
    last: S,
    left_length: usize,
    /// The length of the merged symbol.
    length: usize,
}

/// The words in a part of the array, and the merge that is applied to them.
pub(crate) enum PartToMerge<'s> {
    Narrow(WordSlots<'s, u16>, SlotMerge<u16>),
    Wide(WordSlots<'s, u32>, SlotMerge<u32>),
}

impl PartToMerge<'_> {
    /// The position of the first slot.
    pub(crate) fn start(&self) -> u32 {
        position_of(match self {
            Self::Narrow(part, _) => part.offset,
            Self::Wide(part, _) => part.offset,
        })
    }

    /// Merges the pair at those of the ascending `positions` where it still occurs, and calls
    /// `visit` for each.
    pub(crate) fn apply(&mut self, positions: &[u32], visit: impl FnMut(&Occurrence)) {
        match self {
            Self::Narrow(part, op) => part.apply(op, positions, visit),
            Self::Wide(part, op) => part.apply(op, positions, visit),
        }
    }
}

/// The words in a part of the array.
pub(crate) struct WordSlots<'s, S> {
    slots: &'s mut [S],
    /// Index of `slots[0]` in the whole array.
    offset: usize,
    runs: &'s [CountRun],
}

impl<'s, S: WordSlot> WordSlots<'s, S> {
    /// All but the first part begin at these slots.
    fn divide(
        slots: &'s mut [S],
        runs: &'s [CountRun],
        starts: Vec<usize>,
    ) -> impl Iterator<Item = Self> {
        let end = slots.len();
        let mut rest = slots;
        let mut offset = 0;
        starts.into_iter().chain(iter::once(end)).map(move |end| {
            let (slots, after) = std::mem::take(&mut rest).split_at_mut(end - offset);
            rest = after;
            let part = Self {
                slots,
                offset,
                runs,
            };
            offset = end;
            part
        })
    }

    fn apply(&mut self, op: &SlotMerge<S>, positions: &[u32], mut visit: impl FnMut(&Occurrence)) {
        let mut counts = counts(self.runs);
        let mut found = [0; LOOKAHEAD];
        for positions in positions.chunks(LOOKAHEAD) {
            for &position in self.find(op, positions, &mut found) {
                let at = position as usize - self.offset;
                // An overlapping earlier position may have been merged since.
                if self.slots[at] == op.left {
                    let count = counts.at(position as usize);
                    visit(&self.merge_at(op, at, position, count));
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
        op: &SlotMerge<S>,
        positions: &[u32],
        found: &'f mut [u32; LOOKAHEAD],
    ) -> &'f [u32] {
        let mut length = 0;
        for &position in positions {
            let at = position as usize - self.offset;
            let next = self.slots.get(at + op.left_length);
            let next = next.copied().unwrap_or(S::WORD_START);
            found[length] = position;
            length += usize::from((self.slots[at] == op.left) & (next == op.right));
        }
        &found[..length]
    }

    #[inline]
    fn merge_at(&mut self, op: &SlotMerge<S>, at: usize, position: u32, count: u64) -> Occurrence {
        let found = Occurrence {
            count,
            position,
            left: symbol_before(self.slots, at, position),
            right: symbol_at(self.slots, at + op.length),
        };
        self.slots[at] = op.merged;
        self.slots[at + op.left_length] = S::INSIDE;
        self.slots[at + op.length - 1] = op.last;
        found
    }
}

/// The symbol that ends before the slot `at`, which is `position` in the whole array, and its
/// position.
#[inline]
fn symbol_before<S: WordSlot>(slots: &[S], at: usize, position: u32) -> Option<(Symbol, u32)> {
    let before = slots[at - 1];
    if before >= S::INACTIVE {
        return None;
    }
    let length = match before.is_inside() {
        true => before.wide() & !u32::INSIDE,
        false => 1,
    };
    let symbol = slots[at - length as usize].symbol()?;
    Some((symbol, position - length))
}
