//! spiece trains, loads and runs SentencePiece models.
//!
//! ```text
//! train:  corpus -> normalize -> split -> count words -> choose characters -> merge -> assemble -> Model
//! run:    Model  -> normalize -> encode -> ids            ids -> decode -> text
//! ```

mod error;
mod model;
mod normalize;
mod output;
mod piece;
mod prefix;
mod rng;
mod script;
mod text;
mod train;

pub use error::{ModelError, OptionError, TrainError, WriteError};
pub use model::{Model, Piece};
pub use output::{check_writable, write_files};
pub use piece::{PieceId, PieceKind};
pub use train::{
    Corpus, Event, ModelType, Observer, OptionInfo, OptionKind, RETIRED_OPTIONS, Recorded, SentenceCounts, Stage,
    Summary, TrainOptions, Trainer,
};
