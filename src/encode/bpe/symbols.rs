//! Symbols: the texts that can be parts of a merge, as numbers, and what two of them become.
//!
//! A *symbol* is a piece that text can yield (then its number is its id) or a character that is no piece but
//! stands in one. Two symbols merge if their joined text is a piece. To find it, no text is put together:
//! each symbol has the polynomial hash of its text, h(xy) = h(x) · B^|y| + h(y), so the hash of the joined text
//! takes one multiplication; the piece that is found by it is compared, byte for byte. (Karp and Rabin,
//! "Efficient randomized pattern-matching algorithms", 1987, <https://doi.org/10.1147/rd.312.0249>.) For each
//! place of a short text there is the sum of h(c) / B^e over the characters c before it, where e is the place at which
//! c ends: of two such sums the difference, times B^e of the later place, is the hash of what stands between them. (B
//! is odd, so it can be divided by.)
//!
//! So a model is ready after one look at each byte of its pieces, whatever they are, and the table is as
//! small as the vocabulary. The base B is drawn anew for each model: nobody can prepare texts that collide.

use std::hash::{BuildHasher, RandomState};

use crate::encode::bloom_filter::BloomFilter;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::PieceTable;
use crate::text::num::{low_u32, low_usize, mix_high};

/// Not a symbol.
pub(super) const NO_SYMBOL: u32 = u32::MAX;

/// What two neighbouring symbols become, with a rank: the lower, the sooner. The rank is in the upper half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Merge(u64);

impl Merge {
    /// They do not merge: all bits are set.
    pub(super) const NONE: Merge = Merge(u64::MAX);
    /// Nobody has looked yet; no pair has it.
    pub(super) const UNSEEN: Merge = Merge(u64::MAX - 1);

    pub(super) fn new(rank: u32, symbol: u32) -> Merge {
        Merge(u64::from(rank) << 32 | u64::from(symbol))
    }

    #[inline]
    pub(super) fn rank(self) -> u32 {
        low_u32(self.0 >> 32)
    }

    #[inline]
    pub(super) fn symbol(self) -> u32 {
        low_u32(self.0)
    }

    #[inline]
    pub(super) fn bits(self) -> u64 {
        self.0
    }
}

/// The rank of what does not merge.
pub(super) const NO_RANK: u32 = u32::MAX;

/// The powers of a number, for each exponent that is a byte.
type Powers = [u64; 256];

fn powers_of(base: u64) -> Powers {
    let mut powers = [1; 256];
    for exponent in 1..powers.len() {
        powers[exponent] = base.wrapping_mul(powers[exponent - 1]);
    }
    powers
}

/// One divided by an odd number. (Each step doubles the bits that are right; at first there are three.)
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| {
        inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)))
    })
}

/// The hash of a text, and the base to the power of its length.
#[derive(Debug, Clone, Copy)]
struct TextHash {
    hash: u64,
    power: u64,
}

impl TextHash {
    const EMPTY: TextHash = TextHash { hash: 0, power: 1 };

    /// The powers of short texts are known, which halves the work.
    fn of(text: &[u8], powers: &Powers) -> TextHash {
        let base = powers[1];
        let step =
            |hash: u64, byte: &u8| hash.wrapping_mul(base).wrapping_add(u64::from(*byte) + 1);
        let power = match powers.get(text.len()) {
            Some(power) => *power,
            None => text
                .iter()
                .fold(1, |power: u64, _| power.wrapping_mul(base)),
        };
        TextHash {
            // Brings the bits of a very short text to the upper end. As any factor, it belongs to the polynomial.
            hash: mix_high(text.iter().fold(0, step)),
            power,
        }
    }
}

/// A place of the table of pieces: the id, and bits of the hash that did not choose the place.
#[derive(Debug, Clone, Copy)]
struct Slot {
    tag: u32,
    id: u32,
}

const FREE: Slot = Slot {
    tag: 0,
    id: NO_SYMBOL,
};

/// All symbols of a model.
#[derive(Debug)]
pub(super) struct Symbols {
    /// By symbol.
    hashes: Vec<TextHash>,
    /// By piece; equal for equal scores, 0 for the best.
    ranks: Vec<u32>,
    /// The characters that are no pieces; they are the symbols behind the pieces.
    chars: Vec<Box<[u8]>>,
    slots: Vec<Slot>,
    shift: u32,
    /// A bit for each hash that a piece may have; most texts are no pieces, and this says so soonest.
    filter: BloomFilter,
    /// Of the base, and of one divided by it.
    powers: Powers,
    inverse_powers: Powers,
}

impl Symbols {
    /// The pieces with these ids. Of equal texts the last one counts.
    pub(super) fn new(vocabulary: &Vocabulary<'_>, mergeable: &[u32]) -> Symbols {
        let base = RandomState::new().hash_one(vocabulary.len()) | 1;
        let slots = (mergeable.len() * 2).next_power_of_two().max(64);
        let mut symbols = Symbols {
            hashes: vec![TextHash::EMPTY; vocabulary.len()],
            ranks: ranks(vocabulary, mergeable),
            chars: Vec::new(),
            slots: vec![FREE; slots],
            shift: 64 - slots.trailing_zeros(),
            filter: BloomFilter::with_capacity(mergeable.len() * 2),
            powers: powers_of(base),
            inverse_powers: powers_of(inverse(base)),
        };
        for id in mergeable {
            let text = vocabulary.text(*id as usize);
            let hash = TextHash::of(text, &symbols.powers);
            let (slot, tag) = symbols.slot(hash.hash, |id| vocabulary.text(id as usize) == text);
            symbols.hashes[*id as usize] = hash;
            symbols.slots[slot] = Slot { tag, id: *id };
            symbols.filter.insert(hash.hash);
        }
        symbols
    }

    /// The symbol of a character; if it is no piece, a new one.
    pub(super) fn char_symbol(&mut self, pieces: &PieceTable, char: &[u8]) -> u32 {
        let hash = TextHash::of(char, &self.powers);
        let (slot, _) = self.slot(hash.hash, |id| pieces.text(id as usize) == char);
        if self.slots[slot].id != NO_SYMBOL {
            return self.slots[slot].id;
        }
        self.hashes.push(hash);
        self.chars.push(char.into());
        u32::try_from(self.hashes.len() - 1).unwrap_or(NO_SYMBOL)
    }

    /// The rank of a piece.
    #[inline]
    pub(super) fn rank(&self, symbol: u32) -> u32 {
        self.ranks.get(symbol as usize).copied().unwrap_or(NO_RANK)
    }

    /// The hash of a symbol's text; 0 if it is unknown.
    pub(super) fn hash(&self, symbol: u32) -> u64 {
        self.hashes.get(symbol as usize).map_or(0, |hash| hash.hash)
    }

    /// The hash of a text that ends in a part of `length` bytes, given the hash of that and of what stands before it.
    #[inline]
    pub(super) fn joined_part_hash(&self, before: u64, part: u64, length: u8) -> u64 {
        before
            .wrapping_mul(self.powers[usize::from(length)])
            .wrapping_add(part)
    }

    /// The hash of a part of a text, `length` bytes long; given the hash of what stands before it, and that of all
    /// up to its end.
    #[inline]
    fn part_hash(&self, before: u64, until: u64, length: u8) -> u64 {
        until.wrapping_sub(before.wrapping_mul(self.powers[usize::from(length)]))
    }

    /// The sum of a text up to a place, given that up to the character before it and the hash of that; and the power
    /// of the place. `end` is where it is in bytes.
    #[inline]
    pub(super) fn sum_and_power(&self, before: u64, char: u64, end: u8) -> (u64, u64) {
        let end = usize::from(end);
        (
            before.wrapping_add(char.wrapping_mul(self.inverse_powers[end])),
            self.powers[end],
        )
    }

    /// The piece with this short text; `hashes` are those of what stands before it and of all up to its end.
    #[inline]
    pub(super) fn find_part(
        &self,
        pieces: &PieceTable,
        hashes: (u64, u64),
        text: &[u8],
    ) -> Option<u32> {
        let hash = self.part_hash(hashes.0, hashes.1, u8::try_from(text.len()).ok()?);
        if !self.may_be_piece(hash) {
            return None;
        }
        let (slot, _) = self.slot(hash, |id| pieces.text(id as usize) == text);
        Some(self.slots[slot].id).filter(|id| *id != NO_SYMBOL)
    }

    /// The hash of the joined text of two symbols.
    #[inline]
    pub(super) fn joined_hash(&self, left: u32, right: u32) -> Option<u64> {
        let (left, right) = (
            self.hashes.get(left as usize)?,
            self.hashes.get(right as usize)?,
        );
        Some(left.hash.wrapping_mul(right.power).wrapping_add(right.hash))
    }

    /// Whether a text with this hash may be a piece.
    #[inline]
    pub(super) fn may_be_piece(&self, hash: u64) -> bool {
        self.filter.may_contain(hash)
    }

    /// What `left` and `right` become; `hash` is that of their joined text.
    pub(super) fn join(&self, pieces: &PieceTable, left: u32, right: u32, hash: u64) -> Merge {
        if !self.is_known(left) || !self.is_known(right) {
            return Merge::NONE;
        }
        let is_joined = |id: u32| {
            let (left, right) = (self.text(pieces, left), self.text(pieces, right));
            pieces.text(id as usize).strip_prefix(left) == Some(right)
        };
        let (slot, _) = self.slot(hash, is_joined);
        let symbol = self.slots[slot].id;
        self.ranks
            .get(symbol as usize)
            .map_or(Merge::NONE, |rank| Merge::new(*rank, symbol))
    }

    /// Whether each symbol, and each rank, is below the highest number of 16 bits.
    #[inline]
    pub(super) fn are_few(&self) -> bool {
        self.hashes.len() < usize::from(u16::MAX)
    }

    /// Whether it is a symbol at all, and not an unknown character.
    #[inline]
    pub(super) fn is_known(&self, symbol: u32) -> bool {
        (symbol as usize) < self.hashes.len()
    }

    /// The text of a known symbol.
    pub(super) fn text<'t>(&'t self, pieces: &'t PieceTable, symbol: u32) -> &'t [u8] {
        match (symbol as usize).checked_sub(pieces.len()) {
            None => pieces.text(symbol as usize),
            Some(char) => &self.chars[char],
        }
    }

    /// The slot with the piece that has this hash and for which `is_it` holds, or the free one where it
    /// belongs; and its tag.
    #[inline]
    fn slot(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> (usize, u32) {
        // The lower half of the bits; the place comes from the upper ones.
        let tag = low_u32(hash);
        let mask = self.slots.len() - 1;
        let mut slot = low_usize(hash >> self.shift);
        while self.slots[slot].id != NO_SYMBOL
            && (self.slots[slot].tag != tag || !is_it(self.slots[slot].id))
        {
            slot = (slot + 1) & mask;
        }
        (slot, tag)
    }
}

/// The rank of each piece; those that do not merge have none that counts.
fn ranks(vocabulary: &Vocabulary<'_>, mergeable: &[u32]) -> Vec<u32> {
    let key =
        |id: &u32| u64::from(descending(vocabulary.score(*id as usize))) << 32 | u64::from(*id);
    let mut best_first: Vec<u64> = mergeable.iter().map(key).collect();
    // Trainers write them in this order but for a few, which this sort makes use of.
    best_first.sort();
    let mut ranks = vec![NO_RANK; vocabulary.len()];
    let equals = best_first.chunk_by(|a, b| a >> 32 == b >> 32);
    for (rank, group) in (0..NO_RANK).zip(equals) {
        group
            .iter()
            .for_each(|key| ranks[low_usize(key & u64::from(u32::MAX))] = rank);
    }
    ranks
}

/// A score as a number: the better the score, in the total order of IEEE 754, the lower the number.
fn descending(score: f32) -> u32 {
    let bits = score.to_bits();
    if score.is_sign_negative() {
        bits
    } else {
        !bits & !(1 << 31)
    }
}

#[cfg(test)]
mod tests {
    use super::descending;

    #[test]
    fn numbers_are_in_the_total_order() {
        let scores = [
            f32::NAN,
            f32::INFINITY,
            f32::MAX,
            1.5,
            1.0,
            f32::MIN_POSITIVE,
            0.0,
            -0.0,
            -1.0,
            -1.5,
            f32::NEG_INFINITY,
        ];
        assert!(
            scores.is_sorted_by(|a, b| a.total_cmp(b).is_gt() && descending(*a) < descending(*b))
        );
        assert!(descending(-f32::NAN) > descending(f32::NEG_INFINITY));
    }
}
