//! What the writers of byte-level vocabularies share: the files, what they lack, and reasons.

use std::fmt;

use super::ranked::RankedTokens;
use crate::byte_bpe::{ByteBpe, SpecialToken, TextForm};
use crate::formats::error::FormatError;
use crate::formats::roles::checked_roles;
use crate::formats::{FileFormat, PostProcessor, Reason, ReasonKind, TokenRoles, Verdict};
use crate::pattern::{PatternSyntax, Pretokenizer, SplitBehavior};

/// What the files of a vocabulary have beside it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ByteFileOptions {
    /// The post-processor of a `tokenizer.json`.
    pub post_processor: PostProcessor,
    /// The chat template (Jinja) of a folder, which is copied to `tokenizer_config.json`.
    pub chat_template: Option<String>,
    /// The `model_type` of a `config.json` in the folder that is written to.
    pub model_type: Option<String>,
    /// Special tokens by their roles, for folders and files of version 2.0.
    pub roles: TokenRoles,
    /// The same as the source says them; what is no special token here is left out.
    pub known_roles: TokenRoles,
}

/// A byte-level vocabulary in the files of a format.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ByteFiles {
    /// The usual names of the files, and their contents. A folder, and `vocab.json` with
    /// `merges.txt`, are two files, all other formats are one.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// Whether the program that the files are made for gives the ids of the vocabulary, if it is
    /// given what is [missing](Self::missing).
    pub verdict: Verdict,
    /// What the format does not hold, so that the program has to be given it.
    pub missing: Vec<Missing>,
}

/// What a program needs beside the files of a vocabulary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Missing {
    /// How text is cut: expressions, each of which cuts the parts that the one before made. None:
    /// the whole text is one pretoken.
    Pattern(Vec<String>),
    /// Special tokens with their ids.
    SpecialTokens(Vec<(String, u32)>),
    /// Whether text becomes lower case.
    Lowercase(bool),
    /// A component of a `tokenizer.json`.
    Component {
        /// Its field there.
        name: &'static str,
        /// Its value there.
        json: String,
    },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern(expressions) => match &expressions[..] {
                [] => f.write_str("the pattern (?s:.+), since text is not cut"),
                [expression] => write!(f, "the pattern {expression}"),
                [first, rest @ ..] => {
                    write!(f, "the patterns, one after the other, {first}")?;
                    rest.iter().try_for_each(|it| write!(f, " and {it}"))
                }
            },
            Self::SpecialTokens(tokens) => {
                f.write_str("the special tokens ")?;
                for (index, (text, id)) in tokens.iter().enumerate() {
                    let before = if index == 0 { "{" } else { ", " };
                    write!(f, "{before}{text:?}: {id}")?;
                }
                f.write_str("}")
            }
            Self::Lowercase(lowercase) => write!(f, "lowercase={lowercase}"),
            Self::Component { name, json } => write!(f, "the {name} {json}"),
        }
    }
}

impl ByteFileOptions {
    /// The roles of a file with these added tokens, of which the source knows some.
    pub(in crate::formats) fn checked_roles(
        &self,
        added: &[SpecialToken],
        known: &TokenRoles,
    ) -> Result<TokenRoles, FormatError> {
        let mut known = known.clone();
        known.extend(self.known_roles.clone());
        checked_roles(added, &known, &self.roles)
    }
}

impl ByteFiles {
    pub(in crate::formats) fn one(name: &'static str, file: Vec<u8>) -> Self {
        Self {
            files: vec![(name, file)],
            verdict: Verdict::default(),
            missing: Vec::new(),
        }
    }

    pub(in crate::formats) fn add_reasons(&mut self, reasons: impl IntoIterator<Item = Reason>) {
        self.verdict.add_all(reasons);
    }

    /// Adds what files of tokens alone do not hold; `pattern` is the one expression that cuts as
    /// the vocabulary does, if there is one.
    pub(super) fn without_pattern_and_special_tokens(
        mut self,
        bpe: &ByteBpe,
        pattern: Option<String>,
    ) -> Self {
        let splits = bpe.pretokenizer().splits().iter();
        let expressions = match pattern {
            Some(expression) if expression.is_empty() => Vec::new(),
            Some(expression) => vec![expression],
            None => splits
                .map(|split| split.pattern.expression().to_owned())
                .collect(),
        };
        self.missing.push(Missing::Pattern(expressions));
        let special = bpe.special_tokens().iter();
        let special = special.map(|token| (token.text.clone(), token.id));
        if special.len() > 0 {
            self.missing.push(Missing::SpecialTokens(special.collect()));
        }
        self
    }
}

/// The expression whose matches are the pretokens, as tiktoken reads it: empty if text is not cut.
/// `None` if one expression does not suffice, or none means the same there.
pub(super) fn one_pattern(pretokenizer: &Pretokenizer) -> Option<String> {
    match pretokenizer.splits() {
        [] => Some(String::new()),
        [split] => {
            let pattern = split.pattern.for_syntax(PatternSyntax::Rust)?;
            let are_matches = match (split.behavior, split.invert) {
                (SplitBehavior::Removed, true) => true,
                (SplitBehavior::Isolated, _) => pattern.is_total(),
                _ => false,
            };
            are_matches.then(|| pattern.expression().to_owned())
        }
        _ => None,
    }
}

/// The reason if a program that cuts by one expression cannot cut as the vocabulary does.
pub(super) fn pattern_reason(program: &str, expression: Option<&str>) -> Option<Reason> {
    let explanation = format!(
        "{program} cuts text by the matches of one expression, and no such one cuts it as this vocabulary does"
    );
    let reason = Reason::new(ReasonKind::Pattern, explanation);
    expression.is_none().then_some(reason)
}

/// Refuses vocabularies whose ids do not have the order of their merges, for a format of ranks.
pub(super) fn ascending_ids(
    format: FileFormat,
    tokens: &RankedTokens<'_>,
) -> Result<(), FormatError> {
    let ids: Vec<u32> = tokens.merges().map(|(_, rank)| tokens.id(rank)).collect();
    match ids.windows(2).find(|pair| pair[0] > pair[1]) {
        None => Ok(()),
        Some(pair) => {
            let what = format!(
                "merges in another order than that of the ids: {} is merged after {}",
                pair[1], pair[0],
            );
            let remedy = "write a tokenizer.json";
            Err(FormatError::no_form(format, what, remedy))
        }
    }
}

/// Whether a token is not found as it is, or without being allowed.
pub(super) fn has_properties(token: &SpecialToken) -> bool {
    !token.special || token.normalized || token.lstrip || token.rstrip || token.single_word
}

/// The tokens as they are found. If text is taken as it is, searching for all of them after
/// normalization is searching for them as they are.
fn as_found(bpe: &ByteBpe) -> Vec<SpecialToken> {
    let mut tokens = bpe.special_tokens().to_vec();
    if bpe.text_form() == TextForm::AsIs && tokens.iter().all(|token| token.normalized) {
        tokens.iter_mut().for_each(|token| token.normalized = false);
    }
    tokens
}

/// Reasons for a program that takes text as it is, and finds special tokens differently if they have
/// the properties that `is_other` is about.
pub(in crate::formats) fn as_it_is_reasons(
    program: &str,
    bpe: &ByteBpe,
    is_other: impl Fn(&SpecialToken) -> bool,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if bpe.text_form() == TextForm::Nfc {
        let explanation = format!("{program} does not bring text to normalization form C");
        let reason = Reason::new(ReasonKind::NormalizationRules, explanation);
        reasons.push(reason.with_example("e\u{301}"));
    }
    if bpe.adds_prefix_space() {
        let explanation = format!("{program} puts no space before the text");
        reasons.push(Reason::new(ReasonKind::Whitespace, explanation).with_example("a"));
    }
    let special = as_found(bpe);
    if let Some(token) = special.iter().find(|token| is_other(token)) {
        let explanation = format!(
            "{program} does not find the special token {:?} as its properties say",
            token.text
        );
        reasons.push(Reason::new(ReasonKind::UserDefinedSymbol, explanation));
    }
    reasons
}
