//! The last merge of each symbol.
//!
//! Input: a symbol. Output: the [`LastMerge`] of the symbol when its text is merged alone. It is computed by merging the
//! characters when it is asked for first, and stored for all threads; a thread that does not see the result of another
//! thread computes the same.
//!
//! Example: with the pieces `th` (rank 0), `he` (1), `the` (2), `hers` (3) the last merge of `the` is (`th`, `e`). `hers`
//! is [`Unreachable`](LastMerge::Unreachable): its text becomes `he r s`, because neither `rs` nor `her` is a piece.
//!
//! Cost: one load; a short merge per symbol once. Only long chunks need last merges, so the table of 8 bytes per piece is
//! allocated when the first of them comes.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::MergeContext;
use super::short_merge::ShortMerge;
use crate::text::num::{high_u32, low_u32};

/// How a symbol is made when its text is merged alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::encode::bpe) enum LastMerge {
    /// It is one character.
    Char,
    /// It is merged from these two symbols, each a character or merged with a lower rank.
    Pair(u32, u32),
    /// The text becomes something else.
    Unreachable,
    /// It is merged from two symbols of which one has no lower rank.
    OutOfRankOrder,
    /// The text has too many characters for the short merge.
    TooLong,
}

/// The stored form of "not computed yet". A pair of two symbols 0 has the same form and is computed each time.
const NOT_COMPUTED: u64 = 0;
const CHAR: u64 = u64::MAX;
const UNREACHABLE: u64 = u64::MAX - 1;
const OUT_OF_RANK_ORDER: u64 = u64::MAX - 2;
const TOO_LONG: u64 = u64::MAX - 3;

impl LastMerge {
    fn to_bits(self) -> u64 {
        match self {
            LastMerge::Char => CHAR,
            LastMerge::Pair(left, right) => u64::from(left) << 32 | u64::from(right),
            LastMerge::Unreachable => UNREACHABLE,
            LastMerge::OutOfRankOrder => OUT_OF_RANK_ORDER,
            LastMerge::TooLong => TOO_LONG,
        }
    }

    fn from_bits(bits: u64) -> Option<LastMerge> {
        match bits {
            NOT_COMPUTED => None,
            CHAR => Some(LastMerge::Char),
            UNREACHABLE => Some(LastMerge::Unreachable),
            OUT_OF_RANK_ORDER => Some(LastMerge::OutOfRankOrder),
            TOO_LONG => Some(LastMerge::TooLong),
            pair => Some(LastMerge::Pair(high_u32(pair), low_u32(pair))),
        }
    }
}

/// The last merges of all pieces.
#[derive(Debug)]
pub(in crate::encode::bpe) struct LastMergeTable {
    piece_count: usize,
    cells: OnceLock<Box<[AtomicU64]>>,
}

impl LastMergeTable {
    pub(in crate::encode::bpe) fn new(piece_count: usize) -> LastMergeTable {
        LastMergeTable {
            piece_count,
            cells: OnceLock::new(),
        }
    }

    #[inline]
    fn cells(&self) -> &[AtomicU64] {
        self.cells.get_or_init(|| {
            (0..self.piece_count)
                .map(|_| AtomicU64::new(NOT_COMPUTED))
                .collect()
        })
    }
}

/// The last merge of `symbol`.
#[inline]
pub(in crate::encode::bpe) fn last_merge(symbol: u32, context: &mut MergeContext<'_>) -> LastMerge {
    // Symbols that are no pieces are characters.
    let Some(cell) = context.tables.last_merges.cells().get(symbol as usize) else {
        return LastMerge::Char;
    };
    if let Some(known) = LastMerge::from_bits(cell.load(Ordering::Relaxed)) {
        return known;
    }
    let computed = compute_last_merge(symbol, context);
    cell.store(computed.to_bits(), Ordering::Relaxed);
    computed
}

#[cold]
fn compute_last_merge(symbol: u32, context: &mut MergeContext<'_>) -> LastMerge {
    let tables = context.tables;
    let text = context.pairs.pieces.text(symbol as usize);
    if tables.chars.symbols_of(text).nth(1).is_none() {
        return LastMerge::Char;
    }
    let mut short = ShortMerge::default();
    if !short.push_text::<false>(text, &tables.chars, &tables.symbols) {
        return LastMerge::TooLong;
    }
    let last = short.merge_with_last::<true>(&mut context.pairs);
    let Some((left, right)) = last.filter(|_| short.symbols().eq([symbol])) else {
        return LastMerge::Unreachable;
    };
    let rank = tables.symbols.rank(symbol);
    let mut is_earlier = |part| match last_merge(part, context) {
        LastMerge::Char => true,
        LastMerge::Pair(..) => tables.symbols.rank(part) < rank,
        LastMerge::Unreachable | LastMerge::OutOfRankOrder | LastMerge::TooLong => false,
    };
    if is_earlier(left) && is_earlier(right) {
        LastMerge::Pair(left, right)
    } else {
        LastMerge::OutOfRankOrder
    }
}
