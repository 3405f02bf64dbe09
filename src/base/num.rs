//! Number conversions that cannot fail, and hash mixing.
//!
//! `as` hides truncation and `try_from(..).unwrap_or(..)` hides a broken invariant. These functions
//! instead say in their names which bits of the input they return, so they are total and have the
//! same result on 32-bit and 64-bit targets. A value that must fit is checked where it is created
//! (a typed error), not here.

/// 2^64 divided by the golden ratio, odd: the multiplier of Fibonacci hashing (Knuth, The Art of
/// Computer Programming, volume 3, section 6.4). A product with it has well mixed upper bits.
pub(crate) const GOLDEN_RATIO_64: u64 = 0x9e37_79b9_7f4a_7c15;

/// A second odd multiplier with random bits.
const SECOND_MULTIPLIER: u64 = 0xd6e8_feb8_6659_fd93;

/// Mixes the bits of `word` into the upper bits of the result: use the upper bits as a hash.
#[inline]
pub(crate) const fn mix_high(word: u64) -> u64 {
    word.wrapping_mul(GOLDEN_RATIO_64)
}

/// The nearest 32-bit float, ties to even.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding is what the name promises"
)]
pub(crate) const fn round_f32(x: f64) -> f32 {
    x as f32
}

/// A count as the nearest 32-bit float, ties to even.
#[cfg(feature = "train")]
#[inline]
#[expect(
    clippy::cast_precision_loss,
    reason = "rounding is what the name promises"
)]
pub(crate) const fn count_to_f32(count: u64) -> f32 {
    count as f32
}

/// Bits 0 to 31.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half is what the name promises"
)]
pub(crate) const fn low_u32(bits: u64) -> u32 {
    bits as u32
}

/// Bits 32 to 63.
#[inline]
pub(crate) const fn high_u32(bits: u64) -> u32 {
    low_u32(bits >> 32)
}

/// Bits 0 to 15.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower bits are what the name promises"
)]
pub(crate) const fn low_u16(bits: u64) -> u16 {
    bits as u16
}

/// Bits 0 to 7.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower bits are what the name promises"
)]
pub(crate) const fn low_u8(bits: u64) -> u8 {
    bits as u8
}

/// Bits 0 to 63.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower half is what the name promises"
)]
pub(crate) const fn low_u64(bits: u128) -> u64 {
    bits as u64
}

/// Bits 64 to 127.
#[inline]
pub(crate) const fn high_u64(bits: u128) -> u64 {
    low_u64(bits >> 64)
}

/// `bits & mask` as an index into a table with `mask + 1` entries (a power of two). The result is
/// exact on every target, because a table that exists has indexes that fit `usize`.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the mask is a usize, so the result fits"
)]
pub(crate) const fn masked_index(bits: u64, mask: usize) -> usize {
    bits as usize & mask
}

/// The low bits, as many as `usize` has (32 or 64): for bits that were shifted right and so are an
/// index already. For others use [`masked_index`], or mask the result.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the lower bits are what the name promises"
)]
pub(crate) const fn low_usize(bits: u64) -> usize {
    bits as usize
}

/// Mixes the bits of `word` so that the upper bits of the result depend on all of them: use the
/// upper bits as a hash.
#[inline]
pub(crate) const fn mix64(word: u64) -> u64 {
    mix_high(word ^ (word >> 32)) ^ word.wrapping_mul(SECOND_MULTIPLIER)
}

/// Mixes two words by one wide multiplication and combines both halves of the product, as in
/// wyhash, <https://github.com/wangyi-fudan/wyhash>.
#[inline]
pub(crate) const fn mix_words(first: u64, second: u64) -> u64 {
    let product = (first ^ GOLDEN_RATIO_64) as u128 * (second ^ SECOND_MULTIPLIER) as u128;
    low_u64(product) ^ high_u64(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words_are_the_named_bits() {
        let word = 0x0123_4567_89AB_CDEF;
        assert_eq!(high_u32(word), 0x0123_4567);
        assert_eq!(low_u32(word), 0x89AB_CDEF);
        assert_eq!(low_u16(word), 0xCDEF);
        assert_eq!(low_u8(word), 0xEF);
        let wide = u128::from(word) << 64 | 7;
        assert_eq!(high_u64(wide), word);
        assert_eq!(low_u64(wide), 7);
        assert_eq!(masked_index(word, 0xFFF), 0xDEF);
        assert_eq!(masked_index(u64::MAX, 0), 0);
    }

    #[test]
    fn mixed_small_numbers_differ_in_their_upper_bits() {
        for mix in [mix64, mix_high] {
            let mut upper: Vec<u64> = (0..256).map(|number| mix(number) >> 48).collect();
            upper.sort_unstable();
            upper.dedup();
            assert!(upper.len() > 250, "{}", upper.len());
        }
    }
}
