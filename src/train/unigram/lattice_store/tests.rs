use proptest::prelude::*;

use super::*;
use crate::train::unigram::lattice::Edge;
use crate::train::unigram::pieces::ScoredSeed;
use crate::train::unigram::testing::Pieces;

const TEXTS: &[&str] = &[
    "a", "b", "é", "ab", "ba", "aé", "aba", "éb", "bab", "abé", "abab",
];

/// The edges of a text, found without a store.
fn edges_of(pieces: &Pieces, text: &str) -> Vec<Edge> {
    let mut edges = Vec::new();
    for (begin, (at, _)) in (0..).zip(text.char_indices()) {
        let mut found: Vec<Edge> = pieces
            .list
            .iter()
            .filter(|piece| text.as_bytes()[at..].starts_with(pieces.seeds.text(piece.seed)))
            .map(|piece| Edge {
                seed: piece.seed,
                begin,
                end: begin + pieces.seeds.length(piece.seed),
                score: piece.score,
            })
            .collect();
        found.sort_by_key(|edge| edge.end);
        let has_character = found.first().is_some_and(|edge| edge.end == begin + 1);
        if !has_character {
            let unknown = pieces.list.unknown();
            found.push(Edge {
                seed: unknown.seed,
                begin,
                end: begin + 1,
                score: unknown.score,
            });
        }
        edges.extend(found);
    }
    edges
}

fn edges_in(store: &mut LatticeStore, pieces: &PieceList) -> Vec<(Vec<Edge>, f32)> {
    let mut all = Vec::new();
    store.for_each(pieces, &mut TextLattice::default(), |lattice, frequency| {
        all.push((lattice.edges().to_vec(), frequency));
    });
    all
}

#[test]
fn the_entries_of_the_module_example() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -2.0), ("ab", -3.0)]);
    let mut store = pieces.store(&[("abc", 1.0)]);
    assert_eq!(store.edges, [0, 2 | LAST, 1 | LAST, UNKNOWN | LAST]);
    let mut list = pieces.list;
    // Without `b` an unknown character takes its place.
    let kept = list.iter().filter(|piece| piece.seed != 1).collect();
    list.replace(kept).unwrap();
    edges_in(&mut store, &list);
    assert_eq!(store.edges, [0, 2 | LAST, UNKNOWN | LAST, UNKNOWN | LAST]);
}

proptest! {
    /// Each round drops pieces, changes scores and reverses the order.
    #[test]
    fn a_store_gives_the_edges_of_the_remaining_pieces(
        texts in proptest::collection::vec("[abé]{0,6}", 1..5),
        rounds in proptest::collection::vec(proptest::collection::vec(0u8..4, TEXTS.len()), 1..5),
    ) {
        let scores = (1u8..).map(|score| -f32::from(score));
        let all: Vec<(&str, f32)> = TEXTS.iter().copied().zip(scores).collect();
        let mut pieces = Pieces::new(&all);
        let texts: Vec<(&str, f32)> = texts.iter().map(|text| (text.as_str(), 2.0)).collect();
        let mut store = pieces.store(&texts);
        let mut size = store.edges.len();
        for drawn in rounds {
            let expected: Vec<(Vec<Edge>, f32)> = texts
                .iter()
                .map(|(text, frequency)| (edges_of(&pieces, text), *frequency))
                .collect();
            prop_assert_eq!(&edges_in(&mut store, &pieces.list), &expected);
            prop_assert_eq!(&edges_in(&mut store, &pieces.list), &expected, "again");
            prop_assert!(store.edges.len() <= size);
            size = store.edges.len();
            let mut kept: Vec<ScoredSeed> = pieces
                .list
                .iter()
                .filter(|piece| drawn[piece.seed as usize] > 0)
                .map(|piece| ScoredSeed { score: piece.score - 0.5, ..piece })
                .collect();
            kept.reverse();
            if pieces.list.replace(kept).is_err() {
                break;
            }
        }
    }
}
