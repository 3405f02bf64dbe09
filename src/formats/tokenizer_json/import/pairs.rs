//! The pairs of a list of merges: the first one of each piece, all others, and their order.
//!
//! Example: the list `a b`, `ab c`, `b c`, `a bc` has the first pairs `a b`, `ab c` and `b c` of
//! the pieces `ab`, `abc` and `bc`; `a bc` is another pair of `abc`.

use std::collections::HashMap;

use super::entries::VocabularyEntries;
use super::{Import, syntax};
use crate::formats::FormatError;
use crate::formats::{Reason, ReasonKind};
use crate::model::validate::byte_of_piece;
use crate::piece::PieceId;
use crate::pipeline::BpeModel;

/// The pairs of a list.
#[derive(Debug, Default)]
pub(super) struct ListedPairs {
    /// The pieces that have a pair, in the order of their first pairs.
    pub(super) pieces: Vec<PieceId>,
    firsts: HashMap<PieceId, FirstPair>,
    /// For each piece and the bytes of the left text of a pair, the position of the pair in the
    /// list: of the first pair of a piece its first one, of the others the last one.
    places: HashMap<(PieceId, usize), usize>,
}

/// The first pair of a piece.
#[derive(Debug)]
struct FirstPair {
    /// The position of the piece in [`ListedPairs::pieces`].
    rank: u32,
    /// The bytes of the left text.
    split: usize,
}

/// What a pair is for its piece.
enum PairOrder {
    /// The first one again.
    Repeated,
    /// The first one, or another than that.
    New,
}

impl ListedPairs {
    /// Adds the pair of a piece whose left text has `split` bytes, at the position `at` of the list.
    fn add(&mut self, piece: PieceId, split: usize, at: usize) -> Result<PairOrder, FormatError> {
        match self.firsts.get(&piece) {
            Some(first) if first.split == split => return Ok(PairOrder::Repeated),
            Some(_) => {}
            None => {
                // A model has fewer than 2^27 pieces.
                let rank = u32::try_from(self.pieces.len()).map_err(syntax)?;
                self.firsts.insert(piece, FirstPair { rank, split });
                self.pieces.push(piece);
            }
        }
        self.places.insert((piece, split), at);
        Ok(PairOrder::New)
    }

    /// The position of the first pair of a piece among the first pairs.
    pub(super) fn rank(&self, piece: PieceId) -> Option<u32> {
        self.firsts.get(&piece).map(|first| first.rank)
    }

    /// The position in the list of the pair of a piece whose left text has `split` bytes.
    pub(super) fn place(&self, piece: PieceId, split: usize) -> Option<usize> {
        self.places.get(&(piece, split)).copied()
    }
}

impl Import<'_> {
    /// The pairs of the list, and reasons that they give by themselves.
    ///
    /// # Errors
    /// There are too many.
    pub(super) fn listed_pairs(
        &mut self,
        bpe: &BpeModel,
        entries: &VocabularyEntries<'_>,
    ) -> Result<ListedPairs, FormatError> {
        let unknown = bpe.options().unknown_token.as_deref();
        // The pieces that tokenizers puts in the place of characters without a piece.
        let is_stand_in = |text: &str| match self.has_byte_fallback {
            true => byte_of_piece(text.as_bytes()).is_some(),
            false => Some(text) == unknown,
        };
        let text_of = |id: u32| entries.text(id as usize).unwrap_or_default();
        let mut pairs = ListedPairs::default();
        let mut repeated = None;
        let mut with_stand_in = None;
        for (at, merge) in bpe.merges().iter().enumerate() {
            let [left, right] = [merge.left, merge.right].map(text_of);
            let piece = PieceId::new(merge.joined);
            if let PairOrder::Repeated = pairs.add(piece, left.len(), at)? {
                repeated = Some(piece);
            }
            if is_stand_in(left) || is_stand_in(right) {
                with_stand_in = Some([left, right]);
            }
        }

        if let Some(piece) = repeated {
            let text = text_of(piece.get());
            self.reason(
                ReasonKind::MergeOrder,
                format!(
                    "a merge that gives {text:?} is listed twice; tokenizers takes the last one"
                ),
            );
        }
        if let Some([left, right]) = with_stand_in {
            let explanation = format!(
                "tokenizers merges {left:?} and {right:?}, one of which it puts in the place of characters without a piece"
            );
            self.add_reasons([Reason::new(ReasonKind::UnknownCharacter, explanation)]);
        }
        Ok(pairs)
    }
}
