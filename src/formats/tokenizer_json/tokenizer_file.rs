//! A `tokenizer.json` whose components can be changed one by one.
//!
//! The library tokenizers gives programs a tokenizer that they change: they add tokens, replace a normalizer, set the
//! length of results. A [`TokenizerFile`] is what such a tokenizer is between two changes: the JSON of the components, as
//! it is saved, and the stages that were made of it. A change makes one stage again and shares the others, above all the
//! model.

use std::cell::Cell;
use std::sync::Arc;

use serde_json::Value;

use super::ordered_json::Json;
use super::parse::{JsonModel, JsonPipeline};
use super::pipeline::{PlacedComponent, read_model, with_equal_model};
use super::saved_form::{Component, saved_form};
use super::write_pipeline::{FileFields, added_tokens, model, model_settings};
use crate::byte_bpe::SpecialToken;
use crate::formats::error::json_error;
use crate::formats::{FileFormat, FormatError};
use crate::pipeline::{
    Padding, Pipeline, PipelineModel, PipelineParts, Truncation, UnicodeVersion,
};
use crate::tokenizer::{Tokenizer, TokenizerConfig};

/// A file that can be changed; see the example.
///
/// ```
/// use spiece::formats::{Component, TokenizerFile};
/// let mut file = TokenizerFile::parse(
///     br#"{"model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}}"#,
/// )?;
/// file.set_component(Component::PreTokenizer, Some(r#"{"type": "WhitespaceSplit"}"#))?;
/// assert_eq!(file.to_tokenizer()?.encode("a a"), [0, 0]);
/// assert!(file.to_json(false).contains(r#""pre_tokenizer":{"type":"WhitespaceSplit"}"#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct TokenizerFile {
    parts: PipelineParts,
    /// The components as they are saved, in the order of [`Component::ALL`]; null for none.
    components: [Value; 4],
    /// The pipeline that was made last, whose tables a changed one may share.
    made: Option<Arc<Pipeline>>,
}

impl TokenizerFile {
    /// Reads a file of version 1.0.
    ///
    /// # Errors
    /// The file is malformed, or has a component that is not known.
    pub fn parse(json: &[u8]) -> Result<Self, FormatError> {
        let json = JsonPipeline::parse(crate::formats::json_text(json)?)?;
        if let Some(version) = json.version.as_deref().filter(|version| *version != "1.0") {
            let problem = format!(
                "{version:?} is not the version 1.0 of tokenizers 0.23.3; convert the file"
            );
            return Err(FormatError::component("version", problem));
        }
        let components = [
            (Component::Normalizer, &json.normalizer),
            (Component::PreTokenizer, &json.pre_tokenizer),
            (Component::PostProcessor, &json.post_processor),
            (Component::Decoder, &json.decoder),
        ];
        let components = components.map(|(component, json)| {
            let json = json.as_ref();
            json.map_or(Value::Null, |json| saved_form(component, json))
        });
        let mut parts = json.into_parts(None)?;
        parts.find_ids();
        Ok(Self {
            parts,
            components,
            made: None,
        })
    }

    /// A tokenizer of the file as it is now.
    ///
    /// # Errors
    /// The added tokens cannot be searched for.
    pub fn to_tokenizer(&mut self) -> Result<Tokenizer, FormatError> {
        let pipeline = Pipeline::of_parts(self.parts.clone(), self.made.as_deref())?;
        let pipeline = with_equal_model(pipeline);
        let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
        self.made = tokenizer.pipeline().cloned();
        Ok(tokenizer)
    }

    /// A component as it is saved; `None` if there is none.
    pub fn component(&self, component: Component) -> Option<String> {
        let at = Component::ALL
            .iter()
            .position(|other| *other == component)?;
        let json = self.components.get(at).filter(|json| !json.is_null())?;
        serde_json::to_string(&Json::Value(json.clone())).ok()
    }

    /// Replaces a component, or removes it.
    ///
    /// # Errors
    /// It is malformed or not known; the file is unchanged then.
    pub fn set_component(
        &mut self,
        component: Component,
        json: Option<&str>,
    ) -> Result<(), FormatError> {
        let json = json.map(serde_json::from_str::<Value>).transpose();
        let json = json.map_err(|error| json_error(FileFormat::TokenizerJson, &error))?;
        let compiled = Cell::new(0);
        let placed = json
            .as_ref()
            .map(|json| PlacedComponent::new(component.field(), json, &compiled));
        match component {
            Component::Normalizer => {
                let mut steps = Vec::new();
                if let Some(placed) = placed {
                    placed.read_normalizer(UnicodeVersion::V9, &mut steps)?;
                }
                self.parts.normalizer = steps.into();
            }
            Component::PreTokenizer => {
                let mut steps = Vec::new();
                if let Some(placed) = placed {
                    placed.read_pre_tokenizer(&mut steps)?;
                }
                self.parts.pre_tokenizer = steps.into();
            }
            Component::PostProcessor => {
                let mut steps = Vec::new();
                if let Some(placed) = placed {
                    placed.read_post_processor(&mut steps)?;
                }
                self.parts.post_processor = steps.into();
            }
            Component::Decoder => {
                self.parts.decoder = match placed {
                    Some(placed) => {
                        let mut steps = Vec::new();
                        placed.read_decoder(&mut steps)?;
                        Some(steps.into())
                    }
                    None => None,
                };
            }
        }
        let saved = json.map_or(Value::Null, |json| saved_form(component, &json));
        for (other, place) in Component::ALL.iter().zip(&mut self.components) {
            if *other == component {
                place.clone_from(&saved);
            }
        }
        Ok(())
    }

    /// The model.
    pub fn model(&self) -> &PipelineModel {
        &self.parts.model
    }

    /// The number of its tokens; more than those of the vocabulary if it has equal ones.
    pub fn model_size(&self) -> u32 {
        self.parts.model_size
    }

    /// The model as it is saved.
    pub fn model_json(&self) -> String {
        let settings = model_settings(&self.parts.model);
        let model = model(&self.parts.model, settings);
        serde_json::to_string(&model).unwrap_or_default()
    }

    /// Replaces the model. Added tokens keep their ids.
    ///
    /// # Errors
    /// It is malformed or of an unknown type; the file is unchanged then.
    pub fn set_model(&mut self, json: &str) -> Result<(), FormatError> {
        let json: JsonModel<'_> = serde_json::from_str(json)
            .map_err(|error| json_error(FileFormat::TokenizerJson, &error))?;
        let read = read_model(&json)?;
        self.parts.model_size = read.size;
        self.parts.model = Arc::new(read.model);
        Ok(())
    }

    /// The added tokens.
    pub fn added_tokens(&self) -> &[SpecialToken] {
        &self.parts.added_tokens
    }

    /// Adds tokens, whose ids are found with the rules of tokenizers, and returns the number of those that are new or
    /// were changed. An empty token is left out.
    pub fn add_tokens(&mut self, tokens: Vec<SpecialToken>) -> usize {
        self.parts.add_tokens(tokens)
    }

    /// How long texts are cut.
    pub fn truncation(&self) -> Option<&Truncation> {
        self.parts.truncation.as_ref()
    }

    /// Sets how long texts are cut.
    pub fn set_truncation(&mut self, truncation: Option<Truncation>) {
        self.parts.truncation = truncation;
    }

    /// How short texts are filled up.
    pub fn padding(&self) -> Option<&Padding> {
        self.parts.padding.as_ref()
    }

    /// Sets how short texts are filled up.
    pub fn set_padding(&mut self, padding: Option<Padding>) {
        self.parts.padding = padding;
    }

    /// The file, as tokenizers saves it: on one line, or with lines that are indented.
    pub fn to_json(&self, is_pretty: bool) -> String {
        let mut added = added_tokens(&self.parts.added_tokens);
        added.sort_by_key(|token| token["id"].as_u64());
        let components = Component::ALL.iter().zip(&self.components);
        let components = components.map(|(component, json)| (component.field(), json.clone()));
        let fields = FileFields {
            truncation: self.truncation(),
            padding: self.padding(),
            added_tokens: added,
            components: components.collect(),
        };
        let model = model(&self.parts.model, model_settings(&self.parts.model));
        let file = fields.into_json("1.0", model);
        // Neither writing to memory nor a value of these types fails.
        match is_pretty {
            true => serde_json::to_string_pretty(&file),
            false => serde_json::to_string(&file),
        }
        .unwrap_or_default()
    }
}
