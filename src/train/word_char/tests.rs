use super::*;

fn alphabet(characters: &[(char, u64)]) -> Alphabet {
    Alphabet {
        characters: characters.to_vec(),
        coverage: 1.0,
    }
}

fn words(counted: &[(&str, u64)], characters: &str, room: usize) -> Vec<LearnedPiece> {
    let counts = WordTable::of(counted.iter().copied());
    let known: Vec<(char, u64)> = characters.chars().map(|c| (c, 1)).collect();
    word_pieces(&counts, &alphabet(&known), room).unwrap()
}

fn texts(pieces: &[LearnedPiece]) -> Vec<&str> {
    pieces.iter().map(|piece| piece.text.as_ref()).collect()
}

#[test]
fn scores_of_the_module_example() {
    let pieces = words(&[("▁be", 1), ("▁to", 2)], "▁beto", 10);
    assert_eq!(texts(&pieces), ["▁to", "▁be"]);
    let scores: Vec<f32> = pieces.iter().map(|piece| piece.score).collect();
    for (score, expected) in scores.iter().zip([-0.405_465_1, -1.098_612_3]) {
        assert!((score - expected).abs() < 1e-6, "{scores:?}");
    }
}

#[test]
fn words_with_unknown_characters_count_only_in_the_sum() {
    let pieces = words(&[("▁a", 1), ("▁xa", 3)], "▁a", 10);
    assert_eq!(texts(&pieces), ["▁a"]);
    assert_eq!(pieces[0].score, log_f32(1.0) - log_f32(4.0));
}

#[test]
fn equal_words_are_sorted_by_bytes_and_cut_to_the_room() {
    let counted = [("▁b", 2), ("▁é", 2), ("▁a", 2), ("▁c", 3)];
    assert_eq!(
        texts(&words(&counted, "▁abcé", 9)),
        ["▁c", "▁a", "▁b", "▁é"]
    );
    assert_eq!(texts(&words(&counted, "▁abcé", 2)), ["▁c", "▁a"]);
}

#[test]
fn dropping_words_while_they_are_collected_keeps_the_best() {
    let texts: Vec<String> = (0..200_000).map(|number| number.to_string()).collect();
    let count = |text: &String| text.bytes().map(u64::from).product::<u64>() % 5_000 + 1;
    let counts = WordTable::of(texts.iter().map(|text| (text.as_str(), count(text))));
    let known: Vec<(char, u64)> = ('0'..='9').map(|c| (c, 1)).collect();
    let pieces = word_pieces(&counts, &alphabet(&known), 300).unwrap();
    let mut expected = texts.clone();
    expected.sort_by(|a, b| count(b).cmp(&count(a)).then_with(|| a.cmp(b)));
    let found: Vec<&str> = pieces.iter().map(|piece| piece.text.as_ref()).collect();
    assert_eq!(found, expected[..300]);
}

#[test]
fn too_many_words_are_refused() {
    let counts = WordTable::of([("▁a", 1 << 62), ("▁b", 1 << 62)]);
    let refused = word_pieces(&counts, &alphabet(&[('a', 1)]), 9);
    assert!(matches!(
        refused,
        Err(TrainError::TooLarge { what: "words" })
    ));
}

/// Required characters that do not occur have the count 0.
#[test]
fn characters_beyond_the_room_count_only_in_the_sum() {
    let pieces = char_pieces(&alphabet(&[('b', 3), ('a', 1), ('€', 0)]), 2).unwrap();
    assert_eq!(texts(&pieces), ["b", "a"]);
    assert_eq!(pieces[1].score, log_f32(1.0) - log_f32(4.0));
    let all = char_pieces(&alphabet(&[('b', 3), ('a', 1), ('€', 0)]), usize::MAX).unwrap();
    assert_eq!(all[2].score, f32::NEG_INFINITY);
}

#[test]
fn an_alphabet_that_does_not_occur_is_refused() {
    for characters in [&[][..], &[('€', 0)]] {
        let refused = char_pieces(&alphabet(characters), 2);
        assert!(
            matches!(refused, Err(TrainError::NoCharacters)),
            "{characters:?}"
        );
    }
}
