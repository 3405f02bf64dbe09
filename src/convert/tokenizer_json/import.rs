//! The parts of a `tokenizer.json` as a model, and the verdict.
//!
//! Input: the bytes of the file. Output: a [`ConvertedModel`].
//!
//! # BPE
//! The score of a piece is minus the rank of its first merge, so that SentencePiece prefers pieces in the order of the merges.
//! SentencePiece then merges every pair whose joined text is a piece, `tokenizers` only the pairs of the list. The ids are equal
//! for all text if, for each piece that SentencePiece merges text to, the one pair that it executes (see `merges`) is the first
//! pair of that piece in the list:
//!
//! Let both programs have the same symbols, and let SentencePiece's next merge give the piece p. This pair is in the list, so it
//! is a candidate of `tokenizers`, too, with the rank of p. Every other candidate gives a piece q which SentencePiece ranks behind
//! p, or p to the right; its rank is at least the first rank of q. So `tokenizers` executes the same merge.
//!
//! Pieces of several characters without a merge are never given by `tokenizers`; they become control pieces, which never merge.
//! Ids without a piece become control pieces, too.
//!
//! Example: the vocabulary `a b c ab abc` with the merges `a b` and `ab c` gives `ab` the score 0 and `abc` the score -1. The last
//! merge of `abc` is `ab c`, the first one of the list: equal. If the list had `a bc` instead, SentencePiece would still merge
//! `ab c`, and the verdict would name `abc`.
//!
//! # Unigram
//! Pieces and scores are copied. See `export` for the reasons.

use hashbrown::HashMap;

use super::super::merges::{Formation, MergeTable};
use super::super::order::{named, plain_text};
use super::super::{ConvertedModel, FileFormat, Reason, ReasonKind, Verdict};
use super::components::JsonFlags;
use super::export::{MergeReasons, lowest_score, unigram_reasons};
use super::normalization::rules_reason;
use super::parse::{JsonAddedToken, JsonFile, JsonModel, JsonText, JsonVocab};
use crate::error::ConvertError;
use crate::model::validate::byte_of_piece;
use crate::model::{Model, ModelBuilder, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::text::WHITESPACE_MARK;

/// Ids may be so far above the number of pieces.
const MAX_MISSING_IDS: usize = 1 << 16;
/// Pieces of a BPE model: ranks up to here are exact in a 32-bit float.
const MAX_RANKED_PIECES: usize = 1 << 24;

type TextMap<'t, V> = HashMap<&'t str, V, foldhash::fast::RandomState>;

/// Reads a file.
///
/// # Errors
/// See [`Model::from_tokenizer_json`].
pub(super) fn read(bytes: &[u8]) -> Result<ConvertedModel, ConvertError> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| syntax(error.to_string()))?;
    let file: JsonFile<'_> =
        serde_json::from_str(text).map_err(|error| syntax(error.to_string()))?;
    let model_type = model_type(&file.model)?;
    check_settings(&file.model)?;
    let entries = Entries::new(&file)?;
    let mut import = Import {
        file: &file,
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

fn syntax(problem: String) -> ConvertError {
    ConvertError::Syntax {
        format: FileFormat::TokenizerJson,
        problem,
    }
}

fn unsupported(component: &str, found: String) -> ConvertError {
    ConvertError::Unsupported {
        format: FileFormat::TokenizerJson,
        component: component.to_owned(),
        found,
        remedy: "BPE and unigram models with the normalization of SentencePiece can be converted",
    }
}

/// The type of a model; files of old versions do not name it.
fn model_type(model: &JsonModel<'_>) -> Result<ModelType, ConvertError> {
    let kind = model.kind.as_ref().map(JsonText::as_str);
    match (kind, &model.vocab) {
        (Some("BPE") | None, JsonVocab::Ids(_)) => Ok(ModelType::Bpe),
        (Some("Unigram") | None, JsonVocab::Scores(_)) => Ok(ModelType::Unigram),
        (Some("BPE" | "Unigram"), _) => {
            Err(syntax("model.vocab does not fit model.type".to_owned()))
        }
        (Some(other), _) => Err(unsupported("model.type", format!("{other:?}"))),
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

/// Texts by id, and what the added tokens say about them.
struct Entries<'f> {
    /// The text of each id; `None` for an id without a piece.
    texts: Vec<Option<&'f str>>,
    ids: TextMap<'f, u32>,
    /// For each id the flag `special` of its added token.
    added: Vec<Option<bool>>,
}

impl<'f> Entries<'f> {
    fn new(file: &'f JsonFile<'_>) -> Result<Entries<'f>, ConvertError> {
        let added = file.added_tokens.as_deref().unwrap_or_default();
        let vocab = match &file.model.vocab {
            JsonVocab::Ids(entries) => entries.len(),
            JsonVocab::Scores(entries) => entries.len(),
        };
        let mut entries = Entries {
            texts: Vec::with_capacity(vocab + added.len()),
            ids: HashMap::with_capacity_and_hasher(vocab + added.len(), Default::default()),
            added: Vec::new(),
        };
        let limit = (vocab + added.len()) * 2 + MAX_MISSING_IDS;
        match &file.model.vocab {
            JsonVocab::Ids(pairs) => {
                for (text, id) in pairs {
                    entries.add(text.as_str(), *id, limit)?;
                }
            }
            JsonVocab::Scores(pairs) => {
                for ((text, _), id) in pairs.iter().zip(0..) {
                    entries.add(text.as_str(), id, limit)?;
                }
            }
        }
        for token in added {
            entries.add_token(token, limit)?;
        }
        entries.added.resize(entries.texts.len(), None);
        Ok(entries)
    }

    /// Adds a text with its id.
    fn add(&mut self, text: &'f str, id: u32, limit: usize) -> Result<(), ConvertError> {
        let index = id as usize;
        if index >= limit {
            return Err(syntax(format!(
                "the id {id} of {text:?} is far above the number of pieces"
            )));
        }
        if index >= self.texts.len() {
            self.texts.resize(index + 1, None);
        }
        if let Some(other) = self.texts[index].replace(text) {
            return Err(syntax(format!("{other:?} and {text:?} have the id {id}")));
        }
        if self.ids.insert(text, id).is_some() {
            return Err(syntax(format!("the vocabulary has {text:?} twice")));
        }
        Ok(())
    }

    fn add_token(
        &mut self,
        token: &'f JsonAddedToken<'_>,
        limit: usize,
    ) -> Result<(), ConvertError> {
        let text = token.content.as_str();
        let id = match self.ids.get(text) {
            Some(id) => *id,
            None => {
                self.add(text, token.id, limit)?;
                token.id
            }
        };
        let index = id as usize;
        if index >= self.added.len() {
            self.added.resize(index + 1, None);
        }
        self.added[index] = Some(token.special);
        Ok(())
    }

    /// The kind that the added tokens give an id.
    fn added_kind(&self, id: usize) -> Option<PieceKind> {
        let is_special = self.added[id]?;
        Some(if is_special {
            PieceKind::Control
        } else {
            PieceKind::UserDefined
        })
    }

    /// The text of an id; a stand-in for an id without a text that a model can hold.
    fn text_or_stand_in(&self, id: usize) -> String {
        match self.texts[id] {
            Some(text) if !text.is_empty() && !text.contains('\0') => text.to_owned(),
            _ => {
                let mut text = format!("<unused id {id}>");
                while self.ids.contains_key(text.as_str()) {
                    text.push('_');
                }
                text
            }
        }
    }
}

/// The rank and the bytes of the left text of the first merge that gives a piece.
type FirstMerge = Option<(u32, usize)>;

/// What is known of the file while it is read.
struct Import<'f, 'j> {
    file: &'f JsonFile<'j>,
    flags: JsonFlags,
    verdict: Verdict,
    model_type: ModelType,
    has_byte_fallback: bool,
}

impl Import<'_, '_> {
    fn reason(&mut self, kind: ReasonKind, explanation: impl Into<String>) {
        self.verdict.add(Reason::new(kind, explanation));
    }

    fn add_reasons_of_settings(&mut self) {
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

    /// Finds out whether every byte has a piece.
    fn check_byte_pieces(&mut self, entries: &Entries<'_>) {
        if self.file.model.byte_fallback != Some(true) {
            return;
        }
        let missing = (0..=u8::MAX)
            .find(|byte| !entries.ids.contains_key(format!("<0x{byte:02X}>").as_str()));
        self.has_byte_fallback = missing.is_none();
        if let Some(byte) = missing {
            self.reason(
                ReasonKind::UnknownCharacter,
                format!("byte_fallback is on, but the piece <0x{byte:02X}> is missing"),
            );
        }
    }

    /// The kind of a piece that does not depend on the type of the model.
    fn meta_kind(
        &self,
        entries: &Entries<'_>,
        id: usize,
        unknown: Option<u32>,
    ) -> Option<PieceKind> {
        let text = entries.texts[id]?;
        if unknown.is_some_and(|unknown| unknown as usize == id) {
            return Some(PieceKind::Unknown);
        }
        let is_byte = self.has_byte_fallback && byte_of_piece(text.as_bytes()).is_some();
        is_byte
            .then_some(PieceKind::Byte)
            .or_else(|| entries.added_kind(id))
    }

    fn bpe(mut self, entries: Entries<'_>) -> Result<ConvertedModel, ConvertError> {
        let unknown = self.unknown_of_bpe(&entries)?;
        let first_merges = self.first_merges(&entries)?;
        let mut builder = self.builder();
        let mut scores = Scores::new(&first_merges)?;
        for (id, first_merge) in first_merges.iter().enumerate() {
            let text = entries.text_or_stand_in(id);
            let is_char = text.chars().nth(1).is_none();
            let kind = match self.meta_kind(&entries, id, unknown) {
                Some(kind) => kind,
                None if is_char || first_merge.is_some() => PieceKind::Normal,
                None => PieceKind::Control,
            };
            let is_ranked = matches!(kind, PieceKind::Normal | PieceKind::UserDefined);
            let score = if is_ranked {
                scores.next(*first_merge)
            } else {
                0.0
            };
            builder.piece(text, score, kind);
        }
        self.add_unknown(&mut builder, &entries, unknown);
        let model = self.finish(builder, &entries)?;
        self.add_reasons_of_nul(&entries);
        self.add_reasons_of_merges(&model, &first_merges)?;
        Ok(ConvertedModel {
            model,
            verdict: self.verdict,
        })
    }

    /// The id of the unknown piece of a BPE model.
    fn unknown_of_bpe(&mut self, entries: &Entries<'_>) -> Result<Option<u32>, ConvertError> {
        let model = &self.file.model;
        let Some(text) = model.unk_token.as_ref().map(JsonText::as_str) else {
            if !self.has_byte_fallback {
                self.reason(
                    ReasonKind::UnknownCharacter,
                    "model.unk_token is missing: tokenizers drops characters without a piece",
                );
            }
            return Ok(entries.ids.get("<unk>").copied());
        };
        let missing = || syntax(format!("model.unk_token {text:?} is not in the vocabulary"));
        let id = entries.ids.get(text).copied().ok_or_else(missing)?;
        if !self.has_byte_fallback && model.fuse_unk != Some(true) {
            self.reason(ReasonKind::UnknownCharacter, "model.fuse_unk is off: tokenizers gives one unknown id for each character, SentencePiece one for each run");
        }
        Ok(Some(id))
    }

    /// The first merge of each piece, by id.
    fn first_merges(&mut self, entries: &Entries<'_>) -> Result<Vec<FirstMerge>, ConvertError> {
        let mut first: Vec<FirstMerge> = vec![None; entries.texts.len()];
        let mut joined = String::new();
        let mut repeated = None;
        for (rank, merge) in (0..).zip(&self.file.model.merges) {
            let not_two = || syntax(format!("merge {rank} does not have two parts"));
            let (left, right) = merge.texts().ok_or_else(not_two)?;
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let missing =
                |text: &str| syntax(format!("merge {rank}: {text:?} is not in the vocabulary"));
            let id = *entries
                .ids
                .get(joined.as_str())
                .ok_or_else(|| missing(&joined))?;
            let slot = &mut first[id as usize];
            match slot {
                None => {
                    for part in [left, right] {
                        entries.ids.get(part).ok_or_else(|| missing(part))?;
                    }
                    *slot = Some((rank, left.len()));
                }
                Some((_, split)) if *split == left.len() => repeated = Some(joined.clone()),
                Some(_) => {}
            }
        }
        if let Some(text) = repeated {
            self.reason(
                ReasonKind::MergeOrder,
                format!(
                    "a merge that gives {text:?} is listed twice; tokenizers takes the last one"
                ),
            );
        }
        Ok(first)
    }

    /// Compares the merges that SentencePiece executes with the first merges of the list.
    fn add_reasons_of_merges(
        &mut self,
        model: &Model,
        first: &[FirstMerge],
    ) -> Result<(), ConvertError> {
        let table = MergeTable::new(model)?;
        let is_other = |(id, split): &(PieceId, usize)| {
            first
                .get(id.index())
                .copied()
                .flatten()
                .is_none_or(|(_, first)| first != *split)
        };
        let others: Vec<(PieceId, usize)> = table.merged().filter(is_other).collect();
        if let Some((id, split)) = others.first() {
            let text = model.table().text(id.index());
            let (left, right) = text.split_at(*split);
            let explanation = format!(
                "SentencePiece merges {} pieces from another pair than the first one of the list, for example {} from {:?} and {:?}",
                others.len(),
                named(model, *id),
                plain_text(left),
                plain_text(right),
            );
            self.verdict.add(
                Reason::new(ReasonKind::MergeOrder, explanation).with_example(plain_text(text)),
            );
        }
        if self.flags.splits_at_marks {
            self.add_reason_of_inner_marks(model);
        }
        if self.file.model.ignore_merges == Some(true) {
            self.add_reason_of_ignored_merges(model, &table);
        }
        let single = MergeReasons::new(model, &table).single_characters();
        single
            .into_iter()
            .for_each(|reason| self.verdict.add(reason));
        Ok(())
    }

    /// Text is split before marks, so a piece with a mark behind its start is never found.
    fn add_reason_of_inner_marks(&mut self, model: &Model) {
        let mark = WHITESPACE_MARK.to_string();
        let has_inner_mark =
            |text: &[u8]| memchr::memmem::rfind(text, mark.as_bytes()).is_some_and(|at| at > 0);
        let mut normal = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::Normal);
        if let Some(piece) = normal.find(|piece| has_inner_mark(piece.text)) {
            let explanation = format!(
                "tokenizers splits text before every U+2581, so that it never finds {}",
                named(model, piece.id)
            );
            self.verdict.add(
                Reason::new(ReasonKind::MergeOrder, explanation)
                    .with_example(plain_text(piece.text)),
            );
        }
    }

    /// With `ignore_merges`, a text that is a piece gives this piece, whatever the merges say.
    fn add_reason_of_ignored_merges(&mut self, model: &Model, table: &MergeTable) {
        let is_text = |text: &[u8]| {
            !self.flags.add_dummy_prefix || text.starts_with(WHITESPACE_MARK.to_string().as_bytes())
        };
        let mut pieces = model.pieces().filter(|piece| is_text(piece.text));
        let other = pieces.find(|piece| {
            let is_given = piece.kind.is_given_for_text();
            !is_given || table.formation(piece.id) == Formation::Unreachable
        });
        if let Some(piece) = other {
            let explanation = format!(
                "model.ignore_merges is on: tokenizers gives {} for the text of this piece, SentencePiece does not",
                named(model, piece.id)
            );
            self.verdict.add(
                Reason::new(ReasonKind::MergeOrder, explanation)
                    .with_example(plain_text(piece.text)),
            );
        }
    }

    fn add_reasons_of_nul(&mut self, entries: &Entries<'_>) {
        if entries.ids.keys().any(|text| text.contains('\0')) {
            self.reason(
                ReasonKind::MetaPiece,
                "a piece contains a NUL, which SentencePiece models cannot contain",
            );
        }
    }

    fn unigram(mut self, entries: Entries<'_>) -> Result<ConvertedModel, ConvertError> {
        let JsonVocab::Scores(vocab) = &self.file.model.vocab else {
            return Err(syntax("model.vocab is not a list".to_owned()));
        };
        let unknown = self.file.model.unk_id;
        let mut builder = self.builder();
        for id in 0..entries.texts.len() {
            let text = entries.text_or_stand_in(id);
            let is_found = entries.texts[id] == Some(&text);
            let ordinary = if is_found {
                PieceKind::Normal
            } else {
                PieceKind::Control
            };
            let kind = self.meta_kind(&entries, id, unknown).unwrap_or(ordinary);
            let score = vocab.get(id).map_or(0.0, |(_, score)| narrowed(*score));
            builder.piece(text, score, kind);
        }
        self.add_unknown(&mut builder, &entries, unknown);
        let model = self.finish(builder, &entries)?;
        let lowest = vocab
            .iter()
            .map(|(_, score)| narrowed(*score))
            .fold(f32::MAX, f32::min);
        if lowest < lowest_score(&model) {
            self.reason(ReasonKind::UnknownCharacter, "a piece that text never gives has the lowest score, on which tokenizers bases that of unknown characters");
        }
        self.add_reasons_of_nul(&entries);
        let keys: Vec<_> = (0..model.len())
            .map(|id| {
                entries
                    .texts
                    .get(id)
                    .copied()
                    .flatten()
                    .unwrap_or("")
                    .into()
            })
            .collect();
        for reason in unigram_reasons(&model, &keys) {
            self.verdict.add(reason);
        }
        if self.flags.splits_at_marks {
            self.add_reason_of_inner_marks(&model);
        }
        Ok(ConvertedModel {
            model,
            verdict: self.verdict,
        })
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

    /// Adds an unknown piece if the model needs one and the file has none.
    fn add_unknown(&self, builder: &mut ModelBuilder, entries: &Entries<'_>, unknown: Option<u32>) {
        if unknown.is_some() || self.has_byte_fallback {
            return;
        }
        let mut text = "<unk>".to_owned();
        while entries.ids.contains_key(text.as_str()) {
            text.push('_');
        }
        builder.piece(text, 0.0, PieceKind::Unknown);
    }

    /// Builds the model, with the ids of the special pieces.
    fn finish(
        &mut self,
        mut builder: ModelBuilder,
        entries: &Entries<'_>,
    ) -> Result<Model, ConvertError> {
        let find = |texts: &[&'static str]| {
            let found = texts
                .iter()
                .find_map(|text| Some((*text, *entries.ids.get(text)?)));
            found.filter(|(_, id)| entries.added[*id as usize] == Some(true))
        };
        let number = |found: Option<(&str, u32)>| {
            Some(found.map_or(-1, |(_, id)| i32::try_from(id).unwrap_or(-1)))
        };
        let text = |found: Option<(&str, u32)>| found.map(|(text, _)| text.as_bytes().to_vec());
        let bos = find(&["<s>", "<bos>", "<|startoftext|>", "[CLS]"]);
        let eos = find(&["</s>", "<eos>", "<|endoftext|>", "[SEP]"]);
        let pad = find(&["<pad>", "[PAD]"]);
        let spec = builder.trainer_spec_mut();
        spec.bos_id = number(bos);
        spec.eos_id = number(eos);
        spec.pad_id = number(pad);
        spec.bos_piece = text(bos);
        spec.eos_piece = text(eos);
        spec.pad_piece = text(pad);
        let model = builder.build()?;
        let unknown = model
            .pieces()
            .find(|piece| piece.kind == PieceKind::Unknown);
        let mut editor = model.edit();
        if let Some(unknown) = unknown {
            let spec = editor.trainer_spec_mut();
            spec.unk_id = i32::try_from(unknown.id.get()).ok();
            spec.unk_piece = Some(unknown.text.to_vec());
        }
        let model = editor.finish()?;
        if !self.flags.charsmap.is_empty() {
            self.verdict.add(rules_reason(&model));
        }
        Ok(model)
    }
}

/// The nearest 32-bit float.
#[expect(
    clippy::cast_possible_truncation,
    reason = "scores of models are 32-bit floats"
)]
fn narrowed(score: f64) -> f32 {
    score as f32
}

/// Scores that descend in the order of the first merges, and then in the order of the ids.
struct Scores {
    /// The ranks of the first merges, sorted.
    ranks: Vec<u32>,
    /// How many pieces without a merge have a score.
    without_merge: usize,
}

impl Scores {
    fn new(first_merges: &[FirstMerge]) -> Result<Scores, ConvertError> {
        if first_merges.len() > MAX_RANKED_PIECES {
            return Err(unsupported(
                "model.vocab",
                format!("{} pieces long", first_merges.len()),
            ));
        }
        let mut ranks: Vec<u32> = first_merges
            .iter()
            .flatten()
            .map(|(rank, _)| *rank)
            .collect();
        ranks.sort_unstable();
        Ok(Scores {
            ranks,
            without_merge: 0,
        })
    }

    /// The score of the next piece.
    fn next(&mut self, first_merge: FirstMerge) -> f32 {
        let rank = match first_merge {
            Some((rank, _)) => self.ranks.partition_point(|other| *other < rank),
            None => {
                self.without_merge += 1;
                self.ranks.len() + self.without_merge - 1
            }
        };
        -exact_f32(rank)
    }
}

/// A rank of at most 2^24 as a float.
#[expect(
    clippy::cast_precision_loss,
    reason = "floats hold numbers up to 2^24 exactly"
)]
fn exact_f32(rank: usize) -> f32 {
    rank as f32
}
