//! Normalization rules: sequences of code points and what replaces them.
//!
//! They come from pairs in any order, of which a later one for the same source replaces an earlier
//! one, from a [TSV file](tsv), or from one of the reference's [built-in](builtin) sets. [`Rules`],
//! an ordered map, are then [compiled](super::charsmap::compile).
//!
//! Code points are plain numbers here, because a TSV file may name anything up to 32 bits and the
//! compiled pool is ordered by those numbers. One arena holds all sources and another all targets;
//! the built-in sets have 13,000 targets for 225,000 sources, so rules refer to targets by number.

mod builtin;
mod rule_set;
mod tsv;

pub(crate) use builtin::{BUILTIN_NAMES, builtin_rules};
pub(crate) use rule_set::{Rules, encode_point};
pub(crate) use tsv::parse_tsv;
