//! Text -> chunks -> ids.
//!
//! The text is normalized, or, for models without normalization rules, the caller's own ("raw")
//! text. A chunk ends at a bigram boundary, or where a user-defined symbol begins. Chunks of a
//! single character have their id in a table; the ids of other short chunks are cached by their
//! bytes; all other chunks are merged (see [`strategies`](super::strategies)).
//!
//! Raw text is not normalized at all: a space has the class of the whitespace mark, a malformed
//! byte the class of U+FFFD, and the dummy prefix is a space before the first chunk. Only a chunk
//! that is not cached, and is long or contains unknown characters, is written out in normalized
//! form.
//!
//! Example: the raw text `the cat` with a dummy prefix has the chunks `▁the` (key: ` the`) and
//! `▁cat` (key: ` cat`), if no piece contains the bigram `e ▁`.
//!
//! Three loops find the ends of chunks: [`ChunkScanner::scan_ascii`] for runs of ASCII (eight bytes
//! at a time), [`ChunkScanner::scan_wide`] for runs of other characters, and [`ChunkScanner::scan`]
//! for bytes with which a user-defined symbol may begin. [`boundaries::find_boundaries`] is a
//! fourth, for long texts that several threads encode.
//!
//! Raw text of many lines can be scanned in one go if no piece has a line feed
//! ([`ChunkScanner::scan_lines`]). A line feed then begins a chunk, and so does the character
//! after it, unless it continues the dummy prefix of its line. So the loop that finds chunks also
//! finds line feeds, and no separate search and scan of each line are needed: 10 MB of English in
//! lines of 67 bytes take 4 % less time. Example: in `the cat\nsat`, the line feed ends ` cat` and
//! the first line, and ` sat` is the chunk after it.
//!
//! Modules: [`boundaries`] classifies characters, and finds where long texts can be divided;
//! [`pending_chunk`] has the chunk that has begun; [`raw_chunk`] encodes chunks of raw text that
//! are not cached.
//!
//! Cost: about four instructions per ASCII byte, two or three loads for other characters, and per
//! chunk one tag and one cache line.
//!
//! Tried and rejected: a cache of whole words in front of the chunk cache, which avoids looking at
//! each character. It was slower, because more words than chunks are seen for the first time, and
//! those cost most.

mod boundaries;
mod pending_chunk;
mod raw_chunk;

use std::sync::Arc;

pub(super) use self::boundaries::find_boundaries;
use self::boundaries::{can_be_adjacent, class_at};
use self::pending_chunk::PendingChunk;
use self::raw_chunk::push_bytes;
use super::ByteIds;
use super::classes::ascii::AsciiBigrams;
use super::classes::char_table::CharTable;
use super::classes::class_bigrams::ClassBigrams;
use super::strategies::chunk_context::{ChunkContext, Strategy};
use super::strategies::merge_context::MergeTables;
use crate::encode::chunk_cache::{ChunkCache, ChunkKey, KeyedText};
use crate::encode::encoded_lines::EncodedLines;
use crate::piece::PieceId;
use crate::trie::prefix::PrefixTrie;

/// What the scanner knows about a model. One struct with everything inside, so that the loops need
/// a single pointer; with three pointers they took 1 % more instructions.
#[derive(Debug)]
pub(super) struct ScanTables {
    pub(super) merge: MergeTables<CharTable>,
    pub(super) bigrams: ClassBigrams,
    pub(super) ascii: AsciiBigrams,
    pub(super) user_defined: Arc<PrefixTrie>,
}

impl ScanTables {
    /// Whether line feeds are in no piece, so that each of them ends a chunk, and the next chunk
    /// begins after it.
    pub(super) fn separates_lines(&self) -> bool {
        self.ascii.is_plain(b'\n') && self.merge.spelling.ascii_class::<true>(b'\n') == 0
    }

    /// Whether a piece may have a whitespace mark after another character. True as well if it is a
    /// space, which normalized text does not have.
    pub(super) fn has_marks_inside(&self) -> bool {
        let mark = self.merge.spelling.mark_class();
        let mut classes = (1..self.bigrams.classes()).filter(|class| *class != mark);
        classes.any(|class| self.bigrams.can_precede_ascii(class, b' '))
    }
}

/// Splits one text into chunks and appends their ids.
pub(super) struct ChunkScanner<'s> {
    pub(super) tables: &'s ScanTables,
    pub(super) context: ChunkContext<'s, CharTable>,
    pub(super) text: KeyedText<'s>,
    /// The ids of chunks.
    pub(super) cache: &'s mut ChunkCache,
    /// The buffer for a chunk in normalized form.
    pub(super) normalized: &'s mut Vec<u8>,
    /// The byte pieces for unknown characters of raw text, if the model has them.
    pub(super) byte_ids: Option<&'s ByteIds>,
    /// The number of ids up to the end of each line, in [`scan_lines`](Self::scan_lines).
    pub(super) line_ends: Vec<usize>,
    /// Whether each line has the dummy prefix, in [`scan_lines`](Self::scan_lines).
    pub(super) adds_prefix: bool,
}

impl ChunkScanner<'_> {
    /// Finds the chunks of the text and appends their ids.
    #[inline]
    pub(super) fn scan<const RAW: bool>(&mut self, has_prefix: bool, out: &mut Vec<PieceId>) {
        self.scan_text::<RAW, false>(has_prefix, out);
    }

    /// Finds the chunks of all lines of the raw text, and appends their ids and the ends of the
    /// lines. Only for models for which [`ScanTables::separates_lines`] holds.
    #[inline]
    pub(super) fn scan_lines(&mut self, adds_prefix: bool, lines: &mut EncodedLines) {
        debug_assert!(self.tables.separates_lines());
        self.adds_prefix = adds_prefix;
        self.line_ends = std::mem::take(&mut lines.ends);
        let has_prefix = adds_prefix
            && self
                .text
                .text()
                .first()
                .is_some_and(|first| *first != b'\n');
        self.scan_text::<true, true>(has_prefix, &mut lines.ids);
        lines.ends = std::mem::take(&mut self.line_ends);
        if self.text.text().last().is_some_and(|last| *last != b'\n') {
            lines.end_line();
        }
    }

    /// Finds the chunks of the text (if `LINES`, of each of its lines) and appends their ids.
    #[inline]
    fn scan_text<const RAW: bool, const LINES: bool>(
        &mut self,
        has_prefix: bool,
        out: &mut Vec<PieceId>,
    ) {
        let tables = self.tables;
        let text = self.text.text();
        let mut chunk = match has_prefix {
            true => self.prefix_chunk(0),
            false => PendingChunk::empty(0),
        };
        let mut at = 0;
        let mut last = chunk.first_class;
        while let Some(&byte) = text.get(at) {
            if tables.ascii.is_plain(byte) {
                (at, last) = match byte {
                    ..0x80 => self.scan_ascii::<RAW, LINES>(&mut chunk, at, last, out),
                    _ => self.scan_wide::<RAW>(&mut chunk, at, last, out),
                };
                continue;
            }
            let user_defined = &tables.user_defined;
            if user_defined.may_begin_with(byte)
                && let Some((length, id)) = user_defined.longest_with_value(&text[at..])
            {
                self.finish_chunk::<RAW>(chunk, at, out);
                out.push(PieceId::new(id));
                at += length;
                chunk = PendingChunk::empty(at);
                last = 0;
                continue;
            }
            let (class, width) = class_at::<RAW>(&tables.merge.spelling, &text[at..]);
            if !can_be_adjacent(&tables.bigrams, last, byte, class) {
                self.finish_chunk::<RAW>(chunk, at, out);
                chunk = PendingChunk::new(at, width, class);
            }
            at += width;
            last = class;
        }
        self.finish_chunk::<RAW>(chunk, at, out);
    }

    /// Scans plain ASCII bytes from `at` on, after a character of class `last`. Returns the
    /// position of the first other byte, and the class of the character before it.
    #[inline]
    fn scan_ascii<const RAW: bool, const LINES: bool>(
        &mut self,
        pending: &mut PendingChunk,
        mut at: usize,
        last: u32,
        out: &mut Vec<PieceId>,
    ) -> (usize, u32) {
        let tables = self.tables;
        let text = self.text.text();
        // Its fields are in registers. Copied from memory, where they were written one by one, each
        // chunk would wait for the stores.
        let mut chunk = *pending;
        if !tables.bigrams.can_precede_ascii(last, text[at]) {
            self.start_ascii_chunk::<RAW, LINES>(&mut chunk, at, out);
        }
        at += 1;
        loop {
            let (mut starts, count) = tables.ascii.chunk_starts(text, at);
            while starts != 0 {
                let start = at + starts.trailing_zeros() as usize;
                self.start_ascii_chunk::<RAW, LINES>(&mut chunk, start, out);
                starts &= starts - 1;
            }
            at += count;
            if count < 64 {
                break;
            }
        }
        loop {
            at = tables.ascii.chunk_end(text, at);
            if !text
                .get(at)
                .is_some_and(|byte| byte.is_ascii() && tables.ascii.is_plain(*byte))
            {
                let last = match LINES && chunk.is_bare_prefix(at) {
                    true => chunk.first_class,
                    false => self.ascii_class_at::<RAW>(at - 1),
                };
                *pending = chunk;
                return (at, last);
            }
            self.start_ascii_chunk::<RAW, LINES>(&mut chunk, at, out);
            at += 1;
        }
    }

    /// As [`scan_ascii`](Self::scan_ascii), for plain bytes of other characters.
    #[inline(never)]
    fn scan_wide<const RAW: bool>(
        &mut self,
        pending: &mut PendingChunk,
        mut at: usize,
        mut last: u32,
        out: &mut Vec<PieceId>,
    ) -> (usize, u32) {
        let tables = self.tables;
        let text = self.text.text();
        let mut chunk = *pending;
        while let Some(&byte) = text.get(at)
            && byte >= 0x80
            && tables.ascii.is_plain_wide(byte)
        {
            let (class, width) = class_at::<RAW>(&tables.merge.spelling, &text[at..]);
            if !tables.bigrams.can_be_adjacent(last, class) {
                self.finish_chunk::<RAW>(chunk, at, out);
                chunk = PendingChunk::new(at, width, class);
            }
            at += width;
            last = class;
        }
        *pending = chunk;
        (at, last)
    }

    /// Finishes a chunk at `at`, where a plain ASCII byte is, and starts another there.
    #[inline(always)]
    fn start_ascii_chunk<const RAW: bool, const LINES: bool>(
        &mut self,
        chunk: &mut PendingChunk,
        at: usize,
        out: &mut Vec<PieceId>,
    ) {
        let byte = self.text.text()[at];
        if LINES
            && chunk.is_bare_prefix(at)
            && self
                .tables
                .bigrams
                .can_precede_ascii(chunk.first_class, byte)
        {
            return;
        }
        self.finish_chunk::<RAW>(*chunk, at, out);
        *chunk = PendingChunk::new(at, 1, self.ascii_class_at::<RAW>(at));
        if LINES && byte == b'\n' {
            *chunk = self.start_line(at + 1, out);
        }
    }

    /// Ends a line, and starts the first chunk of the next one at `start`.
    #[inline(never)]
    fn start_line(&mut self, start: usize, out: &[PieceId]) -> PendingChunk {
        self.line_ends.push(out.len());
        match self.text.text().get(start) {
            Some(byte) if self.adds_prefix && *byte != b'\n' => self.prefix_chunk(start),
            _ => PendingChunk::empty(start),
        }
    }

    /// A chunk that begins with the dummy prefix.
    fn prefix_chunk(&self, start: usize) -> PendingChunk {
        PendingChunk {
            has_prefix: true,
            ..PendingChunk::new(start, 0, self.tables.merge.spelling.mark_class())
        }
    }

    /// The class of the ASCII character at `at`.
    #[inline(always)]
    fn ascii_class_at<const RAW: bool>(&self, at: usize) -> u32 {
        let byte = self.text.text()[at];
        self.tables.merge.spelling.ascii_class::<RAW>(byte)
    }

    /// Appends the ids of a chunk that ends at `end`: row 1 of the strategy table, and then the
    /// others.
    #[inline(always)]
    fn finish_chunk<const RAW: bool>(
        &mut self,
        chunk: PendingChunk,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        if chunk.first_end != end {
            return self.encode_long::<RAW>(chunk, end, out);
        }
        let tables = &self.tables.merge;
        match tables.piece_of(tables.spelling.symbol(chunk.first_class)) {
            Some(id) => {
                out.push(id);
                self.context.state.count(Strategy::SingleChar);
            }
            None => self.encode_unknown::<RAW>(chunk, end, out),
        }
    }

    /// Appends the ids of a chunk that is a single character without an id, or empty.
    #[inline(never)]
    fn encode_unknown<const RAW: bool>(
        &mut self,
        chunk: PendingChunk,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        let text = &self.text.text()[chunk.start..end];
        // The raw bytes are those of the normalized character, except for a space and for a
        // malformed byte.
        let is_same_when_raw = (text.len() > 1 || text.is_ascii()) && text != b" ";
        match self.byte_ids {
            Some(byte_ids) if RAW && !chunk.has_prefix && is_same_when_raw => {
                push_bytes(text, byte_ids, out);
            }
            _ if text.is_empty() && !chunk.has_prefix => {}
            _ => self.encode_long::<RAW>(chunk, end, out),
        }
    }

    /// Appends the ids of a chunk that is not a single known character: row 2 of the strategy
    /// table, and then the others.
    #[inline(never)]
    fn encode_long<const RAW: bool>(
        &mut self,
        chunk: PendingChunk,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        let key = self.key(chunk, end);
        // Rare cases are in a function of their own, because they need many registers, which would
        // be saved and restored for every chunk.
        let small = key.and_then(|key| key.small());
        if !small.is_some_and(|key| self.cache.get_first_way(&key, out)) {
            return self.encode_rare::<RAW>(chunk, end, out);
        }
        self.context.state.count(Strategy::Cached);
    }

    /// Appends the ids of a chunk that is not in the first way of the cache.
    #[inline(never)]
    fn encode_rare<const RAW: bool>(
        &mut self,
        chunk: PendingChunk,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        let key = self.key(chunk, end);
        if let Some(key) = &key
            && self.cache.get_other(key, out).is_some()
        {
            return self.context.state.count(Strategy::Cached);
        }
        let start = out.len();
        let text = &self.text.text()[chunk.start..end];
        match RAW {
            true => self.encode_raw_chunk(text, chunk.has_prefix, out),
            false => self.context.encode_chunk(text, out),
        }
        if let Some(key) = &key {
            self.cache.insert(key, &out[start..]);
        }
    }

    /// The key of a chunk; the dummy prefix is a space.
    #[inline(always)]
    fn key(&self, chunk: PendingChunk, end: usize) -> Option<ChunkKey> {
        let length = end - chunk.start;
        if chunk.has_prefix {
            self.text.key_with_space(chunk.start, length)
        } else {
            self.text.key(chunk.start, length)
        }
    }
}
