//! How the ids of one chunk are computed: a strategy for each kind of chunk.
//!
//! | module | job |
//! |---|---|
//! | [`short_merger`] | merges chunks of at most 32 units in arrays |
//! | [`short_merge`] | the same, with pairs that are looked up by hashes |
//! | [`windowed`] | segments longer chunks by windows, with [`token_pairs`] as the proof that the parts fit |
//! | [`heap_merge`] | merges chunks of any length with a priority queue |
//! | [`long_chunks`] | caches the ids of large windows, and of chunks for which small windows do not fit together |
//! | [`full_merge`] | merges whole texts, for dropout and for models with unused pieces |
//! | [`token_pairs`] | whether two symbols can be adjacent in a result |
//! | [`last_merge`] | which two symbols a symbol is merged from; [`last_merge_table`] stores the answers |
//! | [`merge_context`], [`chunk_context`] | tables, buffers and caches that the strategies share |
//!
//! The table of all strategies, including the two that need no merge, is on the page of the
//! [encoder](super).
//!
//! Modules are declared below in the order of their imports: each one imports only from those
//! before it.

pub(super) mod last_merge_table;
pub(super) mod merge_context;
pub(super) mod short_merger;
pub(super) mod short_merge;
pub(super) mod heap_merge;
pub(super) mod last_merge;
mod long_chunks;
pub(super) mod token_pairs;
pub(super) mod chunk_context;
mod windowed;
pub(super) mod full_merge;

use self::chunk_context::{ChunkContext, MergeState, MergesShort, Strategy};
use self::windowed::WindowSize;
use super::classes::char_table::CharTable;
use crate::piece::PieceId;

impl<S: MergesShort> ChunkContext<'_, S> {
    /// Appends the ids of a chunk that is not cached: rows 3 to 7 of the strategy table.
    pub(super) fn encode_chunk(&mut self, chunk: &[u8], out: &mut Vec<PieceId>) {
        if self.encode_short(chunk, out) {
            return self.state.count(Strategy::Short);
        }
        if let Some(ids) = self.state.long_chunks.get(chunk) {
            out.extend_from_slice(ids);
            return self.state.count(Strategy::Cached);
        }
        let start = out.len();
        let strategy = match self.encode_windowed(chunk, out) {
            // Chunks with unique content, such as URLs, would only fill the cache.
            Some(WindowSize::Small) => return self.state.count(Strategy::Windowed),
            Some(WindowSize::Large) => Strategy::LargeWindowed,
            Some(WindowSize::Widest) => Strategy::WidestWindowed,
            None => {
                self.encode_by_heap(chunk, out);
                Strategy::Heap
            }
        };
        self.state.count(strategy);
        self.state.long_chunks.insert(chunk, &out[start..]);
    }

    /// Appends the ids of a chunk of at most [`short_merger::MAX_UNITS`] units. Returns false,
    /// and appends nothing, for a longer chunk.
    pub(super) fn encode_short(&mut self, chunk: &[u8], out: &mut Vec<PieceId>) -> bool {
        S::encode_short(self, chunk, out)
    }

    /// Appends the ids of a chunk of any length.
    fn encode_by_heap(&mut self, chunk: &[u8], out: &mut Vec<PieceId>) {
        let tables = self.tables;
        let MergeState { heap, pairs, .. } = &mut *self.state;
        heap.symbols.clear();
        heap.symbols.extend(tables.spelling.symbols_of(chunk));
        heap.merge(&mut tables.pair_lookup(self.pieces, pairs), &mut ());
        out.extend(heap.symbols.iter().map(|symbol| tables.id_of(*symbol)));
    }
}

impl MergesShort for CharTable {
    fn encode_short(
        context: &mut ChunkContext<'_, Self>,
        chunk: &[u8],
        out: &mut Vec<PieceId>,
    ) -> bool {
        context.state.short.clear();
        let is_short = context.state.short.push_text(chunk, context.tables);
        if is_short {
            let tables = context.tables;
            for symbol in context.merge_short() {
                out.push(tables.id_of(symbol));
            }
        }
        is_short
    }
}

impl ChunkContext<'_, CharTable> {
    /// Merges the units in the buffer for short chunks. Returns the symbols that remain.
    #[inline]
    pub(super) fn merge_short(&mut self) -> impl Iterator<Item = u32> {
        let MergeState { short, pairs, .. } = &mut *self.state;
        short.merge(&mut self.tables.pair_lookup(self.pieces, pairs));
        short.symbols()
    }
}
