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
    First,
    /// The first one again.
    Repeated,
    Other,
}

impl ListedPairs {
    /// Adds the pair of a piece whose left text has `split` bytes, at the position `at` of the list.
    fn add(&mut self, piece: PieceId, split: usize, at: usize) -> Result<PairOrder, FormatError> {
        let order = match self.firsts.get(&piece) {
            Some(first) if first.split == split => return Ok(PairOrder::Repeated),
            Some(_) => PairOrder::Other,
            None => {
                // A model has fewer than 2^27 pieces.
                let rank = u32::try_from(self.pieces.len()).map_err(syntax)?;
                self.firsts.insert(piece, FirstPair { rank, split });
                self.pieces.push(piece);
                PairOrder::First
            }
        };
        self.places.insert((piece, split), at);
        Ok(order)
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

impl Import<'_, '_> {
    /// The pairs of the list, and reasons that they give by themselves.
    ///
    /// # Errors
    /// A text is no piece.
    pub(super) fn listed_pairs(
        &mut self,
        entries: &VocabularyEntries<'_>,
    ) -> Result<ListedPairs, FormatError> {
        let file = self.file;
        let unknown = file.model.unk_token.as_deref();
        // The pieces that tokenizers puts in the place of characters without a piece.
        let is_stand_in = |text: &str| match self.has_byte_fallback {
            true => byte_of_piece(text.as_bytes()).is_some(),
            false => Some(text) == unknown,
        };
        let missing =
            |at, text: &str| syntax(format!("merge {at}: {text:?} is not in the vocabulary"));

        let mut pairs = ListedPairs::default();
        let mut repeated = None;
        let mut with_stand_in = None;
        let mut joined = String::new();
        for (at, [left, right]) in file.model.merges.iter().enumerate() {
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let piece = entries.id(&joined).ok_or_else(|| missing(at, &joined))?;
            match pairs.add(piece, left.len(), at)? {
                PairOrder::First => {
                    for part in [left, right] {
                        entries.id(part).ok_or_else(|| missing(at, part))?;
                    }
                }
                PairOrder::Repeated => repeated = Some(joined.clone()),
                PairOrder::Other => {}
            }
            if is_stand_in(left) || is_stand_in(right) {
                with_stand_in = Some([left, right]);
            }
        }

        if let Some(text) = repeated {
            self.reason(
                ReasonKind::MergeOrder,
                format!(
                    "a merge that gives {text:?} is listed twice; tokenizers takes the last one"
                ),
            );
        }
        if let Some([left, right]) = with_stand_in {
            let explanation = format!(
                "tokenizers merges {:?} and {:?}, one of which it puts in the place of characters without a piece",
                &**left, &**right
            );
            self.add_reasons([Reason::new(ReasonKind::UnknownCharacter, explanation)]);
        }
        Ok(pairs)
    }
}
