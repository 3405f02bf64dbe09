//! Special tokens, spans, normalization, refusals. That merging is right is tested in
//! `encode/bpe/bytes`.

use std::ops::Range;

use proptest::prelude::*;

use super::*;
use crate::base::rng::Rng;
use crate::decode::DecodeError;
use crate::pattern::Pattern;
use crate::tokenizer::{EncodeOptions, SampleOptions, Tokenizer, TokenizerConfig};

fn pretokenizer() -> Pretokenizer {
    Pretokenizer::of(Pattern::named("gpt2").unwrap())
}

/// All bytes (in an order that makes ids and bytes differ), and some words.
fn parts() -> ByteBpeParts {
    let mut parts = ByteBpeParts::new(pretokenizer());
    let bytes = (0..=u8::MAX).map(|byte| vec![byte ^ 0x55]);
    let words =
        ["lo", " l", "ow", " low", "er", "\u{e9}", " \u{e9}"].map(|word| word.as_bytes().to_vec());
    let texts = bytes.chain(words);
    parts.tokens = (10..)
        .zip(texts)
        .map(|(id, bytes)| ByteToken {
            bytes: bytes.into(),
            id,
        })
        .collect();
    parts
}

fn special(text: &str, id: u32) -> SpecialToken {
    SpecialToken::new(text, id)
}

fn with_special(tokens: impl IntoIterator<Item = SpecialToken>) -> ByteBpe {
    let mut parts = parts();
    parts.special_tokens = tokens.into_iter().collect();
    ByteBpe::new(parts).unwrap()
}

impl ByteBpe {
    /// The ids of a text, special tokens being ordinary text.
    pub(crate) fn encode(&self, text: impl AsRef<[u8]>) -> Vec<PieceId> {
        tokenizer(self).encode(text)
    }
}

fn tokenizer(bpe: &ByteBpe) -> Tokenizer {
    Tokenizer::from_pipeline(bpe.clone(), TokenizerConfig::default())
}

/// Options that allow all special tokens.
fn all(bpe: &ByteBpe) -> EncodeOptions {
    let special = bpe.special_tokens().iter().filter(|token| token.special);
    EncodeOptions::default().with_allowed_special(special.map(|token| &*token.text))
}

/// The ids of a text with their spans.
fn spans(bpe: &ByteBpe, options: &EncodeOptions, text: &[u8]) -> Vec<(PieceId, Range<usize>)> {
    let tokenizer = tokenizer(bpe);
    let mut encoder = tokenizer.encoder_with(options).unwrap();
    let tokens = encoder.tokens(text).iter();
    let found: Vec<_> = tokens.map(|token| (token.id(), token.span())).collect();
    assert!(found.iter().map(|(id, _)| id).eq(encoder.encode(text)));
    found
}

/// The bytes and the surface of each token of a text.
fn tokens(bpe: &ByteBpe, options: &EncodeOptions, text: &str) -> Vec<(String, String)> {
    let tokens = spans(bpe, options, text.as_bytes());
    let lossy = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let texts = |(id, span): (PieceId, Range<usize>)| {
        let bytes = bpe.id_to_bytes(id).unwrap();
        (lossy(bytes), lossy(&text.as_bytes()[span]))
    };
    tokens.into_iter().map(texts).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = pairs
        .iter()
        .map(|(bytes, surface)| (bytes.to_string(), surface.to_string()));
    owned.collect()
}

#[test]
fn whole_pretokens_come_first_only_if_asked_for() {
    let mut parts = parts();
    let ids = |parts: &ByteBpeParts| {
        let bpe = ByteBpe::new(parts.clone()).unwrap();
        let ids = bpe.encode("low low");
        ids.iter()
            .map(|id| String::from_utf8_lossy(bpe.id_to_bytes(*id).unwrap()).into_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&parts), ["lo", "w", " low"]);
    parts.whole_pretokens_first = false;
    assert_eq!(ids(&parts), ["lo", "w", " ", "lo", "w"]);
}

#[test]
fn special_tokens_are_text_unless_they_are_allowed() {
    let bpe = with_special([
        special("<end>", 900),
        special("<end>>", 901),
        special("<x>", 7),
    ]);
    let text = "lo<end>>er<x>";
    let plain = bpe.encode(text);
    assert!(plain.iter().all(|id| id.get() < 900 && id.get() >= 10));
    assert_eq!(bpe.decode_to_bytes(&plain).unwrap(), text.as_bytes());
    let one = EncodeOptions::default().with_allowed_special(["<end>"]);
    let found = tokens(&bpe, &one, text);
    assert_eq!(found[1], ("<end>".to_owned(), "<end>".to_owned()));
    let found = tokens(&bpe, &all(&bpe), text);
    let surfaces: Vec<&str> = found.iter().map(|(_, surface)| &surface[..]).collect();
    assert_eq!(
        surfaces,
        ["lo", "<end>>", "er", "<x>"],
        "the longest counts"
    );
}

#[test]
fn of_several_tokens_with_one_id_the_first_one_is_decoded() {
    let bpe = with_special([
        special("<b>", 900),
        special("<a>", 900),
        special("<l>", 266),
    ]);
    let found = spans(&bpe, &all(&bpe), b"<a><b><l>lo");
    let ids: Vec<PieceId> = found.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, [900, 900, 266, 266]);
    assert_eq!(bpe.decode_to_bytes(&ids).unwrap(), b"<b><b>lolo");
    assert_eq!(bpe.bytes_to_id("<a>"), Some(900.into()));
}

#[test]
fn pretokens_and_special_tokens_are_numbered() {
    let bpe = with_special([special("<x>", 900)]);
    let tokenizer = tokenizer(&bpe);
    let mut encoder = tokenizer.encoder_with(&all(&bpe)).unwrap();
    let text = "low <x> low\u{e9}\n";
    let mut words: Vec<String> = Vec::new();
    for token in encoder.tokens(text) {
        let word = token.word().unwrap() as usize;
        words.resize(word + 1, String::new());
        words[word].push_str(&text[token.span()]);
    }
    assert_eq!(words, ["low", " ", "<x>", " low\u{e9}", "\n"]);
}

#[test]
fn merging_does_not_look_up_the_whole_pretoken() {
    let bpe = ByteBpe::new(parts()).unwrap();
    assert_eq!(bpe.encode(" low").len(), 1);
    assert_eq!(bpe.merge_pretoken(" low").len(), 3);
    assert!(bpe.merge_pretoken("").is_empty());
    assert_eq!(bpe.merge_pretoken("\u{e9}"), [271]);
}

/// With the token `<end>` that is not allowed, tokenizers would find no `end>lo`.
#[test]
fn tokens_that_are_not_allowed_do_not_hide_others() {
    let bpe = with_special([special("<end>", 900), special("end>lo", 901)]);
    let one = EncodeOptions::default().with_allowed_special(["end>lo"]);
    let found = tokens(&bpe, &one, "<end>lo");
    assert_eq!(found, pairs(&[("<", "<"), ("end>lo", "end>lo")]));
}

#[test]
fn added_tokens_have_the_properties_of_tokenizers() {
    let strips = SpecialToken {
        special: false,
        lstrip: true,
        rstrip: true,
        ..special("<m>", 900)
    };
    let normalized = SpecialToken {
        special: false,
        normalized: true,
        ..special("m>", 901)
    };
    let bpe = with_special([strips, normalized]);
    let surfaces = |text| {
        let found = tokens(&bpe, &EncodeOptions::default(), text);
        found
            .into_iter()
            .map(|(_, surface)| surface)
            .collect::<Vec<_>>()
    };
    assert_eq!(surfaces("lo \u{a0}<m>\t lo"), ["lo", " \u{a0}<m>\t ", "lo"]);
    assert_eq!(
        surfaces("<m> <m>"),
        ["<m> ", "<m>"],
        "white space belongs to the first"
    );
    assert_eq!(surfaces("m><m>"), ["m>", "<m>"]);
    assert_eq!(
        surfaces("<<m>"),
        ["<", "<m>"],
        "tokens that are not normalized are cut out first"
    );
}

#[test]
fn white_space_that_is_a_token_and_belongs_to_the_one_before_has_a_span() {
    let strips_after = SpecialToken {
        rstrip: true,
        ..special("<x>", 900)
    };
    let strips_before = SpecialToken {
        lstrip: true,
        ..special("\n", 901)
    };
    let bpe = with_special([strips_after, strips_before]);
    let found = spans(&bpe, &all(&bpe), b"<x>\n\nlo");
    assert_eq!(found[0], (PieceId::new(900), 0..5));
    assert!(
        found.iter().all(|(_, span)| span.start < span.end),
        "{found:?}"
    );
}

#[test]
fn single_words_are_not_found_inside_of_words() {
    let word = SpecialToken {
        special: false,
        single_word: true,
        ..special("low", 900)
    };
    let bpe = with_special([word]);
    for (text, count) in [
        ("low", 1),
        (" low.low", 2),
        ("lower", 0),
        ("_low", 0),
        ("\u{e9}low", 0),
        ("low\u{301}", 0),
        ("low\u{bd}low", 2),
        ("lowlow low", 1),
    ] {
        let found = tokens(&bpe, &EncodeOptions::default(), text);
        let found = found
            .iter()
            .filter(|(bytes, surface)| bytes == "low" && surface == "low");
        assert_eq!(found.count(), count, "{text}");
    }
}

#[test]
fn a_space_is_put_before_each_part_without_one() {
    let mut parts = parts();
    parts.adds_prefix_space = true;
    parts.special_tokens = vec![special("<x>", 900)];
    let bpe = ByteBpe::new(parts).unwrap();
    let found = tokens(&bpe, &all(&bpe), "low low<x>low<x> low");
    let expected = [
        (" low", "low"),
        (" low", " low"),
        ("<x>", "<x>"),
        (" low", "low"),
        ("<x>", "<x>"),
        (" low", " low"),
    ];
    assert_eq!(found, pairs(&expected));
}

#[test]
fn normalized_text_has_the_spans_of_its_origin() {
    let mut parts = parts();
    parts.text_form = TextForm::Nfc;
    let normalized = SpecialToken {
        special: false,
        normalized: true,
        ..special("E\u{301}!", 901)
    };
    parts.special_tokens = vec![special("<x>", 900), normalized];
    let bpe = ByteBpe::new(parts).unwrap();
    let found = tokens(&bpe, &all(&bpe), "lo<x>a e\u{301}low\u{c9}!w<x> \u{e9}");
    let expected = [
        ("lo", "lo"),
        ("<x>", "<x>"),
        ("a", "a"),
        (" \u{e9}", " e"),
        ("lo", "lo"),
        ("w", "w"),
        ("E\u{301}!", "\u{c9}!"),
        ("w", "w"),
        ("<x>", "<x>"),
        (" \u{e9}", " \u{e9}"),
    ];
    assert_eq!(found, pairs(&expected));
}

#[test]
fn any_bytes_are_decoded_to_themselves() {
    let bpe = with_special([special("<x>", 900)]);
    let (all, tokenizer) = (all(&bpe), tokenizer(&bpe));
    let bytes = proptest::collection::vec(
        proptest::sample::select(&b"low er<x>\xC3\xA9\x80\xFF\n"[..]),
        0..60,
    );
    proptest!(|(text in bytes, seed in any::<u64>())| {
        let tokens = spans(&bpe, &all, &text);
        let mut end = 0;
        for (id, span) in &tokens {
            prop_assert_eq!(bpe.id_to_bytes(*id).unwrap(), &text[span.clone()]);
            prop_assert_eq!(span.start, end);
            end = span.end;
        }
        prop_assert_eq!(end, text.len());
        let ids: Vec<PieceId> = tokens.into_iter().map(|(id, _)| id).collect();
        prop_assert_eq!(bpe.decode_to_bytes(&ids).unwrap(), &text[..]);
        let mut encoder = tokenizer.encoder_with(&all).unwrap();
        for probability in [0.5, 1.0] {
            let mut rng = Rng::with_seed(seed);
            let dropout = SampleOptions::Dropout { probability };
            let sampled: Vec<_> = encoder.sample(&text, &dropout, &mut rng).unwrap().ids().collect();
            prop_assert!(sampled.len() >= ids.len() || probability < 1.0);
            prop_assert_eq!(bpe.decode_to_bytes(&sampled).unwrap(), &text[..]);
        }
    });
}

#[test]
fn tokens_and_ids_are_found_by_each_other() {
    let bpe = with_special([special("<x>", 900), special("lo", 266)]);
    assert_eq!(bpe.vocab_size(), 901);
    assert_eq!(bpe.bytes_to_id("lo"), Some(PieceId::new(266)));
    assert_eq!(bpe.bytes_to_id("<x>"), Some(PieceId::new(900)));
    assert_eq!(bpe.bytes_to_id([0]), Some(PieceId::new(10 + 0x55)));
    assert_eq!(bpe.bytes_to_id("lower"), None);
    assert_eq!(bpe.id_to_bytes(PieceId::new(900)), Some(&b"<x>"[..]));
    for unknown in [0, 9, 800, 901, u32::MAX] {
        let id = PieceId::new(unknown);
        assert_eq!(bpe.id_to_bytes(id), None);
        let pieces = bpe.vocab_size();
        assert_eq!(
            bpe.decode_to_bytes(&[PieceId::new(20), id]),
            Err(DecodeError::NoPiece { id, pieces })
        );
    }
}

#[test]
fn vocabularies_that_cannot_work_are_refused() {
    type Change = fn(&mut ByteBpeParts);
    let cases: Vec<(Change, ByteBpeError)> = vec![
        (
            |parts| parts.tokens.retain(|token| *token.bytes != *b"0"),
            ByteBpeError::MissingByte { byte: b'0' },
        ),
        (
            |parts| parts.tokens[260].bytes = Box::default(),
            ByteBpeError::EmptyToken { id: 270 },
        ),
        (
            |parts| parts.tokens[260].bytes = (*b"lo").into(),
            ByteBpeError::RepeatedToken {
                bytes: (*b"lo").into(),
                id: 270,
            },
        ),
        (
            |parts| parts.tokens[260].id = 11,
            ByteBpeError::RepeatedId { id: 11 },
        ),
        (
            |parts| parts.tokens[260].id = 1 << 24,
            ByteBpeError::IdTooLarge { id: 1 << 24 },
        ),
        (
            |parts| parts.special_tokens.push(special("<x>", u32::MAX)),
            ByteBpeError::IdTooLarge { id: u32::MAX },
        ),
        (
            |parts| parts.special_tokens.push(special("", 900)),
            ByteBpeError::SpecialText { id: 900 },
        ),
        (
            |parts| parts.special_tokens.push(special("a\0", 900)),
            ByteBpeError::SpecialText { id: 900 },
        ),
        (
            |parts| {
                parts
                    .special_tokens
                    .extend([special("<x>", 900), special("<x>", 901)])
            },
            ByteBpeError::RepeatedSpecial {
                text: "<x>".to_owned(),
            },
        ),
    ];
    for (change, expected) in cases {
        let mut parts = parts();
        change(&mut parts);
        let error = ByteBpe::new(parts).unwrap_err();
        assert_eq!(error, expected);
        assert!(!error.to_string().is_empty());
    }
}

#[cfg(feature = "train")]
use crate::pipeline::Pipeline;

#[cfg(feature = "train")]
proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 200 } else { 5000 }))]

    #[test]
    fn texts_are_divided_where_no_special_token_is(
        text in "(low|<\\|end of text\\|>|<s>|s>|a <s> a|[ab]c? {1,3}|e\u{301}|\\.){1,40}\\.{0,90}",
        flags in 0u8..64,
        is_normalized in any::<bool>(),
        adds_prefix_space in any::<bool>(),
    ) {
        let flag = |bit: u8| flags >> bit & 1 == 1;
        let mut tokens = ["<|end of text|>", "<s>", "c a", "b", "b.", "\u{e9}."].map(|text| special(text, 0));
        for (token, id) in tokens.iter_mut().zip(300..) {
            token.id = id;
            token.normalized = is_normalized ^ flag(4);
            (token.lstrip, token.rstrip, token.single_word) = (flag(0), flag(1), flag(2));
        }
        let mut parts = parts();
        parts.special_tokens = tokens.into_iter().skip(usize::from(flag(5)) * 3).collect();
        parts.adds_prefix_space = adds_prefix_space;
        if flag(3) {
            parts.text_form = TextForm::Nfc;
        }
        let bpe = ByteBpe::new(parts).unwrap();
        let pipeline = Pipeline::from(bpe);
        let all = pipeline.found(|_| true, true);
        let pretokens = |text: &[u8]| {
            let mut found = Vec::new();
            let push = &mut |text: &[u8], range: Range<usize>| found.push(text[range].to_vec());
            pipeline.for_each_pretoken(text, &all, push).unwrap();
            found
        };
        let text = text.as_bytes();
        // The text so far need not be all of it.
        for read in 0..=text.len() {
            if let Some(at) = pipeline.last_boundary(&text[..read], 0) {
                let divided = [pretokens(&text[..at]), pretokens(&text[at..])].concat();
                prop_assert_eq!(divided, pretokens(text), "{}", at);
            }
        }
    }
}
