//! The verdicts on golden models. `tests/formats/runtimes.py --check` runs the programs.

use super::*;
use crate::formats::ReasonKind;

fn runtimes_of(model: &str) -> Vec<Runtime> {
    let tokenizer = Tokenizer::open(format!("testdata/golden/{model}.model")).unwrap();
    runtimes(&tokenizer).unwrap()
}

fn verdict(model: &str, program: &str) -> RuntimeVerdict {
    let mut runtimes = runtimes_of(model).into_iter();
    let runtime = runtimes.find(|runtime| runtime.program == program);
    runtime.unwrap().verdict
}

#[test]
fn programs_that_run_sentencepiece_are_exact() {
    for model in ["llama2", "spm_default", "unigram", "word", "char"] {
        assert!(verdict(model, "mistral-common").is_exact(), "{model}");
    }
    for model in ["llama2", "spm_default", "word", "char"] {
        assert!(verdict(model, "tensorflow-text").is_exact(), "{model}");
    }
    let older = verdict("unigram", "tensorflow-text");
    assert_eq!(older.reasons()[0].kind, ReasonKind::Rounding);
}

/// One derivation of conversions, not two.
#[test]
fn conversions_have_their_verdicts() {
    use crate::formats::{GgufOptions, JsonOptions};

    for name in ["llama2", "symbols", "spm_default", "unigram_symbols"] {
        let model = crate::Model::open(format!("testdata/golden/{name}.model")).unwrap();
        let json = model.to_tokenizer_json(&JsonOptions::default()).unwrap();
        let found = verdict(name, "transformers");
        assert_eq!(found.reasons(), json.verdict.reasons());
        let gguf = model.to_gguf_vocab(&GgufOptions::default()).unwrap();
        assert_eq!(verdict(name, "llama.cpp").reasons(), gguf.verdict.reasons());
    }
}

#[test]
fn models_without_a_file_are_refused() {
    for program in ["transformers", "llama.cpp", "splintr", "onnxruntime-genai"] {
        for model in ["word", "char"] {
            let verdict = verdict(model, program);
            assert!(matches!(verdict, RuntimeVerdict::Refused(_)), "{program}");
        }
    }
    let older = verdict("no_unk", "tensorflow-text");
    assert!(matches!(older, RuntimeVerdict::Refused(_)));
}

#[test]
fn reasons_follow_from_the_model() {
    let has = |model: &str, program: &str, kind: ReasonKind, example: &str| {
        let verdict = verdict(model, program);
        let mut reasons = verdict.reasons().iter();
        reasons.any(|reason| reason.kind == kind && reason.example.as_deref() == Some(example))
    };
    let table = [
        (
            "word_symbols",
            "tensorflow-text",
            ReasonKind::MetaPiece,
            "<s>",
        ),
        (
            "llama2",
            "onnxruntime-extensions",
            ReasonKind::PieceText,
            "\0",
        ),
        (
            "llama2",
            "@huggingface/tokenizers",
            ReasonKind::MetaPiece,
            "<unk>",
        ),
        (
            "spm_default",
            "@huggingface/tokenizers",
            ReasonKind::Whitespace,
            "  ",
        ),
        (
            "spm_default",
            "openvino-tokenizers",
            ReasonKind::UnknownCharacter,
            "\u{e000}",
        ),
        (
            "unigram_symbols",
            "tensorflow-text Fast",
            ReasonKind::UnknownCharacter,
            "\u{e000}",
        ),
        ("spm_default", "splintr", ReasonKind::Whitespace, ""),
    ];
    for (model, program, kind, example) in table {
        assert!(
            has(model, program, kind, example),
            "{model}, {program}: {kind}"
        );
    }
    // Byte pieces stand for the character, and no rule makes a text empty.
    assert!(!has(
        "llama2",
        "openvino-tokenizers",
        ReasonKind::UnknownCharacter,
        "\u{e000}"
    ));
    assert!(!has(
        "llama2",
        "@huggingface/tokenizers",
        ReasonKind::Whitespace,
        "  "
    ));
}

#[test]
fn byte_level_vocabularies_have_the_verdicts_of_their_files() {
    let tokenizer = Tokenizer::open("testdata/bytes/gpt2.json").unwrap();
    let runtimes = runtimes(&tokenizer).unwrap();
    let programs: Vec<&str> = runtimes.iter().map(|it| it.program).collect();
    assert_eq!(programs, ["tiktoken", "transformers", "llama.cpp"]);
    assert!(runtimes[1].verdict.is_exact());
    assert!(!runtimes[2].verdict.reasons().is_empty());
}

#[test]
fn only_models_and_byte_level_vocabularies_are_known() {
    let wordpiece = Tokenizer::from_bytes(
        br#"{"model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1}, "unk_token": "<unk>"}}"#,
    );
    assert_eq!(runtimes(&wordpiece.unwrap()), None);
}
