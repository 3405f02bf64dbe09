//! The last merge of each symbol.
//!
//! The [`LastMerge`] of a symbol is that of its text, merged alone. It is computed on first use by
//! merging the units, and stored for all threads; a thread that does not see the result of another
//! thread computes the same.
//!
//! Example: with the pieces `th` (rank 0), `he` (1), `the` (2), `hers` (3) the last merge of `the`
//! is (`th`, `e`). `hers` is [`Unreachable`](LastMerge::Unreachable): its text becomes `he r s`,
//! because neither `rs` nor `her` is a piece.
//!
//! Cost: one load; a merge per symbol once. Only long chunks need last merges, so the table
//! of 8 bytes per piece is allocated when the first of them comes.

use super::heap_merge::{HeapMerge, MergeObserver};
use super::last_merge_table::{LastMerge, MAX_SYMBOL_BYTES};
use super::merge_context::MergeContext;
use super::short_merge::ShortMerge;
use crate::encode::bpe::spelling::Spelling;

/// The last merge of `symbol`.
#[inline]
pub(in crate::encode::bpe) fn last_merge(
    symbol: u32,
    context: &mut MergeContext<'_, impl Spelling>,
) -> LastMerge {
    // Symbols that are no pieces are units.
    let Some(cell) = context.tables.last_merges.cell(symbol) else {
        return LastMerge::Unit;
    };
    if let Some(known) = cell.load() {
        return known;
    }
    let computed = compute_last_merge(symbol, context);
    cell.store(computed);
    computed
}

/// The two symbols that are merged last when the text of a symbol is merged alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::encode::bpe) enum LastPair {
    Of(u32, u32),
    /// The text becomes something else, or is one unit.
    None,
    TooLong,
}

/// Merges the text of a piece alone. Not inlined, since its buffers would be on the stack of each
/// level of [`compute_last_merge`].
#[inline(never)]
pub(in crate::encode::bpe) fn last_pair(
    symbol: u32,
    context: &mut MergeContext<'_, impl Spelling>,
) -> LastPair {
    let text = context.pairs.pieces.text(symbol as usize);
    if text.len() > MAX_SYMBOL_BYTES {
        return LastPair::TooLong;
    }
    let mut short = ShortMerge::default();
    let (last, is_whole) = if short.push_text(text, context.tables) {
        let last = short.merge_with_last::<true>(&mut context.pairs);
        (last, short.symbols().eq([symbol]))
    } else {
        let mut heap = HeapMerge::default();
        heap.symbols
            .extend(context.tables.spelling.symbols_of(text));
        let mut last = LastMergeObserver(None);
        heap.merge(&mut context.pairs, &mut last);
        (last.0, heap.symbols == [symbol])
    };
    match last {
        Some((left, right)) if is_whole => LastPair::Of(left, right),
        _ => LastPair::None,
    }
}

/// Stores the two symbols that were merged last.
struct LastMergeObserver(Option<(u32, u32)>);

impl MergeObserver for LastMergeObserver {
    fn on_merge(&mut self, _symbol: u32, parts: [u32; 2], _nodes: [usize; 3]) {
        self.0 = Some(parts.into());
    }
}

#[cold]
fn compute_last_merge(symbol: u32, context: &mut MergeContext<'_, impl Spelling>) -> LastMerge {
    let tables = context.tables;
    let text = context.pairs.pieces.text(symbol as usize);
    if tables.spelling.symbols_of(text).nth(1).is_none() {
        return LastMerge::Unit;
    }
    let (left, right) = match last_pair(symbol, context) {
        LastPair::Of(left, right) => (left, right),
        LastPair::None => return LastMerge::Unreachable,
        LastPair::TooLong => return LastMerge::TooLong,
    };
    let rank = tables.symbols.rank(symbol);
    let mut is_earlier = |part| match last_merge(part, context) {
        LastMerge::Unit => true,
        LastMerge::Pair(..) => tables.symbols.rank(part) < rank,
        LastMerge::Unreachable | LastMerge::OutOfRankOrder | LastMerge::TooLong => false,
    };
    if is_earlier(left) && is_earlier(right) {
        LastMerge::Pair(left, right)
    } else {
        LastMerge::OutOfRankOrder
    }
}
