//! The pieces of a BPE model, and whether SentencePiece executes the merges of the list.
//!
//! Input: the vocabulary and the merges. Output: a model, with scores that put the pieces in the
//! order of the merges.
//!
//! The score of a piece is minus the rank of its first pair, so that SentencePiece prefers pieces
//! in the order of the list. SentencePiece then merges every pair whose joined text is a piece,
//! `tokenizers` only the pairs of the list, each with its own rank. Of the pairs of a piece, only
//! one ever occurs as neighbouring symbols: the last merge of the piece (see `merges`), called *its
//! pair* below. The ids are equal for all text if
//!
//! 1. the list has the pair of each piece that SentencePiece merges text to,
//! 2. the ranks of these pairs have the order of the scores of their pieces,
//! 3. no pair of the list that gives a piece of another kind than normal is ever a pair of
//!    neighbouring symbols, and
//! 4. no pair of the list has a byte piece or the unknown piece, which `tokenizers` puts in the
//!    place of characters without a piece.
//!
//! **Why one pair.** Let l and r be neighbouring symbols in SentencePiece whose joined text is a
//! piece p. No merge has crossed the borders of p so far, so the merges within it are the first
//! ones of merging the text of p alone (locality). Merging p alone has then reached the two symbols
//! l and r, and can only merge them. So l and r are the last merge of p.
//!
//! **Proof.** By induction over the merges both programs have the same symbols. A pair of
//! neighbours in the list gives a normal piece (3, 4), so it is a candidate of SentencePiece;
//! SentencePiece's candidates are pairs of their pieces, so they are in the list (1). Both programs
//! have the same candidates. Both take the best one in the same order (2), of equal ones, which are
//! the same pair at several places, the leftmost. The order of all other pairs of the list does not
//! matter, since they never are neighbours.
//!
//! Pieces of several characters without a merge are never given by `tokenizers`; they become
//! control pieces, which never merge. Ids without a piece become control pieces, too.
//!
//! Example: the vocabulary `a b c ab abc` with the merges `a b` and `ab c` gives `ab` the score 0
//! and `abc` the score -1. The last merge of `abc` is `ab c`, which is in the list: the ids are
//! equal, even if the list also has `a bc`, at any position. If the list had `a bc` alone,
//! SentencePiece would still merge `ab c`, and the verdict would name `abc`.
//!
//! Cost: linear in the merges, and the analysis of [`MergeTable`], which is cheap for pieces whose
//! first pair is the one that SentencePiece executes.

use super::entries::VocabularyEntries;
use super::pairs::{FirstPair, ListedPairs, PairPlace};
use super::{Import, UnjudgedModel, syntax, unsupported};
use crate::convert::merges::listed::ListedMerges;
use crate::convert::merges::{Formation, MergeProcess, MergeTable};
use crate::convert::order::{named, plain_text};
use crate::convert::tokenizer_json::export::MergeReasons;
use crate::convert::tokenizer_json::{kind_of, pieces_of_kind, text_of};
use crate::convert::{Reason, ReasonKind};
use crate::error::ConvertError;
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::text::{WHITESPACE_MARK_STR, is_char};

/// The largest number of pieces of a BPE model: ranks up to here are exact in a 32-bit float.
const MAX_RANKED_PIECES: usize = 1 << 24;

/// Texts before a piece in examples, tried in this order.
const EXAMPLE_CONTEXTS: [&str; 3] = ["", "\n", "0"];

/// The rank of pieces without a score.
const NO_RANK: u32 = u32::MAX;

impl Import<'_, '_> {
    /// The model, and what the verdict on its merges needs.
    pub(super) fn bpe(mut self, entries: VocabularyEntries) -> Result<UnjudgedModel, ConvertError> {
        self.unknown = self.unknown_of_bpe(&entries)?;
        let pairs = self.listed_pairs(&entries)?;
        let mut scores = Scores::new(&pairs)?;
        let mut ranks = Vec::with_capacity(entries.len() + 1);
        let mut pieces = Vec::with_capacity(entries.len());
        for (id, first) in pairs.by_piece().iter().enumerate() {
            let kind = self.kind_of_bpe(&entries, id, *first);
            let rank = is_ranked(kind).then(|| scores.next(*first));
            pieces.push((rank.map_or(0.0, score_of), kind));
            ranks.push(rank.unwrap_or(NO_RANK));
        }
        let model = self.build(entries, pieces)?;
        ranks.resize(model.len(), NO_RANK);
        let merges = Some(self.merge_evidence(ranks, pairs));
        Ok(UnjudgedModel {
            model,
            verdict: self.verdict,
            merges,
        })
    }

    /// The unknown piece of a BPE model.
    fn unknown_of_bpe(
        &mut self,
        entries: &VocabularyEntries,
    ) -> Result<Option<PieceId>, ConvertError> {
        let model = &self.file.model;
        let Some(text) = model.unk_token.as_deref() else {
            self.add_reason_of_unknown(
                "model.unk_token is missing: tokenizers drops characters without a piece",
            );
            return Ok(entries.id("<unk>"));
        };
        let missing = || syntax(format!("model.unk_token {text:?} is not in the vocabulary"));
        let id = entries.id(text).ok_or_else(missing)?;
        if model.fuse_unk != Some(true) {
            self.add_reason_of_unknown("model.fuse_unk is off: tokenizers gives one unknown id for each character, SentencePiece one for each run");
        }
        Ok(Some(id))
    }

    /// Adds a reason, unless byte pieces stand for characters without a piece.
    fn add_reason_of_unknown(&mut self, explanation: &str) {
        if !self.has_byte_fallback {
            self.reason(ReasonKind::UnknownCharacter, explanation);
        }
    }

    fn kind_of_bpe(&self, entries: &VocabularyEntries, id: usize, first: FirstPair) -> PieceKind {
        // A stand-in has several characters.
        let is_char = || entries.is_held(id) && entries.text(id).is_some_and(is_char);
        match self.meta_kind(entries, id) {
            Some(kind) => kind,
            None if first.position().is_some() || is_char() => PieceKind::Normal,
            None => PieceKind::Control,
        }
    }

    fn merge_evidence(&self, ranks: Vec<u32>, mut pairs: ListedPairs) -> MergeEvidence {
        MergeEvidence {
            listed: ListedMerges::new(ranks, pairs.take_first()),
            pairs,
            splits_at_marks: self.flags.splits_at_marks,
            adds_dummy_prefix: self.flags.add_dummy_prefix,
            ignores_merges: self.file.model.ignore_merges == Some(true),
        }
    }
}

/// Whether pieces of this kind have scores that matter.
fn is_ranked(kind: PieceKind) -> bool {
    matches!(kind, PieceKind::Normal | PieceKind::UserDefined)
}

/// What the verdict on the merges of a model needs besides the model.
#[derive(Debug)]
pub(super) struct MergeEvidence {
    listed: ListedMerges,
    pairs: ListedPairs,
    splits_at_marks: bool,
    adds_dummy_prefix: bool,
    ignores_merges: bool,
}

impl MergeEvidence {
    /// Reasons why text can be merged in another way.
    ///
    /// # Errors
    /// The user-defined symbols do not fit in a trie, which cannot happen for a loaded model.
    pub(super) fn reasons(&self, model: &Model) -> Result<Vec<Reason>, ConvertError> {
        let other_splits = |piece| self.pairs.other_splits(piece).collect();
        let table = MergeTable::with_listed(model, &self.listed, &other_splits)?;
        let mut reasons = Vec::new();
        reasons.extend(self.missing_pairs(model, &table));
        reasons.extend(self.other_order(model, &table));
        reasons.extend(self.merged_meta_piece(model)?);
        if self.splits_at_marks {
            reasons.extend(inner_mark(model));
        }
        if self.ignores_merges {
            reasons.extend(self.ignored_merges(model, &table));
        }
        reasons.extend(MergeReasons::new(model, &table).single_characters());
        Ok(reasons)
    }

    /// The reason if SentencePiece executes merges that the list does not have.
    fn missing_pairs(&self, model: &Model, table: &MergeTable) -> Option<Reason> {
        let is_missing = |(id, split): &(PieceId, usize)| self.pairs.place(*id, *split).is_none();
        let missing: Vec<(PieceId, usize)> = table.merged().filter(is_missing).collect();
        let (id, split) = *missing.first()?;
        let explanation = format!(
            "SentencePiece merges {} pieces from a pair that is not in the list, for example {}",
            missing.len(),
            named_pair(model, id, split),
        );
        let text = text_of(model, id);
        Some(reason_with_text(explanation, text))
    }

    /// The reason if the pairs that SentencePiece executes have another order than the first pairs
    /// of their pieces.
    fn other_order(&self, model: &Model, table: &MergeTable) -> Option<Reason> {
        let places = self.executed_places(table);
        let is_late = |pair: &&[(PieceId, PairPlace)]| pair[0].1 > pair[1].1;
        let mut late = places.windows(2).filter(is_late);
        let [(first, _), (second, _)] = late.next()? else {
            return None;
        };
        let explanation = format!(
            "the pairs of {} and {} are listed by turns, and in another order than SentencePiece merges them{}",
            named(model, *first),
            named(model, *second),
            more_findings(late.count()),
        );
        Some(Reason::new(ReasonKind::MergeOrder, explanation))
    }

    /// The places of the pairs that SentencePiece executes, in the order of the first pairs of
    /// their pieces.
    fn executed_places(&self, table: &MergeTable) -> Vec<(PieceId, PairPlace)> {
        let place = |id| match table.formation(id) {
            Formation::Merged { split } => Some((id, self.pairs.place(id, split)?)),
            _ => None,
        };
        self.listed_pieces().filter_map(place).collect()
    }

    /// The pieces with a pair, in the order of the list.
    fn listed_pieces(&self) -> impl Iterator<Item = PieceId> {
        self.listed.merges().iter().map(|merge| merge.piece)
    }

    /// The reason if `tokenizers` merges text to a piece that SentencePiece never gives for text.
    ///
    /// # Errors
    /// The user-defined symbols do not fit in a trie, which cannot happen for a loaded model.
    fn merged_meta_piece(&self, model: &Model) -> Result<Option<Reason>, ConvertError> {
        let meta = self.listed_pieces().filter(|id| is_meta(model, *id));
        let mut meta = meta.peekable();
        if meta.peek().is_none() {
            return Ok(None);
        }
        let mut process = MergeProcess::new(model, self.listed.ranks())?;
        let found = meta.find(|id| self.is_listed_last(&mut process, *id, model));
        Ok(found.map(|id| self.reason_of_meta_piece(&mut process, id, model)))
    }

    /// Whether the list has the pair that SentencePiece would merge last for the text of a piece.
    fn is_listed_last(&self, process: &mut MergeProcess<'_>, id: PieceId, model: &Model) -> bool {
        let symbols = process.symbol_starts(text_of(model, id));
        matches!(symbols[..], [_, split] if self.pairs.place(id, split).is_some())
    }

    fn reason_of_meta_piece(
        &self,
        process: &mut MergeProcess<'_>,
        id: PieceId,
        model: &Model,
    ) -> Reason {
        let explanation = format!(
            "tokenizers merges text to {} with split_special_tokens, SentencePiece does not",
            named(model, id)
        );
        let mut reason = Reason::new(ReasonKind::MetaPiece, explanation);
        reason.example = self.text_of_neighbours(process, text_of(model, id));
        reason
    }

    /// A text in which SentencePiece has two symbols that together are `text`.
    fn text_of_neighbours(&self, process: &mut MergeProcess<'_>, text: &[u8]) -> Option<String> {
        let shows = |context: &&str| {
            let before = [self.prefix(), context].concat();
            has_two_symbols(process, before.as_bytes(), text)
        };
        let context = EXAMPLE_CONTEXTS.into_iter().find(shows)?;
        Some(plain_text(&[context.as_bytes(), text].concat()))
    }

    /// What normalization puts before a text.
    fn prefix(&self) -> &'static str {
        match self.adds_dummy_prefix {
            true => WHITESPACE_MARK_STR,
            false => "",
        }
    }

    /// With `ignore_merges`, a text that is a piece gives this piece, whatever the merges say.
    fn ignored_merges(&self, model: &Model, table: &MergeTable) -> Option<Reason> {
        let is_text = |piece: &Piece<'_>| piece.text.starts_with(self.prefix().as_bytes());
        let is_ignored = |piece: &Piece<'_>| is_text(piece) && is_never_given(table, piece);
        let piece = model.pieces().find(is_ignored)?;
        let explanation = format!(
            "model.ignore_merges is on: tokenizers gives {} for the text of this piece, SentencePiece does not",
            named(model, piece.id)
        );
        Some(reason_with_text(explanation, piece.text))
    }
}

/// A piece and the two texts that are merged to it, for messages.
fn named_pair(model: &Model, id: PieceId, split: usize) -> String {
    let (left, right) = text_of(model, id).split_at(split);
    let [left, right] = [left, right].map(plain_text);
    format!("{} from {left:?} and {right:?}", named(model, id))
}

/// The end of a message on the first of several findings.
fn more_findings(others: usize) -> String {
    match others {
        0 => String::new(),
        _ => format!("; {} such findings in all", others + 1),
    }
}

/// Whether SentencePiece never gives a piece for text. User-defined symbols are found before
/// anything is merged.
fn is_meta(model: &Model, id: PieceId) -> bool {
    !kind_of(model, id).is_given_for_text()
}

/// Whether `text` has two symbols behind the text `before`.
fn has_two_symbols(process: &mut MergeProcess<'_>, before: &[u8], text: &[u8]) -> bool {
    let symbols = process.symbol_starts(&[before, text].concat());
    let start = symbols.iter().position(|symbol| *symbol == before.len());
    start.is_some_and(|start| symbols.len() - start == 2)
}

/// Whether SentencePiece gives a piece for no text.
fn is_never_given(table: &MergeTable, piece: &Piece<'_>) -> bool {
    !piece.kind.is_given_for_text() || table.formation(piece.id) == Formation::Unreachable
}

/// Text is split before marks, so a piece with a mark behind its start is never found.
pub(super) fn inner_mark(model: &Model) -> Option<Reason> {
    let mut normal = pieces_of_kind(model, PieceKind::Normal);
    let piece = normal.find(|piece| has_inner_mark(piece.text))?;
    let explanation = format!(
        "tokenizers splits text before every U+2581, so that it never finds {}",
        named(model, piece.id)
    );
    Some(reason_with_text(explanation, piece.text))
}

fn has_inner_mark(text: &[u8]) -> bool {
    let last = memchr::memmem::rfind(text, WHITESPACE_MARK_STR.as_bytes());
    last.is_some_and(|at| at > 0)
}

/// A reason that the text of a piece shows.
fn reason_with_text(explanation: String, text: &[u8]) -> Reason {
    Reason::new(ReasonKind::MergeOrder, explanation).with_example(plain_text(text))
}

/// Assigns ranks: first to the pieces with a pair, in the order of their first pairs, then to the
/// others, in the order of their ids.
struct Scores {
    /// The rank of the next piece without a merge.
    next_rank: u32,
}

impl Scores {
    fn new(pairs: &ListedPairs) -> Result<Self, ConvertError> {
        let pieces = pairs.by_piece().len();
        if pieces > MAX_RANKED_PIECES {
            return Err(too_many_pieces(pieces));
        }
        Ok(Self {
            next_rank: pairs.first_count(),
        })
    }

    /// The rank of the next piece.
    fn next(&mut self, first: FirstPair) -> u32 {
        if let Some(position) = first.position() {
            return position;
        }
        self.next_rank += 1;
        self.next_rank - 1
    }
}

fn too_many_pieces(pieces: usize) -> ConvertError {
    unsupported("model.vocab", format!("{pieces} pieces long"))
}

/// The score of a piece with a rank of at most 2^24.
#[expect(
    clippy::cast_precision_loss,
    reason = "floats hold numbers up to 2^24 exactly"
)]
fn score_of(rank: u32) -> f32 {
    -(rank as f32)
}
