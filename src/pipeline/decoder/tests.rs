//! The steps one after the other on all tokens, as the library tokenizers applies them, against one
//! token after the other.

use proptest::prelude::*;

use super::{DecoderState, DecoderStep, byte_of, byte_of_token, cleaned};
use crate::pipeline::Matcher;

/// All tokens after a step.
fn applied(step: &DecoderStep, mut tokens: Vec<String>) -> Vec<String> {
    match step {
        DecoderStep::Bpe { suffix } => {
            let last = tokens.len().saturating_sub(1);
            for (at, token) in tokens.iter_mut().enumerate() {
                *token = token.replace(suffix, if at == last { "" } else { " " });
            }
        }
        DecoderStep::ByteFallback => tokens = byte_fallback(tokens),
        DecoderStep::ByteLevel => {
            let mut bytes = Vec::new();
            for token in &tokens {
                let start = bytes.len();
                for c in token.chars() {
                    match byte_of(c) {
                        Some(byte) => bytes.push(byte),
                        None => {
                            bytes.truncate(start);
                            bytes.extend_from_slice(token.as_bytes());
                            break;
                        }
                    }
                }
            }
            tokens = vec![String::from_utf8_lossy(&bytes).into_owned()];
        }
        DecoderStep::Ctc {
            pad_token,
            word_delimiter_token,
            cleanup,
        } => {
            tokens.dedup();
            for token in &mut tokens {
                *token = token.replace(pad_token, "");
                if *cleanup {
                    let clean = cleaned(std::mem::take(token));
                    *token = clean.replace(word_delimiter_token, " ");
                }
            }
            tokens.retain(|token| !token.is_empty());
        }
        DecoderStep::Fuse => tokens = vec![tokens.concat()],
        DecoderStep::Metaspace {
            replacement,
            strips_first,
        } => {
            for (at, token) in tokens.iter_mut().enumerate() {
                let space = if at == 0 && *strips_first { "" } else { " " };
                *token = token.replace(*replacement, space);
            }
        }
        DecoderStep::Replace { pattern, content } => {
            for token in &mut tokens {
                let mut replaced = String::with_capacity(token.len());
                pattern
                    .for_each(token, &mut |range, is_match| match is_match {
                        true => replaced.push_str(content),
                        false => replaced.push_str(&token[range]),
                    })
                    .unwrap();
                *token = replaced;
            }
        }
        DecoderStep::Strip {
            content,
            start,
            stop,
        } => {
            for token in &mut tokens {
                let count = |chars: &mut dyn Iterator<Item = char>, limit: usize| {
                    chars.take(limit).take_while(|c| c == content).count()
                };
                let leading = count(&mut token.chars(), *start) * content.len_utf8();
                let trailing = count(&mut token.chars().rev(), *stop) * content.len_utf8();
                let end = (token.len() - trailing).max(leading);
                *token = token[leading..end].to_owned();
            }
        }
        DecoderStep::WordPiece { prefix, cleanup } => {
            for (at, token) in tokens.iter_mut().enumerate() {
                if at > 0 {
                    *token = match token.strip_prefix(prefix) {
                        Some(rest) => rest.to_owned(),
                        None => format!(" {token}"),
                    };
                }
                if *cleanup {
                    *token = cleaned(std::mem::take(token));
                }
            }
        }
    }
    tokens
}

/// Runs of tokens of bytes become characters, or as many U+FFFD if they are malformed.
fn byte_fallback(tokens: Vec<String>) -> Vec<String> {
    let mut changed = Vec::with_capacity(tokens.len());
    let mut bytes: Vec<u8> = Vec::new();
    let flush = |bytes: &mut Vec<u8>, changed: &mut Vec<String>| {
        if bytes.is_empty() {
            return;
        }
        let run = std::mem::take(bytes);
        let length = run.len();
        match String::from_utf8(run) {
            Ok(text) => changed.push(text),
            Err(_) => changed.extend(std::iter::repeat_n("\u{FFFD}".to_owned(), length)),
        }
    };
    for token in tokens {
        match byte_of_token(&token) {
            Some(byte) => bytes.push(byte),
            None => {
                flush(&mut bytes, &mut changed);
                changed.push(token);
            }
        }
    }
    flush(&mut bytes, &mut changed);
    changed
}

fn naive(steps: Option<&[DecoderStep]>, tokens: &[String]) -> String {
    let Some(steps) = steps else {
        return tokens.join(" ");
    };
    let apply = |tokens, step| applied(step, tokens);
    steps.iter().fold(tokens.to_vec(), apply).concat()
}

/// The texts that are certain after each token, and the rest.
fn streamed(steps: Option<&[DecoderStep]>, tokens: &[String]) -> Vec<String> {
    let mut state = DecoderState::new(steps);
    let mut texts = Vec::new();
    for token in tokens {
        let mut text = String::new();
        state.push(steps, token, &mut text).unwrap();
        texts.push(text);
    }
    let mut rest = String::new();
    state.finish(steps, &mut rest).unwrap();
    texts.push(rest);
    texts
}

fn step() -> impl Strategy<Value = DecoderStep> {
    let small = 0..3usize;
    prop_oneof![
        prop_oneof![Just("</w>"), Just(""), Just("b")].prop_map(|suffix| DecoderStep::Bpe {
            suffix: suffix.to_owned()
        }),
        Just(DecoderStep::ByteFallback),
        Just(DecoderStep::ByteLevel),
        (any::<bool>(), prop_oneof![Just("a"), Just("<pad>")]).prop_map(|(cleanup, pad)| {
            DecoderStep::Ctc {
                pad_token: pad.to_owned(),
                word_delimiter_token: "|".to_owned(),
                cleanup,
            }
        }),
        Just(DecoderStep::Fuse),
        any::<bool>().prop_map(|strips_first| DecoderStep::Metaspace {
            replacement: '\u{2581}',
            strips_first,
        }),
        (0..5usize, prop_oneof![Just(" "), Just(""), Just("a")]).prop_map(|(which, content)| {
            DecoderStep::Replace {
                pattern: match which {
                    0 => Matcher::text("\u{2581}"),
                    1 => Matcher::text("a "),
                    2 => Matcher::text(""),
                    3 => Matcher::expression("a+").unwrap(),
                    _ => Matcher::expression("(?<= )b|^").unwrap(),
                },
                content: content.to_owned(),
            }
        }),
        (
            prop_oneof![Just(' '), Just('a'), Just('\u{e9}')],
            small.clone(),
            small
        )
            .prop_map(|(content, start, stop)| DecoderStep::Strip {
                content,
                start,
                stop
            }),
        (any::<bool>(), prop_oneof![Just("##"), Just("a")]).prop_map(|(cleanup, prefix)| {
            DecoderStep::WordPiece {
                prefix: prefix.to_owned(),
                cleanup,
            }
        }),
    ]
}

fn token() -> impl Strategy<Value = String> {
    let texts = [
        "",
        "a",
        "b",
        " ",
        "\u{2581}",
        "\u{2581}a",
        "a</w>",
        "##b",
        ".",
        "n't",
        "<pad>",
        "|",
        "\u{e9}",
        " a ",
        "a a",
        "<0xC3>",
        "<0xA9>",
        "<0xE4>",
        "<0x+A>",
        "\u{c3}",
        "\u{a9}",
        "\u{120}",
        "\u{fffd}",
    ];
    prop::sample::select(texts.to_vec()).prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 2_000 } else { 20_000 }))]

    #[test]
    fn tokens_one_by_one_give_the_text_of_all(
        steps in prop::option::weighted(0.95, prop::collection::vec(step(), 0..6)),
        tokens in prop::collection::vec(token(), 0..9),
    ) {
        let steps = steps.as_deref();
        prop_assert_eq!(streamed(steps, &tokens).concat(), naive(steps, &tokens));
    }
}

#[test]
fn a_text_appears_as_soon_as_it_is_certain() {
    let metaspace = DecoderStep::Replace {
        pattern: Matcher::text("\u{2581}"),
        content: " ".to_owned(),
    };
    let strip = DecoderStep::Strip {
        content: ' ',
        start: 1,
        stop: 0,
    };
    let llama = [
        metaspace,
        DecoderStep::ByteFallback,
        DecoderStep::Fuse,
        strip,
    ];
    let clip = [DecoderStep::Bpe {
        suffix: "</w>".to_owned(),
    }];
    let bert = [DecoderStep::WordPiece {
        prefix: "##".to_owned(),
        cleanup: true,
    }];
    let byte_level = [DecoderStep::ByteLevel];
    let cases: [(&[DecoderStep], &[&str], &[&str]); 4] = [
        (
            &llama,
            &["\u{2581}a", "\u{2581}b", "<0xC3>", "<0xA9>", "c"],
            &["a", " b", "", "", "\u{e9}c", ""],
        ),
        (&clip, &["a", "b</w>", "c</w>"], &["a", "", "b ", "c"]),
        (&bert, &["a", "##b", "c", "."], &["a", "b", " c", ".", ""]),
        (
            &byte_level,
            &["\u{120}a", "\u{c3}", "\u{a9}", "b"],
            &[" a", "", "\u{e9}", "b", ""],
        ),
    ];
    for (steps, tokens, expected) in cases {
        let tokens: Vec<String> = tokens.iter().map(|token| (*token).to_owned()).collect();
        assert_eq!(streamed(Some(steps), &tokens), expected, "{steps:?}");
    }
}

#[test]
fn any_number_of_steps_needs_no_stack() {
    let step = DecoderStep::Strip {
        content: '-',
        start: 1,
        stop: 0,
    };
    let steps = vec![step; 200_000];
    assert_eq!(streamed(Some(&steps), &["a".to_owned()]), ["a", ""]);
}
