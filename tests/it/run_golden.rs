//! Encoding and decoding against what the reference does: `testdata/run/`, made by
//! `testdata/make_run_golden.py` and `testdata/make_scored_golden.py`.

use std::collections::HashMap;

use spiece::{
    EncodeOptions, Encoder, Model, ModelError, OpenError, PieceId, Rng, SampleOptions,
    ScoredSampleOptions, Tokenizer,
};

use crate::support::testdata;

/// The rows of a table.
fn rows(name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(testdata("run").join(name)).unwrap();
    let rows: Vec<Vec<String>> = text
        .split_terminator('\n')
        .map(|row| row.split('\t').map(str::to_owned).collect())
        .collect();
    assert!(rows.len() > 5, "{name} has lost its rows");
    rows
}

fn ids(text: &str) -> Vec<PieceId> {
    text.split_terminator(' ')
        .map(|id| PieceId::new(id.parse().unwrap()))
        .collect()
}

/// Calls `check` with each row and the model that its first cell names.
fn for_each_row(name: &str, mut check: impl FnMut(&Tokenizer, &mut Encoder<'_>, &[String])) {
    let mut by_model: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    for row in rows(name) {
        by_model.entry(row[0].clone()).or_default().push(row);
    }
    for (model, rows) in by_model {
        let tokenizer = Tokenizer::open(testdata(&format!("{model}.model"))).unwrap();
        let mut encoder = tokenizer.encoder();
        for row in rows {
            check(&tokenizer, &mut encoder, &row);
        }
    }
}

#[test]
fn encoding_and_normalization_equal_the_golden_rows() {
    for_each_row("expected.tsv", |tokenizer, encoder, row| {
        let [model, text, expected, spans, pieces, normalized, decoded] = row else {
            panic!("{row:?}")
        };
        let place = format!("{model} {text:?}");
        let expected = ids(expected);
        assert_eq!(encoder.encode(text), expected, "{place}");
        let long = tokenizer.encode_long(text, &EncodeOptions::default());
        assert_eq!(long.unwrap(), expected, "{place}");
        assert_eq!(encoder.count(text), expected.len(), "{place}");
        let tokens = encoder.tokens(text);
        let found: Vec<PieceId> = tokens.as_slice().iter().map(|token| token.id).collect();
        assert_eq!(found, expected, "{place}");
        let found: Vec<String> = tokens
            .as_slice()
            .iter()
            .map(|token| format!("{}-{}", token.begin, token.end))
            .collect();
        assert_eq!(found.join(" "), *spans, "{place}");
        let found: Vec<&str> = tokens
            .iter()
            .map(|token| std::str::from_utf8(token.piece()).unwrap())
            .collect();
        assert_eq!(found.join("\u{1f}"), *pieces, "{place}");
        assert_eq!(tokenizer.normalize(text), *normalized, "{place}");
        assert_eq!(tokenizer.decode(&expected).unwrap(), *decoded, "{place}");
    });
}

#[test]
fn decoding_equals_the_golden_rows() {
    for_each_row("decoded.tsv", |tokenizer, _, row| {
        let [model, sequence, decoded] = row else {
            panic!("{row:?}")
        };
        assert_eq!(
            tokenizer.decode(ids(sequence)).unwrap(),
            *decoded,
            "{model} {sequence}"
        );
    });
}

/// A segmentation of an n-best list, with the bits of its score.
type Scored = (u32, Vec<PieceId>);

#[test]
fn nbest_lists_equal_the_golden_rows_with_their_score_bits() {
    let mut by_text: HashMap<(String, String), Vec<Scored>> = HashMap::new();
    for row in rows("nbest.tsv") {
        let [model, text, bits, sequence] = &row[..] else {
            panic!("{row:?}")
        };
        let result = (u32::from_str_radix(bits, 16).unwrap(), ids(sequence));
        by_text
            .entry((model.clone(), text.clone()))
            .or_default()
            .push(result);
    }
    for ((model, text), expected) in by_text {
        let tokenizer = Tokenizer::open(testdata(&format!("{model}.model"))).unwrap();
        let found = tokenizer.encoder().nbest(&text, 7).unwrap();
        let found: Vec<Scored> = found
            .into_iter()
            .map(|(ids, score)| (score.to_bits(), ids))
            .collect();
        assert_eq!(found, expected, "{model} {text:?}");
    }
}

#[test]
fn dropout_has_the_frequencies_of_the_reference() {
    for row in rows("dropout.tsv") {
        let [model, text, alpha, runs, results @ ..] = &row[..] else {
            panic!("{row:?}")
        };
        let tokenizer = Tokenizer::open(testdata(&format!("{model}.model"))).unwrap();
        let probability = alpha.parse().unwrap();
        let options = SampleOptions::Dropout { probability };
        let runs: u32 = runs.parse().unwrap();
        let (mut encoder, mut rng) = (tokenizer.encoder(), Rng::with_seed(3));
        let mut counts: HashMap<Vec<PieceId>, u32> = HashMap::new();
        for _ in 0..runs {
            let tokens = encoder.sample(text, &options, &mut rng).unwrap();
            *counts
                .entry(tokens.as_slice().iter().map(|token| token.id).collect())
                .or_default() += 1;
        }
        for result in results {
            let (sequence, count) = result.split_once('=').unwrap();
            let expected: f64 = count.parse().unwrap();
            let seen = f64::from(counts.get(&ids(sequence)).copied().unwrap_or(0));
            // Both counts are random: six standard deviations of their difference.
            let allowed = 6.0 * (2.0 * expected).sqrt() + 1.0;
            assert!(
                (seen - expected).abs() < allowed,
                "{model} {text}: {sequence} {seen} times, not {expected}"
            );
        }
    }
}

fn float_of(bits: &str) -> f32 {
    f32::from_bits(u32::from_str_radix(bits, 16).unwrap())
}

#[test]
fn entropies_equal_those_of_release_0_2_1_up_to_the_last_bits() {
    for_each_row("entropy.tsv", |_, encoder, row| {
        let [model, text, alpha, bits] = row else {
            panic!("{row:?}")
        };
        let expected = float_of(bits);
        let found = encoder.entropy(text, alpha.parse().unwrap()).unwrap();
        // The exponential functions of platforms differ in the last bit.
        let allowed = 1e-5 * expected.abs().max(1.0);
        let place = format!("{model} {text:?} {alpha}");
        assert!(
            (found - expected).abs() <= allowed,
            "{place}: {found}, not {expected}"
        );
    });
}

#[test]
fn scores_of_samples_equal_those_of_release_0_2_1_to_the_bit() {
    let mut drawn: HashMap<(String, String), HashMap<Vec<PieceId>, f32>> = HashMap::new();
    let mut rng = Rng::with_seed(4);
    for_each_row("scored.tsv", |_, encoder, row| {
        let [model, text, alpha, bits, sequence] = row else {
            panic!("{row:?}")
        };
        let samples = drawn
            .entry((model.clone(), text.clone()))
            .or_insert_with(|| {
                let options = ScoredSampleOptions::default()
                    .with_samples(2000)
                    .with_alpha(alpha.parse().unwrap());
                let samples = encoder.sample_with_scores(text, &options, &mut rng);
                samples.unwrap().into_iter().collect()
            });
        // The rows are drawn at least once in 20 samples.
        let score = samples.get(&ids(sequence)).copied();
        assert_eq!(score, Some(float_of(bits)), "{model} {text:?} {sequence}");
    });
}

/// What each file of `testdata/run/refused` must be refused for.
fn refusal(name: &str) -> (Option<usize>, Refusal) {
    use spiece::model::PieceProblem as Problem;
    let piece = |id, problem| (Some(id), Refusal::Piece(problem));
    match name {
        "empty_piece" => piece(4000, Problem::Empty),
        "long_piece" => {
            let limit = 8000;
            piece(300, Problem::TooLong { bytes: 8000, limit })
        }
        "nul_in_piece" => piece(4000, Problem::Nul),
        "twice" => piece(4000, Problem::Duplicate),
        "twice_from_text" => (None, Refusal::Piece(Problem::Duplicate)),
        "two_unknown" => piece(4000, Problem::SecondUnknown),
        "no_byte" => (None, Refusal::NoBytePiece),
        "strange_byte" => piece(4000, Problem::ByteText),
        "byte_without_fallback" => (None, Refusal::Piece(Problem::ByteWithoutFallback)),
        "no_unknown" => (None, Refusal::NoUnknownPiece),
        "nan" | "infinite" => (None, Refusal::Piece(Problem::Score)),
        "charsmap" => (
            None,
            Refusal::Charsmap("normalizer_spec", "has only 3 bytes"),
        ),
        "denormalizer" => (
            None,
            Refusal::Charsmap("denormalizer_spec", "has only 3 bytes"),
        ),
        "charsmap_size" => (None, Refusal::Charsmap("normalizer_spec", "trie claims")),
        _ => panic!("no expectation for refused/{name}.model"),
    }
}

/// A variant of `ModelError`, in a form that can be compared.
#[derive(Debug, PartialEq)]
enum Refusal {
    Piece(spiece::model::PieceProblem),
    NoBytePiece,
    NoUnknownPiece,
    Charsmap(&'static str, &'static str),
}

#[test]
fn models_that_the_reference_refuses_are_refused_for_the_right_reason() {
    for row in rows("refused.tsv") {
        let name = &row[0];
        let path = testdata(&format!("run/refused/{name}.model"));
        let error = Model::open(&path).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(&path.display().to_string()), "{message}");
        let OpenError::Model(error) = error.without_path() else {
            panic!("{name}: {error:?}")
        };
        let (expected_id, expected) = refusal(name);
        let (id, found) = match error {
            ModelError::Piece { id, problem, .. } => (Some(*id), Refusal::Piece(*problem)),
            ModelError::NoBytePiece { .. } => (None, Refusal::NoBytePiece),
            ModelError::NoUnknownPiece => (None, Refusal::NoUnknownPiece),
            ModelError::Charsmap { field, source } => {
                let Refusal::Charsmap(_, reason) = expected else {
                    panic!("{name}: {source}")
                };
                assert!(source.to_string().contains(reason), "{name}: {source}");
                (None, Refusal::Charsmap(field, reason))
            }
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(found, expected, "{name}");
        assert!(expected_id.is_none() || id == expected_id, "{name}: {id:?}");
    }
}
