//! Errors, one type for each operation.
//!
//! | error | operation | needs feature |
//! |---|---|---|
//! | [`ModelError`] | loading, building or editing a model | |
//! | `OptionError`, `TrainError` | training | `train` |
//! | `CountsError` | tables of word counts | `train` |
//! | `EditError`, `ExtendError`, `MergeError`, `PruneError`, `GuaranteeError` | changing trained models | `train` |
//! | `ConvertError` | models in other formats | `convert` |
//! | `WeightsError` | gathering rows of weights | `safetensors` |
//!
//! Conventions, for every error of the crate: the variants carry facts, not sentences; the message
//! names the file, option or piece and says what is wrong and what to do; the cause, if there is
//! one, is also the [`source`](std::error::Error::source); enums are `#[non_exhaustive]`; no type
//! of a dependency is public.
//!
//! Those of encoding, decoding and output stand in these modules. They implement `Display` by hand: a derive macro would bring six
//! crates into programs that only encode.

#[cfg(feature = "train")]
mod adapt;
#[cfg(feature = "convert")]
mod convert;
#[cfg(feature = "train")]
mod counts;
mod model;
#[cfg(feature = "train")]
mod options;
#[cfg(feature = "train")]
mod train;

use std::io;

#[cfg(feature = "safetensors")]
pub use self::adapt::WeightsError;
#[cfg(feature = "train")]
pub use self::adapt::{EditError, ExtendError, GuaranteeError, MergeError, PruneError};
#[cfg(feature = "convert")]
pub use self::convert::ConvertError;
#[cfg(feature = "train")]
pub use self::counts::CountsError;
pub use self::model::{ModelError, PieceProblem};
#[cfg(feature = "train")]
pub use self::options::OptionError;
#[cfg(feature = "train")]
pub use self::train::TrainError;

/// What to do about a file that could not be read.
pub fn reading_remedy(error: &io::Error) -> &str {
    #[cfg(feature = "train")]
    if let Some(remedy) = crate::input::remedy_of(error) {
        return remedy;
    }
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            "it is damaged, cut off, or not of the kind that its name says"
        }
        _ => "check its name and permissions",
    }
}
