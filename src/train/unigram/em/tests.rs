use super::*;
use crate::train::unigram::testing::Pieces;

fn module_example() -> (Pieces, [LatticeStore; 2]) {
    let score = |probability: f32| probability.ln();
    let pieces = Pieces::new(&[("a", score(0.25)), ("b", score(0.25)), ("ab", score(0.5))]);
    let partials = [
        pieces.store(&[("ab", 3.0), ("a", 1.0)]),
        pieces.store(&[("b", 2.0)]),
    ];
    (pieces, partials)
}

#[test]
fn expected_counts_of_the_module_example() {
    let (pieces, partials) = module_example();
    let expected = expect(&partials, &pieces.list, &FastMath::new());
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

/// 2^24 + 1 has no 32-bit float, so that the order of the sums shows.
#[test]
fn partial_sums_are_added_in_their_order() {
    let pieces = Pieces::new(&[("a", -1.0)]);
    let sums = |frequencies: &[f32]| {
        let texts = frequencies
            .iter()
            .map(|frequency| pieces.store(&[("a", *frequency)]));
        let partials: Vec<LatticeStore> = texts.collect();
        expect(&partials, &pieces.list, &FastMath::new()).counts[0]
    };
    for threads in [1, 2, 7] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            assert_eq!(sums(&[16_777_216.0, 1.0, 1.0]), 16_777_216.0);
            assert_eq!(sums(&[1.0, 1.0, 16_777_216.0]), 16_777_218.0);
        });
    }
}
