//! A WordPiece pipeline as a `vocab.txt`.
//!
//! The file has the tokens alone, so the verdict compares the pipeline with the one that is read from
//! it, when the reader is told whether text becomes lower case: each component that differs is a
//! reason. An id without a token, and one whose token cannot be a line, is an empty line, which no text
//! gives.

use serde_json::Value;

use super::{FORMAT, normalizer_by_content, pipeline_of_bert, read_vocab_txt};
use crate::byte_bpe::ByteBpe;
use crate::formats::FileFormat;
use crate::formats::bytes::{ByteFiles, ByteFormatOptions, Missing};
use crate::formats::error::FormatError;
use crate::formats::{Reason, ReasonKind};
use crate::pipeline::{BertNormalizer, ModelVocabulary, NormalizerStep, Pipeline, WordPieceModel};

/// The tokens that a reason lists.
const MAX_LISTED: usize = 5;

/// The lines of the tokens, with the reasons why what is read from them differs.
pub(in crate::formats) fn write_vocab_txt(
    pipeline: &Pipeline,
    words: &WordPieceModel,
) -> Result<ByteFiles, FormatError> {
    let vocabulary = words.vocabulary();
    let file = lines(vocabulary)?;
    let bert = bert_normalizer(pipeline);
    let mut options = ByteFormatOptions::default();
    options.lowercase = bert.map(|bert| bert.lowercase);
    let read = read_vocab_txt(file.as_bytes(), &options)?;
    let mut files = ByteFiles::one("vocab.txt", file.into_bytes());
    let is_recognized = FileFormat::of_content(&files.files[0].1) == FORMAT;
    files.add_reasons((!is_recognized).then(|| {
        let explanation = "the file is not recognized as a vocab.txt: it has no line [UNK] in its first 64 KiB, or a piece \
                           there has a space or control character inside";
        Reason::new(ReasonKind::PieceText, explanation)
    }));
    files.add_reasons(different_pieces(vocabulary, read.model().vocabulary()));
    let (own, found) = (stages(pipeline), stages(&read));
    let has_effect_of = |bert: BertNormalizer| {
        let accents = bert.removes_accents();
        (
            bert.clean_text,
            bert.handle_chinese_chars,
            accents,
            bert.lowercase,
        )
    };
    if bert.map(has_effect_of) != bert_normalizer(&read).map(has_effect_of) {
        let kind = ReasonKind::NormalizationRules;
        files.add_reasons([other(
            kind,
            "the normalizer",
            &own["normalizer"],
            &found["normalizer"],
        )]);
    }
    for (kind, name, field) in [
        (ReasonKind::Pattern, "the pre-tokenizer", "/pre_tokenizer"),
        (ReasonKind::Setting, "the post-processor", "/post_processor"),
        (
            ReasonKind::UnknownCharacter,
            "the unknown token",
            "/model/unk_token",
        ),
        (
            ReasonKind::Setting,
            "the prefix of continuations",
            "/model/continuing_subword_prefix",
        ),
        (
            ReasonKind::Setting,
            "the largest number of characters of a word",
            "/model/max_input_chars_per_word",
        ),
    ] {
        let [own, found] = [&own, &found].map(|stages| stages.pointer(field));
        if own != found {
            let [own, found] = [own, found].map(|value| value.unwrap_or(&Value::Null));
            files.add_reasons([other(kind, name, own, found)]);
        }
    }
    files.add_reasons(different_added_tokens(
        &own["added_tokens"],
        &found["added_tokens"],
    ));
    // Programs make text lower case unless they are told otherwise, and the reader here goes by the
    // pieces.
    if let Some(lowercase) = options.lowercase
        && !(lowercase && normalizer_by_content(vocabulary).lowercase)
    {
        files.missing.push(Missing::Lowercase(lowercase));
    }
    // These do not change the ids of a text, and no call applies them on its own.
    for name in ["truncation", "padding", "decoder"] {
        if own[name] != found[name] {
            let json = own[name].to_string();
            files.missing.push(Missing::Component { name, json });
        }
    }
    Ok(files)
}

/// The normalizer, if the class `BertTokenizer` of transformers makes this pipeline of its vocabulary.
pub(in crate::formats) fn class_of_bert(pipeline: &Pipeline) -> Option<BertNormalizer> {
    let bert = bert_normalizer(pipeline)?;
    let tokens = pipeline.model().vocabulary().tokens();
    let made = pipeline_of_bert(ModelVocabulary::new(tokens), bert).ok()?;
    let has_all_roles = made.added_tokens().len() == super::SPECIAL_TOKENS.len();
    let [mut own, mut made] = [pipeline, &made].map(stages);
    // The class takes these from the tokenizer.json.
    for name in ["truncation", "padding"] {
        own[name] = Value::Null;
        made[name] = Value::Null;
    }
    (bert.clean_text && has_all_roles && own == made).then_some(bert)
}

/// The only step of the normalizer, if that is BERT's.
fn bert_normalizer(pipeline: &Pipeline) -> Option<BertNormalizer> {
    match pipeline.normalizer() {
        [NormalizerStep::Bert(bert)] => Some(*bert),
        _ => None,
    }
}

/// The tokens, each in the line of its id.
fn lines(vocabulary: &ModelVocabulary) -> Result<String, FormatError> {
    let largest = vocabulary.largest_id().unwrap_or_default();
    if largest > ByteBpe::MAX_ID {
        return Err(FormatError::IdTooLarge {
            format: FORMAT,
            place: crate::formats::Place::field("model.vocab"),
            id: largest.into(),
            limit: ByteBpe::MAX_ID,
        });
    }
    let is_line = |text: &&str| text.trim_end() == *text && !text.contains(['\n', '\r']);
    let mut lines = String::new();
    for id in 0..=largest {
        lines.push_str(vocabulary.text(id).filter(is_line).unwrap_or_default());
        lines.push('\n');
    }
    Ok(lines)
}

/// The reason if a token that text gives has another id in the file, or none.
fn different_pieces(own: &ModelVocabulary, read: &ModelVocabulary) -> Option<Reason> {
    let of_own = own.tokens().filter(|(text, id)| read.id(text) != Some(*id));
    let of_read = read.tokens().filter(|(text, _)| own.id(text).is_none());
    let texts = of_own.chain(of_read).map(|(text, _)| text);
    // No text gives the empty token.
    let listed = listed(texts.filter(|text| !text.is_empty()))?;
    let explanation = format!("pieces that cannot be lines, or share their ids: {listed}");
    Some(Reason::new(ReasonKind::PieceText, explanation))
}

/// The reason if an added token is not found as it is in the file.
fn different_added_tokens(own: &Value, read: &Value) -> Option<Reason> {
    let tokens = |list: &'_ Value| list.as_array().cloned().unwrap_or_default();
    let (own, read) = (tokens(own), tokens(read));
    let of_own = own.iter().filter(|token| !read.contains(token));
    let is_new = |token: &&Value| own.iter().all(|other| other["content"] != token["content"]);
    let differing = of_own.chain(read.iter().filter(is_new));
    let listed = listed(differing.map(|token| token["content"].as_str().unwrap_or_default()))?;
    let explanation = format!(
        "added tokens that are not those of a vocab.txt, which are [UNK], [SEP], [CLS], [PAD] and [MASK]: {listed}"
    );
    Some(Reason::new(ReasonKind::UserDefinedSymbol, explanation))
}

/// Texts in quotes, the first ones only if there are many; `None` if there are none.
fn listed<'t>(mut texts: impl Iterator<Item = &'t str>) -> Option<String> {
    let first: Vec<String> = texts
        .by_ref()
        .take(MAX_LISTED)
        .map(|text| format!("{text:?}"))
        .collect();
    let more = texts.count();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!first.is_empty()).then(|| first.join(", ") + &more)
}

/// The reason for a component that is another one in a tokenizer that is read from the file.
fn other(kind: ReasonKind, name: &str, own: &Value, found: &Value) -> Reason {
    Reason::new(
        kind,
        format!("{name} is {own}, and {found} in what is read from a vocab.txt"),
    )
}

/// The components but the vocabulary.
fn stages(pipeline: &Pipeline) -> Value {
    let mut stages: Value = serde_json::from_str(&pipeline.stages_to_json()).unwrap_or_default();
    // Which one comes first in the file has no effect.
    if let Value::Array(tokens) = &mut stages["added_tokens"] {
        tokens.sort_by_key(|token| token["id"].as_u64());
    }
    stages
}
