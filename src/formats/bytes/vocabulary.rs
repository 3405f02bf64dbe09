//! A byte-level vocabulary as its readers make it.

use std::collections::{HashMap, HashSet};

use super::known::KnownVocabulary;
use super::options::ByteFormatOptions;
use super::printable::PrintableVocabulary;
use super::tokens::{TokenList, shown};
use crate::byte_bpe::{ByteBpe, ByteBpeParts, SpecialToken, TextForm};
use crate::encode::bpe::merge_list::{ListOrder, Units};
use crate::formats::error::{FormatError, Place, syntax};
use crate::formats::{Converted, FileFormat, ReadPostProcessor, Reason, ReasonKind, Verdict};
use crate::pattern::Pretokenizer;

/// A byte-level vocabulary that was read from a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ByteVocabulary {
    /// The parts of the tokenizer.
    pub parts: ByteBpeParts,
    /// What a `tokenizer.json` does with the ids of a text; here it has no effect.
    pub post_processor: Option<ReadPostProcessor>,
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

/// The parts but the tokens: what is known of a published vocabulary, unless it is given.
pub(super) fn known_or_given(
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
    pub(in crate::formats) fn of_printable(
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
    pub(super) fn of_order(
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
