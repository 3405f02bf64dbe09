//! The report of `spiece inspect` for people: rows of a name and a value, then lists.
//!
//! Texts of pieces and lines are escaped; see [`visible`]. All unreachable pieces are listed; of
//! lists that are not findings, only the first entries are.

use super::report::{
    InspectReport, InspectedVocabulary, LanguageCost, RENYI_ALPHA, TextCosts, TextReport,
    byte_flags, lost_capitals, normalizer_flags, share, special_ids, trainer_flags, type_name,
};
use crate::sheet::Sheet;
use crate::visible::visible;
use serde_json::Value;
use spiece::inspect::{
    BuiltInRules, ExtremeLine, Inspection, InspectionDetails, Runtime, RuntimeVerdict,
    ScoreSummary, UnreachableReason, WordPieceCounts, piece_text,
};
use spiece::train::RecordGap;
use spiece::{ByteBpe, Model, PieceId, Tokenizer};

/// The maximum numbers of entries in lists that are not findings.
const MAX_SCRIPTS: usize = 12;
const MAX_LONGEST_PIECES: usize = 5;
const MAX_WORDS: usize = 20;
const MAX_EXTREME_LINES: usize = 5;
const MAX_UNUSUAL_IDS: usize = 10;
const MAX_SPECIAL_TOKENS: usize = 5;
/// The maximum number of characters of a word or line.
const MAX_CHARACTERS: usize = 80;

/// The report as a sheet.
pub(crate) fn sheet(report: &InspectReport<'_>) -> Sheet {
    let mut out = Sheet::default();
    write_model(report, &mut out);
    write_inventory(report.tokenizer, &report.inspection, &mut out);
    write_findings(report.tokenizer, &report.inspection, &mut out);

    if let InspectedVocabulary::Model(model) = report.vocabulary {
        write_training_options(model, &mut out);
    }
    if let Some(text) = &report.text {
        write_text(report.tokenizer, text, &mut out);
    }
    if let Some(languages) = &report.languages {
        let heading = "the Universal Declaration of Human Rights, tokens relative to English";
        out.measured_list(heading, languages.iter().map(language_item));
    }
    if let Some(runtimes) = &report.runtimes {
        let heading =
            "programs that read this model, and whether they give its ids (docs/RUNTIMES.md)";
        out.list(heading, runtimes.iter().flat_map(runtime_items));
    }
    out
}

/// A line about a program, and one for each reason.
fn runtime_items(runtime: &Runtime) -> Vec<String> {
    let Runtime {
        program,
        version,
        file,
        verdict,
        setting,
        ..
    } = runtime;
    let head = format!("{program} ({version}), {}", file.name());
    let with_setting = |text: String| match setting {
        Some(setting) => format!("{text} (use: {setting})"),
        None => text,
    };
    match verdict {
        RuntimeVerdict::Exact => vec![with_setting(format!("{head}: ids equal for all text"))],
        RuntimeVerdict::Refused(cause) => {
            vec![format!("{head}: not read: {}", visible(cause.as_bytes()))]
        }
        RuntimeVerdict::Differs(reasons) => {
            let first = with_setting(format!("{head}: ids can differ"));
            let reasons = reasons.iter().map(|reason| {
                // Examples are escaped already, so backslashes stay as they are.
                let text = visible(reason.to_string().as_bytes());
                format!("  {}", text.replace(r"\\", r"\"))
            });
            std::iter::once(first).chain(reasons).collect()
        }
    }
}

fn write_training_options(model: &Model, out: &mut Sheet) {
    let record = model.training_record();
    let options = record.flags.recorded();
    let options = options.map(|(name, value)| format!("{name}={}", visible(value.as_bytes())));
    out.list("training options that the model records", options);
    if !record.gaps.is_empty() {
        let gaps = record.gaps.iter().map(RecordGap::to_string);
        out.list("training that these options do not describe", gaps);
    }
}

/// Name, type, size, special ids and flags.
fn write_model(report: &InspectReport<'_>, out: &mut Sheet) {
    let inspection = &report.inspection;
    out.row("model", report.visible_name());
    out.row("type", type_name(report.tokenizer, inspection));
    let pieces = inspection.piece_count;
    out.row(
        "pieces",
        &match &inspection.details {
            InspectionDetails::Model(model) if model.has_trained_size => {
                format!("{pieces}, as its trainer was asked for")
            }
            InspectionDetails::Model(model) => {
                let asked = model.trainer_vocab_size;
                format!("{pieces}; its trainer was asked for {asked}")
            }
            InspectionDetails::ByteLevel(_) | InspectionDetails::Pipeline(_) => {
                format!("{pieces}; ids are below {}", report.tokenizer.vocab_size())
            }
        },
    );
    match report.vocabulary {
        InspectedVocabulary::Model(model) => write_model_settings(report, model, out),
        InspectedVocabulary::ByteLevel(bpe) => write_byte_settings(bpe, out),
        InspectedVocabulary::Pipeline => out.row("special ids", special_id_list(report.tokenizer)),
    }
    write_stages(&report.stages, out);
}

/// The stages of a pipeline, one row each: the steps with their fields.
fn write_stages(stages: &Value, out: &mut Sheet) {
    let Some(stages) = stages.as_object() else {
        return;
    };
    let added = stages.get("added_tokens").and_then(Value::as_array);
    let added = added.map_or(&[][..], Vec::as_slice);
    let has = |field: &str| {
        let count = added.iter().filter(|token| token[field] == true).count();
        (count > 0).then(|| format!("{count} {field}"))
    };
    let fields = ["special", "normalized", "lstrip", "rstrip", "single_word"];
    let properties = joined(fields.into_iter().filter_map(has));
    out.row(
        "added tokens",
        match properties.is_empty() {
            true => added.len().to_string(),
            false => format!("{} ({properties})", added.len()),
        },
    );
    for (name, field) in [
        ("normalizer", "normalizer"),
        ("pre-tokenizer", "pre_tokenizer"),
        ("model", "model"),
        ("post-processor", "post_processor"),
        ("decoder", "decoder"),
        ("truncation", "truncation"),
        ("padding", "padding"),
    ] {
        let stage = stages.get(field).unwrap_or(&Value::Null);
        // The escapes of `visible` are those of expressions, too, so backslashes stay as they are.
        let text = visible(stage_text(stage).as_bytes());
        out.row(name, text.replace(r"\\", r"\"));
    }
}

/// A component in one line: the steps of a sequence one after the other, each with its fields.
fn stage_text(stage: &Value) -> String {
    let Some(fields) = stage.as_object() else {
        return match stage {
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
    };
    let steps = ["normalizers", "pretokenizers", "processors", "decoders"];
    if let Some(Value::Array(steps)) = steps.iter().find_map(|name| fields.get(*name)) {
        let steps = steps.iter().map(stage_text).collect::<Vec<_>>();
        return steps.join(" -> ");
    }
    let text = |value: &Value| match value.as_object().and_then(|fields| fields.iter().next()) {
        // A pattern is a text or an expression.
        Some((kind, value)) if kind == "Regex" => {
            format!("/{}/", value.as_str().unwrap_or_default())
        }
        Some((kind, value)) if kind == "String" => value.to_string(),
        _ => value.to_string(),
    };
    // The tokens of a template are in its parts.
    let is_shown =
        |name: &str, value: &Value| !matches!(name, "type" | "special_tokens") && !value.is_null();
    let kind = fields.get("type").and_then(Value::as_str);
    let shown = fields.iter().filter(|(name, value)| is_shown(name, value));
    let shown = joined(shown.map(|(name, value)| match (&name[..], value) {
        ("single" | "pair", Value::Array(parts)) => format!("{name}: {}", template_text(parts)),
        _ => format!("{name}: {}", text(value)),
    }));
    match (kind, shown.is_empty()) {
        (Some(kind), true) => kind.to_owned(),
        (Some(kind), false) => format!("{kind} ({shown})"),
        (None, _) => shown,
    }
}

/// The parts of a template.
fn template_text(parts: &[Value]) -> String {
    let parts = parts.iter().map(|part| {
        let (_, part) = part.as_object().and_then(|fields| fields.iter().next())?;
        Some(format!("{}:{}", part["id"].as_str()?, part["type_id"]))
    });
    parts.flatten().collect::<Vec<_>>().join(" ")
}

/// Special tokens, pattern and flags of a byte-level vocabulary.
fn write_byte_settings(bpe: &ByteBpe, out: &mut Sheet) {
    let special = bpe.special_tokens();
    let first = special.iter().take(MAX_SPECIAL_TOKENS);
    let first = first.map(|token| format!("{} {}", visible(token.text.as_bytes()), token.id));
    let more = special.len().saturating_sub(MAX_SPECIAL_TOKENS);
    let more = (more > 0).then(|| format!("{more} more"));
    let list = joined(first.chain(more));
    out.row(
        "special tokens",
        &match special.len() {
            0 => "none".to_owned(),
            count => format!("{count} ({list})"),
        },
    );
    let pretokenizer = bpe.pretokenizer();
    match pretokenizer.name() {
        Some("none") => out.row("pattern", "none; a text is one pretoken"),
        Some(name) => out.row("pattern", name),
        None => {}
    }
    for split in pretokenizer.splits() {
        // The escapes of `visible` are those of expressions, too, so backslashes stay as they are.
        let expression = visible(split.pattern.expression().as_bytes());
        out.row("expression", expression.replace(r"\\", r"\"));
    }
    out.row("form", bpe.text_form().name());
    out.row("flags", flag_list(&byte_flags(bpe)));
}

/// Special ids, flags and normalizer of a SentencePiece model.
fn write_model_settings(report: &InspectReport<'_>, model: &Model, out: &mut Sheet) {
    out.row("special ids", special_id_list(report.tokenizer));
    out.row("flags", flag_list(&trainer_flags(model.trainer_spec())));
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
    out.row("normalizer", format!("{name} ({rules}); {flags}"));
    if !normalizer.precompiled_charsmap().is_empty() {
        out.row("rules", rules_row(normalizer.built_in_rules()));
    }
}

/// Which releases have the rules of a model, and how to train with these rules if this one has not.
fn rules_row(rules: Option<&BuiltInRules>) -> String {
    let recipe = "`spiece train --like` this model trains with them";
    match rules {
        Some(rules) if rules.are_current() => rules.to_string(),
        Some(rules) => format!("{rules}, not of 0.2.3; {recipe}"),
        None => {
            let (first, last) = BuiltInRules::KNOWN_RELEASES;
            format!("none of those of SentencePiece {first} to {last}; {recipe}")
        }
    }
}

/// The pieces with special roles.
fn special_id_list(tokenizer: &Tokenizer) -> String {
    let special = special_ids(tokenizer).map(|(name, id)| match id {
        Some(id) => format!("{name} {id}"),
        None => format!("{name} none"),
    });
    special.join(", ")
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

/// Pieces by kind, script and length, their scores, the longest ones.
fn write_inventory(tokenizer: &Tokenizer, inspection: &Inspection, out: &mut Sheet) {
    let kinds = inspection.kinds.iter().filter(|count| count.pieces > 0);
    let kinds = kinds.map(|count| (count.kind.to_string(), count.pieces));
    out.counts("kinds", kinds, usize::MAX);
    if let InspectionDetails::Pipeline(found) = &inspection.details
        && let Some(words) = &found.word_pieces
    {
        write_word_pieces(words, out);
    }
    let scripts = inspection.scripts.iter();
    let scripts = scripts.map(|count| (count.script.to_string(), count.pieces));
    out.counts("scripts", scripts, MAX_SCRIPTS);
    let lengths = inspection.lengths.iter();
    let lengths = lengths.map(|count| (format!("{}:", count.characters), count.pieces));
    out.counts("lengths", lengths, usize::MAX);
    let scores = match &inspection.details {
        InspectionDetails::Model(model) => Some(&model.scores),
        InspectionDetails::Pipeline(found) => found.scores.as_ref(),
        InspectionDetails::ByteLevel(_) => None,
    };
    if let Some(scores) = scores {
        write_scores(scores, out);
    }
    let longest = inspection.longest.iter().take(MAX_LONGEST_PIECES);
    let longest = longest.map(|id| shortened(&piece_text(tokenizer, *id)));
    out.row("longest pieces", joined(longest));
}

/// What the pieces of a WordPiece vocabulary are.
fn write_word_pieces(words: &WordPieceCounts, out: &mut Sheet) {
    let counts = [
        ("beginnings", words.beginnings),
        ("continuations", words.continuations),
        ("unused", words.unused),
    ];
    let counts = counts.map(|(name, pieces)| (name.to_owned(), pieces));
    out.counts("word pieces", counts.into_iter(), usize::MAX);
    out.row("single characters", words.single_characters.to_string());
    if let Some(warning) = lost_capitals(words) {
        out.row("warning", warning);
    }
}

/// Scores of normal pieces.
fn write_scores(scores: &ScoreSummary, out: &mut Sheet) {
    let (Some(lowest), Some(highest)) = (scores.lowest, scores.highest) else {
        return out.row("scores", "no normal pieces");
    };
    // Adding zero turns a negative zero into zero.
    out.row("scores", format!("{} to {}", lowest + 0.0, highest + 0.0));
    let ties = match scores.tied_scores {
        0 => "none".to_owned(),
        ties => format!("{} pieces share {ties} scores", scores.tied_pieces),
    };
    out.row("score ties", &ties);
    let order = match scores.first_inversion {
        None => "ids are in the order of the scores".to_owned(),
        Some(first) => format!(
            "{} pieces have a higher score than the piece before, first {first}",
            scores.inversions
        ),
    };
    out.row("score order", &order);
}

/// Pieces that often cause problems, and those that no text gives.
fn write_findings(tokenizer: &Tokenizer, inspection: &Inspection, out: &mut Sheet) {
    let unusual = &inspection.unusual;
    let lists = [
        ("with a space", &unusual.with_space),
        ("with a NUL", &unusual.with_nul),
        ("with controls", &unusual.with_control_character),
        ("not UTF-8", &unusual.not_utf8),
        ("symbols with a mark", &unusual.symbols_with_mark),
    ];
    for (name, ids) in lists.into_iter().filter(|(_, ids)| !ids.is_empty()) {
        let first = ids.iter().take(MAX_UNUSUAL_IDS).map(PieceId::to_string);
        let dots = match ids.len() > MAX_UNUSUAL_IDS {
            true => ", ...",
            false => "",
        };
        out.row(name, format!("{} ({}{dots})", ids.len(), joined(first)));
    }
    let visible_piece = |id: &PieceId| visible(&piece_text(tokenizer, *id));
    let item = |id: &PieceId| format!("{id} {}", visible_piece(id));
    let unreachable = inspection.unreachable.iter().map(|piece| {
        let winner: Vec<String> = piece.winner.iter().map(visible_piece).collect();
        let close = match piece.is_close {
            true => " (within rounding)",
            false => "",
        };
        let reason = match piece.reason {
            UnreachableReason::Pattern => " (it is cut, or left out, in every text)",
            UnreachableReason::AddedToken => " (an added token is found in it)",
            UnreachableReason::Form => " (text is not in this form)",
            UnreachableReason::NotUtf8 => "no UTF-8 text has it",
            _ => "",
        };
        let winner = winner.join(" ");
        format!("{} -> {winner}{close}{reason}", item(&piece.id))
    });
    let heading = format!("unreachable pieces: {}", inspection.unreachable.len());
    out.list(&heading, unreachable);
    let lists = match &inspection.details {
        InspectionDetails::Model(model) => vec![
            ("never produced by the normalizer", &model.never_normalized),
            (
                "perhaps never produced by the normalizer",
                &model.normalization_undecided,
            ),
        ],
        InspectionDetails::ByteLevel(found) => vec![
            ("perhaps unreachable, not decided", &found.undecided),
            ("only found as whole pretokens", &found.only_whole),
        ],
        InspectionDetails::Pipeline(found) => {
            vec![("perhaps unreachable, not decided", &found.undecided)]
        }
    };
    for (name, ids) in lists {
        out.list(&format!("{name}: {}", ids.len()), ids.iter().map(item));
    }
}

/// What the texts cost.
fn write_text(tokenizer: &Tokenizer, report: &TextReport, out: &mut Sheet) {
    let statistics = &report.statistics;
    out.heading("text");
    for file in &report.files {
        let bytes_per_token = share(file.bytes, file.tokens);
        out.row(
            "file",
            format!(
                "{}: {} lines, {} bytes, {} tokens ({bytes_per_token:.3} bytes each)",
                visible(file.name.as_bytes()),
                file.lines,
                file.bytes,
                file.tokens
            ),
        );
    }
    let costs = TextCosts::new(statistics);
    out.row("tokens", costs.tokens.to_string());
    for (name, ratio) in [
        ("bytes per token", costs.bytes_per_token),
        ("characters per token", costs.characters_per_token),
        ("words per token", costs.words_per_token),
        ("tokens per word", costs.tokens_per_word),
    ] {
        out.row(name, format!("{ratio:.3}"));
    }
    for (name, tokens, share) in [
        ("byte tokens", costs.byte_tokens, costs.byte_token_share),
        (
            "unknown tokens",
            costs.unknown_tokens,
            costs.unknown_token_share,
        ),
    ] {
        out.row(name, format!("{tokens} ({:.3} %)", 100.0 * share));
    }

    let used = statistics.pieces_used();
    let percent = 100.0 * share(used, tokenizer.vocab_size() as u64);
    out.row("pieces used", format!("{used} ({percent:.2} %)"));
    let efficiency = |value: Option<f64>| match value {
        Some(value) => format!("{value:.4}"),
        None => "none".to_owned(),
    };
    let observed = efficiency(statistics.observed_efficiency(RENYI_ALPHA));
    let full = efficiency(statistics.full_efficiency(RENYI_ALPHA));
    out.row(
        &format!("Rényi efficiency {RENYI_ALPHA}"),
        format!("{observed} of the pieces used, {full} of all pieces"),
    );
    write_extremes(report, out);
}

/// The words and lines of a text that cost most, and least.
fn write_extremes(report: &TextReport, out: &mut Sheet) {
    let statistics = &report.statistics;
    let words = statistics.fragmented_words.iter().take(MAX_WORDS);
    let words = words.map(|word| {
        let text = shortened(&word.word);
        format!("{} tokens, {} bytes: {text}", word.tokens.0, word.bytes)
    });
    out.list("most fragmented words", words);
    let line = |line: &ExtremeLine| {
        let (file, number) = report.place_of(line.number);
        format!(
            "{}:{number}: {} tokens, {} bytes: {}",
            visible(file.as_bytes()),
            line.tokens,
            line.bytes,
            shortened(&line.text)
        )
    };
    for (name, lines) in [
        ("most tokens for each byte", &statistics.dense_lines),
        ("fewest tokens for each byte", &statistics.sparse_lines),
        ("most tokens", &statistics.long_lines),
    ] {
        let items = lines.iter().take(MAX_EXTREME_LINES).map(line);
        out.list(&format!("lines with the {name}"), items);
    }
}

fn language_item(language: &LanguageCost) -> (String, f64) {
    let costs = &language.costs;
    let text = format!(
        "{:<22} {:>6.2} {:>8} tokens {:>7.3} bytes each {:>7.2} % byte {:>7.2} % unknown",
        language.name,
        language.relative_tokens,
        costs.tokens,
        costs.bytes_per_token,
        100.0 * costs.byte_token_share,
        100.0 * costs.unknown_token_share,
    );
    (text, language.relative_tokens)
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
