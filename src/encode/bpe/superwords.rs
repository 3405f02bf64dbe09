//! Models with pieces of several words, most of which merge after all others.
//!
//! A *superword* is a piece with a whitespace mark after another character: `▁of▁the`. With
//! superwords nearly every pair of characters occurs in some piece, so that a whole line would be
//! one chunk. But in models that were extended by superwords, the other pieces have better scores.
//! Their texts are encoded in two layers:
//!
//! 1. As if the model had only the pieces with better scores than all superwords: chunks end at
//!    whitespace marks, and most are cached.
//! 2. The tokens of the text merge further, with all pieces.
//!
//! # Why this is exact
//! The best pair merges first. So superwords, and all pieces with equal or lower scores, merge only
//! when no pair merges to a piece of the first layer. The result at that moment is that of the
//! model of the first layer, which does the same merges in the same order. The second layer
//! continues from there by the definition.
//!
//! The second layer begins with ids, in which unknown characters are no longer told apart. So no
//! piece that it makes may have a character that is no piece. A piece of a single character is not
//! made by a merge, so it is in the first layer whatever its score is. User-defined symbols are not
//! operands of merges; nor are byte pieces and the unknown piece, which are not found in text.
//!
//! # Method of the second layer
//! [`late_pieces`] finds, when the model is loaded, all pairs of symbols that merge, and all pairs
//! of tokens of the first layer between which a merge is possible. A text is cut where two
//! neighbouring tokens are no such pair: no merge crosses there, as at a bigram boundary. The runs
//! of tokens between the cuts, mostly of one to five tokens, are merged by [`token_run`], and long
//! ones by the [heap](super::strategies::heap_merge). Neither reads a text.
//!
//! Example: the pieces `▁of` (-5), `▁the` (-6), `▁of▁the` (-7), `▁theory` (-8) and all characters.
//! The text `▁of▁theory` gives `▁of ▁the o r y` in the first layer. In the second, `▁of▁the` merges
//! before `▁theory` could.
//!
//! A pair of tokens takes a lookup, a merge two, and a run of n tokens n log n steps. Loading takes
//! a second table of pieces and one encoding of the pieces of the second layer.

mod late_pieces;
pub(super) mod token_run;

use std::ops::Range;

use self::late_pieces::LatePieces;
use self::token_run::MAX_TOKENS;
use super::BpeEncoder;
use super::lookup::symbol_table::{NO_RANK, SymbolMerge, SymbolTable};
use super::lookup::token_merges::TokenMergeTable;
use super::strategies::chunk_context::MergeState;
use crate::base::{WHITESPACE_MARK_STR, is_char};
use crate::encode::vocabulary::Vocabulary;
use crate::piece::PieceId;

/// At least one piece in this many has to be in the first layer. With fewer, most of the work is
/// left to the second layer, which is slower than chunks of whole lines.
const MIN_FIRST_SHARE: usize = 8;

/// The pieces of both layers.
pub(super) struct Layers {
    pub(super) first: Vec<u32>,
    pub(super) second: Vec<u32>,
    /// Whether each piece is user-defined, and so no operand of merges. Empty if none is.
    is_user_defined: Vec<bool>,
}

/// Tokens between which merges are possible.
struct TokenRun<'m> {
    range: Range<usize>,
    /// What each token and the next one become; the last one nothing.
    merges: &'m [SymbolMerge],
}

/// The second layer of a model.
#[derive(Debug)]
pub(super) struct SuperwordLayer {
    /// All pieces, for sampling, which knows no layers.
    pub(super) symbols: SymbolTable,
    merges: TokenMergeTable,
}

impl Layers {
    /// Divides the pieces, if there are superwords and it is worth it; models with unused pieces
    /// are merged as a whole. The pieces of the second layer are the superwords and all pieces with
    /// equal or lower scores, except for single characters and user-defined symbols.
    pub(super) fn of(vocabulary: &Vocabulary<'_>) -> Option<Self> {
        let mut layers = Self {
            first: Vec::new(),
            second: Vec::new(),
            is_user_defined: vocabulary.symbol_flags(),
        };
        let text = |id: u32| vocabulary.text(id as usize);
        let score = |id: u32| vocabulary.score(id as usize);
        let superwords = vocabulary
            .mergeable()
            .filter(|id| !layers.is_user_defined(*id) && is_superword(vocabulary, *id));
        let best = superwords.map(score).max_by(f32::total_cmp)?;
        if !vocabulary.unused_flags().is_empty() {
            return None;
        }
        let is_first = |id: &u32| {
            layers.is_user_defined(*id)
                || is_character(text(*id))
                || score(*id).total_cmp(&best).is_gt()
        };
        (layers.first, layers.second) = vocabulary.mergeable().partition(is_first);
        let pieces = layers.first.len() + layers.second.len();
        let has_layers = layers.first.len() * MIN_FIRST_SHARE >= pieces;
        has_layers.then_some(layers)
    }

    fn is_user_defined(&self, id: u32) -> bool {
        let flag = self.is_user_defined.get(id as usize);
        flag.is_some_and(|is| *is)
    }
}

/// Whether a piece has a whitespace mark after another character.
fn is_superword(vocabulary: &Vocabulary<'_>, id: u32) -> bool {
    let index = id as usize;
    let mark_start = WHITESPACE_MARK_STR.as_bytes()[0];
    let texts = vocabulary.table().texts();
    texts.may_contain_after_first(index, mark_start) && next_word(texts.get(index)).is_some()
}

/// Where the second word of a text begins: at the first whitespace mark after another character.
/// Pieces are short, so that a plain loop takes an eighth of the time of a substring search.
fn next_word(text: &[u8]) -> Option<usize> {
    let mark = WHITESPACE_MARK_STR.as_bytes();
    let mut run_end = 0;
    for at in 0..text.len() {
        if text[at] == mark[0] && text[at..].starts_with(mark) {
            if at > run_end {
                return Some(at);
            }
            run_end = at + mark.len();
        }
    }
    None
}

fn is_character(text: &[u8]) -> bool {
    !text.is_empty() && is_char(text)
}

impl SuperwordLayer {
    /// The layer after `first`, the encoder of the first layer; `symbols` has all pieces. `None`
    /// if the second layer cannot continue from ids.
    pub(super) fn new(
        vocabulary: &Vocabulary<'_>,
        layers: &Layers,
        first: &BpeEncoder,
        mut symbols: SymbolTable,
    ) -> Option<Self> {
        symbols.copy_chars(&first.tables.merge.symbols);
        let late_pieces = LatePieces {
            vocabulary,
            layers,
            first,
            symbols: &symbols,
        };
        let merges = late_pieces.find_merges()?;
        Some(Self { symbols, merges })
    }

    /// Merges the ids of the first layer, which begin at `start`.
    #[inline(never)]
    pub(super) fn merge(&self, state: &mut MergeState, ids: &mut Vec<PieceId>, start: usize) {
        let mut merges = std::mem::take(&mut state.token_merges);
        self.look_up(&ids[start..], &mut merges);
        let mut end = start;
        let mut read = start;
        while read < ids.len() {
            let rest = &merges[read - start..];
            let is_end = |merge: &SymbolMerge| *merge == SymbolMerge::UNSEEN;
            let last = rest.iter().position(is_end).unwrap_or(rest.len() - 1);
            let run = read..read + last + 1;
            read = run.end;
            end = self.merge_run(
                state,
                ids,
                TokenRun {
                    range: run,
                    merges: &rest[..=last],
                },
                end,
            );
        }
        ids.truncate(end);
        state.token_merges = merges;
    }

    /// Looks up what each token and the next one become. The lookups are independent of each other,
    /// so the processor overlaps their waits for memory.
    fn look_up(&self, tokens: &[PieceId], merges: &mut Vec<SymbolMerge>) {
        merges.clear();
        let merge = |pair: &[PieceId]| self.merges.find(pair[0].get(), pair[1].get());
        merges.extend(tokens.windows(2).map(merge));
        merges.push(SymbolMerge::UNSEEN);
    }

    /// Merges a run and writes its symbols at `end`, which is not after the start of the run.
    /// Returns the new end.
    #[inline]
    fn merge_run(
        &self,
        state: &mut MergeState,
        ids: &mut [PieceId],
        run: TokenRun<'_>,
        end: usize,
    ) -> usize {
        let length = run.range.len();
        if run.merges.iter().all(|merge| merge.rank() == NO_RANK) {
            ids.copy_within(run.range, end);
            return end + length;
        }
        let tokens = &ids[run.range];
        let symbols = if length <= MAX_TOKENS {
            state.run.merge(tokens, run.merges, &self.merges)
        } else {
            let heap = &mut state.heap;
            heap.symbols.clear();
            heap.symbols.extend(tokens.iter().map(|id| id.get()));
            heap.merge(&mut &self.merges, &mut ());
            &heap.symbols
        };
        for (id, symbol) in ids[end..].iter_mut().zip(symbols) {
            *id = PieceId::new(*symbol);
        }
        end + symbols.len()
    }
}

#[cfg(test)]
mod tests {
    use super::next_word;

    #[test]
    fn words_begin_at_marks_after_other_characters() {
        let cases = [
            ("", None),
            ("▁", None),
            ("▁▁a", None),
            ("a", None),
            ("▁\u{2580}", None),
            ("a▁", Some(1)),
            ("▁of▁the", Some(5)),
            ("▁of▁▁the▁end", Some(5)),
            ("é▁é", Some(2)),
        ];
        for (text, expected) in cases {
            assert_eq!(next_word(text.as_bytes()), expected, "{text}");
        }
    }
}
