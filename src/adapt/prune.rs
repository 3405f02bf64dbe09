//! Pruning: a model with fewer pieces.
//!
//! Always kept: control, unknown and byte pieces, user-defined symbols; unless told otherwise,
//! pieces of one character; in unigram models the piece with the lowest score, on which the score
//! of unknown characters depends. The order of the pieces, their scores and all other bytes of the
//! file stay; special ids in the trainer spec follow.
//!
//! | target | pieces kept | texts with unchanged ids (up to the new numbers) |
//! |---|---|---|
//! | [`PruneGoal::Used`] | BPE: those that the text gives, and those of which they are made, down to characters; unigram: those that the text gives | all lines of the text |
//! | [`PruneGoal::UsedWithTail`] (BPE) | the same; pieces that are only made, and never given, become unused and get the highest ids | all lines of the text |
//! | [`PruneGoal::Size`] | see `leaves` | those whose merges use kept pieces only |
//!
//! Why the lines of the text keep their ids. BPE: compare the merges of a line with all pieces and
//! with the kept ones. Both begin with the same characters. While they have the same symbols, the
//! pairs that merge to kept pieces are a part of all pairs that merge. The best pair of all pairs
//! makes a piece that is made on this text, which was kept; so it is the best of the part, too, and
//! both execute it. At the end no pair merges, so none of the part does. All tokens were kept.
//! Unigram: the best path of a line and each of its prefixes use kept pieces only. With fewer
//! candidates the sums of all other paths stay or fall, and ties are decided in the same order.
//! This holds while the sums of scores stay below 100,000 in magnitude; above, the encoder
//! subtracts a constant from all sums, at a place that depends on all candidates. Tests check all
//! of this (`tests/it/hostile/guarantees.rs`); [`LineComparison`](crate::adapt::LineComparison)
//! compares lines.
//!
//! Why no kept piece becomes unreachable (BPE): the merges within the span of a token are those of
//! its own text, which are all kept. Unigram: removing candidates makes no other path better.
//!
//! The tail: unused pieces merge, and are split again into the halves from which they were made. So
//! no text gives an id of the tail (up to 100 levels of splitting), and embedding tables need rows
//! for the ids before the tail only. Programs other than SentencePiece and spiece do not split
//! unused pieces.
//!
//! Example: the pieces `ab` `abc` `abcd` `de` and the characters; the text gives `abcd` and `x`
//! only. `Used` keeps `abcd`, the pieces of which it is made (`abc`, `ab`, `a`, `b`, `c`, `d`) and
//! `x`. With the tail, `abcd`, `x` and the characters come first, `ab` and `abc` are unused and
//! last: the text `abc` is then given as `a`, `b`, `c`.

mod bytes;
mod kept;
mod leaves;
mod usage;

pub use self::bytes::PrunedBytes;
use self::kept::KeptPieces;
pub use self::usage::{PieceUsage, UsageCounter};
use super::id_map::IdMap;
use super::pieces::pieces_of_kind;
use crate::adapt::error::PruneError;
use crate::base::is_char;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};

/// Which pieces remain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PruneGoal {
    /// The pieces that the text uses.
    Used,
    /// The same, for BPE models only; pieces that merges make but the text never gives become
    /// unused pieces after all others.
    UsedWithTail,
    /// This many pieces, chosen by their counts in the text; without text, the highest ids
    /// (unigram: the lowest scores) are removed first.
    Size(usize),
}

/// Options of [`Model::prune`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct PruneOptions {
    /// Which pieces remain.
    pub target: PruneGoal,
    /// Whether all pieces of one character remain. Without them, characters that the text does not
    /// have become unknown, or their bytes.
    pub keep_chars: bool,
}

impl PruneOptions {
    /// Options that keep all pieces of one character.
    pub fn new(target: PruneGoal) -> Self {
        Self {
            target,
            keep_chars: true,
        }
    }

    /// Whether a piece is always kept, whatever its score.
    fn is_fixed(&self, piece: Piece<'_>) -> bool {
        match piece.kind {
            PieceKind::Normal => self.keep_chars && is_char(piece.text),
            kind => !is_removable(kind),
        }
    }
}

/// A model after [`Model::prune`].
#[derive(Debug, Clone)]
pub struct PrunedModel {
    model: Model,
    ids: IdMap,
    tail: usize,
    removed_chars: usize,
}

impl Model {
    /// Removes pieces that a text does not need, or the rarest ones; see [`PruneGoal`].
    ///
    /// ```
    /// use spiece::adapt::{PruneGoal, PruneOptions, UsageCounter};
    /// use spiece::{Model, Tokenizer};
    ///
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let tokenizer = Tokenizer::new(model.clone());
    /// let mut counter = UsageCounter::new(&tokenizer)?;
    /// counter.add("the right to life");
    /// let pruned = model.prune(&counter.finish(), &PruneOptions::new(PruneGoal::Used))?;
    /// assert!(pruned.model().len() < 2400);
    /// let new_ids = Tokenizer::new(pruned.model().clone()).encode("the right to life");
    /// let old_ids = new_ids.iter().filter_map(|id| pruned.ids().old_id(*id));
    /// assert!(old_ids.eq(tokenizer.encode("the right to life")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The model is a word or char model, the target does not suit the type, or the size is smaller
    /// than what is always kept.
    pub fn prune(
        &self,
        usage: &PieceUsage,
        options: &PruneOptions,
    ) -> Result<PrunedModel, PruneError> {
        if usage.len() != self.len() {
            return Err(PruneError::OtherModel);
        }
        build(self, &KeptPieces::new(self, usage, options)?)
    }
}

/// The model with the kept pieces.
fn build(original: &Model, kept: &KeptPieces) -> Result<PrunedModel, PruneError> {
    let (tail, front): (Vec<_>, Vec<_>) = kept.ids().partition(|id| kept.is_tail(*id));
    let order = [&front[..], &tail].concat();
    let mut editor = original.edit();
    editor.select_pieces(&order);
    for index in front.len()..order.len() {
        editor.set_kind(PieceId::from_index(index), PieceKind::Unused);
    }
    let chars = pieces_of_kind(original, PieceKind::Normal).filter(|piece| is_char(piece.text));
    let removed_chars = chars.filter(|piece| !kept.has(piece.id));
    Ok(PrunedModel {
        model: editor.finish()?,
        ids: IdMap::from_old_ids(original.len(), order.into_iter().map(Some).collect()),
        tail: tail.len(),
        removed_chars: removed_chars.count(),
    })
}

impl PrunedModel {
    /// The pruned model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How old and new ids correspond.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// The number of ids that text can give: all pieces before the unused tail.
    pub fn rows(&self) -> usize {
        self.model.len() - self.tail
    }

    /// The number of unused pieces after all others, which [`PruneGoal::UsedWithTail`] makes.
    pub fn tail(&self) -> usize {
        self.tail
    }

    /// The number of pieces of one character that were removed; such characters become unknown, or
    /// their bytes.
    pub fn removed_chars(&self) -> usize {
        self.removed_chars
    }
}

/// Whether pruning may remove pieces of this kind.
fn is_removable(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::Normal | PieceKind::Unused)
}

#[cfg(test)]
mod tests;
