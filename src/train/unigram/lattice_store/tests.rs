use proptest::prelude::*;

use super::*;
use crate::train::unigram::lattice::{Edge, Viterbi};
use crate::train::unigram::math::FastMath;
use crate::train::unigram::pieces::ScoredSeed;
use crate::train::unigram::seed_totals::SeedTotals;
use crate::train::unigram::testing::Pieces;

const TEXTS: &[&str] = &[
    "a", "b", "é", "ab", "ba", "aé", "aba", "éb", "bab", "abé", "abab",
];

fn characters(text: &[u8]) -> u32 {
    let characters = std::str::from_utf8(text).unwrap().chars();
    u32::try_from(characters.count()).unwrap()
}

/// The edges of a text by end and beginning, found without a store.
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
    edges.sort_by_key(|edge| (edge.end, edge.begin));
    edges
}

fn edges_in(store: &LatticeStore, pieces: &PieceList) -> Vec<(Vec<Edge>, f32)> {
    let mut all = Vec::new();
    store.for_each(pieces, None, |lattice, frequency| {
        all.push((lattice.edges().to_vec(), frequency));
    });
    all
}

/// Removes the seeds that are no pieces.
fn renumber(store: &mut LatticeStore, pieces: &mut Pieces) {
    let numbers = Renumbering::new(&pieces.list);
    store.renumber(&numbers, |_| true);
    pieces.renumber(&numbers);
}

#[test]
fn the_entries_of_the_module_example() {
    let mut pieces = Pieces::new(&[("a", -1.0), ("b", -2.0), ("ab", -3.0)]);
    let mut store = pieces.store(&[("abc", 1.0), ("abb", 1.0)]);
    assert_eq!(store.longest, [0, 2, NO_SEED, 1]);
    let lengths = |text: &StoredText| (text.characters, text.shared);
    let texts: Vec<(u32, u32)> = store.texts.iter().map(lengths).collect();
    assert_eq!(texts, [(3, 0), (3, 2)]);
    // Without `ab` its suffix `b` takes its place; without `b` too, nothing.
    for (dropped, expected) in [(2, [0, 1, NO_SEED, 1]), (1, [0, NO_SEED, NO_SEED, NO_SEED])] {
        let kept = pieces.list.iter().filter(|piece| piece.seed != dropped);
        pieces.list.replace(kept.collect()).unwrap();
        renumber(&mut store, &mut pieces);
        assert_eq!(store.longest, expected);
    }
}

proptest! {
    /// Each round drops pieces, changes scores and reverses the order; some forget the dropped
    /// seeds and remove texts.
    #[test]
    fn a_store_gives_the_edges_of_the_remaining_pieces(
        texts in proptest::collection::vec("[abé]{0,6}", 1..8),
        is_sorted in any::<bool>(),
        rounds in proptest::collection::vec(
            (proptest::collection::vec(0u8..4, TEXTS.len()), any::<bool>()),
            1..5,
        ),
    ) {
        let scores = (1u8..).map(|score| -f32::from(score));
        let all: Vec<(&str, f32)> = TEXTS.iter().copied().zip(scores).collect();
        let mut pieces = Pieces::new(&all);
        let mut texts: Vec<(&str, f32)> = texts.iter().map(|text| (text.as_str(), 2.0)).collect();
        if is_sorted {
            texts.sort_by_key(|(text, _)| *text);
        }
        let mut store = pieces.store(&texts);
        for (drawn, forgets) in rounds {
            if forgets {
                let size = store.longest.len();
                let is_kept = |text: usize| drawn[text % drawn.len()] > 0;
                let numbers = Renumbering::new(&pieces.list);
                store.renumber(&numbers, is_kept);
                pieces.renumber(&numbers);
                let mut number = 0..;
                texts.retain(|_| number.next().is_some_and(is_kept));
                prop_assert!(store.longest.len() <= size);
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

    /// A pass over texts with shared beginnings gives what each text gives by itself.
    #[test]
    fn shared_sums_equal_those_of_single_texts(
        texts in proptest::collection::vec("[abé]{1,8}", 1..8),
        kept in proptest::collection::vec(any::<bool>(), TEXTS.len()),
    ) {
        let scores = (1u8..).map(|score| -f32::from(score) / 3.0);
        let all: Vec<(&str, f32)> = TEXTS.iter().copied().zip(scores).collect();
        let mut pieces = Pieces::new(&all);
        let remaining = pieces.list.iter().filter(|piece| kept[piece.seed as usize]);
        prop_assume!(pieces.list.replace(remaining.collect()).is_ok());
        let mut texts: Vec<(&str, f32)> = texts.iter().map(|text| (text.as_str(), 3.0)).collect();
        texts.sort_by_key(|(text, _)| *text);
        let math = FastMath::new();
        let pass = |texts: &[(&str, f32)]| {
            let mut totals = vec![0.0f32; TEXTS.len()];
            let mut results = Vec::new();
            let mut viterbi = Viterbi::default();
            pieces.store(texts).for_each(&pieces.list, Some(&math), |lattice, frequency| {
                totals.fill(0.0);
                let log_sum = lattice.expect(&math, frequency, &mut SeedTotals::new(&mut totals, 1, 0));
                viterbi.continue_search(lattice);
                let mut path = Vec::new();
                viterbi.trace(lattice, |edge| path.push(*edge));
                let bits = |value: &f32| value.to_bits();
                results.push((log_sum.to_bits(), totals.iter().map(bits).collect::<Vec<u32>>(), path));
            });
            results
        };
        let single: Vec<_> = texts.iter().flat_map(|text| pass(std::slice::from_ref(text))).collect();
        prop_assert_eq!(pass(&texts), single);
    }
}
