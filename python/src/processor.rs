//! The native base class of `SentencePieceProcessor`.
//!
//! The methods have private names;
//! `spiece/sentencepiece/__init__.py` gives them the names of the reference. The modules that they
//! call do all the work.

mod calls;

use std::sync::{Arc, RwLock};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use spiece::{PieceKind, Tokenizer};

use self::calls::{each_text, encode_long, forced_type, restricted};
use crate::arguments::{Arguments, ReturnType, to_threads};
use crate::decode::{self, DecodeCall};
use crate::encode::{self, Forced};
use crate::errors;
use crate::normalizer;
use crate::scored;
use crate::settings::{NAMES, Settings, State};
use crate::vocabulary;

/// A model and the defaults of calls; the base of `spiece.sentencepiece.SentencePieceProcessor`.
#[pyclass(module = "spiece._native", subclass, frozen)]
pub struct Processor {
    state: RwLock<Arc<State>>,
}

#[pymethods]
impl Processor {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Processor {
        Processor {
            state: RwLock::new(Arc::new(State {
                loaded: None,
                settings: Arc::new(Settings::new()),
                unrestricted: None,
            })),
        }
    }

    /// All settings at once, in the order of `_setting_names`.
    fn _configure(&self, py: Python<'_>, values: &Bound<'_, PyTuple>) {
        self.change_settings(py, |settings| {
            for (place, value) in values.iter().enumerate() {
                settings.set_at(place, &value);
            }
        });
    }

    #[classattr]
    fn _setting_names() -> [&'static str; NAMES.len()] {
        NAMES
    }

    fn _setting<'py>(&self, py: Python<'py>, place: usize) -> Option<Bound<'py, PyAny>> {
        self.state().settings.get_at(py, place)
    }

    fn _set_setting(&self, place: usize, value: &Bound<'_, PyAny>) {
        self.change_settings(value.py(), |settings| settings.set_at(place, value));
    }

    /// Reads a model file.
    fn _load_file(&self, py: Python<'_>, path: std::path::PathBuf) -> PyResult<bool> {
        let opened = py.detach(|| Tokenizer::open(&path));
        let tokenizer = opened.map_err(|error| errors::of_open(py, &error))?;
        self.load(tokenizer, None);
        Ok(true)
    }

    /// Reads the bytes of a model file.
    fn _load_bytes(&self, py: Python<'_>, serialized: &Bound<'_, PyBytes>) -> PyResult<bool> {
        let bytes = serialized.as_bytes();
        let opened = py.detach(|| Tokenizer::from_bytes(bytes));
        let tokenizer = opened.map_err(|error| errors::of_open(py, &error))?;
        self.load(tokenizer, None);
        Ok(true)
    }

    /// Encodes a text, or a list of texts: encode("Hello world") gives a list of ids; see the
    /// README for all results.
    // The keywords are listed by name, because Python makes a tuple for each call of a function
    // with `**kwargs`.
    #[expect(clippy::too_many_arguments, reason = "the parameters of the reference")]
    #[pyo3(signature = (input=None, *args, add_bos=None, add_eos=None, reverse=None, emit_unk_piece=None, enable_sampling=None, nbest_size=None, alpha=None, num_threads=None, thread_pool=None, return_type=None, out_type=None, return_bytes=None), text_signature = "($self, input, add_bos=None, add_eos=None, reverse=None, emit_unk_piece=None, enable_sampling=None, nbest_size=None, alpha=None, num_threads=None, thread_pool=None, return_type=None, out_type=None, return_bytes=None)")]
    fn _encode<'py>(
        &self,
        input: Option<&Bound<'py, PyAny>>,
        args: &Bound<'py, PyTuple>,
        add_bos: Option<&Bound<'py, PyAny>>,
        add_eos: Option<&Bound<'py, PyAny>>,
        reverse: Option<&Bound<'py, PyAny>>,
        emit_unk_piece: Option<&Bound<'py, PyAny>>,
        enable_sampling: Option<&Bound<'py, PyAny>>,
        nbest_size: Option<&Bound<'py, PyAny>>,
        alpha: Option<&Bound<'py, PyAny>>,
        num_threads: Option<&Bound<'py, PyAny>>,
        thread_pool: Option<&Bound<'py, PyAny>>,
        return_type: Option<&Bound<'py, PyAny>>,
        out_type: Option<&Bound<'py, PyAny>>,
        return_bytes: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // In the order that `encode::parse_all` expects.
        let keywords = [
            add_bos,
            add_eos,
            reverse,
            emit_unk_piece,
            enable_sampling,
            nbest_size,
            alpha,
            num_threads,
            thread_pool,
            return_type,
            out_type,
            return_bytes,
        ];
        let input = input.ok_or_else(|| PyTypeError::new_err("Input must be str or bytes"))?;
        self.encode_any(input, args, keywords)
    }

    /// The ids of a text or of each text of a list.
    #[pyo3(signature = (input, **kwargs))]
    fn _encode_ids<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let forced = Forced {
            return_type: Some(ReturnType::Ids),
            samples: false,
        };
        self.encode_as(input, kwargs, &forced)
    }

    /// The pieces of a text or of each text of a list.
    #[pyo3(signature = (input, **kwargs))]
    fn _encode_pieces<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let forced = Forced {
            return_type: Some(ReturnType::Str),
            samples: false,
        };
        self.encode_as(input, kwargs, &forced)
    }

    /// The result of type `return_type`, sampled if `samples`.
    #[pyo3(signature = (input, return_type, samples, /, **kwargs))]
    fn _encode_as<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        return_type: &Bound<'py, PyAny>,
        samples: bool,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let forced = Forced {
            return_type: Some(forced_type(return_type)?),
            samples,
        };
        self.encode_as(input, kwargs, &forced)
    }

    /// The best segmentations of a text or of each text of a list.
    #[pyo3(signature = (input, nbest_size, return_type, /, **kwargs))]
    fn _nbest<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        nbest_size: Option<&Bound<'py, PyAny>>,
        return_type: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.nbest(input, nbest_size, return_type, kwargs)
    }

    /// Random segmentations of a text or of each text of a list, with their scores. `numbers` are
    /// num_samples, alpha, wor and include_best.
    #[pyo3(signature = (input, numbers, /, **kwargs))]
    fn _sample_with_scores<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        numbers: [Bound<'py, PyAny>; 4],
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = scored::options(numbers.each_ref())?;
        let (loaded, call) = self.listed_call("SampleEncodeAndScore", input.py(), None, kwargs)?;
        scored::sample(&loaded, input, &options, &call)
    }

    /// The entropy of the segmentations of a text or of each text of a list.
    #[pyo3(signature = (input, alpha, num_threads=None, /))]
    fn _entropy<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        alpha: &Bound<'py, PyAny>,
        num_threads: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (state, loaded) = self.loaded_state()?;
        let setting = || state.settings.get(input.py(), "num_threads");
        let num_threads = to_threads(num_threads.or_else(setting).as_ref())?;
        scored::entropy(&loaded, input, alpha, num_threads)
    }

    /// Encodes long texts on several threads.
    #[pyo3(signature = (input, return_type, /, **kwargs))]
    fn _encode_parallel<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        return_type: Option<&Bound<'py, PyAny>>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (loaded, call) = self.listed_call("ParallelEncode", input.py(), return_type, kwargs)?;
        each_text(input, |text| encode_long(&loaded, text, &call))
    }

    /// Decodes an id, a piece, a sequence of them, or a batch of sequences.
    #[pyo3(signature = (input, *args, **kwargs), text_signature = "($self, input, return_type=None, out_type=None, num_threads=None, thread_pool=None, return_bytes=None)")]
    fn _decode<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arguments = Arguments::new("Decode", decode::NAMES, &decode::NAMES, args, kwargs)?;
        self.decode_as(input, &arguments, None)
    }

    /// Decodes a batch of sequences of pieces or, for offset mappings, of ids as well.
    #[pyo3(signature = (batch, return_type, num_threads, thread_pool, return_bytes=false))]
    fn _decode_batch<'py>(
        &self,
        batch: &Bound<'py, PyAny>,
        return_type: &Bound<'py, PyAny>,
        num_threads: i64,
        thread_pool: Option<Bound<'py, PyAny>>,
        return_bytes: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = DecodeCall {
            return_type: ReturnType::of(return_type)?,
            num_threads,
            thread_pool,
            return_bytes,
            reverses: false,
        };
        let decode = match call.return_type {
            ReturnType::OffsetMapping => decode::decode_batch,
            _ => decode::decode_piece_batch,
        };
        decode(batch.py(), &*self.loaded()?, batch, &call)
    }

    /// The normalized text, with the offsets of its characters if `with_offsets`.
    #[pyo3(signature = (input, with_offsets=None))]
    fn _normalize<'py>(
        &self,
        input: &Bound<'py, PyAny>,
        with_offsets: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let loaded = self.loaded()?;
        let with_offsets = with_offsets.map_or(Ok(false), Bound::is_truthy)?;
        normalizer::normalize_input(input, with_offsets, &|text| {
            loaded.tokenizer.normalize_with_offsets(text)
        })
    }

    fn _piece_size(&self) -> usize {
        let state = self.state();
        state
            .loaded
            .as_ref()
            .map_or(0, |loaded| loaded.tokenizer.vocab_size())
    }

    fn _piece_to_id<'py>(&self, piece: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        vocabulary::piece_to_id(piece.py(), &*self.loaded()?, piece)
    }

    fn _id_to_piece<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        vocabulary::id_to_piece(id.py(), &*self.loaded()?, id)
    }

    fn _score<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        vocabulary::score(id.py(), &*self.loaded()?, id)
    }

    fn _is_unknown<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        vocabulary::has_kind(id.py(), &*self.loaded()?, id, PieceKind::Unknown)
    }

    fn _is_control<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        vocabulary::has_kind(id.py(), &*self.loaded()?, id, PieceKind::Control)
    }

    fn _is_unused<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        vocabulary::has_kind(id.py(), &*self.loaded()?, id, PieceKind::Unused)
    }

    fn _is_byte<'py>(&self, id: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        vocabulary::has_kind(id.py(), &*self.loaded()?, id, PieceKind::Byte)
    }

    fn _unk_id(&self) -> i32 {
        self.special_id(Tokenizer::unk_id)
    }

    fn _bos_id(&self) -> i32 {
        self.special_id(Tokenizer::bos_id)
    }

    fn _eos_id(&self) -> i32 {
        self.special_id(Tokenizer::eos_id)
    }

    fn _pad_id(&self) -> i32 {
        self.special_id(Tokenizer::pad_id)
    }

    /// The bytes of the model as the reference writes them; empty without a model.
    fn _serialized<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let Some(loaded) = &self.state().loaded else {
            return Ok(PyBytes::new(py, b""));
        };
        let bytes = loaded.model(py)?.to_reference_bytes();
        let bytes = bytes.map_err(|error| errors::of_model(py, &error))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Options such as `bos:eos:reverse`, which encoding applies.
    fn _set_encode_extra(&self, py: Python<'_>, options: &str) -> PyResult<bool> {
        let extra = encode::parse_extra(py, &*self.loaded()?, options)?;
        self.change_settings(py, |settings| settings.encode_extra = extra);
        Ok(true)
    }

    /// Options such as `reverse`, which decoding applies.
    fn _set_decode_extra(&self, py: Python<'_>, options: &str) -> PyResult<bool> {
        let extra = encode::parse_extra(py, &*self.loaded()?, options)?;
        self.change_settings(py, |settings| settings.decode_extra = extra);
        Ok(true)
    }

    /// Makes all pieces for text unused except these and single characters.
    fn _restrict(&self, py: Python<'_>, pieces: Vec<String>) -> PyResult<bool> {
        let state = self.state();
        let loaded = self.loaded()?;
        let model = match state.unrestricted.clone() {
            Some(model) => model,
            None => loaded.model(py)?.clone(),
        };
        let tokenizer = restricted(py, model.restrict_to(&pieces))?;
        self.load(tokenizer, Some(model));
        Ok(true)
    }

    /// Undoes `_restrict`.
    fn _unrestrict(&self, py: Python<'_>) -> PyResult<bool> {
        let loaded = self.loaded()?;
        let tokenizer = restricted(py, loaded.model(py)?.without_unused_pieces())?;
        self.load(tokenizer, None);
        Ok(true)
    }

    /// Replaces flags of the normalizer.
    fn _override_normalizer(&self, py: Python<'_>, flags: Vec<(String, String)>) -> PyResult<bool> {
        let loaded = self.loaded()?;
        let mut editor = loaded.model(py)?.edit();
        for (name, value) in &flags {
            let value = match value.to_ascii_lowercase().as_str() {
                "" | "1" | "t" | "true" | "y" | "yes" => true,
                "0" | "f" | "false" | "n" | "no" => false,
                _ => {
                    return Err(PyValueError::new_err(format!(
                        "{name}: {value:?} is not true or false"
                    )));
                }
            };
            match name.as_str() {
                "add_dummy_prefix" => editor.set_add_dummy_prefix(value),
                "remove_extra_whitespaces" => editor.set_remove_extra_whitespaces(value),
                "escape_whitespaces" => editor.set_escape_whitespaces(value),
                _ => {
                    return Err(errors::exception(
                        py,
                        "ModelError",
                        (format!(
                            "{name} is no flag that can be overridden; use add_dummy_prefix, remove_extra_whitespaces or \
                         escape_whitespaces"
                        ),),
                    ));
                }
            };
        }
        self.load(restricted(py, editor.finish())?, None);
        Ok(true)
    }

    /// A tokenizer of the modern interface, which shares the model.
    fn _tokenizer(&self) -> PyResult<crate::tokenizer::PyTokenizer> {
        Ok(crate::tokenizer::PyTokenizer {
            loaded: self.loaded()?,
        })
    }
}
