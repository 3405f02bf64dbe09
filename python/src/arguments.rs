//! Arguments of calls of both generations of the reference's API, by name. Releases until 0.2.1 had
//! `out_type` as the second parameter of `encode`, later ones have `add_bos`; the type of the value
//! distinguishes them, as in `encode(text, str)`. Also conversions of single arguments.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyString, PyTuple, PyType};

use crate::errors;
use crate::text::type_name;

/// A result type of encoding or decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnType {
    Ids,
    Str,
    Bytes,
    Proto,
    SerializedProto,
    ImmutableProto,
    Numpy,
    OffsetMapping,
}

/// The values of the parameters `names`, `None` where an argument is missing or `None`.
pub struct Arguments<'py, const N: usize> {
    names: [&'static str; N],
    values: [Option<Bound<'py, PyAny>>; N],
}

impl<'py, const N: usize> Arguments<'py, N> {
    /// Takes positional arguments in the order of `order`, and keyword arguments.
    ///
    /// # Errors
    /// `TypeError` for too many arguments, unknown names, and values given twice.
    pub fn new(
        function: &str,
        names: [&'static str; N],
        order: &[&str],
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Arguments<'py, N>> {
        let mut arguments = Arguments {
            names,
            values: [const { None }; N],
        };
        if args.len() > order.len() {
            return Err(PyTypeError::new_err(format!(
                "{function}() takes {} positional arguments besides the input, but {} were given",
                order.len(),
                args.len()
            )));
        }
        for (name, value) in order.iter().zip(args.iter()) {
            arguments.set(function, name, value)?;
        }
        if let Some(kwargs) = kwargs {
            for (name, value) in kwargs.iter() {
                arguments.set(function, name.cast::<PyString>()?.to_str()?, value)?;
            }
        }
        Ok(arguments)
    }

    /// Sets the value of a parameter by its name.
    ///
    /// # Errors
    /// `TypeError` for an unknown name, and for a value given twice.
    pub fn set(&mut self, function: &str, name: &str, value: Bound<'py, PyAny>) -> PyResult<()> {
        let Some(place) = self.names.iter().position(|known| *known == name) else {
            return Err(PyTypeError::new_err(format!(
                "{function}() got an unexpected keyword argument '{name}'"
            )));
        };
        if self.values[place].is_some() {
            return Err(PyTypeError::new_err(format!(
                "{function}() got multiple values for argument '{name}'"
            )));
        }
        self.values[place] = (!value.is_none()).then_some(value);
        Ok(())
    }

    /// The value of the parameter at position `place` of the names.
    pub fn at(&self, place: usize) -> Option<&Bound<'py, PyAny>> {
        self.values.get(place)?.as_ref()
    }

    /// The value of a parameter.
    pub fn get(&self, name: &str) -> Option<&Bound<'py, PyAny>> {
        let place = self.names.iter().position(|known| *known == name)?;
        self.values[place].as_ref()
    }

    /// The result type that `return_type` or `out_type` names.
    ///
    /// # Errors
    /// `ValueError` if both are given, or for any other value.
    pub fn return_type(&self, default: ReturnType) -> PyResult<ReturnType> {
        match (self.get("return_type"), self.get("out_type")) {
            (Some(_), Some(_)) => Err(PyValueError::new_err(
                "Cannot specify both out_type and return_type. Use return_type instead.",
            )),
            (Some(value), None) => ReturnType::of(value),
            (None, Some(value)) if is_text(value, "immutable_proto") => {
                Ok(ReturnType::ImmutableProto)
            }
            (None, Some(value)) => ReturnType::of(value),
            (None, None) => Ok(default),
        }
    }
}

impl ReturnType {
    /// The type that a Python value names.
    ///
    /// # Errors
    /// `ValueError`
    pub fn of(value: &Bound<'_, PyAny>) -> PyResult<ReturnType> {
        let py = value.py();
        if value.is(py.get_type::<PyInt>()) {
            return Ok(ReturnType::Ids);
        }
        if value.is(py.get_type::<PyString>()) {
            return Ok(ReturnType::Str);
        }
        if value.is(py.get_type::<PyBytes>()) {
            return Ok(ReturnType::Bytes);
        }
        let name = value.cast::<PyString>().ok();
        match name.and_then(|name| name.to_str().ok()) {
            Some("proto") => Ok(ReturnType::Proto),
            Some("serialized_proto") => Ok(ReturnType::SerializedProto),
            Some("numpy") => Ok(ReturnType::Numpy),
            Some("offset_mapping") => Ok(ReturnType::OffsetMapping),
            Some("immutable_proto") => Err(PyValueError::new_err(
                "immutable_proto is deprecated and no longer supported as a return_type. Use \
                 return_type='proto', or out_type='immutable_proto' as until 0.2.1.",
            )),
            _ => Err(PyValueError::new_err(format!(
                "Invalid return_type: {value}. Must be one of int, str, bytes, 'proto', 'serialized_proto', 'numpy', \
                 'offset_mapping'"
            ))),
        }
    }
}

/// Whether a value is this `str`.
fn is_text(value: &Bound<'_, PyAny>, text: &str) -> bool {
    let value = value.cast::<PyString>().ok();
    value.is_some_and(|value| value == text)
}

/// Whether the first positional argument after the input is an `out_type` of the older API.
pub fn is_old_order(args: &Bound<'_, PyTuple>) -> bool {
    let first = args.get_item(0).ok();
    first
        .is_some_and(|first| first.is_instance_of::<PyType>() || first.is_instance_of::<PyString>())
}

/// A boolean, or any object that can be converted to one.
///
/// # Errors
/// `TypeError` for an object without `__bool__`.
pub fn to_bool(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if let Ok(value) = value.cast::<PyBool>() {
        return Ok(value.is_true());
    }
    if value.is_none() || value.hasattr("__bool__")? {
        return value.is_truthy();
    }
    Err(PyTypeError::new_err(format!(
        "expected True or False, not {}",
        value.repr()?
    )))
}

/// An integer of 32 bits.
///
/// # Errors
/// `TypeError` for a `float`, a text, or a number that does not fit.
pub fn to_i32(value: &Bound<'_, PyAny>) -> PyResult<i32> {
    let number = if value.is_instance_of::<PyFloat>() {
        None
    } else {
        value.extract::<i32>().ok()
    };
    number.ok_or_else(|| {
        PyTypeError::new_err(format!(
            "expected an integer of 32 bits, not {}",
            shown(value)
        ))
    })
}

/// A number as `f32`.
///
/// # Errors
/// `TypeError` for anything that is not a number.
pub fn to_f32(value: &Bound<'_, PyAny>) -> PyResult<f32> {
    value
        .extract::<f32>()
        .map_err(|_| PyTypeError::new_err(format!("expected a number, not {}", shown(value))))
}

/// The `repr` of an object, for messages.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let repr = value.repr();
    repr.map_or_else(|_| type_name(value), |repr| repr.to_string())
}

/// The value of `num_threads`, which must be an `int`; `i64::MAX` for a number of more than 32
/// bits, which only batches refuse.
///
/// # Errors
/// `TypeError`
pub fn to_threads(value: Option<&Bound<'_, PyAny>>) -> PyResult<i64> {
    let is_int = value.is_some_and(|value| value.is_instance_of::<PyInt>());
    match value {
        Some(value) if is_int => Ok(to_i32(value).map_or(i64::MAX, i64::from)),
        _ => Err(PyTypeError::new_err("num_threads must be int")),
    }
}

/// The integer that an argument `name` gives, between `low` and `high`.
///
/// # Errors
/// `TypeError` for an object that is no integer, `OptionValueError` for a number out of range.
pub fn to_int_in<'py, T>(name: &str, value: &Bound<'py, PyAny>, (low, high): (T, T)) -> PyResult<T>
where
    T: PartialOrd + std::fmt::Display + for<'a> FromPyObject<'a, 'py>,
{
    match value.extract::<T>() {
        Ok(number) if (&low..=&high).contains(&&number) => Ok(number),
        Err(_) if !value.hasattr("__index__")? => Err(PyTypeError::new_err(format!(
            "{name}: expected an integer, not {}",
            type_name(value)
        ))),
        _ => {
            let message = format!("{name}: {value} is out of range; use {low} to {high}");
            Err(errors::exception(
                value.py(),
                "OptionValueError",
                (message,),
            ))
        }
    }
}

/// The finite number that an argument `name` gives.
///
/// # Errors
/// `TypeError` for an object that is no number, `OptionValueError` for one that is infinite as an
/// `f32`.
pub fn to_finite(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f32> {
    match value.extract::<f32>() {
        Ok(number) if number.is_finite() => Ok(number),
        Err(_) if !value.hasattr("__float__")? => Err(PyTypeError::new_err(format!(
            "{name}: expected a number, not {}",
            type_name(value)
        ))),
        _ => {
            let message = format!("{name}: {value} is not a finite number of 32 bits");
            Err(errors::exception(
                value.py(),
                "OptionValueError",
                (message,),
            ))
        }
    }
}
