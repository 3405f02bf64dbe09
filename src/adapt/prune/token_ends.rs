//! Where no merge joins two tokens of a BPE model.
//!
//! Input: a model in which each character of a piece for text is such a piece itself, and the ids
//! of a line. Output: the length of the first part: no merge joins its tokens with those behind it,
//! neither in this model nor in one with fewer pieces.
//!
//! A part ends
//!
//! - before and behind a user-defined symbol, which is cut out of the text before merging;
//! - before and behind an unknown character and its bytes: it occurs in no piece, since the
//!   characters of pieces are pieces;
//! - before a token that begins with a whitespace mark, behind one that does not end with a mark,
//!   if no piece has a mark behind another character.
//!
//! Example: the tokens `▁token izer ▁lower` are the parts `▁token izer` and `▁lower`.
//!
//! Cost: a load for each token.

use std::collections::HashSet;

use memchr::memmem;
use rustc_hash::FxBuildHasher;

use crate::encode::vocabulary::Vocabulary;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::text::{WHITESPACE_MARK_STR, char_length, is_char};

const MARK: &[u8] = WHITESPACE_MARK_STR.as_bytes();

/// What a piece does to the tokens beside it.
#[derive(Debug, Clone, Copy, Default)]
struct PieceEnds {
    /// Some of the bits below.
    flags: u8,
}

/// No merge crosses the end of the token: a user-defined symbol, or no piece for text.
const ENDS_TEXT: u8 = 1;
/// No merge crosses the start of the token: as above, or it begins with a whitespace mark, which no
/// piece has behind another character.
const BEGINS_TEXT: u8 = 2;
/// The token ends with a whitespace mark, so that a mark at the start of the next one is no
/// boundary.
const ENDS_WITH_MARK: u8 = 4;

impl PieceEnds {
    /// The ends of a token between two boundaries.
    const BOUNDARY: Self = Self {
        flags: ENDS_TEXT | BEGINS_TEXT,
    };

    /// The ends of a piece; `splits_at_marks` says whether no piece has a whitespace mark behind
    /// another character.
    fn of(piece: &Piece<'_>, splits_at_marks: bool) -> Self {
        if piece.kind != PieceKind::Normal {
            return Self::BOUNDARY;
        }
        let mut ends = Self::default();
        if splits_at_marks && piece.text.starts_with(MARK) {
            ends.flags |= BEGINS_TEXT;
        }
        if piece.text.ends_with(MARK) {
            ends.flags |= ENDS_WITH_MARK;
        }
        ends
    }

    /// Whether no merge joins this token and the next one.
    #[inline]
    fn is_apart_from(self, next: Self) -> bool {
        let is_boundary = (self.flags | next.flags) & ENDS_TEXT != 0;
        let is_word = next.flags & BEGINS_TEXT != 0 && self.flags & ENDS_WITH_MARK == 0;
        is_boundary || is_word
    }
}

/// Where no merge joins two tokens of a BPE model, by id.
#[derive(Debug)]
pub(super) struct TokenEnds {
    ends: Vec<PieceEnds>,
}

impl TokenEnds {
    /// `None` if a character of a piece for text is no such piece, or pieces are unused.
    pub(super) fn of(model: &Model) -> Option<Self> {
        if !has_known_characters(model) {
            return None;
        }
        let splits_at_marks = !model.pieces().any(|piece| has_mark_inside(piece.text));
        let pieces = model.pieces();
        let ends = pieces.map(|piece| PieceEnds::of(&piece, splits_at_marks));
        Some(Self {
            ends: ends.collect(),
        })
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

/// Whether each character of each piece for text is a piece for text, and no piece is unused.
fn has_known_characters(model: &Model) -> bool {
    let vocabulary = Vocabulary::new(model, true);
    let texts = || {
        let ids = 0..vocabulary.len();
        ids.filter(|id| vocabulary.is_from_text(*id))
            .map(|id| vocabulary.text(id))
    };
    let known: HashSet<&[u8], FxBuildHasher> = texts().filter(|text| is_char(text)).collect();
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
    memmem::find_iter(text, MARK).any(|at| at > 0 && !text[..at].ends_with(MARK))
}
