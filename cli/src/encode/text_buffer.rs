//! The text of a block of output lines, in memory that is initialized once.
//!
//! Writers of tokens store words of a constant size, which is faster than a copy of variable
//! length, and then advance by the length of the text in the word. With a plain `Vec<u8>`, the
//! bytes after the text would have to be zeroed for each line; here they keep their former content.
//!
//! Example: the text `"301 "` is stored as the word `"301 ", 0, 0, 0, 0` and advances the end of
//! the text by 4; the next word overwrites the zeros.

/// Text that grows at its end.
#[derive(Debug, Default)]
pub(super) struct TextBuffer {
    /// The text, followed by bytes of any content.
    bytes: Vec<u8>,
    /// The length of the text; at most that of `bytes`.
    length: usize,
}

impl TextBuffer {
    /// Removes the text and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// The length of the text.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// The text.
    pub(super) fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The `size` bytes after the text, with any content. What is written there becomes text by
    /// [`advance`](Self::advance).
    #[inline]
    pub(super) fn spare(&mut self, size: usize) -> &mut [u8] {
        let end = self.length + size;
        if end > self.bytes.len() {
            self.grow(end);
        }
        &mut self.bytes[self.length..end]
    }

    /// Adds the first `length` bytes of the last [`spare`](Self::spare) bytes to the text.
    #[inline]
    pub(super) fn advance(&mut self, length: usize) {
        debug_assert!(length <= self.bytes.len() - self.length);
        self.length += length;
    }

    /// Appends text.
    pub(super) fn append(&mut self, text: &[u8]) {
        self.spare(text.len()).copy_from_slice(text);
        self.advance(text.len());
    }

    /// Replaces the space after the last token of a line by a line feed; `start` is where the line
    /// begins. A line without tokens is only a line feed.
    #[inline]
    pub(super) fn end_line(&mut self, start: usize) {
        match self.bytes[start..self.length].last_mut() {
            Some(space) => *space = b'\n',
            None => self.append(b"\n"),
        }
    }

    /// Makes room for at least `end` bytes, and initializes the whole capacity.
    #[cold]
    fn grow(&mut self, end: usize) {
        self.bytes.reserve(end - self.bytes.len());
        self.bytes.resize(self.bytes.capacity(), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spare_bytes_become_text_up_to_the_given_length() {
        let mut buffer = TextBuffer::default();
        buffer.spare(4).copy_from_slice(b"12  ");
        buffer.advance(3);
        buffer.append(b"3 ");
        buffer.end_line(0);
        let second_line = buffer.len();
        buffer.end_line(second_line);
        assert_eq!(buffer.text(), b"12 3\n\n");
        buffer.clear();
        assert_eq!(buffer.text(), b"");
    }
}
