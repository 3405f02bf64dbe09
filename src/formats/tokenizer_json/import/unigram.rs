//! The pieces of a unigram model: those of the file, with the nearest 32-bit scores.
//!
//! `export` has the reasons why ids can differ. For example, `["▁a", -3.25]` becomes the piece `▁a`
//! with the score -3.25.

use std::borrow::Cow;

use super::bpe::inner_mark;
use super::entries::VocabularyEntries;
use super::{Import, syntax};
use crate::formats::FormatError;
use crate::formats::tokenizer_json::export::{lowest_score, unigram_reasons};
use crate::formats::{Converted, ReasonKind};
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::UnigramModel;

impl Import<'_> {
    /// The model with its verdict.
    pub(super) fn unigram(
        mut self,
        unigram: &UnigramModel,
        entries: &VocabularyEntries<'_>,
    ) -> Result<Converted<Model>, FormatError> {
        self.unknown = unigram.unknown().map(PieceId::new);
        let scores: Vec<f32> = unigram.scores().iter().copied().map(narrowed).collect();
        let mut pieces = Vec::with_capacity(entries.len());
        let mut keys = Vec::with_capacity(entries.len() + 1);
        for id in 0..entries.len() {
            let kind = self.meta_kind(entries, id);
            let kind = kind.unwrap_or_else(|| match entries.held_text(id) {
                Some(_) => PieceKind::Normal,
                None => PieceKind::Control,
            });
            let score = match (scores.get(id), kind) {
                (Some(score), _) => *score,
                (None, PieceKind::Normal) => {
                    return Err(syntax(format!("model.vocab has no score for the id {id}")));
                }
                // The scores of other pieces than normal ones are not used.
                (None, _) => 0.0,
            };
            pieces.push((score, kind));
            keys.push(Cow::Borrowed(entries.text(id).unwrap_or("")));
        }
        let model = self.build(entries, &pieces)?;
        keys.resize(model.len(), Cow::Borrowed(""));
        let lowest = scores.iter().copied().fold(f32::MAX, f32::min);
        if lowest < lowest_score(&model) {
            self.reason(ReasonKind::UnknownCharacter, "a piece that text never gives has the lowest score, on which tokenizers bases that of unknown characters");
        }
        self.add_reasons(unigram_reasons(&model, &keys));
        if self.flags.splits_at_marks {
            self.add_reasons(inner_mark(&model));
        }
        Ok(self.converted(model))
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
