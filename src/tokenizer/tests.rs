//! Caches: their bounds, their owners, and that they never change a result. Byte-level
//! vocabularies, `byte_level`; segments, `segments`; text that grows,
//! `appending`; texts word by word, `words`.

#[cfg(feature = "formats")]
mod appending;
#[cfg(feature = "formats")]
mod byte_level;
#[cfg(feature = "formats")]
mod segments;
mod words;

use std::sync::Arc;

use super::cache::MAX_POOLED_BUFFER_BYTES;
use super::{EncodeCache, Encoder, Tokenizer, TokenizerConfig};
use crate::model::Model;
use crate::piece::PieceId;

fn model(name: &str) -> Model {
    let root = env!("CARGO_MANIFEST_DIR");
    Model::open(format!("{root}/testdata/{name}.model")).unwrap()
}

const MODELS: [&str; 5] = [
    "golden/llama2",
    "run/unigram",
    "run/unigram_bytes",
    "run/word",
    "run/char",
];

/// Caches of pairs and buffers for short texts, which `max_cache_bytes` does not include.
const FIXED_CACHE_BYTES: usize = 3 << 19;

/// Texts of many different words, so that caches grow.
fn many_words(count: u64) -> Vec<String> {
    let mut rng = crate::base::rng::SplitMix64::new(3);
    let mut word = || -> String {
        let length = 2 + rng.below(9);
        let letter = |_| char::from(b'a' + u8::try_from(rng.below(26)).unwrap());
        (0..length).map(letter).collect()
    };
    (0..count)
        .map(|_| [word(), word(), word()].join(" "))
        .collect()
}

#[test]
fn caches_stay_below_their_limit_and_change_no_id() {
    let texts = many_words(60_000);
    for name in ["golden/llama2", "run/unigram"] {
        let reference = Tokenizer::new(model(name));
        let mut reference_cache = reference.create_cache();
        let mut used = Vec::new();
        for max_cache_bytes in [0, 100_000, 1 << 20, 4 << 20] {
            let config = TokenizerConfig {
                max_cache_bytes,
                ..TokenizerConfig::default()
            };
            let tokenizer = Tokenizer::with_config(model(name), config);
            let mut cache = tokenizer.create_cache();
            let fixed = cache.memory_usage();
            for text in &texts {
                let mut ids = Vec::new();
                let mut expected = Vec::new();
                tokenizer.encode_with(&mut cache, text, &mut ids);
                reference.encode_with(&mut reference_cache, text, &mut expected);
                assert_eq!(ids, expected, "{name} with {max_cache_bytes} bytes");
            }
            let grown = cache.memory_usage() - fixed;
            assert!(
                grown <= max_cache_bytes + FIXED_CACHE_BYTES,
                "{name}: {grown} bytes with a limit of {max_cache_bytes}"
            );
            used.push(grown);
        }
        assert!(used.is_sorted() && used[3] > used[0], "{name}: {used:?}");
        let most = reference_cache.memory_usage();
        let default = TokenizerConfig::default().max_cache_bytes;
        assert!(
            most > used[3] && most <= default + FIXED_CACHE_BYTES,
            "{name}: {most}"
        );
    }
}

#[test]
fn the_pool_keeps_no_more_caches_than_configured() {
    for max_pooled_caches in [0, 1, 3] {
        let config = TokenizerConfig {
            max_pooled_caches,
            ..TokenizerConfig::default()
        };
        let tokenizer = Tokenizer::with_config(model("run/unigram"), config);
        let encoders: Vec<Encoder<'_>> = (0..5).map(|_| tokenizer.encoder()).collect();
        drop(encoders);
        assert_eq!(
            tokenizer.tables.by_default().pool().len(),
            max_pooled_caches
        );
        assert_eq!(
            tokenizer.encode("les droits"),
            tokenizer.encode("les droits")
        );
        assert_eq!(
            tokenizer.tables.by_default().pool().len(),
            max_pooled_caches
        );
    }
}

#[test]
fn the_pool_keeps_no_large_text_buffers() {
    for name in MODELS {
        let tokenizer = Tokenizer::new(model(name));
        let text = "les droits de l'homme 日本 ".repeat(100_000);
        let tokens = tokenizer.encode_to_tokens(&text);
        assert!(tokens.len() * size_of::<super::Token>() > 2 * MAX_POOLED_BUFFER_BYTES);
        let pooled = tokenizer.tables.by_default().pool().take();
        let limit = tokenizer.config().max_cache_bytes + MAX_POOLED_BUFFER_BYTES;
        assert!(pooled.memory_usage() <= limit, "{name}");
        let again = tokenizer.encode_to_tokens(&text);
        assert!(again == tokens, "{name}");
    }
}

#[test]
fn a_cache_of_another_tokenizer_gives_the_right_ids() {
    let tokenizers: Vec<Tokenizer> = MODELS
        .iter()
        .map(|name| Tokenizer::new(model(name)))
        .collect();
    let mut cache = tokenizers[0].create_cache();
    let text = "les droits de l'homme";
    for tokenizer in tokenizers.iter().chain(&tokenizers) {
        for _ in 0..2 {
            let mut ids = Vec::new();
            tokenizer.encode_with(&mut cache, text, &mut ids);
            assert_eq!(ids, tokenizer.encode(text));
            let tokens = tokenizer.tokens_with(&mut cache, text);
            assert!(tokens.ids().eq(ids), "{tokenizer:?}");
        }
    }
    let without = super::EncodeOptions::default().with_user_defined_symbols(false);
    let symbols = Tokenizer::new(model("golden/symbols"));
    let pool = symbols.prepare(&without).unwrap().tables.pool();
    assert!(
        !std::ptr::eq(pool, symbols.tables.by_default().pool()),
        "two sets of tables, two pools"
    );
}

#[test]
fn a_cache_can_be_stored_beside_its_tokenizer_and_move_to_another_thread() {
    struct CachedTokenizer {
        tokenizer: Arc<Tokenizer>,
        cache: EncodeCache,
    }
    let tokenizer = Arc::new(Tokenizer::new(model("golden/llama2")));
    let texts = many_words(200);
    let single: Vec<Vec<PieceId>> = texts.iter().map(|text| tokenizer.encode(text)).collect();
    let threads: Vec<_> = (0..3)
        .map(|_| {
            let mut worker = CachedTokenizer {
                tokenizer: Arc::clone(&tokenizer),
                cache: tokenizer.create_cache(),
            };
            let texts = texts.clone();
            std::thread::spawn(move || -> Vec<Vec<PieceId>> {
                let encode = |text: &String| {
                    let mut ids = Vec::new();
                    let CachedTokenizer { tokenizer, cache } = &mut worker;
                    tokenizer.encode_with(cache, text, &mut ids);
                    ids
                };
                texts.iter().map(encode).collect()
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap(), single);
    }
}

#[test]
fn debug_output_is_short() {
    let tokenizer = Tokenizer::new(model("golden/llama2"));
    let mut encoder = tokenizer.encoder();
    let tokens = format!("{:?}", encoder.tokens("a b"));
    assert_eq!(tokens, "[302 0..1 \"▁a\", 280 1..3 \"▁b\"]");
    for debug in [
        format!("{tokenizer:?}"),
        format!("{encoder:?}"),
        format!("{:?}", tokenizer.create_cache()),
        format!("{:?}", tokenizer.incremental_decoder()),
    ] {
        assert!(debug.len() < 200, "{debug}");
    }
}

#[test]
fn nbest_extends_the_text_of_a_piece_that_ends_inside_a_character() {
    use crate::piece::PieceKind;
    let mut builder = Model::builder();
    builder.model_type(crate::ModelType::Unigram);
    builder.add_dummy_prefix(false);
    builder.piece("<unk>", 0.0, PieceKind::Unknown);
    builder.piece(b"\xD8", -1.0, PieceKind::Normal);
    let tokenizer = Tokenizer::new(builder.build().unwrap());
    let char = b"\xD8\xAC";
    let mut results = Vec::new();
    tokenizer
        .encoder()
        .for_each_nbest(&char[..], 2, |_, tokens| {
            results.push(
                tokens
                    .iter()
                    .map(|token| (token.id().get(), token.span(), token.piece().to_vec()))
                    .collect::<Vec<_>>(),
            );
        })
        .unwrap();
    assert_eq!(results, [[(1, 0..2, char.to_vec())]]);
    // Tokens of the next text have the texts of their pieces again.
    let mut encoder = tokenizer.encoder();
    let unknown = encoder.tokens(&char[..]);
    assert_eq!(unknown.get(0).unwrap().id().get(), 0);
}
