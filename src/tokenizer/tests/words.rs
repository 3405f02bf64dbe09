//! Unigram models that read raw text word by word give the ids of the normalized text.

use proptest::prelude::*;

use super::model;
use crate::piece::PieceId;
use crate::tokenizer::{EncodeCache, Tokenizer};

/// Parts of texts: words, spaces, and what rules change, join or delete.
const PARTS: [&[u8]; 46] = [
    b" ",
    b" ",
    b" ",
    b"  ",
    b"a",
    b"e",
    b"le",
    b"les",
    b"droits",
    b"human",
    b"The",
    b"rights",
    b"of",
    b".",
    b",",
    b"(",
    b"'s",
    b"42",
    b"\t",
    b"\n",
    b"\0",
    b"<s>",
    b"[",
    b"\xC3\xA9",
    // U+0301, U+00A0, U+3000, U+00AD, U+200B, U+2581, U+FF21, U+FB01, U+4E2D, malformed bytes.
    b"\xCC\x81",
    b"\xC2\xA0",
    b"\xE3\x80\x80",
    b"\xC2\xAD",
    b"\xE2\x80\x8B",
    b"\xE2\x96\x81",
    b"\xEF\xBC\xA1",
    b"\xEF\xAC\x81",
    b"\xE4\xB8\xAD",
    b"\xFF\xE4",
    // Letters and what joins them: U+0438 U+0306, U+304B U+3099, U+0928 U+093C, U+1100 U+1161 U+11A8;
    // and U+AC00, U+1F600, U+D800, two overlong letters.
    b"\xD0\xB8",
    b"\xCC\x86",
    b"\xE3\x81\x8B",
    b"\xE3\x82\x99",
    b"\xE0\xA4\xA8",
    b"\xE0\xA4\xBC",
    b"\xE1\x84\x80\xE1\x85\xA1",
    b"\xE1\x86\xA8",
    b"\xEA\xB0\x80",
    b"\xF0\x9F\x98\x80",
    b"\xED\xA0\x80",
    b"\xC1\xA1\xE0\x81\xA1",
];

#[test]
fn words_have_the_ids_that_they_have_in_the_normalized_text() {
    let names = [
        "golden/unigram",
        "golden/unigram_symbols",
        "golden/unigram_hostile",
        "golden/unigram_repeats",
        "golden/unigram_few_seeds",
        "run/unigram",
        "run/unigram_bytes",
        "run/unigram_rules",
    ];
    let tokenizers = names.map(|name| Tokenizer::new(model(name)));
    let reads_words = |tokenizer: &&Tokenizer| {
        let tables = tokenizer.model_tables().unwrap();
        tables.stages.word_encoder().is_some()
    };
    let by_words = tokenizers.iter().filter(reads_words).count();
    assert!(by_words >= 6, "{by_words} of them read words");
    let text = prop::collection::vec(prop::sample::select(&PARTS[..]), 0..40);
    let mut caches: Vec<EncodeCache> = tokenizers.iter().map(Tokenizer::create_cache).collect();
    let mut runner = proptest::test_runner::TestRunner::default();
    let caches = std::cell::RefCell::new(&mut caches);
    let compared = runner.run(&text, |parts| {
        let text = parts.concat();
        for (tokenizer, cache) in tokenizers.iter().zip(caches.borrow_mut().iter_mut()) {
            // Spans need the normalized text.
            let tokens = tokenizer.encode_to_tokens(&text);
            let expected: Vec<PieceId> = tokens.iter().map(|token| token.id).collect();
            for _ in 0..2 {
                let mut ids = Vec::new();
                tokenizer.encode_with(cache, &text, &mut ids);
                prop_assert_eq!(&ids, &expected);
            }
        }
        Ok(())
    });
    compared.unwrap();
}
