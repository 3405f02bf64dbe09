//! Extension: continues the training of a BPE model on other text.
//!
//! The new pieces are those that training would learn next: merging begins with the text as the
//! model segments it (see `continued`). They are normal pieces with scores below all others, in the
//! order of learning. Each has its count and the old tokens that it replaces, from which its
//! embedding can be initialized.
//!
//! Ids: the model's pieces keep theirs; after them come added control and user-defined pieces,
//! then the learned pieces, then reserved control pieces `<reserved_0>`, ... up to a multiple.
//! Learned pieces take the ids of [`ExtendOptions::reuse`] first.
//!
//! # Guarantees
//!
//! *The base* is the model itself; with pieces to reuse or added special pieces it is the model
//! after these changes.
//!
//! | | statement |
//! |---|---|
//! | G0 | pieces, ids, scores and kinds of the base are unchanged, and so are all other bytes of its file but `vocab_size` |
//! | G1 | a text without a new piece as a part of its normalized form has the ids of the base |
//! | G2 | every boundary between tokens was a boundary before, so there are never more tokens (models without unused pieces; a run of unknown characters counts as its characters) |
//! | G3 | every learned piece is reachable: its text encodes to it |
//! | G4 | the first k of n learned pieces are the k learned pieces; learning in two steps is learning in one |
//! | G5 | a model trained with n merges, extended by m on the same text, has the pieces of n + m merges, in their order |
//! | G6 | counts are those of the encoder: at each moment the text is segmented as the new model would do it |
//!
//! Tests check G0 to G3 on the model, on the text of each piece, and on lines
//! (`tests/it/hostile/guarantees.rs`). Proofs are in `docs/design/ADAPTING.md`. G6 holds for text without
//! special pieces in it; like training, learning stops at their texts.
//!
//! Example: the pieces `a` `b` `c` `ab` and the text `abc abc`. The best pair is `ab` and `c`: the
//! new piece `abc` with count 2 replaces the tokens `ab c`.

pub(in crate::adapt) mod bytes;
mod continued;
mod slots;

use std::num::NonZeroUsize;

pub use self::bytes::{ByteExtendOptions, ExtendedBytes, Superwords};
use self::continued::ContinuedTrainer;
pub use self::continued::NewCharacters;
use self::slots::IdSlots;
use super::id_map::IdMap;
use super::pieces::{has_unused_pieces, lowest_score};
use super::scores::ScoresBelow;
use super::text_change::TextChange;
use crate::adapt::error::ExtendError;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::{ModelTables, NormalizedEncoder, TokenizerConfig};
use crate::train::bpe::merge::LearnedMerge;
use crate::train::{Corpus, Event, Observer, Summary, TrainOptions};

/// How many pieces an extension learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtendSize {
    /// This many new pieces.
    Learn(usize),
    /// As many as make a vocabulary of this size, all kinds of pieces together.
    Vocabulary(usize),
    /// As many as bring the size of the vocabulary to the next multiple of this number above the
    /// current size.
    NextMultiple(NonZeroUsize),
}

impl ExtendSize {
    /// How many pieces are to be learned, if the base has `base_len` and so many ids are reused.
    fn learned(self, base_len: usize, reused: usize) -> Result<usize, ExtendError> {
        let size = match self {
            Self::Learn(size) => return Ok(size),
            Self::Vocabulary(size) => size,
            Self::NextMultiple(multiple) => {
                let next = base_len.saturating_add(1);
                let size = next.checked_next_multiple_of(multiple.get());
                size.unwrap_or(usize::MAX)
            }
        };
        match size.checked_sub(base_len) {
            Some(new) => Ok(new.saturating_add(reused)),
            None => Err(ExtendError::TooSmall {
                size,
                smallest: base_len,
            }),
        }
    }
}

/// Options of [`Model::extend`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExtendOptions {
    /// How many pieces are learned.
    pub size: ExtendSize,
    /// Fill up with reserved control pieces until the size of the vocabulary is a multiple of this
    /// number.
    pub multiple_of: Option<NonZeroUsize>,
    /// The rules for new pieces and sentences: the lengths, the `split_*` options,
    /// `allow_whitespace_only_pieces`, `character_coverage`, `pretokenization_delimiter`, the input
    /// format and the selection of sentences. All other options have no effect, since the model
    /// decides.
    pub training: TrainOptions,
    /// How characters that the model lacks become pieces.
    pub characters: NewCharacters,
    /// Control, unused or user-defined pieces whose ids the first learned pieces take.
    pub reuse: Vec<PieceId>,
    /// Texts of control pieces to add.
    pub control: Vec<String>,
    /// Texts of user-defined pieces to add.
    pub user_defined: Vec<String>,
    /// The number of threads; `None` is as in training. The result does not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// What is told of the progress.
    pub observer: Observer,
}

impl ExtendOptions {
    /// Options with the rules that `model` was trained with, as its trainer spec records them.
    pub fn new(model: &Model, size: ExtendSize) -> Self {
        Self {
            size,
            multiple_of: None,
            training: TrainOptions::of_model(model),
            characters: match model.trainer_spec().byte_fallback() {
                true => NewCharacters::ByGain,
                false => NewCharacters::Coverage,
            },
            reuse: Vec::new(),
            control: Vec::new(),
            user_defined: Vec::new(),
            threads: None,
            observer: Observer::default(),
        }
    }
}

/// A piece that was learned.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExtensionPiece {
    /// Its id.
    pub id: PieceId,
    /// How often its parts were adjacent when it was learned; for a character, how often it occurs.
    pub count: u64,
    /// What its text was encoded to before: ids of the old model.
    pub replaced: Vec<PieceId>,
}

/// A model after [`Model::extend`].
#[derive(Debug, Clone)]
pub struct ExtendedModel {
    model: Model,
    /// The model with the changes that were made before learning.
    base: Model,
    ids: IdMap,
    text_change: TextChange,
    pieces: Vec<ExtensionPiece>,
}

impl Model {
    /// Adds pieces that continued training learns from `corpus`; see [`ExtendedModel`].
    ///
    /// ```
    /// use spiece::adapt::{ExtendOptions, ExtendSize};
    /// use spiece::{Corpus, Model, Tokenizer};
    ///
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let options = ExtendOptions::new(&model, ExtendSize::Learn(2));
    /// let text = ["spiece and spiece", "spiece"];
    /// let extended = model.extend(Corpus::texts(text), &options)?;
    /// assert_eq!(extended.model().len(), model.len() + 2);
    /// let old = Tokenizer::new(model).encode(text[0]);
    /// let new = Tokenizer::new(extended.model().clone()).encode(text[0]);
    /// assert!(new.len() < old.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The model is no BPE model, the corpus cannot be read or does not give as many pieces, there
    /// is no score below those of the model, or the options do not fit the model.
    /// [`TrainError::Cancelled`](crate::TrainError::Cancelled) if the observer asks to stop.
    pub fn extend(
        &self,
        corpus: Corpus<'_>,
        options: &ExtendOptions,
    ) -> Result<ExtendedModel, ExtendError> {
        let model_type = self.model_type();
        if model_type != ModelType::Bpe {
            return Err(ExtendError::Type { model_type });
        }
        let base = slots::base_model(self, options)?;
        let reused = slots::reusable(self, options);
        let wanted = options.size.learned(base.len(), reused.len())?;
        let (learned, summary) = learn(&base, corpus, options, wanted)?;
        let texts = slots::texts(&base);
        let base_len = (base.len(), &texts);
        let slots = IdSlots::new(base_len, reused, learned.len(), options.multiple_of);
        let model = with_learned(&base, &learned, &slots)?;
        let ids = slots.id_map(self.len(), model.len());
        options.observer.report(Event::Finished(&summary))?;
        Ok(ExtendedModel {
            text_change: TextChange::between(&base, &model),
            pieces: extension_pieces(self, &learned, &slots),
            ids,
            model,
            base,
        })
    }
}

/// Learns `wanted` pieces.
fn learn(
    base: &Model,
    corpus: Corpus<'_>,
    options: &ExtendOptions,
    wanted: usize,
) -> Result<(Vec<LearnedMerge>, Summary), ExtendError> {
    if wanted == 0 {
        return Ok((Vec::new(), Summary::default()));
    }
    slots::check_symbols(base)?;
    let mut trainer = ContinuedTrainer::new(base, &options.training, options.characters)?;
    if let Some(threads) = options.threads {
        trainer = trainer.with_threads(threads);
    }
    let learned = trainer.learn(corpus, wanted, &options.observer)?;
    let available = learned.pieces.len();
    if available < wanted {
        return Err(ExtendError::TooFewPieces { wanted, available });
    }
    Ok((learned.pieces, learned.summary))
}

/// The base with the learned pieces and the padding.
fn with_learned(
    base: &Model,
    learned: &[LearnedMerge],
    slots: &IdSlots,
) -> Result<Model, ExtendError> {
    if slots.is_empty() {
        return Ok(base.clone());
    }
    let lowest = lowest_score(base).ok_or(ExtendError::NoLowerScore)?;
    let mut scores = ScoresBelow::new(lowest);
    let mut editor = base.edit();
    for (piece, id) in learned.iter().zip(slots.learned()) {
        let score = scores.next().ok_or(ExtendError::NoLowerScore)?;
        let text = &*piece.text;
        if id.index() < editor.len() {
            editor.rename_piece(id, text);
            editor.set_score(id, score);
            editor.set_kind(id, PieceKind::Normal);
        } else {
            editor.add_piece(text, score, PieceKind::Normal);
        }
    }
    for (text, _) in slots.padding() {
        editor.add_piece(text, 0.0, PieceKind::Control);
    }
    let size = i32::try_from(editor.len()).map_err(|_| ExtendError::TooManyPieces)?;
    editor.trainer_spec_mut().vocab_size = Some(size);
    Ok(editor.finish()?)
}

/// What became of the learned pieces.
fn extension_pieces(
    model: &Model,
    learned: &[LearnedMerge],
    slots: &IdSlots,
) -> Vec<ExtensionPiece> {
    let tables = ModelTables::new(model.clone(), TokenizerConfig::default());
    let mut encoder = NormalizedEncoder::new(&tables);
    let pieces = learned.iter().zip(slots.learned());
    pieces
        .map(|(piece, id)| ExtensionPiece {
            id,
            count: piece.count,
            replaced: encoder.encode_resolved(&piece.text).to_vec(),
        })
        .collect()
}

impl ExtendedModel {
    /// The extended model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How old and new ids correspond: old ids stay, but for those that were reused.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// The learned pieces, in the order of learning.
    pub fn pieces(&self) -> &[ExtensionPiece] {
        &self.pieces
    }

    /// For which texts the pieces can differ from those of the base.
    pub fn text_change(&self) -> &TextChange {
        &self.text_change
    }

    /// Whether G2 applies: no text has a new boundary.
    pub fn keeps_boundaries(&self) -> bool {
        !has_unused_pieces(&self.base)
    }

    /// A line for each learned piece: id, text, the old ids that it replaces with spaces between
    /// them, and its count, separated by tabs. A line with these names comes first.
    pub fn to_tsv(&self) -> Vec<u8> {
        let text = |id| self.model.piece(id).map_or(&[][..], |piece| piece.text);
        tsv(&self.pieces, |id| text(id).to_vec())
    }
}

/// The lines of `to_tsv`; `text` gives the text of a piece.
fn tsv(pieces: &[ExtensionPiece], text: impl Fn(PieceId) -> Vec<u8>) -> Vec<u8> {
    let mut tsv = b"id\tpiece\treplaced\tcount\n".to_vec();
    for learned in pieces {
        let replaced: Vec<String> = learned.replaced.iter().map(PieceId::to_string).collect();
        tsv.extend(format!("{}\t", learned.id).as_bytes());
        tsv.extend(text(learned.id));
        tsv.extend(format!("\t{}\t{}\n", replaced.join(" "), learned.count).as_bytes());
    }
    tsv
}

#[cfg(test)]
mod tests;
