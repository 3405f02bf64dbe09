//! Long chunks, one window after the other.
//!
//! The first bytes of the chunk are a window, which is merged alone (or found in a cache). A symbol
//! near the end of a window may be cut off, so only symbols that end within two thirds of the
//! window are committed; the next window begins after them. The first symbol of a window and the
//! last committed one have to be a valid pair (see [`token_pairs`](super::token_pairs)).
//!
//! Windows have at most [`MAX_KEY_BYTES`] bytes at first, and their ids are in a chunk cache. Where
//! such a window does not fit, the window before it is taken back, and the work goes on from there
//! with windows of [`MAX_UNITS`] units: pieces of 16 spaces have 48 bytes in normalized text. Their
//! ids are cached by their whole texts, so a run of spaces costs two or three lookups for every 32
//! spaces, even if no other run has the same length. Where these do not fit either, windows have
//! four times the length of the longest piece, and the heap merges them; so a window of this size
//! always commits enough. Only if a pair across two of them is not valid, or if the chunk has
//! unknown symbols, the strategy gives up, and the heap merges the whole chunk.
//!
//! **Lemma (window commit).** If the strategy does not give up, the committed symbols are the
//! result of merging the whole chunk. Proof: all symbols of one window are adjacent in the result
//! of merging the window, so each of them is what its own text becomes, and adjacent symbols of the
//! window are valid pairs (a part of a result is the result of its part of the text, by the lemma
//! of `token_pairs`). Pairs across windows are tested. So all adjacent pairs are valid, and by the
//! same lemma the sequence is the result for the whole chunk.
//!
//! Example: `internationalizationwithoutspaces` has the window `internationalizationwit`, which
//! merges to `intern ation al ization w it`. The first three symbols end within 16 bytes and are
//! committed. The next window begins at `ization`; if `al ization` is a valid pair, the work goes
//! on there.
//!
//! Cost: linear; every window commits at least a third of its length, or the size grows, or the
//! strategy gives up. Small windows are short enough to be cached, so text that repeats itself
//! costs little more than cache hits.

use std::ops::Range;

use super::chunk_context::{ChunkContext, MergesShort};
use super::merge_context::MergeContext;
use super::short_merger::MAX_UNITS;
use super::token_pairs::is_valid_token_pair;
use crate::encode::chunk_cache::{KeyedText, MAX_KEY_BYTES};
use crate::piece::PieceId;

/// How long the windows are. The size also decides which cache has their ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WindowSize {
    /// At most [`MAX_KEY_BYTES`] bytes.
    Small,
    /// At most [`MAX_UNITS`] units.
    Large,
    /// At most [`MergeTables::widest_window`](super::merge_context::MergeTables::widest_window)
    /// bytes.
    Widest,
}

impl WindowSize {
    fn larger(self) -> Option<Self> {
        match self {
            Self::Small => Some(Self::Large),
            Self::Large => Some(Self::Widest),
            Self::Widest => None,
        }
    }

    /// Symbols that end within so many bytes of a window of `length` bytes are committed.
    fn commit_bytes(self, length: usize) -> usize {
        match self {
            Self::Small => 16,
            Self::Large | Self::Widest => length * 2 / 3,
        }
    }

    /// The window does not fit if fewer of its `length` bytes are committed.
    fn min_committed_bytes(self, length: usize) -> usize {
        match self {
            Self::Small => MAX_KEY_BYTES / 3,
            Self::Large | Self::Widest => length / 3,
        }
    }
}

impl<S: MergesShort> ChunkContext<'_, S> {
    /// Appends the ids of a chunk. Returns the size of the last window; `None`, and appends
    /// nothing, if the windows do not fit together.
    pub(super) fn encode_windowed(
        &mut self,
        chunk: &[u8],
        out: &mut Vec<PieceId>,
    ) -> Option<WindowSize> {
        let keyed = KeyedText::new(chunk);
        let start = out.len();
        let mut size = WindowSize::Small;
        // Where the window begins, in the chunk and in `out`; and the same of the window before.
        let (mut at, mut first) = (0, start);
        let mut previous = (at, first);
        loop {
            let window = at..self.window_end(chunk, at, size);
            match size {
                WindowSize::Small => self.encode_small_window(&keyed, window.clone(), out),
                _ => self.encode_large_window(&chunk[window.clone()], out),
            }
            let committed = out[start..first].last().copied();
            let mut bytes = 0;
            if self.joins_previous(committed, &out[first..]) {
                if window.end == chunk.len() {
                    return Some(size);
                }
                bytes = self.commit(first, size.commit_bytes(window.len()), out);
            }
            if bytes >= size.min_committed_bytes(window.len()) {
                previous = (at, first);
                at += bytes;
                first = out.len();
                continue;
            }
            let Some(larger) = size.larger() else {
                out.truncate(start);
                return None;
            };
            size = larger;
            (at, first) = previous;
            out.truncate(first);
        }
    }

    /// The end of the window that begins at `at`: the start of a unit, or the end of the chunk.
    fn window_end(&self, chunk: &[u8], at: usize, size: WindowSize) -> usize {
        let max_bytes = match size {
            WindowSize::Small => MAX_KEY_BYTES,
            WindowSize::Large => {
                return (0..MAX_UNITS).fold(at, |end, _| end + S::unit_length(&chunk[end..]));
            }
            WindowSize::Widest => self.tables.widest_window,
        };
        let end = (at + max_bytes).min(chunk.len());
        match S::floor_border(chunk, end) {
            // Malformed text: no character begins in the window.
            border if border <= at => end,
            border => border,
        }
    }

    /// Appends the ids of one window, which has at most [`MAX_KEY_BYTES`] bytes.
    fn encode_small_window(
        &mut self,
        chunk: &KeyedText<'_>,
        window: Range<usize>,
        out: &mut Vec<PieceId>,
    ) {
        let key = chunk.key(window.start, window.len());
        if let Some(key) = &key
            && self.state.windows.get(key, out)
        {
            return;
        }
        let start = out.len();
        // A window has at most 23 bytes, so it always fits.
        self.encode_short(&chunk.text()[window], out);
        if let Some(key) = &key {
            self.state.windows.insert(key, &out[start..]);
        }
    }

    /// Appends the ids of one window of any length.
    fn encode_large_window(&mut self, window: &[u8], out: &mut Vec<PieceId>) {
        if let Some(ids) = self.state.large_windows.get(window) {
            return out.extend_from_slice(ids);
        }
        let start = out.len();
        if !self.encode_short(window, out) {
            self.encode_by_heap(window, out);
        }
        self.state.large_windows.insert(window, &out[start..]);
    }

    /// Whether the ids of a window are known, and the first of them and the last committed id are a
    /// valid pair.
    fn joins_previous(&mut self, committed: Option<PieceId>, window: &[PieceId]) -> bool {
        if window.contains(&self.tables.unknown) {
            return false;
        }
        let (Some(left), Some(right)) = (committed, window.first()) else {
            return true;
        };
        let mut context = MergeContext {
            tables: self.tables,
            pairs: self.tables.pair_lookup(self.pieces, &mut self.state.pairs),
        };
        let cache = &mut self.state.token_pairs;
        is_valid_token_pair(left.get(), right.get(), cache, &mut context) == Some(true)
    }

    /// Removes the ids from `first` on whose texts end after `max_bytes`. Returns the bytes of the
    /// others.
    fn commit(&self, first: usize, max_bytes: usize, out: &mut Vec<PieceId>) -> usize {
        let mut bytes = 0;
        let mut count = 0;
        for id in &out[first..] {
            let end = bytes + self.piece_length(*id);
            if end > max_bytes {
                break;
            }
            bytes = end;
            count += 1;
        }
        out.truncate(first + count);
        bytes
    }
}
