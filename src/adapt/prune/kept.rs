//! Which pieces remain in a pruned model.
//!
//! Input: the model, the usage of a text, and the options. Output: for each old id whether the
//! piece remains, and whether it belongs to the unused tail; see the table of the [module
//! page](super).
//!
//! Example: the BPE pieces `ab` `abc` and the characters; the text gives `abc`. All remain, and
//! `ab` is the tail.
//!
//! Cost: a merge of the text of each piece that needs its halves.

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
        kept.check_size(options)?;
        Ok(kept)
    }

    /// Checks that the wanted size was reached.
    fn check_size(&self, options: &PruneOptions) -> Result<(), PruneError> {
        let smallest = self.ids().count();
        match options.target {
            PruneGoal::Size(size) if smallest > size => {
                let keeps_chars = options.keep_chars;
                Err(PruneError::TooSmall {
                    size,
                    smallest,
                    keeps_chars,
                })
            }
            _ => Ok(()),
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

    /// Whether a piece becomes an unused one behind all others.
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
    if model.model_type() == ModelType::Unigram
        && let Some(lowest) = lowest(model)
    {
        fixed[lowest.index()] = true;
    }
    fixed
}

/// The normal piece with the lowest score. A unigram model without normal pieces must keep another
/// piece for text, so it is an unused one then.
fn lowest(model: &Model) -> Option<PieceId> {
    lowest_of(model, PieceKind::Normal).or_else(|| lowest_of(model, PieceKind::Unused))
}

/// The piece of this kind with the lowest score.
fn lowest_of(model: &Model, kind: PieceKind) -> Option<PieceId> {
    let pieces = pieces_of_kind(model, kind);
    let lowest = pieces.min_by(|a, b| a.score.total_cmp(&b.score))?;
    Some(lowest.id)
}

fn kept_bpe(
    model: &Model,
    usage: &PieceUsage,
    options: &PruneOptions,
) -> Result<KeptPieces, PruneError> {
    let fixed = fixed(model, options);
    let finder = HalvesFinder::new(model)?;
    match options.target {
        PruneGoal::Size(size) => {
            let halves: Vec<_> = (0..model.len()).map(|index| finder.halves(index)).collect();
            let mut keep = vec![true; model.len()];
            leaves::remove_leaves(&mut keep, size, &fixed, &halves, usage);
            Ok(KeptPieces::without_tail(keep))
        }
        PruneGoal::Used => Ok(used_bpe(&finder, usage, &fixed)),
        PruneGoal::UsedWithTail => {
            let mut kept = used_bpe(&finder, usage, &fixed);
            kept.is_tail = only_made(&kept.keep, &fixed, usage);
            Ok(kept)
        }
    }
}

/// The pieces that a text uses, and those of which they are made.
fn used_bpe(finder: &HalvesFinder<'_>, usage: &PieceUsage, fixed: &[bool]) -> KeptPieces {
    let mut keep = with_used(fixed, usage);
    leaves::close(&mut keep, |index| finder.halves(index));
    KeptPieces::without_tail(keep)
}

/// By id, whether a piece is fixed or used.
fn with_used(fixed: &[bool], usage: &PieceUsage) -> Vec<bool> {
    (0..fixed.len())
        .map(|index| fixed[index] || usage.is_used(index))
        .collect()
}

/// By id, whether a piece is kept only because others are made of it.
fn only_made(keep: &[bool], fixed: &[bool], usage: &PieceUsage) -> Vec<bool> {
    let is_only_made = |index: usize| keep[index] && !fixed[index] && usage.count_at(index) == 0;
    (0..keep.len()).map(is_only_made).collect()
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
