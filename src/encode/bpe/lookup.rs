//! What two adjacent symbols become.
//!
//! | module | job |
//! |---|---|
//! | [`symbol_table`] | symbols, merge ranks, and the pieces that they become |
//! | [`pair_cache`] | pairs that one worker has seen |
//! | [`ascii_pairs`] | the same for two ASCII characters, indexed directly |
//! | [`token_merges`] | the merges of the second layer of models with superwords, found by their symbols alone |
//!
//! Each level answers what the level below would compute, only faster.

pub(super) mod ascii_pairs;
pub(super) mod pair_cache;
pub(super) mod symbol_table;
pub(super) mod token_merges;
#[cfg(feature = "formats")]
pub(super) mod token_texts;
