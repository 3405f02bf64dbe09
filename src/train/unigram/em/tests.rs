use super::*;
use crate::train::unigram::testing::Pieces;

fn module_example() -> (Pieces, CorpusLattices) {
    let score = |probability: f32| probability.ln();
    let pieces = Pieces::new(&[("a", score(0.25)), ("b", score(0.25)), ("ab", score(0.5))]);
    let corpus = pieces.corpus(&[("ab", 3), ("b", 2), ("a", 1)], 2);
    (pieces, corpus)
}

#[test]
fn expected_counts_of_the_module_example() {
    let (pieces, corpus) = module_example();
    let expected = expect(&corpus, &pieces.list, &FastMath::new());
    let counts = [4.0 / 3.0, 7.0 / 3.0, 8.0 / 3.0];
    for (count, value) in expected.counts.iter().zip(counts) {
        assert!((count - value).abs() < 1e-5, "{:?}", expected.counts);
    }
    let log_likelihood = 3.0 * (0.5625f64).ln() + 3.0 * 0.25f64.ln();
    assert!((expected.log_likelihood - log_likelihood).abs() < 1e-5);
}

#[test]
fn pieces_below_half_an_occurrence_are_dropped() {
    let (pieces, _) = module_example();
    let kept = maximize(&pieces.list, &[0.5, 0.49, 3.0]);
    let seeds: Vec<u32> = kept.iter().map(|piece| piece.seed).collect();
    assert_eq!(seeds, [0, 2]);
    let sum = digamma(3.5);
    for (piece, count) in kept.iter().zip([0.5, 3.0]) {
        assert!((f64::from(piece.score) - (digamma(count) - sum)).abs() < 1e-6);
    }
}
