use proptest::prelude::*;

use super::*;
use crate::train::unigram::testing::{all_paths, edge_lists, lattice_of, path_score};

/// Quarters, whose sums are exact, so that many paths have equal scores.
fn coarse() -> impl Strategy<Value = f32> + Clone {
    (-12i8..0).prop_map(|quarters| f32::from(quarters) / 4.0)
}

fn fine() -> impl Strategy<Value = f32> + Clone {
    -9.0f32..-0.5
}

/// The seeds of the best path by the method of the reference: each edge keeps the first of the best
/// edges before it.
fn reference_viterbi(lattice: &TextLattice) -> (f32, Vec<u32>) {
    let edges = lattice.edges();
    let end = index(lattice.characters());
    let mut best: Vec<(f32, Option<u32>)> = Vec::new();
    let before = |best: &[(f32, Option<u32>)], position: u32, score: f32| {
        let mut found: Option<(f32, Option<u32>)> = (position == 0).then_some((score, None));
        for (at, edge) in (0..).zip(&edges[..best.len()]) {
            let value = best[at as usize].0 + score;
            if edge.end == position && found.is_none_or(|(highest, _)| value > highest) {
                found = Some((value, Some(at)));
            }
        }
        found.unwrap()
    };
    for edge in edges {
        best.push(before(&best, edge.begin, edge.score));
    }
    let (score, mut at) = before(&best, end, 0.0);
    let mut path = Vec::new();
    while let Some(edge) = at {
        path.push(edges[edge as usize].seed);
        at = best[edge as usize].1;
    }
    path.reverse();
    (score, path)
}

fn traced(viterbi: &Viterbi, lattice: &TextLattice) -> Vec<u32> {
    let mut path = Vec::new();
    viterbi.trace(lattice, |edge| path.push(edge.seed));
    path.reverse();
    path
}

fn check_viterbi(lattice: &TextLattice) {
    let mut viterbi = Viterbi::default();
    viterbi.search(lattice);
    let (score, path) = reference_viterbi(lattice);
    assert_eq!(viterbi.score().to_bits(), score.to_bits());
    assert_eq!(traced(&viterbi, lattice), path);
}

#[test]
fn the_longest_last_edge_wins_among_equal_paths() {
    // `abc` as a bc, ab c and abc, all with the score -2.
    let positions = vec![
        vec![(1, -1.0), (2, -1.0), (3, -2.0)],
        vec![(1, -5.0), (2, -1.0)],
        vec![(1, -1.0)],
    ];
    let lattice = lattice_of(&positions);
    let mut viterbi = Viterbi::default();
    viterbi.search(&lattice);
    assert_eq!(traced(&viterbi, &lattice), [2]);
    let whole = lattice.whole().map(|at| lattice.edges()[at]);
    assert_eq!(whole.map(|edge| (edge.seed, edge.end)), Some((2, 3)));
}

#[test]
fn a_lattice_has_the_edges_of_the_module_example() {
    let lattice = lattice_of(&vec![
        vec![(1, -1.0), (2, -1.5)],
        vec![(1, -1.0)],
        vec![(1, -12.0)],
    ]);
    assert_eq!(all_paths(lattice.edges(), 3).len(), 2);
    assert_eq!(lattice.whole(), None);
}

proptest! {
    #[test]
    fn expected_counts_equal_those_of_all_paths(positions in edge_lists(fine()), frequency in 1u8..100) {
        let frequency = f32::from(frequency);
        let mut lattice = lattice_of(&positions);
        let mut totals = vec![0.0; lattice.edges().len()];
        let log_sum = lattice.expect(
            &FastMath::new(),
            frequency,
            &mut SeedTotals::new(&mut totals, 1, 0),
        );
        let paths = all_paths(lattice.edges(), lattice.characters());
        let probability = |path: &Vec<u32>| path_score(lattice.edges(), path).exp();
        let sum: f64 = paths.iter().map(probability).sum();
        prop_assert!((f64::from(log_sum) - sum.ln()).abs() < 1e-4, "{log_sum} {}", sum.ln());
        for (at, edge) in (0..).zip(lattice.edges()) {
            let total = totals[edge.seed as usize];
            let through = paths.iter().filter(|path| path.contains(&at));
            let expected = f64::from(frequency) * through.map(probability).sum::<f64>() / sum;
            let error = (f64::from(total) - expected).abs();
            prop_assert!(error <= 1e-4 * expected + 1e-6, "edge {at}: {total} {expected}");
        }
    }

    #[test]
    fn the_best_path_is_that_of_the_reference(
        coarse in edge_lists(coarse()),
        fine in edge_lists(fine()),
    ) {
        check_viterbi(&lattice_of(&coarse));
        check_viterbi(&lattice_of(&fine));
    }

    #[test]
    fn the_best_score_without_an_edge_is_that_of_the_other_paths(positions in edge_lists(coarse())) {
        let lattice = lattice_of(&positions);
        let paths = all_paths(lattice.edges(), lattice.characters());
        let mut viterbi = Viterbi::default();
        for (excluded, number) in (0..lattice.edges().len()).zip(0u32..) {
            viterbi.search_without(&lattice, excluded);
            let others = paths.iter().filter(|path| !path.contains(&number));
            let best = others.map(|path| path_score(lattice.edges(), path));
            let best = best.fold(f64::NEG_INFINITY, f64::max);
            prop_assert_eq!(f64::from(viterbi.score()), best);
        }
    }
}
