use super::*;
use crate::train::unigram::testing::Pieces;

const TEXTS: &[(&str, u64)] = &[("abab", 5), ("éb", 4), ("ab", 3), ("xx", 2), ("b", 1)];

#[test]
fn texts_are_dealt_to_the_partial_sums() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -2.0), ("ab", -3.0)]);
    let mut counted = CountedTexts::default();
    for (text, count) in TEXTS {
        counted.push(text, *count);
    }
    let trie = pieces.seeds.trie().unwrap();
    // By partial sum: the characters, the edges and the frequency of each text.
    let abab = (4, 6, 5.0);
    let eb = (2, 2, 4.0);
    let ab = (2, 3, 3.0);
    let xx = (2, 2, 2.0);
    let b = (1, 1, 1.0);
    let cases = [
        (1, vec![vec![abab, eb, ab, xx, b]]),
        (2, vec![vec![abab, ab, b], vec![eb, xx]]),
        (3, vec![vec![abab, xx], vec![eb, b], vec![ab]]),
        (
            7,
            vec![
                vec![abab],
                vec![eb],
                vec![ab],
                vec![xx],
                vec![b],
                vec![],
                vec![],
            ],
        ),
    ];
    for (partials, expected) in cases {
        for size in 1..=4 {
            let corpus = CorpusLattices::with_groups(&counted, &trie, (partials, size));
            let mut found = Vec::new();
            for group in 0..corpus.groups() {
                let mut texts = vec![Vec::new(); corpus.partials_of(group)];
                corpus.for_each(group, &pieces.list, None, |lattice, frequency, partial| {
                    let edges = lattice.edges().len();
                    texts[partial].push((lattice.characters(), edges, frequency));
                });
                found.extend(texts);
            }
            assert_eq!(found, expected, "{partials} in groups of {size}");
        }
    }
}
