//! Word models: the pieces are whole words.
//!
//! A word begins at each whitespace mark and at the start of the text, so every mark of a run
//! begins a word. User-defined symbols are found only where they are whole words, as in the
//! reference.
//!
//! Example: `▁this▁▁is` has the words `▁this`, `▁` and `▁is`.

use crate::base::WHITESPACE_MARK_STR;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceKind, PieceTable, TextIndex};
use crate::trie::prefix::KeyScopes;

/// The encoder of a word model.
#[derive(Debug)]
pub(crate) struct WordEncoder {
    index: TextIndex,
    unknown: PieceId,
}

impl WordEncoder {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>) -> Self {
        Self {
            index: vocabulary.index(),
            unknown: vocabulary.unknown(),
        }
    }

    /// Appends the ids of `text`.
    pub(crate) fn encode(&self, pieces: &PieceTable, text: &[u8], out: &mut Vec<PieceId>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(Self::word_length(rest));
            let id = self.index.get(pieces.texts(), word);
            out.push(id.map_or(self.unknown, PieceId::from_index));
            rest = after;
        }
    }

    /// Appends the ids of `text`, in which user-defined symbols are found only in the scopes.
    pub(crate) fn encode_with_symbols_in(
        &self,
        text: &[u8],
        scopes: &KeyScopes,
        pieces: &PieceTable,
        out: &mut Vec<PieceId>,
    ) {
        let mut at = 0;
        while at < text.len() {
            let end = at + Self::word_length(&text[at..]);
            let is_found = |id: &usize| {
                pieces.kind(*id) != PieceKind::UserDefined || scopes.contain(&(at..end))
            };
            let id = self.index.get(pieces.texts(), &text[at..end]);
            out.push(
                id.filter(is_found)
                    .map_or(self.unknown, PieceId::from_index),
            );
            at = end;
        }
    }

    /// The positions at which words begin, but the start.
    pub(crate) fn boundaries(text: &[u8]) -> Vec<usize> {
        let mut at = 0;
        let mut boundaries = Vec::new();
        while at < text.len() {
            at += Self::word_length(&text[at..]);
            boundaries.push(at);
        }
        boundaries.pop();
        boundaries
    }

    /// The length of the first word of `text` in bytes.
    pub(crate) fn word_length(text: &[u8]) -> usize {
        let mark = WHITESPACE_MARK_STR.as_bytes();
        let start = if text.starts_with(mark) {
            mark.len()
        } else {
            1.min(text.len())
        };
        memchr::memmem::find(&text[start..], mark).map_or(text.len(), |at| start + at)
    }
}

#[cfg(test)]
mod tests {
    use super::WordEncoder;

    #[test]
    fn a_word_begins_at_each_mark_and_at_the_start() {
        let words = |text: &str| {
            let (mut words, mut rest) = (Vec::new(), text);
            while !rest.is_empty() {
                let (word, after) = rest.split_at(WordEncoder::word_length(rest.as_bytes()));
                words.push(word.to_owned());
                rest = after;
            }
            words
        };
        assert_eq!(words("▁this▁is"), ["▁this", "▁is"]);
        assert_eq!(words("this▁is▁"), ["this", "▁is", "▁"]);
        assert_eq!(words("▁▁é"), ["▁", "▁é"]);
        assert_eq!(words("é"), ["é"]);
        assert!(words("").is_empty());
    }
}
