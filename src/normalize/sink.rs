//! Destinations of normalized text: bytes only, or bytes with offsets. The normalizer is compiled
//! once for each, so normalization without offsets does not pay for offsets.

use crate::base::is_char_start;

/// Receives normalized text in parts.
pub(super) trait Sink {
    /// Appends bytes that all come from one position of the input.
    fn push(&mut self, bytes: &[u8], origin: usize);

    /// Appends well-formed characters copied from `origin` on.
    fn copy(&mut self, text: &[u8], origin: usize);

    /// The text so far.
    fn text(&self) -> &[u8];

    /// Keeps the first `length` bytes. Returns the origin of the first byte that is dropped, if
    /// origins are kept.
    fn truncate(&mut self, length: usize) -> Option<usize>;

    /// Ends the text; `end` is the length of the input that was consumed.
    fn finish(&mut self, end: usize);
}

/// Text only.
pub(super) struct Text<'a>(pub(super) &'a mut Vec<u8>);

impl Sink for Text<'_> {
    #[inline]
    fn push(&mut self, bytes: &[u8], _origin: usize) {
        self.0.extend_from_slice(bytes);
    }

    #[inline]
    fn copy(&mut self, text: &[u8], _origin: usize) {
        self.0.extend_from_slice(text);
    }

    fn text(&self) -> &[u8] {
        self.0
    }

    fn truncate(&mut self, length: usize) -> Option<usize> {
        self.0.truncate(length);
        None
    }

    fn finish(&mut self, _end: usize) {}
}

/// Text and, for each byte, its origin: the position in the input of the first byte of the
/// character or sequence that it was made from.
pub(super) struct TracedText<'a> {
    pub(super) text: &'a mut Vec<u8>,
    pub(super) offsets: &'a mut Vec<usize>,
}

impl Sink for TracedText<'_> {
    fn push(&mut self, bytes: &[u8], origin: usize) {
        self.text.extend_from_slice(bytes);
        self.offsets.resize(self.text.len(), origin);
    }

    fn copy(&mut self, text: &[u8], origin: usize) {
        self.text.extend_from_slice(text);
        let mut start = origin;
        self.offsets
            .extend(text.iter().zip(origin..).map(|(&byte, place)| {
                if is_char_start(byte) {
                    start = place;
                }
                start
            }));
    }

    fn text(&self) -> &[u8] {
        self.text
    }

    fn truncate(&mut self, length: usize) -> Option<usize> {
        let origin = self.offsets.get(length).copied();
        self.text.truncate(length);
        self.offsets.truncate(length);
        origin
    }

    fn finish(&mut self, end: usize) {
        self.offsets.push(end);
    }
}
