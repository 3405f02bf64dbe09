//! Normalizers and pre-tokenizers of `tokenizers` as flags of a model.
//!
//! Input: the components of a file. Output: [`JsonFlags`], with reasons where the flags do not do the same; or an error for a
//! component that no flag resembles.
//!
//! | component | flag |
//! |---|---|
//! | `Precompiled` | the charsmap |
//! | the regular expressions of `normalization` | those that they are written for |
//! | `Replace` of " " by U+2581 | `escape_whitespaces` |
//! | `Prepend` of U+2581 | `add_dummy_prefix` |
//! | `Metaspace` | `escape_whitespaces`, `add_dummy_prefix`; it puts no prefix before a mark |
//! | `Split` at " " behind `Replace` of " " | none: there are no spaces |
//! | `Strip`, `WhitespaceSplit`, `Replace` of " {2,}" by U+2581 | `remove_extra_whitespaces`, with a reason |
//!
//! The order matters: rules, whitespace at the ends, marks, prefix. Components in another order are an error.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::super::{FileFormat, Reason, ReasonKind};
use super::normalization::{
    END, LEADING_SPACES, REPEATED_SPACES, TRAILING_SPACES, TRAILING_SPACES_AND_MARKS, TRIMMED_END,
    TRIMMED_END_OF_SPACES, prefix_pattern,
};
use super::parse::{JsonComponent, JsonPattern, JsonText};
use crate::error::ConvertError;
use crate::text::WHITESPACE_MARK_STR;

/// What normalizers and pre-tokenizers do, as flags.
#[derive(Debug, Default)]
pub(super) struct JsonFlags {
    pub(super) charsmap: Vec<u8>,
    pub(super) add_dummy_prefix: bool,
    /// Whether texts that are added tokens get no dummy prefix.
    pub(super) excepts_symbols: bool,
    pub(super) remove_extra_whitespaces: bool,
    pub(super) escape_whitespaces: bool,
    pub(super) treat_whitespace_as_suffix: bool,
    /// Whether text is split before marks.
    pub(super) splits_at_marks: bool,
    pub(super) reasons: Vec<Reason>,
    /// Whether the dummy prefix is a mark, so that spaces must become marks, too.
    needs_marks: bool,
    /// Whether spaces at the start, repeated spaces and spaces at the end are removed by regular expressions.
    removals: [bool; 3],
    /// The stage of the last component; stages ascend.
    stage: NormalizationStage,
}

/// The order in which components may stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum NormalizationStage {
    #[default]
    Start,
    Rules,
    Leading,
    Repeated,
    Trailing,
    EarlyPrefix,
    Marks,
    Prefix,
    Pieces,
}

impl JsonFlags {
    /// The flags of the components. `symbols` are the texts of the added tokens that are not special, by id.
    ///
    /// # Errors
    /// A component has no flag.
    pub(super) fn new(
        normalizer: Option<&JsonComponent<'_>>,
        pre_tokenizer: Option<&JsonComponent<'_>>,
        symbols: &[&str],
    ) -> Result<Self, ConvertError> {
        let mut flags = Self::default();
        for component in flattened(normalizer) {
            flags.add_normalizer(component, symbols)?;
        }
        for component in flattened(pre_tokenizer) {
            flags.add_pre_tokenizer(component)?;
        }
        flags.check()?;
        Ok(flags)
    }

    /// Goes on to a stage; an error if that one has passed.
    fn reach(
        &mut self,
        stage: NormalizationStage,
        component: &JsonComponent<'_>,
    ) -> Result<(), ConvertError> {
        if stage <= self.stage {
            return Err(unsupported(
                component,
                "it stands behind a component that has to follow it",
            ));
        }
        self.stage = stage;
        Ok(())
    }

    fn add_normalizer(
        &mut self,
        component: &JsonComponent<'_>,
        symbols: &[&str],
    ) -> Result<(), ConvertError> {
        match component.kind.as_str() {
            "Precompiled" => {
                self.reach(NormalizationStage::Rules, component)?;
                let text = text_of(component.precompiled_charsmap.as_ref());
                let invalid = || unsupported(component, "its precompiled_charsmap is not base64");
                self.charsmap = BASE64_STANDARD.decode(text).map_err(|_| invalid())?;
                Ok(())
            }
            "Replace" => self.add_replace(component, symbols),
            "Prepend" => self.add_prepend(component),
            "Strip" => {
                self.reach(NormalizationStage::Trailing, component)?;
                self.approximate_removal(
                    "Strip removes all whitespace, at the ends that it names only",
                );
                Ok(())
            }
            _ => Err(unsupported(component, "there is no such normalization")),
        }
    }

    fn add_prepend(&mut self, component: &JsonComponent<'_>) -> Result<(), ConvertError> {
        let prefix = text_of(component.prepend.as_ref());
        let is_early = !self.escape_whitespaces;
        // A space before the text becomes a mark if the replacement of spaces follows.
        if prefix != WHITESPACE_MARK_STR && !(prefix == " " && is_early) {
            return Err(unsupported(component, "it is not a whitespace mark"));
        }
        let stage = if is_early {
            NormalizationStage::EarlyPrefix
        } else {
            NormalizationStage::Prefix
        };
        self.reach(stage, component)?;
        self.needs_marks = prefix == WHITESPACE_MARK_STR;
        self.add_dummy_prefix = true;
        Ok(())
    }

    fn add_replace(
        &mut self,
        component: &JsonComponent<'_>,
        symbols: &[&str],
    ) -> Result<(), ConvertError> {
        let content = text_of(component.content.as_ref());
        let (pattern, is_regex) = match &component.pattern {
            Some(JsonPattern::String(text)) => (text.as_str(), false),
            Some(JsonPattern::Regex(text)) => (text.as_str(), true),
            None => ("", false),
        };
        match (pattern, content, is_regex) {
            (" ", WHITESPACE_MARK_STR, _) => {
                self.reach(NormalizationStage::Marks, component)?;
                self.escape_whitespaces = true;
            }
            (LEADING_SPACES, "", true) => {
                self.reach(NormalizationStage::Leading, component)?;
                self.removals[0] = true;
            }
            (REPEATED_SPACES, " ", true) if self.stage == NormalizationStage::Leading => {
                self.reach(NormalizationStage::Repeated, component)?;
                self.removals[1] = true;
                self.remove_extra_whitespaces = true;
            }
            (REPEATED_SPACES, WHITESPACE_MARK_STR, true) => {
                self.reach(NormalizationStage::Marks, component)?;
                self.approximate_removal("runs of spaces become one mark");
            }
            (TRAILING_SPACES_AND_MARKS | TRAILING_SPACES, "", true)
                if self.remove_extra_whitespaces =>
            {
                self.reach(NormalizationStage::Trailing, component)?;
                self.removals[2] = true;
            }
            (END | TRIMMED_END | TRIMMED_END_OF_SPACES, WHITESPACE_MARK_STR | " ", true) => {
                self.reach(NormalizationStage::Trailing, component)?;
                self.removals[2] = pattern != END;
                self.add_dummy_prefix = true;
                self.treat_whitespace_as_suffix = true;
            }
            (pattern, WHITESPACE_MARK_STR | " ", true)
                if !symbols.is_empty() && pattern == prefix_pattern(symbols) =>
            {
                self.reach(NormalizationStage::Prefix, component)?;
                self.add_dummy_prefix = true;
                self.excepts_symbols = true;
            }
            _ => return Err(unsupported(component, "there is no such replacement")),
        }
        Ok(())
    }

    fn add_pre_tokenizer(&mut self, component: &JsonComponent<'_>) -> Result<(), ConvertError> {
        match component.kind.as_str() {
            "Metaspace" => self.add_metaspace(component),
            "WhitespaceSplit" if self.stage < NormalizationStage::Trailing => {
                self.stage = NormalizationStage::Trailing;
                self.approximate_removal("WhitespaceSplit splits at all whitespace");
                Ok(())
            }
            "Split" if self.escape_whitespaces && is_split_at_space(component) => Ok(()),
            _ => Err(unsupported(component, "it splits text in another way")),
        }
    }

    fn add_metaspace(&mut self, component: &JsonComponent<'_>) -> Result<(), ConvertError> {
        if text_of(component.replacement.as_ref()) != WHITESPACE_MARK_STR {
            return Err(unsupported(component, "its replacement is not U+2581"));
        }
        self.stage = self.stage.max(NormalizationStage::Marks);
        self.reach(NormalizationStage::Pieces, component)?;
        self.escape_whitespaces = true;
        self.splits_at_marks = component.split.unwrap_or(true);
        let scheme = component.prepend_scheme.as_ref().map(JsonText::as_str);
        let scheme = scheme.unwrap_or(match component.add_prefix_space {
            Some(false) => "never",
            _ => "always",
        });
        if scheme == "never" {
            return Ok(());
        }
        if self.add_dummy_prefix {
            return Err(unsupported(component, "there are two dummy prefixes"));
        }
        self.add_dummy_prefix = true;
        let example = if self.remove_extra_whitespaces {
            "\u{2581}a"
        } else {
            " a"
        };
        let reason = Reason::new(
            ReasonKind::Whitespace,
            "Metaspace puts no dummy prefix before a text that starts with a space or U+2581",
        );
        self.reasons.push(reason.with_example(example));
        if scheme == "first" {
            self.reasons.push(Reason::new(
                ReasonKind::Whitespace,
                "Metaspace puts no dummy prefix before text that follows an added token",
            ));
        }
        Ok(())
    }

    /// Sets `remove_extra_whitespaces` for a component that resembles it.
    fn approximate_removal(&mut self, explanation: &str) {
        self.remove_extra_whitespaces = true;
        self.reasons.push(Reason::new(
            ReasonKind::Whitespace,
            format!("{explanation}; SentencePiece removes spaces at both ends and repeated spaces"),
        ));
    }

    /// Checks what a model cannot have.
    fn check(&self) -> Result<(), ConvertError> {
        let found = if self.needs_marks && !self.escape_whitespaces {
            "a prefix U+2581 without replacing spaces by U+2581"
        } else if self.removals.contains(&true) && self.removals.contains(&false) {
            "the removal of some of leading, repeated and trailing spaces, but not all"
        } else {
            return Ok(());
        };
        Err(ConvertError::Unsupported {
            format: FileFormat::TokenizerJson,
            component: "normalizer".to_owned(),
            found: found.to_owned(),
            remedy: "such a file cannot be converted",
        })
    }
}

/// The components in order, those of sequences included.
fn flattened<'c, 'j>(component: Option<&'c JsonComponent<'j>>) -> Vec<&'c JsonComponent<'j>> {
    let mut waiting: Vec<&JsonComponent<'_>> = component.into_iter().collect();
    let mut flat = Vec::new();
    while let Some(component) = waiting.pop() {
        match &component.normalizers {
            Some(parts) if component.kind.as_str() == "Sequence" => {
                waiting.extend(parts.iter().rev())
            }
            _ => flat.push(component),
        }
    }
    flat
}

/// Whether a component splits behind every space.
fn is_split_at_space(component: &JsonComponent<'_>) -> bool {
    let is_space =
        matches!(&component.pattern, Some(JsonPattern::String(text)) if text.as_str() == " ");
    let behavior = text_of(component.behavior.as_ref());
    is_space && behavior != "Removed" && component.invert != Some(true)
}

fn text_of<'t>(text: Option<&'t JsonText<'_>>) -> &'t str {
    text.map_or("", JsonText::as_str)
}

/// The error for a component.
fn unsupported(component: &JsonComponent<'_>, problem: &str) -> ConvertError {
    let details = match &component.pattern {
        Some(JsonPattern::String(text) | JsonPattern::Regex(text)) => {
            let content = text_of(component.content.as_ref());
            format!(" of {:?} by {content:?}", text.as_str())
        }
        None => String::new(),
    };
    ConvertError::Unsupported {
        format: FileFormat::TokenizerJson,
        component: "a normalizer or pre-tokenizer".to_owned(),
        found: format!("{:?}{details} ({problem})", component.kind.as_str()),
        remedy: "such a file cannot be converted",
    }
}
