//! The tokens of a model with their ids.

use std::collections::HashMap;

use crate::base::TextArena;
use crate::base::byte_chars::byte_char;
use crate::piece::TextIndex;

/// The tokens of a model with their ids. Ids can be any numbers, and two tokens can have one.
#[derive(Debug)]
pub struct ModelVocabulary {
    texts: TextArena,
    index: TextIndex,
    ids: Vec<u32>,
    /// The number of the text of each id.
    by_id: HashMap<u32, u32, foldhash::fast::RandomState>,
}

impl ModelVocabulary {
    /// The vocabulary of a list, whose places are the ids. Of equal texts, the last id counts.
    pub fn from_list<'t>(texts: impl ExactSizeIterator<Item = &'t str> + Clone) -> Self {
        let mut vocabulary = Self::new(texts.clone().zip(0..));
        if vocabulary.len() < texts.len() {
            for (text, id) in texts.zip(0..) {
                if let Some(number) = vocabulary.number(text) {
                    let number = crate::base::num::low_u32(number as u64);
                    vocabulary.by_id.entry(id).or_insert(number);
                }
            }
        }
        vocabulary
    }

    /// The vocabulary of these tokens. Of equal texts, the last id counts; of equal ids, the last
    /// text.
    pub fn new<'t>(tokens: impl Iterator<Item = (&'t str, u32)>) -> Self {
        let count = tokens.size_hint().0;
        let mut vocabulary = Self {
            texts: TextArena::with_capacity(count, 8 * count),
            index: TextIndex::with_capacity(count),
            ids: Vec::with_capacity(count),
            by_id: HashMap::with_capacity_and_hasher(count, foldhash::fast::RandomState::default()),
        };
        for (text, id) in tokens {
            let number = vocabulary.ids.len();
            vocabulary.texts.push(text.as_bytes());
            match vocabulary.index.insert(&vocabulary.texts, number) {
                Ok(()) => vocabulary.ids.push(id),
                Err(before) => {
                    vocabulary.texts.truncate(number);
                    vocabulary.ids[before] = id;
                }
            }
        }
        for (number, id) in (0..).zip(&vocabulary.ids) {
            vocabulary.by_id.insert(*id, number);
        }
        vocabulary
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// The id of a token.
    pub fn id(&self, text: &str) -> Option<u32> {
        self.number(text).map(|number| self.ids[number])
    }

    /// The number of a token, in the order of the file.
    pub(super) fn number(&self, text: &str) -> Option<usize> {
        self.index.get(&self.texts, text.as_bytes())
    }

    /// The number of the token with an id.
    pub(in crate::pipeline) fn number_of_id(&self, id: u32) -> Option<usize> {
        self.by_id.get(&id).map(|number| *number as usize)
    }

    /// The ids that have a token, in no order.
    pub(in crate::pipeline) fn ids(&self) -> impl Iterator<Item = u32> {
        self.by_id.keys().copied()
    }

    /// The text of an id.
    pub fn text(&self, id: u32) -> Option<&str> {
        std::str::from_utf8(self.texts.get(self.number_of_id(id)?)).ok()
    }

    /// The tokens with their ids, in the order of the file.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = (&str, u32)> {
        let texts = (0..self.ids.len()).map(|number| self.texts.get(number));
        let texts = texts.map(|text| std::str::from_utf8(text).unwrap_or_default());
        texts.zip(self.ids.iter().copied())
    }

    /// A byte without a token of the character that stands for it in byte-level vocabularies.
    pub(crate) fn missing_byte(&self) -> Option<u8> {
        let is_missing = |byte: &u8| self.id(byte_char(*byte).encode_utf8(&mut [0; 4])).is_none();
        (0..=u8::MAX).find(is_missing)
    }

    /// Whether no two tokens have one id.
    pub(in crate::pipeline) fn has_unique_ids(&self) -> bool {
        self.by_id.len() == self.ids.len()
    }

    /// The largest id.
    pub fn largest_id(&self) -> Option<u32> {
        self.ids.iter().max().copied()
    }
}
