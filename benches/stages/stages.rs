//! Benchmarks of the stages of training and encoding on `testdata/`: `cargo bench -p spiece-stages`,
//! with `-- encode` for the benchmarks whose names contain `encode`.
//!
//! They locate the stage that a change made slower: run `cargo bench -p spiece-stages --
//! --save-baseline before`, then, with the change, `... -- --baseline before`. `benches/compare`
//! compares spiece with other programs.

use std::ops::ControlFlow;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use criterion::{BatchSize, Criterion, Throughput};
use spiece::train::{Event, NormalizationRules, Observer, Stage};
use spiece::{Corpus, Model, PieceId, TextNormalizer, Tokenizer, TrainOptions, Trainer};

/// The Universal Declaration of Human Rights in 24 languages.
const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/udhr.txt");
const BPE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/golden/llama2.model"
);
/// With `nmt_nfkc`'s rules.
const UNIGRAM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../testdata/run/unigram_rules.model"
);

/// Runs all of them.
pub fn run(criterion: &mut Criterion) {
    normalize(criterion);
    train(criterion);
    encode(criterion);
    decode(criterion);
    load(criterion);
}

fn normalize(criterion: &mut Criterion) {
    let text = corpus();
    let mut group = criterion.benchmark_group("normalize");
    group.throughput(bytes(&text));
    for rules in ["identity", "nmt_nfkc", "nmt_nfkc_cf"] {
        let normalizer = TextNormalizer::named(rules).expect("built-in rules");
        group.bench_function(rules, |bencher| {
            bencher.iter(|| {
                text.lines()
                    .map(|line| normalizer.normalize(line).len())
                    .sum::<usize>()
            });
        });
    }
}

/// Counting words and merging pairs, timed by the events of a training run.
fn train(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("train");
    group.sample_size(20).throughput(bytes(&corpus()));
    for rules in ["identity", "nmt_nfkc"] {
        for (name, stage) in [("count", Stage::Reading), ("merge", Stage::Merging)] {
            group.bench_function(format!("{name}/{rules}"), |bencher| {
                bencher.iter_custom(|runs| (0..runs).map(|_| time_of(trainer(rules), stage)).sum());
            });
        }
    }
}

fn trainer(rules: &str) -> Trainer {
    let mut options = TrainOptions::default();
    options.vocab_size = 8000;
    options.num_threads = 1;
    options.normalization = NormalizationRules::BuiltIn(rules.parse().expect("a rule set"));
    Trainer::new(options).expect("valid options")
}

/// The time of one stage of a training run.
fn time_of(trainer: Trainer, wanted: Stage) -> Duration {
    let (sender, starts) = channel();
    let observer = Observer::new(move |event| {
        if let Event::Started(stage) = event {
            sender
                .send((stage, Instant::now()))
                .expect("the receiver lives");
        }
        ControlFlow::Continue(())
    });
    let trainer = trainer.with_observer(observer);
    trainer
        .train(Corpus::files([CORPUS]))
        .expect("the corpus can be read");
    let starts: Vec<(Stage, Instant)> = starts.try_iter().collect();
    let times = starts.windows(2).filter(|pair| pair[0].0 == wanted);
    times.map(|pair| pair[1].1 - pair[0].1).sum()
}

fn encode(criterion: &mut Criterion) {
    let text = corpus();
    let long = text.replace('\n', " ");
    for (model, path) in [("bpe", BPE), ("unigram", UNIGRAM)] {
        let tokenizer = tokenizer(path);
        let mut encoder = tokenizer.encoder();
        let mut group = criterion.benchmark_group(format!("encode/{model}"));
        group.throughput(bytes(&text));
        group.bench_function("short lines", |bencher| {
            bencher.iter(|| {
                text.lines()
                    .map(|line| encoder.encode(line).len())
                    .sum::<usize>()
            });
        });
        group.bench_function("short lines, spans", |bencher| {
            bencher.iter(|| {
                text.lines()
                    .map(|line| encoder.tokens(line).as_slice().len())
                    .sum::<usize>()
            });
        });
        group.bench_function("one long line", |bencher| {
            bencher.iter(|| encoder.encode(&long).len())
        });
        group.bench_function("a run of one letter", |bencher| {
            let run = "a".repeat(text.len());
            bencher.iter(|| encoder.encode(&run).len());
        });
    }
}

fn decode(criterion: &mut Criterion) {
    let (text, tokenizer) = (corpus(), tokenizer(BPE));
    let lines: Vec<Vec<PieceId>> = text.lines().map(|line| tokenizer.encode(line)).collect();
    let mut group = criterion.benchmark_group("decode");
    group.throughput(bytes(&text));
    let mut out = Vec::new();
    group.bench_function("short lines", |bencher| {
        bencher.iter(|| {
            out.clear();
            lines.iter().for_each(|ids| {
                tokenizer
                    .decode_into(ids, &mut out)
                    .expect("ids of the model")
            });
            out.len()
        });
    });
}

/// Reading and validating a file, and building the tables of the tokenizer.
fn load(criterion: &mut Criterion) {
    for (name, path) in [("bpe", BPE), ("unigram", UNIGRAM)] {
        let file = std::fs::read(path).expect("a model of testdata/");
        let model = Model::from_bytes(&file).expect("a valid model");
        let mut group = criterion.benchmark_group(format!("load/{name}"));
        group.bench_function("read", |bencher| bencher.iter(|| Model::from_bytes(&file)));
        group.bench_function("make tables", |bencher| {
            bencher.iter_batched(|| model.clone(), Tokenizer::new, BatchSize::SmallInput);
        });
    }
}

fn corpus() -> String {
    std::fs::read_to_string(CORPUS).expect("the corpus of testdata/")
}

fn tokenizer(path: &str) -> Tokenizer {
    Tokenizer::open(path).expect("a model of testdata/")
}

fn bytes(text: &str) -> Throughput {
    Throughput::Bytes(text.len() as u64)
}
