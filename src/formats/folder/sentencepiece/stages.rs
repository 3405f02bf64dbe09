//! The stages that a class makes, as components of a `tokenizer.json`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::{FolderSettings, FolderToken, ModelPieces};
use crate::formats::tokenizer_json::{JsonMerges, JsonModel, JsonText, JsonVocab};

/// What a class makes of a model and its settings.
pub(super) struct FolderStages<'m> {
    pub(super) normalizer: Vec<Value>,
    pub(super) pre_tokenizer: Vec<Value>,
    pub(super) decoder: Vec<Value>,
    pub(super) model: JsonModel<'m>,
    /// The special tokens of the class, unless the files list others.
    pub(super) extra: Vec<FolderToken>,
    pub(super) template: FolderTemplate,
    /// The listed tokens, if the class changes them.
    pub(super) listed: Option<Vec<(u64, FolderToken)>>,
}

/// What stands around a text, and around two.
pub(super) enum FolderTemplate {
    /// The tokens that `add_bos_token` and `add_eos_token` ask for.
    BySettings,
    /// The parts, unless one of the two is given.
    UnlessSet([Vec<FolderPart>; 2]),
    /// The parts.
    Fixed([Vec<FolderPart>; 2]),
}

/// A part of a template, with the type of its tokens.
#[derive(Debug, Clone)]
pub(super) enum FolderPart {
    First(u32),
    Second(u32),
    FolderToken(String, u32),
}

impl FolderPart {
    pub(super) fn component(&self) -> Value {
        match self {
            Self::First(type_id) => json!({"Sequence": {"id": "A", "type_id": type_id}}),
            Self::Second(type_id) => json!({"Sequence": {"id": "B", "type_id": type_id}}),
            Self::FolderToken(text, type_id) => {
                json!({"SpecialToken": {"id": text, "type_id": type_id}})
            }
        }
    }
}

pub(super) fn replace_text(from: &str, to: &str) -> Value {
    json!({"type": "Replace", "pattern": {"String": from}, "content": to})
}

pub(super) fn replace_matches(expression: &str, to: &str) -> Value {
    json!({"type": "Replace", "pattern": {"Regex": expression}, "content": to})
}

/// A normalizer, pre-tokenizer or decoder without settings.
pub(super) fn step(kind: &str) -> Value {
    json!({"type": kind})
}

pub(super) fn strip(left: bool, right: bool) -> Value {
    json!({"type": "Strip", "strip_left": left, "strip_right": right})
}

/// The pre-tokenizer or decoder that has the whitespace mark.
pub(super) fn metaspace(scheme: &str, split: bool) -> Value {
    json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split})
}

/// The decoder of models with byte pieces.
pub(super) fn byte_decoder(strips_space: bool) -> Vec<Value> {
    let steps = [replace_text("▁", " "), step("ByteFallback"), step("Fuse")];
    let strip = json!({"type": "Strip", "content": " ", "start": 1, "stop": 0});
    steps
        .into_iter()
        .chain(strips_space.then_some(strip))
        .collect()
}

impl<'m> ModelPieces<'m> {
    /// The normalization rules of the model, if it has any.
    pub(super) fn rules(&self) -> Option<Value> {
        let rules = self.model.normalizer_spec().precompiled_charsmap();
        let is_given = !rules.is_empty();
        is_given.then(|| {
            let rules = BASE64_STANDARD.encode(rules);
            json!({"type": "Precompiled", "precompiled_charsmap": rules})
        })
    }

    /// The pieces and their scores.
    pub(super) fn scores(&self) -> Vec<(JsonText<'m>, f64)> {
        let pieces = self.pieces.iter();
        let scores = pieces.map(|piece| (borrowed(piece.text), f64::from(piece.score)));
        scores.collect()
    }

    /// The pieces in the order of their ids, without those whose text a later one has.
    pub(super) fn ids(&self) -> Vec<(JsonText<'m>, u32)> {
        let mut ids: HashMap<&str, u32> = HashMap::new();
        ids.extend(self.pieces.iter().map(|piece| piece.text).zip(0..));
        let pieces = self.pieces.iter().map(|piece| piece.text).zip(0..);
        let last = pieces.filter(|(text, id)| ids.get(text) == Some(id));
        last.map(|(text, id)| (borrowed(text), id)).collect()
    }

    /// All pairs of pieces that make a piece: those of a smaller id first, among them those with the
    /// shorter left part.
    pub(super) fn merges_by_id(&self) -> JsonMerges<'m> {
        let ids = self.ids();
        let known: HashSet<&str> = self.pieces.iter().map(|piece| piece.text).collect();
        let mut merges = Vec::new();
        let texts = ids.iter().filter_map(|(text, _)| match text.0 {
            Cow::Borrowed(text) => Some(text),
            Cow::Owned(_) => None,
        });
        for text in texts {
            merges.extend(splits(text, |part| known.contains(part)));
        }
        JsonMerges::new(merges.into_iter().map(|pair| pair.map(borrowed)))
    }
}

/// The ways to cut a text into two parts that are both known.
pub(super) fn splits(
    text: &str,
    is_known: impl Fn(&str) -> bool,
) -> impl Iterator<Item = [&str; 2]> {
    let cuts = text
        .char_indices()
        .skip(1)
        .map(move |(at, _)| text.split_at(at));
    let known = cuts.filter(move |(left, right)| is_known(left) && is_known(right));
    known.map(|(left, right)| [left, right])
}

pub(super) fn borrowed(text: &str) -> JsonText<'_> {
    JsonText(Cow::Borrowed(text))
}

pub(super) fn owned<'m>(text: impl Into<String>) -> JsonText<'m> {
    JsonText(Cow::Owned(text.into()))
}

/// A unigram model.
pub(super) fn unigram(
    vocab: Vec<(JsonText<'_>, f64)>,
    unk_id: u32,
    byte_fallback: bool,
) -> JsonModel<'_> {
    JsonModel {
        kind: Some(borrowed("Unigram")),
        vocab: Some(JsonVocab::Scores(vocab)),
        unk_id: Some(unk_id),
        byte_fallback: Some(byte_fallback),
        ..JsonModel::default()
    }
}

/// A BPE model in which neighbouring unknown characters are one token.
pub(super) fn bpe<'m>(
    vocab: Vec<(JsonText<'m>, u32)>,
    merges: JsonMerges<'m>,
    unk_token: Option<String>,
    byte_fallback: bool,
) -> JsonModel<'m> {
    JsonModel {
        kind: Some(borrowed("BPE")),
        vocab: Some(JsonVocab::Ids(vocab)),
        merges,
        unk_token: unk_token.map(owned),
        fuse_unk: Some(true),
        byte_fallback: Some(byte_fallback),
        ..JsonModel::default()
    }
}

impl FolderSettings<'_> {
    /// Where a class puts the whitespace mark: before each part, or nowhere.
    pub(super) fn always_or(&self, otherwise: &'static str) -> &'static str {
        match self.bool("add_prefix_space", true) {
            true => "always",
            false => otherwise,
        }
    }

    /// The text of a special token, which transformers writes as `None` if there is none.
    pub(super) fn role_text(&self, field: &str) -> String {
        self.role(field).unwrap_or("None").to_owned()
    }
}
