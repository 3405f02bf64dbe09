//! Vocabularies whose tokens are written in the characters of [`byte_chars`](crate::base::byte_chars),
//! with a list of merges: the `vocab.json` and `merges.txt` of GPT-2, and the model of a
//! `tokenizer.json`.

use std::collections::HashSet;

use super::tokens::TokenList;
use crate::base::byte_chars::{append_bytes, spelled};
use crate::byte_bpe::SpecialToken;
use crate::encode::bpe::merge_list::{ListedPair, symbol_of_token};
use crate::formats::FileFormat;
use crate::formats::error::{FormatError, Place};

/// The tokens of a vocabulary and its merges.
#[derive(Debug)]
pub(in crate::formats) struct PrintableVocabulary<'j> {
    /// The tokens that stand for bytes.
    pub(super) tokens: TokenList,
    pub(super) pairs: Vec<ListedPair>,
    /// The tokens with a character that stands for no byte, which no text is merged to: texts, ids
    /// and positions in the vocabulary.
    others: Vec<(&'j str, u32, usize)>,
    /// The path of the vocabulary in the file.
    list: &'static str,
}

impl<'j> PrintableVocabulary<'j> {
    /// The vocabulary with these texts and ids, which stand in `list`, and no merges.
    pub(in crate::formats) fn new(
        format: FileFormat,
        list: &'static str,
        vocab: impl Iterator<Item = (&'j str, u32)>,
    ) -> Result<Self, FormatError> {
        let mut tokens = TokenList::new(format);
        let mut others = Vec::new();
        // The entries of the tokens.
        let mut entries = Vec::new();
        let mut bytes = Vec::new();
        for (index, (text, id)) in vocab.enumerate() {
            bytes.clear();
            if append_bytes(text, &mut bytes) {
                tokens.push(&bytes, u64::from(id), || Place::entry(list, index))?;
                if !bytes.is_empty() {
                    entries.push(index);
                }
            } else {
                others.push((text, id, index));
            }
        }
        tokens.check(|at| Place::entry(list, entries[at]))?;
        Ok(Self {
            tokens,
            pairs: Vec::new(),
            others,
            list,
        })
    }

    /// Adds the list of merges; `place` says where each of them stands.
    ///
    /// # Errors
    /// One of them is not of tokens of the vocabulary, or not to one.
    pub(in crate::formats) fn add_merges<'t>(
        &mut self,
        merges: impl Iterator<Item = [&'t str; 2]>,
        place: impl Fn(usize) -> Place,
    ) -> Result<(), FormatError> {
        let tokens = &self.tokens;
        let other_texts: HashSet<&str> = self.others.iter().map(|(text, ..)| *text).collect();
        let is_known = |text: &str| match spelled(text) {
            Some(bytes) => tokens.find(&bytes).is_some(),
            None => other_texts.contains(text),
        };
        let mut bytes = Vec::new();
        let mut joined = 0;
        for (index, texts) in merges.enumerate() {
            let [left, right] = texts;
            let missing = |token: &str| FormatError::UnknownToken {
                format: tokens.format,
                place: place(index),
                token: format!("{token:?}"),
            };
            bytes.clear();
            let middle = append_bytes(left, &mut bytes).then_some(bytes.len());
            let is_printable = append_bytes(right, &mut bytes);
            let (Some(middle), true) = (middle, is_printable) else {
                // No text is merged to such tokens, so that no text has the pair.
                let joined = texts.concat();
                match [left, right, &joined].into_iter().find(|it| !is_known(it)) {
                    Some(text) => return Err(missing(text)),
                    None => continue,
                }
            };
            let symbol = |bytes: &[u8], text: &str| match tokens.find(bytes) {
                Some(at) => Ok(symbol_of_token(tokens.texts(), at)),
                None => Err(missing(text)),
            };
            let left = symbol(&bytes[..middle], left)?;
            let right = symbol(&bytes[middle..], right)?;
            // Most lists have the order of the vocabulary, and the pairs of a token one after the
            // other, so that no search is needed.
            let is_joined = |at: &usize| *at < tokens.len() && tokens.bytes(*at) == bytes;
            let near = [joined, joined + 1].into_iter().find(is_joined);
            let found = near.or_else(|| tokens.find(&bytes));
            joined = found.ok_or_else(|| missing(&texts.concat()))?;
            self.pairs.push(ListedPair {
                left,
                right,
                joined: symbol_of_token(tokens.texts(), joined),
            });
        }
        Ok(())
    }

    /// Adds the tokens with a character that stands for no byte, except special tokens. They stand
    /// for the text that they are, as in tokenizers. Returns the first one.
    ///
    /// # Errors
    /// Another token has the same bytes.
    pub(super) fn add_others(
        &mut self,
        special_tokens: &[SpecialToken],
    ) -> Result<Option<&'j str>, FormatError> {
        let special: HashSet<&str> = special_tokens.iter().map(|token| &*token.text).collect();
        let mut first = None;
        for (text, id, index) in &self.others {
            if !special.contains(text) {
                let place = || Place::entry(self.list, *index);
                self.tokens.push(text.as_bytes(), u64::from(*id), place)?;
                first.get_or_insert(*text);
            }
        }
        Ok(first)
    }
}
