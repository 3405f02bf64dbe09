//! A warm encoder allocates nothing.

use spiece::Tokenizer;

use crate::support::testdata;

/// Models of every type, with and without byte fallback and normalization rules.
const MODELS: &[&str] = &[
    "golden/llama2.model",
    "golden/spm_default.model",
    "run/unigram.model",
    "run/word.model",
    "run/char.model",
];

#[test]
fn a_warm_encoder_allocates_nothing() {
    let text = std::fs::read_to_string(testdata("udhr.txt")).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .chain(["", " ", "\u{1f9ea}\u{2581} \u{e000}"])
        .collect();
    for path in MODELS {
        let tokenizer =
            Tokenizer::open(testdata(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut encoder = tokenizer.encoder();
        let mut run = || -> usize {
            let ids: usize = lines.iter().map(|line| encoder.encode(line).len()).sum();
            let tokens: usize = lines
                .iter()
                .map(|line| encoder.tokens(*line).as_slice().len())
                .sum();
            ids + tokens
        };
        let first = run();
        // The cache of chunks may grow for some rounds yet.
        (0..20).for_each(|_| assert_eq!(run(), first));
        let warm = allocation_counter::measure(|| assert_eq!(run(), first));
        assert_eq!(warm.count_total, 0, "{path}");
    }
}
