//! The report of `spiece inspect` as JSON.
//!
//! docs/INSPECT.md lists the keys, which are the names of the fields here. They are stable: keys may
//! be added, none is renamed or removed. Texts that are not UTF-8 have U+FFFD for each malformed
//! sequence; ids identify pieces.

use std::borrow::Cow;

use serde::{Serialize, Serializer};

use super::flags::gaps;
use super::report::{
    InspectReport, LanguageCost, RENYI_ALPHA, TextReport, normalizer_flags, piece_text, share,
    special_ids, trainer_flags,
};
use spiece::inspect::{ExtremeLine, TextStatistics, UnreachablePiece};
use spiece::{PieceId, Tokenizer};

/// An object whose keys are not known here, in this order.
pub(crate) struct Object<V>(Vec<(&'static str, V)>);

impl<V> FromIterator<(&'static str, V)> for Object<V> {
    fn from_iter<I: IntoIterator<Item = (&'static str, V)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl<V: Serialize> Serialize for Object<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// A document for people: each member on a line of its own.
pub(crate) fn document(value: &impl Serialize) -> Vec<u8> {
    // Neither writing to memory nor a value of these types fails.
    let mut document = serde_json::to_vec_pretty(value).unwrap_or_default();
    document.push(b'\n');
    document
}

/// The text of a piece or a line.
pub(crate) fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The report.
#[derive(Serialize)]
pub(crate) struct Report<'r> {
    model: &'r str,
    model_type: &'static str,
    pieces: usize,
    trainer_vocab_size: i32,
    has_trained_size: bool,
    flags: Object<bool>,
    normalizer: Normalizer<'r>,
    special_ids: Object<Option<PieceId>>,
    training_options: Object<String>,
    training_gaps: Vec<String>,
    kinds: Object<u64>,
    scripts: Vec<Script>,
    lengths: Vec<Length>,
    longest: Vec<Piece<'r>>,
    scores: Scores,
    unusual: Unusual<'r>,
    #[serde(flatten)]
    unreachable: Option<Unreachable<'r>>,
    never_normalized: &'r [PieceId],
    normalization_undecided: &'r [PieceId],
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Text<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    languages: Option<Vec<Language>>,
}

#[derive(Serialize)]
struct Normalizer<'r> {
    name: Cow<'r, str>,
    #[serde(flatten)]
    flags: Object<bool>,
    has_rules: bool,
}

#[derive(Serialize)]
struct Script {
    script: &'static str,
    pieces: u64,
}

#[derive(Serialize)]
struct Length {
    characters: u64,
    pieces: u64,
}

#[derive(Serialize)]
struct Piece<'r> {
    id: PieceId,
    piece: Cow<'r, str>,
    score: Option<f32>,
}

/// Scores of normal pieces.
#[derive(Serialize)]
struct Scores {
    lowest: Option<f32>,
    highest: Option<f32>,
    tied_scores: u64,
    tied_pieces: u64,
    inversions: u64,
    first_inversion: Option<PieceId>,
}

#[derive(Serialize)]
struct Unusual<'r> {
    with_space: &'r [PieceId],
    with_nul: &'r [PieceId],
    with_control_character: &'r [PieceId],
    not_utf8: &'r [PieceId],
    symbols_with_mark: &'r [PieceId],
}

/// The unreachable pieces, once as ids and once with what wins.
#[derive(Serialize)]
struct Unreachable<'r> {
    unreachable: Vec<PieceId>,
    unreachable_details: Vec<UnreachableDetails<'r>>,
}

#[derive(Serialize)]
struct UnreachableDetails<'r> {
    #[serde(flatten)]
    piece: Piece<'r>,
    winner: &'r [PieceId],
    winner_pieces: Vec<Cow<'r, str>>,
    is_close: bool,
}

/// The texts and what they cost.
#[derive(Serialize)]
struct Text<'r> {
    files: Vec<File<'r>>,
    #[serde(flatten)]
    costs: Costs,
    pieces_used: u64,
    pieces_used_share: f64,
    renyi: Renyi,
    fragmented_words: Vec<Word<'r>>,
    dense_lines: Vec<Line<'r>>,
    sparse_lines: Vec<Line<'r>>,
    long_lines: Vec<Line<'r>>,
}

#[derive(Serialize)]
struct File<'r> {
    file: &'r str,
    lines: u64,
    bytes: u64,
    tokens: u64,
}

#[derive(Serialize)]
struct Costs {
    lines: u64,
    bytes: u64,
    characters: u64,
    words: u64,
    tokens: u64,
    bytes_per_token: f64,
    characters_per_token: f64,
    words_per_token: f64,
    tokens_per_word: f64,
    byte_tokens: u64,
    byte_token_share: f64,
    unknown_tokens: u64,
    unknown_token_share: f64,
}

#[derive(Serialize)]
struct Renyi {
    alpha: f64,
    entropy_bits: f64,
    efficiency_observed: Option<f64>,
    efficiency_full: Option<f64>,
}

#[derive(Serialize)]
struct Word<'r> {
    word: Cow<'r, str>,
    tokens: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Line<'r> {
    file: &'r str,
    line: u64,
    tokens: u64,
    bytes: u64,
    text: Cow<'r, str>,
}

#[derive(Serialize)]
struct Language {
    tag: &'static str,
    name: &'static str,
    relative_tokens: f64,
    #[serde(flatten)]
    costs: Costs,
}

impl<'r> Report<'r> {
    /// The report; without the unreachable pieces for the page, which has a shorter form of them.
    pub(super) fn new(report: &'r InspectReport<'_>, with_unreachable: bool) -> Self {
        let InspectReport {
            tokenizer,
            inspection,
            ..
        } = report;
        let model = tokenizer.model();
        let normalizer = model.normalizer_spec();
        let record = report.training();
        let options = record.flags.recorded();
        let scores = &inspection.scores;
        let unusual = &inspection.unusual;
        let unreachable = &inspection.unreachable;
        Self {
            model: &report.model_name,
            model_type: inspection.model_type.name(),
            pieces: inspection.piece_count,
            trainer_vocab_size: inspection.trainer_vocab_size,
            has_trained_size: inspection.has_trained_size(),
            flags: trainer_flags(model.trainer_spec()).into_iter().collect(),
            normalizer: Normalizer {
                name: text(normalizer.name()),
                flags: normalizer_flags(normalizer).into_iter().collect(),
                has_rules: !normalizer.precompiled_charsmap().is_empty(),
            },
            special_ids: special_ids(tokenizer).into_iter().collect(),
            training_options: options.collect(),
            training_gaps: gaps(&record),
            kinds: (inspection.kinds.iter())
                .map(|count| (count.kind.name(), count.pieces))
                .collect(),
            scripts: (inspection.scripts.iter())
                .map(|count| Script {
                    script: count.script,
                    pieces: count.pieces,
                })
                .collect(),
            lengths: (inspection.lengths.iter())
                .map(|count| Length {
                    characters: count.characters,
                    pieces: count.pieces,
                })
                .collect(),
            longest: (inspection.longest.iter())
                .map(|id| Piece::new(tokenizer, *id))
                .collect(),
            scores: Scores {
                lowest: scores.lowest,
                highest: scores.highest,
                tied_scores: scores.tied_scores,
                tied_pieces: scores.tied_pieces,
                inversions: scores.inversions,
                first_inversion: scores.first_inversion,
            },
            unusual: Unusual {
                with_space: &unusual.with_space,
                with_nul: &unusual.with_nul,
                with_control_character: &unusual.with_control_character,
                not_utf8: &unusual.not_utf8,
                symbols_with_mark: &unusual.symbols_with_mark,
            },
            unreachable: with_unreachable.then(|| Unreachable {
                unreachable: unreachable.iter().map(|piece| piece.id).collect(),
                unreachable_details: (unreachable.iter())
                    .map(|piece| UnreachableDetails::new(tokenizer, piece))
                    .collect(),
            }),
            never_normalized: &inspection.never_normalized,
            normalization_undecided: &inspection.normalization_undecided,
            text: (report.text.as_ref()).map(|text| Text::new(tokenizer, text)),
            languages: (report.languages.as_ref())
                .map(|costs| costs.iter().map(Language::new).collect()),
        }
    }
}

impl<'r> Piece<'r> {
    fn new(tokenizer: &'r Tokenizer, id: PieceId) -> Self {
        Self {
            id,
            piece: text(piece_text(tokenizer, id)),
            score: tokenizer.model().piece(id).map(|piece| piece.score),
        }
    }
}

impl<'r> UnreachableDetails<'r> {
    fn new(tokenizer: &'r Tokenizer, piece: &'r UnreachablePiece) -> Self {
        let winner_pieces = piece.winner.iter();
        let winner_pieces = winner_pieces.map(|id| text(piece_text(tokenizer, *id)));
        Self {
            piece: Piece::new(tokenizer, piece.id),
            winner: &piece.winner,
            winner_pieces: winner_pieces.collect(),
            is_close: piece.is_close,
        }
    }
}

impl<'r> Text<'r> {
    fn new(tokenizer: &Tokenizer, report: &'r TextReport) -> Self {
        let statistics = &report.statistics;
        let used = statistics.pieces_used();
        let lines = |lines: &'r [ExtremeLine]| {
            let lines = lines.iter().map(|line| Line::new(report, line));
            lines.collect()
        };
        Self {
            files: (report.files.iter())
                .map(|file| File {
                    file: &file.name,
                    lines: file.lines,
                    bytes: file.bytes,
                    tokens: file.tokens,
                })
                .collect(),
            costs: Costs::new(statistics),
            pieces_used: used,
            pieces_used_share: share(used, tokenizer.vocab_size() as u64),
            renyi: Renyi {
                alpha: RENYI_ALPHA,
                entropy_bits: statistics.renyi_entropy(RENYI_ALPHA),
                efficiency_observed: statistics.observed_efficiency(RENYI_ALPHA),
                efficiency_full: statistics.full_efficiency(RENYI_ALPHA),
            },
            fragmented_words: (statistics.fragmented_words.iter())
                .map(|word| Word {
                    word: text(&word.text),
                    tokens: word.tokens.0,
                    bytes: word.bytes,
                })
                .collect(),
            dense_lines: lines(&statistics.dense_lines),
            sparse_lines: lines(&statistics.sparse_lines),
            long_lines: lines(&statistics.long_lines),
        }
    }
}

impl Costs {
    fn new(statistics: &TextStatistics) -> Self {
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

impl<'r> Line<'r> {
    fn new(report: &'r TextReport, line: &'r ExtremeLine) -> Self {
        let (file, number) = report.place_of(line.number);
        Self {
            file,
            line: number,
            tokens: line.tokens,
            bytes: line.bytes,
            text: text(&line.text),
        }
    }
}

impl Language {
    fn new(cost: &LanguageCost) -> Self {
        Self {
            tag: cost.tag,
            name: cost.name,
            relative_tokens: cost.relative_tokens,
            costs: Costs::new(&cost.statistics),
        }
    }
}
