//! Classes, normalization with origins, chunks and words. `tests/conformance/wordpiece.py` compares
//! all of it with tokenizers.

use proptest::prelude::*;

use super::classes::{ASSIGNED, MARK};
use super::*;

/// Every character with its class.
fn characters() -> impl Iterator<Item = (char, u8)> {
    ('\0'..=char::MAX).map(|c| (c, class(c)))
}

#[test]
fn classes_are_those_of_tokenizers() {
    let golden = include_str!("../../testdata/wordpiece/classes.tsv");
    let bits = [
        ("removed", REMOVED),
        ("mark", MARK),
        ("punctuation", PUNCTUATION),
        ("space", SPACE),
        ("chinese", CHINESE),
    ];
    for ((name, bit), line) in bits.into_iter().zip(golden.lines()) {
        let ranges = line.strip_prefix(name).unwrap().split_whitespace();
        let mut expected = vec![false; 0x11_0000];
        for range in ranges {
            let (first, last) = range.split_once('-').unwrap();
            let [first, last] = [first, last].map(|code| usize::from_str_radix(code, 16).unwrap());
            expected[first..=last].fill(true);
        }
        let differ = characters().filter(|(c, class)| (class & bit != 0) != expected[*c as usize]);
        let differ: Vec<char> = differ.map(|(c, _)| c).collect();
        assert!(differ.is_empty(), "{name}: {differ:?}");
    }
}

fn parts(normalizer: BertNormalizer) -> WordPieceParts {
    let letters = "abeimnosuxyz\u{e9}\u{130}\u{3b1}\u{4e2d}\u{8c48}\u{c5}#";
    let letters = letters.chars().map(String::from);
    let words = [
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "un",
        "##aff",
        "##able",
        "##a",
        "##\u{301}",
        ".",
        "=",
        "`",
    ];
    let continued = letters.clone().map(|letter| format!("##{letter}"));
    let texts = words.map(str::to_owned).into_iter().chain(letters);
    let mut parts = WordPieceParts::new(texts.chain(continued.skip(2)).zip(0..).collect());
    parts.normalizer = normalizer;
    parts
}

fn normalizers() -> Vec<BertNormalizer> {
    let all = [false, true];
    let mut normalizers = Vec::new();
    for clean_text in all {
        for handle_chinese_chars in all {
            for strip_accents in [None, Some(false), Some(cfg!(feature = "nfc"))] {
                for lowercase in all {
                    let normalizer = BertNormalizer {
                        clean_text,
                        handle_chinese_chars,
                        strip_accents,
                        lowercase,
                    };
                    if cfg!(feature = "nfc") || !normalizer.strips_accents() {
                        normalizers.push(normalizer);
                    }
                }
            }
        }
    }
    normalizers
}

/// The ids of a text without chunks: normalized as a whole, then cut into words.
fn ids_of_whole(words: &WordPiece, text: &[u8]) -> Vec<PieceId> {
    let mut normalized = NormalizedText::default();
    words.normalizer.normalize(text, &mut normalized);
    let mut ids = Vec::new();
    super::words(&normalized.text, |word| {
        words.encoder.encode_word(&normalized.text[word], &mut ids);
    });
    ids
}

/// The definition: the longest piece at each position, by trying all lengths.
fn naive(parts: &WordPieceParts, word: &str) -> Vec<u32> {
    let id = |text: &str| {
        let found = parts.pieces.iter().rev().find(|(piece, _)| piece == text);
        found.map(|(_, id)| *id)
    };
    let unknown = vec![id(&parts.unknown).unwrap()];
    if word.chars().count() > parts.max_chars {
        return unknown;
    }
    let mut ids = Vec::new();
    let mut at = 0;
    while at < word.len() {
        let prefix = if at > 0 { &*parts.prefix } else { "" };
        let mut ends = (at + 1..=word.len())
            .rev()
            .filter(|end| word.is_char_boundary(*end));
        let found = ends.find_map(|end| Some((end, id(&format!("{prefix}{}", &word[at..end]))?)));
        let Some((end, id)) = found else {
            return unknown;
        };
        ids.push(id);
        at = end;
    }
    ids
}

#[test]
fn boundaries_of_chunks_are_boundaries_of_normalized_text() {
    for normalizer in normalizers() {
        let words = WordPiece::new(parts(normalizer)).unwrap();
        let mut normalized = NormalizedText::default();
        let mut text = String::new();
        for (c, class) in characters().filter(|(_, class)| words.is_boundary(*class)) {
            // Marks on both sides are sorted in the same way as without the character between them.
            text.clear();
            text.extend(['a', '\u{301}', '\u{345}', c, '\u{301}', '\u{327}', 'a']);
            normalizer.normalize(text.as_bytes(), &mut normalized);
            let whole = std::mem::take(&mut normalized.text);
            let mut parts = Vec::new();
            for chunk in words.chunks(text.as_bytes()) {
                normalizer.normalize(text[chunk].as_bytes(), &mut normalized);
                parts.extend_from_slice(&normalized.text);
            }
            if !matches!(c, ' ' | '\n' | '\t' | '\r') {
                assert_eq!(parts, whole, "{c:?} {normalizer:?}");
            }
            let mut found = Vec::new();
            super::words(&whole, |word| found.push(word));
            let is_word = class & SPACE == 0;
            assert_eq!(
                found.len(),
                2 + usize::from(is_word),
                "{c:?} {normalizer:?}"
            );
        }
    }
}

#[cfg(feature = "nfc")]
#[test]
fn normalized_text_has_the_origins_of_tokenizers() {
    let normalizer = BertNormalizer::default();
    for (raw, text, origins) in [
        ("\u{c0}B", "ab", &[0..2, 2..3][..]),
        ("a\u{0}\u{ad}b\tc", "ab c", &[0..1, 4..5, 5..6, 6..7]),
        ("\u{4e2d}", " \u{4e2d} ", &[0..3, 0..3, 0..3, 0..3, 0..3]),
        // The second mark of the decomposition stands after U+302E, and belongs to it.
        ("\u{1e2f}\u{302e}", "i\u{302e}", &[0..3, 3..6, 3..6, 3..6]),
        ("\u{212a}\u{130}", "ki", &[0..3, 3..5]),
        ("\u{301}\u{301}", "", &[]),
    ] {
        let mut normalized = NormalizedText::default();
        normalizer.normalize(raw.as_bytes(), &mut normalized);
        assert_eq!(normalized.text, text.as_bytes(), "{raw:?}");
        let found: Vec<_> = (0..text.len())
            .map(|at| normalized.origin(&(at..at + 1)))
            .collect();
        assert_eq!(found, origins, "{raw:?}");
    }
}

#[test]
fn new_letters_have_a_lower_case_whatever_the_standard_library_knows() {
    for (upper, lower) in [
        ('\u{a7ce}', '\u{a7cf}'),
        ('\u{16ea0}', '\u{16ebb}'),
        ('\u{16eb8}', '\u{16ed3}'),
    ] {
        let mut found = Vec::new();
        super::normalize::lower_case(upper, |c| found.push(c));
        assert_eq!(found, [lower]);
        assert_eq!(class(upper) & ASSIGNED, 0);
    }
}

#[test]
fn words_are_the_longest_pieces_or_unknown() {
    let mut parts = parts(BertNormalizer::CASED);
    parts.max_chars = 9;
    let words = WordPiece::new(parts.clone()).unwrap();
    let pieces = |text: &str| {
        let ids = ids_of_whole(&words, text.as_bytes());
        let texts = ids
            .iter()
            .map(|id| String::from_utf8_lossy(words.id_to_bytes(*id).unwrap()));
        texts.collect::<Vec<_>>().join(" ")
    };
    for (text, expected) in [
        ("unaffable", "un ##aff ##able"),
        ("unaffables", "[UNK]"),
        ("unaf", "[UNK]"),
        ("una.un", "un ##a . un"),
        ("", ""),
        ("##a", "# # a"),
        ("aaaaaaaaa", "a ##a ##a ##a ##a ##a ##a ##a ##a"),
        ("q a", "[UNK] a"),
    ] {
        assert_eq!(pieces(text), expected, "{text:?}");
    }
    assert_eq!(naive(&parts, "unaffables"), [0]);
}

#[test]
fn parts_that_are_no_vocabulary_are_refused() {
    let error = |change: &dyn Fn(&mut WordPieceParts)| {
        let mut parts = parts(BertNormalizer::CASED);
        change(&mut parts);
        WordPiece::new(parts).unwrap_err()
    };
    let text = "<unk>".to_owned();
    let refused = error(&|parts| parts.unknown = "<unk>".to_owned());
    assert_eq!(refused, WordPieceError::NoUnknown { text });
    let refused = error(&|parts| parts.pieces[4].1 = 3);
    assert_eq!(refused, WordPieceError::RepeatedId { id: 3 });
    let id = WordPiece::MAX_ID + 1;
    let refused = error(&|parts| parts.pieces[4].1 = id);
    assert_eq!(refused, WordPieceError::IdTooLarge { id });
    let refused = error(&|parts| {
        parts.normalizer = BertNormalizer::NONE;
        parts.pieces[4].0 = "a\0".to_owned();
    });
    assert_eq!(refused, WordPieceError::Nul { id: 4 });
}

/// Texts of characters that steps of the normalizer treat in different ways.
fn texts() -> impl Strategy<Value = String> {
    let characters = "aAbeIun#\u{e9}\u{c9}\u{130}\u{391}\u{4e2d}\u{f900}\u{212b}\u{2260}\u{1fef}.\u{3002} \t\n\u{b}\u{a0}\0\u{ad}\u{fffd}\u{301}\u{323}\u{345}\u{302e}\u{f73}\u{ac00}\u{1df9}";
    let characters: Vec<char> = characters.chars().collect();
    let character = prop::sample::select(characters);
    prop::collection::vec(character, 0..30).prop_map(String::from_iter)
}

proptest! {
    #[test]
    fn chunks_give_the_ids_of_the_whole_text(text in texts(), cut in any::<prop::sample::Index>()) {
        // Malformed bytes, too.
        let cut = &text.as_bytes()[..cut.index(text.len() + 1)];
        for normalizer in normalizers() {
            let words = WordPiece::new(parts(normalizer)).unwrap();
            let mut cache = BpeCache::default();
            for text in [text.as_bytes(), cut] {
                let expected = ids_of_whole(&words, text);
                for _ in 0..2 {
                    let mut ids = Vec::new();
                    words.encode_into(text, &words.found_always, &mut cache, &mut ids);
                    prop_assert_eq!(&ids, &expected, "{:?}", normalizer);
                }
                let mut tokens = Vec::new();
                let mut end = 0;
                words.for_each_token(text, &words.found_always, |id, span| {
                    assert!(span.start <= span.end && span.end <= text.len() && span.end >= end);
                    end = span.end;
                    tokens.push(id);
                });
                prop_assert_eq!(&tokens, &expected, "{:?}", normalizer);
            }
        }
    }

    #[test]
    fn words_have_the_pieces_of_the_definition(
        pieces in prop::collection::vec("(##)?[ab\u{e9}]{1,4}", 0..20),
        words in prop::collection::vec("[ab\u{e9}]{1,9}", 1..10),
        max_chars in 1..9_usize,
    ) {
        let texts = ["[UNK]".to_owned()].into_iter().chain(pieces);
        let mut parts = WordPieceParts::new(texts.zip(0..).collect());
        parts.normalizer = BertNormalizer::CASED;
        parts.max_chars = max_chars;
        let tokenizer = WordPiece::new(parts.clone()).unwrap();
        for word in words {
            let mut ids = Vec::new();
            tokenizer.encoder.encode_word(word.as_bytes(), &mut ids);
            let ids: Vec<u32> = ids.into_iter().map(PieceId::get).collect();
            prop_assert_eq!(ids, naive(&parts, &word), "{}", word);
        }
    }
}
