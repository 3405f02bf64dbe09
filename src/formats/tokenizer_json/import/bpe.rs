//! The pieces of a BPE model, and whether SentencePiece executes the merges of the list.
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

use super::entries::VocabularyEntries;
use super::pairs::ListedPairs;
use super::{Import, syntax, unsupported};
use crate::base::{WHITESPACE_MARK_STR, is_char};
use crate::encode::bpe::Tracer;
use crate::formats::FormatError;
use crate::formats::merges::{Formation, MergeTable};
use crate::formats::order::{named, plain_text};
use crate::formats::tokenizer_json::export::MergeReasons;
use crate::formats::tokenizer_json::{kind_of, pieces_of_kind, text_of};
use crate::formats::{Converted, Reason, ReasonKind};
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::pipeline::BpeModel;

/// The largest number of pieces of a BPE model: ranks up to here are exact in a 32-bit float.
const MAX_RANKED_PIECES: usize = 1 << 24;

/// Texts before a piece in examples, tried in this order.
const EXAMPLE_CONTEXTS: [&str; 3] = ["", "\n", "0"];

impl Import<'_> {
    /// The model with its verdict.
    pub(super) fn bpe(
        mut self,
        bpe: &BpeModel,
        entries: &VocabularyEntries<'_>,
    ) -> Result<Converted<Model>, FormatError> {
        self.unknown = self.unknown_of_bpe(bpe, entries)?;
        let pairs = self.listed_pairs(bpe, entries)?;
        if entries.len() > MAX_RANKED_PIECES {
            let found = format!("{} pieces long", entries.len());
            return Err(unsupported("model.vocab", found));
        }
        // Ranks go to the pieces with a pair first, in the order of their first pairs, then to the
        // others, in the order of their ids.
        let mut next_rank = pairs.pieces.len();
        let mut pieces = Vec::with_capacity(entries.len());
        for id in 0..entries.len() {
            let rank = pairs.rank(PieceId::from_index(id));
            let kind = match self.meta_kind(entries, id) {
                Some(kind) => kind,
                None if rank.is_some() => PieceKind::Normal,
                None => match entries.held_text(id) {
                    Some(text) if is_char(text.as_bytes()) => PieceKind::Normal,
                    _ => PieceKind::Control,
                },
            };
            let score = match (kind, rank) {
                (PieceKind::Normal | PieceKind::UserDefined, Some(rank)) => score_of(rank as usize),
                (PieceKind::Normal | PieceKind::UserDefined, None) => {
                    next_rank += 1;
                    score_of(next_rank - 1)
                }
                _ => 0.0,
            };
            pieces.push((score, kind));
        }
        let model = self.build(entries, &pieces)?;
        let evidence = MergeEvidence {
            table: MergeTable::new(&model)?,
            model: &model,
            pairs,
            prefix: match self.flags.add_dummy_prefix {
                true => WHITESPACE_MARK_STR,
                false => "",
            },
        };
        let ignores_merges = bpe.options().whole_parts_first;
        let reasons = evidence.reasons(self.flags.splits_at_marks, ignores_merges)?;
        self.add_reasons(reasons);
        Ok(self.converted(model))
    }

    /// The unknown piece of a BPE model.
    fn unknown_of_bpe(
        &mut self,
        bpe: &BpeModel,
        entries: &VocabularyEntries<'_>,
    ) -> Result<Option<PieceId>, FormatError> {
        let options = bpe.options();
        let Some(text) = options.unknown_token.as_deref() else {
            self.add_reason_of_unknown(
                "model.unk_token is missing: tokenizers drops characters without a piece",
            );
            return Ok(entries.id("<unk>"));
        };
        let missing = || syntax(format!("model.unk_token {text:?} is not in the vocabulary"));
        let id = entries.id(text).ok_or_else(missing)?;
        if !options.fuse_unknown {
            self.add_reason_of_unknown("model.fuse_unk is off: tokenizers gives one unknown id for each character, SentencePiece one for each run");
        }
        if bpe.vocabulary().id(text).is_none() {
            self.add_reason_of_unknown(
                "model.unk_token is an added token alone: tokenizers refuses text with characters that have no piece",
            );
        }
        Ok(Some(id))
    }

    /// Adds a reason, unless byte pieces stand for characters without a piece.
    fn add_reason_of_unknown(&mut self, explanation: &str) {
        if !self.has_byte_fallback {
            self.reason(ReasonKind::UnknownCharacter, explanation);
        }
    }
}

/// What the verdict on the merges of a model needs.
struct MergeEvidence<'m> {
    model: &'m Model,
    table: MergeTable,
    pairs: ListedPairs,
    /// What normalization puts before a text.
    prefix: &'static str,
}

impl MergeEvidence<'_> {
    /// Reasons why text can be merged in another way.
    fn reasons(
        &self,
        splits_at_marks: bool,
        ignores_merges: bool,
    ) -> Result<Vec<Reason>, FormatError> {
        let mut reasons = Vec::new();
        reasons.extend(self.missing_pairs());
        reasons.extend(self.other_order());
        reasons.extend(self.merged_meta_piece()?);
        if splits_at_marks {
            reasons.extend(inner_mark(self.model));
        }
        if ignores_merges {
            reasons.extend(self.ignored_merges());
        }
        reasons.extend(MergeReasons::new(self.model, &self.table).single_characters());
        Ok(reasons)
    }

    /// The reason if SentencePiece executes merges that the list does not have.
    fn missing_pairs(&self) -> Option<Reason> {
        let is_missing = |(id, split): &(PieceId, usize)| self.pairs.place(*id, *split).is_none();
        let missing: Vec<(PieceId, usize)> = self.table.merged().filter(is_missing).collect();
        let (id, split) = *missing.first()?;
        let (left, right) = text_of(self.model, id).split_at(split);
        let explanation = format!(
            "SentencePiece merges {} pieces from a pair that is not in the list, for example {} from {:?} and {:?}",
            missing.len(),
            named(self.model, id),
            plain_text(left),
            plain_text(right),
        );
        Some(reason_with_text(explanation, text_of(self.model, id)))
    }

    /// The reason if the pairs that SentencePiece executes have another order than the first pairs
    /// of their pieces.
    fn other_order(&self) -> Option<Reason> {
        let place = |id: &PieceId| match self.table.formation(*id) {
            Formation::Merged { split } => Some((*id, self.pairs.place(*id, split)?)),
            _ => None,
        };
        let places: Vec<(PieceId, usize)> = self.pairs.pieces.iter().filter_map(place).collect();
        let mut late = places.windows(2).filter(|pair| pair[0].1 > pair[1].1);
        let [(first, _), (second, _)] = late.next()? else {
            return None;
        };
        let others = late.count();
        let more = match others {
            0 => String::new(),
            _ => format!("; {} such findings in all", others + 1),
        };
        let explanation = format!(
            "the pairs of {} and {} are listed by turns, and in another order than SentencePiece merges them{more}",
            named(self.model, *first),
            named(self.model, *second),
        );
        Some(Reason::new(ReasonKind::MergeOrder, explanation))
    }

    /// The reason if `tokenizers` merges text to a piece that SentencePiece never gives for text:
    /// if the list has the pair that SentencePiece would merge last for the text of the piece.
    /// User-defined symbols are found before anything is merged.
    fn merged_meta_piece(&self) -> Result<Option<Reason>, FormatError> {
        let meta = self.pairs.pieces.iter().copied();
        let mut meta = meta
            .filter(|id| !kind_of(self.model, *id).is_given_for_text())
            .peekable();
        if meta.peek().is_none() {
            return Ok(None);
        }
        let tracer = Tracer::new(self.model)?;
        let found = meta.find(|id| {
            let symbols = tracer.trace(text_of(self.model, *id)).starts;
            matches!(symbols[..], [_, split] if self.pairs.place(*id, split).is_some())
        });
        Ok(found.map(|id| {
            let explanation = format!(
                "tokenizers merges text to {} with split_special_tokens, SentencePiece does not",
                named(self.model, id)
            );
            let mut reason = Reason::new(ReasonKind::MetaPiece, explanation);
            reason.example = self.text_of_neighbours(&tracer, text_of(self.model, id));
            reason
        }))
    }

    /// A text in which SentencePiece has two symbols that together are `text`.
    fn text_of_neighbours(&self, tracer: &Tracer<'_>, text: &[u8]) -> Option<String> {
        let context = EXAMPLE_CONTEXTS.into_iter().find(|context| {
            let before = [self.prefix.as_bytes(), context.as_bytes()].concat();
            let symbols = tracer.trace(&[&before, text].concat()).starts;
            let start = symbols.iter().position(|symbol| *symbol == before.len());
            start.is_some_and(|start| symbols.len() - start == 2)
        })?;
        Some(plain_text(&[context.as_bytes(), text].concat()))
    }

    /// With `ignore_merges`, a text that is a piece gives this piece, whatever the merges say.
    fn ignored_merges(&self) -> Option<Reason> {
        let is_never_given = |piece: &Piece<'_>| {
            !piece.kind.is_given_for_text()
                || self.table.formation(piece.id) == Formation::Unreachable
        };
        let is_ignored = |piece: &Piece<'_>| {
            piece.text.starts_with(self.prefix.as_bytes()) && is_never_given(piece)
        };
        let piece = self.model.pieces().find(is_ignored)?;
        let explanation = format!(
            "model.ignore_merges is on: tokenizers gives {} for the text of this piece, SentencePiece does not",
            named(self.model, piece.id)
        );
        Some(reason_with_text(explanation, piece.text))
    }
}

/// Text is split before marks, so a piece with a mark after its start is never found.
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

/// The score of a piece with a rank of at most 2^24.
#[expect(
    clippy::cast_precision_loss,
    reason = "floats hold numbers up to 2^24 exactly"
)]
fn score_of(rank: usize) -> f32 {
    -(rank as f32)
}
