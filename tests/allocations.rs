//! A warm encoder allocates nothing.
//!
//! Its tables of what it has seen may still double, rarely and a few times in all; when they do depends on the seeds
//! of hashes.

use spiece::Tokenizer;

/// Models of every type, with and without byte fallback and normalization rules.
const MODELS: &[&str] = &[
    "testdata/golden/llama2.model",
    "testdata/golden/spm_default.model",
    "testdata/run/unigram.model",
    "testdata/run/word.model",
    "testdata/run/char.model",
];

#[test]
fn a_warm_encoder_allocates_nothing() {
    let text = std::fs::read_to_string("testdata/udhr.txt").unwrap();
    let lines: Vec<&str> = text.lines().chain(["", " ", "\u{1f9ea}\u{2581} \u{e000}"]).collect();
    for path in MODELS {
        let tokenizer = Tokenizer::open(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut encoder = tokenizer.encoder();
        let mut run = || -> usize {
            let ids: usize = lines.iter().map(|line| encoder.encode(line).len()).sum();
            let tokens: usize = lines.iter().map(|line| encoder.tokens(*line).as_slice().len()).sum();
            ids + tokens
        };
        let first = run();
        // The cache of chunks may grow for some rounds yet.
        (0..20).for_each(|_| assert_eq!(run(), first));
        let mut warm = || allocation_counter::measure(|| assert_eq!(run(), first)).count_total;
        let counts: Vec<u64> = (0..10).map(|_| warm()).collect();
        assert!(counts.iter().filter(|count| **count > 0).count() <= 2, "{path}: {counts:?}");
        assert!(counts.iter().sum::<u64>() <= 2, "{path}: {counts:?}");
    }
}
