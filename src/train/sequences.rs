//! All words as one flat array of symbols that is rewritten in place.
//!
//! Every character of a word owns a slot. A symbol stands in the slot of its first character; the other
//! slots of its characters are marked as inside, and the last of them holds the symbol's length. So both
//! neighbours of a symbol are found in constant time, slots never move, and where a pair was found it can
//! be found again. A mark stands before each word; the end of the array ends the last.
//!
//! The array is divided into blocks, the unit in which places are remembered: a block is a word, or some
//! slots of a long word, so that the work at one place does not grow with the word around it. A block
//! takes 12 bytes, a slot 4.

use std::ops::Range;

use crate::error::TrainError;
use crate::train::counts::ShardedCounts;
use crate::train::symbols::{Symbol, Symbols};

/// Most slots in a block.
const BLOCK_SLOTS: usize = 128;

/// What a slot holds that is not a symbol: `INSIDE` with a length, or [`WORD_START`].
const INSIDE: u32 = 1 << 31;
const WORD_START: u32 = u32::MAX;

/// The words of the corpus, as far as merging goes: single symbols are left out.
#[derive(Debug, Default)]
pub(crate) struct Sequences {
    slots: Vec<u32>,
    /// First slot of each block, ascending; the first block of a word begins with its mark.
    starts: Vec<u32>,
    /// How often the word of each block occurs.
    counts: Vec<u64>,
}

/// Some blocks, and the slots that they own: all the words in a part of the array.
pub(crate) struct Part<'s> {
    slots: &'s mut [u32],
    /// Index of `slots[0]` in the whole array.
    offset: usize,
    starts: &'s [u32],
    counts: &'s [u64],
}

/// A symbol's neighbours at a place, before the merge there.
pub(crate) struct Match {
    pub(crate) count: u64,
    pub(crate) block: u32,
    /// The symbol to the left and the block in which it begins.
    pub(crate) left: Option<(Symbol, u32)>,
    pub(crate) right: Option<Symbol>,
}

impl Sequences {
    /// Takes `words` apart into the characters that are `symbols`; every other character divides a word.
    /// The words are freed on the way.
    pub(crate) fn new(words: ShardedCounts, symbols: &Symbols) -> Result<Sequences, TrainError> {
        let mut symbol_of = vec![WORD_START; 0x11_0000];
        for (c, symbol) in symbols.characters() {
            symbol_of[c as usize] = symbol.0;
        }
        let mut sequences = Sequences::default();
        for shard in words.into_shards() {
            shard.for_each(|text, count| {
                // Words are cut from valid text.
                let text = std::str::from_utf8(text).unwrap_or_default();
                sequences.push(text.chars().map(|c| symbol_of[c as usize]), count)
            })?;
        }
        sequences.slots.shrink_to_fit();
        Ok(sequences)
    }

    /// Appends a word whose unknown characters are given as `WORD_START`.
    fn push(&mut self, symbols: impl Iterator<Item = u32>, count: u64) -> Result<(), TrainError> {
        let mut start = self.slots.len();
        self.slots.push(WORD_START);
        for symbol in symbols {
            if symbol == WORD_START {
                self.finish_word(start, count)?;
                start = self.slots.len();
            }
            self.slots.push(symbol);
        }
        self.finish_word(start, count)
    }

    /// Makes blocks of the word that begins at `start`, or forgets it if nothing can merge in it.
    fn finish_word(&mut self, start: usize, count: u64) -> Result<(), TrainError> {
        if self.slots.len() - start < 3 {
            self.slots.truncate(start);
            return Ok(());
        }
        // Block numbers are no larger than slot numbers.
        if u32::try_from(self.slots.len()).is_err() {
            return Err(TrainError::TooLarge { what: "characters in distinct words" });
        }
        for block in (start..self.slots.len()).step_by(BLOCK_SLOTS) {
            self.starts.extend(u32::try_from(block));
            self.counts.push(count);
        }
        Ok(())
    }

    /// Puts every symbol back into its characters.
    pub(crate) fn split_symbols(&mut self, symbols: &Symbols) {
        let symbol_of: rustc_hash::FxHashMap<char, Symbol> = symbols.characters().collect();
        for at in 0..self.slots.len() {
            let slot = self.slots[at];
            if slot & INSIDE != 0 {
                continue;
            }
            for (offset, c) in symbols.text(Symbol(slot)).chars().enumerate() {
                self.slots[at + offset] = symbol_of.get(&c).map_or(slot, |symbol| symbol.0);
            }
        }
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.starts.len()
    }

    /// The first block at or behind `block` that begins a word.
    fn next_word(&self, block: usize) -> usize {
        let begins_word = |block: &usize| self.slots[self.starts[*block] as usize] == WORD_START;
        (block..self.blocks()).find(begins_word).unwrap_or(self.blocks())
    }

    /// Block ranges of about equal size, `parts` at most, that each hold whole words.
    pub(crate) fn ranges(&self, parts: usize) -> Vec<Range<usize>> {
        let mut ends: Vec<usize> = (1..parts).map(|part| self.next_word(self.blocks() * part / parts)).collect();
        ends.push(self.blocks());
        let mut start = 0;
        let ranges = ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end);
        ranges.filter(|range| !range.is_empty()).collect()
    }

    /// Calls `visit` with the block, its count and the two symbols of every adjacent pair in `blocks`, in
    /// order. A pair belongs to the block in which its left symbol begins.
    pub(crate) fn for_each_pair(
        &self,
        symbols: &Symbols,
        blocks: Range<usize>,
        mut visit: impl FnMut(u32, u64, Symbol, Symbol),
    ) {
        for block in blocks {
            let start = self.starts[block] as usize;
            let end = self.starts.get(block + 1).map_or(self.slots.len(), |end| *end as usize);
            let Ok(number) = u32::try_from(block) else { return };
            for at in start..end {
                let left = self.slots[at];
                if left & INSIDE != 0 {
                    continue;
                }
                let left = Symbol(left);
                if let Some(right) = symbol_at(&self.slots, at + symbols.length(left)) {
                    visit(number, self.counts[block], left, right);
                }
            }
        }
    }

    /// The whole array as one part.
    pub(crate) fn whole(&mut self) -> Part<'_> {
        Part { slots: &mut self.slots, offset: 0, starts: &self.starts, counts: &self.counts }
    }

    /// The array in two parts, the second beginning with the first word at or behind `block`; and that
    /// word's first block.
    pub(crate) fn halves(&mut self, block: u32) -> (Part<'_>, Part<'_>, u32) {
        let block = self.next_word(block as usize);
        let offset = self.starts.get(block).map_or(self.slots.len(), |start| *start as usize);
        let (left, right) = self.slots.split_at_mut(offset);
        let part = |slots, offset| Part { slots, offset, starts: &self.starts, counts: &self.counts };
        (part(left, 0), part(right, offset), u32::try_from(block).unwrap_or(u32::MAX))
    }
}

/// The symbol that begins at `at`, if the word goes on there.
fn symbol_at(slots: &[u32], at: usize) -> Option<Symbol> {
    slots.get(at).filter(|slot| **slot != WORD_START).map(|slot| Symbol(*slot))
}

/// What to merge: two symbols and the symbol that they become, with lengths in characters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rewrite {
    pub(crate) left: (Symbol, usize),
    pub(crate) right: (Symbol, usize),
    pub(crate) merged: Symbol,
}

impl Part<'_> {
    /// Merges every place of the pair in `blocks` from left to right, telling `visit` about each.
    pub(crate) fn rewrite(&mut self, rewrite: &Rewrite, blocks: &[u32], mut visit: impl FnMut(&Match)) {
        let (Symbol(left), left_length) = rewrite.left;
        let (Symbol(right), _) = rewrite.right;
        for &block in blocks {
            let index = block as usize;
            let start = self.starts[index] as usize - self.offset;
            let end = self.starts.get(index + 1).map_or(self.slots.len(), |end| {
                // The next block may belong to the next part.
                (*end as usize - self.offset).min(self.slots.len())
            });
            for at in start..end {
                if self.slots[at] == left && self.slots.get(at + left_length) == Some(&right) {
                    let found = self.rewrite_place(rewrite, at, block);
                    visit(&found);
                }
            }
        }
    }

    fn rewrite_place(&mut self, rewrite: &Rewrite, at: usize, block: u32) -> Match {
        let (_, left_length) = rewrite.left;
        let length = left_length + rewrite.right.1;
        let found = Match {
            count: self.counts[block as usize],
            block,
            left: self.symbol_before(at, block),
            right: symbol_at(self.slots, at + length),
        };
        self.slots[at] = rewrite.merged.0;
        self.slots[at + left_length] = INSIDE;
        // At most `max_sentencepiece_length`, which fits.
        self.slots[at + length - 1] = INSIDE | u32::try_from(length).unwrap_or(0);
        found
    }

    /// The symbol that ends before the slot `at` of `block`, and the block where it begins.
    fn symbol_before(&self, at: usize, block: u32) -> Option<(Symbol, u32)> {
        let before = self.slots[at - 1];
        if before == WORD_START {
            return None;
        }
        let start = if before & INSIDE == 0 { at - 1 } else { at - (before & !INSIDE) as usize };
        let mut home = block;
        while self.starts[home as usize] as usize > start + self.offset {
            home -= 1;
        }
        Some((Symbol(self.slots[start]), home))
    }
}
