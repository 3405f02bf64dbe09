//! `tokenizer.json` files with a model `WordPiece`.
//!
//! | component | here |
//! |---|---|
//! | normalizer `BertNormalizer`, or none | [`BertNormalizer`] |
//! | pre-tokenizer `BertPreTokenizer` | the words of [`wordpiece`](crate::wordpiece) |
//! | post-processor `BertProcessing` or `RobertaProcessing`; `TemplateProcessing` with at most one token on each side of the text | the tokens for the beginning and the end of a text |
//! | decoder `WordPiece`, or none | [`WordDecoding`] |
//! | added tokens | special tokens with their flags, and the ids that `tokenizers` gives them |
//!
//! Other post-processors leave the tokens for the ends unknown; they concern no other ids. All
//! other components are refused.

use std::collections::{HashMap, HashSet};

use super::byte_level::special_tokens;
use super::parse::{JsonFile, JsonText, JsonVocab};
use super::setting_reasons;
use crate::formats::bytes::{self, ByteFormatError, ByteFormatOptions, Place, json_error};
use crate::formats::wordpiece::WordPieceVocabulary;
use crate::formats::{FileFormat, Verdict};
use crate::piece::PieceId;
use crate::wordpiece::{BertNormalizer, WordDecoding, WordPieceParts};

const FORMAT: FileFormat = FileFormat::TokenizerJson;

/// What only these files have.
#[derive(serde::Deserialize)]
struct WordPieceFile<'j> {
    #[serde(borrow, default)]
    normalizer: Option<JsonBertNormalizer<'j>>,
    #[serde(borrow, default)]
    post_processor: Option<JsonPostProcessor<'j>>,
    #[serde(borrow, default)]
    decoder: Option<JsonDecoder<'j>>,
    model: JsonLimits,
}

#[derive(serde::Deserialize)]
struct JsonLimits {
    max_input_chars_per_word: usize,
}

#[derive(serde::Deserialize)]
struct JsonBertNormalizer<'j> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'j>,
    #[serde(default)]
    clean_text: Option<bool>,
    #[serde(default)]
    handle_chinese_chars: Option<bool>,
    #[serde(default)]
    strip_accents: Option<bool>,
    #[serde(default)]
    lowercase: Option<bool>,
}

#[derive(serde::Deserialize)]
struct JsonDecoder<'j> {
    #[serde(borrow, rename = "type")]
    kind: JsonText<'j>,
    #[serde(borrow, default)]
    prefix: Option<JsonText<'j>>,
    #[serde(default)]
    cleanup: Option<bool>,
}

#[derive(serde::Deserialize)]
struct JsonPostProcessor<'j> {
    #[serde(borrow, default)]
    cls: Option<(JsonText<'j>, u32)>,
    #[serde(borrow, default)]
    sep: Option<(JsonText<'j>, u32)>,
    #[serde(borrow, default)]
    single: Option<Vec<JsonTemplatePart<'j>>>,
    #[serde(borrow, default)]
    special_tokens: Option<HashMap<JsonText<'j>, JsonTemplateToken>>,
}

#[derive(serde::Deserialize)]
enum JsonTemplatePart<'j> {
    SpecialToken(#[serde(borrow)] JsonTemplateId<'j>),
    Sequence(serde::de::IgnoredAny),
}

#[derive(serde::Deserialize)]
struct JsonTemplateId<'j> {
    #[serde(borrow)]
    id: JsonText<'j>,
}

#[derive(serde::Deserialize)]
struct JsonTemplateToken {
    ids: Vec<u32>,
}

/// Reads a file; `None` if its model is not WordPiece.
pub(in crate::formats) fn read_wordpiece(
    json: &str,
    options: &ByteFormatOptions,
) -> Result<Option<WordPieceVocabulary>, ByteFormatError> {
    // Almost all other files do not have the name at all, and are parsed by their own reader only.
    if memchr::memmem::find(json.as_bytes(), b"\"WordPiece\"").is_none() {
        return Ok(None);
    }
    let file = JsonFile::parse(json).map_err(|error| json_error(FORMAT, &error))?;
    let model = &file.model;
    if model.kind.as_deref() != Some("WordPiece") {
        return Ok(None);
    }
    options.refuse_pattern(FORMAT)?;
    let rest: WordPieceFile<'_> =
        serde_json::from_str(json).map_err(|error| json_error(FORMAT, &error))?;
    let Some(JsonVocab::Ids(entries)) = &model.vocab else {
        return Err(syntax(
            "model.vocab",
            "it is not an object of tokens and ids",
        ));
    };
    let mut texts = HashSet::with_capacity(entries.len());
    for (index, (text, id)) in entries.iter().enumerate() {
        if !texts.insert(&**text) {
            return Err(ByteFormatError::DuplicateToken {
                format: FORMAT,
                place: Place::entry("model.vocab", index),
                token: format!("{:?}", &**text),
                first: *id,
            });
        }
    }
    let pieces = entries.iter().map(|(text, id)| (text.to_string(), *id));
    let unknown = model.unk_token.as_deref();
    let prefix = model.continuing_subword_prefix.as_deref();
    let parts = WordPieceParts {
        special_tokens: special_tokens(&file, entries)?,
        unknown: required("model.unk_token", unknown)?.to_owned(),
        prefix: required("model.continuing_subword_prefix", prefix)?.to_owned(),
        max_chars: rest.model.max_input_chars_per_word,
        normalizer: normalizer(rest.normalizer.as_ref())?,
        text_ends: text_ends(rest.post_processor.as_ref()),
        decoding: decoding(rest.decoder.as_ref())?,
        ..WordPieceParts::new(pieces.collect())
    };
    let pre_tokenizer = file
        .pre_tokenizer
        .as_ref()
        .map(|component| &*component.kind);
    if pre_tokenizer != Some("BertPreTokenizer") {
        return Err(unsupported("pre_tokenizer", pre_tokenizer));
    }
    let mut verdict = Verdict::default();
    verdict.add_all(setting_reasons(&file));
    Ok(Some(WordPieceVocabulary { parts, verdict }))
}

fn normalizer(json: Option<&JsonBertNormalizer<'_>>) -> Result<BertNormalizer, ByteFormatError> {
    let Some(json) = json else {
        return Ok(BertNormalizer::NONE);
    };
    if &*json.kind != "BertNormalizer" {
        return Err(unsupported("normalizer", Some(&json.kind)));
    }
    Ok(BertNormalizer {
        clean_text: required("normalizer.clean_text", json.clean_text)?,
        handle_chinese_chars: required(
            "normalizer.handle_chinese_chars",
            json.handle_chinese_chars,
        )?,
        strip_accents: json.strip_accents,
        lowercase: required("normalizer.lowercase", json.lowercase)?,
    })
}

fn decoding(json: Option<&JsonDecoder<'_>>) -> Result<WordDecoding, ByteFormatError> {
    let Some(json) = json else {
        // tokenizers then writes spaces between the pieces.
        return Ok(WordDecoding {
            prefix: None,
            cleanup: false,
        });
    };
    if &*json.kind != "WordPiece" {
        return Err(unsupported("decoder", Some(&json.kind)));
    }
    let prefix = required("decoder.prefix", json.prefix.as_deref())?;
    Ok(WordDecoding {
        prefix: Some(prefix.to_owned()),
        cleanup: required("decoder.cleanup", json.cleanup)?,
    })
}

/// The tokens before and after a text.
fn text_ends(json: Option<&JsonPostProcessor<'_>>) -> [Option<PieceId>; 2] {
    let Some(json) = json else {
        return [None; 2];
    };
    let Some(template) = &json.single else {
        let ends = [&json.cls, &json.sep].map(Option::as_ref);
        return ends.map(|end| end.map(|(_, id)| PieceId::new(*id)));
    };
    let id = |name: &JsonText<'_>| match &*json.special_tokens.as_ref()?.get(name)?.ids {
        [id] => Some(PieceId::new(*id)),
        _ => None,
    };
    use JsonTemplatePart::{Sequence, SpecialToken};
    match &template[..] {
        [SpecialToken(bos), Sequence(_), SpecialToken(eos)] => [id(&bos.id), id(&eos.id)],
        [SpecialToken(bos), Sequence(_)] => [id(&bos.id), None],
        [Sequence(_), SpecialToken(eos)] => [None, id(&eos.id)],
        _ => [None; 2],
    }
}

fn required<T>(field: &str, value: Option<T>) -> Result<T, ByteFormatError> {
    value.ok_or_else(|| syntax(field, "it is missing"))
}

fn syntax(field: &str, problem: &str) -> ByteFormatError {
    bytes::syntax(FORMAT, Place::field(field), problem)
}

fn unsupported(field: &str, found: Option<&str>) -> ByteFormatError {
    ByteFormatError::Unsupported {
        format: FORMAT,
        place: Place::field(field),
        found: found.map_or_else(|| "missing".to_owned(), |kind| format!("{kind:?}")),
        remedy: "WordPiece files have BertNormalizer or no normalizer, BertPreTokenizer, and the decoder WordPiece or none",
    }
}
