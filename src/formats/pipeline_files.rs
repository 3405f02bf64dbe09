//! Pipelines in the files of other programs.
//!
//! A `tokenizer.json`, alone or in a folder, holds every pipeline. The other formats hold some of them: a
//! byte-level pipeline that is a byte-level vocabulary becomes what that becomes, and BPE and unigram
//! models with SentencePiece's normalization become a `.model` or GGUF file, with a verdict, and WordPiece
//! models a `vocab.txt`, likewise.

use serde_json::Value;

use super::bytes::{ByteFileOptions, ByteFiles};
use super::gguf::GgufOptions;
use super::model_type::{has_stages_of_qwen, reason_of_model_type};
use super::wordpiece::{class_of_bert, write_vocab_txt};
use super::{FileFormat, Reason, ReasonKind, read_pipeline, tokenizer_json};
use crate::base::lossy_string;
use crate::byte_bpe::ByteBpeError;
use crate::formats::error::FormatError;
use crate::model::Model;
use crate::pipeline::{
    NoByteBpe, NormalizerStep, Pipeline, PipelineModel, PreTokenizerStep, UnicodeForm,
    UnicodeVersion,
};

/// A component that is in the way of a format.
pub(super) struct Obstacle {
    /// Its path in a `tokenizer.json`.
    pub(super) component: String,
    /// What it is.
    pub(super) found: String,
}

impl Obstacle {
    fn new(component: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            component: component.into(),
            found: found.into(),
        }
    }

    /// What is in the way in the vocabulary or the merges; `None` if it is another stage.
    fn of_vocabulary(why: &NoByteBpe) -> Option<Self> {
        let (component, found) = match why {
            NoByteBpe::Divided(text) => (
                "model.merges",
                format!("a list that divides {text:?}, to which merging by rank comes"),
            ),
            NoByteBpe::OtherCharacters(text) => (
                "model.vocab",
                format!("{text:?}, whose characters stand for no byte, with ignore_merges"),
            ),
            NoByteBpe::IdOfSpecial { text, id } => (
                "added_tokens",
                format!("{text:?} with the id {id}, which another token has"),
            ),
            NoByteBpe::RepeatedId => ("model.vocab", "two tokens with one id".to_owned()),
            NoByteBpe::Vocabulary(ByteBpeError::RepeatedToken { bytes, id }) => (
                "model.vocab",
                format!(
                    "two tokens for {:?}, one of them with the id {id}",
                    lossy_string(bytes)
                ),
            ),
            NoByteBpe::Vocabulary(_) | NoByteBpe::Stages => return None,
        };
        Some(Self::new(component, found))
    }
}

impl Pipeline {
    /// The pipeline in the files of a format, with a verdict on whether the program that the files are
    /// made for gives the same ids.
    ///
    /// ```
    /// use spiece::Tokenizer;
    /// use spiece::formats::{ByteFileOptions, FileFormat};
    /// let tokenizer = Tokenizer::open("testdata/wordpiece/vocab.txt")?;
    /// let pipeline = tokenizer.pipeline().expect("it is a vocab.txt");
    /// let written = pipeline.to_format(FileFormat::VocabTxt, &ByteFileOptions::default())?;
    /// assert!(written.verdict.is_exact());
    /// assert!(written.files[0].1.starts_with(b"[PAD]\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The format cannot hold the pipeline: [`FormatError::CannotHold`] names the component that is
    /// in the way.
    pub fn to_format(
        &self,
        format: FileFormat,
        options: &ByteFileOptions,
    ) -> Result<ByteFiles, FormatError> {
        let mut files = self.files_of(format, options)?;
        if format != FileFormat::TokenizerJson2 && self.has_forms_of_17() {
            let explanation =
                "programs that read this format have not the normalization forms of Unicode 17";
            files.add_reasons([Reason::new(ReasonKind::NormalizationRules, explanation)]);
        }
        Ok(files)
    }

    fn files_of(
        &self,
        format: FileFormat,
        options: &ByteFileOptions,
    ) -> Result<ByteFiles, FormatError> {
        if let PipelineModel::Bytes(bytes) = self.model() {
            return bytes.byte_bpe().to_format(format, options);
        }
        match format {
            FileFormat::TokenizerJson => {
                let file = self.tokenizer_json_as_usual()?;
                return Ok(ByteFiles::one("tokenizer.json", file));
            }
            FileFormat::Folder => {
                let roles = options.checked_roles(self.added_tokens(), self.roles())?;
                let chat_template = options.chat_template.as_deref();
                let config = match class_of_bert(self) {
                    Some(bert) => tokenizer_json::config_of_bert(bert, &roles, chat_template),
                    None => tokenizer_json::config_of_tokens(&roles, chat_template),
                };
                let mut files = ByteFiles::one("tokenizer_config.json", config);
                let file = self.tokenizer_json_as_usual()?;
                files.files.push(("tokenizer.json", file));
                let is_qwen = self.byte_bpe().is_some_and(has_stages_of_qwen);
                let model_type = options.model_type.as_deref();
                files.add_reasons(reason_of_model_type(model_type, is_qwen));
                return Ok(files);
            }
            FileFormat::TokenizerJson2 => return self.to_version_2(options),
            FileFormat::VocabTxt => {
                return match self.model() {
                    PipelineModel::WordPiece(words) => write_vocab_txt(self, words),
                    _ => Err(self.obstacle(format)),
                };
            }
            _ => {}
        }
        if let Some(bpe) = self.byte_bpe() {
            return bpe.to_format(format, options);
        }
        let holds_models = matches!(format, FileFormat::Model | FileFormat::Gguf);
        if holds_models && self.may_be_converted_to_model() {
            return self.to_model_file(format);
        }
        Err(self.obstacle(format))
    }

    fn has_forms_of_17(&self) -> bool {
        let is_new = |step: &NormalizerStep| {
            matches!(
                step,
                NormalizerStep::Unicode(_, UnicodeVersion::V17)
                    | NormalizerStep::Bert(_, UnicodeVersion::V17)
            )
        };
        self.normalizer().iter().any(is_new)
    }

    /// The `tokenizer.json` that is read as this pipeline.
    pub(crate) fn to_file(&self) -> Result<Vec<u8>, FormatError> {
        match self.has_forms_of_17() {
            true => Ok(tokenizer_json::write_version_2(self, self.roles())?.0),
            false => self.tokenizer_json_as_usual(),
        }
    }

    /// The `tokenizer.json`; that of a byte-level vocabulary in the form in which such a vocabulary is
    /// written, if that says the same.
    fn tokenizer_json_as_usual(&self) -> Result<Vec<u8>, FormatError> {
        let file = self.to_tokenizer_json()?;
        if self.has_byte_strings() {
            return Ok(file);
        }
        let options = ByteFileOptions::default();
        let bpe = self.byte_bpe();
        let written = bpe.map(|bpe| bpe.to_format(FileFormat::TokenizerJson, &options));
        if let Some(Ok(written)) = written
            && let [(_, usual)] = &written.files[..]
            && let Ok(read) = read_pipeline(usual)
            && read.to_tokenizer_json().is_ok_and(|again| again == file)
        {
            return Ok(usual.clone());
        }
        Ok(file)
    }

    fn to_version_2(&self, options: &ByteFileOptions) -> Result<ByteFiles, FormatError> {
        let roles = options.checked_roles(self.added_tokens(), self.roles())?;
        let (file, reasons) = tokenizer_json::write_version_2(self, &roles)?;
        let mut files = ByteFiles::one("tokenizer.json", file);
        files.add_reasons(reasons);
        Ok(files)
    }

    /// Whether the model is of a type that SentencePiece has.
    fn may_be_converted_to_model(&self) -> bool {
        let is_type = matches!(
            self.model(),
            PipelineModel::Bpe(_) | PipelineModel::Unigram(_)
        );
        is_type && !self.is_byte_level()
    }

    /// A `.model` or GGUF file.
    fn to_model_file(&self, format: FileFormat) -> Result<ByteFiles, FormatError> {
        let converted = Model::from_pipeline(self).map_err(|error| match error {
            FormatError::NoModel {
                component, found, ..
            } => component_error(format, &component, found),
            error => error,
        })?;
        let mut files = match format {
            FileFormat::Gguf => {
                let vocab = converted.value.to_gguf_vocab(&GgufOptions::default())?;
                let mut files = ByteFiles::one("tokenizer.gguf", vocab.bytes);
                files.verdict = vocab.verdict;
                files
            }
            _ => ByteFiles::one("tokenizer.model", converted.value.to_bytes()),
        };
        files.add_reasons(converted.verdict.reasons().iter().cloned());
        Ok(files)
    }

    /// Why a format that holds byte-level vocabularies, or models of SentencePiece's types, does not
    /// hold the pipeline.
    fn obstacle(&self, format: FileFormat) -> FormatError {
        let is_bpe = matches!(self.model(), PipelineModel::Bpe(_));
        let obstacle = if self.is_byte_level() && format == FileFormat::Model {
            let found = "with ByteLevel: the tokens are bytes, and not characters";
            Obstacle::new("pre_tokenizer", found)
        } else if is_bpe && format == FileFormat::VocabTxt {
            Obstacle::new("model.type", self.model().type_name())
        } else {
            self.obstacle_of_bytes()
        };
        component_error(format, &obstacle.component, obstacle.found)
    }

    /// Why the pipeline is no byte-level vocabulary.
    pub(super) fn obstacle_of_bytes(&self) -> Obstacle {
        let error = |component: &str, found: String| Obstacle::new(component, found);
        let kind = self.model().type_name();
        let why = self.byte_bpe_or_why().err();
        if let Some(obstacle) = why.and_then(Obstacle::of_vocabulary) {
            return obstacle;
        }
        let PipelineModel::Bpe(bpe) = self.model() else {
            let of_bytes = match self.is_byte_level() {
                true => ", over bytes",
                false => "",
            };
            return error("model.type", format!("{kind}{of_bytes}"));
        };
        if !self.is_byte_level() {
            let found = "without ByteLevel: the tokens are characters, and not bytes";
            return error("pre_tokenizer", found.to_owned());
        }
        let options = bpe.options();
        for (name, text) in [
            (
                "continuing_subword_prefix",
                &options.continuing_subword_prefix,
            ),
            ("end_of_word_suffix", &options.end_of_word_suffix),
            ("unk_token", &options.unknown_token),
        ] {
            if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
                return error(&format!("model.{name}"), format!("{text:?}"));
            }
        }
        let known = |step: &NormalizerStep| {
            matches!(
                step,
                NormalizerStep::Unicode(UnicodeForm::Nfc, UnicodeVersion::V9)
            )
        };
        let cuts = |step: &PreTokenizerStep| {
            matches!(
                step,
                PreTokenizerStep::ByteLevel { .. }
                    | PreTokenizerStep::Split { .. }
                    | PreTokenizerStep::Digits { .. }
            )
        };
        let stages: Value = serde_json::from_str(&self.stages_to_json()).unwrap_or_default();
        if !self.normalizer().iter().all(known) {
            return error("normalizer", stages["normalizer"].to_string());
        }
        if !self.pre_tokenizer().iter().all(cuts) {
            return error("pre_tokenizer", stages["pre_tokenizer"].to_string());
        }
        match bpe.vocabulary().missing_byte() {
            Some(byte) => error(
                "model.vocab",
                format!(
                    "without a token for the byte 0x{byte:02X}, which disappears from every text"
                ),
            ),
            None => error(
                "pre_tokenizer",
                format!(
                    "{}, which cuts in another way than byte-level vocabularies",
                    stages["pre_tokenizer"]
                ),
            ),
        }
    }
}

fn component_error(format: FileFormat, component: &str, found: String) -> FormatError {
    FormatError::CannotHold {
        format,
        component: component.to_owned(),
        found,
        remedy: "write a tokenizer.json, which holds every pipeline",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The component that is in the way of a format, with what it is.
    fn obstacle(file: &Value, format: FileFormat) -> (String, String) {
        let pipeline = read_pipeline(file.to_string().as_bytes()).unwrap();
        let error = pipeline.to_format(format, &ByteFileOptions::default());
        match error.unwrap_err() {
            FormatError::CannotHold {
                component, found, ..
            } => (component, found),
            error => panic!("{error}"),
        }
    }

    #[test]
    fn refusals_name_the_component_that_is_in_the_way() {
        let words = json!({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}});
        let bpe = json!({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}});
        let bytes = json!({
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
            "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []},
        });
        let mut suffix = bytes.clone();
        suffix["model"]["end_of_word_suffix"] = json!("</w>");
        let mut lower = bytes.clone();
        lower["normalizer"] = json!({"type": "Lowercase"});
        let table = [
            (&words, FileFormat::Tiktoken, "model.type", "WordLevel"),
            (&words, FileFormat::Model, "model.type", "WordLevel"),
            (
                &bpe,
                FileFormat::VocabMerges,
                "pre_tokenizer",
                "without ByteLevel",
            ),
            (&bpe, FileFormat::VocabTxt, "model.type", "BPE"),
            (&bytes, FileFormat::Model, "pre_tokenizer", "with ByteLevel"),
            (&bytes, FileFormat::Minbpe, "model.vocab", "the byte 0x00"),
            (
                &suffix,
                FileFormat::Gguf,
                "model.end_of_word_suffix",
                "</w>",
            ),
            (&lower, FileFormat::Tiktoken, "normalizer", "Lowercase"),
        ];
        for (file, format, component, found) in table {
            let (in_the_way, is) = obstacle(file, format);
            assert_eq!(in_the_way, component, "{file} {format}");
            assert!(is.contains(found), "{is}");
        }
    }
}
