//! How pieces come to be: the last merge of each.
//!
//! In: a symbol. Out: its [`Origin`], worked out when somebody asks for the first time by merging its
//! characters, and remembered for all threads. A thread that does not see what another one has just
//! remembered works out the same.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Bpe;
use super::pairs::Pairs;
use super::short::{SHORT, ShortChunk};

/// How a symbol comes to be when its text is merged by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is one character.
    Char,
    /// These two became it, each of them a character or merged earlier, by a better rank.
    Merged(u32, u32),
    /// Its text becomes something else.
    Never,
    /// It comes to be in some other way.
    Irregular,
    /// It is too long to know.
    TooLong,
}

/// The origins of all pieces.
#[derive(Debug)]
pub(super) struct Origins {
    pieces: usize,
    /// One for each piece. Only long chunks ask for them, which many texts have none of.
    cells: OnceLock<Box<[AtomicU64]>>,
}

/// Not asked for yet. What is merged from two symbols 0 looks the same and is worked out each time.
const UNKNOWN: u64 = 0;
const CHAR: u64 = u64::MAX;
const NEVER: u64 = u64::MAX - 1;
const IRREGULAR: u64 = u64::MAX - 2;
const TOO_LONG: u64 = u64::MAX - 3;

impl Origin {
    fn pack(self) -> u64 {
        match self {
            Origin::Char => CHAR,
            Origin::Merged(left, right) => u64::from(left) << 32 | u64::from(right),
            Origin::Never => NEVER,
            Origin::Irregular => IRREGULAR,
            Origin::TooLong => TOO_LONG,
        }
    }

    fn unpack(cell: u64) -> Option<Origin> {
        match cell {
            UNKNOWN => None,
            CHAR => Some(Origin::Char),
            NEVER => Some(Origin::Never),
            IRREGULAR => Some(Origin::Irregular),
            TOO_LONG => Some(Origin::TooLong),
            pair => {
                let (left, right) = (
                    u32::try_from(pair >> 32),
                    u32::try_from(pair & u64::from(u32::MAX)),
                );
                Some(Origin::Merged(left.ok()?, right.ok()?))
            }
        }
    }
}

impl Origins {
    pub(super) fn new(pieces: usize) -> Origins {
        Origins {
            pieces,
            cells: OnceLock::new(),
        }
    }

    #[inline]
    fn cells(&self) -> &[AtomicU64] {
        self.cells
            .get_or_init(|| (0..self.pieces).map(|_| AtomicU64::new(UNKNOWN)).collect())
    }
}

impl Bpe {
    /// The origin of `symbol`.
    #[inline]
    pub(super) fn origin(&self, symbol: u32, pairs: &mut Pairs<'_>) -> Origin {
        // Symbols that are no pieces are characters.
        let Some(cell) = self.origins.cells().get(symbol as usize) else {
            return Origin::Char;
        };
        if let Some(origin) = Origin::unpack(cell.load(Ordering::Relaxed)) {
            return origin;
        }
        let origin = self.find_origin(symbol, pairs);
        cell.store(origin.pack(), Ordering::Relaxed);
        origin
    }

    #[cold]
    fn find_origin(&self, symbol: u32, pairs: &mut Pairs<'_>) -> Origin {
        let text = pairs.pieces.text(symbol as usize);
        let mut chars = self.symbols_of(text);
        if let (Some(_), None) = (chars.next(), chars.next()) {
            return Origin::Char;
        }
        if self.symbols_of(text).count() > SHORT {
            return Origin::TooLong;
        }
        let mut chunk = ShortChunk::default();
        self.short_chunk(&mut chunk, [text]);
        let last = chunk.merge_and_tell::<true>(pairs);
        let (Some(found), Some((left, right))) = (chunk.left().next(), last) else {
            return Origin::Never;
        };
        if chunk.left().count() > 1 || found != symbol {
            return Origin::Never;
        }
        let rank = self.symbols.rank(symbol);
        let mut is_earlier = |part| match self.origin(part, pairs) {
            Origin::Char => true,
            Origin::Merged(..) => self.symbols.rank(part) < rank,
            Origin::Never | Origin::Irregular | Origin::TooLong => false,
        };
        if is_earlier(left) && is_earlier(right) {
            Origin::Merged(left, right)
        } else {
            Origin::Irregular
        }
    }
}
