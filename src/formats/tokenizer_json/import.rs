//! A pipeline of a `tokenizer.json` as a model, and the verdict.
//!
//! What both types of models share is here; the reasons of added tokens are in [`added_tokens`],
//! the pieces that begin and end texts in [`special_pieces`]. The pieces of BPE models are in
//! [`bpe`], those of unigram models in [`unigram`]. Example: the added token `<s>` with `special:
//! true` becomes the control piece `<s>` and the beginning-of-sentence piece in the trainer spec.

mod added_tokens;
mod bpe;
mod entries;
mod pairs;
mod special_pieces;
#[cfg(test)]
mod tests;
mod unigram;

use std::borrow::Cow;

use self::entries::VocabularyEntries;
use self::special_pieces::record_special_pieces;
use super::super::{Converted, FileFormat, Reason, ReasonKind, Verdict};
use super::components::JsonFlags;
use super::normalization::rules_reasons;
use super::{dropout_reason, syntax};
use crate::byte_bpe::SpecialToken;
use crate::formats::FormatError;
use crate::model::validate::byte_of_piece;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::{Pipeline, PipelineModel};

/// The model of a pipeline with these added tokens, which are all of its own or none.
pub(super) fn convert(
    pipeline: &Pipeline,
    added: &[SpecialToken],
) -> Result<Converted<Model>, FormatError> {
    let model_type = match pipeline.model() {
        PipelineModel::Bpe(bpe) => {
            let options = bpe.options();
            for (name, text) in [
                (
                    "model.continuing_subword_prefix",
                    &options.continuing_subword_prefix,
                ),
                ("model.end_of_word_suffix", &options.end_of_word_suffix),
            ] {
                if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
                    return Err(unsupported(name, format!("{text:?}")));
                }
            }
            ModelType::Bpe
        }
        PipelineModel::Unigram(_) => ModelType::Unigram,
        model => {
            return Err(unsupported(
                "model.type",
                format!("{:?}", model.type_name()),
            ));
        }
    };
    if pipeline.is_byte_level() {
        return Err(FormatError::NoModel {
            format: FileFormat::TokenizerJson,
            component: "pre_tokenizer".to_owned(),
            found: "\"ByteLevel\"".to_owned(),
            remedy: "it is a byte-level vocabulary, which formats::ByteVocabulary reads",
        });
    }
    let entries = VocabularyEntries::new(pipeline.model(), added)?;
    let mut import = Import {
        flags: JsonFlags::new(pipeline, added)?,
        added,
        verdict: Verdict::default(),
        model_type,
        has_byte_fallback: false,
        unknown: None,
    };
    let reasons = std::mem::take(&mut import.flags.reasons);
    import.add_reasons(reasons);
    import.add_reasons(dropout_reason(pipeline));
    import.add_reasons_of_added_tokens();
    match pipeline.model() {
        PipelineModel::Unigram(unigram) => {
            import.check_byte_pieces(unigram.has_byte_fallback(), &entries);
            import.unigram(unigram, &entries)
        }
        PipelineModel::Bpe(bpe) => {
            import.check_byte_pieces(bpe.options().byte_fallback, &entries);
            import.bpe(bpe, &entries)
        }
        model => Err(unsupported(
            "model.type",
            format!("{:?}", model.type_name()),
        )),
    }
}

fn unsupported(component: &str, found: String) -> FormatError {
    FormatError::NoModel {
        format: FileFormat::TokenizerJson,
        component: component.to_owned(),
        found,
        remedy: "BPE and unigram models with the normalization of SentencePiece can be converted",
    }
}

/// What is known of the model while it is made.
struct Import<'p> {
    added: &'p [SpecialToken],
    flags: JsonFlags,
    verdict: Verdict,
    model_type: ModelType,
    has_byte_fallback: bool,
    /// The unknown piece, once it was looked for.
    unknown: Option<PieceId>,
}

impl Import<'_> {
    fn reason(&mut self, kind: ReasonKind, explanation: impl Into<String>) {
        self.verdict.add(Reason::new(kind, explanation));
    }

    fn add_reasons(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        self.verdict.add_all(reasons);
    }

    /// Finds out whether every byte has a piece. If none has, `tokenizers` gives the unknown piece,
    /// as without byte fallback.
    fn check_byte_pieces(&mut self, falls_back: bool, entries: &VocabularyEntries<'_>) {
        if !falls_back {
            return;
        }
        let has_piece = |byte: &u8| entries.id(&format!("<0x{byte:02X}>")).is_some();
        let (present, missing): (Vec<u8>, Vec<u8>) = (0..=u8::MAX).partition(has_piece);
        self.has_byte_fallback = missing.is_empty();
        if let Some(byte) = missing.first().filter(|_| !present.is_empty()) {
            self.reason(
                ReasonKind::UnknownCharacter,
                format!("byte_fallback is on, but the piece <0x{byte:02X}> is missing"),
            );
        }
    }

    /// The kind of a piece that does not depend on the type of the model.
    fn meta_kind(&self, entries: &VocabularyEntries<'_>, id: usize) -> Option<PieceKind> {
        let text = entries.text(id)?;
        if self.unknown.is_some_and(|unknown| unknown.index() == id) {
            return Some(PieceKind::Unknown);
        }
        if self.has_byte_fallback && byte_of_piece(text.as_bytes()).is_some() {
            return Some(PieceKind::Byte);
        }
        entries.added_kind(id)
    }

    /// Builds the model, with the ids of the special pieces. `pieces` has the score and the kind of
    /// each id.
    fn build(
        &mut self,
        entries: &VocabularyEntries<'_>,
        pieces: &[(f32, PieceKind)],
    ) -> Result<Model, FormatError> {
        if entries.has_nul() {
            self.reason(
                ReasonKind::MetaPiece,
                "a piece contains a NUL, which SentencePiece models cannot contain",
            );
        }
        let flags = &self.flags;
        let mut builder = Model::builder();
        builder.model_type(self.model_type);
        builder.add_dummy_prefix(flags.add_dummy_prefix);
        builder.remove_extra_whitespaces(flags.remove_extra_whitespaces);
        builder.escape_whitespaces(flags.escape_whitespaces);
        builder.normalization_rules(flags.rules_name(), &flags.charsmap);
        let mut unknown = None;
        for (id, (score, kind)) in pieces.iter().enumerate() {
            let stand_in = || entries.new_text(format!("<unused id {id}>"));
            let text = entries
                .held_text(id)
                .map_or_else(|| Cow::Owned(stand_in()), Cow::Borrowed);
            builder.piece(&*text, *score, *kind);
            if *kind == PieceKind::Unknown {
                unknown = Some((id, text));
            }
        }
        if self.unknown.is_none() && !self.has_byte_fallback {
            let text = Cow::Owned(entries.new_text("<unk>".to_owned()));
            builder.piece(&*text, 0.0, PieceKind::Unknown);
            unknown = Some((pieces.len(), text));
        }
        let spec = builder.trainer_spec_mut();
        spec.byte_fallback = Some(self.has_byte_fallback);
        if flags.treat_whitespace_as_suffix {
            spec.treat_whitespace_as_suffix = Some(true);
        }
        record_special_pieces(spec, entries);
        if let Some((id, text)) = unknown {
            spec.unk_id = i32::try_from(id).ok();
            spec.unk_piece = Some(text.into_owned().into_bytes());
        }
        let model = builder.build()?;
        if !self.flags.charsmap.is_empty() {
            self.add_reasons(rules_reasons(&model));
        }
        Ok(model)
    }

    /// The model with the verdict.
    fn converted(self, model: Model) -> Converted<Model> {
        Converted {
            value: model,
            verdict: self.verdict,
        }
    }
}
