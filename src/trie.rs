//! A trie in one array of 32-bit units: the layout of Darts-clone, which model
//! files carry inside their charsmap.
//!
//! In: the units of a file, or a sorted list of keys (see [`builder`]). Out: all
//! keys that are prefixes of a text, with their values.
//!
//! A state of the trie is a *base*, the index of a block of up to 256 cells; the
//! child by byte `b` is cell `base ^ b`. The unit in a cell says
//!
//! | bits | of an inner unit | of a value unit |
//! |---|---|---|
//! | 31 | 0 | 1 |
//! | 30-10 | distance from the cell to its base (xor) | value (bits 30-0) |
//! | 9 | the distance is to be read eight bits to the left | |
//! | 8 | a key ends here; its value is in cell `base ^ 0` | |
//! | 7-0 | the byte by which the cell is reached | |
//!
//! so a step is a xor, a load and a comparison of the byte. Cell 0 is the root.
//!
//! A file is not to be trusted: [`DoubleArray::validate`] is the reference's own
//! check, after which every reachable cell lies inside the array. A valid array
//! may still have cycles or many paths to one cell, so whatever walks over it
//! takes a limit or marks what it has seen. Lookups index with a check anyway.

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
