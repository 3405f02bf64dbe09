//! Unigram models: the segmentation with the highest sum of scores.
//!
//! Source: Kudo, "Subword regularization", ACL 2018, <https://doi.org/10.18653/v1/P18-1007>. A
//! character that no piece covers alone is a candidate with the unknown id; see [`tables`] for its
//! score and for user-defined symbols.
//!
//! How a line is encoded:
//!
//! 1. The line is cut into *chunks* at positions that no piece spans (see [`chunks`]). What
//!    precedes a chunk affects its ids only through the sum of the scores, on which rounding
//!    depends.
//! 2. A chunk of one character has one path. Its id is looked up.
//! 3. Any other chunk of at most 23 bytes is searched once, with the [margin] by which the best
//!    path beats all others. The margin gives a *limit*: for all sums up to it, the reference finds
//!    the same path. Ids and limit are cached. While the sum is within the limit, the cached ids
//!    are used, and their scores are added in the reference's order.
//! 4. A chunk whose limit is exceeded, or that is too long for the cache, is searched in full from
//!    the sum on (see [`viterbi`]).
//!
//! A model with pieces that end inside characters has no chunks: the whole line is searched. N-best
//! search ([`nbest`]), sampling ([`sample`], [`scored_sample`]) and [`entropy`] need all
//! segmentations: they use a [`lattice`] of the whole line.
//!
//! Example: with the pieces `▁le`, `▁les`, `s` and `▁de`, the line `▁les▁de▁les` has the chunks
//! `▁les`, `▁de` and `▁les`, because no piece contains `s▁` or `e▁`. The first two are searched and
//! cached. The third is a hit. If the sum after two chunks is within its limit, its ids are copied.
//!
//! A cached chunk costs a few loads for each character and for each id; others cost one step of the
//! trie for each byte of each piece that starts at a character of the chunk.

#[cfg(feature = "formats")]
mod certainty;
mod chunks;
mod entropy;
mod lattice;
mod margin;
pub(crate) mod nbest;
pub(crate) mod sample;
pub(crate) mod scored_sample;
mod tables;
#[cfg(test)]
mod tests;
mod trie;
mod viterbi;
pub(crate) mod words;

use std::ops::Range;

use self::chunks::{Chunk, ChunkFinder};
use self::lattice::Lattice;
use self::nbest::NbestRequest;
use self::sample::PathWeights;
use self::scored_sample::ScoredRequest;
#[cfg(feature = "formats")]
pub(crate) use self::tables::symbol_score;
use self::tables::{LastPiece, UnigramTables};
use self::viterbi::{BestPath, MAX_SUM};
use crate::base::char_length;
use crate::base::num::low_u16;
use crate::base::rng::SplitMix64;
use crate::base::utf8::is_continuation;
use crate::encode::EncodeError;
use crate::encode::chunk_cache::{ChunkCache, ChunkKey, KeyedText};
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceTable};
use crate::trie::prefix::KeyScopes;
use crate::trie::{TrieTooLarge, sort_keys};

/// An encoder for a unigram model. It is immutable and shared by all workers.
#[derive(Debug)]
pub(crate) struct UnigramEncoder {
    tables: UnigramTables,
    chunk_finder: ChunkFinder,
    /// The id of each ASCII character as a chunk of its own.
    ascii: Box<[PieceId; 128]>,
    /// Whether a piece ends inside a character. Trained models have no such pieces.
    has_half_chars: bool,
}

/// The cache and the buffer of one worker, reused from text to text.
#[derive(Debug, Default)]
pub(crate) struct UnigramCache {
    /// The buffer of the full search.
    best: Vec<BestPath>,
    /// The ids of chunks. The note of a chunk is the upper half of the bits of its limit, see
    /// [`margin`].
    chunks: ChunkCache,
    /// The same of chunks of raw text, and of whole words of raw text; see [`words`].
    words: ChunkCache,
    other_words: ChunkCache,
    /// A word of raw text in normalized form.
    normalized: Vec<u8>,
    /// How often each path of the code was used.
    #[cfg(test)]
    counts: tests::PathCounts,
}

impl UnigramCache {
    /// An empty cache. The caches of chunks and words need at most `max_bytes`; the buffer needs 12
    /// bytes for each byte of the longest chunk.
    pub(crate) fn with_max_bytes(max_bytes: usize) -> Self {
        Self {
            chunks: ChunkCache::with_max_bytes(max_bytes / 3),
            words: ChunkCache::with_max_bytes(max_bytes / 3),
            other_words: ChunkCache::with_max_bytes(max_bytes / 3),
            ..Self::default()
        }
    }

    /// The memory in use, in bytes.
    pub(crate) fn size_bytes(&self) -> usize {
        self.best.capacity() * size_of::<BestPath>()
            + self.chunks.size_bytes()
            + self.words.size_bytes()
            + self.other_words.size_bytes()
            + self.normalized.capacity()
    }
}

/// A chunk in its line.
struct LocatedChunk<'t> {
    line: &'t KeyedText<'t>,
    /// The bytes of the chunk in the line.
    span: Range<usize>,
    /// The sum of the scores before the chunk.
    sum: f32,
}

/// What follows from the ids of a chunk.
struct SegmentedChunk {
    /// The sum of the scores after the chunk.
    sum: f32,
    /// The greatest magnitude of the sum before the chunk for which the ids are known to be correct.
    limit: f32,
}

impl UnigramEncoder {
    /// An encoder for the pieces of `vocabulary`.
    pub(crate) fn new(vocabulary: &Vocabulary<'_>) -> Result<Self, TrieTooLarge> {
        let keys = text_pieces(vocabulary);
        let tables = UnigramTables::new(vocabulary, &keys)?;
        let mut texts = keys.iter().map(|(text, _)| *text);
        Ok(Self {
            ascii: tables.ascii_ids(),
            tables,
            chunk_finder: ChunkFinder::new(texts.clone()),
            has_half_chars: !are_all_well_formed(vocabulary.table())
                && texts.any(|text| std::str::from_utf8(text).is_err()),
        })
    }

    /// Whether a piece ends inside of a character.
    pub(crate) fn has_half_chars(&self) -> bool {
        self.has_half_chars
    }

    /// The length of the part of `rest` that a piece of `length` bytes at its start covers: whole
    /// characters.
    #[inline]
    pub(crate) fn whole_length(&self, length: usize, rest: &[u8]) -> usize {
        if self.has_half_chars {
            rounded_up(length, rest)
        } else {
            length
        }
    }

    /// Appends the ids of `text`.
    pub(crate) fn encode(&self, text: &[u8], cache: &mut UnigramCache, out: &mut Vec<PieceId>) {
        self.encode_from(text, 0.0, cache, out);
    }

    /// The ends of the chunks of `text`, but the last; none if the whole text is one search.
    pub(crate) fn boundaries(&self, text: &[u8]) -> Vec<usize> {
        let mut ends = Vec::new();
        let mut at = 0;
        while !self.has_half_chars && at < text.len() {
            let (Chunk::Char(length) | Chunk::Several(length)) =
                self.chunk_finder.first(&text[at..]);
            at += length;
            ends.push(at);
        }
        ends.pop();
        ends
    }

    /// Appends the ids of `text` after text whose scores add up to `sum`, from which a
    /// [boundary](Self::boundaries) divides it. Returns the sum after it.
    pub(crate) fn encode_from(
        &self,
        text: &[u8],
        sum: f32,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
    ) -> f32 {
        if self.has_half_chars {
            return viterbi::search(&self.tables, text, sum, &mut cache.best, out);
        }
        self.encode_chunks(text, sum, cache, out, |_, _| ())
    }

    /// As [`encode_from`](Self::encode_from), for pieces of whole characters. Passes the limit of each
    /// chunk (see [`margin`]) and its ids.
    #[inline(always)]
    fn encode_chunks(
        &self,
        text: &[u8],
        mut sum: f32,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
        mut on_chunk: impl FnMut(f32, &[PieceId]),
    ) -> f32 {
        let line = &KeyedText::new(text);
        let mut at = 0;
        while at < text.len() {
            let rest = &text[at..];
            let first = out.len();
            match self.chunk_finder.first(rest) {
                Chunk::Char(length) => {
                    sum = self.segment_char(&rest[..length], sum, out);
                    on_chunk(MAX_SUM, &out[first..]);
                    at += length;
                }
                Chunk::Several(length) => {
                    let span = at..at + length;
                    let chunk = LocatedChunk { line, span, sum };
                    let segmented = self.segment_chunk(chunk, cache, out);
                    sum = segmented.sum;
                    on_chunk(segmented.limit, &out[first..]);
                    at += length;
                }
            }
        }
        sum
    }

    /// Appends the ids of `text`, in which user-defined symbols are found only in the scopes.
    pub(crate) fn encode_with_symbols_in(
        &self,
        text: &[u8],
        scopes: &KeyScopes,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
    ) {
        let tables = &self.tables;
        let is_found = |start: usize, last: LastPiece| {
            let end = start + last.length as usize;
            !tables.is_symbol(tables.id(last)) || scopes.contain(&(start..end))
        };
        viterbi::search_if(is_found, (tables, text), 0.0, &mut cache.best, out);
    }

    /// Appends the id of a chunk of one character. Returns the sum after the chunk.
    #[inline]
    fn segment_char(&self, char: &[u8], sum: f32, out: &mut Vec<PieceId>) -> f32 {
        let id = self.char_id(char);
        out.push(id);
        // Rebased as in the search; here it is the only open sum.
        let rebased = if sum.abs() > MAX_SUM { 0.0 } else { sum };
        rebased + self.tables.score(id)
    }

    /// The id of a single character; the unknown id if the character is no piece.
    #[inline]
    fn char_id(&self, char: &[u8]) -> PieceId {
        match char {
            [byte @ ..0x80] => self.ascii[usize::from(*byte)],
            _ => self.tables.char_id(char),
        }
    }

    /// Appends the ids of a chunk.
    #[inline]
    fn segment_chunk(
        &self,
        chunk: LocatedChunk<'_>,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
    ) -> SegmentedChunk {
        let LocatedChunk { line, span, sum } = chunk;
        let start = out.len();
        let key = line.key(span.start, span.len());
        let text = &line.text()[span];
        if let Some(key) = key {
            let cached = cache.chunks.get_with_note(&key, out);
            let note = cached.unwrap_or_else(|| self.find_chunk(text, &key, cache, out));
            let limit = limit_of(note);
            if sum.abs() <= limit {
                #[cfg(test)]
                cache.counts.count_within_limit(cached.is_some());
                let sum = self.sum_after(sum, &out[start..]);
                return SegmentedChunk { sum, limit };
            }
            out.truncate(start);
            #[cfg(test)]
            cache.counts.count_limit_exceeded();
        }
        #[cfg(test)]
        cache.counts.count_full_search();
        SegmentedChunk {
            sum: viterbi::search(&self.tables, text, sum, &mut cache.best, out),
            limit: margin::NO_SUM,
        }
    }

    /// The sum after pieces that begin at `sum`.
    #[inline]
    fn sum_after(&self, sum: f32, ids: &[PieceId]) -> f32 {
        let scores = ids.iter().map(|id| self.tables.score(*id));
        scores.fold(sum, |sum, score| sum + score)
    }

    /// Appends the ids of a chunk that is not cached, and caches them. Returns the note of the
    /// chunk.
    #[cold]
    fn find_chunk(
        &self,
        chunk: &[u8],
        key: &ChunkKey,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
    ) -> u16 {
        let start = out.len();
        let limit = margin::search_with_margin(&self.tables, chunk, out);
        let note = note_of(limit);
        cache.chunks.insert_with_note(key, &out[start..], note);
        note
    }

    /// The requested best segmentations of `text` and their scores, best first. If the requested
    /// size is 1 or 0, or if the text is empty, the score is 0, as in the reference.
    pub(crate) fn best(
        &self,
        text: &[u8],
        request: NbestRequest,
        cache: &mut UnigramCache,
    ) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
        if request.size <= 1 || text.is_empty() {
            let mut ids = Vec::new();
            self.encode(text, cache, &mut ids);
            return Ok(vec![(ids, 0.0)]);
        }
        nbest::best(&self.lattice(text)?, request)
    }

    /// Appends the ids of a random segmentation of `text`. Its probability is proportional to
    /// exp(alpha · score).
    pub(crate) fn sample(
        &self,
        text: &[u8],
        alpha: f32,
        rng: &mut SplitMix64,
        out: &mut Vec<PieceId>,
    ) -> Result<(), EncodeError> {
        if !text.is_empty() {
            out.extend(PathWeights::new(&self.lattice(text)?, alpha).draw_ids(rng));
        }
        Ok(())
    }

    /// The entropy of all segmentations of `text`, in nats, if their probabilities are proportional
    /// to exp(alpha · score).
    ///
    /// # Errors
    /// The text has too many candidate pieces, or alpha is too large for it.
    pub(crate) fn entropy(&self, text: &[u8], alpha: f32) -> Result<f32, EncodeError> {
        entropy::entropy(&self.lattice(text)?, alpha)
    }

    /// Random segmentations of `text` with their scores; none of an empty text, as in the
    /// reference.
    ///
    /// # Errors
    /// The text has too many candidate pieces, too many samples were requested, or alpha is too
    /// large for the text.
    pub(crate) fn sample_with_scores(
        &self,
        text: &[u8],
        request: ScoredRequest,
        rng: &mut SplitMix64,
    ) -> Result<Vec<(Vec<PieceId>, f32)>, EncodeError> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        scored_sample::draw(&self.lattice(text)?, request, rng)
    }

    /// The lattice of `text`.
    fn lattice(&self, text: &[u8]) -> Result<Lattice, EncodeError> {
        Lattice::new(&self.tables, text)
    }
}

/// The note of a limit: the upper half of its bits. Without the lower half a positive limit is less
/// than 1 % lower, and a negative one remains negative.
fn note_of(limit: f32) -> u16 {
    low_u16(u64::from(limit.to_bits() >> 16))
}

/// The limit of a note.
fn limit_of(note: u16) -> f32 {
    f32::from_bits(u32::from(note) << 16)
}

/// `length`, rounded up to whole characters of `text`.
fn rounded_up(length: usize, text: &[u8]) -> usize {
    let mut whole = 0;
    while whole < length.min(text.len()) {
        whole += char_length(&text[whole..]);
    }
    whole
}

/// Whether the texts of all pieces are well-formed UTF-8: their concatenation is, and none of them
/// begins inside a character. Checking each alone takes three times as long.
fn are_all_well_formed(pieces: &PieceTable) -> bool {
    let begins_inside = |id| {
        pieces
            .text(id)
            .first()
            .is_some_and(|byte| is_continuation(*byte))
    };
    std::str::from_utf8(pieces.all_texts()).is_ok() && !(0..pieces.len()).any(begins_inside)
}

/// The texts and ids of the pieces that can occur in text, sorted by text. Unused pieces are not
/// among them.
fn text_pieces<'v>(vocabulary: &'v Vocabulary<'_>) -> Vec<(&'v [u8], u32)> {
    let ids = vocabulary.usable();
    let mut keys: Vec<_> = ids.map(|id| vocabulary.entry(id)).collect();
    sort_keys(&mut keys);
    keys
}
