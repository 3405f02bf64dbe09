//! The parts of a `tokenizer.json` as a model, and the verdict.
//!
//! Input: the bytes of the file. Output: an [`UnjudgedModel`], which gives the verdict: while it does, another thread can make the
//! tables of the model. What both types of models share is here: the settings, the added
//! tokens, the special pieces. The pieces of BPE models are in [`bpe`], those of unigram models in [`unigram`]. Example: the
//! added token `<s>` with `special: true` becomes the control piece `<s>` and the begin-of-sentence piece of the spec.
//!
//! Cost: linear in the file, besides the analysis of merges.

mod bpe;
mod entries;
mod pair_finder;
mod pairs;
mod read_pairs;
#[cfg(test)]
mod tests;
mod unigram;

use std::sync::Arc;
use std::thread;

use self::bpe::MergeEvidence;
use self::entries::VocabularyEntries;
use super::super::{FileFormat, Reason, ReasonKind, Verdict};
use super::components::JsonFlags;
use super::lists::{JsonLists, JsonMerges, JsonVocab};
use super::normalization::rules_reasons;
use super::parse::{JsonAddedToken, JsonFile, JsonModel, JsonText};
use super::syntax;
use crate::error::ConvertError;
use crate::join::result_of;
use crate::model::validate::byte_of_piece;
use crate::model::{Model, ModelBuilder, ModelType, TrainerSpec};
use crate::piece::{PieceId, PieceKind};
use crate::text::WHITESPACE_MARK;

/// Starting another thread takes longer than the work on shorter lists.
const MIN_PARALLEL_ENTRIES: usize = 1 << 12;

/// A model whose merges were not compared with those of the list.
#[derive(Debug)]
pub(crate) struct UnjudgedModel {
    pub(crate) model: Model,
    verdict: Verdict,
    /// `None` for a unigram model, whose verdict is complete.
    merges: Option<MergeEvidence>,
}

impl UnjudgedModel {
    /// The verdict, once its merges were compared. The same each time.
    ///
    /// # Errors
    /// The user-defined symbols do not fit a trie; loading has excluded that.
    pub(crate) fn verdict(&self) -> Result<Verdict, ConvertError> {
        let mut verdict = self.verdict.clone();
        if let Some(merges) = &self.merges {
            let reasons = merges.reasons(&self.model)?;
            reasons.into_iter().for_each(|reason| verdict.add(reason));
        }
        Ok(verdict)
    }
}

/// Reads a file.
///
/// # Errors
/// See [`Model::from_tokenizer_json`].
pub(super) fn read(bytes: &[u8]) -> Result<UnjudgedModel, ConvertError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = simdutf8::compat::from_utf8(bytes).map_err(|error| syntax(error.to_string()))?;
    let (lists, entries) = read_lists(text)?;
    let file: JsonFile<'_> =
        serde_json::from_str(&lists.rest).map_err(|error| syntax_of_file(text, &error))?;
    let (model_type, vocab) = model_type(&file.model, &lists)?;
    check_settings(&file.model)?;
    let added = file.added_tokens.as_deref().unwrap_or_default();
    let entries = match entries {
        Some(entries) => entries,
        None => VocabularyEntries::of_vocabulary(vocab, added.len())?,
    };
    let entries = entries.with_added(vocab, added)?;
    let mut import = Import {
        file: &file,
        vocab,
        merges: &lists.merges,
        flags: JsonFlags::new(
            file.normalizer.as_ref(),
            file.pre_tokenizer.as_ref(),
            &symbol_texts(&file),
        )?,
        verdict: Verdict::default(),
        model_type,
        has_byte_fallback: false,
    };
    import.add_reasons_of_settings();
    import.add_reasons_of_added_tokens();
    import.check_byte_pieces(&entries);
    match model_type {
        ModelType::Unigram => import.unigram(entries),
        _ => import.bpe(entries),
    }
}

/// The lists of a file, and the entries of its vocabulary, which another thread makes while the merges are read. No entries if
/// the vocabulary is short or unusual, or if there is no other thread.
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

/// The error of the rest of a file. Reading the whole file gives the same error at its position in the file.
fn syntax_of_file(text: &str, error: &serde_json::Error) -> ConvertError {
    let whole = serde_json::from_str::<JsonFile<'_>>(text).err();
    syntax(whole.as_ref().unwrap_or(error).to_string())
}

fn unsupported(component: &str, found: String) -> ConvertError {
    ConvertError::Unsupported {
        format: FileFormat::TokenizerJson,
        component: component.to_owned(),
        found,
        remedy: "BPE and unigram models with the normalization of SentencePiece can be converted",
    }
}

/// The type of a model, and its vocabulary; files of old versions do not name the type.
fn model_type<'l, 'j>(
    model: &JsonModel<'_>,
    lists: &'l JsonLists<'j>,
) -> Result<(ModelType, &'l JsonVocab<'j>), ConvertError> {
    let kind = model.kind.as_ref().map(JsonText::as_str);
    if let Some(other) = kind.filter(|kind| !matches!(*kind, "BPE" | "Unigram")) {
        return Err(unsupported("model.type", format!("{other:?}")));
    }
    let missing = || syntax("model.vocab is missing".to_owned());
    let vocab = lists.vocab.as_deref().ok_or_else(missing)?;
    match (kind, vocab.has_scores()) {
        (Some("BPE") | None, false) => Ok((ModelType::Bpe, vocab)),
        (Some("Unigram") | None, true) => Ok((ModelType::Unigram, vocab)),
        _ => Err(syntax("model.vocab does not fit model.type".to_owned())),
    }
}

/// Refuses settings that no model has.
fn check_settings(model: &JsonModel<'_>) -> Result<(), ConvertError> {
    let texts = [
        (
            "model.continuing_subword_prefix",
            &model.continuing_subword_prefix,
        ),
        ("model.end_of_word_suffix", &model.end_of_word_suffix),
    ];
    for (name, text) in texts {
        if let Some(text) = text.as_ref().filter(|text| !text.as_str().is_empty()) {
            return Err(unsupported(name, format!("{:?}", text.as_str())));
        }
    }
    Ok(())
}

/// The texts of the added tokens that are not special, by id.
fn symbol_texts<'f>(file: &'f JsonFile<'_>) -> Vec<&'f str> {
    let tokens = file.added_tokens.iter().flatten();
    let mut symbols: Vec<&JsonAddedToken<'_>> = tokens.filter(|token| !token.special).collect();
    symbols.sort_by_key(|token| token.id);
    symbols.iter().map(|token| token.content.as_str()).collect()
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
}

impl Import<'_, '_> {
    fn reason(&mut self, kind: ReasonKind, explanation: impl Into<String>) {
        self.verdict.add(Reason::new(kind, explanation));
    }

    /// Reasons of the model's settings and of the normalizer and the pre-tokenizer.
    fn add_reasons_of_settings(&mut self) {
        for reason in std::mem::take(&mut self.flags.reasons) {
            self.verdict.add(reason);
        }
        let model = &self.file.model;
        if model.dropout.is_some_and(|dropout| dropout > 0.0) {
            self.reason(
                ReasonKind::Setting,
                "model.dropout is set: tokenizers skips merges at random",
            );
        }
        if self.file.truncation.is_some() {
            self.reason(
                ReasonKind::Setting,
                "truncation is set: tokenizers cuts off long texts",
            );
        }
        if self.file.padding.is_some() {
            self.reason(
                ReasonKind::Setting,
                "padding is set: tokenizers fills up short texts",
            );
        }
    }

    /// Reasons of the added tokens; see `symbols` for those that SentencePiece finds in the same texts.
    fn add_reasons_of_added_tokens(&mut self) {
        let tokens = self.file.added_tokens.as_deref().unwrap_or_default();
        if let Some(token) = tokens
            .iter()
            .find(|token| token.lstrip || token.rstrip || token.single_word)
        {
            let text = token.content.as_str();
            let kind = if token.special {
                ReasonKind::MetaPiece
            } else {
                ReasonKind::UserDefinedSymbol
            };
            self.reason(kind, format!("the added token {text:?} removes whitespace beside it, or is found as a whole word only"));
        }
        let symbols: Vec<&JsonAddedToken<'_>> =
            tokens.iter().filter(|token| !token.special).collect();
        let Some(first) = symbols.first() else {
            return;
        };
        let first = first.content.as_str();
        if self.model_type == ModelType::Unigram {
            self.reason(ReasonKind::UserDefinedSymbol, format!(
                "tokenizers finds {first:?} and the other added tokens before everything else; SentencePiece gives them scores"
            ));
        }
        let is_normalized = symbols[0].normalized;
        if symbols
            .iter()
            .any(|token| token.normalized != is_normalized)
        {
            self.reason(ReasonKind::UserDefinedSymbol, "some added tokens are found in raw text, others in normalized text; SentencePiece finds all in normalized text");
        }
        let flags = &self.flags;
        let has_prefix = flags.add_dummy_prefix && !flags.excepts_symbols;
        if flags.excepts_symbols || has_prefix && is_normalized {
            let explanation = format!(
                "a text that consists of the added token {first:?} only gets no dummy prefix, or the token is found behind one only"
            );
            self.verdict
                .add(Reason::new(ReasonKind::UserDefinedSymbol, explanation).with_example(first));
        } else if has_prefix {
            let explanation =
                format!("tokenizers puts a dummy prefix behind the added token {first:?}");
            let example = format!("{first}a");
            self.verdict
                .add(Reason::new(ReasonKind::UserDefinedSymbol, explanation).with_example(example));
        }
        let flags = &self.flags;
        let changes = |text: &str| {
            let is_trimmed = flags.remove_extra_whitespaces
                && (text.contains(' ') || text.contains(WHITESPACE_MARK));
            let has_mark = !is_normalized && text.contains(WHITESPACE_MARK);
            text.contains(' ') && flags.escape_whitespaces || has_mark || is_trimmed
        };
        let changed = symbols.iter().find(|token| changes(token.content.as_str()));
        if let Some(token) = changed {
            let explanation = format!(
                "the added token {:?} has whitespace, which normalization changes",
                token.content.as_str()
            );
            self.reason(ReasonKind::UserDefinedSymbol, explanation);
        }
    }

    /// Finds out whether every byte has a piece. If none has, `tokenizers` gives the unknown piece, as without byte fallback.
    fn check_byte_pieces(&mut self, entries: &VocabularyEntries) {
        if self.file.model.byte_fallback != Some(true) {
            return;
        }
        let mut bytes = 0..=u8::MAX;
        let has_piece = |byte: &u8| entries.id(format!("<0x{byte:02X}>")).is_some();
        let missing = bytes.clone().find(|byte| !has_piece(byte));
        self.has_byte_fallback = missing.is_none();
        if let Some(byte) = missing.filter(|_| bytes.any(|byte| has_piece(&byte))) {
            self.reason(
                ReasonKind::UnknownCharacter,
                format!("byte_fallback is on, but the piece <0x{byte:02X}> is missing"),
            );
        }
    }

    /// The kind of a piece that does not depend on the type of the model.
    fn meta_kind(
        &self,
        entries: &VocabularyEntries,
        id: usize,
        unknown: Option<PieceId>,
    ) -> Option<PieceKind> {
        let text = entries.text(id)?;
        if unknown.is_some_and(|unknown| unknown.index() == id) {
            return Some(PieceKind::Unknown);
        }
        let is_byte = self.has_byte_fallback && byte_of_piece(text).is_some();
        is_byte
            .then_some(PieceKind::Byte)
            .or_else(|| entries.added_kind(id))
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
        let name = if flags.charsmap.is_empty() {
            "identity"
        } else {
            "user_defined"
        };
        builder.normalization_rules(name, &flags.charsmap);
        let trainer_spec = builder.trainer_spec_mut();
        trainer_spec.byte_fallback = Some(self.has_byte_fallback);
        if flags.treat_whitespace_as_suffix {
            trainer_spec.treat_whitespace_as_suffix = Some(true);
        }
        builder
    }

    /// The text of the unknown piece that the model needs if the file has none.
    fn missing_unknown(
        &self,
        entries: &VocabularyEntries,
        unknown: Option<PieceId>,
    ) -> Option<String> {
        if unknown.is_some() || self.has_byte_fallback {
            return None;
        }
        let mut text = "<unk>".to_owned();
        while entries.id(&text).is_some() {
            text.push('_');
        }
        Some(text)
    }

    /// Builds the model, with the ids of the special pieces. `pieces` has the score and the kind of each id.
    fn build(
        &mut self,
        entries: VocabularyEntries,
        unknown: Option<PieceId>,
        pieces: Vec<(f32, PieceKind)>,
    ) -> Result<Model, ConvertError> {
        let mut builder = self.builder();
        record_special_pieces(builder.trainer_spec_mut(), &entries);
        let missing_unknown = self.missing_unknown(&entries, unknown);
        let (mut table, mut index) = entries.into_pieces();
        for (id, (score, kind)) in pieces.into_iter().enumerate() {
            table.set(id, score, kind);
        }
        if let Some(text) = missing_unknown {
            table.push(text.as_bytes(), 0.0, PieceKind::Unknown);
            index.insert(&table, table.len() - 1);
        }
        let model = builder.build_indexed(table, index)?;
        if !self.flags.charsmap.is_empty() {
            rules_reasons(&model).for_each(|reason| self.verdict.add(reason));
        }
        Ok(model)
    }
}

/// Records the ids and texts of the special pieces.
fn record_special_pieces(spec: &mut TrainerSpec, entries: &VocabularyEntries) {
    let find = |texts: &[&'static str]| {
        let found = texts
            .iter()
            .find_map(|text| Some((*text, entries.id(text)?)));
        found.filter(|(_, id)| entries.added[id.index()] == Some(true))
    };
    let number = |found: Option<(&str, PieceId)>| {
        Some(found.map_or(-1, |(_, id)| i32::try_from(id.get()).unwrap_or(-1)))
    };
    let text = |found: Option<(&str, PieceId)>| found.map(|(text, _)| text.as_bytes().to_vec());
    let bos = find(&["<s>", "<bos>", "<|startoftext|>", "[CLS]"]);
    let eos = find(&["</s>", "<eos>", "<|endoftext|>", "[SEP]"]);
    let pad = find(&["<pad>", "[PAD]"]);
    spec.bos_id = number(bos);
    spec.eos_id = number(eos);
    spec.pad_id = number(pad);
    spec.bos_piece = text(bos);
    spec.eos_piece = text(eos);
    spec.pad_piece = text(pad);
}
