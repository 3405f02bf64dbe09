//! The special pieces that a caller allows in text, or refuses.
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
use crate::special::{self, Segment};
use crate::trie::prefix::PrefixTrie;

/// The special pieces that text may contain, or must not contain.
#[derive(Debug)]
pub(super) struct AllowedSpecial {
    pieces: PrefixTrie,
    /// The bytes of the longest of them.
    pub(super) longest: usize,
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
        let longest = texts.iter().map(Vec::len).max().unwrap_or(0);
        Ok(Self { pieces, longest })
    }

    /// The segments of `text`, from left to right, with the ids of the pieces.
    pub(super) fn segments(&self, text: &[u8]) -> Vec<Segment> {
        special::segments(text, |at| self.find_in(text, at..text.len()))
    }

    /// The first of the pieces in a text.
    pub(super) fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        let (found, _) = self.find_in(text, 0..text.len())?;
        Some(found)
    }

    /// How much of a text is known to be ordinary, or a piece, if more text follows: up to the first
    /// position at which a piece may begin that more text completes.
    pub(super) fn known_length(&self, text: &[u8]) -> usize {
        let first = text.len().saturating_sub(self.longest);
        let mut open = (first..text.len()).filter(|at| self.pieces.may_continue(&text[*at..]));
        open.next().unwrap_or(text.len())
    }

    /// The first of the pieces in a range of a text, with its id.
    pub(super) fn find_in(
        &self,
        text: &[u8],
        range: Range<usize>,
    ) -> Option<(Range<usize>, usize)> {
        special::find(&self.pieces, text, range)
    }
}

#[cfg(test)]
mod tests {
    use super::AllowedSpecial;
    use crate::encode::EncodeError;
    use crate::special::Segment;
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
        let id = |text: &[u8]| model.piece_to_id(text).unwrap().index();
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
