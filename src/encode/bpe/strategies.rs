//! How the ids of one chunk are computed: a strategy for each kind of chunk.
//!
//! | module | job |
//! |---|---|
//! | [`short_merge`] | merges chunks of at most 32 characters in arrays |
//! | [`windowed`] | segments longer chunks window by window, with [`token_pairs`] as the proof that the parts fit |
//! | [`heap_merge`] | merges chunks of any length with a priority queue |
//! | [`long_chunks`] | remembers the results of `heap_merge` |
//! | [`full_merge`] | merges whole texts, for dropout and for models with unused pieces |
//! | [`token_pairs`] | whether two symbols can be adjacent in a result |
//! | [`last_merge`] | which two symbols a symbol is merged from |
//!
//! Input: the normalized text of a chunk. Output: its ids. The table of all strategies, including the two that need no
//! merge, is on the page of the [encoder](super).

pub(super) mod full_merge;
pub(super) mod heap_merge;
pub(super) mod last_merge;
mod long_chunks;
pub(super) mod short_merge;
pub(super) mod token_pairs;
pub(super) mod windowed;

use self::heap_merge::HeapMerge;
use self::last_merge::LastMergeTable;
use self::long_chunks::LongChunkCache;
use self::short_merge::ShortMerge;
use self::token_pairs::TokenPairCache;
use super::classes::char_table::CharTable;
use super::lookup::pair_cache::{PairCache, PairLookup};
use super::lookup::symbol_table::SymbolTable;
use crate::encode::chunk_cache::ChunkCache;
use crate::piece::{PieceId, PieceTable};

/// What all strategies know about a model.
#[derive(Debug)]
pub(super) struct MergeTables {
    pub(super) symbols: SymbolTable,
    pub(super) chars: CharTable,
    pub(super) last_merges: LastMergeTable,
    /// The number of pieces; lower symbols are pieces.
    pub(super) piece_count: usize,
    pub(super) unknown: PieceId,
}

impl MergeTables {
    /// The id of a symbol in the output.
    #[inline]
    pub(super) fn id_of(&self, symbol: u32) -> PieceId {
        if (symbol as usize) < self.piece_count {
            PieceId::new(symbol)
        } else {
            self.unknown
        }
    }
}

/// The buffers and caches of the strategies, owned by one worker.
#[derive(Debug)]
pub(super) struct MergeState {
    pub(super) short: ShortMerge,
    pub(super) heap: HeapMerge,
    pub(super) pairs: PairCache,
    pub(super) token_pairs: TokenPairCache,
    /// The ids of windows, which are normalized text.
    pub(super) windows: ChunkCache,
    /// The ids of chunks that were merged by the heap.
    long_chunks: LongChunkCache,
    #[cfg(test)]
    pub(super) counts: StrategyCounts,
}

impl MergeState {
    /// Empty buffers; the cache of windows needs at most `max_bytes`.
    pub(super) fn with_max_bytes(max_bytes: usize) -> MergeState {
        MergeState {
            short: ShortMerge::default(),
            heap: HeapMerge::default(),
            pairs: PairCache::default(),
            token_pairs: TokenPairCache::default(),
            windows: ChunkCache::with_max_bytes(max_bytes),
            long_chunks: LongChunkCache::default(),
            #[cfg(test)]
            counts: StrategyCounts::default(),
        }
    }

    /// The memory of the caches in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.windows.size_bytes()
            + self.long_chunks.size_bytes()
            + self.pairs.size_bytes()
            + self.token_pairs.size_bytes()
    }

    /// Counts the use of a strategy. Tests prove with it which strategy ran; other builds count nothing.
    #[inline(always)]
    pub(super) fn count(&mut self, strategy: Strategy) {
        #[cfg(test)]
        {
            self.counts[strategy as usize] += 1;
        }
        let _ = strategy;
    }
}

/// The rows of the strategy table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    SingleChar,
    Cached,
    Short,
    Windowed,
    Heap,
    Full,
}

/// How often each strategy encoded a chunk.
#[cfg(test)]
pub(super) type StrategyCounts = [usize; Strategy::Full as usize + 1];

/// What the strategies need for the chunks of one text.
pub(super) struct ChunkContext<'c> {
    pub(super) tables: &'c MergeTables,
    pub(super) pieces: &'c PieceTable,
    pub(super) state: &'c mut MergeState,
}

impl ChunkContext<'_> {
    /// Appends the ids of a chunk that is not cached: rows 3 to 6 of the strategy table.
    pub(super) fn encode_chunk(&mut self, chunk: &[u8], out: &mut Vec<PieceId>) {
        if self.encode_short(chunk, out) {
            self.state.count(Strategy::Short);
        } else if self.state.long_chunks.get(chunk, out) {
            self.state.count(Strategy::Cached);
        } else if self.encode_windowed(chunk, out) {
            self.state.count(Strategy::Windowed);
        } else {
            let start = out.len();
            self.encode_by_heap(chunk, out);
            self.state.long_chunks.insert(chunk, &out[start..]);
            self.state.count(Strategy::Heap);
        }
    }

    /// Appends the ids of a chunk of at most [`short_merge::MAX_CHARS`] characters. Returns false, and appends nothing,
    /// for a longer chunk.
    pub(super) fn encode_short(&mut self, chunk: &[u8], out: &mut Vec<PieceId>) -> bool {
        let tables = self.tables;
        let short = &mut self.state.short;
        short.clear();
        if !short.push_text::<false>(chunk, &tables.chars, &tables.symbols) {
            return false;
        }
        let mut pairs = PairLookup {
            symbols: &tables.symbols,
            pieces: self.pieces,
            cache: &mut self.state.pairs,
        };
        short.merge(&mut pairs);
        out.extend(short.symbols().map(|symbol| tables.id_of(symbol)));
        true
    }

    /// Appends the ids of a chunk of any length.
    fn encode_by_heap(&mut self, chunk: &[u8], out: &mut Vec<PieceId>) {
        let tables = self.tables;
        let heap = &mut self.state.heap;
        heap.symbols.clear();
        heap.symbols.extend(tables.chars.symbols_of(chunk));
        let mut pairs = PairLookup {
            symbols: &tables.symbols,
            pieces: self.pieces,
            cache: &mut self.state.pairs,
        };
        heap.merge(&mut pairs, &mut ());
        out.extend(heap.symbols.iter().map(|symbol| tables.id_of(*symbol)));
    }
}

/// The tables of a model and the pairs that were looked up: what the questions about single symbols need.
pub(super) struct MergeContext<'c> {
    pub(super) tables: &'c MergeTables,
    pub(super) pairs: PairLookup<'c>,
}
