//! Learned pieces and meta pieces -> the pieces of the model, in the order of their ids.
//!
//! In: meta pieces with ids, and the learned pieces, best first. Out: the table of pieces.
//!
//! Meta pieces have their ids already; the learned pieces fill the ids between and after them. The
//! scores of the learned pieces of a BPE model are 0, -1, -2, ... in 32-bit floats; the first is a
//! negated zero, as in the reference.
//!
//! For example, the meta pieces `<unk>` (id 0) and `<s>` (id 2) and the learned pieces `ab`, `a`,
//! `b`:
//!
//! | id | 0 | 1 | 2 | 3 | 4 |
//! |---|---|---|---|---|---|
//! | piece | `<unk>` | `ab` | `<s>` | `a` | `b` |
//! | score | 0 | -0 | 0 | -1 | -2 |
//!
//! A meta piece whose id is too high for the number of learned pieces (`<pad>` with id 9 here) is
//! an error.
//!
//! Cost: linear in the text of the pieces.

use std::ops::Range;

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::error::TrainError;
use crate::piece::{PieceKind, PieceTable};
use crate::text::num::count_to_f32;
use crate::train::alphabet::Alphabet;
use crate::train::bpe::merge::LearnedMerge;
use crate::train::meta::MetaPieces;

/// How many pieces the vocabulary has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct VocabularyLimit {
    /// The number of pieces of all kinds.
    pub(crate) size: usize,
    /// Whether fewer pieces are an error.
    pub(crate) is_hard: bool,
    /// Sentences that were skipped because of their length, for the error.
    pub(crate) too_long: u64,
}

impl VocabularyLimit {
    /// Fails if there are too few pieces.
    fn check(self, pieces: usize) -> Result<(), TrainError> {
        if self.is_hard && pieces < self.size {
            return Err(self.too_large(pieces));
        }
        Ok(())
    }

    fn too_large(self, largest: usize) -> TrainError {
        TrainError::VocabularyTooLarge {
            vocab_size: self.size,
            largest,
            too_long: self.too_long,
        }
    }
}

/// A learned piece of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LearnedPiece {
    pub(crate) text: Box<str>,
    pub(crate) score: f32,
}

/// The pieces of a BPE model, best first.
pub(crate) fn bpe_pieces(texts: Vec<Box<str>>) -> Vec<LearnedPiece> {
    texts.into_iter().enumerate().map(bpe_piece).collect()
}

fn bpe_piece((index, text): (usize, Box<str>)) -> LearnedPiece {
    let score = score(index);
    LearnedPiece { text, score }
}

/// The texts of the learned pieces if coverage chose the characters: merges, then characters.
pub(crate) fn learned_texts(merges: Vec<LearnedMerge>, alphabet: &Alphabet) -> Vec<Box<str>> {
    let characters = alphabet
        .characters
        .iter()
        .map(|(c, _)| c.to_string().into_boxed_str());
    merges
        .into_iter()
        .map(|merge| merge.to_text().into())
        .chain(characters)
        .collect()
}

/// The score of the learned piece number `index`.
fn score(index: usize) -> f32 {
    -count_to_f32(index as u64)
}

/// All pieces of the model.
///
/// # Errors
/// Fewer pieces than the vocabulary size if that is a hard limit; two pieces with the same text; a
/// meta piece that is below the limit, or is the unknown piece, but whose id is too high for the
/// number of learned pieces.
pub(crate) fn assemble(
    meta: &MetaPieces,
    learned: &[LearnedPiece],
    limit: VocabularyLimit,
) -> Result<PieceTable, TrainError> {
    let mut pieces = PieceTable::default();
    let mut texts: HashSet<&str, RandomState> = HashSet::default();
    let mut learned = learned.iter();
    for id in 0..limit.size {
        let next_learned = || learned.next().map(learned_piece);
        let piece = meta_piece(meta, id).or_else(next_learned);
        let Some(NewPiece { text, score, kind }) = piece else {
            // No piece is available for this id, so no higher id can be reached.
            check_reachable(meta, id..limit.size, pieces.len())?;
            break;
        };
        if !texts.insert(text) {
            return Err(duplicate_piece(text));
        }
        pieces.push(text.as_bytes(), score, kind);
    }
    check_unknown(meta, pieces.len())?;
    limit.check(pieces.len())?;
    Ok(pieces)
}

fn duplicate_piece(text: &str) -> TrainError {
    let piece = text.to_owned();
    TrainError::DuplicatePiece { piece }
}

/// A piece of the model to be added to the table.
struct NewPiece<'t> {
    text: &'t str,
    score: f32,
    kind: PieceKind,
}

/// The meta piece with this id, if there is one.
fn meta_piece(meta: &MetaPieces, id: usize) -> Option<NewPiece<'_>> {
    let (text, kind) = meta.get(id)?;
    let score = 0.0;
    Some(NewPiece { text, score, kind })
}

/// A learned piece as a piece to be added.
fn learned_piece(learned: &LearnedPiece) -> NewPiece<'_> {
    NewPiece {
        text: &learned.text,
        score: learned.score,
        kind: PieceKind::Normal,
    }
}

/// Fails if the id of the unknown piece is beyond the last piece and there are no byte pieces: the
/// model could not be loaded. With `use_all_vocab` there can be this few pieces.
fn check_unknown(meta: &MetaPieces, pieces: usize) -> Result<(), TrainError> {
    match meta.unknown() {
        Some((id, text)) if id >= pieces && !meta.has_bytes() => {
            Err(unreachable_id(id, text, pieces))
        }
        _ => Ok(()),
    }
}

/// Fails if a meta piece has one of these ids.
fn check_reachable(meta: &MetaPieces, ids: Range<usize>, pieces: usize) -> Result<(), TrainError> {
    let next = meta.next_from(ids.start).filter(|(id, _)| ids.contains(id));
    match next {
        None => Ok(()),
        Some((id, text)) => Err(unreachable_id(id, text, pieces)),
    }
}

fn unreachable_id(id: usize, text: &str, pieces: usize) -> TrainError {
    TrainError::UnreachableId {
        piece: text.to_owned(),
        id,
        pieces,
    }
}
