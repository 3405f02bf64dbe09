use proptest::prelude::*;

use super::*;
use crate::train::unigram::testing::{all_paths, edge_lists, lattice_of, path_score};

#[test]
fn the_two_best_paths_of_the_module_example() {
    let lattice = lattice_of(&vec![vec![(1, -2.0), (2, -3.0)], vec![(1, -2.0)]]);
    let mut search = TwoBest::default();
    let paths = search.search(&lattice);
    assert_eq!(paths.best, [1]);
    assert_eq!(paths.second, Some(&[0, 2][..]));
}

#[test]
fn a_single_path_has_no_second() {
    let lattice = lattice_of(&vec![vec![(1, -2.0)], vec![(1, -2.0)]]);
    let mut search = TwoBest::default();
    let paths = search.search(&lattice);
    assert_eq!(paths.best, [0, 1]);
    assert_eq!(paths.second, None);
}

/// All of the exponentially many paths have the same score.
#[test]
fn equal_paths_do_not_exceed_the_limit_of_hypotheses() {
    let mut positions = vec![vec![(1, -1.0), (2, -2.0), (3, -3.0), (4, -4.0)]; 2000];
    let last = positions.len();
    for (at, edges) in positions.iter_mut().enumerate() {
        edges.truncate(last - at);
    }
    let lattice = lattice_of(&positions);
    let mut search = TwoBest::default();
    let paths = search.search(&lattice);
    let edges = paths
        .best
        .iter()
        .map(|edge| lattice.edges()[*edge as usize]);
    assert_eq!(edges.map(|edge| edge.end - edge.begin).sum::<u32>(), 2000);
    assert!(search.hypotheses.len() <= MAX_HYPOTHESES_IN_ALL + 4);
}

proptest! {
    #[test]
    fn the_two_best_paths_are_those_of_all_paths(
        positions in edge_lists((-12i8..0).prop_map(|quarters| f32::from(quarters) / 4.0)),
    ) {
        let lattice = lattice_of(&positions);
        let all = all_paths(lattice.edges(), lattice.characters());
        let mut scores: Vec<f64> = all.iter().map(|path| path_score(lattice.edges(), path)).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        let mut search = TwoBest::default();
        let paths = search.search(&lattice);
        prop_assert!(all.iter().any(|path| path == paths.best));
        prop_assert_eq!(path_score(lattice.edges(), paths.best), scores[0]);
        match paths.second {
            None => prop_assert_eq!(all.len(), 1),
            Some(second) => {
                prop_assert!(all.iter().any(|path| path == second));
                prop_assert_ne!(second, paths.best);
                prop_assert_eq!(path_score(lattice.edges(), second), scores[1]);
            }
        }
    }
}
