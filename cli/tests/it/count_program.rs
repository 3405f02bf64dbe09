//! `spiece count` and training from its tables, run as programs.

#[cfg(feature = "parquet")]
use std::path::Path;

#[cfg(feature = "parquet")]
use crate::support::spiece_in;
use crate::support::{program, testdata_argument};

/// Options that change the words, as flags.
#[cfg(feature = "parquet")]
const OPTIONS: [&str; 3] = [
    "--byte_fallback",
    "--split_digits",
    "--normalization_rule_name=identity",
];

/// Runs the program in a folder. Returns what it writes to standard error, or else fails with it.
#[cfg(feature = "parquet")]
fn run(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = spiece_in(folder, arguments);
    assert!(output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    if output.status.success() {
        Ok(stderr)
    } else {
        Err(stderr)
    }
}

/// A folder with a corpus in two files.
#[cfg(feature = "parquet")]
fn corpus() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read(crate::support::testdata("udhr_small.txt")).unwrap();
    let half = text.len() / 2;
    let middle = half + text[half..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    std::fs::write(folder.path().join("a.txt"), &text[..middle]).unwrap();
    std::fs::write(folder.path().join("b,c.txt"), &text[middle..]).unwrap();
    folder
}

#[cfg(feature = "parquet")]
fn train(folder: &Path, input: &[&str], prefix: &str) -> Vec<u8> {
    let prefix = format!("--model_prefix={prefix}");
    let mut arguments = vec!["train", "--quiet", "--vocab_size=1500", &prefix];
    arguments.extend(OPTIONS);
    arguments.extend(input);
    run(folder, &arguments).unwrap();
    std::fs::read(folder.join("m.model")).unwrap()
}

#[cfg(feature = "parquet")]
#[test]
fn tables_of_the_parts_give_the_model_of_the_text_with_its_inputs() {
    let folder = corpus();
    let folder = folder.path();
    let expected = train(folder, &["--input=a.txt,\"b,c.txt\""], "m");
    let count = |input: &str, output: &str| {
        let output = format!("--output={output}");
        let mut arguments = vec!["count", input, &output];
        arguments.extend(OPTIONS);
        run(folder, &arguments).unwrap()
    };
    let report = count("--input=a.txt", "a.parquet");
    assert!(report.contains("\ndistinct words: "), "{report}");
    assert!(report.ends_with("written: a.parquet\n"), "{report}");
    count("--input=\"b,c.txt\"", "b.parquet");
    let merge = [
        "count",
        "--merge",
        "a.parquet",
        "b.parquet",
        "--output=c.parquet",
        "-q",
    ];
    assert_eq!(run(folder, &merge), Ok(String::new()));
    for input in ["--input=c.parquet", "--input=a.parquet,b.parquet"] {
        let model = train(folder, &[input, "--input_format=counts"], "m");
        assert!(model == expected, "{input}");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn a_table_of_other_options_is_refused_with_the_name_of_the_option() {
    let folder = corpus();
    let folder = folder.path();
    run(
        folder,
        &["count", "--input=a.txt", "--output=a.parquet", "-q"],
    )
    .unwrap();
    let other = [
        "count",
        "--input=a.txt",
        "--output=b.parquet",
        "-q",
        "--split_digits",
    ];
    run(folder, &other).unwrap();
    let train = |flag: &str| {
        let fixed = [
            "train",
            "--input=a.parquet",
            "--input_format=counts",
            "--model_prefix=m",
            "-q",
        ];
        run(folder, &[&fixed[..], &[flag]].concat()).unwrap_err()
    };
    let merge = [
        "count",
        "--merge",
        "a.parquet",
        "b.parquet",
        "--output=c.parquet",
    ];
    for (message, names) in [
        (train("--split_digits"), "split_digits=\"false\""),
        (train("--model_type=unigram"), "unigram"),
        (train("--superword_from=300"), "superword_from"),
        (
            run(folder, &merge).unwrap_err(),
            "b.parquet: the words were counted with split_digits",
        ),
    ] {
        assert!(message.contains(names), "{message}");
    }
    assert!(!folder.join("m.model").exists() && !folder.join("c.parquet").exists());
}

#[cfg(feature = "parquet")]
#[test]
fn rare_words_are_left_out_after_characters_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("t.txt"), "pen pen pen\nquartz\n").unwrap();
    let train = |flag: &str| {
        let flags = [
            "--input=t.txt",
            "--vocab_size=40",
            "--hard_vocab_limit=false",
            "--model_prefix=m",
        ];
        run(folder, &[&["train", "-q", flag][..], &flags].concat()).unwrap();
        std::fs::read_to_string(folder.join("m.vocab")).unwrap()
    };
    let has = |vocab: &str, piece: &str| {
        vocab
            .lines()
            .any(|line| line.starts_with(&format!("{piece}\t")))
    };
    let all = train("--min_word_count=1");
    assert!(
        has(&all, "\u{2581}quartz") && has(&all, "\u{2581}pen"),
        "{all}"
    );
    let frequent = train("--min_word_count=2");
    assert!(
        has(&frequent, "\u{2581}pen") && has(&frequent, "z"),
        "{frequent}"
    );
    assert!(!frequent.contains("qu"), "{frequent}");
}

#[test]
fn what_is_missing_is_said() {
    let text = testdata_argument("udhr_small.txt");
    let input = format!("--input={text}");
    let cases: [(&[&str], &str); 3] = [
        (&["count", &input], "--output is missing"),
        (&["count", "--output=x"], "--input is missing"),
        (
            &["count", "--merge", "a", "--output=x", &input],
            "--merge and --input",
        ),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (arguments, message) in cases {
        let output = program()
            .current_dir(folder.path())
            .args(arguments)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(
            !output.status.success() && stderr.contains(message),
            "{stderr}"
        );
    }
}

#[cfg(not(feature = "parquet"))]
#[test]
fn a_program_without_tables_names_the_feature() {
    let folder = tempfile::tempdir().unwrap();
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let output = program()
        .current_dir(folder.path())
        .args(["count", &input, "--output=x", "-q"])
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && stderr.contains("--features parquet"),
        "{stderr}"
    );
}
