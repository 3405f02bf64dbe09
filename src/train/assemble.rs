//! Learned pieces and meta pieces -> the pieces of the model, in the order of their ids.
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

use foldhash::fast::RandomState;
use hashbrown::HashSet;

use crate::base::num::count_to_f32;
use crate::piece::{PieceKind, PieceTable};
use crate::train::TrainError;
use crate::train::alphabet::Alphabet;
use crate::train::bpe::merge::LearnedMerge;
use crate::train::meta_pieces::MetaPieces;

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

/// A learned piece of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LearnedPiece {
    pub(crate) text: Box<str>,
    pub(crate) score: f32,
}

/// The pieces of a BPE model, best first: their scores are 0, -1, -2, ...
pub(crate) fn bpe_pieces(texts: Vec<Box<str>>) -> Vec<LearnedPiece> {
    let scores = (0..).map(|index| -count_to_f32(index));
    let pieces = texts.into_iter().zip(scores);
    pieces
        .map(|(text, score)| LearnedPiece { text, score })
        .collect()
}

/// The texts of the learned pieces if coverage chose the characters: merges, then characters.
pub(crate) fn learned_texts(merges: Vec<LearnedMerge>, alphabet: &Alphabet) -> Vec<Box<str>> {
    let characters = alphabet.characters.iter();
    let characters = characters.map(|(c, _)| c.to_string().into_boxed_str());
    let merges = merges.into_iter().map(|merge| merge.to_text().into());
    merges.chain(characters).collect()
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
        let (text, score, kind) = if let Some((text, kind)) = meta.get(id) {
            (text, 0.0, kind)
        } else if let Some(piece) = learned.next() {
            (piece.text.as_ref(), piece.score, PieceKind::Normal)
        } else {
            // No piece is available for this id, so no higher id can be reached.
            match meta.next_from(id).filter(|(id, _)| *id < limit.size) {
                None => break,
                Some((id, text)) => return Err(unreachable_id(id, text, pieces.len())),
            }
        };
        if !texts.insert(text) {
            return Err(TrainError::DuplicatePiece {
                piece: text.to_owned(),
            });
        }
        pieces.push(text.as_bytes(), score, kind);
    }
    // With `use_all_vocab` there can be so few pieces that the unknown piece is not among them.
    // Without byte pieces, such a model could not be loaded.
    if let Some((id, text)) = meta.unknown()
        && id >= pieces.len()
        && !meta.has_bytes()
    {
        return Err(unreachable_id(id, text, pieces.len()));
    }
    if limit.is_hard && pieces.len() < limit.size {
        return Err(TrainError::VocabularyTooLarge {
            vocab_size: limit.size,
            largest: pieces.len(),
            too_long: limit.too_long,
        });
    }
    Ok(pieces)
}

fn unreachable_id(id: usize, text: &str, pieces: usize) -> TrainError {
    TrainError::UnreachableId {
        piece: text.to_owned(),
        id,
        pieces,
    }
}
