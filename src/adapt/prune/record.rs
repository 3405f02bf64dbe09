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
//! Cost: two loads for each token, and a look at a set for pairs that were not seen lately. Memory: 8 to 16 bytes for each distinct pair; with more than [`MAX_PAIRS`] pairs
//! nothing is recorded, and the text has to be encoded again.

use std::collections::HashSet;

use rustc_hash::FxBuildHasher;

use crate::encode::vocabulary::Vocabulary;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::text::num::{GOLDEN_RATIO_64, high_u32, low_u32, low_usize};
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
    /// Some of the bits below.
    flags: u8,
    /// The first and the last byte.
    first: u8,
    last: u8,
}

/// No merge crosses the end of the token: a user-defined symbol, or no piece for text.
const ENDS_TEXT: u8 = 1;
/// No merge crosses the start of the token: as above, or it begins with a whitespace mark, which no piece has behind another
/// character.
const BEGINS_TEXT: u8 = 2;
/// The token ends with a whitespace mark, so that a mark at the start of the next one is no boundary.
const ENDS_WITH_MARK: u8 = 4;

impl PieceEnds {
    /// The ends of a token between two boundaries.
    const BOUNDARY: PieceEnds = PieceEnds {
        flags: ENDS_TEXT | BEGINS_TEXT,
        first: 0,
        last: 0,
    };

    /// The ends of a piece; `splits_at_marks` says whether no piece has a whitespace mark behind another character.
    fn of(piece: &crate::Piece<'_>, splits_at_marks: bool) -> PieceEnds {
        if piece.kind != PieceKind::Normal {
            return PieceEnds::BOUNDARY;
        }
        let mark = WHITESPACE_MARK_STR.as_bytes();
        let mut ends = PieceEnds {
            flags: 0,
            first: piece.text.first().copied().unwrap_or_default(),
            last: piece.text.last().copied().unwrap_or_default(),
        };
        if splits_at_marks && piece.text.starts_with(mark) {
            ends.flags |= BEGINS_TEXT;
        }
        if piece.text.ends_with(mark) {
            ends.flags |= ENDS_WITH_MARK;
        }
        ends
    }

    /// Whether no merge joins this token and the next one.
    #[inline]
    fn is_apart_from(self, next: PieceEnds) -> bool {
        let is_boundary = (self.flags | next.flags) & ENDS_TEXT != 0;
        let is_word = next.flags & BEGINS_TEXT != 0 && self.flags & ENDS_WITH_MARK == 0;
        is_boundary || is_word
    }
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

/// Where no merge joins two tokens of a BPE model, by id.
#[derive(Debug)]
pub(super) struct TokenEnds {
    ends: Vec<PieceEnds>,
}

impl TokenEnds {
    pub(super) fn of(model: &Model) -> TokenEnds {
        let splits_at_marks = !model.pieces().any(|piece| has_mark_inside(piece.text));
        let pieces = model.pieces();
        TokenEnds {
            ends: pieces
                .map(|piece| PieceEnds::of(&piece, splits_at_marks))
                .collect(),
        }
    }

    /// The ends of a token. The unknown id of a model without an unknown piece has none.
    #[inline]
    fn get(&self, id: PieceId) -> PieceEnds {
        let ends = self.ends.get(id.index());
        ends.copied().unwrap_or(PieceEnds::BOUNDARY)
    }

    /// The number of tokens before the first place between two tokens that no merge joins.
    pub(super) fn part_length(&self, ids: &[PieceId]) -> usize {
        let mut pairs = ids.windows(2);
        let cut = pairs.position(|pair| self.get(pair[0]).is_apart_from(self.get(pair[1])));
        cut.map_or(ids.len(), |before| before + 1)
    }
}

/// The ids of a pair.
pub(super) fn pair_ids(pair: TokenPairKey) -> [PieceId; 2] {
    [PieceId::new(high_u32(pair)), PieceId::new(low_u32(pair))]
}

/// Makes a [`TextRecord`].
#[derive(Debug)]
pub(super) struct TextRecorder {
    record: TextRecord,
    ends: TokenEnds,
    neighbours: AsciiNeighbours,
    /// The number of characters of each piece; 0 for pieces that stand for unknown text.
    char_counts: Vec<u32>,
    /// Pairs that were seen lately, by hash.
    recent: Vec<TokenPairKey>,
}

impl TextRecorder {
    /// A recorder that goes on with `record`, a record of this model.
    pub(super) fn new(model: &Model, record: TextRecord) -> TextRecorder {
        let is_bpe = matches!(record, TextRecord::Pairs(_));
        let char_count = |piece: crate::Piece<'_>| match piece.kind {
            PieceKind::Unknown | PieceKind::Byte => 0,
            _ => u32::try_from(characters(piece.text).count()).unwrap_or(u32::MAX),
        };
        let is_unigram = matches!(record, TextRecord::LongestLine(_));
        let pieces = || model.pieces();
        let ends = match is_bpe {
            true => TokenEnds::of(model),
            false => TokenEnds { ends: Vec::new() },
        };
        TextRecorder {
            ends,
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
        let mut left_ends = PieceEnds::BOUNDARY;
        let mut left = 0;
        for id in ids {
            let right = id.get();
            let right_ends = self.ends.get(*id);
            if !left_ends.is_apart_from(right_ends) {
                let key = u64::from(left) << 32 | u64::from(right);
                let slot = low_usize(key.wrapping_mul(GOLDEN_RATIO_64) >> (64 - RECENT_BITS));
                if self.recent[slot] != key {
                    self.recent[slot] = key;
                    self.insert(key, [left_ends.last, right_ends.first]);
                }
            }
            left = right;
            left_ends = right_ends;
        }
    }

    /// Records a pair of tokens that meet in these two bytes.
    #[inline(never)]
    fn insert(&mut self, key: TokenPairKey, [last, first]: [u8; 2]) {
        if self.neighbours.are_never_adjacent(last, first) {
            return;
        }
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
    // Most characters of pieces are ASCII characters, which need no lookup each time.
    let mut is_known_ascii = [false; 128];
    for (byte, is_known) in (0u8..).zip(&mut is_known_ascii) {
        *is_known = known.contains(&[byte][..]);
    }
    let is_known = |char: &[u8]| match char {
        [byte] if byte.is_ascii() => is_known_ascii[usize::from(*byte)],
        _ => known.contains(char),
    };
    vocabulary.unused_flags().is_empty() && texts().flat_map(characters).all(is_known)
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
