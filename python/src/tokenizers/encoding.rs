//! `Encoding`: the columns of a result, each a walk over its pieces.

use std::sync::Arc;

use pyo3::exceptions::{PyDeprecationWarning, PyException, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use spiece::PieceId;
use spiece::pipeline::{Layout, LayoutPiece, PaddingToken, PieceContent, Side, SpanStep};

use super::settings::{ignored_keyword, side_of};
use super::source::{Details, GivenColumns, Source};
use super::state::exception;
use crate::buffer::list_of;
use crate::spans;

/// The tokens of an encoding, over sources.
pub type Encoded = Layout<Arc<Source>>;

/// A piece of a result.
type Piece = LayoutPiece<Arc<Source>>;

/// The tokens of one text or two, with everything that is known about them.
#[pyclass(module = "spiece.tokenizers", name = "Encoding", dict)]
pub struct PyEncoding {
    pub layout: Encoded,
}

impl From<Encoded> for PyEncoding {
    fn from(layout: Encoded) -> Self {
        Self { layout }
    }
}

/// Appends the ids of a piece.
fn push_ids(piece: &Piece, ids: &mut Vec<u32>) {
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
struct Column {
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

    /// The list. Python repeats a number in a fraction of the time in which a list is filled item by item.
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
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

fn type_ids(layout: &Encoded) -> Column {
    let own = |piece: &Piece| match &piece.content {
        PieceContent::Tokens { source, .. } => source.type_id,
        PieceContent::Special { .. } => 0,
        PieceContent::Padding { token, .. } => token.type_id,
    };
    numbers(layout, |piece| piece.type_id, |given| &given.type_ids, own)
}

fn special_tokens_mask(layout: &Encoded) -> Column {
    let own = |piece: &Piece| u32::from(!matches!(piece.content, PieceContent::Tokens { .. }));
    let text = |piece: &Piece| piece.is_text.then_some(0);
    numbers(layout, text, |given| &given.special, own)
}

fn attention_mask(layout: &Encoded) -> Column {
    let own = |piece: &Piece| u32::from(!matches!(piece.content, PieceContent::Padding { .. }));
    let text = |piece: &Piece| piece.is_text.then_some(1);
    numbers(layout, text, |given| &given.attention, own)
}

/// The texts of tokens.
fn texts(layout: &Encoded) -> PyResult<Vec<&str>> {
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

fn words(layout: &Encoded) -> PyResult<Vec<Option<u32>>> {
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

fn spans_of(layout: &Encoded) -> PyResult<Vec<(usize, usize)>> {
    let mut column = Vec::with_capacity(layout.len());
    for piece in layout.pieces() {
        for number in 0..piece.content.len() {
            column.push(span(piece, number)?);
        }
    }
    Ok(column)
}

/// The end of the span of the last token; 0 without tokens.
fn last_end(layout: &Encoded) -> PyResult<usize> {
    let last = layout.pieces().last();
    let number = last.and_then(|piece| Some((piece, piece.content.len().checked_sub(1)?)));
    number.map_or(Ok(0), |(piece, number)| Ok(span(piece, number)?.1))
}

/// Makes the details of all tokens, so that nothing that follows fails.
fn require_details(layout: &Encoded) -> PyResult<()> {
    for piece in layout.pieces() {
        if let PieceContent::Tokens { source, .. } = &piece.content {
            source.details()?;
        }
    }
    layout.overflow().iter().try_for_each(require_details)
}

/// The tokens of a word: the first of them, and the one after the last.
fn tokens_of_word(
    layout: &Encoded,
    word: u32,
    sequence: usize,
) -> PyResult<Option<(usize, usize)>> {
    let range = layout.tokens_of(sequence);
    let words = words(layout)?;
    let Some(within) = words.get(range.clone()) else {
        return Ok(None);
    };
    // The search ends at the first token of a later word.
    let searched = within.iter().take_while(|it| **it <= Some(word));
    let mut found = searched
        .enumerate()
        .filter(|(_, it)| **it == Some(word))
        .map(|(number, _)| range.start + number);
    let Some(first) = found.next() else {
        return Ok(None);
    };
    Ok(Some((first, found.last().unwrap_or(first) + 1)))
}

fn token_of_place(layout: &Encoded, place: usize, sequence: usize) -> PyResult<Option<usize>> {
    let range = layout.tokens_of(sequence);
    let spans = spans_of(layout)?;
    let Some(within) = spans.get(range.clone()) else {
        return Ok(None);
    };
    let found = within
        .iter()
        .position(|(begin, end)| (*begin..*end).contains(&place));
    Ok(found.map(|number| range.start + number))
}

/// All columns, as tokenizers stores an encoding in JSON.
fn to_dict<'py>(py: Python<'py>, layout: &Encoded) -> PyResult<Bound<'py, PyDict>> {
    let mut ids = Vec::with_capacity(layout.len());
    push_all_ids(layout, &mut ids);
    let overflow = layout.overflow().iter().map(|part| to_dict(py, part));
    let ranges = PyDict::new(py);
    for known in layout.sequences() {
        let range = PyDict::new(py);
        range.set_item("start", known.tokens.start)?;
        range.set_item("end", known.tokens.end)?;
        ranges.set_item(known.sequence.to_string(), range)?;
    }
    let dict = PyDict::new(py);
    dict.set_item("ids", ids)?;
    dict.set_item("type_ids", type_ids(layout).list(py)?)?;
    dict.set_item("tokens", texts(layout)?)?;
    dict.set_item("words", words(layout)?)?;
    dict.set_item("offsets", spans_of(layout)?)?;
    dict.set_item("special_tokens_mask", special_tokens_mask(layout).list(py)?)?;
    dict.set_item("attention_mask", attention_mask(layout).list(py)?)?;
    dict.set_item("overflowing", overflow.collect::<PyResult<Vec<_>>>()?)?;
    dict.set_item("sequence_ranges", ranges)?;
    Ok(dict)
}

/// The result of such columns.
fn of_dict(dict: &Bound<'_, PyDict>) -> PyResult<Encoded> {
    let field = |name: &str| {
        let value = dict.get_item(name)?;
        value.ok_or_else(|| PyException::new_err(format!("missing field `{name}`")))
    };
    let ids: Vec<u32> = field("ids")?.extract()?;
    let texts: Vec<String> = field("tokens")?.extract()?;
    let spans: Vec<[usize; 2]> = field("offsets")?.extract()?;
    let columns = GivenColumns {
        type_ids: field("type_ids")?.extract()?,
        special: field("special_tokens_mask")?.extract()?,
        attention: field("attention_mask")?.extract()?,
    };
    let details = Details {
        texts: texts.into_iter().map(Into::into).collect(),
        spans: spans.into_iter().map(Into::into).collect(),
        words: field("words")?.extract()?,
        given: None,
    };
    let length = ids.len();
    let lengths = [
        details.texts.len(),
        details.spans.len(),
        details.words.len(),
        columns.type_ids.len(),
        columns.special.len(),
        columns.attention.len(),
    ];
    if lengths.iter().any(|other| *other != length) {
        let message =
            format!("the columns of the encoding have the lengths {length} and {lengths:?}");
        return Err(PyException::new_err(message));
    }
    let details = Details {
        given: Some(columns),
        ..details
    };
    let ids = ids.into_iter().map(PieceId::new).collect();
    let mut layout = Layout::of_source(Arc::new(Source::given(ids, details)), length);
    let ranges = field("sequence_ranges")?;
    for (sequence, range) in ranges.cast::<PyDict>()?.iter() {
        let sequence: String = sequence.extract()?;
        let sequence = sequence.parse().map_err(exception)?;
        let start: usize = range.get_item("start")?.extract()?;
        let end: usize = range.get_item("end")?.extract()?;
        layout.set_tokens_of(sequence, start..end);
    }
    let mut overflow = Vec::new();
    for part in field("overflowing")?.try_iter()? {
        overflow.push(of_dict(part?.cast::<PyDict>()?)?);
    }
    *layout.overflow_mut() = overflow;
    Ok(layout)
}

#[pymethods]
impl PyEncoding {
    #[new]
    fn new() -> PyEncoding {
        Layout::default().into()
    }

    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let settings = PyDict::new(py);
        settings.set_item("ensure_ascii", false)?;
        settings.set_item("separators", (",", ":"))?;
        let json = py.import("json")?.getattr("dumps")?;
        let json: String = json
            .call((to_dict(py, &self.layout)?,), Some(&settings))?
            .extract()?;
        Ok(PyBytes::new(py, json.as_bytes()))
    }

    fn __setstate__(&mut self, state: &Bound<'_, PyBytes>) -> PyResult<()> {
        let json = state.py().import("json")?.getattr("loads")?;
        let read = || of_dict(json.call1((state,))?.cast::<PyDict>()?);
        self.layout = read().map_err(|error| {
            PyException::new_err(format!(
                "Error while attempting to unpickle Encoding: {error}"
            ))
        })?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        format!(
            "Encoding(num_tokens={}, attributes=[ids, type_ids, tokens, offsets, attention_mask, \
             special_tokens_mask, overflowing])",
            self.layout.len()
        )
    }

    fn __len__(&self) -> usize {
        self.layout.len()
    }

    /// Encodings one after another; their spans go on from each other unless growing_offsets is False.
    #[staticmethod]
    #[pyo3(signature = (encodings, growing_offsets = true))]
    fn merge(encodings: Vec<PyRef<'_, PyEncoding>>, growing_offsets: bool) -> PyResult<PyEncoding> {
        let mut merged = Layout::default();
        for encoding in &encodings {
            if growing_offsets {
                require_details(&encoding.layout)?;
            }
            let shift = |left: &Encoded| match growing_offsets {
                true => last_end(left).unwrap_or_default(),
                false => 0,
            };
            merged.merge(encoding.layout.clone(), &shift);
        }
        Ok(merged.into())
    }

    /// The number of sequences.
    #[getter]
    fn n_sequences(&self) -> usize {
        self.layout.sequence_count()
    }

    /// Says that all tokens belong to a sequence.
    fn set_sequence_id(&mut self, sequence_id: usize) {
        self.layout.set_sequence(sequence_id);
    }

    /// The ids of the tokens.
    #[getter]
    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let mut ids = Vec::with_capacity(self.layout.len());
        let mut engine = None;
        for piece in self.layout.pieces() {
            push_ids(piece, &mut ids);
            if let PieceContent::Tokens { source, .. } = &piece.content {
                engine = engine.or(source.engine());
            }
        }
        if let Some(engine) = engine {
            let ints = engine.loaded.ints(py);
            let indexes = ids.iter().map(|id| *id as usize);
            if indexes.clone().all(|index| index < ints.len()) {
                return list_of(py, ints, indexes);
            }
        }
        PyList::new(py, ids)
    }

    /// The texts of the tokens.
    #[getter]
    fn tokens(&self) -> PyResult<Vec<&str>> {
        texts(&self.layout)
    }

    /// The word of each token; deprecated, see word_ids.
    #[getter]
    fn words(&self, py: Python<'_>) -> PyResult<Vec<Option<u32>>> {
        let category = py.get_type::<PyDeprecationWarning>();
        let message =
            c"Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead.";
        PyErr::warn(py, &category, message, 0)?;
        self.word_ids()
    }

    /// The word of each token.
    #[getter]
    fn word_ids(&self) -> PyResult<Vec<Option<u32>>> {
        words(&self.layout)
    }

    /// The sequence of each token.
    #[getter]
    fn sequence_ids(&self) -> Vec<Option<usize>> {
        let mut column = vec![None; self.layout.len()];
        for sequence in 0..self.layout.sequence_count() {
            let tokens = self.layout.tokens_of(sequence);
            if let Some(tokens) = column.get_mut(tokens) {
                tokens.fill(Some(sequence));
            }
        }
        column
    }

    /// The type of each token.
    #[getter]
    fn type_ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        type_ids(&self.layout).list(py)
    }

    /// The span of each token in its text.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let spans = spans_of(&self.layout)?;
        let tuples = spans
            .into_iter()
            .map(|(begin, end)| spans::tuple(py, begin, end));
        PyList::new(py, tuples.collect::<PyResult<Vec<_>>>()?)
    }

    /// 1 for each token that is no text.
    #[getter]
    fn special_tokens_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        special_tokens_mask(&self.layout).list(py)
    }

    /// 1 for each token that is no padding.
    #[getter]
    fn attention_mask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        attention_mask(&self.layout).list(py)
    }

    /// What was cut off.
    #[getter]
    fn overflowing(&self) -> Vec<PyEncoding> {
        let parts = self.layout.overflow().iter();
        parts.map(|part| part.clone().into()).collect()
    }

    /// The tokens of a word: the first of them, and the one after the last.
    #[pyo3(signature = (word_index, sequence_index = 0))]
    fn word_to_tokens(
        &self,
        word_index: u32,
        sequence_index: usize,
    ) -> PyResult<Option<(usize, usize)>> {
        tokens_of_word(&self.layout, word_index, sequence_index)
    }

    /// The span of a word.
    #[pyo3(signature = (word_index, sequence_index = 0))]
    fn word_to_chars(
        &self,
        word_index: u32,
        sequence_index: usize,
    ) -> PyResult<Option<(usize, usize)>> {
        let tokens = tokens_of_word(&self.layout, word_index, sequence_index)?;
        let Some((first, end)) = tokens else {
            return Ok(None);
        };
        let spans = spans_of(&self.layout)?;
        let (first, last) = (spans.get(first), spans.get(end - 1));
        Ok(first.zip(last).map(|(first, last)| (first.0, last.1)))
    }

    /// The sequence of a token.
    fn token_to_sequence(&self, token_index: usize) -> Option<usize> {
        self.layout.sequence_of(token_index)
    }

    /// The span of a token.
    fn token_to_chars(&self, token_index: usize) -> PyResult<Option<(usize, usize)>> {
        if self.layout.sequence_of(token_index).is_none() {
            return Ok(None);
        }
        Ok(spans_of(&self.layout)?.get(token_index).copied())
    }

    /// The word of a token.
    fn token_to_word(&self, token_index: usize) -> PyResult<Option<u32>> {
        if self.layout.sequence_of(token_index).is_none() {
            return Ok(None);
        }
        Ok(words(&self.layout)?.get(token_index).copied().flatten())
    }

    /// The token at a place of a text.
    #[pyo3(signature = (char_pos, sequence_index = 0))]
    fn char_to_token(&self, char_pos: usize, sequence_index: usize) -> PyResult<Option<usize>> {
        token_of_place(&self.layout, char_pos, sequence_index)
    }

    /// The word at a place of a text.
    #[pyo3(signature = (char_pos, sequence_index = 0))]
    fn char_to_word(&self, char_pos: usize, sequence_index: usize) -> PyResult<Option<u32>> {
        match token_of_place(&self.layout, char_pos, sequence_index)? {
            Some(token) => self.token_to_word(token),
            None => Ok(None),
        }
    }

    /// Fills the encoding up to a length.
    #[pyo3(signature = (length, **kwargs))]
    fn pad(&mut self, length: usize, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let mut direction = Side::Right;
        let mut token = PaddingToken {
            id: 0,
            type_id: 0,
            text: "[PAD]".to_owned(),
        };
        for (key, value) in kwargs.into_iter().flatten() {
            match key.extract::<String>()?.as_str() {
                "direction" => direction = side_of(&value, "")?,
                "pad_id" => token.id = value.extract()?,
                "pad_type_id" => token.type_id = value.extract()?,
                "pad_token" => token.text = value.extract()?,
                _ => ignored_keyword(&key)?,
            }
        }
        self.layout.pad(length, &Arc::new(token), direction);
        Ok(())
    }

    /// Cuts the encoding to a length; what is cut off is its overflow.
    #[pyo3(signature = (max_length, stride = 0, direction = "right"))]
    fn truncate(&mut self, max_length: usize, stride: usize, direction: &str) -> PyResult<()> {
        let direction = match direction {
            "left" => Side::Left,
            "right" => Side::Right,
            other => {
                let message = format!("Invalid truncation direction value : {other}");
                return Err(PyValueError::new_err(message));
            }
        };
        let cut = self.layout.truncate(max_length, stride, direction);
        cut.map_err(|error| PyValueError::new_err(error.to_string()))
    }
}
