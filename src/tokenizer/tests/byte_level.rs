//! The facade over a byte-level vocabulary, against [`ByteBpe`] itself and against naive code.

use crate::base::num::low_usize;
use crate::byte_bpe::{ByteBpe, ByteBpeParts, ByteToken, SpecialToken, TextForm};
use crate::piece::PieceKind;
use crate::{
    DecodeError, EncodeError, EncodeOptions, ExtraOption, NoModelError, Pattern, PieceId,
    Pretokenizer, Rng, SampleOptions, Token, Tokenizer, TokenizerConfig,
};

const TEXTS: [&str; 8] = [
    "",
    "low lower lowest",
    "  ab\n\n ab  \tx ",
    "Gr\u{fc}\u{df}e, \u{4e16}\u{754c}! \u{1f600}",
    "it's <|end|><|pad|><tool>low",
    "<tool>",
    "1234567 don't",
    "\u{1f600}\u{1f600}",
];

/// Ids with gaps: the bytes are 10 to 265, the special tokens are 300 and 302.
fn parts() -> ByteBpeParts {
    let mut parts = ByteBpeParts::new(Pretokenizer::of(Pattern::named("gpt2").unwrap()));
    let words = [" l", "lo", " lo", " low", "low", "er", "\u{1f600}", "ab"];
    let bytes = (0..=255).map(|byte| vec![byte]);
    // The first half of a character is a token.
    let words = words.iter().map(|word| word.as_bytes().to_vec());
    let texts = bytes.chain([b"\xF0\x9F".to_vec()]).chain(words);
    parts.tokens = (10..)
        .zip(texts)
        .map(|(id, bytes)| ByteToken {
            bytes: bytes.into(),
            id,
        })
        .collect();
    let mut tool = SpecialToken::new("<tool>", 301);
    tool.special = false;
    parts.special_tokens = vec![
        SpecialToken::new("<|end|>", 300),
        tool,
        SpecialToken::new("<|pad|>", 303),
    ];
    parts
}

pub(super) fn tokenizer() -> Tokenizer {
    Tokenizer::from_pipeline(ByteBpe::new(parts()).unwrap(), TokenizerConfig::default())
}

fn allowing(texts: &[&str]) -> EncodeOptions {
    EncodeOptions::default().with_allowed_special(texts.iter().copied())
}

#[test]
fn all_calls_give_the_ids_of_the_vocabulary() {
    let (bpe, tokenizer) = (ByteBpe::new(parts()).unwrap(), tokenizer());
    let (mut encoder, mut cache) = (tokenizer.encoder(), tokenizer.create_cache());
    let none = EncodeOptions::default();
    let expected: Vec<Vec<PieceId>> = TEXTS.iter().map(|text| bpe.encode(text)).collect();
    for (text, ids) in TEXTS.iter().zip(&expected) {
        assert_eq!(tokenizer.encode(text), *ids, "{text:?}");
        assert_eq!(encoder.encode(text), *ids, "{text:?}");
        assert_eq!(tokenizer.count(text), ids.len(), "{text:?}");
        assert_eq!(
            tokenizer.encode_long(text, &none).unwrap(),
            *ids,
            "{text:?}"
        );
        let mut found = vec![PieceId::new(7)];
        tokenizer.encode_with(&mut cache, text, &mut found);
        assert_eq!(found[1..], *ids, "{text:?}");
        let tokens = tokenizer.encode_to_tokens(text);
        assert!(
            tokens.iter().map(|token| token.id).eq(ids.iter().copied()),
            "{text:?}"
        );
    }
    for threads in [1, 3] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            assert_eq!(tokenizer.encode_batch(&TEXTS, &none).unwrap(), expected);
            let (ids, offsets) = tokenizer.encode_batch_flat(&TEXTS, &none).unwrap();
            let parts = offsets.windows(2).map(|pair| &ids[pair[0]..pair[1]]);
            assert!(parts.eq(&expected));
        });
    }
    let lines = encoder.encode_lines(TEXTS.join("\n"));
    let of_lines: Vec<Vec<PieceId>> = TEXTS
        .join("\n")
        .lines()
        .map(|line| bpe.encode(line))
        .collect();
    assert!(lines.iter().eq(&of_lines));
}

#[test]
fn a_long_text_has_the_same_ids_on_any_number_of_threads() {
    let tokenizer = tokenizer();
    let text = TEXTS.concat().repeat(6000);
    for options in [EncodeOptions::default(), allowing(&["<|end|>"])] {
        let expected = tokenizer
            .encoder_with(&options)
            .unwrap()
            .encode(&text)
            .to_vec();
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            let long = pool.install(|| tokenizer.encode_long(&text, &options));
            assert!(
                long.as_ref() == Ok(&expected),
                "{threads} threads, {options:?}"
            );
        }
    }
}

#[test]
fn spans_cover_the_text_and_have_the_bytes_of_their_tokens() {
    let tokenizer = tokenizer();
    let options = allowing(&["<|end|>", "<|pad|>"]);
    let mut encoder = tokenizer.encoder_with(&options).unwrap();
    for text in TEXTS {
        let mut end = 0;
        for token in encoder.tokens(text) {
            assert_eq!(token.span().start, end, "{text:?}");
            assert_eq!(token.piece(), token.surface(), "{text:?}");
            assert_eq!(tokenizer.id_to_piece(token.id()), Some(token.piece()));
            end = token.span().end;
        }
        assert_eq!(end, text.len(), "{text:?}");
    }
}

#[test]
fn special_tokens_are_text_unless_they_are_allowed_and_added_tokens_always_found() {
    let tokenizer = tokenizer();
    let text = "low<|end|><|pad|><tool>";
    let ids = |options: &EncodeOptions| {
        tokenizer
            .encoder_with(options)
            .unwrap()
            .encode(text)
            .to_vec()
    };
    let has = |ids: &[PieceId], id: u32| ids.contains(&PieceId::new(id));
    for (allowed, found) in [
        (&[][..], [false, false]),
        (&["<|end|>"], [true, false]),
        (&["<|end|>", "<|pad|>"], [true, true]),
    ] {
        let ids = ids(&allowing(allowed));
        assert_eq!([has(&ids, 300), has(&ids, 303)], found, "{allowed:?}");
        assert!(has(&ids, 301), "{allowed:?}");
    }
    let untrusted = ids(&EncodeOptions::default().with_user_defined_symbols(false));
    assert!(!has(&untrusted, 301));
    assert_eq!(tokenizer.decode(&untrusted).unwrap(), text);
    let special: Vec<_> = tokenizer.special_tokens().collect();
    let (end, pad) = (&b"<|end|>"[..], &b"<|pad|>"[..]);
    assert_eq!(
        special,
        [(PieceId::new(300), end), (PieceId::new(303), pad)]
    );
    for text in ["<tool>", "nothing", ""] {
        let refused = tokenizer.encoder_with(&allowing(&[text]));
        let refused = refused.map(|_| ()).unwrap_err();
        assert!(
            matches!(refused, EncodeError::NotControl { .. }),
            "{text:?}"
        );
    }
}

#[test]
fn texts_with_special_tokens_that_are_not_allowed_can_be_refused() {
    let tokenizer = tokenizer();
    let options = allowing(&["<|end|>"]).with_refuses_special(true);
    let refused = EncodeError::RefusedSpecial {
        piece: "<|pad|>".to_owned(),
        begin: 10,
    };
    let texts = ["<|end|>low<tool>", "low<|end|><|pad|>"];
    let encoder = tokenizer.encoder_with(&options).unwrap();
    assert_eq!(encoder.check_special(texts[0]), Ok(()));
    assert_eq!(encoder.check_special(texts[1]), Err(refused.clone()));
    assert_eq!(
        tokenizer.encode_batch(&texts, &options),
        Err(refused.clone())
    );
    assert_eq!(
        tokenizer.encode_batch_flat(&texts, &options),
        Err(refused.clone())
    );
    assert_eq!(tokenizer.encode_long(texts[1], &options), Err(refused));
    assert!(tokenizer.encode_batch(&texts[..1], &options).is_ok());
}

#[test]
fn decoding_replaces_or_refuses_what_is_no_text() {
    let tokenizer = tokenizer();
    for text in TEXTS {
        let ids = tokenizer.encode(text);
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        assert_eq!(tokenizer.decode_strictly(&ids).unwrap(), text);
        assert_eq!(
            tokenizer.decode_to_tokens(&ids).unwrap().text(),
            text.as_bytes()
        );
    }
    let id = |byte: u32| PieceId::new(10 + byte);
    let half = [id(0x61), id(0xF0), id(0x9F), id(0x62), id(0xFF)];
    assert_eq!(tokenizer.decode(half).unwrap(), "a\u{fffd}b\u{fffd}");
    assert_eq!(tokenizer.decode_to_bytes(half).unwrap(), b"a\xF0\x9Fb\xFF");
    let malformed = Err(DecodeError::Malformed { begin: 1 });
    assert_eq!(tokenizer.decode_strictly(half), malformed);
    for gap in [0, 9, 299, 302, 304, u32::MAX] {
        let (id, pieces) = (PieceId::new(gap), tokenizer.vocab_size());
        assert_eq!(
            tokenizer.decode([id]),
            Err(DecodeError::NoPiece { id, pieces })
        );
        assert_eq!(tokenizer.id_to_piece(id), None);
    }
}

#[test]
fn incremental_decoding_gives_whole_characters_and_the_text_of_all_ids() {
    let tokenizer = tokenizer();
    let id = |byte: u32| PieceId::new(10 + byte);
    let mut rng = Rng::with_seed(3);
    let mut cases: Vec<Vec<PieceId>> = TEXTS.iter().map(|text| tokenizer.encode(text)).collect();
    // Beginnings and ends of characters, and bytes that are neither.
    let bytes = [
        0x61, 0xF0, 0x9F, 0x98, 0x80, 0xC3, 0xBC, 0xFF, 0xED, 0xA0, 0xE4, 256,
    ];
    for length in 0..300 {
        let mut random = || id(bytes[low_usize(rng.0.below(bytes.len() as u64))]);
        cases.push((0..length % 12).map(|_| random()).collect());
    }
    let mut decoder = tokenizer.incremental_decoder();
    for ids in cases {
        let parts: Vec<String> = ids
            .iter()
            .map(|id| decoder.push(*id).unwrap().to_owned())
            .collect();
        let whole = parts.concat() + decoder.finish();
        assert_eq!(whole, tokenizer.decode(&ids).unwrap(), "{ids:?}");
    }
    let smile: Vec<_> = [0xF0, 0x9F, 0x98, 0x80]
        .map(id)
        .map(|id| decoder.push(id).unwrap().to_owned())
        .into();
    assert_eq!(smile, ["", "", "", "\u{1f600}"]);
    assert_eq!(decoder.push(id(0xC3)).unwrap(), "");
    assert!(decoder.push(PieceId::new(0)).is_err());
    assert_eq!(decoder.push(id(0xBC)).unwrap(), "\u{fc}");
}

#[test]
fn dropout_skips_merges_of_the_text_only() {
    let tokenizer = tokenizer();
    let options = allowing(&["<|end|>"]);
    let mut encoder = tokenizer.encoder_with(&options).unwrap();
    let mut rng = Rng::with_seed(1);
    for text in TEXTS {
        let expected: Vec<Token> = encoder.tokens(text).as_slice().to_vec();
        let none = SampleOptions::Dropout { probability: 0.0 };
        let tokens = encoder.sample(text, &none, &mut rng).unwrap();
        assert_eq!(tokens.as_slice(), expected, "{text:?}");
        for probability in [0.5, 1.0] {
            let dropout = SampleOptions::Dropout { probability };
            let tokens = encoder.sample(text, &dropout, &mut rng).unwrap();
            let ids: Vec<PieceId> = tokens.ids().collect();
            let surfaces: Vec<u8> = tokens
                .iter()
                .flat_map(|token| token.surface().to_vec())
                .collect();
            assert_eq!(surfaces, text.as_bytes());
            assert_eq!(tokenizer.decode(&ids).unwrap(), text);
            let is_byte = |id: &PieceId| id.get() < 266 || id.get() >= 300;
            assert!(probability < 1.0 || ids.iter().all(is_byte), "{text:?}");
        }
    }
    let wrong = SampleOptions::Lattice { alpha: 0.1 };
    let refused = encoder
        .sample("a", &wrong, &mut rng)
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(refused, EncodeError::WrongSampling { .. }));
}

#[test]
fn pieces_have_texts_ids_and_kinds() {
    let tokenizer = tokenizer();
    assert_eq!(tokenizer.vocab_size(), 304);
    assert_eq!(tokenizer.pieces().count(), 256 + 9 + 3);
    for piece in tokenizer.pieces() {
        assert_eq!(tokenizer.piece_to_id(piece.text), Some(piece.id));
        assert_eq!(tokenizer.piece(piece.id), Some(piece));
    }
    let kind = |id: u32| tokenizer.piece(PieceId::new(id)).map(|piece| piece.kind);
    assert_eq!(kind(300), Some(PieceKind::Control));
    assert_eq!(kind(301), Some(PieceKind::UserDefined));
    assert_eq!(kind(266), Some(PieceKind::Normal));
    assert_eq!(kind(302), None);
    assert_eq!([tokenizer.unk_id(), tokenizer.bos_id()], [None, None]);
}

#[test]
fn what_only_models_have_is_refused() {
    let tokenizer = tokenizer();
    assert!(tokenizer.model().is_none());
    let refused = tokenizer.require_model().unwrap_err();
    assert_eq!(refused, NoModelError::ByteLevel);
    assert!(tokenizer.byte_bpe().is_some());
    let mut encoder = tokenizer.encoder();
    assert_eq!(encoder.nbest("a", 2).map(|_| ()), Err(EncodeError::NoNbest));
    assert!(matches!(
        encoder.entropy("a", 1.0),
        Err(EncodeError::NoProbabilities { .. })
    ));
    let bos = EncodeOptions::default().with_extra([ExtraOption::Bos]);
    let refused = tokenizer.encoder_with(&bos).map(|_| ()).unwrap_err();
    assert_eq!(refused, EncodeError::NoTextEnds { option: "bos" });
}

/// The space before a text is no matter of the normalizer.
#[test]
fn normalizing_keeps_malformed_bytes_and_tells_where_bytes_come_from() {
    let mut parts = parts();
    parts.adds_prefix_space = true;
    parts.text_form = TextForm::Nfc;
    let bpe = ByteBpe::new(parts).unwrap();
    let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
    for (text, normalized, origins) in [
        (&b""[..], &b""[..], &[0][..]),
        (b"ab", b"ab", &[0, 1, 2]),
        (b"e\xCC\x81a", b"\xC3\xA9a", &[0, 0, 3, 4]),
        (b"\xFFe\xCC\x81", b"\xFF\xC3\xA9", &[0, 1, 1, 4]),
    ] {
        let found = tokenizer.normalize_with_offsets(text);
        assert_eq!(found.as_bytes(), normalized, "{text:?}");
        let back: Vec<usize> = (0..=normalized.len())
            .map(|at| found.to_original(at))
            .collect();
        assert_eq!(back, origins, "{text:?}");
        assert_eq!(tokenizer.encoder().normalize(text), normalized, "{text:?}");
    }
}

/// As tokenizers 0.23.3 decodes them: of each beginning of a character one U+FFFD.
#[test]
fn parts_of_characters_of_a_tokenizer_json_are_replaced_together() {
    let file = tokenizer().to_bytes().unwrap();
    let tokenizer = Tokenizer::from_bytes(&file).unwrap();
    let ids = [b'a', 0xF0, 0x9F, b'b', 0xC3].map(|byte| 10 + u32::from(byte));
    assert_eq!(tokenizer.decode(ids).unwrap(), "a\u{FFFD}b\u{FFFD}");
    let without = tokenizer.decode_without_special(ids).unwrap();
    assert_eq!(without, "a\u{FFFD}b\u{FFFD}");
}

#[test]
fn bytes_of_a_tokenizer_make_an_equal_one() {
    let mut specials = parts();
    specials.special_tokens[0].lstrip = true;
    specials.special_tokens[1].normalized = true;
    let mut prefixed = parts();
    prefixed.adds_prefix_space = true;
    prefixed.whole_pretokens_first = false;
    let mut ranks = parts();
    ranks.pretokenizer = Pretokenizer::named("cl100k").unwrap();
    ranks.text_form = crate::byte_bpe::TextForm::Nfc;
    // Merging gives no such token.
    ranks.tokens.push(ByteToken {
        bytes: b"  x".as_slice().into(),
        id: 299,
    });
    for parts in [parts(), specials, prefixed, ranks] {
        let bpe = ByteBpe::new(parts).unwrap();
        let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
        let file = tokenizer.to_bytes().unwrap();
        let copy = Tokenizer::from_bytes(&file).unwrap();
        // The pieces of a tokenizer.json are written in printable characters.
        let ids = (0..).take(tokenizer.vocab_size()).map(PieceId::new);
        let decoded = |it: &Tokenizer, id| it.decode_to_bytes([id]).ok();
        for id in ids {
            assert_eq!(decoded(&copy, id), decoded(&tokenizer, id), "{id}");
        }
        let [special, expected] = [&copy, &tokenizer].map(|it| it.byte_bpe().unwrap().parts());
        assert_eq!(special.special_tokens, expected.special_tokens);
        assert_eq!(
            special.whole_pretokens_first,
            expected.whole_pretokens_first
        );
        for text in TEXTS {
            assert_eq!(copy.encode(text), tokenizer.encode(text), "{text:?}");
            let allowed = allowing(&["<|end|>", "<|pad|>"]);
            let ids = |it: &Tokenizer| it.encoder_with(&allowed).unwrap().encode(text).to_vec();
            assert_eq!(ids(&copy), ids(&tokenizer), "{text:?}");
        }
        let file = copy.to_bytes().unwrap();
        let copy = Tokenizer::from_bytes(&file).unwrap();
        assert_eq!(copy.to_bytes().unwrap(), file);
    }
    let mut inexpressible = parts();
    inexpressible.pretokenizer = Pretokenizer::of(Pattern::new(r"\b\w+\b|.").unwrap());
    let bpe = ByteBpe::new(inexpressible).unwrap();
    let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
    let error = tokenizer.to_bytes().unwrap_err().to_string();
    assert!(error.contains("Oniguruma"), "{error}");
}

#[test]
fn bytes_of_a_tokenizer_of_a_model_are_the_model() {
    let path = format!(
        "{}/testdata/golden/llama2.model",
        env!("CARGO_MANIFEST_DIR")
    );
    let file = std::fs::read(path).unwrap();
    assert_eq!(
        Tokenizer::from_bytes(&file).unwrap().to_bytes().unwrap(),
        file
    );
}
