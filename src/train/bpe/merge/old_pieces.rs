//! Pieces of a model that text yields only after the model is extended.
//!
//! A piece of a BPE model is *unfound* if its own text does not encode to it, because no two
//! symbols that merging makes join to its text. Then no text yields it. A new piece can be the
//! missing half: if the model has `abc` but neither `ab` nor `bc`, and `ab` is learned, then `ab`
//! and `c` merge to `abc` from now on. The score of `abc` is better than all new scores, so this
//! happens directly after the merge to `ab`, before the next occurrence of `ab` to the right is
//! merged.
//!
//! A pair is merged in every word, followed by the merges to old pieces that it makes possible, in
//! the order of the encoder: occurrences from left to right; after each of them, repeatedly the
//! best old piece that the new symbol and a neighbour form, the left neighbour first if both are
//! equally good.
//!
//! This is done only for merges whose text is part of an unfound piece. Whole words are compared
//! before and after, so the cost is linear in the words with the pair. Most models have no unfound
//! piece, some have a few dozen.
//!
//! Lemma: all symbols made by one such merge are new. A span that no symbol crosses is segmented
//! like all other such spans of the same text (see the [lemma](super)). If an old piece is made at
//! a span now, it was made nowhere before; otherwise it would have been made at this span at the
//! same time. So pairs of other symbols only lose occurrences.

use std::collections::{BTreeMap, BTreeSet};

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use memchr::memmem;

use super::{LearnedMerge, MergeTrainer};
use crate::train::TrainError;
use crate::train::bpe::queue::{Candidate, TieOrder};
use crate::train::bpe::symbols::{Symbol, SymbolArena};
use crate::train::bpe::word_buffer::{WordBuffer, WordPart};

/// A piece that no text has yielded so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnfoundPiece {
    pub(crate) symbol: Symbol,
    /// Lower ranks are merged first.
    pub(crate) rank: u32,
}

/// The pieces of a model that no text has yielded so far.
#[derive(Debug, Default)]
pub(crate) struct UnfoundPieces {
    by_text: HashMap<Box<[u8]>, UnfoundPiece, FixedState>,
    /// All texts, each ended by NUL, which only tokens of bytes contain.
    texts: Vec<u8>,
}

impl UnfoundPieces {
    pub(crate) fn new<'t>(pieces: impl Iterator<Item = (&'t [u8], UnfoundPiece)>) -> Self {
        let mut unfound = Self::default();
        for (text, piece) in pieces {
            unfound.insert(text, piece);
        }
        unfound
    }

    fn insert(&mut self, text: &[u8], piece: UnfoundPiece) {
        self.texts.extend_from_slice(text);
        self.texts.push(0);
        self.by_text.insert(text.into(), piece);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// Whether one of the pieces contains `text`. It can be true for a text with a NUL that none
    /// contains.
    pub(crate) fn have_part(&self, text: &[u8]) -> bool {
        memmem::find(&self.texts, text).is_some()
    }
}

/// A token of a word.
#[derive(Debug, Clone, Copy)]
struct WordToken {
    position: u32,
    part: WordPart,
}

impl WordToken {
    /// The symbol, if it is one.
    fn symbol(self) -> Option<Symbol> {
        match self.part {
            WordPart::Symbol(symbol) => Some(symbol),
            WordPart::Inactive(_) => None,
        }
    }
}

/// The changes of one merge to a pair.
#[derive(Debug, Default)]
struct PairChange {
    /// Occurrences in the changed words before the merge.
    before: u64,
    /// Occurrences in the changed words after the merge.
    after: u64,
    /// Positions in the changed words after the merge.
    positions: Vec<u32>,
}

/// The changes of one merge.
struct MergeChanges {
    pairs: BTreeMap<(Symbol, Symbol), PairChange>,
    /// The symbols that the merge made.
    made: BTreeSet<Symbol>,
}

impl MergeChanges {
    /// Calls `note` with the change and the position of each pair of a word.
    fn note(&mut self, tokens: &[WordToken], mut note: impl FnMut(&mut PairChange, u32)) {
        for pair in tokens.windows(2) {
            if let (Some(left), Some(right)) = (pair[0].symbol(), pair[1].symbol()) {
                note(
                    self.pairs.entry((left, right)).or_default(),
                    pair[0].position,
                );
            }
        }
    }
}

/// One word while a pair is merged in it.
struct WordRewriter<'s> {
    words: &'s mut WordBuffer,
    symbols: &'s mut SymbolArena,
    unfound: &'s UnfoundPieces,
    tokens: Vec<WordToken>,
    made: &'s mut BTreeSet<Symbol>,
}

impl WordRewriter<'_> {
    /// Merges all occurrences of `pair` to `merged`, from left to right.
    fn merge_all(&mut self, pair: (Symbol, Symbol), merged: Symbol) {
        let mut at = 0;
        while at + 1 < self.tokens.len() {
            if self.pair_at(at) == Some(pair) {
                self.merge_at(at, merged);
                at = self.merge_old_pieces(at);
            }
            at += 1;
        }
    }

    /// The symbols at `at` and after it.
    fn pair_at(&self, at: usize) -> Option<(Symbol, Symbol)> {
        Some((self.symbol_at(at)?, self.symbol_at(at + 1)?))
    }

    /// The symbol at `at`; `None` for an inactive character and past the end of the word.
    fn symbol_at(&self, at: usize) -> Option<Symbol> {
        self.tokens.get(at)?.symbol()
    }

    /// Merges the tokens at `at` and after it to `merged`.
    fn merge_at(&mut self, at: usize, merged: Symbol) {
        let WordToken { position, .. } = self.tokens[at];
        let length = self.token_length(at) + self.token_length(at + 1);
        self.symbols.set_length(merged, length);
        self.words.write(position, merged, length);
        self.tokens.remove(at + 1);
        self.tokens[at].part = WordPart::Symbol(merged);
        self.made.insert(merged);
    }

    /// The length of a token in slots.
    fn token_length(&self, at: usize) -> u32 {
        let symbol = self.symbol_at(at);
        symbol.map_or(1, |symbol| self.symbols.slots(symbol))
    }

    /// Repeatedly merges the token at `at` with a neighbour to an old piece, until that is not
    /// possible. Returns the index of the result.
    fn merge_old_pieces(&mut self, mut at: usize) -> usize {
        loop {
            let before = at.checked_sub(1).and_then(|before| self.old_piece(before));
            let after = self.old_piece(at);
            let takes_before = match (&before, &after) {
                (Some(before), Some(after)) => before.rank <= after.rank,
                (before, _) => before.is_some(),
            };
            let best = if takes_before { before } else { after };
            let Some(piece) = best else { return at };
            at -= usize::from(takes_before);
            self.merge_at(at, piece.symbol);
        }
    }

    /// The old piece of the tokens at `at` and after it. The encoder also merges characters that
    /// are not pieces.
    fn old_piece(&self, at: usize) -> Option<UnfoundPiece> {
        let mut text = Vec::new();
        self.push_text(self.tokens.get(at)?.part, &mut text);
        self.push_text(self.tokens.get(at + 1)?.part, &mut text);
        self.unfound.by_text.get(text.as_slice()).copied()
    }

    fn push_text(&self, part: WordPart, text: &mut Vec<u8>) {
        match part {
            WordPart::Symbol(symbol) => text.extend(self.symbols.text(symbol)),
            WordPart::Inactive(c) => text.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

impl<Order: TieOrder> MergeTrainer<'_, Order> {
    /// Merges the candidate everywhere, and the old pieces that this makes possible.
    pub(super) fn take_with_old_pieces(
        &mut self,
        candidate: &Candidate<Order::Key>,
        unfound: &UnfoundPieces,
    ) -> Result<(), TrainError> {
        let positions = self.pairs.remove(candidate.pair);
        let (left, right) = candidate.symbols;
        let merged = self.symbols.join(left, right)?;
        let mut changes = MergeChanges {
            pairs: BTreeMap::new(),
            made: BTreeSet::from([merged]),
        };
        let mut done = 0;
        for position in positions {
            if position >= done {
                let word = self.words.word_around(position);
                self.rewrite_word(word, (candidate.symbols, merged), unfound, &mut changes);
                (_, done) = word;
            }
        }
        self.update_pairs(changes)?;
        self.merges.push(LearnedMerge {
            text: self.symbols.text(merged).into(),
            count: candidate.count,
        });
        Ok(())
    }

    /// Merges the pair in one word and records the changes.
    fn rewrite_word(
        &mut self,
        word: (u32, u32),
        (pair, merged): ((Symbol, Symbol), Symbol),
        unfound: &UnfoundPieces,
        changes: &mut MergeChanges,
    ) {
        let words = &mut self.words;
        let count = words.count_at(word.0);
        let mut tokens = Vec::new();
        words.visit_parts(word, |position, part| {
            tokens.push(WordToken { position, part });
        });
        changes.note(&tokens, |change, _| change.before += count);
        let mut rewriter = WordRewriter {
            words,
            symbols: &mut self.symbols,
            unfound,
            tokens,
            made: &mut changes.made,
        };
        rewriter.merge_all(pair, merged);
        let tokens = rewriter.tokens;
        changes.note(&tokens, |change, position| {
            change.after += count;
            change.positions.push(position);
        });
    }

    /// Adds the pairs of new symbols, and subtracts lost occurrences from the other pairs.
    fn update_pairs(&mut self, changes: MergeChanges) -> Result<(), TrainError> {
        let MergeChanges { pairs, made } = changes;
        for ((left, right), change) in pairs {
            if made.contains(&left) || made.contains(&right) {
                let positions = change.positions.len();
                let pair = self.add_new_pair(left, right, change.after, positions)?;
                if let Some(pair) = pair {
                    self.pairs.set_positions(pair, change.positions);
                    self.enqueue(pair);
                }
            } else {
                let lost = change.before.saturating_sub(change.after);
                self.pairs.subtract(left, right, lost);
            }
        }
        Ok(())
    }
}
