//! Merges and characters -> the pieces of the model, in the order of their ids.
//!
//! In: meta pieces with ids, and the texts of the learned pieces, best first. Out: the table of pieces.
//!
//! Meta pieces have their ids already; the learned pieces fill the ids between and after them. The scores of these are
//! 0, -1, -2, ... in 32-bit floats; the first is a negated zero, as in the reference.
//!
//! For example, the meta pieces `<unk>` (id 0) and `<s>` (id 2) and the learned pieces `ab`, `a`, `b`:
//!
//! | id | 0 | 1 | 2 | 3 | 4 |
//! |---|---|---|---|---|---|
//! | piece | `<unk>` | `ab` | `<s>` | `a` | `b` |
//! | score | 0 | -0 | 0 | -1 | -2 |
//!
//! A meta piece with an id that the learned pieces do not reach (`<pad>` with id 9 here) is an error.
//!
//! Cost: linear in the text of the pieces.

use std::collections::HashSet;

use crate::error::TrainError;
use crate::piece::{PieceKind, PieceTable};
use crate::train::alphabet::Alphabet;
use crate::train::bpe::merge::LearnedMerge;
use crate::train::meta::MetaPieces;
use crate::train::options::TrainOptions;

/// The texts that follow the meta pieces if coverage chose the characters: merges, then characters.
pub(crate) fn learned_texts(merges: Vec<LearnedMerge>, alphabet: &Alphabet) -> Vec<Box<str>> {
    let characters = alphabet
        .characters
        .iter()
        .map(|(c, _)| c.to_string().into_boxed_str());
    merges
        .into_iter()
        .map(|merge| merge.text)
        .chain(characters)
        .collect()
}

/// The score of the learned piece number `index`.
#[allow(clippy::cast_precision_loss)]
fn score(index: usize) -> f32 {
    -(index as f32)
}

/// All pieces of the model.
///
/// # Errors
/// Fewer pieces than `vocab_size` with `hard_vocab_limit`, two pieces of one text, a meta piece with an id that the
/// learned pieces do not reach.
pub(crate) fn assemble(
    meta: &MetaPieces,
    learned: &[Box<str>],
    options: &TrainOptions,
) -> Result<PieceTable, TrainError> {
    let vocab_size = options.vocab_size as usize;
    let mut pieces = PieceTable::default();
    let mut texts: HashSet<&str> = HashSet::new();
    let mut learned = learned.iter().enumerate();
    for id in 0..vocab_size {
        let next_learned = || {
            learned
                .next()
                .map(|(index, text)| learned_piece(index, text))
        };
        let piece = meta_piece(meta, id).or_else(next_learned);
        let Some(NewPiece { text, score, kind }) = piece else {
            // No piece is available for this id, so that no higher id can be reached.
            check_reachable(meta, id, pieces.len())?;
            break;
        };
        if !texts.insert(text) {
            return Err(TrainError::DuplicatePiece {
                piece: text.to_owned(),
            });
        }
        pieces.push(text.as_bytes(), score, kind);
    }
    if options.hard_vocab_limit && pieces.len() < vocab_size {
        return Err(TrainError::VocabularyTooLarge {
            vocab_size,
            largest: pieces.len(),
        });
    }
    Ok(pieces)
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

/// The learned piece number `index`.
fn learned_piece(index: usize, text: &str) -> NewPiece<'_> {
    NewPiece {
        text,
        score: score(index),
        kind: PieceKind::Normal,
    }
}

/// Fails if a meta piece has an id of `end` or more.
fn check_reachable(meta: &MetaPieces, end: usize, pieces: usize) -> Result<(), TrainError> {
    match meta.next_from(end) {
        None => Ok(()),
        Some((id, text)) => Err(TrainError::UnreachableId {
            piece: text.to_owned(),
            id,
            pieces,
        }),
    }
}
