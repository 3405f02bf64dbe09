use crate::train::unigram::testing::Pieces;

const TEXTS: &[(&str, u64)] = &[("abab", 5), ("éb", 4), ("ab", 3), ("xx", 2), ("b", 1)];

#[test]
fn texts_are_dealt_to_the_partial_sums() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -2.0), ("ab", -3.0)]);
    let corpus = pieces.corpus(TEXTS, 2);
    let texts = |partial| {
        let mut found = Vec::new();
        corpus.for_each(partial, &pieces.list, |lattice, frequency| {
            found.push((lattice.characters(), lattice.edges().len(), frequency));
        });
        found
    };
    // `abab`, `ab` and `b`, then `éb` and `xx`.
    assert_eq!(texts(0), [(4, 6, 5.0), (2, 3, 3.0), (1, 1, 1.0)]);
    assert_eq!(texts(1), [(2, 2, 4.0), (2, 2, 2.0)]);
}
