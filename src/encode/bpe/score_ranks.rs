//! The merge ranks of pieces with scores.
//!
//! The *merge rank* is the position of a piece in the order in which merges happen: pieces with the
//! best score have rank 0, equal scores have equal ranks. Scores are compared as the reference
//! compares them, which is the total order of IEEE 754: a positive NaN is above everything else,
//! and -0 is below 0.

use super::lookup::symbol_table::NO_RANK;
use crate::base::num::{high_u32, low_u32};
use crate::encode::vocabulary::Vocabulary;

/// The merge rank of each piece; [`NO_RANK`] for pieces that are not in `mergeable`.
pub(in crate::encode::bpe) fn score_ranks(
    vocabulary: &Vocabulary<'_>,
    mergeable: &[u32],
) -> Vec<u32> {
    // The key of a piece is lower for a better score, and of equal scores for the lower id.
    let key = |id: &u32| {
        let score = vocabulary.score(*id as usize);
        u64::from(descending_key(score)) << 32 | u64::from(*id)
    };
    // Trainers write pieces in this order, except for a few. Without these, the stable sort finds
    // two sorted runs, which takes half the time.
    let mut best_first = Vec::with_capacity(mergeable.len());
    let mut displaced = Vec::new();
    for key in mergeable.iter().map(key) {
        displaced.extend(best_first.pop_if(|last| *last > key));
        best_first.push(key);
    }
    best_first.extend(displaced);
    best_first.sort();
    let mut ranks = vec![NO_RANK; vocabulary.len()];
    let mut rank = 0;
    let mut key_before = best_first.first().copied().unwrap_or_default();
    for key in best_first {
        rank += u32::from(high_u32(key) != high_u32(key_before));
        key_before = key;
        ranks[low_u32(key) as usize] = rank;
    }
    ranks
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
    use super::descending_key;

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
