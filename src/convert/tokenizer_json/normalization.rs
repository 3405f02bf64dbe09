//! Normalization of a model as normalizers of `tokenizers`.
//!
//! Input: a model. Output: a list of [`JsonNormalizer`]s, which are applied one after the other, and reasons where they do not
//! equal SentencePiece's normalization.
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
//! `tokenizers` normalizes the texts of user-defined symbols with the same normalizers and looks for the result. So the dummy
//! prefix must not be put before a text that is a symbol.
//!
//! # Rules for single characters
//! If every rule replaces one character, if no target contains a character that a rule replaces, and if there are few targets,
//! the rules can be applied one target after the other.

use std::collections::BTreeMap;

use super::super::{Reason, ReasonKind};
use crate::model::Model;
use crate::normalize::Normalizer;
use crate::text::{WHITESPACE_MARK_STR, lossy_string};

/// More targets than that are not written as one `Replace` each.
const MAX_REPLACED_TARGETS: usize = 64;
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

impl JsonNormalizer {
    fn regex(pattern: impl Into<String>, content: &str) -> Self {
        Self::Regex {
            pattern: pattern.into(),
            content: content.to_owned(),
        }
    }
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

/// Normalizers, and reasons why they differ from the model's.
pub(super) struct JsonNormalization {
    pub(super) normalizers: Vec<JsonNormalizer>,
    pub(super) reasons: Vec<Reason>,
}

impl JsonNormalization {
    /// The normalization of a model, whose `symbols` are added tokens.
    pub(super) fn new(model: &Model, symbols: &[&str]) -> Self {
        let mut normalization = Self {
            normalizers: Vec::new(),
            reasons: Vec::new(),
        };
        normalization.add_rules(model);
        normalization.add_whitespace(model);
        normalization.add_dummy_prefix(model, symbols);
        normalization
    }

    fn add_rules(&mut self, model: &Model) {
        let charsmap = model.normalizer_spec().precompiled_charsmap();
        if charsmap.is_empty() {
            return;
        }
        let rules = model.normalization_rules();
        let simple = rules.as_ref().ok().and_then(|rules| simple_rules(rules));
        let rules = rules.as_deref().unwrap_or_default();
        self.reasons.extend(reason_of_removal(model, rules));
        if let Some(targets) = simple {
            for (target, sources) in targets {
                self.normalizers
                    .push(JsonNormalizer::regex(character_class(&sources), &target));
            }
            return;
        }
        self.normalizers
            .push(JsonNormalizer::Precompiled(charsmap.to_vec()));
        self.reasons.push(reason_of_rules(model, rules));
    }

    fn add_whitespace(&mut self, model: &Model) {
        let spec = model.normalizer_spec();
        if spec.remove_extra_whitespaces() {
            self.normalizers
                .push(JsonNormalizer::regex(LEADING_SPACES, ""));
            self.normalizers
                .push(JsonNormalizer::regex(REPEATED_SPACES, " "));
            if !has_suffix(model) {
                let trailing = if spec.escape_whitespaces() {
                    TRAILING_SPACES_AND_MARKS
                } else {
                    TRAILING_SPACES
                };
                self.normalizers.push(JsonNormalizer::regex(trailing, ""));
            }
        }
        if has_suffix(model) {
            let end = match (spec.remove_extra_whitespaces(), spec.escape_whitespaces()) {
                (false, _) => END,
                (true, true) => TRIMMED_END,
                (true, false) => TRIMMED_END_OF_SPACES,
            };
            self.normalizers
                .push(JsonNormalizer::regex(end, mark(model)));
        }
        if spec.escape_whitespaces() {
            self.normalizers.push(JsonNormalizer::Text {
                pattern: " ".to_owned(),
                content: WHITESPACE_MARK_STR.to_owned(),
            });
        }
    }

    fn add_dummy_prefix(&mut self, model: &Model, symbols: &[&str]) {
        if !model.normalizer_spec().add_dummy_prefix() || has_suffix(model) {
            return;
        }
        let prefix = if symbols.is_empty() {
            JsonNormalizer::Prepend(mark(model).to_owned())
        } else {
            JsonNormalizer::regex(prefix_pattern(symbols), mark(model))
        };
        self.normalizers.push(prefix);
    }
}

/// The reasons for a precompiled charsmap.
pub(super) fn rules_reasons(model: &Model) -> impl Iterator<Item = Reason> {
    let rules = model.normalization_rules().unwrap_or_default();
    let removal = reason_of_removal(model, &rules);
    [reason_of_rules(model, &rules)].into_iter().chain(removal)
}

/// The reason if rules can remove a whole text, which `tokenizers` then gives no dummy prefix.
fn reason_of_removal(model: &Model, rules: &[(String, String)]) -> Option<Reason> {
    let spec = model.normalizer_spec();
    if spec.remove_extra_whitespaces() || !spec.add_dummy_prefix() {
        return None;
    }
    let (source, _) = rules.iter().find(|(_, target)| target.is_empty())?;
    let explanation = "a text that the normalization rules remove entirely gets a dummy prefix in SentencePiece only";
    Some(Reason::new(ReasonKind::NormalizationRules, explanation).with_example(source))
}

/// The reason for a precompiled charsmap, whose rules were listed; that takes the time of reading the charsmap several times.
fn reason_of_rules(model: &Model, rules: &[(String, String)]) -> Reason {
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
    let escaped: Vec<String> = symbols.iter().map(|symbol| escaped(symbol)).collect();
    format!(r"\A(?!(?:{})\z)(?=[\s\S])", escaped.join("|"))
}

/// Whether the dummy prefix is put behind the text.
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
    let mut text = symbol.to_owned();
    if spec.remove_extra_whitespaces() {
        text = text.trim_start_matches(' ').to_owned();
        while text.contains("  ") {
            text = text.replace("  ", " ");
        }
        let is_trimmed = |c| c == ' ' || (c == '\u{2581}' && spec.escape_whitespaces());
        text.truncate(text.trim_end_matches(is_trimmed).len());
    }
    text
}

/// A user-defined symbol as these normalizers change it, rules aside.
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

/// The characters that rules replace, by target, if every rule replaces one character and the targets can be written in any
/// order.
pub(super) fn simple_rules(rules: &[(String, String)]) -> Option<BTreeMap<String, Vec<char>>> {
    let mut targets: BTreeMap<String, Vec<char>> = BTreeMap::new();
    let mut sources = std::collections::BTreeSet::new();
    for (source, target) in rules {
        let mut chars = source.chars();
        let (Some(source), None) = (chars.next(), chars.next()) else {
            return None;
        };
        sources.insert(source);
        targets.entry(target.clone()).or_default().push(source);
    }
    let is_changed_again = targets
        .keys()
        .any(|target| target.chars().any(|c| sources.contains(&c)));
    (targets.len() <= MAX_REPLACED_TARGETS && !is_changed_again).then_some(targets)
}

/// A regular expression for one of these characters.
fn character_class(characters: &[char]) -> String {
    let escaped = characters
        .iter()
        .map(|c| format!(r"\x{{{:X}}}", u32::from(*c)));
    format!("[{}]", escaped.collect::<String>())
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

/// A text that `Precompiled` normalizes differently: a character with a rule and a combining mark without, which is lost; or
/// the source of a rule that is too long.
fn example_of_rules(rules: &[(String, String)], normalizer: &Normalizer) -> Option<String> {
    let with_mark = rules.iter().filter_map(|(source, target)| {
        let mut chars = source.chars();
        let first = chars.next()?;
        let is_short = chars.next().is_none() && source.len() + COMBINING_MARK.len() < 6;
        let is_usable = is_short && first.is_alphanumeric() && !target.is_empty();
        is_usable.then(|| {
            (
                format!("{source}{COMBINING_MARK}"),
                format!("{target}{COMBINING_MARK}"),
            )
        })
    });
    let keeps_mark = |(text, expected): &(String, String)| {
        let mut normalized = Vec::new();
        normalizer.normalize(text.as_bytes(), &mut normalized);
        lossy_string(&normalized).contains(expected.as_str())
    };
    let mut lost = with_mark.take(MAX_TRIED_RULES).filter(keeps_mark);
    let long = || {
        let is_long =
            |source: &&(String, String)| source.0.len() >= 6 && source.0.chars().nth(1).is_some();
        rules.iter().find(is_long).map(|(source, _)| source.clone())
    };
    lost.next().map(|(text, _)| text).or_else(long)
}

/// How many rules are tried for an example.
const MAX_TRIED_RULES: usize = 10_000;

#[cfg(test)]
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
