//! Characters, one by one; user-defined symbols whole, longest first.
//!
//! In: a normalized line. Out: the id of each character or symbol, unknown ones included.

use std::sync::Arc;

use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceIndex, PieceKind, PieceTable};
use crate::text::char_length;
use crate::trie::prefix::PrefixTrie;

/// A char model, ready to segment.
#[derive(Debug)]
pub(crate) struct Char {
    index: PieceIndex,
    symbols: Arc<PrefixTrie>,
    unknown: PieceId,
}

impl Char {
    pub(crate) fn new(vocabulary: &Vocabulary<'_>, symbols: Arc<PrefixTrie>) -> Char {
        let is_wanted =
            |id: &usize| vocabulary.is_from_text(*id) && vocabulary.kind(*id) != PieceKind::Unused;
        let ids = (0..vocabulary.len()).filter(is_wanted);
        Char {
            index: PieceIndex::new(vocabulary.table(), ids),
            symbols,
            unknown: vocabulary.unknown(),
        }
    }

    /// Appends the ids of `text`.
    pub(crate) fn segment(&self, pieces: &PieceTable, text: &[u8], out: &mut Vec<PieceId>) {
        let mut rest = text;
        while !rest.is_empty() {
            let (id, length) = match self.symbols.longest_with_value(rest) {
                Some((length, id)) => (PieceId::from_index(id), length),
                None => {
                    let length = char_length(rest);
                    (
                        self.index
                            .get(pieces, &rest[..length])
                            .map_or(self.unknown, PieceId::new),
                        length,
                    )
                }
            };
            out.push(id);
            rest = &rest[length..];
        }
    }
}
