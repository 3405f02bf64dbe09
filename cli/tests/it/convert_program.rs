//! `spiece convert`, run as a program: GGUF and back, what the options for folders write, and byte-level
//! vocabularies.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use spiece::formats::GgufOptions;
use spiece::{Model, Tokenizer};

use crate::support::{
    assert_refused, folder_with, names_in, program, spiece_in, testdata, testdata_argument,
};

const LLAMA: &str = "golden/llama2.model";

/// Runs `spiece convert` in `folder`; it must succeed. What it writes to standard error.
fn convert(folder: &Path, arguments: &[&str]) -> String {
    let mut command = program();
    command.current_dir(folder).arg("convert").args(arguments);
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    stderr
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Asserts that two models give the same ids for the lines of a text.
fn assert_same_ids(one: Model, other: Model) {
    let text = fs::read_to_string(testdata("udhr_small.txt")).unwrap();
    let tokenizers = [one, other].map(Tokenizer::new);
    for line in text.lines() {
        let [one, other] = tokenizers
            .each_ref()
            .map(|tokenizer| tokenizer.encode(line));
        assert_eq!(one, other, "{line}");
    }
}

#[test]
fn gguf_and_back_keeps_the_ids() {
    let folder = tempfile::tempdir().unwrap();
    let original = Model::open(testdata(LLAMA)).unwrap();
    convert(
        folder.path(),
        &[&testdata_argument(LLAMA), "v.gguf", "--bos", "--force"],
    );
    let bytes = fs::read(folder.path().join("v.gguf")).unwrap();
    let mut options = GgufOptions::default();
    options.add_bos = true;
    let expected = original.to_gguf_vocab(&options).unwrap();
    assert!(
        bytes == expected.bytes,
        "the program and the library write different files"
    );
    let read = Model::from_gguf(&bytes[..]).unwrap();
    assert!(read.value.pieces().eq(original.pieces()));
    assert_eq!(read.verdict.is_exact(), expected.verdict.is_exact());
    convert(folder.path(), &["v.gguf", "back.model", "--force"]);
    let back = Model::open(folder.path().join("back.model")).unwrap();
    assert!(back.pieces().eq(original.pieces()));
    assert_same_ids(back, original);
}

#[test]
fn a_gguf_file_becomes_a_tokenizer_json_with_the_same_ids() {
    let folder = tempfile::tempdir().unwrap();
    convert(
        folder.path(),
        &[&testdata_argument(LLAMA), "v.gguf", "--force"],
    );
    convert(folder.path(), &["v.gguf", "tokenizer.json", "--force"]);
    let json = fs::read(folder.path().join("tokenizer.json")).unwrap();
    let read = Model::from_tokenizer_json(&json).unwrap();
    assert_same_ids(read.value, Model::open(testdata(LLAMA)).unwrap());
}

#[test]
fn options_of_folders_are_templates_around_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let template = "{% for m in messages %}{{ m.role + \":\u{e9}\\n\" }}{% endfor %}\n";
    fs::write(folder.path().join("chat.jinja"), template).unwrap();
    let model = testdata_argument(LLAMA);
    convert(
        folder.path(),
        &[
            &model,
            "hf/",
            "--bos",
            "--eos",
            "--chat_template=chat.jinja",
        ],
    );
    let hf = folder.path().join("hf");
    let expected = [
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer.model",
        "tokenizer_config.json",
    ];
    assert_eq!(names_in(&hf), expected);
    assert!(fs::read(hf.join("tokenizer.model")).unwrap() == fs::read(model).unwrap());
    let config = read_json(&hf.join("tokenizer_config.json"));
    assert_eq!(config["chat_template"], json!(template));
    assert_eq!(
        (&config["bos_token"], &config["eos_token"]),
        (&json!("<s>"), &json!("</s>"))
    );
    let special = read_json(&hf.join("special_tokens_map.json"));
    assert_eq!(special["bos_token"], json!("<s>"));
    let processor = &read_json(&hf.join("tokenizer.json"))["post_processor"];
    assert_eq!(processor["type"], json!("TemplateProcessing"));
    let bos = |sequence: u32| json!({"SpecialToken": {"id": "<s>", "type_id": sequence}});
    let eos = |sequence: u32| json!({"SpecialToken": {"id": "</s>", "type_id": sequence}});
    let text = |name: &str, sequence: u32| json!({"Sequence": {"id": name, "type_id": sequence}});
    assert_eq!(processor["single"], json!([bos(0), text("A", 0), eos(0)]));
    let pair = [bos(0), text("A", 0), eos(0), bos(1), text("B", 1), eos(1)];
    assert_eq!(processor["pair"], json!(pair));
    let ids = json!({
        "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
        "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]},
    });
    assert_eq!(processor["special_tokens"], ids);
    // The ids do not depend on the templates.
    assert!(Model::open(hf.join("tokenizer.json")).is_ok());
}

#[test]
fn without_options_nothing_is_put_around_the_text() {
    let folder = tempfile::tempdir().unwrap();
    convert(folder.path(), &[&testdata_argument(LLAMA), "hf/"]);
    let hf = folder.path().join("hf");
    let json = read_json(&hf.join("tokenizer.json"));
    assert_eq!(json["post_processor"], Value::Null);
    let config = read_json(&hf.join("tokenizer_config.json"));
    assert_eq!(config.get("chat_template"), None);
}

/// The names of the files of a byte-level vocabulary, and the arguments that write them.
const BYTE_FORMATS: [(&[&str], &[&str]); 4] = [
    (&["l.json"], &["l.json"]),
    (&["l.tiktoken"], &["l.tiktoken"]),
    (&["l-vocab.json", "l-merges.txt"], &["l-merges.txt"]),
    (
        &["l-vocab.json", "l-merges.txt"],
        &["l", "--format=vocab-merges"],
    ),
];

#[test]
fn byte_level_vocabularies_are_converted_between_all_formats() {
    let golden = |name: &str| fs::read(testdata(&format!("bytes/llama3{}", &name[1..]))).unwrap();
    for (from, _) in BYTE_FORMATS {
        for (names, arguments) in BYTE_FORMATS {
            let folder = tempfile::tempdir().unwrap();
            let from = testdata_argument(&format!("bytes/llama3{}", &from[0][1..]));
            let mut all = vec![&*from];
            all.extend(arguments);
            // The other files do not say how text is cut.
            if !from.ends_with("3.json") {
                all.push("--pattern=llama3");
            }
            let report = convert(folder.path(), &all);
            assert!(
                report.contains("verdict: ids equal for all text"),
                "{report}"
            );
            assert_eq!(
                report.contains("the pattern"),
                names != ["l.json"],
                "{report}"
            );
            assert_eq!(names_in(folder.path()).len(), names.len());
            for name in names {
                let written = fs::read_to_string(folder.path().join(name)).unwrap();
                // tiktoken looks up pretokens.
                let written = written.replace("ignore_merges\": true", "ignore_merges\": false");
                assert!(written.as_bytes() == golden(name), "{from} as {name}");
            }
        }
    }
}

#[test]
fn special_tokens_are_given_by_text_and_id_where_the_file_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let from = testdata_argument("bytes/llama3.tiktoken");
    let tokens = "--special_ids=<|bos|>=1000,\"<|a=1,b|>=1001\"";
    convert(
        folder.path(),
        &[&from, "l.json", "--pattern=llama3", tokens],
    );
    let tokenizer = Tokenizer::open(folder.path().join("l.json")).unwrap();
    let bpe = tokenizer.byte_bpe().unwrap();
    let special = bpe.special_tokens().iter();
    let found: Vec<(&str, u32)> = special.map(|token| (&*token.text, token.id)).collect();
    assert_eq!(found, [("<|bos|>", 1000), ("<|a=1,b|>", 1001)]);

    for (argument, complaint) in [
        ("--special_ids=<|bos|>", "\"<|bos|>\" is not TEXT=ID"),
        ("--special_ids=<|bos|>=x", "\"<|bos|>=x\" is not TEXT=ID"),
    ] {
        let arguments = ["convert", &from, "x.json", "--pattern=llama3", argument];
        let output = spiece_in(folder.path(), &arguments);
        assert_refused(&arguments, &output, 2, complaint);
    }
}

#[test]
fn a_byte_level_vocabulary_becomes_a_folder_with_its_template() {
    let folder = folder_with(&[("t.jinja", b"{{ messages }}")]);
    let from = testdata_argument("bytes/gpt2.json");
    convert(folder.path(), &[&from, "hf/", "--chat_template=t.jinja"]);
    let hf = folder.path().join("hf");
    assert_eq!(names_in(&hf), ["tokenizer.json", "tokenizer_config.json"]);
    let config = read_json(&hf.join("tokenizer_config.json"));
    assert_eq!(config["tokenizer_class"], json!("PreTrainedTokenizerFast"));
    assert_eq!(config["chat_template"], json!("{{ messages }}"));
    let [one, other] = [&from, "hf"].map(|path| Tokenizer::open(folder.path().join(path)).unwrap());
    let text = fs::read_to_string(testdata("udhr_small.txt")).unwrap();
    assert_eq!(one.encode(&text), other.encode(&text));
}

#[test]
fn formats_that_do_not_hold_a_vocabulary_are_refused_and_nothing_is_written() {
    let gpt2 = testdata_argument("bytes/gpt2.json");
    let digits = testdata_argument("bytes/digits.json");
    let llama = testdata_argument(LLAMA);
    let rows: [(&[&str], i32, &str); 11] = [
        (&[&gpt2, "x.tiktoken"], 1, "2 is merged after"),
        (
            &[&gpt2, "x.model"],
            1,
            "whose tokens are bytes and not characters",
        ),
        (
            &[&gpt2, "x.model", "--format=minbpe"],
            1,
            "which is its own id there",
        ),
        (&[&digits, "x.tiktoken"], 1, "normalization form C"),
        (&[&llama, "x.tiktoken"], 1, "whose pieces are characters"),
        (
            &[&gpt2, "x.json", "--bos"],
            2,
            "--bos and --eos are for SentencePiece models",
        ),
        (
            &[&gpt2, "x.json", "--pattern=gpt2"],
            1,
            "leave out the pattern",
        ),
        (
            &[&llama, "x.json", "--pattern=gpt2"],
            2,
            "--pattern is for byte-level",
        ),
        (
            &[&llama, "x.json", "--special_ids=a=1"],
            2,
            "--special_ids is for byte-level",
        ),
        (
            &[&gpt2, "x.json", "--format=word"],
            2,
            "--format: \"word\" is not model",
        ),
        (&[&gpt2, "x"], 2, "the name does not say which format"),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (arguments, status, message) in rows {
        let mut all = vec!["convert"];
        all.extend(arguments);
        let output = spiece_in(folder.path(), &all);
        assert_refused(&all, &output, status, message);
        assert!(names_in(folder.path()).is_empty(), "{all:?}");
    }
    convert(folder.path(), &[&digits, "x.tiktoken", "--force"]);
    assert_eq!(names_in(folder.path()), ["x.tiktoken"]);
}

#[test]
fn every_pipeline_is_written_and_inspected_and_a_refusal_names_the_component() {
    let file = json!({
        "version": "1.0",
        "padding": {"strategy": {"Fixed": 4}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 0,
            "pad_type_id": 0, "pad_token": "[PAD]"},
        "pre_tokenizer": {"type": "Whitespace"},
        "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1, "b!": 2}, "unk_token": "[UNK]"},
    });
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("words.json"), file.to_string()).unwrap();
    convert(folder.path(), &["words.json", "out.json"]);
    convert(folder.path(), &["words.json", "hf/"]);
    for path in ["out.json", "hf/tokenizer.json"] {
        let written = read_json(&folder.path().join(path));
        assert_eq!(written["padding"], file["padding"]);
        assert_eq!(written["model"]["vocab"], file["model"]["vocab"]);
    }
    let refused = program()
        .current_dir(folder.path())
        .args(["convert", "words.json", "out.model"])
        .output()
        .unwrap();
    let message = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        message.contains("model.type is WordLevel; write a tokenizer.json"),
        "{message}"
    );
    assert!(!message.contains("SentencePiece"), "{message}");
    let inspect = |arguments: &[&str]| {
        let mut command = program();
        command.current_dir(folder.path());
        let output = command
            .args(["inspect", "words.json"])
            .args(arguments)
            .output();
        String::from_utf8(output.unwrap().stdout).unwrap()
    };
    let report: Value = serde_json::from_str(&inspect(&["--format=json"])).unwrap();
    assert_eq!(report["model_type"], "word_level");
    assert_eq!(report["stages"]["padding"], file["padding"]);
    assert_eq!(report["stages"]["model"]["tokens"], 3);
    assert_eq!(report["unreachable"], json!([2]));
    assert_eq!(report["unreachable_details"][0]["reason"], "pattern");
    let report = inspect(&[]);
    assert!(
        report.contains("pre-tokenizer        Whitespace\n"),
        "{report}"
    );
}

/// A piece has a capital letter, so that the list is cased by itself.
const CASED: &[u8] = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nA\n##b\n";

#[test]
fn a_list_of_pieces_is_converted_there_and_back() {
    let folder = folder_with(&[("vocab.txt", CASED)]);
    let path = |name: &str| folder.path().join(name);
    for (flag, lowercase) in [("--lowercase=false", false), ("--lowercase", true)] {
        let said = convert(folder.path(), &["vocab.txt", "t.json", flag]);
        assert_eq!(
            said.contains("warning: no text gives the 1 pieces"),
            lowercase,
            "{said}"
        );
        let normalizer = &read_json(&path("t.json"))["normalizer"];
        assert_eq!(normalizer["lowercase"], json!(lowercase));
        let said = convert(folder.path(), &["t.json", "back", "--format=vocab.txt"]);
        let flag = format!(
            "lowercase={lowercase} (do_lower_case of transformers, --lowercase={lowercase} of spiece)"
        );
        assert!(said.contains(&flag), "{said}");
        assert_eq!(fs::read(path("back")).unwrap(), CASED);
    }
    convert(folder.path(), &["vocab.txt", "hf/"]);
    let config = read_json(&path("hf/tokenizer_config.json"));
    assert_eq!(config["tokenizer_class"], json!("BertTokenizer"));
    assert_eq!(config["do_lower_case"], json!(false));

    let mut file = read_json(&path("t.json"));
    file["model"]["max_input_chars_per_word"] = json!(7);
    fs::write(path("t.json"), file.to_string()).unwrap();
    let arguments = ["convert", "t.json", "x-vocab.txt"];
    let refused = spiece_in(folder.path(), &arguments);
    assert_refused(
        &arguments,
        &refused,
        1,
        "setting: the largest number of characters of a word is 7",
    );
    assert!(!path("x-vocab.txt").exists());
    convert(folder.path(), &["t.json", "x-vocab.txt", "--force"]);
    assert_eq!(fs::read(path("x-vocab.txt")).unwrap(), CASED);

    let llama = testdata_argument(LLAMA);
    for (from, status) in [("t.json", 1), (llama.as_str(), 2)] {
        let arguments = ["convert", from, "y.json", "--lowercase"];
        let refused = spiece_in(folder.path(), &arguments);
        assert_refused(&arguments, &refused, status, "BERT's vocab.txt");
    }
}

/// Files that other programs read, too, come with a hint; a `.model` file and `.tiktoken` do not.
#[test]
fn a_conversion_ends_with_where_other_programs_are_described() {
    let folder = tempfile::tempdir().unwrap();
    let model = testdata_argument("golden/llama2.model");
    let hint = format!("other programs: spiece inspect {model} --runtimes says");
    for (to, has_hint) in [
        ("a.json", true),
        ("a.gguf", true),
        ("hf/", true),
        ("a.model", false),
    ] {
        let report = convert(folder.path(), &[&model, to]);
        assert_eq!(report.contains(&hint), has_hint, "{to}: {report}");
    }
}

#[test]
fn folders_have_the_roles_that_the_source_knows_or_the_flags_give() {
    let token = |id: u32, text: &str| json!({"id": id, "content": text, "special": true, "normalized": false});
    let file = json!({
        "version": "2.0",
        "role_to_token": {"eos_token": "<e>", "pad_token": "<none>"},
        "added_tokens": [token(1, "<b>"), token(2, "<e>")],
        "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"},
    });
    let folder = folder_with(&[("t.json", file.to_string().as_bytes())]);
    let path = |name: &str| folder.path().join(name);
    let roles = |name: &str| {
        let config = read_json(&path(name));
        ["bos_token", "eos_token", "pad_token"].map(|role| config[role].clone())
    };
    convert(folder.path(), &["t.json", "hf/", "--bos_token=<b>"]);
    // The token of a role that the tokenizer does not have is not written: transformers would add it.
    let expected = [json!("<b>"), json!("<e>"), Value::Null];
    assert_eq!(roles("hf/tokenizer_config.json"), expected);
    // A folder says them beside its tokenizer.json, which cannot.
    convert(folder.path(), &["hf/", "again/", "--eos_token=<b>"]);
    let expected = [json!("<b>"), json!("<b>"), Value::Null];
    assert_eq!(roles("again/tokenizer_config.json"), expected);
    convert(
        folder.path(),
        &["again/", "v2.json", "--format=tokenizer.json@2"],
    );
    assert_eq!(
        read_json(&path("v2.json"))["role_to_token"],
        json!({"bos_token": "<b>", "eos_token": "<b>"})
    );
    let refused = |arguments: &[&str], status, message: &str| {
        let output = spiece_in(folder.path(), arguments);
        assert_refused(arguments, &output, status, message);
    };
    refused(
        &["convert", "t.json", "x/", "--pad_token=<p>"],
        1,
        "pad_token is \"<p>\", which is no special token",
    );
    refused(
        &["convert", "t.json", "x.json", "--pad_token=<b>"],
        2,
        "--pad_token is for folders and tokenizer.json@2",
    );
    let llama = testdata_argument(LLAMA);
    convert(folder.path(), &[&llama, "llama/", "--pad_token=</s>"]);
    assert_eq!(
        roles("llama/tokenizer_config.json"),
        [json!("<s>"), json!("</s>"), json!("</s>")]
    );
}

#[test]
fn a_config_beside_a_folder_that_overrides_its_stages_is_a_reason() {
    let folder = folder_with(&[]);
    let hf = folder.path().join("hf");
    fs::create_dir(&hf).unwrap();
    let model = testdata_argument(LLAMA);
    let arguments = ["convert", &*model, "hf/"];
    for (model_type, is_exact) in [("llama", true), ("qwen2", false), ("siglip2", false)] {
        let config = json!({ "model_type": model_type }).to_string();
        fs::write(hf.join("config.json"), &config).unwrap();
        if is_exact {
            assert!(convert(folder.path(), &arguments[1..]).contains("equal for all text"));
            continue;
        }
        let refused = spiece_in(folder.path(), &arguments);
        let message = format!("config.json in the folder has the model_type \"{model_type}\"");
        assert_refused(&arguments, &refused, 1, &message);
        convert(folder.path(), &[&arguments[1..], &["--force"]].concat());
        assert_eq!(fs::read_to_string(hf.join("config.json")).unwrap(), config);
    }
}
