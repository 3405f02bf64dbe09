//! The distinct texts of the corpus, each with what follows it, and their sorted suffixes.
//!
//! Input: texts that no piece crosses (words, or sentences), the one or two bytes that follow them in the corpus, and
//! counts. Output: groups of sorted suffixes for the search of candidates.
//!
//! Example: the entry of the word `▁ab` at the end of a sentence, followed by a sentence that begins with `▁`, is the
//! bytes `E2 96 81 61 62 | 00 E2`, where the bar is the end of the text. It has the suffixes `▁ab`, `ab` and `b`, each
//! with the bytes `00 E2` after it. The end of the corpus is the end of the bytes, which sorts before every byte.
//!
//! All suffixes of a group begin with the same two bytes or with neighbouring pairs of bytes, and groups have about
//! equal sizes. Since candidates have two bytes or more, the suffixes of a candidate are in one group.

use std::cmp::Reverse;

use crate::text::num::{low_u32, low_usize};

/// At least so many suffixes are sorted together, if there are so many. Fewer in tests, so that these have several groups.
const MIN_GROUP_SUFFIXES: usize = if cfg!(test) { 16 } else { 1 << 18 };
/// About so many groups are made of many suffixes. All entries are read for each group.
const GROUPS: usize = 24;
/// The number of pairs of bytes.
const PAIRS: usize = 1 << 16;

/// A text of the corpus.
#[derive(Debug, Clone, Copy)]
struct SeedEntry {
    /// Where the bytes start.
    start: usize,
    /// Bytes of the text.
    text: u32,
    /// Bytes that follow.
    following: u8,
    count: u64,
}

/// Texts with what follows them.
#[derive(Debug, Default)]
pub(super) struct Entries {
    bytes: Vec<u8>,
    entries: Vec<SeedEntry>,
    /// The bytes of the corpus that the entries stand for.
    chunk_bytes: u64,
}

/// A suffix of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Suffix {
    /// For sorting: eight bytes, at first the first ones, big-endian, with zeros after the end. After sorting: the number of
    /// bytes that the suffix has in common with the one before it, 0 for the first.
    key: u64,
    entry: u32,
    /// Where it starts in the bytes of the entry.
    offset: u32,
}

impl Suffix {
    /// The number of bytes in common with the suffix before in sorted order, of those that are compared.
    #[inline]
    pub(super) fn common_prefix(self) -> usize {
        low_usize(self.key)
    }
}

impl Entries {
    /// No entries yet, of this many bytes of the corpus, repetitions and a NUL for each sentence included.
    pub(super) fn of_chunk(chunk_bytes: u64) -> Entries {
        Entries {
            chunk_bytes,
            ..Entries::default()
        }
    }

    /// The size of the part of the corpus, as [`Entries::of_chunk`] got it.
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// Adds a text of less than 4 GiB and the bytes that follow it. False if there are 2^32 entries.
    #[must_use]
    pub(super) fn push(&mut self, text: &[u8], following: &[u8], count: u64) -> bool {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(following);
        self.entries.push(SeedEntry {
            start,
            text: low_u32(text.len() as u64),
            following: if following.len() > 1 {
                2
            } else {
                u8::from(!following.is_empty())
            },
            count,
        });
        u32::try_from(self.entries.len()).is_ok()
    }

    /// The bytes of all entries.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, the length of the text and the count of each entry, sorted.
    #[cfg(test)]
    pub(super) fn listed(&self) -> Vec<(Vec<u8>, usize, u64)> {
        let entries = self.entries.iter();
        let listed =
            entries.map(|entry| (entry.bytes(self).to_vec(), entry.text as usize, entry.count));
        let mut listed: Vec<_> = listed.collect();
        listed.sort_unstable();
        listed
    }

    fn entry(&self, suffix: Suffix) -> &SeedEntry {
        &self.entries[suffix.entry as usize]
    }

    /// How often the entry of a suffix occurs.
    pub(super) fn count(&self, suffix: Suffix) -> u64 {
        self.entry(suffix).count
    }

    /// Where a suffix starts in [`Entries::bytes`].
    pub(super) fn start(&self, suffix: Suffix) -> usize {
        self.entry(suffix).start + suffix.offset as usize
    }

    /// Bytes of the suffix, without those that follow the entry.
    pub(super) fn text_length(&self, suffix: Suffix) -> usize {
        (self.entry(suffix).text - suffix.offset) as usize
    }

    /// The bytes of a suffix, with those that follow the entry.
    #[inline]
    pub(super) fn suffix_bytes(&self, suffix: Suffix) -> &[u8] {
        let entry = self.entry(suffix);
        let end = entry.start + entry.text as usize + usize::from(entry.following);
        &self.bytes[entry.start + suffix.offset as usize..end]
    }
}

impl SeedEntry {
    fn bytes<'e>(&self, entries: &'e Entries) -> &'e [u8] {
        let end = self.start + self.text as usize + usize::from(self.following);
        &entries.bytes[self.start..end]
    }

    /// Offsets at which characters begin.
    fn offsets<'e>(&self, bytes: &'e [u8]) -> impl Iterator<Item = usize> + 'e {
        let text = self.text as usize;
        (0..text).filter(|offset| bytes[*offset] & 0xC0 != 0x80)
    }
}

/// The first two bytes as a number; a missing one is 0.
fn pair(bytes: &[u8]) -> usize {
    let byte = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
    byte(0) << 8 | byte(1)
}

/// Bytes of a key.
const KEY_BYTES: usize = 8;

/// The first [`KEY_BYTES`] bytes as a number.
fn key(bytes: &[u8]) -> u64 {
    if let Some(first) = bytes.first_chunk::<KEY_BYTES>() {
        return u64::from_be_bytes(*first);
    }
    let mut first = [0; KEY_BYTES];
    first[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(first)
}

/// The bytes in which suffixes are compared if candidates have at most `max_length` characters: a character has at most
/// four bytes; a NUL and another byte may follow. The rest of a suffix may be as long as the corpus.
pub(super) fn compared_bytes(max_length: usize) -> usize {
    4 * max_length + 2
}

/// Ranges of first bytes.
pub(super) struct SuffixGroups {
    /// The first pair of bytes of each group, and [`PAIRS`]; the numbers of suffixes.
    starts: Vec<usize>,
    sizes: Vec<usize>,
}

impl SuffixGroups {
    pub(super) fn new(entries: &Entries) -> SuffixGroups {
        let mut counts = vec![0usize; PAIRS];
        for entry in &entries.entries {
            let bytes = entry.bytes(entries);
            for offset in entry.offsets(bytes) {
                counts[pair(&bytes[offset..])] += 1;
            }
        }
        let mut groups = SuffixGroups {
            starts: vec![0],
            sizes: Vec::new(),
        };
        let all: usize = counts.iter().sum();
        let max_size = MIN_GROUP_SUFFIXES.max(all / GROUPS);
        let mut size = 0;
        for (pair, count) in counts.into_iter().enumerate() {
            if size > 0 && size + count > max_size {
                groups.starts.push(pair);
                groups.sizes.push(size);
                size = 0;
            }
            size += count;
        }
        groups.starts.push(PAIRS);
        groups.sizes.push(size);
        groups
    }

    /// The numbers of the groups, the largest group first, so that no thread begins a large one when the others have nothing
    /// left to do: all words begin with the same two bytes.
    pub(super) fn largest_first(&self) -> Vec<usize> {
        let mut groups: Vec<usize> = (0..self.sizes.len()).collect();
        groups.sort_by_key(|group| Reverse(self.sizes[*group]));
        groups
    }

    /// The suffixes of a group in order, with what each has in common with the one before. Suffixes are compared up to
    /// [`compared_bytes`].
    pub(super) fn sorted_suffixes(
        &self,
        entries: &Entries,
        group: usize,
        max_length: usize,
    ) -> Vec<Suffix> {
        let range = self.starts[group]..self.starts[group + 1];
        let mut suffixes = Vec::with_capacity(self.sizes[group]);
        for (number, entry) in (0..).zip(&entries.entries) {
            let bytes = entry.bytes(entries);
            for offset in entry.offsets(bytes) {
                let suffix = &bytes[offset..];
                if range.contains(&pair(suffix)) {
                    suffixes.push(Suffix {
                        key: key(suffix),
                        entry: number,
                        offset: low_u32(offset as u64),
                    });
                }
            }
        }
        let sort = SuffixSort {
            entries,
            limit: compared_bytes(max_length),
        };
        sort.sort_by_keys(&mut suffixes, 0);
        suffixes
    }
}

/// Sorts suffixes by their first `limit` bytes or more, and finds what neighbours have in common.
struct SuffixSort<'e> {
    entries: &'e Entries,
    limit: usize,
}

impl SuffixSort<'_> {
    /// Sorts suffixes that have their first `depth` bytes in common, and whose keys are the next eight. Then replaces the keys
    /// by the lengths of the common prefixes with the suffixes before, 0 for the first.
    ///
    /// A sort by the keys leaves runs of equal keys, which get the eight bytes after them as keys and are sorted in turn
    /// (multikey sort: J. Bentley and R. Sedgewick, "Fast Algorithms for Sorting and Searching Strings", SODA 1997). So the
    /// bytes of a suffix, which are anywhere in memory, are loaded once for eight bytes and not for each comparison. For the
    /// same reason the common prefixes are taken from the keys. A walk over the sorted suffixes that compared bytes waited for memory a
    /// twentieth of the time of training.
    fn sort_by_keys(&self, suffixes: &mut [Suffix], depth: usize) {
        suffixes.sort_unstable_by_key(|suffix| suffix.key);
        let mut before: Option<Suffix> = None;
        for run in suffixes.chunk_by_mut(|a, b| a.key == b.key) {
            let first = run[0];
            let last = run[run.len() - 1];
            if run.len() > 1 {
                self.sort_run(run, depth + KEY_BYTES);
            }
            // The first of the run may be another one now, with the same bytes at this depth.
            run[0].key = before.map_or(0, |before| {
                self.common_bytes(
                    before,
                    Suffix {
                        key: first.key,
                        ..run[0]
                    },
                    depth,
                )
            });
            before = Some(Suffix {
                key: last.key,
                ..run[run.len() - 1]
            });
        }
    }

    /// Sorts suffixes that have their first `depth` bytes in common, or end before it, and replaces all keys but the first.
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

    /// Loads the keys at `depth` of suffixes with equal keys before it. Those that end there are prefixes of the others: they
    /// come first, by length, which is their key, and their number is returned.
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

    /// The length of the common prefix of two suffixes with different keys at `depth`, of the bytes that are compared.
    fn common_bytes(&self, a: Suffix, b: Suffix, depth: usize) -> u64 {
        let equal = (a.key ^ b.key).leading_zeros() / u8::BITS;
        let last = equal
            .checked_sub(1)
            .map(|last| a.key.to_be_bytes()[last as usize]);
        let common = if last == Some(0) {
            // A NUL, or zeros after the end of a suffix.
            let a = self.entries.suffix_bytes(a);
            let b = self.entries.suffix_bytes(b);
            a.iter().zip(b).take_while(|(a, b)| a == b).count()
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
            let groups: Vec<Vec<Suffix>> = (0..groups.sizes.len())
                .map(|group| groups.sorted_suffixes(&entries, group, max_length))
                .collect();
            for pair in groups.iter().flat_map(|sorted| sorted.windows(2)) {
                let a = entries.suffix_bytes(pair[0]).iter();
                let equal = a.zip(entries.suffix_bytes(pair[1])).take_while(|(a, b)| a == b);
                prop_assert_eq!(pair[1].common_prefix(), equal.take(limit).count());
            }
            let cut = |suffix: &Suffix| {
                let bytes = entries.suffix_bytes(*suffix);
                bytes[..bytes.len().min(limit)].to_vec()
            };
            let found: Vec<Vec<u8>> = groups.iter().flatten().map(cut).collect();
            prop_assert!(found.is_sorted(), "{found:?}");
            let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
            prop_assert_eq!(found.len(), characters);
        }
    }
}
