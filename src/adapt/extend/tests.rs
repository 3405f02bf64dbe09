//! Extension: the guarantees G0 to G5 on trained, random and extreme models, ids and kinds of
//! pieces, and refusals.

use proptest::prelude::*;

use super::*;
use crate::adapt::guarantees::assert_extended;
use std::collections::HashSet;

use crate::train::TrainError;
use crate::train::Trainer;

const CASES: u32 = if cfg!(debug_assertions) { 100 } else { 500 };

fn testdata(name: &str) -> String {
    format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn golden(name: &str) -> Model {
    Model::open(testdata(&format!("{name}.model"))).unwrap()
}

/// The lines of the declaration of human rights from `first` on; about 90 lines are one language.
fn udhr(first: usize, count: usize) -> Vec<String> {
    let text = std::fs::read_to_string(testdata("udhr.txt")).unwrap();
    let lines = text.lines().skip(first).take(count);
    lines.map(str::to_owned).collect()
}

/// A BPE model with the unknown piece, control pieces `<s>` and `</s>`, and these pieces.
fn bpe_model(pieces: &[(&str, f32, PieceKind)]) -> Model {
    let mut builder = Model::builder();
    builder.model_type(ModelType::Bpe);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    builder.piece("<s>", 0.0, PieceKind::Control);
    builder.piece("</s>", 0.0, PieceKind::Control);
    for (text, score, kind) in pieces {
        builder.piece(text, *score, *kind);
    }
    builder.build().unwrap()
}

/// A model of the characters `a`, `b`, `c`, `▁` and the piece `ab`, with reserved pieces at 7 to 9
/// and an unused one at 10.
fn small_model() -> Model {
    let mut pieces: Vec<_> = [("ab", -1.0), ("a", -2.0), ("b", -3.0), ("c", -4.0)]
        .map(|(text, score)| (text, score, PieceKind::Normal))
        .to_vec();
    pieces.push(("<r0>", 0.0, PieceKind::Control));
    pieces.push(("<r1>", 0.0, PieceKind::UserDefined));
    pieces.push(("<r2>", -9.5, PieceKind::Control));
    pieces.push(("xyz", -7.0, PieceKind::Unused));
    pieces.push(("\u{2581}", -5.0, PieceKind::Normal));
    bpe_model(&pieces)
}

fn learn_options(model: &Model, count: usize) -> ExtendOptions {
    ExtendOptions::new(model, ExtendSize::Learn(count))
}

fn extend(model: &Model, lines: &[String], options: &ExtendOptions) -> ExtendedModel {
    model.extend(Corpus::texts(lines), options).unwrap()
}

/// Learns `count` pieces from `abc abc ab` and the like.
fn extend_small(options: &ExtendOptions) -> Result<ExtendedModel, ExtendError> {
    let lines = ["abc abc ab", "abcabc cab", "cc bb cc"];
    small_model().extend(Corpus::texts(lines), options)
}

fn ids(ids: &[u32]) -> Vec<PieceId> {
    ids.iter().copied().map(PieceId::new).collect()
}

fn learned_ids(extended: &ExtendedModel) -> Vec<u32> {
    let pieces = extended.pieces().iter();
    pieces.map(|piece| piece.id.get()).collect()
}

fn learned_texts(extended: &ExtendedModel) -> Vec<Vec<u8>> {
    let text = |piece: &ExtensionPiece| extended.model().piece(piece.id).unwrap().text.to_vec();
    extended.pieces().iter().map(text).collect()
}

/// All guarantees hold for the model that is read from the written bytes.
fn check_guarantees(old: &Model, extended: &ExtendedModel, lines: &[String]) {
    let written = extended.model().to_bytes();
    let loaded = Model::from_bytes(&written).unwrap();
    assert!(loaded.to_bytes() == written);
    assert_extended(old, &extended.base, extended, lines);
}

#[test]
fn the_example_of_the_module_page() {
    let pieces = [("a", -2.0), ("b", -3.0), ("c", -4.0), ("ab", -1.0)];
    let mut editor =
        bpe_model(&pieces.map(|(text, score)| (text, score, PieceKind::Normal))).edit();
    editor.set_add_dummy_prefix(false);
    let model = editor.finish().unwrap();
    let lines = vec!["abc abc".to_owned()];
    let mut options = learn_options(&model, 1);
    options.characters = NewCharacters::Never;
    let extended = extend(&model, &lines, &options);
    let expected = ExtensionPiece {
        id: PieceId::new(7),
        count: 2,
        replaced: ids(&[6, 5]),
    };
    assert_eq!(extended.pieces(), [expected]);
    assert_eq!(
        extended.to_tsv(),
        b"id\tpiece\treplaced\tcount\n7\tabc\t6 5\t2\n"
    );
    let new = extended.model().piece(PieceId::new(7)).unwrap();
    assert_eq!(
        (new.text, new.score, new.kind),
        (&b"abc"[..], -5.0, PieceKind::Normal)
    );
    check_guarantees(&model, &extended, &lines);
}

#[test]
fn all_bytes_but_those_of_new_pieces_and_the_size_stay() {
    let lines = udhr(0, 90);
    for name in [
        "golden/llama2",
        "golden/symbols",
        "run/bpe_unused",
        "run/bpe_equal",
    ] {
        let mut bytes = golden(name).to_bytes();
        // A varint in a field that the format does not have.
        bytes.extend([0xA0, 0x06, 0x2A]);
        let model = Model::from_bytes(&bytes).unwrap();
        let nothing = extend(&model, &lines, &learn_options(&model, 0));
        assert!(nothing.model().to_bytes() == bytes, "{name}");
        assert_eq!(nothing.pieces(), []);

        let extended = extend(&model, &lines, &learn_options(&model, 50));
        assert_eq!(
            usize::try_from(extended.model().trainer_spec().vocab_size()),
            Ok(model.len() + 50)
        );
        let mut editor = extended.model().edit();
        editor.retain_pieces(|id, _| id.index() < model.len());
        editor.trainer_spec_mut().vocab_size = model.trainer_spec().vocab_size;
        assert!(editor.finish().unwrap().to_bytes() == bytes, "{name}");
        check_guarantees(&model, &extended, &lines);
    }
}

#[test]
fn the_first_pieces_do_not_depend_on_how_many_follow() {
    let lines = udhr(1700, 180);
    for (name, characters) in [
        ("golden/llama2", NewCharacters::ByGain),
        ("golden/llama2", NewCharacters::Coverage),
        ("golden/symbols", NewCharacters::ByGain),
        ("run/bpe_equal", NewCharacters::Coverage),
    ] {
        let model = golden(name);
        let learn = |model: &Model, count| {
            let mut options = learn_options(model, count);
            options.characters = characters;
            options.training.character_coverage = 0.99;
            extend(model, &lines, &options)
        };
        let all = learn(&model, 150);
        let first = learn(&model, 60);
        assert!(
            learned_texts(&all).starts_with(&learned_texts(&first)),
            "{name} {characters:?}"
        );
        let then = learn(first.model(), 90);
        assert!(
            then.model().to_bytes() == all.model().to_bytes(),
            "{name} {characters:?}"
        );
    }
}

/// The options of a training, by what they have of those that matter here.
fn trainings() -> Vec<TrainOptions> {
    let with_bytes = TrainOptions {
        byte_fallback: true,
        split_digits: true,
        remove_extra_whitespaces: false,
        ..TrainOptions::default()
    };
    let whole_lines = TrainOptions {
        split_by_whitespace: false,
        max_sentencepiece_length: 24,
        ..TrainOptions::default()
    };
    let suffix = TrainOptions {
        treat_whitespace_as_suffix: true,
        allow_whitespace_only_pieces: true,
        split_by_unicode_script: false,
        ..TrainOptions::default()
    };
    vec![TrainOptions::default(), with_bytes, whole_lines, suffix]
}

fn train(options: &TrainOptions, size: usize, lines: &[String]) -> Model {
    let options = TrainOptions {
        vocab_size: u32::try_from(size).unwrap(),
        ..options.clone()
    };
    Trainer::new(options)
        .unwrap()
        .train(Corpus::texts(lines))
        .unwrap()
}

/// The normal pieces of several characters with their scores: merges, in their order.
fn merges(model: &Model) -> Vec<(&[u8], f32)> {
    let is_merge = |text: &[u8]| String::from_utf8_lossy(text).chars().count() > 1;
    let pieces = model.pieces();
    pieces
        .filter(|piece| piece.kind == PieceKind::Normal && is_merge(piece.text))
        .map(|piece| (piece.text, piece.score))
        .collect()
}

/// A trained model, extended on the same text, has the merges of a larger training. (Where no pair
/// occurs any more, an extension ends, but training goes on with pairs that occurred before.)
fn assert_goes_on(options: &TrainOptions, lines: &[String], what: &str) {
    const MERGES: usize = 250;
    const MORE: usize = 200;
    let options = TrainOptions {
        character_coverage: 0.995,
        ..options.clone()
    };
    let distinct: HashSet<char> = lines.iter().flat_map(|line| line.chars()).collect();
    let size = MERGES + 260 + distinct.len();
    let model = train(&options, size, lines);
    let larger = train(&options, size + MORE, lines);
    let mut extension = learn_options(&model, MORE);
    extension.characters = NewCharacters::Never;
    let extended = extend(&model, lines, &extension);
    let (old, expected) = (merges(&model), merges(&larger));
    let found = merges(extended.model());
    let texts = |merges: &[(&[u8], f32)]| -> Vec<Vec<u8>> {
        merges.iter().map(|(text, _)| text.to_vec()).collect()
    };
    assert!(texts(&found) == texts(&expected), "{what}");
    // Characters follow the merges of a training; learned pieces follow the characters.
    let normal = model
        .pieces()
        .filter(|piece| piece.kind == PieceKind::Normal);
    let characters = f32::from(u16::try_from(normal.count() - old.len()).unwrap());
    for ((_, score), (_, larger_score)) in found.iter().zip(&expected).skip(old.len()) {
        assert_eq!(*score, larger_score - characters, "{what}");
    }
    check_guarantees(&model, &extended, lines);
}

#[test]
fn extending_a_training_gives_a_larger_training() {
    for (number, options) in trainings().iter().enumerate() {
        // Blocks of lines in Latin, Cyrillic, Greek, Arabic, Indian, Thai and East Asian scripts.
        for first in [0, 600, 720, 880, 1080, 1350, 1700, 1800, 1980] {
            let lines = udhr(first, 120);
            assert_goes_on(
                options,
                &lines,
                &format!("options {number}, lines from {first}"),
            );
        }
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let model = golden("golden/llama2");
    let lines = udhr(600, 1500);
    let learn = |threads| {
        let mut options = learn_options(&model, 300);
        options.threads = NonZeroUsize::new(threads);
        let extended = extend(&model, &lines, &options);
        (extended.model().to_bytes(), extended.to_tsv())
    };
    let one = learn(1);
    for threads in [2, 7] {
        assert!(learn(threads) == one, "{threads} threads");
    }
}

#[test]
fn learned_pieces_take_the_ids_to_reuse_first() {
    let model = small_model();
    let mut options = learn_options(&model, 3);
    // In any order, one of them twice, and more than are needed.
    options.reuse = ids(&[10, 7, 8, 7, 9]);
    let extended = extend_small(&options).unwrap();
    assert_eq!(learned_ids(&extended), [7, 8, 9]);
    assert_eq!(extended.model().len(), model.len());
    let scores: Vec<f32> = extended.model().pieces().map(|piece| piece.score).collect();
    assert_eq!(scores[7..10], [-11.0, -12.0, -13.0]);
    let kinds: Vec<PieceKind> = extended.model().pieces().map(|piece| piece.kind).collect();
    assert_eq!(kinds[7..10], [PieceKind::Normal; 3]);
    // A piece that is to be reused loses its text although no piece was learned for it.
    let last = extended.model().piece(PieceId::new(10)).unwrap();
    assert_eq!(
        (last.text, last.kind),
        (&b"<reused_3>"[..], PieceKind::Control)
    );
    let removed: Vec<u32> = extended.ids().removed().map(PieceId::get).collect();
    assert_eq!(removed, [7, 8, 9, 10]);
    assert_eq!(extended.ids().kept().count(), model.len() - 4);
    check_guarantees(&model, &extended, &["abc <r1> xyz".to_owned()]);
}

#[test]
fn reused_ids_come_before_new_ones() {
    let model = small_model();
    for (size, expected_len) in [
        (ExtendSize::Learn(5), model.len() + 3),
        (ExtendSize::Vocabulary(model.len() + 3), model.len() + 3),
        (ExtendSize::NextMultiple(NonZeroUsize::new(5).unwrap()), 15),
    ] {
        let mut options = ExtendOptions::new(&model, size);
        options.reuse = ids(&[7, 9]);
        let extended = extend_small(&options).unwrap();
        assert_eq!(learned_ids(&extended), [7, 9, 12, 13, 14], "{size:?}");
        assert_eq!(extended.model().len(), expected_len, "{size:?}");
        check_guarantees(&model, &extended, &["abc <r0>".to_owned()]);
    }
}

#[test]
fn pieces_that_text_gives_and_special_ones_are_not_reused() {
    // `ab`, `<unk>`, `<s>`, `</s>`, and an id after the last one.
    for id in [3, 0, 1, 2, 12, u32::MAX] {
        let mut options = learn_options(&small_model(), 1);
        options.reuse = ids(&[7, id]);
        let error = extend_small(&options).unwrap_err();
        let is_named =
            matches!(&error, ExtendError::NotReusable { id: named, .. } if named.get() == id);
        assert!(is_named, "{id}: {error}");
    }
}

#[test]
fn special_pieces_and_padding_surround_the_learned_ones() {
    let model = small_model();
    let mut options = learn_options(&model, 2);
    options.control = vec!["<reserved_1>".to_owned()];
    options.user_defined = vec!["abcab".to_owned()];
    options.multiple_of = NonZeroUsize::new(9);
    let extended = extend_small(&options).unwrap();
    let pieces = extended.model().pieces().skip(model.len());
    let found: Vec<(String, PieceKind)> = pieces
        .map(|piece| (String::from_utf8(piece.text.to_vec()).unwrap(), piece.kind))
        .collect();
    let texts: Vec<&str> = found.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "<reserved_1>",
            "abcab",
            "\u{2581}c",
            "\u{2581}ab",
            "<reserved_0>",
            "<reserved_2>"
        ]
    );
    use PieceKind::{Control, Normal, UserDefined};
    let kinds: Vec<PieceKind> = found.iter().map(|(_, kind)| *kind).collect();
    assert_eq!(
        kinds,
        [Control, UserDefined, Normal, Normal, Control, Control]
    );
    assert_eq!(extended.model().trainer_spec().vocab_size(), 18);
    check_guarantees(&model, &extended, &["abcabc <reserved_0>".to_owned()]);
}

#[test]
fn the_size_is_filled_up_or_learned_up_to_a_multiple() {
    let model = small_model();
    let multiple = |number| NonZeroUsize::new(number).unwrap();
    // The size is 12: the next multiple of 12 is above it, and filling up adds nothing.
    for (size, filled, learned, expected) in [
        (ExtendSize::NextMultiple(multiple(7)), None, 2, 14),
        (ExtendSize::NextMultiple(multiple(12)), None, 12, 24),
        (ExtendSize::Learn(0), Some(12), 0, 12),
        (ExtendSize::Learn(0), Some(7), 0, 14),
        (ExtendSize::Vocabulary(13), Some(4), 1, 16),
        (ExtendSize::Vocabulary(12), None, 0, 12),
    ] {
        let mut options = ExtendOptions::new(&model, size);
        options.multiple_of = filled.map(multiple);
        options.training.split_by_whitespace = false;
        let extended = extend_small(&options).unwrap();
        assert_eq!(extended.pieces().len(), learned, "{size:?} {filled:?}");
        assert_eq!(extended.model().len(), expected, "{size:?} {filled:?}");
    }
}

#[test]
fn the_number_of_available_pieces_is_exact() {
    for size in [
        ExtendSize::Learn(usize::MAX),
        ExtendSize::Vocabulary(usize::MAX),
        ExtendSize::NextMultiple(NonZeroUsize::MAX),
    ] {
        let mut options = ExtendOptions::new(&small_model(), size);
        let error = extend_small(&options).unwrap_err();
        let ExtendError::TooFewPieces { available, wanted } = error else {
            panic!("{error}");
        };
        assert!(available < wanted);
        options.size = ExtendSize::Learn(available);
        assert_eq!(extend_small(&options).unwrap().pieces().len(), available);
        options.size = ExtendSize::Learn(available + 1);
        assert!(matches!(
            extend_small(&options),
            Err(ExtendError::TooFewPieces { .. })
        ));
    }
}

#[test]
fn options_that_do_not_fit_the_model_are_refused() {
    let refused = |change: &dyn Fn(&mut ExtendOptions)| {
        let mut options = learn_options(&small_model(), 1);
        change(&mut options);
        extend_small(&options).unwrap_err()
    };
    let error = refused(&|options| options.size = ExtendSize::Vocabulary(11));
    assert!(matches!(
        error,
        ExtendError::TooSmall {
            size: 11,
            smallest: 12
        }
    ));
    for text in ["ab", "<s>", "<new>"] {
        let error = refused(&|options| {
            options.control = vec!["<new>".to_owned()];
            options.user_defined = vec![text.to_owned()];
        });
        assert!(matches!(&error, ExtendError::PieceExists { piece, .. } if piece == text));
    }
    let error = refused(&|options| options.control = vec![String::new()]);
    assert!(matches!(error, ExtendError::Model(_)));
    let error = refused(&|options| options.multiple_of = Some(NonZeroUsize::MAX));
    assert!(matches!(
        error,
        ExtendError::Multiple {
            multiple: usize::MAX,
            ..
        }
    ));
    let error = refused(&|options| options.training.max_sentencepiece_length = 0);
    assert!(matches!(error, ExtendError::Train(TrainError::Option(_))));
}

#[test]
fn only_bpe_models_are_extended() {
    for name in ["run/unigram", "run/word", "run/char"] {
        let model = golden(name);
        let expected = model.model_type();
        let error = model
            .extend(Corpus::texts(["text"]), &learn_options(&model, 1))
            .unwrap_err();
        assert!(matches!(error, ExtendError::Type { model_type } if model_type == expected));
    }
}

#[test]
fn scores_without_lower_ones_are_refused() {
    let with_score = |score| {
        bpe_model(&[
            ("a", score, PieceKind::Normal),
            ("b", 0.0, PieceKind::Normal),
        ])
    };
    let learn = |score, count| {
        let model = with_score(score);
        model.extend(
            Corpus::texts(["ab ab", "ab"]),
            &learn_options(&model, count),
        )
    };
    for score in [f32::NEG_INFINITY, f32::MIN] {
        assert!(
            matches!(learn(score, 1), Err(ExtendError::NoLowerScore)),
            "{score}"
        );
        assert!(learn(score, 0).is_ok(), "{score}");
    }
    assert!(learn(f32::MIN.next_up(), 1).is_ok());
    assert!(matches!(
        learn(f32::MIN.next_up(), 2),
        Err(ExtendError::NoLowerScore)
    ));
}

#[test]
fn scores_of_runs_of_spaces_stay_above_the_learned_ones() {
    let mut editor = golden("golden/llama2").edit();
    editor.add_piece("\u{2581}\u{2581}", -1e9, PieceKind::Normal);
    let model = editor.finish().unwrap();
    let lines = udhr(0, 90);
    let extended = extend(&model, &lines, &learn_options(&model, 3));
    let scores = extended.model().pieces().skip(model.len());
    let scores: Vec<f32> = scores.map(|piece| piece.score).collect();
    assert_eq!(
        scores,
        [-1_000_000_064.0, -1_000_000_128.0, -1_000_000_192.0]
    );
    check_guarantees(&model, &extended, &lines);
}

#[test]
fn symbols_that_are_parts_of_characters_are_refused() {
    let mut editor = small_model().edit();
    // The first byte of `á`.
    let id = editor.add_piece([0xC3], 0.0, PieceKind::UserDefined);
    let model = editor.finish().unwrap();
    let learn = |options: &ExtendOptions| model.extend(Corpus::texts(["á ab á ab"]), options);
    let mut options = learn_options(&model, 1);
    let error = learn(&options).unwrap_err();
    assert!(matches!(error, ExtendError::PartOfCharacter { id: named, .. } if named == id));
    assert!(learn(&learn_options(&model, 0)).is_ok());
    options.reuse = vec![id];
    assert_eq!(learned_ids(&learn(&options).unwrap()), [id.get()]);
}

#[test]
fn an_observer_can_stop_an_extension() {
    let model = small_model();
    let mut options = learn_options(&model, 1);
    options.observer = Observer::new(|_| std::ops::ControlFlow::Break(()));
    let stopped = model.extend(Corpus::texts(["abc abc"]), &options);
    assert!(matches!(
        stopped,
        Err(ExtendError::Train(TrainError::Cancelled))
    ));
}

/// The first pieces of an extension in two steps are those of one step, and so is the model.
fn assert_two_steps(model: &Model, lines: &[String], all: &ExtendedModel, options: &ExtendOptions) {
    let count = all.pieces().len();
    for first in [count / 3, count / 2] {
        let mut options = options.clone();
        options.size = ExtendSize::Learn(first);
        let before = extend(model, lines, &options);
        assert!(learned_texts(all).starts_with(&learned_texts(&before)));
        options.size = ExtendSize::Learn(count - first);
        options.reuse.clear();
        options.control.clear();
        options.user_defined.clear();
        let then = extend(before.model(), lines, &options);
        let texts = [learned_texts(&before), learned_texts(&then)].concat();
        assert_eq!(texts, learned_texts(all));
    }
}

/// Learns up to `wanted` pieces. If there are not so many, the number of the error is the right
/// one.
fn extend_as_far_as_possible(
    model: &Model,
    lines: &[String],
    options: &mut ExtendOptions,
) -> Option<ExtendedModel> {
    match model.extend(Corpus::texts(lines), options) {
        Ok(extended) => Some(extended),
        Err(ExtendError::TooFewPieces { available, .. }) => {
            options.size = ExtendSize::Learn(available);
            Some(extend(model, lines, options))
        }
        // Empty lines, or lines of nothing but whitespace.
        Err(ExtendError::Train(TrainError::NoText { .. } | TrainError::NoCharacters)) => None,
        Err(error) => panic!("{error}"),
    }
}

fn random_scores() -> impl Strategy<Value = f32> {
    prop_oneof![
        (-20i8..5).prop_map(f32::from),
        (-200i16..50).prop_map(|score| f32::from(score) / 8.0),
        proptest::sample::select(vec![-1e9, -1e9, 0.0, -0.0, 7.0, 3.4e3, -16_777_216.0]),
    ]
}

fn random_kinds() -> impl Strategy<Value = PieceKind> {
    prop_oneof![
        12 => Just(PieceKind::Normal),
        2 => Just(PieceKind::Unused),
        1 => Just(PieceKind::UserDefined),
        1 => Just(PieceKind::Control),
    ]
}

/// Models whose pieces are of all kinds and have scores of all sizes, with and without bytes.
fn random_models() -> impl Strategy<Value = Model> {
    let piece = ("[abcé中\u{2581}]{1,5}", random_scores(), random_kinds());
    let pieces = prop::collection::vec(piece, 0..25);
    (pieces, any::<[bool; 4]>()).prop_map(|(pieces, [bytes, prefix, spaces, suffix])| {
        let mut seen = HashSet::new();
        let distinct = pieces
            .iter()
            .filter(|(text, ..)| seen.insert(text.as_str()));
        let pieces: Vec<_> = distinct
            .map(|(text, score, kind)| (text.as_str(), *score, *kind))
            .collect();
        let mut editor = bpe_model(&pieces).edit();
        for byte in 0..=u8::MAX {
            if bytes {
                editor.add_piece(format!("<0x{byte:02X}>"), 0.0, PieceKind::Byte);
            }
        }
        editor.trainer_spec_mut().byte_fallback = Some(bytes);
        editor.trainer_spec_mut().treat_whitespace_as_suffix = Some(suffix);
        editor.set_add_dummy_prefix(prefix);
        editor.set_remove_extra_whitespaces(spaces);
        editor.finish().unwrap()
    })
}

/// Lines with NUL, the unknown mark, unknown characters, runs of spaces and the texts of special
/// pieces.
fn random_lines() -> impl Strategy<Value = Vec<String>> {
    let line = "[abc é中x7\u{2585}\u{2581}\0]{0,16}|(abc|ab|c中|<s>|<unk>|  |<0x41>){1,8}";
    prop::collection::vec(line, 1..9)
}

fn random_options() -> impl Strategy<Value = (TrainOptions, NewCharacters)> {
    let characters = [
        NewCharacters::ByGain,
        NewCharacters::Coverage,
        NewCharacters::Never,
    ];
    let characters = proptest::sample::select(characters.to_vec());
    (any::<[bool; 4]>(), 1..12u32, 0..4u8, characters).prop_map(
        |([words, scripts, runs, digits], length, max_words, characters)| {
            let options = TrainOptions {
                max_sentencepiece_length: length,
                split_by_whitespace: words,
                split_by_unicode_script: scripts,
                allow_whitespace_only_pieces: runs,
                split_digits: digits,
                max_words: std::num::NonZeroU8::new(max_words).filter(|_| !words),
                ..TrainOptions::default()
            };
            (options, characters)
        },
    )
}

/// The pieces whose ids can be reused, without those that are special in the trainer spec.
fn reusable_ids(model: &Model) -> Vec<PieceId> {
    use PieceKind::{Control, Unused, UserDefined};
    let pieces = model.pieces().skip(3);
    pieces
        .filter(|piece| matches!(piece.kind, Control | Unused | UserDefined))
        .map(|piece| piece.id)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]

    #[test]
    fn random_models_are_extended_with_all_guarantees(
        model in random_models(),
        lines in random_lines(),
        (training, characters) in random_options(),
        wanted in 0..20usize,
        reuses in any::<bool>(),
        symbol in proptest::option::of("[abc]{2,3}"),
        multiple in 0..9usize,
    ) {
        let mut options = learn_options(&model, wanted);
        options.training = training;
        options.characters = characters;
        options.multiple_of = NonZeroUsize::new(multiple);
        if reuses {
            options.reuse = reusable_ids(&model);
        }
        let is_new = |text: &String| model.piece_to_id(text.as_bytes()).is_none();
        options.user_defined = symbol.into_iter().filter(is_new).collect();
        let Some(extended) = extend_as_far_as_possible(&model, &lines, &mut options) else {
            return Ok(());
        };
        check_guarantees(&model, &extended, &lines);
        prop_assert_eq!(extended.ids().kept().count(), model.len() - options.reuse.len());
        assert_two_steps(&model, &lines, &extended, &options);
    }
}
