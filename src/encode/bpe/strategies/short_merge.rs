//! Merges a short chunk whose pairs are looked up by hashes.
//!
//! [`ShortMerger`] has the rounds. What two symbols become is looked up by the hash of the text that
//! they cover, which follows from the prefix sums of the two positions (see
//! [`text_hash`](crate::encode::bpe::lookup)). Most pairs do not merge, and the hash alone shows it.
//!
//! In models of code points the limit counts characters, not bytes: chunks of 11 or more Chinese
//! characters are merged here too. That alone took 0.2 % more instructions for Chinese text with
//! the Yi model, but it made a strategy for chunks of 33 to 64 bytes unnecessary; together with the
//! removal of that strategy the difference is 0.01 %.

use super::merge_context::MergeTables;
use super::short_merger::{MAX_UNITS, MergesAt, POSITIONS, ShortMerger};
use crate::encode::bpe::lookup::ascii_pairs::AsciiCode;
use crate::encode::bpe::lookup::pair_cache::PairLookup;
use crate::encode::bpe::lookup::symbol_table::{SymbolMerge, SymbolTable};
use crate::encode::bpe::spelling::{Spelling, Unit};

/// The buffers of a short merge.
#[derive(Debug)]
pub(in crate::encode::bpe) struct ShortMerge {
    merger: ShortMerger,
    texts: UnitHashes,
}

/// What is known of the text of each unit, by position.
#[derive(Debug)]
struct UnitHashes {
    /// The length of the normalized text in bytes, at most four per unit.
    length: u8,
    codes: [AsciiCode; POSITIONS],
    /// The prefix sum of the text before each position.
    sums: [u64; POSITIONS],
    /// The power that turns a difference of sums into a hash, by the later position.
    powers: [u64; POSITIONS],
}

impl ShortMerge {
    /// Removes all units.
    #[inline]
    pub(in crate::encode::bpe) fn clear(&mut self) {
        self.merger.clear();
        self.texts.length = 0;
    }

    /// Adds the units of a text. Returns false if there are more than [`MAX_UNITS`] in all.
    #[inline]
    pub(in crate::encode::bpe) fn push_text(
        &mut self,
        text: &[u8],
        tables: &MergeTables<impl Spelling>,
    ) -> bool {
        let unit_at = |text: &[u8]| tables.spelling.unit_at(text);
        self.push_units(text, &tables.symbols, unit_at)
    }

    /// As [`push_text`](Self::push_text), with a function that gives the unit at the start of a
    /// text, and its length in that text.
    #[inline]
    pub(in crate::encode::bpe) fn push_units(
        &mut self,
        text: &[u8],
        symbols: &SymbolTable,
        unit_at: impl Fn(&[u8]) -> (Unit, usize),
    ) -> bool {
        let Self { merger, texts } = self;
        let mut length = texts.length;
        let mut sum = texts.sums[merger.count() % POSITIONS];
        let mut rest = text;
        while !rest.is_empty() && merger.count() < MAX_UNITS {
            let (unit, width) = unit_at(rest);
            rest = &rest[width..];
            texts.codes[merger.count() % POSITIONS] = unit.code;
            merger.push(unit.symbol);
            length += unit.width;
            let end = merger.count() % POSITIONS;
            (sum, texts.powers[end]) = symbols.prefix_sum(sum, unit.hash, length);
            texts.sums[end] = sum;
        }
        texts.length = length;
        rest.is_empty()
    }

    /// The symbols that remain, from left to right.
    #[inline]
    pub(in crate::encode::bpe) fn symbols(&self) -> impl Iterator<Item = u32> {
        self.merger.symbols()
    }

    /// Merges all pairs that merge.
    pub(in crate::encode::bpe) fn merge(&mut self, pairs: &mut PairLookup<'_>) {
        self.merge_with_last::<false>(pairs);
    }

    /// As [`merge`](Self::merge). If `RETURNS_LAST`, returns the two symbols that were merged last.
    pub(in crate::encode::bpe) fn merge_with_last<const RETURNS_LAST: bool>(
        &mut self,
        pairs: &mut PairLookup<'_>,
    ) -> Option<(u32, u32)> {
        let Self { merger, texts } = self;
        let mut unseen = 0u32;
        merger.start(|at, _| {
            let merge = pairs.ascii().get(texts.codes[at], texts.codes[at + 1]);
            unseen |= u32::from(merge == SymbolMerge::UNSEEN) << at;
            merge
        });
        let mut lookup = HashLookup { texts, pairs };
        while unseen != 0 {
            let at = unseen.trailing_zeros() as usize % MAX_UNITS;
            unseen &= unseen - 1;
            let merge = lookup.merge_at(merger.pair_at(at), [at, at + 2]);
            merger.set(at, merge);
            let codes = [lookup.texts.codes[at], lookup.texts.codes[at + 1]];
            lookup.pairs.ascii_mut().insert(codes[0], codes[1], merge);
        }
        merger.merge::<RETURNS_LAST>(&mut lookup)
    }
}

/// Looks pairs up by the hashes of their texts.
struct HashLookup<'m, 'p> {
    texts: &'m UnitHashes,
    pairs: &'m mut PairLookup<'p>,
}

impl MergesAt for HashLookup<'_, '_> {
    #[inline(always)]
    fn merge_at(&mut self, [left, right]: [u32; 2], [start, end]: [usize; 2]) -> SymbolMerge {
        let hash = self.texts.hash(start, end);
        match self.pairs.symbols.may_be_piece(hash) {
            false => SymbolMerge::NONE,
            true => self.pairs.get_by_hash(left, right, hash),
        }
    }
}

impl UnitHashes {
    /// The hash of the text between two positions.
    #[inline]
    fn hash(&self, start: usize, end: usize) -> u64 {
        let start = start % POSITIONS;
        let end = end % POSITIONS;
        self.sums[end]
            .wrapping_sub(self.sums[start])
            .wrapping_mul(self.powers[end])
    }
}

impl Default for ShortMerge {
    fn default() -> Self {
        Self {
            merger: ShortMerger::default(),
            texts: UnitHashes {
                length: 0,
                codes: [AsciiCode::OTHER; POSITIONS],
                sums: [0; POSITIONS],
                powers: [0; POSITIONS],
            },
        }
    }
}
