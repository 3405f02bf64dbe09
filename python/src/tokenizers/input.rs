//! Texts, pairs of texts and lists of words as Python gives them, with the rules and messages of tokenizers.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyList, PyString, PyTuple};

use super::source::Input;

/// One text or two.
pub struct Inputs {
    pub first: Input,
    pub second: Option<Input>,
}

impl Inputs {
    /// What a call for one result is given.
    pub fn of(
        sequence: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
        is_pretokenized: bool,
    ) -> PyResult<Inputs> {
        Ok(Inputs {
            first: input(sequence, is_pretokenized)?,
            second: pair.map(|pair| input(pair, is_pretokenized)).transpose()?,
        })
    }

    /// An element of a batch.
    pub fn of_element(element: &Bound<'_, PyAny>, is_pretokenized: bool) -> PyResult<Inputs> {
        if let Ok(first) = input(element, is_pretokenized) {
            let second = None;
            return Ok(Inputs { first, second });
        }
        if let Ok(pair) = element.extract::<Vec<Bound<'_, PyAny>>>()
            && let [first, second] = &pair[..]
        {
            return Inputs::of(first, Some(second), is_pretokenized);
        }
        Err(PyTypeError::new_err(if is_pretokenized {
            "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, \
             Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence]]"
        } else {
            "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
        }))
    }

    pub fn bytes(&self) -> usize {
        self.first.bytes() + self.second.as_ref().map_or(0, Input::bytes)
    }
}

fn input(object: &Bound<'_, PyAny>, is_pretokenized: bool) -> PyResult<Input> {
    match is_pretokenized {
        false => match text(object) {
            Some(text) => Ok(Input::Text(text)),
            None => Err(PyTypeError::new_err("TextInputSequence must be str")),
        },
        true => match words(object) {
            Some(words) => Ok(Input::Words(words)),
            None => Err(PyTypeError::new_err(
                "PreTokenizedInputSequence must be Union[List[str], Tuple[str]]",
            )),
        },
    }
}

/// A text; `None` for other objects, and for a text with a lone surrogate.
fn text(object: &Bound<'_, PyAny>) -> Option<PyBackedStr> {
    let text = object.cast::<PyString>().ok()?;
    PyBackedStr::try_from(text.clone()).ok()
}

/// The words of a list, a tuple, or an array of numpy with one dimension.
fn words(object: &Bound<'_, PyAny>) -> Option<Vec<PyBackedStr>> {
    let is_list = object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>();
    let items = match is_list {
        true => object.clone(),
        false => array_items(object)?,
    };
    let items = items.try_iter().ok()?;
    items.map(|item| text(&item.ok()?)).collect()
}

/// The items of an array of texts or objects.
fn array_items<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let numpy = object.py().import("sys").ok()?.getattr("modules").ok()?;
    let class = numpy.get_item("numpy").ok()?.getattr("ndarray").ok()?;
    if !object.is_instance(&class).ok()?
        || object.getattr("ndim").ok()?.extract::<usize>().ok()? != 1
    {
        return None;
    }
    let kind: String = object
        .getattr("dtype")
        .ok()?
        .getattr("kind")
        .ok()?
        .extract()
        .ok()?;
    let has_texts = kind == "U" || kind == "O";
    has_texts
        .then(|| object.call_method0("tolist").ok())
        .flatten()
}
