//! Unigram: the segmentation with the highest sum of scores.
//!
//! In: a normalized line. Out: the ids of its pieces, unknown characters one by one.
//!
//! A character that is no piece of its own is unknown, with the lowest score of a normal piece less 10. A
//! user-defined symbol of n bytes has the score (n - 1) / 10, above all scores of log probabilities. Among equal
//! sums, and among sums that 32-bit floats cannot tell apart, the reference's order decides (see [`viterbi`]).
//!
//! A line is cut into *chunks*, where no piece reaches across (see [`chunks`]). All that a chunk needs to know of what
//! is before it is the sum of scores, because of the roundings that depend on it. In most chunks one segmentation is
//! so much better than the others that no rounding can matter, whatever the sum, up to a limit (see
//! [`margin`]): then its ids are remembered together with the limit, and where the chunk comes again the sum is
//! compared with it and the scores are added, in the reference's order. A chunk beyond its limit, or too long to
//! be remembered, is searched from the sum on. A model with pieces that end inside of characters has no chunks.
//!
//! Cost: for a chunk that is remembered, some loads for each character and each id; for others one step of the
//! trie for each byte of each piece that begins at a character of the chunk. Memory: 12 bytes for each byte of the
//! longest chunk, and 9 MB of remembered chunks at most.

mod chunks;
mod lattice;
mod nbest;
mod margin;
pub(crate) mod sample;
#[cfg(test)]
mod tests;
mod trie;
mod viterbi;

use std::ops::Range;

use self::chunks::{Chunk, ChunkFinder};
use self::lattice::Lattice;
use self::trie::Trie;
use self::viterbi::Best;
use crate::encode::chunk_cache::{ChunkCache, ChunkKey, KeyedText};
use crate::encode::vocabulary::Vocabulary;
use crate::error::EncodeError;
use crate::piece::{PieceId, PieceKind};
use crate::rng::SplitMix64;
use crate::text::char_length;
use crate::text::num::{low_u16, low_u32};
use crate::trie::BuildError;

/// How much less an unknown character scores than the worst piece.
const UNKNOWN_PENALTY: f32 = 10.0;
/// Sums of scores beyond this are brought back to 0.
const SCORE_LIMIT: f32 = 100_000.0;

/// A unigram model, ready to segment.
#[derive(Debug)]
pub(crate) struct UnigramEncoder {
    /// The pieces that text yields.
    pieces: Trie,
    chunk_finder: ChunkFinder,
    /// The score of each piece; that of unknown characters for the unknown one.
    scores: Vec<f32>,
    /// Which pieces are user-defined symbols; empty if none is.
    is_symbol: Vec<bool>,
    /// The id of each ASCII character by itself.
    ascii: Box<[PieceId; 128]>,
    unknown: PieceId,
    unknown_score: f32,
    /// Whether a piece ends inside of a character, as none does in a model that was trained.
    has_half_chars: bool,
}

/// The caches and buffers of one worker, reused from text to text.
#[derive(Debug, Default)]
pub(crate) struct UnigramCache {
    best: Vec<Best>,
    /// The ids of short chunks. The note is the upper half of the bits of the limit, see [`margin`].
    chunks: ChunkCache,
}

impl UnigramCache {
    /// An empty cache. The chunk cache needs at most `max_bytes`; the buffers need 12 bytes for each byte of the
    /// longest chunk.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> UnigramCache {
        UnigramCache {
            best: Vec::new(),
            chunks: ChunkCache::with_max_bytes(max_bytes),
        }
    }

    /// The memory in use, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.best.capacity() * size_of::<Best>() + self.chunks.size_bytes()
    }
}

impl UnigramEncoder {
    /// # Errors
    /// The pieces do not fit a double array.
    pub(crate) fn new(vocabulary: &Vocabulary<'_>) -> Result<UnigramEncoder, BuildError> {
        let ids = 0..vocabulary.len();
        let is_wanted =
            |id: &usize| vocabulary.is_from_text(*id) && vocabulary.kind(*id) != PieceKind::Unused;
        let key = |id| (vocabulary.text(id), low_u32(id as u64));
        let mut keys: Vec<(&[u8], u32)> = ids.clone().filter(is_wanted).map(key).collect();
        keys.sort_unstable();
        let normal = ids
            .clone()
            .filter(|id| vocabulary.kind(*id) == PieceKind::Normal);
        let lowest = normal
            .map(|id| vocabulary.score(id))
            .fold(f32::MAX, f32::min);
        let unknown_score = lowest - UNKNOWN_PENALTY;
        let score = |id| match vocabulary.kind(id) {
            PieceKind::UserDefined => symbol_score(vocabulary.text(id).len()),
            PieceKind::Unknown => unknown_score,
            _ => vocabulary.score(id),
        };
        let is_symbol: Vec<bool> = ids
            .clone()
            .map(|id| vocabulary.kind(id) == PieceKind::UserDefined)
            .collect();
        let scores: Vec<f32> = ids.map(score).collect();
        let mut unigram = UnigramEncoder {
            ascii: Box::new([PieceId::new(0); 128]),
            chunk_finder: ChunkFinder::new(keys.iter().map(|(text, _)| *text)),
            pieces: Trie::new(&keys, &scores)?,
            scores,
            is_symbol: if is_symbol.contains(&true) {
                is_symbol
            } else {
                Vec::new()
            },
            unknown: vocabulary.unknown(),
            unknown_score,
            has_half_chars: keys
                .iter()
                .any(|(text, _)| std::str::from_utf8(text).is_err()),
        };
        let mut ascii = Box::new([unigram.unknown; 128]);
        for (byte, id) in (0..).zip(ascii.iter_mut()) {
            *id = unigram.char_id(&[byte]);
        }
        unigram.ascii = ascii;
        Ok(unigram)
    }

    /// Whether a piece ends inside a character.
    pub(crate) fn has_half_chars(&self) -> bool {
        self.has_half_chars
    }

    /// How much of `rest` a piece of `length` bytes at its start stands for: whole characters.
    #[inline]
    pub(crate) fn whole_length(&self, length: usize, rest: &[u8]) -> usize {
        if !self.has_half_chars {
            return length;
        }
        let mut whole = 0;
        while whole < length.min(rest.len()) {
            whole += char_length(&rest[whole..]);
        }
        whole
    }

    /// The score of a piece, or of an unknown character.
    #[inline]
    fn score(&self, id: PieceId) -> f32 {
        self.scores
            .get(id.index())
            .copied()
            .unwrap_or(self.unknown_score)
    }

    /// Appends the ids of `text`.
    pub(crate) fn encode(&self, text: &[u8], cache: &mut UnigramCache, out: &mut Vec<PieceId>) {
        if self.has_half_chars {
            self.search(text, 0.0, &mut cache.best, out);
            return;
        }
        let keyed = KeyedText::new(text);
        let (mut at, mut sum) = (0, 0.0);
        while at < text.len() {
            let rest = &text[at..];
            (at, sum) = match self.chunk_finder.first(rest) {
                Chunk::Char(length) => (at + length, self.segment_char(&rest[..length], sum, out)),
                Chunk::Long(length) => (
                    at + length,
                    self.segment_chunk(&keyed, at..at + length, sum, cache, out),
                ),
            };
        }
    }

    /// Appends the id of a chunk that is one character.
    #[inline]
    fn segment_char(&self, char: &[u8], sum: f32, out: &mut Vec<PieceId>) -> f32 {
        let id = match char {
            [byte @ ..0x80] => self.ascii[usize::from(*byte)],
            _ => self.char_id(char),
        };
        out.push(id);
        // Brought back, as any sum.
        (if sum.abs() > SCORE_LIMIT { 0.0 } else { sum }) + self.score(id)
    }

    /// The id of a character by itself.
    fn char_id(&self, char: &[u8]) -> PieceId {
        let found = self
            .pieces
            .prefixes(char)
            .find(|found| found.length == char.len());
        found.map_or(self.unknown, |found| self.pieces.id(found.cell))
    }

    /// Appends the ids of a chunk, before which the scores add up to `sum`; gives their sum behind it.
    #[inline]
    fn segment_chunk(
        &self,
        text: &KeyedText<'_>,
        chunk: Range<usize>,
        sum: f32,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
    ) -> f32 {
        let start = out.len();
        let (key, chunk) = (text.key(chunk.start, chunk.len()), &text.text()[chunk]);
        if let Some(key) = key {
            let limit = cache.chunks.get_with_note(&key, out);
            let limit = limit.unwrap_or_else(|| self.find_chunk(chunk, &key, cache, out));
            if sum.abs() <= f32::from_bits(u32::from(limit) << 16) {
                return out[start..]
                    .iter()
                    .fold(sum, |sum, id| sum + self.score(*id));
            }
            out.truncate(start);
        }
        self.search(chunk, sum, &mut cache.best, out)
    }

    /// Appends the ids of a chunk that is not known and remembers them; gives the upper half of the bits of the limit.
    #[cold]
    fn find_chunk(
        &self,
        chunk: &[u8],
        key: &ChunkKey,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
    ) -> u16 {
        let start = out.len();
        // Without its last bits a limit is lower, by less than 1 %, or still below 0.
        let margin = self.search_with_margin(chunk, out);
        let limit = low_u16(u64::from(margin.to_bits() >> 16));
        cache.chunks.insert_with_note(key, &out[start..], limit);
        limit
    }

    /// The `size` best segmentations of `text` and their scores, best first.
    ///
    /// # Errors
    /// The text has too many candidate pieces.
    pub(crate) fn best(
        &self,
        text: &[u8],
        size: usize,
        cache: &mut UnigramCache,
    ) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
        if size <= 1 || text.is_empty() {
            // The reference gives no score here.
            let mut ids = Vec::new();
            self.encode(text, cache, &mut ids);
            return Ok(vec![(ids, 0.0)]);
        }
        nbest::best(&Lattice::new(self, text)?, size)
    }

    /// Appends the ids of a segmentation of `text`, drawn with weights to the power of `alpha`.
    ///
    /// # Errors
    /// The text has too many candidate pieces.
    pub(crate) fn sample(
        &self,
        text: &[u8],
        alpha: f32,
        rng: &mut SplitMix64,
        out: &mut Vec<PieceId>,
    ) -> Result<(), EncodeError> {
        if !text.is_empty() {
            out.extend(sample::sample(&Lattice::new(self, text)?, alpha, rng));
        }
        Ok(())
    }
}

/// The score of a user-defined symbol of this length.
#[allow(clippy::cast_possible_truncation)] // The reference narrows a double here.
fn symbol_score(length: usize) -> f32 {
    (0.1 * (length as f64 - 1.0)) as f32
}
