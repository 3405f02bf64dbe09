//! Char models: the pieces are single characters and user-defined symbols.
//!
//! Each user-defined symbol (the longest at each position) and each other character has its id,
//! unknown ones included.
//!
//! Example: with the user-defined symbol `<sep>`, the text `▁a<sep>` has the pieces `▁`, `a` and
//! `<sep>`.

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::char_length;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceTable, TextIndex};
use crate::trie::prefix::PrefixTrie;

/// The encoder of a char model.
#[derive(Debug)]
pub(crate) struct CharEncoder {
    index: TextIndex,
    symbols: Arc<PrefixTrie>,
    unknown: PieceId,
    /// The adjacent characters of all symbols.
    pairs_of_symbols: HashSet<Vec<u8>>,
}

impl CharEncoder {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>, symbols: Arc<PrefixTrie>) -> Self {
        Self {
            index: vocabulary.index(),
            pairs_of_symbols: vocabulary
                .symbols()
                .flat_map(|(text, _)| pairs(text))
                .collect(),
            symbols,
            unknown: vocabulary.unknown(),
        }
    }

    /// The user-defined symbols.
    pub(crate) fn symbols(&self) -> &PrefixTrie {
        &self.symbols
    }

    /// The positions between two characters that are adjacent in no symbol: no symbol crosses them.
    pub(crate) fn boundaries(&self, text: &[u8]) -> Vec<usize> {
        let mut at = 0;
        let mut boundaries = Vec::new();
        for pair in pairs(text) {
            at += char_length(&text[at..]);
            if !self.pairs_of_symbols.contains(&pair) {
                boundaries.push(at);
            }
        }
        boundaries
    }

    /// Appends the ids of `text`.
    pub(crate) fn encode(&self, pieces: &PieceTable, text: &[u8], out: &mut Vec<PieceId>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (id, length) = self.first_piece(pieces, rest);
            out.push(id);
            rest = &rest[length..];
        }
    }

    /// The symbol or character at the start of `text`, and its length.
    fn first_piece(&self, pieces: &PieceTable, text: &[u8]) -> (PieceId, usize) {
        if let Some((length, id)) = self.symbols.longest_with_value(text) {
            return (PieceId::new(id), length);
        }
        let length = char_length(text);
        let id = self.index.get(pieces.texts(), &text[..length]);
        (id.map_or(self.unknown, PieceId::from_index), length)
    }
}

/// The bytes of each two adjacent characters.
fn pairs(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let first = char_length(text.get(at..)?);
        let second = char_length(&text[at + first..]);
        let pair = text[at..at + first + second].to_vec();
        at += first;
        (second > 0).then_some(pair)
    })
}
