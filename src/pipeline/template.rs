//! What stands around the texts, and which spans tokens have.

use std::sync::Arc;

use super::layout::SpecialTokens;

/// A step after the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PostProcessorStep {
    /// Takes white space at the ends of tokens out of their spans, and numbers the results.
    TrimOffsets {
        /// Whether one space at the start of a text was added and is no white space of its own.
        add_prefix_space: bool,
    },
    /// Tokens before, between and after texts.
    Template(Template),
    /// Numbers the results, and changes nothing else.
    NumberSequences,
}

/// Tokens before, between and after texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// For one text.
    pub single: Vec<TemplatePart>,
    /// For two texts.
    pub pair: Vec<TemplatePart>,
    /// What it is in a file.
    pub kind: TemplateKind,
}

/// The post-processor that is a [`Template`]. All give the same ids; they differ in types, masks and overflow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TemplateKind {
    /// `TemplateProcessing`.
    #[default]
    Own,
    /// `BertProcessing`.
    Bert,
    /// `RobertaProcessing`.
    Roberta,
}

/// A part of a [`Template`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TemplatePart {
    /// A text.
    Sequence {
        /// The second text instead of the first.
        is_second: bool,
        /// The type of its tokens.
        type_id: u32,
    },
    /// Tokens.
    Special {
        /// The tokens, which all results share.
        tokens: Arc<SpecialTokens>,
        /// Their type.
        type_id: u32,
    },
}

/// The ids before and after a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TextEnds {
    pub(crate) before: Vec<u32>,
    pub(crate) after: Vec<u32>,
}

impl TextEnds {
    /// Of templates, of which the later stand around the former.
    pub(super) fn new(steps: &[PostProcessorStep]) -> Self {
        let mut ends = Self::default();
        for step in steps {
            let PostProcessorStep::Template(template) = step else {
                continue;
            };
            let ids = |part: &TemplatePart| match part {
                TemplatePart::Special { tokens, .. } => tokens.ids.clone(),
                TemplatePart::Sequence { .. } => Vec::new(),
            };
            let is_text = |part: &TemplatePart| matches!(part, TemplatePart::Sequence { .. });
            let text = template.single.iter().position(is_text);
            let (before, after) = template
                .single
                .split_at(text.unwrap_or(template.single.len()));
            ends.before.splice(0..0, before.iter().flat_map(ids));
            ends.after.extend(after.iter().flat_map(ids));
        }
        ends
    }
}
