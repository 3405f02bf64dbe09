//! The merging of a short chunk.
//!
//! In: the characters of a chunk, 32 at most. Out: the symbols that are left when no pair merges any more. All
//! pairs are looked through for the best one, again and again, which is fastest for a handful.
//!
//! What two symbols become is asked by the hash of the text that they cover, which is worked out from the hashes of
//! the chunk's beginnings: most pairs become nothing, and to see that nothing else has to be loaded.

use super::pairs::Pairs;
use super::symbols::{Merge, NO_SYMBOL, Symbols};
use crate::packed::to_index;

/// The most symbols of a short chunk.
pub(super) const SHORT: usize = 32;

/// A short chunk, in arrays that stay in the processor's first cache; to be reused.
#[derive(Debug)]
pub(super) struct ShortChunk {
    count: usize,
    /// By place; a symbol that was merged has the place of its first character.
    symbols: [u32; SHORT],
    /// For each place the hash of the text before it, and the length of that text in bytes.
    hashes: [u64; PLACES],
    starts: [u8; PLACES],
    /// A bit for each place at which a symbol begins, and for all behind the last symbol.
    begins: u64,
    waiting: Waiting,
}

/// Places with a character, the end, and one behind it, which is looked at in vain.
const PLACES: usize = SHORT + 2;

/// When a pair of a short chunk merges, the lowest first: from the upper bits, its rank, its place, and what it
/// becomes.
type Turn = u64;
const SYMBOL_BITS: u32 = u32::BITS;
const PLACE_BITS: u32 = SHORT.trailing_zeros();
/// The pair does not merge.
const NEVER: Turn = Turn::MAX;
/// Ranks below this can be told apart by their turns.
pub(super) const RANK_LIMIT: u32 = u32::MAX >> PLACE_BITS;

/// The pairs of a short chunk, each at the place of its first symbol.
#[derive(Debug)]
struct Waiting([Turn; SHORT]);

impl ShortChunk {
    /// Makes it a chunk without characters.
    #[inline]
    pub(super) fn clear(&mut self) {
        (self.count, self.begins) = (0, u64::MAX);
    }

    /// Adds a character, unless there are [`SHORT`] already.
    #[inline]
    pub(super) fn push(&mut self, symbol: u32, char: &[u8], symbols: &Symbols) {
        let place = self.count;
        if place < SHORT {
            self.symbols[place] = symbol;
            self.hashes[place + 1] = symbols.extend_hash(self.hashes[place], symbol, char);
            self.starts[place + 1] = self.starts[place] + u8::try_from(char.len()).unwrap_or(0);
            self.count += 1;
        }
    }

    /// The symbols that are left, from left to right.
    #[inline]
    pub(super) fn left(&self) -> impl Iterator<Item = u32> {
        let mut place = 0;
        std::iter::from_fn(move || {
            let symbol = (place < self.count).then(|| self.symbols[place])?;
            place = self.after(place);
            Some(symbol)
        })
    }

    /// Merges what merges; the two symbols that merged last. All ranks are below [`RANK_LIMIT`].
    pub(super) fn merge(&mut self, pairs: &mut Pairs<'_>) -> Option<(u32, u32)> {
        let mut last = None;
        self.look_at_all(pairs);
        loop {
            let best = self.waiting.first(self.count);
            if best == NEVER {
                return last;
            }
            let at = to_index(best >> SYMBOL_BITS) % SHORT;
            let right = self.after(at);
            let end = self.after(right);
            last = Some((self.symbols[at], self.symbols[right % SHORT]));
            self.symbols[at] = u32::try_from(best & u64::from(u32::MAX)).unwrap_or(NO_SYMBOL);
            self.begins &= !(1 << right);
            self.waiting.0[right % SHORT] = NEVER;
            self.waiting.0[at] = NEVER;
            let behind = self.hash(pairs.symbols, at, self.after(end));
            if end < self.count && pairs.symbols.may_be_piece(behind) {
                self.waiting.set(at, pairs.find(self.symbols[at], self.symbols[end], behind));
            }
            if let Some(before) = self.before(at) {
                let hash = self.hash(pairs.symbols, before, end);
                self.waiting.0[before] = NEVER;
                if pairs.symbols.may_be_piece(hash) {
                    self.waiting.set(before, pairs.find(self.symbols[before], self.symbols[at], hash));
                }
            }
        }
    }

    /// Sees what each two neighbours become, before anything was merged.
    #[inline]
    fn look_at_all(&mut self, pairs: &mut Pairs<'_>) {
        self.waiting.clear(self.count);
        let mut hashes = [0; SHORT];
        let mut promising = 0u32;
        for (left, hash) in hashes.iter_mut().enumerate().take(self.count.saturating_sub(1)) {
            *hash = self.hash(pairs.symbols, left, left + 2);
            promising |= u32::from(pairs.symbols.may_be_piece(*hash)) << left;
        }
        while promising != 0 {
            let left = promising.trailing_zeros() as usize % SHORT;
            promising &= promising - 1;
            self.waiting.set(left, pairs.find(self.symbols[left], self.symbols[(left + 1) % SHORT], hashes[left]));
        }
    }

    /// The hash of the text between two places.
    #[inline]
    fn hash(&self, symbols: &Symbols, start: usize, end: usize) -> u64 {
        let (start, end) = (start.min(PLACES - 1), end.min(PLACES - 1));
        let length = self.starts[end].wrapping_sub(self.starts[start]);
        symbols.part_hash(self.hashes[start], self.hashes[end], usize::from(length))
    }

    /// The place of the symbol behind the one at `at`.
    #[inline]
    fn after(&self, at: usize) -> usize {
        (self.begins & (u64::MAX - 1) << at).trailing_zeros() as usize
    }

    /// The place of the symbol before the one at `at`.
    #[inline]
    fn before(&self, at: usize) -> Option<usize> {
        let ahead = self.begins & !(u64::MAX << at);
        (ahead != 0).then(|| ahead.ilog2() as usize % SHORT)
    }
}

impl Waiting {
    #[inline]
    fn set(&mut self, left: usize, merge: Merge) {
        let turn = u64::from(merge.rank) << PLACE_BITS | left as u64;
        self.0[left] = if merge.rank < RANK_LIMIT { turn << SYMBOL_BITS | u64::from(merge.symbol) } else { NEVER };
    }

    /// Forgets all pairs of a chunk of `count` symbols.
    #[inline]
    fn clear(&mut self, count: usize) {
        match count {
            ..=16 => self.0[..16].fill(NEVER),
            _ => self.0.fill(NEVER),
        }
    }

    /// The first turn of the first `count` places. A fixed number of them is compared, without branches.
    #[inline]
    fn first(&self, count: usize) -> Turn {
        let least = |turns: &[Turn]| turns.iter().fold(NEVER, |best, turn| best.min(*turn));
        match count {
            0..=8 => least(&self.0[..8]),
            9..=12 => least(&self.0[..12]),
            13..=16 => least(&self.0[..16]),
            _ => least(&self.0),
        }
    }
}

impl Default for ShortChunk {
    fn default() -> ShortChunk {
        ShortChunk {
            count: 0,
            symbols: [NO_SYMBOL; SHORT],
            hashes: [0; PLACES],
            starts: [0; PLACES],
            begins: u64::MAX,
            waiting: Waiting([NEVER; SHORT]),
        }
    }
}
