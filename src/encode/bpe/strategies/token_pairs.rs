//! Whether two symbols can be adjacent in a result of merging.
//!
//! Two symbols, each of which is the result of merging its own text, are a *valid pair* if merging
//! their joined text gives exactly these two symbols.
//!
//! **Lemma (valid pairs).** Let each symbol of a sequence be the result of merging its own text.
//! Then the sequence is the result of merging the whole text if and only if all adjacent pairs are
//! valid. Proof: consider the first merge across a border between two symbols. Before it, every
//! merge happens inside of one symbol's text, in the order in which that text merges alone, so the
//! merge across the border would also happen if the texts of the two symbols were merged without
//! the others, and the pair would not be valid. Conversely, if a pair is not valid, merging the two
//! texts alone has a first merge across their border, and the same merge is possible in the whole
//! text unless another border is crossed before. In both cases some border is crossed. (The notion
//! is that of Hendrik van Antwerpen and Alexander Neubeck, "So many tokens, so little time", 2024,
//! <https://github.blog/ai-and-ml/llms/so-many-tokens-so-little-time-introducing-a-faster-more-flexible-byte-pair-tokenizer/>.)
//!
//! The merges of the two symbols are undone, the latest first. Each time, the two parts at the
//! border existed at the same time; if they would have merged before either became part of
//! something larger, the pair is not valid. This needs symbols whose parts have lower ranks than
//! themselves; for others ([`LastMerge::OutOfRankOrder`]) the joined text is merged.
//!
//! Example: pieces `th` (rank 0), `he` (1), `the` (2). Is (`t`, `he`) valid? `t he` merges to `the`
//! with rank 2, and `he` exists from rank 1 on until the end, so the two would merge: not valid. Is
//! (`th`, `th`)? `th th` is no piece. Undoing the right symbol leaves `th t`: no piece; then the
//! left: `h t`: no piece. Both are characters now: valid.
//!
//! Cost: one load for pairs in the cache (128 KiB); otherwise two lookups per merge of the two
//! symbols.
//!
//! Tried and rejected: a search over the whole chunk that takes the longest symbol that forms a
//! valid pair with the one before, with backtracking. It was linear where the heap needs n log n,
//! but it ran only where windows do not fit together. Without it the instructions for English, 76
//! languages, code, Chinese and Japanese are equal within 0.4 %; chunks of 33 to 64 bytes, which
//! windows now serve, take 33 % fewer with the Yi model and as many as before with the Llama 2
//! model; only models with pieces such as `aaaaaaaaaaaaaaaa` pay, with about 1,500 instructions per
//! character of a long run of `a` instead of 90.

use super::heap_merge::HeapMerge;
use super::last_merge::last_merge;
use super::last_merge_table::LastMerge;
use super::merge_context::MergeContext;
use super::short_merge::ShortMerge;
use crate::base::num::{low_usize, mix64};
use crate::encode::bpe::lookup::symbol_table::NO_RANK;
use crate::encode::bpe::spelling::Spelling;

/// Slots of a cache, as a power of two.
const SLOT_BITS: u32 = 14;
/// The flag of a pair that is not valid.
const INVALID: u64 = 1 << 63;
/// A slot without a pair: no pair has these bits, because one of the symbols would be unknown.
const FREE_SLOT: u64 = u64::MAX;

/// Pairs of symbols that one worker has seen, in a direct-mapped table.
#[derive(Debug, Default)]
pub(in crate::encode::bpe) struct TokenPairCache {
    /// Empty until a pair is stored. Left symbol, right symbol, and the flag [`INVALID`].
    slots: Vec<u64>,
}

impl TokenPairCache {
    /// The memory that the table needs now, in bytes.
    pub(in crate::encode::bpe) fn size_bytes(&self) -> usize {
        size_of_val(&self.slots[..])
    }

    fn get(&self, pair: u64) -> Option<bool> {
        let slot = *self.slots.get(Self::slot(pair))?;
        (slot & !INVALID == pair).then_some(slot & INVALID == 0)
    }

    fn insert(&mut self, pair: u64, is_valid: bool) {
        if self.slots.is_empty() {
            self.slots.resize(1 << SLOT_BITS, FREE_SLOT);
        }
        self.slots[Self::slot(pair)] = if is_valid { pair } else { pair | INVALID };
    }

    fn slot(pair: u64) -> usize {
        low_usize(mix64(pair) >> (64 - SLOT_BITS))
    }
}

/// Whether two symbols, each the result of merging its own text, are a valid pair. A pair with an
/// unknown character is always valid. `None` if the symbols are too long to decide.
#[inline]
pub(in crate::encode::bpe) fn is_valid_token_pair(
    left: u32,
    right: u32,
    cache: &mut TokenPairCache,
    context: &mut MergeContext<'_, impl Spelling>,
) -> Option<bool> {
    let symbols = &context.tables.symbols;
    if !symbols.is_known(left) || !symbols.is_known(right) {
        return Some(true);
    }
    let pair = u64::from(left) << 32 | u64::from(right);
    if let Some(is_valid) = cache.get(pair) {
        return Some(is_valid);
    }
    let is_valid = compute_validity(left, right, context)?;
    cache.insert(pair, is_valid);
    Some(is_valid)
}

fn compute_validity(
    mut left: u32,
    mut right: u32,
    context: &mut MergeContext<'_, impl Spelling>,
) -> Option<bool> {
    match (last_merge(left, context), last_merge(right, context)) {
        (LastMerge::TooLong, _) | (_, LastMerge::TooLong) => return None,
        (LastMerge::OutOfRankOrder, _) | (_, LastMerge::OutOfRankOrder) => {
            return Some(merge_both(left, right, context));
        }
        _ => {}
    }
    // Undo the merges, the latest first. Equal ranks merge from left to right, so the right one is
    // undone first.
    let symbols = &context.tables.symbols;
    // The ranks at which the current parts become part of something larger.
    let mut left_until = NO_RANK;
    let mut right_until = NO_RANK;
    loop {
        let rank = context.pairs.get(left, right).rank();
        if rank < left_until && rank <= right_until {
            return Some(false);
        }
        let left_rank = symbols.rank(left);
        let right_rank = symbols.rank(right);
        match (last_merge(left, context), last_merge(right, context)) {
            (LastMerge::Pair(_, part), LastMerge::Pair(..)) if left_rank > right_rank => {
                left = part;
                left_until = left_rank;
            }
            (_, LastMerge::Pair(part, _)) => {
                right = part;
                right_until = right_rank;
            }
            (LastMerge::Pair(_, part), _) => {
                left = part;
                left_until = left_rank;
            }
            _ => return Some(true),
        }
    }
}

/// Merges the joined text of two symbols.
fn merge_both(left: u32, right: u32, context: &mut MergeContext<'_, impl Spelling>) -> bool {
    let tables = context.tables;
    let texts = [left, right].map(|symbol| tables.symbols.text(context.pairs.pieces, symbol));
    let mut short = ShortMerge::default();
    if texts.iter().all(|text| short.push_text(text, tables)) {
        short.merge(&mut context.pairs);
        return short.symbols().eq([left, right]);
    }
    let mut heap = HeapMerge::default();
    let units = texts
        .iter()
        .flat_map(|text| tables.spelling.symbols_of(text));
    heap.symbols.extend(units);
    heap.merge(&mut context.pairs, &mut ());
    heap.symbols == [left, right]
}
