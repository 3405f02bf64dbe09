//! Word models: the pieces are whole words.
//!
//! A word begins at each whitespace mark and at the start of the text, so every mark of a run
//! begins a word. User-defined symbols are found only where they are whole words, as in the
//! reference.
//!
//! Example: `▁this▁▁is` has the words `▁this`, `▁` and `▁is`.

use crate::base::WHITESPACE_MARK_STR;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceTable, TextIndex};

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
