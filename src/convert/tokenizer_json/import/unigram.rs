//! The pieces of a unigram model.
//!
//! Input: the vocabulary, a list of texts and scores. Output: a model with the same pieces and the
//! nearest 32-bit scores; `export` has the reasons why ids can differ. For example, `["▁a", -3.25]`
//! becomes the piece `▁a` with the score -3.25. Cost: linear.

use std::borrow::Cow;

use super::bpe::inner_mark;
use super::entries::VocabularyEntries;
use super::{Import, UnjudgedModel};
use crate::convert::ReasonKind;
use crate::convert::tokenizer_json::export::{lowest_score, unigram_reasons};
use crate::error::ConvertError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;

impl Import<'_, '_> {
    /// The model with its verdict.
    pub(super) fn unigram(
        mut self,
        entries: VocabularyEntries,
    ) -> Result<UnjudgedModel, ConvertError> {
        self.unknown = self.file.model.unk_id.map(PieceId::new);
        let mut scores = self.vocab.scores().map(narrowed);
        let mut pieces = Vec::with_capacity(entries.len());
        let mut keys = Vec::with_capacity(entries.len());
        for id in 0..entries.len() {
            let kind = self.kind_of_unigram(&entries, id);
            pieces.push((scores.next().unwrap_or_default(), kind));
            let text = entries.text(id).unwrap_or_default();
            keys.push(Cow::Owned(lossy_string(text)));
        }
        let model = self.build(entries, pieces)?;
        keys.resize(model.len(), Cow::Borrowed(""));
        self.add_reasons_of_unigram(&model, &keys);
        Ok(UnjudgedModel {
            model,
            verdict: self.verdict,
            merges: None,
        })
    }

    fn kind_of_unigram(&self, entries: &VocabularyEntries, id: usize) -> PieceKind {
        let kind = self.meta_kind(entries, id);
        kind.unwrap_or_else(|| match entries.is_held(id) {
            true => PieceKind::Normal,
            false => PieceKind::Control,
        })
    }

    /// Reasons of the pieces; `keys` are their texts in the file.
    fn add_reasons_of_unigram(&mut self, model: &Model, keys: &[Cow<'_, str>]) {
        if self.lowest_listed_score() < lowest_score(model) {
            self.reason(ReasonKind::UnknownCharacter, "a piece that text never gives has the lowest score, on which tokenizers bases that of unknown characters");
        }
        self.add_reasons(unigram_reasons(model, keys));
        if self.flags.splits_at_marks {
            self.add_reasons(inner_mark(model));
        }
    }

    fn lowest_listed_score(&self) -> f32 {
        let scores = self.vocab.scores().map(narrowed);
        scores.fold(f32::MAX, f32::min)
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
