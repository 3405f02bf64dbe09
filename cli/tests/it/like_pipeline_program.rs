//! `spiece train --like=tokenizer.json`: files, flags and refusals.

use std::path::Path;
use std::process::Output;

use spiece::Tokenizer;
use spiece::pipeline::Pipeline;

use crate::support::{
    assert_equal_on_any_number_of_threads, assert_refused, folder_with, names_in, spiece_in,
    testdata, testdata_argument,
};

fn train(folder: &Path, like: &str, arguments: &[&str]) -> Output {
    let like = format!("--like={}", testdata_argument(like));
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let common = ["train", "--model_prefix=m", &like, &input];
    spiece_in(folder, &[&common, arguments].concat())
}

#[test]
fn the_model_is_new_and_all_else_is_that_of_the_file() {
    let folder = folder_with(&[]);
    assert_equal_on_any_number_of_threads("m.json", |threads| {
        let jobs = format!("--jobs={threads}");
        let flags = ["--vocab_size=600", "--min_frequency=2", &jobs];
        let output = train(folder.path(), "wordpiece/tokenizer.json", &flags);
        assert!(output.status.success(), "{output:?}");
        std::fs::read(folder.path().join("m.json")).unwrap()
    });
    assert_eq!(names_in(folder.path()), ["m.json"]);
    let like = Tokenizer::open(testdata("wordpiece/tokenizer.json")).unwrap();
    let trained = Tokenizer::open(folder.path().join("m.json")).unwrap();
    assert_eq!(trained.vocab_size(), 600);
    let [like, trained] = [&like, &trained].map(|tokenizer| tokenizer.pipeline().unwrap());
    assert_eq!(
        trained.normalizer().len() + trained.pre_tokenizer().len(),
        like.normalizer().len() + like.pre_tokenizer().len()
    );
    // [PAD] stays the first token.
    let first = |pipeline: &Pipeline| {
        let token = pipeline.model().vocabulary().text(0);
        token.map(str::to_owned)
    };
    assert_eq!(first(trained), first(like));
}

#[test]
fn flags_win_over_the_file_and_special_tokens_can_come_first() {
    let folder = folder_with(&[]);
    let flags = [
        "--vocab_size=400",
        "--special_tokens=<new>",
        "--special_ids_first",
        "--continuing_subword_prefix=@@",
        "--limit_alphabet=50",
    ];
    let output = train(folder.path(), "wordpiece/tokenizer.json", &flags);
    assert!(output.status.success(), "{output:?}");
    let trained = Tokenizer::open(folder.path().join("m.json")).unwrap();
    let pipeline = trained.pipeline().unwrap();
    let vocabulary = pipeline.model().vocabulary();
    assert!(vocabulary.tokens().any(|(text, _)| text.starts_with("@@")));
    assert!(!vocabulary.tokens().any(|(text, _)| text.starts_with("##")));
    let added = pipeline.added_tokens().iter();
    let special = added.filter(|token| token.special);
    let mut ids: Vec<u32> = special.map(|token| token.id).collect();
    ids.sort_unstable();
    assert!((0..).zip(&ids).all(|(at, id)| at == *id), "{ids:?}");
}

#[test]
fn other_flags_and_files_are_refused() {
    let folder = folder_with(&[]);
    for (flag, remedy) in [
        ("--character_coverage=1", "--limit_alphabet"),
        ("--model_type=bpe", "the file"),
        ("--pattern=gpt2", "the file"),
        ("--min_word_count=2", "leave it out"),
        ("--limit_alphabet=0", "a number from 1"),
    ] {
        let output = train(folder.path(), "wordpiece/tokenizer.json", &[flag]);
        assert_refused(&[flag], &output, 2, remedy);
    }
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let flags = [
        "train",
        "--model_prefix=m",
        &input,
        "--end_of_word_suffix=x",
    ];
    let output = spiece_in(folder.path(), &flags);
    assert_refused(&flags, &output, 2, "--like=FILE");
    assert!(names_in(folder.path()).is_empty());
}
