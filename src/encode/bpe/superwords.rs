//! Models with pieces of several words, most of which merge after all others.
//!
//! A *superword* is a piece with a whitespace mark behind another character: `▁of▁the`. With superwords nearly every pair
//! of characters occurs in some piece, so that a whole line would be one chunk. But models that were extended by
//! superwords had many other pieces before, with better scores. A text is then encoded in two layers:
//!
//! 1. As if the model had only the pieces with better scores than all superwords: chunks end at whitespace marks, and most are
//!    cached.
//! 2. The tokens of the whole text merge further, with all pieces, by the [heap](super::strategies::heap_merge).
//!
//! # Why this is exact
//! The best pair merges first. So superwords, and all pieces with equal or lower scores, merge only when no pair merges to
//! a piece of the first layer. The state at that moment is the result of the model of the first layer, which does the same
//! merges in the same order. The second layer goes on from there by the definition.
//!
//! The second layer begins with ids, in which unknown characters are no longer told apart. So each character of each
//! piece of the second layer has to be a piece. The text of a single character merges from nothing, so that such pieces
//! are in the first layer whatever their scores are. User-defined symbols are no operands; byte pieces and the unknown piece
//! are none either, since their texts are not in the table of merges.
//!
//! Example: the pieces `▁of` (-5), `▁the` (-6), `▁of▁the` (-7), `▁theory` (-8) and all characters. The text `▁of▁theory` gives
//! `▁of ▁the o r y` in the first layer. In the second, `▁of▁the` merges before `▁theory` could.
//!
//! Cost: n log n for the n tokens of a text, besides that of the first layer; a second table of merges.

use std::collections::HashSet;

use memchr::{memchr, memmem};

use super::classes::char_table::CharTable;
use super::classes::class_bigrams::ClassBigramsBuilder;
use super::lookup::symbol_table::SymbolTable;
use super::lookup::token_merges::TokenMergeLookup;
use super::strategies::chunk_context::MergeState;
use super::strategies::merge_context::MergeTables;
use crate::encode::vocabulary::Vocabulary;
use crate::piece::{PieceId, PieceTable};
use crate::text::{WHITESPACE_MARK_STR, char_length};

/// One piece in so many has to be in the first layer. If fewer are, most of the work is left to the second layer, which is
/// slower than chunks of whole lines.
const MIN_FIRST_SHARE: usize = 8;

/// The second layer of a model.
#[derive(Debug)]
pub(super) struct SuperwordLayer {
    /// The merges of all pieces.
    pub(super) tables: MergeTables,
    /// For each piece whether it is user-defined: no operand. Empty if no piece is.
    is_user_defined: Vec<bool>,
}

/// The pieces of the first layer, if the model has two layers.
pub(super) fn first_layer(vocabulary: &Vocabulary<'_>, mergeable: &[u32]) -> Option<Vec<u32>> {
    let is_user_defined = vocabulary.symbol_flags();
    let is_operand = |id: u32| !is_user_defined.get(id as usize).is_some_and(|is| *is);
    let mark = memmem::Finder::new(WHITESPACE_MARK_STR);
    let text = |id: u32| vocabulary.text(id as usize);
    let score = |id: u32| vocabulary.score(id as usize);
    let superwords = mergeable
        .iter()
        .copied()
        .filter(|id| is_operand(*id) && is_superword(text(*id), &mark));
    let best = superwords.map(score).max_by(f32::total_cmp)?;
    let is_first = |id: &u32| {
        !is_operand(*id) || is_character(text(*id)) || score(*id).total_cmp(&best).is_gt()
    };
    let (first, second): (Vec<u32>, Vec<u32>) = mergeable.iter().copied().partition(is_first);
    let characters: HashSet<&[u8]> = first
        .iter()
        .map(|id| text(*id))
        .filter(|text| is_character(text))
        .collect();
    let are_known =
        |id: &u32| characters_of(text(*id)).all(|character| characters.contains(character));
    let has_layers =
        first.len() * MIN_FIRST_SHARE >= mergeable.len() && second.iter().all(are_known);
    has_layers.then_some(first)
}

/// Whether a piece has a whitespace mark behind another character.
fn is_superword(text: &[u8], mark: &memmem::Finder<'_>) -> bool {
    let mark_text = WHITESPACE_MARK_STR.as_bytes();
    // Most pieces do not have the first byte of a mark behind their first byte.
    let may_have = |rest: &[u8]| memchr(mark_text[0], rest).is_some();
    text.get(1..).is_some_and(may_have)
        && mark
            .find_iter(text)
            .any(|at| at > 0 && !text[..at].ends_with(mark_text))
}

fn is_character(text: &[u8]) -> bool {
    !text.is_empty() && char_length(text) == text.len()
}

/// The characters of a text.
fn characters_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (first, others) = rest.split_at_checked(char_length(rest))?;
        rest = others;
        (!first.is_empty()).then_some(first)
    })
}

impl SuperwordLayer {
    /// The layer of all pieces.
    pub(super) fn new(vocabulary: &Vocabulary<'_>, mergeable: &[u32]) -> SuperwordLayer {
        let mut symbols = SymbolTable::new(vocabulary, mergeable);
        // Nobody asks for the bigrams.
        let mut bigrams = ClassBigramsBuilder::new();
        let (mut chars, texts) = CharTable::new(vocabulary, mergeable, &mut bigrams);
        chars.add_symbols(&texts, &mut symbols, vocabulary.table());
        SuperwordLayer {
            tables: MergeTables::new(vocabulary, symbols, chars),
            is_user_defined: vocabulary.symbol_flags(),
        }
    }

    /// Merges the ids of the first layer, which begin at `start`.
    pub(super) fn merge(
        &self,
        pieces: &PieceTable,
        state: &mut MergeState,
        ids: &mut Vec<PieceId>,
        start: usize,
    ) {
        let mut tokens = std::mem::take(&mut state.layer);
        tokens.clear();
        tokens.extend_from_slice(&ids[start..]);
        ids.truncate(start);
        let heap = &mut state.heap;
        let mut lookup = TokenMergeLookup {
            symbols: &self.tables.symbols,
            pieces,
            cache: &mut state.token_merges,
        };
        for part in tokens.split_inclusive(|id| self.is_user_defined(*id)) {
            let (last, operands) = match part.split_last() {
                Some((last, operands)) if self.is_user_defined(*last) => (Some(*last), operands),
                _ => (None, part),
            };
            heap.symbols.clear();
            heap.symbols.extend(operands.iter().map(|id| id.get()));
            heap.merge(&mut lookup, &mut ());
            ids.extend(heap.symbols.iter().map(|symbol| PieceId::new(*symbol)));
            ids.extend(last);
        }
        state.layer = tokens;
    }

    fn is_user_defined(&self, id: PieceId) -> bool {
        self.is_user_defined.get(id.index()).is_some_and(|is| *is)
    }
}
