//! `spiece convert`, run as a program: GGUF and back, and what the options for folders write.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use spiece::formats::GgufOptions;
use spiece::{Model, Tokenizer};

use crate::support::{names_in, program, testdata, testdata_argument};

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
    assert!(read.model.pieces().eq(original.pieces()));
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
    assert_same_ids(read.model, Model::open(testdata(LLAMA)).unwrap());
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
