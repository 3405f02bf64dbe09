//! Options of byte-level training.

use std::fmt;
use std::num::NonZeroU16;
use std::str::FromStr;

use crate::input::Document;
use crate::pattern::{PatternError, PatternSyntax, Pretokenizer, Split, SplitBehavior};
use crate::train::options::csv::split_csv;
use crate::train::options::option_text::OptionText;
use crate::train::options::{InputFormat, OptionError};

/// Which trainer decides between pairs that occur equally often, and in which order tokens get ids.
///
/// ```
/// use spiece::train::ByteTieOrder;
/// assert_eq!("hf".parse(), Ok(ByteTieOrder::Tokenizers));
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
    /// Plain implementations as courses teach them (`greatest`): the pair with the greatest bytes of the
    /// left token, then of the right one, as Python compares pairs of `bytes`. Ids as for `rustbpe`.
    Greatest,
}

impl ByteTieOrder {
    const ALL: [Self; 4] = [
        Self::Tokenizers,
        Self::Rustbpe,
        Self::Minbpe,
        Self::Greatest,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Tokenizers => "hf",
            Self::Rustbpe => "rustbpe",
            Self::Minbpe => "minbpe",
            Self::Greatest => "greatest",
        }
    }

    /// The pretokenizer that a text stands for, as [`Pretokenizer::parse`] has it and as this trainer
    /// reads it.
    ///
    /// `tokenizers` reads expressions as Oniguruma does, and what is between the matches is a
    /// pretoken, too; the others read them as the crate `regex` does, and leave that out.
    ///
    /// # Errors
    /// As [`Pretokenizer::parse`].
    pub fn pretokenizer(self, pattern: &str) -> Result<Pretokenizer, PatternError> {
        let syntax = match self {
            Self::Tokenizers => PatternSyntax::Oniguruma,
            Self::Rustbpe | Self::Minbpe | Self::Greatest => PatternSyntax::Rust,
        };
        let found = Pretokenizer::parse(pattern, syntax)?;
        Ok(match (self, found.splits()) {
            (Self::Tokenizers, [split]) => Pretokenizer::new(vec![Split::new(
                split.pattern.clone(),
                SplitBehavior::Isolated,
            )]),
            _ => found,
        })
    }
}

impl fmt::Display for ByteTieOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ByteTieOrder {
    type Err = ParseByteTieOrderError;

    fn from_str(name: &str) -> Result<Self, ParseByteTieOrderError> {
        let mut all = Self::ALL.into_iter();
        all.find(|order| order.name() == name)
            .ok_or_else(|| ParseByteTieOrderError {
                name: name.to_owned(),
            })
    }
}

/// A name that no [`ByteTieOrder`] has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseByteTieOrderError {
    /// The name.
    pub name: String,
}

impl fmt::Display for ParseByteTieOrderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown tie order {:?}; use hf, rustbpe, minbpe or greatest",
            self.name
        )
    }
}

impl std::error::Error for ParseByteTieOrderError {}

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
    /// text like any other, unless [`split_special_tokens`](Self::split_special_tokens) is set.
    pub special_tokens: Vec<String>,
    /// Whether special tokens are cut out of the corpus: they are not counted, and no pretoken crosses
    /// them. Of those that begin at one place, the longest is found. Not with [`ByteTieOrder::Minbpe`].
    pub split_special_tokens: bool,
    /// Tokens that the vocabulary has whatever the corpus: a text that is one of them is one token. The
    /// merges that make them come before all others, in the order of the list, so that what is counted
    /// is what is left after them. A token is merged from its start: `abc` of `ab` and `c`, where `ab` is
    /// another token, unless the merges so far make other parts of it. `min_frequency` does not apply.
    /// Each has to be one pretoken when it is a text by itself, and is refused otherwise.
    pub required_tokens: Vec<String>,
    /// Byte strings that no merge makes. They can still be special tokens.
    pub never_made: Vec<Vec<u8>>,
    /// Tokens, or single bytes, that are never merged with others. They may be learned or required
    /// themselves, but no longer token is made of them; it can be made of their bytes in another
    /// way, where these are not merged to the token first.
    pub never_merged: Vec<Vec<u8>>,
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
            split_special_tokens: false,
            required_tokens: Vec::new(),
            never_made: Vec::new(),
            never_merged: Vec::new(),
            document: None,
            input_format: InputFormat::default(),
        }
    }

    /// The names of options that are texts, as of a command line; see
    /// [`from_flags`](Self::from_flags).
    pub const FLAGS: [&str; 11] = [
        "vocab_size",
        "pattern",
        "tie_order",
        "min_frequency",
        "max_token_length",
        "special_tokens",
        "split_special_tokens",
        "required_tokens",
        "forbidden_tokens",
        "document",
        "input_format",
    ];

    /// Options by their names. Of a name that is repeated, the last text counts.
    ///
    /// | name | text | default |
    /// |---|---|---|
    /// | `vocab_size` | a number | 8000 |
    /// | `pattern` | as [`ByteTieOrder::pretokenizer`] takes it | `gpt2` |
    /// | `tie_order` | `hf`, `rustbpe`, `minbpe` or `greatest` | `hf` |
    /// | `min_frequency`, `max_token_length` | a number | no limit |
    /// | `special_tokens` | texts with commas between them; one with a comma in double quotes | none |
    /// | `split_special_tokens` | `true` or `false`; an empty text is `true` | `false` |
    /// | `required_tokens` | as `special_tokens` | none |
    /// | `forbidden_tokens` | lines as [`add_forbidden_lines`](Self::add_forbidden_lines) takes them | none |
    /// | `document` | `line`, `record` or `file` | see [`document`](Self::document) |
    /// | `input_format` | `text` or `tsv` | `text` |
    ///
    /// ```
    /// use spiece::train::ByteTrainOptions;
    ///
    /// let flags = [("pattern", "cl100k"), ("special_tokens", "<s>,</s>")];
    /// let options = ByteTrainOptions::from_flags(flags)?;
    /// assert_eq!(options.special_tokens, ["<s>", "</s>"]);
    /// assert_eq!(options.pretokenizer.name(), Some("cl100k"));
    /// # Ok::<(), spiece::train::OptionError>(())
    /// ```
    ///
    /// # Errors
    /// [`OptionError::Unknown`] for an unknown name, [`OptionError::Value`] for a text that is no
    /// value of the option, [`OptionError::Pattern`] for a pattern that cannot be used.
    pub fn from_flags<'f>(
        flags: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Result<Self, OptionError> {
        let mut pattern = "gpt2";
        let mut options = Self::new(8000, Pretokenizer::new(Vec::new()));
        for (name, value) in flags {
            let text = OptionText(value);
            match name {
                "vocab_size" => {
                    options.vocab_size = text.number("vocab_size", "a number of tokens")?;
                }
                "pattern" => pattern = value,
                "tie_order" => {
                    options.tie_order = value
                        .parse()
                        .map_err(|_| text.wrong("tie_order", "hf, rustbpe, minbpe or greatest"))?;
                }
                "min_frequency" => {
                    options.min_frequency = text.number("min_frequency", "a number from 0")?;
                }
                "max_token_length" => {
                    let length = text.number("max_token_length", "a number from 1 to 65535")?;
                    options.max_token_length = Some(length);
                }
                "special_tokens" => options.special_tokens = split_csv(value),
                "split_special_tokens" => {
                    options.split_special_tokens = text.switch("split_special_tokens")?;
                }
                "required_tokens" => options.required_tokens = split_csv(value),
                "forbidden_tokens" => {
                    options.never_made.clear();
                    options.never_merged.clear();
                    options.add_forbidden_lines(value)?;
                }
                "document" => options.document = Some(text.document()?),
                "input_format" => options.input_format = text.input_format()?,
                _ => {
                    let option = name.to_owned();
                    return Err(OptionError::Unknown { option });
                }
            }
        }
        let pretokenizer = options.tie_order.pretokenizer(pattern);
        let option = "pattern";
        options.pretokenizer =
            pretokenizer.map_err(|source| OptionError::Pattern { option, source })?;
        Ok(options)
    }
}

/// The most bytes of a merged token with this
/// [`max_token_length`](ByteTrainOptions::max_token_length).
pub(crate) fn length_limit(max_token_length: Option<NonZeroU16>) -> u32 {
    max_token_length.map_or(u32::MAX, |length| u32::from(length.get() - 1).max(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pattern_is_read_as_the_order_reads_it_whichever_comes_first() {
        let pattern = ("pattern", r"\p{L}+");
        let order = ("tie_order", "rustbpe");
        let expected = ByteTieOrder::Rustbpe.pretokenizer(pattern.1).unwrap();
        for flags in [[pattern, order], [order, pattern]] {
            let options = ByteTrainOptions::from_flags(flags).unwrap();
            assert_eq!(options.pretokenizer.splits(), expected.splits());
        }
    }

    #[test]
    fn all_flags_are_read() {
        let options = ByteTrainOptions::from_flags([
            ("vocab_size", " 300"),
            ("min_frequency", "2"),
            ("max_token_length", "5 "),
            ("special_tokens", "<s>,\"a,b\""),
            ("split_special_tokens", ""),
            ("required_tokens", "the,\" a\""),
            ("forbidden_tokens", "never_made ab\nnever_merged b"),
            ("document", "file"),
            ("input_format", "tsv"),
        ])
        .unwrap();
        assert_eq!(options.vocab_size, 300);
        assert_eq!(options.tie_order, ByteTieOrder::Tokenizers);
        assert_eq!(options.min_frequency, 2);
        assert_eq!(options.max_token_length, NonZeroU16::new(5));
        assert_eq!(options.special_tokens, ["<s>", "a,b"]);
        assert!(options.split_special_tokens);
        assert_eq!(options.required_tokens, ["the", " a"]);
        assert_eq!(
            (&*options.never_made, &*options.never_merged),
            (&[b"ab".to_vec()][..], &[b"b".to_vec()][..])
        );
        assert_eq!(options.document, Some(Document::File));
        assert_eq!(options.input_format, InputFormat::Tsv);
    }

    #[test]
    fn wrong_texts_name_their_option() {
        for (name, value) in [
            ("vocab_size", "-1"),
            ("pattern", "("),
            ("tie_order", "best"),
            ("min_frequency", ""),
            ("max_token_length", "0"),
            ("split_special_tokens", "perhaps"),
            ("forbidden_tokens", "ab"),
            ("document", "page"),
            ("input_format", "counts"),
            ("character_coverage", "1"),
        ] {
            let found = match ByteTrainOptions::from_flags([(name, value)]).unwrap_err() {
                OptionError::Value { option, .. } | OptionError::Pattern { option, .. } => {
                    option.to_owned()
                }
                OptionError::Unknown { option } => option,
                error => panic!("{name}: {error}"),
            };
            assert_eq!(found, name);
            assert_eq!(
                name == "character_coverage",
                !ByteTrainOptions::FLAGS.contains(&name)
            );
        }
    }
}
