//! Short texts of pieces, copied 16 bytes at a time.
//!
//! [`ShortTexts`] has the pieces that become the same text after any other text, and appends the
//! texts of a run of them. Each piece has 16 bytes: at most 15 bytes of text, and the length. All
//! 16 are copied, and the next text overwrites the bytes after the text. So the length of every
//! copy is known at compile time, and each piece needs one cache line instead of three.
//!
//! Example: ` the` is ` the`, eleven zeros, and 4. After `Hello` at position 0, its bytes go to
//! positions 5 to 20, and the next text goes to position 9.
//!
//! A piece takes a load, a store and a bounds check; the table takes 16 bytes for each piece of the
//! model.

use crate::piece::PieceId;

/// The size of an entry.
const ENTRY_BYTES: usize = 16;
/// The longest text of an entry.
const MAX_TEXT_BYTES: u8 = 15;
/// Stands for the length of pieces that are not in the table.
const NO_TEXT: u8 = u8::MAX;
/// The number of pieces for which room is made at a time. The room is first filled with zeros, so a
/// larger number would slow down short runs.
const MAX_RUN: usize = 64;

/// The short texts of pieces; see the [module](self).
#[derive(Debug)]
pub(super) struct ShortTexts(Vec<[u8; ENTRY_BYTES]>);

impl ShortTexts {
    /// The table of these texts, by the numbers of pieces; `None` for pieces that need more than a
    /// copy.
    pub(super) fn new<'t>(texts: impl Iterator<Item = Option<&'t [u8]>>) -> Self {
        Self(texts.map(entry).collect())
    }

    /// Appends the texts of the first ids and returns the number of these ids: up to the first that
    /// is not in the table, and at most [`MAX_RUN`]. All ids are in the model.
    #[inline]
    pub(super) fn push_run<I: Copy + Into<PieceId>>(&self, ids: &[I], out: &mut Vec<u8>) -> usize {
        let has_text = |id: &I| self.0[(*id).into().index()][ENTRY_BYTES - 1] != NO_TEXT;
        if !ids.first().is_some_and(has_text) {
            return 0;
        }
        let ids = &ids[..ids.len().min(MAX_RUN)];
        let mut end = out.len();
        out.resize(end + ids.len() * ENTRY_BYTES, 0);
        let mut count = 0;
        for id in ids {
            let entry = &self.0[(*id).into().index()];
            let length = entry[ENTRY_BYTES - 1];
            let Some(room) = out[end..].first_chunk_mut().filter(|_| length != NO_TEXT) else {
                break;
            };
            *room = *entry;
            end += usize::from(length);
            count += 1;
        }
        out.truncate(end);
        count
    }
}

/// The entry of a text.
fn entry(text: Option<&[u8]>) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[ENTRY_BYTES - 1] = NO_TEXT;
    if let Some(text) = text
        && let Ok(length @ ..=MAX_TEXT_BYTES) = u8::try_from(text.len())
    {
        entry[..text.len()].copy_from_slice(text);
        entry[ENTRY_BYTES - 1] = length;
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_at_texts_that_are_missing_or_long() {
        let texts = ["a", " the", "", "exactly15 bytes", "sixteen bytes  !"];
        let texts = texts.iter().map(|text| Some(text.as_bytes()));
        let table = ShortTexts::new(texts.chain([None]));
        let cases: [(&[usize], &str, usize); 6] = [
            (&[], "", 0),
            (&[1, 2, 0], " thea", 3),
            (&[3, 3], "exactly15 bytesexactly15 bytes", 2),
            (&[0, 4, 0], "a", 1),
            (&[1, 5], " the", 1),
            (&[5], "", 0),
        ];
        for (indexes, text, count) in cases {
            let ids: Vec<PieceId> = indexes
                .iter()
                .map(|index| PieceId::from_index(*index))
                .collect();
            let mut out = b"before".to_vec();
            assert_eq!(table.push_run(&ids, &mut out), count, "{indexes:?}");
            assert_eq!(out, [b"before", text.as_bytes()].concat(), "{indexes:?}");
        }
    }

    #[test]
    fn runs_have_at_most_the_pieces_for_which_there_is_room() {
        let table = ShortTexts::new([Some(&b"exactly15 bytes"[..])].into_iter());
        let ids = [PieceId::from_index(0); MAX_RUN + 1];
        let mut out = Vec::new();
        assert_eq!(table.push_run(&ids, &mut out), MAX_RUN);
        assert_eq!(out.len(), MAX_RUN * usize::from(MAX_TEXT_BYTES));
    }
}
