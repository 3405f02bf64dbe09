//! The same input and options give the same bytes, whatever the locale and the environment, the
//! number of threads, and the way in which the input comes: in one file or many, compressed or not,
//! through a pipe.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use crate::support::{assert_equal_on_any_number_of_threads, program, testdata_argument};

/// What a training run writes: the vocabulary with its scores. (The .model names the input files.)
fn train(
    input: &str,
    standard_input: &[u8],
    flags: &[&str],
    environment: &[(&str, &str)],
) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let mut child = program()
        .current_dir(folder.path())
        .args([
            "train",
            "--model_prefix=m",
            "--vocab_size=2500",
            "--character_coverage=0.98",
            "--hard_vocab_limit=false",
            "-q",
        ])
        .arg(format!("--input={input}"))
        .args(flags)
        .envs(environment.iter().copied())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A run that does not read it may be gone.
    let _ = stdin.write_all(standard_input);
    drop(stdin);
    assert!(
        child.wait().unwrap().success(),
        "{input} {flags:?} {environment:?}"
    );
    std::fs::read(folder.path().join("m.vocab")).unwrap()
}

/// What a verb writes for `input`.
fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<u8> {
    let output = program()
        .args(arguments)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

const ENVIRONMENTS: &[&[(&str, &str)]] = &[
    &[("LC_ALL", "C")],
    &[("LC_ALL", "tr_TR.UTF-8"), ("LANG", "tr_TR.UTF-8")],
    &[("LC_ALL", "de_DE.UTF-8"), ("LC_NUMERIC", "de_DE.UTF-8")],
    &[("LC_ALL", "ja_JP.eucJP"), ("LANGUAGE", "ja")],
    &[
        ("RAYON_NUM_THREADS", "5"),
        ("TZ", "Asia/Tokyo"),
        ("COLUMNS", "20"),
        ("TERM", "dumb"),
        ("TMPDIR", "/nowhere"),
    ],
];

#[test]
fn locale_and_environment_do_not_change_any_output() {
    let (text, model) = (
        testdata_argument("mixed.txt"),
        format!("--model={}", testdata_argument("golden/nmt_nfkc_cf.model")),
    );
    let trained = train(&text, b"", &["--normalization_rule_name=nmt_nfkc_cf"], &[]);
    let encoded = run(&["encode", &model, "--output_format=json", &text], &[]);
    let normalized = run(&["normalize", &model, &text], &[]);
    let evaluated = run(&["eval", &model, &text], &[]);
    for environment in ENVIRONMENTS {
        let retrained = train(
            &text,
            b"",
            &["--normalization_rule_name=nmt_nfkc_cf"],
            environment,
        );
        assert!(retrained == trained, "{environment:?}");
        assert!(
            run(
                &["encode", &model, "--output_format=json", &text],
                environment
            ) == encoded,
            "{environment:?}"
        );
        assert!(
            run(&["normalize", &model, &text], environment) == normalized,
            "{environment:?}"
        );
        assert!(
            run(&["eval", &model, &text], environment) == evaluated,
            "{environment:?}"
        );
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_trained_vocabulary() {
    let text = testdata_argument("udhr.txt");
    assert_equal_on_any_number_of_threads("train", |threads| {
        train(&text, b"", &[&format!("--num_threads={threads}")], &[])
    });
}

#[test]
fn the_number_of_threads_does_not_change_what_a_model_gives() {
    let text = testdata_argument("udhr.txt");
    let models = [
        "golden/llama2.model",
        "run/unigram.model",
        "run/word.model",
        "run/char.model",
    ];
    let subcommands: [&[&str]; 4] = [
        &["encode", "--output_format=id"],
        &["encode", "--generate_vocabulary"],
        &["normalize"],
        &["eval"],
    ];
    for model in models {
        for subcommand in subcommands {
            let what = format!("{subcommand:?} with {model}");
            let model = format!("--model={}", testdata_argument(model));
            assert_equal_on_any_number_of_threads(&what, |threads| {
                let threads = format!("--num_threads={threads}");
                let arguments = [subcommand, &[&model, &threads, &text]].concat();
                run(&arguments, &[])
            });
        }
    }
}

#[test]
fn one_file_many_files_pipes_and_compressed_files_train_the_same_vocabulary() {
    let text = std::fs::read(testdata_argument("udhr.txt")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name).display().to_string();
    let flag_sets: [&[&str]; 2] = [&[], &["--input_sentence_size=900", "--random_seed=3"]];
    for flags in flag_sets {
        let expected = train(&testdata_argument("udhr.txt"), b"", flags, &[]);
        assert!(train("-", &text, flags, &[]) == expected, "a pipe");

        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        for parts in [2, 7, 50] {
            let files: Vec<String> = (0..parts)
                .map(|part| path(format!("{parts}-{part}")))
                .collect();
            for (file, lines) in files.iter().zip(lines.chunks(lines.len().div_ceil(parts))) {
                std::fs::write(file, lines.concat()).unwrap();
            }
            let files: Vec<String> = files
                .into_iter()
                .filter(|file| Path::new(file).exists())
                .collect();
            assert!(
                train(&files.join(","), b"", flags, &[]) == expected,
                "{parts} files"
            );
        }

        let gzip = |bytes: &[u8]| {
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(bytes).unwrap();
            encoder.finish().unwrap()
        };
        let zstd = |bytes: &[u8]| {
            ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
        };
        // In two streams that are cut inside of a line.
        let (first, second) = text.split_at(100_001);
        std::fs::write(
            path("a.gz".to_owned()),
            [gzip(first), gzip(second)].concat(),
        )
        .unwrap();
        std::fs::write(
            path("a.zst".to_owned()),
            [zstd(first), zstd(second)].concat(),
        )
        .unwrap();
        for name in ["a.gz", "a.zst"] {
            assert!(
                train(&path(name.to_owned()), b"", flags, &[]) == expected,
                "{name}"
            );
        }
    }
}
