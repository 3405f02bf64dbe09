//! The report of `spiece inspect` as JSON.
//!
//! Input: a report. Output: one JSON object. docs/INSPECT.md lists the keys, which are stable: keys
//! may be added, none is renamed or removed. Texts that are not UTF-8 have U+FFFD for each
//! malformed sequence; ids identify pieces. Cost: linear in the report.

use super::flags::gaps;
use super::report::{
    InspectReport, LanguageCost, RENYI_ALPHA, TextFile, TextReport, normalizer_flags, piece_text,
    share, special_ids, trainer_flags,
};
use crate::json::JsonValue;
use spiece::inspect::{
    ExtremeLine, FragmentedWord, Inspection, KindCount, LengthCount, ScoreSummary, ScriptCount,
    TextStatistics, UnreachablePiece, UnusualPieces,
};
use spiece::{NormalizerSpec, PieceId, Tokenizer, TrainerSpec, TrainingRecord};

/// The members of an object.
pub(super) type Members = Vec<(&'static str, JsonValue)>;

fn object<const LENGTH: usize>(members: [(&'static str, JsonValue); LENGTH]) -> JsonValue {
    JsonValue::Object(members.into())
}

/// The report as a document.
pub(super) fn render(report: &InspectReport<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    JsonValue::Object(members(report)).write_document(&mut out);
    out
}

/// The members of the report.
pub(super) fn members(report: &InspectReport<'_>) -> Members {
    let mut members = model_members(report);
    members.extend(training_members(&report.training()));
    members.extend(vocabulary_members(report.tokenizer, &report.inspection));
    if let Some(text) = &report.text {
        members.push(("text", text_object(report.tokenizer, text)));
    }
    if let Some(languages) = &report.languages {
        let objects = languages.iter().map(language_object);
        members.push(("languages", objects.collect()));
    }
    members
}

/// Name, type, size, flags and special ids.
fn model_members(report: &InspectReport<'_>) -> Members {
    let inspection = &report.inspection;
    let model = report.tokenizer.model();
    vec![
        ("model", report.model_name.as_str().into()),
        ("model_type", inspection.model_type.name().into()),
        ("pieces", inspection.piece_count.into()),
        ("trainer_vocab_size", inspection.trainer_vocab_size.into()),
        ("has_trained_size", inspection.has_trained_size().into()),
        ("flags", trainer_object(model.trainer_spec())),
        ("normalizer", normalizer_object(model.normalizer_spec())),
        ("special_ids", special_id_object(report.tokenizer)),
    ]
}

/// The options of training that the model records, and what they do not say.
fn training_members(record: &TrainingRecord) -> Members {
    let options = record.flags.recorded();
    let options = options.map(|(name, value)| (name, value.as_str().into()));
    let gaps = gaps(record);
    vec![
        ("training_options", JsonValue::Object(options.collect())),
        (
            "training_gaps",
            JsonValue::list(gaps.iter().map(String::as_str)),
        ),
    ]
}

fn trainer_object(spec: &TrainerSpec) -> JsonValue {
    JsonValue::Object(flag_members(&trainer_flags(spec)))
}

fn normalizer_object(spec: &NormalizerSpec) -> JsonValue {
    let has_rules = !spec.precompiled_charsmap().is_empty();
    let mut members = vec![("name", spec.name().into())];
    members.extend(flag_members(&normalizer_flags(spec)));
    members.push(("has_rules", has_rules.into()));
    JsonValue::Object(members)
}

/// Flags as members.
fn flag_members(flags: &[(&'static str, bool)]) -> Members {
    let flags = flags.iter();
    flags
        .map(|(name, value)| (*name, (*value).into()))
        .collect()
}

fn special_id_object(tokenizer: &Tokenizer) -> JsonValue {
    object(special_ids(tokenizer).map(|(name, id)| (name, id.into())))
}

/// What the pieces are, and which of them text cannot give.
fn vocabulary_members(tokenizer: &Tokenizer, inspection: &Inspection) -> Members {
    let mut members = inventory_members(inspection);
    let longest = inspection.longest.iter();
    let longest = longest.map(|id| JsonValue::Object(piece_members(tokenizer, *id)));
    members.push(("longest", longest.collect()));
    members.push(("scores", score_object(&inspection.scores)));
    members.push(("unusual", unusual_object(&inspection.unusual)));
    members.extend(unreachable_members(tokenizer, &inspection.unreachable));
    members.push(("never_normalized", ids(&inspection.never_normalized)));
    let undecided = ids(&inspection.normalization_undecided);
    members.push(("normalization_undecided", undecided));
    members
}

/// Pieces by kind, script and length.
fn inventory_members(inspection: &Inspection) -> Members {
    let scripts = inspection.scripts.iter().map(script_object);
    let lengths = inspection.lengths.iter().map(length_object);
    vec![
        ("kinds", kind_object(&inspection.kinds)),
        ("scripts", scripts.collect()),
        ("lengths", lengths.collect()),
    ]
}

fn kind_object(counts: &[KindCount]) -> JsonValue {
    let counts = counts.iter();
    let members = counts.map(|count| (count.kind.name(), count.pieces.into()));
    JsonValue::Object(members.collect())
}

fn script_object(count: &ScriptCount) -> JsonValue {
    object([
        ("script", count.script.into()),
        ("pieces", count.pieces.into()),
    ])
}

fn length_object(count: &LengthCount) -> JsonValue {
    object([
        ("characters", count.characters.into()),
        ("pieces", count.pieces.into()),
    ])
}

fn unusual_object(unusual: &UnusualPieces) -> JsonValue {
    let with_controls = ids(&unusual.with_control_character);
    object([
        ("with_space", ids(&unusual.with_space)),
        ("with_nul", ids(&unusual.with_nul)),
        ("with_control_character", with_controls),
        ("not_utf8", ids(&unusual.not_utf8)),
        ("symbols_with_mark", ids(&unusual.symbols_with_mark)),
    ])
}

/// The unreachable pieces, once as ids and once with what wins.
fn unreachable_members(tokenizer: &Tokenizer, pieces: &[UnreachablePiece]) -> Members {
    let ids = pieces.iter().map(|piece| piece.id);
    let pieces = pieces.iter();
    let details = pieces.map(|piece| unreachable_object(tokenizer, piece));
    vec![
        ("unreachable", JsonValue::list(ids)),
        ("unreachable_details", details.collect()),
    ]
}

/// Scores of normal pieces.
fn score_object(scores: &ScoreSummary) -> JsonValue {
    object([
        ("lowest", scores.lowest.into()),
        ("highest", scores.highest.into()),
        ("tied_scores", scores.tied_scores.into()),
        ("tied_pieces", scores.tied_pieces.into()),
        ("inversions", scores.inversions.into()),
        ("first_inversion", scores.first_inversion.into()),
    ])
}

/// A list of ids.
fn ids(ids: &[PieceId]) -> JsonValue {
    JsonValue::list(ids.iter().copied())
}

/// Id, text and score of a piece.
fn piece_members(tokenizer: &Tokenizer, id: PieceId) -> Members {
    let score = tokenizer.model().piece(id).map(|piece| piece.score);
    vec![
        ("id", id.into()),
        ("piece", piece_text(tokenizer, id).into()),
        ("score", score.into()),
    ]
}

/// An unreachable piece with what wins.
fn unreachable_object(tokenizer: &Tokenizer, piece: &UnreachablePiece) -> JsonValue {
    let winner = piece.winner.iter();
    let winner_pieces = winner.map(|id| piece_text(tokenizer, *id));
    let mut members = piece_members(tokenizer, piece.id);
    members.push(("winner", ids(&piece.winner)));
    members.push(("winner_pieces", JsonValue::list(winner_pieces)));
    members.push(("is_close", piece.is_close.into()));
    JsonValue::Object(members)
}

/// The texts and what they cost.
fn text_object(tokenizer: &Tokenizer, report: &TextReport) -> JsonValue {
    let statistics = &report.statistics;
    let mut members = vec![("files", report.files.iter().map(file_object).collect())];
    members.extend(cost_members(statistics));
    members.extend(use_members(tokenizer, statistics));
    let words = statistics.fragmented_words.iter().map(word_object);
    members.push(("fragmented_words", words.collect()));
    members.push(("dense_lines", lines(report, &statistics.dense_lines)));
    members.push(("sparse_lines", lines(report, &statistics.sparse_lines)));
    members.push(("long_lines", lines(report, &statistics.long_lines)));
    JsonValue::Object(members)
}

fn file_object(file: &TextFile) -> JsonValue {
    object([
        ("file", file.name.as_str().into()),
        ("lines", file.lines.into()),
        ("bytes", file.bytes.into()),
        ("tokens", file.tokens.into()),
    ])
}

/// Sizes and ratios.
fn cost_members(statistics: &TextStatistics) -> Members {
    let tokens = statistics.tokens;
    vec![
        ("lines", statistics.lines.into()),
        ("bytes", statistics.bytes.into()),
        ("characters", statistics.characters.into()),
        ("words", statistics.words.into()),
        ("tokens", tokens.into()),
        ("bytes_per_token", share(statistics.bytes, tokens).into()),
        (
            "characters_per_token",
            share(statistics.characters, tokens).into(),
        ),
        ("words_per_token", share(statistics.words, tokens).into()),
        ("tokens_per_word", share(tokens, statistics.words).into()),
        ("byte_tokens", statistics.byte_tokens.into()),
        (
            "byte_token_share",
            share(statistics.byte_tokens, tokens).into(),
        ),
        ("unknown_tokens", statistics.unknown_tokens.into()),
        (
            "unknown_token_share",
            share(statistics.unknown_tokens, tokens).into(),
        ),
    ]
}

/// How the vocabulary is used.
fn use_members(tokenizer: &Tokenizer, statistics: &TextStatistics) -> Members {
    let used = statistics.pieces_used();
    let pieces = tokenizer.vocab_size() as u64;
    vec![
        ("pieces_used", used.into()),
        ("pieces_used_share", share(used, pieces).into()),
        ("renyi", renyi_object(statistics)),
    ]
}

fn renyi_object(statistics: &TextStatistics) -> JsonValue {
    let entropy = statistics.renyi_entropy(RENYI_ALPHA);
    let observed = statistics.observed_efficiency(RENYI_ALPHA);
    let full = statistics.full_efficiency(RENYI_ALPHA);
    object([
        ("alpha", RENYI_ALPHA.into()),
        ("entropy_bits", entropy.into()),
        ("efficiency_observed", observed.into()),
        ("efficiency_full", full.into()),
    ])
}

fn word_object(word: &FragmentedWord) -> JsonValue {
    object([
        ("word", word.text.as_slice().into()),
        ("tokens", word.tokens.0.into()),
        ("bytes", word.bytes.into()),
    ])
}

/// Lines with their places.
fn lines(report: &TextReport, lines: &[ExtremeLine]) -> JsonValue {
    let lines = lines.iter();
    lines.map(|line| line_object(report, line)).collect()
}

/// A line with its place.
fn line_object(report: &TextReport, line: &ExtremeLine) -> JsonValue {
    let (file, number) = report.place_of(line.number);
    object([
        ("file", file.into()),
        ("line", number.into()),
        ("tokens", line.tokens.into()),
        ("bytes", line.bytes.into()),
        ("text", line.text.as_slice().into()),
    ])
}

/// What a language costs.
fn language_object(cost: &LanguageCost) -> JsonValue {
    let mut members = vec![
        ("tag", cost.tag.into()),
        ("name", cost.name.into()),
        ("relative_tokens", cost.relative_tokens.into()),
    ];
    members.extend(cost_members(&cost.statistics));
    JsonValue::Object(members)
}
