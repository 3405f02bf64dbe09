//! Reasons that concern the merges of a BPE model.
//!
//! They say why the ids of `tokenizers` differ, with example texts where they are found. For
//! example, text is merged to an unused piece, which SentencePiece splits again and `tokenizers`
//! returns. At most [`MAX_EXAMPLES`] pieces are tried as examples.

use crate::base::char_length;
use crate::formats::merges::MergeTable;
use crate::formats::order::{OrderedMerge, is_merged, named, plain_text, symbols_of};
use crate::formats::tokenizer_json::{is_utf8, json_text, text_of};
use crate::formats::{Reason, ReasonKind};
use crate::model::{Model, Piece};
use crate::piece::{PieceId, PieceKind};
use crate::tokenizer::Tokenizer;

/// Texts to put before a piece in examples, tried in this order.
const EXAMPLE_CONTEXTS: [&str; 4] = ["", " ", "\n", "0"];

/// The largest number of pieces that are tried as examples.
const MAX_EXAMPLES: usize = 100;

/// Reasons that concern the merges of a BPE model.
pub(in crate::formats::tokenizer_json) struct MergeReasons<'m> {
    model: &'m Model,
    table: &'m MergeTable,
}

impl<'m> MergeReasons<'m> {
    pub(in crate::formats::tokenizer_json) fn new(model: &'m Model, table: &'m MergeTable) -> Self {
        Self { model, table }
    }

    /// Whether the file can contain a merge. Merges to pieces that are not UTF-8 are left out,
    /// because well-formed text never executes them.
    pub(super) fn is_written(&self, merge: OrderedMerge) -> bool {
        is_utf8(text_of(self.model, merge.piece)) && self.is_covered(merge)
    }

    /// Whether the symbols of a merge are pieces.
    fn is_covered(&self, merge: OrderedMerge) -> bool {
        let (left, right) = symbols_of(self.model, merge);
        self.is_piece(left) && self.is_piece(right)
    }

    fn is_piece(&self, text: &[u8]) -> bool {
        self.model.piece_to_id(text).is_some()
    }

    /// The reason if some merges have a symbol that is not a piece.
    pub(super) fn uncovered(&self, merges: &[OrderedMerge]) -> Option<Reason> {
        let uncovered = merges.iter().filter(|merge| !self.is_covered(**merge));
        let pieces: Vec<PieceId> = uncovered.map(|merge| merge.piece).collect();
        let explanation = format!(
            "{} pieces have a character that is no piece, for example {}; SentencePiece merges such characters, tokenizers cannot",
            pieces.len(),
            named(self.model, *pieces.first()?)
        );
        let mut reason = Reason::new(ReasonKind::UncoveredCharacter, explanation);
        reason.example = example(self.model, &pieces);
        Some(reason)
    }

    /// The reason if text is merged to unused pieces.
    pub(super) fn unused(&self) -> Option<Reason> {
        let is_found =
            |piece: &Piece<'_>| piece.kind == PieceKind::Unused && is_merged(self.table, piece.id);
        let pieces: Vec<Piece<'_>> = self.model.pieces().filter(is_found).collect();
        let first = pieces.first()?;
        let explanation = format!(
            "SentencePiece merges text to {} unused pieces and splits them again, for example {}; tokenizers gives them",
            pieces.len(),
            named(self.model, first.id)
        );
        let reason = Reason::new(ReasonKind::UnusedPiece, explanation);
        Some(reason.with_example(plain_text(first.text)))
    }

    /// The reason if some single characters are pieces that SentencePiece does not give for text.
    pub(in crate::formats::tokenizer_json) fn single_characters(&self) -> Option<Reason> {
        let pieces: Vec<Piece<'_>> = self.model.pieces().filter(is_meta_char).collect();
        let first = pieces.first()?;
        let explanation = format!(
            "{} {} pieces are single characters, for example {}; tokenizers finds them in text even with split_special_tokens",
            pieces.len(),
            first.kind,
            named(self.model, first.id)
        );
        let reason = Reason::new(ReasonKind::MetaPiece, explanation);
        Some(reason.with_example(plain_text(first.text)))
    }
}

/// A text whose encoding contains one of these pieces.
fn example(model: &Model, pieces: &[PieceId]) -> Option<String> {
    let tokenizer = Tokenizer::new(model.clone());
    let mut tried = pieces.iter().take(MAX_EXAMPLES);
    tried.find_map(|piece| text_with(&tokenizer, model, *piece))
}

/// A text whose encoding contains the piece.
fn text_with(tokenizer: &Tokenizer, model: &Model, piece: PieceId) -> Option<String> {
    let text = plain_text(text_of(model, piece));
    let trimmed = text.strip_prefix(' ').unwrap_or(&text);
    let mut texts = EXAMPLE_CONTEXTS
        .iter()
        .flat_map(|context| [format!("{context}{text}"), format!("{context}{trimmed}")]);
    texts.find(|text| tokenizer.encode(text).contains(&piece))
}

/// Whether a piece is a single character that SentencePiece does not encode to it.
fn is_meta_char(piece: &Piece<'_>) -> bool {
    // Most pieces are given for text.
    !piece.kind.is_given_for_text()
        && piece.text.len() == char_length(piece.text)
        && json_text(piece.text).is_some()
}
