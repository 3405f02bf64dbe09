//! Pruning: the guarantees on trained and random models.

use proptest::prelude::*;

use super::leaves::HalvesFinder;
use super::*;
use crate::ModelType;
use crate::adapt::guarantees::assert_pruned;
use crate::adapt::merge::tests::random_model;
use crate::encode::bpe::Tracer;
use crate::tokenizer::Tokenizer;

const TARGETS: [PruneGoal; 3] = [PruneGoal::Used, PruneGoal::UsedWithTail, PruneGoal::Size(0)];

fn golden(name: &str) -> Model {
    let root = env!("CARGO_MANIFEST_DIR");
    Model::open(format!("{root}/testdata/{name}.model")).unwrap()
}

fn usage<'t>(tokenizer: &Tokenizer, lines: impl Iterator<Item = &'t str>) -> PieceUsage {
    let mut counter = UsageCounter::new(tokenizer).unwrap();
    lines.for_each(|line| counter.add(line));
    counter.finish()
}

/// Prunes to a target and checks all guarantees.
fn check(
    model: &Model,
    target: PruneGoal,
    keep_chars: bool,
    lines: &[String],
) -> Option<PrunedModel> {
    let tokenizer = Tokenizer::new(model.clone());
    let usage = usage(&tokenizer, lines.iter().map(String::as_str));
    let options = PruneOptions { target, keep_chars };
    let pruned = match model.prune(&usage, &options) {
        Ok(pruned) => pruned,
        Err(PruneError::TooSmall { smallest, .. }) => {
            let target = PruneGoal::Size(smallest + (model.len() - smallest) / 2);
            model
                .prune(&usage, &PruneOptions { target, keep_chars })
                .unwrap()
        }
        Err(PruneError::Tail) if model.model_type() == ModelType::Unigram => return None,
        Err(error) => panic!("{error}"),
    };
    let keeps_lines = !matches!(target, PruneGoal::Size(_));
    assert_pruned(model, &pruned, keeps_lines, lines);
    assert!(Model::from_bytes(&pruned.model().to_bytes()).is_ok());
    Some(pruned)
}

#[test]
fn trained_models_keep_the_pieces_of_the_text() {
    let text = std::fs::read_to_string(format!(
        "{}/testdata/udhr_small.txt",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap();
    let lines: Vec<String> = text.lines().take(120).map(str::to_owned).collect();
    for name in [
        "golden/llama2",
        "golden/symbols",
        "golden/nfkc",
        "run/unigram",
        "run/unigram_bytes",
        "run/bpe_unused",
        "run/unigram_unused",
        "run/bpe_scores",
        "run/bpe_equal",
    ] {
        let model = golden(name);
        for target in TARGETS {
            for keep_chars in [true, false] {
                check(&model, target, keep_chars, &lines);
            }
        }
    }
}

#[test]
fn special_ids_follow_and_sizes_are_met() {
    let model = golden("golden/llama2");
    let options = PruneOptions::new(PruneGoal::Size(2500));
    let pruned = model.prune(&PieceUsage::none(&model), &options).unwrap();
    assert_eq!(pruned.model().len(), 2500);
    assert_eq!(pruned.model().trainer_spec().vocab_size(), 2500);
    assert_eq!(pruned.model().trainer_spec().bos_id(), 1);
    // Without a text, the merges that were learned last go first: the result is a smaller training.
    let merges = |model: &Model| -> Vec<Vec<u8>> {
        let normal = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::Normal && !is_char(piece.text));
        normal.map(|piece| piece.text.to_vec()).collect()
    };
    assert!(merges(&model).starts_with(&merges(pruned.model())));
    let all = PruneOptions::new(PruneGoal::Size(model.len()));
    let pruned = model.prune(&PieceUsage::none(&model), &all).unwrap();
    assert!(pruned.model().to_bytes() == model.to_bytes());
}

#[test]
fn a_unigram_model_of_unused_pieces_keeps_one() {
    let pieces = [("a".to_owned(), -1.0), ("b".to_owned(), -2.0)];
    let model = random_model(ModelType::Unigram, &pieces, None).unwrap();
    let mut editor = model.edit();
    for id in [1, 2] {
        editor.set_kind(PieceId::new(id), PieceKind::Unused);
    }
    let model = editor.finish().unwrap();
    let pruned = check(&model, PruneGoal::Used, false, &[]).unwrap();
    assert_eq!(pruned.model().len(), 2);
}

#[test]
fn what_cannot_be_pruned_is_refused() {
    let usage = |model: &Model| PieceUsage::none(model);
    let word = golden("run/word");
    let options = PruneOptions::new(PruneGoal::Used);
    assert!(matches!(
        word.prune(&usage(&word), &options),
        Err(PruneError::Type { .. })
    ));
    let unigram = golden("run/unigram");
    assert!(matches!(
        unigram.prune(&usage(&word), &options),
        Err(PruneError::OtherModel)
    ));
    let tail = PruneOptions::new(PruneGoal::UsedWithTail);
    assert!(matches!(
        unigram.prune(&usage(&unigram), &tail),
        Err(PruneError::Tail)
    ));
    let small = PruneOptions::new(PruneGoal::Size(1));
    assert!(matches!(
        unigram.prune(&usage(&unigram), &small),
        Err(PruneError::TooSmall { size: 1, .. })
    ));
}

#[test]
fn the_example_of_the_module_page() {
    let mut builder = Model::builder();
    builder.model_type(ModelType::Bpe);
    builder.add_dummy_prefix(false);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    for (rank, text) in [
        (1.0, "ab"),
        (2.0, "abc"),
        (3.0, "abcd"),
        (4.0, "de"),
        (5.0, "a"),
        (5.0, "b"),
        (5.0, "c"),
        (5.0, "d"),
        (5.0, "x"),
    ] {
        builder.piece(text, -rank, PieceKind::Normal);
    }
    let model = builder.build().unwrap();
    let lines = ["abcdx".to_owned(), "x".to_owned()];
    let used = check(&model, PruneGoal::Used, false, &lines).unwrap();
    let texts: Vec<&[u8]> = used.model().pieces().map(|piece| piece.text).collect();
    let expected = ["<unk>", "ab", "abc", "abcd", "a", "b", "c", "d", "x"].map(str::as_bytes);
    assert_eq!(texts, expected);
    assert_eq!(used.removed_chars(), 0);
    let tail = check(&model, PruneGoal::UsedWithTail, true, &lines).unwrap();
    assert_eq!((tail.tail(), tail.rows(), tail.model().len()), (2, 7, 9));
    let ids = Tokenizer::new(tail.model().clone()).encode("abc");
    let texts: Vec<&[u8]> = ids
        .iter()
        .map(|id| tail.model().piece(*id).unwrap().text)
        .collect();
    assert_eq!(texts, [b"a", b"b", b"c"]);
}

/// The made pieces that follow from the given ones are those of the full trace.
#[test]
fn made_pieces_follow_from_given_ones() {
    let model = golden("golden/llama2");
    let tracer = Tracer::new(&model).unwrap();
    let finder = HalvesFinder::new(&model).unwrap();
    let halves: Vec<_> = (0..model.len()).map(|index| finder.halves(index)).collect();
    let tokenizer = Tokenizer::new(model.clone());
    let mut encoder = crate::tokenizer::NormalizedEncoder::new(tokenizer.model_tables().unwrap());
    for text in [
        "▁the▁right▁to▁life",
        "▁internationalization",
        "▁Alle▁Menschen▁sind▁frei",
        "a",
    ] {
        let trace = tracer.trace(text.as_bytes());
        let mut made = vec![false; model.len()];
        let mut given = made.clone();
        for id in encoder.encode(text.as_bytes()) {
            given[id.index()] = true;
            made[id.index()] = true;
        }
        for (id, [left, right]) in trace.merges {
            made[id.index()] = true;
            for half in [left, right] {
                // Characters are halves and not made by a merge.
                let id = model.piece_to_id(&text[half]).unwrap();
                made[id.index()] = true;
            }
        }
        leaves::close(&mut given, |index| halves[index]);
        assert_eq!(given, made, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_models_are_pruned_with_all_guarantees(
        pieces in proptest::collection::vec(("[ab▁cé]{1,5}", -20i8..5), 1..30),
        symbol in proptest::option::of("[ab]{2}"),
        lines in proptest::collection::vec("[ab cdé中]{0,20}", 0..8),
        target in proptest::sample::select(TARGETS.to_vec()),
        keep_chars in any::<bool>(),
        is_bpe in any::<bool>(),
        unused in proptest::collection::vec(any::<proptest::sample::Index>(), 0..3),
    ) {
        let model_type = if is_bpe { ModelType::Bpe } else { ModelType::Unigram };
        let pieces: Vec<(String, f32)> = pieces.into_iter().map(|(text, score)| (text, f32::from(score))).collect();
        let Some(model) = random_model(model_type, &pieces, symbol.as_deref()) else {
            return Ok(());
        };
        check(&model, target, keep_chars, &lines);
        let mut editor = model.edit();
        for index in unused {
            let id = PieceId::from_index(1 + index.index(model.len() - 1));
            editor.set_kind(id, PieceKind::Unused);
        }
        if let Ok(model) = editor.finish() {
            check(&model, target, keep_chars, &lines);
        }
    }
}
