//! WordPiece: words to ids, the longest piece first.
//!
//! A word begins with the longest piece that it begins with, and goes on with the longest piece of
//! those with a prefix (`##`) that its rest begins with. If there is none, the whole word is
//! unknown, as is a word of too many characters. Both kinds of pieces are a trie, which is walked
//! once for each piece of the word; a walk ends where no piece goes on.
//!
//! Example: with the pieces `un`, `##aff`, `##able` and `##a`, `unaffable` is `un` `##aff`
//! `##able`, and `unafraid` is unknown: after `un` `##a`, no piece begins with `f`.
//!
//! Cost: the length of the word times that of the longest piece at most; in words of natural
//! language a walk goes a few bytes beyond its piece. A word has at most `max_chars` characters,
//! and texts that were seen before are read from a cache.

use std::ops::Range;

use super::bpe::BpeCache;
use super::chunk_cache::KeyedText;
use crate::base::utf8::is_char_start;
use crate::piece::PieceId;
use crate::trie::{Trie, TrieTooLarge, sort_keys};

/// The pieces, ready to encode.
#[derive(Debug)]
pub(crate) struct WordPieceEncoder {
    /// The pieces that words begin with.
    starts: Trie,
    /// The pieces with the prefix, without it.
    continuations: Trie,
    unknown: PieceId,
    max_chars: usize,
}

impl WordPieceEncoder {
    /// Pieces with a NUL are left out. `unknown` is the id of words without pieces.
    pub(crate) fn new<'p>(
        pieces: &[(&'p str, u32)],
        prefix: &str,
        unknown: PieceId,
        max_chars: usize,
    ) -> Result<Self, TrieTooLarge> {
        let trie = |prefix: &str| {
            let rest = |(text, id): &(&'p str, u32)| {
                let rest = text.strip_prefix(prefix)?.as_bytes();
                (!rest.is_empty() && !rest.contains(&0)).then_some((rest, *id))
            };
            let mut keys: Vec<(&[u8], u32)> = pieces.iter().filter_map(rest).collect();
            if keys.is_empty() {
                return Ok(Trie::default());
            }
            sort_keys(&mut keys);
            Trie::build(&keys)
        };
        Ok(Self {
            starts: trie("")?,
            continuations: trie(prefix)?,
            unknown,
            max_chars,
        })
    }

    /// Appends the ids of a word, which is well-formed; returns whether it has pieces. If not, it
    /// is one unknown id.
    pub(crate) fn encode_word(&self, word: &[u8], out: &mut Vec<PieceId>) -> bool {
        let start = out.len();
        let mut rest = word;
        let mut trie = &self.starts;
        let is_short = word.len() <= self.max_chars
            || word.iter().filter(|byte| is_char_start(**byte)).count() <= self.max_chars;
        while is_short && !rest.is_empty() {
            let Some(piece) = trie.prefixes(rest).last() else {
                break;
            };
            out.push(PieceId::new(piece.value));
            rest = &rest[piece.length..];
            trie = &self.continuations;
        }
        if rest.is_empty() {
            return true;
        }
        out.truncate(start);
        out.push(self.unknown);
        false
    }
}

/// Appends the ids of the chunks of a text, of which each depends on the bytes of the chunk alone.
/// `encode` appends those of a chunk that is not cached.
pub(crate) fn encode_chunks(
    text: &[u8],
    chunks: impl Iterator<Item = Range<usize>>,
    cache: &mut BpeCache,
    out: &mut Vec<PieceId>,
    mut encode: impl FnMut(&[u8], &mut Vec<PieceId>),
) {
    let keyed = KeyedText::new(text);
    let cache = cache.chunks();
    for chunk in chunks {
        let key = keyed.key(chunk.start, chunk.len());
        if !key.as_ref().is_some_and(|key| cache.get(key, out)) {
            let start = out.len();
            encode(&text[chunk], out);
            if let Some(key) = &key {
                cache.insert(key, &out[start..]);
            }
        }
    }
}
