//! Extension, pruning and merging of byte-level vocabularies that no program made: a result is
//! refused, or it keeps its promises.

use std::collections::HashSet;
use std::num::{NonZeroU8, NonZeroU16, NonZeroUsize};

use arbitrary::{Result, Unstructured};
use spiece::adapt::{
    ByteExtendOptions, ExtendSize, IdMap, MergeOptions, PruneGoal, Superwords, UsageCounter,
};
use spiece::byte_bpe::{ByteBpeParts, ByteToken, SpecialToken, TextForm};
use spiece::input::Document;
use spiece::train::ByteTieOrder;
use spiece::{ByteBpe, Corpus, PieceId, Pretokenizer, Tokenizer, TokenizerConfig};

const PATTERNS: &[&str] = &["gpt2", "o200k", "superbpe", "none", " ?[ab]+", "a.|(?i:B)"];
/// What texts and tokens are made of.
const FRAGMENTS: &[&str] = &[
    "a", "b", "ab", " ", " a", ": ", "\n", "1", "\u{e9}", "e\u{301}", "\u{4e2d}", "<s>", "<|x y|>",
    "\0",
];

/// The bytes make a vocabulary, texts to learn from, and options. What is extended keeps all old
/// tokens and divides no text where it was whole; every learned token is found.
pub fn byte_extend(data: &[u8]) {
    // Input that ends within a case is no failure.
    let _ = check_extend(&mut Unstructured::new(data));
}

/// The bytes make a vocabulary, texts, and what is kept. What is pruned has the ids of the kept
/// tokens, and with [`PruneGoal::Used`] those of all texts.
pub fn byte_prune(data: &[u8]) {
    let _ = check_prune(&mut Unstructured::new(data));
}

/// The bytes make two vocabularies and texts. What is merged keeps the tokens of the first and
/// divides no text where it was whole.
pub fn byte_merge(data: &[u8]) {
    let _ = check_merge(&mut Unstructured::new(data));
}

fn any_pretokenizer(input: &mut Unstructured<'_>) -> Result<Pretokenizer> {
    let order = *input.choose(&[ByteTieOrder::Tokenizers, ByteTieOrder::Rustbpe])?;
    Ok(order
        .pretokenizer(input.choose(PATTERNS)?)
        .expect("a valid pattern"))
}

fn any_text(input: &mut Unstructured<'_>, longest: usize) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    for _ in 0..input.int_in_range(0..=longest)? {
        match input.int_in_range(0..=9)? {
            9 => text.push(input.arbitrary()?),
            _ => text.extend_from_slice(input.choose(FRAGMENTS)?.as_bytes()),
        }
    }
    Ok(text)
}

fn any_texts(input: &mut Unstructured<'_>) -> Result<Vec<Vec<u8>>> {
    let count = input.int_in_range(1..=6)?;
    (0..count).map(|_| any_text(input, 20)).collect()
}

/// All bytes and some texts, of which some may be made by no merge; ids may have gaps. `None` if it
/// is refused.
fn any_vocabulary(input: &mut Unstructured<'_>) -> Result<Option<ByteBpe>> {
    let mut texts: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    if input.arbitrary()? {
        texts.reverse();
    }
    for _ in 0..input.int_in_range(0..=20)? {
        let text = any_text(input, 4)?;
        // Seldom one twice, or an empty one.
        if !input.ratio(49, 50)? || !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    let mut next = input.int_in_range(0..=2)?;
    let mut parts = ByteBpeParts::new(any_pretokenizer(input)?);
    for bytes in texts {
        let bytes = bytes.into();
        parts.tokens.push(ByteToken { bytes, id: next });
        next += if input.ratio(19, 20)? { 1 } else { 3 };
    }
    for _ in 0..input.int_in_range(0..=3)? {
        let text = input.choose(&["<s>", "<|x y|>", "ab", "a b", "\u{e9}", " "])?;
        let id = match input.ratio(3, 4)? {
            true => next,
            false => input.int_in_range(0..=next)?,
        };
        next += 1;
        parts.special_tokens.push(SpecialToken {
            special: input.arbitrary()?,
            normalized: input.arbitrary()?,
            lstrip: input.arbitrary()?,
            rstrip: input.arbitrary()?,
            single_word: input.arbitrary()?,
            ..SpecialToken::new(*text, id)
        });
    }
    parts.whole_pretokens_first = input.arbitrary()?;
    parts.adds_prefix_space = !input.ratio(7, 8)?;
    if !input.ratio(3, 4)? {
        parts.text_form = TextForm::Nfc;
    }
    match ByteBpe::new(parts) {
        Ok(bpe) => Ok(Some(bpe)),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            Ok(None)
        }
    }
}

/// The ids of a text, special tokens being ordinary text.
pub fn encode(bpe: &ByteBpe, text: impl AsRef<[u8]>) -> Vec<PieceId> {
    Tokenizer::from_pipeline(bpe.clone(), TokenizerConfig::default()).encode(text)
}

/// The ends of the tokens of a text in what its ids decode to.
fn boundaries(bpe: &ByteBpe, text: &[u8]) -> HashSet<usize> {
    let mut end = 0;
    let ids = encode(bpe, text);
    let length = |id: &PieceId| bpe.id_to_bytes(*id).expect("an id of a token").len();
    ids.iter()
        .map(|id| {
            end += length(id);
            end
        })
        .collect()
}

/// Tokens that both have, have the same id; the vocabulary is made again of its parts.
fn check_kept(old: &ByteBpe, new: &ByteBpe, ids: &IdMap) {
    for (old_id, new_id) in ids.kept() {
        assert_eq!(old.id_to_bytes(old_id), new.id_to_bytes(new_id));
    }
    let again = ByteBpe::new(new.parts()).expect("its own parts");
    assert_eq!(again.parts().tokens, new.parts().tokens);
}

fn check_no_new_boundary(old: &ByteBpe, new: &ByteBpe, texts: &[Vec<u8>]) {
    for text in texts {
        let (before, after) = (boundaries(old, text), boundaries(new, text));
        assert!(after.is_subset(&before), "{text:?} is divided elsewhere");
    }
}

fn extend_options(input: &mut Unstructured<'_>, bpe: &ByteBpe) -> Result<ByteExtendOptions> {
    let mut options = ByteExtendOptions::new(match input.int_in_range(0..=9)? {
        0 => ExtendSize::Vocabulary(input.int_in_range(0..=2 * bpe.vocab_size())?),
        1 => ExtendSize::NextMultiple(NonZeroUsize::new(input.int_in_range(1..=99)?).unwrap()),
        _ => ExtendSize::Learn(input.int_in_range(0..=12)?),
    });
    options.multiple_of = NonZeroUsize::new(input.int_in_range(0..=9)?);
    options.min_frequency = input.int_in_range(0..=2)?;
    options.max_token_length = NonZeroU16::new(input.int_in_range(0..=9)?);
    options.document = *input.choose(&[None, Some(Document::Line), Some(Document::File)])?;
    options.threads = NonZeroUsize::new(input.int_in_range(1..=3)?);
    if let Some(max_words) = NonZeroU8::new(input.int_in_range(0..=4)?) {
        options.superwords = Some(Superwords::new(any_pretokenizer(input)?, max_words));
    }
    if !input.ratio(3, 4)? {
        options.reuse = vec![PieceId::new(input.int_in_range(0..=400)?)];
        options.special_tokens = vec!["<new>".to_owned(), "<s>".to_owned()];
        options.special_tokens.truncate(input.int_in_range(0..=2)?);
    }
    Ok(options)
}

fn check_extend(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(bpe) = any_vocabulary(input)? else {
        return Ok(());
    };
    let options = extend_options(input, &bpe)?;
    let texts = any_texts(input)?;
    let extended = match bpe.extend(Corpus::texts(&texts), &options) {
        Ok(extended) => extended,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return Ok(());
        }
    };
    let new = extended.bpe();
    check_kept(&bpe, new, extended.ids());
    for token in extended.tokens() {
        let bytes = new.id_to_bytes(token.id).expect("a learned token").to_vec();
        assert_eq!(new.merge_pretoken(&bytes), [token.id], "{bytes:?} is found");
    }
    if options.reuse.is_empty() && options.special_tokens.is_empty() {
        // The pattern of superwords divides texts elsewhere.
        let mut base = bpe.parts();
        base.pretokenizer = new.pretokenizer().clone();
        let base = ByteBpe::new(base).expect("another pattern");
        check_no_new_boundary(&base, new, &texts);
    }
    Ok(())
}

fn check_prune(input: &mut Unstructured<'_>) -> Result<()> {
    let Some(bpe) = any_vocabulary(input)? else {
        return Ok(());
    };
    let texts = any_texts(input)?;
    let goal = match input.int_in_range(0..=4)? {
        0 => PruneGoal::UsedWithTail,
        1 => PruneGoal::Size(input.int_in_range(0..=bpe.vocab_size())?),
        _ => PruneGoal::Used,
    };
    let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
    let bpe = tokenizer.byte_bpe().expect("it is byte-level");
    let mut counter = UsageCounter::new(&tokenizer).expect("it is byte-level");
    texts.iter().for_each(|text| counter.add(text));
    match bpe.prune(&counter.finish(), goal) {
        Ok(pruned) => {
            check_kept(bpe, pruned.bpe(), pruned.ids());
            if goal == PruneGoal::Used {
                for text in &texts {
                    let old = encode(bpe, text).into_iter();
                    let old: Option<Vec<_>> = old.map(|id| pruned.ids().new_id(id)).collect();
                    assert_eq!(old, Some(encode(pruned.bpe(), text)), "{text:?}");
                }
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}

fn check_merge(input: &mut Unstructured<'_>) -> Result<()> {
    let (Some(first), Some(second)) = (any_vocabulary(input)?, any_vocabulary(input)?) else {
        return Ok(());
    };
    let texts = any_texts(input)?;
    let mut options = MergeOptions::default();
    options.allow_other_normalizer = !input.ratio(1, 4)?;
    options.drop_unreachable = input.arbitrary()?;
    match first.merge(&second, &options) {
        Ok(merged) => {
            check_kept(&first, merged.bpe(), merged.ids());
            let special = merged.bpe().special_tokens().len();
            if special == first.special_tokens().len() {
                check_no_new_boundary(&first, merged.bpe(), &texts);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    Ok(())
}
