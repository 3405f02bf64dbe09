//! Encoding and decoding against what the reference does: `testdata/run/`, made by `testdata/make_run_golden.py`.

use std::collections::HashMap;

use spiece::{Encoder, Model, PieceId, Rng, SampleOptions, Tokenizer};

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
fn encoding_is_the_references() {
    for_each_row("expected.tsv", |tokenizer, encoder, row| {
        let [model, text, expected, spans, pieces, normalized, decoded] = row else {
            panic!("{row:?}")
        };
        let place = format!("{model} {text:?}");
        let expected = ids(expected);
        assert_eq!(encoder.encode(text), expected, "{place}");
        assert_eq!(tokenizer.encode_long(text), expected, "{place}");
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
            .map(|(_, piece)| std::str::from_utf8(piece).unwrap())
            .collect();
        assert_eq!(found.join("\u{1f}"), *pieces, "{place}");
        assert_eq!(tokenizer.normalize(text), *normalized, "{place}");
        assert_eq!(tokenizer.decode(&expected).unwrap(), *decoded, "{place}");
    });
}

#[test]
fn decoding_is_the_references() {
    for_each_row("decoded.tsv", |tokenizer, _, row| {
        let [model, sequence, decoded] = row else {
            panic!("{row:?}")
        };
        assert_eq!(
            tokenizer.decode(&ids(sequence)).unwrap(),
            *decoded,
            "{model} {sequence}"
        );
    });
}

/// A segmentation of an n-best list, with the bits of its score.
type Scored = (u32, Vec<PieceId>);

#[test]
fn lists_of_the_best_are_the_references() {
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
fn dropout_has_the_references_frequencies() {
    for row in rows("dropout.tsv") {
        let [model, text, alpha, runs, results @ ..] = &row[..] else {
            panic!("{row:?}")
        };
        let tokenizer = Tokenizer::open(testdata(&format!("{model}.model"))).unwrap();
        let mut options = SampleOptions::default();
        options.alpha = alpha.parse().unwrap();
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

#[test]
fn what_the_reference_refuses_is_refused() {
    // The reference's message, and ours: the piece and the rule.
    let reasons = [
        ("empty_piece", "piece 4000: it is empty"),
        ("long_piece", "piece 300: it has 8000 bytes or more"),
        ("nul", "piece 4000: it has a NUL in it"),
        ("twice", "piece 4000: its text is that of an earlier piece"),
        (
            "two_unknown",
            "piece 4000: there is an unknown piece already",
        ),
        (
            "no_byte",
            "byte_fallback is on, but some of the 256 byte pieces are missing",
        ),
        (
            "strange_byte",
            "piece 4000: it is a byte piece, but its text is not <0x00> to <0xFF>",
        ),
        (
            "byte_without_fallback",
            "it is a byte piece, but byte_fallback is off",
        ),
        ("no_unknown", "it has no unknown piece"),
        ("nan", "its score is infinite or not a number"),
        ("infinite", "its score is infinite or not a number"),
        ("charsmap", "normalizer_spec: the charsmap has only 3 bytes"),
        (
            "denormalizer",
            "denormalizer_spec: the charsmap has only 3 bytes",
        ),
        (
            "charsmap_size",
            "normalizer_spec: the charsmap's trie claims",
        ),
        ("twice_from_text", "its text is that of an earlier piece"),
    ];
    for row in rows("refused.tsv") {
        let error = Model::open(testdata(&format!("run/refused/{}.model", row[0])))
            .unwrap_err()
            .to_string();
        let (_, reason) = reasons.iter().find(|(name, _)| *name == row[0]).unwrap();
        assert!(error.contains(reason), "{}: {error}", row[0]);
    }
}
