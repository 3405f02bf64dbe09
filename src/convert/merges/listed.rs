//! Checks which merges of a list are the last merges of their pieces.
//!
//! Input: a BPE model and, for some pieces, pairs of pieces whose joined text is the text of the
//! piece. Output: for each of these pieces, the pair that SentencePiece merges last, if it is among
//! them. `None` can also mean that the check could not decide; then the text of the piece has to be
//! merged.
//!
//! # Method
//! Pieces are checked in the order of their ranks. A piece p with the pair (l, r) passes if
//!
//! 1. l and r are characters, or passed before and have lower ranks than p;
//! 2. p is a normal or unused piece, and no user-defined symbol is in its text;
//! 3. nothing merges across the border between l and r before both exist.
//!
//! Rule 3 is checked backwards in time. Of the two symbols at the border, the one with the higher
//! rank was made later, so its merge is undone, and one of its parts is then at the border. Among
//! equal ranks the right one is undone, because the left one merges first. If the joined text of
//! the two symbols is a piece with a rank below that of the merge just undone (or equal to it, if
//! that merge is to the right of the border), the two symbols would have merged, and p does not
//! pass.
//!
//! **Why this is enough.** All merges within l alone give parts of l, which passed. A part has a
//! lower rank than the piece it is part of, so these merges are executed in the order of their
//! ranks, and so are those of r. Until something merges across the border, each side merges as if
//! it were alone, and of two merges on different sides the one with the lower rank comes first. So
//! rule 3 meets exactly those symbols that are at the border at the same time: from the time when
//! the second one is made until one of them becomes part of another symbol. During this time the
//! two merge if and only if their rank comes before that of the next merge of either symbol.
//!
//! Example: the pieces `ab` (rank 0), `bc` (1), `abc` (2) with the pair `ab c`. `ab` is undone,
//! limit 0; `b c` is the piece `bc` with the rank 1, which is not below 0. Two characters are left,
//! so `abc` passes. With the pair `a bc`: `bc` is undone; it is to the right, so equal ranks count
//! and the limit is 2. `a b` is the piece `ab` with the rank 0, which is below 2, so `abc` does not
//! pass.
//!
//! # Cost
//! For each pair that is tried, one test for each merge that is undone, at most one for each
//! character of the text. The hash of the joined text is computed from the hashes of the two
//! symbols. In most cases a table of the lowest ranks by hash shows that no piece with this hash
//! merges earlier; otherwise the piece is looked up by its text.

use crate::encode::bpe::{TextHash, TextHasher};
use crate::model::Model;
use crate::piece::{PieceId, PieceKind, PieceTable};
use crate::text::is_char;
use crate::text::num::{low_u32, low_usize};
use crate::trie::prefix::PrefixTrie;

use super::score_ranks;

/// A merge of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListedMerge {
    /// The piece that it gives.
    pub(crate) piece: PieceId,
    /// The pieces that it joins.
    pub(crate) left: PieceId,
    pub(crate) right: PieceId,
}

/// The merges of a list, and the ranks of all pieces.
#[derive(Debug)]
pub(crate) struct ListedMerges {
    ranks: Vec<u32>,
    merges: Vec<ListedMerge>,
}

impl ListedMerges {
    /// Takes the ranks of all pieces, by id, and at most one merge for each piece, in the order of
    /// the ranks of these pieces. For all pieces that text can be merged to, the ranks must be in
    /// the order of the scores, the best score first.
    pub(crate) fn new(ranks: Vec<u32>, merges: Vec<ListedMerge>) -> Self {
        Self { ranks, merges }
    }

    /// The ranks of the scores of a model, and no merges.
    pub(super) fn unknown(model: &Model) -> Self {
        Self {
            ranks: score_ranks(model),
            merges: Vec::new(),
        }
    }

    /// The ranks of all pieces, by id.
    pub(crate) fn ranks(&self) -> &[u32] {
        &self.ranks
    }

    /// The merges.
    pub(crate) fn merges(&self) -> &[ListedMerge] {
        &self.merges
    }
}

/// What is known about a piece as a symbol at the border.
#[derive(Debug, Clone, Copy)]
struct BorderSymbol {
    /// When it is made: [`CHAR`] for a character, which is never undone; the rank plus 1 of a piece
    /// that passed; [`UNKNOWN`] for a piece that has not passed.
    order: u32,
    /// The pieces that its last merge joins.
    parts: [PieceId; 2],
    /// The length of its text in bytes.
    len: u32,
    hash: TextHash,
}

/// The entry of [`ListedMergeCheck::lowest_ranks`] for hashes without a piece; no rank is above it.
const NO_PIECE: u32 = u32::MAX;
/// The number of entries of [`ListedMergeCheck::lowest_ranks`] for each piece, before rounding up
/// to a power of two.
const ENTRIES_PER_PIECE: usize = 2;

/// The [`BorderSymbol::order`] of a character.
const CHAR: u32 = 0;
/// The [`BorderSymbol::order`] of a piece that has not passed.
const UNKNOWN: u32 = u32::MAX;

impl BorderSymbol {
    fn new(text: &[u8], id: usize, hasher: &TextHasher) -> Self {
        Self {
            order: if is_char(text) { CHAR } else { UNKNOWN },
            parts: [PieceId::from_index(id); 2],
            len: low_u32(text.len() as u64),
            hash: hasher.hash(text),
        }
    }
}

/// Checks merges of a list.
pub(super) struct ListedMergeCheck<'m> {
    model: &'m Model,
    table: &'m PieceTable,
    listed: &'m ListedMerges,
    user_defined: &'m PrefixTrie,
    symbols: Vec<BorderSymbol>,
    /// For each value of the upper bits of a hash, the lowest rank of the pieces that segmentation
    /// can give and whose hashes have these bits; [`NO_PIECE`] if there are none.
    lowest_ranks: Vec<u32>,
    /// A hash shifted right by this number of bits is an index of `lowest_ranks`.
    shift: u32,
}

impl<'m> ListedMergeCheck<'m> {
    pub(super) fn new(
        model: &'m Model,
        listed: &'m ListedMerges,
        user_defined: &'m PrefixTrie,
    ) -> Self {
        let entries = (model.len() * ENTRIES_PER_PIECE).next_power_of_two().max(2);
        ListedMergeCheck {
            model,
            table: model.table(),
            listed,
            user_defined,
            symbols: Vec::new(),
            lowest_ranks: vec![NO_PIECE; entries],
            shift: 64 - entries.trailing_zeros(),
        }
    }

    /// By id, the length in bytes of the left symbol of the pair that passes, if one does. If the
    /// listed pair of a piece does not pass, the pairs at the lengths that `other_splits` gives are
    /// tried.
    pub(super) fn executed(
        mut self,
        other_splits: &dyn Fn(PieceId) -> Vec<usize>,
    ) -> Vec<Option<usize>> {
        let mut splits = vec![None; self.model.len()];
        if self.listed.merges.is_empty() {
            return splits;
        }
        self.add_symbols();
        for merge in &self.listed.merges {
            let passing = match self.passes(merge) {
                true => Some(*merge),
                false => self.passing_of(merge.piece, &other_splits(merge.piece)),
            };
            if let Some(merge) = passing {
                self.add_passed(merge);
                splits[merge.piece.index()] = Some(self.text(merge.left).len());
            }
        }
        splits
    }

    fn add_symbols(&mut self) {
        let hasher = TextHasher::new();
        let table = self.table;
        self.symbols = (0..table.len())
            .map(|id| BorderSymbol::new(table.text(id), id, &hasher))
            .collect();
        self.add_lowest_ranks();
    }

    fn add_lowest_ranks(&mut self) {
        for (id, symbol) in self.symbols.iter().enumerate() {
            if self.table.kind(id).is_from_text() {
                let lowest = &mut self.lowest_ranks[low_usize(symbol.hash.hash() >> self.shift)];
                *lowest = (*lowest).min(self.listed.ranks[id]);
            }
        }
    }

    /// Records a merge as the last one of its piece.
    fn add_passed(&mut self, merge: ListedMerge) {
        let symbol = &mut self.symbols[merge.piece.index()];
        symbol.order = self.listed.ranks[merge.piece.index()] + 1;
        symbol.parts = [merge.left, merge.right];
    }

    fn text(&self, piece: PieceId) -> &'m [u8] {
        self.table.text(piece.index())
    }

    /// The first pair of a piece that passes, among those whose left symbols have these lengths.
    fn passing_of(&self, piece: PieceId, splits: &[usize]) -> Option<ListedMerge> {
        let mut merges = splits.iter().filter_map(|split| self.merge(piece, *split));
        merges.find(|merge| self.passes(merge))
    }

    /// The merge that makes a piece from its first `split` bytes and the rest, if both are pieces.
    fn merge(&self, piece: PieceId, split: usize) -> Option<ListedMerge> {
        let (left, right) = self.text(piece).split_at_checked(split)?;
        let left = self.model.piece_to_id(left)?;
        let right = self.model.piece_to_id(right)?;
        Some(ListedMerge { piece, left, right })
    }

    /// Whether the merge is certainly the last one of its piece.
    fn passes(&self, merge: &ListedMerge) -> bool {
        let text = self.text(merge.piece);
        let border = [merge.left, merge.right].map(|piece| self.symbols[piece.index()]);
        // No rank plus 1 is below that of a piece that has not passed.
        let order = self.listed.ranks[merge.piece.index()].saturating_add(1);
        let is_in_order = border[0].order.max(border[1].order) < order && order < UNKNOWN;
        let parts = [merge.left, merge.right].map(|piece| self.text(piece));
        let kind = self.table.kind(merge.piece.index());
        let is_merged = matches!(kind, PieceKind::Normal | PieceKind::Unused);
        let is_joined = || text.strip_prefix(parts[0]) == Some(parts[1]);
        let has_symbol = || !self.user_defined.is_empty() && self.user_defined.find(text).is_some();
        is_merged
            && is_in_order
            && is_joined()
            && !has_symbol()
            && self.is_never_crossed(text, border)
    }

    /// Whether nothing merges across the border between two symbols before both exist.
    fn is_never_crossed(&self, text: &[u8], [mut left, mut right]: [BorderSymbol; 2]) -> bool {
        let border = left.len as usize;
        loop {
            let latest = left.order.max(right.order);
            if latest == CHAR {
                return true;
            }
            let undoes_right = right.order == latest;
            if undoes_right {
                right = self.symbols[right.parts[0].index()];
            } else {
                left = self.symbols[left.parts[1].index()];
            }
            let joined = left.hash.concat(right.hash).hash();
            let limit = u64::from(latest - 1) + u64::from(undoes_right);
            // False only if no piece with the hash has a rank below the limit.
            if u64::from(self.lowest_ranks[low_usize(joined >> self.shift)]) < limit {
                let start = border - left.len as usize;
                let end = border + right.len as usize;
                if self.merges_below(limit, &text[start..end]) {
                    return false;
                }
            }
        }
    }

    /// Whether segmentation can give a piece with this text and a rank below `limit`.
    fn merges_below(&self, limit: u64, text: &[u8]) -> bool {
        self.model.piece_to_id(text).is_some_and(|id| {
            let kind = self.table.kind(id.index());
            kind.is_from_text() && u64::from(self.listed.ranks[id.index()]) < limit
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Formation, MergeTable};
    use super::*;
    use crate::ModelType;

    /// A model of the pieces `a`, `b`, `c` and others, whose ranks are their ids.
    fn model(others: &[(String, PieceKind)]) -> Model {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        let chars = ["a", "b", "c"].map(|text| (text.to_owned(), PieceKind::Normal));
        for (rank, (text, kind)) in (1_u16..).zip(chars.iter().chain(others)) {
            builder.piece(text, -f32::from(rank), *kind);
        }
        builder.build().unwrap()
    }

    /// All pairs of pieces that give a piece with more than one character.
    fn pairs(model: &Model, piece: PieceId) -> Vec<ListedMerge> {
        let text = model.table().text(piece.index());
        let pair = |at: usize| {
            let (left, right) = text.split_at(at);
            Some(ListedMerge {
                piece,
                left: model.piece_to_id(left)?,
                right: model.piece_to_id(right)?,
            })
        };
        (1..text.len()).filter_map(pair).collect()
    }

    fn ranks(model: &Model) -> Vec<u32> {
        (0..).take(model.len()).collect()
    }

    fn user_defined_symbols(model: &Model) -> PrefixTrie {
        let symbols = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::UserDefined)
            .map(|piece| (piece.text, piece.id.get()));
        PrefixTrie::with_values(symbols).unwrap()
    }

    fn splits(model: &Model, merges: Vec<ListedMerge>) -> Vec<Option<usize>> {
        let listed = ListedMerges::new(ranks(model), merges);
        let user_defined = user_defined_symbols(model);
        ListedMergeCheck::new(model, &listed, &user_defined).executed(&|_| Vec::new())
    }

    #[test]
    fn the_example_of_the_module_page() {
        let others = ["ab", "bc", "abc"].map(|text| (text.to_owned(), PieceKind::Normal));
        let model = model(&others);
        let all: Vec<ListedMerge> = (4..7)
            .flat_map(|id| pairs(&model, PieceId::new(id)))
            .collect();
        let [ab, bc, abc_right, abc_left] = all[..] else {
            panic!("{all:?}");
        };
        assert_eq!(splits(&model, vec![ab, bc, abc_left])[6], Some(2));
        assert_eq!(splits(&model, vec![ab, bc, abc_right])[6], None);
        // `ab` has not passed.
        assert_eq!(splits(&model, vec![bc, abc_left])[6], None);
    }

    #[test]
    fn pairs_with_another_text_and_later_parts_do_not_pass() {
        let others = ["abc", "ab"].map(|text| (text.to_owned(), PieceKind::Normal));
        let model = model(&others);
        let [a, b, c, abc, ab] = [1, 2, 3, 4, 5].map(PieceId::new);
        let merge = |piece, left, right| ListedMerge { piece, left, right };
        let found = splits(&model, vec![merge(abc, ab, c), merge(ab, a, b)]);
        assert_eq!(found[4..], [None, Some(1)]);
        assert_eq!(splits(&model, vec![merge(ab, b, a)])[5], None);
        assert_eq!(splits(&model, vec![merge(ab, a, c)])[5], None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// The oracle carries out the merges. Every last merge whose parts come first in the order
        /// of the ranks passes, and nothing else does.
        #[test]
        fn last_merges_pass_and_others_do_not(
            texts in prop::collection::btree_set("[abc]{2,6}", 1..25),
            order in any::<prop::sample::Index>(),
            kinds in prop::collection::vec(0_usize..12, 25),
        ) {
            let mut texts: Vec<String> = texts.into_iter().collect();
            let start = order.index(texts.len());
            texts.rotate_left(start);
            if start % 3 > 0 {
                texts.sort_by_key(|text| text.len());
            }
            let kind = |number: usize| match number {
                0 => PieceKind::Unused,
                1 => PieceKind::Control,
                2 => PieceKind::UserDefined,
                _ => PieceKind::Normal,
            };
            let others: Vec<(String, PieceKind)> =
                texts.into_iter().zip(kinds.into_iter().map(kind)).collect();
            let model = model(&others);
            let table = MergeTable::new(&model).unwrap();
            let executed: Vec<Option<usize>> = model
                .pieces()
                .map(|piece| match table.formation(piece.id) {
                    Formation::Merged { split } => Some(split),
                    _ => None,
                })
                .collect();
            let split_of = |merge: &ListedMerge| model.table().text(merge.left.index()).len();
            let all = (4..).take(others.len()).map(PieceId::new);
            let all: Vec<ListedMerge> = all.flat_map(|id| pairs(&model, id)).collect();
            let is_last = |merge: &&ListedMerge| executed[merge.piece.index()] == Some(split_of(merge));
            let last: Vec<ListedMerge> = all.iter().filter(is_last).copied().collect();
            let passed = splits(&model, last.clone());
            let mut is_ordered = vec![true; 4];
            for (id, split) in executed.iter().enumerate().skip(4) {
                let merge = last.iter().find(|merge| merge.piece.index() == id);
                let parts = merge.map(|merge| [merge.left, merge.right]);
                let is_early = |part: &PieceId| part.index() < id && is_ordered[part.index()];
                is_ordered.push(parts.is_some_and(|parts| parts.iter().all(is_early)));
                let expected = split.filter(|_| is_ordered[id]);
                prop_assert_eq!(passed[id], expected, "{:?}", model.piece(PieceId::from_index(id)));
            }
            // The last merge of a piece passes, too, if it is not the first pair that is listed.
            let mut first = all.clone();
            first.dedup_by_key(|merge| merge.piece);
            let other_splits = |piece| {
                let others = all.iter().filter(|merge| merge.piece == piece);
                others.skip(1).map(split_of).collect()
            };
            let listed = ListedMerges::new(ranks(&model), first);
            let user_defined = user_defined_symbols(&model);
            let found = ListedMergeCheck::new(&model, &listed, &user_defined).executed(&other_splits);
            prop_assert_eq!(found, passed);
            // Any other pair of a piece, together with the last merges of all others.
            for other in all.iter().filter(|merge| !is_last(merge)) {
                let mut merges = last.clone();
                merges.retain(|merge| merge.piece != other.piece);
                merges.push(*other);
                merges.sort_by_key(|merge| merge.piece);
                let passed = splits(&model, merges);
                prop_assert_eq!(passed[other.piece.index()], None);
                // The table does not depend on the list.
                let same = MergeTable::with_listed(&model, &ListedMerges::new(ranks(&model), last.clone()), &|_| Vec::new()).unwrap();
                prop_assert!(model.pieces().all(|piece| same.formation(piece.id) == table.formation(piece.id)));
            }
        }
    }
}
