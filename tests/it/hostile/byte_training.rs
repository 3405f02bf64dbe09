//! Byte-level training on anything: small options and a corpus of any bytes.

use std::num::{NonZeroU16, NonZeroUsize};

use arbitrary::{Result, Unstructured};
use spiece::Corpus;
use spiece::input::Document;
use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer, CountWords};

use super::byte_adapting::encode;

const PATTERNS: &[&str] = &[
    "gpt2",
    "cl100k",
    "o200k",
    "deepseek-v3",
    "none",
    r"\p{L}+|[^\p{L}]",
    " ?[ab]+",
];

/// The bytes are options and a corpus. What is trained has all bytes and no more tokens than asked for,
/// does not depend on the number of threads or on the division of the corpus, and decodes what it
/// encodes.
pub fn byte_train(data: &[u8]) {
    let mut input = Unstructured::new(data);
    if let Ok((options, corpus)) = case(&mut input) {
        check(&options, &corpus);
    }
}

fn case(input: &mut Unstructured<'_>) -> Result<(ByteTrainOptions, Vec<u8>)> {
    let order = *input.choose(&[
        ByteTieOrder::Tokenizers,
        ByteTieOrder::Rustbpe,
        ByteTieOrder::Minbpe,
        ByteTieOrder::Greatest,
    ])?;
    let pattern = input.choose(PATTERNS)?;
    let pretokenizer = order.pretokenizer(pattern).expect("a valid pattern");
    let mut options = ByteTrainOptions::new(input.int_in_range(250..=400)?, pretokenizer);
    options.tie_order = order;
    options.min_frequency = input.int_in_range(0..=3)?;
    options.max_token_length = NonZeroU16::new(input.int_in_range(0..=9)?);
    options.document = input
        .choose(&[None, Some(Document::Line), Some(Document::File)])?
        .to_owned();
    for _ in 0..input.int_in_range(0..=3)? {
        let text = input.choose(&["<s>", "a", "ab", "abab", "\u{120}", "\u{e9}", "", "x y"])?;
        options.special_tokens.push((*text).to_owned());
    }
    for _ in 0..input.int_in_range(0..=3)? {
        let text = input.choose(&["ab", "aba", " a", "\u{e9}\u{e9}", "b\n", "", "x"])?;
        match input.int_in_range(0..=3)? {
            0 => options.never_made.push(text.as_bytes().to_vec()),
            1 => options.never_merged.push(text.as_bytes().to_vec()),
            _ => options.required_tokens.push((*text).to_owned()),
        }
    }
    Ok((options, input.bytes(input.len())?.to_vec()))
}

fn check(options: &ByteTrainOptions, corpus: &[u8]) {
    let Ok(trainer) = ByteTrainer::new(options.clone()) else {
        return;
    };
    let train = |threads| {
        let trainer = ByteTrainer::new(trainer.options().clone()).expect("valid options");
        let trainer = trainer.with_threads(NonZeroUsize::new(threads).expect("threads"));
        trainer.train(Corpus::reader(corpus))
    };
    let Ok(trained) = train(1) else {
        return;
    };
    assert!(trained.vocab_size() <= options.vocab_size as usize);
    let again = train(3).expect("one thread has trained");
    assert_eq!(again.parts().tokens, trained.parts().tokens);
    let text = String::from_utf8_lossy(corpus);
    let decoded = trained
        .decode_to_bytes(&encode(&trained, text.as_bytes()))
        .expect("its own ids");
    let all: String = options.pretokenizer.pretokens(&text).concat();
    assert_eq!(decoded, all.as_bytes());
    if options.tie_order != ByteTieOrder::Minbpe {
        let counts = trainer.count(Corpus::reader(corpus)).expect("it was read");
        let of_counts = trainer.train_counts(counts).expect("its own counts");
        assert_eq!(of_counts.parts().tokens, trained.parts().tokens);
    }
}
