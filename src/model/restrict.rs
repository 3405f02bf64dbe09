//! Restricting a model to a vocabulary, as releases of the reference before 0.2.2 did with
//! `SetVocabulary`.
//!
//! A machine translation model that was trained on two languages together encodes each language
//! only with pieces that are frequent in that language. The other pieces are made unused in a copy
//! of the model; the encoder splits an unused piece into the pieces that it was merged from.
//!
//! Single characters remain usable, as do control, unknown, byte and user-defined pieces, whose
//! kinds do not change.
//!
//! Example: the pieces `a`, `b`, `ab` restricted to an empty vocabulary: `ab` becomes unused, and
//! the text `ab` gives `a b`.

use std::collections::HashSet;

use super::Model;
use crate::base::is_char;
use crate::model::ModelError;
use crate::piece::{PieceId, PieceKind};

impl Model {
    /// A copy of the model in which only `pieces` and single characters are given; all other pieces
    /// for text become unused. Pieces that were unused and are in the list become normal.
    ///
    /// ```
    /// use spiece::{Model, Tokenizer};
    /// let model = Model::open("testdata/run/unigram.model")?;
    /// let restricted = model.restrict_to(["\u{2581}droits"])?;
    /// let count = |model: &Model, text: &str| Tokenizer::new(model.clone()).count(text);
    /// assert_eq!(count(&restricted, "droits"), 1);
    /// assert!(count(&restricted, "personne") > count(&model, "personne"));
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    ///
    /// # Errors
    /// The resulting model would be refused.
    pub fn restrict_to<P: AsRef<[u8]>>(
        &self,
        pieces: impl IntoIterator<Item = P>,
    ) -> Result<Self, ModelError> {
        let pieces: Vec<P> = pieces.into_iter().collect();
        let usable: HashSet<&[u8]> = pieces.iter().map(AsRef::as_ref).collect();
        self.with_text_kinds(|text| {
            if usable.contains(text) || is_char(text) {
                PieceKind::Normal
            } else {
                PieceKind::Unused
            }
        })
    }

    /// A copy of the model in which unused pieces are normal. It undoes
    /// [`restrict_to`](Model::restrict_to) if the original model had no unused pieces.
    ///
    /// # Errors
    /// As [`restrict_to`](Model::restrict_to).
    pub fn without_unused_pieces(&self) -> Result<Self, ModelError> {
        self.with_text_kinds(|_| PieceKind::Normal)
    }

    /// A copy in which `kind_of` determines the kind of each normal or unused piece.
    fn with_text_kinds(&self, kind_of: impl Fn(&[u8]) -> PieceKind) -> Result<Self, ModelError> {
        let mut editor = self.edit();
        for piece in self.pieces() {
            if matches!(piece.kind, PieceKind::Normal | PieceKind::Unused) {
                let kind = kind_of(piece.text);
                if kind != piece.kind {
                    set_kind(&mut editor, piece.id, kind);
                }
            }
        }
        editor.finish()
    }
}

fn set_kind(editor: &mut super::ModelEditor, id: PieceId, kind: PieceKind) {
    let is_there = editor.set_kind(id, kind);
    debug_assert!(is_there, "the editor has the pieces of its model");
}

#[cfg(test)]
mod tests {
    use crate::{Model, PieceKind};

    #[test]
    fn only_pieces_for_text_change_their_kind() {
        let root = env!("CARGO_MANIFEST_DIR");
        let model = Model::open(format!("{root}/testdata/golden/llama2.model")).unwrap();
        let restricted = model.restrict_to(["\u{2581}the"]).unwrap();
        for (old, new) in model.pieces().zip(restricted.pieces()) {
            let is_kept = old.kind != PieceKind::Normal
                || old.text == "\u{2581}the".as_bytes()
                || String::from_utf8_lossy(old.text).chars().count() == 1;
            let expected = if is_kept { old.kind } else { PieceKind::Unused };
            assert_eq!(new.kind, expected, "{:?}", old.text);
        }
        let restored = restricted.without_unused_pieces().unwrap();
        assert!(
            restored
                .pieces()
                .all(|piece| piece.kind != PieceKind::Unused)
        );
    }
}
