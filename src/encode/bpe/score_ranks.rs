//! The merge ranks of pieces with scores.
//!
//! The *merge rank* is the position of a piece in the order in which merges happen: pieces with the
//! best score have rank 0, equal scores have equal ranks. Scores are compared as the reference
//! compares them, which is the total order of IEEE 754: a positive NaN is above everything else,
//! and -0 is below 0.

use super::lookup::symbol_table::NO_RANK;
use crate::encode::vocabulary::Vocabulary;

/// The merge rank of each piece; [`NO_RANK`] for pieces that are not in `mergeable`.
pub(in crate::encode::bpe) fn score_ranks(
    vocabulary: &Vocabulary<'_>,
    mergeable: impl Iterator<Item = u32> + Clone,
) -> Vec<u32> {
    // Lower for a better score.
    let key = |id: u32| descending_key(vocabulary.score(id as usize));
    // Trainers write pieces in the order of their scores, except for a few, which have the lowest
    // ones. So most models need no list of all keys.
    let mut ranking = Ranking::new(vocabulary.len());
    let mut displaced = Vec::new();
    let mut pending: Option<(u32, u32)> = None;
    for piece in mergeable.clone().map(|id| (key(id), id)) {
        match pending.replace(piece) {
            Some(before) if before.0 > piece.0 => displaced.push(before),
            Some(before) => ranking.push(before),
            None => {}
        }
    }
    displaced.extend(pending);
    displaced.sort();
    displaced.into_iter().for_each(|piece| ranking.push(piece));
    if !ranking.is_in_order {
        let mut best_first: Vec<(u32, u32)> = mergeable.map(|id| (key(id), id)).collect();
        best_first.sort();
        ranking = Ranking::new(vocabulary.len());
        best_first.into_iter().for_each(|piece| ranking.push(piece));
    }
    ranking.ranks
}

/// Ranks of pieces that come one after the other.
struct Ranking {
    ranks: Vec<u32>,
    /// The number of distinct keys.
    keys: u32,
    /// The last key; -1 before the first one.
    last: i64,
    is_in_order: bool,
}

impl Ranking {
    fn new(pieces: usize) -> Self {
        Self {
            ranks: vec![NO_RANK; pieces],
            keys: 0,
            last: -1,
            is_in_order: true,
        }
    }

    /// Adds a piece by its key and its id.
    #[inline]
    fn push(&mut self, (key, id): (u32, u32)) {
        let key = i64::from(key);
        self.is_in_order &= self.last <= key;
        self.keys += u32::from(self.last != key);
        self.last = key;
        self.ranks[id as usize] = self.keys - 1;
    }
}

/// A number that is lower for a better score, in the total order of IEEE 754.
fn descending_key(score: f32) -> u32 {
    let bits = score.to_bits();
    if score.is_sign_negative() {
        bits
    } else {
        !bits & !(1 << 31)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Model, ModelType};
    use crate::piece::PieceKind;

    proptest! {
        /// In order, in order but for a few that have the lowest scores, and in any order.
        #[test]
        fn a_rank_is_the_number_of_better_scores(
            lowest in prop::collection::vec(0..12usize, 0..4),
            swaps in prop::collection::vec((0..12usize, 0..12usize), 0..3),
        ) {
            let mut scores = [f32::INFINITY, 2.0, 2.0, 0.0, -0.0, -1.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0];
            lowest.into_iter().for_each(|at| scores[at] = -1e9);
            swaps.into_iter().for_each(|(a, b)| scores.swap(a, b));
            let mut builder = Model::builder();
            builder.model_type(ModelType::Bpe);
            builder.piece("<unk>", 0.0, PieceKind::Unknown);
            for (number, score) in scores.iter().enumerate() {
                builder.piece(number.to_string(), *score, PieceKind::Normal);
            }
            let model = builder.build().unwrap();
            let vocabulary = Vocabulary::new(&model, true);
            let ranks = score_ranks(&vocabulary, vocabulary.mergeable());
            prop_assert_eq!(ranks[0], NO_RANK);
            for (score, rank) in scores.iter().zip(&ranks[1..]) {
                let mut better: Vec<u32> = scores.map(f32::to_bits).to_vec();
                better.retain(|other| f32::from_bits(*other).total_cmp(score).is_gt());
                better.sort_unstable();
                better.dedup();
                prop_assert_eq!(*rank as usize, better.len());
            }
        }
    }

    #[test]
    fn keys_are_in_the_total_order_of_ieee_754() {
        let scores = [
            f32::NAN,
            f32::INFINITY,
            f32::MAX,
            1.5,
            1.0,
            f32::MIN_POSITIVE,
            0.0,
            -0.0,
            -1.0,
            -1.5,
            f32::NEG_INFINITY,
            -f32::NAN,
        ];
        assert!(scores.is_sorted_by(|a, b| {
            a.total_cmp(b).is_gt() && descending_key(*a) < descending_key(*b)
        }));
    }
}
