//! `spiece train --model_type=byte_bpe`: files, flags and refusals.

use std::path::Path;
use std::process::Output;

use spiece::formats::{ByteFormatOptions, ByteVocabulary};
use spiece::{Pattern, Pretokenizer, Tokenizer};

use crate::support::{
    assert_equal_on_any_number_of_threads, assert_refused, folder_with, names_in, output_for,
    program, spiece_in, testdata, testdata_argument,
};

fn train(folder: &Path, arguments: &[&str]) -> Output {
    let common = ["train", "--model_type=byte_bpe", "--model_prefix=m"];
    spiece_in(folder, &[&common, arguments].concat())
}

/// The file that a run writes.
fn trained(folder: &Path, arguments: &[&str], name: &str) -> Vec<u8> {
    let output = train(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    std::fs::read(folder.join(name)).unwrap()
}

/// testdata/bytes has what tokenizers 0.23.3 saves after the same training.
#[test]
fn the_file_is_the_one_that_tokenizers_saves() {
    let expected = std::fs::read(testdata("bytes/llama3.json")).unwrap();
    let input = testdata_argument("udhr_small.txt");
    let input = format!("--input={input}");
    let folder = folder_with(&[]);
    assert_equal_on_any_number_of_threads("m.json", |threads| {
        let jobs = format!("--jobs={threads}");
        let arguments = [&input, "--pattern=llama3", "--vocab_size=360", &jobs];
        let file = trained(folder.path(), &arguments, "m.json");
        assert!(file == expected);
        file
    });
    assert_eq!(names_in(folder.path()), ["m.json"]);
}

#[test]
fn a_model_without_a_pattern_is_the_one_of_tokenizers() {
    let expected = std::fs::read(testdata("bytes/whole.json")).unwrap();
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let folder = folder_with(&[]);
    let arguments = [&*input, "--pattern=none", "--vocab_size=270"];
    assert!(trained(folder.path(), &arguments, "m.json") == expected);
    // A file without a pattern is read with the name with which it was trained.
    let arguments = [&arguments[..], &["--tie_order=rustbpe"]].concat();
    trained(folder.path(), &arguments, "m.json");
    let arguments = [&arguments[..], &["--format=tiktoken"]].concat();
    trained(folder.path(), &arguments, "m.tiktoken");
    let encode = ["encode", "--output_format=id"];
    let text = "Artikel 1\nAlle Menschen sind frei";
    let encoded = |flags: &[&'static str]| {
        let arguments = [&encode[..], flags].concat();
        let mut command = program();
        command.current_dir(folder.path()).args(&arguments);
        let output = output_for(&mut command, text.as_bytes());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        output.stdout
    };
    let expected = encoded(&["--model=m.json"]);
    assert_eq!(encoded(&["--model=m.tiktoken", "--pattern=none"]), expected);
    let misspelled = [&encode[..], &["--model=m.tiktoken", "--pattern=llama-3"]].concat();
    let output = spiece_in(folder.path(), &misspelled);
    assert_refused(&misspelled, &output, 2, "no pattern has the name llama-3");
}

/// testdata/bytes has these files of tokenizers and tiktoken, too.
#[test]
fn other_formats_are_those_of_the_programs() {
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let folder = folder_with(&[]);
    let options = [&*input, "--pattern=llama3", "--vocab_size=360"];
    for (format, names) in [
        ("tiktoken", &[("m.tiktoken", "llama3.tiktoken")][..]),
        (
            "vocab-merges",
            &[
                ("m-vocab.json", "llama3-vocab.json"),
                ("m-merges.txt", "llama3-merges.txt"),
            ],
        ),
    ] {
        let format = format!("--format={format}");
        let output = train(folder.path(), &[&options[..], &[&format]].concat());
        assert!(output.status.success(), "{output:?}");
        for (name, expected) in names {
            let expected = std::fs::read(testdata(&format!("bytes/{expected}"))).unwrap();
            assert!(
                std::fs::read(folder.path().join(name)).unwrap() == expected,
                "{name}"
            );
        }
    }
    let rustbpe = std::fs::read(testdata("bytes/rustbpe.tiktoken")).unwrap();
    let options = [
        &*input,
        "--pattern=rustbpe",
        "--vocab_size=400",
        "--tie_order=rustbpe",
        "--format=tiktoken",
    ];
    assert!(trained(folder.path(), &options, "m.tiktoken") == rustbpe);
    let options = [
        &*input,
        "--pattern=rustbpe",
        "--vocab_size=300",
        "--tie_order=minbpe",
        "--format=minbpe",
    ];
    assert!(trained(folder.path(), &options, "m.model").starts_with(b"minbpe v1\n"));
}

#[test]
fn a_text_of_a_record_or_of_a_file_keeps_its_line_feeds() {
    let record = b"{\"text\": \"a\\n\\nb\\n\\nc\"}\n";
    let file = b"a\n\nb\n\nc";
    let folder = folder_with(&[("r.jsonl", record), ("f.txt", file)]);
    let has_two_line_feeds = |arguments: &[&str]| {
        let arguments = [arguments, &["--vocab_size=258", "--pattern=none"]].concat();
        let json = String::from_utf8(trained(folder.path(), &arguments, "m.json")).unwrap();
        json.contains("\"\u{10a}\u{10a}\"")
    };
    assert!(has_two_line_feeds(&[
        "--input=r.jsonl",
        "--json_field=text"
    ]));
    assert!(has_two_line_feeds(&["--input=f.txt", "--document=file"]));
    assert!(!has_two_line_feeds(&["--input=f.txt"]));
    assert!(!has_two_line_feeds(&[
        "--input=r.jsonl",
        "--json_field=text",
        "--document=line"
    ]));
}

#[test]
fn flags_of_other_models_are_refused_with_a_remedy() {
    let folder = folder_with(&[("in.txt", b"abc abc\n")]);
    for (arguments, message) in [
        (&["--character_coverage=1"][..], "leave it out"),
        (&["--max_sentencepiece_length=4"], "use --max_token_length"),
        (&["--user_defined_symbols=a"], "use --special_tokens"),
        (&["--tie_order=spm"], "hf, rustbpe, minbpe or greatest"),
        (
            &["--format=model"],
            "tokenizer.json, tiktoken, vocab-merges or minbpe",
        ),
        (&["--pattern=(?<=a)b"], "--pattern"),
        (&["--pattern=gtp2"], "names are gpt2"),
        (&["--pattern=and"], "(?:and)"),
        (&["--max_token_length=0"], "--max_token_length"),
    ] {
        let arguments = [&["--input=in.txt", "--vocab_size=300"], arguments].concat();
        assert_refused(&arguments, &train(folder.path(), &arguments), 2, message);
    }
    let arguments = [
        "train",
        "--model_type=bpe",
        "--input=in.txt",
        "--pattern=gpt2",
    ];
    let output = spiece_in(folder.path(), &arguments);
    assert_refused(&arguments, &output, 2, "add --model_type=byte_bpe");
    assert_eq!(names_in(folder.path()), ["in.txt"]);
}

/// The conformance tests compare the tokens with those of the definition.
#[test]
fn superwords_follow_the_tokens_of_the_first_stage() {
    let input = format!("--input={}", testdata_argument("udhr_small.txt"));
    let folder = folder_with(&[]);
    let folder = folder.path();
    let bpe = |arguments: &[&str], name: &str| {
        trained(folder, &[&[&*input, "--quiet"], arguments].concat(), name);
        let tokenizer = Tokenizer::open(folder.join(name)).unwrap();
        tokenizer.byte_bpe().unwrap().parts()
    };
    let words = |bytes: &[u8]| {
        let words = bytes.split(|byte| *byte == b' ');
        words.filter(|word| !word.is_empty()).count()
    };
    let special = "--special_tokens=<s>,</s>";
    let both = ["--superword_from=600", "--max_words=2", "--vocab_size=700"];
    for order in ["hf", "rustbpe"] {
        let order = format!("--tie_order={order}");
        let first = bpe(&["--vocab_size=600", &order, special], "m.json");
        let whole = bpe(&[&both[..], &[&order, special]].concat(), "m.json");
        assert_eq!(whole.tokens.len(), first.tokens.len() + 100);
        let (old, learned) = whole.tokens.split_at(first.tokens.len());
        assert!(old == first.tokens);
        assert_eq!(whole.pretokenizer.name(), Some("superbpe"));
        assert!(learned.iter().any(|token| words(&token.bytes) == 2));
        assert!(learned.iter().all(|token| words(&token.bytes) <= 2));
        // Special tokens have the first ids, or the last ones.
        let ids = whole.special_tokens.iter().map(|token| token.id);
        let expected = if order.ends_with("hf") {
            [0, 1]
        } else {
            [698, 699]
        };
        assert_eq!(ids.collect::<Vec<_>>(), expected);
    }
    // Ranks are enough for tiktoken.
    let ranks = [&both[..], &["--tie_order=rustbpe"]].concat();
    let json = bpe(&ranks, "m.json");
    trained(
        folder,
        &[&[&*input, "--format=tiktoken"], &ranks[..]].concat(),
        "m.tiktoken",
    );
    let open = |pattern: Pattern| {
        let mut options = ByteFormatOptions::default();
        options.pretokenizer = Some(Pretokenizer::of(pattern));
        let read = ByteVocabulary::open(folder.join("m.tiktoken"), &options);
        read.unwrap().unwrap().value.parts
    };
    let ranks = open(Pattern::named("superbpe").unwrap());
    assert!(ranks.tokens == json.tokens);
    assert_eq!(ranks.pretokenizer.name(), Some("superbpe"));
}

#[test]
fn superword_flags_that_do_not_fit_are_refused() {
    let folder = folder_with(&[("in.txt", b"abc abc\n")]);
    for (arguments, message) in [
        (&["--max_words=2"][..], "goes with --superword_from"),
        (&["--superword_pattern=none"], "goes with --superword_from"),
        (&["--superword_from=300"], "below --vocab_size"),
        (
            &["--superword_from=280", "--superword_pattern=("],
            "--superword_pattern",
        ),
        (
            &["--superword_from=280", "--tie_order=minbpe"],
            "use hf or rustbpe",
        ),
        (
            &["--superword_from=280", "--input=-"],
            "cannot be standard input",
        ),
        (&["--superword_from=280", "--format=minbpe"], "--format"),
    ] {
        let arguments = [&["--input=in.txt", "--vocab_size=300"], arguments].concat();
        assert_refused(&arguments, &train(folder.path(), &arguments), 2, message);
    }
    assert_eq!(names_in(folder.path()), ["in.txt"]);
}

#[test]
fn a_text_with_too_few_pairs_gives_fewer_tokens_and_a_warning() {
    let folder = folder_with(&[("in.txt", b"abc\n")]);
    let output = train(folder.path(), &["--input=in.txt", "--vocab_size=300"]);
    assert!(output.status.success());
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(messages.contains("tokens: 258 (2 merges)"), "{messages}");
    assert!(
        messages.contains("is more than the text gives"),
        "{messages}"
    );
}

/// Tables of parts of a text, added, give the file of the text, whatever the tokens are.
#[cfg(feature = "parquet")]
#[test]
fn counts_of_parts_give_the_file_of_the_text() {
    let text = std::fs::read(testdata("udhr_small.txt")).unwrap();
    let middle = text.len() / 2;
    let middle = middle
        + text[middle..]
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap()
        + 1;
    let (first, second) = text.split_at(middle);
    let folder = folder_with(&[("1.txt", first), ("2.txt", second), ("all.txt", &text)]);
    let run = |arguments: &[&str]| {
        let output = spiece_in(folder.path(), arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    };
    for part in ["1", "2"] {
        let [input, output] = [
            format!("--input={part}.txt"),
            format!("--output={part}.parquet"),
        ];
        run(&[
            "count",
            "--model_type=byte_bpe",
            "--pattern=llama3",
            &input,
            &output,
        ]);
    }
    run(&[
        "count",
        "--merge",
        "1.parquet",
        "2.parquet",
        "--output=sum.parquet",
    ]);
    for order in ["hf", "rustbpe"] {
        let order = format!("--tie_order={order}");
        let options = ["--pattern=llama3", "--vocab_size=400", &order];
        let of_text = [&options[..], &["--input=all.txt"]].concat();
        let of_text = trained(folder.path(), &of_text, "m.json");
        let counts = ["--input=sum.parquet", "--input_format=counts"];
        let of_counts = [&options[..], &counts].concat();
        assert!(trained(folder.path(), &of_counts, "m.json") == of_text);
    }
    for (option, message) in [
        ("--pattern=gpt2", "counted with pattern"),
        ("--tie_order=minbpe", "have no order"),
    ] {
        let arguments = [
            "--input=sum.parquet",
            "--input_format=counts",
            "--pattern=llama3",
            option,
        ];
        let output = train(folder.path(), &arguments);
        assert_refused(&arguments, &output, 1, message);
    }
    let arguments = [
        "count",
        "--model_type=byte_bpe",
        "--tie_order=minbpe",
        "--input=all.txt",
        "--output=m.parquet",
    ];
    let output = spiece_in(folder.path(), &arguments);
    assert_refused(&arguments, &output, 2, "have no order");
    assert!(!folder.path().join("m.parquet").exists());
}

#[test]
fn special_tokens_of_the_text_are_told_and_cut_out_if_that_is_wanted() {
    let text = b"one<|end|>two<|end|>three<|end|>one";
    let parts = b"one\ntwo\nthree\none";
    let folder = folder_with(&[("joined.txt", text), ("parts.txt", parts)]);
    let options = ["--tie_order=rustbpe", "--pattern=none", "--document=file"];
    let special = "--special_tokens=<|end|>";
    let joined = ["--input=joined.txt", "--vocab_size=260", special];

    let learned = train(folder.path(), &[&options[..], &joined].concat());
    let told = String::from_utf8(learned.stderr).unwrap();
    assert!(told.contains("special tokens (3 in all)") && told.contains("--split_special_tokens"));
    let file = std::fs::read_to_string(folder.path().join("m.json")).unwrap();
    assert!(file.contains("\"<|\""), "{file}");

    let splitting = [&options[..], &joined, &["--split_special_tokens"]].concat();
    let cut = train(folder.path(), &splitting);
    assert!(cut.status.success(), "{cut:?}");
    let told = String::from_utf8(cut.stderr).unwrap();
    assert!(told.contains("special tokens left out: 3"), "{told}");
    let cut = std::fs::read(folder.path().join("m.json")).unwrap();
    // Lines without their ends are what is between the special tokens.
    let lines = ["--input=parts.txt", "--vocab_size=260", special];
    let pattern = ["--tie_order=rustbpe", "--pattern=[^\n]+"];
    let of_parts = trained(folder.path(), &[&pattern[..], &lines].concat(), "m.json");
    let vocabulary = |file: &[u8]| {
        let file = ByteVocabulary::from_bytes(file, &ByteFormatOptions::default()).unwrap();
        file.unwrap().into_bpe().unwrap().parts().tokens.clone()
    };
    assert_eq!(vocabulary(&cut), vocabulary(&of_parts));

    for (arguments, message) in [
        (&["--tie_order=minbpe"][..], "split_special_tokens"),
        (
            &["--tie_order=rustbpe", "--superword_from=258"],
            "--tie_order=hf",
        ),
    ] {
        let arguments = [&joined[..], &["--split_special_tokens"], arguments].concat();
        assert_refused(&arguments, &train(folder.path(), &arguments), 2, message);
    }
}

#[cfg(feature = "parquet")]
#[test]
fn counts_without_special_tokens_need_the_same_flags_in_training() {
    let text = b"low lower<|end|>lowest newer<|end|>wider";
    let folder = folder_with(&[("text.txt", text)]);
    let special = ["--special_tokens=<|end|>", "--split_special_tokens"];
    let count = [
        "count",
        "--model_type=byte_bpe",
        "--input=text.txt",
        "--output=c.parquet",
    ];
    for (flags, told) in [
        (&special[..1], "special tokens (2 in all)"),
        (&special[..], "special tokens left out: 2"),
    ] {
        let output = spiece_in(folder.path(), &[&count[..], flags].concat());
        assert!(output.status.success(), "{output:?}");
        let messages = String::from_utf8(output.stderr).unwrap();
        assert!(messages.contains(told), "{messages}");
    }
    let of_counts = [
        "--input=c.parquet",
        "--input_format=counts",
        "--vocab_size=262",
    ];
    let of_text = ["--input=text.txt", "--vocab_size=262"];
    let of_text = trained(folder.path(), &[&of_text[..], &special].concat(), "m.json");
    assert!(
        trained(
            folder.path(),
            &[&of_counts[..], &special].concat(),
            "m.json"
        ) == of_text
    );
    let without = [&of_counts[..], &special[..1]].concat();
    assert_refused(
        &without,
        &train(folder.path(), &without),
        1,
        "split_special_tokens",
    );
}

#[test]
fn required_tokens_are_one_id_and_forbidden_ones_are_not_made_or_merged() {
    let files: [(&str, &[u8]); 3] = [
        (
            "in.txt",
            "the tide the time\nthe tie\n"
                .repeat(9)
                .as_bytes()
                .to_vec()
                .leak(),
        ),
        ("required.txt", b"SELECT\n\\t\\t\n"),
        (
            "forbidden.txt",
            b"# two kinds\nnever_made  the\nnever_merged  t\nnever_merged SELECT\n",
        ),
    ];
    let folder = folder_with(&files);
    for order in ["hf", "rustbpe", "minbpe", "greatest"] {
        let order = format!("--tie_order={order}");
        let arguments = [
            "--input=in.txt",
            "--vocab_size=285",
            &order,
            "--required_tokens=xyz, FROM",
            "--required_tokens_file=required.txt",
            "--forbidden_tokens=forbidden.txt",
        ];
        let file = trained(folder.path(), &arguments, "m.json");
        let tokenizer = Tokenizer::from_bytes(&file).unwrap();
        for token in ["xyz", " FROM", "SELECT", "\t\t"] {
            assert_eq!(tokenizer.encode(token).len(), 1, "{order} {token:?}");
        }
        let pipeline = tokenizer.pipeline().unwrap();
        let json = String::from_utf8(pipeline.to_tokenizer_json().unwrap()).unwrap();
        assert!(
            json.contains("\"\u{120}t\"") && json.contains("\"SELECT\""),
            "{order}"
        );
        for text in ["\u{120}the\"", "\u{120}ti", "SELECTS"] {
            assert!(!json.contains(text), "{order} {text}");
        }
    }
    let refused: &[(&[&str], &str)] = &[
        (
            &["--required_tokens=a b"],
            "required_tokens: the piece \"a b\" is divided by the pattern",
        ),
        (
            &["--forbidden_tokens=in.txt"],
            "in.txt: forbidden_tokens: \"the tide the time\"",
        ),
        (
            &["--forbidden_tokens=forbidden.txt", "--superword_from=270"],
            "--forbidden_tokens does not go with",
        ),
    ];
    for (arguments, message) in refused {
        let fixed = ["--input=in.txt", "--vocab_size=300"];
        let output = train(folder.path(), &[&fixed[..], arguments].concat());
        assert!(!output.status.success());
        let messages = String::from_utf8_lossy(&output.stderr);
        assert!(messages.contains(message), "{messages}");
    }
}
