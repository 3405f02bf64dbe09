//! Tests of all readers, with a vocabulary that a plain trainer makes of a few sentences.

use std::collections::HashMap;
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::*;
use crate::byte_bpe::{SpecialToken, TextForm};
use crate::formats::{Converted, ReasonKind, Verdict};
use crate::pattern::{Pattern, PatternSyntax, Pretokenizer, Split, SplitBehavior};
use crate::piece::PieceId;
use crate::tokenizer::{Tokenizer, TokenizerConfig};

const TEXT: &str = "the cat sat on the mat and the dog sat on the log\nthat hat, the bat and the rat; \
                    naïve cafés — 数 数 数学\n";
const PATTERN: &str = r"\w+| ?[^\s\w]+|\s+";

/// Merges that a plain trainer learns: the most frequent pair first, of equal ones the smallest.
fn trained_merges() -> Vec<[Vec<u8>; 2]> {
    let mut words: Vec<Vec<Vec<u8>>> = TEXT
        .split_inclusive(' ')
        .map(|word| word.bytes().map(|byte| vec![byte]).collect())
        .collect();
    let mut merges = Vec::new();
    while merges.len() < 44 {
        let mut counts: HashMap<[Vec<u8>; 2], usize> = HashMap::new();
        for word in &words {
            for pair in word.windows(2) {
                *counts
                    .entry([pair[0].clone(), pair[1].clone()])
                    .or_default() += 1;
            }
        }
        let most = counts
            .into_iter()
            .max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
        let (pair, _) = most.unwrap();
        for word in &mut words {
            let mut at = 0;
            while at + 1 < word.len() {
                if word[at] == pair[0] && word[at + 1] == pair[1] {
                    let right = word.remove(at + 1);
                    word[at].extend(right);
                }
                at += 1;
            }
        }
        merges.push(pair);
    }
    merges
}

/// The bytes by value, and the tokens of the merges.
fn trained_tokens() -> Vec<Vec<u8>> {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    bytes
        .chain(trained_merges().iter().map(|pair| pair.concat()))
        .collect()
}

fn tiktoken_file(tokens: &[Vec<u8>]) -> String {
    let lines = tokens.iter().enumerate();
    lines
        .map(|(rank, token)| format!("{} {rank}\n", BASE64_STANDARD.encode(token)))
        .collect()
}

fn vocab_json(tokens: &[Vec<u8>]) -> Value {
    let entries = tokens.iter().enumerate();
    let entries = entries.map(|(id, token)| (printable(token), json!(id)));
    Value::Object(entries.collect())
}

fn merge_lines() -> Vec<String> {
    let merges = trained_merges();
    merges
        .iter()
        .map(|[left, right]| format!("{} {}", printable(left), printable(right)))
        .collect()
}

fn tokenizer_json() -> Value {
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Removed", "invert": true},
            {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false},
        ]},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocab_json(&trained_tokens()), "merges": merge_lines(),
        },
    })
}

fn tekken_json() -> Value {
    let vocab = trained_tokens().into_iter().enumerate();
    let vocab = vocab.map(|(rank, token)| {
        json!({"rank": rank, "token_bytes": BASE64_STANDARD.encode(token), "token_str": null})
    });
    json!({
        "config": {"pattern": PATTERN, "num_vocab_tokens": 300, "default_vocab_size": 325,
            "default_num_special_tokens": 25, "version": "v3"},
        "vocab": vocab.collect::<Vec<Value>>(),
    })
}

fn minbpe_file() -> String {
    let tokens = trained_tokens();
    let id = |token: &[u8]| tokens.iter().position(|other| other == token).unwrap();
    let merges = trained_merges();
    let merges = merges
        .iter()
        .map(|[left, right]| format!("{} {}\n", id(left), id(right)));
    let merges: String = merges.collect();
    format!("minbpe v1\n{PATTERN}\n1\n<|end|> 300\n{merges}")
}

fn options() -> ByteFormatOptions {
    ByteFormatOptions {
        pretokenizer: Some(Pretokenizer::parse(PATTERN, PatternSyntax::Rust).unwrap()),
        special_tokens: None,
        ..Default::default()
    }
}

fn read_bytes(
    file: &[u8],
    options: &ByteFormatOptions,
) -> Result<Converted<ByteVocabulary>, FormatError> {
    ByteVocabulary::from_bytes(file, options).map(|read| read.expect("the format is known"))
}

fn read_json(json: &Value) -> Result<Converted<ByteVocabulary>, FormatError> {
    read_bytes(json.to_string().as_bytes(), &ByteFormatOptions::default())
}

/// Tokens in the order of their ranks, with ids from `first` on.
fn ranked(vocabulary: &Converted<ByteVocabulary>, first: u32) -> Vec<Vec<u8>> {
    assert_eq!(vocabulary.verdict, Verdict::default());
    let tokens = &vocabulary.value.parts.tokens;
    let mut tokens: Vec<(u32, Vec<u8>)> = tokens
        .iter()
        .map(|token| (token.id, token.bytes.to_vec()))
        .collect();
    // The ids of this vocabulary have the order of the ranks, apart from single bytes.
    tokens[..256].sort_unstable();
    assert!(tokens.iter().map(|(id, _)| *id).eq(first..first + 300));
    tokens.into_iter().map(|(_, bytes)| bytes).collect()
}

#[test]
fn all_formats_give_the_tokens_of_the_trainer() {
    let tokens = trained_tokens();
    assert_eq!(tokens.len(), 300);
    let file = tiktoken_file(&tokens);
    let read = read_bytes(file.as_bytes(), &options()).unwrap();
    assert_eq!(ranked(&read, 0), tokens);
    assert!(read.value.parts.whole_pretokens_first);
    let windows: String = file.replace('\n', "\r\n\r\n");
    assert_eq!(
        ranked(&read_bytes(windows.as_bytes(), &options()).unwrap(), 0),
        tokens
    );
    // The order of lines does not matter.
    let mut lines: Vec<&str> = file.lines().collect();
    lines.reverse();
    let reversed = read_bytes(lines.join("\n").as_bytes(), &options()).unwrap();
    assert_eq!(reversed.value.parts.tokens, read.value.parts.tokens);

    let read = read_json(&tokenizer_json()).unwrap();
    assert_eq!(ranked(&read, 0), tokens);
    assert!(!read.value.parts.whole_pretokens_first);

    let read = read_json(&tekken_json()).unwrap();
    assert_eq!(ranked(&read, 25), tokens);
    let special = &read.value.parts.special_tokens;
    let texts = [
        (0, "<unk>"),
        (19, "[TOOL_CONTENT]"),
        (20, "<SPECIAL_20>"),
        (24, "<SPECIAL_24>"),
    ];
    assert_eq!(special.len(), 25);
    for (id, text) in texts {
        assert!(special.contains(&SpecialToken::new(text, id)), "{text}");
    }

    let read = read_bytes(minbpe_file().as_bytes(), &ByteFormatOptions::default()).unwrap();
    assert_eq!(ranked(&read, 0), tokens);
    assert_eq!(
        read.value.parts.special_tokens,
        [SpecialToken::new("<|end|>", 300)]
    );
}

#[test]
fn vocab_and_merges_are_found_from_either_file_and_from_the_folder() {
    let tokens = trained_tokens();
    let merges = format!("#version: 0.2\n{}\n", merge_lines().join("\n"));
    let names = [
        ["vocab.json", "merges.txt"],
        ["encoder.json", "vocab.bpe"],
        ["m-vocab.json", "m-merges.txt"],
    ];
    for [vocab_name, merges_name] in names {
        let folder = tempfile::tempdir().unwrap();
        let [vocab_path, merges_path] =
            [vocab_name, merges_name].map(|name| folder.path().join(name));
        std::fs::write(&vocab_path, vocab_json(&tokens).to_string()).unwrap();
        std::fs::write(&merges_path, &merges).unwrap();
        for path in [&vocab_path, &merges_path] {
            let read = ByteVocabulary::open(path, &options());
            assert_eq!(ranked(&read.unwrap().unwrap(), 0), tokens, "{path:?}");
        }
        let opened = ByteVocabulary::open(folder.path(), &options()).unwrap();
        assert_eq!(opened.is_some(), !vocab_name.starts_with("m-"));
        opened
            .iter()
            .for_each(|read| assert_eq!(ranked(read, 0), tokens));
        std::fs::remove_file(&merges_path).unwrap();
        let error = ByteVocabulary::open(&vocab_path, &options()).unwrap_err();
        assert!(matches!(&error, FormatError::Read { path, .. } if *path == merges_path));
    }
    let error = read_bytes(merges.as_bytes(), &options()).unwrap_err();
    assert!(matches!(error, FormatError::Half));
}

/// The name of the variant and the message.
fn described(error: &FormatError) -> String {
    let debug = format!("{error:?}");
    let name = debug.split([' ', '(']).next().unwrap_or_default();
    format!("{name}: {error}")
}

#[track_caller]
fn assert_refused(
    what: &str,
    read: Result<Converted<ByteVocabulary>, FormatError>,
    facts: &[&str],
) {
    let error = described(&read.expect_err(what));
    for fact in facts {
        assert!(error.contains(fact), "{what}: {error}, not {fact:?}");
    }
}

#[test]
fn malformed_tiktoken_files_are_refused_with_their_lines() {
    let file = tiktoken_file(&trained_tokens());
    let lines: Vec<&str> = file.lines().collect();
    let with_line = |at: usize, line: &str| {
        let mut lines = lines.clone();
        lines[at] = line;
        lines.join("\n")
    };
    let rows: [(&str, String, &[&str]); 10] = [
        (
            "no base64",
            with_line(256, "IQ= 256"),
            &["Syntax", "line 257", "base64"],
        ),
        (
            "other characters",
            with_line(256, "*Q== 256"),
            &["Syntax", "line 257", "base64"],
        ),
        (
            "no rank",
            with_line(256, "IQ=="),
            &["Syntax", "line 257", "a rank"],
        ),
        (
            "three fields",
            with_line(256, "IQ== 256 1"),
            &["Syntax", "line 257"],
        ),
        (
            "negative rank",
            with_line(256, "AAAA -1"),
            &["Syntax", "line 257", "not a number"],
        ),
        (
            "rank of 2^31",
            with_line(256, "AAAA 2147483648"),
            &["IdTooLarge", "line 257", "2147483648"],
        ),
        (
            "rank above 2^64",
            with_line(256, "AAAA 99999999999999999999"),
            &["IdTooLarge", "line 257"],
        ),
        (
            "same rank",
            with_line(299, "AAAA 256"),
            &["DuplicateId", "line 300", "256"],
        ),
        (
            "same token",
            with_line(299, "IQ== 299"),
            &["DuplicateToken", "line 300", "\"!\"", "33"],
        ),
        (
            "missing byte",
            lines[1..].join("\n"),
            &["MissingByte", "0x00"],
        ),
    ];
    for (what, file, facts) in rows {
        assert_refused(what, read_bytes(file.as_bytes(), &options()), facts);
    }
    let no_pattern = read_bytes(file.as_bytes(), &ByteFormatOptions::default());
    assert_refused("no pattern", no_pattern, &["NoPattern", "for example gpt2"]);
    let special = |id, text: &str| ByteFormatOptions {
        special_tokens: Some(vec![
            SpecialToken::new(text, id),
            SpecialToken::new("<b>", 400),
        ]),
        ..options()
    };
    assert_refused(
        "id of a token",
        read_bytes(file.as_bytes(), &special(299, "<a>")),
        &["DuplicateId", "299"],
    );
    assert_refused(
        "same id",
        read_bytes(file.as_bytes(), &special(400, "<a>")),
        &["DuplicateId", "400"],
    );
    assert_refused(
        "same text",
        read_bytes(file.as_bytes(), &special(300, "<b>")),
        &["DuplicateToken", "<b>"],
    );
    assert!(read_bytes(file.as_bytes(), &special(300, "<a>")).is_ok());
}

/// A JSON value with a changed part.
fn changed(mut json: Value, pointer: &str, value: Value) -> Value {
    *json.pointer_mut(pointer).expect(pointer) = value;
    json
}

#[test]
fn malformed_tekken_files_are_refused_with_their_entries() {
    let rows: [(&str, &str, Value, &[&str]); 11] = [
        (
            "no base64",
            "/vocab/256/token_bytes",
            json!("?"),
            &["Syntax", "vocab[256]", "base64"],
        ),
        (
            "other rank",
            "/vocab/256/rank",
            json!(257),
            &["Syntax", "vocab[256]", "257"],
        ),
        (
            "fraction as rank",
            "/vocab/256/rank",
            json!(1.5),
            &["Syntax", "line 1 column"],
        ),
        (
            "same token",
            "/vocab/299/token_bytes",
            json!("IQ=="),
            &["DuplicateToken", "vocab[299]"],
        ),
        (
            "empty token",
            "/vocab/299/token_bytes",
            json!(""),
            &["Syntax", "vocab[299]"],
        ),
        (
            "other byte",
            "/vocab/7/token_bytes",
            json!("IQ=="),
            &["Syntax", "vocab[7]", "256"],
        ),
        (
            "too few tokens",
            "/config/default_vocab_size",
            json!(326),
            &["Syntax", "301", "300"],
        ),
        (
            "fewer ids than special tokens",
            "/config/default_vocab_size",
            json!(24),
            &["Syntax", "default_vocab_size"],
        ),
        (
            "too many ids",
            "/config/default_vocab_size",
            json!(1_u64 << 31),
            &["IdTooLarge", "default_vocab_size"],
        ),
        (
            "version",
            "/config/version",
            json!("v11"),
            &["Syntax", "special_tokens", "v7"],
        ),
        (
            "no version",
            "/config/version",
            json!("x"),
            &["Syntax", "config.version"],
        ),
    ];
    for (what, pointer, value, facts) in rows {
        assert_refused(
            what,
            read_json(&changed(tekken_json(), pointer, value)),
            facts,
        );
    }
    let fewer = changed(tekken_json(), "/config/default_vocab_size", json!(300));
    let fewer = changed(fewer, "/config/default_num_special_tokens", json!(19));
    assert_refused(
        "more special tokens than ids",
        read_json(&fewer),
        &["Syntax", "20", "19"],
    );
    let given = read_bytes(tekken_json().to_string().as_bytes(), &options());
    assert_refused("a second pattern", given, &["PatternGiven"]);
    let mut listed = tekken_json();
    listed["special_tokens"] = json!([{"rank": 30, "token_str": "<a>", "is_control": true}]);
    assert_refused(
        "large special id",
        read_json(&listed),
        &["Syntax", "special_tokens[0]", "30"],
    );
    listed["special_tokens"] = json!([
        {"rank": 0, "token_str": "<a>", "is_control": true},
        {"rank": 1, "token_str": "<a>", "is_control": true},
    ]);
    assert_refused(
        "same special tokens",
        read_json(&listed),
        &["DuplicateToken", "<a>"],
    );
}

#[test]
fn fewer_tokens_of_tekken_count_if_there_are_fewer_ids() {
    let json = changed(tekken_json(), "/config/default_vocab_size", json!(290));
    let read = read_json(&json).unwrap();
    assert_eq!(read.value.parts.tokens.len(), 265);
    assert_eq!(read.value.parts.tokens[264].id, 289);
}

#[test]
fn malformed_minbpe_files_are_refused_with_their_lines() {
    let file = minbpe_file();
    let rows: [(&str, String, &[&str]); 9] = [
        ("no merges", "minbpe v1\n".to_owned(), &["Syntax", "ends"]),
        (
            "no number",
            "minbpe v1\n\nx\n".to_owned(),
            &["Syntax", "line 3"],
        ),
        (
            "special token",
            file.replace(" 300", ""),
            &["Syntax", "line 4", "special token"],
        ),
        (
            "more special tokens",
            "minbpe v1\n\n9\n<a> 300\n".to_owned(),
            &["Syntax", "ends"],
        ),
        (
            "id of itself",
            "minbpe v1\n\n0\n1 2\n257 1\n".to_owned(),
            &["UnknownToken", "line 5", "257"],
        ),
        (
            "no ids",
            "minbpe v1\n\n0\n1 2\n1 x\n".to_owned(),
            &["Syntax", "line 5", "two ids"],
        ),
        (
            "same bytes",
            "minbpe v1\n\n0\n97 97\n97 256\n256 97\n".to_owned(),
            &[
                "Unsupported",
                "line 6",
                "\"aaa\", the token 257",
                "for no text",
            ],
        ),
        (
            "large special id",
            "minbpe v1\n\n1\n<a> 4294967296\n".to_owned(),
            &["IdTooLarge", "line 4"],
        ),
        (
            "id of a token",
            "minbpe v1\n\n1\n<a> 97\n".to_owned(),
            &["DuplicateId", "97"],
        ),
    ];
    for (what, file, facts) in rows {
        assert_refused(
            what,
            read_bytes(file.as_bytes(), &ByteFormatOptions::default()),
            facts,
        );
    }
    // Each merge doubles the token.
    let doubling: String = (256..400).map(|id| format!("{id} {id}\n")).collect();
    let bomb = format!("minbpe v1\n\n0\n97 97\n{doubling}");
    let read = read_bytes(bomb.as_bytes(), &ByteFormatOptions::default());
    assert_refused("gigantic tokens", read, &["Syntax", "line 31", "bytes"]);
}

#[test]
fn a_basic_tokenizer_of_minbpe_does_not_split() {
    let read = read_bytes(b"minbpe v1\n\n0\n97 98\n", &ByteFormatOptions::default()).unwrap();
    assert_eq!(read.value.parts.pretokenizer, Pretokenizer::new(Vec::new()));
    assert_eq!(&*read.value.parts.tokens[256].bytes, b"ab");
}

#[test]
fn malformed_tokenizer_json_files_are_refused_with_their_entries() {
    let missing_byte = {
        let mut json = tokenizer_json();
        json["model"]["vocab"].as_object_mut().unwrap().remove("Ā");
        json
    };
    assert_refused(
        "missing byte",
        read_json(&missing_byte),
        &["Unsupported", "model.vocab", "0x00"],
    );
    let rows: [(&str, &str, Value, &[&str]); 14] = [
        (
            "unknown token",
            "/model/merges/3",
            json!("x yz"),
            &["Component", "model.merges[3]", "\"yz\""],
        ),
        (
            "unknown result",
            "/model/merges/3",
            json!(["x", "y"]),
            &["Component", "model.merges[3]", "\"xy\""],
        ),
        (
            "unknown other",
            "/model/merges/3",
            json!("中 x"),
            &["Component", "\"中\""],
        ),
        (
            "one part",
            "/model/merges/3",
            json!("xy"),
            &["Syntax", "line 1 column"],
        ),
        (
            "large id",
            "/model/vocab/a",
            json!(1_u32 << 31),
            &["Component", "2147483648"],
        ),
        (
            "same id",
            "/model/vocab/a",
            json!(7),
            &["Unsupported", "model.vocab", "one id"],
        ),
        (
            "prefix",
            "/model/continuing_subword_prefix",
            json!("##"),
            &["Component", "model.merges[6]"],
        ),
        (
            "suffix",
            "/model/end_of_word_suffix",
            json!("</w>"),
            &["Unsupported", "</w>"],
        ),
        (
            "unigram",
            "/model/type",
            json!("Unigram"),
            &["Component", "model.vocab"],
        ),
        (
            "list",
            "/model/vocab",
            json!([["a", -1.0]]),
            &["Component", "model.vocab"],
        ),
        (
            "normalizer",
            "/normalizer",
            json!({"type": "Lowercase"}),
            &["Unsupported", "Lowercase"],
        ),
        (
            "pattern",
            "/pre_tokenizer/pretokenizers/0/pattern",
            json!({"Regex": "("}),
            &["Pattern", "pre_tokenizer.pretokenizers[0].pattern"],
        ),
        (
            "behavior",
            "/pre_tokenizer/pretokenizers/0/behavior",
            json!("Other"),
            &["Component", "Other"],
        ),
        (
            "prefix space",
            "/pre_tokenizer/pretokenizers/1/add_prefix_space",
            json!(true),
            &["Unsupported", "add_prefix_space"],
        ),
    ];
    for (what, pointer, value, facts) in rows {
        assert_refused(
            what,
            read_json(&changed(tokenizer_json(), pointer, value)),
            facts,
        );
    }
    let after = json!({"type": "Sequence", "pretokenizers": [
        {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}, {"type": "Digits", "individual_digits": true},
    ]});
    let after = read_json(&changed(tokenizer_json(), "/pre_tokenizer", after));
    assert_refused(
        "split after ByteLevel",
        after,
        &["Unsupported", "pre_tokenizer", "Digits"],
    );
    let deep = format!("{}{}", "{\"pre_tokenizer\": ".repeat(300), "\"ByteLevel\"");
    let deep = read_bytes(deep.as_bytes(), &ByteFormatOptions::default());
    assert_refused("deep JSON", deep, &["Syntax", "line 1 column"]);
}

#[test]
fn other_tokenizer_json_files_are_left_to_their_reader() {
    let metaspace = json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"});
    let mut json = changed(tokenizer_json(), "/pre_tokenizer", metaspace);
    json["decoder"] = Value::Null;
    for name in ["x", "ByteLevel"] {
        json["model"]["vocab"][name] = json!(400);
        let file = json.to_string();
        assert!(
            ByteVocabulary::from_bytes(file.as_bytes(), &ByteFormatOptions::default())
                .unwrap()
                .is_none()
        );
    }
    assert!(
        ByteVocabulary::from_bytes(b"\x0A\x0E", &ByteFormatOptions::default())
            .unwrap()
            .is_none()
    );
}

#[test]
fn components_of_tokenizer_json_become_parts() {
    let byte_level = |prefix, regex| json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true, "use_regex": regex});
    let regex = |expression: &str| {
        let pattern = Pattern::with_syntax(expression, PatternSyntax::Oniguruma).unwrap();
        Split::new(pattern, SplitBehavior::Isolated)
    };
    let gpt2 = regex(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+");
    let pre_tokenizers = [
        (byte_level(false, true), vec![gpt2.clone()], false),
        (byte_level(true, false), Vec::new(), true),
        (
            json!({"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": true}, byte_level(false, true)]}),
            vec![Split::at_numbers(true).unwrap(), gpt2.clone()],
            false,
        ),
        (
            json!({"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"String": "a.b"}, "behavior": "MergedWithNext", "invert": false}, byte_level(false, false),
            ]}),
            vec![Split::at_text("a.b", SplitBehavior::MergedWithNext).unwrap()],
            false,
        ),
    ];
    for (component, splits, adds_prefix_space) in pre_tokenizers {
        let parts = read_json(&changed(tokenizer_json(), "/pre_tokenizer", component))
            .unwrap()
            .value
            .parts;
        assert_eq!(parts.pretokenizer, Pretokenizer::new(splits));
        assert_eq!(parts.adds_prefix_space, adds_prefix_space);
    }
    let nfc = json!({"type": "Sequence", "normalizers": [{"type": "NFC"}]});
    let read = read_json(&changed(tokenizer_json(), "/normalizer", nfc)).unwrap();
    assert_eq!(read.value.parts.text_form, TextForm::Nfc);
    let read = read_json(&changed(
        tokenizer_json(),
        "/model/ignore_merges",
        json!(true),
    ))
    .unwrap();
    assert!(read.value.parts.whole_pretokens_first);
    for (pointer, value) in [
        ("/model/dropout", json!(0.1)),
        (
            "/truncation",
            json!({"max_length": 3, "stride": 0, "strategy": "LongestFirst", "direction": "Right"}),
        ),
        (
            "/padding",
            json!({"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": null,
                "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}),
        ),
    ] {
        let read = read_json(&changed(tokenizer_json(), pointer, value)).unwrap();
        assert!(read.verdict.has(ReasonKind::Setting), "{pointer}");
    }
}

#[test]
fn added_tokens_have_the_ids_that_tokenizers_gives_them() {
    let added = |id, text: &str| json!({"id": id, "content": text, "single_word": true, "lstrip": false, "rstrip": true, "normalized": false, "special": false});
    let mut json = tokenizer_json();
    json["model"]["vocab"]["<|a|>"] = json!(300);
    // The vocabulary has 301 entries.
    json["added_tokens"] = json!([
        added(300, "<|a|>"),
        added(301, "<|b|>"),
        added(302, "<|c|>")
    ]);
    let parts = read_json(&json).unwrap().value.parts;
    // One that is only found as a special token is not among the tokens.
    assert_eq!(parts.tokens.len(), 300);
    let expected = SpecialToken {
        text: "<|c|>".to_owned(),
        id: 302,
        special: false,
        normalized: false,
        lstrip: false,
        rstrip: true,
        single_word: true,
    };
    assert_eq!(parts.special_tokens[2], expected);
    // Whatever ids the file states.
    json["added_tokens"] = json!([added(301, "<|b|>"), added(303, "<|c|>"), added(7, "<|a|>")]);
    let parts = read_json(&json).unwrap().value.parts;
    let ids: Vec<u32> = parts.special_tokens.iter().map(|token| token.id).collect();
    assert_eq!(ids, [301, 302, 300]);
    json["added_tokens"] = json!([added(97, "a")]);
    assert!(read_json(&json).is_ok());
    // In the vocabulary this is the token of one space.
    json["added_tokens"] = json!([added(32, "Ġ")]);
    let read = read_json(&json);
    assert_refused(
        "a token in printable characters",
        read,
        &["Unsupported", "added_tokens", "32"],
    );
}

#[test]
fn a_token_that_the_list_divides_is_named() {
    let mut json = tokenizer_json();
    json["model"]["vocab"]["atz"] = json!(300);
    assert_refused(
        "divided",
        read_json(&json),
        &["Unsupported", "model.merges", "\"atz\""],
    );
    // A token that no pair comes near is as before.
    json["model"]["vocab"]["<|xyz|>"] = json!(301);
    json["model"]["vocab"]
        .as_object_mut()
        .unwrap()
        .remove("atz");
    assert!(read_json(&json).unwrap().verdict.is_exact());
}

#[test]
fn tokens_of_other_characters_stand_for_their_text() {
    let mut json = tokenizer_json();
    json["model"]["vocab"]["中文"] = json!(300);
    json["model"]["vocab"]["<｜a｜>"] = json!(301);
    json["added_tokens"] = json!([{"id": 301, "content": "<｜a｜>", "special": true}]);
    let read = read_json(&json).unwrap();
    let last = read.value.parts.tokens.last().unwrap();
    assert_eq!((&*last.bytes, last.id), ("中文".as_bytes(), 300));
    assert!(read.verdict.is_exact());
    json["model"]["ignore_merges"] = json!(true);
    assert_refused(
        "other characters",
        read_json(&json),
        &["Unsupported", "model.vocab", "中文", "ignore_merges"],
    );
    json["model"]["ignore_merges"] = json!(false);
    json["model"]["vocab"]["數"] = json!(302);
    json["model"]["vocab"][printable("數".as_bytes())] = json!(303);
    assert_refused(
        "the same bytes",
        read_json(&json),
        &["Unsupported", "model.vocab", "數", "two tokens"],
    );
}

#[test]
#[ignore = "needs SPIECE_VOCABULARIES, a folder with published files"]
fn published_files_are_read_and_equal_by_all_texts() {
    let folder =
        PathBuf::from(std::env::var("SPIECE_VOCABULARIES").expect("SPIECE_VOCABULARIES is set"));
    let rows = [
        ("r50k_base.tiktoken", 50_256, 1),
        ("p50k_base.tiktoken", 50_280, 1),
        ("cl100k_base.tiktoken", 100_256, 5),
        ("o200k_base.tiktoken", 199_998, 2),
        ("llama3.tiktoken", 128_000, 7),
        ("qwen3.tiktoken", 151_643, 3),
        ("kimi.tiktoken", 163_584, 256),
        ("gpt2-vocab.json", 50_256, 1),
        ("gpt2-merges.txt", 50_256, 1),
        ("llama3.json", 128_000, 256),
        ("qwen3.json", 151_643, 26),
        ("gpt4o.json", 199_998, 2),
        ("deepseek_v3.json", 127_997, 818),
        ("tekken_240911.json", 130_072, 1_000),
    ];
    for (name, token_count, special_count) in rows {
        let path = folder.join(name);
        let read = ByteVocabulary::open(&path, &ByteFormatOptions::default());
        let read = read.unwrap().unwrap();
        let counts = (
            read.value.parts.tokens.len(),
            read.value.parts.special_tokens.len(),
        );
        assert_eq!(counts, (token_count, special_count), "{name}");
        assert!(read.verdict.is_exact(), "{name}: {}", read.verdict);
    }
}

#[test]
fn a_token_without_bytes_is_read_decoded_and_written() {
    let mut file = String::new();
    for (id, token) in trained_tokens().iter().enumerate() {
        file.push_str(&format!("{} {id}\n", BASE64_STANDARD.encode(token)));
    }
    let empty = trained_tokens().len();
    file.push_str(&format!("= {empty}\n"));
    let options = ByteFormatOptions {
        pretokenizer: Some(Pretokenizer::of(Pattern::new(PATTERN).unwrap())),
        ..ByteFormatOptions::default()
    };
    let read = ByteVocabulary::from_bytes(file.as_bytes(), &options);
    let bpe = read.unwrap().unwrap().into_bpe().unwrap();
    let id = PieceId::from_index(empty);
    assert_eq!(bpe.vocab_size(), empty + 1);
    assert_eq!(bpe.id_to_bytes(id), Some(&b""[..]));
    assert_eq!(bpe.bytes_to_id(""), Some(id));
    assert_eq!(bpe.parts().empty_token, Some(id.get()));
    let tiktoken = bpe.to_format(FileFormat::Tiktoken, &ByteFileOptions::default());
    assert_eq!(tiktoken.unwrap().files[0].1, file.as_bytes());

    let json = bpe.to_format(FileFormat::TokenizerJson, &ByteFileOptions::default());
    let json = json.unwrap().files.remove(0).1;
    let pipeline = crate::formats::read_pipeline(&json).unwrap();
    assert_eq!(
        pipeline.byte_bpe().unwrap().parts().empty_token,
        Some(id.get())
    );
    let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
    assert_eq!(tokenizer.decode([id, PieceId::new(97)]).unwrap(), "a");

    file.push_str("== 1000\n");
    let twice = ByteVocabulary::from_bytes(file.as_bytes(), &options).unwrap_err();
    assert!(
        matches!(twice, FormatError::DuplicateToken { .. }),
        "{twice}"
    );
}
