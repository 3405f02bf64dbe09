//! Links named `spm_train`, `spm_encode` and so on: how `spiece install-links` makes them, and how
//! the program behaves under these names.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::support::{names_in, program, testdata, testdata_argument};

const NAMES: [&str; 6] = [
    "spm_train",
    "spm_encode",
    "spm_decode",
    "spm_normalize",
    "spm_export_vocab",
    "spm_eval",
];

/// Runs `spiece install-links` for a folder.
fn install(folder: &Path, flags: &[&str]) -> Output {
    program()
        .arg("install-links")
        .arg(folder)
        .args(flags)
        .output()
        .unwrap()
}

/// A folder with all links.
fn folder_with_links() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let output = install(folder.path(), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    folder
}

/// The path of a link.
fn link(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}{EXE_SUFFIX}"))
}

/// What a command writes to standard output; it must succeed.
fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn links_are_made_and_named_and_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = install(folder.path(), &[]);
        let messages = stderr(&output);
        assert!(output.status.success(), "{messages}");
        for name in NAMES {
            let path = link(folder.path(), name).display().to_string();
            assert!(
                messages.contains(&path),
                "{path} is missing in:\n{messages}"
            );
        }
        let mut expected = NAMES.map(|name| format!("{name}{EXE_SUFFIX}"));
        expected.sort();
        assert_eq!(names_in(folder.path()), expected);
    }
    let quiet = install(folder.path(), &["--quiet"]);
    assert!(quiet.status.success() && quiet.stderr.is_empty());
}

#[test]
fn other_files_are_replaced_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let other = link(folder.path(), "spm_encode");
    fs::write(&other, "other program").unwrap();
    let refused = install(folder.path(), &[]);
    let message = stderr(&refused);
    assert_eq!(refused.status.code(), Some(1), "{message}");
    assert!(
        message.contains("spm_encode") && message.contains("--force"),
        "{message}"
    );
    assert!(!message.contains("spm_train"), "{message}");
    assert_eq!(names_in(folder.path()).len(), 1, "no link is made");
    assert_eq!(fs::read(&other).unwrap(), b"other program");

    let forced = install(folder.path(), &["--force"]);
    assert!(forced.status.success(), "{}", stderr(&forced));
    assert_eq!(names_in(folder.path()).len(), NAMES.len());
    let help = output_of(Command::new(&other).arg("--help"));
    assert!(help.contains("Usage: spm_encode"), "{help}");
}

#[test]
fn folders_and_missing_folders_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = install(&folder.path().join("none"), &["--force"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("none is no folder"));

    fs::create_dir(link(folder.path(), "spm_eval")).unwrap();
    let refused = install(folder.path(), &["--force"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        stderr(&refused).contains("is a folder"),
        "{}",
        stderr(&refused)
    );
    assert_eq!(names_in(folder.path()).len(), 1, "no link is made");

    let without_folder = program().arg("install-links").output().unwrap();
    assert_eq!(without_folder.status.code(), Some(2));
}

#[cfg(unix)]
#[test]
fn only_symbolic_links_to_spiece_are_replaced_without_force() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let path = link(folder.path(), "spm_train");
    symlink("/no/such/folder/spiece", &path).unwrap();
    let output = install(folder.path(), &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let program = fs::canonicalize(env!("CARGO_BIN_EXE_spiece")).unwrap();
    assert_eq!(fs::read_link(&path).unwrap(), program);

    fs::remove_file(&path).unwrap();
    symlink("/usr/bin/spm_train.real", &path).unwrap();
    let output = install(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("--force"));
}

/// Trains a model in `folder` and returns its bytes and the messages. The model records the flags;
/// so these are equal in all runs.
fn train(folder: &Path, command: &mut Command) -> (Vec<u8>, String) {
    let input = folder.join("in.txt");
    fs::copy(testdata("udhr_small.txt"), input).unwrap();
    let output = command
        .current_dir(folder)
        .args(["--input=in.txt", "--model_prefix=m", "--vocab_size=900"])
        .args(["--hard_vocab_limit=false", "--character_coverage=0.98"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{command:?}: {}", stderr(&output));
    let model = fs::read(folder.join("m.model")).unwrap();
    (model, stderr(&output))
}

#[test]
fn spm_train_trains_unigram_models_by_default_and_spiece_train_says_that_it_trains_bpe() {
    let links = folder_with_links();
    let spm_train = link(links.path(), "spm_train");
    let folder = tempfile::tempdir().unwrap();
    let train = |command: &mut Command| train(folder.path(), command);

    let (bpe, messages) = train(program().args(["train", "--model_type=bpe"]));
    assert!(!messages.contains("note:"), "{messages}");
    let (unigram, messages) = train(program().args(["train", "--model_type=unigram"]));
    assert!(!messages.contains("note:"), "{messages}");
    assert_ne!(bpe, unigram);

    let (by_default, messages) = train(program().arg("train"));
    assert_eq!(messages.matches("note:").count(), 1, "{messages}");
    for part in [
        "BPE",
        "spm_train",
        "--model_type=unigram",
        "--model_type=bpe",
    ] {
        assert!(
            messages.contains(part),
            "{part:?} is missing in:\n{messages}"
        );
    }
    assert!(by_default == bpe, "spiece train trains BPE by default");
    let (_, messages) = train(program().args(["train", "--quiet"]));
    assert!(messages.is_empty(), "{messages}");

    let (by_default, messages) = train(&mut Command::new(&spm_train));
    assert!(!messages.contains("note:"), "{messages}");
    assert!(
        messages.ends_with("written: m.model, m.vocab\n"),
        "{messages}"
    );
    assert!(by_default == unigram, "spm_train trains unigram by default");
    let (chosen, _) = train(Command::new(&spm_train).arg("-model-type=bpe"));
    assert!(chosen == bpe, "spm_train --model_type=bpe");
}

#[test]
fn programs_give_what_their_subcommands_give() {
    let links = folder_with_links();
    let model = format!("--model={}", testdata_argument("run/unigram.model"));
    let text = testdata_argument("udhr_small.txt");
    let pieces = links.path().join("pieces").display().to_string();
    let encoded = output_of(program().args(["encode", &model, &text]));
    fs::write(&pieces, encoded).unwrap();
    let input = format!("--input={text}");
    let cases: [(&str, &str, &[&str]); 6] = [
        ("spm_encode", "encode", &[&text]),
        ("spm_encode", "encode", &["--output_format=id", &input]),
        ("spm_decode", "decode", &[&pieces]),
        ("spm_export_vocab", "export-vocab", &[]),
        (
            "spm_export_vocab",
            "export-vocab",
            &["--output_format=syms"],
        ),
        ("spm_eval", "eval", &[&input]),
    ];
    for (name, subcommand, arguments) in cases {
        let expected = output_of(program().args([subcommand, &model]).args(arguments));
        let mut command = Command::new(link(links.path(), name));
        let output = output_of(command.arg(&model).args(arguments));
        assert!(output == expected, "{name} {arguments:?}");
    }
}

#[test]
fn spm_normalize_applies_the_rules_alone_by_default() {
    let links = folder_with_links();
    let model = format!("--model={}", testdata_argument("golden/llama2.model"));
    let text = testdata_argument("mixed.txt");
    let normalize = |flags: &[&str]| {
        let mut command = Command::new(link(links.path(), "spm_normalize"));
        output_of(command.args([&model, &text]).args(flags))
    };
    let subcommand = |flag| output_of(program().args(["normalize", &model, &text, flag]));
    let rules = subcommand("--nouse_internal_normalization");
    let whole = subcommand("--use_internal_normalization");
    assert_ne!(rules, whole);
    assert!(normalize(&[]) == rules);
    assert!(normalize(&["--use_internal_normalization"]) == whole);
    assert!(
        normalize(&[
            "--use_internal_normalization",
            "--nouse_internal_normalization"
        ]) == rules
    );
}

#[test]
fn help_errors_and_version_name_the_program() {
    let links = folder_with_links();
    for name in NAMES {
        let path = link(links.path(), name);
        let help = output_of(Command::new(&path).arg("--help"));
        assert!(help.contains(&format!("Usage: {name} ")), "{help}");
        assert!(!help.contains("spiece "), "{help}");
        let version = output_of(Command::new(&path).arg("--version"));
        let expected = format!("{name} (spiece {})\n", env!("CARGO_PKG_VERSION"));
        assert_eq!(version, expected);
        let wrong = Command::new(&path).arg("--no_such_flag").output().unwrap();
        assert_eq!(wrong.status.code(), Some(2), "{name}");
    }
    let help = output_of(Command::new(link(links.path(), "spm_train")).arg("--help"));
    assert!(help.contains("[default: unigram]"), "{help}");
    assert!(!help.contains("[default: bpe]"), "{help}");
}
