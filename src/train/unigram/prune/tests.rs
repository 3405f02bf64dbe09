use super::*;
use crate::train::unigram::testing::Pieces;

#[test]
fn the_loss_of_the_module_example() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -1.0), ("ab", -1.0), ("c", -1.0)]);
    let counts = [20.0, 20.0, 10.0, 50.0];
    let losses = LossFunction::new(&pieces.list, &counts);
    let with = 0.1f64.ln();
    let without = 2.0 * (30.0f64 / 110.0).ln();
    let loss = f64::from(losses.of(2, &[0, 1]));
    assert!((loss - 0.1 * (with - without)).abs() < 1e-6, "{loss}");
    assert!((loss - 0.030).abs() < 5e-4, "{loss}");
}

#[test]
fn a_step_keeps_a_share_but_not_fewer_than_wanted() {
    let target = PruneTarget {
        wanted: 60,
        shrinking_factor: 0.75,
    };
    assert_eq!(target.size(101), 75);
    assert_eq!(target.size(70), 60);
}

fn own_lattices(pieces: &Pieces) -> OwnLattices {
    let trie = pieces.seeds.trie().unwrap();
    let numbers = Renumbering::new(&pieces.list);
    OwnLattices::new(&numbers, &trie, |seed| pieces.seeds.text(seed))
}

#[test]
fn replacements_are_the_second_best_segmentations() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -1.0), ("ab", -1.5), ("ba", -3.0)]);
    let found = replacements(&own_lattices(&pieces), &pieces.list);
    let expected = [
        Replacement::None,
        Replacement::None,
        Replacement::Seeds(vec![0, 1]),
        Replacement::Better,
    ];
    assert_eq!(found, expected);
}

/// A piece that is as good as the best other segmentation stays.
#[test]
fn pieces_with_a_better_segmentation_are_unreachable() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -1.0), ("ab", -2.0), ("ba", -2.5)]);
    let kept = reachable(&own_lattices(&pieces), &pieces.list);
    let seeds: Vec<u32> = kept.iter().map(|piece| piece.seed).collect();
    assert_eq!(seeds, [0, 1, 2]);
}

#[test]
fn pruning_keeps_the_highest_losses_after_pieces_without_replacement() {
    let pieces = Pieces::new(&[
        ("ab", -2.0),
        ("a", -2.0),
        ("ba", -2.0),
        ("b", -2.0),
        ("aa", -2.0),
    ]);
    let seeds = Replacement::Seeds;
    let found = [
        seeds(vec![1, 3]),
        Replacement::None,
        seeds(vec![3, 1]),
        Replacement::None,
        Replacement::Better,
    ];
    let kept = |counts: &[f32], wanted| {
        let target = PruneTarget {
            wanted,
            shrinking_factor: 0.1,
        };
        let kept = prune(&pieces.list, &found, counts, target);
        kept.iter().map(|piece| piece.seed).collect::<Vec<u32>>()
    };
    let counts = [5.0, 9.0, 50.0, 9.0, 7.0];
    assert_eq!(kept(&counts, 4), [1, 3, 2, 0]);
    assert_eq!(kept(&counts, 3), [1, 3, 2]);
    // More pieces without replacement than wanted: then all candidates stay, as in the reference.
    assert_eq!(kept(&counts, 1), [1, 3, 2, 0]);
    let unused = [5.0, 9.0, 0.0, 0.0, 7.0];
    assert_eq!(kept(&unused, 4), [1, 0]);
}

#[test]
fn pieces_of_best_segmentations_are_counted() {
    let pieces = Pieces::new(&[("a", -1.0), ("b", -1.0), ("ab", -1.5)]);
    let corpus = pieces.corpus(&[("abb", 3), ("xa", 1), ("ba", 2)], 2);
    // The unknown character counts for the first piece.
    assert_eq!(count_pieces(&corpus, &pieces.list), [4.0, 5.0, 3.0]);
}

/// Each piece has the same lattice after the seeds got new numbers.
#[test]
fn own_lattices_follow_new_numbers() {
    let texts = [("a", -1.0), ("b", -1.0), ("ba", -0.5), ("ab", -1.5)];
    let mut pieces = Pieces::new(&texts);
    let mut own = own_lattices(&pieces);
    let kept = pieces.list.iter().filter(|piece| piece.seed != 2);
    let mut kept: Vec<ScoredSeed> = kept.collect();
    kept.reverse();
    pieces.list.replace(kept).unwrap();
    let expected = [
        Replacement::Seeds(vec![0, 1]),
        Replacement::None,
        Replacement::None,
    ];
    assert_eq!(replacements(&own, &pieces.list), expected, "old numbers");
    let numbers = Renumbering::new(&pieces.list);
    own.renumber(&numbers);
    pieces.list.renumber(&numbers);
    let seeds = pieces.seeds.renumbered(&numbers);
    assert_eq!(replacements(&own, &pieces.list), expected, "new numbers");
    let order: Vec<&[u8]> = pieces
        .list
        .iter()
        .map(|piece| seeds.text(piece.seed))
        .collect();
    assert_eq!(order, [b"ab".as_slice(), b"b", b"a"]);
}
