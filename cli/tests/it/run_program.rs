//! `spiece encode`, `decode`, `normalize`, `export-vocab` and `eval`, run as programs.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{assert_refused, folder_with, output_for, program, start, testdata_argument};

fn spiece(arguments: &[&str], input: &[u8]) -> Output {
    output_for(program().args(arguments), input)
}

/// What the program writes for `input`; it must succeed.
fn run(arguments: &[&str], input: &str) -> String {
    let output = spiece(arguments, input.as_bytes());
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn model(name: &str) -> String {
    format!("--model={}", testdata_argument(name))
}

#[test]
fn every_input_and_output_format_gives_its_text() {
    let (bpe, unigram) = (model("golden/llama2.model"), model("run/unigram.model"));
    let text = "the right\n\nthe 日\n";
    let pieces = run(&["encode", &bpe], text);
    assert_eq!(pieces, "▁the ▁right\n\n▁the ▁ <0xE6> <0x97> <0xA5>\n");
    let ids = run(&["encode", &bpe, "--output_format=id"], text);
    assert_eq!(run(&["decode", &bpe, "--input_format=id"], &ids), text);
    assert_eq!(run(&["decode", &bpe], &pieces), text);
    assert_eq!(
        run(
            &["decode", &bpe, "--extra_options=bos:reverse:eos"],
            "▁the ▁right\n"
        ),
        "right the\n"
    );
    assert_eq!(
        run(
            &[
                "decode",
                &bpe,
                "--extra_options=reverse",
                "--input_format=id"
            ],
            "300 x 1\n"
        ),
        run(&["decode", &bpe, "--input_format=id"], "1 300")
    );
    let json = run(&["encode", &bpe, "--output_format", "json"], "a \"");
    assert!(json.starts_with("{\"pieces\":[{\"id\":"), "{json}");
    assert!(
        json.contains("\"piece\":\"\u{2581}a\",\"surface\":\"a\",\"begin\":0,\"end\":1}"),
        "{json}"
    );
    assert!(json.ends_with("]}\n"));
    assert_eq!(
        run(&["encode", &bpe, "--extra_options=bos:eos"], "the"),
        "<s> ▁the </s>\n"
    );
    assert_eq!(
        run(&["encode", &unigram, "--extra_options=unk"], "日本"),
        "▁ <unk>\n"
    );
    let best = run(
        &[
            "encode",
            &unigram,
            "--output_format=nbest_piece",
            "--nbest_size=3",
        ],
        "les droits",
    );
    assert_eq!(best.lines().count(), 3);
    assert_eq!(
        best.lines().next().unwrap(),
        run(&["encode", &unigram], "les droits").trim_end()
    );
    let seeded = |seed| {
        run(
            &[
                "encode",
                &unigram,
                "--output_format=sample_id",
                "--nbest_size=-1",
                seed,
            ],
            &"les droits\n".repeat(20),
        )
    };
    assert_eq!(seeded("--random_seed=1"), seeded("--random_seed=1"));
    assert_ne!(seeded("--random_seed=1"), seeded("--random_seed=2"));
    assert!(
        seeded("--random_seed=1")
            .lines()
            .any(|line| line != seeded("--random_seed=1").lines().next().unwrap())
    );
    let counts = run(
        &["encode", &bpe, "--generate_vocabulary"],
        "the the right\n",
    );
    assert_eq!(counts, "▁the\t2\n▁right\t1\n");
}

#[test]
fn inputs_are_joined_and_a_failed_run_leaves_the_output_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("a"), "the\nright").unwrap();
    std::fs::write(path("b"), "the\n").unwrap();
    std::fs::write(path("out"), "old").unwrap();
    let model = model("golden/llama2.model");
    assert_eq!(
        run(&["encode", &model, &path("a"), &path("b")], ""),
        "▁the\n▁right\n▁the\n"
    );
    let output = format!("--output={}", path("out"));
    assert_eq!(
        run(
            &["encode", &model, &format!("--input={}", path("a")), &output],
            ""
        ),
        ""
    );
    assert_eq!(
        std::fs::read_to_string(path("out")).unwrap(),
        "▁the\n▁right\n"
    );
    let failed = spiece(
        &["decode", &model, "--input_format=id", &output],
        b"1\n99999999\n",
    );
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stderr).contains("line 2: "));
    assert_eq!(
        std::fs::read_to_string(path("out")).unwrap(),
        "▁the\n▁right\n"
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn mistakes_give_their_message_and_exit_status() {
    let (bpe, word, unigram) = (
        model("golden/llama2.model"),
        model("run/word.model"),
        model("run/unigram.model"),
    );
    let missing = "--model=no/such.model";
    let cases: &[(&[&str], i32, &str)] = &[
        (&["encode"], 2, "--model is missing"),
        (&["encode", missing], 1, "cannot read no/such.model"),
        (
            &[
                "encode",
                &format!("--model={}", testdata_argument("udhr.txt")),
            ],
            1,
            "not a tokenizer: this is a text file; name the tokenizer",
        ),
        (
            &[
                "normalize",
                &format!("--model={}", testdata_argument("golden")),
            ],
            1,
            "this is a folder without a tokenizer; name its file",
        ),
        (
            &["inspect", &testdata_argument("golden/llama2.vocab")],
            1,
            "this is a .vocab file, a list of the pieces; name the .model file beside it",
        ),
        (
            &["encode", &bpe, "--output_format=xml"],
            2,
            "\"xml\" is not piece, id or json",
        ),
        (
            &["encode", &bpe, "--extra_options=x"],
            2,
            "unknown extra option \"x\"",
        ),
        (
            &["encode", &bpe, "--output_format=nbest_id"],
            2,
            "not a unigram model",
        ),
        (
            &["encode", &word, "--output_format=sample_id"],
            2,
            "cannot be sampled",
        ),
        (
            &["encode", &bpe, "--num_threads=x"],
            2,
            "--num_threads: \"x\"",
        ),
        (
            &["encode", &bpe, "--num_threads=-1"],
            2,
            "--num_threads: \"-1\"",
        ),
        (
            &["decode", &bpe, "--num_threads=1000000"],
            2,
            "1000000 is out of range; use 0 to 1024",
        ),
        (
            &[
                "encode",
                &unigram,
                "--output_format=nbest_id",
                "--nbest_size=513",
            ],
            2,
            "request 512 at most",
        ),
        (
            &[
                "encode",
                &unigram,
                "--output_format=nbest_id",
                "--nbest_size=99999999999",
            ],
            2,
            "not a number that it takes",
        ),
        (
            &[
                "encode",
                &unigram,
                "--output_format=sample_id",
                "--nbest_size=2147483647",
            ],
            2,
            "request 512 at most",
        ),
        (
            &[
                "encode",
                &unigram,
                "--output_format=sample_id",
                "--alpha=nan",
            ],
            2,
            "give a finite number",
        ),
        (
            &["encode", &bpe, "no/such.txt"],
            1,
            "cannot read no/such.txt",
        ),
        (&["encode", &bpe, "--no_such_flag"], 2, "no_such_flag"),
        (
            &["decode", &bpe, "--input_format=json"],
            2,
            "\"json\" is not piece or id",
        ),
        (&["normalize"], 2, "--model is missing"),
        (
            &["normalize", "--normalization_rule_name=x"],
            2,
            "there are no rules \"x\"",
        ),
        (
            &["export-vocab", &bpe, "--output_format=x"],
            2,
            "\"x\" is not vocab or syms",
        ),
        (&["eval", missing], 1, "cannot read no/such.model"),
    ];
    for (arguments, status, message) in cases {
        let output = spiece(arguments, b"text\n");
        assert_refused(arguments, &output, *status, message);
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn a_closed_output_pipe_is_no_error() {
    let text = std::fs::read(testdata_argument("udhr.txt"))
        .unwrap()
        .repeat(20);
    let mut child = start(program().args(["encode", &model("golden/llama2.model")]));
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&text));
    let mut start = [0; 10];
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut start).unwrap();
    drop(stdout);
    let output = child.wait_with_output().unwrap();
    let _ = writer.join().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn normalize_applies_the_rules_of_models_names_and_files() {
    let (rules, plain) = (model("golden/nfkc.model"), model("golden/llama2.model"));
    assert_eq!(run(&["normalize", &rules], "  ＡＢＣ  x\n"), "▁ABC▁x\n");
    assert_eq!(run(&["normalize", &plain], " a\n"), "▁▁a\n");
    assert_eq!(
        run(
            &["normalize", &rules, "--nouse_internal_normalization"],
            "  ＡＢＣ  x\n"
        ),
        "ABC x\n"
    );
    assert_eq!(
        run(
            &["normalize", "--normalization_rule_name=nfkc_cf"],
            " ＡB\n"
        ),
        "ab\n"
    );
    let tsv = format!(
        "--normalization_rule_tsv={}",
        testdata_argument("normalize.tsv")
    );
    assert_eq!(
        run(&["normalize", &tsv, "--noremove_extra_whitespaces"], " .\n"),
        " .\n"
    );
    let decompiled = run(&["normalize", "--decompile", &rules], "");
    assert_eq!(decompiled.lines().count(), 225_232);
    assert!(decompiled.lines().any(|line| line == "FF21\t41\t# Ａ => A"));
}

/// The SHA-256 digest in hexadecimal.
fn sha256(bytes: &[u8]) -> String {
    use sha2::{Digest, Sha256};
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Digests of what `SentencePieceNormalizer(..).Decompile()` of the Python package 0.2.3 gives,
/// written as `spm_normalize --decompile` writes it.
#[test]
fn rules_of_a_name_or_a_file_are_decompiled_as_the_reference_does() {
    let tsv = |name: &str| format!("--normalization_rule_tsv={}", testdata_argument(name));
    let cases = [
        (
            "--normalization_rule_name=nfkc".to_owned(),
            "6ccccf4b755f3bfbf9b12fdbc13eac30987dc2aeeb66378ac5cd1da86d52a611",
        ),
        (
            "--normalization_rule_name=nmt_nfkc".to_owned(),
            "bb30b204e44a165b838fca1ded796c4e84fbae3b3f6c21151fbc16aa265f5aea",
        ),
        (
            "--normalization_rule_name=nmt_nfkc_cf".to_owned(),
            "c02545ac691a91b9b65e6f0e0c866274d260c0982380c349f422fe9c98db4b81",
        ),
        (
            tsv("normalize.tsv"),
            "8ee1ecffeb11322b5016cce7bd53fccfd71611553f7961589ce23df1cb756534",
        ),
        (
            tsv("denormalize.tsv"),
            "bb362306522adaf86f2576e5b9c075b4c13e04d8f71323b55709237e274a5653",
        ),
    ];
    for (rules, expected) in cases {
        let decompiled = run(&["normalize", "--decompile", &rules], "");
        assert_eq!(sha256(decompiled.as_bytes()), expected, "{rules}");
    }
    assert_eq!(
        run(
            &[
                "normalize",
                "--decompile",
                "--normalization_rule_name=identity"
            ],
            ""
        ),
        ""
    );

    // The recipe of docs/NORMALIZATION.md: the default rules, and soft hyphens are deleted.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.tsv");
    let own = format!("--normalization_rule_tsv={}", path.display());
    let mut rules = run(
        &[
            "normalize",
            "--decompile",
            "--normalization_rule_name=nmt_nfkc",
        ],
        "",
    );
    std::fs::write(&path, &rules).unwrap();
    assert!(run(&["normalize", "--decompile", &own], "") == rules);
    rules.push_str("AD\t\n");
    std::fs::write(&path, rules).unwrap();
    assert_eq!(
        run(&["normalize", &own], "soft\u{ad}ly Ａ\u{ad}\n"),
        "softly A\n"
    );
}

#[test]
fn export_vocab_writes_the_vocab_file_of_training() {
    for name in ["golden/llama2", "golden/symbols"] {
        let model = model(&format!("{name}.model"));
        let vocab = std::fs::read_to_string(testdata_argument(&format!("{name}.vocab"))).unwrap();
        assert!(run(&["export-vocab", &model], "") == vocab, "{name}");
        let symbols = run(&["export-vocab", &model, "--output_format=syms"], "");
        assert_eq!(symbols.lines().next().unwrap(), "<unk>\t0");
        assert_eq!(symbols.lines().count(), vocab.lines().count());
    }
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("x.vocab");
    run(
        &[
            "export-vocab",
            &model("run/char.model"),
            &format!("--output={}", path.display()),
        ],
        "",
    );
    assert!(
        std::fs::read_to_string(path)
            .unwrap()
            .starts_with("<unk>\t0\n")
    );
}

#[test]
fn eval_reports_every_section() {
    let model = model("run/unigram.model");
    let input = testdata_argument("udhr_small.txt");
    let report = run(&["eval", &model, &format!("--input={input}")], "");
    let lines: Vec<&str> = report.lines().collect();
    let expected = [
        "RAW LOG-LIKELIHOOD & COMPRESSION REPORT",
        "Model Vocab Size (K)             : 600",
        "COMPRESSION DENSITY & RATIO",
        "INFORMATION THEORY & PPL",
    ];
    for line in expected {
        assert!(lines.contains(&line), "{report}");
    }
    assert!(
        lines
            .iter()
            .all(|line| line.len() == 55 || !line.starts_with('='))
    );
    let other = run(
        &[
            "eval",
            &model,
            "--num_threads=1",
            &format!("--input={input}"),
        ],
        "",
    );
    assert_eq!(report, other);
    assert!(run(&["eval", &model], "").contains("Total Tokens                     : 0\n"));
}

#[test]
fn ids_are_decoded_as_people_have_them() {
    let model = model("golden/llama2.model");
    let decode = ["decode", &model, "--input_format=id"];
    let expected = run(&decode, "411 775\n");
    assert_eq!(expected, "the right\n");
    for line in [
        "411,775",
        "[411, 775]",
        "[411,775],",
        "411\t775",
        " 411  775\r",
        "[[411], [775]]",
    ] {
        assert_eq!(run(&decode, &format!("{line}\n")), expected, "{line:?}");
    }
    assert_eq!(run(&decode, "[]\n\n1.5\n"), "\n\n\n");
    for line in ["[1, 99999999]", "300,-1"] {
        let output = spiece(&decode, line.as_bytes());
        assert_eq!(output.status.code(), Some(1), "{line:?}");
    }
}

#[test]
fn a_switch_with_a_separate_value_is_never_misread() {
    let encode = ["encode", "--model=m", "--generate_vocabulary"];
    let cases: [(&[&str], &str); 4] = [
        (
            &[&encode[..], &["true"]].concat(),
            "write --generate_vocabulary=true",
        ),
        (
            &["train", "--input=x", "--hard_vocab_limit", "false"],
            "write --hard_vocab_limit=false",
        ),
        (
            &["train", "--input=x", "--split-digits", "0"],
            "write --split-digits=0",
        ),
        (
            &["inspect", "x", "--languages", "No"],
            "write --languages=No",
        ),
    ];
    for (arguments, remedy) in cases {
        assert_refused(arguments, &spiece(arguments, b""), 2, remedy);
    }
}

/// The pieces are those of SentencePiece 0.1.99 after `LoadVocabulary` with this file and threshold.
#[test]
fn vocabulary_restricts_encoding_as_older_releases_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let lines = "▁the\t5\n▁right\t2\n▁equal\t3\nights\t4\n▁droits\t7\n▁Toute\t1\nperson\t2\nne\n▁et\t2\tx\n";
    std::fs::write(path("v"), lines).unwrap();
    let vocabulary = format!("--vocabulary={}", path("v"));
    let (bpe, unigram) = (model("golden/llama2.model"), model("run/unigram.model"));
    let cases = [
        (&bpe, "the rights", "0", "▁the ▁right s\n"),
        (&bpe, "the rights", "2", "▁the ▁right s\n"),
        (&bpe, "the rights", "5", "▁the ▁ r i g h t s\n"),
        (
            &bpe,
            "personne é",
            "1",
            "▁ p e r s o n ne ▁ <0xC3> <0xA9>\n",
        ),
        (
            &bpe,
            "personne é",
            "2",
            "▁ p e r s o n n e ▁ <0xC3> <0xA9>\n",
        ),
        (
            &unigram,
            "Toute personne a droits",
            "0",
            "▁ T o u t e ▁ p e r s o n ne ▁ a ▁droits\n",
        ),
        (
            &unigram,
            "Toute personne a droits",
            "2",
            "▁ T o u t e ▁ p e r s o n n e ▁ a ▁droits\n",
        ),
    ];
    for (model, line, threshold, expected) in cases {
        let threshold = format!("--vocabulary_threshold={threshold}");
        let arguments = ["encode", model, &vocabulary, &threshold];
        assert_eq!(run(&arguments, line), expected, "{arguments:?} {line}");
    }
    let counted = run(
        &["encode", &bpe, &vocabulary, "--generate_vocabulary"],
        "the rights",
    );
    assert_eq!(counted, "s\t1\n▁right\t1\n▁the\t1\n");

    std::fs::write(path("scores"), "▁the\t-1.5\n").unwrap();
    std::fs::write(path("empty line"), "▁the\n\n").unwrap();
    std::fs::write(path("others"), "nothing of this\n").unwrap();
    let word = model("run/word.model");
    let cases = [
        (
            &bpe,
            "scores",
            Some(1),
            "line 1: the second column is no count",
        ),
        (&bpe, "empty line", Some(1), "line 2 has no piece"),
        (&bpe, "others", Some(0), "warning: --vocabulary: no line of"),
        (&bpe, "none", Some(1), "cannot read"),
        (&word, "v", Some(2), "BPE and unigram models only"),
    ];
    for (model, name, status, message) in cases {
        let vocabulary = format!("--vocabulary={}", path(name));
        let output = spiece(&["encode", model, &vocabulary], b"the\n");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), status, "{name}: {said}");
        assert!(said.contains(message), "{name}: {said}");
    }
    let output = spiece(&["encode", &bpe, "--vocabulary_threshold=50"], b"the\n");
    assert!(String::from_utf8_lossy(&output.stderr).contains("no effect without --vocabulary"));
    assert_eq!(output.stdout, "▁the\n".as_bytes());
}

/// A `.tiktoken` file with all bytes and two tokens: `lo` (256) and `low` (257).
fn tiktoken_file() -> Vec<u8> {
    use base64::Engine as _;
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let tokens = bytes.chain([b"lo".to_vec(), b"low".to_vec()]);
    let lines = tokens.enumerate().map(|(rank, token)| {
        let token = base64::engine::general_purpose::STANDARD.encode(token);
        format!("{token} {rank}\n")
    });
    lines.collect::<String>().into_bytes()
}

#[test]
fn byte_level_vocabularies_encode_and_decode() {
    let minbpe = b"minbpe v1\n\n1\n<|end|> 258\n108 111\n256 119\n";
    let folder = folder_with(&[("t", &tiktoken_file()), ("m", minbpe)]);
    let path = |name: &str| format!("--model={}", folder.path().join(name).display());
    let (tiktoken, minbpe) = (path("t"), path("m"));
    let id = "--output_format=id";
    let encode = |flags: &[&str], text| run(&[&["encode"], flags].concat(), text);

    // Two ways to cut: with and without a space before the word.
    let text = " low 日\nlow\n";
    let ids = encode(&[&tiktoken, "--pattern=gpt2", id], text);
    assert_eq!(ids, "32 257 32 230 151 165\n257\n");
    let decode = ["decode", &tiktoken, "--pattern=gpt2", "--input_format=id"];
    assert_eq!(run(&decode, &ids), text);
    let ids = encode(&[&tiktoken, "--pattern=(?:o)", id], "low lo\n");
    assert_eq!(ids, "111 111\n", "what a pattern does not match is dropped");

    // Special tokens are ordinary text, unless they are allowed.
    let ordinary = encode(&[&minbpe, id], "<|end|>\n");
    assert_eq!(ordinary.split(' ').count(), 7);
    for allowed in ["all", "<|end|>"] {
        let flag = format!("--allowed_special={allowed}");
        assert_eq!(encode(&[&minbpe, id, &flag], "low<|end|>\n"), "257 258\n");
    }
    let json = encode(&[&minbpe, "--output_format=json"], "é\n");
    let spans = ["\"begin\":0,\"end\":1", "\"begin\":1,\"end\":2"];
    assert!(spans.iter().all(|span| json.contains(span)), "{json}");
    // Control pieces of a model are found in the same way.
    let llama = model("golden/llama2.model");
    let found = encode(&[&llama, id, "--allowed_special=</s>"], "</s>\n");
    assert_eq!(found, "2\n");
}

#[test]
fn what_a_byte_level_vocabulary_lacks_is_named() {
    let files = [
        ("t", &tiktoken_file()[..]),
        ("cut", b"AA== 0\nAQ== 1\nAg== 2\nAw== 3\n!!! 4\n"),
        ("m", b"minbpe v1\n\n0\n"),
    ];
    let folder = folder_with(&files);
    let llama = testdata_argument("golden/llama2.model");
    let cases: [(&str, &[&str], &str); 7] = [
        ("t", &[], "--pattern"),
        ("t", &["--pattern=(?<=a)b"], "byte 0"),
        ("t", &["--pattern=gpt2", "--allowed_special=<x>"], "<x>"),
        ("cut", &["--pattern=gpt2"], "line 5"),
        ("m", &["--pattern=gpt2"], "leave out the pattern"),
        ("none", &[], "cannot read"),
        (&llama, &["--pattern=gpt2"], "leave out the pattern"),
    ];
    for (name, flags, message) in cases {
        let flag = format!("--model={}", folder.path().join(name).display());
        let arguments = [&["encode", &flag], flags].concat();
        let output = spiece(&arguments, b"a\n");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && output.stdout.is_empty(),
            "{arguments:?}"
        );
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
}

#[test]
fn lower_case_is_chosen_for_a_list_of_pieces() {
    let folder = folder_with(&[("vocab.txt", b"[UNK]\na\n##b\n")]);
    let model = format!("--model={}", folder.path().join("vocab.txt").display());
    for (flags, expected) in [
        (&[][..], "1 2\n"),
        (&["--lowercase"], "1 2\n"),
        (&["--lowercase=false"], "0\n"),
        (&["--nolowercase"], "0\n"),
    ] {
        let all = [&["encode", &model, "--output_format=id"], flags].concat();
        assert_eq!(run(&all, "AB\n"), expected, "{flags:?}");
    }
    for verb in ["eval", "decode", "normalize", "export-vocab"] {
        run(&[verb, &model, "--lowercase=false"], "");
    }
    let arguments = ["encode", &model, "--lowercase=maybe"];
    let output = spiece(&arguments, b"a\n");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
}

#[test]
fn ids_far_above_the_number_of_tokens_are_written() {
    let file = r###"{"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 3000000, "<unk>": 1}, "unk_token": "<unk>"},
        "pre_tokenizer": {"type": "Whitespace"}}"###;
    let folder = folder_with(&[("words.json", file.as_bytes())]);
    let flag = format!("--model={}", folder.path().join("words.json").display());
    for (format, expected) in [("id", "0 3000000 1\n"), ("piece", "a b <unk>\n")] {
        let output = spiece(
            &["encode", &flag, &format!("--output_format={format}")],
            b"a b c\n",
        );
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{said}");
    }
}

#[test]
fn a_folder_with_ranks_of_tiktoken_opens() {
    for name in ["tokenizer.model", "tiktoken.model"] {
        let folder = folder_with(&[(name, &tiktoken_file())]);
        let file = folder.path().join(name);
        let encode = |path: &Path| {
            let flag = format!("--model={}", path.display());
            let output = spiece(
                &["encode", &flag, "--pattern=gpt2", "--output_format=id"],
                b"hello low\n",
            );
            assert!(output.status.success(), "{name}");
            output.stdout
        };
        assert_eq!(encode(folder.path()), encode(&file), "{name}");
    }
}
