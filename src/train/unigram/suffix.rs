//! A suffix of an entry.
//!
//! The suffix `b` of the entry `ab` is the entry and the offset 1.

use crate::base::num::low_usize;

/// A suffix of an entry.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Suffix {
    /// While sorting: eight bytes of the suffix as a big-endian number, initially the first ones,
    /// with zeros after the end. After sorting: the number of bytes that the suffix has in common
    /// with the one before it, 0 for the first.
    pub(super) key: u64,
    pub(super) entry: u32,
    /// Where it starts in the bytes of the entry.
    pub(super) offset: u32,
}

impl Suffix {
    /// The number of compared bytes in common with the previous suffix in sorted order.
    #[inline]
    pub(super) fn common_prefix(self) -> usize {
        low_usize(self.key)
    }

    /// The suffix with another key.
    pub(super) fn with_key(self, key: u64) -> Self {
        Self { key, ..self }
    }
}
