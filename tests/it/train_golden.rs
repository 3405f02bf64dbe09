//! Models that the reference made, made again: every case of `testdata/golden` has to come out the same
//! to the byte, and every option set that the reference refuses has to be refused.

use std::path::PathBuf;

use spiece::{Corpus, Model, Recorded, TrainError, TrainOptions, Trainer};

use crate::support::testdata;

fn golden(name: &str) -> PathBuf {
    testdata("golden").join(name)
}

/// Options from `name=value` lines, recorded as the program records them.
fn options<'f>(flags: impl Iterator<Item = &'f str>) -> Result<TrainOptions, TrainError> {
    let mut options = TrainOptions::default();
    options.recorded = Recorded::All;
    for flag in flags {
        let (name, value) = flag.split_once('=').expect("a flag is name=value");
        options.set(name, value)?;
    }
    Ok(options)
}

/// The names of all cases.
fn cases() -> Vec<String> {
    let files = std::fs::read_dir(golden("")).expect("testdata/golden is part of the repository");
    let names = files.filter_map(|file| file.unwrap().file_name().into_string().ok());
    let mut cases: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".flags").map(str::to_owned))
        .collect();
    cases.sort();
    cases
}

#[test]
fn models_are_the_references_to_the_byte() {
    let cases = cases();
    assert!(cases.len() >= 39, "{} cases", cases.len());
    for case in &cases {
        let flags = std::fs::read_to_string(golden(&format!("{case}.flags"))).unwrap();
        let options = options(flags.lines()).unwrap();
        let [model, vocab] =
            ["model", "vocab"].map(|end| std::fs::read(golden(&format!("{case}.{end}"))).unwrap());
        let trained = train(case, &options);
        assert!(trained.to_bytes() == model, "{case}: .model differs");
        assert!(
            trained.to_vocab(options.vocabulary_output_piece_score) == vocab,
            "{case}: .vocab differs"
        );
        let mut sequential = options.clone();
        sequential.num_threads = 1;
        let trained = train(case, &sequential);
        assert!(
            trained.to_vocab(options.vocabulary_output_piece_score) == vocab,
            "{case}: differs on one thread"
        );
    }
}

fn train(case: &str, options: &TrainOptions) -> Model {
    let trained = Trainer::new(options.clone()).and_then(|trainer| trainer.train_files());
    trained.unwrap_or_else(|error| panic!("{case}: {error}"))
}

#[test]
fn refusals_are_the_references() {
    let table = std::fs::read_to_string(golden("refused.tsv")).unwrap();
    let mut rows = 0;
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let mut fields = row.split('\t');
        let reason = fields.next().unwrap();
        let mut flags: Vec<&str> = fields.collect();
        flags.insert(0, "model_type=bpe");
        let trained =
            options(flags.iter().copied()).and_then(|options| Trainer::new(options)?.train_files());
        let error = trained
            .err()
            .unwrap_or_else(|| panic!("{reason}: {flags:?} is not refused"));
        assert!(error.to_string().len() > 20, "{reason}: {error}");
        rows += 1;
    }
    assert!(rows >= 36, "{rows} rows");
}

#[test]
fn models_survive_reading_and_writing() {
    for case in cases() {
        let bytes = std::fs::read(golden(&format!("{case}.model"))).unwrap();
        let model = Model::from_bytes(&bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(model.to_bytes() == bytes, "{case}");
    }
}

/// The corpus of the Llama-2-like case in every form that a corpus can have.
#[test]
fn every_way_to_give_a_corpus_gives_the_same_model() {
    let flags = std::fs::read_to_string(golden("llama2.flags")).unwrap();
    let options = options(flags.lines()).unwrap();
    let expected = std::fs::read(golden("llama2.model")).unwrap();
    let text: Vec<u8> = options
        .input
        .iter()
        .flat_map(|path| std::fs::read(path).unwrap())
        .collect();
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let trainer = Trainer::new(options).unwrap();
    let corpora: [(&str, Corpus<'_>); 4] = [
        ("reader", Corpus::reader(&text[..])),
        ("texts", Corpus::texts(&lines)),
        ("reversed", Corpus::texts(lines.iter().rev())),
        (
            "counted",
            Corpus::counted_texts(lines.iter().map(|line| (line, 1))),
        ),
    ];
    for (name, corpus) in corpora {
        assert!(
            trainer.train(corpus).unwrap().to_bytes() == expected,
            "{name}"
        );
    }
    let twice = trainer
        .train(Corpus::texts(lines.iter().chain(&lines)))
        .unwrap();
    let doubled = trainer
        .train(Corpus::counted_texts(lines.iter().map(|line| (line, 2))))
        .unwrap();
    assert!(twice.to_bytes() == doubled.to_bytes());
}
