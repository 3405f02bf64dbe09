//! Encoding and decoding as a library: properties that hold for all texts and ids.

use std::path::PathBuf;

use proptest::prelude::*;
use spiece::{
    DecodeError, EncodeError, EncodeOptions, ExtraOption, Model, ModelType, PieceId, PieceKind,
    Rng, SampleOptions, Tokenizer,
};

use crate::support::{models_from_elsewhere, own_models, testdata};

fn open(name: &str) -> Tokenizer {
    Tokenizer::open(testdata(name)).unwrap()
}

fn assert_saving_gives_the_bytes_that_were_read(models: &[PathBuf]) {
    let mut loaded = 0;
    for path in models {
        let bytes = std::fs::read(path).unwrap();
        // A folder from elsewhere may have files that are refused.
        let Ok(model) = Model::from_bytes(&bytes) else {
            println!("{} is refused", path.display());
            continue;
        };
        assert!(model.to_bytes() == bytes, "{}", path.display());
        loaded += 1;
    }
    assert!(
        loaded * 10 >= models.len() * 9,
        "only {loaded} of {} models load",
        models.len()
    );
}

#[test]
fn saving_gives_the_bytes_that_were_read() {
    assert_saving_gives_the_bytes_that_were_read(&own_models());
}

#[test]
#[ignore = "needs SPIECE_MODELS, a folder with models"]
fn saving_models_from_elsewhere_gives_the_bytes_that_were_read() {
    assert_saving_gives_the_bytes_that_were_read(&models_from_elsewhere());
}

#[test]
#[ignore = "needs SPIECE_MODELS, a folder with models"]
fn incremental_decoding_and_long_texts_agree_with_single_calls_for_models_from_elsewhere() {
    for path in models_from_elsewhere() {
        let Ok(model) = Model::open(&path) else {
            println!("{} is refused", path.display());
            continue;
        };
        let tokenizer = Tokenizer::new(model);
        let text = "Hello, world! Grüße 日本 \u{1f600} 12345\n\tx";
        let ids = tokenizer.encode(text);
        let mut decoder = tokenizer.incremental_decoder();
        let mut decoded = String::new();
        for id in &ids {
            decoded += decoder.push(*id).unwrap();
        }
        decoded += decoder.finish();
        let path = path.display();
        assert_eq!(decoded, tokenizer.decode(&ids).unwrap(), "{path}");
        let long = text.repeat(5000);
        assert_eq!(
            tokenizer.encode_long(&long, &EncodeOptions::default()),
            Ok(tokenizer.encode(&long)),
            "{path}"
        );
    }
}

/// Whether a model has byte fallback and leaves text as it is.
fn keeps_all_text(tokenizer: &Tokenizer) -> bool {
    let has_bytes = tokenizer
        .pieces()
        .any(|piece| piece.kind == PieceKind::Byte);
    let sample = "\u{ff21}  \u{2460}\t\u{e9}e\u{301} ";
    has_bytes
        && tokenizer.normalize(sample).trim_start_matches('\u{2581}')
            == sample.replace(' ', "\u{2581}")
}

fn assert_decoding_gives_the_text_back(models: &[PathBuf]) {
    let mut tested = 0;
    for path in models {
        let Ok(tokenizer) = Tokenizer::open(path) else {
            println!("{} is refused", path.display());
            continue;
        };
        if !keeps_all_text(&tokenizer) {
            continue;
        }
        tested += 1;
        proptest!(ProptestConfig::with_cases(100), |(text in any::<String>(), blanks in " {0,3}")| {
            let text = format!("{blanks}{text}");
            let ids = tokenizer.encode(&text);
            // Decoding makes every whitespace mark a space, also those of the text.
            prop_assert_eq!(tokenizer.decode(&ids).unwrap(), text.replace('\u{2581}', " "), "{}", path.display());
        });
    }
    assert!(tested >= 3, "only {tested} models keep all text");
}

#[test]
fn decoding_gives_the_text_back() {
    assert_decoding_gives_the_text_back(&own_models());
}

#[test]
#[ignore = "needs SPIECE_MODELS, a folder with models"]
fn decoding_gives_the_text_back_with_models_from_elsewhere() {
    assert_decoding_gives_the_text_back(&models_from_elsewhere());
}

#[test]
fn incremental_decoding_equals_decoding_at_once() {
    for path in own_models() {
        let tokenizer = Tokenizer::open(&path).unwrap();
        let pieces = u32::try_from(tokenizer.model().unwrap().len()).unwrap();
        let mut rng = proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        );
        let mut decoder = tokenizer.incremental_decoder();
        for round in 0..200 {
            // Low ids are control and byte pieces.
            let limit = if round % 2 == 0 {
                pieces
            } else {
                pieces.min(262)
            };
            let ids: Vec<PieceId> = (0..round % 23)
                .map(|_| PieceId::new(rng.random_range(0..limit)))
                .collect();
            let mut parts = Vec::new();
            for id in &ids {
                parts.push(decoder.push(*id).unwrap().to_owned());
            }
            parts.push(decoder.finish().to_owned());
            assert_eq!(
                parts.concat(),
                tokenizer.decode(&ids).unwrap(),
                "{} {ids:?}",
                path.display()
            );
        }
        let id = PieceId::new(pieces);
        let error = decoder.push(id).map(str::to_owned).unwrap_err();
        assert!(matches!(error, DecodeError::NoPiece { id: found, .. } if found == id));
        assert_eq!(tokenizer.decode([id]), Err(error));
    }
}

#[test]
fn the_incremental_decoder_gives_whole_characters_and_no_first_space() {
    let tokenizer = open("golden/llama2.model");
    let byte = |byte: u8| tokenizer.piece_to_id(format!("<0x{byte:02X}>")).unwrap();
    let mut decoder = tokenizer.incremental_decoder();
    let emoji: Vec<String> = "😀"
        .bytes()
        .map(|b| decoder.push(byte(b)).unwrap().to_owned())
        .collect();
    assert_eq!(emoji, ["", "", "", "😀"]);
    assert_eq!(decoder.push(byte(0xE3)).unwrap(), "");
    assert_eq!(decoder.push(byte(0x28)).unwrap(), "\u{FFFD}(");
    assert_eq!(decoder.push(byte(0xE3)).unwrap(), "");
    assert_eq!(decoder.finish(), "\u{FFFD}");
    let [a, mark] = ["\u{2581}the", "\u{2581}"].map(|piece| tokenizer.piece_to_id(piece).unwrap());
    assert_eq!(decoder.push(tokenizer.bos_id().unwrap()).unwrap(), "");
    assert_eq!(decoder.push(a).unwrap(), "the");
    assert_eq!(decoder.push(a).unwrap(), " the");
    assert_eq!(decoder.push(mark).unwrap(), " ");
    assert_eq!(decoder.finish(), "");
    assert_eq!(decoder.push(a).unwrap(), "the");
}

#[test]
fn batches_and_long_texts_equal_single_calls() {
    let text = std::fs::read_to_string(testdata("udhr.txt")).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let options = EncodeOptions::default();
    for name in [
        "golden/llama2.model",
        "golden/symbols.model",
        "golden/no_split_whitespace.model",
        "run/unigram.model",
    ] {
        let tokenizer = open(name);
        assert_eq!(
            tokenizer.encode_long(&text, &options),
            Ok(tokenizer.encode(&text)),
            "{name}"
        );
        let one_by_one: Vec<Vec<PieceId>> =
            lines.iter().map(|line| tokenizer.encode(line)).collect();
        let batch = tokenizer.encode_batch(&lines, &options).unwrap();
        assert_eq!(batch, one_by_one, "{name}");
        let texts: Vec<String> = one_by_one
            .iter()
            .map(|ids| tokenizer.decode(ids).unwrap())
            .collect();
        assert_eq!(tokenizer.decode_batch(&one_by_one).unwrap(), texts);
    }
}

#[test]
fn any_bytes_encode_to_tokens_inside_of_the_text() {
    for path in own_models() {
        let tokenizer = Tokenizer::open(&path).unwrap();
        proptest!(ProptestConfig::with_cases(20), |(text in proptest::collection::vec(any::<u8>(), 0..60))| {
            let mut encoder = tokenizer.encoder();
            let ids = encoder.encode(&text).to_vec();
            let tokens = encoder.tokens(&text);
            let found: Vec<PieceId> = tokens.as_slice().iter().map(|token| token.id).collect();
            prop_assert_eq!(&found, &ids);
            prop_assert!(tokens.as_slice().iter().all(|token| token.begin <= token.end && token.end <= text.len()));
            prop_assert!(tokenizer.decode_to_bytes(&ids).is_ok());
        });
    }
}

#[test]
fn extra_options_are_applied_in_their_order() {
    let tokenizer = open("golden/llama2.model");
    let (bos, eos) = (tokenizer.bos_id().unwrap(), tokenizer.eos_id().unwrap());
    let plain = tokenizer.encode("les droits");
    let with = |list: &str| {
        let mut options = EncodeOptions::default();
        options.extra = ExtraOption::parse_list(list).unwrap();
        let mut encoder = tokenizer.encoder_with(&options).unwrap();
        let ids = encoder.encode("les droits").to_vec();
        let tokens = encoder.tokens("les droits");
        assert!(
            tokens
                .as_slice()
                .iter()
                .map(|token| token.id)
                .eq(ids.iter().copied())
        );
        ids
    };
    let reversed: Vec<PieceId> = plain.iter().rev().copied().collect();
    assert_eq!(with("bos:eos"), [&[bos], &plain[..], &[eos]].concat());
    assert_eq!(with("reverse:bos"), [&[bos], &reversed[..]].concat());
    assert_eq!(with("bos:reverse"), [&reversed[..], &[bos]].concat());
    assert_eq!(with("unk"), plain);
    assert_eq!(
        ExtraOption::parse_list("bos:x"),
        Err(EncodeError::UnknownExtra { name: "x".into() })
    );

    let unigram = open("run/unigram.model");
    let mut options = EncodeOptions::default();
    options.extra = vec![ExtraOption::UnkPiece];
    let pieces = |mut encoder: spiece::Encoder<'_>| -> Vec<Vec<u8>> {
        encoder
            .tokens("日本")
            .iter()
            .map(|token| token.piece().to_vec())
            .collect()
    };
    assert_eq!(
        pieces(unigram.encoder()),
        ["\u{2581}".as_bytes(), "日本".as_bytes()]
    );
    assert_eq!(
        pieces(unigram.encoder_with(&options).unwrap()),
        ["\u{2581}".as_bytes(), b"<unk>"]
    );
}

#[test]
fn control_pieces_come_from_text_only_where_they_are_allowed() {
    let tokenizer = open("golden/llama2.model");
    let (bos, eos) = (tokenizer.bos_id().unwrap(), tokenizer.eos_id().unwrap());
    let text = "<s>les <s> droits</s>";
    let is_control =
        |id: &PieceId| tokenizer.model().unwrap().piece(*id).unwrap().kind == PieceKind::Control;
    assert!(!tokenizer.encode(text).iter().any(is_control));
    let mut options = EncodeOptions::default();
    options.allowed_special = vec![b"<s>".to_vec()];
    let mut encoder = tokenizer.encoder_with(&options).unwrap();
    let expected = [
        &[bos],
        &tokenizer.encode("les ")[..],
        &[bos],
        &tokenizer.encode(" droits</s>")[..],
    ]
    .concat();
    assert_eq!(encoder.encode(text), expected);
    assert!(!encoder.encode(text).contains(&eos));
    let tokens = encoder.tokens(text);
    assert!(
        tokens
            .as_slice()
            .iter()
            .map(|token| token.id)
            .eq(expected.iter().copied())
    );
    let surfaces: Vec<u8> = tokens
        .iter()
        .flat_map(|token| token.surface().to_vec())
        .collect();
    assert_eq!(surfaces, text.as_bytes());
    let pieces: Vec<u8> = tokens
        .iter()
        .flat_map(|token| token.piece().to_vec())
        .collect();
    assert_eq!(
        String::from_utf8(pieces).unwrap(),
        "<s>\u{2581}les\u{2581}<s>\u{2581}\u{2581}droits<0x3C><0x2F>s<0x3E>"
    );

    options.allowed_special = vec![b"<unk>".to_vec()];
    assert!(matches!(
        tokenizer.encoder_with(&options),
        Err(EncodeError::NotControl { .. })
    ));
}

#[test]
fn user_defined_symbols_can_be_switched_off() {
    for name in [
        "golden/symbols.model",
        "run/unigram.model",
        "run/char.model",
    ] {
        let tokenizer = open(name);
        let symbols: Vec<_> = tokenizer
            .pieces()
            .filter(|piece| piece.kind == PieceKind::UserDefined)
            .collect();
        let mut options = EncodeOptions::default();
        options.user_defined_symbols = false;
        let mut encoder = tokenizer.encoder_with(&options).unwrap();
        assert!(!symbols.is_empty());
        // A symbol with a space in it is found when text is normalized, but not when it is
        // segmented.
        for symbol in symbols
            .into_iter()
            .filter(|symbol| !symbol.text.contains(&b' '))
        {
            let text = [b"a ", symbol.text, b" b"].concat();
            assert!(
                tokenizer.encode(&text).contains(&symbol.id),
                "{name} {symbol:?}"
            );
            let is_symbol = |id: &PieceId| {
                tokenizer.model().unwrap().piece(*id).unwrap().kind == PieceKind::UserDefined
            };
            assert!(!encoder.encode(&text).iter().any(is_symbol), "{name}");
        }
    }
}

#[test]
fn sampling_repeats_with_its_seed_and_refuses_other_model_types() {
    let unigram = open("run/unigram.model");
    let sample = |seed| -> Vec<PieceId> {
        let (mut encoder, mut rng) = (unigram.encoder(), Rng::with_seed(seed));
        let options = SampleOptions::Lattice { alpha: 0.1 };
        let text = "les droits de l'homme et de la femme";
        encoder
            .sample(text, &options, &mut rng)
            .unwrap()
            .as_slice()
            .iter()
            .map(|token| token.id)
            .collect()
    };
    assert_eq!(sample(1), sample(1));
    assert_ne!(sample(1), sample(2));
    let mut rng = Rng::with_seed(1);
    let options = SampleOptions::Nbest {
        size: 1,
        alpha: 0.1,
    };
    let best: Vec<PieceId> = unigram
        .encoder()
        .sample("les", &options, &mut rng)
        .unwrap()
        .as_slice()
        .iter()
        .map(|t| t.id)
        .collect();
    assert_eq!(best, unigram.encode("les"));
    let options = SampleOptions::Nbest {
        size: 8,
        alpha: 0.0,
    };
    let list = unigram.encoder().nbest("les droits", 8).unwrap();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..300 {
        let mut encoder = unigram.encoder();
        let tokens = encoder.sample("les droits", &options, &mut rng).unwrap();
        let ids: Vec<PieceId> = tokens.as_slice().iter().map(|token| token.id).collect();
        assert!(list.iter().any(|(best, _)| *best == ids));
        seen.insert(ids);
    }
    assert_eq!(seen.len(), 8);

    let alpha = 0.0;
    let options = SampleOptions::Nbest { size: 513, alpha };
    assert!(matches!(
        unigram.encoder().sample("", &options, &mut rng),
        Err(EncodeError::TooMany { size: 513 })
    ));
    let alpha = f32::NAN;
    let options = SampleOptions::Lattice { alpha };
    assert!(matches!(
        unigram.encoder().sample("", &options, &mut rng),
        Err(EncodeError::Alpha { .. })
    ));
    let word = open("run/word.model");
    let bpe = open("golden/llama2.model");
    let options = SampleOptions::Lattice { alpha: 0.1 };
    assert!(matches!(
        bpe.encoder().sample("", &options, &mut rng),
        Err(EncodeError::WrongSampling { .. })
    ));
    assert_eq!(word.model().unwrap().model_type(), ModelType::Word);
    assert!(matches!(
        word.encoder().sample("", &options, &mut rng),
        Err(EncodeError::NoSampling)
    ));
    assert!(matches!(
        bpe.encoder().nbest("", 3),
        Err(EncodeError::NoNbest)
    ));
}

#[test]
fn pieces_are_decoded_by_their_texts() {
    let tokenizer = open("golden/llama2.model");
    let cases: &[(&[&str], &str)] = &[
        (&["\u{2581}the", "\u{2581}right"], "the right"),
        (&["<s>", "\u{2581}the", "</s>"], "the"),
        (&["\u{2581}no such piece"], "\u{2581}no such piece"),
        (&["<unk>"], " \u{2047} "),
        (
            &["<0xE3>", "<0x81>", "<0x82>", "", "<0xE3>", "", "<0x81>"],
            "あ\u{FFFD}\u{FFFD}",
        ),
        (&[], ""),
    ];
    for (pieces, text) in cases {
        assert_eq!(tokenizer.decode_pieces(pieces), *text, "{pieces:?}");
    }
}

#[test]
fn public_types_are_send_and_sync() {
    fn is_shared<T: Send + Sync + std::fmt::Debug>() {}
    fn is_stored<T: Send + Sync + 'static>() {}
    is_stored::<spiece::EncodeCache>();
    is_stored::<spiece::IncrementalDecoder>();
    is_shared::<spiece::EncodeCache>();
    is_shared::<spiece::Token>();
    is_shared::<spiece::TokenRef<'_>>();
    is_shared::<spiece::Tokens<'_>>();
    is_shared::<spiece::TokensIter<'_>>();
    is_shared::<spiece::TokenizerConfig>();
    is_shared::<EncodeOptions>();
    is_shared::<ExtraOption>();
    is_shared::<SampleOptions>();
    is_shared::<Rng>();
    is_shared::<Tokenizer>();
    is_shared::<spiece::Encoder<'_>>();
    is_shared::<spiece::IncrementalDecoder>();
    is_shared::<spiece::TextNormalizer>();
    is_shared::<EncodeError>();
}

#[test]
fn bytes_that_are_no_model_are_refused() {
    assert!(
        Model::from_bytes(b"not a model")
            .unwrap_err()
            .to_string()
            .contains("not a tokenizer")
    );
    assert!(Model::from_bytes(b"").is_err());
}

#[test]
fn damaged_models_are_refused_or_encode_and_decode() {
    let texts = [
        "",
        " the \u{2581} right ",
        "les <sep> droits 日本 \u{1f600}\0",
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    let mut loaded = 0;
    for name in [
        "run/char.model",
        "run/unigram.model",
        "run/unigram_rules.model",
        "golden/rule_files.model",
    ] {
        let bytes = std::fs::read(testdata(name)).unwrap();
        let mut rng = proptest::test_runner::TestRng::deterministic_rng(
            proptest::test_runner::RngAlgorithm::ChaCha,
        );
        for round in 0..400 {
            let mut damaged = bytes.clone();
            for _ in 0..=round % 4 {
                // The specs with their tables are at the end.
                let start = if round % 2 == 0 {
                    0
                } else {
                    bytes.len() - bytes.len() / 8
                };
                let place = rng.random_range(start..bytes.len());
                damaged[place] = rng.random_range(0..=u8::MAX);
            }
            let Ok(tokenizer) = Model::from_bytes(&damaged).map(Tokenizer::new) else {
                continue;
            };
            loaded += 1;
            let mut encoder = tokenizer.encoder();
            for text in texts {
                let ids = encoder.encode(text).to_vec();
                assert_eq!(encoder.tokens(text).as_slice().len(), ids.len());
                assert!(tokenizer.decode(&ids).is_ok());
                let _ = encoder.nbest(text, 4);
                let options = SampleOptions::Lattice { alpha: 0.1 };
                let _ = encoder.sample(text, &options, &mut Rng::with_seed(1));
            }
        }
    }
    assert!(loaded > 200, "{loaded}");
}
