//! Byte-pair encoding: distinct words with their counts -> the merges, best first.
//!
//! The algorithm is that of Sennrich, Haddow and Birch, "Neural Machine Translation of Rare Words
//! with Subword Units", 2016 (<https://arxiv.org/abs/1508.07909>), with the reference's rules for
//! ties and for what a piece may be.
//!
//! Every word starts as a sequence of characters, its symbols. One step merges the best pair of
//! adjacent symbols wherever it occurs. The best pair is the most frequent one; ties go to the pair
//! with the fewest characters, then to the one with the smallest UTF-8 bytes ([`queue`]).
//!
//! # Example
//!
//! Four words: `abab` once, `abc` three times, `bc` twice, `ab` once. Symbols are separated by
//! spaces.
//!
//! | step | words | counts of pairs | best pair |
//! |---|---|---|---|
//! | 1 | `a b a b` x1, `a b c` x3, `b c` x2, `a b` x1 | ab 6, ba 1, bc 5 | ab |
//! | 2 | `ab ab` x1, `ab c` x3, `b c` x2, `ab` x1 | ab+ab 1, ab+c 3, b+c 2 | ab+c |
//! | 3 | `ab ab` x1, `abc` x3, `b c` x2, `ab` x1 | ab+ab 1, b+c 2 | b+c |
//! | 4 | `ab ab` x1, `abc` x3, `bc` x2, `ab` x1 | ab+ab 1 | ab+ab |
//!
//! Step 1 counts `ab` twice in `abab`. The merge of step 1 changes only pairs next to a merged
//! occurrence: `ba` loses 1, `bc` loses the 3 occurrences in `abc`, and `ab+ab` and `ab+c` are new.
//! So the cost of a step is proportional to the number of occurrences merged, not to the size of
//! the corpus. The pieces are `ab`, `abc`, `bc`, `abab`.
//!
//! # Modules
//!
//! * [`symbols`]: texts of the symbols; [`word_buffer`]: all words as one array of symbols, changed
//!   in place.
//! * [`pairs`]: count and occurrences of each pair; [`pair_map`]: the map from two symbols to their
//!   pair; [`pair_filter`]: which pairs need not be counted.
//! * [`queue`]: the order of merges.
//! * [`bans`]: tokens that no merge makes or takes.
//! * [`merge`]: the loop; [`merge_contexts`]: the symbols next to merged occurrences.
//! * [`coverage_search`]: division of the vocabulary between characters and merges
//!   (`auto_character_coverage`).

pub(crate) mod bans;
pub(super) mod coverage_search;
pub(crate) mod merge;
mod merge_contexts;
mod pair_filter;
mod pair_map;
mod pairs;
pub(crate) mod queue;
pub(crate) mod symbols;
pub(crate) mod word_buffer;
