//! Pieces that encoding never gives, in SentencePiece models; `byte_level` finds those of byte-level
//! vocabularies, `pipeline` those of other pipelines.
//!
//! A piece is *reachable* if some normalized text is encoded with it. The test encodes the text of
//! the piece alone, without normalizer and dummy prefix: the piece is reachable if and only if the
//! result is the piece. "If" is obvious, since the text of the piece is such a text. "Only if"
//! holds for each type of model:
//!
//! * **BPE.** Let a text be encoded with the piece p at a span. User-defined symbols are found from
//!   left to right, the longest first, and none was found at the characters of the span; a part of
//!   the text finds no more than the text does. So by locality (`docs/design/ADAPTING.md`) encoding
//!   the text of p alone makes the same merges and ends with p. A model with *unused* pieces may give p as one
//!   half of an unused piece; that half was a symbol when the pair was considered, so the argument
//!   applies to it.
//! * **Unigram.** The best path through the span of p does not depend on the text around it, and p
//!   is offered before all paths of several pieces, so it wins ties. This is exact in real
//!   arithmetic. With 32-bit floats a piece that loses alone by less than the rounding errors may
//!   win in a longer text; see [`UnreachablePiece::is_close`] and `encode/unigram/certainty.rs`.
//! * **Word.** Words are found by whitespace marks, and each is looked up whole. A piece is given
//!   only for a word, and a word alone is one word.
//! * **Char.** A piece is one character, or a user-defined symbol, which is found wherever it
//!   begins.
//!
//! The other kinds of pieces have no text to encode and are not tested: control pieces are never
//! given for text; the unknown piece is given for unknown text of models without byte fallback;
//! byte pieces are given for the bytes of unknown characters with byte fallback; unused pieces are
//! never given by definition.
//!
//! # Example
//! A BPE model has the pieces `ab` (rank 0), `bc` (1), `abcd` (2) and `cd` (3). The text `abcd`
//! merges to `ab c d`; `bc` has no `b` left, `abc` is no piece, and `cd` is: `ab cd`. Their joined
//! text is a piece, so `abcd` is given. Without the piece `cd` the text ends as `ab c d`, since no
//! two neighbours join to a piece: `abcd` is unreachable, and `ab c d` wins.
//!
//! The cost is one encoding of the texts of all pieces: linear, except where encoding is not.

use super::{InspectedPiece, pieces_for_text};
use crate::encode::ModelEncoder;
use crate::piece::PieceId;
use crate::tokenizer::{ModelTables, NormalizedEncoder, Tokenizer};

/// A piece that encoding never gives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnreachablePiece {
    /// The piece.
    pub id: PieceId,
    /// The ids that encoding gives for the text of the piece; empty if no text has its bytes.
    pub winner: Vec<PieceId>,
    /// Why encoding never gives it.
    pub reason: UnreachableReason,
    /// Whether the piece loses by so little that rounding may let it win in a longer text; unigram
    /// models only. If this is false, no text of any length is encoded with the piece.
    pub is_close: bool,
}

/// Why encoding never gives a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum UnreachableReason {
    /// Its text is always encoded with other pieces.
    OthersWin,
    /// The pattern of a byte-level vocabulary, or the pre-tokenizer of a pipeline, cuts its text, or
    /// leaves it out, wherever it stands.
    Pattern,
    /// An added token is found in its text wherever it stands.
    AddedToken,
    /// Its text is not in the form in which text is encoded: the byte-level vocabulary or the steps of
    /// the pipeline before the model make another text of it.
    Form,
    /// No UTF-8 text has its bytes.
    NotUtf8,
}

/// Finds the unreachable pieces of a model, by id.
pub(super) fn find_unreachable(
    tokenizer: &Tokenizer,
    tables: &ModelTables,
) -> Vec<UnreachablePiece> {
    let pieces = || pieces_for_text(tokenizer);
    let unigram = match tables.encoder() {
        ModelEncoder::Unigram(unigram) => {
            let greatest_score = unigram.greatest_score(pieces().map(|piece| piece.id));
            Some((unigram, greatest_score))
        }
        _ => None,
    };
    let mut encoder = NormalizedEncoder::new(tables);
    let mut found = Vec::new();
    for InspectedPiece { id, text, .. } in pieces() {
        let text = &text[..];
        if encoder.gives(id, text) {
            continue;
        }
        found.push(UnreachablePiece {
            id,
            is_close: unigram.is_some_and(|(unigram, greatest_score)| {
                let winner = encoder.encode(text);
                !unigram.always_loses(id, winner, text.len(), greatest_score)
            }),
            winner: encoder.encode_resolved(text).to_vec(),
            reason: UnreachableReason::OthersWin,
        });
    }
    found
}
