//! Keys of the table that counts texts.
//!
//! A text of up to 15 bytes is its own key of 16 bytes; the key of a longer text is its position in
//! an arena, with some bits of its hash. See [`counts`](super) for an example.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use foldhash::fast::SeedableRandomState;

use crate::base::num::low_usize;
use crate::base::packed::{pack, unpack};
use crate::train::short_texts::ShortText;

/// The highest byte of a key whose text is in the arena. In the key of a short text, that byte is
/// the length of the text.
const IN_ARENA: u64 = 0xff << 56;
/// The bits of the hash that the key of a text in the arena contains, to distinguish most texts
/// without reading the arena.
const TAG: u64 = 0x00ff_ffff << 32;

/// A short text, packed, or the position of a long one: its start, and its length with a tag and
/// [`IN_ARENA`]. Zeros mark a free entry; they would stand for the empty text, which is never
/// counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct PackedText([u64; 2]);

impl PackedText {
    /// The key of a text with this hash, of `length` bytes, at `start` in the arena.
    #[inline]
    pub(super) fn in_arena(start: usize, length: usize, hash: u64) -> Option<Self> {
        let length = u32::try_from(length).ok()?;
        Some(Self([
            start as u64,
            u64::from(length) | hash & TAG | IN_ARENA,
        ]))
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.0 == [0, 0]
    }

    /// Whether this is the key of a text in the arena that may have this hash.
    #[inline]
    pub(super) fn may_have_hash(&self, hash: u64) -> bool {
        self.0[1] & (IN_ARENA | TAG) == IN_ARENA | hash & TAG
    }

    /// The text, in the arena or written to `buffer`.
    #[inline]
    pub(super) fn text<'t>(&self, arena: &'t [u8], buffer: &'t mut [[u8; 8]; 2]) -> &'t [u8] {
        if self.is_in_arena() {
            &arena[self.position()]
        } else {
            unpack(&self.0, buffer)
        }
    }

    #[inline]
    fn is_in_arena(&self) -> bool {
        self.0[1] & IN_ARENA == IN_ARENA
    }

    /// Where a text in the arena is.
    #[inline]
    fn position(&self) -> Range<usize> {
        // Both were `usize` when the key was made.
        let start = low_usize(self.0[0]);
        let length = low_usize(self.0[1] & !(IN_ARENA | TAG));
        start..start + length
    }

    #[inline]
    pub(super) fn hash(&self, hasher: &SeedableRandomState, arena: &[u8]) -> u64 {
        if self.is_in_arena() {
            hash_text(hasher, &arena[self.position()])
        } else {
            hash_key(hasher, *self)
        }
    }
}

/// A text to be added to a table, with its hash.
pub(crate) struct TextLookup<'t> {
    pub(super) text: &'t [u8],
    /// The key of a short text.
    pub(super) short: Option<PackedText>,
    pub(super) hash: u64,
}

impl<'t> TextLookup<'t> {
    #[inline]
    pub(crate) fn new(hasher: &SeedableRandomState, text: &'t [u8]) -> Self {
        let short = pack(text).map(PackedText);
        let hash = short.map_or_else(|| hash_text(hasher, text), |key| hash_key(hasher, key));
        TextLookup { text, short, hash }
    }

    /// The lookup of a short text.
    #[inline]
    pub(crate) fn of_short(hasher: &SeedableRandomState, text: ShortText) -> TextLookup<'static> {
        let key = PackedText(text.packed());
        Self::of_key(key, hash_key(hasher, key))
    }

    /// A short text with a known hash.
    #[inline]
    pub(super) fn of_key(key: PackedText, hash: u64) -> TextLookup<'static> {
        TextLookup {
            text: &[],
            short: Some(key),
            hash,
        }
    }

    /// A long text with a known hash.
    #[inline]
    pub(super) fn of_long_text(text: &'t [u8], hash: u64) -> Self {
        let short = None;
        TextLookup { text, short, hash }
    }

    /// Whether `key` is the key of this text.
    #[inline]
    pub(super) fn matches(&self, key: PackedText, arena: &[u8]) -> bool {
        match self.short {
            Some(short) => key == short,
            None => key.may_have_hash(self.hash) && key.text(arena, &mut [[0; 8]; 2]) == self.text,
        }
    }
}

#[inline]
fn hash_text(hasher: &SeedableRandomState, text: &[u8]) -> u64 {
    let mut state = hasher.build_hasher();
    state.write(text);
    state.finish()
}

#[inline]
fn hash_key(hasher: &SeedableRandomState, PackedText([low, high]): PackedText) -> u64 {
    let mut state = hasher.build_hasher();
    state.write_u64(low);
    state.write_u64(high);
    state.finish()
}
