//! Text that is appended, against encoding the whole text after each call.

use super::{byte_level, model};
use crate::base::rng::SplitMix64;
use crate::{EncodeError, EncodeOptions, Tokenizer};

fn root() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata")
}

/// What texts are made of: words, white space, rules of normalization, symbols, malformed bytes.
const PARTS: [&[u8]; 40] = [
    b"the",
    b" right",
    b" ",
    b" ",
    b"  ",
    b".",
    b", ",
    b"\n",
    b"\t",
    b"don't",
    b"12",
    b"  a",
    b"<s>",
    b"</s>",
    b"<",
    b"s>",
    b"<sep>",
    b"<|end|>",
    b"<tool>",
    b"<|",
    b"droits",
    b"que",
    b"a,b",
    b"say \"so\"",
    b"XY",
    b"<unk>",
    b"[MASK]",
    "\u{2581}".as_bytes(),
    "\u{2581}de".as_bytes(),
    "\u{65e5}\u{672c}".as_bytes(),
    "\u{6771}\u{4eac}\u{30bf}\u{30ef}\u{30fc}".as_bytes(),
    "\u{ff21}\u{ff22}".as_bytes(),
    "\u{fb01}".as_bytes(),
    "\u{e9}".as_bytes(),
    "e\u{301}".as_bytes(),
    "\u{301}".as_bytes(),
    "\u{bd}".as_bytes(),
    "\u{1f600}".as_bytes(),
    "\u{ac00}\u{1112}\u{1161}".as_bytes(),
    b"\xE2\x96",
];

/// A text of random parts, of these or the fixed ones.
fn random_text(rng: &mut SplitMix64, own: &[Vec<u8>]) -> Vec<u8> {
    let count = 1 + rng.below(24);
    let mut text = Vec::new();
    for _ in 0..count {
        let number = crate::base::num::low_usize(rng.below((PARTS.len() + own.len()) as u64));
        let part = PARTS.get(number).copied();
        text.extend_from_slice(part.unwrap_or_else(|| &own[number - PARTS.len()]));
    }
    text
}

/// Appends texts in random pieces, and compares after each.
fn check(tokenizer: &Tokenizer, name: &str, texts: impl IntoIterator<Item = Vec<u8>>) {
    let special = tokenizer.special_tokens().map(|(_, text)| text.to_vec());
    let all = EncodeOptions::default().with_allowed_special(special);
    let mut rng = SplitMix64::new(11);
    let options = [EncodeOptions::default(), all];
    let mut encoders = options
        .each_ref()
        .map(|options| tokenizer.encoder_with(options).unwrap());
    let mut appending = options
        .each_ref()
        .map(|options| tokenizer.appending_encoder(options).unwrap());
    for text in texts {
        for (encoder, appending) in encoders.iter_mut().zip(&mut appending) {
            appending.clear();
            let mut end = 0;
            while end < text.len() {
                let length = crate::base::num::low_usize(1 + rng.below(9));
                let begin = end;
                end = text.len().min(end + length);
                let before = appending.ids().to_vec();
                let appended = appending.push(&text[begin..end]);
                let expected = encoder.encode(&text[..end]).to_vec();
                if let Some(error) = encoder.take_failure() {
                    assert_eq!(appended.unwrap_err(), error, "{name}");
                    break;
                }
                let appended = appended.unwrap();
                let ids = [&before[..appended.kept], appended.new].concat();
                let shown = String::from_utf8_lossy(&text[..end]);
                assert_eq!(ids, expected, "{name}: {shown:?} after {begin}");
                assert_eq!(appending.ids(), expected, "{name}");
                assert_eq!(appending.text_length(), end);
            }
        }
    }
}

#[test]
fn ids_of_appended_text_are_those_of_the_whole_in_every_model() {
    let mut names: Vec<String> = Vec::new();
    for folder in ["golden", "run"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|it| it == "model") {
                let stem = path.file_stem().unwrap().to_str().unwrap();
                names.push(format!("{folder}/{stem}"));
            }
        }
    }
    assert!(names.len() > 40);
    for name in names {
        let model = model(&name);
        let tokenizer = Tokenizer::new(model.clone());
        let pieces = model.pieces().map(|piece| piece.text.to_vec());
        let mut pieces: Vec<Vec<u8>> = pieces.filter(|text| text.len() > 2).collect();
        let step = (pieces.len() / 60).max(1);
        let mut number = 0;
        pieces.retain(|_| {
            number += 1;
            number % step == 0
        });
        let mut rng = SplitMix64::new(3);
        let texts = (0..60).map(|_| random_text(&mut rng, &pieces));
        check(&tokenizer, &name, texts);
    }
}

#[test]
fn ids_of_appended_text_are_those_of_the_whole_in_byte_level_vocabularies() {
    let mut rng = SplitMix64::new(4);
    let mut texts = || -> Vec<Vec<u8>> { (0..300).map(|_| random_text(&mut rng, &[])).collect() };
    check(&byte_level::tokenizer(), "small", texts());
    let mut opened = 0;
    for entry in std::fs::read_dir(root().join("bytes")).unwrap() {
        let path = entry.unwrap().path();
        if let Ok(tokenizer) = Tokenizer::open(&path) {
            opened += 1;
            check(&tokenizer, path.to_str().unwrap(), texts());
        }
    }
    assert!(opened > 4, "{opened}");
}

#[test]
fn ids_of_appended_text_are_those_of_the_whole_with_numbers_grouped_from_the_right() {
    use crate::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken};
    use crate::{Pretokenizer, TokenizerConfig};

    let numbers = ["1", "12", "1234567", "٣٣٣٣", " 1", "_1", "-12", "1a", "²"];
    let numbers: Vec<Vec<u8>> = numbers.map(|text| text.as_bytes().to_vec()).into();
    let merged = ["12", "123", "45", "67", "234", "567", "34", " a"];
    let merged = merged.map(|text| text.as_bytes().to_vec());
    for name in ["llama3-place-digits", "o200k-place-digits"] {
        let mut parts = ByteBpeParts::new(Pretokenizer::named(name).unwrap());
        let texts = (0..=255).map(|byte| vec![byte]).chain(merged.clone());
        parts.tokens = (0..)
            .zip(texts)
            .map(|(id, bytes)| ByteToken {
                bytes: bytes.into(),
                id,
            })
            .collect();
        let bpe = ByteBpe::new(parts).unwrap();
        let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
        let mut rng = SplitMix64::new(6);
        // A third of the parts are numbers.
        let own = [&numbers[..], &numbers].concat();
        check(
            &tokenizer,
            name,
            (0..400).map(|_| random_text(&mut rng, &own)),
        );
    }
}

#[test]
fn ids_of_appended_text_are_those_of_the_whole_in_pipelines() {
    use crate::TokenizerConfig;
    use crate::formats::read_pipeline;
    use serde_json::Value;

    const CASES: &str = include_str!("../../../testdata/pipelines/cases.jsonl");
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let pipeline = read_pipeline(case["file"].to_string().as_bytes()).unwrap();
        let tokenizer = Tokenizer::from_pipeline(pipeline, TokenizerConfig::default());
        let recorded = case["texts"].as_array().unwrap().iter();
        let recorded: Vec<Vec<u8>> = recorded
            .map(|text| text["text"].as_str().unwrap().as_bytes().to_vec())
            .collect();
        let mut rng = SplitMix64::new(5);
        let random = (0..20).map(|_| random_text(&mut rng, &recorded));
        let texts: Vec<Vec<u8>> = random.chain(recorded.iter().cloned()).collect();
        check(&tokenizer, &case["seed"].to_string(), texts);
    }
}

/// How many bytes are encoded for each byte of English that comes in pieces of 8 bytes.
fn encoded_per_byte(tokenizer: &Tokenizer) -> usize {
    let text = "All human beings are born free and equal in dignity and rights. ".repeat(1_000);
    let options = EncodeOptions::default();
    let mut appending = tokenizer.appending_encoder(&options).unwrap();
    for piece in text.as_bytes().chunks(8) {
        appending.push(piece).unwrap();
    }
    assert_eq!(appending.ids(), tokenizer.encode(&text));
    appending.encoded_bytes / text.len()
}

#[test]
fn a_call_encodes_the_last_words_again_and_not_the_text() {
    for (name, most) in [
        ("golden/llama2", 4),
        ("golden/symbols", 4),
        ("golden/nmt_nfkc_cf", 8),
        ("run/unigram", 8),
        ("run/word", 4),
        ("run/char", 4),
    ] {
        let encoded = encoded_per_byte(&Tokenizer::new(model(name)));
        assert!(encoded <= most, "{name}: {encoded}");
    }
    // The end that special tokens may have is encoded again, too.
    let encoded = encoded_per_byte(&byte_level::tokenizer());
    assert!(encoded <= 10, "{encoded}");
    for file in ["gpt2.json", "llama3.json"] {
        let tokenizer = Tokenizer::open(root().join("bytes").join(file)).unwrap();
        let encoded = encoded_per_byte(&tokenizer);
        assert!(encoded <= 40, "{file}: {encoded}");
    }
}

#[test]
fn refused_special_tokens_are_found_across_pieces() {
    let tokenizer = Tokenizer::new(model("golden/llama2"));
    let refuses = EncodeOptions::default().with_refuses_special(true);
    let mut appending = tokenizer.appending_encoder(&refuses).unwrap();
    appending.push("some words and </").unwrap();
    let ids = appending.ids().to_vec();
    let error = appending.push("s> more").unwrap_err();
    let piece = "</s>".to_owned();
    assert_eq!(error, EncodeError::RefusedSpecial { piece, begin: 15 });
    assert_eq!(appending.ids(), ids);
    appending.push("other> words").unwrap();
    let expected = tokenizer.encode("some words and </other> words");
    assert_eq!(appending.ids(), expected);
}
