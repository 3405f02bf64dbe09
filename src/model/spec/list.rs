//! A list of byte strings in one allocation.

use std::fmt;

use crate::model::wire::{Reader, write_varint};

/// The values of a repeated field: byte strings, in the order of the file.
///
/// Each value is stored as its length (a varint) and its bytes, one after another, so that a list
/// never takes more memory than its part of the file. Reading the list costs time linear in its
/// bytes; there is no access by index.
///
/// ```
/// use spiece::model::BytesList;
///
/// let symbols: BytesList = ["<sep>", "<cls>"].into_iter().collect();
/// assert_eq!(symbols.len(), 2);
/// assert!(symbols.iter().any(|symbol| symbol == b"<cls>"));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct BytesList {
    encoded: Vec<u8>,
    len: usize,
}

impl BytesList {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends a value.
    pub fn push(&mut self, value: &[u8]) {
        write_varint(value.len() as u64, &mut self.encoded);
        self.encoded.extend_from_slice(value);
        self.len += 1;
    }

    /// The values, in order.
    pub fn iter(&self) -> BytesListIter<'_> {
        BytesListIter {
            reader: Reader::new(&self.encoded),
        }
    }
}

/// The values of a [`BytesList`].
#[derive(Debug, Clone)]
pub struct BytesListIter<'l> {
    reader: Reader<'l>,
}

impl<'l> Iterator for BytesListIter<'l> {
    type Item = &'l [u8];

    fn next(&mut self) -> Option<&'l [u8]> {
        // Both steps succeed until the end, because `push` wrote what is read.
        let length = self.reader.varint().ok()?;
        self.reader.take(usize::try_from(length).ok()?).ok()
    }
}

impl<'l> IntoIterator for &'l BytesList {
    type Item = &'l [u8];
    type IntoIter = BytesListIter<'l>;

    fn into_iter(self) -> BytesListIter<'l> {
        self.iter()
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for BytesList {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let mut list = Self::new();
        list.extend(values);
        list
    }
}

impl<T: AsRef<[u8]>> Extend<T> for BytesList {
    fn extend<I: IntoIterator<Item = T>>(&mut self, values: I) {
        for value in values {
            self.push(value.as_ref());
        }
    }
}

impl fmt::Debug for BytesList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let values = self.iter().map(|value| value.escape_ascii().to_string());
        f.debug_list().entries(values).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::BytesList;

    #[test]
    fn values_are_returned_in_order() {
        let values = [&b"a"[..], b"", &[b'x'; 300], b"\xff"];
        let list: BytesList = values.into_iter().collect();
        assert_eq!(list.iter().collect::<Vec<_>>(), values);
        assert_eq!(list.len(), 4);
        assert!(BytesList::new().iter().next().is_none());
    }
}
