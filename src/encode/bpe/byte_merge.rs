//! Merges a short text of bytes.
//!
//! The text begins as *units*: its certain pairs (see [`byte_pairs`](super::byte_pairs)) and other
//! bytes, or characters of three bytes where that is exact (see
//! [`wide_characters`](super::wide_characters)). They are merged by [`ShortMerger`], as those of other
//! models; what two symbols become is looked up by the bytes of the text that they cover, which are at
//! hand, so that no texts of tokens are read.
//!
//! Cost: about half of the rounds of merging byte by byte.

use std::hint::select_unpredictable;

use super::byte_pairs::{BytePair, BytePairs};
use super::lookup::symbol_table::SymbolMerge;
use super::lookup::token_texts::TokenLookup;
use super::strategies::short_merger::{MAX_UNITS, MergesAt, POSITIONS, ShortMerger};
use crate::base::num::low_u8;
use crate::encode::chunk_cache::{MAX_SMALL_KEY_BYTES, SmallKey};
use crate::piece::PieceTable;

/// The longest text in bytes, at least characters of three bytes each: a power of two, so that a mask
/// is enough to stay within it.
const MAX_BYTES: usize = 4 * MAX_UNITS;
/// Bytes that are read for a key.
const READ_BYTES: usize = MAX_SMALL_KEY_BYTES + 1;

/// A text that is merged, and its symbols.
#[derive(Debug)]
pub(super) struct ByteMerge {
    merger: ShortMerger,
    /// The bytes of the text, and any others.
    text: [u8; MAX_BYTES + READ_BYTES],
    /// Where each unit begins, and the end of the text.
    starts: [u8; POSITIONS],
}

/// What the bytes of a text begin as.
#[derive(Debug)]
pub(super) struct UnitStarts {
    symbols: Box<[u32; 256]>,
    pairs: BytePairs,
}

impl UnitStarts {
    /// `symbols` has the symbol of each byte.
    pub(super) fn new(tokens: &PieceTable, symbols: [u32; 256]) -> Self {
        Self {
            symbols: Box::new(symbols),
            pairs: BytePairs::new(tokens),
        }
    }
}

impl ByteMerge {
    /// Merges a text of bytes. Returns false if it has too many units.
    pub(super) fn merge_bytes(
        &mut self,
        text: &[u8],
        unit_starts: &UnitStarts,
        tokens: TokenLookup<'_>,
    ) -> bool {
        let length = text.len();
        if length > MAX_UNITS {
            return false;
        }
        self.text[..length].copy_from_slice(text);
        let merger = &mut self.merger;
        merger.clear();
        let pair_at = |at: usize| match text.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => unit_starts.pairs.get(*bytes),
            None => &BytePair::NONE,
        };
        let mut before = &BytePair::NONE;
        let mut pair = pair_at(0);
        let mut is_joined = false;
        let mut count = 0;
        for (at, byte) in text.iter().enumerate() {
            let after = pair_at(at + 1);
            let joins = pair.is_certain(before, after);
            let symbol = unit_starts.symbols[usize::from(*byte)];
            // The second byte of a pair is replaced by what follows.
            merger.put(count, select_unpredictable(joins, pair.token, symbol));
            self.starts[count % POSITIONS] = low_u8(at as u64);
            count += usize::from(!is_joined);
            (before, pair, is_joined) = (pair, after, joins);
        }
        merger.set_count(count);
        self.starts[count % POSITIONS] = low_u8(length as u64);
        self.merge_units(tokens);
        true
    }

    fn merge_units(&mut self, tokens: TokenLookup<'_>) {
        let mut lookup = CoveredBytes {
            text: &self.text,
            starts: &self.starts,
            tokens,
        };
        let merger = &mut self.merger;
        merger.start(|at, symbols| lookup.merge_at(symbols, [at, at + 2]));
        merger.merge::<false>(&mut lookup);
    }

    /// Merges a text of characters of three bytes, whose symbols are given.
    pub(super) fn merge_characters(
        &mut self,
        text: &[u8],
        symbols: impl Iterator<Item = u32>,
        tokens: TokenLookup<'_>,
    ) -> bool {
        if text.len() > 3 * MAX_UNITS {
            return false;
        }
        self.text[..text.len()].copy_from_slice(text);
        self.merger.clear();
        let mut end = 0;
        for (at, symbol) in symbols.enumerate() {
            self.starts[at % POSITIONS] = end;
            self.merger.push(symbol);
            end += 3;
            self.starts[(at + 1) % POSITIONS] = end;
        }
        self.merge_units(tokens);
        true
    }

    /// The symbols that remain.
    pub(super) fn symbols(&self) -> impl Iterator<Item = u32> {
        self.merger.symbols()
    }
}

/// Looks pairs up by the bytes that they cover.
struct CoveredBytes<'m> {
    text: &'m [u8; MAX_BYTES + READ_BYTES],
    starts: &'m [u8; POSITIONS],
    tokens: TokenLookup<'m>,
}

impl MergesAt for CoveredBytes<'_> {
    #[inline(always)]
    fn merge_at(&mut self, _symbols: [u32; 2], positions: [usize; 2]) -> SymbolMerge {
        let [start, end] = positions;
        let start = usize::from(self.starts[start % POSITIONS]);
        let end = usize::from(self.starts[end % POSITIONS]);
        let rest = &self.text[start % MAX_BYTES..];
        let key = rest
            .first_chunk()
            .and_then(|bytes| SmallKey::of_start(bytes, end - start));
        let token = match key {
            Some(key) => self.tokens.find_short(&key),
            None => self.tokens.find_long(&self.text[start..end]),
        };
        // Tokens have the numbers of their ranks.
        token.map_or(SymbolMerge::NONE, |token| SymbolMerge::new(token, token))
    }
}

impl Default for ByteMerge {
    fn default() -> Self {
        Self {
            merger: ShortMerger::default(),
            text: [0; MAX_BYTES + READ_BYTES],
            starts: [0; POSITIONS],
        }
    }
}
