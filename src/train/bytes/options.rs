//! Options of byte-level training.

use std::fmt;
use std::num::NonZeroU16;

use crate::input::Document;
use crate::pattern::{Pattern, PatternError, PatternSyntax, Pretokenizer, Split, SplitBehavior};
use crate::train::options::InputFormat;

/// Which trainer decides between pairs that occur equally often, and in which order tokens get ids.
///
/// ```
/// use spiece::train::ByteTieOrder;
/// assert_eq!(ByteTieOrder::from_name("hf"), Some(ByteTieOrder::Tokenizers));
/// assert_eq!(ByteTieOrder::Rustbpe.to_string(), "rustbpe");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ByteTieOrder {
    /// The library tokenizers of Hugging Face (`hf`): the smallest ids. Special tokens have the
    /// first ids, then come the bytes in the order of the characters that stand for them in
    /// tokenizer.json, then the merges.
    #[default]
    Tokenizers,
    /// rustbpe (`rustbpe`): the smallest ids. The bytes have the ids 0 to 255; special tokens come
    /// last.
    Rustbpe,
    /// minbpe (`minbpe`): the pair that occurs first. Ids as for `rustbpe`.
    Minbpe,
}

impl ByteTieOrder {
    const ALL: [Self; 3] = [Self::Tokenizers, Self::Rustbpe, Self::Minbpe];

    /// The one with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|order| order.name() == name)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Tokenizers => "hf",
            Self::Rustbpe => "rustbpe",
            Self::Minbpe => "minbpe",
        }
    }

    /// The pretokenizer of a name of [`Pretokenizer::named`], or of an expression, as this trainer
    /// reads it. `none` does not cut at all.
    ///
    /// `tokenizers` reads expressions as Oniguruma does, and what is between the matches is a
    /// pretoken, too; the others read them as the crate `regex` does, and leave that out.
    ///
    /// # Errors
    /// As [`Pattern::new`].
    pub fn pretokenizer(self, pattern: &str) -> Result<Pretokenizer, PatternError> {
        if pattern == "none" {
            return Ok(Pretokenizer::new(Vec::new()));
        }
        let syntax = match self {
            Self::Tokenizers => PatternSyntax::Oniguruma,
            Self::Rustbpe | Self::Minbpe => PatternSyntax::Rust,
        };
        let found = match Pattern::named(pattern) {
            Some(found) => found,
            None => match Pretokenizer::named(pattern) {
                Some(pretokenizer) => return Ok(pretokenizer),
                None => Pattern::with_syntax(pattern, syntax)?,
            },
        };
        Ok(match self {
            Self::Tokenizers => Pretokenizer::new(vec![Split::new(found, SplitBehavior::Isolated)]),
            Self::Rustbpe | Self::Minbpe => Pretokenizer::of(found),
        })
    }
}

impl fmt::Display for ByteTieOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Options of a [`ByteTrainer`](super::ByteTrainer).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ByteTrainOptions {
    /// The number of tokens: special tokens, 256 bytes and merges. A corpus without enough pairs
    /// gives fewer.
    pub vocab_size: u32,
    /// Cuts texts into pretokens, which no token crosses.
    pub pretokenizer: Pretokenizer,
    /// Whose order of ties and of ids.
    pub tie_order: ByteTieOrder,
    /// Pairs that occur less often are not merged. 0 and 1 allow all.
    pub min_frequency: u64,
    /// Merged tokens have fewer bytes than this, as `tokenizers` compares. Tokens of two bytes are
    /// always allowed.
    pub max_token_length: Option<NonZeroU16>,
    /// The texts of the special tokens; a text that is repeated counts once. In the corpus they are
    /// text like any other.
    pub special_tokens: Vec<String>,
    /// What a text of files is: no pretoken crosses its ends. [`Document::Line`] is a line with its
    /// line feed. The default is [`Document::Record`] for JSON Lines, and lines otherwise.
    pub document: Option<Document>,
    /// Whether lines are texts, or texts with counts.
    pub input_format: InputFormat,
}

impl ByteTrainOptions {
    /// Options with the order of `tokenizers`, and without limits and special tokens.
    pub fn new(vocab_size: u32, pretokenizer: Pretokenizer) -> Self {
        Self {
            vocab_size,
            pretokenizer,
            tie_order: ByteTieOrder::default(),
            min_frequency: 0,
            max_token_length: None,
            special_tokens: Vec::new(),
            document: None,
            input_format: InputFormat::default(),
        }
    }
}

/// The most bytes of a merged token with this
/// [`max_token_length`](ByteTrainOptions::max_token_length).
pub(crate) fn length_limit(max_token_length: Option<NonZeroU16>) -> u32 {
    max_token_length.map_or(u32::MAX, |length| u32::from(length.get() - 1).max(2))
}
