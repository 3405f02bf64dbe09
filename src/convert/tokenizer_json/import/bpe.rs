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
use super::{Import, syntax, unsupported};
use crate::convert::merges::listed::{ListedMerge, ListedMerges};
use crate::convert::merges::{Formation, MergeTable};
use crate::convert::order::{named, plain_text};
use crate::convert::tokenizer_json::export::MergeReasons;
use crate::convert::tokenizer_json::parse::JsonText;
use crate::convert::{ConvertedModel, Reason, ReasonKind};
use crate::error::ConvertError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::WHITESPACE_MARK;
use crate::text::num::low_u32;

/// Pieces of a BPE model: ranks up to here are exact in a 32-bit float.
const MAX_RANKED_PIECES: usize = 1 << 24;

/// A rank of pieces that have no score.
const NO_RANK: u32 = u32::MAX;

/// The first merge of each piece that has one, in the order of the list.
struct FirstMerges {
    merges: Vec<ListedMerge>,
    /// The position in `merges` and the bytes of the left text, by the id of the piece.
    by_piece: Vec<Option<(u32, usize)>>,
}

impl Import<'_, '_> {
    /// The model and the verdict.
    pub(super) fn bpe(
        mut self,
        entries: VocabularyEntries<'_>,
    ) -> Result<ConvertedModel, ConvertError> {
        let unknown = self.unknown_of_bpe(&entries)?;
        let first_merges = self.first_merges(&entries)?;
        let mut builder = self.builder();
        let mut scores = Scores::new(&first_merges)?;
        let mut ranks = Vec::with_capacity(first_merges.by_piece.len() + 1);
        for (id, first_merge) in first_merges.by_piece.iter().enumerate() {
            let text = entries.text_or_stand_in(id);
            let text = text.as_ref();
            let is_char = text.chars().nth(1).is_none();
            let kind = match self.meta_kind(&entries, id, unknown) {
                Some(kind) => kind,
                None if is_char || first_merge.is_some() => PieceKind::Normal,
                None => PieceKind::Control,
            };
            let is_ranked = matches!(kind, PieceKind::Normal | PieceKind::UserDefined);
            let rank = is_ranked.then(|| scores.next(*first_merge));
            builder.piece(text, rank.map_or(0.0, score_of), kind);
            ranks.push(rank.unwrap_or(NO_RANK));
        }
        self.add_unknown(&mut builder, &entries, unknown);
        let model = self.finish(builder, &entries)?;
        ranks.resize(model.len(), NO_RANK);
        self.add_reasons_of_nul(&entries);
        self.add_reasons_of_merges(&model, first_merges, ranks)?;
        Ok(ConvertedModel {
            model,
            verdict: self.verdict,
        })
    }

    /// The id of the unknown piece of a BPE model.
    fn unknown_of_bpe(
        &mut self,
        entries: &VocabularyEntries<'_>,
    ) -> Result<Option<u32>, ConvertError> {
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
    fn first_merges(
        &mut self,
        entries: &VocabularyEntries<'_>,
    ) -> Result<FirstMerges, ConvertError> {
        let mut first = FirstMerges {
            merges: Vec::with_capacity(self.file.model.merges.len().min(entries.texts.len())),
            by_piece: vec![None; entries.texts.len()],
        };
        let mut joined = String::new();
        let mut expected = 0;
        let mut repeated = None;
        for (rank, merge) in (0_u32..).zip(&self.file.model.merges) {
            let not_two = || syntax(format!("merge {rank} does not have two parts"));
            let (left, right) = merge.texts().ok_or_else(not_two)?;
            let find = |text: &str| -> Result<PieceId, ConvertError> {
                let missing = || syntax(format!("merge {rank}: {text:?} is not in the vocabulary"));
                let id = entries.id(text).ok_or_else(missing)?;
                Ok(PieceId::new(id))
            };
            // In most files the next merge gives the next piece.
            let next = entries.texts.get(expected).copied().flatten();
            let is_next = next.and_then(|text| text.strip_prefix(left)) == Some(right);
            let piece = if is_next {
                PieceId::from_index(expected)
            } else {
                joined.clear();
                joined.push_str(left);
                joined.push_str(right);
                find(&joined)?
            };
            expected = piece.index() + 1;
            match first.by_piece[piece.index()] {
                None => {
                    let left_piece = find(left)?;
                    let right_piece = find(right)?;
                    first.add(piece, [left_piece, right_piece], left.len());
                }
                Some((_, split)) if split == left.len() => repeated = Some([left, right].concat()),
                Some(_) => {}
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

    /// Compares the merges that SentencePiece executes with the first merges of the list.
    fn add_reasons_of_merges(
        &mut self,
        model: &Model,
        first: FirstMerges,
        ranks: Vec<u32>,
    ) -> Result<(), ConvertError> {
        let FirstMerges { merges, by_piece } = first;
        let table = MergeTable::with_listed(model, ListedMerges::new(ranks, merges))?;
        let is_other = |(id, split): &(PieceId, usize)| {
            let first = by_piece.get(id.index()).copied().flatten();
            first.is_none_or(|(_, first)| first != *split)
        };
        let others: Vec<(PieceId, usize)> = table.merged().filter(is_other).collect();
        if let Some((id, split)) = others.first() {
            let text = model.table().text(id.index());
            let (left, right) = text.split_at(*split);
            let explanation = format!(
                "SentencePiece merges {} pieces from another pair than the first one of the list, for example {} from {:?} and {:?}",
                others.len(),
                named(model, *id),
                plain_text(left),
                plain_text(right),
            );
            self.verdict.add(
                Reason::new(ReasonKind::MergeOrder, explanation).with_example(plain_text(text)),
            );
        }
        if self.flags.splits_at_marks {
            self.add_reason_of_inner_marks(model);
        }
        if self.file.model.ignore_merges == Some(true) {
            self.add_reason_of_ignored_merges(model, &table);
        }
        let single = MergeReasons::new(model, &table).single_characters();
        single
            .into_iter()
            .for_each(|reason| self.verdict.add(reason));
        Ok(())
    }

    /// Text is split before marks, so a piece with a mark behind its start is never found.
    pub(super) fn add_reason_of_inner_marks(&mut self, model: &Model) {
        let mark = WHITESPACE_MARK.to_string();
        let has_inner_mark =
            |text: &[u8]| memchr::memmem::rfind(text, mark.as_bytes()).is_some_and(|at| at > 0);
        let mut normal = model
            .pieces()
            .filter(|piece| piece.kind == PieceKind::Normal);
        if let Some(piece) = normal.find(|piece| has_inner_mark(piece.text)) {
            let explanation = format!(
                "tokenizers splits text before every U+2581, so that it never finds {}",
                named(model, piece.id)
            );
            self.add_reason_of_text(explanation, piece.text);
        }
    }

    /// Adds a reason that the text of a piece shows.
    fn add_reason_of_text(&mut self, explanation: String, text: &[u8]) {
        let reason = Reason::new(ReasonKind::MergeOrder, explanation);
        self.verdict.add(reason.with_example(plain_text(text)));
    }

    /// With `ignore_merges`, a text that is a piece gives this piece, whatever the merges say.
    fn add_reason_of_ignored_merges(&mut self, model: &Model, table: &MergeTable) {
        let is_text = |text: &[u8]| {
            !self.flags.add_dummy_prefix || text.starts_with(WHITESPACE_MARK.to_string().as_bytes())
        };
        let mut pieces = model.pieces().filter(|piece| is_text(piece.text));
        let other = pieces.find(|piece| {
            let is_given = piece.kind.is_given_for_text();
            !is_given || table.formation(piece.id) == Formation::Unreachable
        });
        if let Some(piece) = other {
            let explanation = format!(
                "model.ignore_merges is on: tokenizers gives {} for the text of this piece, SentencePiece does not",
                named(model, piece.id)
            );
            self.add_reason_of_text(explanation, piece.text);
        }
    }
}

impl FirstMerges {
    /// Adds the merge of two pieces, the first of which has a text of `split` bytes.
    fn add(&mut self, piece: PieceId, [left, right]: [PieceId; 2], split: usize) {
        let position = low_u32(self.merges.len() as u64);
        self.by_piece[piece.index()] = Some((position, split));
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
    fn next(&mut self, first_merge: Option<(u32, usize)>) -> u32 {
        if let Some((position, _)) = first_merge {
            return position;
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
