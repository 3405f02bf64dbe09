//! Runs: pieces of equal scores that repeat one character.
//!
//! Whether merging in an order gives the same result as merging the leftmost pair is tried: both
//! are simulated on repetitions of the character, up to three times as long as the longest piece.
//! That is quadratic in the length of each of these texts.

use super::{OrderedMerge, symbols_of};
use crate::model::Model;

/// The merges of pieces that repeat one character; symbols are given by their numbers of
/// characters.
pub(super) struct RunMerges {
    /// The rank of each pair of symbols; [`NO_RANK`] for pairs that do not merge. The index of a
    /// pair is [`RunMerges::pair_index`].
    ranks: Vec<usize>,
    /// For each number of characters, whether the run of that length is a piece.
    is_piece: Vec<bool>,
    /// Whether all pieces that repeat the character are in the group and short enough to be
    /// simulated.
    is_complete: bool,
}

/// The longest run that is simulated, in characters.
const MAX_RUN: usize = 256;
/// Marks a pair that does not merge.
const NO_RANK: usize = usize::MAX;

impl RunMerges {
    pub(super) fn new(character: &[u8], run: &[OrderedMerge], model: &Model) -> Self {
        let pairs = symbol_lengths(character, run, model);
        let longest = pairs.iter().map(|(left, right)| left + right).max();
        let longest = longest.unwrap_or(1).min(MAX_RUN + 1);
        let is_piece: Vec<bool> = (0..=2 * longest)
            .map(|length| length > 1 && is_from_text(model, &character.repeat(length)))
            .collect();
        let is_complete =
            longest <= MAX_RUN && is_piece.iter().filter(|is| **is).count() == run.len();
        let mut merges = Self {
            ranks: vec![NO_RANK; is_piece.len() * is_piece.len()],
            is_piece,
            is_complete,
        };
        for (rank, (left, right)) in pairs.into_iter().enumerate() {
            if let Some(index) = merges.pair_index(left, right) {
                merges.ranks[index] = merges.ranks[index].min(rank);
            }
        }
        merges
    }

    /// The index of a pair of symbols; `None` if one is too long to be simulated.
    fn pair_index(&self, left: usize, right: usize) -> Option<usize> {
        let width = self.is_piece.len();
        (left < width && right < width).then_some(left * width + right)
    }

    /// The rank of a pair of symbols that merges.
    fn rank(&self, left: usize, right: usize) -> Option<usize> {
        let rank = self.ranks[self.pair_index(left, right)?];
        (rank != NO_RANK).then_some(rank)
    }

    /// Whether merging in the order of the ranks gives the same as merging the leftmost pair.
    pub(super) fn is_leftmost(&self) -> bool {
        let longest = self.is_piece.len() / 2;
        self.is_complete && (1..=3 * longest).all(|length| self.is_leftmost_for(length))
    }

    /// The same for a run of this length.
    fn is_leftmost_for(&self, length: usize) -> bool {
        let leftmost = |symbols: &[usize]| self.leftmost_pair(symbols);
        merge_run(length, leftmost) == merge_run(length, |symbols| self.first_pair(symbols))
    }

    /// The leftmost pair whose merge gives a piece.
    fn leftmost_pair(&self, symbols: &[usize]) -> Option<usize> {
        let mut pairs = symbols.windows(2);
        pairs.position(|pair| self.is_piece(pair[0] + pair[1]))
    }

    /// Whether a run of this length is a piece.
    fn is_piece(&self, length: usize) -> bool {
        self.is_piece.get(length) == Some(&true)
    }

    /// The pair with the lowest rank; the leftmost among equal pairs.
    fn first_pair(&self, symbols: &[usize]) -> Option<usize> {
        let ranks = symbols.windows(2).map(|pair| self.rank(pair[0], pair[1]));
        let ranked = ranks.enumerate().filter_map(|(at, rank)| Some((rank?, at)));
        ranked.min().map(|(_, at)| at)
    }
}

/// The numbers of characters of the two symbols of each merge of a run.
fn symbol_lengths(character: &[u8], run: &[OrderedMerge], model: &Model) -> Vec<(usize, usize)> {
    let width = character.len();
    let symbols = run.iter().map(|merge| symbols_of(model, *merge));
    symbols
        .map(|(left, right)| (left.len() / width, right.len() / width))
        .collect()
}

/// Whether a text is a piece that segmentation can give.
fn is_from_text(model: &Model, text: &[u8]) -> bool {
    let id = model.piece_to_id(text);
    id.is_some_and(|id| model.table().kind(id.index()).is_from_text())
}

/// The lengths of the symbols into which a run of one character is merged; `choose` names the left
/// symbol of each merge.
fn merge_run(length: usize, choose: impl Fn(&[usize]) -> Option<usize>) -> Vec<usize> {
    let mut symbols = vec![1; length];
    while let Some(left) = choose(&symbols) {
        symbols[left] += symbols.remove(left + 1);
    }
    symbols
}
