//! Byte-level `tokenizer.json` files.
//!
//! A file is byte-level if a pre-tokenizer is `ByteLevel`. What else such files have:
//!
//! | component | here |
//! |---|---|
//! | normalizer `NFC` | [`TextForm::Nfc`] |
//! | pre-tokenizers `Split` with a regular expression or a text, before `ByteLevel` | splits, one after the other |
//! | `Digits` | the split at numbers |
//! | `ByteLevel` with `use_regex` | the pattern of GPT-2 after the splits |
//! | `ByteLevel` with `add_prefix_space`, as the only one | a space before every text that does not begin with one |
//! | model `BPE` | tokens in the order of their merges (`encode::bpe::merge_list`) |
//! | `ignore_merges` | pretokens that are a token are looked up first |
//! | added tokens | special tokens with their flags |
//!
//! Post-processors put special tokens around the ids or change offsets, and decoders and
//! `trim_offsets` concern neither ids nor the text they stand for. `unk_token`, `fuse_unk` and
//! `byte_fallback` have no effect, since every byte is a token. Other components are refused.
//!
//! Added tokens get the ids that `tokenizers` gives them, whatever the file says: that of the same
//! text in the vocabulary, or the first one after the vocabulary and the added tokens before.

mod write;

use std::collections::{HashMap, HashSet};

pub(super) use self::write::name_of_behavior;
pub(in crate::formats) use self::write::{Placement, vocabulary, write_byte_level};
use super::parse::{JsonComponent, JsonFile, JsonPattern, JsonVocab};
use super::post_processor::ReadPostProcessor;
use super::setting_reasons;
use crate::byte_bpe::{ByteBpeParts, SpecialToken, TextForm};
use crate::formats::Converted;
use crate::formats::FileFormat;
use crate::formats::bytes::{
    ByteFormatOptions, ByteVocabulary, PrintableVocabulary, json_error, syntax,
};
use crate::formats::error::{FormatError, Place};
use crate::pattern::{Pattern, PatternError, PatternSyntax, Pretokenizer, Split, SplitBehavior};

const FORMAT: FileFormat = FileFormat::TokenizerJson;
/// The expression of `ByteLevel` with `use_regex`.
const BYTE_LEVEL_PATTERN: &str =
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

/// Reads a file; `None` if it is not byte-level.
pub(in crate::formats) fn read_byte_level(
    json: &str,
    options: &ByteFormatOptions,
) -> Result<Option<Converted<ByteVocabulary>>, FormatError> {
    // Almost all other files do not have the name at all, and are parsed by their own reader only.
    if memchr::memmem::find(json.as_bytes(), b"\"ByteLevel\"").is_none() {
        return Ok(None);
    }
    let file = JsonFile::parse(json).map_err(|error| json_error(FORMAT, &error))?;
    if !is_byte_level(&file) {
        return Ok(None);
    }
    options.refuse_pattern(FORMAT)?;
    let model = &file.model;
    if let Some(kind) = model.kind.as_deref().filter(|kind| *kind != "BPE") {
        return Err(unsupported("model.type", format!("{kind:?}")));
    }
    for (field, text) in [
        (
            "model.continuing_subword_prefix",
            &model.continuing_subword_prefix,
        ),
        ("model.end_of_word_suffix", &model.end_of_word_suffix),
    ] {
        if let Some(text) = text.as_deref().filter(|text| !text.is_empty()) {
            return Err(unsupported(field, format!("{text:?}")));
        }
    }
    let Some(JsonVocab::Ids(entries)) = &model.vocab else {
        let problem = "it is not an object of tokens and ids";
        return Err(syntax(FORMAT, Place::field("model.vocab"), problem));
    };
    let (pretokenizer, adds_prefix_space) = pretokenizer(&file)?;
    let parts = ByteBpeParts {
        special_tokens: special_tokens(&file, entries)?,
        whole_pretokens_first: model.ignore_merges == Some(true),
        text_form: text_form(&file)?,
        adds_prefix_space,
        ..ByteBpeParts::new(pretokenizer)
    };
    let vocab = entries.iter().map(|(text, id)| (&**text, *id));
    let mut vocabulary = PrintableVocabulary::new(FORMAT, "model.vocab", vocab)?;
    let merges = model.merges.iter().map(|[left, right]| [&**left, &**right]);
    vocabulary.add_merges(merges, |index| Place::entry("model.merges", index))?;
    let mut read = ByteVocabulary::of_printable(vocabulary, parts)?;
    read.verdict.add_all(setting_reasons(&file));
    read.value.post_processor = file.post_processor.map(ReadPostProcessor::new);
    Ok(Some(read))
}

/// Whether a pre-tokenizer is `ByteLevel`.
pub(super) fn is_byte_level(file: &JsonFile<'_>) -> bool {
    let components = super::components::flattened(file.pre_tokenizer.as_ref());
    components
        .iter()
        .any(|component| &*component.kind == "ByteLevel")
}

fn text_form(file: &JsonFile<'_>) -> Result<TextForm, FormatError> {
    let mut form = TextForm::AsIs;
    for component in super::components::flattened(file.normalizer.as_ref()) {
        match &*component.kind {
            "NFC" => form = TextForm::Nfc,
            kind => return Err(unsupported("normalizer", format!("{kind:?}"))),
        }
    }
    Ok(form)
}

/// The pretokenizer, and whether it puts a space before texts.
fn pretokenizer(file: &JsonFile<'_>) -> Result<(Pretokenizer, bool), FormatError> {
    const PLACE: &str = "pre_tokenizer";
    let components = super::components::flattened(file.pre_tokenizer.as_ref());
    let mut splits = Vec::new();
    let Some((last, before)) = components.split_last() else {
        return Ok((Pretokenizer::new(splits), false));
    };
    // What stands after `ByteLevel` sees the characters that stand for bytes.
    let misplaced = || unsupported(PLACE, format!("{:?} after \"ByteLevel\"", &*last.kind));
    for component in before {
        splits.push(match &*component.kind {
            "Split" => split(component)?,
            "Digits" => Split::at_numbers(component.individual_digits == Some(true))
                .map_err(pattern_error)?,
            "ByteLevel" => return Err(misplaced()),
            kind => return Err(unsupported(PLACE, format!("{kind:?}"))),
        });
    }
    if &*last.kind != "ByteLevel" {
        return Err(misplaced());
    }
    let adds_prefix_space = last.add_prefix_space.unwrap_or(true);
    if adds_prefix_space && !splits.is_empty() {
        let found = "\"ByteLevel\" with add_prefix_space after a split".to_owned();
        return Err(unsupported(PLACE, found));
    }
    if last.use_regex.unwrap_or(true) {
        let pattern = pattern(BYTE_LEVEL_PATTERN)?;
        splits.push(Split::new(pattern, SplitBehavior::Isolated));
    }
    Ok((Pretokenizer::new(splits), adds_prefix_space))
}

/// The split of a component `Split`.
fn split(component: &JsonComponent<'_>) -> Result<Split, FormatError> {
    let missing = |field: &str| {
        let place = Place::Field(format!("pre_tokenizer.{field}"));
        syntax(FORMAT, place, "it is missing")
    };
    let behavior = component.behavior.as_deref();
    let behavior = match behavior.ok_or_else(|| missing("behavior"))? {
        "Isolated" => SplitBehavior::Isolated,
        "Removed" => SplitBehavior::Removed,
        "MergedWithPrevious" => SplitBehavior::MergedWithPrevious,
        "MergedWithNext" => SplitBehavior::MergedWithNext,
        "Contiguous" => SplitBehavior::Contiguous,
        other => return Err(unsupported("pre_tokenizer.behavior", format!("{other:?}"))),
    };
    let split = match component
        .pattern
        .as_ref()
        .ok_or_else(|| missing("pattern"))?
    {
        JsonPattern::Regex(text) => Split::new(pattern(text)?, behavior),
        JsonPattern::String(text) => Split::at_text(text, behavior).map_err(pattern_error)?,
    };
    Ok(Split {
        invert: component.invert == Some(true),
        ..split
    })
}

fn pattern(expression: &str) -> Result<Pattern, FormatError> {
    Pattern::with_syntax(expression, PatternSyntax::Oniguruma).map_err(pattern_error)
}

fn pattern_error(source: PatternError) -> FormatError {
    FormatError::Pattern {
        format: FORMAT,
        place: Place::field("pre_tokenizer.pattern"),
        source,
    }
}

/// The added tokens, with the ids that `tokenizers` gives them.
pub(super) fn special_tokens(
    file: &JsonFile<'_>,
    entries: &[(super::JsonText<'_>, u32)],
) -> Result<Vec<SpecialToken>, FormatError> {
    let added = file.tokens();
    let texts = added.iter().map(|token| &*token.content);
    let known = ids_of(texts, entries.iter().map(|(text, id)| (&**text, *id)));
    let mut ids = AddedIds::new(entries.len());
    let mut special_tokens = Vec::with_capacity(added.len());
    for (index, token) in added.iter().enumerate() {
        if token.content.is_empty() {
            continue;
        }
        let given = ids.give(known.get(&*token.content).copied());
        if given != token.id {
            return Err(FormatError::AddedTokenId {
                format: FORMAT,
                place: Place::entry("added_tokens", index),
                token: token.content.to_string(),
                stated: token.id,
                given,
            });
        }
        special_tokens.push(SpecialToken {
            text: token.content.to_string(),
            id: given,
            special: token.special,
            normalized: token.normalized,
            lstrip: token.lstrip,
            rstrip: token.rstrip,
            single_word: token.single_word,
        });
    }
    Ok(special_tokens)
}

/// The ids that a few texts have in a vocabulary. They are indexed, not the vocabulary.
fn ids_of<'t>(
    texts: impl Iterator<Item = &'t str>,
    vocab: impl Iterator<Item = (&'t str, u32)>,
) -> HashMap<&'t str, u32> {
    let texts: HashSet<&str> = texts.collect();
    vocab.filter(|(text, _)| texts.contains(text)).collect()
}

/// The ids that `tokenizers` gives to added tokens, one after the other.
struct AddedIds {
    /// The first one after the vocabulary and the added tokens before.
    next: u32,
}

impl AddedIds {
    fn new(entries: usize) -> Self {
        Self {
            next: u32::try_from(entries).unwrap_or(u32::MAX),
        }
    }

    /// The id of the next added token; `in_vocabulary` is the one that its text has there.
    fn give(&mut self, in_vocabulary: Option<u32>) -> u32 {
        let given = in_vocabulary.unwrap_or(self.next);
        self.next = self.next.max(given.saturating_add(1));
        given
    }
}

fn unsupported(field: &str, found: String) -> FormatError {
    FormatError::Unsupported {
        format: FORMAT,
        place: Place::field(field),
        found,
        remedy: "byte-level files have NFC or no normalizer, splits before ByteLevel, and a BPE model without prefixes and suffixes",
    }
}
