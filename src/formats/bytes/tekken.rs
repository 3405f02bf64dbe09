//! tekken.json, the vocabularies of Mistral, by the rules of mistral-common 1.13.1.
//!
//! | field | meaning |
//! |---|---|
//! | `config.pattern` | the pattern |
//! | `config.default_vocab_size` | the number of ids, V |
//! | `config.default_num_special_tokens` | the number of special tokens, S; they have the ids below S |
//! | `vocab` | tokens in the order of their ranks; the first V - S count, and the id is S + rank |
//! | `special_tokens` | texts and ids; files up to version v7 can lack it and have [`OLD_SPECIAL_TOKENS`] then |
//!
//! The special tokens that are not listed are called `<SPECIAL_N>`, from the number of listed ones
//! on. The first 256 tokens are the bytes in their order.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::tokens::{TokenList, checked_id};
use super::{ByteFormatOptions, ByteVocabulary};
use crate::byte_bpe::{ByteBpeParts, SpecialToken};
use crate::encode::bpe::merge_list::ListOrder;
use crate::formats::Converted;
use crate::formats::FileFormat;
use crate::formats::error::{FormatError, Place, json_error, syntax};
use crate::formats::tokenizer_json::JsonText;
use crate::pattern::{Pattern, Pretokenizer};

const FORMAT: FileFormat = FileFormat::Tekken;

/// A file of any size can ask for so many special tokens; those of Mistral ask for 1,000.
const MAX_SPECIAL_TOKENS: u32 = 1 << 16;
/// The special tokens of files that do not list them, by id.
const OLD_SPECIAL_TOKENS: [&str; 20] = [
    "<unk>",
    "<s>",
    "</s>",
    "[INST]",
    "[/INST]",
    "[AVAILABLE_TOOLS]",
    "[/AVAILABLE_TOOLS]",
    "[TOOL_RESULTS]",
    "[/TOOL_RESULTS]",
    "[TOOL_CALLS]",
    "[IMG]",
    "<pad>",
    "[IMG_BREAK]",
    "[IMG_END]",
    "[PREFIX]",
    "[MIDDLE]",
    "[SUFFIX]",
    "[SYSTEM_PROMPT]",
    "[/SYSTEM_PROMPT]",
    "[TOOL_CONTENT]",
];

/// The last version whose files can lack the special tokens.
const LAST_VERSION_WITHOUT_SPECIAL_TOKENS: u32 = 7;

#[derive(serde::Deserialize)]
struct TekkenFile<'j> {
    #[serde(borrow)]
    config: TekkenConfig<'j>,
    #[serde(borrow)]
    vocab: Vec<TekkenToken<'j>>,
    #[serde(borrow, default)]
    special_tokens: Option<Vec<TekkenSpecialToken<'j>>>,
}

#[derive(serde::Deserialize)]
struct TekkenConfig<'j> {
    #[serde(borrow)]
    pattern: JsonText<'j>,
    default_vocab_size: u64,
    default_num_special_tokens: u64,
    #[serde(borrow)]
    version: JsonText<'j>,
}

#[derive(serde::Deserialize)]
struct TekkenToken<'j> {
    rank: u64,
    #[serde(borrow)]
    token_bytes: JsonText<'j>,
}

#[derive(serde::Deserialize)]
struct TekkenSpecialToken<'j> {
    rank: u64,
    #[serde(borrow)]
    token_str: JsonText<'j>,
}

/// Whether bytes begin like such a file: with a JSON object that has these fields near its start.
pub(in crate::formats) fn is_start(start: &[u8]) -> bool {
    let start = &start[..start.len().min(4096)];
    let has = |field: &[u8]| memchr::memmem::find(start, field).is_some();
    has(b"\"config\"") && has(b"\"pattern\"") && has(b"\"default_num_special_tokens\"")
        || has(b"\"token_bytes\"")
}

/// Reads a file.
pub(super) fn read(
    text: &str,
    options: &ByteFormatOptions,
) -> Result<Converted<ByteVocabulary>, FormatError> {
    options.refuse_pattern(FORMAT)?;
    let file: TekkenFile<'_> =
        serde_json::from_str(text).map_err(|error| json_error(FORMAT, &error))?;
    let config = &file.config;
    let special_count = checked_id(FORMAT, config.default_num_special_tokens, || {
        Place::field("config.default_num_special_tokens")
    })?;
    if special_count > MAX_SPECIAL_TOKENS {
        let problem = format!("the number {special_count} is larger than {MAX_SPECIAL_TOKENS}");
        let place = Place::field("config.default_num_special_tokens");
        return Err(syntax(FORMAT, place, problem));
    }
    let size_field = || Place::field("config.default_vocab_size");
    let size = checked_id(FORMAT, config.default_vocab_size, size_field)?;
    let count = size.checked_sub(special_count).ok_or_else(|| {
        syntax(
            FORMAT,
            size_field(),
            "it is less than the number of special tokens",
        )
    })?;
    let vocab = file.vocab.get(..count as usize).ok_or_else(|| {
        let problem = format!(
            "there have to be {count} tokens and {special_count} special tokens, but `vocab` has only {}",
            file.vocab.len()
        );
        syntax(FORMAT, size_field(), problem)
    })?;
    let tokens = read_tokens(vocab, special_count)?;
    let special_tokens = file.special_tokens(special_count)?;
    let pattern = Pattern::new(&config.pattern).map_err(|source| FormatError::Pattern {
        format: FORMAT,
        place: Place::field("config.pattern"),
        source,
    })?;
    let parts = ByteBpeParts {
        special_tokens,
        ..ByteBpeParts::new(Pretokenizer::of(pattern))
    };
    ByteVocabulary::of_order(&tokens, ListOrder::by_id(tokens.ids()), parts)
}

/// The tokens, whose ids follow after those of `special_count` special ones.
fn read_tokens(vocab: &[TekkenToken<'_>], special_count: u32) -> Result<TokenList, FormatError> {
    let mut tokens = TokenList::new(FORMAT);
    let mut bytes = Vec::new();
    let place = |index| Place::entry("vocab", index);
    for (index, token) in vocab.iter().enumerate() {
        if token.rank != index as u64 {
            let problem = format!("the rank is {}, not the position in the list", token.rank);
            return Err(syntax(FORMAT, place(index), problem));
        }
        bytes.clear();
        BASE64_STANDARD
            .decode_vec(&*token.token_bytes, &mut bytes)
            .map_err(|error| {
                syntax(
                    FORMAT,
                    place(index),
                    format!("token_bytes is not base64: {error}"),
                )
            })?;
        if index < 256 && !bytes.iter().copied().eq(u8::try_from(index)) {
            let problem = "the first 256 tokens are not the bytes in their order";
            return Err(syntax(FORMAT, place(index), problem));
        }
        if bytes.is_empty() {
            return Err(syntax(FORMAT, place(index), "a token has no bytes"));
        }
        tokens.push(&bytes, u64::from(special_count) + token.rank, || {
            place(index)
        })?;
    }
    tokens.check(place)?;
    Ok(tokens)
}

impl TekkenFile<'_> {
    /// All special tokens, of which there are `count`.
    fn special_tokens(&self, count: u32) -> Result<Vec<SpecialToken>, FormatError> {
        let version = self.config.version.strip_prefix('v');
        let version: u32 = version
            .and_then(|version| version.parse().ok())
            .ok_or_else(|| {
                let problem = format!("{:?} is not a version such as v3", &*self.config.version);
                syntax(FORMAT, Place::field("config.version"), problem)
            })?;
        let mut special_tokens = Vec::new();
        match &self.special_tokens {
            Some(listed) => {
                for (index, token) in listed.iter().enumerate() {
                    let place = || Place::entry("special_tokens", index);
                    let id = checked_id(FORMAT, token.rank, place)?;
                    if id >= count {
                        let problem =
                            format!("the rank is {id}, but there are only {count} special tokens");
                        return Err(syntax(FORMAT, place(), problem));
                    }
                    special_tokens.push(SpecialToken::new(&*token.token_str, id));
                }
            }
            None if version <= LAST_VERSION_WITHOUT_SPECIAL_TOKENS => {
                let old = OLD_SPECIAL_TOKENS.into_iter().zip(0..);
                special_tokens.extend(old.map(|(text, id)| SpecialToken::new(text, id)));
            }
            None => {
                let problem = "it is missing; only files up to version v7 can lack it";
                return Err(syntax(FORMAT, Place::field("special_tokens"), problem));
            }
        }
        let listed = special_tokens.len();
        if listed > count as usize {
            let problem =
                format!("there are {listed} special tokens, but only {count} ids for them");
            return Err(syntax(FORMAT, Place::field("special_tokens"), problem));
        }
        let others = (0..count).skip(listed);
        special_tokens.extend(others.map(|id| SpecialToken::new(format!("<SPECIAL_{id}>"), id)));
        Ok(special_tokens)
    }
}
