//! Trains, loads, runs, converts and changes tokenizers:
//! [SentencePiece](https://github.com/google/sentencepiece) models, every `tokenizer.json` of the
//! library `tokenizers`, byte-level vocabularies as those of GPT, Llama 3 and Qwen, BERT's
//! `vocab.txt`, and the vocabularies in GGUF files.
//!
//! For the same corpus and options, the trained model has the same bytes as the model of
//! SentencePiece 0.2.3. For the same model and text, the ids, spans and decoded texts are the same.
//!
//! # Encode and decode
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
//! # Train
//!
#![cfg_attr(feature = "train", doc = "```")]
#![cfg_attr(not(feature = "train"), doc = "```ignore")]
//! use spiece::{Corpus, TrainOptions, Trainer};
//!
//! let mut options = TrainOptions::default();
//! options.vocab_size = 40;
//! options.hard_vocab_limit = false;
//! let model = Trainer::new(options)?.train(Corpus::texts(["a pen", "a pineapple", "an apple"]))?;
//! let tokenizer = spiece::Tokenizer::new(model);
//! assert_eq!(tokenizer.decode(&tokenizer.encode("an apple pen"))?, "an apple pen");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types to start with
//!
//! | task | type |
//! |---|---|
//! | encode and decode texts, from any number of threads | [`Tokenizer`] |
//! | encode with options, spans, n-best lists or sampling, on one thread | [`Encoder`], from [`Tokenizer::encoder`] |
//! | decode ids while they arrive | [`IncrementalDecoder`] |
//! | encode a text that grows at its end | [`AppendingEncoder`] |
//! | encode a chat: special tokens in the template, not in the text of users | [`TextSegment`], [`Encoder::encode_segments`] |
//! | make a tokenizer of a byte-level vocabulary, as those of GPT, Llama 3 and Qwen | `ByteBpe`, `Tokenizer::from_pipeline` |
//! | normalize text without a vocabulary | [`TextNormalizer`] |
//! | read a model file: pieces, scores, specs | [`Model`] |
//! | make a model from pieces | [`ModelBuilder`] |
//! | change a model and preserve everything else in its file | [`ModelEditor`], from [`Model::edit`] |
#![cfg_attr(
    feature = "formats",
    doc = "| find unreachable pieces, measure a text, compare two models | [`inspect`] |"
)]
#![cfg_attr(
    feature = "train",
    doc = "| change a model and learn which texts get other ids | [`Model::apply_edits`] |"
)]
#![cfg_attr(
    feature = "train",
    doc = "| go on with the training of a BPE model on other text | [`Model::extend`] |"
)]
#![cfg_attr(
    feature = "train",
    doc = "| add the pieces of another model, or remove pieces that a text does not need | [`Model::merge`], [`Model::prune`] |"
)]
#![cfg_attr(
    feature = "train",
    doc = "| train a model with typed options | [`Trainer`], [`TrainOptions`], [`Corpus`] |"
)]
#![cfg_attr(
    feature = "train",
    doc = "| train a model with the flags of `spm_train` by name | [`TrainFlags`] |"
)]
//!
//! # Flow of data
//!
//! ```text
//! train:  corpus -> normalize -> split -> count words -> choose characters -> merge pairs -> assemble -> Model
//! run:    Model  -> Tokenizer:   text -> normalize -> encode -> ids
//!                                ids  -> decode -> denormalize -> text
//! ```
//!
//! The root has the types that most programs name; the modules have the rest.
//!
//! # Guarantees
//!
//! * Results depend on the model, the text and the options only: not on the number of threads, on
//!   the sizes of caches or on hash seeds. Sampling also depends on the seed of [`Rng`].
//! * A model is validated when it is loaded. Malformed files are typed errors; after loading,
//!   encoding cannot fail.
//! * Encoding takes linear time for most text and O(n log n) for all text, including text written
//!   to be slow.
//! * Public types are `Send` and `Sync`. The library has no unsafe code.
//! * The library does not print and does not exit. Of the environment it reads the folder for
//!   temporary files alone.
//!
//! # Features
//!
//! `train` is on by default. The program `spiece` is the package `spiece-cli`.
//!
//! | feature | content |
//! |---|---|
//! | `formats` | everything but `.model` files: every `tokenizer.json` of the library `tokenizers` as a pipeline, the byte-level vocabularies of tiktoken, GPT-2, Mistral and minbpe, `vocab.txt`, GGUF; conversions; the module `inspect` |
//! | `train` | training, normalization rules by name or from files, atomic output files; implies `formats` |
//! | `compressed` | training on files in gzip and Zstandard; implies `train` |
//! | `parquet` | tables of word counts as Parquet files; implies `train` |
//! | `serde` | `Serialize` and `Deserialize` for plain data: ids, kinds, tokens, options of encoding |
//! | `proto` | the messages of model files as types of `prost` |
//!
//! Without default features the crate loads and runs `.model` files, with few dependencies.

#![forbid(unsafe_code)]
// docs.rs labels each item with the feature that it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

// Tests with the public interface are a part of the unit tests, too.
#[cfg(all(test, feature = "train"))]
extern crate self as spiece;

// The examples of the documents are tests, like those of the documentation.
#[cfg(all(doctest, feature = "train"))]
#[doc = include_str!("../README.md")]
mod readme {}
#[cfg(all(doctest, feature = "train"))]
#[doc = include_str!("../docs/LIBRARY.md")]
mod library {}
#[cfg(all(doctest, feature = "train"))]
#[doc = include_str!("../docs/BYTES.md")]
mod bytes {}
#[cfg(all(doctest, feature = "train"))]
#[doc = include_str!("../docs/FORMATS.md")]
mod file_formats {}
#[cfg(all(doctest, feature = "train"))]
#[doc = include_str!("../docs/MIGRATING.md")]
mod migrating {}

// In the order of the flow: training, the model between, running, and what all of them use.
#[cfg(feature = "train")]
pub mod input;
#[cfg(feature = "train")]
pub mod train;
pub mod model;
mod normalize;
#[cfg(feature = "formats")]
mod pattern;
mod encode;
mod decode;
mod special;
#[cfg(feature = "formats")]
mod added;
#[cfg(feature = "formats")]
pub mod byte_bpe;
#[cfg(feature = "formats")]
pub mod pipeline;
mod tokenizer;
#[cfg(feature = "train")]
pub mod adapt;
#[cfg(feature = "formats")]
pub mod formats;
mod open;
mod piece;
mod trie;
mod base;
#[cfg(feature = "formats")]
pub mod inspect;
#[cfg(feature = "train")]
pub mod output;
mod error;

pub use base::offsets::Offsets;
pub use base::rng::Rng;
#[cfg(feature = "formats")]
pub use byte_bpe::ByteBpe;
pub use decode::DecodeError;
pub use decode::spans::{DecodedText, DecodedToken};
pub use encode::EncodeError;
pub use model::text_normalizer::{Normalized, TextNormalizer};
pub use model::{
    Model, ModelBuilder, ModelEditor, ModelError, ModelType, NormalizerSpec, Piece, TrainerSpec,
};
pub use open::OpenError;
#[cfg(feature = "formats")]
pub use pattern::{Pattern, PatternError, PatternSyntax, Pretokenizer, Split, SplitBehavior};
pub use piece::{PieceId, PieceKind};
pub use tokenizer::{
    Appended, AppendingEncoder, EncodeCache, EncodeOptions, EncodedLines, Encoder, ExtraOption,
    IncrementalDecoder, NoModelError, PreparedOptions, SampleOptions, SampleReplacement,
    ScoredSampleOptions, TextSegment, Token, TokenRef, Tokenizer, TokenizerConfig, Tokens,
    TokensIter,
};
#[cfg(feature = "train")]
pub use train::{Corpus, TrainError, TrainFlags, TrainOptions, Trainer};
