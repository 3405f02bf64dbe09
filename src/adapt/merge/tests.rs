//! Merging: the guarantees on trained, random and extreme models.

use proptest::prelude::*;

use super::*;
use crate::adapt::guarantees::assert_merged;
use crate::base::lossy_string;
use crate::model::ModelError;

fn golden(name: &str) -> Model {
    let root = env!("CARGO_MANIFEST_DIR");
    Model::open(format!("{root}/testdata/{name}.model")).unwrap()
}

/// A model of pieces with scores.
fn model(model_type: ModelType, pieces: &[(&str, f32)]) -> Model {
    try_model(model_type, pieces).unwrap()
}

fn try_model(model_type: ModelType, pieces: &[(&str, f32)]) -> Result<Model, ModelError> {
    let mut builder = Model::builder();
    builder.model_type(model_type);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    for (text, score) in pieces {
        builder.piece(text, *score, PieceKind::Normal);
    }
    builder.build()
}

/// The scores of the pieces that were added to `first`.
fn added_scores(first: &Model, merged: &MergedModel) -> Vec<f32> {
    let added = merged.model().pieces().skip(first.len());
    added.map(|piece| piece.score).collect()
}

fn texts_of(model: &Model) -> Vec<String> {
    model
        .pieces()
        .map(|piece| lossy_string(piece.text))
        .collect()
}

#[test]
fn the_example_of_the_module_page() {
    let first = model(
        ModelType::Bpe,
        &[("ab", -1.0), ("a", -2.0), ("b", -3.0), ("c", -4.0)],
    );
    let second = model(
        ModelType::Bpe,
        &[
            ("bc", -1.0),
            ("abc", -2.0),
            ("a", -3.0),
            ("b", -4.0),
            ("c", -5.0),
        ],
    );
    let merged = first.merge(&second, &MergeOptions::default()).unwrap();
    let scores = added_scores(&first, &merged);
    assert_eq!(scores, [-5.0, -6.0]);
    assert_eq!(texts_of(merged.model())[5..], ["bc", "abc"]);
    assert_merged(&first, &merged, &["abc abcab"]);
    assert!(merged.unreachable().is_empty());
}

#[test]
fn a_model_merged_with_itself_has_the_same_bytes() {
    for name in [
        "golden/llama2",
        "golden/symbols",
        "run/unigram",
        "run/word",
        "run/char",
        "run/bpe_unused",
        "run/bpe_equal",
    ] {
        let model = golden(name);
        let merged = model.merge(&model, &MergeOptions::default()).unwrap();
        assert!(merged.model().to_bytes() == model.to_bytes(), "{name}");
    }
}

#[test]
fn unreachable_pieces_are_reported_or_dropped() {
    let first = model(
        ModelType::Bpe,
        &[("ab", -1.0), ("a", -2.0), ("b", -3.0), ("c", -4.0)],
    );
    let second = model(
        ModelType::Bpe,
        &[("bc", -1.0), ("abcb", -2.0), ("cb", -3.0)],
    );
    let merged = first.merge(&second, &MergeOptions::default()).unwrap();
    // `abcb` is split as `ab cb`, and neither `abc` nor `bcb` is a piece; `ab` and `cb` do merge to
    // it.
    assert!(merged.unreachable().is_empty());
    let second = model(ModelType::Bpe, &[("bc", -1.0), ("abcc", -2.0)]);
    let merged = first.merge(&second, &MergeOptions::default()).unwrap();
    assert_eq!(merged.unreachable().len(), 1);
    let mut options = MergeOptions::default();
    options.drop_unreachable = true;
    let merged = first.merge(&second, &options).unwrap();
    assert_eq!(merged.dropped().collect::<Vec<_>>(), [b"abcc"]);
    assert!(merged.unreachable().is_empty());
    assert_eq!(merged.model().len(), 6);
    assert_merged(&first, &merged, &[""; 0]);
}

#[test]
fn models_that_do_not_go_together_are_refused() {
    let bpe = golden("golden/llama2");
    let options = MergeOptions::default();
    let error = bpe.merge(&golden("run/unigram"), &options).unwrap_err();
    assert!(matches!(
        error,
        MergeError::Type {
            second: ModelType::Unigram,
            ..
        }
    ));
    let other = golden("golden/nfkc");
    let error = bpe.merge(&other, &options).unwrap_err();
    assert!(matches!(error, MergeError::Normalizer));
    let mut options = MergeOptions::default();
    options.allow_other_normalizer = true;
    if other.model_type() == ModelType::Bpe {
        let merged = bpe.merge(&other, &options).unwrap();
        assert_eq!(merged.model().normalizer_spec(), bpe.normalizer_spec());
        assert_merged(&bpe, &merged, &[""; 0]);
    }
    for score in [f32::NEG_INFINITY, f32::MIN] {
        let first = model(ModelType::Bpe, &[("a", score)]);
        let second = model(ModelType::Bpe, &[("b", 0.0)]);
        let error = first.merge(&second, &MergeOptions::default()).unwrap_err();
        assert!(matches!(error, MergeError::NoLowerScore), "{score}");
    }
}

#[test]
fn scores_below_large_ones_stay_different() {
    let first = model(ModelType::Bpe, &[("a", -1e9), ("b", 3.5)]);
    let second = model(
        ModelType::Bpe,
        &[("x", 5.0), ("y", -1.0), ("z", -1.0), ("w", -2.0)],
    );
    let merged = first.merge(&second, &MergeOptions::default()).unwrap();
    let scores = added_scores(&first, &merged);
    assert_eq!(
        scores,
        [
            -1_000_000_064.0,
            -1_000_000_128.0,
            -1_000_000_128.0,
            -1_000_000_192.0
        ]
    );
}

#[test]
fn unigram_scores_keep_their_differences() {
    let first = model(ModelType::Unigram, &[("a", -1.0), ("b", -8.0)]);
    let second = model(ModelType::Unigram, &[("x", -2.0), ("y", -4.5), ("a", -1.0)]);
    let merged = first.merge(&second, &MergeOptions::default()).unwrap();
    let scores = added_scores(&first, &merged);
    assert!(
        scores[0] < -8.0 && (scores[0] - scores[1] - 2.5).abs() < 1e-5,
        "{scores:?}"
    );
    assert_merged(&first, &merged, &["ab ba", "xay", "ab?"]);
}

/// Pieces of a few letters with scores that are equal, fractional, positive or huge.
fn pieces() -> impl Strategy<Value = Vec<(String, f32)>> {
    let score = prop_oneof![
        (-20i8..5).prop_map(f32::from),
        (-200i16..50).prop_map(|score| f32::from(score) / 8.0),
        Just(-1e9),
        Just(3.4e3),
    ];
    proptest::collection::vec(("[ab▁cé]{1,5}", score), 1..25)
}

/// A model of the pieces that are different; `None` if there are none.
pub(in crate::adapt) fn random_model(
    model_type: ModelType,
    pieces: &[(String, f32)],
    symbol: Option<&str>,
) -> Option<Model> {
    let mut seen = HashSet::new();
    let mut builder = Model::builder();
    builder.model_type(model_type);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    for (text, score) in pieces {
        if seen.insert(text.as_str()) {
            builder.piece(text, *score, PieceKind::Normal);
        }
    }
    if let Some(symbol) = symbol.filter(|symbol| seen.insert(symbol)) {
        builder.piece(symbol, 0.0, PieceKind::UserDefined);
    }
    builder.build().ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_models_merge_with_all_guarantees(
        first in pieces(),
        second in pieces(),
        symbol in proptest::option::of("[ab]{2}"),
        drop_unreachable in any::<bool>(),
        lines in proptest::collection::vec("[ab cdé中]{0,20}", 0..8),
        is_bpe in any::<bool>(),
    ) {
        let model_type = if is_bpe { ModelType::Bpe } else { ModelType::Unigram };
        // Unigram scores are log probabilities; the sums of the unigram encoder are not exact for
        // scores of 1e9.
        let scaled = |pieces: Vec<(String, f32)>| -> Vec<(String, f32)> {
            let scale = |score: f32| if is_bpe { score } else { score.clamp(-100.0, 5.0) };
            pieces.into_iter().map(|(text, score)| (text, scale(score))).collect()
        };
        let first = scaled(first);
        let second = scaled(second);
        let models = (random_model(model_type, &first, None), random_model(model_type, &second, symbol.as_deref()));
        let (Some(first), Some(second)) = models else {
            return Ok(());
        };
        let mut options = MergeOptions::default();
        options.drop_unreachable = drop_unreachable;
        let merged = first.merge(&second, &options).unwrap();
        assert_merged(&first, &merged, &lines);
        if is_bpe {
            prop_assert!(!drop_unreachable || merged.unreachable().is_empty());
            prop_assert!(symbol.is_some() || merged.no_longer_found().is_empty());
        }
        let loaded = Model::from_bytes(&merged.model().to_bytes()).unwrap();
        prop_assert_eq!(loaded.len(), merged.model().len());
    }
}
