//! Finds the special pieces that a caller allows in text.
//!
//! Input: a text and the texts of the control pieces that are allowed. Output: [`Segment`]s of the
//! text, which are either ordinary text or one of these pieces. Method: at each position the
//! longest allowed piece is looked up in a [`PrefixTrie`]; the leftmost match wins. Cost: linear in
//! the text, times the length of the longest allowed piece.
//!
//! Each segment of ordinary text is encoded as a text of its own, with its own dummy prefix. The
//! result equals splitting the text at the allowed pieces, encoding the parts and joining the ids,
//! so nothing inside a part can become a special piece.
//!
//! Example: with `<s>` allowed, `<s>les </s>` has the segments `Special(<s>, 0..3)` and
//! `Text(3..11)`: `</s>` is not allowed and remains text.

use std::collections::HashMap;
use std::ops::Range;

use super::Tokenizer;
use crate::base::lossy_string;
use crate::encode::EncodeError;
use crate::piece::PieceId;
use crate::trie::prefix::PrefixTrie;

/// A part of a text, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    /// Ordinary text; never empty.
    Text(Range<usize>),
    /// An allowed special piece.
    Special(PieceId, Range<usize>),
}

/// The special pieces that text may contain, or must not contain.
#[derive(Debug)]
pub(super) struct AllowedSpecial {
    pieces: PrefixTrie,
}

impl AllowedSpecial {
    /// The special pieces of a tokenizer with these texts.
    ///
    /// # Errors
    /// A text is not that of a special piece.
    pub(super) fn new(tokenizer: &Tokenizer, texts: &[Vec<u8>]) -> Result<Self, EncodeError> {
        let special: HashMap<&[u8], PieceId> = tokenizer
            .special_tokens()
            .map(|(id, text)| (text, id))
            .collect();
        let mut keys = Vec::with_capacity(texts.len());
        for text in texts {
            let id = special
                .get(&text[..])
                .ok_or_else(|| EncodeError::NotControl {
                    piece: lossy_string(text),
                })?;
            keys.push((text.as_slice(), id.get()));
        }
        let pieces = PrefixTrie::with_values(keys).map_err(|_| EncodeError::TooLarge {
            what: "allowed special pieces",
        })?;
        Ok(Self { pieces })
    }

    /// The segments of `text`, from left to right; they cover it.
    pub(super) fn segments(&self, text: &[u8]) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let Some(special) = self.next_special(text, start) else {
                segments.push(Segment::Text(start..text.len()));
                break;
            };
            let (id, range) = special;
            if range.start > start {
                segments.push(Segment::Text(start..range.start));
            }
            start = range.end;
            segments.push(Segment::Special(id, range));
        }
        segments
    }

    /// The first allowed piece at or after `start`.
    pub(super) fn next_special(
        &self,
        text: &[u8],
        start: usize,
    ) -> Option<(PieceId, Range<usize>)> {
        (start..text.len()).find_map(|at| {
            let (length, id) = self.pieces.longest_with_value(&text[at..])?;
            Some((PieceId::new(id), at..at + length))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{AllowedSpecial, Segment};
    use crate::encode::EncodeError;
    use crate::tokenizer::Tokenizer;

    fn llama() -> Tokenizer {
        Tokenizer::open(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/testdata/golden/llama2.model"
        ))
        .unwrap()
    }

    #[test]
    fn segments_cover_the_text_and_contain_no_empty_text() {
        let model = llama();
        let id = |text: &[u8]| model.piece_to_id(text).unwrap();
        let allowed = AllowedSpecial::new(&model, &[b"<s>".to_vec(), b"</s>".to_vec()]).unwrap();
        let expected = [
            Segment::Special(id(b"<s>"), 0..3),
            Segment::Text(3..5),
            Segment::Special(id(b"</s>"), 5..9),
            Segment::Special(id(b"<s>"), 9..12),
            Segment::Text(12..14),
        ];
        assert_eq!(allowed.segments(b"<s>a </s><s><s"), expected);
        assert_eq!(allowed.segments(b""), []);
    }

    #[test]
    fn only_control_pieces_can_be_allowed() {
        for text in [&b"<unk>"[..], b"<0x0A>", b"nothing", b""] {
            let error = AllowedSpecial::new(&llama(), &[text.to_vec()]).unwrap_err();
            assert!(
                matches!(error, EncodeError::NotControl { .. }),
                "{error:?} for {text:?}"
            );
        }
    }
}
