//! For which texts two models can give different pieces.
//!
//! What a piece does to text, its *role*, is compared by text. A normal piece has its score
//! as role, a user-defined symbol and an unused piece have roles without a score; control, unknown
//! and byte pieces have none, because text never gives the first, and the other two do not depend
//! on their texts. A piece whose text does not occur in a text never is a candidate while that text
//! is encoded, in any type of model. So texts differ only if they contain the text of a piece whose
//! role differs, or if the normalization differs, or (the score of unknown characters) if the
//! lowest score differs.
//!
//! Example: a user-defined symbol `<x>` is added. The pieces of a text can change only if it
//! contains `<x>`.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::pieces::pieces_of_kind;
use crate::model::{Model, ModelType, Piece};
use crate::piece::PieceKind;

/// Conditions on texts: a text that meets none of them has the same pieces in both models.
#[derive(Debug, Clone)]
pub struct TextChange {
    normalization: bool,
    unknown: bool,
    /// The texts of the pieces whose role differs, sorted.
    texts: Vec<Vec<u8>>,
}

/// What a piece does to text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceRole {
    /// By the bits of the score, so that NaN equals itself.
    Normal(u32),
    UserDefined,
    /// Unused pieces of BPE models merge, by the bits of their scores.
    Unused(u32),
}

impl PieceRole {
    /// The role of a piece in a BPE model, or in one of another type.
    fn of(piece: Piece<'_>, is_bpe: bool) -> Option<Self> {
        let score = piece.score.to_bits();
        match piece.kind {
            PieceKind::Normal => Some(Self::Normal(score)),
            PieceKind::UserDefined => Some(Self::UserDefined),
            PieceKind::Unused if is_bpe => Some(Self::Unused(score)),
            _ => None,
        }
    }
}

impl TextChange {
    /// The conditions under which `old` and `new` differ.
    pub(crate) fn between(old: &Model, new: &Model) -> Self {
        Self {
            normalization: normalizes_differently(old, new),
            unknown: unknown_rules(old) != unknown_rules(new),
            texts: texts_with_other_roles(old, new),
        }
    }

    /// Whether every text has the same pieces in both models.
    pub fn is_none(&self) -> bool {
        !self.normalization && !self.unknown && self.texts.is_empty()
    }

    /// Whether the normalization differs, so that any text can differ.
    pub fn changes_normalization(&self) -> bool {
        self.normalization
    }

    /// Whether texts with characters that are no pieces can differ, because their score differs
    /// (unigram models), or the unknown piece.
    pub fn changes_unknown(&self) -> bool {
        self.unknown
    }

    /// Texts that contain one of these, before or after normalization, can differ. Sorted.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(Vec::as_slice)
    }
}

/// Whether two models prepare text differently.
pub(crate) fn normalizes_differently(old: &Model, new: &Model) -> bool {
    fn rules(model: &Model) -> ([bool; 4], &[u8]) {
        let spec = model.normalizer_spec();
        let flags = [
            spec.add_dummy_prefix(),
            spec.remove_extra_whitespaces(),
            spec.escape_whitespaces(),
            // Nothing without a dummy prefix, but a flag that is set later would reveal it.
            model.trainer_spec().treat_whitespace_as_suffix(),
        ];
        (flags, spec.precompiled_charsmap())
    }
    rules(old) != rules(new)
}

/// What becomes of characters that are no pieces: whether they become bytes, whether there is an
/// unknown piece, and in a unigram model the bits of the score from which theirs follows.
fn unknown_rules(model: &Model) -> (bool, bool, Option<u32>) {
    let is_unigram = model.model_type() == ModelType::Unigram;
    let scores = pieces_of_kind(model, PieceKind::Normal).map(|piece| piece.score);
    (
        model.trainer_spec().byte_fallback(),
        model.unknown_piece().is_some(),
        is_unigram.then(|| scores.fold(f32::MAX, f32::min).to_bits()),
    )
}

/// The texts of the pieces whose roles differ, sorted.
fn texts_with_other_roles(old: &Model, new: &Model) -> Vec<Vec<u8>> {
    let old_roles = roles(old);
    let new_roles = roles(new);
    let differs = |text: &&[u8]| old_roles.get(text) != new_roles.get(text);
    let all = old_roles.keys().chain(new_roles.keys()).copied();
    let mut texts: Vec<&[u8]> = all.filter(differs).collect();
    texts.sort_unstable();
    texts.dedup();
    texts.into_iter().map(<[u8]>::to_vec).collect()
}

/// The role of each text that has one.
fn roles(model: &Model) -> HashMap<&[u8], PieceRole, FixedState> {
    let is_bpe = model.model_type() == ModelType::Bpe;
    let pieces = model.pieces();
    pieces
        .filter_map(|piece| Some((piece.text, PieceRole::of(piece, is_bpe)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::PieceId;

    fn model() -> Model {
        let mut builder = Model::builder();
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        builder.piece("a", -1.0, PieceKind::Normal);
        builder.piece("b", -2.0, PieceKind::Normal);
        builder.build().unwrap()
    }

    fn change(edit: impl FnOnce(&mut crate::ModelEditor)) -> TextChange {
        let model = model();
        let mut editor = model.edit();
        edit(&mut editor);
        TextChange::between(&model, &editor.finish().unwrap())
    }

    #[test]
    fn control_pieces_change_no_text() {
        assert!(
            change(|editor| {
                editor.add_piece("<c>", 0.0, PieceKind::Control);
            })
            .is_none()
        );
    }

    #[test]
    fn symbols_change_the_texts_that_contain_them() {
        let change = change(|editor| {
            editor.add_piece("<c>", 0.0, PieceKind::UserDefined);
        });
        assert_eq!(change.texts().collect::<Vec<_>>(), [b"<c>"]);
        assert!(!change.changes_unknown());
    }

    #[test]
    fn the_lowest_score_changes_texts_with_unknown_characters() {
        let change = change(|editor| {
            editor.set_score(PieceId::new(2), -3.0);
        });
        assert!(change.changes_unknown());
    }

    #[test]
    fn flags_change_all_texts() {
        let change = change(|editor| {
            editor.set_add_dummy_prefix(false);
        });
        assert!(change.changes_normalization());
        assert!(!change.is_none());
    }
}
