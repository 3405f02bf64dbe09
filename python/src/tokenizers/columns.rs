//! The columns of a result, each a walk over its pieces.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use spiece::pipeline::{Layout, LayoutPiece, PieceContent, SpanStep};

use super::source::{GivenColumns, Source};

/// The tokens of an encoding, over sources.
pub type Encoded = Layout<Arc<Source>>;

/// A piece of a result.
pub type Piece = LayoutPiece<Arc<Source>>;

/// Appends the ids of a piece.
pub fn push_ids(piece: &Piece, ids: &mut Vec<u32>) {
    match &piece.content {
        PieceContent::Tokens { source, range } => {
            ids.extend(source.ids[range.clone()].iter().map(|id| id.get()));
        }
        PieceContent::Special { tokens, range } => {
            ids.extend_from_slice(&tokens.ids[range.clone()]);
        }
        PieceContent::Padding { token, length } => {
            ids.resize(ids.len() + length, token.id);
        }
    }
}

/// Appends the ids of a result.
pub fn push_all_ids(layout: &Encoded, ids: &mut Vec<u32>) {
    let pieces = layout.pieces().iter();
    pieces.for_each(|piece| push_ids(piece, ids));
}

/// A column of numbers, most of which stand there many times one after another.
#[derive(Default)]
pub struct Column {
    runs: Vec<Run>,
}

struct Run {
    number: u32,
    length: usize,
}

impl Column {
    fn push(&mut self, number: u32, length: usize) {
        match self.runs.last_mut() {
            Some(last) if last.number == number => last.length += length,
            _ => self.runs.push(Run { number, length }),
        }
    }

    /// The numbers one by one.
    pub fn into_numbers(self) -> Vec<u32> {
        let runs = self.runs.into_iter();
        runs.flat_map(|run| std::iter::repeat_n(run.number, run.length))
            .collect()
    }

    /// The list. Python repeats a number in a fraction of the time in which a list is filled item by item.
    pub fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let repeated = |run: &Run| {
            let one = PyList::new(py, [run.number])?;
            one.as_sequence().repeat(run.length)
        };
        let mut runs = self.runs.iter();
        let Some(first) = runs.next() else {
            return Ok(PyList::empty(py));
        };
        let mut list = repeated(first)?;
        for run in runs {
            list = list.in_place_concat(&repeated(run)?)?;
        }
        Ok(list.cast_into()?)
    }
}

/// A column of numbers: of tokens those that were read, if they were, and otherwise the same for all of a piece.
fn numbers(
    layout: &Encoded,
    of_piece: impl Fn(&Piece) -> Option<u32>,
    given: impl Fn(&GivenColumns) -> &[u32],
    otherwise: impl Fn(&Piece) -> u32,
) -> Column {
    let mut column = Column::default();
    for piece in layout.pieces() {
        if of_piece(piece).is_none()
            && let PieceContent::Tokens { source, range } = &piece.content
            && source.engine().is_none()
            && let Ok(details) = source.details()
            && let Some(columns) = &details.given
        {
            let numbers = given(columns)[range.clone()].iter();
            numbers.for_each(|number| column.push(*number, 1));
            continue;
        }
        let number = of_piece(piece).unwrap_or_else(|| otherwise(piece));
        column.push(number, piece.content.len());
    }
    column
}

/// The types of the tokens.
pub fn type_ids(layout: &Encoded) -> Column {
    let own = |piece: &Piece| match &piece.content {
        PieceContent::Tokens { source, .. } => source.type_id,
        PieceContent::Special { .. } => 0,
        PieceContent::Padding { token, .. } => token.type_id,
    };
    numbers(layout, |piece| piece.type_id, |given| &given.type_ids, own)
}

/// 1 for tokens that are no text.
pub fn special_tokens_mask(layout: &Encoded) -> Column {
    let own = |piece: &Piece| u32::from(!matches!(piece.content, PieceContent::Tokens { .. }));
    let text = |piece: &Piece| piece.is_text.then_some(0);
    numbers(layout, text, |given| &given.special, own)
}

/// 0 for tokens that fill up.
pub fn attention_mask(layout: &Encoded) -> Column {
    let own = |piece: &Piece| u32::from(!matches!(piece.content, PieceContent::Padding { .. }));
    let text = |piece: &Piece| piece.is_text.then_some(1);
    numbers(layout, text, |given| &given.attention, own)
}

/// The texts of tokens.
pub fn texts(layout: &Encoded) -> PyResult<Vec<&str>> {
    let mut column: Vec<&str> = Vec::with_capacity(layout.len());
    for piece in layout.pieces() {
        match &piece.content {
            PieceContent::Tokens { source, range } => {
                let texts = &source.details()?.texts[range.clone()];
                column.extend(texts.iter().map(|text| &**text));
            }
            PieceContent::Special { tokens, range } => {
                column.extend(tokens.texts[range.clone()].iter().map(String::as_str));
            }
            PieceContent::Padding { token, length } => {
                column.resize(column.len() + length, &token.text);
            }
        }
    }
    Ok(column)
}

/// The words of the tokens.
pub fn words(layout: &Encoded) -> PyResult<Vec<Option<u32>>> {
    let mut column = Vec::with_capacity(layout.len());
    for piece in layout.pieces() {
        match &piece.content {
            PieceContent::Tokens { source, range } => {
                column.extend_from_slice(&source.details()?.words[range.clone()]);
            }
            other => column.resize(column.len() + other.len(), None),
        }
    }
    Ok(column)
}

/// The span of a token, by its number in the piece.
fn span(piece: &Piece, number: usize) -> PyResult<(usize, usize)> {
    let stepped = |span: (usize, usize), text: &str, token: usize| {
        let step = |span, step: &SpanStep| step.apply(span, text, token);
        let span = piece.span_steps.iter().fold(span.0..span.1, step);
        (span.start, span.end)
    };
    match &piece.content {
        PieceContent::Tokens { source, range } => {
            let details = source.details()?;
            let token = range.start + number;
            Ok(stepped(details.spans[token], &details.texts[token], token))
        }
        PieceContent::Special { .. } | PieceContent::Padding { .. } => Ok(stepped((0, 0), "", 0)),
    }
}

/// The spans of the tokens.
pub fn spans_of(layout: &Encoded) -> PyResult<Vec<(usize, usize)>> {
    let mut column = Vec::with_capacity(layout.len());
    for piece in layout.pieces() {
        for number in 0..piece.content.len() {
            column.push(span(piece, number)?);
        }
    }
    Ok(column)
}

/// The end of the span of the last token; 0 without tokens.
pub fn last_end(layout: &Encoded) -> PyResult<usize> {
    let last = layout.pieces().last();
    let number = last.and_then(|piece| Some((piece, piece.content.len().checked_sub(1)?)));
    number.map_or(Ok(0), |(piece, number)| Ok(span(piece, number)?.1))
}

/// Makes the details of all tokens, so that nothing that follows fails.
pub fn require_details(layout: &Encoded) -> PyResult<()> {
    for piece in layout.pieces() {
        if let PieceContent::Tokens { source, .. } = &piece.content {
            source.details()?;
        }
    }
    layout.overflow().iter().try_for_each(require_details)
}
