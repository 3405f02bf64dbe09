//! What the program says about itself: help, completions, the manual, what is missing.

use std::process::Output;

use crate::support::{assert_refused, folder_with, names_in, program, spiece_in};

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

fn run(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

fn text_of(arguments: &[&str]) -> String {
    let output = run(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    assert!(stderr.is_empty(), "{arguments:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names of the subcommands, as the help lists them.
fn verbs() -> Vec<String> {
    let help = text_of(&["--help"]);
    let commands = help.split("Commands:\n").nth(1).unwrap();
    let commands = commands.split("\n\n").next().unwrap();
    let names = commands
        .lines()
        .map(|line| line.split_whitespace().next().unwrap());
    names
        .filter(|name| *name != "help")
        .map(Into::into)
        .collect()
}

#[test]
fn completions_of_each_shell_have_all_verbs_and_flags() {
    let verbs = verbs();
    assert!(verbs.iter().any(|verb| verb == "install-links"));
    for shell in SHELLS {
        let script = text_of(&["completions", shell]);
        for verb in &verbs {
            assert!(script.contains(verb.as_str()), "{shell}: {verb}");
        }
        for flag in ["vocab_size", "output_format", "normalization_rules_of"] {
            assert!(script.contains(flag), "{shell}: {flag}");
        }
    }
    let refused = run(&["completions", "tcsh"]);
    assert_refused(&["completions", "tcsh"], &refused, 2, "zsh");
    let missing = run(&["completions"]);
    assert_refused(&["completions"], &missing, 2, "SHELL");
}

#[test]
fn bash_completes_verbs_and_flags() {
    let has_bash = std::process::Command::new("bash").arg("--version").output();
    if cfg!(windows) || has_bash.is_err() {
        eprintln!("skipped: there is no bash");
        return;
    }
    let script = "eval \"$1\"; COMP_WORDS=($2); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); \
                  _spiece spiece \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\"; echo \"${COMPREPLY[*]}\"";
    let completions = text_of(&["completions", "bash"]);
    for (typed, expected) in [
        ("spiece ex", "export-vocab extend"),
        ("spiece train --model_t", "--model_type"),
        ("spiece man tr", ""),
    ] {
        let mut bash = std::process::Command::new("bash");
        let output = bash
            .args(["-c", script, "bash", &completions, typed])
            .output();
        let found = String::from_utf8(output.unwrap().stdout).unwrap();
        let mut found: Vec<&str> = found.split_whitespace().collect();
        found.sort_unstable();
        // The alias in older spelling.
        found.retain(|name| *name != "export_vocab");
        assert_eq!(found.join(" "), expected, "{typed}");
    }
}

#[test]
fn the_manual_has_a_page_for_each_verb() {
    let folder = folder_with(&[]);
    let output = spiece_in(folder.path(), &["man", "--output=."]);
    assert!(output.status.success() && output.stdout.is_empty());
    let mut expected: Vec<String> = verbs()
        .iter()
        .map(|verb| format!("spiece-{verb}.1"))
        .collect();
    expected.push("spiece.1".to_owned());
    expected.sort();
    assert_eq!(names_in(folder.path()), expected);
    let page = std::fs::read_to_string(folder.path().join("spiece-train.1")).unwrap();
    let version = env!("CARGO_PKG_VERSION");
    for part in [
        &format!(".TH spiece-train 1  \"spiece {version}\""),
        "spiece train [OPTIONS]",
        // An example is one line, however long.
        "\n.nf\n  spiece train \\-\\-model_type=bpe \\-\\-input=text.txt \\-\\-model_prefix=my \\-\\-vocab_size=32000",
        ".SH \"Byte-level BPE (--model_type=byte_bpe)\"",
    ] {
        assert!(page.contains(part), "{part:?} is missing in:\n{page}");
    }
    assert_eq!(text_of(&["man", "train"]), page);
    assert!(text_of(&["man"]).contains("spiece\\-train(1)"));
    let cases: [(&[&str], i32, &str); 3] = [
        (&["man", "trian"], 2, "--help lists them"),
        (
            &["man", "train", "--output=."],
            2,
            "leave it or COMMAND out",
        ),
        (&["man", "--output=no"], 1, "make it first"),
    ];
    for (arguments, status, message) in cases {
        let output = spiece_in(folder.path(), arguments);
        assert_refused(arguments, &output, status, message);
    }
}

#[test]
fn a_run_without_input_says_what_to_type() {
    let folder = folder_with(&[("text.txt", b"a pen and an apple\n")]);
    let cases: [(&[&str], &str, &str); 5] = [
        (
            &["train"],
            "--input",
            " train --input=text.txt --model_prefix=my --vocab_size=8000\n",
        ),
        (
            &["train", "--input=text.txt"],
            "--model_prefix",
            " train --input=text.txt --model_prefix=my --vocab_size=8000\n",
        ),
        (
            &["train", "--model_type=byte_bpe"],
            "--input",
            " train --model_type=byte_bpe --input=text.txt --model_prefix=my --vocab_size=32000\n",
        ),
        (
            &["train", "--like=old.model"],
            "--input",
            " train --like=old.model --input=text.txt --model_prefix=my\n",
        ),
        (
            &["count", "--output=x"],
            "--input",
            " count --input=text.txt --output=counts.parquet\n",
        ),
    ];
    let small = [
        "train",
        "--input=text.txt",
        "--model_prefix=old",
        "--vocab_size=14",
    ];
    assert!(spiece_in(folder.path(), &small).status.success());
    for (arguments, flag, command) in cases {
        let output = spiece_in(folder.path(), arguments);
        assert_refused(
            arguments,
            &output,
            2,
            &format!("spiece: {flag} is missing; it names "),
        );
        assert_refused(arguments, &output, 2, command);
    }
}

#[test]
fn flags_of_one_kind_of_model_have_a_heading_of_their_own() {
    let help = text_of(&["train", "--help"]);
    let sections: Vec<&str> = help.split("\n\n").collect();
    let position = |text: &str| {
        let found = sections.iter().position(|section| section.contains(text));
        found.unwrap_or_else(|| panic!("{text:?} is missing in:\n{help}"))
    };
    let order = [
        "Options:",
        "--model_prefix <",
        "Format of the input:",
        "Normalization:",
        "--normalization_rule_name <",
        "Unigram models (--model_type=unigram):",
        "--shrinking_factor <",
        "Byte-level BPE (--model_type=byte_bpe):",
        "--tie_order <",
        "Like a tokenizer.json (--like=FILE):",
        "--limit_alphabet <",
    ];
    let found = order.map(position);
    assert!(found.is_sorted(), "{found:?}");
}
