use super::*;
use crate::train::unigram::testing::Pieces;

fn finalized(pieces: &Pieces, required: &[(char, u64)], room: usize) -> Vec<(String, f32)> {
    let learned = finalize(&pieces.seeds, &pieces.list, required, room);
    let pair = |piece: LearnedPiece| (piece.text.into_string(), piece.score);
    learned.into_iter().map(pair).collect()
}

fn expected(pieces: &[(&str, f32)]) -> Vec<(String, f32)> {
    pieces
        .iter()
        .map(|(text, score)| ((*text).to_owned(), *score))
        .collect()
}

#[test]
fn required_characters_take_the_room_of_the_worst_pieces() {
    let pieces = Pieces::new(&[("ab", -1.0), ("a", -2.0), ("abc", -3.0), ("bc", -4.0)]);
    let required = [('a', 9), ('b', 5), ('c', 2)];
    let module_example = [("ab", -1.0), ("a", -2.0), ("c", -4.0 + 0.0001), ("b", -4.0)];
    assert_eq!(finalized(&pieces, &required, 4), expected(&module_example));
    let without_room = [("a", -2.0), ("c", -4.0 + 0.0001), ("b", -4.0)];
    assert_eq!(finalized(&pieces, &required, 3), expected(&without_room));
}

#[test]
fn equal_scores_are_sorted_by_bytes() {
    let pieces = Pieces::new(&[("é", -1.0), ("b", -1.0), ("ba", -1.0), ("a", -1.0)]);
    let sorted = [("a", -1.0), ("b", -1.0), ("ba", -1.0), ("é", -1.0)];
    assert_eq!(finalized(&pieces, &[], 9), expected(&sorted));
    assert_eq!(finalized(&pieces, &[], 2), expected(&sorted[..2]));
}
