use super::*;
use crate::train::unigram::lattice::Edge;
use crate::train::unigram::testing::Pieces;

const TEXTS: &[(&str, u64)] = &[("abab", 5), ("éb", 4), ("ab", 3), ("xx", 2), ("b", 1)];

fn pieces() -> Pieces {
    Pieces::new(&[
        ("a", -1.0),
        ("b", -2.0),
        ("ab", -3.0),
        ("é", -4.0),
        ("aba", -5.0),
    ])
}

/// The edges and the frequencies of the texts of each partial sum.
fn lattices(corpus: &CorpusLattices, pieces: &PieceList) -> Vec<Vec<(Vec<Edge>, f32)>> {
    let of_partial = |partial| {
        let mut found = Vec::new();
        corpus.for_each(partial, pieces, |lattice, frequency| {
            found.push((lattice.edges().to_vec(), frequency));
        });
        found
    };
    (0..corpus.partials()).map(of_partial).collect()
}

fn is_stored(corpus: &CorpusLattices) -> bool {
    matches!(corpus.source, LatticeSource::Stored(_))
}

#[test]
fn texts_are_dealt_to_the_partial_sums() {
    let pieces = pieces();
    let corpus = pieces.corpus(TEXTS, 2, usize::MAX);
    let frequencies: Vec<Vec<f32>> = lattices(&corpus, &pieces.list)
        .into_iter()
        .map(|texts| texts.into_iter().map(|(_, frequency)| frequency).collect())
        .collect();
    assert_eq!(frequencies, [vec![5.0, 3.0, 1.0], vec![4.0, 2.0]]);
}

#[test]
fn searched_lattices_equal_stored_ones() {
    for partials in [1, 2, 7] {
        let mut pieces = pieces();
        let mut stored = pieces.corpus(TEXTS, partials, usize::MAX);
        let mut searched = pieces.corpus(TEXTS, partials, 0);
        assert!(is_stored(&stored) && !is_stored(&searched));
        // The pieces of one step, then without `a` and `aba`, then with new numbers.
        for step in 0..3 {
            let expected = lattices(&stored, &pieces.list);
            assert_eq!(lattices(&searched, &pieces.list), expected, "step {step}");
            let numbers = Renumbering::new(&pieces.list);
            if step == 0 {
                let kept = pieces
                    .list
                    .iter()
                    .filter(|piece| ![0, 4].contains(&piece.seed));
                pieces.list.replace(kept.collect()).unwrap();
            } else {
                pieces.seeds = pieces.seeds.renumbered(&numbers);
                stored.renumber(&numbers, &pieces.seeds).unwrap();
                searched.renumber(&numbers, &pieces.seeds).unwrap();
                pieces.list.renumber(&numbers);
            }
        }
    }
}

#[test]
fn edges_are_stored_once_they_fit() {
    let mut pieces = pieces();
    // Seven in `abab`, two in `éb`, three in `ab`, two in `xx`, one in `b`.
    let all = 15;
    assert!(is_stored(&pieces.corpus(TEXTS, 2, all)));
    let mut corpus = pieces.corpus(TEXTS, 2, all - 1);
    assert!(!is_stored(&corpus));
    let kept = pieces.list.iter().filter(|piece| piece.seed < 2).collect();
    pieces.list.replace(kept).unwrap();
    let numbers = Renumbering::new(&pieces.list);
    pieces.seeds = pieces.seeds.renumbered(&numbers);
    corpus.renumber(&numbers, &pieces.seeds).unwrap();
    pieces.list.renumber(&numbers);
    assert!(is_stored(&corpus));
}
