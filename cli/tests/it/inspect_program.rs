//! `spiece inspect` and `spiece compare`, run as programs.

use std::path::Path;
use std::process::Output;

use spiece::Model;

use crate::support::{assert_equal_on_any_number_of_threads, program, testdata, testdata_argument};

/// Runs the program.
fn spiece(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// What the program writes; it must end with `status`.
fn output_with_status(arguments: &[&str], status: i32) -> String {
    let output = spiece(arguments);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(status),
        "{arguments:?}: {message}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    output_with_status(arguments, 0)
}

fn path_argument(path: &Path) -> String {
    path.display().to_string()
}

/// Without the names of files, which depend on where the repository is.
fn without_folder(report: &str) -> String {
    let folder = testdata_argument("");
    report.replace(&folder, "")
}

#[test]
fn reports_equal_the_stored_ones() {
    let cases = [
        ("golden/llama2.model", "llama2"),
        ("run/unigram.model", "unigram"),
        ("run/word.model", "word"),
    ];
    for (model, name) in cases {
        let model = testdata_argument(model);
        let text = format!("--text={}", testdata_argument("mixed.txt"));
        let report = stdout(&["inspect", &model, &text, "--format=json"]);
        let report = without_folder(&report);
        let stored = testdata_argument(&format!("run/inspect_{name}.json"));
        if std::env::var_os("SPIECE_WRITE_GOLDEN").is_some() {
            std::fs::write(&stored, &report).unwrap();
        }
        let expected = std::fs::read_to_string(&stored).unwrap();
        assert!(
            report == expected,
            "{stored} differs; SPIECE_WRITE_GOLDEN=1 writes it again"
        );
    }
}

/// The flags that a shell gets from the program train the same files.
#[cfg(unix)]
#[test]
fn the_flags_of_a_model_train_it_again() {
    for name in ["symbols", "delimiter", "own_names", "rule_files", "no_unk"] {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(testdata(""), folder.path().join("testdata")).unwrap();
        let script = "set -e; line=$(\"$1\" inspect \"$2\" --format=flags); eval \"\\\"$1\\\" train --quiet $line\"";
        let output = std::process::Command::new("sh")
            .args(["-c", script, "sh", env!("CARGO_BIN_EXE_spiece")])
            .arg(format!("testdata/golden/{name}.model"))
            .current_dir(folder.path())
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {message}");
        for end in ["model", "vocab"] {
            let file = format!("{name}.{end}");
            let trained = std::fs::read(folder.path().join(&file)).unwrap();
            let expected = std::fs::read(testdata("golden").join(&file)).unwrap();
            assert!(trained == expected, "{file} differs: {message}");
        }
    }
}

/// What the flags do not say is named on standard error, and the line of flags stays usable.
#[test]
fn options_that_are_no_flags_are_named() {
    let model = Model::open(testdata("golden/unigram.model")).unwrap();
    let mut editor = model.edit();
    editor.trainer_spec_mut().self_test_sample_size = Some(7);
    editor.trainer_spec_mut().required_chars = Some(vec![0xff]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edited.model");
    editor.finish().unwrap().save(&path).unwrap();
    let output = spiece(&["inspect", &path_argument(&path), "--format=flags"]);
    let line = String::from_utf8(output.stdout).unwrap();
    assert!(line.starts_with("--input="), "{line}");
    assert_eq!(line.lines().count(), 1);
    assert!(
        !line.contains("self_test") && !line.contains("required_chars"),
        "{line}"
    );
    let message = String::from_utf8(output.stderr).unwrap();
    for name in [
        "self_test_sample_size",
        "required_chars",
        "min_freq_alpha",
        "use_sparse_pruning",
    ] {
        assert!(message.contains(&format!("warning: {name}:")), "{message}");
    }
}

#[test]
fn reports_do_not_depend_on_the_number_of_threads() {
    let model = testdata_argument("golden/llama2.model");
    let other = testdata_argument("golden/spm_default.model");
    let first = format!("--text={}", testdata_argument("udhr.txt"));
    let second = format!("--text={}", testdata_argument("hostile_text.txt"));
    assert_equal_on_any_number_of_threads("inspect", |threads| {
        let threads = format!("--num_threads={threads}");
        stdout(&[
            "inspect",
            &model,
            &first,
            &second,
            "--format=json",
            &threads,
        ])
    });
    assert_equal_on_any_number_of_threads("compare", |threads| {
        let threads = format!("--num_threads={threads}");
        let arguments = ["compare", &model, &other, &first, &second, &threads];
        output_with_status(&arguments, 1)
    });
}

#[test]
fn languages_are_relative_to_english() {
    let model = testdata_argument("golden/llama2.model");
    let report = stdout(&["inspect", &model, "--languages"]);
    let english = report.lines().find(|line| line.starts_with("  English"));
    assert!(english.unwrap().contains(" 1.00 "), "{report}");
    let languages = report.lines().filter(|line| line.contains("% unknown"));
    assert_eq!(languages.count(), 28);
}

#[test]
fn equal_models_have_status_0_and_different_ones_1() {
    let a = testdata_argument("golden/llama2.model");
    let b = testdata_argument("golden/spm_default.model");
    let text = format!("--text={}", testdata_argument("udhr_small.txt"));
    let equal = stdout(&["compare", &a, &a, &text]);
    assert!(equal.contains("equal lines          274 of 274"), "{equal}");
    assert!(equal.contains(" 0 only in A, 0 only in B"), "{equal}");
    let different = output_with_status(&["compare", &a, &b, &text, "--format=json"], 1);
    assert!(different.contains("\"equal_ids\": false"), "{different}");
    assert!(spiece(&["compare", &a, &b, &text]).stderr.is_empty());
}

/// The fixtures have the same vocabulary in two formats, and in one of them no pattern.
#[test]
fn the_releases_that_have_the_rules_of_a_model_are_named() {
    let row = |model: &str| {
        let report = stdout(&["inspect", &testdata_argument(model)]);
        let row = report.lines().find(|line| line.starts_with("rules"));
        row.map(|row| row.trim_start_matches("rules").trim().to_owned())
    };
    let table = [
        (
            "golden/spm_default.model",
            Some("nmt_nfkc of SentencePiece 0.2.3"),
        ),
        (
            "golden/nfkc.model",
            Some("nfkc of SentencePiece 0.2.2 to 0.2.3"),
        ),
        (
            "golden/rule_files.model",
            Some(
                "none of those of SentencePiece 0.0.6 to 0.2.3; `spiece train --like` this model trains with them",
            ),
        ),
        ("golden/llama2.model", None),
    ];
    for (model, expected) in table {
        assert_eq!(row(model).as_deref(), expected, "{model}");
    }
    let json = stdout(&[
        "inspect",
        &testdata_argument("golden/nfkc.model"),
        "--format=json",
    ]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let expected = serde_json::json!({
        "names": ["nfkc"], "first_release": "0.2.2", "last_release": "0.2.3"
    });
    assert_eq!(json["normalizer"]["built_in_rules"], expected);
}

#[test]
fn byte_level_vocabularies_are_inspected_and_compared() {
    let a = testdata_argument("bytes/gpt2.json");
    let b = testdata_argument("bytes/gpt2.tiktoken");
    let text = format!("--text={}", testdata_argument("udhr_small.txt"));
    let json = stdout(&["inspect", &a, &text, "--languages", "--format=json"]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["model_type"], "byte_bpe");
    assert_eq!(report["pattern_name"], "gpt2");
    assert_eq!(report["unreachable"].as_array().unwrap().len(), 13);
    for details in report["unreachable_details"].as_array().unwrap() {
        assert_eq!(details["reason"], "not_utf8", "{details}");
    }
    let tokens = report["text"]["tokens"].as_u64().unwrap();
    assert!(tokens > 1000, "{json}");
    assert_eq!(report["languages"].as_array().unwrap().len(), 28);
    let plain = stdout(&["inspect", &b, "--pattern=gpt2", &text]);
    assert!(
        plain.contains(&format!("\ntokens               {tokens}\n")),
        "{plain}"
    );

    // In this file the pattern leaves white space out.
    let words = testdata_argument("bytes/words.json");
    let words = stdout(&["inspect", &words, "--format=json"]);
    let report: serde_json::Value = serde_json::from_str(&words).unwrap();
    let details = report["unreachable_details"].as_array().unwrap();
    let space = details.iter().find(|details| details["piece"] == " ");
    assert_eq!(space.unwrap()["reason"], "pattern");

    let equal = stdout(&["compare", &a, &b, "--pattern=gpt2", &text]);
    assert!(equal.contains("equal lines          274 of 274"), "{equal}");
    let llama = testdata_argument("golden/llama2.model");
    let other = output_with_status(&["compare", &a, &llama, &text, "--format=json"], 1);
    let report: serde_json::Value = serde_json::from_str(&other).unwrap();
    assert_eq!(report["tokens_a"], tokens);

    let page = stdout(&["inspect", &a, &text, "--format=html"]);
    assert!(page.contains("<th scope=\"row\">pattern</th><td><bdi>gpt2</bdi></td>"));
    let flags = spiece(&["inspect", &a, "--format=flags"]);
    assert_eq!(flags.status.code(), Some(1));
}

#[test]
fn lists_of_pieces_are_inspected_and_compared_with_the_lower_case_that_is_given() {
    let a = testdata_argument("wordpiece/vocab.txt");
    let b = testdata_argument("wordpiece/tokenizer.json");
    let text = format!("--text={}", testdata_argument("udhr_small.txt"));
    let report: serde_json::Value =
        serde_json::from_str(&stdout(&["inspect", &a, &text, "--format=json"])).unwrap();
    assert_eq!(report["model_type"], "wordpiece");
    let pieces = &report["word_pieces"];
    let count = |name: &str| pieces[name].as_u64().unwrap();
    assert_eq!(
        count("beginnings") + count("continuations"),
        395,
        "{pieces}"
    );
    assert_eq!((count("unused"), count("lost_capitals")), (0, 0));
    assert!(report["text"]["tokens_per_word"].as_f64().unwrap() > 1.0);
    let words = testdata_argument("bytes/gpt2.json");
    assert!(!stdout(&["inspect", &words, "--format=json"]).contains("word_pieces"));

    let folder = tempfile::tempdir().unwrap();
    let cased = path_argument(&folder.path().join("vocab.txt"));
    std::fs::write(&cased, "[UNK]\n[unused1]\nA\nbe\n##B\n").unwrap();
    let plain = stdout(&["inspect", &cased]);
    assert!(
        plain.contains("word pieces          beginnings 2, continuations 1, unused 1\n"),
        "{plain}"
    );
    assert!(!plain.contains("warning"), "{plain}");
    let lower = stdout(&["inspect", &cased, "--lowercase"]);
    assert!(
        lower.contains("warning              no text gives the 2 pieces with capital letters"),
        "{lower}"
    );

    // B has added tokens that do not occur.
    let equal = stdout(&["compare", &a, &b, &text]);
    assert!(equal.contains("equal lines          274 of 274"), "{equal}");
    let equal = stdout(&["compare", &b, &a, "--lowercase", &text]);
    assert!(equal.contains("equal lines          274 of 274"), "{equal}");
    output_with_status(&["compare", &b, &a, "--lowercase=false", &text], 1);
    let refused = spiece(&["compare", &b, &b, "--lowercase", &text]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("neither A nor B is one"), "{message}");
}

#[test]
fn wrong_command_lines_have_status_2_and_missing_files_1() {
    let model = testdata_argument("golden/llama2.model");
    let text = format!("--text={}", testdata_argument("few_words.txt"));
    let usages: [&[&str]; 9] = [
        &["inspect"],
        &["inspect", &model, &text, "--format=flags"],
        &["compare", &model, &model, &text, "--format=flags"],
        &["inspect", &model, "--format=xml"],
        &["inspect", &model, "--text=-", "--text=-"],
        &["compare", &model, &text],
        &["compare", &model, &model],
        &["compare", &model, &model, "--format=json"],
        &["compare", &model, &model, &text, "--num_threads=x"],
    ];
    for arguments in usages {
        assert_eq!(spiece(arguments).status.code(), Some(2), "{arguments:?}");
    }
    let failures: [&[&str]; 3] = [
        &["inspect", "/no/such.model"],
        &["inspect", &model, "--text=/no/such.txt"],
        &["compare", &model, &model, "--text=/no/such.txt"],
    ];
    for arguments in failures {
        let output = spiece(arguments);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(message.contains("/no/such"), "{message}");
        assert!(message.contains("check its name"), "{message}");
    }
}

#[test]
fn a_failed_run_leaves_the_output_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report");
    let output = format!("--output={}", path_argument(&path));
    let model = testdata_argument("golden/llama2.model");
    stdout(&["inspect", &model, &output]);
    let report = std::fs::read(&path).unwrap();
    assert!(report.starts_with(b"model "));
    output_with_status(&["inspect", &model, "--text=/no/such.txt", &output], 1);
    assert_eq!(std::fs::read(&path).unwrap(), report);
    let text = format!("--text={}", testdata_argument("few_words.txt"));
    let other = testdata_argument("golden/spm_default.model");
    output_with_status(&["compare", &model, &other, &text, &output], 1);
    assert!(std::fs::read(&path).unwrap().starts_with(b"A "));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn pages_hold_one_model_or_two_and_do_not_depend_on_the_number_of_threads() {
    let a = testdata_argument("golden/llama2.model");
    let b = testdata_argument("golden/spm_default.model");
    let text = format!("--text={}", testdata_argument("hostile_text.txt"));
    let count = |page: &str| page.matches("<th scope=\"row\">scripts</th>").count();
    assert_equal_on_any_number_of_threads("inspect", |threads| {
        let threads = format!("--num_threads={threads}");
        let page = stdout(&["inspect", &a, &text, "--format=html", &threads]);
        assert_eq!(count(&page), 1);
        page
    });
    let page = stdout(&["compare", &a, &b, "--format=html"]);
    assert_eq!(count(&page), 2);
    let page = output_with_status(&["compare", &a, &b, &text, "--format=html"], 1);
    assert!(page.contains("<th scope=\"row\">equal lines</th>"));
}

#[test]
fn hostile_pieces_and_texts_are_escaped() {
    use spiece::{Model, ModelType, PieceKind};
    let folder = tempfile::tempdir().unwrap();
    let mut builder = Model::builder();
    builder
        .model_type(ModelType::Bpe)
        .piece("<unk>", 0.0, PieceKind::Unknown);
    let texts: [&[u8]; 7] = [
        b"\x1b[2J",
        b"\xff\xfe",
        "\u{202e}abc".as_bytes(),
        b"\r\n",
        b"\x07",
        "\u{9b}31m".as_bytes(),
        b"\"\\",
    ];
    for text in texts {
        builder.piece(text, 0.0, PieceKind::Normal);
    }
    let model = folder.path().join("hostile\u{1b}.model");
    builder.build().unwrap().save(&model).unwrap();
    let model = path_argument(&model);
    let text = format!("--text={}", testdata_argument("hostile_text.txt"));
    let report = stdout(&["inspect", &model, &text]);
    let is_control = |c: char| c.is_control() && c != '\n';
    assert!(!report.contains(is_control), "{report:?}");
    assert!(!report.contains('\u{202e}'));
    let other = testdata_argument("golden/llama2.model");
    let report = output_with_status(&["compare", &model, &other, &text], 1);
    assert!(!report.contains(is_control), "{report:?}");
    let json = stdout(&["inspect", &model, &text, "--format=json"]);
    assert!(!json.contains(|c: char| c < ' ' && c != '\n'), "{json:?}");
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(report["unreachable"], serde_json::json!([1, 3, 6]));
}

/// Programs that read the model: as text, as JSON, and not with the flags of training.
#[test]
fn programs_that_give_the_same_ids_are_named() {
    let model = testdata_argument("golden/llama2.model");
    let report = stdout(&["inspect", &model, "--runtimes"]);
    let exact = "transformers (5.24.0), folder: ids equal for all text";
    assert!(report.contains(exact), "{report}");
    let reason =
        r#"piece_text: a NUL ends the text; what follows it is lost; for example the text "\0""#;
    assert!(report.contains(reason), "{report}");

    let report = stdout(&["inspect", &model, "--runtimes", "--format=json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let runtimes = report["runtimes"].as_array().unwrap();
    let of = |program: &str| runtimes.iter().find(|it| it["program"] == program).unwrap();
    assert_eq!(of("llama.cpp")["is_exact"], true);
    assert_eq!(of("onnxruntime-extensions")["reasons"][0]["example"], "\0");
    let without = stdout(&["inspect", &model, "--format=json"]);
    assert!(!without.contains("\"runtimes\""));

    let word = testdata_argument("golden/word.model");
    let report = stdout(&["inspect", &word, "--runtimes"]);
    assert!(
        report.contains("llama.cpp (node-llama-cpp 3.22.1), gguf: not read:"),
        "{report}"
    );

    let flags = spiece(&["inspect", &model, "--runtimes", "--format=flags"]);
    assert_eq!(flags.status.code(), Some(2));
    let pipeline = testdata_argument("wordpiece/vocab.txt");
    let refused = spiece(&["inspect", &pipeline, "--runtimes"]);
    assert_eq!(refused.status.code(), Some(1));
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("docs/RUNTIMES.md"), "{message}");
}
