//! What the program reads: records of JSON Lines, and files that are no text, in every subcommand.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Output;

use spiece::Model;
use tempfile::TempDir;

use crate::support::{folder_with, output_for, program, testdata, testdata_argument};

/// Subcommands that read text, without the text; MODEL stands for a model. The text follows
/// directly.
const ENCODING: &[(&str, &[&str])] = &[
    ("encode", &["encode", "--model=MODEL", "--input="]),
    ("eval", &["eval", "--model=MODEL", "--input="]),
    ("inspect", &["inspect", "MODEL", "--text="]),
    ("compare", &["compare", "MODEL", "MODEL", "--text="]),
    (
        "prune",
        &["prune", "MODEL", "--model_prefix=small", "--keep_text="],
    ),
];

/// Subcommands that read lines and no records.
const STREAMS: &[(&str, &[&str])] = &[
    ("normalize", &["normalize", "--model=MODEL", "--input="]),
    ("decode", &["decode", "--model=MODEL", "--input="]),
];

/// Subcommands that train on text.
const TRAINING: &[(&str, &[&str])] = &[
    (
        "train",
        &[
            "train",
            "--model_type=bpe",
            "--vocab_size=60",
            "--hard_vocab_limit=false",
            "--model_prefix=m",
            "--input=",
        ],
    ),
    (
        "extend",
        &[
            "extend",
            "MODEL",
            "--pieces=1",
            "--new_characters=never",
            "--model_prefix=m",
            "--input=",
        ],
    ),
];

fn run_with_input(folder: &Path, arguments: &[&str], input: &[u8]) -> Output {
    let model = testdata_argument("golden/llama2.model");
    let arguments = arguments
        .iter()
        .map(|argument| argument.replace("MODEL", &model));
    output_for(program().current_dir(folder).args(arguments), input)
}

/// Runs a subcommand on a text, with more flags. Returns the exit status and both outputs.
fn run(
    folder: &TempDir,
    subcommand: &[&str],
    text: &str,
    more: &[&str],
    input: &[u8],
) -> (Option<i32>, String, String) {
    let (last, first) = subcommand.split_last().unwrap();
    let last = format!("{last}{text}");
    let arguments = [first, &[last.as_str()], more].concat();
    let output = run_with_input(folder.path(), &arguments, input);
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn all_subcommands() -> impl Iterator<Item = &'static (&'static str, &'static [&'static str])> {
    ENCODING.iter().chain(TRAINING)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// The texts and score bits in the rows of a table of `testdata/records`.
fn expected_pieces(table: &str) -> Vec<(String, u32)> {
    let rows = table.lines().map(|row| row.split_once('\t').unwrap());
    rows.map(|(piece, score)| {
        let piece = serde_json::from_str(piece).unwrap();
        (piece, u32::from_str_radix(score, 16).unwrap())
    })
    .collect()
}

#[test]
fn whole_records_train_what_the_sentence_iterator_of_the_reference_trains() {
    let folder = tempfile::tempdir().unwrap();
    let input = format!("--input={}", testdata_argument("records/texts.jsonl"));
    for model_type in ["bpe", "unigram", "word", "char"] {
        for rules in ["identity", "nmt_nfkc"] {
            let case = format!("{model_type}_{rules}");
            let output = program()
                .current_dir(folder.path())
                .args(["train", "--quiet", &input, "--json_field=text"])
                .args(["--document=record", "--vocab_size=300"])
                .args(["--hard_vocab_limit=false", "--model_prefix=m"])
                .arg(format!("--model_type={model_type}"))
                .arg(format!("--normalization_rule_name={rules}"))
                .output()
                .unwrap();
            assert!(output.status.success(), "{case}: {output:?}");
            let model = Model::open(folder.path().join("m.model")).unwrap();
            let pieces: Vec<(String, u32)> = model
                .pieces()
                .map(|piece| {
                    let text = std::str::from_utf8(piece.text).unwrap();
                    (text.to_owned(), piece.score.to_bits())
                })
                .collect();
            let table = testdata("records").join(format!("{case}.tsv"));
            assert!(
                pieces == expected_pieces(&fs::read_to_string(table).unwrap()),
                "{case}: the pieces differ"
            );
            let has_line_feed = pieces.iter().any(|(text, _)| text.contains('\n'));
            assert_eq!(has_line_feed, rules == "identity", "{case}");
        }
    }
}

#[test]
fn a_document_is_the_same_in_every_subcommand() {
    let records = "{\"text\": \"zqxv zqxv\\nc\"}\n{\"text\": \"zqxv zqxv\\n\"}\n";
    let folder = folder_with(&[
        ("r.jsonl", records.as_bytes()),
        ("t", b"zqxv zqxv\nc\nzqxv zqxv\n"),
    ]);
    let encode = |name: &str, more: &[&str]| {
        let more = [more, &["--output_format=id", "--quiet"]].concat();
        let (status, ids, message) = run(&folder, ENCODING[0].1, name, &more, b"");
        assert_eq!(status, Some(0), "{message}");
        ids
    };
    let field = "--json_field=text";
    let lines = encode("t", &[]);
    assert_eq!(encode("r.jsonl", &[field, "--document=line"]), lines);
    let records = encode("r.jsonl", &[field]);
    assert_eq!(encode("r.jsonl", &[field, "--document=record"]), records);
    assert_eq!(records.lines().count(), 2);
    assert_eq!(encode("t", &["--document=file"]).lines().count(), 1);

    // The number of sentences or lines that each subcommand reports.
    let cases: &[(&str, &str, &[&str], &str)] = &[
        ("inspect", "r.jsonl", &[field], "2 lines"),
        ("inspect", "r.jsonl", &[field, "--document=line"], "3 lines"),
        ("inspect", "t", &["--document=file"], "1 lines"),
        ("prune", "r.jsonl", &[field], "2 of 2 lines"),
        (
            "prune",
            "r.jsonl",
            &[field, "--document=line"],
            "3 of 3 lines",
        ),
        (
            "eval",
            "r.jsonl",
            &[field],
            "Total Sentences                  : 2",
        ),
        (
            "eval",
            "r.jsonl",
            &[field, "--document=line"],
            "Total Sentences                  : 3",
        ),
        ("train", "r.jsonl", &[field], "sentences: 3 "),
        (
            "train",
            "r.jsonl",
            &[field, "--document=line"],
            "sentences: 3 ",
        ),
        (
            "train",
            "r.jsonl",
            &[field, "--document=record"],
            "sentences: 2 ",
        ),
        ("train", "t", &["--document=file"], "sentences: 1 "),
        ("extend", "r.jsonl", &[field], "sentences: 3 "),
        (
            "extend",
            "r.jsonl",
            &[field, "--document=record"],
            "sentences: 2 ",
        ),
    ];
    for (name, text, more, expected) in cases {
        let (_, subcommand) = all_subcommands().find(|(other, _)| other == name).unwrap();
        let (_, out, message) = run(&folder, subcommand, text, more, b"");
        let all = out + &message;
        assert!(all.contains(expected), "{name} {more:?}: {all}");
    }
    for (name, subcommand) in all_subcommands() {
        for (text, more, expected) in [
            ("t", &["--document=record"][..], "name the field"),
            ("r.jsonl", &[field, "--document=file"], "document=record or"),
            ("t", &["--document=page"], "line, record or file"),
        ] {
            let (status, _, message) = run(&folder, subcommand, text, more, b"");
            assert_eq!(status, Some(2), "{name} {more:?}: {message}");
            assert!(message.contains(expected), "{name}: {message}");
        }
    }
}

#[test]
fn bad_records_are_errors_with_file_line_and_cause_or_are_skipped() {
    let good = "{\"text\": \"zqxv zqxv\", \"score\": NaN, \"x\": \"\\ud800\"}\n";
    let bad = [
        ("{\"text\": null}", "the field \"text\" is null, not a text"),
        ("{\"body\": \"a\"}", "the field \"text\" is missing"),
        ("{\"text\": \"\\udfff\"}", "surrogate"),
        ("{\"text\": \"a\"", "no valid JSON"),
    ];
    for (record, cause) in bad {
        let content = format!("\u{feff}{good}\n{record}\n{good}{record}\n");
        let folder = folder_with(&[("r.jsonl", content.as_bytes())]);
        for (name, subcommand) in all_subcommands() {
            let field = "--json_field=text";
            let (status, _, message) = run(&folder, subcommand, "r.jsonl", &[field], b"");
            assert_eq!(status, Some(1), "{name}: {message}");
            let place = "cannot read r.jsonl: line 3: ";
            assert!(
                message.contains(place) && message.contains(cause),
                "{name}: {message}"
            );
            assert!(message.contains("on_bad_record=skip"), "{name}: {message}");

            let skip = [field, "--on_bad_record=skip"];
            let (status, out, message) = run(&folder, subcommand, "r.jsonl", &skip, b"");
            assert_eq!(status, Some(0), "{name}: {message}");
            assert!(
                message.contains("2 records without a text"),
                "{name}: {message}"
            );
            assert!(message.contains("r.jsonl: line 3: "), "{name}: {message}");
            assert_eq!(message.matches(cause).count(), 1, "{name}: {message}");
            if *name == "encode" {
                assert_eq!(out.lines().count(), 2, "{out}");
            }
        }
    }
}

#[test]
fn json_lines_that_are_read_as_text_get_a_note() {
    let record = b"{\"text\": \"zqxv zqxv\"}\n";
    let zipped = gzip(record);
    let folder = folder_with(&[("r.jsonl", record), ("r.ndjson.gz", &zipped), ("t", record)]);
    for (name, subcommand) in all_subcommands() {
        for (text, more, is_noted) in [
            ("r.jsonl", &[][..], true),
            ("r.ndjson.gz", &[], true),
            ("r.jsonl", &["--json_field=text"], false),
            ("t", &[], false),
        ] {
            let (_, _, message) = run(&folder, subcommand, text, more, b"");
            let notes = message.matches("note: r.").count();
            assert_eq!(notes, usize::from(is_noted), "{name} {text}: {message}");
        }
    }
}

#[test]
fn lines_that_are_too_long_are_counted_and_the_flag_is_named() {
    let text = format!("short line\n{}\n\n", "x".repeat(50));
    let folder = folder_with(&[("t", text.as_bytes())]);
    let train = |more: &[&str]| {
        let arguments = [
            &["train", "--input=t", "--model_prefix=m", "--model_type=bpe"],
            more,
        ]
        .concat();
        let output = run_with_input(folder.path(), &arguments, b"");
        String::from_utf8(output.stderr).unwrap()
    };
    let limit = "--max_sentence_length=20";
    let message = train(&[limit, "--hard_vocab_limit=false"]);
    assert!(message.contains("1 empty, 1 too long"), "{message}");
    assert!(
        message.contains(
            "1 sentences were skipped because they are longer than --max_sentence_length"
        ),
        "{message}"
    );
    let message = train(&[limit]);
    assert!(
        message.contains("8000 is too large") && message.contains("raise max_sentence_length"),
        "{message}"
    );
    let message = train(&["--max_sentence_length=60"]);
    assert!(!message.contains("max_sentence_length"), "{message}");
    let message = train(&["--max_sentence_length=10", "--input=t"]);
    assert!(!message.contains("no sentence"), "{message}");
    fs::write(
        folder.path().join("t"),
        "\n01234567890\n01234567890\n\u{2585}\n",
    )
    .unwrap();
    let message = train(&["--max_sentence_length=10"]);
    assert!(
        message.contains("1 empty, 2 longer than 10 bytes (raise max_sentence_length")
            && message.contains("1 with U+2585"),
        "{message}"
    );
    // Nothing but a symbol is left to learn from.
    fs::write(folder.path().join("t"), format!("a\n{}\n", "x".repeat(50))).unwrap();
    let symbol = ["--add_dummy_prefix=false", "--user_defined_symbols=a"];
    let message = train(&[&symbol[..], &["--model_type=unigram", limit]].concat());
    assert!(
        message.contains("too small to estimate") && message.contains("raise max_sentence_length"),
        "{message}"
    );
}

#[test]
fn compressed_text_is_read_whatever_its_name_also_from_standard_input() {
    let text = "zqxv zqxv c\nzqxv zqxv\n".repeat(3);
    let zipped = gzip(text.as_bytes());
    let folder = folder_with(&[("t", text.as_bytes()), ("zipped", &zipped)]);
    for (name, subcommand) in all_subcommands() {
        let (status, expected, message) = run(&folder, subcommand, "t", &[], b"");
        assert!(status == Some(0), "{name}: {message}");
        let (_, found, _) = run(&folder, subcommand, "zipped", &[], b"");
        let expected = expected.replace(" t", " zipped");
        let found_lines = found.lines().count();
        assert_eq!(found_lines, expected.lines().count(), "{name}");
        if *name == "encode" {
            assert_eq!(found, expected);
        }
        if *name == "prune" {
            continue;
        }
        let (_, piped, message) = run(&folder, subcommand, "-", &[], &zipped);
        assert_eq!(piped.lines().count(), found_lines, "{name}: {message}");
        if *name == "encode" {
            assert_eq!(piped, expected);
        }
    }
}

#[test]
fn content_that_is_no_text_is_refused_in_every_subcommand() {
    let xz = b"\xfd7zXZ\0\0\x04";
    let utf_16 = b"\xff\xfea\0 \0b\0\n\0";
    let folder = folder_with(&[("xz", xz), ("utf16", utf_16), ("t.gz", b"zqxv zqxv\n")]);
    for (name, subcommand) in all_subcommands().chain(STREAMS) {
        for (text, expected) in [
            ("xz", "decompress it: xz -dc"),
            ("utf16", "iconv -f UTF-16 "),
            ("t.gz", "not gzip, which the name says"),
        ] {
            let (status, _, message) = run(&folder, subcommand, text, &[], b"");
            assert_eq!(status, Some(1), "{name} {text}: {message}");
            let file = format!("cannot read {text}: ");
            assert!(
                message.contains(&file) && message.contains(expected),
                "{name} {text}: {message}"
            );
        }
        if *name != "prune" {
            let (status, _, message) = run(&folder, subcommand, "-", &[], xz);
            assert_eq!(status, Some(1), "{name}: {message}");
            assert!(
                message.contains("cannot read -: the content is xz"),
                "{message}"
            );
        }
    }
}

#[test]
fn text_with_nul_bytes_is_read_with_a_warning() {
    let folder = folder_with(&[
        ("nul", b"zqxv zqxv\0c\nzqxv zqxv\n"),
        ("latin", b"a caf\xe9\n"),
    ]);
    for (name, subcommand) in all_subcommands() {
        for (text, expected) in [("nul", "bytes are NUL"), ("latin", "byte 5 is not UTF-8")] {
            let (status, _, message) = run(&folder, subcommand, text, &[], b"");
            assert!(status == Some(0), "{name} {text}: {message}");
            let warnings = message.matches(&format!("warning: {text}: ")).count();
            assert!(
                warnings > 0 && message.contains(expected),
                "{name}: {message}"
            );
            // The training of a model reads the text once.
            assert!(warnings == 1 || *name == "prune", "{name}: {message}");
            let quiet = run(&folder, subcommand, text, &["--quiet"], b"").2;
            assert!(!quiet.contains("warning"), "{name}: {quiet}");
            let _ = expected;
        }
    }
}

#[test]
fn pieces_that_break_the_lines_of_a_vocab_file_give_a_warning() {
    let folder = folder_with(&[("t", b"zqxv zqxv c\n"), ("symbols", b"<x>\r\n<y>\r\n")]);
    let symbols = "--user_defined_symbols_file=symbols";
    let (_, _, message) = run(&folder, TRAINING[0].1, "t", &[symbols], b"");
    assert!(
        message.contains("2 pieces contain a line feed") && message.contains("remove the CR"),
        "{message}"
    );
    let (_, _, message) = run(&folder, TRAINING[0].1, "t", &[], b"");
    assert!(!message.contains("line feed"), "{message}");
}
