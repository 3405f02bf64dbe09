//! A long chunk as a row of short ones.
//!
//! In: a chunk. Out: its ids. It is segmented a window at a time. What stands at the end of a window may be cut
//! short, so only the symbols count that end well before it, and the next window begins behind them. If the first
//! symbol of each window is at peace with what is before it, all neighbours are, and the row is that of the whole
//! chunk (see [`peace`](super::peace)). Where it is not, the chunk takes another way.
//! Windows are short, so those of a text that repeats itself are remembered.
//!
//! Cost: linear; every window moves on by a third of its length or gives up.

use std::ops::Range;

use super::pairs::Pairs;
use super::{Bpe, BpeCache};
use crate::encode::chunk_cache::{KeyedText, MAX_KEY_BYTES};
use crate::piece::{PieceId, PieceTable};
use crate::text::is_char_start;

/// Bytes of a window: as much as can be remembered.
const WINDOW: usize = MAX_KEY_BYTES;
/// Symbols that end within so many bytes of a window count.
const SURE: usize = 16;

impl Bpe {
    /// Appends the ids of a chunk. Appends nothing and says so if it could not find them.
    pub(super) fn segment_windows(
        &self,
        pieces: &PieceTable,
        chunk: &[u8],
        scratch: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) -> bool {
        let start = out.len();
        let keyed = KeyedText::new(chunk);
        let mut at = 0;
        while at < chunk.len() {
            let end = window_end(chunk, at);
            let first = out.len();
            self.segment_window(pieces, &keyed, at..end, scratch, out);
            if !self.meets(pieces, out, start, first, scratch) {
                out.truncate(start);
                return false;
            }
            if end == chunk.len() {
                return true;
            }
            let (mut taken, mut count) = (0, 0);
            for id in &out[first..] {
                let next = taken + pieces.text(id.index()).len();
                if next > SURE {
                    break;
                }
                (taken, count) = (next, count + 1);
            }
            out.truncate(first + count);
            if taken < WINDOW / 3 {
                out.truncate(start);
                return false;
            }
            at += taken;
        }
        true
    }

    /// Appends the ids of one window of a chunk.
    fn segment_window(
        &self,
        pieces: &PieceTable,
        chunk: &KeyedText<'_>,
        window: Range<usize>,
        scratch: &mut BpeCache,
        out: &mut Vec<PieceId>,
    ) {
        let key = chunk.key(window.start, window.len());
        if let Some(key) = &key
            && scratch.windows.get(key, out)
        {
            return;
        }
        let start = out.len();
        self.segment_chunk(pieces, &chunk.text()[window], scratch, out);
        if let Some(key) = &key {
            scratch.windows.insert(key, &out[start..]);
        }
    }

    /// Whether the ids from `first` on are known and at peace with those between `start` and `first`.
    fn meets(
        &self,
        pieces: &PieceTable,
        ids: &[PieceId],
        start: usize,
        first: usize,
        scratch: &mut BpeCache,
    ) -> bool {
        if ids[first..].contains(&self.unknown) {
            return false;
        }
        let (Some(left), Some(right)) = (ids[start..first].last(), ids.get(first)) else {
            return true;
        };
        let mut pairs = Pairs {
            symbols: &self.symbols,
            pieces,
            cache: &mut scratch.pairs,
        };
        self.at_peace(left.get(), right.get(), &mut scratch.peace, &mut pairs) == Some(true)
    }
}

/// The end of the window that begins at `at`: at the start of a character, or the end of the chunk.
fn window_end(chunk: &[u8], at: usize) -> usize {
    let end = (at + WINDOW).min(chunk.len());
    (at + 1..=end)
        .rev()
        .find(|end| chunk.get(*end).is_none_or(|byte| is_char_start(*byte)))
        .unwrap_or(end)
}
