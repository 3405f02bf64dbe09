//! A WordPiece pipeline as a `vocab.txt`.
//!
//! The file has the tokens alone, so the verdict compares the pipeline with the one that is read from
//! it, when the reader is told whether text becomes lower case: each component that differs is a
//! reason. An id without a token, and one whose token cannot be a line, is an empty line, which no text
//! gives.

use serde_json::Value;

use super::{FORMAT, normalizer_by_content, pipeline_of_bert, read_vocab_txt};
use crate::formats::FileFormat;
use crate::formats::bytes::{ByteFiles, ByteFormatOptions, Missing};
use crate::formats::error::FormatError;
use crate::formats::{Reason, ReasonKind};
use crate::pipeline::{
    BertNormalizer, ModelVocabulary, NormalizerStep, Pipeline, UnicodeVersion, WordPieceModel,
};

/// The tokens that a reason lists.
const MAX_LISTED: usize = 5;

/// The lines of the tokens, with the reasons why what is read from them differs.
pub(in crate::formats) fn write_vocab_txt(
    pipeline: &Pipeline,
    words: &WordPieceModel,
) -> Result<ByteFiles, FormatError> {
    let vocabulary = words.vocabulary();
    let file = lines(vocabulary);
    let bert = bert_normalizer(pipeline);
    let mut options = ByteFormatOptions::default();
    options.lowercase = bert.map(|bert| bert.lowercase);
    let read = read_vocab_txt(file.as_bytes(), &options)?;
    let mut files = ByteFiles::one("vocab.txt", file.into_bytes());
    let taken_for = FileFormat::of_content(&files.files[0].1);
    files.add_reasons((taken_for != FORMAT).then(|| {
        let explanation = format!(
            "the file is taken for a {taken_for} file: a vocab.txt has a line [UNK] in its first 64 KiB, and no piece \
             there has a space or control character inside"
        );
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
    let made = pipeline_of_bert(ModelVocabulary::new(tokens), bert, UnicodeVersion::V9).ok()?;
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
        [NormalizerStep::Bert(bert, UnicodeVersion::V9)] => Some(*bert),
        _ => None,
    }
}

/// The tokens, each in the line of its id. The ids of all files are small numbers.
fn lines(vocabulary: &ModelVocabulary) -> String {
    let is_line = |text: &&str| text.trim_end() == *text && !text.contains(['\n', '\r']);
    let mut lines = String::new();
    for id in 0..=vocabulary.largest_id().unwrap_or_default() {
        lines.push_str(vocabulary.text(id).filter(is_line).unwrap_or_default());
        lines.push('\n');
    }
    lines
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::formats::bytes::ByteFileOptions;
    use crate::formats::{Verdict, read_pipeline};

    /// The `tokenizer.json` of a list of pieces.
    fn file() -> Value {
        let tokenizer = read_vocab_txt(
            b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n.\n",
            &ByteFormatOptions::default(),
        );
        serde_json::from_slice(&tokenizer.unwrap().to_tokenizer_json().unwrap()).unwrap()
    }

    fn pipeline(file: &Value) -> Pipeline {
        read_pipeline(file.to_string().as_bytes()).unwrap()
    }

    fn written(file: &Value) -> ByteFiles {
        let format = FileFormat::VocabTxt;
        let options = ByteFileOptions::default();
        pipeline(file).to_format(format, &options).unwrap()
    }

    fn kinds(verdict: &Verdict) -> Vec<ReasonKind> {
        verdict.reasons().iter().map(|reason| reason.kind).collect()
    }

    #[test]
    fn what_a_list_of_pieces_does_not_hold_is_a_reason() {
        let token = json!({"id": 8, "content": "<x>", "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true});
        let rows = [
            (
                "/normalizer/clean_text",
                json!(false),
                ReasonKind::NormalizationRules,
            ),
            (
                "/normalizer/strip_accents",
                json!(false),
                ReasonKind::NormalizationRules,
            ),
            (
                "/normalizer",
                json!({"type": "Lowercase"}),
                ReasonKind::NormalizationRules,
            ),
            (
                "/pre_tokenizer",
                json!({"type": "Whitespace"}),
                ReasonKind::Pattern,
            ),
            ("/post_processor", Value::Null, ReasonKind::Setting),
            (
                "/added_tokens/0/lstrip",
                json!(true),
                ReasonKind::UserDefinedSymbol,
            ),
            ("/added_tokens/4", token, ReasonKind::UserDefinedSymbol),
            (
                "/model/max_input_chars_per_word",
                json!(99),
                ReasonKind::Setting,
            ),
            (
                "/model/continuing_subword_prefix",
                json!("@@"),
                ReasonKind::Setting,
            ),
            ("/model/unk_token", json!("a"), ReasonKind::UnknownCharacter),
            ("/model/vocab/.", json!(5), ReasonKind::PieceText),
        ];
        for (place, value, kind) in rows {
            let mut file = file();
            *file.pointer_mut(place).unwrap() = value;
            let verdict = written(&file).verdict;
            assert_eq!(kinds(&verdict), [kind], "{place}: {verdict}");
        }
        for text in ["a ", "a\nb", "\u{2003}"] {
            let mut file = file();
            file["model"]["vocab"][text] = json!(8);
            assert_eq!(
                kinds(&written(&file).verdict),
                [ReasonKind::PieceText],
                "{text:?}"
            );
        }
        // The reader takes the file for something else.
        let mut file = file();
        file["model"]["vocab"]["a b"] = json!(8);
        let verdict = written(&file).verdict;
        assert_eq!(kinds(&verdict), [ReasonKind::PieceText]);
        assert!(
            verdict.to_string().contains("taken for a .model file"),
            "{verdict}"
        );
    }

    #[test]
    fn what_does_not_change_ids_is_no_reason() {
        let same = |change: &dyn Fn(&mut Value)| {
            let mut file = file();
            change(&mut file);
            let written = written(&file);
            assert!(written.verdict.is_exact(), "{}", written.verdict);
            written
        };
        let gap = same(&|file| file["model"]["vocab"]["."] = json!(9));
        assert!(gap.files[0].1.ends_with(b"##b\n\n\n.\n"));
        assert!(gap.missing.is_empty());
        let accents = same(&|file| file["normalizer"]["strip_accents"] = json!(true));
        assert!(accents.missing.is_empty());
        let decoder = same(&|file| file["decoder"] = Value::Null);
        assert!(matches!(
            &decoder.missing[..],
            [Missing::Component {
                name: "decoder",
                ..
            }]
        ));
    }

    #[test]
    fn lower_case_is_stated_unless_it_is_what_every_reader_takes_for_granted() {
        for (piece, lowercase, stated) in [
            ("c", true, None),
            ("c", false, Some(false)),
            ("C", true, Some(true)),
            ("C", false, Some(false)),
        ] {
            let mut file = file();
            file["model"]["vocab"][piece] = json!(8);
            file["normalizer"]["lowercase"] = json!(lowercase);
            let written = written(&file);
            assert!(written.verdict.is_exact(), "{}", written.verdict);
            let expected: Vec<Missing> = stated.map(Missing::Lowercase).into_iter().collect();
            assert_eq!(written.missing, expected, "{piece} {lowercase}");
        }
    }

    #[test]
    fn a_folder_has_the_class_of_bert_only_if_that_makes_the_same_pipeline() {
        let class = |change: &dyn Fn(&mut Value)| {
            let mut file = file();
            change(&mut file);
            let folder = pipeline(&file)
                .to_format(FileFormat::Folder, &ByteFileOptions::default())
                .unwrap();
            let config: Value = serde_json::from_slice(&folder.files[0].1).unwrap();
            assert_eq!(
                config["cls_token"].is_null(),
                config["tokenizer_class"] != "BertTokenizer"
            );
            (config["tokenizer_class"] == "BertTokenizer").then(|| config["do_lower_case"].clone())
        };
        assert_eq!(class(&|_| {}), Some(json!(true)));
        assert_eq!(
            class(&|file| file["normalizer"]["lowercase"] = json!(false)),
            Some(json!(false))
        );
        assert_eq!(
            class(&|file| file["normalizer"]["clean_text"] = json!(false)),
            None
        );
        assert_eq!(class(&|file| file["post_processor"] = Value::Null), None);
        assert_eq!(
            class(&|file| file["model"]["max_input_chars_per_word"] = json!(99)),
            None
        );
        assert_eq!(class(&|file| file["decoder"] = Value::Null), None);
    }
}
