//! The report of `spiece inspect`, for the modules that write it in a format, and what they share.

use serde::Serialize;
use serde_json::Value;

use crate::io::{CliError, CliResult};
use crate::visible::visible;
use spiece::inspect::{Inspection, InspectionDetails, Runtime, TextStatistics, WordPieceCounts};
use spiece::{ByteBpe, Model, NormalizerSpec, PieceId, Tokenizer, TrainerSpec};

/// The order of the Rényi entropy in reports.
pub(crate) const RENYI_ALPHA: f64 = 2.5;

/// Everything that a report says.
pub(crate) struct InspectReport<'t> {
    /// The model as the command line names it.
    pub(crate) model_name: String,
    pub(crate) tokenizer: &'t Tokenizer,
    pub(crate) vocabulary: InspectedVocabulary<'t>,
    /// The stages of a pipeline, as in a `tokenizer.json`; null for other tokenizers.
    pub(crate) stages: Value,
    pub(crate) inspection: Inspection,
    /// `None` without `--text`.
    pub(crate) text: Option<TextReport>,
    /// `None` without `--languages`.
    pub(crate) languages: Option<Vec<LanguageCost>>,
    /// `None` without `--runtimes`.
    pub(crate) runtimes: Option<Vec<Runtime>>,
}

/// What a tokenizer is made of.
pub(crate) enum InspectedVocabulary<'t> {
    Model(&'t Model),
    ByteLevel(&'t ByteBpe),
    Pipeline,
}

impl<'t> InspectReport<'t> {
    /// The report on the vocabulary alone.
    pub(crate) fn new(model_name: String, tokenizer: &'t Tokenizer) -> CliResult<Self> {
        Ok(Self {
            model_name,
            vocabulary: match (tokenizer.byte_bpe(), tokenizer.pipeline()) {
                (Some(bpe), _) => InspectedVocabulary::ByteLevel(bpe),
                (None, Some(_)) => InspectedVocabulary::Pipeline,
                (None, None) => InspectedVocabulary::Model(tokenizer.require_model()?),
            },
            stages: match tokenizer.pipeline() {
                Some(pipeline) => serde_json::from_str(&pipeline.stages_to_json())
                    .map_err(|error| CliError::Error(error.to_string()))?,
                None => Value::Null,
            },
            inspection: Inspection::new(tokenizer)?,
            tokenizer,
            text: None,
            languages: None,
            runtimes: None,
        })
    }
    /// The name of the model, escaped for a terminal or a page.
    pub(crate) fn visible_name(&self) -> String {
        visible(self.model_name.as_bytes())
    }
}

/// What encoding the texts costs.
pub(crate) struct TextReport {
    pub(crate) files: Vec<TextFile>,
    pub(crate) statistics: TextStatistics,
}

/// What encoding one file costs.
#[derive(Serialize)]
pub(crate) struct TextFile {
    #[serde(rename = "file")]
    pub(crate) name: String,
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    pub(crate) tokens: u64,
}

impl TextReport {
    /// The name of the file, and the number in it, of a line that is numbered through all files.
    pub(crate) fn place_of(&self, number: u64) -> (&str, u64) {
        let files = self.files.iter();
        place_of(files.map(|file| (file.name.as_str(), file.lines)), number)
    }
}

/// The file and the number in it of a line that is numbered through all files, which are given with
/// their numbers of lines.
pub(crate) fn place_of<'f>(
    files: impl Iterator<Item = (&'f str, u64)>,
    number: u64,
) -> (&'f str, u64) {
    let mut rest = number;
    for (name, lines) in files {
        if rest <= lines {
            return (name, rest);
        }
        rest -= lines;
    }
    ("", rest)
}

/// What encoding a text costs: sums and ratios.
#[derive(Serialize)]
pub(crate) struct TextCosts {
    pub(crate) lines: u64,
    pub(crate) bytes: u64,
    pub(crate) characters: u64,
    pub(crate) words: u64,
    pub(crate) tokens: u64,
    pub(crate) bytes_per_token: f64,
    pub(crate) characters_per_token: f64,
    pub(crate) words_per_token: f64,
    pub(crate) tokens_per_word: f64,
    pub(crate) byte_tokens: u64,
    pub(crate) byte_token_share: f64,
    pub(crate) unknown_tokens: u64,
    pub(crate) unknown_token_share: f64,
}

impl TextCosts {
    pub(crate) fn new(statistics: &TextStatistics) -> Self {
        let tokens = statistics.tokens;
        Self {
            lines: statistics.lines,
            bytes: statistics.bytes,
            characters: statistics.characters,
            words: statistics.words,
            tokens,
            bytes_per_token: share(statistics.bytes, tokens),
            characters_per_token: share(statistics.characters, tokens),
            words_per_token: share(statistics.words, tokens),
            tokens_per_word: share(tokens, statistics.words),
            byte_tokens: statistics.byte_tokens,
            byte_token_share: share(statistics.byte_tokens, tokens),
            unknown_tokens: statistics.unknown_tokens,
            unknown_token_share: share(statistics.unknown_tokens, tokens),
        }
    }
}

/// What encoding a language costs.
#[derive(Serialize)]
pub(crate) struct LanguageCost {
    /// The tag of the language (BCP 47).
    pub(crate) tag: &'static str,
    /// The name of the language in English.
    pub(crate) name: &'static str,
    /// The tokens divided by the tokens of the same text in English.
    pub(crate) relative_tokens: f64,
    #[serde(flatten)]
    pub(crate) costs: TextCosts,
}

/// `part / whole`; 0 if `whole` is 0.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    part as f64 / whole as f64
}

/// The names and values of the flags of a normalizer.
pub(crate) fn normalizer_flags(spec: &NormalizerSpec) -> [(&'static str, bool); 3] {
    [
        ("add_dummy_prefix", spec.add_dummy_prefix()),
        ("remove_extra_whitespaces", spec.remove_extra_whitespaces()),
        ("escape_whitespaces", spec.escape_whitespaces()),
    ]
}

/// The names and values of the flags of training that say something about the pieces.
pub(crate) fn trainer_flags(spec: &TrainerSpec) -> [(&'static str, bool); 7] {
    [
        ("byte_fallback", spec.byte_fallback()),
        (
            "treat_whitespace_as_suffix",
            spec.treat_whitespace_as_suffix(),
        ),
        ("split_by_whitespace", spec.split_by_whitespace()),
        ("split_by_unicode_script", spec.split_by_unicode_script()),
        ("split_by_number", spec.split_by_number()),
        ("split_digits", spec.split_digits()),
        (
            "allow_whitespace_only_pieces",
            spec.allow_whitespace_only_pieces(),
        ),
    ]
}

/// The name of the type of the model.
pub(crate) fn type_name(tokenizer: &Tokenizer, inspection: &Inspection) -> &'static str {
    match &inspection.details {
        InspectionDetails::Pipeline(_) => tokenizer.model_type_name(),
        InspectionDetails::Model(model) => model.model_type.name(),
        InspectionDetails::ByteLevel(_) => "byte_bpe",
    }
}

/// What is wrong with a vocabulary whose capital letters no text has.
pub(crate) fn lost_capitals(words: &WordPieceCounts) -> Option<String> {
    (words.lost_capitals > 0).then(|| {
        format!(
            "no text gives the {} pieces with capital letters, because text becomes lower case; if the model tells \
             upper and lower case, its normalizer needs \"lowercase\": false, or a vocab.txt the flag --lowercase=false",
            words.lost_capitals
        )
    })
}

/// The names and values of what a byte-level vocabulary does with a text besides merging.
pub(crate) fn byte_flags(bpe: &ByteBpe) -> [(&'static str, bool); 2] {
    [
        ("ignore_merges", bpe.looks_up_pretokens()),
        ("add_prefix_space", bpe.adds_prefix_space()),
    ]
}

/// The names and ids of the pieces with special roles.
pub(crate) fn special_ids(tokenizer: &Tokenizer) -> [(&'static str, Option<PieceId>); 4] {
    [
        ("unk", tokenizer.unk_id()),
        ("bos", tokenizer.bos_id()),
        ("eos", tokenizer.eos_id()),
        ("pad", tokenizer.pad_id()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_in_their_files() {
        let files = [("a", 2), ("empty", 0), ("b", 3)];
        let table = [(1, ("a", 1)), (2, ("a", 2)), (3, ("b", 1)), (5, ("b", 3))];
        for (number, expected) in table {
            assert_eq!(place_of(files.into_iter(), number), expected);
        }
    }

    #[test]
    fn a_share_of_nothing_is_zero() {
        assert_eq!(share(0, 0).to_bits(), 0.0_f64.to_bits());
        assert_eq!(share(1, 4).to_bits(), 0.25_f64.to_bits());
    }
}
