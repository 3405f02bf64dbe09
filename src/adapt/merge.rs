//! Two models become one: the pieces of the first, then those of the second that the first lacks.
//!
//! The first model's file is the base: its pieces, scores, ids, specs and unknown fields stay. A
//! piece of the second model whose text the first lacks is added after them, in the order of the
//! second model's ids, with its kind. The unknown piece, byte pieces and unused pieces are not
//! added: text never gives them, and unused pieces would change how other pieces are split.
//!
//! Scores of the added pieces are strictly below all scores of the first model:
//!
//! - BPE, word and char models: in the order of the second model's scores, equal scores staying
//!   equal, each lower than the one before by 1 or by one step of 32-bit floats (see `scores`).
//! - Unigram models: the second model's scores, shifted by one constant, so that the best added
//!   piece is just below the first model's lowest score. Differences between added pieces are kept
//!   up to rounding.
//!
//! Guarantees, which tests check (`tests/it/hostile/guarantees.rs`):
//!
//! 1. Ids, texts, scores and kinds of the first model's pieces are unchanged.
//! 2. A text that contains none of the added pieces has the same ids as in the first model (unigram
//!    models: and no unknown characters, whose score follows the lowest score, and sums of scores
//!    below 100,000 in magnitude, above which the encoder rounds in another way).
//! 3. BPE models without unused pieces: every boundary between two tokens is a boundary in the
//!    first model, for each text without an added user-defined symbol. Two unknown characters side
//!    by side count as two tokens here. So there are never more tokens. Proof: while any pair of
//!    the first model's pieces merges, it has a better score than each added piece. So the merges
//!    of the first model happen first, all of them and in their order; later merges only join
//!    tokens.
//! 4. Merging a model with itself gives the bytes of its file.
//!
//! An added piece can be *unreachable*: no text gives it, because the first model's merges join its
//! characters in other ways. These are reported, and removed on request; for BPE removing them
//! changes nothing for any text, because a merge makes such a piece nowhere (locality).
//!
//! Example: the first model has `ab` (-1) `a` (-2) `b` (-3) `c` (-4), the second `bc` (-1) `abc`
//! (-2) `a` `b` `c`. Added are `bc` with score -5 and `abc` with -6. The text `abc` merges to
//! `ab c` and then to `abc`.

mod bytes;

use std::collections::HashSet;

pub use self::bytes::MergedBytes;
use super::found::{FoundDifferences, unreachable_pieces};
use super::id_map::IdMap;
use super::pieces::{has_unused_pieces, lowest_score};
use super::scores::ScoresBelow;
use super::text_change::{TextChange, normalizes_differently};
use crate::adapt::error::MergeError;
use crate::model::{Model, ModelError, ModelType};
use crate::piece::{PieceId, PieceKind};

/// Rounds in which unreachable pieces are removed. One is enough for BPE; in unigram models,
/// removing the lowest score changes the score of unknown characters, which can matter for other
/// pieces.
const MAX_DROP_ROUNDS: usize = 8;

/// Options of [`Model::merge`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Do not add pieces of the second model that no text would give.
    pub drop_unreachable: bool,
    /// Merge although the models normalize text differently, or the byte-level vocabularies cut it
    /// differently. What the first one does is kept.
    pub allow_other_normalizer: bool,
}

/// A model after [`Model::merge`], and what became of the second model's pieces.
#[derive(Debug, Clone)]
pub struct MergedModel {
    model: Model,
    ids: IdMap,
    text_change: TextChange,
    unreachable: Vec<PieceId>,
    dropped: Vec<Vec<u8>>,
    skipped: Vec<Vec<u8>>,
    /// Ids of the first model's pieces that text does not give any longer.
    lost: Vec<PieceId>,
}

/// A piece of the second model that is to be added.
struct Addition {
    text: Vec<u8>,
    kind: PieceKind,
    score: f32,
}

impl Model {
    /// Adds the pieces of `second` that this model lacks, with scores below all others; see
    /// [`MergedModel`].
    ///
    /// ```
    /// use spiece::adapt::MergeOptions;
    /// use spiece::Model;
    ///
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let merged = model.merge(&model, &MergeOptions::default())?;
    /// assert_eq!(merged.model().to_bytes(), model.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The models have other types or other normalizations, there is no score below those of this
    /// model, or the result breaks a rule for models.
    pub fn merge(&self, second: &Self, options: &MergeOptions) -> Result<MergedModel, MergeError> {
        if self.model_type() != second.model_type() {
            return Err(MergeError::Type {
                first: self.model_type(),
                second: second.model_type(),
            });
        }
        if !options.allow_other_normalizer && normalizes_differently(self, second) {
            return Err(MergeError::Normalizer);
        }
        let (mut additions, skipped) = additions(self, second);
        set_scores(self, &mut additions)?;
        let mut model = with_additions(self, &additions)?;
        let mut unreachable = unreachable(self, &model);
        let mut dropped = Vec::new();
        let mut rounds = 0;
        while options.drop_unreachable && !unreachable.is_empty() && rounds < MAX_DROP_ROUNDS {
            rounds += 1;
            dropped.extend(drop_additions(self, &mut additions, &unreachable));
            model = with_additions(self, &additions)?;
            unreachable = self::unreachable(self, &model);
        }
        let old_id = |index| (index < self.len()).then(|| PieceId::from_index(index));
        let ids = IdMap::from_old_ids(self.len(), (0..model.len()).map(old_id).collect());
        Ok(MergedModel {
            lost: FoundDifferences::between(self, &model, &ids).lost,
            text_change: TextChange::between(self, &model),
            ids,
            model,
            unreachable,
            dropped,
            skipped,
        })
    }
}

/// Removes the additions with these ids, which ascend, and returns their texts.
fn drop_additions(
    first: &Model,
    additions: &mut Vec<Addition>,
    ids: &[PieceId],
) -> impl Iterator<Item = Vec<u8>> {
    let mut index = first.len();
    let is_dropped = move |_: &mut Addition| {
        index += 1;
        ids.binary_search(&PieceId::from_index(index - 1)).is_ok()
    };
    let dropped: Vec<Addition> = additions.extract_if(.., is_dropped).collect();
    dropped.into_iter().map(|addition| addition.text)
}

/// The pieces of `second` that `first` lacks, and the texts of those that are not added because of
/// their kind.
fn additions(first: &Model, second: &Model) -> (Vec<Addition>, Vec<Vec<u8>>) {
    let mut known: HashSet<&[u8]> = first.pieces().map(|piece| piece.text).collect();
    let mut additions = Vec::new();
    let mut skipped = Vec::new();
    for piece in second.pieces() {
        if !known.insert(piece.text) {
            continue;
        }
        match piece.kind {
            PieceKind::Normal | PieceKind::Control | PieceKind::UserDefined => {
                additions.push(Addition {
                    text: piece.text.to_vec(),
                    kind: piece.kind,
                    score: piece.score,
                });
            }
            _ => skipped.push(piece.text.to_vec()),
        }
    }
    (additions, skipped)
}

/// Gives the additions scores below those of `first`.
fn set_scores(first: &Model, additions: &mut [Addition]) -> Result<(), MergeError> {
    if additions.is_empty() {
        return Ok(());
    }
    let lowest = lowest_score(first).ok_or(MergeError::NoLowerScore)?;
    if first.model_type() == ModelType::Unigram {
        shift_scores(lowest, additions)
    } else {
        rank_scores(lowest, additions)
    }
}

/// Scores below `lowest` in the order of the scores so far; equal scores stay equal.
fn rank_scores(lowest: f32, additions: &mut [Addition]) -> Result<(), MergeError> {
    let mut order: Vec<&mut Addition> = additions.iter_mut().collect();
    order.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut scores = ScoresBelow::new(lowest);
    for equal in order.chunk_by_mut(|a, b| a.score.total_cmp(&b.score).is_eq()) {
        let score = scores.next().ok_or(MergeError::NoLowerScore)?;
        equal.iter_mut().for_each(|addition| addition.score = score);
    }
    Ok(())
}

/// The scores so far, shifted so that the highest is just below `lowest`.
fn shift_scores(lowest: f32, additions: &mut [Addition]) -> Result<(), MergeError> {
    let top = lowest.next_down();
    let normal = additions
        .iter()
        .filter(|addition| addition.kind == PieceKind::Normal);
    let scores = normal.map(|addition| addition.score);
    let highest = scores.fold(f32::NEG_INFINITY, f32::max);
    for addition in additions {
        addition.score = match addition.kind == PieceKind::Normal {
            true => top - (highest - addition.score),
            // The scores of other kinds have no effect.
            false => top,
        };
        if !addition.score.is_finite() {
            return Err(MergeError::NoLowerScore);
        }
    }
    Ok(())
}

fn with_additions(first: &Model, additions: &[Addition]) -> Result<Model, ModelError> {
    let mut editor = first.edit();
    for addition in additions {
        editor.add_piece(&addition.text, addition.score, addition.kind);
    }
    editor.finish()
}

/// The pieces for text after those of the first model that no text gives.
fn unreachable(first: &Model, merged: &Model) -> Vec<PieceId> {
    let mut ids = unreachable_pieces(merged);
    ids.retain(|id| id.index() >= first.len());
    ids
}

impl MergedModel {
    /// The merged model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// How ids of the first model and of the merged model correspond: the first model's ids stay.
    pub fn ids(&self) -> &IdMap {
        &self.ids
    }

    /// For which texts the pieces can differ from those of the first model.
    pub fn text_change(&self) -> &TextChange {
        &self.text_change
    }

    /// The new ids of pieces of the second model that no text gives.
    pub fn unreachable(&self) -> &[PieceId] {
        &self.unreachable
    }

    /// The texts of pieces of the second model that no text would give and that were therefore not
    /// added.
    pub fn dropped(&self) -> impl Iterator<Item = &[u8]> {
        self.dropped.iter().map(Vec::as_slice)
    }

    /// The texts of unknown, byte and unused pieces of the second model, which are never added.
    pub fn skipped(&self) -> impl Iterator<Item = &[u8]> {
        self.skipped.iter().map(Vec::as_slice)
    }

    /// The ids of pieces of the first model that text gives with the first model only. Empty for
    /// BPE models, unless user-defined symbols were added.
    pub fn no_longer_found(&self) -> &[PieceId] {
        &self.lost
    }

    /// Whether guarantee 3 applies: no text without an added user-defined symbol has a new
    /// boundary.
    pub fn keeps_boundaries(&self) -> bool {
        self.model.model_type() == ModelType::Bpe && !has_unused_pieces(&self.model)
    }
}

#[cfg(test)]
pub(in crate::adapt) mod tests;
