//! The stages alone are the oracle: a text has the ids that it has as a whole.

use proptest::prelude::*;
use serde_json::{Value, json};
use unicode_segmentation::UnicodeSegmentation;

use crate::added::FoundTokens;
use crate::formats::read_pipeline;
use crate::pipeline::{Pipeline, PipelineState};
use crate::special::Scope;

/// What could see across a cut, or change what stands beside one.
const PARTS: [&str; 33] = [
    " ",
    " ",
    "a",
    "e",
    "b",
    "\u{301}",
    "\u{327}",
    "é",
    "e\u{301}",
    "ж",
    "и",
    "й",
    "и\u{306}",
    "ㄱ",
    "ㅏ",
    "\u{1100}",
    "\u{1161}",
    "\u{11A8}",
    "각",
    "के",
    "\u{600}",
    "\u{200D}",
    "\u{1}",
    ".",
    "ﬁ",
    "\u{2014}",
    "\u{201C}",
    "\u{A0}",
    "→",
    "Å",
    "中",
    "文",
    "豈",
];

/// A pipeline of words with these components.
fn pipeline(normalizer: &Value, pre_tokenizer: &Value) -> Pipeline {
    let mut vocab: Vec<Value> = vec![json!(["<unk>", 0.0])];
    for c in PARTS.concat().chars().chain("▁ABE\u{1112}".chars()) {
        let text = c.to_string();
        if vocab.iter().all(|piece| piece[0] != text) {
            vocab.push(json!([text, -2.0]));
        }
    }
    for (at, text) in ["▁a", "▁é", "aé", "▁ж", "ab", "▁각", "Zb", "aZ", "a▁", "ж▁и"]
        .into_iter()
        .enumerate()
    {
        vocab.push(json!([text, -1.0 - 0.01 * at as f64]));
    }
    let file = json!({
        "version": "1.0",
        "added_tokens": [],
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": vocab},
    });
    read_pipeline(file.to_string().as_bytes()).unwrap()
}

fn pipelines() -> Vec<Pipeline> {
    let metaspace =
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true});
    let words = json!({"type": "WhitespaceSplit"});
    let bert = json!({"type": "BertPreTokenizer"});
    let sequence = |normalizers: Value| json!({"type": "Sequence", "normalizers": normalizers});
    let replace = |text: &str, content: &str| json!({"type": "Replace", "pattern": {"String": text}, "content": content});
    let expression = |regex: &str, content: &str| json!({"type": "Replace", "pattern": {"Regex": regex}, "content": content});
    let bert_normalizer = json!({"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true});
    let forms = ["NFC", "NFD", "NFKC", "NFKD"].map(|form| json!({ "type": form }));
    let mut normalizers = vec![
        json!(null),
        bert_normalizer,
        sequence(json!([{"type": "Nmt"}, forms[2], replace(" é", "Z")])),
        sequence(json!([replace("b", ""), forms[0], replace(" é", "Z")])),
        sequence(json!([
            forms[0],
            replace("й ", " "),
            expression(" {2,}", " ")
        ])),
        sequence(json!([forms[2], expression("[가-힣]+ ", "x")])),
        sequence(
            json!([{"type": "Lowercase"}, forms[1], {"type": "StripAccents"}, {"type": "Strip", "strip_left": true, "strip_right": true}]),
        ),
    ];
    normalizers.extend(forms);
    let pairs = normalizers.iter().flat_map(|normalizer| {
        [&metaspace, &words, &bert].map(|pre_tokenizer| pipeline(normalizer, pre_tokenizer))
    });
    pairs.collect()
}

fn ids(pipeline: &Pipeline, text: &str, found: &FoundTokens) -> Vec<u32> {
    let mut ids = Vec::new();
    let mut state = PipelineState::default();
    let scopes = Scope::whole(text.as_bytes(), found);
    let encoded = pipeline.encode(text.as_bytes(), &scopes, &mut state, &mut ids);
    encoded.unwrap();
    ids.iter().map(|id| id.get()).collect()
}

#[test]
fn a_text_in_chunks_has_the_ids_of_the_whole_text() {
    let pipelines = pipelines();
    assert!(pipelines.iter().all(|it| it.chunks.is_some()));
    let (mut cuts, mut chinese) = (0, 0);
    let texts = proptest::collection::vec(0..PARTS.len(), 0..24);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(3000));
    let run = runner.run(&texts, |parts| {
        let text: String = parts.into_iter().map(|part| PARTS[part]).collect();
        for pipeline in &pipelines {
            let found = pipeline.found(|_| true, true);
            let mut whole = Vec::new();
            let mut state = PipelineState::default();
            let scopes = Scope::whole(text.as_bytes(), &found);
            pipeline
                .for_each_token(text.as_bytes(), &scopes, true, &mut state, |token| {
                    whole.push(token.id)
                })
                .unwrap();
            prop_assert_eq!(
                ids(pipeline, &text, &found),
                whole,
                "{:?}",
                pipeline.normalizer
            );
        }
        Ok(())
    });
    run.unwrap();
    for pipeline in &pipelines {
        let chunks = pipeline.chunks.as_ref().unwrap();
        cuts += usize::from(chunks.end(pipeline, "жи жи".as_bytes(), 0) == 4);
        cuts += usize::from(chunks.end(pipeline, "ab ab".as_bytes(), 0) == 2);
        chinese += usize::from(chunks.end(pipeline, "中文".as_bytes(), 0) == 3);
    }
    assert!(cuts > pipelines.len(), "texts are cut: {cuts}");
    assert_eq!(
        chinese, 2,
        "BERT's normalizer before steps that remove spaces"
    );
}

#[test]
fn characters_that_extend_no_cluster_are_in_none_with_others() {
    for c in ('\0'..=char::MAX).filter(|c| super::extends_no_cluster(*c)) {
        for other in ["a", "\u{1100}", "\u{1161}", "\u{AC00}", "\u{2764}\u{200D}"] {
            for text in [format!("{other}{c}"), format!("{c}{other}")] {
                let begins = text.grapheme_indices(true).map(|(at, _)| at);
                let between = [other.len(), c.len_utf8()][usize::from(text.starts_with(c))];
                assert!(begins.into_iter().any(|at| at == between), "{text:?}");
            }
        }
    }
}
