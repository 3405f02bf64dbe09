//! The pieces of a unigram model.
//!
//! Input: the vocabulary, a list of texts and scores. Output: a model with the same pieces and the nearest 32-bit scores; `export`
//! has the reasons why ids can differ. For example, `["▁a", -3.25]` becomes the piece `▁a` with the score -3.25. Cost: linear.

use super::entries::VocabularyEntries;
use super::{Import, syntax};
use crate::convert::tokenizer_json::export::{lowest_score, unigram_reasons};
use crate::convert::tokenizer_json::parse::JsonVocab;
use crate::convert::{ConvertedModel, ReasonKind};
use crate::error::ConvertError;
use crate::piece::PieceKind;

impl Import<'_, '_> {
    /// The model and the verdict.
    pub(super) fn unigram(
        mut self,
        entries: VocabularyEntries<'_>,
    ) -> Result<ConvertedModel, ConvertError> {
        let JsonVocab::Scores(vocab) = &self.file.model.vocab else {
            return Err(syntax("model.vocab is not a list".to_owned()));
        };
        let unknown = self.file.model.unk_id;
        let mut builder = self.builder();
        for id in 0..entries.texts.len() {
            let text = entries.text_or_stand_in(id);
            let text = text.as_ref();
            let is_found = entries.texts[id] == Some(text);
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
}

/// The nearest 32-bit float.
#[expect(
    clippy::cast_possible_truncation,
    reason = "scores of models are 32-bit floats"
)]
fn narrowed(score: f64) -> f32 {
    score as f32
}
