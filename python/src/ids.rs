//! Ids from Python: lists, tuples, other sequences, sets, and buffers of any integer type and
//! stride. They become `i32`, as in the reference. Numbers in arrays that do not fit are
//! clamped and are then refused because the model has no such id; in lists they are a `TypeError`.
//! Arrays in a foreign byte order are read item by item.

use pyo3::buffer::{Element, PyBuffer, PyUntypedBuffer};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyFrozenSet, PyList, PySet, PyString};
use spiece::PieceId;

use crate::arguments::to_i32;
use crate::buffer::append_exact_ints;
use crate::errors;
use crate::text::type_name;

/// Appends the numbers of one sequence.
///
/// # Errors
/// `TypeError`
pub fn append(object: &Bound<'_, PyAny>, numbers: &mut Vec<i32>) -> PyResult<()> {
    if let Ok(list) = object.cast::<PyList>()
        && append_exact_ints(list, numbers)
    {
        return Ok(());
    }
    let is_byte_array = object.is_instance_of::<PyByteArray>();
    if !is_byte_array
        && !object.is_instance_of::<PyBytes>()
        && let Ok(buffer) = PyUntypedBuffer::get(object)
    {
        return append_buffer(object, &buffer, numbers);
    }
    append_sequence(object, numbers)
}

fn append_sequence(object: &Bound<'_, PyAny>, numbers: &mut Vec<i32>) -> PyResult<()> {
    let mut push = |item: &Bound<'_, PyAny>| -> PyResult<()> {
        numbers.push(to_i32(item).map_err(|_| not_ids())?);
        Ok(())
    };
    if is_listed_iterable(object) {
        for item in object.try_iter()? {
            push(&item?)?;
        }
        return Ok(());
    }
    let is_text = object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>();
    if is_text
        || object.is_instance_of::<PyDict>()
        || !object.hasattr("__getitem__")?
        || !object.hasattr("__len__")?
    {
        return Err(not_ids());
    }
    for index in 0..object.len()? {
        push(&object.get_item(index)?)?;
    }
    Ok(())
}

/// Whether an object is one of the iterables without indexes in which the reference takes ids.
fn is_listed_iterable(object: &Bound<'_, PyAny>) -> bool {
    const NAMES: [&str; 6] = [
        "generator",
        "dict_keys",
        "dict_values",
        "dict_items",
        "map",
        "zip",
    ];
    object.is_instance_of::<PySet>()
        || object.is_instance_of::<PyFrozenSet>()
        || NAMES.contains(&type_name(object).as_str())
}

fn not_ids() -> PyErr {
    PyTypeError::new_err(
        "Input must be an integer buffer, list of integers, or a sequence of integers.",
    )
}

fn append_buffer(
    object: &Bound<'_, PyAny>,
    buffer: &PyUntypedBuffer,
    numbers: &mut Vec<i32>,
) -> PyResult<()> {
    let format = buffer.format().to_bytes();
    if !format
        .last()
        .is_some_and(|code| b"bhilqnBHILQN".contains(code))
    {
        return Err(PyTypeError::new_err("Buffer must be of integer type"));
    }
    if buffer.dimensions() != 1 {
        return Err(PyTypeError::new_err("Buffer must be 1-dimensional"));
    }
    let is_read = append_elements::<i32>(object, numbers, clamp)?
        || append_elements::<i64>(object, numbers, clamp)?
        || append_elements::<u32>(object, numbers, clamp)?
        || append_elements::<u64>(object, numbers, clamp)?
        || append_elements::<i16>(object, numbers, clamp)?
        || append_elements::<u16>(object, numbers, clamp)?
        || append_elements::<i8>(object, numbers, clamp)?
        || append_elements::<u8>(object, numbers, clamp)?;
    if is_read {
        return Ok(());
    }
    // For example, a foreign byte order: reading item by item gives the right values.
    append_sequence(object, numbers)
}

/// The nearest `i32`.
fn clamp<T: TryInto<i128>>(value: T) -> i32 {
    let value: i128 = value.try_into().unwrap_or(i128::MAX);
    let clamped = value.clamp(i32::MIN.into(), i32::MAX.into());
    i32::try_from(clamped).unwrap_or(i32::MAX)
}

/// Appends the elements of a buffer of this type; false if it has another type.
fn append_elements<T: Element>(
    object: &Bound<'_, PyAny>,
    numbers: &mut Vec<i32>,
    convert: impl Fn(T) -> i32,
) -> PyResult<bool> {
    let Ok(buffer) = PyBuffer::<T>::get(object) else {
        return Ok(false);
    };
    let py = object.py();
    numbers.extend(buffer.to_vec(py)?.into_iter().map(convert));
    Ok(true)
}

/// The numbers of several sequences, concatenated.
#[derive(Default)]
pub struct RaggedNumbers {
    pub numbers: Vec<i32>,
    /// The offset of each sequence, and the end.
    pub offsets: Vec<usize>,
}

impl RaggedNumbers {
    /// The numbers of a sequence of sequences, or of the rows of an array.
    ///
    /// # Errors
    /// `TypeError`
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<RaggedNumbers> {
        let mut ragged = RaggedNumbers::default();
        ragged.offsets.push(0);
        if let Ok(list) = object.cast::<PyList>() {
            for item in list.iter() {
                ragged.push(&item)?;
            }
            return Ok(ragged);
        }
        for index in 0..object.len()? {
            ragged.push(&object.get_item(index)?)?;
        }
        Ok(ragged)
    }

    fn push(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        append(item, &mut self.numbers)?;
        self.offsets.push(self.numbers.len());
        Ok(())
    }
}

/// Whether a number is the id of a piece of a model with `pieces` pieces.
pub fn is_id(number: i32, pieces: usize) -> bool {
    usize::try_from(number).is_ok_and(|index| index < pieces)
}

/// Checks numbers and converts them to ids.
///
/// # Errors
/// `IndexError` for a number that is not an id of a model with `pieces` pieces.
pub fn checked(py: Python<'_>, numbers: Vec<i32>, pieces: usize) -> PyResult<Vec<PieceId>> {
    if let Some(number) = numbers.iter().find(|number| !is_id(**number, pieces)) {
        return Err(errors::id_out_of_range(py, *number, pieces));
    }
    Ok(numbers
        .into_iter()
        .map(|number| PieceId::new(number.cast_unsigned()))
        .collect())
}
