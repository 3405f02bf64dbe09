//! The report of `spiece inspect` as text for a terminal.
//!
//! Input: a report. Output: lines of a name and a value, then lists. Texts of pieces and lines are
//! escaped; see [`visible`]. All unreachable pieces are listed; of lists that are not findings,
//! only the first entries are.

use super::flags::gaps;
use super::report::{
    InspectReport, LanguageCost, RENYI_ALPHA, TextFile, TextReport, normalizer_flags, piece_text,
    share, special_ids, trainer_flags,
};
use crate::table::TextTable;
use crate::visible::visible;
use spiece::inspect::{
    ExtremeLine, FragmentedWord, Inspection, KindCount, LengthCount, ScoreSummary, ScriptCount,
    TextStatistics, UnreachablePiece, UnusualPieces,
};
use spiece::train::TrainingRecord;
use spiece::{NormalizerSpec, PieceId, Tokenizer};

/// The maximum numbers of entries in lists that are not findings.
const MAX_SCRIPTS: usize = 12;
const MAX_LONGEST_PIECES: usize = 5;
const MAX_WORDS: usize = 20;
const MAX_EXTREME_LINES: usize = 5;
const MAX_UNUSUAL_IDS: usize = 10;
/// The maximum number of characters of a word or line.
const MAX_CHARACTERS: usize = 80;

/// The report as text.
pub(super) fn render(report: &InspectReport<'_>) -> Vec<u8> {
    let mut writer = ReportWriter {
        tokenizer: report.tokenizer,
        out: TextTable::default(),
    };
    writer.write_model(report);
    writer.write_inspection(&report.inspection);
    writer.write_training(&report.training());
    if let Some(text) = &report.text {
        writer.write_text(text);
    }
    if let Some(languages) = &report.languages {
        writer.write_languages(languages);
    }
    writer.out.into_bytes()
}

/// Writes the sections of a report.
struct ReportWriter<'t> {
    tokenizer: &'t Tokenizer,
    out: TextTable,
}

impl ReportWriter<'_> {
    /// Name, type, size, flags and special ids.
    fn write_model(&mut self, report: &InspectReport<'_>) {
        let out = &mut self.out;
        let model = self.tokenizer.model();
        out.row("model", &report.visible_name());
        out.row("type", report.inspection.model_type.name());
        out.row("pieces", &size(&report.inspection));
        let special = special_ids(self.tokenizer).map(special_id);
        out.row("special ids", &special.join(", "));
        out.row("flags", &flag_list(&trainer_flags(model.trainer_spec())));
        out.row("normalizer", &normalizer_text(model.normalizer_spec()));
    }

    /// The options of training that the model records, and what they do not say.
    fn write_training(&mut self, record: &TrainingRecord) {
        let options = record.flags.recorded();
        let options = options.map(|(name, value)| format!("{name}={}", visible(value.as_bytes())));
        self.out
            .list("training options that the model records", options);
        let gaps = gaps(record);
        if !gaps.is_empty() {
            self.out.list(
                "training that these options do not describe",
                gaps.into_iter(),
            );
        }
    }

    /// What the pieces are, and which of them text cannot give.
    fn write_inspection(&mut self, inspection: &Inspection) {
        self.write_inventory(inspection);
        self.write_scores(&inspection.scores);
        self.write_longest(&inspection.longest);
        self.write_unusual(&inspection.unusual);
        self.write_unreachable(&inspection.unreachable);
        self.write_pieces(
            "never produced by the normalizer",
            &inspection.never_normalized,
        );
        self.write_pieces(
            "perhaps never produced by the normalizer",
            &inspection.normalization_undecided,
        );
    }

    /// Pieces by kind, script and length.
    fn write_inventory(&mut self, inspection: &Inspection) {
        self.out.row("kinds", &kind_list(&inspection.kinds));
        self.out.row("scripts", &script_list(&inspection.scripts));
        self.out.row("lengths", &length_list(&inspection.lengths));
    }

    /// Scores of normal pieces.
    fn write_scores(&mut self, scores: &ScoreSummary) {
        let out = &mut self.out;
        let (Some(lowest), Some(highest)) = (scores.lowest, scores.highest) else {
            return out.row("scores", "no normal pieces");
        };
        // Adding zero turns a negative zero into zero.
        out.row("scores", &format!("{} to {}", lowest + 0.0, highest + 0.0));
        out.row("score ties", &score_ties(scores));
        out.row("score order", &score_order(scores));
    }

    /// The longest pieces.
    fn write_longest(&mut self, longest: &[PieceId]) {
        let longest = longest.iter().take(MAX_LONGEST_PIECES);
        let texts = longest.map(|id| shortened(piece_text(self.tokenizer, *id)));
        self.out.row("longest pieces", &joined(texts));
    }

    /// Pieces with unusual texts, if there are any.
    fn write_unusual(&mut self, unusual: &UnusualPieces) {
        let lists = [
            ("with a space", &unusual.with_space),
            ("with a NUL", &unusual.with_nul),
            ("with controls", &unusual.with_control_character),
            ("not UTF-8", &unusual.not_utf8),
            ("symbols with a mark", &unusual.symbols_with_mark),
        ];
        for (name, ids) in lists.into_iter().filter(|(_, ids)| !ids.is_empty()) {
            self.out.row(name, &id_list(ids));
        }
    }

    fn write_unreachable(&mut self, pieces: &[UnreachablePiece]) {
        let items = pieces.iter();
        let items = items.map(|piece| unreachable_item(self.tokenizer, piece));
        self.out
            .list(&format!("unreachable pieces: {}", pieces.len()), items);
    }

    /// A list of all these pieces.
    fn write_pieces(&mut self, name: &str, ids: &[PieceId]) {
        let items = ids.iter().map(|id| piece_item(self.tokenizer, *id));
        self.out.list(&format!("{name}: {}", ids.len()), items);
    }

    /// What the texts cost.
    fn write_text(&mut self, report: &TextReport) {
        let statistics = &report.statistics;
        self.out.heading("text");
        for file in &report.files {
            self.out.row("file", &file_costs(file));
        }
        self.write_costs(statistics);
        self.write_use(statistics);
        self.write_words(&statistics.fragmented_words);
        let dense = &statistics.dense_lines;
        self.write_lines("most tokens for each byte", dense, report);
        let sparse = &statistics.sparse_lines;
        self.write_lines("fewest tokens for each byte", sparse, report);
        self.write_lines("most tokens", &statistics.long_lines, report);
    }

    /// Sizes and ratios.
    fn write_costs(&mut self, statistics: &TextStatistics) {
        let tokens = statistics.tokens;
        let words = statistics.words;
        self.out.row("tokens", &tokens.to_string());
        self.write_ratio("bytes per token", share(statistics.bytes, tokens));
        self.write_ratio("characters per token", share(statistics.characters, tokens));
        self.write_ratio("words per token", share(words, tokens));
        self.write_ratio("tokens per word", share(tokens, words));
        self.write_part("byte tokens", statistics.byte_tokens, tokens);
        self.write_part("unknown tokens", statistics.unknown_tokens, tokens);
    }

    fn write_ratio(&mut self, name: &str, ratio: f64) {
        self.out.row(name, &format!("{ratio:.3}"));
    }

    /// A number, and how much of another number that is.
    fn write_part(&mut self, name: &str, part: u64, whole: u64) {
        let percent = 100.0 * share(part, whole);
        self.out.row(name, &format!("{part} ({percent:.3} %)"));
    }

    /// How the vocabulary is used.
    fn write_use(&mut self, statistics: &TextStatistics) {
        let pieces = self.tokenizer.vocab_size() as u64;
        let used = used_pieces(statistics.pieces_used(), pieces);
        self.out.row("pieces used", &used);
        let observed = efficiency(statistics.observed_efficiency(RENYI_ALPHA));
        let full = efficiency(statistics.full_efficiency(RENYI_ALPHA));
        self.out.row(
            &format!("Rényi efficiency {RENYI_ALPHA}"),
            &format!("{observed} of the pieces used, {full} of all pieces"),
        );
    }

    fn write_words(&mut self, words: &[FragmentedWord]) {
        let items = words.iter().take(MAX_WORDS).map(word_item);
        self.out.list("most fragmented words", items);
    }

    /// A list of extreme lines.
    fn write_lines(&mut self, name: &str, lines: &[ExtremeLine], report: &TextReport) {
        let lines = lines.iter().take(MAX_EXTREME_LINES);
        let items = lines.map(|line| line_item(line, report));
        self.out.list(&format!("lines with the {name}"), items);
    }

    /// What the languages cost.
    fn write_languages(&mut self, languages: &[LanguageCost]) {
        let heading = "the Universal Declaration of Human Rights, tokens relative to English";
        self.out.list(heading, languages.iter().map(language_item));
    }
}

/// The number of pieces, and the number that the trainer was asked for.
fn size(inspection: &Inspection) -> String {
    let pieces = inspection.piece_count;
    let asked = inspection.trainer_vocab_size;
    match inspection.has_trained_size() {
        true => format!("{pieces}, as its trainer was asked for"),
        false => format!("{pieces}; its trainer was asked for {asked}"),
    }
}

/// The name and the id of a piece with a special role.
fn special_id((name, id): (&str, Option<PieceId>)) -> String {
    match id {
        Some(id) => format!("{name} {id}"),
        None => format!("{name} none"),
    }
}

/// The names of the flags that are on.
fn flag_list(flags: &[(&'static str, bool)]) -> String {
    let on = flags.iter().filter(|(_, value)| *value);
    let names: Vec<&str> = on.map(|(name, _)| *name).collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

/// Name, rules and flags of a normalizer.
fn normalizer_text(spec: &NormalizerSpec) -> String {
    let name = normalizer_name(spec);
    let rules = match spec.precompiled_charsmap() {
        [] => "no rules",
        _ => "rules",
    };
    let flags = flag_list(&normalizer_flags(spec));
    format!("{name} ({rules}); {flags}")
}

fn normalizer_name(spec: &NormalizerSpec) -> String {
    match spec.name() {
        b"" => "without a name".to_owned(),
        name => visible(name),
    }
}

fn kind_list(counts: &[KindCount]) -> String {
    let present = counts.iter().filter(|count| count.pieces > 0);
    joined(present.map(|count| format!("{} {}", count.kind, count.pieces)))
}

/// The first scripts, and how many more there are.
fn script_list(counts: &[ScriptCount]) -> String {
    let first = counts.iter().take(MAX_SCRIPTS);
    let first = first.map(|count| format!("{} {}", count.script, count.pieces));
    joined(first.chain(more_scripts(counts.len())))
}

fn more_scripts(scripts: usize) -> Option<String> {
    let more = scripts.saturating_sub(MAX_SCRIPTS);
    (more > 0).then(|| format!("{more} more"))
}

fn length_list(counts: &[LengthCount]) -> String {
    joined(
        counts
            .iter()
            .map(|count| format!("{}: {}", count.characters, count.pieces)),
    )
}

fn score_ties(scores: &ScoreSummary) -> String {
    match scores.tied_scores {
        0 => "none".to_owned(),
        ties => format!("{} pieces share {ties} scores", scores.tied_pieces),
    }
}

/// Whether the ids are in the order of the scores.
fn score_order(scores: &ScoreSummary) -> String {
    let Some(first) = scores.first_inversion else {
        return "ids are in the order of the scores".to_owned();
    };
    let pieces = scores.inversions;
    format!("{pieces} pieces have a higher score than the piece before, first {first}")
}

/// The number of ids and the first of them.
fn id_list(ids: &[PieceId]) -> String {
    let first = ids.iter().take(MAX_UNUSUAL_IDS).map(PieceId::to_string);
    let dots = match ids.len() > MAX_UNUSUAL_IDS {
        true => ", ...",
        false => "",
    };
    format!("{} ({}{dots})", ids.len(), joined(first))
}

/// An unreachable piece and what wins.
fn unreachable_item(tokenizer: &Tokenizer, piece: &UnreachablePiece) -> String {
    let winner = piece.winner.iter();
    let winner: Vec<String> = winner.map(|id| visible_piece(tokenizer, *id)).collect();
    let close = match piece.is_close {
        true => " (within rounding)",
        false => "",
    };
    let item = piece_item(tokenizer, piece.id);
    format!("{item} -> {}{close}", winner.join(" "))
}

/// A piece with its id.
fn piece_item(tokenizer: &Tokenizer, id: PieceId) -> String {
    format!("{id} {}", visible_piece(tokenizer, id))
}

fn visible_piece(tokenizer: &Tokenizer, id: PieceId) -> String {
    visible(piece_text(tokenizer, id))
}

fn file_costs(file: &TextFile) -> String {
    let bytes_per_token = share(file.bytes, file.tokens);
    format!(
        "{}: {} lines, {} bytes, {} tokens ({bytes_per_token:.3} bytes each)",
        visible(file.name.as_bytes()),
        file.lines,
        file.bytes,
        file.tokens
    )
}

/// A number of pieces, and how much of all pieces that is.
fn used_pieces(used: u64, pieces: u64) -> String {
    let percent = 100.0 * share(used, pieces);
    format!("{used} ({percent:.2} %)")
}

fn efficiency(value: Option<f64>) -> String {
    match value {
        Some(value) => format!("{value:.4}"),
        None => "none".to_owned(),
    }
}

fn word_item(word: &FragmentedWord) -> String {
    let text = shortened(&word.text);
    format!("{} tokens, {} bytes: {text}", word.tokens.0, word.bytes)
}

/// A line with its place.
fn line_item(line: &ExtremeLine, report: &TextReport) -> String {
    let (file, number) = report.place_of(line.number);
    let file = visible(file.as_bytes());
    let text = shortened(&line.text);
    format!(
        "{file}:{number}: {} tokens, {} bytes: {text}",
        line.tokens, line.bytes
    )
}

fn language_item(cost: &LanguageCost) -> String {
    let statistics = &cost.statistics;
    let tokens = statistics.tokens;
    format!(
        "{:<22} {:>6.2} {tokens:>8} tokens {:>7.3} bytes each {:>7.2} % byte {:>7.2} % unknown",
        cost.name,
        cost.relative_tokens,
        share(statistics.bytes, tokens),
        100.0 * share(statistics.byte_tokens, tokens),
        100.0 * share(statistics.unknown_tokens, tokens),
    )
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
