//! The report of `spiece inspect` as JSON.
//!
//! docs/INSPECT.md lists the keys, which are the names of the fields here. They are stable: keys
//! may be added, none is renamed or removed. Texts that are not UTF-8 have U+FFFD for each
//! malformed sequence; ids identify pieces.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::report::{
    InspectReport, InspectedVocabulary, LanguageCost, RENYI_ALPHA, TextCosts, TextFile, TextReport,
    byte_flags, normalizer_flags, share, special_ids, trainer_flags, type_name,
};
use spiece::inspect::{
    BuiltInRules, ByteInspection, ExtremeLine, FragmentedWord, Inspection, InspectionDetails,
    LengthCount, PipelineInspection, Runtime, RuntimeVerdict, ScoreSummary, ScriptCount,
    UnreachablePiece, UnreachableReason, UnusualPieces, piece_text,
};
use spiece::train::RecordGap;
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

/// As [`text`], of bytes that may be owned.
fn lossy(bytes: Cow<'_, [u8]>) -> Cow<'_, str> {
    match bytes {
        Cow::Borrowed(bytes) => text(bytes),
        Cow::Owned(bytes) => Cow::Owned(text(&bytes).into_owned()),
    }
}

/// The report.
#[derive(Serialize)]
pub(crate) struct InspectJson<'r> {
    model: &'r str,
    model_type: &'static str,
    pieces: usize,
    #[serde(flatten)]
    settings: SettingsJson<'r>,
    #[serde(skip_serializing_if = "Value::is_null")]
    stages: &'r Value,
    kinds: Object<u64>,
    scripts: &'r [ScriptCount],
    lengths: &'r [LengthCount],
    longest: Vec<PieceJson<'r>>,
    unusual: &'r UnusualPieces,
    #[serde(flatten)]
    unreachable: UnreachableJson<'r>,
    #[serde(flatten)]
    findings: FindingsJson<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextJson<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    languages: Option<&'r [LanguageCost]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtimes: Option<Vec<RuntimeJson<'r>>>,
}

/// A program that reads the model.
#[derive(Serialize)]
struct RuntimeJson<'r> {
    program: &'static str,
    version: &'static str,
    file: &'static str,
    /// Whether there is a file that the program reads.
    reads: bool,
    is_exact: bool,
    refusal: Option<&'r str>,
    setting: Option<&'static str>,
    reasons: Vec<ReasonJson<'r>>,
}

#[derive(Serialize)]
struct ReasonJson<'r> {
    kind: &'static str,
    explanation: &'r str,
    example: Option<&'r str>,
}

/// How the vocabulary was made and is used.
#[derive(Serialize)]
#[serde(untagged)]
enum SettingsJson<'r> {
    Model {
        flags: Object<bool>,
        normalizer: NormalizerJson<'r>,
        special_ids: Object<Option<PieceId>>,
        training_options: Object<String>,
        training_gaps: Vec<String>,
    },
    ByteLevel {
        ids: usize,
        flags: Object<bool>,
        form: &'static str,
        pattern_name: Option<&'static str>,
        patterns: Vec<&'r str>,
        special_tokens: Vec<SpecialTokenJson<'r>>,
    },
    Pipeline {
        ids: usize,
        special_ids: Object<Option<PieceId>>,
    },
}

#[derive(Serialize)]
struct SpecialTokenJson<'r> {
    id: u32,
    text: &'r str,
    special: bool,
}

/// What only one kind of vocabulary has.
#[derive(Serialize)]
#[serde(untagged)]
enum FindingsJson<'r> {
    Model {
        trainer_vocab_size: i32,
        has_trained_size: bool,
        scores: ScoreSummary,
        never_normalized: &'r [PieceId],
        normalization_undecided: &'r [PieceId],
    },
    ByteLevel(&'r ByteInspection),
    Pipeline(&'r PipelineInspection),
}

#[derive(Serialize)]
struct NormalizerJson<'r> {
    name: Cow<'r, str>,
    #[serde(flatten)]
    flags: Object<bool>,
    has_rules: bool,
    built_in_rules: Option<&'static BuiltInRules>,
}

#[derive(Serialize)]
struct PieceJson<'r> {
    id: PieceId,
    piece: Cow<'r, str>,
    score: Option<f32>,
}

/// The unreachable pieces, once as ids and once with what wins.
#[derive(Serialize)]
struct UnreachableJson<'r> {
    unreachable: Vec<PieceId>,
    unreachable_details: Vec<UnreachablePieceJson<'r>>,
}

#[derive(Serialize)]
struct UnreachablePieceJson<'r> {
    #[serde(flatten)]
    piece: PieceJson<'r>,
    winner: &'r [PieceId],
    winner_pieces: Vec<Cow<'r, str>>,
    reason: UnreachableReason,
    is_close: bool,
}

/// The texts and what they cost.
#[derive(Serialize)]
struct TextJson<'r> {
    files: &'r [TextFile],
    #[serde(flatten)]
    costs: TextCosts,
    pieces_used: u64,
    pieces_used_share: f64,
    renyi: RenyiJson,
    fragmented_words: &'r [FragmentedWord],
    dense_lines: Vec<LineJson<'r>>,
    sparse_lines: Vec<LineJson<'r>>,
    long_lines: Vec<LineJson<'r>>,
}

#[derive(Serialize)]
struct RenyiJson {
    alpha: f64,
    entropy_bits: f64,
    efficiency_observed: Option<f64>,
    efficiency_full: Option<f64>,
}

#[derive(Serialize)]
struct LineJson<'r> {
    file: &'r str,
    line: u64,
    tokens: u64,
    bytes: u64,
    text: Cow<'r, str>,
}

impl<'r> InspectJson<'r> {
    pub(super) fn new(report: &'r InspectReport<'_>) -> Self {
        let InspectReport {
            tokenizer,
            inspection,
            ..
        } = report;
        Self {
            model: &report.model_name,
            model_type: type_name(tokenizer, inspection),
            pieces: inspection.piece_count,
            settings: settings(report),
            stages: &report.stages,
            kinds: (inspection.kinds.iter())
                .map(|count| (count.kind.name(), count.pieces))
                .collect(),
            scripts: &inspection.scripts,
            lengths: &inspection.lengths,
            longest: (inspection.longest.iter())
                .map(|id| piece(tokenizer, *id))
                .collect(),
            unusual: &inspection.unusual,
            unreachable: unreachable(tokenizer, &inspection.unreachable),
            findings: findings(inspection),
            text: (report.text.as_ref()).map(|report| text_costs(tokenizer, report)),
            languages: report.languages.as_deref(),
            runtimes: (report.runtimes.as_ref())
                .map(|runtimes| runtimes.iter().map(runtime).collect()),
        }
    }
}

fn runtime(runtime: &Runtime) -> RuntimeJson<'_> {
    let refusal = match &runtime.verdict {
        RuntimeVerdict::Refused(cause) => Some(cause.as_str()),
        RuntimeVerdict::Exact | RuntimeVerdict::Differs(_) => None,
    };
    let reasons = runtime.verdict.reasons().iter();
    RuntimeJson {
        program: runtime.program,
        version: runtime.version,
        file: runtime.file.name(),
        reads: refusal.is_none(),
        is_exact: runtime.verdict.is_exact(),
        refusal,
        setting: runtime.setting,
        reasons: reasons
            .map(|reason| ReasonJson {
                kind: reason.kind.name(),
                explanation: &reason.explanation,
                example: reason.example.as_deref(),
            })
            .collect(),
    }
}

fn settings<'r>(report: &'r InspectReport<'_>) -> SettingsJson<'r> {
    match report.vocabulary {
        InspectedVocabulary::Model(model) => {
            let normalizer = model.normalizer_spec();
            let record = model.training_record();
            SettingsJson::Model {
                flags: trainer_flags(model.trainer_spec()).into_iter().collect(),
                normalizer: NormalizerJson {
                    name: text(normalizer.name()),
                    flags: normalizer_flags(normalizer).into_iter().collect(),
                    has_rules: !normalizer.precompiled_charsmap().is_empty(),
                    built_in_rules: normalizer.built_in_rules(),
                },
                special_ids: special_ids(report.tokenizer).into_iter().collect(),
                training_options: record.flags.recorded().collect(),
                training_gaps: record.gaps.iter().map(RecordGap::to_string).collect(),
            }
        }
        InspectedVocabulary::Pipeline => SettingsJson::Pipeline {
            ids: report.tokenizer.vocab_size(),
            special_ids: special_ids(report.tokenizer).into_iter().collect(),
        },
        InspectedVocabulary::ByteLevel(bpe) => SettingsJson::ByteLevel {
            ids: bpe.vocab_size(),
            flags: byte_flags(bpe).into_iter().collect(),
            form: bpe.text_form().name(),
            pattern_name: bpe.pretokenizer().name(),
            patterns: (bpe.pretokenizer().splits().iter())
                .map(|split| split.pattern.expression())
                .collect(),
            special_tokens: (bpe.special_tokens().iter())
                .map(|token| SpecialTokenJson {
                    id: token.id,
                    text: &token.text,
                    special: token.special,
                })
                .collect(),
        },
    }
}

fn findings(inspection: &Inspection) -> FindingsJson<'_> {
    match &inspection.details {
        InspectionDetails::Model(model) => FindingsJson::Model {
            trainer_vocab_size: model.trainer_vocab_size,
            has_trained_size: model.has_trained_size,
            scores: model.scores,
            never_normalized: &model.never_normalized,
            normalization_undecided: &model.normalization_undecided,
        },
        InspectionDetails::ByteLevel(found) => FindingsJson::ByteLevel(found),
        InspectionDetails::Pipeline(found) => FindingsJson::Pipeline(found),
    }
}

fn piece(tokenizer: &Tokenizer, id: PieceId) -> PieceJson<'_> {
    PieceJson {
        id,
        piece: lossy(piece_text(tokenizer, id)),
        score: tokenizer.piece(id).map(|piece| piece.score),
    }
}

fn unreachable<'r>(
    tokenizer: &'r Tokenizer,
    pieces: &'r [UnreachablePiece],
) -> UnreachableJson<'r> {
    let details = pieces.iter().map(|found| UnreachablePieceJson {
        piece: piece(tokenizer, found.id),
        winner: &found.winner,
        winner_pieces: (found.winner.iter())
            .map(|id| lossy(piece_text(tokenizer, *id)))
            .collect(),
        reason: found.reason,
        is_close: found.is_close,
    });
    UnreachableJson {
        unreachable: pieces.iter().map(|piece| piece.id).collect(),
        unreachable_details: details.collect(),
    }
}

fn text_costs<'r>(tokenizer: &Tokenizer, report: &'r TextReport) -> TextJson<'r> {
    let statistics = &report.statistics;
    let used = statistics.pieces_used();
    let line = |line: &'r ExtremeLine| {
        let (file, number) = report.place_of(line.number);
        LineJson {
            file,
            line: number,
            tokens: line.tokens,
            bytes: line.bytes,
            text: text(&line.text),
        }
    };
    TextJson {
        files: &report.files,
        costs: TextCosts::new(statistics),
        pieces_used: used,
        pieces_used_share: share(used, tokenizer.vocab_size() as u64),
        renyi: RenyiJson {
            alpha: RENYI_ALPHA,
            entropy_bits: statistics.renyi_entropy(RENYI_ALPHA),
            efficiency_observed: statistics.observed_efficiency(RENYI_ALPHA),
            efficiency_full: statistics.full_efficiency(RENYI_ALPHA),
        },
        fragmented_words: &statistics.fragmented_words,
        dense_lines: statistics.dense_lines.iter().map(line).collect(),
        sparse_lines: statistics.sparse_lines.iter().map(line).collect(),
        long_lines: statistics.long_lines.iter().map(line).collect(),
    }
}
