//! Two models become one: the pieces of the first, then those of the second that the first lacks.
//!
//! Input: two models of one type and one normalization. Output: a [`MergedModel`]. The first model's file is the base:
//! its pieces, scores, ids, specs and unknown fields stay. A piece of the second model whose text the first lacks is added
//! behind, in the order of the second model's ids, with its kind. The unknown piece, byte pieces and unused pieces are not
//! added: text never gives them, and unused pieces would change how other pieces are split.
//!
//! Scores of the added pieces are strictly below all scores of the first model:
//!
//! - BPE, word and char models: in the order of the second model's scores, equal scores staying equal, each lower than the one
//!   before by 1 or by one step of 32-bit floats (see `scores`).
//! - Unigram models: the second model's scores, shifted by one constant, so that the best added piece is just below the first
//!   model's lowest score. Differences between added pieces are kept up to rounding.
//!
//! Guarantees, which [`MergedModel::check`] checks:
//!
//! 1. Ids, texts, scores and kinds of the first model's pieces are unchanged.
//! 2. A text that contains none of the added pieces has the same ids as in the first model (unigram models: and no unknown
//!    characters, whose score follows the lowest score, and sums of scores below 100,000 in magnitude, above which the
//!    encoder rounds in another way).
//! 3. BPE models without unused pieces: every boundary between two tokens is a boundary in the first model, for each text
//!    without an added user-defined symbol. Two unknown characters side by side count as two tokens here.
//!    So there are never more tokens. Proof: while any pair of the first model's pieces merges, it has a better score
//!    than each added piece. So the merges of the first model happen first, all of them and in their order; whatever
//!    happens afterwards only joins.
//! 4. Merging a model with itself gives the bytes of its file.
//!
//! An added piece can be *unreachable*: no text gives it, because the first model's merges join its characters in other ways.
//! These are reported, and removed on request; for BPE removing them changes nothing for any text, because a merge
//! makes such a piece nowhere (locality).
//!
//! Example: the first model has `ab` (-1) `a` (-2) `b` (-3) `c` (-4), the second `bc` (-1) `abc` (-2) `a` `b` `c`. Added are
//! `bc` with score -5 and `abc` with -6. The text `abc` merges to `ab c` and then to `abc`.
//!
//! Cost: linear in both files; each piece's text is encoded with the first and the merged model.

use std::collections::HashSet;

use super::edit::check::as_raw_text;
use super::found::{NormalizedEncoder, found_pieces};
use super::id_map::IdMap;
use super::scores::ScoresBelow;
use super::text_change::{TextChange, normalizes_differently, unknown_piece};
use crate::error::{GuaranteeError, MergeError, ModelError};
use crate::model::{Model, ModelType};
use crate::piece::{PieceId, PieceKind};
use crate::text::lossy_string;
use crate::tokenizer::Tokenizer;
use crate::trie::prefix::PrefixTrie;

/// Rounds in which unreachable pieces are removed. One is enough for BPE; in unigram models, removing the lowest score
/// changes the score of unknown characters, which can matter for other pieces.
const MAX_DROP_ROUNDS: usize = 8;

/// Options of [`Model::merge`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeOptions {
    /// Do not add pieces of the second model that no text would give.
    pub drop_unreachable: bool,
    /// Merge although the models normalize text differently. The first model's normalization is kept.
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

/// What [`MergedModel::check`] has compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeCheck {
    /// Texts that were encoded with the first and the merged model.
    pub texts: usize,
    /// Texts without an added piece, which have the same ids.
    pub unaffected: usize,
    /// Texts with no new boundary; 0 if the guarantee does not apply.
    pub without_new_boundary: usize,
    /// Tokens of all texts with the first model.
    pub tokens_before: u64,
    /// Tokens of all texts with the merged model.
    pub tokens_after: u64,
}

/// A piece of the second model that is to be added.
struct Addition {
    text: Vec<u8>,
    kind: PieceKind,
    score: f32,
}

impl Model {
    /// Adds the pieces of `second` that this model lacks, with scores below all others; see [`MergedModel`].
    ///
    /// ```
    /// use spiece::{MergeOptions, Model};
    ///
    /// let model = Model::open("testdata/golden/llama2.model")?;
    /// let merged = model.merge(&model, &MergeOptions::default())?;
    /// assert_eq!(merged.model().to_bytes(), model.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The models have other types or other normalizations, there is no score below those of this model, or the result
    /// breaks a rule for models.
    pub fn merge(&self, second: &Model, options: &MergeOptions) -> Result<MergedModel, MergeError> {
        check_types(self, second)?;
        if !options.allow_other_normalizer && normalizes_differently(self, second) {
            return Err(MergeError::Normalizer);
        }
        let (mut additions, skipped) = additions(self, second);
        set_scores(self, &mut additions)?;
        let mut dropped = Vec::new();
        let mut model = with_additions(self, &additions)?;
        let mut unreachable = unreachable(self.len(), &model)?;
        for _ in 0..MAX_DROP_ROUNDS {
            if !options.drop_unreachable || unreachable.is_empty() {
                break;
            }
            let is_unreachable: HashSet<usize> = unreachable
                .iter()
                .map(|id| id.index() - self.len())
                .collect();
            let mut index = 0;
            additions.retain(|addition| {
                let is_dropped = is_unreachable.contains(&index);
                index += 1;
                if is_dropped {
                    dropped.push(addition.text.clone());
                }
                !is_dropped
            });
            model = with_additions(self, &additions)?;
            unreachable = self::unreachable(self.len(), &model)?;
        }
        Ok(MergedModel {
            lost: lost(self, &model)?,
            ids: ids(self, &model),
            text_change: TextChange::between(self, &model)?,
            model,
            unreachable,
            dropped,
            skipped,
        })
    }
}

/// Refuses models of different types.
fn check_types(first: &Model, second: &Model) -> Result<(), MergeError> {
    let types = [first.model_type(), second.model_type()];
    if types[0] == types[1] {
        return Ok(());
    }
    Err(MergeError::Type {
        first: types[0],
        second: types[1],
    })
}

/// The pieces of `second` that `first` lacks, and the texts of those that are not added because of their kind.
fn additions(first: &Model, second: &Model) -> (Vec<Addition>, Vec<Vec<u8>>) {
    let mut known: HashSet<&[u8]> = first.pieces().map(|piece| piece.text).collect();
    let mut additions = Vec::new();
    let mut skipped = Vec::new();
    for piece in second.pieces() {
        if !known.insert(piece.text) {
            continue;
        }
        let text = piece.text.to_vec();
        match piece.kind {
            PieceKind::Normal | PieceKind::Control | PieceKind::UserDefined => {
                additions.push(Addition {
                    text,
                    kind: piece.kind,
                    score: piece.score,
                });
            }
            _ => skipped.push(text),
        }
    }
    (additions, skipped)
}

/// Gives the additions scores below those of `first`.
fn set_scores(first: &Model, additions: &mut [Addition]) -> Result<(), MergeError> {
    if additions.is_empty() {
        return Ok(());
    }
    let lowest = first
        .pieces()
        .map(|piece| piece.score)
        .min_by(f32::total_cmp);
    let lowest = lowest.filter(|score| score.is_finite());
    let lowest = lowest.ok_or(MergeError::NoLowerScore)?;
    if first.model_type() == ModelType::Unigram {
        shift_scores(lowest, additions)
    } else {
        rank_scores(lowest, additions)
    }
}

/// Scores below `lowest` in the order of the scores so far; equal scores stay equal.
fn rank_scores(lowest: f32, additions: &mut [Addition]) -> Result<(), MergeError> {
    let mut order: Vec<usize> = (0..additions.len()).collect();
    order.sort_by(|a, b| additions[*b].score.total_cmp(&additions[*a].score));
    let mut scores = ScoresBelow::new(lowest);
    let mut previous: Option<f32> = None;
    let mut score = lowest;
    for index in order {
        let own = additions[index].score;
        if previous.is_none_or(|previous| previous.total_cmp(&own).is_ne()) {
            score = scores.next().ok_or(MergeError::NoLowerScore)?;
        }
        previous = Some(own);
        additions[index].score = score;
    }
    Ok(())
}

/// The scores so far, shifted so that the highest is just below `lowest`.
fn shift_scores(lowest: f32, additions: &mut [Addition]) -> Result<(), MergeError> {
    let top = lowest.next_down();
    let normal = additions
        .iter()
        .filter(|addition| addition.kind == PieceKind::Normal);
    let highest = normal
        .map(|addition| addition.score)
        .fold(f32::NEG_INFINITY, f32::max);
    for addition in additions {
        // The scores of other kinds have no effect.
        let is_normal = addition.kind == PieceKind::Normal;
        let distance = if is_normal {
            highest - addition.score
        } else {
            0.0
        };
        addition.score = top - distance;
        if !addition.score.is_finite() {
            return Err(MergeError::NoLowerScore);
        }
    }
    Ok(())
}

/// The first model with pieces behind its own.
fn with_additions(first: &Model, additions: &[Addition]) -> Result<Model, ModelError> {
    let mut editor = first.edit();
    for addition in additions {
        editor.add_piece(&addition.text, addition.score, addition.kind);
    }
    editor.finish()
}

/// The ids from `first_len` on of pieces for text that no text gives.
fn unreachable(first_len: usize, merged: &Model) -> Result<Vec<PieceId>, ModelError> {
    let mut encoder = NormalizedEncoder::new(merged)?;
    let ids = (first_len..merged.len()).map(PieceId::from_index);
    let is_for_text = |id: &PieceId| {
        let kind = merged.table().kind(id.index());
        kind.is_from_text()
    };
    let is_unreachable = |id: &PieceId| !encoder.is_found(*id);
    Ok(ids.filter(is_for_text).filter(is_unreachable).collect())
}

/// The pieces of the first model that text gives with the first model only.
fn lost(first: &Model, merged: &Model) -> Result<Vec<PieceId>, ModelError> {
    let before = found_pieces(first)?;
    let mut encoder = NormalizedEncoder::new(merged)?;
    let ids = (0..first.len()).map(PieceId::from_index);
    Ok(ids
        .filter(|id| before[id.index()] && !encoder.is_found(*id))
        .collect())
}

/// The first model's ids stay; all others are new.
fn ids(first: &Model, merged: &Model) -> IdMap {
    let ids =
        (0..merged.len()).map(|index| (index < first.len()).then(|| PieceId::from_index(index)));
    IdMap::from_old_ids(first.len(), ids.collect())
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

    /// The texts of pieces of the second model that no text would give and that were therefore not added.
    pub fn dropped(&self) -> impl Iterator<Item = &[u8]> {
        self.dropped.iter().map(Vec::as_slice)
    }

    /// The texts of unknown, byte and unused pieces of the second model, which are never added.
    pub fn skipped(&self) -> impl Iterator<Item = &[u8]> {
        self.skipped.iter().map(Vec::as_slice)
    }

    /// The ids of pieces of the first model that text gives with the first model only. Empty for BPE models, unless
    /// user-defined symbols were added.
    pub fn no_longer_found(&self) -> &[PieceId] {
        &self.lost
    }

    /// Whether guarantee 3 applies: no text without an added user-defined symbol has a new boundary.
    pub fn keeps_boundaries(&self) -> bool {
        let is_bpe = self.model.model_type() == ModelType::Bpe;
        is_bpe
            && self
                .model
                .pieces()
                .all(|piece| piece.kind != PieceKind::Unused)
    }

    /// Checks the guarantees of the module page on the pieces, on the text of each piece, and on `lines`.
    ///
    /// # Errors
    /// A guarantee is broken, which would be a bug of this crate.
    pub fn check<'t>(
        &self,
        first: &Model,
        lines: impl IntoIterator<Item = &'t [u8]>,
    ) -> Result<MergeCheck, MergeError> {
        self.check_pieces(first)?;
        let mut check = MergeCheck::default();
        let mut comparison = BoundaryComparison::new(self, first)?;
        for piece in self.model.pieces() {
            comparison.compare(&as_raw_text(piece.text), &mut check)?;
        }
        for line in lines {
            comparison.compare(line, &mut check)?;
        }
        Ok(check)
    }

    /// Checks that the first model's pieces are unchanged, and that all added scores are below theirs.
    fn check_pieces(&self, first: &Model) -> Result<(), GuaranteeError> {
        let mut lowest = f32::INFINITY;
        for piece in first.pieces() {
            if self.model.piece(piece.id) != Some(piece) && !piece.score.is_nan() {
                let text = lossy_string(piece.text);
                return Err(GuaranteeError::new(format!(
                    "piece {} {text:?} is unchanged",
                    piece.id
                )));
            }
            lowest = lowest.min(piece.score);
        }
        let mut added = self.model.pieces().skip(first.len());
        if added.any(|piece| piece.score >= lowest) {
            let text = "scores of added pieces are below all others".to_owned();
            return Err(GuaranteeError::new(text));
        }
        Ok(())
    }
}

/// Encodes texts with the first and the merged model, and compares ids and boundaries.
struct BoundaryComparison<'c> {
    merged: &'c MergedModel,
    first_len: usize,
    first_unknown: Option<PieceId>,
    keeps_boundaries: bool,
    /// The user-defined symbols that were added.
    added_symbols: PrefixTrie,
    /// For normalization only.
    tokenizer: Tokenizer,
    old: NormalizedEncoder<'c>,
    new: NormalizedEncoder<'c>,
}

impl<'c> BoundaryComparison<'c> {
    fn new(
        merged: &'c MergedModel,
        first: &'c Model,
    ) -> Result<BoundaryComparison<'c>, ModelError> {
        let added = merged.model.pieces().skip(first.len());
        let symbols = added.filter(|piece| piece.kind == PieceKind::UserDefined);
        let added_symbols = PrefixTrie::new(symbols.map(|piece| piece.text));
        Ok(BoundaryComparison {
            merged,
            first_len: first.len(),
            first_unknown: unknown_piece(first),
            keeps_boundaries: merged.keeps_boundaries(),
            added_symbols: added_symbols.map_err(|_| ModelError::TrieTooLarge)?,
            tokenizer: Tokenizer::new(first.clone()),
            old: NormalizedEncoder::new(first)?,
            new: NormalizedEncoder::new(&merged.model)?,
        })
    }

    fn compare(&mut self, text: &[u8], check: &mut MergeCheck) -> Result<(), GuaranteeError> {
        if self.has_added_symbol(text) {
            // Normalization copies added symbols, so the normalized texts can differ.
            return Ok(());
        }
        let normalized = self.tokenizer.encoder().normalize(text).to_vec();
        let old = self.old.encode(&normalized).to_vec();
        let new = self.new.encode(&normalized).to_vec();
        check.texts += 1;
        check.tokens_before += old.len() as u64;
        check.tokens_after += new.len() as u64;
        let number_of_pieces = self.first_len;
        let has_unknown = old
            .iter()
            .any(|id| Some(*id) == self.first_unknown || id.index() >= number_of_pieces);
        if !self
            .merged
            .text_change
            .can_change(text, &normalized, has_unknown)
        {
            check.unaffected += 1;
            if old != new {
                return Err(broken("has the ids of the first model", text));
            }
        }
        if self.keeps_boundaries && !self.has_added_symbol(&normalized) {
            let old_boundaries = self.old.boundaries(&normalized);
            let new_boundaries = self.new.boundaries(&normalized);
            if !is_subset(&new_boundaries, &old_boundaries) {
                return Err(broken("has no new boundary", text));
            }
            check.without_new_boundary += 1;
        }
        Ok(())
    }

    fn has_added_symbol(&self, text: &[u8]) -> bool {
        self.added_symbols.find(text).is_some()
    }
}

fn broken(promise: &str, text: &[u8]) -> GuaranteeError {
    GuaranteeError::new(format!("the text {:?} {promise}", lossy_string(text)))
}

/// Whether the ascending `part` has only values of the ascending `whole`.
pub(crate) fn is_subset(part: &[usize], whole: &[usize]) -> bool {
    let mut whole = whole.iter();
    part.iter().all(|wanted| whole.any(|value| value == wanted))
}

#[cfg(test)]
pub(in crate::adapt) mod tests;
