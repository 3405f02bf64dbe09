//! A trie of the seeds.
//!
//! Input: the texts of the seeds with their numbers. Output: the seeds that a text begins with.
//!
//! The keys are divided by their first bytes among two double arrays of about equal size, which are
//! built in parallel. Building a single array takes a tenth of the time before expectation
//! maximization and cannot be parallelized. A lookup needs only the array of the first byte of the
//! text.
//!
//! Example: of the seeds `a`, `ab`, `b`, `ba` and `\u{2581}a`, the first array has those that begin
//! with `a`, the second one the others.
//!
//! Cost: a lookup is one load and one comparison for each byte.

use crate::trie::{BuildError, DoubleArray};

/// A trie of the seeds.
#[derive(Debug)]
pub(super) struct SeedTrie {
    /// The seeds with lower first bytes than [`SeedTrie::first_byte`].
    lower: DoubleArray,
    upper: DoubleArray,
    first_byte: u8,
}

impl SeedTrie {
    /// Stores `keys`, sorted by bytes and not empty. Runs on the current pool.
    pub(super) fn build(keys: &[(&[u8], u32)]) -> Result<Self, BuildError> {
        let first_byte = middle_byte(keys);
        let middle = keys.partition_point(|(text, _)| is_below(text, first_byte));
        let (lower, upper) = keys.split_at(middle);
        let (lower, upper) =
            rayon::join(|| DoubleArray::build(lower), || DoubleArray::build(upper));
        Ok(Self {
            lower: lower?,
            upper: upper?,
            first_byte,
        })
    }

    /// Calls `visit` with the length in bytes and the number of each seed that begins at the start
    /// of `rest`, from the shortest to the longest. Returns the length of the longest prefix of
    /// `rest` that is also a prefix of a seed in the searched array.
    #[inline]
    pub(super) fn walk(&self, rest: &[u8], mut visit: impl FnMut(usize, u32)) -> usize {
        let trie = self.half_of(rest);
        let mut base = trie.root();
        for (length, byte) in (1..).zip(rest) {
            let Some((next, seed)) = trie.step(base, *byte) else {
                return length - 1;
            };
            base = next;
            if let Some(seed) = seed {
                visit(length, seed_number(seed));
            }
        }
        rest.len()
    }

    /// The array that contains the seeds with which a text can begin.
    fn half_of(&self, text: &[u8]) -> &DoubleArray {
        if is_below(text, self.first_byte) {
            &self.lower
        } else {
            &self.upper
        }
    }

    /// The number of a seed.
    pub(super) fn find(&self, text: &[u8]) -> Option<u32> {
        let mut found = None;
        self.walk(text, |length, seed| {
            if length == text.len() {
                found = Some(seed);
            }
        });
        found
    }
}

/// A first byte that divides the keys into halves that are as equal as possible.
fn middle_byte(keys: &[(&[u8], u32)]) -> u8 {
    let middle = keys.len() / 2;
    let byte = keys.get(middle).map_or(0, |(text, _)| text[0]);
    let start = keys.partition_point(|(text, _)| is_below(text, byte));
    let end = keys.partition_point(|(text, _)| text[0] <= byte);
    if middle - start <= end - middle {
        byte
    } else {
        byte.saturating_add(1)
    }
}

fn is_below(text: &[u8], first_byte: u8) -> bool {
    text.first().is_some_and(|first| *first < first_byte)
}

/// A value of the trie as the number of a seed, which is of 32 bits.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the trie was made of 32-bit values"
)]
fn seed_number(value: usize) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_halves_are_searched() {
        let texts = ["a", "ab", "b", "ba", "\u{2581}a"];
        for count in 0..=texts.len() {
            let keys: Vec<(&[u8], u32)> = texts[..count]
                .iter()
                .map(|text| text.as_bytes())
                .zip(0..)
                .collect();
            let trie = SeedTrie::build(&keys).unwrap();
            for rest in ["abc", "ba", "\u{2581}ab", "x", "", "\u{10ffff}"] {
                let mut found = Vec::new();
                trie.walk(rest.as_bytes(), |_, seed| found.push(seed));
                let expected: Vec<u32> = keys
                    .iter()
                    .filter(|(text, _)| rest.as_bytes().starts_with(text))
                    .map(|(_, seed)| *seed)
                    .collect();
                assert_eq!(found, expected, "{count} keys, {rest}");
                let same = keys.iter().find(|(text, _)| *text == rest.as_bytes());
                assert_eq!(trie.find(rest.as_bytes()), same.map(|(_, seed)| *seed));
            }
        }
    }

    #[test]
    fn a_walk_ends_where_no_seed_continues() {
        let trie = SeedTrie::build(&[(b"abcd", 0), (b"b", 1)]).unwrap();
        for (rest, length) in [("abx", 2), ("abcde", 4), ("ab", 2), ("x", 0), ("bb", 1)] {
            assert_eq!(trie.walk(rest.as_bytes(), |_, _| ()), length, "{rest}");
        }
    }

    #[test]
    fn the_keys_of_the_module_example_are_divided() {
        let texts = ["a", "ab", "b", "ba", "\u{2581}a"];
        let keys: Vec<(&[u8], u32)> = texts.iter().map(|text| text.as_bytes()).zip(0..).collect();
        assert_eq!(middle_byte(&keys), b'b');
    }
}
