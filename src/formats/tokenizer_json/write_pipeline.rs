//! A [`Pipeline`] as a `tokenizer.json`, which tokenizers 0.23.3 runs as the pipeline is run here.
//!
//! Every component has a form there: those that say the same in several forms have one of them. So
//! `BertProcessing` becomes `TemplateProcessing`, and sequences are flat.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::byte_level::name_of_behavior;
use crate::pipeline::{
    BpeModel, DecoderStep, Matcher, MatcherTarget, Metaspace, Normalizer, Pipeline, PipelineModel,
    PostProcessor, PreTokenizer, PrependScheme, Template, TemplatePart, UnicodeForm, UnigramModel,
};

/// The file, with one line for each token and merge.
pub(in crate::formats) fn write_pipeline(pipeline: &Pipeline) -> Vec<u8> {
    let mut json = "{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null".to_owned();
    let added = pipeline.added_tokens().iter().map(|token| {
        json!({"id": token.id, "content": token.text, "single_word": token.single_word, "lstrip": token.lstrip,
            "rstrip": token.rstrip, "normalized": token.normalized, "special": token.special})
    });
    push_list(
        &mut json,
        "added_tokens",
        ["[", "]"],
        added.map(|token| token.to_string()),
    );
    let normalizer = pipeline.normalizer().iter().map(normalizer).collect();
    let pre_tokenizer = pipeline.pre_tokenizer().iter().map(pre_tokenizer).collect();
    let post_processor = pipeline.post_processor().iter().map(post_processor);
    let decoder = pipeline.decoder();
    let decoder_steps = decoder
        .unwrap_or_default()
        .iter()
        .map(decoder_step)
        .collect();
    for (name, value) in [
        ("normalizer", steps("normalizers", normalizer)),
        ("pre_tokenizer", steps("pretokenizers", pre_tokenizer)),
        (
            "post_processor",
            steps("processors", post_processor.collect()),
        ),
        (
            "decoder",
            match decoder {
                // Without a decoder, tokens are joined by spaces; without steps, by nothing.
                Some([]) => json!({"type": "Sequence", "decoders": []}),
                _ => steps("decoders", decoder_steps),
            },
        ),
    ] {
        json.push_str(&format!(",\n\"{name}\": {value}"));
    }
    json.push_str(",\n\"model\": {\n");
    push_model(&mut json, pipeline.model());
    json.push_str("}\n}\n");
    json.into_bytes()
}

/// Several steps as a sequence, one as it is.
fn steps(name: &str, mut steps: Vec<Value>) -> Value {
    match steps.len() {
        0 => Value::Null,
        1 => steps.remove(0),
        _ => json!({"type": "Sequence", name: steps}),
    }
}

/// A field with a list of one line for each element.
fn push_list(
    json: &mut String,
    name: &str,
    [open, close]: [&str; 2],
    elements: impl Iterator<Item = String>,
) {
    json.push_str(&format!(",\n\"{name}\": {open}"));
    let mut separator = "\n";
    for element in elements {
        json.push_str(separator);
        json.push_str(&element);
        separator = ",\n";
    }
    json.push_str(close);
}

/// The source of a pattern.
fn pattern(matcher: &Matcher) -> Value {
    match matcher.target() {
        MatcherTarget::Text(text) => json!({ "String": text }),
        MatcherTarget::Expression(pattern) => json!({ "Regex": pattern.expression() }),
    }
}

fn normalizer(step: &Normalizer) -> Value {
    match step {
        Normalizer::Bert(bert) => json!({
            "type": "BertNormalizer", "clean_text": bert.clean_text, "handle_chinese_chars": bert.handle_chinese_chars,
            "strip_accents": bert.strip_accents, "lowercase": bert.lowercase
        }),
        Normalizer::ByteLevel => json!({"type": "ByteLevel"}),
        Normalizer::Lowercase => json!({"type": "Lowercase"}),
        Normalizer::Unicode(form) => json!({ "type": match form {
            UnicodeForm::Nfc => "NFC",
            UnicodeForm::Nfd => "NFD",
            UnicodeForm::Nfkc => "NFKC",
            UnicodeForm::Nfkd => "NFKD",
        }}),
        Normalizer::Nmt => json!({"type": "Nmt"}),
        Normalizer::Precompiled(rules) => {
            let charsmap = BASE64_STANDARD.encode(rules.bytes());
            json!({"type": "Precompiled", "precompiled_charsmap": charsmap})
        }
        Normalizer::Prepend(text) => json!({"type": "Prepend", "prepend": text}),
        Normalizer::Replace {
            pattern: matcher,
            content,
        } => json!({"type": "Replace", "pattern": pattern(matcher), "content": content}),
        Normalizer::Strip { left, right } => {
            json!({"type": "Strip", "strip_left": left, "strip_right": right})
        }
        Normalizer::StripAccents => json!({"type": "StripAccents"}),
    }
}

fn pre_tokenizer(step: &PreTokenizer) -> Value {
    match step {
        PreTokenizer::Bert => json!({"type": "BertPreTokenizer"}),
        PreTokenizer::ByteLevel {
            add_prefix_space,
            use_regex,
        } => json!({
            "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex
        }),
        PreTokenizer::CharDelimiter(delimiter) => {
            json!({"type": "CharDelimiterSplit", "delimiter": delimiter})
        }
        PreTokenizer::Digits { individual } => {
            json!({"type": "Digits", "individual_digits": individual})
        }
        PreTokenizer::FixedLength(length) => json!({"type": "FixedLength", "length": length}),
        PreTokenizer::Metaspace(Metaspace {
            replacement,
            prepend_scheme,
            split,
        }) => json!({
            "type": "Metaspace", "replacement": replacement, "split": split, "prepend_scheme": match prepend_scheme {
                PrependScheme::First => "first",
                PrependScheme::Never => "never",
                PrependScheme::Always => "always",
            }
        }),
        PreTokenizer::Punctuation(it) => {
            json!({"type": "Punctuation", "behavior": name_of_behavior(*it)})
        }
        PreTokenizer::Split {
            pattern: matcher,
            behavior: it,
            invert,
        } => json!({
            "type": "Split", "pattern": pattern(matcher), "behavior": name_of_behavior(*it), "invert": invert
        }),
        PreTokenizer::UnicodeScripts => json!({"type": "UnicodeScripts"}),
        PreTokenizer::Whitespace => json!({"type": "Whitespace"}),
        PreTokenizer::WhitespaceSplit => json!({"type": "WhitespaceSplit"}),
    }
}

fn post_processor(step: &PostProcessor) -> Value {
    match step {
        PostProcessor::TrimOffsets { add_prefix_space } => json!({
            "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": true
        }),
        PostProcessor::Template(template) => template_processing(template),
    }
}

fn template_processing(template: &Template) -> Value {
    let mut special = Map::new();
    let mut part = |part: &TemplatePart| match part {
        TemplatePart::Sequence { is_second, type_id } => {
            let id = if *is_second { "B" } else { "A" };
            json!({"Sequence": {"id": id, "type_id": type_id}})
        }
        TemplatePart::Special {
            ids,
            tokens,
            type_id,
        } => {
            let mut id = tokens.join(" ");
            let token = |id: &str| json!({"id": id, "ids": ids, "tokens": tokens});
            while special.get(&id).is_some_and(|other| *other != token(&id)) {
                id.push('_');
            }
            special.insert(id.clone(), token(&id));
            json!({"SpecialToken": {"id": id, "type_id": type_id}})
        }
    };
    let single: Vec<Value> = template.single.iter().map(&mut part).collect();
    let pair: Vec<Value> = template.pair.iter().map(&mut part).collect();
    json!({"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special})
}

fn decoder_step(step: &DecoderStep) -> Value {
    match step {
        DecoderStep::Bpe { suffix } => json!({"type": "BPEDecoder", "suffix": suffix}),
        DecoderStep::ByteFallback => json!({"type": "ByteFallback"}),
        DecoderStep::ByteLevel => json!({
            "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true
        }),
        DecoderStep::Ctc {
            pad_token,
            word_delimiter_token,
            cleanup,
        } => json!({
            "type": "CTC", "pad_token": pad_token, "word_delimiter_token": word_delimiter_token, "cleanup": cleanup
        }),
        DecoderStep::Fuse => json!({"type": "Fuse"}),
        DecoderStep::Metaspace {
            replacement,
            strips_first,
        } => json!({
            "type": "Metaspace", "replacement": replacement, "split": true,
            "prepend_scheme": if *strips_first { "always" } else { "never" }
        }),
        DecoderStep::Replace {
            pattern: matcher,
            content,
        } => json!({"type": "Replace", "pattern": pattern(matcher), "content": content}),
        DecoderStep::Strip {
            content,
            start,
            stop,
        } => json!({"type": "Strip", "content": content, "start": start, "stop": stop}),
        DecoderStep::WordPiece { prefix, cleanup } => {
            json!({"type": "WordPiece", "prefix": prefix, "cleanup": cleanup})
        }
    }
}

fn push_model(json: &mut String, model: &PipelineModel) {
    let vocabulary = model.vocabulary();
    let tokens = vocabulary
        .tokens()
        .map(|(text, id)| format!("{}: {id}", json!(text)));
    match model {
        PipelineModel::Bpe(bpe) => push_bpe(json, bpe),
        // Written with a verdict, as a vocabulary.
        PipelineModel::Bytes(_) => {}
        PipelineModel::Unigram(unigram) => return push_unigram(json, unigram, model.unknown()),
        PipelineModel::WordPiece(words) => {
            let [unknown, prefix] = [words.unknown_token(), words.prefix()].map(|text| json!(text));
            json.push_str(&format!(
                "\"type\": \"WordPiece\",\n\"unk_token\": {unknown},\n\"continuing_subword_prefix\": {prefix},\n\
                 \"max_input_chars_per_word\": {}",
                words.max_chars()
            ));
        }
        PipelineModel::WordLevel(words) => {
            let unknown = json!(words.unknown_token());
            json.push_str(&format!(
                "\"type\": \"WordLevel\",\n\"unk_token\": {unknown}"
            ));
        }
    }
    push_list(json, "vocab", ["{", "}"], tokens);
}

fn push_bpe(json: &mut String, bpe: &BpeModel) {
    let options = bpe.options();
    json.push_str("\"type\": \"BPE\"");
    for (name, value) in [
        ("dropout", json!(options.dropout)),
        ("unk_token", json!(options.unknown_token)),
        (
            "continuing_subword_prefix",
            json!(options.continuing_subword_prefix),
        ),
        ("end_of_word_suffix", json!(options.end_of_word_suffix)),
        ("fuse_unk", json!(options.fuse_unknown)),
        ("byte_fallback", json!(options.byte_fallback)),
        ("ignore_merges", json!(options.whole_parts_first)),
    ] {
        json.push_str(&format!(",\n\"{name}\": {value}"));
    }
    let text = |id| json!(bpe.vocabulary().text(id).unwrap_or_default());
    let merges = bpe.merges().iter();
    let merges = merges.map(|merge| format!("[{}, {}]", text(merge.left), text(merge.right)));
    push_list(json, "merges", ["[", "]"], merges);
}

fn push_unigram(json: &mut String, unigram: &UnigramModel, unknown: Option<u32>) {
    let unknown = json!(unknown);
    json.push_str(&format!(
        "\"type\": \"Unigram\",\n\"unk_id\": {unknown},\n\"byte_fallback\": {}",
        unigram.has_byte_fallback()
    ));
    let text = |id| unigram.vocabulary().text(id).unwrap_or_default();
    let pieces = (0..).zip(unigram.scores());
    let pieces = pieces.map(|(id, score)| json!([text(id), score]).to_string());
    push_list(json, "vocab", ["[", "]"], pieces);
}
