//! spiece trains, loads and runs SentencePiece models.
//!
//! ```text
//! train:  corpus -> normalize -> split -> count words -> choose characters -> merge -> assemble -> Model
//! run:    Model  -> normalize -> encode -> ids            ids -> decode -> text
//! ```

mod decode;
mod encode;
mod error;
mod model;
mod normalize;
mod offsets;
mod output;
mod packed;
mod piece;
mod prefix;
mod rng;
mod script;
mod text;
mod tokenizer;
mod train;

pub use error::{DecodeError, EncodeError, ModelError, OptionError, TrainError, WriteError};
pub use model::{Model, Piece};
pub use normalize::standalone::{Normalized, TextNormalizer};
pub use offsets::Offsets;
pub use output::{OutputFile, check_writable, write_files};
pub use piece::{PieceId, PieceKind};
pub use rng::Rng;
pub use tokenizer::{EncodeOptions, Encoder, ExtraOption, IncrementalDecoder, SampleOptions, Token, Tokenizer, Tokens};
pub use train::{
    Corpus, Event, ModelType, Observer, OptionInfo, OptionKind, RETIRED_OPTIONS, Recorded, SentenceCounts, Stage,
    Summary, TrainOptions, Trainer,
};
