//! Which pieces text can give.
//!
//! Input: a model. Output: for each piece whether it is *found*: its own text, taken as normalized text, encodes to the
//! piece alone. In a BPE model a piece is found in some text if and only if that holds (locality, see `docs/DESIGN.md`). In
//! a unigram model a piece that does not encode to itself loses against the same pieces in every other text, up to
//! the rounding of sums.
//!
//! Example: the BPE pieces `bc` (-2), `bcx` (-4) and `abcd` (-3). The text `bcx` merges to `bc x` and then to `bcx`, which
//! is found. The text `abcd` merges to `a bc d`, and no further, because neither `abc` nor `bcd` is a piece: `abcd` is not
//! found.
//!
//! Cost: one encoding of all texts of pieces.

use super::id_map::IdMap;
use crate::encode::{EncodeState, ModelEncoder};
use crate::error::ModelError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};

/// Encodes normalized texts, without caches between texts of different models.
pub(crate) struct NormalizedEncoder<'m> {
    model: &'m Model,
    encoder: ModelEncoder,
    state: EncodeState,
    ids: Vec<PieceId>,
}

impl<'m> NormalizedEncoder<'m> {
    /// An encoder for a model.
    ///
    /// # Errors
    /// The pieces do not fit a double array; models that load do not have this error.
    pub(crate) fn new(model: &'m Model) -> Result<NormalizedEncoder<'m>, ModelError> {
        let (encoder, _) = ModelEncoder::new(model, true).map_err(|_| ModelError::TrieTooLarge)?;
        Ok(NormalizedEncoder {
            model,
            encoder,
            state: EncodeState::default(),
            ids: Vec::new(),
        })
    }

    /// The ids of a normalized text, one unknown id for each unknown character.
    pub(crate) fn encode(&mut self, text: &[u8]) -> &[PieceId] {
        self.ids.clear();
        let pieces = self.model.table();
        self.encoder
            .encode(pieces, text, &mut self.state, &mut self.ids);
        &self.ids
    }

    /// The boundaries between the tokens of a normalized text: ascending positions, without start and end.
    pub(crate) fn boundaries(&mut self, text: &[u8]) -> Vec<usize> {
        self.encode(text);
        let pieces = self.model.table();
        let mut at = 0;
        let mut boundaries = Vec::with_capacity(self.ids.len());
        for id in &self.ids {
            let rest = text.get(at..).unwrap_or_default();
            let is_known = id.index() < pieces.len()
                && pieces.kind(id.index()) != PieceKind::Unknown
                && rest.starts_with(pieces.text(id.index()));
            at += if is_known {
                let length = pieces.text(id.index()).len();
                self.encoder.piece_length(length, rest)
            } else {
                self.encoder.unknown_length(rest)
            };
            boundaries.push(at);
        }
        boundaries.pop();
        boundaries
    }

    /// Whether a piece is for text and its own text encodes to it.
    pub(crate) fn is_found(&mut self, id: PieceId) -> bool {
        let Some(piece) = self.model.piece(id) else {
            return false;
        };
        matches!(piece.kind, PieceKind::Normal | PieceKind::UserDefined)
            && self.encode(piece.text) == [id]
    }
}

/// For each piece whether it is found.
///
/// # Errors
/// As [`NormalizedEncoder::new`].
pub(crate) fn found_pieces(model: &Model) -> Result<Vec<bool>, ModelError> {
    let mut encoder = NormalizedEncoder::new(model)?;
    let ids = (0..model.len()).map(PieceId::from_index);
    Ok(ids.map(|id| encoder.is_found(id)).collect())
}

/// Pieces that are found in one of two models only.
pub(crate) struct FoundDifferences {
    /// Old ids of pieces that are found in the old model and not in the new one.
    pub(crate) lost: Vec<PieceId>,
    /// New ids of pieces that are found in the new model and not in the old one.
    pub(crate) gained: Vec<PieceId>,
}

impl FoundDifferences {
    /// # Errors
    /// As [`NormalizedEncoder::new`].
    pub(crate) fn between(
        old: &Model,
        new: &Model,
        ids: &IdMap,
    ) -> Result<FoundDifferences, ModelError> {
        let old_found = found_pieces(old)?;
        let new_found = found_pieces(new)?;
        let is_old = |id: Option<PieceId>| id.is_some_and(|id| old_found[id.index()]);
        let is_new = |id: Option<PieceId>| id.is_some_and(|id| new_found[id.index()]);
        let old_ids = (0..old.len()).map(PieceId::from_index);
        let new_ids = (0..new.len()).map(PieceId::from_index);
        let is_lost = |id: &PieceId| is_old(Some(*id)) && !is_new(ids.new_id(*id));
        let is_gained = |id: &PieceId| is_new(Some(*id)) && !is_old(ids.old_id(*id));
        Ok(FoundDifferences {
            lost: old_ids.filter(is_lost).collect(),
            gained: new_ids.filter(is_gained).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(pieces: &[(&str, f32)]) -> Model {
        let mut builder = Model::builder();
        builder.model_type(crate::ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        for (text, score) in pieces {
            builder.piece(text, *score, PieceKind::Normal);
        }
        builder.build().unwrap()
    }

    #[test]
    fn pieces_that_no_merge_makes_are_not_found() {
        let model = model(&[
            ("bc", -2.0),
            ("abcd", -3.0),
            ("a", -9.0),
            ("bcx", -4.0),
            ("ab", -5.0),
        ]);
        let found = found_pieces(&model).unwrap();
        assert_eq!(found, [false, true, false, true, true, true]);
    }

    #[test]
    fn boundaries_are_positions_in_the_normalized_text() {
        let model = model(&[("ab", -1.0), ("a", -2.0)]);
        let mut encoder = NormalizedEncoder::new(&model).unwrap();
        assert_eq!(encoder.boundaries("abaé中ab".as_bytes()), [2, 3, 5, 8]);
        assert!(encoder.boundaries(b"").is_empty());
    }
}
