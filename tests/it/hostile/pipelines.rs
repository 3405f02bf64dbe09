//! Pipelines that no program wrote: any bytes, a `vocab.txt` with changes, or a `tokenizer.json` with
//! changes, of BERT or one of those that the library tokenizers wrote. What is read makes a tokenizer
//! that encodes every text in the same way however it is called, at once or in pieces, and of which the file that it writes
//! makes an equal one; or it is refused. So does a `vocab.txt`, where its verdict says so.

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use spiece::formats::{ByteFileOptions, ByteFormatOptions, FileFormat, Missing};
use spiece::{EncodeOptions, ExtraOption, Tokenizer};

use super::byte_formats::changed_bytes;
use super::converting::change_value;

const PIECES: [&str; 14] = [
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a", "##b", "ab", "##\u{e9}", "\u{4e2d}", ".", "#",
    "\u{1112}", "",
];

/// A line has a file and what the library makes of texts.
const RECORDED: &str = include_str!("../../../testdata/pipelines/cases.jsonl");

pub fn pipelines(data: &[u8]) {
    check(data, data);
    let mut input = Unstructured::new(data);
    if let Ok(file) = recorded_file(&mut input) {
        check(file.as_bytes(), input.take_rest());
    }
    let mut input = Unstructured::new(data);
    let file = list(&mut input);
    if let Ok(file) = file {
        check(&file, input.take_rest());
    }
    let mut input = Unstructured::new(data);
    if let Ok(file) = json_file(&mut input) {
        check(file.as_bytes(), input.take_rest());
    }
}

fn list(input: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let file = PIECES.join("\n").into_bytes();
    changed_bytes(input, file)
}

fn json_file(input: &mut Unstructured<'_>) -> Result<String> {
    let vocab = PIECES.iter().enumerate();
    let vocab: serde_json::Map<String, Value> = vocab
        .map(|(id, piece)| ((*piece).to_owned(), json!(id)))
        .collect();
    let mut flag = || input.arbitrary::<bool>();
    let mut file = json!({
        "added_tokens": [
            {"id": 14, "content": "<A>", "special": flag()?, "normalized": flag()?, "lstrip": flag()?, "rstrip": flag()?},
            {"id": 2, "content": "[CLS]", "special": true},
        ],
        "normalizer": {"type": "BertNormalizer", "clean_text": flag()?, "handle_chinese_chars": flag()?,
            "strip_accents": flag()?, "lowercase": flag()?},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": flag()?},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 4, "vocab": vocab},
    });
    for _ in 0..input.int_in_range(0..=2)? {
        change_value(input, &mut file)?;
    }
    Ok(file.to_string())
}

/// The file of a recorded pipeline, perhaps with changes.
pub fn recorded_file(input: &mut Unstructured<'_>) -> Result<String> {
    let lines: Vec<&str> = RECORDED.lines().collect();
    let line: Value = serde_json::from_str(input.choose(&lines)?).expect("the line is JSON");
    let mut file = line["file"].clone();
    for _ in 0..input.int_in_range(0..=2)? {
        change_value(input, &mut file)?;
    }
    Ok(file.to_string())
}

fn check(file: &[u8], text: &[u8]) {
    let tokenizer = match Tokenizer::from_bytes(file) {
        Ok(tokenizer) => tokenizer,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if tokenizer.pipeline().is_none() {
        return;
    }
    let written = tokenizer.to_bytes().expect("every pipeline has a file");
    let copy = Tokenizer::from_bytes(&written).expect("what was written is read");
    check_list(&tokenizer, text);
    let options = EncodeOptions::default();
    for text in [
        text,
        "aab \u{c9}<A>\u{4e2d}a\u{301}.\0".as_bytes(),
        &text.repeat(200),
    ] {
        let mut encoder = tokenizer.encoder();
        let ids = encoder.encode(text).to_vec();
        // Some texts have no ids: the model has no unknown token, or a pattern takes too many steps.
        if encoder.take_failure().is_some() {
            continue;
        }
        assert!(
            ids.iter()
                .all(|id| (id.get() as usize) < tokenizer.vocab_size())
        );
        assert_eq!(copy.encode(text), ids);
        let mut appending = tokenizer
            .appending_encoder(&options)
            .expect("no option is wrong");
        let (begin, end) = text.split_at(text.len() / 3);
        // A beginning can have no ids where the whole has some.
        if appending.push(begin).is_ok() && appending.push(end).is_ok() {
            assert_eq!(appending.ids(), ids);
        }
        let long = tokenizer.encode_long(text, &options);
        assert_eq!(long.expect("the text has ids"), ids);
        let tokens = tokenizer.encode_to_tokens(text);
        assert!(tokens.iter().map(|token| token.id).eq(ids.iter().copied()));
        assert!(
            tokens
                .iter()
                .all(|token| token.begin <= token.end && token.end <= text.len())
        );
        let Ok(decoded) = tokenizer.decode(&ids) else {
            continue;
        };
        let mut decoder = tokenizer.incremental_decoder();
        let mut joined = String::new();
        for id in ids {
            joined += decoder.push(id).expect("ids of texts decode");
        }
        joined += decoder.finish();
        assert_eq!(joined, decoded);
    }
    let ends = options.with_extra([ExtraOption::Bos, ExtraOption::Eos]);
    if let Ok(mut encoder) = tokenizer.encoder_with(&ends) {
        assert!(encoder.encode("").len() >= 2);
    }
}

/// A `vocab.txt` that is equal gives the same ids, with what its reader is told.
fn check_list(tokenizer: &Tokenizer, text: &[u8]) {
    let pipeline = tokenizer.pipeline().expect("the tokenizer has stages");
    let Ok(list) = pipeline.to_format(FileFormat::VocabTxt, &ByteFileOptions::default()) else {
        return;
    };
    let mut options = ByteFormatOptions::default();
    options.lowercase = list.missing.iter().find_map(|missing| match missing {
        Missing::Lowercase(lowercase) => Some(*lowercase),
        _ => None,
    });
    if !list.verdict.is_exact() {
        return;
    }
    let read = Tokenizer::from_bytes_with(&list.files[0].1, &options);
    let read = read.expect("an equal file is read");
    let special = tokenizer.special_tokens().map(|(_, text)| text.to_vec());
    let options = EncodeOptions::default().with_allowed_special(special);
    for text in [text, "aab \u{c9}<A>\u{4e2d}a\u{301}.[CLS] [unk]".as_bytes()] {
        let mut encoders = [tokenizer, &read].map(|it| {
            let encoder = it.encoder_with(&options);
            encoder.expect("both have the special tokens")
        });
        let [own, of_list] = encoders
            .each_mut()
            .map(|encoder| encoder.encode(text).to_vec());
        assert_eq!(own, of_list);
    }
}
