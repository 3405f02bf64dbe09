//! The merges of a BPE model that any text executes: at most one pair for each piece.
//!
//! Input: a BPE model. Output: for each piece its *last merge*, the pair of symbols whose merge
//! gives the piece, or nothing if no text is ever merged to the piece.
//!
//! # Why one pair
//! The merges within the span of a token are the merges of the token's own text (locality, see
//! `adapt.rs`). So whenever text is merged to a piece, the merge that makes it is the last merge in
//! encoding the text of the piece alone. SentencePiece considers every pair whose joined text is a
//! piece, but for each piece it executes only this pair.
//!
//! # Method
//! The text of each piece is encoded by the definition in `encode/bpe.rs`, with a priority queue:
//! user-defined symbols are found first and never merge; then the pair with the best score merges,
//! the leftmost among equal scores.
//!
//! Example: the pieces `ab` (score -1), `bc` (-2), `abc` (-3) and their characters. The text `abc`
//! is merged to `ab c` and then to `abc`: the last merge of `abc` is `ab c`. The pair `a bc` is
//! never merged.
//!
//! # Cost
//! For a piece of n characters: O(n) lookups and O(n log n) steps of the queue.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::encode::vocabulary::Vocabulary;
use crate::error::ModelError;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::text::num::low_u32;
use crate::text::{char_length, is_char};
use crate::trie::prefix::PrefixTrie;

/// How text is merged to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Formation {
    /// It is a single character or a meta piece.
    NotMerged,
    /// Its last merge joins its first `split` bytes and the rest.
    Merged {
        /// The length of the left symbol in bytes.
        split: usize,
    },
    /// No text is ever merged to it.
    Unreachable,
}

impl Formation {
    /// The length in bytes of the left symbol of the last merge.
    fn split(self) -> Option<usize> {
        match self {
            Self::Merged { split } => Some(split),
            _ => None,
        }
    }
}

/// The formation of every piece, and the rank of its score.
#[derive(Debug)]
pub(crate) struct MergeTable {
    formations: Vec<Formation>,
    ranks: Vec<u32>,
}

impl MergeTable {
    /// The merges of a BPE model.
    ///
    /// # Errors
    /// The user-defined symbols do not fit in a trie, which cannot happen for a loaded model.
    pub(crate) fn new(model: &Model) -> Result<Self, ModelError> {
        let ranks = score_ranks(model);
        let mut process = MergeProcess::new(model, &ranks)?;
        let formation = |piece: Piece<'_>| match piece.kind {
            PieceKind::Normal | PieceKind::Unused => process.formation(piece.text),
            _ => Formation::NotMerged,
        };
        let formations = model.pieces().map(formation).collect();
        Ok(Self { formations, ranks })
    }

    /// The formation of a piece.
    pub(crate) fn formation(&self, id: PieceId) -> Formation {
        self.formations[id.index()]
    }

    /// The rank of the score of a piece: 0 for the best score, equal for equal scores.
    pub(crate) fn rank(&self, id: PieceId) -> u32 {
        self.ranks[id.index()]
    }

    /// The ranks of all pieces, by id.
    pub(crate) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The pieces that text is merged to, with the lengths of their left symbols, by id.
    pub(crate) fn merged(&self) -> impl Iterator<Item = (PieceId, usize)> {
        let ids = (0..).map(PieceId::new);
        ids.zip(&self.formations)
            .filter_map(|(id, formation)| Some((id, formation.split()?)))
    }
}

/// The ranks of the scores of all pieces, 0 for the best score. Scores are compared by their bits
/// (`f32::total_cmp`), as in the reference.
fn score_ranks(model: &Model) -> Vec<u32> {
    let scores: Vec<f32> = model.pieces().map(|piece| piece.score).collect();
    let mut sorted = scores.clone();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    sorted.dedup_by(|a, b| a.total_cmp(b).is_eq());
    let rank = |score: &f32| sorted.partition_point(|other| other.total_cmp(score).is_gt());
    scores
        .iter()
        .map(|score| low_u32(rank(score) as u64))
        .collect()
}

/// A symbol of a text: a span, and its neighbours.
#[derive(Debug, Clone, Copy)]
struct TextSymbol {
    start: usize,
    /// Equal to `start` once the symbol has been merged into the one before it.
    end: usize,
    previous: usize,
    next: usize,
    is_user_defined: bool,
}

impl TextSymbol {
    /// Whether the symbol was merged into the one before it.
    fn is_removed(&self) -> bool {
        self.end == self.start
    }
}

/// No symbol.
const NONE: usize = usize::MAX;

/// A pair that may merge: its rank, the index of the left symbol, and the length of both symbols
/// together in bytes.
type PairCandidate = Reverse<(u32, usize, usize)>;

/// Merges texts, reusing its buffers.
pub(crate) struct MergeProcess<'m> {
    model: &'m Model,
    ranks: &'m [u32],
    user_defined: PrefixTrie,
    symbols: Vec<TextSymbol>,
    queue: BinaryHeap<PairCandidate>,
}

impl<'m> MergeProcess<'m> {
    /// A process for a BPE model whose pieces have these ranks.
    ///
    /// # Errors
    /// The user-defined symbols do not fit in a trie, which cannot happen for a loaded model.
    pub(crate) fn new(model: &'m Model, ranks: &'m [u32]) -> Result<Self, ModelError> {
        let vocabulary = Vocabulary::new(model, true);
        let user_defined =
            PrefixTrie::with_values(vocabulary.symbols()).map_err(|_| ModelError::TrieTooLarge)?;
        Ok(MergeProcess {
            model,
            ranks,
            user_defined,
            symbols: Vec::new(),
            queue: BinaryHeap::new(),
        })
    }

    /// How the text of a piece is merged.
    fn formation(&mut self, text: &[u8]) -> Formation {
        if is_char(text) {
            return Formation::NotMerged;
        }
        match self.merge(text) {
            Some(split) if self.is_one_symbol(text) => Formation::Merged { split },
            _ => Formation::Unreachable,
        }
    }

    /// Whether merging `text` has left one symbol.
    fn is_one_symbol(&self, text: &[u8]) -> bool {
        let first = self.symbols.first();
        first.is_some_and(|first| first.end == text.len())
    }

    /// Merges `text`, and returns the starts of the remaining symbols.
    pub(crate) fn symbol_starts(&mut self, text: &[u8]) -> Vec<usize> {
        self.merge(text);
        let symbols = self.symbols.iter();
        let left = symbols.filter(|symbol| !symbol.is_removed());
        left.map(|symbol| symbol.start).collect()
    }

    /// Merges `text`, and returns the length in bytes of the left symbol of the last merge.
    fn merge(&mut self, text: &[u8]) -> Option<usize> {
        self.split(text);
        for left in 0..self.symbols.len() {
            self.add_candidate(text, left);
        }
        let mut last = None;
        while let Some(Reverse((_, left, size))) = self.queue.pop() {
            let symbol = self.symbols[left];
            if symbol.is_removed() || symbol.next == NONE {
                continue;
            }
            let right = self.symbols[symbol.next];
            if right.end - symbol.start != size {
                continue;
            }
            last = Some(symbol.end - symbol.start);
            self.join(left, symbol.next);
            self.add_candidate(text, left);
            if symbol.previous != NONE {
                self.add_candidate(text, symbol.previous);
            }
        }
        last
    }

    /// Splits `text` into characters and user-defined symbols.
    fn split(&mut self, text: &[u8]) {
        self.symbols.clear();
        self.queue.clear();
        let mut start = 0;
        while start < text.len() {
            let rest = &text[start..];
            let found = self.user_defined.longest(rest).filter(|length| *length > 0);
            let index = self.symbols.len();
            let end = start + found.unwrap_or_else(|| char_length(rest));
            self.symbols.push(TextSymbol {
                start,
                end,
                previous: index.checked_sub(1).unwrap_or(NONE),
                next: if end < text.len() { index + 1 } else { NONE },
                is_user_defined: found.is_some(),
            });
            start = end;
        }
    }

    /// Merges the symbol at index `right` into the one before it.
    fn join(&mut self, left: usize, right: usize) {
        let removed = self.symbols[right];
        self.symbols[right].end = removed.start;
        self.symbols[left].end = removed.end;
        self.symbols[left].next = removed.next;
        if removed.next != NONE {
            self.symbols[removed.next].previous = left;
        }
    }

    /// Queues the pair of the symbol at index `left` and the next one, if segmentation can give a
    /// piece with their joined text.
    fn add_candidate(&mut self, text: &[u8], left: usize) {
        let first = self.symbols[left];
        if first.next == NONE {
            return;
        }
        let second = self.symbols[first.next];
        if first.is_user_defined || second.is_user_defined {
            return;
        }
        let Some(id) = self.model.piece_to_id(&text[first.start..second.end]) else {
            return;
        };
        if self.model.table().kind(id.index()).is_from_text() {
            let size = second.end - first.start;
            self.queue
                .push(Reverse((self.ranks[id.index()], left, size)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelType, Tokenizer};

    fn model(pieces: &[(&str, f32, PieceKind)]) -> Model {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        for (text, score, kind) in pieces {
            builder.piece(text, *score, *kind);
        }
        builder.build().unwrap()
    }

    fn normal(text: &str, score: f32) -> (&str, f32, PieceKind) {
        (text, score, PieceKind::Normal)
    }

    #[test]
    fn the_example_of_the_module_page() {
        let pieces = [
            normal("ab", -1.0),
            normal("bc", -2.0),
            normal("abc", -3.0),
            normal("a", -4.0),
            normal("b", -5.0),
            normal("c", -6.0),
        ];
        let table = MergeTable::new(&model(&pieces)).unwrap();
        let merged: Vec<(u32, usize)> = table
            .merged()
            .map(|(id, split)| (id.get(), split))
            .collect();
        assert_eq!(merged, [(1, 1), (2, 1), (3, 2)]);
        assert_eq!(table.formation(PieceId::new(4)), Formation::NotMerged);
    }

    #[test]
    fn pieces_that_lose_are_unreachable_and_symbols_do_not_merge() {
        let pieces = [
            normal("ab", -1.0),
            normal("bc", -2.0),
            normal("abcd", -3.0),
            normal("xy", -4.0),
            ("x", 0.0, PieceKind::UserDefined),
        ];
        let table = MergeTable::new(&model(&pieces)).unwrap();
        assert_eq!(table.formation(PieceId::new(3)), Formation::Unreachable);
        assert_eq!(table.formation(PieceId::new(4)), Formation::Unreachable);
    }

    /// The encoder is the oracle: a piece is merged if and only if its text gives the piece.
    #[test]
    fn formations_agree_with_the_encoder() {
        let root = env!("CARGO_MANIFEST_DIR");
        let model = Model::open(format!("{root}/testdata/golden/llama2.model")).unwrap();
        let table = MergeTable::new(&model).unwrap();
        let tokenizer = Tokenizer::new(model.edit().set_add_dummy_prefix(false).finish().unwrap());
        let normal = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::Normal);
        for piece in normal.filter(|piece| std::str::from_utf8(piece.text).is_ok()) {
            let text = String::from_utf8_lossy(piece.text).replace('\u{2581}', " ");
            let is_given = tokenizer.encode(&text) == [piece.id];
            let is_reachable = table.formation(piece.id) != Formation::Unreachable;
            assert_eq!(is_given, is_reachable, "{piece:?}");
        }
    }
}
