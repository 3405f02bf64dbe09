//! Which pieces remain in a pruned model.
//!
//! See the table of the [module page](super). Example: the BPE pieces `ab` `abc` and the
//! characters; the text gives `abc`. All remain, and `ab` is the tail.

use super::leaves::{self, HalvesFinder};
use super::usage::PieceUsage;
use super::{PruneGoal, PruneOptions};
use crate::adapt::error::PruneError;
use crate::adapt::pieces::pieces_of_kind;
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};

/// Which pieces remain, and which of them make the tail.
pub(super) struct KeptPieces {
    pub(super) keep: Vec<bool>,
    /// Empty if there is no tail.
    pub(super) is_tail: Vec<bool>,
}

impl KeptPieces {
    /// The pieces that remain.
    ///
    /// # Errors
    /// The model is a word or char model, the target does not suit the type, or the size is smaller
    /// than what is always kept.
    pub(super) fn new(
        model: &Model,
        usage: &PieceUsage,
        options: &PruneOptions,
    ) -> Result<Self, PruneError> {
        let kept = match model.model_type() {
            ModelType::Bpe => kept_bpe(model, usage, options)?,
            ModelType::Unigram => kept_unigram(model, usage, options)?,
            model_type => return Err(PruneError::Type { model_type }),
        };
        let smallest = kept.ids().count();
        match options.target {
            PruneGoal::Size(size) if smallest > size => Err(PruneError::TooSmall {
                size,
                smallest,
                keeps_chars: options.keep_chars,
            }),
            _ => Ok(kept),
        }
    }

    fn without_tail(keep: Vec<bool>) -> Self {
        Self {
            keep,
            is_tail: Vec::new(),
        }
    }

    /// Whether a piece remains.
    pub(super) fn has(&self, id: PieceId) -> bool {
        self.keep[id.index()]
    }

    /// Whether a piece becomes an unused one after all others.
    pub(super) fn is_tail(&self, id: PieceId) -> bool {
        let is_tail = self.is_tail.get(id.index());
        is_tail.copied().unwrap_or(false)
    }

    /// The old ids of the pieces that remain.
    pub(super) fn ids(&self) -> impl Iterator<Item = PieceId> {
        let all = (0..self.keep.len()).map(PieceId::from_index);
        all.filter(|id| self.has(*id))
    }
}

/// The pieces that are always kept.
fn fixed(model: &Model, options: &PruneOptions) -> Vec<bool> {
    let pieces = model.pieces();
    let mut fixed: Vec<bool> = pieces.map(|piece| options.is_fixed(piece)).collect();
    let lowest_of = |kind| {
        let pieces = pieces_of_kind(model, kind);
        pieces.min_by(|a, b| a.score.total_cmp(&b.score))
    };
    // The score of unknown characters depends on the normal piece with the lowest score. A unigram
    // model without normal pieces must keep another piece for text, so it is an unused one then.
    let lowest = || lowest_of(PieceKind::Normal).or_else(|| lowest_of(PieceKind::Unused));
    if model.model_type() == ModelType::Unigram
        && let Some(lowest) = lowest()
    {
        fixed[lowest.id.index()] = true;
    }
    fixed
}

fn kept_bpe(
    model: &Model,
    usage: &PieceUsage,
    options: &PruneOptions,
) -> Result<KeptPieces, PruneError> {
    let fixed = fixed(model, options);
    let finder = HalvesFinder::new(model)?;
    if let PruneGoal::Size(size) = options.target {
        let halves: Vec<_> = (0..model.len()).map(|index| finder.halves(index)).collect();
        let mut keep = vec![true; model.len()];
        leaves::remove_leaves(&mut keep, size, &fixed, &halves, usage);
        return Ok(KeptPieces::without_tail(keep));
    }
    let mut keep = with_used(&fixed, usage);
    leaves::close(&mut keep, |index| finder.halves(index));
    let mut kept = KeptPieces::without_tail(keep);
    if options.target == PruneGoal::UsedWithTail {
        // What is kept only because other pieces are made of it.
        let is_only_made =
            |index: usize| kept.keep[index] && !fixed[index] && usage.count_at(index) == 0;
        kept.is_tail = (0..fixed.len()).map(is_only_made).collect();
    }
    Ok(kept)
}

/// By id, whether a piece is fixed or used.
fn with_used(fixed: &[bool], usage: &PieceUsage) -> Vec<bool> {
    (0..fixed.len())
        .map(|index| fixed[index] || usage.is_used(index))
        .collect()
}

fn kept_unigram(
    model: &Model,
    usage: &PieceUsage,
    options: &PruneOptions,
) -> Result<KeptPieces, PruneError> {
    let fixed = fixed(model, options);
    let keep = match options.target {
        PruneGoal::Size(size) => leaves::without_rarest(size, &fixed, model, usage),
        PruneGoal::Used => with_used(&fixed, usage),
        PruneGoal::UsedWithTail => return Err(PruneError::Tail),
    };
    Ok(KeptPieces::without_tail(keep))
}
