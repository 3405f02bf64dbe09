//! The chunk that a scan has begun.
//!
//! Example: in the raw text `the cat` with a dummy prefix, the chunk that begins with the prefix
//! has the class of the whitespace mark, and its first character ends at byte 0, because the prefix
//! has no bytes in the text. The chunk ` cat` begins at byte 3, and its first character ends at
//! byte 4.

/// A chunk whose end has not been found yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingChunk {
    pub(super) start: usize,
    /// The end of its first character.
    pub(super) first_end: usize,
    /// The class of its first character; 0 if it has none yet.
    pub(super) first_class: u32,
    /// Whether it begins with the dummy prefix, which is then its first character and has no bytes
    /// in the text.
    pub(super) has_prefix: bool,
}

impl PendingChunk {
    /// A chunk that begins with this character.
    #[inline(always)]
    pub(super) fn new(start: usize, width: usize, class: u32) -> Self {
        Self {
            start,
            first_end: start + width,
            first_class: class,
            has_prefix: false,
        }
    }

    /// Whether it consists of the dummy prefix alone, and could go on at `at`.
    #[inline(always)]
    pub(super) fn is_bare_prefix(&self, at: usize) -> bool {
        self.has_prefix && self.first_end == at
    }

    /// A chunk without characters.
    #[inline(always)]
    pub(super) fn empty(start: usize) -> Self {
        Self::new(start, 0, 0)
    }
}
