//! The sorted suffixes of the entries of the corpus.
//!
//! The suffixes begin at characters. They are divided into groups of parts, which are sorted one by
//! one.
//!
//! The suffixes of a part begin with the same two bytes. Candidates have two bytes or more, so that
//! the suffixes of a candidate are in one part. A group contains the parts of consecutive pairs of
//! bytes, and its suffixes are in memory together; groups have about equal sizes. The number of
//! suffixes of each pair is counted first, so that each suffix is written directly to its part.
//!
//! Example: the suffixes of the words `▁ab`, `b▁` and `ac` are `▁ab`, `ab`, `b`; `b▁`, `▁`; `ac`,
//! `c`. The parts of their group are `ab`; `ac`; `b`; `b▁`; `c`; and `▁ab`, `▁`, which become `▁`,
//! `▁ab`.
//!
//! Suffixes are compared up to the length of the longest piece.

use std::cmp::Reverse;
use std::ops::Range;

use super::entries::Entries;
use super::suffix::Suffix;
use crate::base::utf8::common_length;
use crate::train::parallel::map_tasks;
use crate::train::parallel::share_of_thread;

/// The least value of the maximum size of a group, in suffixes. Lower in tests, so that these have
/// several groups.
const MIN_GROUP_SUFFIXES: usize = if cfg!(test) { 16 } else { 1 << 18 };
/// The approximate number of groups of a large corpus. All entries are read for each group.
const GROUPS: usize = 24;
/// The number of pairs of bytes.
const PAIRS: usize = 1 << 16;

/// The first two bytes as a number; a missing one is 0.
fn pair(bytes: &[u8]) -> usize {
    let byte = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
    byte(0) << 8 | byte(1)
}

/// The number of bytes in a key.
const KEY_BYTES: usize = 8;

/// The first [`KEY_BYTES`] bytes as a number.
fn key(bytes: &[u8]) -> u64 {
    let first = bytes.first_chunk().copied();
    u64::from_be_bytes(first.unwrap_or_else(|| padded(bytes)))
}

/// Fewer than [`KEY_BYTES`] bytes, followed by zeros.
fn padded(bytes: &[u8]) -> [u8; KEY_BYTES] {
    let mut padded = [0; KEY_BYTES];
    padded[..bytes.len()].copy_from_slice(bytes);
    padded
}

/// The number of bytes in which suffixes are compared if candidates have at most `max_length`
/// characters: a character has at most four bytes; a NUL and another byte may follow. The rest of a
/// suffix may be as long as the corpus.
pub(super) fn compared_bytes(max_length: usize) -> usize {
    4 * max_length + 2
}

/// The division of all suffixes into groups by their first two bytes.
pub(super) struct SuffixGroups<'e> {
    entries: &'e Entries,
    /// By pair of bytes: the number of suffixes that begin with it.
    sizes: Vec<usize>,
    /// The pairs of bytes of each group.
    pairs: Vec<Range<usize>>,
}

impl<'e> SuffixGroups<'e> {
    /// Counts the suffixes on the threads of the current pool.
    pub(super) fn new(entries: &'e Entries) -> Self {
        let sizes = count_pairs(entries);
        let all: usize = sizes.iter().sum();
        let max_size = MIN_GROUP_SUFFIXES.max(all / GROUPS);
        let mut pairs = Vec::new();
        let mut start = 0;
        let mut size = 0;
        for (pair, count) in sizes.iter().enumerate() {
            if size > 0 && size + count > max_size {
                pairs.push(start..pair);
                start = pair;
                size = 0;
            }
            size += count;
        }
        pairs.push(start..PAIRS);
        SuffixGroups {
            entries,
            sizes,
            pairs,
        }
    }

    /// The numbers of the groups, the largest group first, so that no thread starts a large one
    /// when the others have nothing left to do. Groups can differ much in size, because all words
    /// begin with the same two bytes.
    pub(super) fn largest_first(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = (0..self.pairs.len()).collect();
        groups.sort_unstable_by_key(|group| Reverse(self.group_size(*group)));
        groups
    }

    /// The number of suffixes of a group.
    fn group_size(&self, group: usize) -> usize {
        self.sizes[self.pairs[group].clone()].iter().sum()
    }

    /// The suffixes of a group.
    pub(super) fn group(&self, group: usize) -> SuffixGroup {
        let pairs = self.pairs[group].clone();
        let mut part_ends = Vec::new();
        // The next free place of each part.
        let mut free = Vec::with_capacity(pairs.len());
        let mut size = 0;
        for part in &self.sizes[pairs.clone()] {
            free.push(size);
            size += part;
            if *part > 0 {
                part_ends.push(size);
            }
        }
        let mut suffixes = vec![Suffix::default(); size];
        self.entries
            .for_each_suffix(0..self.entries.len(), |entry, offset, bytes| {
                if let Some(free) = free.get_mut(pair(bytes).wrapping_sub(pairs.start)) {
                    suffixes[*free] = Suffix {
                        key: key(bytes),
                        entry,
                        offset,
                    };
                    *free += 1;
                }
            });
        SuffixGroup {
            suffixes,
            part_ends,
        }
    }
}

/// The suffixes of all entries, as one part.
pub(super) fn all_suffixes(entries: &Entries) -> Vec<Suffix> {
    let mut suffixes = Vec::new();
    entries.for_each_suffix(0..entries.len(), |entry, offset, bytes| {
        suffixes.push(Suffix {
            key: key(bytes),
            entry,
            offset,
        });
    });
    suffixes
}

/// How many suffixes begin with each pair of bytes.
fn count_pairs(entries: &Entries) -> Vec<usize> {
    let share = share_of_thread(entries.len());
    let count = |number: usize| {
        let mut counts = vec![0usize; PAIRS];
        let start = number * share;
        let end = entries.len().min(start + share);
        entries.for_each_suffix(start..end, |_, _, bytes| counts[pair(bytes)] += 1);
        counts
    };
    let shares = map_tasks(entries.len().div_ceil(share), count);
    let mut sums = vec![0; PAIRS];
    for (pair, sum) in sums.iter_mut().enumerate() {
        *sum = shares.iter().map(|counts| counts[pair]).sum();
    }
    sums
}

/// Suffixes in parts of equal first bytes, which follow each other in the order of these bytes. The
/// parts are not sorted yet.
pub(super) struct SuffixGroup {
    suffixes: Vec<Suffix>,
    part_ends: Vec<usize>,
}

impl SuffixGroup {
    /// The parts, in lists of about `list_size` suffixes. No part is empty.
    pub(super) fn parts(&mut self, list_size: usize) -> Vec<Vec<&mut [Suffix]>> {
        let mut lists = Vec::new();
        let mut list = Vec::new();
        let mut size = 0;
        for part in split_at_ends(&mut self.suffixes, &self.part_ends) {
            size += part.len();
            list.push(part);
            if size >= list_size {
                lists.push(std::mem::take(&mut list));
                size = 0;
            }
        }
        lists.push(list);
        lists
    }
}

/// The parts of a slice that end at `ends`, which ascend.
fn split_at_ends<'s, T>(slice: &'s mut [T], ends: &[usize]) -> impl Iterator<Item = &'s mut [T]> {
    let mut rest = slice;
    let mut start = 0;
    ends.iter().map(move |end| {
        let (part, after) = std::mem::take(&mut rest).split_at_mut(end - start);
        rest = after;
        start = *end;
        part
    })
}

/// Sorts a part by its bytes, up to [`compared_bytes`], and replaces the keys by the lengths of the
/// common prefixes with the suffixes before.
pub(super) fn sort_part(entries: &Entries, part: &mut [Suffix], max_length: usize) {
    SuffixSort {
        entries,
        limit: compared_bytes(max_length),
    }
    .sort_by_keys(part, 0);
}

/// Sorts suffixes by their first `limit` bytes or more, and finds the common prefixes of
/// neighbours.
struct SuffixSort<'e> {
    entries: &'e Entries,
    limit: usize,
}

impl SuffixSort<'_> {
    /// Sorts suffixes that have their first `depth` bytes in common, and whose keys are the next
    /// eight. Then replaces the keys by the lengths of the common prefixes with the suffixes
    /// before, 0 for the first.
    ///
    /// A sort by the keys leaves runs of equal keys, which get the eight bytes after them as keys
    /// and are sorted in turn (multikey sort: J. Bentley and R. Sedgewick, "Fast Algorithms for
    /// Sorting and Searching Strings", SODA 1997). So the bytes of a suffix, which are scattered in
    /// memory, are loaded once for eight bytes and not for each comparison. For the same reason the
    /// common prefixes are computed from the keys. A walk over the sorted suffixes that compared
    /// their bytes spent a twentieth of the training time waiting for memory.
    fn sort_by_keys(&self, suffixes: &mut [Suffix], depth: usize) {
        suffixes.sort_unstable_by_key(|suffix| suffix.key);
        let mut before: Option<Suffix> = None;
        for run in suffixes.chunk_by_mut(|a, b| a.key == b.key) {
            let first = run[0];
            let last = run[run.len() - 1];
            if run.len() > 1 {
                self.sort_run(run, depth + KEY_BYTES);
            }
            // The run may have another first suffix now, which has the same bytes at this depth.
            run[0].key = before.map_or(0, |before| {
                self.common_bytes(before, run[0].with_key(first.key), depth)
            });
            before = Some(run[run.len() - 1].with_key(last.key));
        }
    }

    /// Sorts suffixes that have their first `depth` bytes in common or end at or before `depth`,
    /// and replaces all keys but the first.
    fn sort_run(&self, run: &mut [Suffix], depth: usize) {
        let ended = self.load_keys(run, depth);
        let (ended, others) = run.split_at_mut(ended);
        if depth < self.limit {
            self.sort_by_keys(others, depth);
        } else {
            others
                .iter_mut()
                .for_each(|suffix| suffix.key = self.limit as u64);
        }
        // A suffix that ends here is a prefix of the next one. Its key is its length.
        let mut length = None;
        for suffix in ended.iter_mut().chain(others.first_mut()) {
            let own = suffix.key;
            if let Some(length) = length {
                suffix.key = u64::min(length, self.limit as u64);
            }
            length = Some(own);
        }
    }

    /// Loads the keys at `depth` of suffixes with equal keys before it. Suffixes that end at or
    /// before `depth` are prefixes of the others. They are moved to the front, sorted by length,
    /// which is their key. Returns their number.
    fn load_keys(&self, run: &mut [Suffix], depth: usize) -> usize {
        let mut ended = 0;
        for at in 0..run.len() {
            let bytes = self.entries.suffix_bytes(run[at]);
            if bytes.len() > depth {
                run[at].key = key(&bytes[depth..]);
            } else {
                run[at].key = bytes.len() as u64;
                run.swap(at, ended);
                ended += 1;
            }
        }
        run[..ended].sort_unstable_by_key(|suffix| suffix.key);
        ended
    }

    /// The length of the common prefix of two suffixes with different keys at `depth`, of the bytes
    /// that are compared.
    fn common_bytes(&self, a: Suffix, b: Suffix, depth: usize) -> u64 {
        let equal = (a.key ^ b.key).leading_zeros() / u8::BITS;
        let last = equal
            .checked_sub(1)
            .map(|last| a.key.to_be_bytes()[last as usize]);
        let common = if last == Some(0) {
            // A NUL, or zeros after the end of a suffix.
            common_length(self.entries.suffix_bytes(a), self.entries.suffix_bytes(b))
        } else {
            depth + equal as usize
        };
        common.min(self.limit) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn suffixes_are_sorted_by_their_bytes(
            texts in proptest::collection::vec("[ab\0é]{1,40}", 1..30),
            max_length in 1usize..20,
        ) {
            let mut entries = Entries::default();
            for (text, number) in texts.iter().zip(0u8..) {
                let following: &[u8] = [b"\0".as_slice(), b"\0b", b"a"][usize::from(number % 3)];
                prop_assert!(entries.push(text.as_bytes(), following, 1));
            }
            let groups = SuffixGroups::new(&entries);
            let limit = compared_bytes(max_length);
            let mut parts: Vec<Vec<Suffix>> = Vec::new();
            for number in 0..groups.pairs.len() {
                let mut group = groups.group(number);
                for part in group.parts(3).into_iter().flatten() {
                    sort_part(&entries, part, max_length);
                    parts.push(part.to_vec());
                }
            }
            for sorted in &parts {
                let first = pair(entries.suffix_bytes(sorted[0]));
                prop_assert!(sorted.iter().all(|suffix| pair(entries.suffix_bytes(*suffix)) == first));
                prop_assert_eq!(sorted[0].common_prefix(), 0);
            }
            for pair in parts.iter().flat_map(|sorted| sorted.windows(2)) {
                let a = entries.suffix_bytes(pair[0]).iter();
                let equal = a.zip(entries.suffix_bytes(pair[1])).take_while(|(a, b)| a == b);
                prop_assert_eq!(pair[1].common_prefix(), equal.take(limit).count());
            }
            let cut = |suffix: &Suffix| {
                let bytes = entries.suffix_bytes(*suffix);
                bytes[..bytes.len().min(limit)].to_vec()
            };
            let found: Vec<Vec<u8>> = parts.iter().flatten().map(cut).collect();
            prop_assert!(found.is_sorted(), "{found:?}");
            let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
            prop_assert_eq!(found.len(), characters);
        }
    }
}
