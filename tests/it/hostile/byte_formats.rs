//! Byte-level vocabularies that no program wrote.
//!
//! Each target takes a file, and also makes one of its input: a small vocabulary in the format of the
//! target, with a few bytes, lines or values changed. What is read makes a tokenizer whose ids
//! decode to the text; its tokens have the order that the verdict is about. Written in any format and
//! read again, it has the same ids.

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use spiece::byte_bpe::ByteBpe;
use spiece::formats::{
    ByteFileOptions, ByteFormatOptions, ByteVocabulary, Converted, FileFormat, FormatError, Missing,
};
use spiece::{Pretokenizer, Split};

use super::byte_adapting::encode;
use super::converting::change_value;

/// A `.tiktoken` file.
pub fn tiktoken(data: &[u8]) {
    check(ByteVocabulary::from_bytes(data, &options()));
    let mut input = Unstructured::new(data);
    let file = Vocabulary::any(&mut input).and_then(|vocabulary| {
        let tokens = vocabulary.tokens.iter().enumerate();
        let lines = tokens.map(|(rank, token)| format!("{} {rank}\n", base64(token)));
        changed_bytes(&mut input, lines.collect::<String>().into_bytes())
    });
    if let Ok(file) = file {
        check(ByteVocabulary::from_bytes(&file, &options()));
    }
}

/// A `.model` file of minbpe.
pub fn minbpe(data: &[u8]) {
    check_file(data);
    let mut input = Unstructured::new(data);
    let file = Vocabulary::any(&mut input).and_then(|vocabulary| {
        let pairs = vocabulary.merges.iter();
        let lines: String = pairs
            .map(|[left, right]| format!("{left} {right}\n"))
            .collect();
        let pattern = *input.choose(&["", "\\w+|\\W", "("])?;
        let file = format!("minbpe v1\n{pattern}\n1\n<|a|> 1000\n{lines}");
        changed_bytes(&mut input, file.into_bytes())
    });
    if let Ok(file) = file {
        check_file(&file);
    }
}

/// A `tekken.json`.
pub fn tekken(data: &[u8]) {
    check_file(data);
    let mut input = Unstructured::new(data);
    let file = Vocabulary::any(&mut input).and_then(|vocabulary| {
        let tokens = vocabulary.tokens.iter().enumerate();
        let tokens = tokens.map(|(rank, token)| {
            json!({"rank": rank, "token_bytes": base64(token), "token_str": null})
        });
        let config = json!({
            "pattern": "\\w+|\\W", "num_vocab_tokens": 0, "default_vocab_size": vocabulary.tokens.len() + 20,
            "default_num_special_tokens": 20, "version": "v3",
        });
        let mut file = json!({"config": config, "vocab": tokens.collect::<Vec<Value>>()});
        if input.arbitrary()? {
            file["special_tokens"] = json!([{"rank": 0, "token_str": "<a>", "is_control": true}]);
        }
        change_value(&mut input, &mut file)?;
        Ok(file.to_string())
    });
    if let Ok(file) = file {
        check_file(file.as_bytes());
    }
}

/// A byte-level `tokenizer.json`.
pub fn byte_level_json(data: &[u8]) {
    check_file(data);
    let mut input = Unstructured::new(data);
    let file = Vocabulary::any(&mut input).and_then(|vocabulary| {
        let split = json!({"type": "Split", "pattern": {"Regex": "\\w+|\\W"}, "behavior": "Isolated", "invert": false});
        let byte_level = json!({"type": "ByteLevel", "add_prefix_space": input.arbitrary::<bool>()?, "use_regex": input.arbitrary::<bool>()?});
        let pre_tokenizer = match input.arbitrary()? {
            true => json!({"type": "Sequence", "pretokenizers": [split, byte_level]}),
            false => byte_level,
        };
        let vocab = vocabulary.printable().into_iter().enumerate();
        let vocab: serde_json::Map<String, Value> = vocab.map(|(id, token)| (token, json!(id))).collect();
        let size = vocab.len();
        let mut file = json!({
            "added_tokens": [{"id": size, "content": "<|a|>", "special": input.arbitrary::<bool>()?, "lstrip": input.arbitrary::<bool>()?}],
            "normalizer": input.arbitrary::<bool>()?.then(|| json!({"type": "NFC"})),
            "pre_tokenizer": pre_tokenizer,
            "model": {"type": "BPE", "ignore_merges": input.arbitrary::<bool>()?, "vocab": vocab, "merges": vocabulary.lines(&mut input)?},
        });
        for _ in 0..input.int_in_range(0..=2)? {
            change_value(&mut input, &mut file)?;
        }
        Ok(file.to_string())
    });
    if let Ok(file) = file {
        check_file(file.as_bytes());
    }
}

/// A `vocab.json`, a NUL and a `merges.txt`.
pub fn vocab_merges(data: &[u8]) {
    if let Some(at) = data.iter().position(|byte| *byte == 0) {
        let (vocab, merges) = data.split_at(at);
        check(ByteVocabulary::from_vocab_and_merges(vocab, &merges[1..], &options()).map(Some));
    }
    let mut input = Unstructured::new(data);
    let files = Vocabulary::any(&mut input).and_then(|vocabulary| {
        let tokens = vocabulary.printable().into_iter().enumerate();
        let vocab: serde_json::Map<String, Value> =
            tokens.map(|(id, token)| (token, json!(id))).collect();
        let merges = format!(
            "#version: 0.2\n{}",
            vocabulary.lines(&mut input)?.join("\n")
        );
        let vocab = changed_bytes(&mut input, Value::Object(vocab).to_string().into_bytes())?;
        Ok((vocab, changed_bytes(&mut input, merges.into_bytes())?))
    });
    if let Ok((vocab, merges)) = files {
        check(ByteVocabulary::from_vocab_and_merges(&vocab, &merges, &options()).map(Some));
    }
}

fn options() -> ByteFormatOptions {
    let mut options = ByteFormatOptions::default();
    options.pretokenizer = Pretokenizer::named("gpt2");
    options
}

/// Bytes in base64.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let bits = (0..3).fold(0, |bits, at| {
            bits << 8 | usize::from(*group.get(at).unwrap_or(&0))
        });
        let digit = |at: usize| match at <= group.len() {
            true => char::from(DIGITS[bits >> (18 - 6 * at) & 63]),
            false => '=',
        };
        [0, 1, 2, 3].map(digit)
    };
    bytes.chunks(3).flat_map(group).collect()
}

/// What a reader makes of a file without options.
fn check_file(file: &[u8]) {
    check(ByteVocabulary::from_bytes(
        file,
        &ByteFormatOptions::default(),
    ));
}

/// What is read makes a tokenizer that gives every text back.
fn check(read: std::result::Result<Option<Converted<ByteVocabulary>>, FormatError>) {
    let vocabulary = match read {
        Ok(Some(vocabulary)) => vocabulary,
        Ok(None) => return,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let adds_text = vocabulary.value.parts.adds_prefix_space
        || !vocabulary.value.parts.special_tokens.is_empty();
    let form = vocabulary.value.parts.text_form;
    let tokenizer = ByteBpe::new(vocabulary.value.parts).expect("what is read is checked");
    for text in ["", "abab aaaa  bb\n", "<|a|>é\u{301}\u{1f600}\0"] {
        let ids = encode(&tokenizer, text);
        let decoded = tokenizer
            .decode_to_bytes(&ids)
            .expect("ids of texts decode");
        // White space beside added tokens and the space before texts are no part of the text, and
        // patterns can drop what they do not match.
        if !adds_text && form == spiece::byte_bpe::TextForm::AsIs {
            assert!(decoded.len() <= text.len());
        }
    }
    for format in [
        FileFormat::TokenizerJson,
        FileFormat::Tiktoken,
        FileFormat::VocabMerges,
        FileFormat::Minbpe,
    ] {
        check_written(&tokenizer, format);
    }
}

/// What is written is read with the same ids, if the verdict says so.
fn check_written(tokenizer: &ByteBpe, format: FileFormat) {
    let written = match tokenizer.to_format(format, &ByteFileOptions::default()) {
        Ok(written) => written,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let splits = tokenizer.pretokenizer().splits();
    let pattern = written.missing.iter().find_map(|missing| match missing {
        Missing::Pattern(expressions) => Some(&expressions[..]),
        _ => None,
    });
    let needs_pattern = pattern.is_some();
    // What is between the matches can need an expression that only tiktoken reads.
    let is_own = |[split]: &[Split; 1]| pattern == Some(&[split.pattern.expression().to_owned()]);
    if !written.verdict.is_exact()
        || needs_pattern && !<&[Split; 1]>::try_from(splits).is_ok_and(is_own)
    {
        return;
    }
    let mut options = ByteFormatOptions::default();
    if needs_pattern {
        options.pretokenizer =
            (splits.first()).map(|split| Pretokenizer::of(split.pattern.clone()));
        options.special_tokens = Some(tokenizer.special_tokens().to_vec());
    }
    let read = match &written.files[..] {
        [(_, vocab), (_, merges)] => {
            ByteVocabulary::from_vocab_and_merges(vocab, merges, &options).map(Some)
        }
        [(_, file)] => ByteVocabulary::from_bytes(file, &options),
        _ => panic!("{format} is one file or two"),
    };
    let read = read
        .expect("what is written is read")
        .expect("it is byte-level");
    let read = read.into_bpe().expect("the verdict was exact");
    for text in ["abab aaaa  bb\n", "<|a|>é\u{301}\u{1f600} 12a"] {
        assert_eq!(
            encode(&read, text),
            encode(tokenizer, text),
            "{format}: {text:?}"
        );
    }
}

/// All bytes by value, and tokens that are merged from two before them.
struct Vocabulary {
    tokens: Vec<Vec<u8>>,
    /// The positions of the parts.
    merges: Vec<[usize; 2]>,
}

impl Vocabulary {
    fn any(input: &mut Unstructured<'_>) -> Result<Self> {
        let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        let mut merges = Vec::new();
        for _ in 0..input.int_in_range(0..=12)? {
            // Most tokens consist of a, b and what was made of them.
            let mut part = || {
                let near = tokens.len() - 256 + 2;
                let at = input.choose_index(near)?;
                Ok(if at < 2 {
                    usize::from(b'a') + at
                } else {
                    254 + at
                })
            };
            let pair = [part()?, part()?];
            let token = pair.map(|at| &tokens[at][..]).concat();
            if !tokens.contains(&token) {
                tokens.push(token);
                merges.push(pair);
            }
        }
        Ok(Self { tokens, merges })
    }

    /// The tokens in the characters of GPT-2.
    fn printable(&self) -> Vec<String> {
        let is_printable = |byte: u8| matches!(byte, 0x21..=0x7E | 0xA1..=0xAC | 0xAE..=0xFF);
        let others: Vec<u8> = (0..=u8::MAX).filter(|byte| !is_printable(*byte)).collect();
        let char_of = |byte: &u8| match others.iter().position(|other| other == byte) {
            Some(at) => u32::try_from(256 + at)
                .ok()
                .and_then(char::from_u32)
                .expect("a character"),
            None => char::from(*byte),
        };
        self.tokens
            .iter()
            .map(|token| token.iter().map(char_of).collect())
            .collect()
    }

    /// The lines of a list of merges, some of them left out, repeated or exchanged.
    fn lines(&self, input: &mut Unstructured<'_>) -> Result<Vec<String>> {
        let tokens = self.printable();
        let line = |[left, right]: &[usize; 2]| format!("{} {}", tokens[*left], tokens[*right]);
        let mut lines: Vec<String> = self.merges.iter().map(line).collect();
        for _ in 0..input.int_in_range(0..=3)? {
            if lines.is_empty() {
                break;
            }
            let [from, to] = [
                input.choose_index(lines.len())?,
                input.choose_index(lines.len())?,
            ];
            match input.int_in_range(0..=2)? {
                0 => lines.swap(from, to),
                1 => lines.push(lines[from].clone()),
                _ => drop(lines.remove(from)),
            }
        }
        Ok(lines)
    }
}

/// A file with some bytes replaced, removed or repeated.
pub(super) fn changed_bytes(input: &mut Unstructured<'_>, mut file: Vec<u8>) -> Result<Vec<u8>> {
    for _ in 0..input.int_in_range(0..=3)? {
        if file.is_empty() {
            break;
        }
        let at = input.choose_index(file.len())?;
        match input.int_in_range(0..=3)? {
            0 => file[at] = input.arbitrary()?,
            1 => drop(file.remove(at)),
            2 => file.insert(at, *input.choose(b" \n=9a\xFF")?),
            _ => file.truncate(at),
        }
    }
    Ok(file)
}
