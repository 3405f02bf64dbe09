//! The distinct texts of the corpus, each with what follows it.
//!
//! The texts are those that no piece crosses: words, or sentences. Candidates are searched among
//! their suffixes.
//!
//! Example: the entry of the word `▁ab` at the end of a sentence, followed by a sentence that
//! begins with `▁`, is the bytes `E2 96 81 61 62 | 00 E2`, where the bar is the end of the text. It
//! has the suffixes `▁ab`, `ab` and `b`, each with the bytes `00 E2` after it. At the end of a
//! chunk only the NUL follows; the end of the bytes sorts before every byte.

use std::ops::Range;

use super::suffix::Suffix;
use crate::base::num::low_u32;
use crate::base::utf8::is_char_start;

/// A text of the corpus.
#[derive(Debug, Clone, Copy)]
struct SeedEntry {
    /// Where the bytes start.
    start: usize,
    /// The length of the text in bytes.
    text: u32,
    /// The number of bytes that follow the text.
    following: u8,
    count: u64,
}

/// Texts with what follows them.
#[derive(Debug, Default)]
pub(super) struct Entries {
    bytes: Vec<u8>,
    entries: Vec<SeedEntry>,
    /// The size of the part of the corpus that the entries stand for.
    chunk_bytes: u64,
}

impl Entries {
    /// An empty list for a part of the corpus of this many bytes, including repetitions and a NUL
    /// for each sentence.
    pub(super) fn of_chunk(chunk_bytes: u64) -> Self {
        Self {
            chunk_bytes,
            ..Self::default()
        }
    }

    /// The size that was passed to [`Entries::of_chunk`].
    pub(super) fn chunk_bytes(&self) -> u64 {
        self.chunk_bytes
    }

    /// Adds a text of less than 4 GiB and the bytes that follow it. Returns false if there are 2^32
    /// entries.
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
        self.are_numbered()
    }

    /// Whether the number of entries fits into 32 bits.
    fn are_numbered(&self) -> bool {
        u32::try_from(self.entries.len()).is_ok()
    }

    /// Appends other entries. Returns false if there are then 2^32 entries or more.
    #[must_use]
    pub(super) fn append(&mut self, other: &Self) -> bool {
        let bytes = self.bytes.len();
        self.bytes.extend_from_slice(&other.bytes);
        let moved = other.entries.iter().map(|entry| SeedEntry {
            start: entry.start + bytes,
            ..*entry
        });
        self.entries.extend(moved);
        self.are_numbered()
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Calls `visit` for each suffix of a range of entries that begins at a character, with the
    /// number of the entry, the offset, and the bytes of the suffix including those that follow the
    /// entry.
    #[inline]
    pub(super) fn for_each_suffix(
        &self,
        range: Range<usize>,
        mut visit: impl FnMut(u32, u32, &[u8]),
    ) {
        // There are fewer than 2^32 entries.
        for (number, entry) in (low_u32(range.start as u64)..).zip(&self.entries[range]) {
            let bytes = self.entry_bytes(entry);
            for offset in 0..entry.text {
                let suffix = &bytes[offset as usize..];
                if is_char_start(suffix[0]) {
                    visit(number, offset, suffix);
                }
            }
        }
    }

    /// The bytes of all entries.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, the length of the text and the count of each entry, sorted.
    #[cfg(test)]
    pub(super) fn listed(&self) -> Vec<(Vec<u8>, usize, u64)> {
        let entries = self.entries.iter();
        let listed = entries.map(|entry| {
            (
                self.entry_bytes(entry).to_vec(),
                entry.text as usize,
                entry.count,
            )
        });
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

    /// The length of the suffix in bytes, without those that follow the entry.
    pub(super) fn text_length(&self, suffix: Suffix) -> usize {
        (self.entry(suffix).text - suffix.offset) as usize
    }

    /// The bytes of a suffix, with those that follow the entry.
    #[inline]
    pub(super) fn suffix_bytes(&self, suffix: Suffix) -> &[u8] {
        &self.entry_bytes(self.entry(suffix))[suffix.offset as usize..]
    }

    /// The bytes of an entry, with those that follow.
    #[inline]
    fn entry_bytes(&self, entry: &SeedEntry) -> &[u8] {
        let end = entry.start + entry.text as usize + usize::from(entry.following);
        &self.bytes[entry.start..end]
    }
}
