//! What a text has to be checked for after pruning, recorded while its pieces are counted.
//!
//! Input: the ids that the original model gives for each line. Output: a [`TextRecord`], from which
//! [`text_check`](super::text_check) follows that all lines have the same pieces in the pruned
//! model, without encoding them again.
//!
//! - BPE: the given pieces suffice, which are counted anyway. Models with unused pieces are not
//!   recorded, since a given piece of theirs can be a part of a made one.
//! - Unigram: lines whose sums of scores stay below 100,000 in magnitude keep their pieces if these
//!   and the piece with the lowest score stay (`docs/DESIGN.md`, changing trained models). So the
//!   largest number of characters in a line is recorded, which bounds all sums of all lines.
//!
//! Example: a unigram model gives `▁token izer` for the first line and `▁low` for the second one.
//! The record is 10 characters.
//!
//! Cost: nothing for BPE; an addition for each token of unigram models.

use crate::adapt::pieces::has_unused_pieces;
use crate::model::{Model, ModelType, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::text::char_length;

/// What is known about the lines of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextRecord {
    /// The lines have to be encoded again.
    Incomplete,
    /// All that the merges of a BPE model make follows from the given pieces.
    GivenPieces,
    /// The largest number of characters of a normalized line of a unigram model, or more.
    LongestLine(u64),
}

impl TextRecord {
    /// The record of no line.
    pub(super) fn empty(model: &Model) -> Self {
        match model.model_type() {
            ModelType::Bpe if !has_unused_pieces(model) => Self::GivenPieces,
            ModelType::Unigram => Self::LongestLine(0),
            _ => Self::Incomplete,
        }
    }

    /// Adds the lines of another record.
    pub(super) fn add(&mut self, other: &Self) {
        match (&mut *self, other) {
            (Self::GivenPieces, Self::GivenPieces) => {}
            (Self::LongestLine(length), Self::LongestLine(other)) => {
                *length = (*length).max(*other);
            }
            _ => *self = Self::Incomplete,
        }
    }
}

/// Makes a [`TextRecord`].
#[derive(Debug)]
pub(super) struct TextRecorder {
    record: TextRecord,
    /// The number of characters of each piece of a unigram model; 0 for pieces that stand for
    /// unknown text.
    char_counts: Vec<u32>,
}

impl TextRecorder {
    /// A recorder that goes on with `record`, a record of this model.
    pub(super) fn new(model: &Model, record: TextRecord) -> Self {
        let is_unigram = matches!(record, TextRecord::LongestLine(_));
        let pieces = model.pieces().filter(|_| is_unigram);
        Self {
            char_counts: pieces.map(char_count).collect(),
            record,
        }
    }

    /// Adds the ids of a line. Returns false if the length of the normalized line is needed in
    /// addition.
    #[must_use]
    pub(super) fn add(&mut self, ids: &[PieceId]) -> bool {
        match &mut self.record {
            TextRecord::LongestLine(longest) => match sum_characters(&self.char_counts, ids) {
                Some(count) => *longest = count.max(*longest),
                None => return false,
            },
            TextRecord::GivenPieces | TextRecord::Incomplete => {}
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
}

/// The number of characters of a piece; 0 if it stands for unknown text.
fn char_count(piece: Piece<'_>) -> u32 {
    match piece.kind {
        PieceKind::Unknown | PieceKind::Byte => 0,
        _ => u32::try_from(count_characters(piece.text)).unwrap_or(u32::MAX),
    }
}

/// The number of characters of a line; `None` if it has unknown text.
fn sum_characters(char_counts: &[u32], ids: &[PieceId]) -> Option<u64> {
    let mut sum = 0;
    for id in ids {
        match char_counts.get(id.index()) {
            None | Some(0) => return None,
            Some(count) => sum += u64::from(*count),
        }
    }
    Some(sum)
}

/// The number of characters of a text.
fn count_characters(text: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = text;
    while !rest.is_empty() {
        let (_, others) = rest.split_at(char_length(rest).clamp(1, rest.len()));
        rest = others;
        count += 1;
    }
    count
}
