//! A trie in one array of 32-bit units: the layout of Darts-clone, which model files carry inside
//! their charsmap.
//!
//! Input: the units of a file, or a sorted list of keys (see [`builder`]). Output: all keys that
//! are prefixes of a text, with their values. Users: charsmaps, [`prefix`] search for user-defined
//! symbols, pieces of unigram models.
//!
//! A state of the trie is a *base*, the index of a block of up to 256 cells; the child by byte `b`
//! is cell `base ^ b`. [`unit`] lists the fields of the unit in a cell. So a step is a xor, a load
//! and a comparison of the label.
//!
//! Example: the keys are `a` (value 5) and `ab` (value 7). Let the root have the base 1.
//!
//! | step | cell | unit |
//! |---|---|---|
//! | `a` (0x61) from base 1 | 1 ^ 0x61 = 0x60 | label 0x61, a key ends here, base 2 |
//! | value of `a` | 2 ^ 0 = 2 | value 5 |
//! | `b` (0x62) from base 2 | 2 ^ 0x62 = 0x60: taken, so the builder chooses another base for `a` | |
//!
//! The builder chooses bases so that no two states claim one cell, in exactly the order of
//! Darts-clone ([`layout`]).
//!
//! Files are untrusted: [`DoubleArray::validate`] is the check of the reference, after which every
//! reachable cell lies inside the array. A valid array may still contain cycles or many paths to
//! one cell, so every walk has a limit or marks visited states.
//!
//! Source: S. Yata, Darts-clone, <https://github.com/s-yata/darts-clone>; J. Aoe, "An efficient
//! digital search algorithm by using a double-array structure", 1989, doi:10.1109/32.31365.

mod builder;
mod dawg;
mod double_array;
mod error;
mod layout;
pub(crate) mod prefix;
mod unit;

pub(crate) use double_array::{DoubleArray, WalkLimits};
pub(crate) use error::BuildError;
pub(crate) use unit::Unit;

#[cfg(test)]
mod tests;
