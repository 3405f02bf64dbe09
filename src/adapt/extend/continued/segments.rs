//! The symbols of a text in the state before unused pieces are split and unknown characters become
//! bytes.
//!
//! Parts of prepared text are encoded with a copy of the model in which unused pieces are normal
//! and byte pieces have no effect. The result, symbols that are pieces of the model and characters
//! that are not pieces, is the state in which pieces with lower scores would continue merging.
//!
//! Example: a model has the unused piece `ab`, `a` and `b`. It encodes `ab` as `a b`, but a new
//! piece `abc` is made of `ab` and `c`: the symbols of `ab` are `ab`.

use crate::model::Model;
use crate::piece::PieceKind;
use crate::tokenizer::{ModelTables, NormalizedEncoder, TokenizerConfig};
use crate::train::TrainError;
use crate::train::bpe::merge::old_pieces::{UnfoundPiece, UnfoundPieces};
use crate::train::bpe::symbols::Symbol;
use crate::train::bpe::word_buffer::SegmentSink;

/// The copy of a model, and its pieces as symbols.
pub(super) struct StateModel {
    tables: ModelTables,
    /// By piece: its symbol, if it is made by merging.
    symbols: Vec<Option<Symbol>>,
}

impl StateModel {
    pub(super) fn new(model: &Model) -> Result<Self, TrainError> {
        let mut editor = model.edit();
        let mut lacks_unknown = model.unknown_piece().is_none();
        for piece in model.pieces() {
            match piece.kind {
                // No text yields the piece NUL. With byte fallback it may be a normal piece in the
                // file, but is treated as unused.
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
        let copy = editor.finish()?;
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
            tables: ModelTables::new(copy, TokenizerConfig::default()),
        })
    }

    /// The texts of the symbols.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        let pieces = self.tables.model().pieces();
        pieces
            .filter(|piece| self.symbols[piece.id.index()].is_some())
            .filter_map(|piece| std::str::from_utf8(piece.text).ok())
    }

    /// The pieces whose text does not encode to the piece.
    pub(super) fn unfound_pieces(&self) -> UnfoundPieces {
        let model = self.tables.model();
        let mut encoder = NormalizedEncoder::new(&self.tables);
        let mut unfound = Vec::new();
        for piece in model.pieces() {
            if let Some(symbol) = self.symbols[piece.id.index()]
                && !encoder.gives(piece.id, piece.text)
            {
                unfound.push((piece.score, piece.text, symbol));
            }
        }
        // The best score has rank 0, equal scores have equal ranks.
        unfound.sort_by(|(a, ..), (b, ..)| b.total_cmp(a));
        let groups = unfound.chunk_by(|(a, ..), (b, ..)| a.total_cmp(b).is_eq());
        let ranked = groups.zip(0..).flat_map(|(group, rank)| {
            let pieces = group.iter();
            pieces.map(move |&(_, text, symbol)| (text, UnfoundPiece { symbol, rank }))
        });
        UnfoundPieces::new(ranked)
    }
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
            encoder: NormalizedEncoder::new(&state.tables),
        }
    }

    /// Passes the symbols of `text`, and the characters that are not pieces, to `sink`.
    pub(super) fn segment(&mut self, text: &[u8], sink: &mut SegmentSink<'_>) {
        // Words are parts of valid text.
        let mut rest = std::str::from_utf8(text).unwrap_or_default();
        for id in self.encoder.encode(text) {
            let Some(first) = rest.chars().next() else {
                return;
            };
            // The unknown id stands for a run of characters without a piece.
            let symbol = self.state.symbols.get(id.index()).copied().flatten();
            let piece = self.state.tables.model().piece(*id);
            let length = match (symbol, piece) {
                (Some(symbol), Some(piece)) if rest.as_bytes().starts_with(piece.text) => {
                    sink.symbol(symbol);
                    piece.text.len()
                }
                _ => {
                    sink.inactive(first);
                    first.len_utf8()
                }
            };
            rest = rest.get(length..).unwrap_or_default();
        }
    }
}
