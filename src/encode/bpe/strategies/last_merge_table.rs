//! The stored last merges of the symbols.
//!
//! They are computed by [`last_merge`](super::last_merge), and shared by all threads. Cost: one
//! load; 8 bytes per piece, allocated at the first use.

use std::iter::repeat_with;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::num::{high_u32, low_u32};

/// The longest text of a symbol whose last merge is computed. The parts of a symbol are computed
/// first, one call inside the other, so that the limit bounds the stack.
pub(super) const MAX_SYMBOL_BYTES: usize = 512;

/// How a symbol is made when its text is merged alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::encode::bpe) enum LastMerge {
    /// It is one unit: a character, or a byte.
    Unit,
    /// It is merged from these two symbols, each a unit or merged with a lower rank.
    Pair(u32, u32),
    /// The text becomes something else.
    Unreachable,
    /// It is merged from two symbols that do not meet the condition of [`Pair`](Self::Pair).
    OutOfRankOrder,
    /// The text is longer than [`MAX_SYMBOL_BYTES`].
    TooLong,
}

/// The stored form of "not computed yet". A pair of two symbols 0 has the same form and is computed
/// each time.
const NOT_COMPUTED: u64 = 0;
const UNIT: u64 = u64::MAX;
const UNREACHABLE: u64 = u64::MAX - 1;
const OUT_OF_RANK_ORDER: u64 = u64::MAX - 2;
const TOO_LONG: u64 = u64::MAX - 3;

impl LastMerge {
    fn to_bits(self) -> u64 {
        match self {
            Self::Unit => UNIT,
            Self::Pair(left, right) => u64::from(left) << 32 | u64::from(right),
            Self::Unreachable => UNREACHABLE,
            Self::OutOfRankOrder => OUT_OF_RANK_ORDER,
            Self::TooLong => TOO_LONG,
        }
    }

    fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            NOT_COMPUTED => None,
            UNIT => Some(Self::Unit),
            UNREACHABLE => Some(Self::Unreachable),
            OUT_OF_RANK_ORDER => Some(Self::OutOfRankOrder),
            TOO_LONG => Some(Self::TooLong),
            pair => Some(Self::Pair(high_u32(pair), low_u32(pair))),
        }
    }
}

/// The last merges of all pieces.
#[derive(Debug)]
pub(in crate::encode::bpe) struct LastMergeTable {
    piece_count: usize,
    cells: OnceLock<Box<[LastMergeCell]>>,
}

impl LastMergeTable {
    pub(in crate::encode::bpe) fn new(piece_count: usize) -> Self {
        Self {
            piece_count,
            cells: OnceLock::new(),
        }
    }

    /// The cell of a piece; `None` for symbols that are no pieces.
    #[inline]
    pub(super) fn cell(&self, symbol: u32) -> Option<&LastMergeCell> {
        self.cells().get(symbol as usize)
    }

    /// All cells, which are allocated on first use.
    #[inline]
    fn cells(&self) -> &[LastMergeCell] {
        self.cells.get_or_init(|| {
            repeat_with(LastMergeCell::default)
                .take(self.piece_count)
                .collect()
        })
    }
}

/// The last merge of one piece, once it was computed. The default value is [`NOT_COMPUTED`].
#[derive(Debug, Default)]
pub(super) struct LastMergeCell(AtomicU64);

impl LastMergeCell {
    /// `None` if it was not computed yet.
    #[inline]
    pub(super) fn load(&self) -> Option<LastMerge> {
        LastMerge::from_bits(self.0.load(Ordering::Relaxed))
    }

    pub(super) fn store(&self, last_merge: LastMerge) {
        self.0.store(last_merge.to_bits(), Ordering::Relaxed);
    }
}
