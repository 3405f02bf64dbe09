//! Hostile input: the targets of `targets.rs` over random bytes, and over every file of
//! `testdata/hostile/`.
//!
//! The fuzzer in `fuzz/` runs the same targets for longer. What it finds becomes a file, and so a
//! test.

#[path = "hostile/targets.rs"]
mod targets;

use std::path::{Path, PathBuf};
use std::time::Instant;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use prost::Message;
use spiece::{EncodeOptions, ExtraOption, Model, Tokenizer};
use targets::checks;
use targets::seeds::{Entry, ModelFile};

use crate::support::{own_models, testdata};

fn hostile() -> PathBuf {
    testdata("hostile")
}

/// The files of a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path())
        .collect();
    files.sort();
    files
}

fn target(name: &str) -> fn(&[u8]) {
    targets::ALL
        .iter()
        .find(|(target, _)| *target == name)
        .unwrap_or_else(|| panic!("there is no target {name}"))
        .1
}

/// Runs one target over random bytes.
fn run(name: &str, cases: u32, bytes: usize) {
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(cases)
    };
    let strategy = proptest::collection::vec(any::<u8>(), 0..bytes);
    let target = target(name);
    TestRunner::new(config)
        .run(&strategy, |data| {
            target(&data);
            Ok(())
        })
        .unwrap();
}

#[cfg(feature = "formats")]
#[test]
fn models_keep_their_ids_through_tokenizer_json() {
    run("tokenizer_json", 300, 200);
    run("converted_model", 300, 2000);
}

#[cfg(feature = "formats")]
#[test]
fn byte_level_vocabularies_make_tokenizers_or_are_refused() {
    for reader in [
        "tiktoken",
        "vocab_merges",
        "tekken",
        "minbpe",
        "byte_level_json",
    ] {
        run(reader, 200, 100);
    }
}

#[cfg(feature = "formats")]
#[test]
fn pipelines_make_tokenizers_or_are_refused() {
    run("pipelines", 300, 300);
}

#[test]
fn random_expressions_cut_texts_or_are_refused() {
    run("pattern", 300, 40);
    let part = r"\\p\{(L|Lu|N|Han)\}|\\[swdbSkK1]|\[\^?[a-s&\-]{1,3}\]|\(\?[!=i:<>]*|[()|*+?.$^a-t' ]|\{1,3\}|\\s\+\(\?!\\S\)";
    let parts = proptest::collection::vec(part, 0..12);
    proptest!(|(parts in parts)| {
        targets::pattern(parts.concat().as_bytes());
    });
}

/// Random bytes are refused at the first field, so that few cases show what there is to see.
#[test]
fn random_bytes_as_models_keep_the_promises() {
    run("model_bytes", 100, 200);
    run("round_trip", 100, 200);
}

#[test]
fn mutated_models_keep_the_promises() {
    run("mutated_model", 2000, 300);
}

#[test]
fn random_texts_keep_the_promises() {
    run("text", 500, 200);
}

#[test]
fn random_trainings_keep_the_promises() {
    run("train", 150, 300);
}

#[test]
fn random_byte_level_trainings_keep_the_promises() {
    run("byte_train", 300, 200);
}

#[cfg(feature = "formats")]
#[test]
fn random_trainings_like_a_file_keep_the_promises() {
    run("train_like", 200, 300);
}

#[test]
fn random_ids_decode_alike_at_once_and_one_by_one() {
    run("decode_ids", 1000, 200);
}

#[test]
fn random_options_are_taken_or_refused_by_name() {
    run("train_options", 500, 60);
    let line = "(vocab_size|unk_id|character_coverage|num_threads|random_seed|x)=[-0-9.e]{0,12}\n";
    let lines = proptest::collection::vec(line, 0..4);
    proptest!(|(lines in lines)| {
        targets::train_options(lines.concat().as_bytes());
    });
}

#[test]
fn random_tsv_rows_train_or_are_refused() {
    run("tsv_corpus", 200, 100);
    let row = "[a-c ]{0,5}\t[0-9]{0,20}\n";
    proptest!(ProptestConfig::with_cases(100), |(rows in proptest::collection::vec(row, 0..6))| {
        targets::tsv_corpus(rows.concat().as_bytes());
    });
}

#[cfg(feature = "train")]
#[test]
fn random_records_train_like_their_texts_or_are_refused() {
    run("json_lines", 100, 40);
    let row = r#"\{"(text|a)": ("[a-c ]{0,5}(\\n|\\u00e9)?[a-c]?"|\{"b": "[a-c]{1,3}"\}|1)\}\n"#;
    proptest!(ProptestConfig::with_cases(100), |(rows in proptest::collection::vec(row, 0..4))| {
        for path in ["text", "a", "a.b"] {
            targets::json_lines(format!("{path}\0{}", rows.concat()).as_bytes());
        }
    });
}

#[cfg(feature = "formats")]
#[test]
fn random_gguf_files_are_read_or_refused() {
    run("gguf", 1000, 300);
}

#[test]
fn random_tables_of_counts_train_or_are_refused() {
    run("count_rows", 1000, 200);
    #[cfg(feature = "parquet")]
    run("count_file", 200, 300);
}

#[test]
fn what_inspections_say_of_mutated_models_is_true() {
    run("inspect", 300, 300);
}

#[test]
fn undone_edits_restore_the_file() {
    run("edits", 300, 300);
}

#[test]
fn changed_models_keep_their_guarantees() {
    run("edit", 100, 300);
    run("merge", 100, 300);
    run("prune", 100, 300);
    run("extend", 100, 300);
}

#[test]
fn changed_byte_level_vocabularies_keep_their_guarantees() {
    run("byte_extend", 300, 300);
    run("byte_prune", 300, 300);
    run("byte_merge", 300, 400);
}

#[test]
fn random_rules_keep_the_promises() {
    run("rules", 2000, 60);
    let rule = "([0-9A-F]{1,8}( [0-9A-F]{1,5}){0,3}(\t[0-9A-F]{1,6}( 20| 2581| 0)?)?\n){0,4}";
    proptest!(|(rules in rule, text in ".{0,20}")| {
        targets::rules(format!("{rules}\0{text}").as_bytes());
    });
}

/// Files on which spiece failed once, and files made to break it.
#[test]
fn kept_files_keep_the_promises() {
    let mut count = 0;
    for folder in files(&hostile()).into_iter().filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let left_out: &[&str] = &[
            #[cfg(not(feature = "parquet"))]
            "count_file",
            #[cfg(not(feature = "formats"))]
            "tokenizer_json",
        ];
        if left_out.contains(&name) {
            println!("without its feature, {name} is left out");
            continue;
        }
        let target = target(name);
        for path in files(&folder) {
            println!("{}", path.display());
            let start = Instant::now();
            target(&std::fs::read(&path).unwrap());
            // No file takes more than 2 s in a release build and 10 s in a debug build of a quiet
            // machine.
            let limit = if cfg!(debug_assertions) { 200 } else { 20 };
            assert!(
                start.elapsed().as_secs() < limit,
                "{} took {:?}",
                path.display(),
                start.elapsed()
            );
            count += 1;
        }
    }
    assert!(count > 50, "{count} files");
}

/// The table of the folder names every file, and says of each model whether it is refused.
#[test]
fn the_table_lists_every_kept_file_and_whether_it_is_refused() {
    let table = std::fs::read_to_string(hostile().join("README.md")).unwrap();
    for folder in files(&hostile()).into_iter().filter(|path| path.is_dir()) {
        for path in files(&folder) {
            let name = path.strip_prefix(hostile()).unwrap().to_str().unwrap();
            let row = table
                .lines()
                .find(|line| line.starts_with(&format!("| `{name}` |")));
            let row = row.unwrap_or_else(|| panic!("{name} is not in the table"));
            if name.ends_with(".model") {
                let is_refused = Model::open(&path).is_err();
                assert_eq!(row.ends_with("| refused |"), is_refused, "{row}");
            }
        }
    }
}

/// A cyclic table is followed for a bounded number of steps from each position of the text.
#[test]
fn cyclic_tables_are_not_followed_to_the_end_of_the_text() {
    let text = "abca ".repeat(80_000);
    for name in [
        "charsmap_circle",
        "charsmap_circle_of_rules",
        "charsmap_tangle",
        "denormalizer_circle",
    ] {
        let tokenizer = Tokenizer::open(
            hostile()
                .join("model_bytes")
                .join(name)
                .with_extension("model"),
        )
        .unwrap();
        let start = Instant::now();
        let ids = tokenizer.encode(&text);
        let _ = tokenizer.decode(&ids).unwrap();
        // Following them to the end of the text takes 80,000,000,000 steps, which no machine does in
        // 20 s with overflow checks; bounded steps take 0.4 s.
        assert!(
            start.elapsed().as_secs() < 20,
            "{name} took {:?}",
            start.elapsed()
        );
    }
}

/// A file of this model type (1 to 4: unigram, BPE, word, char) with these pieces.
fn file_of(model_type: u8, texts: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut file = ModelFile {
        trainer_spec: vec![0x18, model_type],
        ..ModelFile::default()
    };
    file.pieces.push(Entry {
        text: Some(b"<unk>".to_vec()),
        score: None,
        kind: Some(2),
    });
    file.pieces.extend(texts.map(|text| Entry {
        text: Some(text),
        score: None,
        kind: None,
    }));
    file.encode_to_vec()
}

/// Letters without a pattern.
fn letters(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b'a' + u8::try_from(state >> 24).unwrap() % 26
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// Files that are as much work for their size as can be, or claim to be.
fn heavy_files() -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for model_type in 1..=4 {
        let shortest = (1..100_000u32).map(|number| (number + (1 << 16)).to_string().into_bytes());
        files.push((
            format!("short pieces, type {model_type}"),
            file_of(model_type, shortest),
        ));
        // A piece of n bytes has n parts in a BPE model, which keeps all of them.
        let (count, length) = if model_type == 2 {
            (2000, 100)
        } else {
            (100, 7900)
        };
        let long = (0..count).map(|seed| letters(length, seed));
        files.push((
            format!("long pieces, type {model_type}"),
            file_of(model_type, long),
        ));
    }
    files.push(("empty pieces".into(), b"\x0a\x00".repeat(400_000)));
    files.push((
        "one piece again and again".into(),
        b"\x0a\x03\x0a\x01a".repeat(200_000),
    ));
    let mut lists = file_of(1, std::iter::once(b"a".to_vec()));
    for field in [0x0a, 0xf2, 0xfa] {
        let entry: &[u8] = if field == 0x0a {
            &[field, 0]
        } else {
            &[field, 1, 0]
        };
        let list = ModelFile {
            trainer_spec: entry.repeat(200_000),
            ..ModelFile::default()
        };
        lists.extend(list.encode_to_vec());
    }
    files.push(("lists of nothing".into(), lists));
    let mut table = file_of(1, std::iter::once(b"a".to_vec()));
    let mut units = vec![0x8000_0000_u32; 1 << 18];
    units[0] = 256 << 10;
    let mut charsmap = (4u32 << 18).to_le_bytes().to_vec();
    charsmap.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    charsmap.extend(b"x\0");
    let spec = [&[0x12][..], &varint(charsmap.len()), &charsmap].concat();
    table.extend(
        ModelFile {
            normalizer_spec: spec,
            ..ModelFile::default()
        }
        .encode_to_vec(),
    );
    files.push(("a large table".into(), table));
    files
}

fn varint(number: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    prost::encoding::encode_varint(u64::try_from(number).unwrap(), &mut bytes);
    bytes
}

/// What a file claims is not what is allocated: reading it takes at most 8 times its size, and the
/// tables that are made of it at most 40 times, of which real models take half.
#[test]
fn loading_takes_a_small_multiple_of_the_file() {
    for (name, file) in heavy_files() {
        let mut model = None;
        let read = allocation_counter::measure(|| model = Some(Model::from_bytes(&file))).bytes_max;
        let made = match model.unwrap() {
            Ok(model) => allocation_counter::measure(|| drop(Tokenizer::new(model))).bytes_max,
            Err(_) => 0,
        };
        let times = |bytes: u64| bytes as f64 / file.len() as f64;
        println!(
            "{name}: {} bytes, read in {:.1} times that, made in {:.1}",
            file.len(),
            times(read),
            times(made)
        );
        assert!(
            times(read) <= 8.0 && times(made) <= 40.0,
            "{name}: {:.1} and {:.1}",
            times(read),
            times(made)
        );
    }
}

/// Texts of several lines, some of which end inside of a character.
fn texts_of_lines() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop_oneof![
        4 => "[a-z ]{0,9}".prop_map(String::into_bytes),
        2 => Just(b"\n".to_vec()),
        1 => "\\PC{0,3}".prop_map(String::into_bytes),
        1 => proptest::sample::select(vec!["\n\n", "</s>", "\r\n", " ", "\u{2581}"]).prop_map(|part| part.as_bytes().to_vec()),
        1 => proptest::sample::select(vec![&b"\xC3"[..], b"\xE2\x96", b"\xF0\x9F\x98", b"\x81"]).prop_map(<[u8]>::to_vec),
        1 => proptest::collection::vec(any::<u8>(), 0..3),
    ];
    proptest::collection::vec(parts, 0..40).prop_map(|parts| parts.concat())
}

#[test]
fn lines_have_the_ids_that_each_line_has_alone() {
    let tokenizers: Vec<Tokenizer> = own_models()
        .iter()
        .map(|path| Tokenizer::open(path).unwrap())
        .collect();
    let allowed = EncodeOptions::default().with_allowed_special(["</s>"]);
    let reversed = EncodeOptions::default().with_extra([ExtraOption::Reverse, ExtraOption::Eos]);
    let all_options = [EncodeOptions::default(), allowed, reversed];
    proptest!(ProptestConfig::with_cases(60), |(text in texts_of_lines())| {
        for tokenizer in &tokenizers {
            for options in &all_options {
                // A model may have no such piece.
                if let Ok(mut encoder) = tokenizer.encoder_with(options) {
                    checks::check_lines(&mut encoder, &text);
                }
            }
        }
    });
}
