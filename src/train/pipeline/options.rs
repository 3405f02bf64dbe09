//! Options of training like a pipeline.

use std::num::{NonZeroU16, NonZeroUsize};

use crate::input::Document;
use crate::train::options::csv::split_csv;
use crate::train::options::option_text::OptionText;
use crate::train::options::{InputFormat, OptionError};

/// Options of a [`PipelineTrainer`](super::PipelineTrainer), with the names of `BpeTrainer` and
/// `WordPieceTrainer` of the library tokenizers. What is `None` is as in the pipeline.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PipelineTrainOptions {
    /// The number of tokens. A corpus without enough pairs gives fewer. If the added tokens and the
    /// characters are more, nothing is merged and the vocabulary is larger;
    /// [`limit_alphabet`](Self::limit_alphabet) leaves characters out.
    ///
    /// With [`special_ids_first`](Self::special_ids_first), the tokens that transformers would lose
    /// are not counted.
    pub vocab_size: u32,
    /// Pairs that occur less often are not merged. 0 and 1 allow all.
    pub min_frequency: u64,
    /// Further special tokens. A text that is an added token already is left out.
    pub special_tokens: Vec<String>,
    /// The most characters that become tokens: the most frequent ones; of equally frequent ones, those
    /// with the smallest code points. Other characters are removed from the pretokens.
    pub limit_alphabet: Option<NonZeroUsize>,
    /// Characters that become tokens although the corpus does not have them. `None` is the characters
    /// that stand for bytes if the pre-tokenizer has a step `ByteLevel`, and otherwise nothing.
    pub initial_alphabet: Option<Vec<char>>,
    /// What all tokens of a pretoken but the first begin with, such as `##`.
    pub continuing_subword_prefix: Option<String>,
    /// What the last token of a pretoken ends with, such as `</w>`. WordPiece models have none in a
    /// file.
    pub end_of_word_suffix: Option<String>,
    /// Merged tokens stand for fewer characters than this, as tokenizers compares, or for fewer bytes if
    /// the pipeline is byte-level. Tokens of two are always allowed.
    pub max_token_length: Option<NonZeroU16>,
    /// Whether added tokens are cut out of the corpus, as when a text is encoded: they are not counted,
    /// and no pretoken crosses them. Without it they are text like any other, as for
    /// `train_new_from_iterator`. The default is `true`.
    pub split_special_tokens: bool,
    /// Whether the special tokens have the first ids, in the order of their ids in the pipeline, as
    /// `train_new_from_iterator` of transformers numbers them. Without it, tokens keep their ids as far as
    /// the new vocabulary reaches.
    pub special_ids_first: bool,
    /// What a text of files is: no pretoken crosses its ends. [`Document::Line`] is a line with its
    /// line feed. The default is [`Document::Record`] for JSON Lines, and lines otherwise.
    pub document: Option<Document>,
    /// Whether lines are texts, or texts with counts.
    pub input_format: InputFormat,
}

impl PipelineTrainOptions {
    /// Options without limits, and as the pipeline otherwise.
    pub fn new(vocab_size: u32) -> Self {
        Self {
            vocab_size,
            min_frequency: 0,
            special_tokens: Vec::new(),
            limit_alphabet: None,
            initial_alphabet: None,
            continuing_subword_prefix: None,
            end_of_word_suffix: None,
            max_token_length: None,
            split_special_tokens: true,
            special_ids_first: false,
            document: None,
            input_format: InputFormat::default(),
        }
    }

    /// The names of options that are texts, as of a command line; see
    /// [`from_flags`](Self::from_flags).
    pub const FLAGS: [&str; 12] = [
        "vocab_size",
        "min_frequency",
        "special_tokens",
        "limit_alphabet",
        "initial_alphabet",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "max_token_length",
        "split_special_tokens",
        "special_ids_first",
        "document",
        "input_format",
    ];

    /// Options by their names. Of a name that is repeated, the last text counts.
    ///
    /// | name | text | default |
    /// |---|---|---|
    /// | `vocab_size` | a number | `vocab_size` |
    /// | `min_frequency`, `limit_alphabet`, `max_token_length` | a number | no limit |
    /// | `special_tokens` | texts with commas between them; one with a comma in double quotes | none |
    /// | `initial_alphabet` | characters, one after the other | see the field |
    /// | `continuing_subword_prefix`, `end_of_word_suffix` | a text | as in the pipeline |
    /// | `split_special_tokens` | `true` or `false`; an empty text is `true` | `true` |
    /// | `special_ids_first` | the same | `false` |
    /// | `document` | `line`, `record` or `file` | see the field |
    /// | `input_format` | `text` or `tsv` | `text` |
    ///
    /// ```
    /// use spiece::train::PipelineTrainOptions;
    ///
    /// let flags = [("min_frequency", "2"), ("special_tokens", "<s>,</s>")];
    /// let options = PipelineTrainOptions::from_flags(8000, flags)?;
    /// assert_eq!((options.vocab_size, options.min_frequency), (8000, 2));
    /// assert_eq!(options.special_tokens, ["<s>", "</s>"]);
    /// # Ok::<(), spiece::train::OptionError>(())
    /// ```
    ///
    /// # Errors
    /// [`OptionError::Unknown`] for an unknown name, [`OptionError::Value`] for a text that is no
    /// value of the option.
    pub fn from_flags<'f>(
        vocab_size: u32,
        flags: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Result<Self, OptionError> {
        let mut options = Self::new(vocab_size);
        for (name, value) in flags {
            let text = OptionText(value);
            match name {
                "vocab_size" => {
                    options.vocab_size = text.number("vocab_size", "a number of tokens")?;
                }
                "min_frequency" => {
                    options.min_frequency = text.number("min_frequency", "a number from 0")?;
                }
                "special_tokens" => options.special_tokens = split_csv(value),
                "limit_alphabet" => {
                    let limit = text.number("limit_alphabet", "a number from 1")?;
                    options.limit_alphabet = Some(limit);
                }
                "initial_alphabet" => options.initial_alphabet = Some(value.chars().collect()),
                "continuing_subword_prefix" => {
                    options.continuing_subword_prefix = Some(value.to_owned());
                }
                "end_of_word_suffix" => options.end_of_word_suffix = Some(value.to_owned()),
                "max_token_length" => {
                    let length = text.number("max_token_length", "a number from 1 to 65535")?;
                    options.max_token_length = Some(length);
                }
                "split_special_tokens" => {
                    options.split_special_tokens = text.switch("split_special_tokens")?;
                }
                "special_ids_first" => {
                    options.special_ids_first = text.switch("special_ids_first")?;
                }
                "document" => options.document = Some(text.document()?),
                "input_format" => options.input_format = text.input_format()?,
                _ => {
                    let option = name.to_owned();
                    return Err(OptionError::Unknown { option });
                }
            }
        }
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_flags_are_read() {
        let options = PipelineTrainOptions::from_flags(
            10,
            [
                ("vocab_size", " 300"),
                ("min_frequency", "2"),
                ("special_tokens", "<s>,\"a,b\""),
                ("limit_alphabet", "40"),
                ("initial_alphabet", "aé"),
                ("continuing_subword_prefix", "##"),
                ("end_of_word_suffix", "</w>"),
                ("max_token_length", "5 "),
                ("split_special_tokens", "false"),
                ("special_ids_first", ""),
                ("document", "file"),
                ("input_format", "tsv"),
            ],
        )
        .unwrap();
        assert_eq!(options.vocab_size, 300);
        assert_eq!(options.min_frequency, 2);
        assert_eq!(options.special_tokens, ["<s>", "a,b"]);
        assert_eq!(options.limit_alphabet, NonZeroUsize::new(40));
        assert_eq!(options.initial_alphabet, Some(vec!['a', 'é']));
        assert_eq!(options.continuing_subword_prefix.as_deref(), Some("##"));
        assert_eq!(options.end_of_word_suffix.as_deref(), Some("</w>"));
        assert_eq!(options.max_token_length, NonZeroU16::new(5));
        assert!(!options.split_special_tokens && options.special_ids_first);
        assert_eq!(options.document, Some(Document::File));
        assert_eq!(options.input_format, InputFormat::Tsv);
    }

    #[test]
    fn wrong_texts_name_their_option() {
        for (name, value) in [
            ("vocab_size", "-1"),
            ("min_frequency", ""),
            ("limit_alphabet", "0"),
            ("max_token_length", "0"),
            ("split_special_tokens", "perhaps"),
            ("special_ids_first", "2"),
            ("document", "page"),
            ("input_format", "counts"),
            ("character_coverage", "1"),
        ] {
            let found = match PipelineTrainOptions::from_flags(9, [(name, value)]).unwrap_err() {
                OptionError::Value { option, .. } => option.to_owned(),
                OptionError::Unknown { option } => option,
                error => panic!("{name}: {error}"),
            };
            assert_eq!(found, name);
            let is_known = PipelineTrainOptions::FLAGS.contains(&name);
            assert_eq!(name != "character_coverage", is_known);
        }
    }
}
