//! The pieces of a BPE model, and whether SentencePiece executes the merges of the list.
//!
//! Input: the vocabulary and the merges. Output: a model, with scores that put the pieces in the order of the merges.
//!
//! The score of a piece is minus the rank of its first merge, so that SentencePiece prefers pieces in the order of the merges.
//! SentencePiece then merges every pair whose joined text is a piece, `tokenizers` only the pairs of the list. The ids are equal
//! for all text if, for each piece that SentencePiece merges text to, the one pair that it executes (see `merges`) is the first
//! pair of that piece in the list:
//!
//! Let both programs have the same symbols, and let SentencePiece's next merge give the piece p. This pair is in the list, so it
//! is a candidate of `tokenizers`, too, with the rank of p. Every other candidate gives a piece q which SentencePiece ranks behind
//! p, or p to the right; its rank is at least the first rank of q. So `tokenizers` executes the same merge.
//!
//! Pieces of several characters without a merge are never given by `tokenizers`; they become control pieces, which never merge.
//! Ids without a piece become control pieces, too.
//!
//! Example: the vocabulary `a b c ab abc` with the merges `a b` and `ab c` gives `ab` the score 0 and `abc` the score -1. The last
//! merge of `abc` is `ab c`, the first one of the list: equal. If the list had `a bc` instead, SentencePiece would still merge
//! `ab c`, and the verdict would name `abc`.
//!
//! Cost: linear in the merges, and the analysis of [`MergeTable`], which is cheap for pieces whose first pair is the one that
//! SentencePiece executes.

use super::entries::VocabularyEntries;
use super::{Import, UnjudgedModel, syntax, unsupported};
use crate::convert::merges::listed::{ListedMerge, ListedMerges};
use crate::convert::merges::{Formation, MergeTable};
use crate::convert::order::{named, plain_text};
use crate::convert::tokenizer_json::export::MergeReasons;
use crate::convert::tokenizer_json::parse::JsonText;
use crate::convert::{Reason, ReasonKind};
use crate::error::ConvertError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::num::low_u32;
use crate::text::{WHITESPACE_MARK, is_char, lossy_string};

/// Pieces of a BPE model: ranks up to here are exact in a 32-bit float.
const MAX_RANKED_PIECES: usize = 1 << 24;

/// A rank of pieces that have no score.
const NO_RANK: u32 = u32::MAX;

/// The first merge of a piece.
#[derive(Debug, Clone, Copy)]
struct FirstMerge {
    /// Its position in the list of first merges; [`NO_RANK`] if the piece has none.
    position: u32,
    /// The bytes of the left text.
    split: u32,
}

const NO_MERGE: FirstMerge = FirstMerge {
    position: NO_RANK,
    split: 0,
};

impl FirstMerge {
    fn exists(self) -> bool {
        self.position != NO_RANK
    }
}

/// The first merge of each piece that has one, in the order of the list.
#[derive(Debug)]
struct FirstMerges {
    merges: Vec<ListedMerge>,
    /// By the id of the piece.
    by_piece: Vec<FirstMerge>,
}

impl Import<'_, '_> {
    /// The model, and what the verdict on its merges needs.
    pub(super) fn bpe(mut self, entries: VocabularyEntries) -> Result<UnjudgedModel, ConvertError> {
        let unknown = self.unknown_of_bpe(&entries)?;
        let first_merges = self.first_merges(&entries)?;
        let mut scores = Scores::new(&first_merges)?;
        let mut ranks = Vec::with_capacity(entries.len() + 1);
        let mut pieces = Vec::with_capacity(entries.len());
        for (id, first_merge) in first_merges.by_piece.iter().enumerate() {
            // A stand-in has several characters.
            let is_char = entries.is_held(id) && entries.text(id).is_some_and(is_char);
            let kind = match self.meta_kind(&entries, id, unknown) {
                Some(kind) => kind,
                None if is_char || first_merge.exists() => PieceKind::Normal,
                None => PieceKind::Control,
            };
            let is_ranked = matches!(kind, PieceKind::Normal | PieceKind::UserDefined);
            let rank = is_ranked.then(|| scores.next(*first_merge));
            pieces.push((rank.map_or(0.0, score_of), kind));
            ranks.push(rank.unwrap_or(NO_RANK));
        }
        self.add_reasons_of_nul(&entries);
        let model = self.build(entries, unknown, pieces)?;
        ranks.resize(model.len(), NO_RANK);
        let merges = MergeEvidence {
            listed: ListedMerges::new(ranks, first_merges.merges),
            by_piece: first_merges.by_piece,
            splits_at_marks: self.flags.splits_at_marks,
            adds_dummy_prefix: self.flags.add_dummy_prefix,
            ignores_merges: self.file.model.ignore_merges == Some(true),
        };
        Ok(UnjudgedModel {
            model,
            verdict: self.verdict,
            merges: Some(merges),
        })
    }

    /// The id of the unknown piece of a BPE model.
    fn unknown_of_bpe(
        &mut self,
        entries: &VocabularyEntries,
    ) -> Result<Option<PieceId>, ConvertError> {
        let model = &self.file.model;
        let Some(text) = model.unk_token.as_ref().map(JsonText::as_str) else {
            if !self.has_byte_fallback {
                self.reason(
                    ReasonKind::UnknownCharacter,
                    "model.unk_token is missing: tokenizers drops characters without a piece",
                );
            }
            return Ok(entries.id("<unk>"));
        };
        let missing = || syntax(format!("model.unk_token {text:?} is not in the vocabulary"));
        let id = entries.id(text).ok_or_else(missing)?;
        if !self.has_byte_fallback && model.fuse_unk != Some(true) {
            self.reason(ReasonKind::UnknownCharacter, "model.fuse_unk is off: tokenizers gives one unknown id for each character, SentencePiece one for each run");
        }
        Ok(Some(id))
    }

    /// The first merge of each piece, by id.
    fn first_merges(&mut self, entries: &VocabularyEntries) -> Result<FirstMerges, ConvertError> {
        let mut first = FirstMerges {
            merges: Vec::with_capacity(self.lists.merges.len().min(entries.len())),
            by_piece: vec![NO_MERGE; entries.len()],
        };
        let mut joined = Vec::new();
        let mut expected = 0;
        let mut repeated = None;
        for (rank, merge) in (0_u32..).zip(&self.lists.merges) {
            let [left, right] = merge.map(|text| self.lists.text(text));
            let find = |text: &[u8]| {
                entries.id(text).ok_or_else(|| {
                    let text = lossy_string(text);
                    syntax(format!("merge {rank}: {text:?} is not in the vocabulary"))
                })
            };
            // In most files the next merge gives the next piece.
            let next = entries.text(expected);
            let is_next = next.and_then(|text| text.strip_prefix(left)) == Some(right);
            let piece = if is_next {
                PieceId::from_index(expected)
            } else {
                joined.clear();
                joined.extend_from_slice(left);
                joined.extend_from_slice(right);
                find(&joined)?
            };
            expected = piece.index() + 1;
            let known = first.by_piece[piece.index()];
            if !known.exists() {
                let parts = [find(left)?, find(right)?];
                first.add(piece, parts, merge[0].len());
            } else if known.split as usize == left.len() {
                repeated = Some(lossy_string(&[left, right].concat()));
            }
        }
        if let Some(text) = repeated {
            self.reason(
                ReasonKind::MergeOrder,
                format!(
                    "a merge that gives {text:?} is listed twice; tokenizers takes the last one"
                ),
            );
        }
        Ok(first)
    }
}

/// What the verdict on the merges of a model needs besides the model.
#[derive(Debug)]
pub(super) struct MergeEvidence {
    listed: ListedMerges,
    /// The first merge of each piece, by id.
    by_piece: Vec<FirstMerge>,
    splits_at_marks: bool,
    adds_dummy_prefix: bool,
    ignores_merges: bool,
}

impl MergeEvidence {
    /// Reasons why text can be merged in another way.
    ///
    /// # Errors
    /// The user-defined symbols do not fit a trie; loading has excluded that.
    pub(super) fn reasons(&self, model: &Model) -> Result<Vec<Reason>, ConvertError> {
        let table = MergeTable::with_listed(model, &self.listed)?;
        let mut reasons = Vec::new();
        reasons.extend(self.other_pairs(model, &table));
        if self.splits_at_marks {
            reasons.extend(inner_mark(model));
        }
        if self.ignores_merges {
            reasons.extend(self.ignored_merges(model, &table));
        }
        reasons.extend(MergeReasons::new(model, &table).single_characters());
        Ok(reasons)
    }

    /// The reason if SentencePiece executes other merges than the first ones of the list.
    fn other_pairs(&self, model: &Model, table: &MergeTable) -> Option<Reason> {
        let is_other = |(id, split): &(PieceId, usize)| {
            let first = self.by_piece.get(id.index()).copied();
            let first = first.filter(|first| first.exists());
            first.is_none_or(|first| first.split as usize != *split)
        };
        let others: Vec<(PieceId, usize)> = table.merged().filter(is_other).collect();
        let (id, split) = others.first()?;
        let text = model.table().text(id.index());
        let (left, right) = text.split_at(*split);
        let explanation = format!(
            "SentencePiece merges {} pieces from another pair than the first one of the list, for example {} from {:?} and {:?}",
            others.len(),
            named(model, *id),
            plain_text(left),
            plain_text(right),
        );
        Some(reason_with_text(explanation, text))
    }

    /// With `ignore_merges`, a text that is a piece gives this piece, whatever the merges say.
    fn ignored_merges(&self, model: &Model, table: &MergeTable) -> Option<Reason> {
        let is_text = |text: &[u8]| {
            !self.adds_dummy_prefix || text.starts_with(WHITESPACE_MARK.to_string().as_bytes())
        };
        let mut pieces = model.pieces().filter(|piece| is_text(piece.text));
        let piece = pieces.find(|piece| {
            let is_given = piece.kind.is_given_for_text();
            !is_given || table.formation(piece.id) == Formation::Unreachable
        })?;
        let explanation = format!(
            "model.ignore_merges is on: tokenizers gives {} for the text of this piece, SentencePiece does not",
            named(model, piece.id)
        );
        Some(reason_with_text(explanation, piece.text))
    }
}

/// Text is split before marks, so a piece with a mark behind its start is never found.
pub(super) fn inner_mark(model: &Model) -> Option<Reason> {
    let mark = WHITESPACE_MARK.to_string();
    let has_inner_mark =
        |text: &[u8]| memchr::memmem::rfind(text, mark.as_bytes()).is_some_and(|at| at > 0);
    let mut normal = model
        .pieces()
        .filter(|piece| piece.kind == PieceKind::Normal);
    let piece = normal.find(|piece| has_inner_mark(piece.text))?;
    let explanation = format!(
        "tokenizers splits text before every U+2581, so that it never finds {}",
        named(model, piece.id)
    );
    Some(reason_with_text(explanation, piece.text))
}

/// A reason that the text of a piece shows.
fn reason_with_text(explanation: String, text: &[u8]) -> Reason {
    Reason::new(ReasonKind::MergeOrder, explanation).with_example(plain_text(text))
}

impl FirstMerges {
    /// Adds the merge of two pieces, the first of which has a text of `split` bytes.
    fn add(&mut self, piece: PieceId, [left, right]: [PieceId; 2], split: usize) {
        self.by_piece[piece.index()] = FirstMerge {
            position: low_u32(self.merges.len() as u64),
            // A file has less than 4 GiB.
            split: low_u32(split as u64),
        };
        self.merges.push(ListedMerge { piece, left, right });
    }
}

/// Ranks that ascend in the order of the first merges, and then in the order of the ids.
struct Scores {
    /// The rank of the next piece without a merge.
    next_rank: u32,
}

impl Scores {
    fn new(first_merges: &FirstMerges) -> Result<Scores, ConvertError> {
        let pieces = first_merges.by_piece.len();
        if pieces > MAX_RANKED_PIECES {
            return Err(unsupported("model.vocab", format!("{pieces} pieces long")));
        }
        Ok(Scores {
            next_rank: low_u32(first_merges.merges.len() as u64),
        })
    }

    /// The rank of the next piece.
    fn next(&mut self, first_merge: FirstMerge) -> u32 {
        if first_merge.exists() {
            return first_merge.position;
        }
        self.next_rank += 1;
        self.next_rank - 1
    }
}

/// The score of a piece with a rank of at most 2^24.
#[expect(
    clippy::cast_precision_loss,
    reason = "floats hold numbers up to 2^24 exactly"
)]
fn score_of(rank: u32) -> f32 {
    -(rank as f32)
}
