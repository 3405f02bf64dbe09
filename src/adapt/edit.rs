//! Edits of a model by the texts of pieces, with a report of what they mean for text.
//!
//! [`EditStep`]s are applied in order. An [`EditedModel`] is the model, loaded from the bytes of
//! its new file, how old and new ids correspond, and for which texts pieces can differ.
//!
//! Guarantees, which tests check (`tests/it/hostile/guarantees.rs`):
//!
//! 1. A piece that no step names keeps text, score and kind. Its id changes only by insertions and
//!    removals before it.
//! 2. The special ids of the trainer spec name the pieces that they named, or those that a step
//!    names.
//! 3. A text that meets no condition of [`EditedModel::text_change`] has the same pieces as before.
//! 4. Pieces, fields and unknown fields that no step concerns are kept; see [`ModelEditor`]. Steps
//!    followed by their inverses in one list give the original bytes. So do two lists, one for the
//!    model and one for its edited copy, where the file has all fields that the steps set, as files
//!    of `spm_train` do.
//!
//! Example: a model with `<unk>` `<s>` `</s>` `▁a` ... has `[MASK]` added as a user-defined symbol.
//! Ids are unchanged; the symbol gets the next id; texts that contain `[MASK]` have other pieces.

use std::collections::HashMap;

use super::found::FoundDifferences;
use super::id_map::IdMap;
use super::text_change::TextChange;
use crate::adapt::error::EditError;
use crate::base::lossy_string;
use crate::model::{Model, ModelEditor, NormalizerSpec, Piece, PieceEntry};
use crate::piece::{PieceId, PieceKind};

/// The score of pieces that steps add. It has no effect on control pieces and user-defined symbols.
const ADDED_SCORE: f32 = 0.0;

/// One change of a model; pieces are named by their texts.
///
/// In models other than BPE models a text piece and a control piece can have the same text; a step
/// then means the control piece, as [`Model::piece_to_id`] does.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EditStep {
    /// Adds a piece after all others, with score 0.
    Add {
        /// The text of the new piece.
        text: Vec<u8>,
        /// Its kind.
        kind: PieceKind,
    },
    /// Inserts a piece with score 0; the ids of the pieces from this id on increase by 1.
    Insert {
        /// The id of the new piece, at most the number of pieces.
        id: PieceId,
        /// Its text.
        text: Vec<u8>,
        /// Its kind.
        kind: PieceKind,
    },
    /// Changes the text of a piece.
    Rename {
        /// The text of the piece.
        old: Vec<u8>,
        /// The text that it gets.
        new: Vec<u8>,
    },
    /// Removes a piece; the ids of the pieces after it decrease by 1.
    Remove {
        /// The text of the piece.
        text: Vec<u8>,
    },
    /// Changes the kind of a piece.
    SetKind {
        /// The text of the piece.
        text: Vec<u8>,
        /// The kind that it gets.
        kind: PieceKind,
    },
    /// Makes a piece the special piece with a role: sets id and text in the trainer spec.
    SetSpecial {
        /// The role.
        role: SpecialRole,
        /// The text of the piece.
        text: Vec<u8>,
    },
    /// Sets a flag of the normalizer spec.
    SetFlag {
        /// The flag.
        flag: NormalizerFlag,
        /// Its value.
        value: bool,
    },
    /// Sets the rules by which text is normalized before it is encoded. The flags of the normalizer
    /// spec stay.
    SetNormalization {
        /// A spec with the rules, their name and the path of their file.
        rules: NormalizerSpec,
    },
    /// Sets the rules by which decoded text is changed. As in training, nothing but the rules is
    /// applied to decoded text.
    SetDenormalization {
        /// A spec with the rules, their name and the path of their file.
        rules: NormalizerSpec,
    },
}

/// The role of a special piece in the trainer spec. The unknown piece has its role by its kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecialRole {
    /// Beginning of a text.
    Bos,
    /// End of a text.
    Eos,
    /// Padding.
    Pad,
}

/// A flag of the normalizer spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum NormalizerFlag {
    /// Adds one space before (or after) the text.
    AddDummyPrefix,
    /// Removes spaces at both ends and repeated spaces.
    RemoveExtraWhitespaces,
    /// Replaces spaces by U+2581.
    EscapeWhitespaces,
}

/// A model after [`Model::apply_edits`], and what the edits mean.
#[derive(Debug, Clone)]
pub struct EditedModel {
    model: Model,
    ids: IdMap,
    text_change: TextChange,
    lost: Vec<PieceId>,
    gained: Vec<PieceId>,
}

impl Model {
    /// Applies changes to the pieces and flags of a model, in order; see [`EditStep`].
    ///
    /// ```
    /// use spiece::adapt::EditStep;
    /// use spiece::{Model, PieceKind};
    ///
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let text = b"<sep>".to_vec();
    /// let edited = model.apply_edits(&[EditStep::Add { text, kind: PieceKind::Control }])?;
    /// assert_eq!(edited.model().len(), model.len() + 1);
    /// assert!(edited.ids().moved().next().is_none());
    /// assert!(edited.text_change().is_none()); // every text has the same ids as before
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A step names a piece that does not exist or adds one that does, or the result breaks a rule
    /// for models.
    pub fn apply_edits(&self, steps: &[EditStep]) -> Result<EditedModel, EditError> {
        let mut application = Application::new(self);
        for step in steps {
            application.apply(step)?;
        }
        application.finish(self)
    }
}

impl EditedModel {
    /// The edited model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How old and new ids correspond.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// For which texts pieces can differ. A text for which they do not has the same ids if no id
    /// moved.
    pub fn text_change(&self) -> &TextChange {
        &self.text_change
    }

    /// The old ids of pieces that text gave and does not give any longer, because they or others
    /// changed.
    pub fn no_longer_found(&self) -> &[PieceId] {
        &self.lost
    }

    /// The new ids of pieces that text gives and did not give before.
    pub fn newly_found(&self) -> &[PieceId] {
        &self.gained
    }
}

/// A piece while steps are applied.
struct Slot {
    text: Vec<u8>,
    kind: PieceKind,
    old_id: Option<PieceId>,
}

/// Steps in progress.
struct Application {
    editor: ModelEditor,
    /// The pieces of the editor.
    slots: Vec<Slot>,
    /// How many pieces have each text: long lists of pieces are added without a search for each.
    texts: HashMap<Vec<u8>, usize>,
    /// Texts of special pieces, which get their ids at the end.
    specials: Vec<(SpecialRole, Vec<u8>)>,
}

impl Application {
    fn new(model: &Model) -> Self {
        let mut texts = HashMap::new();
        for piece in model.pieces() {
            *texts.entry(piece.text.to_vec()).or_default() += 1;
        }
        let slot_of = |piece: Piece<'_>| Slot {
            text: piece.text.to_vec(),
            kind: piece.kind,
            old_id: Some(piece.id),
        };
        Self {
            editor: model.edit(),
            slots: model.pieces().map(slot_of).collect(),
            texts,
            specials: Vec::new(),
        }
    }

    fn apply(&mut self, step: &EditStep) -> Result<(), EditError> {
        match step {
            EditStep::Add { text, kind } => return self.insert(self.slots.len(), text, *kind),
            EditStep::Insert { id, text, kind } => return self.insert(id.index(), text, *kind),
            EditStep::Rename { old, new } => {
                let id = self.find(old)?;
                if old != new {
                    self.check_absent(new)?;
                    self.editor.rename_piece(id, new);
                    let old = std::mem::replace(&mut self.slots[id.index()].text, new.clone());
                    self.forget_text(&old);
                    *self.texts.entry(new.clone()).or_default() += 1;
                }
            }
            EditStep::Remove { text } => {
                let id = self.find(text)?;
                self.editor.remove_piece(id);
                self.slots.remove(id.index());
                self.forget_text(text);
            }
            EditStep::SetKind { text, kind } => {
                let id = self.find(text)?;
                self.editor.set_kind(id, *kind);
                self.slots[id.index()].kind = *kind;
            }
            EditStep::SetSpecial { role, text } => self.specials.push((*role, text.clone())),
            EditStep::SetFlag { flag, value } => {
                match flag {
                    NormalizerFlag::AddDummyPrefix => self.editor.set_add_dummy_prefix(*value),
                    NormalizerFlag::RemoveExtraWhitespaces => {
                        self.editor.set_remove_extra_whitespaces(*value)
                    }
                    NormalizerFlag::EscapeWhitespaces => self.editor.set_escape_whitespaces(*value),
                };
            }
            EditStep::SetNormalization { rules } => {
                set_rules(self.editor.normalizer_spec_mut(), rules);
            }
            EditStep::SetDenormalization { rules } => {
                let spec = self.editor.denormalizer_spec_mut();
                set_rules(spec, rules);
                spec.add_dummy_prefix = Some(false);
                spec.remove_extra_whitespaces = Some(false);
                spec.escape_whitespaces = Some(false);
            }
        }
        Ok(())
    }

    fn insert(&mut self, index: usize, text: &[u8], kind: PieceKind) -> Result<(), EditError> {
        let pieces = self.slots.len();
        if index > pieces {
            return Err(EditError::IdTooHigh { id: index, pieces });
        }
        self.check_absent(text)?;
        let piece = PieceEntry::new(text, ADDED_SCORE, kind);
        self.editor.insert_piece(PieceId::from_index(index), piece);
        let slot = Slot {
            text: text.to_vec(),
            kind,
            old_id: None,
        };
        self.slots.insert(index, slot);
        *self.texts.entry(text.to_vec()).or_default() += 1;
        Ok(())
    }

    /// One piece less has this text.
    fn forget_text(&mut self, text: &[u8]) {
        if let Some(count) = self.texts.get_mut(text) {
            *count -= 1;
        }
    }

    /// The piece with this text, which a step names: a control, unknown or byte piece if there is
    /// one, else a text piece.
    fn find(&self, text: &[u8]) -> Result<PieceId, EditError> {
        self.lookup(text).ok_or_else(|| EditError::NoSuchPiece {
            piece: lossy_string(text),
        })
    }

    /// The piece that [`find`](Self::find) means.
    fn lookup(&self, text: &[u8]) -> Option<PieceId> {
        if self.texts.get(text).is_none_or(|count| *count == 0) {
            return None;
        }
        let same = |slot: &Slot| slot.text == text;
        let is_meta = |slot: &Slot| !slot.kind.is_from_text() && same(slot);
        let meta = self.slots.iter().position(is_meta);
        let index = meta.or_else(|| self.slots.iter().position(same))?;
        Some(PieceId::from_index(index))
    }

    fn check_absent(&self, text: &[u8]) -> Result<(), EditError> {
        match self.lookup(text) {
            None => Ok(()),
            Some(id) => Err(EditError::PieceExists {
                piece: lossy_string(text),
                id: id.index(),
                kind: self.slots[id.index()].kind,
            }),
        }
    }

    fn finish(mut self, original: &Model) -> Result<EditedModel, EditError> {
        for (role, text) in std::mem::take(&mut self.specials) {
            let id = self.find(&text)?;
            let spec = self.editor.trainer_spec_mut();
            let (id_field, text_field) = match role {
                SpecialRole::Bos => (&mut spec.bos_id, &mut spec.bos_piece),
                SpecialRole::Eos => (&mut spec.eos_id, &mut spec.eos_piece),
                SpecialRole::Pad => (&mut spec.pad_id, &mut spec.pad_piece),
            };
            *id_field = i32::try_from(id.get()).ok();
            *text_field = Some(text);
        }
        let model = self.editor.finish()?;
        let old_ids = self.slots.iter().map(|slot| slot.old_id).collect();
        let ids = IdMap::from_old_ids(original.len(), old_ids);
        let differences = FoundDifferences::between(original, &model, &ids);
        Ok(EditedModel {
            text_change: TextChange::between(original, &model),
            model,
            ids,
            lost: differences.lost,
            gained: differences.gained,
        })
    }
}

fn set_rules(spec: &mut NormalizerSpec, rules: &NormalizerSpec) {
    spec.name.clone_from(&rules.name);
    spec.precompiled_charsmap
        .clone_from(&rules.precompiled_charsmap);
    // `spm_train` records an empty path, too.
    let no_path = spec.normalization_rule_tsv.as_ref().map(|_| Vec::new());
    spec.normalization_rule_tsv = rules.normalization_rule_tsv.clone().or(no_path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapt::guarantees::assert_edited;

    #[test]
    fn edits_change_what_they_say_and_nothing_else() {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let add = |text: &str, kind| EditStep::Add {
            text: bytes(text),
            kind,
        };
        let cases = [
            vec![],
            vec![add("<c>", PieceKind::Control)],
            vec![
                add("the r", PieceKind::UserDefined),
                add("zq", PieceKind::Normal),
            ],
            vec![EditStep::Insert {
                id: PieceId::new(3),
                text: bytes("right"),
                kind: PieceKind::UserDefined,
            }],
            vec![
                EditStep::Rename {
                    old: bytes("e"),
                    new: bytes("zqx"),
                },
                EditStep::Remove { text: bytes("a") },
            ],
            vec![EditStep::SetKind {
                text: bytes("\u{2581}the"),
                kind: PieceKind::Unused,
            }],
            vec![EditStep::SetFlag {
                flag: NormalizerFlag::AddDummyPrefix,
                value: false,
            }],
            vec![EditStep::SetNormalization {
                rules: NormalizerSpec::named("nmt_nfkc_cf").unwrap(),
            }],
        ];
        let lines = [
            "the right to life",
            "Wörter 中文 \u{1f600}",
            "<c> zq zqx",
            "",
        ];
        for name in ["golden/llama2", "run/unigram", "run/word", "run/bpe_unused"] {
            let root = env!("CARGO_MANIFEST_DIR");
            let model = Model::open(format!("{root}/testdata/{name}.model")).unwrap();
            let mut edits = 0;
            for steps in &cases {
                if let Ok(edited) = model.apply_edits(steps) {
                    assert_edited(&model, &edited, steps, &lines);
                    edits += 1;
                }
            }
            assert!(edits > 4, "{name}: only {edits} edits");
        }
    }
}
