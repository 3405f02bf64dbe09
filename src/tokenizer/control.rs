//! Control pieces that a caller lets text yield.
//!
//! In: a text and the control pieces that are allowed. Out: stretches of text, and control pieces between
//! them. The leftmost counts, the longest of those at one place. A stretch of text is encoded as if it were a
//! text of its own, with its own dummy prefix: what comes out is what the caller would get by cutting the
//! text at the control pieces, encoding the parts and putting the ids together. So nothing in the stretches
//! can become a control piece, whatever it looks like.

use crate::error::EncodeError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;
use crate::trie::prefix::PrefixTrie;

/// A stretch of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stretch {
    /// Text from a place to another.
    Text(usize, usize),
    /// A control piece from a place to another.
    Control(PieceId, usize, usize),
}

/// The control pieces that are allowed.
#[derive(Debug)]
pub(super) struct AllowedControl {
    pieces: PrefixTrie,
}

impl AllowedControl {
    /// The control pieces of `model` with these texts.
    pub(super) fn new(
        model: &Model,
        texts: &[Vec<u8>],
    ) -> Result<Option<AllowedControl>, EncodeError> {
        if texts.is_empty() {
            return Ok(None);
        }
        let mut pieces = Vec::new();
        for text in texts {
            let is_it =
                |piece: &crate::Piece<'_>| piece.kind == PieceKind::Control && piece.text == text;
            let piece = model.pieces().find(is_it);
            let piece = piece.ok_or_else(|| EncodeError::NotControl {
                piece: lossy_string(text),
            })?;
            pieces.push((piece.text, piece.id.get()));
        }
        let pieces = PrefixTrie::with_values(pieces).map_err(|_| EncodeError::TooLarge {
            what: "control pieces are allowed",
        })?;
        Ok(Some(AllowedControl { pieces }))
    }

    /// The stretches of `text`, from left to right; none of text is empty.
    pub(super) fn stretches(&self, text: &[u8]) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < text.len() {
            let Some((length, id)) = self.pieces.longest_with_value(&text[at..]) else {
                at += 1;
                continue;
            };
            if at > start {
                stretches.push(Stretch::Text(start, at));
            }
            stretches.push(Stretch::Control(PieceId::from_index(id), at, at + length));
            at += length;
            start = at;
        }
        if at > start {
            stretches.push(Stretch::Text(start, at));
        }
        stretches
    }
}
