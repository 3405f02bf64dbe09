//! An order of merges for which a program that merges by rank gives the result of SentencePiece.
//!
//! Where no order is known to give equal results, there are reasons instead. The merges are those
//! that [text executes](super::merges).
//!
//! SentencePiece merges the pair with the best score, the leftmost among equal scores. The library
//! `tokenizers` needs a total order of all merges: it merges the first pair in that order, the
//! leftmost among equal pairs.
//!
//! # Different scores
//! The order is that of the scores. Both programs then execute the same merges. Proof by induction:
//! both have the same symbols, and the next merge of SentencePiece gives a piece p. Its pair is in
//! the list (see [`merges`](super::merges)), so it is a candidate of `tokenizers`. Every pair of the
//! list that is a candidate is one of SentencePiece's, so its piece has no better score than p, and
//! no pair of p is further to the left. `tokenizers` takes the same one. If SentencePiece has no
//! candidate, `tokenizers` has none.
//!
//! # Equal scores
//! Let the pieces of a group have equal scores. Merges of the group are executed when no better
//! pair is left. The two programs differ only if the order of two of these merges matters, that is,
//! if they share a symbol or if one of them makes a symbol of the other. Three cases are decided;
//! all others give a reason:
//!
//! 1. *Runs*: pieces `cc`, `ccc`, ... that repeat one character c. SentencePiece extends the
//!    leftmost run up to the longest piece, then begins the next one. The order "longest first"
//!    usually gives the same result. This is checked by simulating both on texts of c up to three
//!    times as long as the longest piece. In longer texts the symbols on the left are complete and
//!    no longer merge, so the rest behaves like a shorter text.
//! 2. *Shared symbols*: the right symbol of p is the left symbol of q. If both are candidates
//!    there, p is to the left, so p must precede q. If these relations have no cycle, an order
//!    exists.
//! 3. *No shared symbols*: any order.
//!
//! All three require that no merge of the group creates a candidate with a better score; otherwise
//! there is a reason.
//!
//! Example (case 1): in Llama 2, the runs of 2 to 16 whitespace marks are pieces with the score
//! -1e9. Both programs merge seven marks to `▁▁`, which grows by one mark at a time.
//!
//! # Cost
//! Linear in the merges, plus sorting, the pairs of merges that share a symbol at equal scores, and
//! the simulation of runs.

mod runs;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use self::runs::RunMerges;
use super::merges::{Formation, MergeTable};
use super::{Reason, ReasonKind};
use crate::base::{char_length, lossy_string};
use crate::model::Model;
use crate::piece::PieceId;

/// One merge: the piece that it gives, and the length of its left symbol in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OrderedMerge {
    pub(crate) piece: PieceId,
    pub(crate) split: usize,
}

/// Merges in order, and reasons why the result can differ.
#[derive(Debug, Default)]
pub(crate) struct MergeOrder {
    pub(crate) merges: Vec<OrderedMerge>,
    pub(crate) reasons: Vec<Reason>,
}

impl MergeOrder {
    /// Orders the merges of a model.
    pub(crate) fn new(model: &Model, table: &MergeTable) -> Self {
        let mut by_rank: BTreeMap<u32, Vec<OrderedMerge>> = BTreeMap::new();
        for (piece, split) in table.merged() {
            let group = by_rank.entry(table.rank(piece)).or_default();
            group.push(OrderedMerge { piece, split });
        }
        let best_extensions = best_extensions(model, table);
        let mut order = Self::default();
        for group in by_rank.into_values() {
            if group.len() == 1 {
                order.merges.extend(group);
                continue;
            }
            let tie = TieGroup {
                model,
                table,
                best_extensions: &best_extensions,
            };
            tie.order(group, &mut order);
        }
        order.keep_one_reason();
        order
    }
}

impl MergeOrder {
    /// Keeps one reason, preferably with an example, and adds the number of all reasons to it.
    fn keep_one_reason(&mut self) {
        let count = self.reasons.len();
        let best = self
            .reasons
            .iter()
            .position(|reason| reason.example.is_some());
        if let Some(best) = best {
            self.reasons.swap(0, best);
        }
        self.reasons.truncate(1);
        if let (Some(reason), 2..) = (self.reasons.first_mut(), count) {
            reason
                .explanation
                .push_str(&format!("; {count} such findings in all"));
        }
    }
}

/// For each piece that is a symbol of some merge: the best rank among the pieces that such merges
/// give, and a piece with that rank.
fn best_extensions(model: &Model, table: &MergeTable) -> HashMap<PieceId, (u32, PieceId)> {
    let mut best: HashMap<PieceId, (u32, PieceId)> = HashMap::new();
    for (piece, split) in table.merged() {
        let rank = table.rank(piece);
        let (left, right) = symbols_of(model, OrderedMerge { piece, split });
        for part in [left, right] {
            if let Some(part) = model.piece_to_id(part) {
                let known = best.entry(part).or_insert((rank, piece));
                *known = (*known).min((rank, piece));
            }
        }
    }
    best
}

/// The texts of the two symbols of a merge.
pub(crate) fn symbols_of(model: &Model, merge: OrderedMerge) -> (&[u8], &[u8]) {
    model
        .table()
        .text(merge.piece.index())
        .split_at(merge.split)
}

/// What is needed to order a group of merges whose pieces have equal scores.
struct TieGroup<'m> {
    model: &'m Model,
    table: &'m MergeTable,
    best_extensions: &'m HashMap<PieceId, (u32, PieceId)>,
}

impl TieGroup<'_> {
    /// Appends the merges of a group to `order`.
    fn order(&self, group: Vec<OrderedMerge>, order: &mut MergeOrder) {
        if let Some(reason) = self.better_extension(&group) {
            order.reasons.push(reason);
        }
        let members: BTreeSet<PieceId> = group.iter().map(|merge| merge.piece).collect();
        let (runs, others) = self.split_runs(group);
        if let Some(reason) = self.mixture(&runs, &others, &members) {
            order.reasons.push(reason);
        }
        for (character, mut run) in runs {
            run.sort_by_key(|merge| Reverse(self.text(merge.piece).len()));
            let merges = RunMerges::new(&character, &run, self.model);
            if !merges.is_leftmost() {
                order.reasons.push(run_reason(&character));
            }
            order.merges.extend(run);
        }
        let (sorted, cycle) = self.sort_by_shared_symbols(others);
        order.reasons.extend(cycle);
        order.merges.extend(sorted);
    }

    /// A reason if a piece of the group is a symbol of a piece with a better score.
    fn better_extension(&self, group: &[OrderedMerge]) -> Option<Reason> {
        let mut extensions = group.iter().map(|merge| self.extension_of(merge.piece));
        let (piece, extension) = extensions.find_map(|extension| extension)?;
        let explanation = format!(
            "{} pieces have the score of {}, whose extension {} has a better score; SentencePiece merges the leftmost of equal scores",
            group.len(),
            self.named(piece),
            self.named(extension),
        );
        Some(score_tie(explanation))
    }

    /// The piece, and a piece with a better score that is merged from it, if there is one.
    fn extension_of(&self, piece: PieceId) -> Option<(PieceId, PieceId)> {
        let (best, extension) = *self.best_extensions.get(&piece)?;
        (best < self.table.rank(piece)).then_some((piece, extension))
    }

    /// The runs of the group by their character, and all other merges.
    fn split_runs(
        &self,
        group: Vec<OrderedMerge>,
    ) -> (BTreeMap<Vec<u8>, Vec<OrderedMerge>>, Vec<OrderedMerge>) {
        let mut runs: BTreeMap<Vec<u8>, Vec<OrderedMerge>> = BTreeMap::new();
        let mut others = Vec::new();
        for merge in group {
            match self.run_character(merge) {
                Some(character) => runs.entry(character.to_vec()).or_default().push(merge),
                None => others.push(merge),
            }
        }
        runs.retain(|_, run| {
            let is_run = run.len() > 1;
            if !is_run {
                others.append(run);
            }
            is_run
        });
        others.sort_by_key(|merge| merge.piece);
        (runs, others)
    }

    /// The character that the piece of a merge repeats.
    fn run_character(&self, merge: OrderedMerge) -> Option<&[u8]> {
        let text = self.text(merge.piece);
        let (character, rest) = text.split_at(char_length(text));
        let repeats = rest.chunks(character.len()).all(|part| part == character);
        repeats.then_some(character)
    }

    fn text(&self, piece: PieceId) -> &[u8] {
        self.model.table().text(piece.index())
    }

    /// A reason if symbols of the other merges are pieces of the group, or parts of its runs.
    fn mixture(
        &self,
        runs: &BTreeMap<Vec<u8>, Vec<OrderedMerge>>,
        others: &[OrderedMerge],
        members: &BTreeSet<PieceId>,
    ) -> Option<Reason> {
        let is_member = |id: PieceId| members.contains(&id);
        let is_mixed = |text: &[u8]| {
            self.model.piece_to_id(text).is_some_and(is_member) || runs.contains_key(text)
        };
        let mixed = others.iter().find(|merge| {
            let (left, right) = symbols_of(self.model, **merge);
            is_mixed(left) || is_mixed(right)
        })?;
        let (left, right) = symbols_of(self.model, *mixed);
        let explanation = format!(
            "{} is merged from {:?} and {:?}, of which one is merged at the same score; SentencePiece merges the leftmost of equal scores",
            self.named(mixed.piece),
            lossy_string(left),
            lossy_string(right),
        );
        Some(score_tie(explanation))
    }

    /// The merges in an order in which p precedes q if the right symbol of p is the left symbol of
    /// q; and a reason if there is none.
    fn sort_by_shared_symbols(
        &self,
        merges: Vec<OrderedMerge>,
    ) -> (Vec<OrderedMerge>, Option<Reason>) {
        let mut by_left: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (index, merge) in merges.iter().enumerate() {
            let (left, _) = symbols_of(self.model, *merge);
            by_left.entry(left).or_default().push(index);
        }
        let successors = |index: usize| {
            let (_, right) = symbols_of(self.model, merges[index]);
            let found = by_left.get(right).map_or(&[][..], Vec::as_slice);
            found.iter().copied().filter(move |other| *other != index)
        };
        let mut waiting = vec![0_usize; merges.len()];
        for index in 0..merges.len() {
            successors(index).for_each(|other| waiting[other] += 1);
        }
        let mut ready: BTreeSet<usize> = (0..merges.len()).filter(|at| waiting[*at] == 0).collect();
        let mut sorted = Vec::with_capacity(merges.len());
        while let Some(index) = ready.pop_first() {
            sorted.push(merges[index]);
            for other in successors(index) {
                waiting[other] -= 1;
                if waiting[other] == 0 {
                    ready.insert(other);
                }
            }
        }
        if sorted.len() == merges.len() {
            return (sorted, None);
        }
        let cyclic: Vec<usize> = (0..merges.len()).filter(|at| waiting[*at] > 0).collect();
        let reason = self.cycle(&merges, &cyclic, successors);
        sorted.extend(cyclic.into_iter().map(|index| merges[index]));
        (sorted, reason)
    }

    /// The reason for merges that have no order. They are exported in the order of their ids, so a
    /// text in which the piece with the higher id is to the left shows the difference.
    fn cycle<I: Iterator<Item = usize>>(
        &self,
        merges: &[OrderedMerge],
        cyclic: &[usize],
        successors: impl Fn(usize) -> I,
    ) -> Option<Reason> {
        let first = *cyclic.first()?;
        let conflict = cyclic.iter().find_map(|index| {
            let later = successors(*index).find(|other| other < index && cyclic.contains(other));
            later.map(|other| (*index, other))
        });
        let (left, right) = conflict.unwrap_or((first, first));
        let explanation = format!(
            "{} pieces with equal scores share symbols, for example {} and {}; SentencePiece merges the leftmost, so no order of \
             the merges is right for every text",
            cyclic.len(),
            self.named(merges[left].piece),
            self.named(merges[right].piece),
        );
        let reason = score_tie(explanation);
        let Some((left, right)) = conflict else {
            return Some(reason);
        };
        let (start, _) = symbols_of(self.model, merges[left]);
        let text = [start, self.text(merges[right].piece)].concat();
        Some(reason.with_example(plain_text(&text)))
    }

    /// A piece for a message.
    fn named(&self, piece: PieceId) -> String {
        named(self.model, piece)
    }
}

fn run_reason(character: &[u8]) -> Reason {
    score_tie(format!(
        "pieces that repeat {:?} have equal scores, and no order of their merges is known to equal SentencePiece's, which merges the \
         leftmost",
        lossy_string(character)
    ))
}

fn score_tie(explanation: String) -> Reason {
    Reason::new(ReasonKind::ScoreTie, explanation)
}

/// A piece for a message: its text and its id.
pub(crate) fn named(model: &Model, piece: PieceId) -> String {
    let text = lossy_string(model.table().text(piece.index()));
    format!("{text:?} (id {piece})")
}

/// A normalized text as a caller would write it, with spaces for whitespace marks.
pub(crate) fn plain_text(normalized: &[u8]) -> String {
    lossy_string(normalized).replace(crate::base::WHITESPACE_MARK, " ")
}

/// Whether text is merged to a piece.
pub(crate) fn is_merged(table: &MergeTable, piece: PieceId) -> bool {
    matches!(table.formation(piece), Formation::Merged { .. })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelType, PieceKind};

    fn order_of(pieces: &[(&str, f32)]) -> (Vec<String>, usize) {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        builder.piece("<unk>", 0.0, PieceKind::Unknown);
        for (text, score) in pieces {
            builder.piece(text, *score, PieceKind::Normal);
        }
        let model = builder.build().unwrap();
        let table = MergeTable::new(&model).unwrap();
        let order = MergeOrder::new(&model, &table);
        let texts = order.merges.iter().map(|merge| {
            let (left, right) = symbols_of(&model, *merge);
            format!("{}+{}", lossy_string(left), lossy_string(right))
        });
        (texts.collect(), order.reasons.len())
    }

    #[test]
    fn different_scores_decide() {
        let pieces = [("bc", -2.0), ("ab", -1.0), ("abc", -3.0)];
        assert_eq!(
            order_of(&pieces),
            (["a+b", "b+c", "ab+c"].map(str::to_owned).to_vec(), 0)
        );
    }

    #[test]
    fn runs_of_one_character_are_longest_first() {
        let pieces = [("__", -9.0), ("____", -9.0), ("___", -9.0)];
        assert_eq!(
            order_of(&pieces),
            (["___+_", "__+_", "_+_"].map(str::to_owned).to_vec(), 0)
        );
        // Four are merged from three and one, six from four and two.
        let with_gap = [
            ("__", -9.0),
            ("____", -9.0),
            ("___", -9.0),
            ("______", -9.0),
        ];
        assert_eq!(order_of(&with_gap).1, 0);
        let other_score = [("__", -9.0), ("____", -9.0), ("___", -8.0)];
        assert!(order_of(&other_score).1 > 0);
    }

    #[test]
    fn shared_symbols_of_equal_scores_decide_unless_cyclic() {
        let pieces = [("bc", -1.0), ("ab", -1.0)];
        assert_eq!(
            order_of(&pieces),
            (["a+b", "b+c"].map(str::to_owned).to_vec(), 0)
        );
        let (merges, reasons) = order_of(&[("ba", -1.0), ("ab", -1.0)]);
        assert_eq!((merges.len(), reasons), (2, 1));
    }

    #[test]
    fn merges_that_use_a_piece_of_their_own_score_are_a_reason() {
        assert_eq!(order_of(&[("ab", -1.0), ("abc", -1.0)]).1, 1);
    }
}
