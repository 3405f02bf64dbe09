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
//! Cost: linear in the merges, and the analysis of [`MergeTable`].

use super::entries::VocabularyEntries;
use super::{Import, syntax, unsupported};
use crate::convert::merges::{Formation, MergeTable};
use crate::convert::order::{named, plain_text};
use crate::convert::tokenizer_json::export::MergeReasons;
use crate::convert::tokenizer_json::parse::JsonText;
use crate::convert::{ConvertedModel, Reason, ReasonKind};
use crate::error::ConvertError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::WHITESPACE_MARK;

/// Pieces of a BPE model: ranks up to here are exact in a 32-bit float.
const MAX_RANKED_PIECES: usize = 1 << 24;

/// The rank and the bytes of the left text of the first merge that gives a piece.
type FirstMerge = Option<(u32, usize)>;

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
        for (id, first_merge) in first_merges.iter().enumerate() {
            let text = entries.text_or_stand_in(id);
            let is_char = text.chars().nth(1).is_none();
            let kind = match self.meta_kind(&entries, id, unknown) {
                Some(kind) => kind,
                None if is_char || first_merge.is_some() => PieceKind::Normal,
                None => PieceKind::Control,
            };
            let is_ranked = matches!(kind, PieceKind::Normal | PieceKind::UserDefined);
            let score = if is_ranked {
                scores.next(*first_merge)
            } else {
                0.0
            };
            builder.piece(text, score, kind);
        }
        self.add_unknown(&mut builder, &entries, unknown);
        let model = self.finish(builder, &entries)?;
        self.add_reasons_of_nul(&entries);
        self.add_reasons_of_merges(&model, &first_merges)?;
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
            return Ok(entries.ids.get("<unk>").copied());
        };
        let missing = || syntax(format!("model.unk_token {text:?} is not in the vocabulary"));
        let id = entries.ids.get(text).copied().ok_or_else(missing)?;
        if !self.has_byte_fallback && model.fuse_unk != Some(true) {
            self.reason(ReasonKind::UnknownCharacter, "model.fuse_unk is off: tokenizers gives one unknown id for each character, SentencePiece one for each run");
        }
        Ok(Some(id))
    }

    /// The first merge of each piece, by id.
    fn first_merges(
        &mut self,
        entries: &VocabularyEntries<'_>,
    ) -> Result<Vec<FirstMerge>, ConvertError> {
        let mut first: Vec<FirstMerge> = vec![None; entries.texts.len()];
        let mut joined = String::new();
        let mut repeated = None;
        for (rank, merge) in (0..).zip(&self.file.model.merges) {
            let not_two = || syntax(format!("merge {rank} does not have two parts"));
            let (left, right) = merge.texts().ok_or_else(not_two)?;
            joined.clear();
            joined.push_str(left);
            joined.push_str(right);
            let missing =
                |text: &str| syntax(format!("merge {rank}: {text:?} is not in the vocabulary"));
            let id = *entries
                .ids
                .get(joined.as_str())
                .ok_or_else(|| missing(&joined))?;
            let slot = &mut first[id as usize];
            match slot {
                None => {
                    for part in [left, right] {
                        entries.ids.get(part).ok_or_else(|| missing(part))?;
                    }
                    *slot = Some((rank, left.len()));
                }
                Some((_, split)) if *split == left.len() => repeated = Some(joined.clone()),
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
        first: &[FirstMerge],
    ) -> Result<(), ConvertError> {
        let table = MergeTable::new(model)?;
        let is_other = |(id, split): &(PieceId, usize)| {
            first
                .get(id.index())
                .copied()
                .flatten()
                .is_none_or(|(_, first)| first != *split)
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
            self.verdict.add(
                Reason::new(ReasonKind::MergeOrder, explanation)
                    .with_example(plain_text(piece.text)),
            );
        }
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
            self.verdict.add(
                Reason::new(ReasonKind::MergeOrder, explanation)
                    .with_example(plain_text(piece.text)),
            );
        }
    }
}

/// Scores that descend in the order of the first merges, and then in the order of the ids.
struct Scores {
    /// The ranks of the first merges, sorted.
    ranks: Vec<u32>,
    /// How many pieces without a merge have a score.
    without_merge: usize,
}

impl Scores {
    fn new(first_merges: &[FirstMerge]) -> Result<Scores, ConvertError> {
        if first_merges.len() > MAX_RANKED_PIECES {
            return Err(unsupported(
                "model.vocab",
                format!("{} pieces long", first_merges.len()),
            ));
        }
        let mut ranks: Vec<u32> = first_merges
            .iter()
            .flatten()
            .map(|(rank, _)| *rank)
            .collect();
        ranks.sort_unstable();
        Ok(Scores {
            ranks,
            without_merge: 0,
        })
    }

    /// The score of the next piece.
    fn next(&mut self, first_merge: FirstMerge) -> f32 {
        let rank = match first_merge {
            Some((rank, _)) => self.ranks.partition_point(|other| *other < rank),
            None => {
                self.without_merge += 1;
                self.ranks.len() + self.without_merge - 1
            }
        };
        -exact_f32(rank)
    }
}

/// A rank of at most 2^24 as a float.
#[expect(
    clippy::cast_precision_loss,
    reason = "floats hold numbers up to 2^24 exactly"
)]
fn exact_f32(rank: usize) -> f32 {
    rank as f32
}
