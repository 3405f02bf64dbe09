//! Normalizers and pre-tokenizers of `tokenizers` as flags of a model.
//!
//! [`JsonFlags`] has reasons where the flags differ from the components. A component that no flag
//! resembles is an error.
//!
//! | component | flag |
//! |---|---|
//! | `Precompiled` | the charsmap |
//! | the regular expressions of `normalization` | those that they are written for |
//! | `Replace` of " " by U+2581 | `escape_whitespaces` |
//! | `Prepend` of U+2581 | `add_dummy_prefix` |
//! | `Metaspace` | `escape_whitespaces`, `add_dummy_prefix`; it puts no prefix before a mark |
//! | `Split` at " " after `Replace` of " " | none: there are no spaces left |
//! | `Strip`, `WhitespaceSplit`, `Replace` of " {2,}" by U+2581 or " " | `remove_extra_whitespaces`, with a reason |
//!
//! The order matters: rules, removal of spaces, marks, prefix (a prefix " " before the marks).
//! Components in another order are an error, except `Strip` before the rules.
//!
//! transformers makes these lists of `.model` files, whatever their flags:
//!
//! | releases | normalizers (`Precompiled` only if there is a charsmap) |
//! |---|---|
//! | to 4.4 | `Precompiled` |
//! | 4.5 to 4.37 | `Precompiled`, `Replace` of " {2,}" by " " |
//! | from 4.38 | `Precompiled`, `Strip` at the end, `Replace` of " {2,}" by U+2581 |
//! | DeBERTa | `Strip`, `Precompiled`, `Replace` of " {2,}" by " " |
//!
//! From 5.24 on it makes other lists of models without a class of their own: `Precompiled`, `Replace` of
//! "\A +| +\z" by "" and of " {2,}" by " " with `remove_extra_whitespaces`, `Replace` of " " by U+2581, and `Replace` of
//! "\A▁" by two marks before a `Metaspace` that prepends always. The last one makes the prefix that of a
//! model, so that such a file without removal of spaces equals one.
//!
//! `Metaspace` follows in the table, in some of them after `WhitespaceSplit`. None of these equals a model for all text:
//! the second list keeps a space at the end, and `Metaspace` takes U+2581 in the text for its own.

use super::super::{FileFormat, Reason, ReasonKind};
use super::normalization::{
    END, LEADING_SPACES, REPEATED_SPACES, TRAILING_SPACES, TRAILING_SPACES_AND_MARKS, TRIMMED_END,
    TRIMMED_END_OF_SPACES, prefix_pattern,
};
use super::write_pipeline::{type_of_normalizer, type_of_pre_tokenizer};
use crate::base::{WHITESPACE_MARK, WHITESPACE_MARK_STR};
use crate::byte_bpe::SpecialToken;
use crate::formats::FormatError;
use crate::pattern::SplitBehavior;
use crate::pipeline::{
    Matcher, MatcherTarget, Metaspace, NormalizerStep, Pipeline, PreTokenizerStep, PrependScheme,
};

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
    /// Whether a mark at the start is doubled, so that `Metaspace` puts a prefix before every text.
    doubles_first_mark: bool,
    /// Whether there are added tokens that are not special.
    has_symbols: bool,
    pub(super) reasons: Vec<Reason>,
    /// Whether the dummy prefix is a mark, so that spaces must become marks, too.
    needs_marks: bool,
    /// Whether spaces at the start, repeated spaces and spaces at the end are removed by regular
    /// expressions.
    removals: [bool; 3],
    /// The stage of the last component; stages ascend.
    stage: NormalizationStage,
}

/// A mark at the start of a text, and what transformers makes of it from 5.24 on: `Metaspace` adds no
/// prefix to a text that has one.
const FIRST_MARK: &str = "\\A\u{2581}";
const DOUBLED_MARK: &str = "\u{2581}\u{2581}";

/// The order in which components may stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum NormalizationStage {
    #[default]
    Start,
    Stripped,
    Rules,
    Leading,
    Repeated,
    Trailing,
    EarlyPrefix,
    Marks,
    Prefix,
    Pieces,
}

/// The result of adding a component; the error says why no flag resembles it.
type FlagResult = Result<(), &'static str>;

impl JsonFlags {
    /// The flags of the normalizer and the pre-tokenizer of a pipeline with these added tokens.
    ///
    /// # Errors
    /// A component has no flag.
    pub(super) fn new(pipeline: &Pipeline, added: &[SpecialToken]) -> Result<Self, FormatError> {
        let mut flags = Self::default();
        let symbols = symbol_texts(added);
        flags.has_symbols = !symbols.is_empty();
        for step in pipeline.normalizer() {
            let added = flags.add_normalizer(step, &symbols);
            added.map_err(|problem| {
                let replaced = match step {
                    NormalizerStep::Replace { pattern, content } => {
                        format!(" of {:?} by {content:?}", text_of(pattern))
                    }
                    _ => String::new(),
                };
                unsupported_component(&type_of_normalizer(step), &replaced, problem)
            })?;
        }
        for step in pipeline.pre_tokenizer() {
            let added = flags.add_pre_tokenizer(step);
            added.map_err(|problem| {
                unsupported_component(&type_of_pre_tokenizer(step), "", problem)
            })?;
        }
        flags.check()?;
        Ok(flags)
    }

    /// Adds a normalizer. `symbols` are the texts of the added tokens that are not special, by id.
    fn add_normalizer(&mut self, step: &NormalizerStep, symbols: &[&str]) -> FlagResult {
        match step {
            NormalizerStep::Precompiled(rules) => {
                self.reach(NormalizationStage::Rules)?;
                self.charsmap = rules.bytes().to_vec();
                Ok(())
            }
            NormalizerStep::Replace { pattern, content } => {
                self.add_replace(pattern, content, symbols)
            }
            NormalizerStep::Prepend(text) => {
                self.needs_marks = match &**text {
                    WHITESPACE_MARK_STR => true,
                    // A space before the text becomes a mark if the replacement of spaces follows.
                    " " if !self.escape_whitespaces => false,
                    _ => return Err("it is not a whitespace mark"),
                };
                self.reach(match self.escape_whitespaces {
                    true => NormalizationStage::Prefix,
                    false => NormalizationStage::EarlyPrefix,
                })?;
                self.add_dummy_prefix = true;
                Ok(())
            }
            NormalizerStep::Strip { .. } => {
                // DeBERTa strips the text before the rules, T5 after them.
                let stage = match self.stage {
                    NormalizationStage::Start => NormalizationStage::Stripped,
                    _ => NormalizationStage::Trailing,
                };
                self.approximate_removal(
                    stage,
                    "Strip removes all whitespace, at the ends that it names only",
                )
            }
            _ => Err("there is no such normalization"),
        }
    }

    /// Advances to a stage; an error if it has already been reached.
    fn reach(&mut self, stage: NormalizationStage) -> FlagResult {
        if stage <= self.stage {
            return Err("it stands after a component that has to follow it");
        }
        self.stage = stage;
        Ok(())
    }

    fn add_replace(&mut self, pattern: &Matcher, content: &str, symbols: &[&str]) -> FlagResult {
        let is_regex = matches!(pattern.target(), MatcherTarget::Expression(_));
        match (text_of(pattern), content, is_regex) {
            (" ", WHITESPACE_MARK_STR, _) => {
                self.reach(NormalizationStage::Marks)?;
                self.escape_whitespaces = true;
            }
            (FIRST_MARK, DOUBLED_MARK, true) if self.escape_whitespaces => {
                self.reach(NormalizationStage::Prefix)?;
                self.doubles_first_mark = true;
            }
            (LEADING_SPACES, "", true) => {
                self.reach(NormalizationStage::Leading)?;
                self.removals[0] = true;
            }
            (REPEATED_SPACES, " ", true) if self.stage == NormalizationStage::Leading => {
                self.reach(NormalizationStage::Repeated)?;
                self.removals[1] = true;
                self.remove_extra_whitespaces = true;
            }
            (REPEATED_SPACES, " ", true) => self.approximate_removal(
                NormalizationStage::Repeated,
                "runs of spaces become one space, also at the end of the text",
            )?,
            (REPEATED_SPACES, WHITESPACE_MARK_STR, true) => self
                .approximate_removal(NormalizationStage::Marks, "runs of spaces become one mark")?,
            (TRAILING_SPACES_AND_MARKS | TRAILING_SPACES, "", true)
                if self.remove_extra_whitespaces =>
            {
                self.reach(NormalizationStage::Trailing)?;
                self.removals[2] = true;
            }
            // A dummy prefix after the text, which replaces spaces there unless it is `END`.
            (
                pattern @ (END | TRIMMED_END | TRIMMED_END_OF_SPACES),
                WHITESPACE_MARK_STR | " ",
                true,
            ) => {
                self.reach(NormalizationStage::Trailing)?;
                self.removals[2] = pattern != END;
                self.add_dummy_prefix = true;
                self.treat_whitespace_as_suffix = true;
            }
            (pattern, WHITESPACE_MARK_STR | " ", true)
                if !symbols.is_empty() && pattern == prefix_pattern(symbols) =>
            {
                self.reach(NormalizationStage::Prefix)?;
                self.add_dummy_prefix = true;
                self.excepts_symbols = true;
            }
            _ => return Err("there is no such replacement"),
        }
        Ok(())
    }

    fn add_pre_tokenizer(&mut self, step: &PreTokenizerStep) -> FlagResult {
        match step {
            PreTokenizerStep::Metaspace(metaspace) => self.add_metaspace(*metaspace),
            PreTokenizerStep::WhitespaceSplit if self.stage < NormalizationStage::Trailing => self
                .approximate_removal(
                    NormalizationStage::Trailing,
                    "WhitespaceSplit splits at all whitespace",
                ),
            // Text is split at every space, and the spaces are kept.
            PreTokenizerStep::Split {
                pattern,
                behavior,
                invert: false,
            } if self.escape_whitespaces
                && matches!(pattern.target(), MatcherTarget::Text(text) if text == " ")
                && *behavior != SplitBehavior::Removed =>
            {
                Ok(())
            }
            _ => Err("it splits text in another way"),
        }
    }

    fn add_metaspace(&mut self, metaspace: Metaspace) -> FlagResult {
        if metaspace.replacement != WHITESPACE_MARK {
            return Err("its replacement is not U+2581");
        }
        self.stage = self.stage.max(NormalizationStage::Marks);
        self.reach(NormalizationStage::Pieces)?;
        self.escape_whitespaces = true;
        self.splits_at_marks = metaspace.split;
        if metaspace.prepend_scheme == PrependScheme::Never {
            return match self.doubles_first_mark {
                true => Err("a mark at the start is doubled, and there is no dummy prefix"),
                false => Ok(()),
            };
        }
        if self.add_dummy_prefix {
            return Err("there are two dummy prefixes");
        }
        self.add_dummy_prefix = true;
        match self.doubles_first_mark {
            false => {
                let reason = whitespace_reason(
                    "Metaspace puts no dummy prefix before a text that starts with a space or U+2581",
                );
                self.reasons
                    .push(reason.with_example(match self.remove_extra_whitespaces {
                        true => "\u{2581}a",
                        false => " a",
                    }));
            }
            true if self.has_symbols => self.reasons.push(whitespace_reason(
                "Metaspace puts a dummy prefix before text that follows an added token, and none before the token",
            )),
            true => {}
        }
        if metaspace.prepend_scheme == PrependScheme::First {
            self.reasons.push(whitespace_reason(
                "Metaspace puts no dummy prefix before text that follows an added token",
            ));
        }
        Ok(())
    }

    /// Sets `remove_extra_whitespaces` for a component of this stage that resembles it.
    fn approximate_removal(&mut self, stage: NormalizationStage, explanation: &str) -> FlagResult {
        self.reach(stage)?;
        self.remove_extra_whitespaces = true;
        self.reasons.push(whitespace_reason(format!(
            "{explanation}; SentencePiece removes spaces at both ends and repeated spaces"
        )));
        Ok(())
    }

    /// Refuses combinations of flags that a model cannot express.
    fn check(&self) -> Result<(), FormatError> {
        let found = if self.doubles_first_mark && !self.add_dummy_prefix {
            "a mark at the start that is doubled, without Metaspace"
        } else if self.needs_marks && !self.escape_whitespaces {
            "a prefix U+2581 without replacing spaces by U+2581"
        } else if self.removals.contains(&true) && self.removals.contains(&false) {
            "the removal of some of leading, repeated and trailing spaces, but not all"
        } else {
            return Ok(());
        };
        Err(unsupported("normalizer", found.to_owned()))
    }

    /// The name of the normalization rules.
    pub(super) fn rules_name(&self) -> &'static str {
        match self.charsmap.is_empty() {
            true => "identity",
            false => "user_defined",
        }
    }
}

/// The texts of the added tokens that are not special, by id.
fn symbol_texts(added: &[SpecialToken]) -> Vec<&str> {
    let mut symbols: Vec<&SpecialToken> = added.iter().filter(|token| !token.special).collect();
    symbols.sort_by_key(|token| token.id);
    symbols.iter().map(|token| &*token.text).collect()
}

/// The text or the expression that a step looks for.
fn text_of(pattern: &Matcher) -> &str {
    match pattern.target() {
        MatcherTarget::Text(text) => text,
        MatcherTarget::Expression(pattern) => pattern.expression(),
    }
}

fn whitespace_reason(explanation: impl Into<String>) -> Reason {
    Reason::new(ReasonKind::Whitespace, explanation)
}

/// The error for a component of a type.
fn unsupported_component(kind: &str, replaced: &str, problem: &str) -> FormatError {
    unsupported(
        "a normalizer or pre-tokenizer",
        format!("{kind:?}{replaced} ({problem})"),
    )
}

fn unsupported(component: &str, found: String) -> FormatError {
    FormatError::NoModel {
        format: FileFormat::TokenizerJson,
        component: component.to_owned(),
        found,
        remedy: "convert the .model file that the tokenizer.json was made from",
    }
}
