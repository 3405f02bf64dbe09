//! The pieces of a BPE model, and whether SentencePiece executes the merges of the list.
//!
//! Input: the vocabulary and the merges. Output: a model, with scores that put the pieces in the order of the merges.
//!
//! The score of a piece is minus the rank of its first pair, so that SentencePiece prefers pieces in the order of the list.
//! SentencePiece then merges every pair whose joined text is a piece, `tokenizers` only the pairs of the list, each with its own rank.
//! Of the pairs of a piece, text ever has one as neighbouring symbols: the last merge of the piece (see `merges`), *its pair* below. The
//! ids are equal for all text if
//!
//! 1. the list has the pair of each piece that SentencePiece merges text to,
//! 2. the ranks of these pairs have the order of the scores of their pieces,
//! 3. no pair of the list that gives a piece of another kind than normal is ever a pair of neighbouring symbols, and
//! 4. no pair of the list has a byte piece or the unknown piece, which `tokenizers` puts in the place of characters without a piece.
//!
//! **Why one pair.** Let l and r be neighbouring symbols in SentencePiece whose joined text is a piece p. No merge crossed the borders of p so
//! far, so the merges within it are the first ones of merging the text of p alone (locality). This has come to the two symbols l and r,
//! and can only merge them. So l and r are the last merge of p.
//!
//! **Proof.** By induction over the merges both programs have the same symbols. A pair of neighbours in the list gives a normal piece
//! (3, 4), so it is a candidate of SentencePiece; SentencePiece's candidates are pairs of their pieces, so they are in the list (1). Both
//! programs have the same candidates. Both take the best one in the same order (2), of equal ones, which are the same pair at several places,
//! the leftmost. The order of all other pairs of the list does not matter, since they never are neighbours.
//!
//! Pieces of several characters without a merge are never given by `tokenizers`; they become control pieces, which never merge.
//! Ids without a piece become control pieces, too.
//!
//! Example: the vocabulary `a b c ab abc` with the merges `a b` and `ab c` gives `ab` the score 0 and `abc` the score -1. The last
//! merge of `abc` is `ab c`, which is in the list: equal, also if the list has `a bc`, anywhere. If the list had `a bc` alone,
//! SentencePiece would still merge `ab c`, and the verdict would name `abc`.
//!
//! Cost: linear in the merges, and the analysis of [`MergeTable`], which is cheap for pieces whose first pair is the one that
//! SentencePiece executes.

use super::entries::VocabularyEntries;
use super::pairs::{FirstPair, ListedPairs, PairPlace};
use super::{Import, UnjudgedModel, syntax, unsupported};
use crate::convert::merges::listed::ListedMerges;
use crate::convert::merges::{Formation, MergeProcess, MergeTable};
use crate::convert::order::{named, plain_text};
use crate::convert::tokenizer_json::export::MergeReasons;
use crate::convert::tokenizer_json::parse::JsonText;
use crate::convert::{Reason, ReasonKind};
use crate::error::ConvertError;
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::{WHITESPACE_MARK, WHITESPACE_MARK_STR, is_char};

/// Pieces of a BPE model: ranks up to here are exact in a 32-bit float.
const MAX_RANKED_PIECES: usize = 1 << 24;

/// Texts before a piece in examples, tried in this order.
const EXAMPLE_CONTEXTS: [&str; 3] = ["", "\n", "0"];

/// A rank of pieces that have no score.
const NO_RANK: u32 = u32::MAX;

impl Import<'_, '_> {
    /// The model, and what the verdict on its merges needs.
    pub(super) fn bpe(mut self, entries: VocabularyEntries) -> Result<UnjudgedModel, ConvertError> {
        let unknown = self.unknown_of_bpe(&entries)?;
        let mut pairs = self.listed_pairs(&entries)?;
        let mut scores = Scores::new(&pairs)?;
        let mut ranks = Vec::with_capacity(entries.len() + 1);
        let mut pieces = Vec::with_capacity(entries.len());
        for (id, first) in pairs.by_piece().iter().enumerate() {
            // A stand-in has several characters.
            let is_char = || entries.is_held(id) && entries.text(id).is_some_and(is_char);
            let kind = match self.meta_kind(&entries, id, unknown) {
                Some(kind) => kind,
                None if first.position().is_some() || is_char() => PieceKind::Normal,
                None => PieceKind::Control,
            };
            let is_ranked = matches!(kind, PieceKind::Normal | PieceKind::UserDefined);
            let rank = is_ranked.then(|| scores.next(*first));
            pieces.push((rank.map_or(0.0, score_of), kind));
            ranks.push(rank.unwrap_or(NO_RANK));
        }
        self.add_reasons_of_nul(&entries);
        let model = self.build(entries, unknown, pieces)?;
        ranks.resize(model.len(), NO_RANK);
        let merges = MergeEvidence {
            listed: ListedMerges::new(ranks, pairs.take_first()),
            pairs,
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
    /// The user-defined symbols do not fit a trie; loading has excluded that.
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
        let (id, split) = missing.first()?;
        let text = model.table().text(id.index());
        let (left, right) = text.split_at(*split);
        let explanation = format!(
            "SentencePiece merges {} pieces from a pair that is not in the list, for example {} from {:?} and {:?}",
            missing.len(),
            named(model, *id),
            plain_text(left),
            plain_text(right),
        );
        Some(reason_with_text(explanation, text))
    }

    /// The reason if the pairs that SentencePiece executes have another order than the first pairs of their pieces.
    fn other_order(&self, model: &Model, table: &MergeTable) -> Option<Reason> {
        let places = self.listed.merges().iter().filter_map(|merge| {
            let Formation::Merged { split } = table.formation(merge.piece) else {
                return None;
            };
            Some((merge.piece, self.pairs.place(merge.piece, split)?))
        });
        let places: Vec<(PieceId, PairPlace)> = places.collect();
        let is_late = |pair: &&[(PieceId, PairPlace)]| pair[0].1 > pair[1].1;
        let mut late = places.windows(2).filter(is_late);
        let [(first, _), (second, _)] = late.next()? else {
            return None;
        };
        let explanation = format!(
            "the pairs of {} and {} are listed by turns, and in another order than SentencePiece merges them{}",
            named(model, *first),
            named(model, *second),
            match late.count() {
                0 => String::new(),
                more => format!("; {} such findings in all", more + 1),
            }
        );
        Some(Reason::new(ReasonKind::MergeOrder, explanation))
    }

    /// The reason if `tokenizers` merges text to a piece that SentencePiece never gives for text.
    ///
    /// # Errors
    /// The user-defined symbols do not fit a trie; loading has excluded that.
    fn merged_meta_piece(&self, model: &Model) -> Result<Option<Reason>, ConvertError> {
        // User-defined symbols are found before anything is merged.
        let is_meta = |id: PieceId| {
            let kind = model.table().kind(id.index());
            !matches!(kind, PieceKind::Normal | PieceKind::UserDefined)
        };
        let meta = self.listed.merges().iter().map(|merge| merge.piece);
        let mut meta = meta.filter(|id| is_meta(*id)).peekable();
        if meta.peek().is_none() {
            return Ok(None);
        }
        let mut process = MergeProcess::new(model, self.listed.ranks())?;
        let found = meta.find(|id| {
            let symbols = process.symbol_starts(model.table().text(id.index()));
            matches!(symbols[..], [_, split] if self.pairs.place(*id, split).is_some())
        });
        Ok(found.map(|id| {
            let text = model.table().text(id.index());
            let explanation = format!(
                "tokenizers merges text to {} with split_special_tokens, SentencePiece does not",
                named(model, id)
            );
            let reason = Reason::new(ReasonKind::MetaPiece, explanation);
            match self.text_of_neighbours(&mut process, text) {
                Some(example) => reason.with_example(example),
                None => reason,
            }
        }))
    }

    /// A text in which SentencePiece has two symbols that together are `text`.
    fn text_of_neighbours(&self, process: &mut MergeProcess<'_>, text: &[u8]) -> Option<String> {
        let prefix = match self.adds_dummy_prefix {
            true => WHITESPACE_MARK_STR,
            false => "",
        };
        EXAMPLE_CONTEXTS.iter().find_map(|context| {
            let start = prefix.len() + context.len();
            let symbols =
                process.symbol_starts(&[prefix.as_bytes(), context.as_bytes(), text].concat());
            let within = symbols.iter().skip_while(|symbol| **symbol < start);
            let is_shown = symbols.contains(&start) && within.count() == 2;
            is_shown.then(|| plain_text(&[context.as_bytes(), text].concat()))
        })
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

/// Ranks that ascend in the order of the first merges, and then in the order of the ids.
struct Scores {
    /// The rank of the next piece without a merge.
    next_rank: u32,
}

impl Scores {
    fn new(pairs: &ListedPairs) -> Result<Self, ConvertError> {
        let pieces = pairs.by_piece().len();
        if pieces > MAX_RANKED_PIECES {
            return Err(unsupported("model.vocab", format!("{pieces} pieces long")));
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

/// The score of a piece with a rank of at most 2^24.
#[expect(
    clippy::cast_precision_loss,
    reason = "floats hold numbers up to 2^24 exactly"
)]
fn score_of(rank: u32) -> f32 {
    -(rank as f32)
}
