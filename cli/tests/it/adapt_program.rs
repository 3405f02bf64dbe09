//! `spiece edit`, `merge` and `prune`, run as programs: flags, reports, files, exit status.

use std::path::Path;

use spiece::{Model, PieceId, Tokenizer};

use crate::support::{assert_refused, names_in, report_of, spiece_in, testdata, testdata_argument};

/// What the program writes to standard error; it must succeed.
fn report(folder: &Path, arguments: &[&str]) -> String {
    report_of(arguments, &spiece_in(folder, arguments))
}

fn llama2() -> String {
    testdata_argument("golden/llama2.model")
}

#[test]
fn edits_and_their_inverses_give_the_original_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let pairs: &[(&[&str], &[&str])] = &[
        (&["--add_control=<sep>"], &["--remove=<sep>"]),
        (&["--insert=3:user_defined:a=b"], &["--remove=a=b"]),
        (&["--rename=<s>=<bos>"], &["--rename=<bos>=<s>"]),
        (&["--set_kind=▁the=unused"], &["--set_kind=▁the=normal"]),
        (
            &["--add_dummy_prefix=false", "--remove_extra_whitespaces"],
            &["--add_dummy_prefix", "--noremove_extra_whitespaces"],
        ),
    ];
    let original = std::fs::read(testdata("golden/llama2.model")).unwrap();
    for (edit, inverse) in pairs {
        report(
            folder,
            &[&["edit", &llama2(), "--model_prefix=a"], *edit].concat(),
        );
        assert!(
            std::fs::read(folder.join("a.model")).unwrap() != original,
            "{edit:?}"
        );
        report(
            folder,
            &[&["edit", "a.model", "--model_prefix=b"], *inverse].concat(),
        );
        assert!(
            std::fs::read(folder.join("b.model")).unwrap() == original,
            "{edit:?}"
        );
    }
    assert_eq!(
        names_in(folder),
        ["a.model", "a.vocab", "b.model", "b.vocab"]
    );
}

#[test]
fn the_report_of_an_edit_says_what_changes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = llama2();
    let added = report(
        folder,
        &[
            "edit",
            &model,
            "--model_prefix=a",
            "--add_control=<sep>",
            "--pad_piece=<sep>",
        ],
    );
    for line in [
        "pieces: 4,000 before, 4,001 after",
        "old ids: 4,000 unchanged, 0 moved, 0 removed",
        "added: 4000 \"<sep>\" (control)",
        "texts: every text has the same ids as before",
        "written: a.model, a.vocab",
    ] {
        assert!(added.contains(line), "{line}: {added}");
    }
    let pad = Model::open(folder.join("a.model")).unwrap();
    assert_eq!(pad.trainer_spec().pad_id(), 4000);
    let symbol = report(
        folder,
        &[
            "edit",
            &model,
            "--model_prefix=a",
            "--insert=3:user_defined:the",
        ],
    );
    assert!(symbol.contains("3 unchanged, 3,997 moved"), "{symbol}");
    assert!(
        symbol.contains("no longer found in text: 411 \"▁the\" (normal)"),
        "{symbol}"
    );
    assert!(
        symbol.contains("contain one of these can have other pieces: \"the\""),
        "{symbol}"
    );
    let quiet = report(
        folder,
        &[
            "edit",
            &model,
            "--model_prefix=a",
            "--noadd_dummy_prefix",
            "--quiet",
        ],
    );
    assert!(quiet.is_empty());
}

#[test]
fn merging_keeps_the_first_model() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let train = |prefix: &str, seed: &str| {
        report(
            folder,
            &[
                "train",
                "--quiet",
                &format!("--input={}", testdata_argument(seed)),
                &format!("--model_prefix={prefix}"),
                "--vocab_size=700",
                "--hard_vocab_limit=false",
                "--character_coverage=0.98",
            ],
        );
    };
    train("a", "udhr_small.txt");
    train("b", "mixed.txt");
    let text = format!("--text={}", testdata_argument("udhr.txt"));
    let merged = report(
        folder,
        &[
            "merge",
            "a.model",
            "b.model",
            "--model_prefix=c",
            "--drop_unreachable",
            &text,
        ],
    );
    assert!(merged.contains("unreachable pieces of B: 0"), "{merged}");
    assert!(merged.contains(" lines have the same pieces; "), "{merged}");
    assert!(
        merged.contains("pieces of A that became unreachable: 0"),
        "{merged}"
    );
    let first = Model::open(folder.join("a.model")).unwrap();
    let both = Model::open(folder.join("c.model")).unwrap();
    assert!(both.len() > first.len());
    assert!(first.pieces().eq(both.pieces().take(first.len())));
    report(
        folder,
        &["merge", "a.model", "a.model", "--model_prefix=d", "--quiet"],
    );
    assert!(
        std::fs::read(folder.join("d.model")).unwrap()
            == std::fs::read(folder.join("a.model")).unwrap()
    );
}

#[test]
fn pruning_keeps_the_pieces_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let model = llama2();
    let text = testdata("udhr_small.txt");
    let keep = format!("--keep_text={}", text.display());
    let used = report(
        folder,
        &[
            "prune",
            &model,
            &keep,
            "--model_prefix=u",
            "--num_threads=3",
        ],
    );
    let lines = std::fs::read(&text)
        .unwrap()
        .split(|byte| *byte == b'\n')
        .count()
        - 1;
    assert!(
        used.contains(&format!("{lines} of {lines} lines have the same pieces")),
        "{used}"
    );
    assert_eq!(names_in(folder), ["u.ids.tsv", "u.model", "u.vocab"]);
    let old = Tokenizer::open(testdata("golden/llama2.model")).unwrap();
    let new = Tokenizer::open(folder.join("u.model")).unwrap();
    let rows = std::fs::read_to_string(folder.join("u.ids.tsv")).unwrap();
    let old_ids: Vec<u32> = rows
        .lines()
        .map(|row| row.split_once('\t').unwrap().1.parse().unwrap())
        .collect();
    assert_eq!(old_ids.len(), new.vocab_size());
    for line in std::fs::read_to_string(&text).unwrap().lines() {
        let mapped: Vec<PieceId> = new
            .encode(line)
            .iter()
            .map(|id| PieceId::new(old_ids[id.get() as usize]))
            .collect();
        assert_eq!(mapped, old.encode(line), "{line}");
    }
    let tail = report(
        folder,
        &[
            "prune",
            &model,
            &keep,
            "--model_prefix=t",
            "--keep_unused_tail",
            "--keep_chars=false",
        ],
    );
    assert!(tail.contains("unused tail: "), "{tail}");
    let sized = report(
        folder,
        &[
            "prune",
            &model,
            "--size=2500",
            &format!("--text={}", text.display()),
            "--model_prefix=s",
        ],
    );
    assert!(
        sized.contains("pieces: 4,000 before, 2,500 after"),
        "{sized}"
    );
}

#[test]
fn mistakes_of_changes_give_their_message_and_exit_status() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (model, unigram, word) = (
        llama2(),
        testdata_argument("run/unigram.model"),
        testdata_argument("run/word.model"),
    );
    let text = testdata_argument("udhr_small.txt");
    let keep = format!("--keep_text={text}");
    let prefix = "--model_prefix=x";
    let bad_rules = testdata_argument("bad_rules.tsv");
    let bad_rules = format!("--denormalization_rule_tsv={bad_rules}");
    let cases: &[(&[&str], i32, &str)] = &[
        (&["edit", prefix], 2, "MODEL"),
        (&["edit", &model], 2, "--model_prefix is missing"),
        (&["edit", "no/such", prefix], 1, "cannot read no/such"),
        (
            &["edit", &model, prefix, "--remove=no such"],
            2,
            "there is no piece \"no such\"",
        ),
        (
            &["edit", &model, prefix, "--add_control=<s>"],
            2,
            "piece 1 has the text \"<s>\" already",
        ),
        (
            &["edit", &model, prefix, "--add_user_defined=▁the"],
            2,
            "already and is of the kind normal; change its kind, or rename or remove it first (--set_kind, --rename, --remove)",
        ),
        (
            &["edit", &model, prefix, "--normalization_rule_name=none"],
            2,
            "--normalization_rule_name: there are no rules \"none\"; use ",
        ),
        (
            &["edit", &model, prefix, &bad_rules],
            1,
            "bad_rules.tsv: line ",
        ),
        (
            &[
                "edit",
                &model,
                prefix,
                &bad_rules,
                "--denormalization_rule_name=nfkc",
            ],
            2,
            "--denormalization_rule_name, --denormalization_rule_tsv and --denormalization_rules_of exclude each other",
        ),
        (
            &["edit", &model, prefix, "--remove=<0x41>"],
            2,
            "the byte piece <0x41> is missing",
        ),
        (
            &["edit", &model, prefix, "--insert=9999:control:x"],
            2,
            "id 9999 is above the number of pieces, 4000",
        ),
        (&["edit", &model, prefix, "--insert=x"], 2, "ID:KIND:TEXT"),
        (&["edit", &model, prefix, "--rename=x"], 2, "OLD=NEW"),
        (
            &["edit", &model, prefix, "--set_kind=<s>=none"],
            2,
            "PIECE=KIND",
        ),
        (
            &["merge", &model, &unigram, prefix],
            1,
            "merge models of one type",
        ),
        (&["merge", &model, prefix], 2, "B"),
        (
            &[
                "edit",
                &model,
                prefix,
                "--add_control=<c>",
                "--text=no/such",
            ],
            1,
            "cannot read no/such",
        ),
        (
            &["merge", &model, &model, prefix, "--text=-"],
            2,
            "--text: cannot be standard input",
        ),
        (
            &["prune", &model, prefix],
            2,
            "--keep_text or --size is missing",
        ),
        (
            &["prune", &model, prefix, &keep, "--size=3"],
            2,
            "exclude each other",
        ),
        (
            &["prune", &model, prefix, "--keep_text=-"],
            2,
            "cannot be standard input",
        ),
        (
            &["prune", &model, prefix, "--keep_text=no/such"],
            1,
            "cannot read no/such",
        ),
        (
            &["prune", &model, prefix, "--size=100"],
            2,
            "Raise the size, or allow pieces of one character to be removed (--keep_chars=false)",
        ),
        (
            &["prune", &model, prefix, "--size=100", "--keep_chars=false"],
            2,
            "cannot be removed. Raise the size\n",
        ),
        (
            &["prune", &unigram, prefix, &keep, "--keep_unused_tail"],
            2,
            "an unused tail is for BPE models",
        ),
        (
            &["prune", &word, prefix, &keep],
            2,
            "a word model cannot be pruned",
        ),
    ];
    for (arguments, status, message) in cases {
        let output = spiece_in(folder, arguments);
        assert_refused(arguments, &output, *status, message);
    }
    assert!(names_in(folder).is_empty(), "{:?}", names_in(folder));
}

/// The wheels of 0.1.99, 0.2.0, 0.2.1 and 0.2.2 refuse these models, and load the others.
#[test]
fn what_older_releases_cannot_load_is_said_in_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let no_unknown = testdata_argument("golden/no_unk.model");
    let small = testdata_argument("udhr_small.txt");
    let text = format!("--text={small}");
    let input = format!("--input={small}");
    let with_nul = Model::open(testdata("golden/no_unk.model")).unwrap();
    let mut with_nul = with_nul.edit();
    with_nul.insert_piece(
        PieceId::new(0),
        spiece::model::PieceEntry::new("<unk>", 0.0, spiece::PieceKind::Unknown),
    );
    with_nul.add_piece("\0", 0.0, spiece::PieceKind::Unused);
    let with_nul = with_nul.finish().unwrap();
    std::fs::write(folder.join("nul.model"), with_nul.to_bytes()).unwrap();
    let mut with_test = std::fs::read(testdata("golden/llama2.model")).unwrap();
    // Field 4, self_test_data: the text "the" has the pieces "▁the".
    with_test.extend(b"\x22\x0f\x0a\x0d\x0a\x03the\x12\x06\xe2\x96\x81the");
    std::fs::write(folder.join("test.model"), with_test).unwrap();

    let unknown = "it has no unknown piece";
    let nul = "is a NUL";
    let test = "1 of its self-tests give other pieces than they should, first \"the\"";
    let cases: &[(&[&str], &str)] = &[
        (&["edit", &no_unknown, "--add_control=<c>"], unknown),
        (&["merge", &no_unknown, &no_unknown], unknown),
        (&["prune", &no_unknown, "--size=320", &text], unknown),
        (&["extend", &no_unknown, "--pieces=1", &input], unknown),
        (
            &[
                "train",
                &input,
                "--unk_id=-1",
                "--byte_fallback",
                "--vocab_size=500",
            ],
            unknown,
        ),
        (&["edit", "nul.model", "--add_control=<c>"], nul),
        (&["edit", "test.model", "--set_kind=▁the=unused"], test),
        (&["edit", "test.model", "--add_control=<c>"], ""),
        (&["edit", &llama2(), "--add_control=<c>"], ""),
        (&["train", &input, "--vocab_size=500"], ""),
    ];
    for (arguments, problem) in cases {
        let report = report(folder, &[*arguments, &["--model_prefix=x"]].concat());
        let start = "warning: SentencePiece 0.2.2 and older cannot load the model: ";
        let warnings: Vec<&str> = report
            .lines()
            .filter_map(|line| line.strip_prefix(start))
            .collect();
        assert_eq!(
            warnings.len(),
            usize::from(!problem.is_empty()),
            "{arguments:?}"
        );
        assert!(report.contains(problem), "{arguments:?}: {report}");
    }
    let converted = report(folder, &["convert", &no_unknown, "y.model"]);
    assert!(converted.contains(unknown), "{converted}");
}

#[test]
fn edited_rules_are_those_of_training() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let train = |prefix: &str, flags: &[&str]| {
        let prefix = format!("--model_prefix={prefix}");
        let common = ["train", "--quiet", &input, &prefix, "--vocab_size=500"];
        report(folder, &[&common, flags].concat());
    };
    let tsv = format!("={}", testdata_argument("normalize.tsv"));
    let normalize = format!("--normalization_rule_tsv{tsv}");
    let denormalize = format!("--denormalization_rule_tsv{tsv}");
    train("identity", &["--normalization_rule_name=identity"]);
    train("nfkc", &["--normalization_rule_name=nfkc"]);
    train("tsv", &[&normalize, &denormalize]);
    let specs = |name: &str| {
        let model = Model::open(folder.join(name)).unwrap();
        let denormalizer = model.denormalizer_spec().map(|spec| spec.to_bytes());
        (model.normalizer_spec().to_bytes(), denormalizer)
    };
    let cases: &[(&str, &[&str], &str)] = &[
        ("identity", &["--normalization_rule_name=nfkc"], "nfkc"),
        ("identity", &["--normalization_rules_of=nfkc.model"], "nfkc"),
        ("nfkc", &["--normalization_rule_name=identity"], "identity"),
        ("identity", &[&normalize, &denormalize], "tsv"),
        (
            "nfkc",
            &[
                "--normalization_rules_of=tsv.model",
                "--denormalization_rules_of=tsv.model",
            ],
            "tsv",
        ),
        ("tsv", &["--normalization_rules_of=tsv.model"], "tsv"),
    ];
    for (from, flags, like) in cases {
        let model = format!("{from}.model");
        let edited = report(
            folder,
            &[&["edit", &model, "--model_prefix=x"], *flags].concat(),
        );
        assert!(
            specs("x.model") == specs(&format!("{like}.model")),
            "{from} {flags:?}"
        );
        let says = |start: &str| edited.lines().any(|line| line.starts_with(start));
        assert_eq!(
            says("texts: the normalization differs"),
            from != like,
            "{edited}"
        );
        let is_decoded_differently = flags.iter().any(|flag| flag.contains("denormal"));
        assert_eq!(says("decoding: "), is_decoded_differently, "{edited}");
    }
    report(
        folder,
        &[
            "edit",
            "tsv.model",
            "--model_prefix=x",
            "--denormalization_rule_name=identity",
        ],
    );
    let without = Model::open(folder.join("x.model")).unwrap();
    let rules = without.denormalizer_spec().unwrap().rules().unwrap();
    assert!(rules.is_empty(), "{rules:?}");
}

#[test]
fn pieces_are_added_from_files_in_the_order_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sentinels: Vec<String> = (0..100).map(|i| format!("<extra_id_{i}>")).collect();
    std::fs::write(folder.join("extra.txt"), sentinels.join("\n")).unwrap();
    std::fs::write(folder.join("control.txt"), "# no comment\n a \n").unwrap();
    let edit = [
        "edit",
        &llama2(),
        "--model_prefix=x",
        "--add_control=<first>",
        "--add_user_defined_file=extra.txt",
        "--add_control_file=control.txt",
        "--add_control=<last>",
    ];
    report(folder, &edit);
    let model = Model::open(folder.join("x.model")).unwrap();
    let added: Vec<(String, String)> = model
        .pieces()
        .skip(4000)
        .map(|piece| {
            (
                String::from_utf8_lossy(piece.text).into(),
                piece.kind.to_string(),
            )
        })
        .collect();
    let mut expected = vec![("<first>".to_owned(), "control".to_owned())];
    expected.extend(
        sentinels
            .into_iter()
            .map(|text| (text, "user_defined".to_owned())),
    );
    expected.extend(
        ["# no comment", " a ", "<last>"].map(|text| (text.to_owned(), "control".to_owned())),
    );
    assert_eq!(added, expected);
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let extend = [
        "extend",
        &llama2(),
        &input,
        "--pieces=1",
        "--model_prefix=y",
        "--control_symbols=<c>",
        "--control_symbols_file=control.txt",
        "--user_defined_symbols_file=extra.txt",
    ];
    report(folder, &extend);
    let extended = Model::open(folder.join("y.model")).unwrap();
    assert_eq!(extended.piece_to_id(" a "), Some(PieceId::new(4002)));
    assert_eq!(
        extended.piece_to_id("<extra_id_99>"),
        Some(PieceId::new(4102))
    );
}

#[test]
fn files_of_pieces_are_refused_with_the_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let cases: &[(&[u8], &str)] = &[
        (b"<a>\n\n<b>\n", "l.txt: line 2 is empty"),
        (b"\n", "l.txt: line 1 is empty"),
        (
            b"<a>\r\n<b>\r\n",
            "l.txt: line 1 ends with a carriage return",
        ),
        (
            b"\xef\xbb\xbf<a>\n",
            "l.txt: line 1 begins with a byte order mark",
        ),
        (b"<a>\n<b>\n<a>\n", "l.txt: line 3 is \"<a>\", as line 1 is"),
        (b"<a>\n<b\xff>\n", "l.txt: line 2 is not UTF-8"),
    ];
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let model = llama2();
    for (content, message) in cases {
        std::fs::write(folder.join("l.txt"), content).unwrap();
        let edit = ["edit", &model, "--model_prefix=x"];
        let extend = ["extend", &model, &input, "--pieces=1", "--model_prefix=x"];
        for (command, flag) in [
            (&edit[..], "--add_control_file=l.txt"),
            (&edit, "--add_user_defined_file=l.txt"),
            (&extend, "--control_symbols_file=l.txt"),
            (&extend, "--user_defined_symbols_file=l.txt"),
        ] {
            let arguments = [command, &[flag]].concat();
            assert_refused(&arguments, &spiece_in(folder, &arguments), 1, message);
        }
        // `spm_train` accepts invisible characters, so they are a warning there.
        let train = ["train", &input, "--model_prefix=t", "--vocab_size=500"];
        let train = [&train[..], &["--control_symbols_file=l.txt"]].concat();
        let output = spiece_in(folder, &train);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(stderr.contains(message), "{stderr}");
        let is_warning = stderr.contains(&format!("warning: {message}"));
        assert_eq!(output.status.success(), is_warning, "{stderr}");
    }
    std::fs::write(folder.join("l.txt"), "<a>\nthe\n<s>\n").unwrap();
    let edit = ["edit", &model, "--model_prefix=x", "--rename=<s>=<bos>"];
    let output = spiece_in(
        folder,
        &[
            &edit[..],
            &["--add_user_defined_file=l.txt", "--add_user_defined=the"],
        ]
        .concat(),
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        stderr.contains("piece 4001 has the text \"the\" already"),
        "{stderr}"
    );
    std::fs::write(folder.join("l.txt"), "<a>\n▁the\n").unwrap();
    let output = spiece_in(
        folder,
        &[&edit[..], &["--add_user_defined_file=l.txt"]].concat(),
    );
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr.contains("l.txt: line 2: piece 411 has the text \"▁the\" already"),
        "{stderr}"
    );
}

#[test]
fn byte_level_vocabularies_are_pruned_to_a_text_and_to_a_size() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let vocabulary = testdata_argument("bytes/llama3.json");
    let text = testdata("udhr_small.txt");
    let old = Tokenizer::open(testdata("bytes/llama3.json")).unwrap();
    let keep_text = format!("--keep_text={}", text.display());
    let arguments = ["prune", &vocabulary, &keep_text, "--model_prefix=used"];
    let report = report_of(&arguments, &spiece_in(folder, &arguments));
    assert!(
        report.contains("274 of 274 lines have the same pieces"),
        "{report}"
    );
    assert!(
        report.ends_with("written: used.json, used.ids.tsv\n"),
        "{report}"
    );
    let new = Tokenizer::open(folder.join("used.json")).unwrap();
    assert!(new.vocab_size() < old.vocab_size());
    let tsv = std::fs::read_to_string(folder.join("used.ids.tsv")).unwrap();
    let rows = tsv.lines().map(|line| line.split_once('\t').unwrap());
    let ids: Vec<u32> = rows.map(|(_, old)| old.parse().unwrap()).collect();
    assert_eq!(ids.len(), new.vocab_size());
    for line in std::fs::read_to_string(text).unwrap().lines() {
        let mapped = new
            .encode(line)
            .into_iter()
            .map(|id| ids[id.get() as usize]);
        assert!(
            mapped.eq(old.encode(line).into_iter().map(u32::from)),
            "{line}"
        );
    }

    let size = new.vocab_size() - 20;
    let flag = format!("--size={size}");
    let arguments = [
        "prune",
        &vocabulary,
        &flag,
        "--model_prefix=sized",
        "--format=vocab-merges",
    ];
    let report = report_of(&arguments, &spiece_in(folder, &arguments));
    let written = "written: sized-vocab.json, sized-merges.txt, sized.ids.tsv\n";
    assert!(report.ends_with(written), "{report}");
    for (flags, status, message) in [
        (["--size=10", "--quiet"], 2, "cannot be removed"),
        (
            ["--size=300", "--keep_chars=false"],
            2,
            "--keep_chars is for models",
        ),
        (
            ["--keep_text=x", "--keep_unused_tail"],
            2,
            "--keep_unused_tail is for models",
        ),
    ] {
        let arguments = [&["prune", &vocabulary, "--model_prefix=x"], &flags[..]].concat();
        assert_refused(&arguments, &spiece_in(folder, &arguments), status, message);
    }
    let model = testdata_argument("golden/llama2.model");
    let arguments = [
        "prune",
        &model,
        "--size=3000",
        "--model_prefix=x",
        "--format=tiktoken",
    ];
    let message = "--format is for byte-level vocabularies";
    assert_refused(&arguments, &spiece_in(folder, &arguments), 2, message);
}

#[test]
fn byte_level_vocabularies_are_merged() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let first = testdata_argument("bytes/gpt2.json");
    let text = format!("--input={}", testdata_argument("udhr.txt"));
    let train = [
        "train",
        "--model_type=byte_bpe",
        &text,
        "--vocab_size=600",
        "--model_prefix=b",
    ];
    report_of(&train, &spiece_in(folder, &train));
    let arguments = [
        "merge",
        &first,
        "b.json",
        "--model_prefix=both",
        "--drop_unreachable",
    ];
    let report = report_of(&arguments, &spiece_in(folder, &arguments));
    let old = Tokenizer::open(testdata("bytes/gpt2.json")).unwrap();
    assert!(
        report.contains(&format!("old ids: {} unchanged", old.vocab_size())),
        "{report}"
    );
    assert!(report.contains("unreachable pieces of B: 0"), "{report}");
    assert!(report.ends_with("written: both.json\n"), "{report}");
    let new = Tokenizer::open(folder.join("both.json")).unwrap();
    for id in 0..256 {
        assert_eq!(new.id_to_piece(id.into()), old.id_to_piece(id.into()));
    }
    let line = "Alle Menschen sind frei und gleich an Würde und Rechten geboren.";
    assert!(new.encode(line).len() < old.encode(line).len());

    let other = testdata_argument("bytes/llama3.json");
    let arguments = ["merge", &first, &other, "--model_prefix=x"];
    assert_refused(
        &arguments,
        &spiece_in(folder, &arguments),
        1,
        "cut text differently",
    );
    let forced = ["merge", &first, &other, "--model_prefix=forced", "--force"];
    report_of(&forced, &spiece_in(folder, &forced));
    let without_pattern = testdata_argument("bytes/llama3.tiktoken");
    let arguments = [
        "merge",
        &without_pattern,
        &other,
        "--model_prefix=same",
        "--pattern=llama3",
        "--force",
    ];
    report_of(&arguments, &spiece_in(folder, &arguments));
    let model = testdata_argument("golden/llama2.model");
    for pair in [[&first, &model], [&model, &first]] {
        let arguments = ["merge", pair[0], pair[1], "--model_prefix=x"];
        assert_refused(&arguments, &spiece_in(folder, &arguments), 1, "byte-level");
    }
}

#[test]
fn post_processors_are_copied_with_the_new_ids() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let text = format!("--input={}", testdata_argument("udhr_small.txt"));
    let gpt2 = testdata_argument("bytes/gpt2.json");
    let arguments = ["--pieces=1", "--special_tokens=<end>", "--model_prefix=e"];
    report(
        folder,
        &[&["extend", &gpt2, &text], &arguments[..]].concat(),
    );
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let file = read("e.json");
    // That of the file that was read.
    let of_gpt2 = "\"post_processor\": {\n    \"type\": \"ByteLevel\",\n    \"add_prefix_space\": true,\n    \
                   \"trim_offsets\": false,\n    \"use_regex\": true\n  }";
    assert!(file.contains(of_gpt2), "{file}");
    let end = |id: u32| {
        format!(
            "\"post_processor\": {{\n    \"type\": \"TemplateProcessing\",\n    \"single\": [\n      {{\n        \
             \"Sequence\": {{\n          \"id\": \"A\",\n          \"type_id\": 0\n        }}\n      }},\n      {{\n        \
             \"SpecialToken\": {{\n          \"id\": \"<end>\",\n          \"type_id\": 0\n        }}\n      }}\n    ],\n    \
             \"pair\": [],\n    \"special_tokens\": {{\n      \"<end>\": {{\n        \"id\": \"<end>\",\n        \
             \"ids\": [\n          {id}\n        ],\n        \"tokens\": [\n          \"<end>\"\n        ]\n      }}\n    }}\n  }}"
        )
    };
    assert!(file.contains("\"id\": 400,\n      \"content\": \"<end>\""));
    std::fs::write(folder.join("t.json"), file.replace(of_gpt2, &end(400))).unwrap();
    report(folder, &["merge", "t.json", &gpt2, "--model_prefix=m"]);
    assert!(read("m.json").contains(&end(400)));
    report(
        folder,
        &["prune", "t.json", "--size=352", "--model_prefix=p"],
    );
    assert!(read("p.json").contains(&end(351)), "{}", read("p.json"));
    let reuse = ["--reuse=<end>", "--pieces=1", "--model_prefix=r"];
    let output = spiece_in(folder, &[&["extend", "t.json", &text], &reuse[..]].concat());
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(
        messages.contains("the post-processor is not copied"),
        "{messages}"
    );
    assert!(messages.contains("\"<end>\", whose id 400"), "{messages}");
    assert!(read("r.json").contains("\"post_processor\": null"));
}
