//! Python texts, without copies: the UTF-8 bytes of `str` or `bytes`, borrowed for one call or kept
//! alive for a batch. Python stores the UTF-8 form of a `str` beside it; for ASCII it is the string
//! itself.

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::buffer::TupleTexts;

/// The bytes of one text, for the duration of a call.
#[derive(Clone, Copy)]
pub struct Text<'a> {
    pub bytes: &'a [u8],
    /// Whether it was given as `bytes`; the results are then `bytes` too.
    pub is_bytes: bool,
}

impl<'a> Text<'a> {
    /// # Errors
    /// `TypeError` if the object is neither `str` nor `bytes`; `RuntimeError` for a lone surrogate.
    #[inline]
    pub fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Text<'a>> {
        if let Ok(text) = object.cast::<PyString>() {
            let bytes = text.to_str().map_err(|error| surrogate(&error))?.as_bytes();
            return Ok(Text {
                bytes,
                is_bytes: false,
            });
        }
        match object.cast::<PyBytes>() {
            Ok(bytes) => Ok(Text {
                bytes: bytes.as_bytes(),
                is_bytes: true,
            }),
            Err(_) => Err(PyTypeError::new_err(format!(
                "Input must be str or bytes, not {}",
                type_name(object)
            ))),
        }
    }
}

fn surrogate(error: &PyErr) -> PyErr {
    PyRuntimeError::new_err(format!(
        "the text cannot be encoded in UTF-8: {error}; replace lone surrogates, for example with \
         text.encode('utf-8', 'replace')"
    ))
}

/// The name of the type of an object, for messages.
pub fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "an object".to_owned(), |name| name.to_string())
}

/// Texts of a batch.
pub struct HeldTexts {
    held: TupleTexts,
    /// Whether the first one was given as `bytes`.
    pub is_bytes: bool,
}

impl HeldTexts {
    /// The texts of a list, a tuple, or another sequence that is not itself a text.
    ///
    /// # Errors
    /// `TypeError` if an element is neither `str` nor `bytes`, or has a lone surrogate.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<HeldTexts> {
        HeldTexts::of_items(sequence_items(object)?)
    }

    /// The texts of the items of a batch.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub fn of_items(items: Bound<'_, PyTuple>) -> PyResult<HeldTexts> {
        let held = TupleTexts::of(items.clone()).ok_or_else(|| not_texts(&items))?;
        Ok(HeldTexts {
            is_bytes: held.begins_with_bytes(items.py()),
            held,
        })
    }

    /// The texts.
    pub fn texts(&self) -> &[&[u8]] {
        self.held.texts()
    }

    /// Reverses the order of the texts.
    pub fn reverse(&mut self) {
        self.held.reverse();
    }
}

/// The items of a list, a tuple, or another sequence that is not itself a text, as the reference
/// reads them.
///
/// # Errors
/// `TypeError` if the object is not a sequence, or is a text.
fn sequence_items<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTuple>> {
    if let Some(items) = listed_items(object) {
        return Ok(items);
    }
    let is_text = object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>();
    if is_text || !object.hasattr("__getitem__")? {
        return Err(PyTypeError::new_err(
            "Input must be a list or tuple of str or bytes",
        ));
    }
    let items = (0..object.len()?).map(|index| object.get_item(index));
    PyTuple::new(object.py(), items.collect::<PyResult<Vec<_>>>()?)
}

/// The items of a list or tuple.
fn listed_items<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyTuple>> {
    match object.cast::<PyList>() {
        Ok(list) => Some(list.to_tuple()),
        Err(_) => object.cast::<PyTuple>().ok().cloned(),
    }
}

/// The items of an iterable, for the argument `name`.
///
/// # Errors
/// `TypeError` for a text or a `dict`, and for an object that is not iterable.
pub fn iterable_items<'py>(
    object: &Bound<'py, PyAny>,
    name: &str,
) -> PyResult<Bound<'py, PyTuple>> {
    if let Some(items) = listed_items(object) {
        return Ok(items);
    }
    if object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>() {
        return Err(PyTypeError::new_err(format!(
            "{name}: one text is no batch; pass [text]"
        )));
    }
    let iterator = object.try_iter().ok();
    let Some(iterator) = iterator.filter(|_| !object.is_instance_of::<PyDict>()) else {
        return Err(PyTypeError::new_err(format!(
            "{name}: expected a list or another iterable, not {}",
            type_name(object)
        )));
    };
    PyTuple::new(object.py(), iterator.collect::<PyResult<Vec<_>>>()?)
}

/// The error for a batch with an item that is not a text.
pub fn not_texts(items: &Bound<'_, PyTuple>) -> PyErr {
    let py = items.py();
    for (number, item) in items.iter_borrowed().enumerate() {
        if let Err(error) = Text::of(&item) {
            let message = format!("element {number} of the batch: {}", error.value(py));
            return PyTypeError::new_err(message);
        }
    }
    PyTypeError::new_err("List elements must be str or bytes")
}

/// A `str`.
///
/// # Errors
/// `UnicodeDecodeError` if the bytes are not UTF-8.
#[inline]
pub fn to_str<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyString>> {
    PyString::from_bytes(py, bytes)
}

/// A `str` or `bytes`.
#[inline]
pub fn to_text<'py>(py: Python<'py>, bytes: &[u8], is_bytes: bool) -> PyResult<Bound<'py, PyAny>> {
    if is_bytes {
        Ok(PyBytes::new(py, bytes).into_any())
    } else {
        Ok(to_str(py, bytes)?.into_any())
    }
}

/// Converts byte offsets in a text to positions in characters; fast for ascending offsets.
///
/// Characters are determined as in the reference: the first byte of each determines its length.
pub struct CharPositions<'t> {
    text: &'t [u8],
    is_ascii: bool,
    byte: usize,
    chars: usize,
}

impl<'t> CharPositions<'t> {
    pub fn new(text: &'t [u8]) -> CharPositions<'t> {
        CharPositions {
            text,
            is_ascii: text.is_ascii(),
            byte: 0,
            chars: 0,
        }
    }

    /// The number of the character that contains the byte at `offset`.
    pub fn at(&mut self, offset: usize) -> usize {
        if self.is_ascii {
            return offset;
        }
        if offset < self.byte {
            self.byte = 0;
            self.chars = 0;
        }
        while self.byte < offset {
            let next = self.byte + char_length(self.text[self.byte]);
            if next > offset && next <= self.text.len() {
                break;
            }
            self.byte = next.min(self.text.len());
            self.chars += 1;
        }
        self.chars
    }
}

/// The length that the first byte of a character declares.
fn char_length(byte: u8) -> usize {
    match byte {
        0..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0.. => 4,
    }
}
