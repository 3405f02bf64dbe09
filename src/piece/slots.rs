//! A hash table of numbers below [`MAX_PIECES`] whose keys are stored elsewhere.
//!
//! Linear probing with 4 bytes a slot, of which at most half are used. A number takes 27 bits. The
//! other five are a *tag*, bits of the hash that the position of the slot does not depend on: of
//! the numbers that are met on the way to another one, the keys of only one in 32 are compared.
//!
//! Example: the slot of piece 7 with the text `the` has the five lowest bits of the hash of `the`,
//! and 7, all inverted. Its position is the upper bits of the hash, or the next one that was free.
//!
//! Hashes must have a random key, so that nobody can prepare keys whose slots collide.
//!
//! Memory: 8 to 16 bytes for each number.

use crate::base::num::{low_u32, low_usize};
use crate::piece::MAX_PIECES;

/// The bits of a slot that hold a number.
const NUMBER_BITS: u32 = 27;
/// A slot without a number, as new memory is. Bits are inverted, so it would be the slot of the
/// number [`MAX_PIECES`] with the largest tag.
const FREE: u32 = 0;
const _: () = assert!(MAX_PIECES < 1 << NUMBER_BITS);

/// The slots of the table.
#[derive(Debug, Clone)]
pub(crate) struct Slots {
    /// A power of two.
    slots: Vec<u32>,
    /// A hash shifted right by this is the number of its first slot.
    shift: u32,
}

/// A slot without a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreeSlot(usize);

impl Slots {
    /// An empty table for at most `numbers` numbers.
    pub(crate) fn for_numbers(numbers: usize) -> Self {
        let slots = (numbers * 2).next_power_of_two().max(64);
        Self {
            slots: vec![FREE; slots],
            shift: 64 - slots.trailing_zeros(),
        }
    }

    /// How many numbers there may be.
    pub(super) fn capacity(&self) -> usize {
        self.slots.len() / 2
    }

    /// All numbers, in any order.
    pub(super) fn numbers(&self) -> impl Iterator<Item = usize> {
        let used = self.slots.iter().filter(|slot| **slot != FREE);
        used.map(|slot| (!slot & (u32::MAX >> (u32::BITS - NUMBER_BITS))) as usize)
    }

    /// The number with this hash for which `is_it` holds.
    ///
    /// # Errors
    /// There is none; the slot where it belongs.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is_it: impl Fn(u32) -> bool) -> Result<u32, FreeSlot> {
        let tag = tag(hash);
        let mask = self.slots.len() - 1;
        let mut at = low_usize(hash >> self.shift);
        loop {
            let slot = self.slots[at];
            if slot == FREE {
                return Err(FreeSlot(at));
            }
            // Equal tags leave the number alone.
            let number = slot ^ tag;
            if number >> NUMBER_BITS == 0 && is_it(number) {
                return Ok(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Sets a slot that `find` gave for this hash.
    pub(crate) fn set(&mut self, FreeSlot(at): FreeSlot, hash: u64, number: usize) {
        debug_assert!(number < MAX_PIECES, "{number} does not fit a slot");
        self.slots[at] = tag(hash) ^ low_u32(number as u64);
    }
}

/// The tag of a hash, where it stands in a slot, with the bits of the number 0.
#[inline]
fn tag(hash: u64) -> u32 {
    !(low_u32(hash) << NUMBER_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts all numbers with the hashes that `hash_of` gives them, and finds them.
    fn check(numbers: &[usize], hash_of: impl Fn(usize) -> u64) {
        let mut slots = Slots::for_numbers(numbers.len());
        let find = |slots: &Slots, number: usize| {
            slots.find(hash_of(number), |other| other as usize == number)
        };
        for number in numbers {
            let free = find(&slots, *number).unwrap_err();
            slots.set(free, hash_of(*number), *number);
        }
        for number in numbers {
            assert_eq!(find(&slots, *number).unwrap() as usize, *number);
        }
        assert_eq!(slots.numbers().count(), numbers.len());
    }

    #[test]
    fn numbers_with_equal_hashes_are_found() {
        let numbers: Vec<usize> = (0..50).chain([MAX_PIECES - 2, MAX_PIECES - 1]).collect();
        for hash in [0, 31, u64::MAX] {
            check(&numbers, |_| hash);
        }
    }

    #[test]
    fn numbers_with_different_hashes_are_found() {
        let numbers: Vec<usize> = (0..500).collect();
        check(&numbers, |number| crate::base::num::mix64(number as u64));
    }
}
