//! Chunks of raw text that are not cached.
//!
//! An unknown character becomes the ids of its bytes, if the model has byte pieces.
//!
//! A short chunk is merged without normalization, because
//! [`CharTable`](crate::encode::bpe::classes) has the character to which each raw character is
//! normalized. Only a longer chunk, or a chunk with an unknown character in a model with byte
//! pieces, is written out in normalized form.
//!
//! Example: `▁né` is the raw chunk ` né`. Its characters are found as `▁`, `n` and `é`, and merged.
//! If `é` occurs in no piece, the chunk is written out as `▁né`, and the unknown id at its end
//! becomes the ids of `<0xC3>` and `<0xA9>`.
//!
//! Cost: one pass over the chunk besides merging; one allocation for a chunk with unknown
//! characters.

use super::ChunkScanner;
use crate::base::{WHITESPACE_MARK_STR, char_length, plainly_normalized_char};
use crate::encode::bpe::ByteIds;
use crate::encode::bpe::strategies::chunk_context::Strategy;
use crate::piece::PieceId;

impl ChunkScanner<'_> {
    /// Appends the ids of a chunk of raw text that is not cached.
    pub(super) fn encode_raw_chunk(
        &mut self,
        chunk: &[u8],
        has_prefix: bool,
        out: &mut Vec<PieceId>,
    ) {
        let start = out.len();
        let short = self.encode_short_raw(chunk, has_prefix, out);
        if short.is_some_and(|has_unknown| !has_unknown || self.byte_ids.is_none()) {
            return;
        }
        let mut normalized = std::mem::take(self.normalized);
        normalize(chunk, has_prefix, &mut normalized);
        if short.is_none() {
            self.context.encode_chunk(&normalized, out);
        }
        self.spell_unknown(&normalized, start, out);
        *self.normalized = normalized;
    }

    /// Appends the ids of a short chunk of raw text. Returns whether a character is unknown;
    /// `None`, and appends nothing, if the chunk is too long.
    fn encode_short_raw(
        &mut self,
        chunk: &[u8],
        has_prefix: bool,
        out: &mut Vec<PieceId>,
    ) -> Option<bool> {
        let tables = self.context.tables;
        let prefix: &[u8] = if has_prefix { b" " } else { b"" };
        let short = &mut self.context.state.short;
        short.clear();
        let unit_at = |text: &[u8]| tables.spelling.char_at::<true>(text);
        short.push_units(prefix, &tables.symbols, unit_at);
        if !short.push_units(chunk, &tables.symbols, unit_at) {
            return None;
        }
        let mut highest = 0;
        out.extend(self.context.merge_short().map(|symbol| {
            highest = highest.max(symbol);
            tables.id_of(symbol)
        }));
        self.context.state.count(Strategy::Short);
        Some((highest as usize) >= tables.piece_count)
    }

    /// Replaces unknown ids by the pieces of their bytes, if the model has them. The ids from
    /// `start` on are those of `normalized`.
    fn spell_unknown(&self, normalized: &[u8], start: usize, out: &mut Vec<PieceId>) {
        let unknown = self.context.tables.unknown;
        let Some(byte_ids) = self.byte_ids.filter(|_| out[start..].contains(&unknown)) else {
            return;
        };
        let ids: Vec<PieceId> = out.drain(start..).collect();
        let mut rest = normalized;
        for id in ids {
            let (text, after) = rest.split_at(self.length_of(id, rest));
            if id == unknown {
                push_bytes(text, byte_ids, out);
            } else {
                out.push(id);
            }
            rest = after;
        }
    }

    /// The length of the text of an id at the start of `rest`: a piece or an unknown character.
    fn length_of(&self, id: PieceId, rest: &[u8]) -> usize {
        if id == self.context.tables.unknown {
            char_length(rest)
        } else {
            self.context.piece_length(id)
        }
    }
}

/// Appends the pieces of the bytes of a character.
#[inline]
pub(super) fn push_bytes(char: &[u8], byte_ids: &ByteIds, out: &mut Vec<PieceId>) {
    for byte in char {
        out.push(byte_ids[usize::from(*byte)]);
    }
}

/// Writes a chunk of raw text to `normalized`, in normalized form.
fn normalize(text: &[u8], has_prefix: bool, normalized: &mut Vec<u8>) {
    normalized.clear();
    let mut begins_with_mark = has_prefix;
    for part in text.split(|byte| *byte == b' ') {
        if std::mem::replace(&mut begins_with_mark, true) {
            normalized.extend_from_slice(WHITESPACE_MARK_STR.as_bytes());
        }
        match std::str::from_utf8(part) {
            Ok(part) => normalized.extend_from_slice(part.as_bytes()),
            Err(_) => normalize_malformed(part, normalized),
        }
    }
}

/// Appends text without spaces, with U+FFFD for malformed bytes.
fn normalize_malformed(text: &[u8], normalized: &mut Vec<u8>) {
    let mut rest = text;
    while !rest.is_empty() {
        let (char, width) = plainly_normalized_char(rest);
        normalized.extend_from_slice(char);
        rest = &rest[width..];
    }
}
