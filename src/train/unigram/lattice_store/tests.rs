use proptest::prelude::*;

use super::*;
use crate::train::unigram::lattice::Edge;
use crate::train::unigram::pieces::ScoredSeed;
use crate::train::unigram::testing::Pieces;

const TEXTS: &[&str] = &[
    "a", "b", "é", "ab", "ba", "aé", "aba", "éb", "bab", "abé", "abab",
];

fn characters(text: &[u8]) -> u32 {
    let characters = std::str::from_utf8(text).unwrap().chars();
    u32::try_from(characters.count()).unwrap()
}

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
                end: begin + characters(pieces.seeds.text(piece.seed)),
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

fn edges_in(store: &LatticeStore, pieces: &PieceList) -> Vec<(Vec<Edge>, f32)> {
    let mut all = Vec::new();
    store.for_each(pieces, &mut TextLattice::default(), |lattice, frequency| {
        all.push((lattice.edges().to_vec(), frequency));
    });
    all
}

/// Removes the seeds that are no pieces.
fn renumber(store: &mut LatticeStore, pieces: &mut Pieces) {
    let numbers = Renumbering::new(&pieces.list);
    store.renumber(&numbers, |_| true);
    pieces.seeds = pieces.seeds.renumbered(&numbers);
    pieces.list.renumber(&numbers);
}

#[test]
fn the_entries_of_the_module_example() {
    let mut pieces = Pieces::new(&[("a", -1.0), ("b", -2.0), ("ab", -3.0)]);
    let mut store = pieces.store(&[("abc", 1.0)]);
    assert_eq!(store.edges, [0, 2 | LAST, 1 | LAST, NO_SEED | LAST]);
    let kept = pieces.list.iter().filter(|piece| piece.seed != 1).collect();
    pieces.list.replace(kept).unwrap();
    renumber(&mut store, &mut pieces);
    assert_eq!(store.edges, [0, 1 | LAST, NO_SEED | LAST, NO_SEED | LAST]);
}

#[test]
fn texts_can_be_removed() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -2.0), ("ab", -3.0)]);
    let mut store = pieces.store(&[("ab", 1.0), ("bab", 2.0), ("b", 3.0)]);
    store.renumber(&Renumbering::new(&pieces.list), |text| text != 1);
    let expected = [
        (edges_of(&pieces, "ab"), 1.0),
        (edges_of(&pieces, "b"), 3.0),
    ];
    assert_eq!(edges_in(&store, &pieces.list), expected);
}

proptest! {
    /// Each round drops pieces, changes scores and reverses the order; some forget the dropped seeds.
    #[test]
    fn a_store_gives_the_edges_of_the_remaining_pieces(
        texts in proptest::collection::vec("[abé]{0,6}", 1..5),
        rounds in proptest::collection::vec(
            (proptest::collection::vec(0u8..4, TEXTS.len()), any::<bool>()),
            1..5,
        ),
    ) {
        let scores = (1u8..).map(|score| -f32::from(score));
        let all: Vec<(&str, f32)> = TEXTS.iter().copied().zip(scores).collect();
        let mut pieces = Pieces::new(&all);
        let texts: Vec<(&str, f32)> = texts.iter().map(|text| (text.as_str(), 2.0)).collect();
        let mut store = pieces.store(&texts);
        for (drawn, forgets) in rounds {
            if forgets {
                let size = store.edges.len();
                renumber(&mut store, &mut pieces);
                prop_assert!(store.edges.len() <= size);
                prop_assert_eq!(pieces.seeds.len(), pieces.list.len());
            }
            let expected: Vec<(Vec<Edge>, f32)> = texts
                .iter()
                .map(|(text, frequency)| (edges_of(&pieces, text), *frequency))
                .collect();
            prop_assert_eq!(&edges_in(&store, &pieces.list), &expected);
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
