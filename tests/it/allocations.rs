//! A warm encoder allocates nothing, and the readers of other formats need the memory that is
//! documented.

use spiece::{Model, ModelType, PieceKind, Tokenizer};

use crate::support::testdata;

/// Models of every type, with and without byte fallback and normalization rules.
const MODELS: &[&str] = &[
    "golden/llama2.model",
    "golden/spm_default.model",
    "run/unigram.model",
    "run/word.model",
    "run/char.model",
];

#[test]
fn a_warm_encoder_allocates_nothing() {
    let text = std::fs::read_to_string(testdata("udhr.txt")).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .chain(["", " ", "\u{1f9ea}\u{2581} \u{e000}"])
        .collect();
    for path in MODELS {
        let tokenizer =
            Tokenizer::open(testdata(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
        let mut encoder = tokenizer.encoder();
        let mut run = || -> usize {
            let ids: usize = lines.iter().map(|line| encoder.encode(line).len()).sum();
            let tokens: usize = lines
                .iter()
                .map(|line| encoder.tokens(*line).as_slice().len())
                .sum();
            ids + tokens
        };
        let first = run();
        // The cache of chunks may grow for some rounds yet.
        (0..20).for_each(|_| assert_eq!(run(), first));
        let warm = allocation_counter::measure(|| assert_eq!(run(), first));
        assert_eq!(warm.count_total, 0, "{path}");
    }
}

/// Loading makes tables for all pieces at once, so that its cost does not grow with anything else.
#[test]
fn loading_allocates_for_tables_and_not_for_pieces() {
    for (model_type, bytes_of_piece) in [(ModelType::Bpe, 200), (ModelType::Unigram, 330)] {
        let file = |pieces: u32| {
            let mut builder = Model::builder();
            builder
                .model_type(model_type)
                .piece("<unk>", 0.0, PieceKind::Unknown);
            for number in 0..pieces {
                let text = format!("\u{2581}{:06x}", number.wrapping_mul(40_503) & 0xFF_FFFF);
                builder.piece(text, -(number as f32), PieceKind::Normal);
            }
            builder.build().unwrap().to_bytes()
        };
        let load = |file: &[u8]| {
            allocation_counter::measure(|| drop(Tokenizer::from_bytes(file).unwrap()))
        };
        let [few, many] = [5_000, 20_000].map(|pieces| load(&file(pieces)));
        println!("{model_type}: {few:?}, {many:?}");
        assert!(few.count_total < 120, "{model_type}: {few:?}");
        assert!(
            many.count_total < few.count_total + 20,
            "{model_type}: {many:?}"
        );
        assert!(
            many.bytes_total < 20_000 * bytes_of_piece,
            "{model_type}: {many:?}"
        );
    }
}

/// The most memory that `read` needs at once, as a multiple of the bytes of its input. The model
/// that it returns, which is dropped before the count ends, is part of it.
#[cfg(feature = "formats")]
fn peak_per_byte(input: &[u8], read: impl Fn(&[u8])) -> f64 {
    let counted = allocation_counter::measure(|| read(input));
    counted.bytes_max as f64 / input.len() as f64
}

/// Files of the shapes that need most memory for their size: tiny entries of each list of a
/// `tokenizer.json`.
#[cfg(feature = "formats")]
fn dense_tokenizer_json() -> Vec<(&'static str, String)> {
    let many = |count: u32, part: &dyn Fn(u32) -> String| {
        let parts: Vec<String> = (0..count).map(part).collect();
        parts.join(",")
    };
    let bpe = |vocab: &str, merges: &str| {
        format!(r#"{{"model":{{"type":"BPE","vocab":{{{vocab}}},"merges":[{merges}]}}}}"#)
    };
    let with = |field: &str, model: &str| format!("{{{field},{}", &model[1..]);
    // Just above a power of two, where a growing vector has most room to spare.
    let count = (1 << 16) + 1;
    let vocab = many(count, &|id| format!(r#""{id:x}":{id}"#));
    let nested = r#"{"type":"","normalizers":[{"type":""}]}"#;
    let token = |id: u32| format!(r#"{{"id":{id},"content":"{id:x}"}}"#);
    let small = bpe(r#""a":0,"b":1,"ab":2"#, "");
    vec![
        ("pieces", bpe(&vocab, "")),
        (
            "merges",
            bpe(
                r#""a":0,"b":1,"ab":2"#,
                &many(count, &|_| r#""a b""#.to_owned()),
            ),
        ),
        (
            "pairs",
            bpe(
                r#""a":0,"b":1,"ab":2"#,
                &many(count, &|_| r#"["a","b"]"#.to_owned()),
            ),
        ),
        (
            "scores",
            format!(
                r#"{{"model":{{"type":"Unigram","unk_id":0,"vocab":[{}]}}}}"#,
                many(count, &|id| format!(r#"["{id:x}",0]"#))
            ),
        ),
        (
            "added tokens",
            with(
                &format!(r#""added_tokens":[{}]"#, many(count, &token)),
                &small,
            ),
        ),
        (
            "normalizers",
            with(
                &format!(
                    r#""normalizer":{{"type":"Sequence","normalizers":[{}]}}"#,
                    many(count, &|_| r#"{"type":""}"#.to_owned())
                ),
                &small,
            ),
        ),
        (
            "nested normalizers",
            with(
                &format!(
                    r#""normalizer":{{"type":"Sequence","normalizers":[{}]}}"#,
                    many(count, &|_| nested.to_owned())
                ),
                &small,
            ),
        ),
    ]
}

#[cfg(feature = "formats")]
#[test]
fn reading_a_tokenizer_json_needs_the_documented_memory() {
    let read = |json: &[u8]| drop(spiece::Model::from_tokenizer_json(json));
    for (shape, json) in dense_tokenizer_json() {
        let times = peak_per_byte(json.as_bytes(), read);
        println!("{shape}: {times:.1} times {} bytes", json.len());
        assert!(times < 64.0, "{shape}: {times:.1} times the input");
    }
    let model = spiece::Model::open(testdata("golden/llama2.model")).unwrap();
    let written = model.to_tokenizer_json(&spiece::formats::JsonOptions::default());
    let times = peak_per_byte(&written.unwrap().json, read);
    println!("a written file: {times:.1} times");
    assert!(times < 14.0, "a written file: {times:.1} times the input");
}

#[cfg(feature = "formats")]
#[test]
fn reading_a_gguf_file_needs_the_documented_memory() {
    let read = |file: &[u8]| drop(spiece::Model::from_gguf(file));
    let mut builder = spiece::Model::builder();
    builder.model_type(spiece::ModelType::Bpe);
    builder.piece("<unk>", 0.0, spiece::PieceKind::Unknown);
    for number in 0..=1 << 16 {
        builder.piece(format!("{number:x}"), 0.0, spiece::PieceKind::Normal);
    }
    let dense = builder.build().unwrap();
    let real = spiece::Model::open(testdata("golden/llama2.model")).unwrap();
    for (name, model) in [("dense", dense), ("real", real)] {
        let vocab = model.to_gguf_vocab(&spiece::formats::GgufOptions::default());
        let times = peak_per_byte(&vocab.unwrap().bytes, read);
        println!("{name}: {times:.1} times");
        assert!(times < 16.0, "{name}: {times:.1} times the input");
    }
}
