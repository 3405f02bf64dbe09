//! The symbols of a text in the state before unused pieces are split and unknown characters become
//! bytes.
//!
//! Input: a model, and parts of prepared text. Output: symbols, which are pieces of the model, and
//! characters that are not pieces. Method: the parts are encoded with a copy of the model in which
//! unused pieces are normal and byte pieces have no effect. The result is the state in which pieces
//! with lower scores would continue merging.
//!
//! Example: a model has the unused piece `ab`, `a` and `b`. It encodes `ab` as `a b`, but a new
//! piece `abc` is made of `ab` and `c`: the symbols of `ab` are `ab`.
//!
//! Cost: that of encoding each part once.

use super::text_of;
use crate::error::{ModelError, TrainError};
use crate::model::Model;
use crate::piece::{PieceId, PieceKind};
use crate::text::char_length;
use crate::tokenizer::{NormalizedEncoder, Tokenizer};
use crate::train::bpe::merge::old_pieces::{UnfoundPiece, UnfoundPieces};
use crate::train::bpe::symbols::Symbol;
use crate::train::bpe::word_buffer::SegmentSink;

/// The copy of a model, and its pieces as symbols.
pub(super) struct StateModel {
    tokenizer: Tokenizer,
    /// By piece: its symbol, if it is made by merging.
    symbols: Vec<Option<Symbol>>,
}

impl StateModel {
    pub(super) fn new(model: &Model) -> Result<Self, TrainError> {
        let copy = state_model(model)?;
        let mut next = (0..).map(Symbol);
        let mut symbol_of = |text: &[u8], kind: PieceKind| {
            let is_symbol = kind == PieceKind::Normal && std::str::from_utf8(text).is_ok();
            is_symbol.then(|| next.next()).flatten()
        };
        let pieces = copy.pieces();
        let symbols = pieces
            .map(|piece| symbol_of(piece.text, piece.kind))
            .collect();
        Ok(Self {
            symbols,
            tokenizer: Tokenizer::new(copy),
        })
    }

    /// The texts of the symbols.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.tokenizer
            .model()
            .pieces()
            .filter(|piece| self.is_symbol(piece.id))
            .filter_map(text_of)
    }

    fn is_symbol(&self, piece: PieceId) -> bool {
        self.symbols[piece.index()].is_some()
    }

    /// The pieces whose text does not encode to the piece.
    pub(super) fn unfound_pieces(&self) -> UnfoundPieces {
        let model = self.tokenizer.model();
        let mut encoder = NormalizedEncoder::new(&self.tokenizer);
        let mut unfound = Vec::new();
        for piece in model.pieces() {
            if let Some(symbol) = self.symbols[piece.id.index()]
                && let Ok(text) = std::str::from_utf8(piece.text)
                && !encoder.gives(piece.id, piece.text)
            {
                unfound.push((piece.score, text, symbol));
            }
        }
        UnfoundPieces::new(ranked(unfound).into_iter())
    }
}

/// The pieces with ranks by score: the best score has rank 0, equal scores have equal ranks.
fn ranked(mut pieces: Vec<(f32, &str, Symbol)>) -> Vec<(&str, UnfoundPiece)> {
    pieces.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
    let groups = pieces.chunk_by(|(a, ..), (b, ..)| a.total_cmp(b).is_eq());
    let ranked = groups.zip(0..).flat_map(|(group, rank)| {
        let unfound = move |symbol| UnfoundPiece { symbol, rank };
        group
            .iter()
            .map(move |(_, text, symbol)| (*text, unfound(*symbol)))
    });
    ranked.collect()
}

/// The model with unused pieces made normal and byte pieces without effect. The piece NUL must be
/// unused; no text yields it.
fn state_model(model: &Model) -> Result<Model, ModelError> {
    let mut editor = model.edit();
    let mut lacks_unknown = model.unknown_piece().is_none();
    for piece in model.pieces() {
        match piece.kind {
            // With byte fallback it may be a normal piece in the file, but is treated as unused.
            _ if piece.text == [0] => editor.set_kind(piece.id, PieceKind::Unused),
            PieceKind::Unused => editor.set_kind(piece.id, PieceKind::Normal),
            // Only models with byte fallback can do without an unknown piece.
            PieceKind::Byte if std::mem::take(&mut lacks_unknown) => {
                editor.set_kind(piece.id, PieceKind::Unknown)
            }
            PieceKind::Byte => editor.set_kind(piece.id, PieceKind::Control),
            _ => true,
        };
    }
    editor.trainer_spec_mut().byte_fallback = Some(false);
    editor.finish()
}

/// Divides parts of text into symbols. One for each thread.
pub(super) struct StateSegmenter<'s> {
    state: &'s StateModel,
    encoder: NormalizedEncoder<'s>,
}

impl<'s> StateSegmenter<'s> {
    pub(super) fn new(state: &'s StateModel) -> Self {
        StateSegmenter {
            state,
            encoder: NormalizedEncoder::new(&state.tokenizer),
        }
    }

    /// Passes the symbols of `text`, and the characters that are not pieces, to `sink`.
    pub(super) fn segment(&mut self, text: &str, sink: &mut SegmentSink<'_>) {
        let mut rest = text;
        for id in self.encoder.encode(text.as_bytes()) {
            let Some(first) = rest.chars().next() else {
                return;
            };
            let length = match self.state.piece_at(*id, rest) {
                Some((symbol, length)) => {
                    sink.symbol(symbol);
                    length
                }
                None => {
                    sink.inactive(first);
                    char_length(rest.as_bytes())
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}

impl StateModel {
    /// The symbol of a piece at the start of `rest`, and the length of its text; `None` for unknown
    /// characters.
    fn piece_at(&self, id: PieceId, rest: &str) -> Option<(Symbol, usize)> {
        let symbol = self.symbols.get(id.index()).copied().flatten()?;
        let text = self.tokenizer.model().piece(id)?.text;
        rest.as_bytes()
            .starts_with(text)
            .then_some((symbol, text.len()))
    }
}
