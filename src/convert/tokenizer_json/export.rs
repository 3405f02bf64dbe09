//! A model as the parts of a `tokenizer.json`, and the verdict.
//!
//! Input: a model and options. Output: [`JsonParts`]. Nothing is written here; the analysis that gives the verdict and the
//! parts that are written come from the same functions.
//!
//! # The verdict for BPE models
//! The ids are equal for all text if the normalized texts, the symbols that are found in them, and the merges are equal, and
//! if characters without a piece get the same ids. The modules `normalization`, `symbols` and `order` give the reasons for the
//! first three. Here are the rest: symbols of merges that are no pieces, unused pieces, and single characters whose piece is not
//! given for text.
//!
//! # The verdict for unigram models
//! SentencePiece adds scores as 32-bit floats, `tokenizers` as 64-bit floats. So two segmentations whose sums are nearly equal
//! can be chosen differently, in some long enough text of nearly every model; unigram models are never exact. Besides,
//! `tokenizers` finds every piece of the vocabulary in text, control, byte and unused pieces included.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::merges::MergeTable;
use super::super::order::{MergeOrder, OrderedMerge, is_merged, named, plain_text, symbols_of};
use super::super::{FileFormat, Reason, ReasonKind, Verdict};
use super::JsonOptions;
use super::normalization::{JsonNormalization, JsonNormalizer};
use super::symbols::JsonSymbols;
use crate::encode::unigram::symbol_score;
use crate::error::ConvertError;
use crate::model::{Model, ModelType, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::text::char_length;
use crate::tokenizer::Tokenizer;

/// Texts before a piece in examples, tried in this order.
const EXAMPLE_CONTEXTS: [&str; 4] = ["", " ", "\n", "0"];

/// Everything that a `tokenizer.json` says.
#[derive(Debug)]
pub(super) struct JsonParts<'m> {
    pub(super) model: &'m Model,
    /// The texts of the pieces, by id; stand-ins for those that JSON or `tokenizers` cannot hold.
    pub(super) keys: Vec<Cow<'m, str>>,
    /// Control, unknown and user-defined pieces that are found in text, by id.
    pub(super) added: Vec<PieceId>,
    pub(super) normalizers: Vec<JsonNormalizer>,
    /// The merges of a BPE model.
    pub(super) merges: Vec<OrderedMerge>,
    /// The scores of a unigram model, by id.
    pub(super) scores: Vec<f32>,
    pub(super) unknown: Option<PieceId>,
    /// The pieces that are put before and behind every text.
    pub(super) bos: Option<PieceId>,
    pub(super) eos: Option<PieceId>,
    pub(super) verdict: Verdict,
}

impl<'m> JsonParts<'m> {
    /// Analyses a model.
    ///
    /// # Errors
    /// The model has another type than BPE and unigram, or lacks a piece that an option asks for.
    pub(super) fn new(model: &'m Model, options: &JsonOptions) -> Result<Self, ConvertError> {
        let trainer_spec = model.trainer_spec();
        let mut parts = JsonParts {
            model,
            keys: keys(model),
            added: Vec::new(),
            normalizers: Vec::new(),
            merges: Vec::new(),
            scores: Vec::new(),
            unknown: model.unknown_piece(),
            bos: required(model, "bos", options.add_bos, trainer_spec.bos_piece())?,
            eos: required(model, "eos", options.add_eos, trainer_spec.eos_piece())?,
            verdict: Verdict::default(),
        };
        match model.model_type() {
            ModelType::Bpe => parts.add_bpe()?,
            ModelType::Unigram => parts.add_unigram(),
            model_type => {
                let format = FileFormat::TokenizerJson;
                return Err(ConvertError::Type { model_type, format });
            }
        }
        parts.add_control_pieces();
        Ok(parts)
    }

    fn add_reasons(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        reasons
            .into_iter()
            .for_each(|reason| self.verdict.add(reason));
    }

    fn add_bpe(&mut self) -> Result<(), ConvertError> {
        let model = self.model;
        let symbols = JsonSymbols::new(model);
        let normalization = JsonNormalization::new(model, &symbols.texts());
        self.added = symbols.added.iter().map(|piece| piece.id).collect();
        self.normalizers = normalization.normalizers;
        self.add_reasons(normalization.reasons);
        self.add_reasons(symbols.reasons);
        let table = MergeTable::new(model)?;
        let order = MergeOrder::new(model, &table);
        self.add_reasons(order.reasons);
        let analysis = MergeReasons::new(model, &table);
        // Well-formed text is never merged to a piece that is not UTF-8.
        let is_written = |merge: &OrderedMerge| {
            let text = model.table().text(merge.piece.index());
            std::str::from_utf8(text).is_ok() && analysis.uncovered_symbol(*merge).is_none()
        };
        self.merges = order.merges.iter().copied().filter(is_written).collect();
        self.verdict_of_merges(&analysis, &order.merges);
        Ok(())
    }

    fn verdict_of_merges(&mut self, analysis: &MergeReasons<'_>, merges: &[OrderedMerge]) {
        let reasons = [
            analysis.uncovered(merges),
            analysis.unused(),
            analysis.single_characters(),
        ];
        self.add_reasons(reasons.into_iter().flatten());
    }

    fn add_unigram(&mut self) {
        let model = self.model;
        let normalization = JsonNormalization::new(model, &[]);
        self.normalizers = normalization.normalizers;
        self.add_reasons(normalization.reasons);
        self.scores = unigram_scores(model);
        let reasons = unigram_reasons(model, &self.keys);
        self.add_reasons(reasons);
    }

    /// Control pieces and the unknown piece are found in text.
    fn add_control_pieces(&mut self) {
        let is_found = |piece: &Piece<'_>| {
            let is_special = matches!(piece.kind, PieceKind::Control | PieceKind::Unknown);
            is_special && std::str::from_utf8(piece.text).is_ok() && piece.text != b"\0"
        };
        let found = self.model.pieces().filter(is_found).map(|piece| piece.id);
        self.added.extend(found);
        self.added.sort_unstable();
    }

    /// Whether an added token is special: it is skipped in decoded text.
    pub(super) fn is_special(&self, id: PieceId) -> bool {
        self.model.table().kind(id.index()) != PieceKind::UserDefined
    }

    /// The text of a piece in the file.
    pub(super) fn key(&self, id: PieceId) -> &str {
        &self.keys[id.index()]
    }
}

/// The piece that is put at an end of every text, if the option `is_wanted`.
///
/// # Errors
/// [`ConvertError::NoSuchPiece`]
fn required(
    model: &Model,
    option: &'static str,
    is_wanted: bool,
    text: &[u8],
) -> Result<Option<PieceId>, ConvertError> {
    if !is_wanted {
        return Ok(None);
    }
    let missing = || ConvertError::NoSuchPiece {
        option,
        piece: crate::text::lossy_string(text),
    };
    control_piece(model, text).map(Some).ok_or_else(missing)
}

/// The control piece with this text.
pub(super) fn control_piece(model: &Model, text: &[u8]) -> Option<PieceId> {
    let id = model.piece_to_id(text)?;
    (model.table().kind(id.index()) == PieceKind::Control).then_some(id)
}

/// The texts of the pieces. A piece that is not UTF-8, and a NUL, get a text that no other piece has.
fn keys(model: &Model) -> Vec<Cow<'_, str>> {
    let mut taken: HashSet<String> = HashSet::new();
    let stand_in = |piece: &Piece<'_>, taken: &mut HashSet<String>| {
        let mut text = format!("<unusable piece {}>", piece.id);
        while model.piece_to_id(&text).is_some() || taken.contains(&text) {
            text.push('_');
        }
        taken.insert(text.clone());
        Cow::Owned(text)
    };
    let key = |piece: Piece<'_>| match std::str::from_utf8(model.table().text(piece.id.index())) {
        Ok(text) if text != "\0" => Cow::Borrowed(text),
        _ => stand_in(&piece, &mut taken),
    };
    model.pieces().map(key).collect()
}

/// Reasons that concern the merges of a BPE model.
pub(super) struct MergeReasons<'m> {
    model: &'m Model,
    table: &'m MergeTable,
}

impl<'m> MergeReasons<'m> {
    pub(super) fn new(model: &'m Model, table: &'m MergeTable) -> Self {
        MergeReasons { model, table }
    }

    /// A symbol of a merge that is no piece.
    fn uncovered_symbol(&self, merge: OrderedMerge) -> Option<&'m [u8]> {
        let (left, right) = symbols_of(self.model, merge);
        [left, right]
            .into_iter()
            .find(|text| self.model.piece_to_id(text).is_none())
    }

    /// The reason if some merges have a symbol that is no piece.
    fn uncovered(&self, merges: &[OrderedMerge]) -> Option<Reason> {
        let uncovered = merges
            .iter()
            .filter(|merge| self.uncovered_symbol(**merge).is_some());
        let pieces: Vec<PieceId> = uncovered.map(|merge| merge.piece).collect();
        let first = *pieces.first()?;
        let explanation = format!(
            "{} pieces have a character that is no piece, for example {}; SentencePiece merges such characters, tokenizers cannot",
            pieces.len(),
            named(self.model, first)
        );
        let mut reason = Reason::new(ReasonKind::UncoveredCharacter, explanation);
        let tokenizer = Tokenizer::new(self.model.clone());
        reason.example = pieces
            .iter()
            .take(100)
            .find_map(|piece| text_with(&tokenizer, *piece));
        Some(reason)
    }

    /// The reason if text is merged to unused pieces.
    fn unused(&self) -> Option<Reason> {
        let is_unused =
            |piece: &Piece<'_>| piece.kind == PieceKind::Unused && is_merged(self.table, piece.id);
        let pieces: Vec<Piece<'_>> = self.model.pieces().filter(is_unused).collect();
        let first = pieces.first()?;
        let explanation = format!(
            "SentencePiece merges text to {} unused pieces and splits them again, for example {}; tokenizers gives them",
            pieces.len(),
            named(self.model, first.id)
        );
        let reason = Reason::new(ReasonKind::UnusedPiece, explanation);
        Some(reason.with_example(plain_text(first.text)))
    }

    /// The reason if a single character is a piece that SentencePiece does not give for it.
    pub(super) fn single_characters(&self) -> Option<Reason> {
        let is_found = |piece: &Piece<'_>| {
            let is_char = || piece.text.len() == char_length(piece.text) && piece.text != b"\0";
            // Most pieces are given for text.
            !piece.kind.is_given_for_text() && is_char() && std::str::from_utf8(piece.text).is_ok()
        };
        let pieces: Vec<Piece<'_>> = self.model.pieces().filter(is_found).collect();
        let first = pieces.first()?;
        let explanation = format!(
            "{} {} pieces are single characters, for example {}; tokenizers finds them in text even with split_special_tokens",
            pieces.len(),
            first.kind,
            named(self.model, first.id)
        );
        let reason = Reason::new(ReasonKind::MetaPiece, explanation);
        Some(reason.with_example(plain_text(first.text)))
    }
}

/// A text for which the tokenizer gives the piece.
fn text_with(tokenizer: &Tokenizer, piece: PieceId) -> Option<String> {
    let text = plain_text(tokenizer.model().table().text(piece.index()));
    let trimmed = text.strip_prefix(' ').unwrap_or(&text);
    let texts = EXAMPLE_CONTEXTS
        .iter()
        .flat_map(|context| [format!("{context}{text}"), format!("{context}{trimmed}")]);
    texts
        .into_iter()
        .find(|text| tokenizer.encode(text).contains(&piece))
}

/// The lowest score of a normal piece.
pub(super) fn lowest_score(model: &Model) -> f32 {
    let normal = model
        .pieces()
        .filter(|piece| piece.kind == PieceKind::Normal);
    normal.map(|piece| piece.score).fold(f32::MAX, f32::min)
}

/// Scores such that `tokenizers` gives unknown characters the score that SentencePiece gives them, 10 below the lowest normal
/// piece, and user-defined symbols theirs.
fn unigram_scores(model: &Model) -> Vec<f32> {
    let lowest = lowest_score(model);
    let score = |piece: Piece<'_>| match piece.kind {
        PieceKind::Normal => piece.score,
        PieceKind::UserDefined => symbol_score(piece.text.len()),
        _ if lowest < f32::MAX => piece.score.max(lowest),
        _ => piece.score,
    };
    model.pieces().map(score).collect()
}

/// The reasons of unigram models.
pub(super) fn unigram_reasons(model: &Model, keys: &[Cow<'_, str>]) -> Vec<Reason> {
    let mut reasons = vec![Reason::new(
        ReasonKind::Rounding,
        "SentencePiece adds scores as 32-bit floats, tokenizers as 64-bit floats, so that of two segmentations with nearly equal sums \
         each may choose another one",
    )];
    let is_found = |piece: &Piece<'_>| {
        !piece.kind.is_given_for_text() && piece.text == keys[piece.id.index()].as_bytes()
    };
    let found: Vec<Piece<'_>> = model.pieces().filter(is_found).collect();
    let example = found.iter().find(|piece| piece.kind == PieceKind::Byte);
    let example = example.or(found.iter().find(|piece| piece.kind == PieceKind::Unused));
    if let Some(first) = found.first() {
        let explanation = format!(
            "tokenizers finds every piece in text that spells it, {} control, unknown, unused and byte pieces included, for example {}",
            found.len(),
            named(model, example.unwrap_or(first).id)
        );
        let mut reason = Reason::new(ReasonKind::MetaPiece, explanation);
        reason.example = example.map(|piece| plain_text(piece.text));
        reasons.push(reason);
    }
    let unusable = model
        .pieces()
        .find(|piece| piece.kind.is_from_text() && std::str::from_utf8(piece.text).is_err());
    if let Some(piece) = unusable {
        let explanation = format!("the piece {} is not UTF-8", named(model, piece.id));
        reasons.push(Reason::new(ReasonKind::PieceText, explanation));
    }
    let is_twin =
        |piece: &Piece<'_>| model.piece_to_id(piece.text) != Some(piece.id) && piece.text != b"\0";
    if let Some(piece) = model.pieces().find(is_twin) {
        let explanation = format!("another piece has the text of {}", named(model, piece.id));
        reasons.push(Reason::new(ReasonKind::PieceText, explanation));
    }
    if model.pieces().all(|piece| piece.kind != PieceKind::Unknown) {
        reasons.push(Reason::new(
            ReasonKind::UnknownCharacter,
            "the model has no unknown piece, which tokenizers needs for characters without a piece",
        ));
    }
    reasons
}
