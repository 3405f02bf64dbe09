//! Tests of the whole trainer: what a model must not depend on, and limits.

use foldhash::SharedSeed;
use foldhash::fast::SeedableRandomState;

use std::ops::ControlFlow;

use super::*;
use crate::piece::PieceId;
use crate::train::execution_config::BATCH_BYTES;

fn testdata(name: &str) -> String {
    format!("{}/testdata/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn trainer(settings: &[(&str, &str)]) -> Trainer {
    let mut flags = TrainFlags::default();
    flags.set("vocab_size", "1500").unwrap();
    for (name, value) in settings {
        flags.set(name, value).unwrap();
    }
    flags.trainer().unwrap()
}

/// Options that use different branches of the stages, and a corpus for each.
const OPTIONS_AND_CORPORA: &[(&[(&str, &str)], &str)] = &[
    (&[], "udhr_small.txt"),
    (
        &[
            ("normalization_rule_name", "identity"),
            ("byte_fallback", "1"),
            ("split_digits", "1"),
        ],
        "mixed.txt",
    ),
    (
        &[
            ("remove_extra_whitespaces", "0"),
            ("allow_whitespace_only_pieces", "1"),
        ],
        "hostile_text.txt",
    ),
    (
        &[("split_by_whitespace", "0"), ("vocab_size", "700")],
        "udhr_small.txt",
    ),
    (
        &[("byte_fallback", "1"), ("auto_character_coverage", "1")],
        "mixed.txt",
    ),
    (&[("input_sentence_size", "150")], "udhr_small.txt"),
    (
        &[
            ("input_sentence_size", "150"),
            ("shuffle_input_sentence", "0"),
        ],
        "udhr_small.txt",
    ),
    (&[("model_type", "unigram")], "udhr_small.txt"),
    (
        &[
            ("model_type", "unigram"),
            ("vocab_size", "400"),
            ("num_threads", "3"),
            ("input_sentence_size", "150"),
            ("shuffle_input_sentence", "0"),
            ("split_by_whitespace", "0"),
        ],
        "udhr_small.txt",
    ),
    (&[("model_type", "word")], "mixed.txt"),
    (&[("model_type", "char")], "hostile_text.txt"),
];

#[test]
fn models_do_not_depend_on_threads_batches_or_hash_seeds() {
    for (settings, file) in OPTIONS_AND_CORPORA {
        let settings = [*settings, &[("hard_vocab_limit", "0")]].concat();
        let mut trainer = trainer(&settings);
        let mut train = |threads, batch_bytes, seed| {
            let hasher = SeedableRandomState::with_seed(seed, SharedSeed::global_random());
            trainer.work = ExecutionConfig {
                threads,
                batch_bytes,
                hasher,
                spool_memory: batch_bytes,
            };
            trainer
                .train(Corpus::files([testdata(file)]))
                .unwrap()
                .to_bytes()
        };
        let expected = train(1, BATCH_BYTES, 0);
        for (threads, batch_bytes, seed) in [
            (1, 1, 1),
            (2, 100, 0),
            (7, 4096, 2),
            (7, 65_537, 0),
            (64, 1000, 3),
        ] {
            let model = train(threads, batch_bytes, seed);
            assert!(
                model == expected,
                "{settings:?}, {threads} threads, {batch_bytes} bytes a batch, seed {seed}"
            );
        }
    }
}

/// The option `num_threads` decides the scores of a unigram model; the threads that run do not.
#[test]
fn golden_models_do_not_depend_on_the_real_threads() {
    for case in [
        "unigram_3_threads",
        "unigram_whole",
        "unigram_seed_file",
        "word",
        "char",
    ] {
        let read = |end| std::fs::read(testdata(&format!("golden/{case}.{end}"))).unwrap();
        let mut flags = TrainFlags::default();
        flags.recording = SpecRecording::All;
        for line in String::from_utf8(read("flags")).unwrap().lines() {
            let (name, value) = line.split_once('=').unwrap();
            flags.set(name, value).unwrap();
        }
        let mut trainer = flags.trainer().unwrap();
        for threads in [1, 2, 7] {
            trainer.work.threads = threads;
            let model = trainer.train(flags.corpus().unwrap()).unwrap();
            assert!(
                model.to_bytes() == read("model"),
                "{case}, {threads} threads: .model"
            );
            assert!(
                model.to_vocab(true) == read("vocab"),
                "{case}, {threads} threads: .vocab"
            );
        }
    }
}

#[test]
fn counts_are_exact_up_to_their_limit() {
    let train = |texts: &[(&str, u64)], settings: &[(&str, &str)]| {
        let settings = [
            &[("vocab_size", "9"), ("normalization_rule_name", "identity")],
            settings,
        ]
        .concat();
        trainer(&settings).train(Corpus::counted_texts(texts.iter().copied()))
    };
    // Four characters each, the whitespace mark being one.
    let most = (1u64 << 63) / 4 - 1;
    let model = train(&[("abb", most)], &[]).unwrap();
    let texts: Vec<&[u8]> = (3..9)
        .filter_map(|id| Some(model.piece(PieceId::new(id))?.text))
        .collect();
    let expected: Vec<&[u8]> = ["ab", "abb", "\u{2581}abb", "b", "a", "\u{2581}"]
        .map(str::as_bytes)
        .to_vec();
    assert_eq!(texts, expected);
    let too_many: &[&[(&str, u64)]] = &[
        &[("abb", most + 1)],
        &[("abb", most), ("a", 9)],
        &[("abb", 1 << 62), ("abb", 1 << 62)],
        &[("abb", u64::MAX), ("abb", u64::MAX)],
        &[
            ("a", 1 << 62),
            ("b", 1 << 62),
            ("c", 1 << 62),
            ("d", 1 << 62),
        ],
        &[("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 1 << 60)],
    ];
    for texts in too_many {
        for settings in [
            &[][..],
            &[
                ("byte_fallback", "1"),
                ("auto_character_coverage", "1"),
                ("vocab_size", "300"),
            ],
        ] {
            let refused = train(texts, settings);
            assert!(
                matches!(refused, Err(TrainError::TooLarge { what: "characters" })),
                "{texts:?}"
            );
        }
    }
}

/// The whitespace mark is rarer than `character_coverage` asks for, so that the words are whole
/// sentences.
#[test]
fn sentences_without_a_piece_for_whitespace_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.txt");
    let text = format!(
        "{}\n{} {}\n",
        "ab".repeat(2000),
        "a".repeat(2000),
        "b".repeat(1500)
    )
    .repeat(9);
    std::fs::write(&path, &text).unwrap();
    let mut trainer = trainer(&[
        ("model_type", "unigram"),
        ("vocab_size", "20"),
        ("hard_vocab_limit", "0"),
    ]);
    let expected = trainer.train(Corpus::files([&path])).unwrap().to_bytes();
    assert!(
        trainer
            .train(Corpus::reader(text.as_bytes()))
            .unwrap()
            .to_bytes()
            == expected
    );
    trainer.work.batch_bytes = 5000;
    trainer.work.spool_memory = 20_000;
    for corpus in [Corpus::files([&path]), Corpus::reader(text.as_bytes())] {
        assert!(trainer.train(corpus).unwrap().to_bytes() == expected);
    }
}

/// The normalized sentence is `▁y▁▁b`: the spaces of a rule collapse with the space after them only
/// if it is one.
#[test]
fn two_spaces_of_a_rule_are_counted_as_whitespace() {
    let mut options = TrainOptions::default();
    options.model_type = ModelType::Word;
    options.vocab_size = 6;
    options.normalization = NormalizationRules::Tsv(b"78\t79 20 20\n".to_vec());
    let trainer = Trainer::new(options).unwrap();
    let model = trainer.train(Corpus::texts(["x b"])).unwrap();
    let texts: Vec<&[u8]> = model.pieces().skip(3).map(|piece| piece.text).collect();
    assert_eq!(texts, ["▁", "▁b", "▁y"].map(str::as_bytes));
}

#[test]
fn the_largest_vocabulary_size_is_refused_or_reduced_to_the_corpus() {
    let most = i32::MAX.to_string();
    for settings in [
        &[][..],
        &[("byte_fallback", "1"), ("auto_character_coverage", "1")],
    ] {
        let settings = [&[("vocab_size", most.as_str())], settings].concat();
        let texts = || Corpus::texts(["some few words"]);
        let Err(TrainError::VocabularyTooLarge { largest, .. }) = trainer(&settings).train(texts())
        else {
            panic!("not refused")
        };
        let settings = [&settings[..], &[("hard_vocab_limit", "0")]].concat();
        assert_eq!(trainer(&settings).train(texts()).unwrap().len(), largest);
        let settings = [&settings[..], &[("pad_id", "2147483646")]].concat();
        assert!(matches!(
            trainer(&settings).train(texts()),
            Err(TrainError::UnreachableId { .. })
        ));
    }
}

#[test]
fn an_unknown_piece_after_the_last_piece_is_refused() {
    let settings = [
        ("model_type", "word"),
        ("use_all_vocab", "1"),
        ("hard_vocab_limit", "0"),
        ("vocab_size", "5"),
    ];
    for (texts, is_taken) in [(vec!["a"], false), (vec!["a b"], true)] {
        let settings = [&settings[..], &[("unk_id", "4")]].concat();
        match trainer(&settings).train(Corpus::texts(texts)) {
            Ok(model) => assert!(is_taken && model.piece(PieceId::new(4)).is_some()),
            Err(error) => {
                assert!(
                    matches!(error, TrainError::UnreachableId { id: 4, .. }),
                    "{error}"
                );
                assert!(!is_taken);
            }
        }
    }
}

#[test]
fn a_sample_of_files_that_shrink_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.txt");
    let text = "a line of text\n".repeat(1000);
    std::fs::write(&path, &text).unwrap();
    let shrunk = path.clone();
    let shrink = Observer::new(move |event| {
        if event == Event::Started(Stage::Reading) {
            std::fs::write(&shrunk, &text[..text.len() / 2]).unwrap();
        }
        ControlFlow::Continue(())
    });
    let trainer = trainer(&[
        ("input_sentence_size", "900"),
        ("hard_vocab_limit", "0"),
        ("vocab_size", "40"),
    ])
    .with_observer(shrink);
    let result = trainer.train(Corpus::files([&path]));
    assert!(matches!(result, Err(TrainError::InputChanged)));
}

#[test]
fn public_types_can_be_shared_and_printed() {
    fn is_shared<T: Send + Sync + std::fmt::Debug>() {}
    fn is_sent<T: Send + std::fmt::Debug>() {}
    is_shared::<Trainer>();
    is_shared::<TrainOptions>();
    is_shared::<TrainFlags>();
    is_shared::<SpecRecording>();
    is_shared::<OptionDescriptor>();
    is_shared::<NormalizationRules>();
    is_shared::<SpecialPiece>();
    is_shared::<SentenceSelection>();
    is_shared::<InputFormat>();
    is_shared::<Event<'_>>();
    is_shared::<Stage>();
    is_shared::<Summary>();
    is_shared::<TrainError>();
    is_shared::<OptionError>();
    // A reader need not be `Sync`.
    is_sent::<Corpus<'_>>();
}
