//! The post-processor of a byte-level `tokenizer.json`, for the file of a changed vocabulary.
//!
//! It puts special tokens around the ids of a text, or changes offsets. Its tokens stand in it with
//! their ids, which are replaced here. Post-processors of other kinds than those of tokenizers 0.23.3
//! are not copied, because what their numbers mean is not known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::formats::{Reason, ReasonKind};
use crate::piece::PieceId;

/// The post-processor of a file that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadPostProcessor {
    json: Value,
}

/// A post-processor for a file, from [`ReadPostProcessor::with_ids`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedPostProcessor {
    pub(super) processor: Processor,
}

/// The post-processor of a `tokenizer.json`. It does not change the ids of a text, but can put
/// special tokens around them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostProcessor {
    /// None.
    #[default]
    None,
    /// `ByteLevel`.
    ByteLevel {
        /// Whether the offsets of a token leave out the white space around it.
        trim_offsets: bool,
    },
    /// That of another file, from
    /// [`ReadPostProcessor::with_ids`](crate::formats::ReadPostProcessor::with_ids).
    Copied(CopiedPostProcessor),
}

/// A post-processor; the order of the fields is that of `tokenizers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", deny_unknown_fields)]
pub(super) enum Processor {
    #[serde(rename = "RobertaProcessing")]
    Roberta {
        sep: (String, u32),
        cls: (String, u32),
        trim_offsets: bool,
        add_prefix_space: bool,
    },
    #[serde(rename = "BertProcessing")]
    Bert {
        sep: (String, u32),
        cls: (String, u32),
    },
    ByteLevel {
        add_prefix_space: bool,
        trim_offsets: bool,
        #[serde(default = "yes")]
        use_regex: bool,
    },
    #[serde(rename = "TemplateProcessing")]
    Template {
        single: Vec<TemplatePiece>,
        pair: Vec<TemplatePiece>,
        special_tokens: BTreeMap<String, TemplateToken>,
    },
    Sequence {
        processors: Vec<Self>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum TemplatePiece {
    Sequence { id: String, type_id: u32 },
    SpecialToken { id: String, type_id: u32 },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TemplateToken {
    id: String,
    ids: Vec<u32>,
    tokens: Vec<String>,
}

/// What `use_regex` is where it is missing.
fn yes() -> bool {
    true
}

impl ReadPostProcessor {
    pub(super) fn new(json: Value) -> Self {
        Self { json }
    }

    /// The post-processor with the new ids of its tokens.
    ///
    /// # Errors
    /// The reason why there is none: one of its tokens has no new id, or its kind is not known.
    pub fn with_ids(
        &self,
        new_id: impl Fn(PieceId) -> Option<PieceId>,
    ) -> Result<PostProcessor, Reason> {
        let mut processor = self.processor()?;
        processor.replace_ids(&new_id)?;
        Ok(PostProcessor::Copied(CopiedPostProcessor { processor }))
    }

    /// Apart from [`with_ids`](Self::with_ids), which is generic, so that its callers do not
    /// compile the reading of JSON again.
    fn processor(&self) -> Result<Processor, Reason> {
        Processor::deserialize(&self.json).map_err(|error| {
            let kind = self.json.get("type").and_then(Value::as_str);
            let kind = kind.unwrap_or("without a type");
            let explanation = format!("the post-processor ({kind}) is not known: {error}");
            Reason::new(ReasonKind::MetaPiece, explanation)
        })
    }
}

impl Processor {
    fn replace_ids(&mut self, new_id: &impl Fn(PieceId) -> Option<PieceId>) -> Result<(), Reason> {
        let replace = |text: &str, id: &mut u32| match new_id(PieceId::new(*id)) {
            Some(new) => {
                *id = new.get();
                Ok(())
            }
            None => {
                let explanation = format!(
                    "the post-processor has the token {text:?}, whose id {id} is gone or another token's"
                );
                Err(Reason::new(ReasonKind::MetaPiece, explanation))
            }
        };
        match self {
            Self::ByteLevel { .. } => Ok(()),
            Self::Roberta { sep, cls, .. } | Self::Bert { sep, cls } => {
                replace(&sep.0, &mut sep.1)?;
                replace(&cls.0, &mut cls.1)
            }
            Self::Template { special_tokens, .. } => {
                let mut tokens = special_tokens.values_mut();
                tokens.try_for_each(|token| {
                    let mut ids = token.ids.iter_mut();
                    ids.try_for_each(|id| replace(&token.id, id))
                })
            }
            Self::Sequence { processors } => {
                let mut processors = processors.iter_mut();
                processors.try_for_each(|processor| processor.replace_ids(new_id))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The new id is the old one and ten more; that of 3 is gone.
    fn copied(json: &Value) -> Result<Value, String> {
        let new_id = |id: PieceId| (id.get() != 3).then(|| PieceId::new(id.get() + 10));
        match ReadPostProcessor::new(json.clone()).with_ids(new_id) {
            Ok(PostProcessor::Copied(copied)) => {
                Ok(serde_json::to_value(copied.processor).unwrap())
            }
            Ok(other) => panic!("{other:?}"),
            Err(reason) => Err(reason.to_string()),
        }
    }

    #[test]
    fn the_ids_of_all_kinds_are_replaced() {
        let byte_level = json!({"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true});
        let bert =
            |sep, cls| json!({"type": "BertProcessing", "sep": ["</s>", sep], "cls": ["<s>", cls]});
        let roberta = |sep, cls| json!({"type": "RobertaProcessing", "sep": ["</s>", sep], "cls": ["<s>", cls], "trim_offsets": true, "add_prefix_space": false});
        let template = |id, other| {
            json!({
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<s>": {"id": "<s>", "ids": [id, other], "tokens": ["<s>", "<t>"]}},
            })
        };
        let sequence =
            |processors: [Value; 2]| json!({"type": "Sequence", "processors": processors});
        for (old, new) in [
            (byte_level.clone(), byte_level.clone()),
            (bert(1, 2), bert(11, 12)),
            (roberta(1, 2), roberta(11, 12)),
            (template(0, 4), template(10, 14)),
            (
                sequence([byte_level.clone(), template(1, 1)]),
                sequence([byte_level.clone(), template(11, 11)]),
            ),
        ] {
            assert_eq!(copied(&old), Ok(new));
        }
        for (json, message) in [
            (bert(3, 1), "the token \"</s>\", whose id 3"),
            (
                sequence([byte_level.clone(), template(1, 3)]),
                "the token \"<s>\", whose id 3",
            ),
            (json!({"type": "Other"}), "(Other) is not known"),
            (json!([1]), "(without a type) is not known"),
        ] {
            let error = copied(&json).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
