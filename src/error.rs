//! What the errors of reading files have in common.
//!
//! Each operation has an error type of its own, beside it. The conventions for all of them: the
//! variants carry facts, not sentences; the message names the file, option or piece and says what
//! is wrong and what to do; the cause, if there is one, is also the
//! [`source`](std::error::Error::source), but a variant whose whole message is that of another
//! error has the source of that error; enums are `#[non_exhaustive]`; no type of a dependency is
//! public. Those of encoding and decoding implement `Display` by hand: a derive macro would bring
//! six crates into programs that only encode.

#[cfg(feature = "train")]
mod input;

use std::io;

#[cfg(feature = "train")]
pub use self::input::InputError;

/// What to do about a file that could not be read.
pub fn reading_remedy(error: &io::Error) -> &str {
    #[cfg(feature = "train")]
    if let Some(cause) = error.get_ref()
        && let Some(error) = cause.downcast_ref::<InputError>()
    {
        return &error.remedy;
    }
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            "it is damaged, cut off, or not of the kind that its name says"
        }
        _ => "check its name and permissions",
    }
}
