//! The report of `spiece inspect` as JSON.
//!
//! Input: a report. Output: one JSON object. docs/INSPECT.md lists the keys, which are stable: keys may be added,
//! none is renamed or removed. Texts that are not UTF-8 have U+FFFD for each malformed sequence; ids identify pieces.
//! Cost: linear in the report.

use super::report::{
    InspectReport, LanguageCost, RENYI_ALPHA, TextReport, normalizer_flags, piece_text, share,
    special_ids, trainer_flags,
};
use crate::cli::json::JsonValue;
use crate::inspect::{ExtremeLine, Inspection, ScoreSummary, TextStatistics, UnreachablePiece};
use crate::{PieceId, Tokenizer};

/// The members of an object.
pub(super) type Members = Vec<(&'static str, JsonValue)>;

/// The report as a document.
pub(super) fn render(report: &InspectReport<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    JsonValue::Object(members(report)).write_document(&mut out);
    out
}

/// The members of the report.
pub(super) fn members(report: &InspectReport<'_>) -> Members {
    let mut members = model_members(report);
    members.extend(vocabulary_members(report.tokenizer, &report.inspection));
    if let Some(text) = &report.text {
        members.push(("text", text_object(report.tokenizer, text)));
    }
    if let Some(languages) = &report.languages {
        let objects = languages.iter().map(language_object);
        members.push(("languages", JsonValue::List(objects.collect())));
    }
    members
}

/// Name, type, size, flags and special ids.
fn model_members(report: &InspectReport<'_>) -> Members {
    let inspection = &report.inspection;
    let model = report.tokenizer.model();
    let normalizer = model.normalizer_spec();
    let mut normalizer_members = vec![("name", normalizer.name().into())];
    normalizer_members.extend(flag_members(&normalizer_flags(normalizer)));
    let rules = !normalizer.precompiled_charsmap().is_empty();
    normalizer_members.push(("has_rules", rules.into()));
    let special = special_ids(report.tokenizer);
    let special = special.map(|(name, id)| (name, id.into()));
    let flags = flag_members(&trainer_flags(model.trainer_spec()));
    vec![
        ("model", report.model_name.as_str().into()),
        ("model_type", inspection.model_type.name().into()),
        ("pieces", inspection.piece_count.into()),
        ("trainer_vocab_size", inspection.trainer_vocab_size.into()),
        ("has_trained_size", inspection.has_trained_size().into()),
        ("flags", JsonValue::Object(flags)),
        ("normalizer", JsonValue::Object(normalizer_members)),
        ("special_ids", JsonValue::Object(special.into())),
    ]
}

/// Flags as members.
fn flag_members(flags: &[(&'static str, bool)]) -> Members {
    let flags = flags.iter();
    flags
        .map(|(name, value)| (*name, (*value).into()))
        .collect()
}

/// What the pieces are, and which of them text cannot give.
fn vocabulary_members(tokenizer: &Tokenizer, inspection: &Inspection) -> Members {
    let kinds = inspection.kinds.iter();
    let kinds = kinds.map(|count| (count.kind.name(), count.pieces.into()));
    let scripts = inspection.scripts.iter().map(|count| {
        JsonValue::Object(vec![
            ("script", count.script.into()),
            ("pieces", count.pieces.into()),
        ])
    });
    let lengths = inspection.lengths.iter().map(|count| {
        JsonValue::Object(vec![
            ("characters", count.characters.into()),
            ("pieces", count.pieces.into()),
        ])
    });
    let longest = inspection.longest.iter();
    let longest = longest.map(|id| JsonValue::Object(piece_members(tokenizer, *id)));
    let unreachable = inspection.unreachable.iter();
    let details = unreachable
        .clone()
        .map(|piece| unreachable_object(tokenizer, piece));
    let unusual = &inspection.unusual;
    let unusual = vec![
        ("with_space", ids(&unusual.with_space)),
        ("with_nul", ids(&unusual.with_nul)),
        (
            "with_control_character",
            ids(&unusual.with_control_character),
        ),
        ("not_utf8", ids(&unusual.not_utf8)),
        ("symbols_with_mark", ids(&unusual.symbols_with_mark)),
    ];
    vec![
        ("kinds", JsonValue::Object(kinds.collect())),
        ("scripts", JsonValue::List(scripts.collect())),
        ("lengths", JsonValue::List(lengths.collect())),
        ("longest", JsonValue::List(longest.collect())),
        ("scores", score_object(&inspection.scores)),
        ("unusual", JsonValue::Object(unusual)),
        (
            "unreachable",
            JsonValue::list(unreachable.map(|piece| piece.id)),
        ),
        ("unreachable_details", JsonValue::List(details.collect())),
        ("never_normalized", ids(&inspection.never_normalized)),
        (
            "normalization_undecided",
            ids(&inspection.normalization_undecided),
        ),
    ]
}

/// Scores of normal pieces.
fn score_object(scores: &ScoreSummary) -> JsonValue {
    JsonValue::Object(vec![
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
    let files = report.files.iter().map(|file| {
        JsonValue::Object(vec![
            ("file", file.name.as_str().into()),
            ("lines", file.lines.into()),
            ("bytes", file.bytes.into()),
            ("tokens", file.tokens.into()),
        ])
    });
    let words = statistics.fragmented_words.iter().map(|word| {
        JsonValue::Object(vec![
            ("word", word.text.as_slice().into()),
            ("tokens", word.tokens.0.into()),
            ("bytes", word.bytes.into()),
        ])
    });
    let lines = |lines: &[ExtremeLine]| {
        let lines = lines.iter();
        JsonValue::List(lines.map(|line| line_object(report, line)).collect())
    };
    let mut members = vec![("files", JsonValue::List(files.collect()))];
    members.extend(cost_members(statistics));
    members.extend(use_members(tokenizer, statistics));
    members.push(("fragmented_words", JsonValue::List(words.collect())));
    members.push(("dense_lines", lines(&statistics.dense_lines)));
    members.push(("sparse_lines", lines(&statistics.sparse_lines)));
    members.push(("long_lines", lines(&statistics.long_lines)));
    JsonValue::Object(members)
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
    let renyi = vec![
        ("alpha", RENYI_ALPHA.into()),
        ("entropy_bits", statistics.renyi_entropy(RENYI_ALPHA).into()),
        (
            "efficiency_observed",
            statistics.observed_efficiency(RENYI_ALPHA).into(),
        ),
        (
            "efficiency_full",
            statistics.full_efficiency(RENYI_ALPHA).into(),
        ),
    ];
    vec![
        ("pieces_used", used.into()),
        ("pieces_used_share", share(used, pieces).into()),
        ("renyi", JsonValue::Object(renyi)),
    ]
}

/// A line with its place.
fn line_object(report: &TextReport, line: &ExtremeLine) -> JsonValue {
    let (file, number) = report.place_of(line.number);
    JsonValue::Object(vec![
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
