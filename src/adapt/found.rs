//! Which pieces text can give.
//!
//! A piece is *found* if its own text, taken as normalized text, encodes to the piece alone. In a
//! BPE model a piece is found in some text if and only if that holds (locality, see
//! `docs/design/ADAPTING.md`). In a unigram model a piece that does not encode to itself loses
//! against the same pieces in every other text, up to the rounding of sums.
//!
//! Example: the BPE pieces `bc` (-2), `bcx` (-4) and `abcd` (-3). The text `bcx` merges to `bc x`
//! and then to `bcx`, which is found. The text `abcd` merges to `a bc d`, and no further, because
//! neither `abc` nor `bcd` is a piece: `abcd` is not found.

use super::id_map::IdMap;
use crate::model::Model;
use crate::piece::PieceId;
use crate::tokenizer::{ModelTables, NormalizedEncoder, TokenizerConfig};

fn found_pieces(model: &Model) -> Vec<bool> {
    let tables = ModelTables::new(model.clone(), TokenizerConfig::default());
    let mut encoder = NormalizedEncoder::new(&tables);
    let pieces = model.pieces();
    pieces
        .map(|piece| piece.kind.is_given_for_text() && encoder.gives(piece.id, piece.text))
        .collect()
}

/// The pieces for text that are not found.
pub(crate) fn unreachable_pieces(model: &Model) -> Vec<PieceId> {
    let found = found_pieces(model);
    let pieces = model.pieces().zip(found);
    pieces
        .filter(|(piece, is_found)| piece.kind.is_given_for_text() && !is_found)
        .map(|(piece, _)| piece.id)
        .collect()
}

/// Pieces that are found in one of two models only.
pub(crate) struct FoundDifferences {
    /// Old ids of pieces that are found in the old model and not in the new one.
    pub(crate) lost: Vec<PieceId>,
    /// New ids of pieces that are found in the new model and not in the old one.
    pub(crate) gained: Vec<PieceId>,
}

impl FoundDifferences {
    pub(crate) fn between(old: &Model, new: &Model, ids: &IdMap) -> Self {
        let old_found = found_pieces(old);
        let new_found = found_pieces(new);
        let is_old = |id: PieceId| old_found[id.index()];
        let is_new = |id: PieceId| new_found[id.index()];
        let is_lost = |id: &PieceId| is_old(*id) && !ids.new_id(*id).is_some_and(is_new);
        let is_gained = |id: &PieceId| is_new(*id) && !ids.old_id(*id).is_some_and(is_old);
        Self {
            lost: ids.old_ids().filter(is_lost).collect(),
            gained: ids.new_ids().filter(is_gained).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::PieceKind;

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
        let found = found_pieces(&model);
        assert_eq!(found, [false, true, false, true, true, true]);
    }
}
