//! The parts of a `tokenizer.json` as a model, and the verdict.
//!
//! Input: the bytes of the file. Output: an [`UnjudgedModel`], which computes the verdict on
//! request, so that another thread can build the tables of the model meanwhile. What both types of
//! models share is here; the reasons of added tokens are in [`added_tokens`], the pieces that begin
//! and end texts in [`special_pieces`]. The pieces of BPE models are in [`bpe`], those of unigram
//! models in [`unigram`]. Example: the added token `<s>` with `special: true` becomes the control
//! piece `<s>` and the beginning-of-sentence piece in the trainer spec.
//!
//! Cost: linear in the file, besides the analysis of merges.

mod added_tokens;
mod bpe;
mod entries;
mod pair_finder;
mod pairs;
mod read_pairs;
mod special_pieces;
#[cfg(test)]
mod tests;
mod unigram;

use std::sync::Arc;
use std::thread;

use self::bpe::MergeEvidence;
use self::entries::VocabularyEntries;
use self::special_pieces::record_special_pieces;
use super::super::{ConvertedModel, FileFormat, Reason, ReasonKind, Verdict};
use super::components::JsonFlags;
use super::lists::{JsonLists, JsonMerges, JsonVocab};
use super::normalization::rules_reasons;
use super::parse::{JsonAddedToken, JsonFile, JsonModel};
use super::{add_reasons, syntax};
use crate::error::ConvertError;
use crate::join::result_of;
use crate::model::validate::byte_of_piece;
use crate::model::{Model, ModelBuilder, ModelType};
use crate::piece::{PieceId, PieceIndex, PieceKind, PieceTable};

/// Starting another thread takes longer than the work on shorter lists.
const MIN_PARALLEL_ENTRIES: usize = 1 << 12;

/// A model whose merges have not been compared with those of the list yet.
#[derive(Debug)]
pub(crate) struct UnjudgedModel {
    pub(crate) model: Model,
    verdict: Verdict,
    /// `None` for a unigram model, whose verdict is complete.
    merges: Option<MergeEvidence>,
}

impl UnjudgedModel {
    /// The model with its verdict.
    ///
    /// # Errors
    /// As [`UnjudgedModel::verdict`].
    pub(super) fn judged(self) -> Result<ConvertedModel, ConvertError> {
        let verdict = self.verdict()?;
        let model = self.model;
        Ok(ConvertedModel { model, verdict })
    }

    /// Compares the merges and returns the verdict, which is the same each time.
    ///
    /// # Errors
    /// The user-defined symbols do not fit in a trie, which cannot happen for a loaded model.
    pub(crate) fn verdict(&self) -> Result<Verdict, ConvertError> {
        let mut verdict = self.verdict.clone();
        add_reasons(&mut verdict, self.merge_reasons()?);
        Ok(verdict)
    }

    fn merge_reasons(&self) -> Result<Vec<Reason>, ConvertError> {
        match &self.merges {
            Some(merges) => merges.reasons(&self.model),
            None => Ok(Vec::new()),
        }
    }
}

/// Reads a file.
///
/// # Errors
/// See [`Model::from_tokenizer_json`].
pub(super) fn read(bytes: &[u8]) -> Result<UnjudgedModel, ConvertError> {
    let text = simdutf8::compat::from_utf8(without_byte_order_mark(bytes)).map_err(syntax)?;
    let (lists, entries) = read_lists(text)?;
    let file = JsonFile::parse(&lists.rest).map_err(|error| rest_error(text, error))?;
    let (model_type, vocab) = model_type(&file.model, &lists)?;
    check_settings(&file.model)?;
    let entries = with_added(entries, vocab, file.tokens())?;
    let import = Import {
        flags: JsonFlags::of_file(&file)?,
        file: &file,
        vocab,
        merges: &lists.merges,
        verdict: Verdict::default(),
        model_type,
        has_byte_fallback: false,
        unknown: None,
    };
    import.finish(entries)
}

fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes)
}

/// The lists of a file, and the entries of its vocabulary, which another thread makes while the
/// merges are read. No entries if the vocabulary is short or unusual, or if there is no other
/// thread.
fn read_lists(text: &str) -> Result<(JsonLists<'_>, Option<VocabularyEntries>), ConvertError> {
    thread::scope(|scope| {
        let mut entries = None;
        let lists = JsonLists::cut_out(text, &mut |vocab| {
            if entries.is_none() && vocab.len() >= MIN_PARALLEL_ENTRIES {
                let vocab = Arc::clone(vocab);
                let make = move || VocabularyEntries::of_vocabulary(&vocab, 0).ok();
                entries = thread::Builder::new().spawn_scoped(scope, make).ok();
            }
        })?;
        Ok((lists, entries.and_then(result_of)))
    })
}

/// The error of the rest of a file. Reading the whole file gives the same error at its position in
/// the file.
fn rest_error(text: &str, error: serde_json::Error) -> ConvertError {
    let whole = JsonFile::parse(text).err();
    syntax(whole.unwrap_or(error))
}

/// The type of a model, and its vocabulary; files of old versions do not name the type.
fn model_type<'l, 'j>(
    model: &JsonModel<'_>,
    lists: &'l JsonLists<'j>,
) -> Result<(ModelType, &'l JsonVocab<'j>), ConvertError> {
    let kind = model.kind.as_deref();
    check_type(kind)?;
    let vocab = lists.vocabulary()?;
    match (kind, vocab.has_scores()) {
        (Some("BPE") | None, false) => Ok((ModelType::Bpe, vocab)),
        (Some("Unigram") | None, true) => Ok((ModelType::Unigram, vocab)),
        _ => Err(syntax("model.vocab does not fit model.type")),
    }
}

/// Refuses other types than BPE and unigram.
fn check_type(kind: Option<&str>) -> Result<(), ConvertError> {
    match kind {
        None | Some("BPE" | "Unigram") => Ok(()),
        Some(kind) => refuse("model.type", kind),
    }
}

/// Refuses settings that no model has.
fn check_settings(model: &JsonModel<'_>) -> Result<(), ConvertError> {
    let prefix = model.continuing_subword_prefix.as_deref();
    check_empty("model.continuing_subword_prefix", prefix)?;
    let suffix = model.end_of_word_suffix.as_deref();
    check_empty("model.end_of_word_suffix", suffix)
}

/// Refuses a field with a text.
fn check_empty(name: &str, text: Option<&str>) -> Result<(), ConvertError> {
    match text {
        None | Some("") => Ok(()),
        Some(text) => refuse(name, text),
    }
}

fn refuse(component: &str, text: &str) -> Result<(), ConvertError> {
    Err(unsupported(component, format!("{text:?}")))
}

fn unsupported(component: &str, found: String) -> ConvertError {
    ConvertError::Unsupported {
        format: FileFormat::TokenizerJson,
        component: component.to_owned(),
        found,
        remedy: "BPE and unigram models with the normalization of SentencePiece can be converted",
    }
}

/// The entries of the vocabulary, which are made here if they were not before, and of the added
/// tokens.
fn with_added(
    entries: Option<VocabularyEntries>,
    vocab: &JsonVocab<'_>,
    added: &[JsonAddedToken<'_>],
) -> Result<VocabularyEntries, ConvertError> {
    let entries = match entries {
        Some(entries) => entries,
        None => VocabularyEntries::of_vocabulary(vocab, added.len())?,
    };
    entries.with_added(vocab, added)
}

/// What is known of the file while it is read.
struct Import<'f, 'j> {
    file: &'f JsonFile<'j>,
    vocab: &'f JsonVocab<'j>,
    merges: &'f JsonMerges<'j>,
    flags: JsonFlags,
    verdict: Verdict,
    model_type: ModelType,
    has_byte_fallback: bool,
    /// The unknown piece, once it was looked for.
    unknown: Option<PieceId>,
}

impl Import<'_, '_> {
    /// The model.
    fn finish(mut self, entries: VocabularyEntries) -> Result<UnjudgedModel, ConvertError> {
        self.add_reasons_of_settings();
        self.add_reasons_of_added_tokens();
        self.check_byte_pieces(&entries);
        match self.model_type {
            ModelType::Unigram => self.unigram(entries),
            _ => self.bpe(entries),
        }
    }

    fn reason(&mut self, kind: ReasonKind, explanation: impl Into<String>) {
        self.verdict.add(Reason::new(kind, explanation));
    }

    fn add_reasons(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        add_reasons(&mut self.verdict, reasons);
    }

    /// Reasons of the model's settings and of the normalizer and the pre-tokenizer.
    fn add_reasons_of_settings(&mut self) {
        let reasons = std::mem::take(&mut self.flags.reasons);
        self.add_reasons(reasons);
        let file = self.file;
        let settings = [
            (
                file.model.has_dropout(),
                "model.dropout is set: tokenizers skips merges at random",
            ),
            (
                file.truncation.is_some(),
                "truncation is set: tokenizers cuts off long texts",
            ),
            (
                file.padding.is_some(),
                "padding is set: tokenizers fills up short texts",
            ),
        ];
        let set = settings.into_iter().filter(|(is_set, _)| *is_set);
        set.for_each(|(_, explanation)| self.reason(ReasonKind::Setting, explanation));
    }

    /// Finds out whether every byte has a piece. If none has, `tokenizers` gives the unknown piece,
    /// as without byte fallback.
    fn check_byte_pieces(&mut self, entries: &VocabularyEntries) {
        if self.file.model.byte_fallback != Some(true) {
            return;
        }
        let (present, missing): (Vec<u8>, Vec<u8>) =
            (0..=u8::MAX).partition(|byte| entries.has_byte_piece(*byte));
        self.has_byte_fallback = missing.is_empty();
        if let Some(byte) = missing.first().filter(|_| !present.is_empty()) {
            self.reason(
                ReasonKind::UnknownCharacter,
                format!("byte_fallback is on, but the piece <0x{byte:02X}> is missing"),
            );
        }
    }

    /// The kind of a piece that does not depend on the type of the model.
    fn meta_kind(&self, entries: &VocabularyEntries, id: usize) -> Option<PieceKind> {
        let text = entries.text(id)?;
        if self.is_unknown(id) {
            return Some(PieceKind::Unknown);
        }
        if self.has_byte_fallback && byte_of_piece(text).is_some() {
            return Some(PieceKind::Byte);
        }
        entries.added_kind(id)
    }

    fn is_unknown(&self, id: usize) -> bool {
        self.unknown.is_some_and(|unknown| unknown.index() == id)
    }

    /// Builds the model, with the ids of the special pieces. `pieces` has the score and the kind of
    /// each id.
    fn build(
        &mut self,
        entries: VocabularyEntries,
        pieces: Vec<(f32, PieceKind)>,
    ) -> Result<Model, ConvertError> {
        self.add_reasons_of_nul(&entries);
        let mut builder = self.builder();
        record_special_pieces(builder.trainer_spec_mut(), &entries);
        let (table, index) = self.tables(entries, pieces);
        let model = builder.build_indexed(table, index)?;
        self.add_reasons_of_rules(&model);
        Ok(model)
    }

    fn add_reasons_of_nul(&mut self, entries: &VocabularyEntries) {
        if entries.has_nul() {
            self.reason(
                ReasonKind::MetaPiece,
                "a piece contains a NUL, which SentencePiece models cannot contain",
            );
        }
    }

    /// A builder with the type and the normalization.
    fn builder(&self) -> ModelBuilder {
        let flags = &self.flags;
        let mut builder = Model::builder();
        builder.model_type(self.model_type);
        builder.add_dummy_prefix(flags.add_dummy_prefix);
        builder.remove_extra_whitespaces(flags.remove_extra_whitespaces);
        builder.escape_whitespaces(flags.escape_whitespaces);
        builder.normalization_rules(flags.rules_name(), &flags.charsmap);
        let trainer_spec = builder.trainer_spec_mut();
        trainer_spec.byte_fallback = Some(self.has_byte_fallback);
        if flags.treat_whitespace_as_suffix {
            trainer_spec.treat_whitespace_as_suffix = Some(true);
        }
        builder
    }

    /// The pieces of the model by id, and by text.
    fn tables(
        &self,
        entries: VocabularyEntries,
        pieces: Vec<(f32, PieceKind)>,
    ) -> (PieceTable, PieceIndex) {
        let missing_unknown = self.needs_unknown().then(|| entries.new_text("<unk>"));
        let (mut table, mut index) = entries.into_pieces();
        for (id, (score, kind)) in pieces.into_iter().enumerate() {
            table.set(id, score, kind);
        }
        if let Some(text) = missing_unknown {
            table.push(text.as_bytes(), 0.0, PieceKind::Unknown);
            index.insert(&table, table.len() - 1);
        }
        (table, index)
    }

    /// Whether the model needs an unknown piece that the file does not have.
    fn needs_unknown(&self) -> bool {
        self.unknown.is_none() && !self.has_byte_fallback
    }

    fn add_reasons_of_rules(&mut self, model: &Model) {
        if !self.flags.charsmap.is_empty() {
            self.add_reasons(rules_reasons(model));
        }
    }
}
