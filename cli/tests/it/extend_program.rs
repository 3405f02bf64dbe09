//! `spiece extend`, run as a program: flags, reports, files, exit status.

use std::path::Path;
use std::process::Output;

use spiece::{Model, PieceKind, Tokenizer};

use crate::support::{assert_refused, names_in, program, report_of, testdata, testdata_argument};

/// Runs `spiece extend` on the golden model of Llama's options.
fn extend(folder: &Path, arguments: &[&str]) -> Output {
    let model = testdata_argument("golden/llama2.model");
    let mut command = program();
    command.current_dir(folder).args(["extend", &model]);
    command.args(arguments).output().unwrap()
}

/// What the program writes to standard error; it must succeed.
fn extend_report(folder: &Path, arguments: &[&str]) -> String {
    report_of(arguments, &extend(folder, arguments))
}

fn input(name: &str) -> String {
    format!("--input={}", testdata_argument(name))
}

fn open(folder: &Path, name: &str) -> Model {
    Model::open(folder.join(name)).unwrap()
}

/// The texts of the pieces behind the first `first`.
fn new_texts(model: &Model, first: usize) -> Vec<String> {
    let pieces = model.pieces().skip(first);
    let text = |text: &[u8]| String::from_utf8(text.to_vec()).unwrap();
    pieces.map(|piece| text(piece.text)).collect()
}

#[test]
fn the_report_and_the_files_are_those_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let arguments = [&*input("udhr.txt"), "--pieces=1000", "--model_prefix=more"];
    let report = extend_report(folder, &arguments);
    let expected = "\
pieces: 4,000 before, 1,000 learned, 5,000 now
old ids: 4,000 unchanged
written: more.model, more.vocab, more.extension.tsv
";
    assert!(report.ends_with(expected), "{report}");
    let names = ["more.extension.tsv", "more.model", "more.vocab"];
    assert_eq!(names_in(folder), names);

    let old = Model::open(testdata("golden/llama2.model")).unwrap();
    let new = open(folder, "more.model");
    assert!(old.pieces().eq(new.pieces().take(old.len())));
    let tokenizer = Tokenizer::new(old);
    let tsv = std::fs::read_to_string(folder.join("more.extension.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = tsv.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows[0], ["id", "piece", "replaced", "count"]);
    assert_eq!(rows.len(), 1001);
    for (row, id) in rows[1..].iter().zip(4000..) {
        assert_eq!(row[0], format!("{id}"));
        let replaced = row[2].split(' ').map(|id| id.parse::<u32>().unwrap());
        let pieces = replaced.map(|id| tokenizer.id_to_piece(id.into()).unwrap().to_vec());
        let joined: Vec<u8> = pieces.flatten().collect();
        // Characters that the old model lacks were bytes.
        let had_bytes = joined.starts_with(b"<0x");
        assert!(had_bytes || joined == row[1].as_bytes(), "{row:?}");
    }
}

#[test]
fn superwords_have_as_many_words_as_the_flag_says() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let words = |text: &str| {
        text.split('\u{2581}')
            .filter(|word| !word.is_empty())
            .count()
    };
    let text = input("udhr_small.txt");
    for (flags, most) in [(&[][..], 4), (&["--max_words=2"][..], 2)] {
        let fixed = [
            &*text,
            "--pieces=400",
            "--split_by_whitespace=false",
            "--model_prefix=s",
        ];
        extend_report(folder, &[&fixed, flags].concat());
        let longest = new_texts(&open(folder, "s.model"), 4000)
            .iter()
            .map(|text| words(text))
            .max();
        assert_eq!(longest, Some(most), "{flags:?}");
    }
    extend_report(folder, &[&text, "--pieces=400", "--model_prefix=s"]);
    let texts = new_texts(&open(folder, "s.model"), 4000);
    assert!(texts.iter().all(|text| words(text) == 1), "{texts:?}");
}

#[test]
fn patterns_of_reuse_are_literal_but_for_stars_and_question_marks() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut editor = Model::open(testdata("golden/llama2.model")).unwrap().edit();
    for text in ["[r_0]", "[r_1]", "r_", "[r.2]", "[x"] {
        editor.add_piece(text, 0.0, PieceKind::Control);
    }
    editor
        .finish()
        .unwrap()
        .save(folder.join("r.model"))
        .unwrap();
    let text = input("udhr.txt");
    let run = |pattern: &str| {
        let mut command = program();
        command
            .current_dir(folder)
            .args(["extend", "r.model", &text, "--pieces=2"]);
        let reuse = format!("--reuse={pattern}");
        let output = command.args(["--model_prefix=o", &reuse]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{stderr}");
        let model = open(folder, "o.model");
        let changed = new_texts(&model, 4000)
            .into_iter()
            .zip(["[r_0]", "[r_1]", "r_", "[r.2]", "[x"]);
        let reused: Vec<&str> = changed
            .filter(|(new, old)| new != old)
            .map(|(_, old)| old)
            .collect();
        (reused.concat(), model.len())
    };
    assert_eq!(run("[r_*]"), ("[r_0][r_1]".to_owned(), 4005));
    assert_eq!(run("[r_?]"), ("[r_0][r_1]".to_owned(), 4005));
    assert_eq!(run("[r.*]"), ("[r.2]".to_owned(), 4006));
    assert_eq!(run("[x"), ("[x".to_owned(), 4006));
    // More than are needed: the last one is a control piece without its text.
    assert_eq!(run("[*]"), ("[r_0][r_1][r.2]".to_owned(), 4005));
    assert_eq!(new_texts(&open(folder, "o.model"), 4003)[0], "<reused_2>");
}

#[test]
fn special_pieces_and_padding_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let flags = [
        &*input("udhr.txt"),
        "--pieces=10",
        "--control_symbols=<x>,<y>",
        "--user_defined_symbols=<z>",
        "--multiple_of=64",
        "--model_prefix=p",
    ];
    let report = extend_report(folder, &flags);
    let expected = "pieces: 4,000 before, 22 special pieces added, 10 learned, 4,032 now\n";
    assert!(report.contains(expected), "{report}");
    let texts = new_texts(&open(folder, "p.model"), 4000);
    assert_eq!(texts[..3], ["<x>", "<y>", "<z>"]);
    assert_eq!(texts[13], "<reserved_0>");
    extend_report(
        folder,
        &[&input("udhr.txt"), "--multiple_of=64", "--model_prefix=p"],
    );
    assert_eq!(open(folder, "p.model").len(), 4032);
}

#[test]
fn mistakes_of_extensions_give_their_message_and_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = input("udhr_small.txt");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["--pieces=1", "--model_prefix=x"], 2, "--input is missing"),
        (&[&text, "--pieces=1"], 2, "--model_prefix is missing"),
        (&[&text, "--model_prefix=x"], 2, "one of them says how many"),
        (
            &[&text, "--model_prefix=x", "--pieces=1", "--vocab_size=5000"],
            2,
            "exclude each other",
        ),
        (
            &[&text, "--model_prefix=x", "--pieces=1", "--max_words=3"],
            2,
            "goes with --split_by_whitespace=false",
        ),
        (
            &[
                &text,
                "--model_prefix=x",
                "--pieces=1",
                "--new_characters=all",
            ],
            2,
            "gain, coverage or never",
        ),
        (&[&text, "--model_prefix=x", "--pieces=many"], 2, "pieces"),
        (
            &[&text, "--model_prefix=x", "--pieces=1", "--reuse=<none*>"],
            1,
            "no piece is like \"<none*>\"",
        ),
        (
            &[&text, "--model_prefix=x", "--pieces=1", "--reuse=</s>"],
            1,
            "cannot be reused",
        ),
        (
            &[&text, "--model_prefix=x", "--vocab_size=3999"],
            1,
            "has 4000 pieces already",
        ),
        (
            &[&text, "--model_prefix=x", "--pieces=10000000"],
            1,
            "ask for at most",
        ),
        (
            &["--input=no/such", "--model_prefix=x", "--pieces=1"],
            1,
            "cannot read no/such",
        ),
    ];
    for (arguments, status, message) in cases {
        assert_refused(arguments, &extend(folder, arguments), *status, message);
    }
    assert!(names_in(folder).is_empty());
}

/// Runs `spiece extend` on a byte-level vocabulary.
fn extend_bytes(folder: &Path, vocabulary: &str, arguments: &[&str]) -> Output {
    let vocabulary = testdata_argument(vocabulary);
    let mut command = program();
    command.current_dir(folder).args(["extend", &vocabulary]);
    command.args(arguments).output().unwrap()
}

#[test]
fn byte_level_vocabularies_are_extended_and_written_in_each_format() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = input("udhr.txt");
    let compared = format!("--text={}", testdata_argument("udhr_small.txt"));
    let old = Tokenizer::open(testdata("bytes/llama3.json")).unwrap();
    let mut all_ids = Vec::new();
    for (format, names) in [
        ("tokenizer.json", &["m.json"][..]),
        ("tiktoken", &["m.tiktoken"]),
        ("vocab-merges", &["m-vocab.json", "m-merges.txt"]),
    ] {
        let format = format!("--format={format}");
        let arguments = [
            &*text,
            "--pieces=100",
            "--model_prefix=m",
            &format,
            &compared,
        ];
        let output = extend_bytes(folder, "bytes/llama3.json", &arguments);
        let report = report_of(&arguments, &output);
        let size = old.vocab_size();
        assert!(report.contains(&format!(
            "pieces: {size} before, 100 learned, {} now",
            size + 100
        )));
        assert!(
            report.contains(&format!("old ids: {size} unchanged")),
            "{report}"
        );
        assert!(report.contains("lines have the same pieces"), "{report}");
        let written = [names, &["m.extension.tsv"]].concat().join(", ");
        assert!(
            report.ends_with(&format!("written: {written}\n")),
            "{report}"
        );
        let mut options = spiece::formats::ByteFormatOptions::default();
        if format != "--format=tokenizer.json" {
            options.pretokenizer = spiece::Pretokenizer::named("llama3");
        }
        let new = Tokenizer::open_with(folder.join(names[0]), &options).unwrap();
        let line = "Alle Menschen sind frei und gleich an Würde und Rechten geboren.";
        let ids = new.encode(line);
        assert!(ids.len() < old.encode(line).len());
        all_ids.push(ids);
        for id in 0..256_u32 {
            let [new, old] = [&new, &old].map(|it| it.decode_to_bytes([id]).unwrap());
            assert_eq!(new, old);
        }
    }
    assert!(all_ids.iter().all(|ids| *ids == all_ids[0]), "{all_ids:?}");
    let tsv = std::fs::read_to_string(folder.join("m.extension.tsv")).unwrap();
    assert_eq!(tsv.lines().count(), 101);
    assert!(tsv.starts_with("id\tpiece\treplaced\tcount\n"));
}

#[test]
fn flags_of_models_and_of_byte_level_vocabularies_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = input("udhr_small.txt");
    let fixed = [&*text, "--pieces=1", "--model_prefix=x"];
    for (flag, message) in [
        ("--new_characters=gain", "--new_characters is for models"),
        (
            "--max_words=3",
            "--max_words goes with --split_by_whitespace=false",
        ),
        ("--split_digits", "--split_digits is for models"),
        (
            "--format=gguf",
            "tokenizer.json, tiktoken, vocab-merges or minbpe",
        ),
        ("--max_token_length=0", "max_token_length"),
    ] {
        let arguments = [&fixed, &[flag][..]].concat();
        let output = extend_bytes(folder, "bytes/gpt2.json", &arguments);
        assert_refused(&arguments, &output, 2, message);
    }
    for flag in [
        "--format=tiktoken",
        "--min_frequency=2",
        "--special_tokens=<a>",
    ] {
        let arguments = [&fixed, &[flag][..]].concat();
        let message = "is for byte-level vocabularies";
        assert_refused(&arguments, &extend(folder, &arguments), 2, message);
    }
    // Without a pattern of its own, a file needs one.
    let output = extend_bytes(folder, "bytes/gpt2.tiktoken", &fixed);
    assert_refused(&fixed, &output, 1, "--pattern");
    assert!(names_in(folder).is_empty());
}
