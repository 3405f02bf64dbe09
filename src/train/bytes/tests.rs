use std::collections::BTreeMap;
use std::io::Cursor;
use std::num::NonZeroU16;

use proptest::prelude::*;

use super::*;
use crate::piece::PieceId;
use crate::train::CountWords;

/// A token, by its bytes, of a word.
type Symbols = Vec<Vec<u8>>;

/// Merges a pair in a word, from left to right.
fn merge(symbols: &mut Symbols, left: &[u8], right: &[u8]) {
    let mut at = 0;
    while at + 1 < symbols.len() {
        if symbols[at] == left && symbols[at + 1] == right {
            symbols[at] = [left, right].concat();
            symbols.remove(at + 1);
        }
        at += 1;
    }
}

/// Whether the lists of the options allow a merge.
fn is_allowed(pair: &[Vec<u8>], options: &ByteTrainOptions) -> bool {
    let is_part = |part: &Vec<u8>| options.never_merged.contains(part);
    !pair.iter().any(is_part) && !options.never_made.contains(&pair.concat())
}

/// The merges that make the required tokens; `None` if they cannot be made.
fn slow_seeds(options: &ByteTrainOptions) -> Option<Vec<[Vec<u8>; 2]>> {
    let mut seeds: Vec<[Vec<u8>; 2]> = Vec::new();
    for token in &options.required_tokens {
        loop {
            let mut parts: Symbols = token.bytes().map(|byte| vec![byte]).collect();
            for [left, right] in &seeds {
                merge(&mut parts, left, right);
            }
            if parts.len() == 1 {
                break;
            }
            let pair = parts.windows(2).find(|pair| is_allowed(pair, options))?;
            seeds.push([pair[0].clone(), pair[1].clone()]);
        }
    }
    let is_made = |token: &String| !options.never_made.contains(&token.as_bytes().to_vec());
    options.required_tokens.iter().all(is_made).then_some(seeds)
}

/// The tokens of the ids, by recounting all pairs before each merge; `words` are in the order of
/// the text, and `seeds` are the first merges.
fn slow_tokens(
    words: &[(Vec<u8>, u64)],
    options: &ByteTrainOptions,
    seeds: &[[Vec<u8>; 2]],
) -> Vec<Vec<u8>> {
    let mut special: Vec<Vec<u8>> = Vec::new();
    for text in &options.special_tokens {
        if !special.contains(&text.as_bytes().to_vec()) {
            special.push(text.as_bytes().to_vec());
        }
    }
    let (before, bytes, after) = match options.tie_order {
        ByteTieOrder::Tokenizers => {
            let kept = |byte: &u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
            let printable = (0..=255).filter(kept);
            let others = (0..=255).filter(|byte| !kept(byte));
            let bytes: Vec<u8> = printable.chain(others).collect();
            (special, bytes, Vec::new())
        }
        _ => (Vec::new(), (0..=255).collect(), special),
    };
    let mut tokens = before;
    for byte in bytes {
        if !tokens.contains(&vec![byte]) {
            tokens.push(vec![byte]);
        }
    }
    let mut words: Vec<(Symbols, u64)> = words
        .iter()
        .map(|(word, count)| (word.iter().map(|byte| vec![*byte]).collect(), *count))
        .collect();
    for [left, right] in seeds {
        for (symbols, _) in &mut words {
            merge(symbols, left, right);
        }
        let joined = [left.as_slice(), right].concat();
        if !tokens.contains(&joined) {
            tokens.push(joined);
        }
    }
    while tokens.len() + after.len() < options.vocab_size as usize {
        let id = |token: &[u8]| tokens.iter().position(|known| known == token).unwrap();
        let mut counts: BTreeMap<(usize, usize), (u64, usize)> = BTreeMap::new();
        let mut place = 0;
        for (symbols, count) in &words {
            for pair in symbols.windows(2) {
                let is_short = options.max_token_length.is_none_or(|limit| {
                    pair.concat().len() < usize::from(limit.get()) || pair.concat().len() == 2
                });
                place += 1;
                if is_short && is_allowed(pair, options) {
                    let pair = (id(&pair[0]), id(&pair[1]));
                    counts.entry(pair).or_insert((0, place)).0 += count;
                }
            }
        }
        let best = counts
            .into_iter()
            .max_by_key(|(pair, (count, place))| {
                let place = match options.tie_order {
                    ByteTieOrder::Minbpe => *place,
                    _ => 0,
                };
                let greatest = match options.tie_order {
                    ByteTieOrder::Greatest => Some((&tokens[pair.0], &tokens[pair.1])),
                    _ => None,
                };
                (*count, greatest, std::cmp::Reverse((place, *pair)))
            })
            .filter(|(_, (count, _))| *count >= options.min_frequency);
        let Some(((left, right), _)) = best else {
            break;
        };
        let joined = [tokens[left].as_slice(), &tokens[right]].concat();
        for (symbols, _) in &mut words {
            merge(symbols, &tokens[left], &tokens[right]);
        }
        if !tokens.contains(&joined) {
            tokens.push(joined);
        }
    }
    tokens.extend(after);
    tokens
}

fn tokens_of(trained: &ByteBpe) -> Vec<Vec<u8>> {
    let ids = (0..).take(trained.vocab_size()).map(PieceId::new);
    ids.map(|id| trained.id_to_bytes(id).unwrap().to_vec())
        .collect()
}

fn options(vocab_size: u32) -> ByteTrainOptions {
    let pretokenizer = ByteTieOrder::Tokenizers.pretokenizer("gpt2").unwrap();
    ByteTrainOptions::new(vocab_size, pretokenizer)
}

fn trained_on(options: ByteTrainOptions, texts: &[&str]) -> Vec<Vec<u8>> {
    let trainer = ByteTrainer::new(options).unwrap();
    tokens_of(&trainer.train(Corpus::texts(texts)).unwrap())
}

fn any_options() -> impl Strategy<Value = ByteTrainOptions> {
    let special = prop_oneof![
        Just(vec![]),
        Just(vec!["<|end|>"]),
        Just(vec!["ab", "<s>", "b", "ab", "abab"])
    ];
    let order = prop_oneof![
        Just(ByteTieOrder::Tokenizers),
        Just(ByteTieOrder::Rustbpe),
        Just(ByteTieOrder::Minbpe),
        Just(ByteTieOrder::Greatest)
    ];
    (260u32..330, order, 0u64..4, 0u16..7, special).prop_map(
        |(vocab_size, order, min_frequency, max_length, special)| {
            let mut options = options(vocab_size);
            options.tie_order = order;
            options.min_frequency = min_frequency;
            options.max_token_length = NonZeroU16::new(max_length);
            let learns_special = order == ByteTieOrder::Tokenizers;
            if learns_special || special.len() == 1 {
                options.special_tokens = special.into_iter().map(str::to_owned).collect();
            }
            options
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn tokens_are_those_of_recounting(
        options in any_options(),
        texts in proptest::collection::vec(
            ("[ab]{1,9}|[a-d ]{1,30}|(ab|a){2,6}|[aé漢 ]{1,9}|\r?\n", 1u64..5), 1..12),
        threads in 1usize..8,
    ) {
        let mut words = Vec::new();
        for (text, count) in &texts {
            for pretoken in options.pretokenizer.pretokens(text) {
                words.push((pretoken.as_bytes().to_vec(), *count));
            }
        }
        let slow = slow_tokens(&words, &options, &[]);
        let trainer = ByteTrainer::new(options).unwrap();
        let trainer = trainer.with_threads(NonZeroUsize::new(threads).unwrap());
        let trained = trainer.train(Corpus::counted_texts(texts)).unwrap();
        prop_assert_eq!(tokens_of(&trained), slow);
    }

    #[test]
    fn required_and_forbidden_tokens_are_those_of_recounting(
        mut options in any_options(),
        required in proptest::sample::subsequence(vec!["abab", "bab", "ba", " a", "aé", "ab", "aaaa"], 0..5),
        never_made in proptest::sample::subsequence(vec!["aa", "abab", "ab", "b ", "é"], 0..3),
        never_merged in proptest::sample::subsequence(vec!["b", "ab", " ", "aa"], 0..3),
        texts in proptest::collection::vec(
            ("[ab]{1,9}|[a-d ]{1,30}|(ab|a){2,6}|[aé漢 ]{1,9}|\r?\n", 1u64..5), 1..12),
        threads in 1usize..8,
    ) {
        options.vocab_size += 20;
        let limit = length_limit(options.max_token_length) as usize;
        let required = required.into_iter().rev().filter(|token| token.len() <= limit);
        options.required_tokens = required.map(str::to_owned).collect();
        options.never_made = never_made.into_iter().map(|token| token.as_bytes().to_vec()).collect();
        options.never_merged = never_merged.into_iter().map(|token| token.as_bytes().to_vec()).collect();
        let seeds = slow_seeds(&options);
        let trainer = ByteTrainer::new(options.clone());
        prop_assert_eq!(trainer.is_ok(), seeds.is_some());
        let (Ok(trainer), Some(seeds)) = (trainer, seeds) else {
            return Ok(());
        };
        let mut words = Vec::new();
        for (text, count) in &texts {
            for pretoken in options.pretokenizer.pretokens(text) {
                words.push((pretoken.as_bytes().to_vec(), *count));
            }
        }
        let slow = slow_tokens(&words, &options, &seeds);
        let trainer = trainer.with_threads(NonZeroUsize::new(threads).unwrap());
        let trained = trainer.train(Corpus::counted_texts(texts)).unwrap();
        prop_assert_eq!(tokens_of(&trained), slow);
        let tokenizer = crate::Tokenizer::from_pipeline(trained, crate::TokenizerConfig::default());
        for token in &options.required_tokens {
            prop_assert_eq!(tokenizer.encode(token).len(), 1, "{}", token);
        }
    }
}

/// `tokenizers` 0.23.3 gives these with the same texts, one file line each, `special_tokens=["ab",
/// "<s>"]`, `initial_alphabet=ByteLevel.alphabet()` and `ByteLevel(add_prefix_space=False)`.
#[test]
fn a_merge_that_spells_a_special_token_has_its_id() {
    let mut options = options(261);
    options.special_tokens = vec!["ab".to_owned(), "<s>".to_owned()];
    let tokens = trained_on(options, &["abab abab abc\n", "bc abc\n"]);
    assert_eq!(tokens[..3], [&b"ab"[..], b"<s>", b"!"]);
    assert_eq!(tokens[258..], [&b" ab"[..], b" abc", b"abab"]);
}

#[test]
fn counts_above_32_bits_decide() {
    let texts = [("ab", 1 << 31), ("cd", 3 << 31), ("ef", 1 << 33)];
    let trainer = ByteTrainer::new(options(259)).unwrap();
    let trained = trainer.train(Corpus::counted_texts(texts)).unwrap();
    assert_eq!(tokens_of(&trained)[256..], [b"ef", b"cd", b"ab"]);
}

fn document_options(document: Document) -> ByteTrainOptions {
    let mut options = options(300);
    options.document = Some(document);
    options
}

/// The pretokens that a trainer counts of a reader.
fn counted(
    options: ByteTrainOptions,
    text: &[u8],
    batch_bytes: usize,
) -> (BTreeMap<String, u64>, ReadTexts) {
    let mut trainer = ByteTrainer::new(options).unwrap();
    trainer.work.batch_bytes = batch_bytes;
    let mut table = WordTable::default();
    let corpus = Corpus::reader(Cursor::new(text));
    let texts = trainer
        .reader()
        .count_into(corpus, &mut table, &mut Reporter::new(&trainer.observer))
        .unwrap();
    let mut counts = BTreeMap::new();
    for shard in table.shards() {
        shard.visit(|text, count| {
            counts.insert(String::from_utf8(text.to_vec()).unwrap(), count);
        });
    }
    (counts, texts)
}

fn pretokens(texts: &[&str]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    let options = options(300);
    for text in texts {
        for pretoken in options.pretokenizer.pretokens(text) {
            *counts.entry(pretoken.to_owned()).or_default() += 1;
        }
    }
    counts
}

#[test]
fn lines_have_their_line_ends_and_files_are_one_text() {
    let text = "one two\n\n\nthree\r\n  four";
    let lines = ["one two\n", "\n", "\n", "three\r\n", "  four"];
    for batch_bytes in [1, 5, 1000] {
        let lines_are_texts = document_options(Document::Line);
        let (counts, read) = counted(lines_are_texts, text.as_bytes(), batch_bytes);
        assert_eq!(counts, pretokens(&lines), "{batch_bytes}");
        assert_eq!(read.sentences.used, 5);
        let file_is_text = document_options(Document::File);
        let (counts, _) = counted(file_is_text, text.as_bytes(), batch_bytes);
        assert_eq!(counts, pretokens(&[text]), "{batch_bytes}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_read_as_replacement_characters() {
    let options = document_options(Document::Line);
    let (counts, _) = counted(options, b"a\xff\xfe b\xe6\xbc\n", 1000);
    assert_eq!(
        counts,
        pretokens(&["a\u{fffd}\u{fffd} b\u{fffd}\u{fffd}\n"])
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Long texts are divided into parts, which does not change what is counted.
    #[test]
    fn parts_of_a_text_have_the_pretokens_of_the_text(
        words in proptest::collection::vec("[a-z]{1,6}|[ \n]{1,3}|'s|é|漢|[.,!1]|\u{301}", 0..200),
        batch_bytes in 8usize..60,
        document in prop_oneof![Just(Document::File), Just(Document::Line)],
    ) {
        let text = words.concat();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let texts = if document == Document::File { vec![text.as_str()] } else { lines };
        let (counts, _) = counted(document_options(document), text.as_bytes(), batch_bytes);
        prop_assert_eq!(counts, pretokens(&texts));
    }

    /// At any place of a line, and across the parts of a long text.
    #[test]
    fn special_tokens_are_found_and_cut_out_if_that_is_wanted(
        words in proptest::collection::vec("[a-z]{1,6}|[ \n]{1,3}|<\\|end\\|>|<\\|en|end\\|>|<\\|end\\|>>|<a>|>", 0..100),
        batch_bytes in 8usize..60,
        document in prop_oneof![Just(Document::File), Just(Document::Line)],
        splits in any::<bool>(),
    ) {
        // Of those that begin at one place, the longest first.
        let special = ["<|end|>>", "<|end|>", "<a>"];
        let text = words.concat();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let texts = if document == Document::File { vec![text.as_str()] } else { lines };
        let mut parts = Vec::new();
        let mut found = 0;
        for text in &texts {
            let mut begin = 0;
            let mut at = 0;
            while at < text.len() {
                match special.iter().find(|token| text[at..].starts_with(**token)) {
                    Some(token) => {
                        parts.push(&text[begin..at]);
                        at += token.len();
                        begin = at;
                        found += 1;
                    }
                    None => at += 1,
                }
            }
            parts.push(&text[begin..]);
        }
        let mut options = document_options(document);
        options.special_tokens = special.iter().rev().map(|token| (*token).to_owned()).collect();
        options.split_special_tokens = splits;
        let (counts, read) = counted(options, text.as_bytes(), batch_bytes);
        prop_assert_eq!(counts, pretokens(if splits { &parts } else { &texts }));
        prop_assert_eq!(read.special_tokens, found);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// So a table of counts is recognized as one that was not counted with a known pattern.
    #[test]
    fn known_patterns_do_not_divide_their_pretokens(
        words in proptest::collection::vec(
            "[a-zA-Z]{1,6}|[ \n\r\t]{1,4}|'s|'LL|é|漢|[.,!/]{1,2}|[0-9]{1,9}|\u{301}|ǅ|ª|\u{3000}|\u{ad}", 0..40),
    ) {
        let text = words.concat();
        for name in ["gpt2", "cl100k", "o200k", "llama3", "qwen2", "kimi", "tekken", "nanochat", "deepseek-v3", "llama3-place-digits", "o200k-place-digits"] {
            let pretokenizer = crate::pattern::Pretokenizer::named(name).unwrap();
            for pretoken in pretokenizer.pretokens(&text) {
                prop_assert_eq!(pretokenizer.pretokens(pretoken), [pretoken], "{}", name);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn counts_of_lines_give_the_tokens_of_the_text(lines in "[ab c]{0,20}(\n[ab]{0,9}){0,5}\n?") {
        let mut options = options(270);
        options.document = Some(Document::Line);
        let trainer = ByteTrainer::new(options).unwrap();
        let mut counter = trainer.counter().unwrap();
        counter.add_lines(lines.as_bytes()).unwrap();
        let counts = counter.finish().unwrap();
        let of_text = trainer.train(Corpus::reader(Cursor::new(&lines)));
        if let Ok(of_text) = of_text {
            let rows = counts.sentences();
            prop_assert_eq!(rows.used, lines.split_inclusive('\n').count() as u64);
            let of_counts = trainer.train_counts(counts).unwrap();
            prop_assert_eq!(tokens_of(&of_counts), tokens_of(&of_text));
        }
    }
}

#[test]
fn counts_that_do_not_fit_are_refused() {
    use crate::train::CountsError;

    let trainer = ByteTrainer::new(options(300)).unwrap();
    let counted = |word: &str| {
        let mut counts = trainer.new_counts().unwrap();
        counts.add(word, 3).unwrap();
        counts
    };
    assert!(trainer.train_counts(counted(" ab")).is_ok());
    let refused = |trainer: &ByteTrainer, word| match trainer.train_counts(counted(word)) {
        Err(TrainError::Counts(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(
        refused(&trainer, "a b"),
        CountsError::NotAWord { .. }
    ));
    let with = |change: &dyn Fn(&mut ByteTrainOptions)| {
        let mut options = options(300);
        change(&mut options);
        ByteTrainer::new(options).unwrap()
    };
    let llama = with(&|options| {
        options.pretokenizer = crate::pattern::Pretokenizer::named("llama3").unwrap();
    });
    assert!(matches!(
        refused(&llama, "a"),
        CountsError::Different { .. }
    ));
    let minbpe = with(&|options| options.tie_order = ByteTieOrder::Minbpe);
    assert!(matches!(refused(&minbpe, "a"), CountsError::Order));
    // What is learned of the counts may differ.
    let other = with(&|options| {
        options.tie_order = ByteTieOrder::Rustbpe;
        options.min_frequency = 2;
        options.vocab_size = 257;
    });
    assert!(other.train_counts(counted("ab")).is_ok());
}

#[test]
fn options_that_cannot_be_used_are_refused() {
    let refused = |vocab_size, special: &str| {
        let mut options = options(vocab_size);
        options.special_tokens = vec![special.to_owned()];
        ByteTrainer::new(options).unwrap_err().to_string()
    };
    assert!(refused(256, "<s>").contains("vocab_size: 256 is too small"));
    assert!(refused(300, "").contains("empty"));
    // In tokenizer.json, U+0120 is the byte of a space.
    assert!(refused(300, "\u{120}a").contains("stands for other bytes"));
    let mut of_minbpe = options(300);
    of_minbpe.tie_order = ByteTieOrder::Minbpe;
    of_minbpe.split_special_tokens = true;
    let error = ByteTrainer::new(of_minbpe).unwrap_err().to_string();
    assert!(error.contains("split_special_tokens"), "{error}");
    let empty = ByteTrainer::new(options(300)).unwrap();
    let error = empty.train(Corpus::texts([""])).unwrap_err();
    assert!(matches!(error, TrainError::NoText { .. }), "{error}");
}

/// With special tokens cut out, counts depend on them.
#[test]
fn counts_without_special_tokens_give_the_tokens_of_the_text() {
    let mut options = options(264);
    options.special_tokens = vec!["<|end|>".to_owned()];
    options.split_special_tokens = true;
    let text = "low lower<|end|>lowest <|end|><|end|>newer";
    let (observer, summaries) = Observer::of_summaries();
    let trainer = ByteTrainer::new(options.clone()).unwrap();
    let trainer = trainer.with_observer(observer);
    let found = || summaries.recv().unwrap().special_tokens;
    let of_text = trainer.train(Corpus::texts([text])).unwrap();
    assert_eq!(found(), 3);
    trainer.train(Corpus::counted_texts([(text, 5)])).unwrap();
    assert_eq!(found(), 15);
    let count = || trainer.count(Corpus::texts([text])).unwrap();
    count();
    assert_eq!(found(), 3);
    let of_counts = trainer.train_counts(count()).unwrap();
    assert_eq!(tokens_of(&of_counts), tokens_of(&of_text));
    options.special_tokens.push("<|other|>".to_owned());
    let other = ByteTrainer::new(options.clone()).unwrap();
    assert!(other.train_counts(count()).is_err());
    options.split_special_tokens = false;
    assert!(
        ByteTrainer::new(options)
            .unwrap()
            .train_counts(count())
            .is_err()
    );
}

#[test]
fn an_observer_stops_the_training() {
    let stop = Observer::new(|_| std::ops::ControlFlow::Break(()));
    let trainer = ByteTrainer::new(options(300)).unwrap().with_observer(stop);
    let stopped = trainer.train(Corpus::texts(["abc"]));
    assert!(matches!(stopped, Err(TrainError::Cancelled)));
}

/// The vocabularies of testdata/bytes that tokenizers and rustbpe have trained, trained again.
#[test]
fn published_trainers_give_the_same_tokens() {
    use crate::formats::{ByteFormatOptions, ByteVocabulary};
    use crate::pattern::Pretokenizer;

    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    for (name, order) in [
        ("gpt2.json", ByteTieOrder::Tokenizers),
        ("llama3.json", ByteTieOrder::Tokenizers),
        ("words.json", ByteTieOrder::Tokenizers),
        ("whole.json", ByteTieOrder::Tokenizers),
        ("rustbpe.tiktoken", ByteTieOrder::Rustbpe),
    ] {
        let mut format = ByteFormatOptions::default();
        format.pretokenizer =
            (order == ByteTieOrder::Rustbpe).then(|| Pretokenizer::named("rustbpe").unwrap());
        let read = ByteVocabulary::open(folder.join("bytes").join(name), &format).unwrap();
        let expected = read.unwrap().into_bpe().unwrap();
        let size = u32::try_from(expected.vocab_size()).unwrap();
        let mut options = ByteTrainOptions::new(size, expected.pretokenizer().clone());
        options.tie_order = order;
        let special = expected.special_tokens().iter();
        options.special_tokens = special.map(|token| token.text.clone()).collect();
        for threads in [1, 2, 7] {
            let trainer = ByteTrainer::new(options.clone()).unwrap();
            let trainer = trainer.with_threads(NonZeroUsize::new(threads).unwrap());
            let corpus = Corpus::files([folder.join("udhr_small.txt")]);
            let trained = trainer.train(corpus).unwrap();
            assert_eq!(trained.parts().tokens, expected.parts().tokens, "{name}");
            assert_eq!(
                trained.special_tokens(),
                expected.special_tokens(),
                "{name}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn parts_of_a_text_have_the_same_numbers_from_the_right_as_the_text(
        words in proptest::collection::vec("[a-z]{1,6}|[ \n]{1,3}|[0-9]{1,9}|٣{1,5}|[_.,-]", 0..200),
        batch_bytes in 8usize..60,
        pattern in prop_oneof![Just("llama3-place-digits"), Just("o200k-place-digits")],
    ) {
        let text = words.concat();
        let mut options = document_options(Document::File);
        options.pretokenizer = crate::pattern::Pretokenizer::named(pattern).unwrap();
        let mut expected = BTreeMap::new();
        for pretoken in options.pretokenizer.pretokens(&text) {
            *expected.entry(pretoken.to_owned()).or_default() += 1;
        }
        let (counts, _) = counted(options, text.as_bytes(), batch_bytes);
        prop_assert_eq!(counts, expected);
    }
}

#[test]
fn required_tokens_share_the_merges_of_equal_starts() {
    let mut options = options(270);
    options.required_tokens = ["abc", "abd", "bc", "x", "aaaa"]
        .map(str::to_owned)
        .to_vec();
    let trainer = ByteTrainer::new(options).unwrap();
    let texts = |tokens: Vec<Vec<u8>>| -> Vec<String> {
        let merged = tokens.into_iter().skip(256);
        merged
            .map(|token| String::from_utf8(token).unwrap())
            .collect()
    };
    let expected = ["ab", "abc", "abd", "bc", "aa", "aaaa"];
    assert_eq!(texts(tokens_of(&trainer.untrained().unwrap())), expected);
    // What is learned comes after them, from what they leave: `ab` + `e`.
    let (observer, summaries) = Observer::of_summaries();
    let trainer = trainer.with_observer(observer);
    let trained = trainer.train(Corpus::texts(["abe abe abc"])).unwrap();
    assert_eq!(
        texts(tokens_of(&trained)),
        [&expected[..], &["abe", " abc", " abe"]].concat()
    );
    let summary = summaries.recv().unwrap();
    assert_eq!((summary.merges, summary.pieces), (9, 265));
}

#[test]
fn tokens_that_cannot_be_had_are_refused() {
    type Change = fn(&mut ByteTrainOptions);
    let required = |token: &str| vec![token.to_owned()];
    let cases: &[(&str, &str, Change)] = &[
        ("required_tokens", "is empty", |o| {
            o.required_tokens = vec![String::new()]
        }),
        ("required_tokens", "is divided by the pattern", |o| {
            o.required_tokens = vec!["a b".to_owned()]
        }),
        ("required_tokens", "is longer than max_token_length", |o| {
            o.required_tokens = vec!["abc".to_owned()];
            o.max_token_length = NonZeroU16::new(3);
        }),
        ("required_tokens", "is one of forbidden_tokens", |o| {
            o.required_tokens = vec!["ab".to_owned()];
            o.never_made = vec![b"ab".to_vec()];
        }),
        (
            "required_tokens",
            "needs a merge that forbidden_tokens rules out",
            |o| {
                o.required_tokens = vec!["abc".to_owned()];
                o.never_merged = vec![b"b".to_vec()];
            },
        ),
        ("required_tokens", "has a special token", |o| {
            o.required_tokens = vec!["abc".to_owned()];
            o.special_tokens = vec!["b".to_owned()];
            o.split_special_tokens = true;
        }),
        ("forbidden_tokens", "is empty", |o| {
            o.never_merged = vec![Vec::new()]
        }),
        ("forbidden_tokens", "is one byte", |o| {
            o.never_made = vec![b"a".to_vec()]
        }),
        ("vocab_size", "required_tokens make 2", |o| {
            o.required_tokens = vec!["abc".to_owned()];
            o.vocab_size = 257;
        }),
    ];
    for (option, problem, change) in cases {
        let mut options = options(300);
        change(&mut options);
        let error = ByteTrainer::new(options).unwrap_err().to_string();
        assert!(
            error.contains(option) && error.contains(problem),
            "{option}: {error}"
        );
    }
    // Another way round a forbidden token.
    let mut options = options(300);
    options.required_tokens = required("abc");
    options.never_made = vec![b"ab".to_vec()];
    let trained = ByteTrainer::new(options).unwrap().untrained().unwrap();
    assert_eq!(
        tokens_of(&trained)[256..],
        [b"bc".to_vec(), b"abc".to_vec()]
    );
}
