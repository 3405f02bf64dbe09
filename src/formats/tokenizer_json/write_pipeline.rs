//! A [`Pipeline`] as a `tokenizer.json`, which tokenizers 0.23.3 runs as the pipeline is run here.
//!
//! Every component has a form there: those that say the same in several forms have one of them. So
//! `BertProcessing` becomes `TemplateProcessing`, and sequences are flat.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

use super::byte_level::name_of_behavior;
use super::ordered_json::Json;
use crate::byte_bpe::SpecialToken;
use crate::pipeline::{
    DecoderStep, Matcher, MatcherTarget, Metaspace, NormalizerStep, Padding, Pipeline,
    PipelineModel, PostProcessorStep, PreTokenizerStep, PrependScheme, Side, Template,
    TemplatePart, Truncation, TruncationStrategy, UnicodeForm,
};

/// The file, as tokenizers writes it: of a pipeline that it gives the same form, the bytes of
/// `Tokenizer.save`.
pub(in crate::formats) fn write_pipeline(pipeline: &Pipeline) -> Vec<u8> {
    let settings = model_settings(pipeline.model());
    write_file("1.0", pipeline, components(pipeline).to_vec(), settings)
}

/// A file of a version, in which components and the settings of the model have this form.
pub(super) fn write_file(
    version: &str,
    pipeline: &Pipeline,
    components: Vec<(&'static str, Value)>,
    settings: Vec<(&'static str, Value)>,
) -> Vec<u8> {
    let mut added = added_tokens(pipeline.added_tokens());
    // Of those that are found in the normalized text, the first one of equal ones is found.
    if pipeline
        .added_tokens()
        .iter()
        .all(|token| !token.normalized)
    {
        added.sort_by_key(|token| token["id"].as_u64());
    }
    let parts = FileFields {
        truncation: pipeline.truncation(),
        padding: pipeline.padding(),
        added_tokens: added,
        components,
    };
    let file = parts.into_json(version, model(pipeline.model(), settings));
    // Neither writing to memory nor a value of these types fails.
    serde_json::to_vec_pretty(&file).unwrap_or_default()
}

/// The fields of a file before the model.
pub(super) struct FileFields<'p> {
    pub(super) truncation: Option<&'p Truncation>,
    pub(super) padding: Option<&'p Padding>,
    pub(super) added_tokens: Vec<Value>,
    pub(super) components: Vec<(&'static str, Value)>,
}

impl FileFields<'_> {
    /// The file, with its fields in the order of tokenizers.
    pub(super) fn into_json<'m>(self, version: &str, model: Json<'m>) -> Json<'m> {
        let mut fields = vec![
            ("version", Json::Value(json!(version))),
            ("truncation", Json::Value(truncation(self.truncation))),
            ("padding", Json::Value(padding(self.padding))),
            ("added_tokens", Json::Value(self.added_tokens.into())),
        ];
        let components = self.components.into_iter();
        fields.extend(components.map(|(name, value)| (name, Json::Value(value))));
        fields.push(("model", model));
        Json::Object(fields)
    }
}

/// Everything in the file but vocabulary and merges, of which the numbers are given, and the bytes of
/// rules, likewise.
pub(in crate::formats) fn write_stages(pipeline: &Pipeline) -> String {
    let mut stages = Map::new();
    stages.insert("truncation".to_owned(), truncation(pipeline.truncation()));
    stages.insert("padding".to_owned(), padding(pipeline.padding()));
    stages.insert(
        "added_tokens".to_owned(),
        added_tokens(pipeline.added_tokens()).into(),
    );
    for (name, mut value) in components(pipeline) {
        shorten_rules(&mut value);
        stages.insert(name.to_owned(), value);
    }
    let mut model = Map::new();
    for (name, value) in model_settings(pipeline.model()) {
        model.insert(name.to_owned(), value);
    }
    model.insert(
        "tokens".to_owned(),
        pipeline.model().vocabulary().len().into(),
    );
    if let PipelineModel::Bpe(bpe) = pipeline.model() {
        model.insert("merges".to_owned(), bpe.merges().len().into());
    }
    stages.insert("model".to_owned(), model.into());
    Value::from(stages).to_string()
}

/// Replaces the text of rules by its number of bytes.
fn shorten_rules(component: &mut Value) {
    match component {
        Value::Array(elements) => elements.iter_mut().for_each(shorten_rules),
        Value::Object(fields) => {
            if let Some(Value::String(rules)) = fields.remove("precompiled_charsmap") {
                let bytes = BASE64_STANDARD.decode(rules).map_or(0, |bytes| bytes.len());
                fields.insert("precompiled_charsmap_bytes".to_owned(), bytes.into());
            }
            fields.values_mut().for_each(shorten_rules);
        }
        _ => {}
    }
}

pub(super) fn added_tokens(tokens: &[SpecialToken]) -> Vec<Value> {
    let added = tokens.iter().map(|token| {
        let mut fields = fields_of_added_token(token);
        fields["id"] = json!(token.id);
        fields
    });
    added.collect()
}

/// The fields of an added token but its id.
pub(super) fn fields_of_added_token(token: &SpecialToken) -> Value {
    json!({"content": token.text, "single_word": token.single_word, "lstrip": token.lstrip,
        "rstrip": token.rstrip, "normalized": token.normalized, "special": token.special})
}

/// The components between the added tokens and the model.
pub(super) fn components(pipeline: &Pipeline) -> [(&'static str, Value); 4] {
    let normalizer = pipeline.normalizer().iter().map(normalizer).collect();
    let pre_tokenizer = pipeline.pre_tokenizer().iter().map(pre_tokenizer).collect();
    let post_processor = pipeline.post_processor().iter().map(post_processor);
    let decoder = pipeline.decoder();
    let decoder_steps = decoder
        .unwrap_or_default()
        .iter()
        .map(decoder_step)
        .collect();
    [
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
    ]
}

fn side(side: Side) -> &'static str {
    match side {
        Side::Left => "Left",
        Side::Right => "Right",
    }
}

fn truncation(truncation: Option<&Truncation>) -> Value {
    let Some(it) = truncation else {
        return Value::Null;
    };
    let strategy = match it.strategy {
        TruncationStrategy::LongestFirst => "LongestFirst",
        TruncationStrategy::OnlyFirst => "OnlyFirst",
        TruncationStrategy::OnlySecond => "OnlySecond",
    };
    json!({"direction": side(it.direction), "max_length": it.max_length, "strategy": strategy, "stride": it.stride})
}

fn padding(padding: Option<&Padding>) -> Value {
    let Some(it) = padding else {
        return Value::Null;
    };
    let strategy = match it.fixed_length {
        Some(length) => json!({ "Fixed": length }),
        None => json!("BatchLongest"),
    };
    json!({
        "strategy": strategy, "direction": side(it.direction), "pad_to_multiple_of": it.pad_to_multiple_of,
        "pad_id": it.pad_id, "pad_type_id": it.pad_type_id, "pad_token": it.pad_token
    })
}

/// Several steps as a sequence, one as it is.
pub(super) fn steps(name: &str, mut steps: Vec<Value>) -> Value {
    match steps.len() {
        0 => Value::Null,
        1 => steps.remove(0),
        _ => json!({"type": "Sequence", name: steps}),
    }
}

/// The source of a pattern.
fn pattern(matcher: &Matcher) -> Value {
    match matcher.target() {
        MatcherTarget::Text(text) => json!({ "String": text }),
        MatcherTarget::Expression(pattern) => json!({ "Regex": pattern.expression() }),
    }
}

/// The type of a step that changes a text.
pub(super) fn type_of_normalizer(step: &NormalizerStep) -> String {
    type_of(&normalizer(step))
}

/// The type of a step that cuts a text.
pub(super) fn type_of_pre_tokenizer(step: &PreTokenizerStep) -> String {
    type_of(&pre_tokenizer(step))
}

fn type_of(component: &Value) -> String {
    component["type"].as_str().unwrap_or_default().to_owned()
}

fn normalizer(step: &NormalizerStep) -> Value {
    match step {
        NormalizerStep::Bert(bert, _) => json!({
            "type": "BertNormalizer", "clean_text": bert.clean_text, "handle_chinese_chars": bert.handle_chinese_chars,
            "strip_accents": bert.strip_accents, "lowercase": bert.lowercase
        }),
        NormalizerStep::ByteLevel => json!({"type": "ByteLevel"}),
        NormalizerStep::Lowercase => json!({"type": "Lowercase"}),
        NormalizerStep::Unicode(form, _) => json!({ "type": match form {
            UnicodeForm::Nfc => "NFC",
            UnicodeForm::Nfd => "NFD",
            UnicodeForm::Nfkc => "NFKC",
            UnicodeForm::Nfkd => "NFKD",
        }}),
        NormalizerStep::Nmt => json!({"type": "Nmt"}),
        NormalizerStep::Precompiled(rules) => {
            let charsmap = BASE64_STANDARD.encode(rules.bytes());
            json!({"type": "Precompiled", "precompiled_charsmap": charsmap})
        }
        NormalizerStep::Prepend(text) => json!({"type": "Prepend", "prepend": text}),
        NormalizerStep::Replace {
            pattern: matcher,
            content,
        } => json!({"type": "Replace", "pattern": pattern(matcher), "content": content}),
        NormalizerStep::Strip { left, right } => {
            json!({"type": "Strip", "strip_left": left, "strip_right": right})
        }
        NormalizerStep::StripAccents => json!({"type": "StripAccents"}),
    }
}

pub(super) fn pre_tokenizer(step: &PreTokenizerStep) -> Value {
    match step {
        PreTokenizerStep::Bert => json!({"type": "BertPreTokenizer"}),
        PreTokenizerStep::ByteLevel {
            add_prefix_space,
            use_regex,
        } => json!({
            "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex
        }),
        PreTokenizerStep::CharDelimiter(delimiter) => {
            json!({"type": "CharDelimiterSplit", "delimiter": delimiter})
        }
        PreTokenizerStep::Digits { individual } => {
            json!({"type": "Digits", "individual_digits": individual})
        }
        PreTokenizerStep::FixedLength(length) => json!({"type": "FixedLength", "length": length}),
        PreTokenizerStep::Metaspace(Metaspace {
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
        PreTokenizerStep::Punctuation(it) => {
            json!({"type": "Punctuation", "behavior": name_of_behavior(*it)})
        }
        PreTokenizerStep::Split {
            pattern: matcher,
            behavior: it,
            invert,
        } => json!({
            "type": "Split", "pattern": pattern(matcher), "behavior": name_of_behavior(*it), "invert": invert
        }),
        PreTokenizerStep::UnicodeScripts => json!({"type": "UnicodeScripts"}),
        PreTokenizerStep::Whitespace => json!({"type": "Whitespace"}),
        PreTokenizerStep::WhitespaceSplit => json!({"type": "WhitespaceSplit"}),
    }
}

fn post_processor(step: &PostProcessorStep) -> Value {
    match step {
        PostProcessorStep::TrimOffsets { add_prefix_space } => json!({
            "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": true
        }),
        PostProcessorStep::NumberSequences => json!({
            "type": "ByteLevel", "add_prefix_space": true, "trim_offsets": false, "use_regex": true
        }),
        PostProcessorStep::Template(template) => template_processing(template),
    }
}

fn template_processing(template: &Template) -> Value {
    let mut special = Map::new();
    let mut part = |part: &TemplatePart| match part {
        TemplatePart::Sequence { is_second, type_id } => {
            let id = if *is_second { "B" } else { "A" };
            json!({"Sequence": {"id": id, "type_id": type_id}})
        }
        TemplatePart::Special { tokens, type_id } => {
            let mut id = tokens.texts.join(" ");
            let token = |id: &str| json!({"id": id, "ids": tokens.ids, "tokens": tokens.texts});
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

/// The fields of a model but vocabulary and merges.
pub(super) fn model_settings(model: &PipelineModel) -> Vec<(&'static str, Value)> {
    match model {
        PipelineModel::Bpe(bpe) => {
            let options = bpe.options();
            vec![
                ("type", json!("BPE")),
                // The shortest number that is this one of 32 bits.
                (
                    "dropout",
                    json!(
                        options
                            .dropout
                            .and_then(|it| it.to_string().parse::<f64>().ok())
                    ),
                ),
                ("unk_token", json!(options.unknown_token)),
                (
                    "continuing_subword_prefix",
                    json!(options.continuing_subword_prefix),
                ),
                ("end_of_word_suffix", json!(options.end_of_word_suffix)),
                ("fuse_unk", json!(options.fuse_unknown)),
                ("byte_fallback", json!(options.byte_fallback)),
                ("ignore_merges", json!(options.whole_parts_first)),
            ]
        }
        PipelineModel::Bytes(bytes) => vec![
            ("type", json!("BPE")),
            (
                "ignore_merges",
                json!(bytes.byte_bpe().looks_up_pretokens()),
            ),
        ],
        PipelineModel::Unigram(unigram) => vec![
            ("type", json!("Unigram")),
            ("unk_id", json!(model.unknown())),
            ("byte_fallback", json!(unigram.has_byte_fallback())),
        ],
        PipelineModel::WordPiece(words) => vec![
            ("type", json!("WordPiece")),
            ("unk_token", json!(words.unknown_token())),
            ("continuing_subword_prefix", json!(words.prefix())),
            ("max_input_chars_per_word", json!(words.max_chars())),
        ],
        PipelineModel::WordLevel(words) => vec![
            ("type", json!("WordLevel")),
            ("unk_token", json!(words.unknown_token())),
        ],
    }
}

/// The model with all fields, in the order of tokenizers.
pub(super) fn model<'p>(
    model: &'p PipelineModel,
    settings: Vec<(&'static str, Value)>,
) -> Json<'p> {
    let mut fields: Vec<_> = settings
        .into_iter()
        .map(|(name, value)| (name, Json::Value(value)))
        .collect();
    match model {
        PipelineModel::Unigram(unigram) => fields.insert(2, ("vocab", Json::Pieces(unigram))),
        PipelineModel::WordLevel(words) => {
            fields.insert(1, ("vocab", Json::Vocabulary(words.vocabulary())));
        }
        _ => fields.push(("vocab", Json::Vocabulary(model.vocabulary()))),
    }
    if let PipelineModel::Bpe(bpe) = model {
        fields.push(("merges", Json::Merges(bpe)));
    }
    Json::Object(fields)
}
