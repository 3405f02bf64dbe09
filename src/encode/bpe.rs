//! BPE: pairs of neighbouring symbols merge, best piece first.
//!
//! In: a normalized line. Out: the ids of its pieces, unknown characters one by one.
//!
//! The line begins as characters, and user-defined symbols, which stay as they are. Two neighbours may
//! merge if their joined text is a piece that text can yield; among all such pairs the one whose piece has
//! the highest score merges, the leftmost of equals, until none is left. The parts need not be pieces
//! themselves. Scores compare as the reference's do, which is the total order of IEEE 754: a positive NaN
//! is above everything, and -0 is below 0.
//!
//! What makes it fast, and why that changes nothing:
//!
//! - Two characters that are neighbours in no piece never end up in one piece, so the line is cut between
//!   them ([`Neighbours`]) and each chunk is merged alone.
//! - A chunk has the same ids wherever it stands, so short chunks are remembered ([`ChunkCache`]).
//! - Merging compares numbers, not texts ([`Symbols`]), and remembers what pairs become ([`PairCache`]). Chunks of
//!   a few characters merge in arrays ([`ShortChunk`]).
//! - Text without normalization rules is not normalized, but read as it is ([`scan`]).
//! - A long chunk is not merged, but taken a window at a time ([`windows`]) or read from left to right
//!   ([`walk`]), in linear time.
//!
//! Cost: linear in the line, but for long chunks with pieces of more than 32 characters: n characters then cost
//! n log n.
//!
//! Unused pieces merge and are taken apart again afterwards, into the two parts that were joined last in
//! that line when the pair was considered. Since this looks at the whole line, models that have such pieces
//! take the slow path of [`whole`]. Dropout takes it too.

mod ascii;
mod ascii_pairs;
mod chars;
mod merge;
mod neighbours;
mod origins;
mod pairs;
mod peace;
mod scan;
mod short;
mod symbols;
#[cfg(test)]
mod tests;
mod walk;
mod whole;
mod windows;

use std::sync::Arc;

use self::ascii::AsciiNeighbours;
use self::chars::CharTable;
use self::merge::MergeScratch;
use self::neighbours::Neighbours;
use self::origins::Origins;
use self::pairs::{PairCache, Pairs};
use self::peace::PeaceCache;
use self::short::{SHORT, ShortChunk};
use self::symbols::Symbols;
use self::walk::Walk;
use crate::encode::chunk_cache::ChunkCache;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceKind, PieceTable};
use crate::text::WHITESPACE_MARK_STR;
use crate::trie::prefix::PrefixTrie;

/// Chunks with more bytes are segmented a window at a time.
const LONG: usize = 64;

/// A BPE model, ready to segment.
#[derive(Debug)]
pub(crate) struct Bpe {
    symbols: Symbols,
    chars: CharTable,
    neighbours: Neighbours,
    ascii: AsciiNeighbours,
    origins: Origins,
    user_defined: Arc<PrefixTrie>,
    /// The number of pieces; symbols below it are pieces.
    pieces: usize,
    unknown: PieceId,
    /// For each piece whether it is merged, but then taken apart; empty if there is no such piece.
    unused: Vec<bool>,
    takes_raw_text: bool,
}

/// The caches and buffers of one worker, reused from text to text.
#[derive(Debug)]
pub(crate) struct BpeCache {
    merge: MergeScratch,
    short: ShortChunk,
    pairs: PairCache,
    peace: PeaceCache,
    walk: Walk,
    /// Ids of chunks.
    cache: ChunkCache,
    /// Ids of parts of long chunks, which are never raw.
    windows: ChunkCache,
    /// A chunk of raw text, normalized.
    normalized: Vec<u8>,
    whole: whole::WholeScratch,
}

impl BpeCache {
    /// Empty caches. The chunk caches need at most `max_bytes`; the pair caches, which are not included, need at most
    /// 1.5 MB more.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> BpeCache {
        BpeCache {
            merge: MergeScratch::default(),
            short: ShortChunk::default(),
            pairs: PairCache::default(),
            peace: PeaceCache::default(),
            walk: Walk::default(),
            cache: ChunkCache::with_max_bytes(max_bytes / 2),
            windows: ChunkCache::with_max_bytes(max_bytes / 2),
            normalized: Vec::new(),
            whole: whole::WholeScratch::default(),
        }
    }

    /// The memory that the chunk caches need now, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.cache.size_bytes() + self.windows.size_bytes()
    }
}

impl Default for BpeCache {
    fn default() -> BpeCache {
        BpeCache::with_max_bytes(2 * ChunkCache::DEFAULT_MAX_BYTES)
    }
}

impl Bpe {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>, user_defined: Arc<PrefixTrie>) -> Bpe {
        let is_unused =
            |id: usize| vocabulary.kind(id) == PieceKind::Unused && vocabulary.is_from_text(id);
        let any_unused = (0..vocabulary.len()).any(is_unused);
        let mut mergeable = Vec::with_capacity(vocabulary.len());
        mergeable
            .extend((0..vocabulary.len_u32()).filter(|id| vocabulary.is_from_text(*id as usize)));
        let read_chars = || {
            let mut neighbours = neighbours::Draft::new();
            let (chars, texts) = CharTable::new(vocabulary, &mergeable, &mut neighbours);
            (neighbours.finish(), chars, texts)
        };
        let (mut symbols, (neighbours, mut chars, texts)) =
            rayon::join(|| Symbols::new(vocabulary, &mergeable), read_chars);
        chars.find_symbols(&texts, &mut symbols, vocabulary.table());
        Bpe {
            ascii: AsciiNeighbours::new(&chars, &neighbours, &user_defined),
            neighbours,
            origins: Origins::new(vocabulary.len()),
            symbols,
            chars,
            user_defined,
            pieces: vocabulary.len(),
            unknown: vocabulary.unknown(),
            unused: if any_unused {
                (0..vocabulary.len()).map(is_unused).collect()
            } else {
                Vec::new()
            },
            takes_raw_text: !any_unused
                && vocabulary.symbols().all(|(text, _)| is_same_when_raw(text)),
        }
    }

    /// The symbols of the characters of `text`.
    fn symbols_of<'t>(&'t self, text: &'t [u8]) -> impl Iterator<Item = u32> + 't {
        let mut rest = text;
        std::iter::from_fn(move || {
            let (class, width) = (!rest.is_empty()).then(|| self.chars.class_at(rest))?;
            rest = &rest[width..];
            Some(self.chars.symbol(class))
        })
    }

    /// Makes `chunk` one of the characters of some texts in a row.
    fn short_chunk<'t>(&self, chunk: &mut ShortChunk, texts: impl IntoIterator<Item = &'t [u8]>) {
        chunk.clear();
        texts
            .into_iter()
            .for_each(|text| chunk.extend::<false>(text, &self.chars, &self.symbols));
    }

    /// Appends the ids of a chunk that merges with nothing around it.
    fn segment_chunk(
        &self,
        pieces: &PieceTable,
        chunk: &[u8],
        scratch: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        if chunk.len() > LONG && self.segment_windows(pieces, chunk, scratch, out) {
            return;
        }
        let BpeCache {
            merge,
            short,
            pairs,
            peace,
            walk,
            ..
        } = scratch;
        let mut pairs = Pairs {
            symbols: &self.symbols,
            pieces,
            cache: pairs,
        };
        if chunk.len() <= SHORT {
            self.short_chunk(short, [chunk]);
            short.merge(&mut pairs);
            out.extend(short.left().map(|symbol| self.id_of(symbol)));
            return;
        }
        if self.walk(chunk, walk, peace, &mut pairs) {
            out.extend(walk.found().map(|symbol| self.id_of(symbol)));
            return;
        }
        merge.symbols.clear();
        merge.symbols.extend(self.symbols_of(chunk));
        merge::merge_long(&mut pairs, merge, || false, |_, _, _| ());
        out.extend(merge.symbols.iter().map(|symbol| self.id_of(*symbol)));
    }

    /// The id that a symbol has in the output.
    fn id_of(&self, symbol: u32) -> PieceId {
        if (symbol as usize) < self.pieces {
            PieceId::new(symbol)
        } else {
            self.unknown
        }
    }
}

/// Whether a user-defined symbol with this text is found at the same places in raw text as in normalized text.
fn is_same_when_raw(text: &[u8]) -> bool {
    let changed = [" ", WHITESPACE_MARK_STR, "\u{FFFD}"];
    std::str::from_utf8(text)
        .is_ok_and(|text| changed.iter().all(|changed| !text.contains(changed)))
}
