//! Verdicts: whether a converted model gives the same ids, and why not.
//!
//! A [`Verdict`] is a list of [`Reason`]s. It is exact if the list is empty. An analysis adds
//! reasons and never removes any. Ids are compared without BOS and EOS, for well-formed Unicode
//! text. The text of control pieces is ordinary text, as in SentencePiece.

use std::fmt;

/// Whether ids are equal for all text, and the reasons if they are not.
///
/// ```
/// use spiece::formats::{Reason, ReasonKind, Verdict};
///
/// let mut verdict = Verdict::default();
/// assert_eq!(verdict.to_string(), "ids equal for all text");
/// verdict.add(Reason::new(ReasonKind::ScoreTie, "the pieces \"ab\" and \"bc\" have equal scores").with_example("abc"));
/// assert!(!verdict.is_exact());
/// assert_eq!(verdict.reasons()[0].example.as_deref(), Some("abc"));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    reasons: Vec<Reason>,
}

impl Verdict {
    /// Whether the ids of every text are equal.
    pub fn is_exact(&self) -> bool {
        self.reasons.is_empty()
    }

    /// The reasons why some texts can have different ids.
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Adds a reason.
    pub fn add(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    /// Adds reasons, in their order.
    pub(super) fn add_all(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        self.reasons.extend(reasons);
    }

    /// Replaces the examples that do not differ by others of the same kind of reason, or leaves them out.
    pub(super) fn replace_examples(
        &mut self,
        mut differs: impl FnMut(&str) -> bool,
        others: impl Fn(ReasonKind) -> Vec<String>,
    ) {
        for reason in &mut self.reasons {
            if reason.example.as_deref().is_some_and(|text| !differs(text)) {
                reason.example = others(reason.kind).into_iter().find(|text| differs(text));
            }
        }
    }

    /// Whether a reason of this kind was given.
    pub fn has(&self, kind: ReasonKind) -> bool {
        self.reasons.iter().any(|reason| reason.kind == kind)
    }
}

/// "ids equal for all text", or one line for each reason.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_exact() {
            return f.write_str("ids equal for all text");
        }
        f.write_str("ids can differ:")?;
        self.reasons
            .iter()
            .try_for_each(|reason| write!(f, "\n  {reason}"))
    }
}

/// Why some texts can have different ids.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reason {
    /// The kind.
    pub kind: ReasonKind,
    /// What differs, with the pieces or flags concerned.
    pub explanation: String,
    /// A text whose ids differ, if one was found.
    pub example: Option<String>,
}

impl Reason {
    /// A reason without an example.
    pub fn new(kind: ReasonKind, explanation: impl Into<String>) -> Self {
        Self {
            kind,
            explanation: explanation.into(),
            example: None,
        }
    }

    /// The same reason with an example text.
    #[must_use]
    pub fn with_example(self, text: impl Into<String>) -> Self {
        Self {
            example: Some(text.into()),
            ..self
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.explanation)?;
        match &self.example {
            Some(text) => write!(f, "; for example the text {text:?}"),
            None => Ok(()),
        }
    }
}

/// What kind of difference a [`Reason`] describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReasonKind {
    /// Normalization rules are applied differently.
    NormalizationRules,
    /// Spaces or the dummy prefix are treated differently.
    Whitespace,
    /// Pieces with equal scores are merged in a different order.
    ScoreTie,
    /// Pairs are merged in a different order, or not at all.
    MergeOrder,
    /// A piece has characters that are not pieces themselves, so it is never merged.
    UncoveredCharacter,
    /// Unused pieces take part in merges.
    UnusedPiece,
    /// A user-defined symbol is found in different texts.
    UserDefinedSymbol,
    /// A control, unknown, byte or NUL piece is found in text that spells it.
    MetaPiece,
    /// Characters without a piece get different ids.
    UnknownCharacter,
    /// The text of a piece is not UTF-8, or is that of another piece.
    PieceText,
    /// Text is cut into pretokens in another way.
    Pattern,
    /// Sums of scores are rounded differently.
    Rounding,
    /// The other program is set to change ids: truncation, padding, dropout; or it has another setting
    /// than this one, such as that of the longest word.
    Setting,
}

impl ReasonKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::NormalizationRules,
        Self::Whitespace,
        Self::ScoreTie,
        Self::MergeOrder,
        Self::UncoveredCharacter,
        Self::UnusedPiece,
        Self::UserDefinedSymbol,
        Self::MetaPiece,
        Self::UnknownCharacter,
        Self::PieceText,
        Self::Pattern,
        Self::Rounding,
        Self::Setting,
    ];

    /// The name: `normalization_rules`, `score_tie`, ...
    pub const fn name(self) -> &'static str {
        match self {
            Self::NormalizationRules => "normalization_rules",
            Self::Whitespace => "whitespace",
            Self::ScoreTie => "score_tie",
            Self::MergeOrder => "merge_order",
            Self::UncoveredCharacter => "uncovered_character",
            Self::UnusedPiece => "unused_piece",
            Self::UserDefinedSymbol => "user_defined_symbol",
            Self::MetaPiece => "meta_piece",
            Self::UnknownCharacter => "unknown_character",
            Self::PieceText => "piece_text",
            Self::Pattern => "pattern",
            Self::Rounding => "rounding",
            Self::Setting => "setting",
        }
    }
}

impl fmt::Display for ReasonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_with_equal_ids_are_replaced_or_left_out() {
        let mut verdict = Verdict::default();
        for (kind, example) in [
            (ReasonKind::ScoreTie, "equal"),
            (ReasonKind::Rounding, "equal"),
            (ReasonKind::Pattern, "differs"),
        ] {
            verdict.add(Reason::new(kind, "").with_example(example));
        }
        verdict.replace_examples(
            |text| text.contains("differs"),
            |kind| match kind {
                ReasonKind::ScoreTie => vec!["equal, too".into(), "this differs".into()],
                _ => Vec::new(),
            },
        );
        let examples = verdict.reasons().iter().map(|it| it.example.as_deref());
        assert!(examples.eq([Some("this differs"), None, Some("differs")]));
    }

    #[test]
    fn verdicts_list_reasons_with_examples() {
        let mut verdict = Verdict::default();
        verdict.add(Reason::new(ReasonKind::ScoreTie, "equal scores").with_example("a\nb"));
        verdict.add(Reason::new(ReasonKind::Rounding, "32-bit sums"));
        let expected = "ids can differ:\n  score_tie: equal scores; for example the text \"a\\nb\"\n  rounding: 32-bit sums";
        assert_eq!(verdict.to_string(), expected);
        assert!(verdict.has(ReasonKind::Rounding));
        assert!(!verdict.has(ReasonKind::Setting));
    }

    #[test]
    fn names_of_kinds_are_different() {
        let mut names: Vec<&str> = ReasonKind::ALL.map(ReasonKind::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ReasonKind::ALL.len());
    }
}
