//! Tokenizers from files of any format, recognized by their content.

use spiece::formats::{ByteFormatOptions, FormatError};
use spiece::{OpenError, Pretokenizer, Tokenizer};

use crate::support::testdata;

/// The bytes as GPT-2 writes them in files: printable characters stand for all others.
fn byte_chars() -> Vec<char> {
    let printable = |byte: &u32| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    let mut other = (256..).map(|code| char::from_u32(code).unwrap());
    (0..256)
        .map(|byte| match printable(&byte) {
            true => char::from_u32(byte).unwrap(),
            false => other.next().unwrap(),
        })
        .collect()
}

/// `vocab.json` and `merges.txt` of all bytes, `lo` and `low`.
fn vocab_and_merges() -> [String; 2] {
    let bytes = byte_chars().into_iter().map(String::from);
    let texts = bytes.chain(["lo".to_owned(), "low".to_owned()]);
    let entries = texts.zip(0..).map(|(text, id)| {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"");
        format!("\"{text}\": {id}")
    });
    let vocab = format!("{{{}}}", entries.collect::<Vec<_>>().join(", "));
    [vocab, "#version: 0.2\nl o\nlo w\n".to_owned()]
}

#[test]
fn the_content_of_a_file_decides_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.model");
    std::fs::write(&path, "minbpe v1\n\n0\n97 98\n256 99\n").unwrap();
    let tokenizer = Tokenizer::open(&path).unwrap();
    assert!(tokenizer.byte_bpe().is_some());
    assert_eq!(tokenizer.encode("abcd"), [257, 100]);
    let of_bytes = Tokenizer::from_bytes(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(of_bytes.encode("abcd"), tokenizer.encode("abcd"));

    std::fs::copy(testdata("golden/llama2.model"), &path).unwrap();
    let tokenizer = Tokenizer::open(&path).unwrap();
    assert!(tokenizer.byte_bpe().is_none());
    assert!(tokenizer.model().is_some());
}

#[test]
fn a_pattern_is_asked_for_where_the_file_has_none_and_refused_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let [vocab, merges] = vocab_and_merges();
    std::fs::write(folder.path().join("vocab.json"), vocab).unwrap();
    std::fs::write(folder.path().join("merges.txt"), merges).unwrap();
    let missing = Tokenizer::open(folder.path()).unwrap_err();
    assert!(
        matches!(
            missing.without_path(),
            OpenError::Format(FormatError::NoPattern { .. })
        ),
        "{missing}"
    );

    let mut options = ByteFormatOptions::default();
    options.pretokenizer = Pretokenizer::named("gpt2");
    let tokenizer = Tokenizer::open_with(folder.path(), &options).unwrap();
    let ids: Vec<u32> = tokenizer.encode("low").iter().map(|id| id.get()).collect();
    assert_eq!(ids, [257]);
    assert_eq!(
        tokenizer.decode(tokenizer.encode("a low\u{e9}")).unwrap(),
        "a low\u{e9}"
    );

    let model = Tokenizer::open_with(testdata("golden/llama2.model"), &options).unwrap_err();
    assert!(
        matches!(
            model.without_path(),
            OpenError::Format(FormatError::PatternGiven { .. })
        ),
        "{model}"
    );
}

#[test]
fn a_missing_file_is_an_error_of_reading() {
    let error = Tokenizer::open("no such file").unwrap_err();
    assert!(matches!(error, OpenError::Read { .. }), "{error}");
}

#[test]
fn an_error_of_a_malformed_file_names_the_file_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    std::fs::write(
        &path,
        r#"{"added_tokens": [], "model": {"type": "BPE", "vocab":"#,
    )
    .unwrap();
    let error = Tokenizer::open(&path).unwrap_err().to_string();
    assert_eq!(error.matches("tokenizer.json:").count(), 1, "{error}");
}

#[test]
fn lower_case_is_chosen_for_a_vocab_txt_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vocab.txt");
    let config = folder.path().join("tokenizer_config.json");
    let ids = |path: &std::path::Path, lowercase| {
        let mut options = ByteFormatOptions::default();
        options.lowercase = lowercase;
        let tokenizer = Tokenizer::open_with(path, &options).unwrap();
        let ids = tokenizer.encode("A\u{e9}a");
        ids.iter().map(|id| id.get()).collect::<Vec<u32>>()
    };
    // The word is unknown as a whole, unless it is cut.
    std::fs::write(&path, "[UNK]\na\nA\n##\u{e9}\n##e\n##a\n").unwrap();
    assert_eq!(ids(&path, None), [2, 3, 5], "a piece has a capital");
    assert_eq!(ids(&path, Some(true)), [1, 4, 5]);
    assert_eq!(ids(&path, Some(false)), [2, 3, 5]);
    std::fs::write(
        &config,
        r#"{"do_lower_case": true, "strip_accents": false}"#,
    )
    .unwrap();
    assert_eq!(ids(folder.path(), None), [1, 3, 5]);
    assert_eq!(ids(folder.path(), Some(false)), [2, 3, 5]);

    let mut options = ByteFormatOptions::default();
    options.lowercase = Some(true);
    for file in [
        "golden/llama2.model",
        "wordpiece/tokenizer.json",
        "bytes/gpt2.json",
        "bytes/gpt2.tiktoken",
    ] {
        let error = Tokenizer::open_with(testdata(file), &options).unwrap_err();
        let refused = matches!(
            error.without_path(),
            OpenError::Format(FormatError::BertOptionGiven { .. })
        );
        assert!(refused, "{error}");
    }
}
