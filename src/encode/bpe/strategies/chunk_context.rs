//! What the strategies need to encode the chunks of one text.
//!
//! [`windowed`](super::windowed) and [`strategies`](super) define their functions on
//! [`ChunkContext`].

use super::heap_merge::HeapMerge;
use super::long_chunks::LongChunkCache;
use super::merge_context::MergeTables;
use super::short_merge::ShortMerge;
use super::token_pairs::TokenPairCache;
#[cfg(feature = "formats")]
use crate::encode::bpe::byte_merge::ByteMerge;
use crate::encode::bpe::lookup::pair_cache::PairCache;
use crate::encode::bpe::lookup::symbol_table::SymbolMerge;
use crate::encode::bpe::spelling::Spelling;
use crate::encode::bpe::superwords::token_run::TokenRunMerge;
use crate::encode::chunk_cache::ChunkCache;
use crate::piece::{PieceId, PieceTable};

/// What the strategies need for the chunks of one text.
pub(in crate::encode::bpe) struct ChunkContext<'c, S> {
    pub(in crate::encode::bpe) tables: &'c MergeTables<S>,
    pub(in crate::encode::bpe) pieces: &'c PieceTable,
    pub(in crate::encode::bpe) state: &'c mut MergeState,
}

/// Merges short chunks of units.
pub(in crate::encode::bpe) trait MergesShort: Spelling + Sized {
    /// Appends the ids of a chunk that is not cached. Returns false, and appends nothing, if it has
    /// more than [`MAX_UNITS`](super::short_merger::MAX_UNITS) units.
    fn encode_short(
        context: &mut ChunkContext<'_, Self>,
        chunk: &[u8],
        out: &mut Vec<PieceId>,
    ) -> bool;
}

impl<S> ChunkContext<'_, S> {
    /// The length of the text of a piece in bytes.
    pub(in crate::encode::bpe) fn piece_length(&self, id: PieceId) -> usize {
        self.pieces.text(id.index()).len()
    }
}

/// The buffers and caches of the strategies, owned by one worker.
#[derive(Debug)]
pub(in crate::encode::bpe) struct MergeState {
    pub(in crate::encode::bpe) short: ShortMerge,
    #[cfg(feature = "formats")]
    pub(in crate::encode::bpe) bytes: ByteMerge,
    pub(in crate::encode::bpe) heap: HeapMerge,
    pub(in crate::encode::bpe) pairs: PairCache,
    pub(in crate::encode::bpe) token_pairs: TokenPairCache,
    /// The ids of windows, which are normalized text.
    pub(in crate::encode::bpe) windows: ChunkCache,
    /// The ids of windows that are too long for `windows`.
    pub(super) large_windows: LongChunkCache,
    /// The ids of chunks for which small windows do not fit together.
    pub(super) long_chunks: LongChunkCache,
    /// The tokens that the second layer merges; see [`superwords`](crate::encode::bpe::superwords).
    pub(in crate::encode::bpe) run: TokenRunMerge,
    /// What each token and the next one become there.
    pub(in crate::encode::bpe) token_merges: Vec<SymbolMerge>,
    #[cfg(test)]
    pub(in crate::encode::bpe) counts: StrategyCounts,
}

impl MergeState {
    /// Empty buffers; the cache of windows needs at most `max_bytes`.
    pub(in crate::encode::bpe) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            short: ShortMerge::default(),
            #[cfg(feature = "formats")]
            bytes: ByteMerge::default(),
            heap: HeapMerge::default(),
            pairs: PairCache::default(),
            token_pairs: TokenPairCache::default(),
            windows: ChunkCache::with_max_bytes(max_bytes),
            large_windows: LongChunkCache::default(),
            long_chunks: LongChunkCache::default(),
            run: TokenRunMerge::default(),
            token_merges: Vec::new(),
            #[cfg(test)]
            counts: StrategyCounts::default(),
        }
    }

    /// The memory of the caches in bytes.
    pub(in crate::encode::bpe) fn size_bytes(&self) -> usize {
        self.windows.size_bytes()
            + self.large_windows.size_bytes()
            + self.long_chunks.size_bytes()
            + self.pairs.size_bytes()
            + self.token_pairs.size_bytes()
    }

    /// Counts the use of a strategy, so that tests can check which one ran. Other builds count
    /// nothing.
    #[inline(always)]
    pub(in crate::encode::bpe) fn count(&mut self, strategy: Strategy) {
        #[cfg(test)]
        {
            self.counts[strategy as usize] += 1;
        }
        let _ = strategy;
    }
}

/// The rows of the strategy table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::encode::bpe) enum Strategy {
    SingleChar,
    Cached,
    Short,
    /// Row 3, with characters instead of bytes; see
    /// [`wide_characters`](crate::encode::bpe::wide_characters).
    #[cfg(feature = "formats")]
    ShortWide,
    Windowed,
    LargeWindowed,
    WidestWindowed,
    Heap,
    Full,
}

/// How often each strategy encoded a chunk.
#[cfg(test)]
pub(in crate::encode::bpe) type StrategyCounts = [usize; Strategy::Full as usize + 1];
