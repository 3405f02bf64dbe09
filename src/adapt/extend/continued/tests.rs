//! Continued training against a slow definition of it: before each new piece the text is encoded
//! anew by the definition of BPE with the pieces so far, and all pairs are counted.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::encode::bpe::tests::naive::merge_best_pairs;
use crate::train::Observer;

/// The scores of the pieces that merges give.
type Scores = BTreeMap<Vec<u8>, f32>;

fn scores_of(model: &Model) -> Scores {
    let pieces = model.pieces();
    pieces
        .filter(|piece| matches!(piece.kind, PieceKind::Normal | PieceKind::Unused))
        .map(|piece| (piece.text.to_vec(), piece.score))
        .collect()
}

/// The parts of the lines between the texts of special pieces, normalized.
fn parts(model: &Model, lines: &[String]) -> Vec<String> {
    let meta = meta_trie(&MetaPieces::of_model(model)).unwrap();
    let mut parts = Vec::new();
    for line in lines {
        let mut normalized = Vec::new();
        model
            .normalizer()
            .normalize(line.as_bytes(), &mut normalized);
        let text = String::from_utf8(normalized).unwrap();
        let mut rest = text.as_str();
        while let Some((start, length)) = meta.find(rest.as_bytes()) {
            parts.push(rest[..start].to_owned());
            rest = &rest[start + length..];
        }
        parts.push(rest.to_owned());
    }
    parts
}

/// The pieces by definition.
fn slow_pieces(
    model: &Model,
    lines: &[String],
    options: &TrainOptions,
    wanted: usize,
) -> Vec<(String, u64)> {
    let rules = SplitRules::new(options);
    let mut scores = scores_of(model);
    // Below the scores of all models of these tests.
    let mut next_score = -2e9_f32;
    let has_bytes = model.trainer_spec().byte_fallback();
    let mut known: Vec<String> = model
        .pieces()
        .map(|piece| String::from_utf8(piece.text.to_vec()).unwrap())
        .collect();
    let parts = parts(model, lines);
    let mut learned = Vec::new();
    while learned.len() < wanted {
        let mut pairs: BTreeMap<String, u64> = BTreeMap::new();
        let mut characters: BTreeMap<char, u64> = BTreeMap::new();
        for part in &parts {
            part.chars()
                .for_each(|c| *characters.entry(c).or_default() += 1);
            let mut tokens: Vec<Vec<u8>> = part.chars().map(|c| c.to_string().into()).collect();
            merge_best_pairs(&mut tokens, |pair| scores.get(&pair.concat()).copied());
            for pair in tokens.windows(2) {
                let are_known = pair.iter().all(|token| scores.contains_key(token));
                let joined = String::from_utf8(pair.concat()).unwrap();
                if are_known && rules.is_valid_piece(&joined) {
                    *pairs.entry(joined).or_default() += 1;
                }
            }
        }
        let character = characters
            .into_iter()
            .filter(|(c, _)| !known.contains(&c.to_string()))
            .filter(|(c, _)| !crate::train::split::is_breaking(*c))
            .map(|(c, count)| {
                let saved = if has_bytes {
                    c.len_utf8() as u64 - 1
                } else {
                    1
                };
                (count * saved, std::cmp::Reverse(c), count)
            })
            .filter(|(gain, ..)| *gain > 0)
            .max();
        let pair = pairs.into_iter().min_by(|(a, a_count), (b, b_count)| {
            let key = |text: &String, count: &u64| {
                (
                    std::cmp::Reverse(*count),
                    text.chars().count(),
                    text.clone(),
                )
            };
            key(a, a_count).cmp(&key(b, b_count))
        });
        let best_count = pair.as_ref().map_or(0, |(_, count)| *count);
        let next = match character {
            Some((gain, std::cmp::Reverse(c), count)) if gain >= best_count => {
                (c.to_string(), count)
            }
            _ => match pair {
                Some(pair) => pair,
                None => break,
            },
        };
        known.push(next.0.clone());
        scores.insert(next.0.clone().into_bytes(), next_score);
        next_score -= 1e6;
        learned.push(next);
    }
    learned
}

fn learned(
    model: &Model,
    lines: &[String],
    options: &TrainOptions,
    wanted: usize,
) -> Vec<(String, u64)> {
    let trainer = ContinuedTrainer::new(model, options, NewCharacters::ByGain).unwrap();
    let result = trainer
        .learn(Corpus::texts(lines), wanted, &Observer::default())
        .unwrap();
    let pieces = result.pieces.into_iter();
    pieces
        .map(|merge| (merge.to_text().into_owned(), merge.count))
        .collect()
}

/// A model of pieces with scores and kinds; texts that occur twice are left out.
fn model_of(pieces: &[(String, f32, PieceKind)], has_bytes: bool) -> Model {
    let mut builder = Model::builder();
    builder.model_type(crate::ModelType::Bpe);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    builder.piece("<s>", 0.0, PieceKind::Control);
    if has_bytes {
        builder.byte_pieces();
        builder.trainer_spec_mut().byte_fallback = Some(true);
    }
    let mut texts = std::collections::BTreeSet::new();
    for (text, score, kind) in pieces {
        if texts.insert(text) {
            builder.piece(text, *score, *kind);
        }
    }
    builder.build().unwrap()
}

fn scores() -> impl Strategy<Value = f32> {
    prop_oneof![
        (-9..3i8).prop_map(f32::from),
        Just(-1e9),
        Just(-2.5),
        Just(0.0),
        Just(-0.0),
        Just(7.0),
    ]
}

fn kinds() -> impl Strategy<Value = PieceKind> {
    prop_oneof![
        12 => Just(PieceKind::Normal),
        2 => Just(PieceKind::Unused),
        1 => Just(PieceKind::UserDefined),
        1 => Just(PieceKind::Control),
    ]
}

fn models() -> impl Strategy<Value = Model> {
    let characters =
        proptest::sample::subsequence(vec!["\u{2581}", "a", "b", "c", "é", "д"], 3..=6);
    let long = prop::collection::vec(("[abcéд\u{2581}]{2,5}", scores(), kinds()), 0..12);
    (characters, long, any::<bool>()).prop_map(|(characters, long, has_bytes)| {
        let single = characters
            .into_iter()
            .map(|c| (c.to_owned(), -20.0, PieceKind::Normal));
        let pieces: Vec<_> = single.chain(long).collect();
        model_of(&pieces, has_bytes)
    })
}

fn rules() -> impl Strategy<Value = TrainOptions> {
    (any::<[bool; 3]>(), 2..8u32).prop_map(|([words, scripts, runs], length)| {
        let mut options = TrainOptions::default();
        options.max_sentencepiece_length = length;
        options.split_by_whitespace = words;
        options.split_by_unicode_script = scripts;
        options.allow_whitespace_only_pieces = runs;
        options
    })
}

fn corpora() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[abcéд 　x]{0,12}|(abc|ab|<s>| ){1,6}", 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 150 } else { 1500 }))]

    #[test]
    fn continued_training_is_its_definition(
        model in models(),
        options in rules(),
        lines in corpora(),
        keeps_spaces in any::<bool>(),
    ) {
        let mut editor = model.edit();
        editor.set_remove_extra_whitespaces(!keeps_spaces);
        let model = editor.finish().unwrap();
        let slow = slow_pieces(&model, &lines, &options, 12);
        prop_assume!(lines.iter().any(|line| !line.is_empty()));
        prop_assert_eq!(learned(&model, &lines, &options, 12), slow);
    }
}

#[test]
fn a_new_half_makes_old_pieces_before_the_next_occurrence() {
    let pieces = [("a", -9.0), ("b", -9.5), ("aba", -1.0)]
        .map(|(text, score)| (text.to_owned(), score, PieceKind::Normal));
    let model = model_of(&pieces, false);
    let lines = vec!["ababab".to_owned(), "ab".to_owned()];
    let options = TrainOptions::default();
    let all = learned(&model, &lines, &options, 9);
    assert_eq!(all, slow_pieces(&model, &lines, &options, 9));
    assert_eq!(all[0], ("ab".to_owned(), 4));
    // `▁ababab` is now `▁ aba b ab`, since `aba` is made before the second `ab`.
    assert!(all.contains(&("\u{2581}aba".to_owned(), 1)), "{all:?}");
}

#[test]
fn models_with_a_nul_piece_are_continued() {
    let normal = [("\u{2581}", -6.0), ("a", -7.0), ("b", -8.0)];
    let normal = normal.map(|(text, score)| (text.to_owned(), score, PieceKind::Normal));
    let nul = [("\0".to_owned(), -5.0, PieceKind::Unused)];
    let model = model_of(&[&nul[..], &normal].concat(), true);
    let lines = vec!["ab ab\0".to_owned()];
    let all = learned(&model, &lines, &TrainOptions::default(), 2);
    assert_eq!(all[0], ("ab".to_owned(), 2));
}

#[test]
fn characters_that_are_never_pieces_are_no_matter_for_coverage() {
    let pieces = [("a", -7.0), ("b", -8.0)];
    let pieces = pieces.map(|(text, score)| (text.to_owned(), score, PieceKind::Normal));
    let mut editor = model_of(&pieces, false).edit();
    editor.set_escape_whitespaces(false);
    let model = editor.finish().unwrap();
    let options = TrainOptions::default();
    let trainer = ContinuedTrainer::new(&model, &options, NewCharacters::Coverage).unwrap();
    let lines = ["ab ab c", "a\u{2585}"];
    let result = trainer.learn(Corpus::texts(lines), 2, &Observer::default());
    let pieces = result.unwrap().pieces.into_iter();
    let texts: Vec<String> = pieces.map(|piece| piece.to_text().into_owned()).collect();
    assert_eq!(texts, ["c", "ab"]);
}
