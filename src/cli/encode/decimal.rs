//! Ids in decimal, without a division for each digit.
//!
//! Input: an id below 1,000,000. Output: its digits and a space, in one word of 8 bytes. Method: the id is split into two
//! numbers of up to three digits, and the digits of each come from a table of 1,000 entries. If there is an upper number,
//! the lower one has zeros on the left. Nothing depends on the model, so the tables are constants of the program; both
//! fit the first-level cache of the processor.
//!
//! Example: 12,034 is 12 and 034. The entry of 12 is `"12"` with 16 bits, that of 034 is `"034"` with 24 bits. The word
//! is `"12034 ", 0, 0`, and its text has 6 bytes.
//!
//! Cost: two loads and about 25 instructions. A table of the words of all ids was as fast on one thread and 8 % slower on two,
//! and has to be made for each model.

/// Ids below this number have a word.
pub(super) const END: u32 = 1_000_000;

/// The lower three digits of an id.
const LOW: u32 = 1000;

/// Up to three digits in the lower three bytes, the first one in the lowest byte; the upper byte is the number of bits.
type Digits = u32;

/// The digits of the upper numbers, without zeros on the left; those of 0 are empty.
static HEADS: [Digits; LOW as usize] = heads();

/// The digits of the lower numbers: first without zeros on the left, then with zeros.
static TAILS: [[Digits; LOW as usize]; 2] = tails();

/// The digits of `id` and a space, and the number of these bytes. `None` from [`END`] on.
#[inline]
pub(super) fn word(id: u32) -> Option<([u8; 8], usize)> {
    if id >= END {
        return None;
    }
    let high = id / LOW;
    let head = HEADS[high as usize];
    let tail = TAILS[usize::from(high > 0)][(id % LOW) as usize];
    let head_bits = head >> 24;
    let bits = head_bits + (tail >> 24);
    let word = u64::from(head & 0xFF_FFFF)
        | u64::from(tail & 0xFF_FFFF) << head_bits
        | u64::from(b' ') << bits;
    Some((word.to_le_bytes(), bits as usize / 8 + 1))
}

/// The last `count` of the three digits of `number`.
const fn digits(number: u32, count: u32) -> Digits {
    let hundreds = b'0' as u32 + number / 100;
    let tens = b'0' as u32 + number / 10 % 10;
    let ones = b'0' as u32 + number % 10;
    let all = hundreds | tens << 8 | ones << 16;
    let bits = 8 * count;
    (all >> (24 - bits)) | bits << 24
}

/// The number of digits of `number`, without zeros on the left.
const fn digit_count(number: u32) -> u32 {
    match number {
        0..=9 => 1,
        10..=99 => 2,
        _ => 3,
    }
}

/// See [`HEADS`].
const fn heads() -> [Digits; LOW as usize] {
    let mut heads = [0; LOW as usize];
    let mut number = 1;
    while number < LOW {
        heads[number as usize] = digits(number, digit_count(number));
        number += 1;
    }
    heads
}

/// See [`TAILS`].
const fn tails() -> [[Digits; LOW as usize]; 2] {
    let mut tails = [[0; LOW as usize]; 2];
    let mut number = 0;
    while number < LOW {
        tails[0][number as usize] = digits(number, digit_count(number));
        tails[1][number as usize] = digits(number, 3);
        number += 1;
    }
    tails
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_ids_in_decimal_with_a_space() {
        for id in 0..END {
            let (word, length) = word(id).unwrap();
            assert_eq!(&word[..length], format!("{id} ").as_bytes());
        }
        assert!(word(END).is_none());
        assert!(word(u32::MAX).is_none());
    }
}
