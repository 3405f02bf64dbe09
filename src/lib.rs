//! spiece trains, loads and runs SentencePiece models. What it makes equals, to the byte and to the id, what
//! Google's SentencePiece 0.2.3 makes.
//!
//! Load a Llama 2 model and encode:
//!
//! ```
//! # let path = "testdata/golden/llama2.model";
//! // let path = "Llama-2-7b/tokenizer.model";
//! let tokenizer = spiece::Tokenizer::open(path)?;
//! let ids = tokenizer.encode("Hello, world!");
//! assert_eq!(tokenizer.decode(&ids)?, "Hello, world!");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A [`Tokenizer`] is shared by reference among threads; an [`Encoder`] is one thread's worker, with options,
//! spans, n-best lists and sampling; an [`IncrementalDecoder`] gives text while ids come in. A [`Trainer`]
//! makes a [`Model`] from text. Text flows one way:
//!
//! ```text
//! train:  corpus -> normalize -> split -> count words -> choose characters -> merge -> assemble -> Model
//! run:    Model  -> normalize -> encode -> ids            ids -> decode -> text
//! ```
//!
//! # Features
//!
//! All are on by default.
//!
//! * `train`: training, normalization rules by name or from files, and atomic output files. Without it the crate
//!   loads and runs models, with few dependencies.
//! * `compressed`: training on `.gz` and `.zst` files. Implies `train`.
//! * `cli`: the program `spiece`. Implies `compressed`.
//!
//! The library alone never prints, reads the environment or exits.

// Some helpers of shared modules serve training only.
#![cfg_attr(not(feature = "train"), allow(dead_code))]

// In the order of the flow: training, the model between, running, and what all of them use.
#[cfg(feature = "train")]
mod train;
mod model;
mod normalize;
mod encode;
mod decode;
mod tokenizer;
mod piece;
mod packed;
mod trie;
mod text;
mod rng;
mod join;
// Streamed output files serve the program only.
#[cfg(feature = "train")]
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
mod output;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
mod error;

pub use decode::incremental::IncrementalDecoder;
pub use error::{DecodeError, EncodeError, ModelError, PieceProblem};
#[cfg(feature = "train")]
pub use error::{OptionError, TrainError, WriteError};
#[cfg(feature = "proto")]
pub use model::proto;
pub use model::{
    BytesList, Model, ModelBuilder, ModelEditor, ModelType, NormalizerSpec, ParseModelTypeError,
    Piece, PieceEntry, TrainerSpec,
};
pub use normalize::standalone::{Normalized, TextNormalizer};
pub use piece::{ParsePieceKindError, PieceId, PieceKind};
pub use rng::Rng;
pub use text::offsets::Offsets;
pub use tokenizer::{
    EncodeCache, EncodeOptions, Encoder, ExtraOption, SampleOptions, Token, TokenRef, Tokenizer,
    TokenizerConfig, Tokens, TokensIter,
};
#[cfg(feature = "train")]
pub use train::{
    Corpus, Event, InputFormat, NormalizationRules, Observer, OptionDescriptor, OptionKind,
    RETIRED_OPTIONS, RuleSet, SentenceCounts, SentenceSelection, SpecRecording, SpecialPiece,
    Stage, Summary, TrainFlags, TrainOptions, Trainer,
};
