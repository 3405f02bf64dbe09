//! What a text has to be checked for after pruning, recorded while its pieces are counted.
//!
//! Input: the ids that the original model gives for each line. Output: a [`TextRecord`], from which
//! [`text_check`](super::text_check) follows that all lines have the same pieces in the pruned model, without encoding them
//! again.
//!
//! # BPE: adjacent tokens
//! The tokens of a line are the result of merging it if and only if each token is the result of merging its own text, and
//! each two neighbours are the result of merging their joined text (valid token pairs, lemma 5 in `docs/DESIGN.md`). So
//! the distinct pairs of neighbouring tokens are recorded. Pairs between which no model with these pieces can merge are
//! left out:
//!
//! - user-defined symbols, which are cut out of the text before;
//! - unknown characters and their bytes. They are recorded as boundaries, which needs a model in which each character of a
//!   piece for text is such a piece itself: then an unknown character occurs in no piece;
//! - a token that begins with a whitespace mark behind one that does not end with a mark, if no piece has a mark behind
//!   another character;
//! - two tokens that meet in two ASCII characters that are adjacent in no piece (a bigram boundary, lemma 4).
//!
//! Models with unused pieces, or with characters that are no pieces, are not recorded.
//!
//! # Unigram: long lines
//! Lines whose sums of scores stay below 100,000 in magnitude keep their pieces if these and the piece with the lowest score
//! stay (`docs/DESIGN.md`, changing trained models). So the largest number of characters in a line is recorded, which bounds all
//! sums of all lines.
//!
//! Example: the text `▁tokenizer ▁lower` with the tokens `▁token izer ▁lower`. The pair (`▁token`, `izer`) is recorded, and
//! (`izer`, `▁lower`) is not.
//!
//! Cost: one or two loads for each token. Memory: 8 to 16 bytes for each distinct pair; with more than [`MAX_PAIRS`] pairs
//! nothing is recorded, and the text has to be encoded again.

use std::collections::HashSet;

use rustc_hash::FxBuildHasher;

use crate::encode::vocabulary::Vocabulary;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::text::num::{low_usize, mix64};
use crate::text::{WHITESPACE_MARK_STR, char_length};

/// Pairs that are recorded at most.
const MAX_PAIRS: usize = 1 << 22;
/// Pairs seen lately, as a power of two.
const RECENT_BITS: u32 = 16;
/// No pair: both ids would be those of no piece.
const NO_PAIR: u64 = u64::MAX;

/// Two adjacent tokens: the left id in the upper half, the right one in the lower half.
pub(super) type TokenPairKey = u64;

/// What is known about the lines of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TextRecord {
    /// The lines have to be encoded again.
    Incomplete,
    /// The neighbouring tokens of all lines of a BPE model, as far as they matter.
    Pairs(HashSet<TokenPairKey, FxBuildHasher>),
    /// The largest number of characters of a normalized line of a unigram model, or more.
    LongestLine(u64),
}

impl TextRecord {
    /// The record of no line.
    pub(super) fn empty(model: &Model) -> TextRecord {
        match model.model_type() {
            ModelType::Bpe if has_known_characters(model) => TextRecord::Pairs(HashSet::default()),
            ModelType::Unigram => TextRecord::LongestLine(0),
            _ => TextRecord::Incomplete,
        }
    }

    /// Adds the lines of another record.
    pub(super) fn add(&mut self, other: &TextRecord) {
        match (&mut *self, other) {
            (TextRecord::Pairs(pairs), TextRecord::Pairs(others)) => {
                pairs.extend(others);
                if pairs.len() > MAX_PAIRS {
                    *self = TextRecord::Incomplete;
                }
            }
            (TextRecord::LongestLine(length), TextRecord::LongestLine(other)) => {
                *length = (*length).max(*other);
            }
            _ => *self = TextRecord::Incomplete,
        }
    }
}

/// What a piece does to the tokens beside it.
#[derive(Debug, Clone, Copy, Default)]
struct PieceEnds {
    /// No merge crosses its ends: a user-defined symbol, or no piece for text.
    is_boundary: bool,
    begins_with_mark: bool,
    ends_with_mark: bool,
    /// The first and the last byte.
    first: u8,
    last: u8,
}

/// The pairs of ASCII characters that are adjacent in some piece: for each left one a bit for each right one.
#[derive(Debug)]
struct AsciiNeighbours([u128; 128]);

impl AsciiNeighbours {
    fn of(model: &Model) -> AsciiNeighbours {
        let mut neighbours = AsciiNeighbours([0; 128]);
        for piece in model.pieces() {
            for pair in piece.text.windows(2) {
                if pair.iter().all(u8::is_ascii) {
                    neighbours.0[usize::from(pair[0])] |= 1 << pair[1];
                }
            }
        }
        neighbours
    }

    /// Whether these are two ASCII characters that are adjacent in no piece.
    #[inline]
    fn are_never_adjacent(&self, left: u8, right: u8) -> bool {
        match self.0.get(usize::from(left)) {
            Some(rights) if right.is_ascii() => rights >> right & 1 == 0,
            _ => false,
        }
    }
}

/// Makes a [`TextRecord`].
#[derive(Debug)]
pub(super) struct TextRecorder {
    record: TextRecord,
    /// By id.
    ends: Vec<PieceEnds>,
    /// Whether no piece has a whitespace mark behind another character.
    splits_at_marks: bool,
    neighbours: AsciiNeighbours,
    /// The number of characters of each piece; 0 for pieces that stand for unknown text.
    char_counts: Vec<u32>,
    /// Pairs that are recorded, by hash.
    recent: Vec<TokenPairKey>,
}

impl TextRecorder {
    /// A recorder that goes on with `record`, a record of this model.
    pub(super) fn new(model: &Model, record: TextRecord) -> TextRecorder {
        let is_bpe = matches!(record, TextRecord::Pairs(_));
        let mark = WHITESPACE_MARK_STR.as_bytes();
        let ends = |piece: crate::Piece<'_>| PieceEnds {
            is_boundary: piece.kind != PieceKind::Normal,
            begins_with_mark: piece.text.starts_with(mark),
            ends_with_mark: piece.text.ends_with(mark),
            first: piece.text.first().copied().unwrap_or_default(),
            last: piece.text.last().copied().unwrap_or_default(),
        };
        let char_count = |piece: crate::Piece<'_>| match piece.kind {
            PieceKind::Unknown | PieceKind::Byte => 0,
            _ => u32::try_from(characters(piece.text).count()).unwrap_or(u32::MAX),
        };
        let is_unigram = matches!(record, TextRecord::LongestLine(_));
        let pieces = || model.pieces();
        TextRecorder {
            ends: pieces().filter(|_| is_bpe).map(ends).collect(),
            splits_at_marks: is_bpe && !pieces().any(|piece| has_mark_inside(piece.text)),
            neighbours: AsciiNeighbours::of(model),
            char_counts: pieces().filter(|_| is_unigram).map(char_count).collect(),
            recent: vec![NO_PAIR; if is_bpe { 1 << RECENT_BITS } else { 0 }],
            record,
        }
    }

    /// Adds the ids of a line. Returns false if the length of the normalized line is needed in addition.
    #[must_use]
    pub(super) fn add(&mut self, ids: &[PieceId]) -> bool {
        match &self.record {
            TextRecord::Pairs(_) => self.add_pairs(ids),
            TextRecord::LongestLine(_) => return self.add_length(ids),
            TextRecord::Incomplete => {}
        }
        true
    }

    /// Adds a line with so many characters at most.
    pub(super) fn add_characters(&mut self, count: u64) {
        if let TextRecord::LongestLine(longest) = &mut self.record {
            *longest = count.max(*longest);
        }
    }

    pub(super) fn finish(self) -> TextRecord {
        self.record
    }

    fn add_pairs(&mut self, ids: &[PieceId]) {
        for pair in ids.windows(2) {
            let [left, right] = [pair[0], pair[1]].map(|id| self.ends.get(id.index()));
            let (Some(left), Some(right)) = (left, right) else {
                // The unknown id of a model without an unknown piece.
                continue;
            };
            let is_split = self.splits_at_marks && right.begins_with_mark && !left.ends_with_mark;
            let is_apart = self.neighbours.are_never_adjacent(left.last, right.first);
            if is_split || is_apart || left.is_boundary || right.is_boundary {
                continue;
            }
            let key = u64::from(pair[0].get()) << 32 | u64::from(pair[1].get());
            let slot = low_usize(mix64(key) >> (64 - RECENT_BITS));
            if self.recent[slot] != key {
                self.recent[slot] = key;
                self.insert(key);
            }
        }
    }

    #[cold]
    fn insert(&mut self, key: TokenPairKey) {
        if let TextRecord::Pairs(pairs) = &mut self.record {
            pairs.insert(key);
            if pairs.len() > MAX_PAIRS {
                self.record = TextRecord::Incomplete;
            }
        }
    }

    fn add_length(&mut self, ids: &[PieceId]) -> bool {
        let mut sum = 0;
        for id in ids {
            match self.char_counts.get(id.index()) {
                None | Some(0) => return false,
                Some(count) => sum += u64::from(*count),
            }
        }
        self.add_characters(sum);
        true
    }
}

/// Whether each character of each piece for text is a piece for text, and no piece is unused.
fn has_known_characters(model: &Model) -> bool {
    let vocabulary = Vocabulary::new(model, true);
    let texts = || {
        let ids = 0..vocabulary.len();
        ids.filter(|id| vocabulary.is_from_text(*id))
            .map(|id| vocabulary.text(id))
    };
    let is_char = |text: &&[u8]| char_length(text) == text.len();
    let known: HashSet<&[u8], FxBuildHasher> = texts().filter(is_char).collect();
    vocabulary.unused_flags().is_empty()
        && texts()
            .flat_map(characters)
            .all(|char| known.contains(char))
}

/// The characters of a text.
fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (first, others) = rest.split_at_checked(char_length(rest))?;
        rest = others;
        (!first.is_empty()).then_some(first)
    })
}

/// Whether a text has a whitespace mark behind another character.
fn has_mark_inside(text: &[u8]) -> bool {
    let mark = WHITESPACE_MARK_STR.as_bytes();
    memchr::memmem::find_iter(text, mark).any(|at| at > 0 && !text[..at].ends_with(mark))
}
