//! A byte-level vocabulary as a `tokenizer.json`, with the bytes that tokenizers 0.23.3 writes.
//!
//! Special tokens stand in the vocabulary if they do so in the vocabulary that was read, or if
//! `tokenizers` would give them other ids otherwise: after training they have the first ids.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::{Serialize, Serializer};

use super::super::post_processor::{PostProcessor, Processor};
use super::FORMAT;
use crate::byte_bpe::{SpecialToken, TextForm};
use crate::formats::bytes::{ByteFileOptions, ByteFiles, RankedTokens, printable, spelled};
use crate::formats::error::{FormatError, Place, json_error};
use crate::formats::{FileFormat, Reason, ReasonKind};
use crate::pattern::{PatternSyntax, Pretokenizer, Split, SplitBehavior};

/// The file; the order of the fields is that of `tokenizers`.
#[derive(Serialize)]
struct WrittenFile<'b> {
    version: &'static str,
    truncation: (),
    padding: (),
    added_tokens: Vec<WrittenAddedToken<'b>>,
    normalizer: Option<WrittenComponent>,
    pre_tokenizer: WrittenComponent,
    post_processor: Option<WrittenPostProcessor<'b>>,
    decoder: WrittenComponent,
    model: WrittenModel<'b>,
}

#[derive(Serialize)]
struct WrittenAddedToken<'b> {
    id: u32,
    content: &'b str,
    single_word: bool,
    lstrip: bool,
    rstrip: bool,
    normalized: bool,
    special: bool,
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum WrittenComponent {
    #[serde(rename = "NFC")]
    Nfc,
    Sequence {
        pretokenizers: Vec<Self>,
    },
    Split {
        pattern: WrittenPattern,
        behavior: &'static str,
        invert: bool,
    },
    Digits {
        individual_digits: bool,
    },
    ByteLevel {
        add_prefix_space: bool,
        trim_offsets: bool,
        use_regex: bool,
    },
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenPostProcessor<'b> {
    New(WrittenComponent),
    Copied(&'b Processor),
}

#[derive(Serialize)]
enum WrittenPattern {
    Regex(String),
}

#[derive(Serialize)]
#[serde(tag = "type", rename = "BPE")]
struct WrittenModel<'b> {
    dropout: (),
    unk_token: (),
    continuing_subword_prefix: (),
    end_of_word_suffix: (),
    fuse_unk: bool,
    byte_fallback: bool,
    ignore_merges: bool,
    vocab: WrittenVocab<'b>,
    merges: Vec<[String; 2]>,
}

/// Texts and ids, in the order of the ids.
pub(in crate::formats) struct WrittenVocab<'b>(pub(in crate::formats) Vec<(Cow<'b, str>, u32)>);

impl Serialize for WrittenVocab<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(text, id)| (text, id)))
    }
}

/// Writes the file.
///
/// # Errors
/// The pattern or a special token has no form, or tokenizers would give one another id.
pub(in crate::formats) fn write_byte_level(
    tokens: &RankedTokens<'_>,
    options: &ByteFileOptions,
) -> Result<ByteFiles, FormatError> {
    let bpe = tokens.bpe;
    let special = tokens.special_by_id();
    if let Some(pair) = special.windows(2).find(|pair| pair[0].id == pair[1].id) {
        let what = format!(
            "the id {} for two special tokens, {:?} and {:?}",
            pair[0].id, pair[0].text, pair[1].text
        );
        let remedy = "give each its own";
        return Err(FormatError::no_form(FORMAT, what, remedy));
    }
    let (vocab, more_special) = vocabulary(FORMAT, tokens, Placement::WhereNeeded)?;
    let (ignore_merges, reason) = ignore_merges(tokens, &more_special);
    let form = (bpe.text_form() == TextForm::Nfc).then_some(WrittenComponent::Nfc);
    let merges = tokens
        .merges()
        .map(|(pair, _)| pair.map(|part| printable(tokens.bytes(part))));
    let added_tokens = special.iter().map(|token| WrittenAddedToken {
        id: token.id,
        content: &token.text,
        single_word: token.single_word,
        lstrip: token.lstrip,
        rstrip: token.rstrip,
        normalized: token.normalized,
        special: token.special,
    });
    let file = WrittenFile {
        version: "1.0",
        truncation: (),
        padding: (),
        added_tokens: added_tokens.collect(),
        normalizer: form,
        pre_tokenizer: pre_tokenizer(bpe.pretokenizer(), bpe.adds_prefix_space())?,
        post_processor: post_processor(&options.post_processor),
        decoder: byte_level(true),
        model: WrittenModel {
            dropout: (),
            unk_token: (),
            continuing_subword_prefix: (),
            end_of_word_suffix: (),
            fuse_unk: false,
            byte_fallback: false,
            ignore_merges,
            vocab,
            merges: merges.collect(),
        },
    };
    let json = serde_json::to_vec_pretty(&file).map_err(|error| json_error(FORMAT, &error))?;
    let mut written = ByteFiles::one("tokenizer.json", json);
    written.add_reasons(reason);
    Ok(written)
}

/// Which special tokens that are not among the tokens stand in the vocabulary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) enum Placement {
    /// All, if tokenizers would give one of them another id otherwise.
    WhereNeeded,
    All,
}

/// The vocabulary, and the special tokens in it that are not among the tokens.
///
/// # Errors
/// A token has the id of a special token with another text, or tokenizers would give a special
/// token another id.
pub(in crate::formats) fn vocabulary<'b>(
    format: FileFormat,
    tokens: &RankedTokens<'b>,
    placement: Placement,
) -> Result<(WrittenVocab<'b>, Vec<&'b SpecialToken>), FormatError> {
    let special = tokens.special_by_id();
    let mut entries: Vec<(Cow<'b, str>, u32)> = Vec::with_capacity(tokens.len());
    for rank in 0..tokens.len() {
        let text = printable(tokens.bytes(rank));
        match tokens.special(rank).filter(|token| token.text != text) {
            None => entries.push((Cow::Owned(text), tokens.id(rank))),
            Some(token) if !tokens.is_only_special(rank) => {
                let what = format!(
                    "the id {} both for a token and for the special token {:?}",
                    token.id, token.text
                );
                let remedy = "give the special token an id of its own";
                return Err(FormatError::no_form(format, what, remedy));
            }
            // Found as a special token only.
            Some(_) => {}
        }
    }
    let empty = tokens
        .bpe
        .empty_token()
        .map(|id| (Cow::Borrowed(""), id.get()));
    entries.extend(empty);
    let texts = special.iter().map(|token| &*token.text);
    let known = ids_of(texts, entries.iter().map(|(text, id)| (&**text, *id)));
    let of_entry = |token: &SpecialToken| known.get(&*token.text).copied();
    let mut ids = AddedIds::new(entries.len());
    let are_given = special
        .iter()
        .all(|token| ids.give(of_entry(token)) == token.id);
    let mut more_special = Vec::new();
    if placement == Placement::All || !are_given {
        for (index, token) in special.iter().enumerate() {
            match of_entry(token) {
                None => more_special.push(*token),
                Some(id) if id == token.id => {}
                Some(given) => {
                    return Err(FormatError::AddedTokenId {
                        format,
                        place: Place::entry("added_tokens", index),
                        token: token.text.clone(),
                        stated: token.id,
                        given,
                    });
                }
            }
        }
    }
    entries.extend(
        more_special
            .iter()
            .map(|token| (Cow::Borrowed(&*token.text), token.id)),
    );
    entries.sort_unstable_by_key(|(_, id)| *id);
    Ok((WrittenVocab(entries), more_special))
}

/// Whether pretokens are looked up first, and the reason if that finds special tokens, too;
/// `more_special` stand in the vocabulary and are not among the tokens.
fn ignore_merges(
    tokens: &RankedTokens<'_>,
    more_special: &[&SpecialToken],
) -> (bool, Option<Reason>) {
    let bpe = tokens.bpe;
    // tokenizers would find these special tokens as pretokens, too.
    let spelled = more_special.iter().filter_map(|token| spelled(&token.text));
    let found = spelled.filter(|text| bpe.pretokenizer().may_cut_out(text));
    let found: Vec<Vec<u8>> = found.collect();
    if !bpe.looks_up_pretokens() || found.is_empty() {
        return (bpe.looks_up_pretokens(), None);
    }
    let mut looked_up = tokens.looked_up();
    if looked_up.all(|rank| tokens.is_only_special(rank)) {
        return (false, None);
    }
    let explanation = "special tokens stand in the vocabulary to have their ids, so that tokenizers finds \
                       pretokens with their text although they are not allowed";
    let reason = Reason {
        example: tokens.one_pretoken(found.iter().map(|text| &text[..])),
        ..Reason::new(ReasonKind::MetaPiece, explanation)
    };
    (true, Some(reason))
}

fn post_processor(options: &PostProcessor) -> Option<WrittenPostProcessor<'_>> {
    match options {
        PostProcessor::None => None,
        PostProcessor::ByteLevel { trim_offsets } => {
            Some(WrittenPostProcessor::New(byte_level(*trim_offsets)))
        }
        PostProcessor::Copied(copied) => Some(WrittenPostProcessor::Copied(&copied.processor)),
    }
}

/// `ByteLevel` as a decoder or a post-processor.
fn byte_level(trim_offsets: bool) -> WrittenComponent {
    WrittenComponent::ByteLevel {
        add_prefix_space: true,
        trim_offsets,
        use_regex: true,
    }
}

fn pre_tokenizer(
    pretokenizer: &Pretokenizer,
    add_prefix_space: bool,
) -> Result<WrittenComponent, FormatError> {
    let mut splits = pretokenizer.splits();
    let is_gpt2 = |split: &Split| Pretokenizer::new(vec![split.clone()]).name() == Some("gpt2");
    let mut use_regex = false;
    if let Some((last, before)) = splits.split_last()
        && is_gpt2(last)
    {
        use_regex = true;
        splits = before;
    }
    let byte_level = WrittenComponent::ByteLevel {
        add_prefix_space,
        trim_offsets: true,
        use_regex,
    };
    if splits.is_empty() {
        return Ok(byte_level);
    }
    if add_prefix_space {
        return Err(FormatError::no_form(
            FORMAT,
            "a space before the text together with a pattern",
            "leave out the space, or take the pattern gpt2",
        ));
    }
    let components = splits.iter().map(split).chain([Ok(byte_level)]);
    let pretokenizers = components.collect::<Result<_, _>>()?;
    Ok(WrittenComponent::Sequence { pretokenizers })
}

fn split(split: &Split) -> Result<WrittenComponent, FormatError> {
    if let Some(individual_digits) = split.individual_numbers() {
        return Ok(WrittenComponent::Digits { individual_digits });
    }
    // The texts between matches are parts of an isolated split anyway.
    let inner = match (split.behavior, split.invert) {
        (SplitBehavior::Isolated, _) | (SplitBehavior::Removed, true) => {
            split.pattern.without_gaps()
        }
        _ => None,
    };
    let pattern = inner.as_ref().unwrap_or(&split.pattern);
    let pattern = pattern.for_syntax(PatternSyntax::Oniguruma);
    let pattern = pattern.ok_or_else(|| {
        let what = format!("the pattern {:?}", split.pattern.expression());
        let remedy = "Oniguruma, which tokenizers uses, reads it in another way; write it without the constructs that differ";
        FormatError::no_form(FORMAT, what, remedy)
    })?;
    // All parts are matches, so that both mean the same; this is the usual form.
    let (behavior, invert) = match (split.behavior, split.invert) {
        (SplitBehavior::Removed, true) if split.pattern.is_total() => {
            (SplitBehavior::Isolated, false)
        }
        other => other,
    };
    Ok(WrittenComponent::Split {
        pattern: WrittenPattern::Regex(pattern.expression().to_owned()),
        behavior: name_of_behavior(behavior),
        invert,
    })
}

/// The name of a behaviour in the file.
pub(in crate::formats::tokenizer_json) fn name_of_behavior(
    behavior: SplitBehavior,
) -> &'static str {
    match behavior {
        SplitBehavior::Isolated => "Isolated",
        SplitBehavior::Removed => "Removed",
        SplitBehavior::MergedWithPrevious => "MergedWithPrevious",
        SplitBehavior::MergedWithNext => "MergedWithNext",
        SplitBehavior::Contiguous => "Contiguous",
    }
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
