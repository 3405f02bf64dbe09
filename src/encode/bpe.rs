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
//!   them ([`table::Neighbours`]) and each chunk is merged alone.
//! - A chunk has the same ids wherever it stands, so short chunks are remembered ([`cache::ChunkCache`]).
//! - Merging compares numbers, not texts ([`table::PairTable`]): each text that can be a part of a merge has
//!   a number, which is the id if it is a piece.
//!
//! Cost: linear in the line where chunks are remembered or short; a chunk of n characters costs n log n.
//!
//! Unused pieces merge and are taken apart again afterwards, into the two parts that were joined last in
//! that line when the pair was considered. Since this looks at the whole line, models that have such pieces
//! take the slow path of [`whole`]. Dropout takes it too.

mod cache;
mod merge;
mod table;
#[cfg(test)]
mod tests;
mod whole;

use std::ops::Range;
use std::sync::Arc;

use self::cache::{CacheKey, ChunkCache};
use self::merge::{MergeScratch, SHORT};
use self::table::{NO_SYMBOL, Tables};
use crate::encode::vocabulary::Vocabulary;
use crate::normalize::PrefixMatcher;
use crate::piece::{PieceId, PieceKind};
use crate::prefix::PrefixSet;

/// Chunks that are looked up in a row.
const CHUNKS_AT_ONCE: usize = 64;

/// A BPE model, ready to segment.
#[derive(Debug)]
pub(crate) struct Bpe {
    tables: Tables,
    symbols: Arc<PrefixSet>,
    unknown: PieceId,
    /// For each piece whether it is merged, but then taken apart; empty if there is no such piece.
    unused: Vec<bool>,
}

/// Buffers that one thread reuses from line to line, and the chunks that it remembers.
#[derive(Debug, Default)]
pub(crate) struct BpeScratch {
    merge: MergeScratch,
    cache: ChunkCache,
    /// Chunks of the line that were found but not looked up yet.
    chunks: Vec<(Range<usize>, Option<CacheKey>)>,
    whole: whole::WholeScratch,
}

impl Bpe {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>, symbols: Arc<PrefixSet>) -> Bpe {
        let is_unused = |id: usize| vocabulary.is_from_text(id) && vocabulary.kind(id) == PieceKind::Unused;
        let any_unused = (0..vocabulary.len()).any(is_unused);
        Bpe {
            tables: Tables::new(vocabulary),
            symbols,
            unknown: vocabulary.unknown(),
            unused: if any_unused { (0..vocabulary.len()).map(is_unused).collect() } else { Vec::new() },
        }
    }

    /// Appends the ids of `text`.
    pub(crate) fn segment(&self, text: &[u8], scratch: &mut BpeScratch, out: &mut Vec<PieceId>) {
        if !self.unused.is_empty() {
            return self.segment_whole(text, &mut scratch.whole, || false, out);
        }
        let (mut chunk_start, mut at, mut before) = (0, 0, 0);
        let has_symbols = !self.symbols.is_empty();
        while let Some(&byte) = text.get(at) {
            if has_symbols
                && self.symbols.may_begin_with(byte)
                && let Some((length, id)) = self.symbols.longest_with_value(&text[at..])
            {
                self.add_chunk(text, chunk_start..at, scratch, out);
                self.segment_chunks(text, scratch, out);
                out.push(PieceId::from_index(id));
                at += length;
                (chunk_start, before) = (at, 0);
                continue;
            }
            let (class, width) = self.tables.chars.class_at(&text[at..]);
            let may_touch = match byte {
                ..0x80 => self.tables.neighbours.may_touch_ascii(before, byte),
                _ => self.tables.neighbours.may_touch(before, class),
            };
            if !may_touch {
                self.add_chunk(text, chunk_start..at, scratch, out);
                chunk_start = at;
            }
            before = class;
            at += width;
        }
        self.add_chunk(text, chunk_start..at, scratch, out);
        self.segment_chunks(text, scratch, out);
    }

    /// Puts a chunk of `text` in the queue; a full queue is worked off.
    #[inline]
    fn add_chunk(&self, text: &[u8], chunk: Range<usize>, scratch: &mut BpeScratch, out: &mut Vec<PieceId>) {
        if chunk.is_empty() {
            return;
        }
        if scratch.chunks.len() == CHUNKS_AT_ONCE {
            self.segment_chunks(text, scratch, out);
        }
        let key = CacheKey::of(&text[chunk.clone()]);
        scratch.chunks.push((chunk, key));
    }

    /// Appends the ids of the chunks in the queue. Looking several up in a row, with nothing in between
    /// that could go wrong, lets the processor wait for their memory at the same time.
    fn segment_chunks(&self, text: &[u8], scratch: &mut BpeScratch, out: &mut Vec<PieceId>) {
        let BpeScratch { merge, cache, chunks, .. } = scratch;
        for (chunk, key) in chunks.drain(..) {
            if let Some(key) = &key
                && cache.get(key, out)
            {
                continue;
            }
            let start = out.len();
            self.merge_chunk(&text[chunk], merge, out);
            if let Some(key) = &key {
                cache.insert(key, &out[start..]);
            }
        }
    }

    /// The places at which `text` can be cut so that its parts have the ids of the whole, at least `apart`
    /// bytes from each other.
    pub(crate) fn cuts(&self, text: &[u8], apart: usize) -> Vec<usize> {
        let mut cuts = Vec::new();
        if !self.unused.is_empty() || !self.tables.chars.all_well_formed() {
            return cuts;
        }
        let (mut at, mut before, mut last) = (0, 0, 0);
        while at < text.len() {
            let (class, width) = self.tables.chars.class_at(&text[at..]);
            if at - last >= apart && !self.tables.neighbours.may_touch(before, class) {
                cuts.push(at);
                last = at;
            }
            before = class;
            at += width;
        }
        cuts
    }

    /// Appends the ids of a chunk that merges with nothing around it.
    fn merge_chunk(&self, chunk: &[u8], scratch: &mut MergeScratch, out: &mut Vec<PieceId>) {
        scratch.symbols.clear();
        let mut at = 0;
        while at < chunk.len() {
            let (class, width) = self.tables.chars.class_at(&chunk[at..]);
            scratch.symbols.push(self.tables.chars.symbol(class));
            at += width;
        }
        if scratch.symbols.len() <= SHORT {
            merge::merge_short(&self.tables.pairs, scratch);
        } else {
            merge::merge_long(&self.tables.pairs, scratch, || false, |_, _, _| ());
        }
        out.extend(scratch.symbols.iter().map(|symbol| self.id_of(*symbol)));
    }

    /// The id that a symbol has in the output.
    fn id_of(&self, symbol: u32) -> PieceId {
        if symbol != NO_SYMBOL && (symbol as usize) < self.tables.pieces { PieceId::new(symbol) } else { self.unknown }
    }
}
