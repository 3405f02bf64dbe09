//! Normalization of a model as normalizers of `tokenizers`.
//!
//! [`JsonNormalizer`]s are applied one after the other. There are reasons where they do not equal
//! SentencePiece's normalization.
//!
//! | flag | normalizers |
//! |---|---|
//! | rules for single characters | one `Replace` for each target |
//! | other rules | `Precompiled` |
//! | `remove_extra_whitespaces` | `Replace` of spaces at the start, of runs of spaces, of spaces and marks at the end |
//! | `escape_whitespaces` | `Replace` of a space by the mark |
//! | `add_dummy_prefix` | `Prepend`; with user-defined symbols `Replace` of the start of every text that is not a symbol |
//! | `treat_whitespace_as_suffix` | `Replace` of the end |
//!
//! `tokenizers` normalizes the texts of user-defined symbols with the same normalizers and looks
//! for the result. So no dummy prefix may be put before a text that is a symbol.
//!
//! # Rules for single characters
//! If every rule replaces one character, if no target contains a character that a rule replaces,
//! and if there are few targets, the rules can be applied one target after the other.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Reason, ReasonKind};
use crate::base::{WHITESPACE_MARK_STR, lossy_string};
use crate::model::Model;
use crate::normalize::Normalizer;

/// The largest number of targets that are written as one `Replace` each.
const MAX_REPLACED_TARGETS: usize = 64;
/// `Precompiled` finds no rules for several characters in clusters of this many bytes or more.
const LONG_CLUSTER: usize = 6;
/// A combining mark that few rules know.
const COMBINING_MARK: &str = "\u{301}";

/// One normalizer of `tokenizers`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum JsonNormalizer {
    /// The precompiled charsmap.
    Precompiled(Vec<u8>),
    /// Every match of a regular expression is replaced.
    Regex { pattern: String, content: String },
    /// Every occurrence of a text is replaced.
    Text { pattern: String, content: String },
    /// The text is put before every text that is not empty.
    Prepend(String),
}

/// Spaces at the start.
pub(super) const LEADING_SPACES: &str = r"\A +";
/// Runs of spaces.
pub(super) const REPEATED_SPACES: &str = " {2,}";
/// Spaces at the end, where spaces become marks.
pub(super) const TRAILING_SPACES_AND_MARKS: &str = "[ \u{2581}]+\\z";
/// Spaces at the end, where spaces stay spaces.
pub(super) const TRAILING_SPACES: &str = r" +\z";
/// The end of a text.
pub(super) const END: &str = r"(?<=[\s\S])\z";
/// The end of a text with the spaces and marks before it.
pub(super) const TRIMMED_END: &str = "(?:[ \u{2581}]+\\z|(?<=[^ \u{2581}])\\z)";
/// The same where spaces stay spaces.
pub(super) const TRIMMED_END_OF_SPACES: &str = r"(?: +\z|(?<=[^ ])\z)";

/// A rule: what it replaces, and by what.
type Rule = (String, String);

/// The characters that rules replace, by target.
type ReplacedChars = BTreeMap<String, Vec<char>>;

/// Normalizers, and reasons why they differ from the model's.
pub(super) struct JsonNormalization<'m> {
    model: &'m Model,
    pub(super) normalizers: Vec<JsonNormalizer>,
    pub(super) reasons: Vec<Reason>,
}

impl<'m> JsonNormalization<'m> {
    /// The normalization of a model, whose `symbols` are added tokens.
    pub(super) fn new(model: &'m Model, symbols: &[&str]) -> Self {
        let mut normalization = Self {
            model,
            normalizers: Vec::new(),
            reasons: Vec::new(),
        };
        normalization.add_rules();
        normalization.add_whitespace();
        normalization.add_dummy_prefix(symbols);
        normalization
    }

    fn add_rules(&mut self) {
        let model = self.model;
        let charsmap = model.normalizer_spec().precompiled_charsmap();
        if charsmap.is_empty() {
            return;
        }
        let rules = model.normalization_rules();
        let simple = rules.as_ref().ok().and_then(|rules| simple_rules(rules));
        // Rules that cannot be listed are those of a cyclic table, which has a reason in any case.
        let rules = rules.as_deref().unwrap_or_default();
        self.reasons.extend(reason_of_removal(model, rules));
        if let Some(chars) = simple {
            for (target, sources) in chars {
                let class: String = sources
                    .into_iter()
                    .map(|c| format!(r"\x{{{:X}}}", u32::from(c)))
                    .collect();
                self.replace(format!("[{class}]"), &target);
            }
        } else {
            self.normalizers
                .push(JsonNormalizer::Precompiled(charsmap.to_vec()));
            self.reasons.push(reason_of_rules(model, rules));
        }
    }

    fn replace(&mut self, pattern: impl Into<String>, content: &str) {
        self.normalizers.push(JsonNormalizer::Regex {
            pattern: pattern.into(),
            content: content.to_owned(),
        });
    }

    fn add_whitespace(&mut self) {
        let spec = self.model.normalizer_spec();
        let [removes, escapes] = [spec.remove_extra_whitespaces(), spec.escape_whitespaces()];
        let has_suffix = has_suffix(self.model);
        if removes {
            self.replace(LEADING_SPACES, "");
            self.replace(REPEATED_SPACES, " ");
            if !has_suffix {
                let trailing = match escapes {
                    true => TRAILING_SPACES_AND_MARKS,
                    false => TRAILING_SPACES,
                };
                self.replace(trailing, "");
            }
        }
        if has_suffix {
            let end = match (removes, escapes) {
                (false, _) => END,
                (true, true) => TRIMMED_END,
                (true, false) => TRIMMED_END_OF_SPACES,
            };
            self.replace(end, mark(self.model));
        }
        if escapes {
            self.normalizers.push(JsonNormalizer::Text {
                pattern: " ".to_owned(),
                content: WHITESPACE_MARK_STR.to_owned(),
            });
        }
    }

    fn add_dummy_prefix(&mut self, symbols: &[&str]) {
        if !has_prefix(self.model) {
            return;
        }
        let mark = mark(self.model);
        if symbols.is_empty() {
            self.normalizers
                .push(JsonNormalizer::Prepend(mark.to_owned()));
        } else {
            self.replace(prefix_pattern(symbols), mark);
        }
    }
}

/// The reasons for a precompiled charsmap.
pub(super) fn rules_reasons(model: &Model) -> impl Iterator<Item = Reason> {
    let rules = model.normalization_rules().unwrap_or_default();
    let removal = reason_of_removal(model, &rules);
    [reason_of_rules(model, &rules)].into_iter().chain(removal)
}

/// The reason if rules can remove a whole text, which `tokenizers` then gives no dummy prefix.
fn reason_of_removal(model: &Model, rules: &[Rule]) -> Option<Reason> {
    let spec = model.normalizer_spec();
    // Otherwise SentencePiece puts no prefix before an empty text either.
    if !spec.add_dummy_prefix() || spec.remove_extra_whitespaces() {
        return None;
    }
    let (source, _) = rules.iter().find(|(_, target)| target.is_empty())?;
    let explanation = "a text that the normalization rules remove entirely gets a dummy prefix in SentencePiece only";
    Some(Reason::new(ReasonKind::NormalizationRules, explanation).with_example(source))
}

/// The reason for a precompiled charsmap with these rules. Listing them takes several times as long
/// as reading the charsmap.
fn reason_of_rules(model: &Model, rules: &[Rule]) -> Reason {
    let explanation = format!(
        "tokenizers applies the normalization rules {:?} to one grapheme cluster at a time: rules for several characters are not found \
         across clusters and in clusters of 6 bytes and more, and shorter clusters lose what follows the first rule; text in which \
         all clusters are single characters, and no rule is for several of them, is not concerned",
        lossy_string(model.normalizer_spec().name()),
    );
    let mut reason = Reason::new(ReasonKind::NormalizationRules, explanation);
    reason.example = example_of_rules(rules, &model.normalizer());
    reason
}

/// The regular expression for the start of every text but the empty one and `symbols`.
pub(super) fn prefix_pattern(symbols: &[&str]) -> String {
    let escaped: Vec<String> = symbols.iter().map(|text| escaped(text)).collect();
    format!(r"\A(?!(?:{})\z)(?=[\s\S])", escaped.join("|"))
}

/// Whether the dummy prefix is put before the text.
pub(super) fn has_prefix(model: &Model) -> bool {
    model.normalizer_spec().add_dummy_prefix() && !has_suffix(model)
}

/// Whether the dummy prefix is put after the text.
pub(super) fn has_suffix(model: &Model) -> bool {
    model.normalizer_spec().add_dummy_prefix() && model.trainer_spec().treat_whitespace_as_suffix()
}

/// What a space becomes.
fn mark(model: &Model) -> &'static str {
    if model.normalizer_spec().escape_whitespaces() {
        WHITESPACE_MARK_STR
    } else {
        " "
    }
}

/// A user-defined symbol without the spaces that these normalizers remove.
pub(super) fn trimmed_symbol(model: &Model, symbol: &str) -> String {
    let spec = model.normalizer_spec();
    if !spec.remove_extra_whitespaces() {
        return symbol.to_owned();
    }
    let mut text = symbol.trim_start_matches(' ').to_owned();
    while text.contains("  ") {
        text = text.replace("  ", " ");
    }
    let is_trimmed = |c| c == ' ' || (c == '\u{2581}' && spec.escape_whitespaces());
    text.trim_end_matches(is_trimmed).to_owned()
}

/// A user-defined symbol after these normalizers, without the rules.
pub(super) fn normalized_symbol(model: &Model, symbol: &str) -> String {
    let mut text = trimmed_symbol(model, symbol);
    if has_suffix(model) {
        text.push_str(mark(model));
    }
    if model.normalizer_spec().escape_whitespaces() {
        text = text.replace(' ', WHITESPACE_MARK_STR);
    }
    text
}

/// The characters that rules replace, if every rule replaces one character and the targets can be
/// written in any order, because none contains a character that a rule replaces.
fn simple_rules(rules: &[Rule]) -> Option<ReplacedChars> {
    let mut chars = ReplacedChars::new();
    for (source, target) in rules {
        let sources = chars.entry(target.clone()).or_default();
        sources.push(single_char(source)?);
    }
    let sources: BTreeSet<char> = chars.values().flatten().copied().collect();
    let mut targets = chars.keys().flat_map(|target| target.chars());
    let is_changed_again = targets.any(|c| sources.contains(&c));
    (chars.len() <= MAX_REPLACED_TARGETS && !is_changed_again).then_some(chars)
}

/// The character that is the whole text.
fn single_char(text: &str) -> Option<char> {
    let mut chars = text.chars();
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

/// A text as a regular expression: punctuation of ASCII is escaped.
pub(super) fn escaped(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => pattern.push_str(r"\n"),
            '\r' => pattern.push_str(r"\r"),
            '\t' => pattern.push_str(r"\t"),
            _ if c.is_ascii_punctuation() => pattern.extend(['\\', c]),
            _ => pattern.push(c),
        }
    }
    pattern
}

/// A text that `Precompiled` normalizes differently: a character with a rule and a combining mark
/// without, which is lost; or the source of a rule that is too long.
fn example_of_rules(rules: &[Rule], normalizer: &Normalizer) -> Option<String> {
    if let Some(text) = marked_characters(rules, normalizer).next() {
        return Some(text);
    }
    let is_long =
        |(source, _): &&Rule| source.len() >= LONG_CLUSTER && source.chars().nth(1).is_some();
    rules.iter().find(is_long).map(|(source, _)| source.clone())
}

/// Texts that can have other ids because of a charsmap, some of which have.
pub(super) fn other_examples_of_rules(model: &Model) -> Vec<String> {
    let rules = model.normalization_rules().unwrap_or_default();
    let several = rules.iter().map(|(source, _)| source);
    let several = several.filter(|source| source.chars().nth(1).is_some());
    let several = several.take(MAX_TRIED_RULES).cloned();
    marked_characters(&rules, &model.normalizer())
        .chain(several)
        .collect()
}

/// Characters that rules replace with a combining mark, which tokenizers loses.
fn marked_characters(rules: &[Rule], normalizer: &Normalizer) -> impl Iterator<Item = String> {
    let marked = rules.iter().filter_map(|(source, target)| {
        let is_short = source.len() + COMBINING_MARK.len() < LONG_CLUSTER;
        let is_usable = is_short && single_char(source)?.is_alphanumeric() && !target.is_empty();
        is_usable.then(|| [source, target].map(|text| format!("{text}{COMBINING_MARK}")))
    });
    let keeps_mark = move |[text, expected]: &[String; 2]| {
        let mut normalized = Vec::new();
        normalizer.normalize(text.as_bytes(), &mut normalized);
        lossy_string(&normalized).contains(expected)
    };
    let kept = marked.take(MAX_TRIED_RULES).filter(keeps_mark);
    kept.map(|[text, _]| text)
}

/// How many rules are tried for an example.
const MAX_TRIED_RULES: usize = 10_000;

#[cfg(all(test, feature = "train"))]
mod tests {
    use super::*;
    use crate::piece::PieceKind;
    use crate::{ModelType, NormalizerSpec};

    /// Rules for one character at a time, and rules for two, which are written as a charsmap.
    #[test]
    fn rules_that_remove_a_whole_text_are_named_where_the_prefix_stays() {
        for (rules, example) in [("78\t\n", "x"), ("78 79\t\n", "xy"), ("78\t79\n", "")] {
            for removes_spaces in [false, true] {
                let mut builder = Model::builder();
                builder.model_type(ModelType::Bpe);
                *builder.normalizer_spec_mut() =
                    NormalizerSpec::from_tsv(rules.as_bytes()).unwrap();
                builder
                    .add_dummy_prefix(true)
                    .remove_extra_whitespaces(removes_spaces);
                builder.piece("<unk>", 0.0, PieceKind::Unknown);
                let model = builder.build().unwrap();
                let reasons = JsonNormalization::new(&model, &[]).reasons;
                let of_removal = |reason: &&Reason| reason.explanation.contains("remove entirely");
                let found = reasons.iter().find(of_removal);
                let expected = (!removes_spaces && !example.is_empty()).then_some(example);
                let found = found.and_then(|reason| reason.example.as_deref());
                assert_eq!(found, expected, "{rules:?}");
            }
        }
    }
}
