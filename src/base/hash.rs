//! Polynomial hashes of texts, from which hashes of joined texts and of parts are computed without
//! the text.
//!
//! The hash of bytes b1 ... bn is c · (b1+1)·B^(n-1) + ... + c · (bn+1), modulo 2^64, where the
//! base B is odd and the constant c moves the bits of very short texts to the upper end. So h(xy) =
//! h(x) · B^|y| + h(y): the hash of a joined text, and that of a part, costs one multiplication.
//! (Karp and Rabin, "Efficient randomized pattern-matching algorithms", 1987,
//! <https://doi.org/10.1147/rd.312.0249>.)
//!
//! Parts of a short text use *prefix sums*: for each position the sum of h(c) / B^e over the
//! characters c before it, where e is the byte offset of the end of c. (B is odd, so it has an
//! inverse modulo 2^64.) The difference of two sums, times B^e of the later position, is the hash
//! of the text between the two positions.
//!
//! Example with the characters a, b of one byte each: the sums are s0 = 0, s1 = h(a)/B, s2 =
//! h(a)/B + h(b)/B². Then (s2 - s0) · B² = h(a)·B + h(b) = h(ab), and (s2 - s1) · B² = h(b).
//!
//! The base is drawn at random for each model, so nobody can prepare texts that collide. Collisions
//! change no result, because every hit is compared with the text.

use std::hash::{BuildHasher, RandomState};

use crate::base::num::{low_u32, mix_high};

/// Powers of a number, by exponent.
type Powers = [u64; 256];

/// How many bytes of a text are read at once.
const WINDOW: usize = size_of::<u64>();

/// The hash of a text, and the base to the power of its length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TextHash {
    hash: u64,
    power: u64,
}

impl TextHash {
    pub(crate) const EMPTY: Self = Self { hash: 0, power: 1 };

    /// The hash as a number.
    #[inline]
    pub(crate) fn hash(self) -> u64 {
        self.hash
    }

    /// The hash of this text followed by another, with its power.
    #[inline]
    pub(crate) fn concat(self, right: Self) -> Self {
        Self {
            hash: self.join(right),
            power: self.power.wrapping_mul(right.power),
        }
    }

    /// The hash of this text followed by another.
    #[inline]
    pub(crate) fn join(self, right: Self) -> u64 {
        self.hash.wrapping_mul(right.power).wrapping_add(right.hash)
    }
}

/// Computes hashes with one base.
#[derive(Debug)]
pub(crate) struct TextHasher {
    powers: Powers,
    inverse_powers: Powers,
    /// By length, the sum of a text of zeros.
    zeros: [u64; WINDOW + 1],
}

impl TextHasher {
    /// A hasher with a random base.
    pub(crate) fn new() -> Self {
        let base = RandomState::new().hash_one(0) | 1;
        let powers = powers_of(base);
        Self {
            powers,
            inverse_powers: powers_of(inverse(base)),
            zeros: std::array::from_fn(|length| {
                let powers = powers[..length].iter();
                powers.fold(0u64, |sum, power| sum.wrapping_add(*power))
            }),
        }
    }

    pub(crate) fn hash(&self, text: &[u8]) -> TextHash {
        TextHash {
            hash: mix_high(self.sum(text)),
            power: self.power(text.len()),
        }
    }

    /// The hash of the first `length` bytes of a longer text. In a loop over the texts of an arena
    /// it takes less time than [`hash`](Self::hash): up to eight bytes need no loop, whose end the
    /// processor cannot predict.
    #[inline]
    pub(crate) fn hash_start(&self, text: &[u8], length: usize) -> TextHash {
        let Some(window) = text.first_chunk().filter(|_| length <= WINDOW) else {
            return self.hash(&text[..length]);
        };
        let unused = WINDOW - length;
        let after_text = u64::MAX.checked_shl(8 * low_u32(length as u64));
        let word = u64::from_le_bytes(*window) & !after_text.unwrap_or_default();
        // Bytes after the text are 0, which moves the others to higher powers.
        let bytes = word.to_le_bytes().into_iter();
        let sum = bytes
            .zip((0..WINDOW).rev())
            .fold(0u64, |sum, (byte, exponent)| {
                sum.wrapping_add(u64::from(byte).wrapping_mul(self.powers[exponent]))
            });
        let sum = sum.wrapping_mul(self.inverse_powers[unused]);
        TextHash {
            hash: mix_high(sum.wrapping_add(self.zeros[length])),
            power: self.powers[length],
        }
    }

    /// The hashes of both parts of `text` for each place between two bytes, from left to right.
    pub(crate) fn splits(&self, text: &[u8]) -> impl Iterator<Item = [u64; 2]> {
        let whole = self.hash(text);
        let inverse = self.inverse_powers[1];
        let mut sum = 0;
        let mut power = whole.power;
        let before_last = text.len().saturating_sub(1);
        text[..before_last].iter().map(move |byte| {
            sum = self.add_byte(sum, *byte);
            power = power.wrapping_mul(inverse);
            let begin = mix_high(sum);
            let end = whole.hash.wrapping_sub(begin.wrapping_mul(power));
            [begin, end]
        })
    }

    /// The polynomial of the bytes of `text`, by Horner's method.
    #[inline]
    fn sum(&self, text: &[u8]) -> u64 {
        text.iter().fold(0, |sum, byte| self.add_byte(sum, *byte))
    }

    /// One step of Horner's method: the sum of a text, extended by a byte.
    #[inline]
    fn add_byte(&self, sum: u64, byte: u8) -> u64 {
        let base = self.powers[1];
        sum.wrapping_mul(base).wrapping_add(u64::from(byte) + 1)
    }

    /// The base to the power of `exponent`: from the table where possible, which halves the work of
    /// a hash.
    #[inline]
    pub(crate) fn power(&self, exponent: usize) -> u64 {
        let entry = self.powers.get(exponent).copied();
        entry.unwrap_or_else(|| self.compute_power(exponent))
    }

    /// As [`power`](Self::power), for exponents beyond the table.
    #[inline]
    fn compute_power(&self, exponent: usize) -> u64 {
        let base = self.powers[1];
        (0..exponent).fold(1, |power: u64, _| power.wrapping_mul(base))
    }

    /// Extends prefix sums by a character with the hash `char` that ends at byte `end`. Returns the
    /// sum, and the power that turns differences of sums into hashes.
    #[inline]
    pub(crate) fn prefix_sum(&self, before: u64, char: u64, end: u8) -> (u64, u64) {
        let end = usize::from(end);
        let sum = before.wrapping_add(char.wrapping_mul(self.inverse_powers[end]));
        (sum, self.powers[end])
    }
}

fn powers_of(base: u64) -> Powers {
    let mut next = 1;
    std::array::from_fn(|_| {
        let power = next;
        next = base.wrapping_mul(power);
        power
    })
}

/// The inverse of an odd number modulo 2^64, by Newton's method: the number is its own inverse
/// modulo 8, and each step doubles the number of correct bits.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| {
        inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::num::GOLDEN_RATIO_64;

    #[test]
    fn hashes_of_joined_texts_and_of_parts_are_hashes_of_the_text() {
        let hasher = TextHasher::new();
        let text = "the \u{2581}\u{4e00} lattice".repeat(12);
        let text = text.as_bytes();
        for at in 0..text.len() {
            let (left, right) = text.split_at(at);
            let joined = hasher.hash(left).join(hasher.hash(right));
            assert_eq!(joined, hasher.hash(text).hash, "{at}");
            let concatenated = hasher.hash(left).concat(hasher.hash(right));
            assert_eq!(concatenated.power, hasher.hash(text).power, "{at}");
        }
        let parts = |at| <[&[u8]; 2]>::from(text.split_at(at)).map(|part| hasher.hash(part).hash);
        assert!(hasher.splits(text).eq((1..text.len()).map(parts)));
        assert_eq!(hasher.splits(b"").count(), 0);
        let mut sums = vec![(0, 1)];
        for (end, byte) in (1..=100).zip(text) {
            let (before, _) = sums[sums.len() - 1];
            sums.push(hasher.prefix_sum(before, hasher.hash(&[*byte]).hash, end));
        }
        for start in 0..=100 {
            for end in start..=100 {
                let difference = sums[end].0.wrapping_sub(sums[start].0);
                let hash = difference.wrapping_mul(sums[end].1);
                assert_eq!(hash, hasher.hash(&text[start..end]).hash, "{start}..{end}");
            }
        }
    }

    #[test]
    fn the_hash_of_a_start_is_that_of_the_text() {
        let hasher = TextHasher::new();
        let text = [255, 0, 1, 128, 255, 255, 7, 0, 9, 255, 0, 3];
        for end in 0..=text.len() {
            for length in 0..=end {
                let start = hasher.hash_start(&text[..end], length);
                let whole = hasher.hash(&text[..length]);
                assert_eq!((start.hash, start.power), (whole.hash, whole.power));
            }
        }
    }

    #[test]
    fn inverses_are_inverses() {
        for odd in [1, 3, 5, GOLDEN_RATIO_64, u64::MAX] {
            assert_eq!(odd.wrapping_mul(inverse(odd)), 1);
        }
    }
}
