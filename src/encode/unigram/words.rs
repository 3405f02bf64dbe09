//! Raw text, word by word.
//!
//! Most texts are normalized to what they are, with marks for spaces. Where the normalizer treats the
//! parts between spaces alone, and no piece has a mark after its beginning, a *word* (a part of the raw
//! text between spaces) has the same ids in every text, apart from rounding.
//!
//! - A word of [plain](crate::normalize::plain_chars) characters is cut into chunks as it is, and its
//!   chunks are cached by their raw bytes, the first one with the space before it.
//! - The ids of other words are cached by the raw bytes of the whole word. Only those that are seen for
//!   the first time are normalized and cut into chunks.
//!
//! **The limit of a word.** A chunk has the right ids for each sum before it whose magnitude is at most
//! its limit L (see [`margin`](super::margin)). If the scores of the ids before it in its word have the
//! total magnitude P, the sum before the chunk is at most |S| + P, where S is the sum before the word. So
//! |S| <= L - P for each chunk is enough for the word; where it does not hold, the word is segmented
//! again from S. The limit is reduced by one in 10,000 of both for the rounding of the sums, which is less
//! than one in 500,000 for the ids that an entry has room for.
//!
//! Example: `The café.` has the chunk ` The` and the word `café.`, which is normalized to `▁café.` with
//! the chunks `▁café` and `.`.
//!
//! Cost: for each chunk or word one key, one tag, one cache line and the scores of the ids.

use std::ops::Range;

use super::{MAX_SUM, UnigramCache, UnigramEncoder, limit_of, margin, note_of, viterbi};
use crate::base::WHITESPACE_MARK_STR;
use crate::encode::chunk_cache::KeyedText;
use crate::normalize::Normalizer;
use crate::normalize::plain_chars::PlainChars;
use crate::piece::PieceId;

/// By how much limits are reduced, as a part of them.
const REDUCTION: f32 = 1e-4;

/// A normalizer that treats words alone, and its plain characters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordNormalizer<'n> {
    pub(crate) normalizer: &'n Normalizer,
    pub(crate) plain_chars: &'n PlainChars,
}

/// The caches and buffers of one text.
struct RawWords<'e> {
    encoder: &'e UnigramEncoder,
    word_normalizer: WordNormalizer<'e>,
    text: KeyedText<'e>,
    cache: &'e mut UnigramCache,
    /// The sum of the scores so far.
    sum: f32,
    out: &'e mut Vec<PieceId>,
}

impl UnigramEncoder {
    /// Whether a chunk begins at each whitespace mark, so that texts can be encoded
    /// [word by word](Self::encode_words) if the normalizer treats words alone.
    pub(crate) fn has_single_words(&self) -> bool {
        !self.chunk_finder.has_inner_marks && !self.has_half_chars
    }

    /// Appends the ids of a raw text. Returns false, and appends nothing, if a word has a whitespace mark,
    /// which is removed at the end of a text only.
    pub(crate) fn encode_words(
        &self,
        text: &[u8],
        word_normalizer: WordNormalizer<'_>,
        cache: &mut UnigramCache,
        out: &mut Vec<PieceId>,
    ) -> bool {
        let first = out.len();
        let mut words = RawWords {
            encoder: self,
            word_normalizer,
            text: KeyedText::new(text),
            cache,
            sum: 0.0,
            out,
        };
        let mut at = 0;
        while at < text.len() {
            if text[at] == b' ' {
                at += 1;
            } else if let Some(end) = words.encode_word(at) {
                at = end;
            } else {
                out.truncate(first);
                return false;
            }
        }
        true
    }
}

impl RawWords<'_> {
    /// Appends the ids of the word that begins at `start`. Returns its end; `None` if it has a mark.
    #[inline]
    fn encode_word(&mut self, start: usize) -> Option<usize> {
        let text = self.text.text();
        let (first, sum) = (self.out.len(), self.sum);
        let finder = &self.encoder.chunk_finder;
        let plain = self.word_normalizer.plain_chars;
        let mut chunk = start;
        let mut before = u32::from(b' ');
        let mut at = start;
        while let Some(&byte) = text.get(at) {
            let char = match byte {
                b' ' => break,
                ..0x80 => plain.ascii_char(byte),
                _ => plain.wide_char(&text[at..]),
            };
            let Some(char) = char else {
                self.out.truncate(first);
                self.sum = sum;
                return self.encode_other_word(start);
            };
            // The mark is part of the first chunk in any case: see the key of a chunk.
            if at > start && !finder.can_be_adjacent(before, char.code) {
                self.encode_chunk(chunk..at, chunk == start);
                chunk = at;
            }
            before = char.code;
            at += char.width;
        }
        self.encode_chunk(chunk..at, chunk == start);
        Some(at)
    }

    /// Appends the ids of a chunk of plain characters; `begins_word`: with a mark before it.
    #[inline(always)]
    fn encode_chunk(&mut self, chunk: Range<usize>, begins_word: bool) {
        let first = self.out.len();
        // The space before a word is part of the key.
        let start = chunk.start.saturating_sub(usize::from(begins_word));
        let has_space = start < chunk.start;
        let key = self.text.small_key(start, chunk.end - start);
        let note = key
            .filter(|_| begins_word == has_space)
            .and_then(|key| self.cache.words.get_first_way_with_note(&key, self.out));
        if !self.take_cached(note, first) {
            self.encode_rare_chunk(chunk, begins_word);
        }
    }

    /// Appends the ids of a chunk of plain characters that is not in the first way of the cache.
    #[inline(never)]
    fn encode_rare_chunk(&mut self, chunk: Range<usize>, begins_word: bool) {
        let raw = &self.text.text()[chunk.clone()];
        if raw.len() == 1 && !begins_word {
            self.sum = self.encoder.segment_char(raw, self.sum, self.out);
            return;
        }
        let key = match begins_word {
            true => self.text.key_with_space(chunk.start, raw.len()),
            false => self.text.key(chunk.start, raw.len()),
        };
        let first = self.out.len();
        let note = key.and_then(|key| self.cache.words.get_with_note(&key, self.out));
        if self.take_cached(note, first) {
            return;
        }
        let mut normalized = std::mem::take(&mut self.cache.normalized);
        normalized.clear();
        if begins_word {
            normalized.extend_from_slice(WHITESPACE_MARK_STR.as_bytes());
        }
        normalized.extend_from_slice(raw);
        let tables = &self.encoder.tables;
        let mut found = None;
        if let Some(key) = key.filter(|_| note.is_none()) {
            let limit = margin::search_with_margin(tables, &normalized, self.out);
            // A text that is too long for that search has a limit that no sum keeps.
            found = Some(note_of(limit));
            let ids = &self.out[first..];
            self.cache.words.insert_with_note(&key, ids, note_of(limit));
        }
        if !self.take_cached(found, first) {
            let best = &mut self.cache.best;
            self.sum = viterbi::search(tables, &normalized, self.sum, best, self.out);
        }
        self.cache.normalized = normalized;
    }

    /// Appends the ids of the word that begins at `start`, which is not plain. Returns its end; `None` if
    /// it has a mark.
    #[inline(never)]
    fn encode_other_word(&mut self, start: usize) -> Option<usize> {
        let end = self.text.next_space(start);
        let key = self.text.key(start, end - start);
        let first = self.out.len();
        let note = key.and_then(|key| self.cache.other_words.get_with_note(&key, self.out));
        if self.take_cached(note, first) {
            return Some(end);
        }
        let word = &self.text.text()[start..end];
        if memchr::memmem::find(word, WHITESPACE_MARK_STR.as_bytes()).is_some() {
            return None;
        }
        let mut normalized = std::mem::take(&mut self.cache.normalized);
        self.word_normalizer
            .normalizer
            .normalize(word, &mut normalized);
        let encoder = self.encoder;
        let mut limit = MAX_SUM;
        let mut magnitude = 0.0_f32;
        let on_chunk = |chunk: f32, ids: &[PieceId]| {
            limit = limit.min(chunk * (1.0 - REDUCTION) - magnitude * (1.0 + REDUCTION));
            let scores = ids.iter().map(|id| encoder.tables.score(*id).abs());
            magnitude += scores.sum::<f32>();
        };
        self.sum = encoder.encode_chunks(&normalized, self.sum, self.cache, self.out, on_chunk);
        self.cache.normalized = normalized;
        if let Some(key) = key.filter(|_| note.is_none()) {
            let ids = &self.out[first..];
            let words = &mut self.cache.other_words;
            words.insert_with_note(&key, ids, note_of(limit));
        }
        Some(end)
    }

    /// Adds the scores of the ids from `first` on, if the note allows them here; otherwise removes them.
    #[inline(always)]
    fn take_cached(&mut self, note: Option<u16>, first: usize) -> bool {
        let fits = note.is_some_and(|note| self.sum.abs() <= limit_of(note));
        if fits {
            self.sum = self.encoder.sum_after(self.sum, &self.out[first..]);
        } else {
            self.out.truncate(first);
        }
        fits
    }
}
