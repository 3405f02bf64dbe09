//! Text -> chunks -> ids.
//!
//! In: text that is normalized, or, for models without normalization rules, the caller's own. Out: ids. A chunk
//! ends where two neighbouring characters stand next to each other in no piece. One that is a single character
//! has its id in a table; the ids of other short ones are remembered by their bytes; what is left is merged.
//!
//! Raw text is not normalized at all: a space has the class of the mark, a malformed byte that of U+FFFD, and
//! the dummy prefix is a space before the first chunk. Only a long chunk, or one that has unknown
//! characters, is written out in normalized form if it is not remembered.
//!
//! A cache of whole words before this one, which need not look at each character, was slower: more words than
//! chunks come for the first time, and those cost most.

use super::pairs::Pairs;
use super::short::SHORT;
use super::{Bpe, BpeCache};
use crate::encode::chunk_cache::{ChunkKey, KeyedText};
use crate::piece::{PieceId, PieceTable};
use crate::text::{WHITESPACE_MARK_STR, char_length, plainly_normalized_char};

/// A chunk whose end was not found yet.
#[derive(Debug, Clone, Copy)]
struct Open {
    start: usize,
    /// The end of its first character, and the class of that. Nothing at all has class 0.
    first_end: usize,
    first_class: u32,
    /// Whether it begins with a dummy prefix, which then is its first character and takes no room.
    has_prefix: bool,
}

impl Open {
    /// A chunk that begins with this character.
    fn new(start: usize, width: usize, class: u32) -> Open {
        Open {
            start,
            first_end: start + width,
            first_class: class,
            has_prefix: false,
        }
    }

    /// A chunk without characters so far.
    fn empty(start: usize) -> Open {
        Open::new(start, 0, 0)
    }
}

/// What the chunks of one text have in common.
struct Scan<'s> {
    pieces: &'s PieceTable,
    text: KeyedText<'s>,
    scratch: &'s mut BpeCache,
    /// The pieces for the bytes of unknown characters.
    bytes: Option<&'s [PieceId; 256]>,
}

impl Scan<'_> {
    /// The key of a chunk; a dummy prefix is a space before it.
    #[inline]
    fn key(&self, chunk: Open, end: usize) -> Option<ChunkKey> {
        let length = end - chunk.start;
        if chunk.has_prefix {
            self.text.key_with_space(length)
        } else {
            self.text.key(chunk.start, length)
        }
    }
}

impl Bpe {
    /// Appends the ids of `text`, which is normalized; an unknown id for each unknown character.
    pub(crate) fn segment(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        scratch: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        if !self.unused.is_empty() {
            return self.segment_whole(pieces, text, &mut scratch.whole, || false, out);
        }
        self.scan::<false>(
            Scan {
                pieces,
                text: KeyedText::new(text),
                scratch,
                bytes: None,
            },
            false,
            out,
        );
    }

    /// Whether text can be segmented as the caller gave it, if spaces become marks and nothing else changes.
    pub(crate) fn takes_raw_text(&self) -> bool {
        self.takes_raw_text
    }

    /// Appends the ids of `text`, which is not normalized, with a dummy prefix if `prefix` says so. Unknown
    /// characters become `bytes`, or if there are none, an unknown id each.
    pub(crate) fn segment_raw(
        &self,
        pieces: &PieceTable,
        text: &[u8],
        prefix: bool,
        bytes: Option<&[PieceId; 256]>,
        scratch: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        // Nothing has no prefix.
        self.scan::<true>(
            Scan {
                pieces,
                text: KeyedText::new(text),
                scratch,
                bytes,
            },
            prefix && !text.is_empty(),
            out,
        );
    }

    /// Finds the chunks of a text and appends their ids.
    #[inline]
    fn scan<const RAW: bool>(&self, mut scan: Scan<'_>, has_prefix: bool, out: &mut Vec<PieceId>) {
        let text = scan.text.text();
        let mut open = Open::empty(0);
        if has_prefix {
            (open.first_class, open.has_prefix) = (self.chars.mark_class(), true);
        }
        let (mut at, mut last) = (0, open.first_class);
        while let Some(&byte) = text.get(at) {
            if self.ascii.is_plain(byte) {
                (at, last) = match byte {
                    ..0x80 => self.scan_ascii::<RAW>(&mut scan, &mut open, at, last, out),
                    _ => self.scan_wide::<RAW>(&mut scan, &mut open, at, last, out),
                };
                continue;
            }
            if self.user_defined.may_begin_with(byte)
                && let Some((length, id)) = self.user_defined.longest_with_value(&text[at..])
            {
                self.close::<RAW>(&mut scan, open, at, out);
                out.push(PieceId::from_index(id));
                at += length;
                (open, last) = (Open::empty(at), 0);
                continue;
            }
            let (class, width) = self.class_at::<RAW>(&text[at..]);
            if !self.may_touch(last, byte, class) {
                self.close::<RAW>(&mut scan, open, at, out);
                open = Open::new(at, width, class);
            }
            (at, last) = (at + width, class);
        }
        self.close::<RAW>(&mut scan, open, at, out);
    }

    /// Goes on at `at`, where a plain ASCII byte is, behind a character of class `last`, up to another byte: where that
    /// is, and the class of the character before it.
    #[inline]
    fn scan_ascii<const RAW: bool>(
        &self,
        scan: &mut Scan<'_>,
        open: &mut Open,
        mut at: usize,
        last: u32,
        out: &mut Vec<PieceId>,
    ) -> (usize, u32) {
        let text = scan.text.text();
        if !self.neighbours.may_touch_ascii(last, text[at]) {
            self.reopen_ascii::<RAW>(scan, open, at, out);
        }
        at += 1;
        loop {
            let (mut begins, count) = self.ascii.begins(text, at);
            while begins != 0 {
                let begin = at + begins.trailing_zeros() as usize;
                self.reopen_ascii::<RAW>(scan, open, begin, out);
                begins &= begins - 1;
            }
            at += count;
            if count < 64 {
                break;
            }
        }
        loop {
            at = self.ascii.end(text, at);
            if !text
                .get(at)
                .is_some_and(|byte| byte.is_ascii() && self.ascii.is_plain(*byte))
            {
                return (at, self.chars.ascii_class::<RAW>(text[at - 1]));
            }
            self.reopen_ascii::<RAW>(scan, open, at, out);
            at += 1;
        }
    }

    /// As [`scan_ascii`](Self::scan_ascii), for plain bytes at which other characters begin.
    #[inline(never)]
    fn scan_wide<const RAW: bool>(
        &self,
        scan: &mut Scan<'_>,
        open: &mut Open,
        mut at: usize,
        mut last: u32,
        out: &mut Vec<PieceId>,
    ) -> (usize, u32) {
        let text = scan.text.text();
        let mut chunk = *open;
        while let Some(&byte) = text.get(at)
            && byte >= 0x80
            && self.ascii.is_plain_other(byte)
        {
            let (class, width) = self.class_at::<RAW>(&text[at..]);
            if !self.neighbours.may_touch(last, class) {
                self.close::<RAW>(scan, chunk, at, out);
                chunk = Open::new(at, width, class);
            }
            (at, last) = (at + width, class);
        }
        *open = chunk;
        (at, last)
    }

    /// Ends a chunk before `at`, where a plain byte is, and begins one there.
    #[inline(always)]
    fn reopen_ascii<const RAW: bool>(
        &self,
        scan: &mut Scan<'_>,
        open: &mut Open,
        at: usize,
        out: &mut Vec<PieceId>,
    ) {
        self.close::<RAW>(scan, *open, at, out);
        *open = Open::new(at, 1, self.chars.ascii_class::<RAW>(scan.text.text()[at]));
    }

    /// The class and the length of the character at the start of `rest`.
    #[inline(always)]
    fn class_at<const RAW: bool>(&self, rest: &[u8]) -> (u32, usize) {
        if RAW {
            self.chars.raw_class_at(rest)
        } else {
            self.chars.class_at(rest)
        }
    }

    /// Whether a character of this class, which begins with `byte`, may stand behind one of class `last`.
    #[inline]
    fn may_touch(&self, last: u32, byte: u8, class: u32) -> bool {
        match byte {
            ..0x80 => self.neighbours.may_touch_ascii(last, byte),
            _ => self.neighbours.may_touch(last, class),
        }
    }

    /// Appends the ids of a chunk that ends before `end`.
    #[inline(always)]
    fn close<const RAW: bool>(
        &self,
        scan: &mut Scan<'_>,
        chunk: Open,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        if chunk.first_end == end {
            let symbol = self.chars.symbol(chunk.first_class);
            match (symbol as usize) < self.pieces {
                true => out.push(PieceId::new(symbol)),
                false => self.close_unknown::<RAW>(scan, chunk, end, out),
            }
            return;
        }
        self.close_long::<RAW>(scan, chunk, end, out);
    }

    /// Appends the ids of a chunk that is a single unknown character, or nothing at all.
    #[inline(never)]
    fn close_unknown<const RAW: bool>(
        &self,
        scan: &mut Scan<'_>,
        chunk: Open,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        let text = &scan.text.text()[chunk.start..end];
        match scan.bytes {
            // A mark or U+FFFD is not in raw text, but something else that becomes it.
            Some(bytes)
                if RAW
                    && !chunk.has_prefix
                    && (text.len() > 1 || text.is_ascii())
                    && text != b" " =>
            {
                out.extend(text.iter().map(|byte| bytes[usize::from(*byte)]));
            }
            _ if text.is_empty() && !chunk.has_prefix => {}
            _ => self.close_long::<RAW>(scan, chunk, end, out),
        }
    }

    /// Appends the ids of a chunk that is not a single known character.
    #[inline(never)]
    fn close_long<const RAW: bool>(
        &self,
        scan: &mut Scan<'_>,
        chunk: Open,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        let key = scan.key(chunk, end);
        // What is rare keeps nothing of this in registers, which would all have to be saved on the way.
        if !key.is_some_and(|key| scan.scratch.cache.get_first_way(&key, out)) {
            self.close_rare::<RAW>(scan, chunk, end, out);
        }
    }

    /// Appends the ids of a chunk that is not found at once.
    #[inline(never)]
    fn close_rare<const RAW: bool>(
        &self,
        scan: &mut Scan<'_>,
        chunk: Open,
        end: usize,
        out: &mut Vec<PieceId>,
    ) {
        let key = scan.key(chunk, end);
        if let Some(key) = &key
            && scan.scratch.cache.get_other(key, out).is_some()
        {
            return;
        }
        let start = out.len();
        let text = &scan.text.text()[chunk.start..end];
        match RAW {
            true => self.segment_raw_chunk(scan, text, chunk.has_prefix, out),
            false => self.segment_chunk(scan.pieces, text, scan.scratch, out),
        }
        if let Some(key) = &key {
            scan.scratch.cache.insert(key, &out[start..]);
        }
    }

    /// Appends the ids of a chunk of raw text.
    fn segment_raw_chunk(
        &self,
        scan: &mut Scan<'_>,
        chunk: &[u8],
        prefix: bool,
        out: &mut Vec<PieceId>,
    ) {
        let start = out.len();
        let is_short = chunk.len() < SHORT;
        if is_short
            && (self.segment_short_raw_chunk(scan, chunk, prefix, out) || scan.bytes.is_none())
        {
            return;
        }
        let mut normalized = std::mem::take(&mut scan.scratch.normalized);
        normalize(chunk, prefix, &mut normalized);
        if !is_short {
            self.segment_chunk(scan.pieces, &normalized, scan.scratch, out);
        }
        self.spell_unknown(scan, &normalized, start, out);
        scan.scratch.normalized = normalized;
    }

    /// Appends the ids of a chunk of raw text that has room for a prefix in a [`ShortChunk`]; tells whether all of it
    /// is known.
    fn segment_short_raw_chunk(
        &self,
        scan: &mut Scan<'_>,
        chunk: &[u8],
        prefix: bool,
        out: &mut Vec<PieceId>,
    ) -> bool {
        let BpeCache { short, pairs, .. } = &mut *scan.scratch;
        let mut pairs = Pairs {
            symbols: &self.symbols,
            pieces: scan.pieces,
            cache: pairs,
        };
        short.clear();
        if prefix {
            short.extend::<true>(b" ", &self.chars, &self.symbols);
        }
        short.extend::<true>(chunk, &self.chars, &self.symbols);
        short.merge(&mut pairs);
        let mut highest = 0;
        out.extend(short.left().map(|symbol| {
            highest = highest.max(symbol);
            self.id_of(symbol)
        }));
        (highest as usize) < self.pieces
    }

    /// Puts the bytes of unknown characters in their place, in models that have pieces for them; the ids from `start`
    /// on are those of `normalized`.
    fn spell_unknown(
        &self,
        scan: &Scan<'_>,
        normalized: &[u8],
        start: usize,
        out: &mut Vec<PieceId>,
    ) {
        let Some(bytes) = scan.bytes.filter(|_| out[start..].contains(&self.unknown)) else {
            return;
        };
        let found: Vec<PieceId> = out.drain(start..).collect();
        let mut rest = normalized;
        for id in found {
            let is_unknown = id == self.unknown;
            let length = if is_unknown {
                char_length(rest)
            } else {
                scan.pieces.text(id.index()).len()
            };
            let (text, after) = rest.split_at(length);
            match is_unknown {
                true => out.extend(text.iter().map(|byte| bytes[usize::from(*byte)])),
                false => out.push(id),
            }
            rest = after;
        }
    }

    /// The places at which `text` can be cut so that its parts have the ids of the whole, at least `apart`
    /// bytes from each other. Of raw text, only the first part then has a dummy prefix.
    pub(crate) fn cuts<const RAW: bool>(&self, text: &[u8], apart: usize) -> Vec<usize> {
        let mut cuts = Vec::new();
        if !self.unused.is_empty() || !self.chars.all_well_formed() {
            return cuts;
        }
        let (mut at, mut last, mut cut) = (0, 0, 0);
        while at < text.len() {
            let (class, width) = self.class_at::<RAW>(&text[at..]);
            if at - cut >= apart && !self.may_touch(last, text[at], class) {
                cuts.push(at);
                cut = at;
            }
            last = class;
            at += width;
        }
        cuts
    }
}

/// Writes a chunk of raw text, normalized, over what was in `normalized`.
fn normalize(text: &[u8], prefix: bool, normalized: &mut Vec<u8>) {
    normalized.clear();
    let mut begins_with_mark = prefix;
    for part in text.split(|byte| *byte == b' ') {
        if std::mem::replace(&mut begins_with_mark, true) {
            normalized.extend_from_slice(WHITESPACE_MARK_STR.as_bytes());
        }
        if std::str::from_utf8(part).is_ok() {
            normalized.extend_from_slice(part);
            continue;
        }
        let mut rest = part;
        while !rest.is_empty() {
            let (char, width) = plainly_normalized_char(rest);
            normalized.extend_from_slice(char);
            rest = &rest[width..];
        }
    }
}
