//! The pairs of a list of merges: the first one of each piece, all others, and their order.
//!
//! Example: the list `a b`, `ab c`, `b c`, `a bc` has the first pairs `a b`, `ab c` and `b c` of
//! the pieces `ab`, `abc` and `bc`; `a bc` is another pair of `abc`.

use std::collections::HashMap;

use super::entries::VocabularyEntries;
use super::{Import, syntax};
use crate::formats::ConvertError;
use crate::formats::{Reason, ReasonKind};
use crate::model::validate::byte_of_piece;
use crate::piece::PieceId;

/// The pairs of a list.
#[derive(Debug, Default)]
pub(super) struct ListedPairs {
    /// The pieces that have a pair, in the order of their first pairs.
    pub(super) pieces: Vec<PieceId>,
    /// For each piece with a pair, its position in `pieces`.
    ranks: HashMap<PieceId, u32>,
    /// For each piece and the bytes of the left text of a pair, the position of the pair in the
    /// list: of the first pair of a piece its first one, of the others the last one.
    places: HashMap<(PieceId, usize), usize>,
}

impl ListedPairs {
    /// The position of the first pair of a piece among the first pairs.
    pub(super) fn rank(&self, piece: PieceId) -> Option<u32> {
        self.ranks.get(&piece).copied()
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
    ) -> Result<ListedPairs, ConvertError> {
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
        let mut first_splits: HashMap<PieceId, usize> = HashMap::new();
        let mut repeated = None;
        let mut with_stand_in = None;
        let mut joined = String::new();
        for (at, [left, right]) in file.model.merges.iter().enumerate() {
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let piece = entries.id(&joined).ok_or_else(|| missing(at, &joined))?;
            let split = left.len();
            match first_splits.get(&piece) {
                None => {
                    for part in [left, right] {
                        entries.id(part).ok_or_else(|| missing(at, part))?;
                    }
                    first_splits.insert(piece, split);
                    // A model has fewer than 2^27 pieces.
                    let rank = u32::try_from(pairs.pieces.len()).map_err(syntax)?;
                    pairs.ranks.insert(piece, rank);
                    pairs.pieces.push(piece);
                    pairs.places.insert((piece, split), at);
                }
                Some(first) if *first == split => repeated = Some(joined.clone()),
                Some(_) => {
                    pairs.places.insert((piece, split), at);
                }
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
