//! `spiece train` as a user meets it: flags, messages, exit status, and what is left on the disk.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use spiece::Model;

use crate::support::{folder_with, names_in, program, spiece_in, testdata, testdata_argument};

const TEXT: &str = "the quick brown fox\njumps over the lazy dog\nthe dog sleeps\n";

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

const SMALL: &[&str] = &["--vocab_size=40", "--normalization_rule_name=identity"];

fn train(folder: &Path, arguments: &[&str]) -> Output {
    spiece_in(folder, &[&["train"], SMALL, arguments].concat())
}

#[test]
fn spellings_of_a_flag_train_the_same_model() {
    let folder = folder_with(&[("in.txt", TEXT.as_bytes())]);
    let spellings: &[&[&str]] = &[
        &[
            "--input=in.txt",
            "--model_prefix=m",
            "--split_digits",
            "--noadd_dummy_prefix",
            "--unk_id=0",
        ],
        &[
            "--input",
            "in.txt",
            "--model-prefix",
            "m",
            "--split-digits=true",
            "--add_dummy_prefix=false",
        ],
        &[
            "-input=in.txt",
            "-model_prefix",
            "m",
            "--split_digits=1",
            "--add_dummy_prefix",
            "--noadd-dummy-prefix",
        ],
        &[
            "--input=no.txt",
            "--input=in.txt",
            "--model_prefix=m",
            "--split_digits=yes",
            "--add_dummy_prefix=f",
        ],
        &[
            "--input=in.txt",
            "--model_prefix=m",
            "--split_digits",
            "True",
            "--noadd_dummy_prefix",
        ],
    ];
    let mut models = Vec::new();
    for spelling in spellings {
        let output = train(folder.path(), spelling);
        assert!(output.status.success(), "{spelling:?}: {}", stderr(&output));
        assert!(output.stdout.is_empty());
        models.push(std::fs::read(folder.path().join("m.model")).unwrap());
    }
    assert!(models.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(names_in(folder.path()), ["in.txt", "m.model", "m.vocab"]);
}

#[test]
fn the_summary_counts_sentences_pieces_and_characters() {
    let text = format!("{TEXT}\n{}\n\u{2585}\n", "x".repeat(5000));
    let folder = folder_with(&[("in.txt", text.as_bytes())]);
    let output = train(folder.path(), &["--input=in.txt", "--model_prefix=m"]);
    let said = stderr(&output);
    for part in [
        "sentences: 3",
        "1 empty, 1 too long, 1 with U+2585",
        "pieces: 40",
        "alphabet: 27 characters",
        "written: m.model, m.vocab",
        "encode --model=m.model FILE",
    ] {
        assert!(said.contains(part), "{part:?} is missing in:\n{said}");
    }
    let output = train(
        folder.path(),
        &["--input=in.txt", "--model_prefix=m", "--quiet"],
    );
    assert!(output.status.success() && output.stderr.is_empty());
    let output = train(
        folder.path(),
        &["--input=in.txt", "--model_prefix=m", "--quiet=true", "-q"],
    );
    assert!(output.status.success() && output.stderr.is_empty());
    let output = train(
        folder.path(),
        &["--input=in.txt", "--model_prefix=m", "--quiet", "--noquiet"],
    );
    assert!(output.status.success() && !output.stderr.is_empty());
}

#[test]
fn failures_name_the_cause_and_change_no_file() {
    let huge = "word\t4611686018427387904\n".repeat(2);
    let folder = folder_with(&[
        ("in.txt", TEXT.as_bytes()),
        ("rows.tsv", b"word\t3\nbad row\n"),
        ("huge.tsv", huge.as_bytes()),
        ("empty", b""),
    ]);
    std::fs::create_dir(folder.path().join("m3.model")).unwrap();
    let before = names_in(folder.path());
    let cases: &[(&[&str], i32, &[&str])] = &[
        (
            &["--input=none.txt", "--model_prefix=m"],
            1,
            &["none.txt", "check its name"],
        ),
        (&["--input=.", "--model_prefix=m"], 1, &["cannot read ."]),
        (
            &["--input=rows.tsv", "--input_format=tsv", "--model_prefix=m"],
            1,
            &["rows.tsv, line 2", "one tab"],
        ),
        (
            &["--input=huge.tsv", "--input_format=tsv", "--model_prefix=m"],
            1,
            &["too many characters"],
        ),
        (
            &["--input=empty", "--model_prefix=m"],
            1,
            &["no sentence to train on"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--vocab_size=20"],
            1,
            &["20 is too small", "need 30", "character_coverage"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--vocab_size=900"],
            1,
            &["900 is too large", "pieces at most", "hard_vocab_limit"],
        ),
        (
            &["--input=in.txt", "--model_prefix=none/m"],
            1,
            &["none/m.model", "folder"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m3"],
            1,
            &["m3.model", "a folder has that name"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--normalization_rule_tsv=none.tsv",
            ],
            1,
            &["none.tsv"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--normalization_rule_name=nfc",
            ],
            2,
            &["nfc", "nmt_nfkc"],
        ),
        (&["--input=in.txt"], 2, &["--model_prefix is missing"]),
        (&["--model_prefix=m"], 2, &["--input is missing"]),
        (
            &["--input=in.txt", "--model_prefix=m", "--vocab_sise=20"],
            2,
            &["--vocab_sise", "--vocab_size"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--vocab_size=many"],
            2,
            &["--vocab_size", "many"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--model_type=bigram"],
            2,
            &["bigram", "unigram", "word", "char"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--model_type=unigram",
                "--num_sub_iterations=11",
            ],
            2,
            &["num_sub_iterations", "1 to 10"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--model_type=unigram",
                "--use_all_vocab",
            ],
            2,
            &["use_all_vocab", "word and char"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--control_symbols=a,a",
            ],
            2,
            &["control_symbols", "once"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--character_coverage=0.5",
            ],
            2,
            &["0.98 to 1"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--vocab_size=2147483647",
            ],
            1,
            &["too large", "pieces at most"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--vocab_size=2147483648",
            ],
            2,
            &["--vocab_size", "2147483648"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--vocab_size=-5"],
            2,
            &["vocab_size: -5 is out of range"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--num_threads=0"],
            2,
            &["num_threads: 0", "1 to 1024"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--num_threads=-1"],
            2,
            &["num_threads: -1", "1 to 1024"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--num_threads=1000000",
            ],
            2,
            &["1000000", "1 to 1024"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--jobs=0"],
            2,
            &["--jobs", "1 to 1024"],
        ),
        (
            &["--input=in.txt", "--model_prefix=m", "--jobs=1025"],
            2,
            &["--jobs", "1 to 1024"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--max_sentence_length=2147483647",
            ],
            2,
            &["10 to 1073741824"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--max_sentencepiece_length=513",
            ],
            2,
            &["1 to 512"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--input_sentence_size=-1",
            ],
            2,
            &["input_sentence_size", "-1"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--input_sentence_size=18446744073709551616",
            ],
            2,
            &["0 or more"],
        ),
        (
            &[
                "--input=in.txt",
                "--model_prefix=m",
                "--seed_sentencepiece_size=1e99",
            ],
            2,
            &["seed_sentencepiece_size"],
        ),
    ];
    for (arguments, status, parts) in cases {
        let output = train(folder.path(), arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(*status), "{arguments:?}: {said}");
        for part in *parts {
            assert!(
                said.contains(part),
                "{arguments:?}: {part:?} is missing in:\n{said}"
            );
        }
        assert_eq!(names_in(folder.path()), before, "{arguments:?}");
    }
}

#[test]
fn the_largest_values_of_options_train_a_model() {
    let folder = folder_with(&[("in.txt", TEXT.as_bytes())]);
    let cases: &[&[&str]] = &[
        &["--vocab_size=2147483647", "--nohard_vocab_limit"],
        &["--max_sentence_length=1073741824"],
        &["--input_sentence_size=18446744073709551615"],
        &[
            "--input_sentence_size=18446744073709551615",
            "--noshuffle_input_sentence",
        ],
        &[
            "--seed_sentencepiece_size=2147483647",
            "--self_test_sample_size=2147483647",
        ],
        &["--num_threads=1024", "--max_sentencepiece_length=512"],
    ];
    for arguments in cases {
        let output = train(
            folder.path(),
            &[&["--input=in.txt", "--model_prefix=m"], *arguments].concat(),
        );
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
    }
}

#[test]
fn jobs_do_not_change_a_model_of_any_type() {
    let folder = folder_with(&[("in.txt", TEXT.repeat(50).as_bytes())]);
    for model_type in ["bpe", "unigram", "word", "char"] {
        let model = |jobs: &str| {
            let arguments = [
                "--input=in.txt",
                "--model_prefix=m",
                "--hard_vocab_limit=false",
                "--num_threads=3",
                &format!("--model_type={model_type}"),
                &format!("--jobs={jobs}"),
            ];
            let output = train(folder.path(), &arguments);
            assert!(output.status.success(), "{}", stderr(&output));
            std::fs::read(folder.path().join("m.model")).unwrap()
        };
        let expected = model("1");
        for jobs in ["2", "7"] {
            assert!(model(jobs) == expected, "{model_type}, {jobs} jobs");
        }
    }
}

#[test]
fn a_failed_run_keeps_the_earlier_model() {
    let folder = folder_with(&[
        ("in.txt", TEXT.as_bytes()),
        ("m.model", b"old model"),
        ("m.vocab", b"old vocab"),
    ]);
    assert!(
        !train(
            folder.path(),
            &["--input=in.txt", "--model_prefix=m", "--vocab_size=9000"]
        )
        .status
        .success()
    );
    assert_eq!(
        std::fs::read(folder.path().join("m.model")).unwrap(),
        b"old model"
    );
    assert_eq!(
        std::fs::read(folder.path().join("m.vocab")).unwrap(),
        b"old vocab"
    );
}

#[test]
fn retired_flags_are_accepted_with_a_warning() {
    let folder = folder_with(&[("in.txt", TEXT.as_bytes())]);
    let output = train(
        folder.path(),
        &[
            "--input=in.txt",
            "--model_prefix=m",
            "--mining_sentence_size",
            "5",
            "--train_extremely_large_corpus",
        ],
    );
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("--mining_sentence_size is retired")
            && said.contains("--train_extremely_large_corpus is")
    );
}

#[test]
fn symbol_lists_are_read_from_files() {
    let folder = folder_with(&[
        ("in.txt", TEXT.as_bytes()),
        ("controls", b"<a>\n<b>"),
        ("symbols", b"dog\n"),
        ("chars", b"@\n#\n"),
    ]);
    let output = train(
        folder.path(),
        &[
            "--input=in.txt",
            "--model_prefix=m",
            "--control_symbols=<c>",
            "--control_symbols_file=controls",
            "--user_defined_symbols_file=symbols",
            "--required_chars_file=chars",
        ],
    );
    assert!(output.status.success(), "{}", stderr(&output));
    let vocab = std::fs::read_to_string(folder.path().join("m.vocab")).unwrap();
    let pieces: Vec<&str> = vocab
        .lines()
        .map(|line| line.split('\t').next().unwrap())
        .collect();
    assert_eq!(
        pieces[..7],
        ["<unk>", "<s>", "</s>", "<c>", "<a>", "<b>", "dog"]
    );
    assert!(pieces.contains(&"@") && pieces.contains(&"#"));
}

/// The pieces of a model trained on standard input or on `name`.
fn vocab_of(folder: &Path, input: &str, standard_input: &[u8]) -> String {
    let mut child = program()
        .current_dir(folder)
        .args([
            "train",
            "--vocab_size=40",
            &format!("--input={input}"),
            "--model_prefix=m",
            "-q",
        ])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(standard_input)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{input}");
    std::fs::read_to_string(folder.join("m.vocab")).unwrap()
}

#[test]
fn compressed_files_and_standard_input_train_the_same_model() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(TEXT.as_bytes()).unwrap();
    let zstd = ruzstd::encoding::compress_to_vec(
        TEXT.as_bytes(),
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let folder = folder_with(&[
        ("in.txt", TEXT.as_bytes()),
        ("in.txt.gz", &gzip.finish().unwrap()),
        ("in.txt.zst", &zstd),
    ]);
    let expected = vocab_of(folder.path(), "in.txt", b"");
    assert_eq!(vocab_of(folder.path(), "in.txt.gz", b""), expected);
    assert_eq!(vocab_of(folder.path(), "in.txt.zst", b""), expected);
    assert_eq!(vocab_of(folder.path(), "-", TEXT.as_bytes()), expected);
}

#[test]
fn a_sample_depends_on_the_seed_and_not_on_files_or_pipes() {
    let lines: String = (0..2000)
        .map(|i| format!("word{i} text {}\n", i * i))
        .collect();
    let folder = folder_with(&[("in.txt", lines.as_bytes())]);
    let sample = |input: &str, seed: &str| {
        let output = program()
            .current_dir(folder.path())
            .args([
                "train",
                "--vocab_size=80",
                "--model_prefix=m",
                "--input_sentence_size=200",
                "--noadd_dummy_prefix",
            ])
            .args([
                &format!("--input={input}"),
                &format!("--random_seed={seed}"),
            ])
            .stdin(std::fs::File::open(folder.path().join("in.txt")).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("sentences: 200 "),
            "{}",
            stderr(&output)
        );
        std::fs::read_to_string(folder.path().join("m.vocab")).unwrap()
    };
    let first = sample("in.txt", "1");
    assert_eq!(sample("in.txt", "1"), first);
    assert_eq!(sample("-", "1"), first);
    assert_ne!(sample("in.txt", "2"), first);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_leaves_no_file() {
    let folder = folder_with(&[]);
    let mut child = program()
        .current_dir(folder.path())
        .args(["train", "--input=-", "--model_prefix=m", "--vocab_size=40"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&TEXT.as_bytes().repeat(40_000)).unwrap();
    let interrupted = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(interrupted.success());
    // The program notices when more comes; it may be gone before all of it is written.
    let _ = input.write_all(&TEXT.as_bytes().repeat(400_000));
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("stopped"), "{}", stderr(&output));
    assert!(names_in(folder.path()).is_empty());
}

/// A BPE model of `size` pieces from the small corpus of laws; more flags may follow.
fn train_laws(folder: &Path, prefix: &str, size: &str, more: &[&str]) -> Output {
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let prefix = format!("--model_prefix={prefix}");
    let size = format!("--vocab_size={size}");
    let flags = [
        "train",
        "--quiet",
        "--model_type=bpe",
        &input,
        &prefix,
        &size,
    ];
    spiece_in(folder, &[&flags[..], more].concat())
}

#[test]
fn superwords_follow_the_pieces_of_the_first_stage() {
    let folder = folder_with(&[]);
    let folder = folder.path();
    let output = train_laws(folder, "words", "1500", &[]);
    assert!(output.status.success(), "{}", stderr(&output));
    let flags = ["--superword_from=1500", "--max_words=2"];
    let output = train_laws(folder, "both", "1600", &flags);
    assert!(output.status.success(), "{}", stderr(&output));
    let words = Model::open(folder.join("words.model")).unwrap();
    let both = Model::open(folder.join("both.model")).unwrap();
    assert_eq!((words.len(), both.len()), (1500, 1600));
    assert!(words.pieces().eq(both.pieces().take(1500)));
    let texts: Vec<String> = both
        .pieces()
        .skip(1500)
        .map(|piece| String::from_utf8(piece.text.to_vec()).unwrap())
        .collect();
    let words_of = |text: &String| {
        text.split('\u{2581}')
            .filter(|word| !word.is_empty())
            .count()
    };
    assert!(texts.iter().any(|text| words_of(text) == 2), "{texts:?}");
    assert!(texts.iter().all(|text| words_of(text) <= 2), "{texts:?}");
}

#[test]
fn flags_that_do_not_fit_are_refused() {
    let folder = folder_with(&[]);
    let cases: [(&[&str], &str); 5] = [
        (
            &["--model_type=wordpiece"],
            "\"wordpiece\" is not bpe, unigram, word or char, nor byte_bpe",
        ),
        (&["--max_words=2"], "--max_words goes with --superword_from"),
        (&["--superword_from=1600"], "below --vocab_size"),
        (&["--superword_from=many"], "superword_from"),
        (
            &["--superword_from=100", "--model_type=unigram"],
            "is for BPE models",
        ),
    ];
    for (flags, message) in cases {
        let output = train_laws(folder.path(), "m", "1600", flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
    assert!(names_in(folder.path()).is_empty());
}

/// The library's tests train the same cases with more numbers of threads.
#[test]
#[cfg(unix)]
fn the_program_writes_the_golden_files() {
    let folder = tempfile::tempdir().unwrap();
    // The flags name their inputs in this folder, and the model records the names.
    std::os::unix::fs::symlink(testdata(""), folder.path().join("testdata")).unwrap();
    let mut cases = 0;
    for file in std::fs::read_dir(testdata("golden")).unwrap() {
        let flags = file.unwrap().path();
        if flags
            .extension()
            .is_none_or(|extension| extension != "flags")
        {
            continue;
        }
        let text = std::fs::read_to_string(&flags).unwrap();
        let arguments: Vec<String> = text.lines().map(|flag| format!("--{flag}")).collect();
        let mut command = program();
        command.current_dir(folder.path()).arg("train");
        let output = command.args(arguments).output().unwrap();
        let case = flags.file_stem().unwrap().to_str().unwrap();
        assert!(output.status.success(), "{case}: {}", stderr(&output));
        for ending in ["model", "vocab"] {
            let written = std::fs::read(folder.path().join(case).with_extension(ending)).unwrap();
            let golden = std::fs::read(flags.with_extension(ending)).unwrap();
            assert!(written == golden, "{case}.{ending} differs");
        }
        cases += 1;
    }
    assert!(cases > 60, "{cases} cases");
}

#[test]
fn a_model_is_trained_like_another_one_but_for_the_flags_that_are_given() {
    let folder = folder_with(&[("in.txt", TEXT.as_bytes()), ("new.txt", TEXT.as_bytes())]);
    let options = [
        "--input=in.txt",
        "--model_prefix=old",
        "--model_type=unigram",
        "--normalization_rule_name=nfkc_cf",
        "--pad_id=3",
        "--user_defined_symbols=dog",
        "--hard_vocab_limit=false",
    ];
    let output = train(folder.path(), &options);
    assert!(output.status.success(), "{}", stderr(&output));
    let like = |arguments: &[&str]| {
        let output = spiece_in(
            folder.path(),
            &[&["train", "--like=old.model"], arguments].concat(),
        );
        assert!(output.status.success(), "{}", stderr(&output));
        stderr(&output)
    };
    let messages = like(&["--input=in.txt", "--model_prefix=new"]);
    assert!(
        !messages.contains("warning") && !messages.contains("note: training a BPE model"),
        "{messages}"
    );
    let open = |name: &str| Model::open(folder.path().join(name)).unwrap();
    let (old, new) = (open("old.model"), open("new.model"));
    assert!(old.pieces().eq(new.pieces()));
    assert_eq!(new.trainer_spec().model_prefix(), b"new");
    like(&[
        "--input=new.txt",
        "--model_prefix=more",
        "--vocab_size=40",
        "--model_type=bpe",
        "--bos_id=-1",
        "--normalization_rule_name=nfkc",
    ]);
    let more = open("more.model");
    assert_eq!(
        (more.len(), more.normalizer_spec().name()),
        (40, &b"nfkc"[..])
    );
    assert_eq!(more.trainer_spec().bos_id(), -1);
    assert!(
        more.trainer_spec()
            .user_defined_symbols
            .iter()
            .eq([&b"dog"[..]])
    );
}

#[test]
fn a_file_that_is_no_tokenizer_is_refused_as_one_to_train_like() {
    let folder = folder_with(&[
        ("in.txt", TEXT.as_bytes()),
        ("a.json", b"{\"version\": \"1.0\"}"),
    ]);
    for (file, message) in [
        ("a.json", "a.json: not a tokenizer"),
        (".", "a folder without a tokenizer"),
        ("in.txt", "this is a text file"),
        ("no.model", "no.model"),
    ] {
        let like = format!("--like={file}");
        let output = spiece_in(
            folder.path(),
            &["train", &like, "--input=in.txt", "--model_prefix=m"],
        );
        assert_eq!(output.status.code(), Some(1), "{file}");
        assert!(stderr(&output).contains(message), "{}", stderr(&output));
    }
}
