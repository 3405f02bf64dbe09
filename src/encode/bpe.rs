//! BPE: adjacent symbols merge, the pair with the best piece first.
//!
//! Each unknown character has one unknown id.
//!
//! # Definition
//! A text begins as a sequence of characters, and of user-defined symbols, which never merge. Two
//! adjacent symbols may merge if their joined text is a piece that can be found in text; the
//! symbols themselves need not be pieces. The pair whose piece has the best score merges first; of
//! equal scores, the leftmost. This is repeated until no pair merges.
//!
//! # Example
//! Pieces with their merge ranks: `he` 0, `▁t` 1, `re` 2, `▁the` 3, `the` 4. The text `▁there`
//! merges as follows:
//!
//! | symbols | candidates | merge |
//! |---|---|---|
//! | `▁ t h e r e` | `▁t` (1), `he` (0), `re` (2) | `he`, rank 0 |
//! | `▁ t he r e` | `▁t` (1), `the` (4), `re` (2) | `▁t`, rank 1 |
//! | `▁t he r e` | `▁the` (3), `re` (2) | `re`, rank 2 |
//! | `▁t he re` | `▁the` (3) | `▁the`, rank 3 |
//! | `▁the re` | none | |
//!
//! # Method
//! The text is split into chunks at bigram boundaries ([`classes`], [`scan`]). The ids of a chunk
//! depend on its text only, so they can be cached. The first row of this table that applies decides
//! how a chunk is encoded:
//!
//! | | condition | strategy | why exact | cost |
//! |---|---|---|---|---|
//! | 0 | the model has unused pieces, or merges are skipped at random (dropout) | [`full_merge`](strategies::full_merge): the whole text by the heap, without chunks | it is the definition, carried out with a priority queue | n log n |
//! | 1 | one character | table: class -> symbol | nothing can merge | 2 loads |
//! | 2 | up to 23 bytes, seen before | [chunk cache](crate::encode::chunk_cache) | equal chunks have equal ids | 1 tag, 1 cache line |
//! | 3 | up to 32 characters | [`short_merge`](strategies::short_merge): all candidates are compared for each merge | it is the definition, carried out in arrays | n²/4 without branches |
//! | 4 | longer, up to 1,024 bytes, encoded by row 6 or 7 before | [`strategies`]`::long_chunks`: a cache of whole texts | the ids of a chunk depend on its text alone | one hash, one comparison |
//! | 5 | longer | [`windowed`](strategies::windowed): windows of 23 bytes, of which the safe part is committed | every adjacent pair of the result is proved valid ([`token_pairs`](strategies::token_pairs)) | linear |
//! | 6 | longer, where these windows do not fit | [`windowed`](strategies::windowed) with windows of 32 characters, and then of four times the longest piece, which are cached by their whole texts | as row 5 | linear |
//! | 7 | longer, and no windows fit together | [`heap_merge`](strategies::heap_merge) | it is the definition, carried out with a priority queue | n log n |
//!
//! Models that were extended by pieces of several words are encoded in two layers: the table
//! describes the first one, and [`superwords`] the second.
//!
//! Row 0 is [`BpeEncoder::encode`] and [`BpeEncoder::sample`]; rows 1 and 2 are in [`scan`], where
//! chunks end; rows 3 to 7 are the branches of `ChunkContext::encode_chunk`.
//!
//! # Modules, in the order of the data flow
//! [`scan`] finds chunks with [`classes`], and encodes them with [`strategies`], which use
//! [`classes`] and [`lookup`]. [`scan`] imports from [`strategies`] and [`classes`]; [`strategies`]
//! from [`classes`] and [`lookup`], and the buffers of the second layer from [`superwords`];
//! [`classes`] from [`lookup`]; and [`lookup`] from none of them.
//!
//! # Cost
//! Linear in the text, except for rows 0 and 7 and for [`superwords`]. Memory of a worker: see
//! [`BpeCache::with_max_bytes`].

#[cfg(feature = "formats")]
mod byte_cuts;
#[cfg(feature = "formats")]
mod byte_merge;
#[cfg(feature = "formats")]
mod byte_pairs;
#[cfg(feature = "formats")]
pub(crate) mod bytes;
mod classes;
mod lookup;
#[cfg(feature = "formats")]
pub(crate) mod merge_list;
#[cfg(feature = "formats")]
mod pair_merger;
mod scan;
mod score_ranks;
mod spelling;
mod strategies;
mod superwords;
#[cfg(feature = "formats")]
mod wide_characters;
#[cfg(feature = "formats")]
mod trace;
#[cfg(test)]
pub(crate) mod tests;

use std::sync::Arc;

use self::classes::ascii::AsciiBigrams;
use self::classes::char_table::CharTable;
use self::classes::class_bigrams::ClassBigramsBuilder;
use self::lookup::symbol_table::SymbolTable;
#[cfg(feature = "formats")]
pub(crate) use self::pair_merger::PairMerger;
use self::scan::{ChunkScanner, ScanTables};
use self::score_ranks::score_ranks;
use self::strategies::chunk_context::{ChunkContext, MergeState, Strategy};
use self::strategies::full_merge::{FullMerge, FullMergeState};
use self::strategies::merge_context::MergeTables;
use self::superwords::{Layers, SuperwordLayer};
#[cfg(feature = "formats")]
pub(crate) use self::trace::MergeTrace;
#[cfg(feature = "formats")]
pub(crate) use self::trace::Tracer;
use crate::base::WHITESPACE_MARK;
use crate::encode::chunk_cache::{ChunkCache, KeyedText};
use crate::encode::encoded_lines::EncodedLines;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceTable};
use crate::trie::prefix::PrefixTrie;

/// A BPE model, ready to encode.
#[derive(Debug)]
pub(crate) struct BpeEncoder {
    tables: ScanTables,
    /// Whether each piece is unused: such a piece merges, but is resegmented afterwards. Empty if
    /// no piece is unused.
    unused: Vec<bool>,
    accepts_raw_text: bool,
    /// Merges the ids of chunks, if the model has superwords.
    superwords: Option<SuperwordLayer>,
}

/// The caches and buffers of one worker, reused from text to text.
#[derive(Debug)]
pub(crate) struct BpeCache {
    /// The ids of chunks.
    chunks: ChunkCache,
    state: MergeState,
    full: FullMergeState,
    /// A chunk of raw text in normalized form.
    normalized: Vec<u8>,
}

impl BpeCache {
    /// The limit of [`BpeCache::default`].
    pub(crate) const DEFAULT_MAX_BYTES: usize = 2 * ChunkCache::DEFAULT_MAX_BYTES;

    /// Empty caches. The chunk caches, which are the largest part, need at most `max_bytes`. Not
    /// included are the pair caches (at most 2 MB), the caches of long chunks and large windows
    /// (at most 1.4 MB), and the buffers for merging, which are proportional to the longest chunk,
    /// or to the text if it is merged as a whole.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            chunks: ChunkCache::with_max_bytes(max_bytes / 2),
            state: MergeState::with_max_bytes(max_bytes / 2),
            full: FullMergeState::default(),
            normalized: Vec::new(),
        }
    }

    /// The memory that all caches need now, in bytes, pair caches included.
    pub(crate) fn size_bytes(&self) -> usize {
        self.chunks.size_bytes() + self.state.size_bytes() + self.full.size_bytes()
    }
}

impl Default for BpeCache {
    fn default() -> Self {
        Self::with_max_bytes(Self::DEFAULT_MAX_BYTES)
    }
}

/// The piece of each byte.
pub(crate) type ByteIds = [PieceId; 256];

/// A text that was not normalized.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawText<'t> {
    pub(crate) text: &'t [u8],
    /// Whether a dummy prefix comes before the text. An empty text has none.
    pub(crate) adds_prefix: bool,
    /// The byte pieces for unknown characters, if the model has them.
    pub(crate) byte_ids: Option<&'t ByteIds>,
}

/// A normalized text for BPE-dropout.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DropoutText<'t, F> {
    pub(crate) text: &'t [u8],
    /// Called before each merge. If it returns true, the merge is skipped.
    pub(crate) skips_merge: F,
}

impl BpeEncoder {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>, user_defined: Arc<PrefixTrie>) -> Self {
        let in_one_layer = Self::in_one_layer(vocabulary, vocabulary.mergeable(), &user_defined);
        let in_layers = || {
            let layers = Layers::of(vocabulary)?;
            let first = layers.first.iter().copied();
            let mut encoder = Self::in_one_layer(vocabulary, first, &user_defined);
            let ranks = score_ranks(vocabulary, vocabulary.mergeable());
            let symbols = SymbolTable::new(vocabulary.hashes(), ranks);
            encoder.superwords = SuperwordLayer::new(vocabulary, &layers, &encoder, symbols);
            encoder.superwords.is_some().then_some(encoder)
        };
        let may_have_superwords = in_one_layer.tables.has_marks_inside();
        let layered = may_have_superwords.then(in_layers).flatten();
        layered.unwrap_or(in_one_layer)
    }

    /// An encoder of the pieces `mergeable` alone, in one layer.
    fn in_one_layer(
        vocabulary: &Vocabulary<'_>,
        mergeable: impl Iterator<Item = u32> + Clone,
        user_defined: &Arc<PrefixTrie>,
    ) -> Self {
        let mut bigrams = ClassBigramsBuilder::new();
        let (mut chars, texts) = CharTable::new(vocabulary, mergeable.clone(), &mut bigrams);
        let bigrams = bigrams.build();
        let ranks = score_ranks(vocabulary, mergeable);
        let mut symbols = SymbolTable::new(vocabulary.hashes(), ranks);
        chars.add_symbols(&texts, &mut symbols, vocabulary.table());
        let unused = vocabulary.unused_flags();
        let accepts_raw_text = unused.is_empty() && are_same_when_raw(vocabulary);
        let tables = ScanTables {
            ascii: AsciiBigrams::new(&chars, &bigrams, user_defined),
            bigrams,
            merge: MergeTables::new(symbols, vocabulary.table(), chars, vocabulary.unknown()),
            user_defined: Arc::clone(user_defined),
        };
        Self {
            tables,
            unused,
            accepts_raw_text,
            superwords: None,
        }
    }

    /// The user-defined symbols.
    pub(crate) fn symbols(&self) -> &PrefixTrie {
        &self.tables.user_defined
    }

    /// Appends the ids of `text`, which is normalized; one unknown id for each unknown character.
    pub(crate) fn encode(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        if !self.unused.is_empty() {
            let skips_merge = || false;
            return self.sample(pieces, DropoutText { text, skips_merge }, cache, out);
        }
        let start = out.len();
        self.scanner(pieces, text, None, cache)
            .scan::<false>(false, out);
        self.merge_superwords(cache, out, start);
    }

    /// Appends the ids of `text`, which has no user-defined symbols, merged as one chunk of the
    /// first layer and not cached: for short texts that are encoded once.
    fn encode_whole(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let mut context = ChunkContext {
            tables: &self.tables.merge,
            pieces,
            state: &mut cache.state,
        };
        context.encode_chunk(text, out);
    }

    /// Merges the ids of chunks from `start` on, if the model has superwords.
    #[inline(always)]
    fn merge_superwords(&self, cache: &mut BpeCache, ids: &mut Vec<PieceId>, start: usize) {
        if let Some(superwords) = &self.superwords {
            superwords.merge(&mut cache.state, ids, start);
        }
    }

    /// Whether raw text can be encoded as it is, if normalization only replaces spaces by
    /// whitespace marks and malformed bytes by U+FFFD.
    pub(crate) fn accepts_raw_text(&self) -> bool {
        self.accepts_raw_text
    }

    /// Appends the ids of raw text. Unknown characters become the ids of their bytes, or if the
    /// model has none, one unknown id each.
    pub(crate) fn encode_raw(
        &self,
        pieces: &PieceTable,
        raw: RawText<'_>,
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let has_prefix = raw.adds_prefix && !raw.text.is_empty();
        let start = out.len();
        self.scanner(pieces, raw.text, raw.byte_ids, cache)
            .scan::<true>(has_prefix, out);
        self.merge_superwords(cache, out, start);
    }

    /// Appends the ids of each line of raw text, as [`encode_raw`](Self::encode_raw) would for the
    /// line alone. Returns false, and appends nothing, if the lines have to be encoded one by one.
    pub(crate) fn encode_raw_lines(
        &self,
        pieces: &PieceTable,
        raw: RawText<'_>,
        cache: &mut BpeCache,
        out: &mut EncodedLines,
    ) -> bool {
        let can_scan_lines = self.superwords.is_none() && self.tables.separates_lines();
        if can_scan_lines {
            self.scanner(pieces, raw.text, raw.byte_ids, cache)
                .scan_lines(raw.adds_prefix, out);
        }
        can_scan_lines
    }

    /// Appends the ids of a text, with some merges skipped.
    pub(crate) fn sample(
        &self,
        pieces: &PieceTable,
        dropout: DropoutText<'_, impl FnMut() -> bool>,
        cache: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let layer = self.superwords.as_ref();
        let merge = FullMerge {
            tables: &self.tables.merge,
            symbols: layer.map_or(&self.tables.merge.symbols, |layer| &layer.symbols),
            pieces,
            user_defined: &self.tables.user_defined,
            unused: &self.unused,
        };
        merge.encode(dropout.text, dropout.skips_merge, &mut cache.full, out);
        cache.state.count(Strategy::Full);
    }

    /// Positions, at least `distance` bytes apart, at which `text` can be split so that the parts
    /// have the ids of the whole. Only the first part of a raw text has a dummy prefix.
    pub(crate) fn find_boundaries<const RAW: bool>(
        &self,
        text: &[u8],
        distance: usize,
    ) -> Vec<usize> {
        if !self.has_boundaries() {
            return Vec::new();
        }
        scan::find_boundaries::<RAW>(
            text,
            distance,
            &self.tables.merge.spelling,
            &self.tables.bigrams,
        )
    }

    /// Whether texts can be split at bigram boundaries, no matter where the search for them begins.
    fn has_boundaries(&self) -> bool {
        self.has_one_table() && self.tables.merge.spelling.all_well_formed()
    }

    /// Whether the table of symbols alone decides all merges.
    fn has_one_table(&self) -> bool {
        self.superwords.is_none() && self.unused.is_empty()
    }

    /// The scanner that splits and encodes one text.
    #[inline(always)]
    fn scanner<'s>(
        &'s self,
        pieces: &'s PieceTable,
        text: &'s [u8],
        byte_ids: Option<&'s ByteIds>,
        cache: &'s mut BpeCache,
    ) -> ChunkScanner<'s> {
        ChunkScanner {
            tables: &self.tables,
            context: ChunkContext {
                tables: &self.tables.merge,
                pieces,
                state: &mut cache.state,
            },
            text: KeyedText::new(text),
            cache: &mut cache.chunks,
            normalized: &mut cache.normalized,
            byte_ids,
            line_ends: Vec::new(),
            adds_prefix: false,
        }
    }
}

/// Whether all user-defined symbols are found at the same positions in raw text as in normalized
/// text.
fn are_same_when_raw(vocabulary: &Vocabulary<'_>) -> bool {
    let mut symbols = vocabulary.symbols();
    symbols.all(|(text, _)| {
        std::str::from_utf8(text)
            .is_ok_and(|text| !text.contains([' ', WHITESPACE_MARK, '\u{FFFD}']))
    })
}
