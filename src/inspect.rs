//! Facts about a model, about its use on a text, and about two models: the library of
//! `spiece inspect` and `spiece compare`.
//!
//! They show problems of a vocabulary and what a text costs with it. The results are plain structs,
//! and nothing can fail.
//!
//! | type | answers | module |
//! |---|---|---|
//! | [`Inspection`] | which pieces the model has, and which of them text can never give | `inventory`, `reachability`, `production`, `scores`, `byte_level`, `pipeline` |
//! | [`TextStatistics`] | how many tokens, unknown tokens and byte tokens a text takes, which words and lines take most | `statistics`, `text_counter`, `top_list` |
//! | [`OlderReleaseProblem`] | why SentencePiece 0.2.2 and older refuse the model | `older_releases` |
//! | [`BuiltInRules`] | which releases of SentencePiece have the normalization rules of the model | `built_in_rules` |
//! | [`WordPieceCounts`] | what the pieces of a WordPiece vocabulary are | `word_pieces` |
//! | [`runtimes`] | which programs give the ids of the model, and why the others do not | `runtimes` |
//! | [`piece_merges`] | which merges make a piece | `piece_merges` |
//! | [`Comparison`] | whether two models give the same ids and the same boundaries on a text | `comparison` |
//!
//! # Example
//! ```
//! use spiece::Tokenizer;
//! use spiece::inspect::{Inspection, TextCounter};
//!
//! let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
//! let inspection = Inspection::new(&tokenizer)?;
//! assert!(inspection.unreachable.is_empty());
//!
//! let mut counter = TextCounter::new(&tokenizer);
//! counter.add_line(1, b"All human beings are born free.");
//! let statistics = counter.finish();
//! assert_eq!(statistics.words, 6);
//! assert_eq!(statistics.tokens, tokenizer.count("All human beings are born free.") as u64);
//! # Ok::<(), spiece::OpenError>(())
//! ```
//!
//! # Cost
//! [`Inspection::new`] is linear in the texts of the pieces, except for pieces that the normalizer
//! does not seem to produce and tokens that are not encoded as themselves, which together take at most a few seconds. Statistics and comparisons
//! are linear in the text.

mod built_in_rules;
mod byte_level;
mod comparison;
mod inventory;
mod older_releases;
mod piece_merges;
mod pipeline;
mod production;
mod reachability;
mod runtimes;
mod scores;
mod statistics;
#[cfg(all(test, feature = "train"))]
mod tests;
mod text_counter;
mod top_list;
mod word_pieces;

pub use self::built_in_rules::BuiltInRules;
pub use self::byte_level::ByteInspection;
use self::byte_level::inspect_bytes;
pub use self::comparison::{
    Comparison, ComparisonCounter, ComparisonSums, DifferentLine, IdChange, VocabularyComparison,
};
pub use self::inventory::{KindCount, LengthCount, ScriptCount, UnusualPieces};
pub use self::older_releases::OlderReleaseProblem;
pub use self::piece_merges::{PieceMerge, piece_merges};
pub use self::pipeline::PipelineInspection;
use self::pipeline::inspect_pipeline;
use self::production::find_unproduced;
use self::reachability::find_unreachable;
pub use self::reachability::{UnreachablePiece, UnreachableReason};
pub use self::runtimes::{Runtime, RuntimeFile, RuntimeVerdict, runtimes};
pub use self::scores::ScoreSummary;
pub use self::statistics::{ExtremeLine, FragmentedWord, TextStatistics};
pub use self::text_counter::TextCounter;
pub use self::word_pieces::WordPieceCounts;
use std::borrow::Cow;

use crate::model::ModelType;
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::{NoModelError, Tokenizer};

/// The contents of a model and its problems.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// The number of pieces.
    pub piece_count: usize,
    /// The number of pieces of each kind, in the order of
    /// [`PieceKind::ALL`](crate::PieceKind::ALL); kinds without pieces included.
    pub kinds: Vec<KindCount>,
    /// The number of pieces for text by script, most frequent first.
    pub scripts: Vec<ScriptCount>,
    /// The number of pieces for text by length in characters, shortest first.
    pub lengths: Vec<LengthCount>,
    /// The longest normal pieces, longest first.
    pub longest: Vec<PieceId>,
    /// Pieces whose texts are unusual.
    pub unusual: UnusualPieces,
    /// The normal and user-defined pieces that encoding never gives, by id, each with the ids that
    /// win.
    pub unreachable: Vec<UnreachablePiece>,
    /// What only one kind of vocabulary has.
    pub details: InspectionDetails,
}

/// What only one kind of vocabulary has.
#[derive(Debug, Clone, PartialEq)]
pub enum InspectionDetails {
    /// A SentencePiece model.
    Model(ModelInspection),
    /// A byte-level vocabulary.
    ByteLevel(ByteInspection),
    /// Any other pipeline, one with the ids of a SentencePiece model included.
    Pipeline(PipelineInspection),
}

/// What only SentencePiece models have.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ModelInspection {
    /// The type of the model.
    pub model_type: ModelType,
    /// The number of pieces that the trainer was asked for. Another number than that of the pieces
    /// indicates an edit, or training that found fewer pieces.
    pub trainer_vocab_size: i32,
    /// Whether the model has as many pieces.
    pub has_trained_size: bool,
    /// Scores of normal pieces: range, ties, order.
    pub scores: ScoreSummary,
    /// The normal and user-defined pieces whose texts occur in no normalized text, by id.
    pub never_normalized: Vec<PieceId>,
    /// Pieces for which neither a text that produces them nor a proof that there is none was found,
    /// by id.
    pub normalization_undecided: Vec<PieceId>,
}

impl Inspection {
    /// Inspects a tokenizer. See the [module](self) for the cost and an example.
    ///
    /// # Errors
    /// None at present: there is a report on every tokenizer.
    pub fn new(tokenizer: &Tokenizer) -> Result<Self, NoModelError> {
        let (unreachable, details) = unreachable_and_details(tokenizer)?;
        Ok(Self {
            piece_count: pieces(tokenizer).count(),
            kinds: inventory::count_kinds(tokenizer),
            scripts: inventory::count_scripts(tokenizer),
            lengths: inventory::count_lengths(tokenizer),
            longest: inventory::longest_pieces(tokenizer),
            unusual: UnusualPieces::new(tokenizer),
            unreachable,
            details,
        })
    }
}

fn unreachable_and_details(
    tokenizer: &Tokenizer,
) -> Result<(Vec<UnreachablePiece>, InspectionDetails), NoModelError> {
    if let Some(bpe) = tokenizer.byte_bpe() {
        let (details, unreachable) = inspect_bytes(bpe);
        return Ok((unreachable, InspectionDetails::ByteLevel(details)));
    }
    if let Some(pipeline) = tokenizer.pipeline() {
        let (details, unreachable) = inspect_pipeline(tokenizer, pipeline);
        return Ok((unreachable, InspectionDetails::Pipeline(details)));
    }
    let tables = tokenizer.require_model_tables()?;
    let unproduced = find_unproduced(tokenizer, tables);
    let model = tables.model();
    let trainer_vocab_size = model.trainer_spec().vocab_size();
    let details = ModelInspection {
        model_type: model.model_type(),
        trainer_vocab_size,
        has_trained_size: usize::try_from(trainer_vocab_size) == Ok(model.len()),
        scores: ScoreSummary::new(tokenizer),
        never_normalized: unproduced.never,
        normalization_undecided: unproduced.undecided,
    };
    let unreachable = find_unreachable(tokenizer, tables);
    Ok((unreachable, InspectionDetails::Model(details)))
}

/// Serializes a text as a string, with U+FFFD for what is not UTF-8.
#[cfg(feature = "serde")]
fn as_lossy_text<S: serde::Serializer>(text: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&String::from_utf8_lossy(text))
}

/// The text that a piece stands for: in byte-level vocabularies its bytes, whatever the characters are
/// in which the file spells them. Empty if there is no such piece.
///
/// ```
/// use spiece::{Tokenizer, inspect::piece_text};
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let id = tokenizer.encode("the")[0];
/// assert_eq!(*piece_text(&tokenizer, id), *"\u{2581}the".as_bytes());
/// # Ok::<(), spiece::OpenError>(())
/// ```
pub fn piece_text(tokenizer: &Tokenizer, id: PieceId) -> Cow<'_, [u8]> {
    let bytes = tokenizer.byte_bpe().map(|bpe| bpe.id_to_bytes(id));
    if bytes.is_none()
        && let Some(pipeline) = tokenizer.pipeline()
        && pipeline.is_byte_level()
    {
        return pipeline.bytes_of(id.get()).unwrap_or_default();
    }
    let text = bytes.unwrap_or_else(|| tokenizer.id_to_piece(id));
    Cow::Borrowed(text.unwrap_or_default())
}

/// A piece with the text that it stands for.
#[derive(Debug)]
struct InspectedPiece<'t> {
    id: PieceId,
    text: Cow<'t, [u8]>,
    kind: PieceKind,
    score: f32,
}

fn pieces(tokenizer: &Tokenizer) -> impl Iterator<Item = InspectedPiece<'_>> {
    tokenizer.pieces().map(|piece| InspectedPiece {
        id: piece.id,
        text: piece_text(tokenizer, piece.id),
        kind: piece.kind,
        score: piece.score,
    })
}

fn pieces_of_kind(
    tokenizer: &Tokenizer,
    kind: PieceKind,
) -> impl Iterator<Item = InspectedPiece<'_>> {
    pieces(tokenizer).filter(move |piece| piece.kind == kind)
}

/// The normal pieces and user-defined symbols of a model. A piece that is a single NUL is also one
/// of them: models with byte fallback load it as unused, because the reference never gives it.
fn pieces_for_text(tokenizer: &Tokenizer) -> impl Iterator<Item = InspectedPiece<'_>> {
    let model = tokenizer.model();
    let has_byte_fallback = model.is_some_and(|model| model.trainer_spec().byte_fallback());
    pieces(tokenizer).filter(move |piece| {
        piece.kind.is_given_for_text() || (has_byte_fallback && *piece.text == [0])
    })
}

/// Whether pieces are bytes, in which spaces stand for themselves.
fn is_byte_level(tokenizer: &Tokenizer) -> bool {
    if let Some(pipeline) = tokenizer.pipeline() {
        return pipeline.is_byte_level();
    }
    tokenizer.byte_bpe().is_some()
}
