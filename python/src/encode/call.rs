//! The arguments of `Encode`.
//!
//! This module checks the sampling options, and that the keywords are compatible with the model and
//! the result type.

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use spiece::{EncodeOptions, ExtraOption, Model, ModelType, SampleOptions};

use crate::arguments::{Arguments, ReturnType, is_old_order, to_bool, to_f32, to_i32, to_threads};
use crate::errors;
use crate::loaded::Loaded;
use crate::settings::{Settings, nbest_timeout};
use crate::tokens::Rewrite;

/// The parameters of `Encode`, without the input.
const NAMES: [&str; 12] = [
    "add_bos",
    "add_eos",
    "reverse",
    "emit_unk_piece",
    "enable_sampling",
    "nbest_size",
    "alpha",
    "num_threads",
    "thread_pool",
    "return_type",
    "out_type",
    "return_bytes",
];

/// The order of the parameters until 0.2.1.
const OLD_ORDER: [&str; 9] = [
    "out_type",
    "add_bos",
    "add_eos",
    "reverse",
    "emit_unk_piece",
    "enable_sampling",
    "nbest_size",
    "alpha",
    "num_threads",
];

/// The arguments of one call.
pub struct EncodeCall<'py> {
    pub return_type: ReturnType,
    pub rewrite: Rewrite,
    pub sampling: Option<SampleOptions>,
    pub num_threads: i64,
    pub thread_pool: Option<Bound<'py, PyAny>>,
    pub return_bytes: Option<bool>,
    /// The options of the library's encoder.
    pub options: EncodeOptions,
}

/// Values that the called method fixes, whatever the keywords say.
#[derive(Default)]
pub struct Forced {
    pub return_type: Option<ReturnType>,
    pub samples: bool,
}

impl<'py> EncodeCall<'py> {
    /// The call with these arguments; missing arguments are taken from `settings`.
    pub fn new(
        py: Python<'py>,
        loaded: &Loaded,
        settings: &Settings,
        arguments: &Arguments<'py, 12>,
        forced: &Forced,
    ) -> PyResult<EncodeCall<'py>> {
        let return_type = match forced.return_type {
            Some(return_type) => return_type,
            None => arguments.return_type(settings.return_type(py)?)?,
        };
        let return_bytes = arguments.get("return_bytes").map(to_bool).transpose()?;
        if return_bytes.is_some() && return_type != ReturnType::OffsetMapping {
            return Err(PyValueError::new_err(
                "return_bytes is only supported when return_type='offset_mapping'",
            ));
        }
        let values = Values {
            py,
            settings,
            arguments,
        };
        let rewrite = values.rewrite()?;
        let call = EncodeCall {
            return_type,
            rewrite,
            sampling: values.sampling(loaded, forced.samples)?,
            num_threads: to_threads(values.get(place::NUM_THREADS).as_ref())?,
            thread_pool: arguments.get("thread_pool").cloned(),
            return_bytes,
            options: EncodeOptions::default()
                .with_extra(settings.encode_extra.iter().copied())
                .with_nbest_timeout(nbest_timeout()),
        };
        Ok(call)
    }

    /// Checks that the model has the pieces that the keywords need, and that the result type allows
    /// the keywords.
    pub fn check(&self, py: Python<'_>, loaded: &Loaded) -> PyResult<()> {
        check_rewrite(py, loaded, self.rewrite, self.return_type)
    }

    /// Whether the result can be built from the ids of plain encoding: with additional pieces
    /// before and after them if requested, and as pieces if none of them is unknown.
    pub(super) fn gives_plain_ids(&self) -> bool {
        use ReturnType::{Ids, Numpy, Str};
        matches!(self.return_type, Ids | Numpy | Str)
            && self.sampling.is_none()
            && self.options.extra.is_empty()
    }
}

/// The arguments, with the settings as defaults.
struct Values<'a, 'py> {
    py: Python<'py>,
    settings: &'a Settings,
    arguments: &'a Arguments<'py, 12>,
}

/// The positions of parameters in [`NAMES`]. The list of settings begins with the result type, so
/// the position of a setting is one higher.
mod place {
    pub(super) const ADD_BOS: usize = 0;
    pub(super) const ADD_EOS: usize = 1;
    pub(super) const REVERSE: usize = 2;
    pub(super) const EMIT_UNK_PIECE: usize = 3;
    pub(super) const ENABLE_SAMPLING: usize = 4;
    pub(super) const NBEST_SIZE: usize = 5;
    pub(super) const ALPHA: usize = 6;
    pub(super) const NUM_THREADS: usize = 7;
}

impl<'py> Values<'_, 'py> {
    fn get(&self, place: usize) -> Option<Bound<'py, PyAny>> {
        let given = self.arguments.at(place).cloned();
        let setting = || self.settings.get_at(self.py, place + 1);
        given.or_else(setting).filter(|value| !value.is_none())
    }

    fn flag(&self, place: usize) -> PyResult<bool> {
        self.get(place).as_ref().map_or(Ok(false), to_bool)
    }

    fn rewrite(&self) -> PyResult<Rewrite> {
        Ok(Rewrite {
            bos: self.flag(place::ADD_BOS)?,
            eos: self.flag(place::ADD_EOS)?,
            reverse: self.flag(place::REVERSE)?,
            unk_piece: self.flag(place::EMIT_UNK_PIECE)?,
        })
    }

    fn sampling(&self, loaded: &Loaded, is_forced: bool) -> PyResult<Option<SampleOptions>> {
        let samples = is_forced || self.flag(place::ENABLE_SAMPLING)?;
        let is_given = |place| self.arguments.at(place).is_some();
        if !samples && !is_given(place::NBEST_SIZE) && !is_given(place::ALPHA) {
            return Ok(None);
        }
        let size = self
            .get(place::NBEST_SIZE)
            .as_ref()
            .map(to_i32)
            .transpose()?;
        let alpha = self.get(place::ALPHA).as_ref().map(to_f32).transpose()?;
        if !samples {
            return Ok(None);
        }
        match (size, alpha) {
            (Some(size), Some(alpha)) if size != 0 && size != 1 => {
                let model = loaded.tokenizer.model();
                let model_type = model.map_or(ModelType::Bpe, Model::model_type);
                let options = SampleOptions::from_reference(model_type, size, alpha);
                options
                    .map(Some)
                    .map_err(|error| errors::of_encode(self.py, &error))
            }
            _ => Err(PyValueError::new_err(
                "sampling needs \"nbest_size > 1\" (draw one of so many segmentations) or \"nbest_size = -1\" (draw \
                 from all of them), and \"alpha\". Only unigram models use nbest_size; BPE models skip merges with \
                 the probability alpha.",
            )),
        }
    }
}

/// Checks that the model has the pieces that the keywords ask for.
fn check_rewrite(
    py: Python<'_>,
    loaded: &Loaded,
    rewrite: Rewrite,
    return_type: ReturnType,
) -> PyResult<()> {
    use ReturnType::{Bytes, ImmutableProto, OffsetMapping, Proto, SerializedProto, Str};
    if rewrite == Rewrite::default() {
        return Ok(());
    }
    if matches!(
        return_type,
        Proto | SerializedProto | ImmutableProto | OffsetMapping
    ) {
        return Err(PyRuntimeError::new_err(
            "UNIMPLEMENTED: add_bos, add_eos, reverse and emit_unk_piece are not supported in results with spans",
        ));
    }
    let missing = |what: &str| {
        let message = format!("INVALID_ARGUMENT: the model has no {what} piece");
        Err(errors::exception(py, "OptionValueError", (message,)))
    };
    let tokenizer = &loaded.tokenizer;
    if rewrite.bos && tokenizer.bos_id().is_none() {
        return missing("BOS");
    }
    if rewrite.eos && tokenizer.eos_id().is_none() {
        return missing("EOS");
    }
    let needs_unk = rewrite.unk_piece && matches!(return_type, Str | Bytes);
    if needs_unk && tokenizer.unk_id().is_none() {
        return missing("UNK");
    }
    Ok(())
}

/// The arguments of `Encode`, in the order of either generation.
pub fn parse<'py>(
    function: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Arguments<'py, 12>> {
    Arguments::new(function, NAMES, order(args), args, kwargs)
}

/// Like [`parse`], with a value or `None` for each of the names.
pub fn parse_all<'py>(
    function: &str,
    args: &Bound<'py, PyTuple>,
    keywords: [Option<&Bound<'py, PyAny>>; 12],
) -> PyResult<Arguments<'py, 12>> {
    let mut arguments = Arguments::new(function, NAMES, order(args), args, None)?;
    for (name, value) in NAMES.iter().zip(keywords) {
        if let Some(value) = value {
            arguments.set(function, name, value.clone())?;
        }
    }
    Ok(arguments)
}

/// The parameters to which positional arguments belong.
fn order(args: &Bound<'_, PyTuple>) -> &'static [&'static str] {
    if is_old_order(args) {
        &OLD_ORDER
    } else {
        &NAMES
    }
}

/// The extra options of a text such as `bos:eos`.
pub fn parse_extra(py: Python<'_>, loaded: &Loaded, options: &str) -> PyResult<Vec<ExtraOption>> {
    let parsed = ExtraOption::parse_list(options).map_err(|error| errors::of_encode(py, &error))?;
    let check = EncodeOptions::default().with_extra(parsed.iter().copied());
    let encoder = loaded.tokenizer.encoder_with(&check);
    encoder.map_err(|error| errors::exception(py, "EncodeError", (error.to_string(),)))?;
    Ok(parsed)
}
