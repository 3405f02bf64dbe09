//! Code that the methods of a processor share: access to its state, calls, and checks.
//!
//! The methods themselves are in [`processor`](super), because PyO3 needs all methods of a class in
//! one block.

use std::sync::{Arc, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use spiece::{EncodeOptions, Model, ModelError, PieceId, Tokenizer};

use super::Processor;
use crate::arguments::{Arguments, ReturnType, to_i32};
use crate::decode::{self, DecodeCall};
use crate::encode::{self, EncodeCall, Forced};
use crate::errors;
use crate::loaded::{Loaded, signed_or_none};
use crate::nbest;
use crate::pool::{batch_threads, pool};
use crate::settings::{Settings, State};
use crate::text::Text;

impl Processor {
    pub(super) fn state(&self) -> Arc<State> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&state)
    }

    pub(super) fn set_state(&self, state: State) {
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// The state and the model.
    ///
    /// # Errors
    /// No model was loaded.
    pub(super) fn loaded_state(&self) -> PyResult<(Arc<State>, Arc<Loaded>)> {
        let state = self.state();
        let loaded = state.loaded.clone().ok_or_else(errors::not_loaded)?;
        Ok((state, loaded))
    }

    pub(super) fn loaded(&self) -> PyResult<Arc<Loaded>> {
        self.state().loaded.clone().ok_or_else(errors::not_loaded)
    }

    pub(super) fn load(&self, tokenizer: Tokenizer, unrestricted: Option<Model>) {
        let settings = Arc::clone(&self.state().settings);
        self.set_state(State {
            loaded: Some(Arc::new(Loaded::new(tokenizer))),
            settings,
            unrestricted,
        });
    }

    pub(super) fn change_settings(&self, py: Python<'_>, change: impl FnOnce(&mut Settings)) {
        let state = self.state();
        let mut settings = state.settings.copy(py);
        change(&mut settings);
        settings.update(py);
        self.set_state(State {
            loaded: state.loaded.clone(),
            settings: Arc::new(settings),
            unrestricted: state.unrestricted.clone(),
        });
    }

    /// Encodes a text or a list of texts. The most frequent call, a plain text without arguments,
    /// takes a short path.
    #[inline]
    pub(super) fn encode_any<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        keywords: [Option<&Bound<'py, PyAny>>; 12],
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = input.py();
        let state = self.state();
        let loaded = state.loaded.as_ref().ok_or_else(errors::not_loaded)?;
        let has_arguments = !args.is_empty() || keywords.iter().any(Option::is_some);
        if !has_arguments && state.settings.is_plain() && !input.is_instance_of::<PyList>() {
            let ids = loaded.encode_to_list(py, Text::of(input)?.bytes)?;
            return Ok(ids.into_any());
        }
        let arguments = encode::parse_all("Encode", args, keywords)?;
        let call = EncodeCall::new(py, loaded, &state.settings, &arguments, &Forced::default())?;
        encode::encode(py, loaded, input, &call)
    }

    /// Encodes with the result type and sampling that the called method fixes.
    pub(super) fn encode_as<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        kwargs: Option<&Bound<'py, PyDict>>,
        forced: &Forced,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = input.py();
        let (state, loaded) = self.loaded_state()?;
        let is_plain = kwargs.is_none() && !forced.samples && state.settings.is_plain();
        if is_plain
            && forced.return_type == Some(ReturnType::Ids)
            && !input.is_instance_of::<PyList>()
        {
            return Ok(loaded
                .encode_to_list(py, Text::of(input)?.bytes)?
                .into_any());
        }
        let no_arguments = PyTuple::empty(py);
        let arguments = encode::parse("Encode", &no_arguments, kwargs)?;
        refuse_types(&arguments)?;
        let call = EncodeCall::new(py, &loaded, &state.settings, &arguments, forced)?;
        encode::encode(py, &loaded, input, &call)
    }

    /// Decodes with the result type that the called method fixes.
    pub(super) fn decode_as<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        arguments: &Arguments<'py, 5>,
        forced: Option<ReturnType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = input.py();
        let state = self.state();
        let call = DecodeCall::new(py, &state.settings, arguments, forced)?;
        let loaded = state.loaded.as_ref().ok_or_else(errors::not_loaded)?;
        decode::decode(py, loaded, input, &call)
    }
    /// The best segmentations of a text or of each text of a list.
    pub(super) fn nbest<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        size: Option<&Bound<'py, PyAny>>,
        return_type: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = input.py();
        let state = self.state();
        let setting = || state.settings.get(py, "nbest_size");
        let size = match size.cloned().or_else(setting) {
            Some(size) => to_i32(&size)?,
            None => 1,
        };
        let (loaded, call) = self.listed_call("NBestEncode", py, return_type, kwargs)?;
        let size = usize::try_from(size).unwrap_or(0).max(1);
        each_text(input, |text| nbest::nbest(&loaded, text, size, &call))
    }

    /// The model, and a call without sampling whose results cannot be offset mappings.
    pub(super) fn listed_call<'py>(
        &self,
        function: &str,
        py: Python<'py>,
        return_type: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Arc<Loaded>, EncodeCall<'py>)> {
        let (state, loaded) = self.loaded_state()?;
        let arguments = encode::parse(function, &PyTuple::empty(py), kwargs)?;
        let forced = Forced {
            return_type: return_type.map(forced_type).transpose()?,
            samples: false,
        };
        let mut call = EncodeCall::new(py, &loaded, &state.settings, &arguments, &forced)?;
        call.sampling = None;
        nbest::check_type(call.return_type)?;
        Ok((loaded, call))
    }
    pub(super) fn special_id(&self, id: impl Fn(&Tokenizer) -> Option<PieceId>) -> i32 {
        let state = self.state();
        signed_or_none(
            state
                .loaded
                .as_ref()
                .and_then(|loaded| id(&loaded.tokenizer)),
        )
    }
}

/// Refuses keywords for the result type, for methods that fix it.
pub(super) fn refuse_types(arguments: &Arguments<'_, 12>) -> PyResult<()> {
    if arguments.get("return_type").is_some() {
        return Err(PyTypeError::new_err(
            "Encode() got multiple values for keyword argument 'return_type'",
        ));
    }
    if arguments.get("out_type").is_some() {
        return Err(PyValueError::new_err(
            "Cannot specify both out_type and return_type. Use return_type instead.",
        ));
    }
    Ok(())
}

/// The tokenizer of a changed model, made while other Python threads can run.
pub(super) fn restricted(py: Python<'_>, model: Result<Model, ModelError>) -> PyResult<Tokenizer> {
    let model = model.map_err(|error| errors::of_model(py, &error))?;
    Ok(py.detach(|| Tokenizer::new(model)))
}

/// The result of a text, or of each text of a list.
pub(super) fn each_text<'py>(
    input: &Bound<'py, PyAny>,
    result: impl Fn(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let Ok(texts) = input.cast::<PyList>() else {
        return result(input);
    };
    let results = texts.iter().map(|text| result(&text));
    let results = results.collect::<PyResult<Vec<_>>>()?;
    Ok(PyList::new(input.py(), results)?.into_any())
}

/// The result type that a wrapper names.
pub(super) fn forced_type(value: &Bound<'_, PyAny>) -> PyResult<ReturnType> {
    if value.eq("immutable_proto")? {
        return Ok(ReturnType::ImmutableProto);
    }
    ReturnType::of(value)
}

/// Encodes a long text; ids are encoded on several threads.
pub(super) fn encode_long<'py>(
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let text = Text::of(input)?;
    call.check(py, loaded)?;
    let gives_ids = matches!(call.return_type, ReturnType::Ids | ReturnType::Numpy);
    if !gives_ids || !call.options.extra.is_empty() {
        return encode::encode_one(py, loaded, text, call);
    }
    let threads = batch_threads(call.num_threads, call.thread_pool.as_ref(), usize::MAX)?;
    let pool = pool(threads)?;
    let tokenizer = &loaded.tokenizer;
    let options = EncodeOptions::default();
    let ids = py.detach(|| pool.install(|| tokenizer.encode_long(text.bytes, &options)));
    let ids = ids.map_err(|error| errors::of_encode(py, &error))?;
    let ids = encode::rewritten(loaded, ids, call.rewrite);
    encode::ids_object(py, loaded, ids, call)
}
