//! The report of `spiece inspect` as text for a terminal.
//!
//! Input: a report. Output: lines of a name and a value, then lists. Texts of pieces and lines are escaped, see
//! [`visible`]. All unreachable pieces are listed; of lists that are no findings only the start is.

use super::report::{
    InspectReport, LanguageCost, RENYI_ALPHA, TextReport, normalizer_flags, piece_text, share,
    special_ids, trainer_flags,
};
use crate::cli::table::TextTable;
use crate::cli::visible::visible;
use crate::inspect::{ExtremeLine, Inspection, ScoreSummary, TextStatistics, UnusualPieces};
use crate::{PieceId, Tokenizer};

/// The entries of lists that are no findings.
const MAX_SCRIPTS: usize = 12;
const MAX_FRAGMENTED_WORDS: usize = 20;
const MAX_EXTREME_LINES: usize = 5;
const MAX_UNUSUAL_IDS: usize = 10;
/// The characters of a word or line.
const MAX_CHARACTERS: usize = 80;

/// The report as text.
pub(super) fn render(report: &InspectReport<'_>) -> Vec<u8> {
    let mut out = TextTable::default();
    write_model(report, &mut out);
    write_inventory(&report.inspection, &mut out);
    write_scores(&report.inspection.scores, &mut out);
    write_longest(report, &mut out);
    write_unusual(&report.inspection.unusual, &mut out);
    write_findings(report.tokenizer, &report.inspection, &mut out);
    if let Some(text) = &report.text {
        write_text(report.tokenizer, text, &mut out);
    }
    if let Some(languages) = &report.languages {
        write_languages(languages, &mut out);
    }
    out.into_bytes()
}

/// Name, type, size, flags and special ids.
fn write_model(report: &InspectReport<'_>, out: &mut TextTable) {
    let inspection = &report.inspection;
    let model = report.tokenizer.model();
    out.row("model", &visible(report.model_name.as_bytes()));
    out.row("type", inspection.model_type.name());
    let pieces = inspection.piece_count;
    out.row(
        "pieces",
        &match inspection.has_trained_size() {
            true => format!("{pieces}, as its trainer was asked for"),
            false => format!(
                "{pieces}; its trainer was asked for {}",
                inspection.trainer_vocab_size
            ),
        },
    );
    let special = special_ids(report.tokenizer);
    let special = special.map(|(name, id)| match id {
        Some(id) => format!("{name} {id}"),
        None => format!("{name} none"),
    });
    out.row("special ids", &special.join(", "));
    out.row("flags", &flag_list(&trainer_flags(model.trainer_spec())));
    let normalizer = model.normalizer_spec();
    let name = match normalizer.name() {
        b"" => "without a name".to_owned(),
        name => visible(name),
    };
    let rules = match normalizer.precompiled_charsmap() {
        [] => "no rules",
        _ => "rules",
    };
    let flags = flag_list(&normalizer_flags(normalizer));
    out.row("normalizer", &format!("{name} ({rules}); {flags}"));
}

/// The names of the flags that are on.
fn flag_list(flags: &[(&'static str, bool)]) -> String {
    let on = flags.iter().filter(|(_, value)| *value);
    let names: Vec<&str> = on.map(|(name, _)| *name).collect();
    if names.is_empty() {
        return "none".to_owned();
    }
    names.join(", ")
}

/// Pieces by kind, script and length.
fn write_inventory(inspection: &Inspection, out: &mut TextTable) {
    let kinds = inspection.kinds.iter().filter(|count| count.pieces > 0);
    out.row(
        "kinds",
        &joined(kinds.map(|count| format!("{} {}", count.kind, count.pieces))),
    );
    let scripts = inspection.scripts.iter().take(MAX_SCRIPTS);
    let more = inspection.scripts.len().saturating_sub(MAX_SCRIPTS);
    let mut scripts = joined(scripts.map(|count| format!("{} {}", count.script, count.pieces)));
    if more > 0 {
        scripts.push_str(&format!(", {more} more"));
    }
    out.row("scripts", &scripts);
    let lengths = inspection.lengths.iter();
    out.row(
        "lengths",
        &joined(lengths.map(|count| format!("{}: {}", count.characters, count.pieces))),
    );
}

/// Scores of normal pieces.
fn write_scores(scores: &ScoreSummary, out: &mut TextTable) {
    let (Some(lowest), Some(highest)) = (scores.lowest, scores.highest) else {
        return out.row("scores", "no normal pieces");
    };
    // Adding zero turns a negative zero into zero.
    out.row("scores", &format!("{} to {}", lowest + 0.0, highest + 0.0));
    out.row(
        "score ties",
        &match scores.tied_scores {
            0 => "none".to_owned(),
            ties => format!("{} pieces share {ties} scores", scores.tied_pieces),
        },
    );
    out.row(
        "score order",
        &match scores.first_inversion {
            None => "ids are in the order of the scores".to_owned(),
            Some(first) => format!(
                "{} pieces have a higher score than the piece before, first {first}",
                scores.inversions
            ),
        },
    );
}

/// The longest pieces.
fn write_longest(report: &InspectReport<'_>, out: &mut TextTable) {
    let longest = report.inspection.longest.iter().take(5);
    let texts = longest.map(|id| shortened(piece_text(report.tokenizer, *id)));
    out.row("longest pieces", &joined(texts));
}

/// Pieces with unusual texts, if there are any.
fn write_unusual(unusual: &UnusualPieces, out: &mut TextTable) {
    let lists = [
        ("with a space", &unusual.with_space),
        ("with a NUL", &unusual.with_nul),
        ("with controls", &unusual.with_control_character),
        ("not UTF-8", &unusual.not_utf8),
        ("symbols with a mark", &unusual.symbols_with_mark),
    ];
    for (name, ids) in lists {
        if !ids.is_empty() {
            out.row(name, &id_list(ids));
        }
    }
}

/// The number of ids and the first of them.
fn id_list(ids: &[PieceId]) -> String {
    let first = ids.iter().take(MAX_UNUSUAL_IDS).map(PieceId::to_string);
    let dots = if ids.len() > MAX_UNUSUAL_IDS {
        ", ..."
    } else {
        ""
    };
    format!("{} ({}{dots})", ids.len(), joined(first))
}

/// Unreachable pieces, and pieces that the normalizer does not produce.
fn write_findings(tokenizer: &Tokenizer, inspection: &Inspection, out: &mut TextTable) {
    out.heading(&format!(
        "unreachable pieces: {}",
        inspection.unreachable.len()
    ));
    for piece in &inspection.unreachable {
        let winner = piece.winner.iter();
        let winner = winner.map(|id| visible(piece_text(tokenizer, *id)));
        let winner: Vec<String> = winner.collect();
        let close = if piece.is_close {
            " (within rounding)"
        } else {
            ""
        };
        let text = visible(piece_text(tokenizer, piece.id));
        out.item(&format!(
            "{} {text} -> {}{close}",
            piece.id,
            winner.join(" ")
        ));
    }
    let lists = [
        (
            "never produced by the normalizer",
            &inspection.never_normalized,
        ),
        (
            "perhaps never produced by the normalizer",
            &inspection.normalization_undecided,
        ),
    ];
    for (name, ids) in lists {
        out.heading(&format!("{name}: {}", ids.len()));
        for id in ids {
            out.item(&format!("{id} {}", visible(piece_text(tokenizer, *id))));
        }
    }
}

/// What the texts cost.
fn write_text(tokenizer: &Tokenizer, report: &TextReport, out: &mut TextTable) {
    out.heading("text");
    for file in &report.files {
        let bytes_per_token = share(file.bytes, file.tokens);
        out.row(
            "file",
            &format!(
                "{}: {} lines, {} bytes, {} tokens ({bytes_per_token:.3} bytes each)",
                visible(file.name.as_bytes()),
                file.lines,
                file.bytes,
                file.tokens
            ),
        );
    }
    write_costs(&report.statistics, out);
    write_use(tokenizer, &report.statistics, out);
    out.heading("most fragmented words");
    let words = &report.statistics.fragmented_words;
    for word in words.iter().take(MAX_FRAGMENTED_WORDS) {
        let text = shortened(&word.text);
        out.item(&format!(
            "{} tokens, {} bytes: {text}",
            word.tokens.0, word.bytes
        ));
    }
    let statistics = &report.statistics;
    write_lines(
        "most tokens for each byte",
        &statistics.dense_lines,
        report,
        out,
    );
    write_lines(
        "fewest tokens for each byte",
        &statistics.sparse_lines,
        report,
        out,
    );
    write_lines("most tokens", &statistics.long_lines, report, out);
}

/// Sizes and ratios.
fn write_costs(statistics: &TextStatistics, out: &mut TextTable) {
    let tokens = statistics.tokens;
    out.row("tokens", &tokens.to_string());
    let ratios = [
        ("bytes per token", statistics.bytes),
        ("characters per token", statistics.characters),
        ("words per token", statistics.words),
    ];
    for (name, whole) in ratios {
        out.row(name, &format!("{:.3}", share(whole, tokens)));
    }
    out.row(
        "tokens per word",
        &format!("{:.3}", share(tokens, statistics.words)),
    );
    let parts = [
        ("byte tokens", statistics.byte_tokens),
        ("unknown tokens", statistics.unknown_tokens),
    ];
    for (name, part) in parts {
        let percent = 100.0 * share(part, tokens);
        out.row(name, &format!("{part} ({percent:.3} %)"));
    }
}

/// How the vocabulary is used.
fn write_use(tokenizer: &Tokenizer, statistics: &TextStatistics, out: &mut TextTable) {
    let used = statistics.pieces_used();
    let percent = 100.0 * share(used, tokenizer.vocab_size() as u64);
    out.row("pieces used", &format!("{used} ({percent:.2} %)"));
    let efficiency = |value: Option<f64>| match value {
        Some(value) => format!("{value:.4}"),
        None => "none".to_owned(),
    };
    let observed = efficiency(statistics.observed_efficiency(RENYI_ALPHA));
    let full = efficiency(statistics.full_efficiency(RENYI_ALPHA));
    out.row(
        &format!("Rényi efficiency {RENYI_ALPHA}"),
        &format!("{observed} of the pieces used, {full} of all pieces"),
    );
}

/// A list of extreme lines.
fn write_lines(name: &str, lines: &[ExtremeLine], report: &TextReport, out: &mut TextTable) {
    out.heading(&format!("lines with the {name}"));
    for line in lines.iter().take(MAX_EXTREME_LINES) {
        let (file, number) = report.place_of(line.number);
        out.item(&format!(
            "{}:{number}: {} tokens, {} bytes: {}",
            visible(file.as_bytes()),
            line.tokens,
            line.bytes,
            shortened(&line.text)
        ));
    }
}

/// What the languages cost.
fn write_languages(languages: &[LanguageCost], out: &mut TextTable) {
    out.heading("the Universal Declaration of Human Rights, tokens relative to English");
    for cost in languages {
        let statistics = &cost.statistics;
        let tokens = statistics.tokens;
        out.item(&format!(
            "{:<22} {:>6.2} {tokens:>8} tokens {:>7.3} bytes each {:>7.2} % byte {:>7.2} % unknown",
            cost.name,
            cost.relative_tokens,
            share(statistics.bytes, tokens),
            100.0 * share(statistics.byte_tokens, tokens),
            100.0 * share(statistics.unknown_tokens, tokens),
        ));
    }
}

/// The printable start of a text.
fn shortened(text: &[u8]) -> String {
    let text = visible(text);
    match text.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The parts with commas between them.
fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
