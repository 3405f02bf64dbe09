//! Truncation and padding as the keywords of tokenizers, and as its dicts.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spiece::pipeline::{Padding, Side, Truncation, TruncationStrategy};

use crate::tokenizer::{padding_dict, truncation_dict};

/// A keyword that is not known is reported on the standard output, as in tokenizers.
pub fn ignored_keyword(key: &Bound<'_, PyAny>) -> PyResult<()> {
    let print = key.py().import("builtins")?.getattr("print")?;
    print.call1((format!("Ignored unknown kwarg option {key}"),))?;
    Ok(())
}

/// A side by its name; the message for others ends with `end`.
pub fn side_of(value: &Bound<'_, PyAny>, end: &str) -> PyResult<Side> {
    match value.extract::<String>()?.as_str() {
        "left" => Ok(Side::Left),
        "right" => Ok(Side::Right),
        other => Err(PyValueError::new_err(format!(
            "Unknown `direction`: `{other}`. Use one of `left` or `right`{end}"
        ))),
    }
}

pub fn read_truncation(
    max_length: usize,
    keywords: Option<&Bound<'_, PyDict>>,
) -> PyResult<Truncation> {
    let mut truncation = Truncation {
        max_length,
        strategy: TruncationStrategy::LongestFirst,
        stride: 0,
        direction: Side::Right,
    };
    for (key, value) in keywords.into_iter().flatten() {
        match key.extract::<String>()?.as_str() {
            "stride" => truncation.stride = value.extract()?,
            "direction" => truncation.direction = side_of(&value, ".")?,
            "strategy" => {
                truncation.strategy = match value.extract::<String>()?.as_str() {
                    "longest_first" => TruncationStrategy::LongestFirst,
                    "only_first" => TruncationStrategy::OnlyFirst,
                    "only_second" => TruncationStrategy::OnlySecond,
                    other => {
                        return Err(PyValueError::new_err(format!(
                            "Unknown `strategy`: `{other}`. Use one of `longest_first`, `only_first`, or `only_second`"
                        )));
                    }
                }
            }
            _ => ignored_keyword(&key)?,
        }
    }
    Ok(truncation)
}

pub fn read_padding(keywords: Option<&Bound<'_, PyDict>>) -> PyResult<Padding> {
    let mut padding = Padding {
        fixed_length: None,
        direction: Side::Right,
        pad_to_multiple_of: None,
        pad_id: 0,
        pad_type_id: 0,
        pad_token: "[PAD]".to_owned(),
    };
    for (key, value) in keywords.into_iter().flatten() {
        match key.extract::<String>()?.as_str() {
            "direction" => padding.direction = side_of(&value, "")?,
            "pad_to_multiple_of" => {
                if let Some(multiple) = value.extract::<Option<usize>>()? {
                    padding.pad_to_multiple_of = Some(multiple);
                }
            }
            "pad_id" => padding.pad_id = value.extract()?,
            "pad_type_id" => padding.pad_type_id = value.extract()?,
            "pad_token" => padding.pad_token = value.extract()?,
            "length" | "max_length" => padding.fixed_length = value.extract()?,
            _ => ignored_keyword(&key)?,
        }
    }
    Ok(padding)
}

/// The settings as tokenizers gives them.
pub fn truncation_of<'py>(
    py: Python<'py>,
    truncation: Option<&Truncation>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    truncation.map(|it| truncation_dict(py, it)).transpose()
}

/// The settings as tokenizers gives them.
pub fn padding_of<'py>(
    py: Python<'py>,
    padding: Option<&Padding>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    padding.map(|it| padding_dict(py, it)).transpose()
}
