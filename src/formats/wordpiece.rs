//! WordPiece vocabularies: BERT's `vocab.txt`, and tokenizer.json (`tokenizer_json::wordpiece`).
//!
//! A `vocab.txt` has a piece in each line; the number of the line, from 0, is its id. White space
//! at the end of a line does not count, and of equal lines the last one does, as in tokenizers. A
//! file is recognized by a line `[UNK]` among its first 64 KiB, in which no line has a space or
//! control character inside.
//!
//! Everything else is that of `BertWordPieceTokenizer` of tokenizers. The file does not say whether
//! text becomes lower case, so this is decided by its pieces, unless the caller does: a piece with
//! an upper-case letter of ASCII other than the special tokens, which have brackets, is one that
//! lower-case text never has.

use std::path::Path;

use super::bytes::{ByteFormatError, ByteFormatOptions};
use super::opened::{OpenedFile, START_BYTES, check_size, text};
use super::{FileFormat, Verdict};
use crate::byte_bpe::SpecialToken;
use crate::piece::PieceId;
use crate::wordpiece::{BertNormalizer, WordPiece, WordPieceParts};

const FORMAT: FileFormat = FileFormat::VocabTxt;
/// The special tokens of `BertWordPieceTokenizer`.
const SPECIAL_TOKENS: [&str; 5] = ["[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]"];

/// A WordPiece vocabulary that was read from a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WordPieceVocabulary {
    /// The parts of the tokenizer.
    pub parts: WordPieceParts,
    /// Whether its ids equal those of tokenizers.
    pub verdict: Verdict,
}

impl WordPieceVocabulary {
    /// Reads a `vocab.txt` or tokenizer.json, or a folder with one of these; the content decides.
    /// `None` if it has another format.
    ///
    /// # Errors
    /// The file cannot be read, is malformed, or asks for something that is not supported.
    pub fn open(
        path: impl AsRef<Path>,
        options: &ByteFormatOptions,
    ) -> Result<Option<Self>, ByteFormatError> {
        match OpenedFile::open(path.as_ref(), &["tokenizer.json", "vocab.txt"])? {
            Some(file) if matches!(file.format, FORMAT | FileFormat::TokenizerJson) => {
                Self::from_bytes(&file.read()?, options)
            }
            _ => Ok(None),
        }
    }

    /// Reads the bytes of a file; see [`open`](Self::open).
    ///
    /// ```
    /// use spiece::formats::{ByteFormatOptions, WordPieceVocabulary};
    ///
    /// let file = b"[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##able\n";
    /// let vocabulary = WordPieceVocabulary::from_bytes(file, &ByteFormatOptions::default())?.unwrap();
    /// assert_eq!(vocabulary.parts.pieces[5], ("##able".to_owned(), 5));
    /// assert!(vocabulary.parts.normalizer.lowercase);
    /// # Ok::<(), spiece::formats::ByteFormatError>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn from_bytes(
        file: &[u8],
        options: &ByteFormatOptions,
    ) -> Result<Option<Self>, ByteFormatError> {
        let format = FileFormat::of_content(file);
        if !matches!(format, FORMAT | FileFormat::TokenizerJson) {
            return Ok(None);
        }
        check_size(format, file)?;
        let text = text(format, file)?;
        match format {
            FORMAT => read_vocab_txt(text, options).map(Some),
            _ => super::tokenizer_json::read_wordpiece(text, options),
        }
    }

    /// The tokenizer, if its ids are equal for all text.
    ///
    /// # Errors
    /// [`ByteFormatError::NotExact`] with the reasons, or [`ByteFormatError::Words`].
    pub fn into_exact(self) -> Result<WordPiece, ByteFormatError> {
        if !self.verdict.is_exact() {
            let verdict = self.verdict;
            return Err(ByteFormatError::NotExact { verdict });
        }
        Ok(WordPiece::new(self.parts)?)
    }
}

/// Whether bytes begin with lines of a `vocab.txt`.
pub(super) fn is_start(start: &[u8]) -> bool {
    let start = &start[..start.len().min(START_BYTES)];
    let mut lines = start
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii_end);
    let is_piece = |line: &[u8]| line.iter().all(|byte| !matches!(byte, 0..=b' ' | 0x7F));
    lines.clone().any(|line| line == b"[UNK]") && lines.all(is_piece)
}

fn read_vocab_txt(
    text: &str,
    options: &ByteFormatOptions,
) -> Result<WordPieceVocabulary, ByteFormatError> {
    if options.pretokenizer.is_some() || options.special_tokens.is_some() {
        return Err(ByteFormatError::PatternGiven { format: FORMAT });
    }
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    let pieces: Vec<(String, u32)> = lines.zip(0..).collect();
    let id_of = |text: &str| {
        let mut same = pieces.iter().rev().filter(|(piece, _)| piece == text);
        same.next().map(|(_, id)| *id)
    };
    let ends = ["[CLS]", "[SEP]"].map(|text| id_of(text).map(PieceId::new));
    let special = SPECIAL_TOKENS.into_iter();
    let special = special.filter_map(|text| Some(SpecialToken::new(text, id_of(text)?)));
    let is_upper = |(piece, _): &(String, u32)| {
        !piece.starts_with('[') && piece.bytes().any(|byte| byte.is_ascii_uppercase())
    };
    let by_content = match pieces.iter().any(is_upper) {
        true => BertNormalizer::CASED,
        false => BertNormalizer::default(),
    };
    let special_tokens = special.collect();
    let parts = WordPieceParts {
        special_tokens,
        normalizer: options.bert_normalizer.unwrap_or(by_content),
        text_ends: ends,
        ..WordPieceParts::new(pieces)
    };
    let verdict = Verdict::default();
    Ok(WordPieceVocabulary { parts, verdict })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::formats::ReasonKind;
    use crate::model::Model;
    use crate::wordpiece::WordPieceError;
    use crate::{EncodeError, EncodeOptions, ExtraOption, SampleOptions, Tokenizer};

    const VOCAB: &str = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##able\n##s\n.\nzoe\n";

    fn read(file: &[u8]) -> Result<WordPieceVocabulary, ByteFormatError> {
        let read = WordPieceVocabulary::from_bytes(file, &ByteFormatOptions::default());
        read.map(|read| read.expect("the format is known"))
    }

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

    fn changed(pointer: &str, value: Value) -> Vec<u8> {
        let mut file = file();
        *file.pointer_mut(pointer).expect("a field of the file") = value;
        file.to_string().into_bytes()
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
            assert_eq!(tokenizer.decode(ids).unwrap(), "unables. zoe");
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
                json!(tokenizer.decode(&ids).unwrap()),
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
            let read = WordPieceVocabulary::from_bytes(file.as_bytes(), &options);
            read.unwrap().unwrap().parts.normalizer
        };
        let cased = format!("{VOCAB}Zoe\n");
        assert_eq!(normalizer(VOCAB, None), BertNormalizer::default());
        assert_eq!(normalizer(&cased, None), BertNormalizer::CASED);
        let given = BertNormalizer::NONE;
        assert_eq!(normalizer(&cased, Some(given)), given);
    }

    #[test]
    fn components_that_differ_are_named() {
        for (pointer, value, name) in [
            ("/normalizer/type", json!("NFKC"), "normalizer is \"NFKC\""),
            ("/normalizer/lowercase", json!(null), "normalizer.lowercase"),
            (
                "/pre_tokenizer/type",
                json!("Whitespace"),
                "pre_tokenizer is \"Whitespace\"",
            ),
            ("/pre_tokenizer", json!(null), "pre_tokenizer is missing"),
            (
                "/decoder/type",
                json!("BPEDecoder"),
                "decoder is \"BPEDecoder\"",
            ),
            ("/model/unk_token", json!(null), "model.unk_token"),
            (
                "/model/continuing_subword_prefix",
                json!(null),
                "model.continuing_subword_prefix",
            ),
            ("/model/max_input_chars_per_word", json!(-1), "line 1"),
            ("/model/vocab", json!([["a", 0.0]]), "model.vocab"),
            ("/added_tokens/0/id", json!(7), "added_tokens[0]"),
        ] {
            let error = read(&changed(pointer, value)).unwrap_err().to_string();
            assert!(error.contains(name), "{pointer}: {error}");
        }
        let twice = file().to_string().replace("\"un\":5", "\"un\":5,\"un\":6");
        assert!(matches!(
            read(twice.as_bytes()),
            Err(ByteFormatError::DuplicateToken { .. })
        ));
        let set = read(&changed("/truncation", json!({"max_length": 5}))).unwrap();
        assert!(set.verdict.has(ReasonKind::Setting));
        assert!(matches!(
            set.into_exact(),
            Err(ByteFormatError::NotExact { .. })
        ));
        for (pointer, value) in [
            ("/model/unk_token", json!("<unk>")),
            ("/model/vocab/un", json!(6)),
        ] {
            let error = read(&changed(pointer, value))
                .unwrap()
                .into_exact()
                .unwrap_err();
            assert!(matches!(
                error,
                ByteFormatError::Words(
                    WordPieceError::NoUnknown { .. } | WordPieceError::RepeatedId { id: 6 }
                )
            ));
        }
    }

    #[test]
    fn templates_of_other_forms_have_no_ends() {
        let ends = |value| {
            read(&changed("/post_processor", value))
                .unwrap()
                .parts
                .text_ends
        };
        assert_eq!(ends(json!(null)), [None; 2]);
        let bert = json!({"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]});
        assert_eq!(ends(bert), [Some(2.into()), Some(3.into())]);
        let tokenizer =
            Tokenizer::from_bytes(&changed("/post_processor/single", json!([]))).unwrap();
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
        assert!(matches!(error, crate::ModelError::WordPiece), "{error}");
        let refused = Tokenizer::from_bytes(b"[UNK]\n\xFF\n")
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("vocab.txt") && refused.contains("UTF-8"),
            "{refused}"
        );
    }
}
