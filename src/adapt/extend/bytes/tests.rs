//! Extension of byte-level vocabularies against a slow definition of it, and its guarantees.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::train::bytes::{ByteTieOrder, ByteTrainOptions, ByteTrainer};
use crate::train::execution_config::BATCH_BYTES;

/// Tokens by rank: their bytes and ids.
type Tokens = Vec<(Vec<u8>, u32)>;

/// The tokens of a pretoken by definition: itself if it is looked up and found; otherwise of all
/// adjacent tokens whose joined bytes are a token, those with the lowest rank are joined, the
/// leftmost first.
fn segment(tokens: &Tokens, looks_up: bool, pretoken: &[u8]) -> Vec<usize> {
    let rank_of = |bytes: &[u8]| tokens.iter().position(|(token, _)| token == bytes);
    if looks_up && let Some(rank) = rank_of(pretoken) {
        return vec![rank];
    }
    let mut parts: Vec<usize> = pretoken
        .iter()
        .map(|byte| rank_of(&[*byte]).unwrap())
        .collect();
    loop {
        let joined = parts.windows(2).enumerate().filter_map(|(at, pair)| {
            let joined = [&tokens[pair[0]].0[..], &tokens[pair[1]].0].concat();
            Some((rank_of(&joined)?, at))
        });
        let Some((rank, at)) = joined.min() else {
            return parts;
        };
        parts[at] = rank;
        parts.remove(at + 1);
    }
}

/// The learned tokens and their counts by definition.
fn slow_tokens(
    parts: &ByteBpeParts,
    words: &BTreeMap<Vec<u8>, u64>,
    options: &ByteExtendOptions,
    wanted: usize,
) -> Vec<(Vec<u8>, u64)> {
    let mut tokens: Tokens = parts
        .tokens
        .iter()
        .map(|token| (token.bytes.to_vec(), token.id))
        .collect();
    let mut learned = Vec::new();
    while learned.len() < wanted {
        let mut counts: BTreeMap<(u32, u32), (u64, Vec<u8>)> = BTreeMap::new();
        for (word, count) in words {
            let parts = segment(&tokens, parts.whole_pretokens_first, word);
            for pair in parts.windows(2) {
                let [left, right] = [&tokens[pair[0]], &tokens[pair[1]]];
                let joined = [&left.0[..], &right.0].concat();
                let limit = options.max_token_length.map_or(usize::MAX, |limit| {
                    usize::from(limit.get()).saturating_sub(1).max(2)
                });
                if joined.len() <= limit && allows(options.superwords.as_ref(), &joined) {
                    counts.entry((left.1, right.1)).or_insert((0, joined)).0 += count;
                }
            }
        }
        let best = counts
            .into_iter()
            .max_by_key(|(ids, (count, _))| (*count, std::cmp::Reverse(*ids)))
            .filter(|(_, (count, _))| *count >= options.min_frequency);
        let Some((_, (count, joined))) = best else {
            break;
        };
        let last = tokens.iter().map(|(_, id)| *id).max().unwrap();
        tokens.push((joined.clone(), last + 1));
        learned.push((joined, count));
    }
    learned
}

/// Whether a text may be a learned token.
fn allows(superwords: Option<&Superwords>, text: &[u8]) -> bool {
    superwords.is_none_or(|superwords| {
        let words = text.split(|byte| *byte == b' ');
        let words = words.filter(|word| !word.is_empty()).count();
        words <= usize::from(superwords.max_words.get())
            && memchr::memmem::find(text, b": ").is_none()
    })
}

/// The vocabulary that the extension goes on from.
fn base(parts: &ByteBpeParts, options: &ByteExtendOptions) -> ByteBpe {
    let mut parts = parts.clone();
    if let Some(superwords) = &options.superwords {
        parts.pretokenizer = superwords.pretokenizer.clone();
    }
    ByteBpe::new(parts).unwrap()
}

/// All bytes, some with other ids, and tokens over a few letters; some of these no text is merged
/// to. Special tokens stand before all others, or between them.
pub(in crate::adapt) fn vocabularies() -> impl Strategy<Value = ByteBpeParts> {
    let tokens = prop::collection::vec(
        "[ab ]{2,4}|[abc]{2,3}|( a|ab){2}|(漢|字){1,2}|\u{1}\0a?|a?: b?",
        0..25,
    );
    let ids = prop_oneof![Just(0u32), Just(1), Just(7)];
    (tokens, ids, any::<bool>(), any::<bool>()).prop_map(|(tokens, first, looks_up, descends)| {
        let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer("gpt2").unwrap();
        let mut parts = ByteBpeParts::new(pretokenizer);
        parts.whole_pretokens_first = looks_up;
        let mut texts: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
        if descends {
            texts.reverse();
        }
        for token in tokens {
            if !texts.contains(&token.as_bytes().to_vec()) {
                texts.push(token.into_bytes());
            }
        }
        let behind = first + u32::try_from(texts.len()).unwrap();
        let token = |(bytes, id): (Vec<u8>, u32)| ByteToken {
            bytes: bytes.into(),
            id,
        };
        parts.tokens = texts.into_iter().zip(first..).map(token).collect();
        parts.special_tokens = vec![SpecialToken::new("<|end|>", behind)];
        if first > 0 {
            parts.special_tokens.push(SpecialToken::new("<s>", 0));
        }
        parts
    })
}

pub(in crate::adapt) fn texts() -> impl Strategy<Value = Vec<String>> {
    let text = "[ab ]{0,12}|[ab: ]{0,12}|( ?(a|ab:|b,)){0,9}\n|[abc]{1,9}|(abc|ab|<s>| ){1,6}|(漢|字){1,5}<\\|end\\|>字漢|[\u{1}\0a]{1,6}|ab<s>ab";
    prop::collection::vec(text, 1..8)
}

fn options() -> impl Strategy<Value = ByteExtendOptions> {
    (0u64..3, 0u16..6, superwords()).prop_map(|(min_frequency, max_length, superwords)| {
        let mut options = ByteExtendOptions::new(ExtendSize::Learn(0));
        options.min_frequency = min_frequency;
        options.max_token_length = NonZeroU16::new(max_length);
        options.superwords = superwords;
        options
    })
}

fn superwords() -> impl Strategy<Value = Option<Superwords>> {
    let patterns = prop::sample::select(&["superbpe", "none", "[,b]", " a+"][..]);
    let superwords = (patterns, 1u8..5).prop_map(|(pattern, max_words)| {
        let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer(pattern).unwrap();
        Superwords::new(pretokenizer, NonZeroU8::new(max_words).unwrap())
    });
    prop::option::of(superwords)
}

/// The pretokens of texts without their special tokens.
fn words_of(bpe: &ByteBpe, texts: &[String]) -> BTreeMap<Vec<u8>, u64> {
    let mut words = BTreeMap::new();
    for text in texts {
        for part in text.split("<|end|>") {
            let has_s = bpe.special_tokens().len() > 1;
            let parts: Vec<&str> = match has_s {
                true => part.split("<s>").collect(),
                false => vec![part],
            };
            for part in parts {
                for pretoken in bpe.pretokenizer().pretokens(part) {
                    *words.entry(pretoken.as_bytes().to_vec()).or_default() += 1;
                }
            }
        }
    }
    words
}

fn learned(bpe: &ByteBpe, texts: &[String], options: &ByteExtendOptions) -> Vec<(Vec<u8>, u64)> {
    let extended = bpe.extend(Corpus::texts(texts), options).unwrap();
    let text = |token: &ExtensionPiece| extended.bpe().id_to_bytes(token.id).unwrap().to_vec();
    let tokens = extended.tokens().iter();
    tokens.map(|token| (text(token), token.count)).collect()
}

/// The ends of the tokens of a text.
pub(in crate::adapt) fn boundaries(bpe: &ByteBpe, text: &str) -> Vec<usize> {
    let ids = bpe.encode(text);
    let lengths = ids.iter().map(|id| bpe.id_to_bytes(*id).unwrap().len());
    let ends = lengths.scan(0, |end, length| {
        *end += length;
        Some(*end)
    });
    ends.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 2000 }))]

    #[test]
    fn learned_tokens_are_those_of_encoding_again_after_each(
        parts in vocabularies(),
        options in options(),
        texts in texts(),
        threads in 1usize..4,
    ) {
        let bpe = ByteBpe::new(parts.clone()).unwrap();
        let words = words_of(&base(&parts, &options), &texts);
        prop_assume!(!texts.concat().is_empty());
        let slow = slow_tokens(&parts, &words, &options, 12);
        let mut options = options;
        options.size = ExtendSize::Learn(slow.len());
        options.threads = NonZeroUsize::new(threads);
        prop_assert_eq!(learned(&bpe, &texts, &options), slow.clone());
        // One more can be learned only if twelve were enough.
        if slow.len() < 12 {
            options.size = ExtendSize::Learn(slow.len() + 1);
            let error = bpe.extend(Corpus::texts(&texts), &options).unwrap_err();
            let is_known = matches!(error, ExtendError::TooFewPieces { available, .. } if available == slow.len());
            prop_assert!(is_known, "{}", error);
        }
    }

    /// G0 to G4.
    #[test]
    fn guarantees_hold_for_all_texts(
        parts in vocabularies(),
        corpus in texts(),
        others in texts(),
        superwords in superwords(),
    ) {
        prop_assume!(!corpus.concat().is_empty());
        let mut options = ByteExtendOptions::new(ExtendSize::Learn(0));
        options.superwords = superwords;
        let old = ByteBpe::new(parts.clone()).unwrap();
        let bpe = base(&parts, &options);
        let wanted = slow_tokens(&parts, &words_of(&bpe, &corpus), &options, 10).len();
        let extend = |bpe: &ByteBpe, wanted: usize| {
            let mut options = options.clone();
            options.size = ExtendSize::Learn(wanted);
            bpe.extend(Corpus::texts(&corpus), &options).unwrap()
        };
        let extended = extend(&old, wanted);
        let new = extended.bpe();
        prop_assert_eq!(new.pretokenizer(), bpe.pretokenizer());
        let new_parts = new.parts();
        prop_assert_eq!(&new_parts.tokens[..parts.tokens.len()], &parts.tokens[..]);
        prop_assert_eq!(&new_parts.special_tokens, &parts.special_tokens);
        prop_assert_eq!(new.vocab_size(), bpe.vocab_size() + wanted);
        for text in corpus.iter().chain(&others) {
            let has_new = extended.tokens().iter().any(|token| {
                memchr::memmem::find(text.as_bytes(), new.id_to_bytes(token.id).unwrap()).is_some()
            });
            let (before, after) = (boundaries(&bpe, text), boundaries(new, text));
            prop_assert!(after.iter().all(|end| before.contains(end)), "{text:?} {before:?} {after:?}");
            if !has_new {
                prop_assert_eq!(bpe.encode(text), new.encode(text));
            }
        }
        for token in extended.tokens() {
            let bytes = new.id_to_bytes(token.id).unwrap();
            let mut ids = Vec::new();
            new.encode_pretoken(bytes, &mut BpeCache::default(), &mut ids);
            prop_assert_eq!(ids, [token.id]);
        }
        let first = extend(&bpe, wanted / 2);
        let second = extend(first.bpe(), wanted - wanted / 2);
        prop_assert_eq!(second.bpe().parts().tokens, new_parts.tokens);
    }

    /// G5.
    #[test]
    fn a_trained_vocabulary_extended_on_its_text_is_a_longer_training(
        texts in texts(),
        order in prop_oneof![Just(ByteTieOrder::Tokenizers), Just(ByteTieOrder::Rustbpe)],
        merges in 0u32..8,
    ) {
        prop_assume!(!texts.concat().is_empty());
        let train = |size| {
            let pretokenizer = order.pretokenizer("gpt2").unwrap();
            let mut options = ByteTrainOptions::new(size, pretokenizer);
            options.tie_order = order;
            ByteTrainer::new(options).unwrap().train(Corpus::texts(&texts)).unwrap()
        };
        let short = train(256 + merges);
        let long = train(256 + merges + 6);
        let more = long.vocab_size() - short.vocab_size();
        let options = ByteExtendOptions::new(ExtendSize::Learn(more));
        let extended = short.extend(Corpus::texts(&texts), &options).unwrap();
        prop_assert_eq!(extended.bpe().parts().tokens, long.parts().tokens);
    }
}

/// Bytes, and these tokens with the ids after them.
pub(in crate::adapt) fn vocabulary(tokens: &[&str], looks_up: bool) -> ByteBpeParts {
    let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer("gpt2").unwrap();
    let mut parts = ByteBpeParts::new(pretokenizer);
    parts.whole_pretokens_first = looks_up;
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let texts = bytes.chain(tokens.iter().map(|text| text.as_bytes().to_vec()));
    let token = |(bytes, id): (Vec<u8>, u32)| ByteToken {
        bytes: bytes.into(),
        id,
    };
    parts.tokens = texts.zip(0..).map(token).collect();
    parts
}

#[test]
fn the_example_of_the_module_page() {
    let bpe = ByteBpe::new(vocabulary(&["ab"], false)).unwrap();
    let texts: Vec<String> = ["abc", "abc", "abc", "bc", "bc", "bc", "bc"]
        .map(str::to_owned)
        .into();
    let options = ByteExtendOptions::new(ExtendSize::Learn(2));
    let tokens = learned(&bpe, &texts, &options);
    assert_eq!(tokens, [(b"bc".to_vec(), 4), (b"abc".to_vec(), 3)]);
}

/// As for 588 tokens of Llama 3.
#[test]
fn a_token_that_only_the_look_up_finds_is_merged_once_it_has_a_half() {
    for looks_up in [false, true] {
        let bpe = ByteBpe::new(vocabulary(&["aba"], looks_up)).unwrap();
        let texts = ["ababab".to_owned(), "ab".to_owned(), "aba".to_owned()];
        let options = ByteExtendOptions::new(ExtendSize::Learn(1));
        let extended = bpe.extend(Corpus::texts(&texts), &options).unwrap();
        let ids = |text: &str| {
            let ids = extended.bpe().encode(text);
            ids.into_iter().map(u32::from).collect::<Vec<_>>()
        };
        assert_eq!(extended.bpe().id_to_bytes(257.into()), Some(&b"ab"[..]));
        assert_eq!(ids("ababab"), [256, 98, 257], "{looks_up}");
        assert_eq!(ids("aba"), [256]);
    }
}

#[test]
fn learned_tokens_take_reused_ids_first_and_padding_comes_last() {
    let mut parts = vocabulary(&[], true);
    parts.special_tokens = (0..4)
        .map(|index| SpecialToken::new(format!("<|reserved_{index}|>"), 256 + index))
        .collect();
    let bpe = ByteBpe::new(parts).unwrap();
    let mut options = ByteExtendOptions::new(ExtendSize::Learn(3));
    options.reuse = vec![258.into(), 257.into()];
    options.special_tokens = vec!["<|zh|>".to_owned()];
    options.multiple_of = NonZeroUsize::new(8);
    let extended = bpe.extend(Corpus::texts(["abcd abcd"]), &options).unwrap();
    let texts = (256..264).map(|id| extended.bpe().id_to_bytes(id.into()).unwrap());
    let texts: Vec<_> = texts.map(|text| str::from_utf8(text).unwrap()).collect();
    let expected = [
        "<|reserved_0|>",
        "ab",
        "cd",
        "<|reserved_3|>",
        "<|zh|>",
        "abcd",
        "<reserved_0>",
        "<reserved_1>",
    ];
    assert_eq!(texts, expected);
    assert_eq!(extended.bpe().vocab_size(), 264);
    let reused: Vec<PieceId> = extended.ids().removed().collect();
    assert_eq!(reused, [257, 258]);
    assert_eq!(extended.tokens()[2].replaced.len(), 4);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let mut parts = vocabulary(&["ab"], true);
    parts.special_tokens = vec![SpecialToken::new("<s>", 257)];
    let bpe = ByteBpe::new(parts).unwrap();
    let refused = |set: &dyn Fn(&mut ByteExtendOptions)| {
        let mut options = ByteExtendOptions::new(ExtendSize::Learn(1));
        set(&mut options);
        bpe.extend(Corpus::texts(["xyz"]), &options).unwrap_err()
    };
    let error = refused(&|options| options.reuse = vec![256.into()]);
    assert!(matches!(error, ExtendError::NotSpecial { id } if id.get() == 256));
    let error = refused(&|options| options.special_tokens = vec!["<s>".to_owned()]);
    assert!(matches!(
        error,
        ExtendError::PieceExists {
            kind: PieceKind::Control,
            ..
        }
    ));
    let error = refused(&|options| options.special_tokens = vec!["ab".to_owned()]);
    assert!(matches!(
        error,
        ExtendError::PieceExists {
            kind: PieceKind::Normal,
            ..
        }
    ));
    let error = refused(&|options| options.size = ExtendSize::Vocabulary(257));
    assert!(matches!(
        error,
        ExtendError::TooSmall {
            size: 257,
            smallest: 258
        }
    ));
    let error = refused(&|options| options.multiple_of = NonZeroUsize::new(1 << 17));
    assert!(matches!(error, ExtendError::Multiple { .. }));
    let error = refused(&|options| options.size = ExtendSize::Learn(usize::MAX));
    assert!(matches!(error, ExtendError::TooManyPieces));
}

/// Texts are read in parts, none of which may begin within a special token.
#[test]
fn special_tokens_on_the_borders_of_batches_are_no_text() {
    let mut parts = vocabulary(&[], false);
    parts.special_tokens = vec![SpecialToken::new("<|end of text|>", 256)];
    let bpe = ByteBpe::new(parts).unwrap();
    let text = "<|end of text|>".repeat(BATCH_BYTES / 5);
    let mut options = ByteExtendOptions::new(ExtendSize::Learn(1));
    options.document = Some(Document::File);
    let error = bpe.extend(Corpus::reader(text.as_bytes()), &options);
    assert!(matches!(
        error,
        Err(ExtendError::TooFewPieces { available: 0, .. })
    ));
}
