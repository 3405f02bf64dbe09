//! Byte-level vocabularies from the files of other programs.
//!
//! | module | files |
//! |---|---|
//! | [`tiktoken`] | `.tiktoken`, also `tokenizer.model` of Llama 3 and `tiktoken.model` of Kimi |
//! | [`vocab_merges`] | `vocab.json` and `merges.txt`, or `encoder.json` and `vocab.bpe` |
//! | [`tekken`] | `tekken.json` of Mistral |
//! | [`minbpe`] | `.model` of minbpe |
//! | `tokenizer_json::byte_level` | byte-level `tokenizer.json` |
//!
//! Each becomes a [`ByteVocabulary`]: the parts of a tokenizer, and a verdict on whether its ids
//! equal those of the program that the file is made for. What the readers share:
//!
//! | module | job |
//! |---|---|
//! | [`tokens`] | tokens with their ids, checked: no two equal, no byte missing, no large id |
//! | [`printable`] | tokens in these characters with a list of merges |
//! | [`known`] | patterns and special tokens of published files that lack them |

mod known;
mod minbpe;
mod printable;
mod ranked;
mod tekken;
mod tiktoken;
mod tokens;
#[cfg(test)]
mod tests;
mod vocab_merges;
mod written;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use self::known::KnownVocabulary;
pub(super) use self::minbpe::is_start as is_start_of_minbpe;
pub(super) use self::printable::PrintableVocabulary;
pub(super) use self::ranked::PretokenRule;
pub(super) use self::ranked::RankedTokens;
pub(super) use self::tekken::is_start as is_start_of_tekken;
pub(super) use self::tiktoken::is_start as is_start_of_tiktoken;
pub(super) use self::tokens::syntax;
use self::tokens::{TokenList, shown};
pub(super) use self::vocab_merges::{is_start_of_merges, is_start_of_vocab};
pub(super) use self::written::as_it_is_reasons;
pub use self::written::{ByteFileOptions, ByteFiles, Missing, PostProcessor};
pub(crate) use crate::base::byte_chars::printable;
pub(super) use crate::base::byte_chars::spelled;
use crate::byte_bpe::{ByteBpe, ByteBpeParts, SpecialToken, TextForm};
use crate::encode::bpe::merge_list::{ListOrder, Units};
use crate::formats::Converted;
use crate::formats::error::{FormatError, Place};
use crate::formats::opened::{FileContent, OpenedFile, check_size, text};
use crate::formats::{
    FILES_OF_FOLDERS, FileFormat, ReadPostProcessor, Reason, ReasonKind, Verdict, options_of_folder,
};
use crate::pattern::Pretokenizer;
use crate::pipeline::BertNormalizer;

/// What a vocabulary of tokens needs and its file lacks.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ByteFormatOptions {
    /// What cuts text, for files that do not say it: `.tiktoken`, `vocab.json` and `merges.txt`.
    pub pretokenizer: Option<Pretokenizer>,
    /// The special tokens, for the same files.
    pub special_tokens: Option<Vec<SpecialToken>>,
    /// The normalizer, for the `vocab.txt` of BERT. Without it, text becomes lower case unless a
    /// piece has an upper-case letter.
    pub bert_normalizer: Option<BertNormalizer>,
    /// What a folder says of the texts of its vocabulary.
    pub(crate) text_form: Option<TextForm>,
    pub(crate) adds_prefix_space: Option<bool>,
}

impl ByteFormatOptions {
    /// Refuses options for a file that has its own pattern, special tokens and normalizer.
    pub(crate) fn refuse_pattern(&self, format: FileFormat) -> Result<(), FormatError> {
        match (
            &self.pretokenizer,
            &self.special_tokens,
            &self.bert_normalizer,
        ) {
            (None, None, None) => Ok(()),
            _ => Err(FormatError::PatternGiven { format }),
        }
    }
}

/// A byte-level vocabulary that was read from a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ByteVocabulary {
    /// The parts of the tokenizer.
    pub parts: ByteBpeParts,
    /// What a `tokenizer.json` does with the ids of a text; here it has no effect.
    pub post_processor: Option<ReadPostProcessor>,
}

impl ByteVocabulary {
    /// Reads a byte-level vocabulary: `.tiktoken`, tokenizer.json, tekken.json, minbpe's `.model`,
    /// `vocab.json` or `merges.txt` (`encoder.json`, `vocab.bpe`) with the other one beside it, or
    /// a folder with one of these. The content decides the format; only the other half of
    /// `vocab.json` and `merges.txt` is found by name. `None` if it has another format, such as
    /// SentencePiece's.
    ///
    /// Files of 2 GiB and more are refused. If the merges are a list, each
    /// token is merged once.
    ///
    /// # Errors
    /// The file cannot be read, is malformed, or asks for something that is not supported.
    pub fn open(
        path: impl AsRef<Path>,
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        Self::open_path(path.as_ref(), options)
    }

    /// As in [`crate::open`], so that callers do not compile it again.
    fn open_path(
        path: &Path,
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        let Some(file) = OpenedFile::open(path, &FILES_OF_FOLDERS)? else {
            return Ok(None);
        };
        if file.format == FileFormat::Gguf {
            return super::gguf::read_byte_level(file.reader(), options);
        }
        if !is_byte_format(file.format) {
            return Ok(None);
        }
        let options = match path.is_dir() {
            true => options_of_folder(path, file.format, options)?,
            false => Cow::Borrowed(options),
        };
        Self::of_content(&file.read()?, &options)
    }

    /// Reads a byte-level vocabulary from the bytes of a file; see [`open`](Self::open).
    ///
    /// ```
    /// use spiece::formats::{ByteFormatOptions, ByteVocabulary};
    ///
    /// let file = b"minbpe v1\n\n0\n97 98\n256 99\n";
    /// let vocabulary = ByteVocabulary::from_bytes(file, &ByteFormatOptions::default())?.unwrap();
    /// assert_eq!(&*vocabulary.value.parts.tokens[257].bytes, b"abc");
    /// assert!(vocabulary.verdict.is_exact());
    /// # Ok::<(), spiece::formats::FormatError>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open); and `vocab.json` and `merges.txt` need their paths.
    pub fn from_bytes(
        file: &[u8],
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        Self::of_content(&FileContent::of_bytes(file), options)
    }

    /// Reads a file; `None` if it is no byte-level vocabulary.
    pub(crate) fn of_content(
        content: &FileContent<'_>,
        options: &ByteFormatOptions,
    ) -> Result<Option<Converted<Self>>, FormatError> {
        let file = &content.bytes[..];
        let (format, path) = (content.format, content.path.as_deref());
        if is_byte_format(format) {
            check_size(format, file)?;
        }
        let text = || text(format, file);
        let vocabulary = match format {
            FileFormat::Tiktoken => tiktoken::read(file, options)?,
            FileFormat::Minbpe => minbpe::read(text()?, options)?,
            FileFormat::Tekken => tekken::read(text()?, options)?,
            FileFormat::TokenizerJson => {
                return super::tokenizer_json::read_byte_level(text()?, options);
            }
            FileFormat::VocabMerges => {
                let other = path.and_then(companion).ok_or(FormatError::Half)?;
                let companion = std::fs::read(&other).map_err(|source| {
                    let path = other;
                    FormatError::Read { path, source }
                })?;
                let [vocab, merges] = match is_start_of_vocab(file) {
                    true => [file, &companion],
                    false => [&companion, file],
                };
                Self::from_vocab_and_merges(vocab, merges, options)?
            }
            FileFormat::Gguf => return super::gguf::read_byte_level(file, options),
            _ => return Ok(None),
        };
        Ok(Some(vocabulary))
    }

    /// Reads the contents of `vocab.json` and `merges.txt`, or of `encoder.json` and `vocab.bpe`.
    ///
    /// # Errors
    /// One of them is malformed, or the pattern is missing.
    pub fn from_vocab_and_merges(
        vocab: &[u8],
        merges: &[u8],
        options: &ByteFormatOptions,
    ) -> Result<Converted<Self>, FormatError> {
        let [vocab, merges] = [vocab, merges].map(|file| text(FileFormat::VocabMerges, file));
        vocab_merges::read(vocab?, merges?, options)
    }
}

impl Converted<ByteVocabulary> {
    /// The vocabulary, if its ids are equal for all text.
    ///
    /// # Errors
    /// [`FormatError::NotExact`] with the reasons, or [`FormatError::Parts`].
    pub fn into_bpe(self) -> Result<ByteBpe, FormatError> {
        Ok(ByteBpe::new(self.into_exact()?.parts)?)
    }
}

/// Whether a format is one of this module, or can be.
fn is_byte_format(format: FileFormat) -> bool {
    match format {
        FileFormat::Tiktoken
        | FileFormat::VocabMerges
        | FileFormat::Tekken
        | FileFormat::Minbpe
        | FileFormat::TokenizerJson => true,
        FileFormat::Model | FileFormat::Gguf | FileFormat::VocabTxt | FileFormat::Folder => false,
    }
}

/// The path of the file that belongs to `vocab.json`, `merges.txt`, or the like.
fn companion(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let pairs = vocab_merges::NAMES.into_iter();
    let mut ends = pairs.flat_map(|[vocab, merges]| [[vocab, merges], [merges, vocab]]);
    let name = ends.find_map(|[end, other]| Some(format!("{}{other}", name.strip_suffix(end)?)))?;
    Some(path.with_file_name(name))
}

/// The parts but the tokens: what is known of a published vocabulary, unless it is given.
fn known_or_given(
    tokens: &TokenList,
    order: &ListOrder,
    options: &ByteFormatOptions,
) -> Result<ByteBpeParts, FormatError> {
    let known = KnownVocabulary::of(tokens, order);
    let known_cuts = known.and_then(|known| Pretokenizer::named(known.pattern));
    let pretokenizer = options.pretokenizer.clone().or(known_cuts);
    let pretokenizer = pretokenizer.ok_or(FormatError::NoPattern {
        format: tokens.format,
    })?;
    let special_tokens = match &options.special_tokens {
        Some(given) => given.clone(),
        None => known.map_or_else(Vec::new, KnownVocabulary::special_tokens),
    };
    Ok(ByteBpeParts {
        special_tokens,
        text_form: options
            .text_form
            .unwrap_or(known.map_or(TextForm::AsIs, |known| known.text_form)),
        adds_prefix_space: options.adds_prefix_space.unwrap_or_default(),
        ..ByteBpeParts::new(pretokenizer)
    })
}

impl ByteVocabulary {
    /// A vocabulary of printable characters with a list of merges.
    ///
    /// # Errors
    /// As [`of_order`](Self::of_order).
    pub(super) fn of_printable(
        mut vocabulary: PrintableVocabulary<'_>,
        parts: ByteBpeParts,
    ) -> Result<Converted<Self>, FormatError> {
        let unprintable = vocabulary.add_others(&parts.special_tokens)?;
        let order = ListOrder::new(vocabulary.tokens.texts(), &vocabulary.pairs, Units::Bytes);
        let mut read = Self::of_order(&vocabulary.tokens, order, parts)?;
        if let Some(text) = unprintable.filter(|_| read.value.parts.whole_pretokens_first) {
            let explanation = format!(
                "the token {text:?} has characters that stand for no byte, so that tokenizers never finds it"
            );
            let reason = Reason::new(ReasonKind::PieceText, explanation);
            read.verdict.add(reason.with_example(text));
        }
        Ok(read)
    }

    /// A vocabulary in the order of its merges, of parts without tokens.
    ///
    /// # Errors
    /// Two special tokens have the same text or id, or one has the id of a token. But a token that
    /// no text is merged to can be a special one, and is left out unless pretokens are looked up.
    fn of_order(
        tokens: &TokenList,
        mut order: ListOrder,
        mut parts: ByteBpeParts,
    ) -> Result<Converted<Self>, FormatError> {
        let format = tokens.format;
        check_special_tokens(format, &parts.special_tokens)?;
        let added = parts.add_in_order(&order, tokens.texts(), tokens.ids());
        let left_out = added.map_err(|index| FormatError::DuplicateId {
            format,
            place: special_token_place(index),
            id: parts.special_tokens[index].id,
        })?;
        order.divided.retain(|(at, _)| !left_out.contains(at));
        let mut verdict = Verdict::default();
        verdict.add_all(divided_reason(&order, tokens));
        parts.empty_token = tokens.empty();
        let value = Self {
            parts,
            post_processor: None,
        };
        Ok(Converted { value, verdict })
    }
}

/// Why merging in an order can differ from merging by the list: tokens are divided.
fn divided_reason(order: &ListOrder, tokens: &TokenList) -> Option<Reason> {
    let parts = order.first_divided(tokens.texts())?;
    let token = parts.concat();
    let explanation = format!(
        "{} tokens are merged although the list does not have the pair, for example {} from {} and {}",
        order.divided.len(),
        shown(&token),
        shown(parts[0]),
        shown(parts[1]),
    );
    Some(Reason {
        example: String::from_utf8(token).ok(),
        ..Reason::new(ReasonKind::MergeOrder, explanation)
    })
}

/// Checks that each special token has an id and a text of its own.
fn check_special_tokens(
    format: FileFormat,
    special_tokens: &[SpecialToken],
) -> Result<(), FormatError> {
    let mut texts = HashMap::new();
    let mut ids = HashSet::new();
    for (index, token) in special_tokens.iter().enumerate() {
        let place = special_token_place(index);
        if token.text.is_empty() || token.text.contains('\0') {
            let problem =
                "the text of a special token is empty or has a NUL, so that it cannot be found";
            return Err(syntax(format, place, problem));
        }
        if let Some(first) = texts.insert(&*token.text, token.id) {
            return Err(FormatError::DuplicateToken {
                format,
                place,
                token: shown(token.text.as_bytes()),
                first,
            });
        }
        if !ids.insert(token.id) {
            let id = token.id;
            return Err(FormatError::DuplicateId { format, place, id });
        }
    }
    Ok(())
}

fn special_token_place(index: usize) -> Place {
    Place::entry("special tokens", index)
}

/// The error for JSON that cannot be parsed; the message has line and column.
pub(super) fn json_error(format: FileFormat, error: &serde_json::Error) -> FormatError {
    syntax(format, Place::File, error)
}
