//! Normalization rules: sequences of code points and what replaces them.
//!
//! Input: pairs in any order, a [TSV file](tsv), or the name of one of the
//! reference's [built-in](builtin) sets. Output: [`Rules`], an ordered map ready to
//! be [compiled](super::charsmap::compile). A later pair for the same source
//! replaces an earlier one.
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
