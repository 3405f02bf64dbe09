//! `SentencePieceNormalizer`: normalization without a vocabulary.

use std::sync::{Arc, PoisonError, RwLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyTuple};
use spiece::{ModelError, Normalized, NormalizerSpec, OpenError, TextNormalizer};

use crate::errors;
use crate::loaded::{detached_if, is_long};
use crate::text::{CharPositions, Text, to_text};

/// A spec and the normalizer made from it.
struct State {
    spec: NormalizerSpec,
    normalizer: TextNormalizer,
}

/// The base of `spiece.sentencepiece.SentencePieceNormalizer`.
#[pyclass(module = "spiece._native", subclass, frozen)]
pub struct Normalizer {
    state: RwLock<Option<Arc<State>>>,
}

impl Normalizer {
    fn set(&self, py: Python<'_>, spec: Result<NormalizerSpec, ModelError>) -> PyResult<bool> {
        let made = spec.and_then(|spec| {
            let normalizer = TextNormalizer::of_spec(&spec)?;
            Ok(State { spec, normalizer })
        });
        let state = made.map_err(|error| errors::of_model(py, &error))?;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(state));
        Ok(true)
    }

    fn state(&self) -> PyResult<Arc<State>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.clone().ok_or_else(errors::not_loaded)
    }

    fn spec(&self) -> NormalizerSpec {
        self.state()
            .map(|state| state.spec.clone())
            .unwrap_or_default()
    }
}

/// Reads a file for a normalizer.
fn read(py: Python<'_>, path: &std::path::Path) -> PyResult<Vec<u8>> {
    std::fs::read(path).map_err(|source| {
        let path = path.to_owned();
        errors::of_open(py, &OpenError::Read { path, source })
    })
}

#[pymethods]
impl Normalizer {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Normalizer {
        Normalizer {
            state: RwLock::new(None),
        }
    }

    fn _load_file(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<bool> {
        let file = read(py, &path)?;
        self.set(py, NormalizerSpec::from_model_bytes(&file))
    }

    fn _load_model(&self, py: Python<'_>, model: &Bound<'_, PyBytes>) -> PyResult<bool> {
        self.set(py, NormalizerSpec::from_model_bytes(model.as_bytes()))
    }

    fn _load_spec(&self, py: Python<'_>, spec: &Bound<'_, PyBytes>) -> PyResult<bool> {
        self.set(py, NormalizerSpec::from_bytes(spec.as_bytes()))
    }

    fn _load_tsv(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<bool> {
        let file = read(py, &path)?;
        let spec = NormalizerSpec::from_tsv(&file).map(|mut spec| {
            spec.normalization_rule_tsv = Some(path.to_string_lossy().into_owned().into_bytes());
            spec
        });
        self.set(py, spec)
    }

    fn _load_name(&self, py: Python<'_>, name: &str) -> PyResult<bool> {
        self.set(py, NormalizerSpec::named(name))
    }

    fn _load_map(&self, py: Python<'_>, rules: Vec<(String, String)>) -> PyResult<bool> {
        let mut sources: Vec<&str> = rules.iter().map(|rule| rule.0.as_str()).collect();
        sources.sort_unstable();
        if let Some(pair) = sources.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PyValueError::new_err(format!(
                "INVALID_ARGUMENT: Duplicate source string in map: {}; remove one of the rules",
                pair[0]
            )));
        }
        let spec = NormalizerSpec::from_rules(rules).map_err(|error| {
            errors::exception(
                py,
                "OptionValueError",
                (format!("INVALID_ARGUMENT: {error}"),),
            )
        })?;
        self.set(py, Ok(spec))
    }

    /// Sets one of the flags `add_dummy_prefix`, `escape_whitespaces` and
    /// `remove_extra_whitespaces`.
    fn _set_flag(&self, py: Python<'_>, name: &str, value: bool) -> PyResult<bool> {
        let mut spec = self.state()?.spec.clone();
        let field = match name {
            "add_dummy_prefix" => &mut spec.add_dummy_prefix,
            "escape_whitespaces" => &mut spec.escape_whitespaces,
            _ => &mut spec.remove_extra_whitespaces,
        };
        *field = Some(value);
        self.set(py, Ok(spec))
    }

    /// The rules, as pairs of a source and its replacement.
    fn _rules(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let state = self.state()?;
        if state.spec.precompiled_charsmap().is_empty() {
            let message = "the normalizer has no rules: its model does not change text";
            return Err(errors::exception(py, "ModelError", (message,)));
        }
        let rules = py.detach(|| state.spec.rules());
        rules.map_err(|error| errors::of_model(py, &error))
    }

    /// The bytes of a model that consists of the spec only.
    fn _serialized<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.spec().to_model_bytes())
    }

    /// The bytes of the spec.
    fn _serialized_spec<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.spec().to_bytes())
    }

    /// The normalized text, with the offsets of its characters if `with_offsets`.
    #[pyo3(signature = (input, with_offsets=None))]
    fn _normalize<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        with_offsets: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let with_offsets = with_offsets.map_or(Ok(false), Bound::is_truthy)?;
        let state = self.state()?;
        normalize_input(input, with_offsets, &|text| {
            state.normalizer.normalize_with_offsets(text)
        })
    }
}

/// Normalizes a text or each text of a list.
pub fn normalize_input<'py>(
    input: &Bound<'py, PyAny>,
    with_offsets: bool,
    normalize: &(impl Fn(&[u8]) -> Normalized + Sync),
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    match input.cast::<PyList>() {
        Err(_) => normalize_one(input, with_offsets, normalize),
        Ok(texts) => {
            let results = texts.iter();
            let results = results.map(|text| normalize_one(&text, with_offsets, normalize));
            Ok(PyList::new(py, results.collect::<PyResult<Vec<_>>>()?)?.into_any())
        }
    }
}

fn normalize_one<'py>(
    input: &Bound<'py, PyAny>,
    with_offsets: bool,
    normalize: &(impl Fn(&[u8]) -> Normalized + Sync),
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let text = Text::of(input)?;
    let normalized = detached_if(py, is_long(text.bytes), || normalize(text.bytes));
    let object = to_text(py, normalized.as_bytes(), text.is_bytes)?;
    if !with_offsets {
        return Ok(object);
    }
    let offsets = if text.is_bytes {
        byte_offsets(&normalized)
    } else {
        char_offsets(&normalized, text.bytes)
    };
    Ok((object, offsets).into_pyobject(py)?.into_any())
}

/// The origin of each byte of the normalized text and of its end.
fn byte_offsets(normalized: &Normalized) -> Vec<usize> {
    let length = normalized.as_bytes().len();
    (0..=length)
        .map(|offset| normalized.to_original(offset))
        .collect()
}

/// The original character of each character of the normalized text and of its end. The last byte of
/// a character determines its origin, as in the reference.
fn char_offsets(normalized: &Normalized, original: &[u8]) -> Vec<usize> {
    let mut from = CharPositions::new(normalized.as_bytes());
    let mut to = CharPositions::new(original);
    let mut offsets: Vec<usize> = Vec::new();
    for (offset, origin) in byte_offsets(normalized).into_iter().enumerate() {
        let place = from.at(offset);
        let origin = to.at(origin);
        if place < offsets.len() {
            offsets[place] = origin;
        } else {
            offsets.push(origin);
        }
    }
    offsets
}
