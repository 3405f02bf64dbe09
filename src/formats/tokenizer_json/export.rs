//! A model as the parts of a `tokenizer.json`, and the verdict.
//!
//! The functions that give the verdict also give the parts that are written.
//!
//! # The verdict for BPE models
//! The ids are equal for all text if four things are equal: the normalized texts, the user-defined
//! symbols that are found in them, the merges, and the ids of characters without a piece. The
//! modules `normalization`, `symbols` and `order` give the reasons for the first three, and
//! `export::merges` the rest: symbols of merges that are not pieces, unused pieces, and single
//! characters whose piece is not given for text.
//!
//! # The verdict for unigram models
//! SentencePiece adds scores as 32-bit floats, `tokenizers` as 64-bit floats. So the choice between
//! two segmentations with nearly equal sums can differ. For nearly every model some sufficiently
//! long text shows this, so unigram models are never exact. In addition, `tokenizers` finds every
//! piece of the vocabulary in text, including control, byte and unused pieces.

mod merges;
mod unigram;

use std::borrow::Cow;
use std::collections::HashSet;

pub(super) use self::merges::MergeReasons;
use self::unigram::unigram_scores;
pub(super) use self::unigram::{lowest_score, unigram_reasons};
use super::super::merges::MergeTable;
use super::super::order::{MergeOrder, OrderedMerge};
use super::super::{FileFormat, Reason, Verdict};
use super::normalization::{JsonNormalization, JsonNormalizer};
use super::symbols::JsonSymbols;
use super::{JsonOptions, json_text, kind_of, text_of};
use crate::base::lossy_string;
use crate::formats::FormatError;
use crate::model::{Model, ModelType, Piece};
use crate::piece::{PieceId, PieceKind};

/// The content of a `tokenizer.json`.
#[derive(Debug)]
pub(super) struct JsonParts<'m> {
    pub(super) model: &'m Model,
    /// The texts of the pieces, by id; stand-ins for those that JSON or `tokenizers` cannot
    /// represent.
    pub(super) keys: Vec<Cow<'m, str>>,
    /// Control, unknown and user-defined pieces that are found in text, by id.
    pub(super) added: Vec<PieceId>,
    pub(super) normalizers: Vec<JsonNormalizer>,
    /// The merges of a BPE model.
    pub(super) merges: Vec<OrderedMerge>,
    /// The scores of a unigram model, by id.
    pub(super) scores: Vec<f32>,
    pub(super) unknown: Option<PieceId>,
    /// The pieces that are put before and after every text.
    pub(super) bos: Option<PieceId>,
    pub(super) eos: Option<PieceId>,
    pub(super) verdict: Verdict,
}

impl<'m> JsonParts<'m> {
    /// Analyses a model.
    ///
    /// # Errors
    /// The model is a word or char model, or lacks a piece that an option asks for.
    pub(super) fn new(model: &'m Model, options: &JsonOptions) -> Result<Self, FormatError> {
        let mut parts = Self::without_pieces(model, options)?;
        match model.model_type() {
            ModelType::Bpe => parts.add_bpe()?,
            ModelType::Unigram => parts.add_unigram(),
            model_type => {
                return Err(FormatError::ModelType {
                    model_type,
                    format: FileFormat::TokenizerJson,
                });
            }
        }
        parts.add_control_pieces();
        Ok(parts)
    }

    /// The parts that do not depend on the type of the model, without the control pieces.
    fn without_pieces(model: &'m Model, options: &JsonOptions) -> Result<Self, FormatError> {
        let spec = model.trainer_spec();
        Ok(Self {
            model,
            keys: keys(model),
            added: Vec::new(),
            normalizers: Vec::new(),
            merges: Vec::new(),
            scores: Vec::new(),
            unknown: model.unknown_piece(),
            bos: required(model, "bos", options.add_bos, spec.bos_piece())?,
            eos: required(model, "eos", options.add_eos, spec.eos_piece())?,
            verdict: Verdict::default(),
        })
    }

    fn add_bpe(&mut self) -> Result<(), FormatError> {
        let symbols = JsonSymbols::new(self.model);
        self.added = symbols.added.iter().map(|piece| piece.id).collect();
        self.add_normalization(&symbols.texts());
        self.add_reasons(symbols.reasons);
        self.add_merges()
    }

    fn add_normalization(&mut self, symbols: &[&str]) {
        let normalization = JsonNormalization::new(self.model, symbols);
        self.normalizers = normalization.normalizers;
        self.add_reasons(normalization.reasons);
    }

    fn add_reasons(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        self.verdict.add_all(reasons);
    }

    fn add_merges(&mut self) -> Result<(), FormatError> {
        let model = self.model;
        let table = MergeTable::new(model)?;
        let order = MergeOrder::new(model, &table);
        self.add_reasons(order.reasons);
        let analysis = MergeReasons::new(model, &table);
        let merges = order.merges.iter().copied();
        self.merges = merges.filter(|merge| analysis.is_written(*merge)).collect();
        self.add_reasons(analysis.uncovered(&order.merges));
        self.add_reasons(analysis.unused());
        self.add_reasons(analysis.single_characters());
        Ok(())
    }

    fn add_unigram(&mut self) {
        self.add_normalization(&[]);
        self.scores = unigram_scores(self.model);
        let reasons = unigram_reasons(self.model, &self.keys);
        self.add_reasons(reasons);
    }

    /// Adds the control pieces and the unknown piece, which `tokenizers` finds in text.
    fn add_control_pieces(&mut self) {
        let found = self.model.pieces().filter(is_control_in_text);
        self.added.extend(found.map(|piece| piece.id));
        self.added.sort_unstable();
    }

    /// Whether an added token is special, that is, left out of decoded text.
    pub(super) fn is_special(&self, id: PieceId) -> bool {
        kind_of(self.model, id) != PieceKind::UserDefined
    }

    /// The text of a piece in the file.
    pub(super) fn key(&self, id: PieceId) -> &str {
        &self.keys[id.index()]
    }
}

/// The piece that `option` puts at one end of every text; `None` unless it `is_wanted`.
///
/// # Errors
/// [`FormatError::NoSuchPiece`] if the option is wanted and the model lacks the piece.
fn required(
    model: &Model,
    option: &'static str,
    is_wanted: bool,
    text: &[u8],
) -> Result<Option<PieceId>, FormatError> {
    if !is_wanted {
        return Ok(None);
    }
    let missing = || FormatError::NoSuchPiece {
        option,
        piece: lossy_string(text),
    };
    control_piece(model, text).map(Some).ok_or_else(missing)
}

/// The control piece with this text.
pub(super) fn control_piece(model: &Model, text: &[u8]) -> Option<PieceId> {
    let id = model.piece_to_id(text);
    id.filter(|id| kind_of(model, *id) == PieceKind::Control)
}

/// The texts of the pieces. A piece that is not UTF-8, and a NUL, get a text that no other piece
/// has.
fn keys(model: &Model) -> Vec<Cow<'_, str>> {
    let mut taken = HashSet::new();
    let key = |id| match json_text(text_of(model, id)) {
        Some(text) => Cow::Borrowed(text),
        None => Cow::Owned(stand_in(model, id, &mut taken)),
    };
    model.pieces().map(|piece| piece.id).map(key).collect()
}

/// A text that no piece has and that is not yet `taken`.
fn stand_in(model: &Model, id: PieceId, taken: &mut HashSet<String>) -> String {
    let mut text = format!("<unusable piece {id}>");
    while model.piece_to_id(&text).is_some() || taken.contains(&text) {
        text.push('_');
    }
    taken.insert(text.clone());
    text
}

/// Whether a piece is a control piece or the unknown piece, and `tokenizers` can find it in text.
fn is_control_in_text(piece: &Piece<'_>) -> bool {
    matches!(piece.kind, PieceKind::Control | PieceKind::Unknown) && json_text(piece.text).is_some()
}
