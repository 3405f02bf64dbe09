//! Words: what stands between whitespace marks, each with the mark before it.
//!
//! In: a normalized line. Out: the id of each word, unknown ones included. A word begins at each mark and at
//! the start of the line, so a run of marks is as many words. User-defined symbols play no part here, but for
//! those that are whole words.

use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceIndex, PieceKind, PieceTable};
use crate::text::WHITESPACE_MARK_STR;

/// A word model, ready to segment.
#[derive(Debug)]
pub(crate) struct Word {
    index: PieceIndex,
    unknown: PieceId,
}

impl Word {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>) -> Word {
        let is_wanted =
            |id: &usize| vocabulary.is_from_text(*id) && vocabulary.kind(*id) != PieceKind::Unused;
        let ids = (0..vocabulary.len()).filter(is_wanted);
        Word {
            index: PieceIndex::new(vocabulary.table(), ids),
            unknown: vocabulary.unknown(),
        }
    }

    /// Appends the ids of `text`.
    pub(crate) fn segment(&self, pieces: &PieceTable, text: &[u8], out: &mut Vec<PieceId>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (word, after) = rest.split_at(Word::length(rest));
            out.push(
                self.index
                    .get(pieces, word)
                    .map_or(self.unknown, PieceId::new),
            );
            rest = after;
        }
    }

    /// The length of the first word of `text`.
    pub(crate) fn length(text: &[u8]) -> usize {
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
    use super::Word;

    #[test]
    fn words_begin_at_marks() {
        let words = |text: &str| {
            let (mut words, mut rest) = (Vec::new(), text);
            while !rest.is_empty() {
                let (word, after) = rest.split_at(Word::length(rest.as_bytes()));
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
