//! The `vocab.txt` of BERT: WordPiece pieces.
//!
//! It has a piece in each line; the number of the line, from 0, is its id. White space at the end of a
//! line does not count, a byte order mark is a part of the first piece, and of equal lines the last one
//! counts, as in tokenizers. A file is recognized by a line `[UNK]` among its first 64 KiB, in which no
//! line has a space or control character inside.
//!
//! Everything else is that of `BertWordPieceTokenizer` of tokenizers. The file does not say whether
//! text becomes lower case, so this is decided by its pieces, unless the caller does: a piece with
//! an upper-case letter of ASCII other than the special tokens, which have brackets, is one that
//! lower-case text never has. `write` makes such a file of a pipeline.

mod write;

use std::sync::Arc;

pub(super) use self::write::{class_of_bert, write_vocab_txt};
use super::FileFormat;
use super::bytes::ByteFormatOptions;
use super::opened::{START_BYTES, check_size, utf8};
use crate::byte_bpe::SpecialToken;
use crate::formats::error::FormatError;
use crate::pipeline::{
    BertNormalizer, DecoderStep, ModelVocabulary, NormalizerStep, Pipeline, PipelineError,
    PipelineModel, PipelineParts, PostProcessorStep, PreTokenizerStep, SpecialTokens, Template,
    TemplateKind, TemplatePart, UnicodeVersion, WordPieceModel, has_capital,
};

const FORMAT: FileFormat = FileFormat::VocabTxt;
/// The special tokens of `BertWordPieceTokenizer`.
const SPECIAL_TOKENS: [&str; 5] = ["[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"];
/// What pieces that continue a word begin with.
const PREFIX: &str = "##";
/// Words of more characters are unknown.
const MAX_CHARS: usize = 100;

/// Whether bytes begin with lines of a `vocab.txt`.
pub(super) fn is_start(start: &[u8]) -> bool {
    let start = &start[..start.len().min(START_BYTES)];
    let mut lines = start
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let is_piece = |line: &[u8]| line.iter().all(|byte| !matches!(byte, 0..=b' ' | 0x7F));
    lines.clone().any(|line| line == b"[UNK]") && lines.all(is_piece)
}

/// Reads the content of a file.
pub(crate) fn read_vocab_txt(
    file: &[u8],
    options: &ByteFormatOptions,
) -> Result<Pipeline, FormatError> {
    check_size(FORMAT, file)?;
    let text = utf8(FORMAT, file)?;
    if options.pretokenizer.is_some() || options.special_tokens.is_some() {
        return Err(FormatError::PatternGiven { format: FORMAT });
    }
    let vocabulary = ModelVocabulary::new(text.lines().map(str::trim_end).zip(0..));
    let mut normalizer = options
        .bert_normalizer
        .unwrap_or_else(|| normalizer_by_content(&vocabulary));
    normalizer.lowercase = options.lowercase.unwrap_or(normalizer.lowercase);
    let unicode = options.unicode.unwrap_or_default();
    pipeline_of_bert(vocabulary, normalizer, unicode)
}

/// The normalizer of a list that nothing is said about.
fn normalizer_by_content(vocabulary: &ModelVocabulary) -> BertNormalizer {
    match vocabulary.tokens().any(|(text, _)| has_capital(text)) {
        true => BertNormalizer::CASED,
        false => BertNormalizer::default(),
    }
}

/// The pipeline of `BertWordPieceTokenizer`.
fn pipeline_of_bert(
    vocabulary: ModelVocabulary,
    normalizer: BertNormalizer,
    unicode: UnicodeVersion,
) -> Result<Pipeline, FormatError> {
    let special = SPECIAL_TOKENS.into_iter();
    let special = special.filter_map(|text| Some(SpecialToken::new(text, vocabulary.id(text)?)));
    let parts = PipelineParts {
        added_tokens: special.collect(),
        normalizer: Arc::new([NormalizerStep::Bert(normalizer, unicode)]),
        pre_tokenizer: Arc::new([PreTokenizerStep::Bert]),
        post_processor: template(&vocabulary).into_iter().collect(),
        decoder: Some(Arc::new([DecoderStep::WordPiece {
            prefix: PREFIX.to_owned(),
            cleanup: true,
        }])),
        model_size: u32::try_from(vocabulary.len()).unwrap_or(u32::MAX),
        model: Arc::new(PipelineModel::WordPiece(Box::new(
            WordPieceModel::new(vocabulary, "[UNK]", PREFIX, MAX_CHARS)
                .map_err(|_| PipelineError::TooLarge)?,
        ))),
        truncation: None,
        padding: None,
    };
    Ok(Pipeline::new(parts)?)
}

/// `[CLS]` before a text and `[SEP]` after each, if there are both.
fn template(vocabulary: &ModelVocabulary) -> Option<PostProcessorStep> {
    let special = |text: &str, type_id| {
        Some(TemplatePart::Special {
            tokens: SpecialTokens::one(vocabulary.id(text)?, text),
            type_id,
        })
    };
    let sequence = |is_second, type_id| TemplatePart::Sequence { is_second, type_id };
    let (first, last) = (special("[CLS]", 0)?, special("[SEP]", 0)?);
    let single = vec![first, sequence(false, 0), last];
    let mut pair = single.clone();
    pair.extend([sequence(true, 1), special("[SEP]", 1)?]);
    Some(PostProcessorStep::Template(Template {
        single,
        pair,
        kind: TemplateKind::Own,
    }))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::Model;
    use crate::piece::PieceId;
    use crate::{
        EncodeError, EncodeOptions, ExtraOption, NoModelError, OpenError, SampleOptions, Tokenizer,
    };

    const VOCAB: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\n##s\n.\nzoe\n";

    fn file() -> Value {
        let vocab = VOCAB
            .lines()
            .zip(0..)
            .map(|(piece, id)| (piece.to_owned(), json!(id)));
        let special = |id: u32, content: &str| {
            json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true})
        };
        json!({
            "version": "1.0", "truncation": null, "padding": null,
            "added_tokens": [special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]")],
            "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                "strip_accents": null, "lowercase": true},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                    {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
                "pair": [], "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]},
                    "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100, "vocab": serde_json::Map::from_iter(vocab)},
        })
    }

    #[test]
    fn both_files_give_one_tokenizer() {
        for file in [
            VOCAB.as_bytes(),
            &VOCAB.replace('\n', " \r\n").into_bytes(),
            file().to_string().as_bytes(),
        ] {
            let tokenizer = Tokenizer::from_bytes(file).unwrap();
            let text = "Unables. Zo\u{eb} q [SEP]";
            let mut encoder = tokenizer.encoder();
            let tokens = encoder.tokens(text);
            let ids: Vec<u32> = tokens.ids().map(PieceId::get).collect();
            assert_eq!(ids, [5, 6, 7, 8, 9, 1, 1, 1, 1]);
            let surfaces: Vec<&[u8]> = tokens.iter().map(|token| token.surface()).collect();
            assert_eq!(
                surfaces[..5],
                [&b"Un"[..], b"able", b"s", b".", "Zo\u{eb}".as_bytes()]
            );
            let text = "unables. zoe [UNK] [UNK] [UNK] [UNK]";
            assert_eq!(tokenizer.decode(&ids).unwrap(), text);
            let text = tokenizer.decode_without_special(ids).unwrap();
            assert_eq!(text, "unables. zoe");
            let ends = tokenizer
                .piece_to_id("[CLS]")
                .zip(tokenizer.piece_to_id("[SEP]"));
            assert_eq!(tokenizer.bos_id().zip(tokenizer.eos_id()), ends);
            let options = EncodeOptions::default()
                .with_extra([ExtraOption::Bos, ExtraOption::Eos])
                .with_allowed_special(["[SEP]"]);
            let mut encoder = tokenizer.encoder_with(&options).unwrap();
            let ids: Vec<u32> = encoder
                .encode("un [SEP]")
                .iter()
                .map(|id| id.get())
                .collect();
            assert_eq!(ids, [2, 5, 3, 3]);
            let long = "unables zo\u{eb} \u{4e2d}".repeat(30_000);
            let options = EncodeOptions::default();
            assert_eq!(
                tokenizer.encode_long(&long, &options).unwrap(),
                tokenizer.encode(&long)
            );
            let mut encoder = tokenizer.encoder();
            let sampled = encoder.sample(
                "un",
                &SampleOptions::Dropout { probability: 0.1 },
                &mut crate::Rng::with_seed(1),
            );
            assert_eq!(sampled.unwrap_err(), EncodeError::NoSampling);
        }
    }

    #[test]
    fn recorded_texts_have_the_ids_spans_and_text_of_tokenizers() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/wordpiece");
        let tokenizer = Tokenizer::open(folder).unwrap();
        let special = tokenizer.special_tokens().map(|(_, text)| text.to_vec());
        let options = EncodeOptions::default()
            .with_extra([ExtraOption::Bos, ExtraOption::Eos])
            .with_allowed_special(special);
        let mut with_special = tokenizer.encoder_with(&options).unwrap();
        let mut encoder = tokenizer.encoder();
        let rows = std::fs::read_to_string(format!("{folder}/encoded.jsonl")).unwrap();
        let rows: Vec<Value> = rows
            .lines()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect();
        assert_eq!(rows.len(), 105);
        let list = Tokenizer::open(format!("{folder}/vocab.txt")).unwrap();
        for row in rows {
            let text = row["text"].as_str().unwrap();
            let ids = encoder.encode(text).to_vec();
            let numbers =
                |ids: &[PieceId]| json!(ids.iter().map(|id| id.get()).collect::<Vec<u32>>());
            assert_eq!(numbers(&ids), row["plain"], "{text:?}");
            let spans: Vec<_> = encoder
                .tokens(text)
                .iter()
                .map(|token| token.span())
                .collect();
            let spans: Vec<_> = spans
                .into_iter()
                .map(|span| [span.start, span.end])
                .collect();
            assert_eq!(json!(spans), row["spans"], "{text:?}");
            assert_eq!(
                json!(tokenizer.decode_without_special(&ids).unwrap()),
                row["decoded"],
                "{text:?}"
            );
            assert_eq!(
                numbers(with_special.encode(text)),
                row["special"],
                "{text:?}"
            );
            if !text.contains(['Z', '<']) {
                assert_eq!(list.encode(text), ids, "{text:?}");
            }
        }
    }

    #[test]
    fn the_pieces_of_a_list_decide_about_case_unless_the_caller_does() {
        let normalizer = |file: &str, given| {
            let mut options = ByteFormatOptions::default();
            options.bert_normalizer = given;
            let pipeline = read_vocab_txt(file.as_bytes(), &options).unwrap();
            match pipeline.normalizer() {
                [NormalizerStep::Bert(bert, _)] => *bert,
                other => panic!("{other:?}"),
            }
        };
        let cased = format!("{VOCAB}Zoe\n");
        assert_eq!(normalizer(VOCAB, None), BertNormalizer::default());
        assert_eq!(normalizer(&cased, None), BertNormalizer::CASED);
        let given = BertNormalizer::NONE;
        assert_eq!(normalizer(&cased, Some(given)), given);
        let mut options = ByteFormatOptions::default();
        options.bert_normalizer = Some(given);
        options.lowercase = Some(true);
        let pipeline = read_vocab_txt(cased.as_bytes(), &options).unwrap();
        let expected = BertNormalizer {
            lowercase: true,
            ..given
        };
        assert!(
            matches!(pipeline.normalizer(), [NormalizerStep::Bert(bert, _)] if *bert == expected)
        );
    }

    #[test]
    fn a_list_without_both_ends_has_no_template() {
        let tokenizer = Tokenizer::from_bytes(b"[UNK]\n[CLS]\na\n").unwrap();
        let options = EncodeOptions::default().with_extra([ExtraOption::Bos]);
        let error = tokenizer.encoder_with(&options).unwrap_err();
        assert_eq!(error, EncodeError::NoTextEnds { option: "bos" });
    }

    #[test]
    fn lists_of_pieces_are_recognized_by_their_unknown_token() {
        for (file, format) in [
            (VOCAB, FileFormat::VocabTxt),
            ("[UNK]\r\na\r\n", FileFormat::VocabTxt),
            ("[UNK]", FileFormat::VocabTxt),
            ("a\n##b\n", FileFormat::Model),
            ("[UNK]\na b\n", FileFormat::Model),
            ("[UNK]\t0\n", FileFormat::Model),
        ] {
            assert_eq!(FileFormat::of_content(file.as_bytes()), format, "{file:?}");
        }
        let error = Model::from_bytes(VOCAB.as_bytes()).unwrap_err();
        assert!(
            matches!(error, OpenError::NoModel(NoModelError::WordPiece)),
            "{error}"
        );
        let refused = Tokenizer::from_bytes(b"[UNK]\n\xFF\n")
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("vocab.txt") && refused.contains("UTF-8"),
            "{refused}"
        );
    }
}
