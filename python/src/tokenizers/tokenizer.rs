//! What `spiece.tokenizers.Tokenizer` is made of.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use rayon::prelude::*;
use spiece::byte_bpe::SpecialToken;
use spiece::formats::{Component, FormatError, TokenizerFile};
use spiece::pipeline::{Layout, Padding, Truncation};
use spiece::{EncodeError, PieceId};

use super::columns::{Encoded, push_all_ids};
use super::encoding::PyEncoding;
use super::input::Inputs;
use super::settings;
use super::shared::engine_of;
use super::source::{Call, Places, Source, Worker};
use super::state::{Engine, State, exception, in_pool, threads};
use crate::buffer::VectorBuffer;
use crate::loaded::{PausedCollector, detached_if};

/// Texts of up to this many bytes are encoded while the thread is attached to the interpreter.
const MAX_ATTACHED_BYTES: usize = 4096;

/// A tokenizer that is changed by its program; see the [module](super).
#[pyclass(
    module = "spiece.tokenizers",
    name = "TokenizerCore",
    frozen,
    subclass,
    dict,
    weakref
)]
pub struct TokenizerCore {
    state: Mutex<Arc<State>>,
    /// The function that looks for changes of the components that a program holds, while it holds some.
    refresh: Mutex<Option<Py<PyAny>>>,
}

/// The result of one call.
struct Job<'e> {
    state: &'e State,
    call: Call,
    adds_special: bool,
}

impl Job<'_> {
    fn run(&self, worker: &mut Worker<'_>, inputs: Inputs) -> PyResult<Encoded> {
        let engine = &self.state.engine;
        let mut layout = |input, is_second| -> Result<Encoded, EncodeError> {
            let source = Source::encode(engine, worker, input, is_second, self.call)?;
            let length = source.ids.len();
            Ok(Layout::of_source(Arc::new(source), length))
        };
        let failed = |error| engine.encode_exception(&error);
        let first = layout(inputs.first, false).map_err(failed)?;
        let second = inputs.second.map(|second| layout(second, true));
        let second = second.transpose().map_err(failed)?;
        self.finish(engine, first, second)
    }

    fn finish(
        &self,
        engine: &Engine,
        first: Encoded,
        second: Option<Encoded>,
    ) -> PyResult<Encoded> {
        let truncation = self.state.truncation.as_ref();
        let result = engine
            .pipeline()?
            .post_process(first, second, self.adds_special, truncation);
        result.map_err(|error| exception(truncation_message(&error)))
    }

    fn worker(&self) -> Result<Worker<'_>, EncodeError> {
        Worker::new(&self.state.engine, self.call)
    }

    /// One result, filled up.
    fn one(&self, inputs: Inputs) -> PyResult<Encoded> {
        let mut worker = self.worker().map_err(exception)?;
        let mut results = [self.run(&mut worker, inputs)?];
        self.pad(&mut results);
        let [result] = results;
        Ok(result)
    }

    /// Fills results up to one length.
    fn pad(&self, results: &mut [Encoded]) {
        if let Some(padding) = &self.state.padding {
            padding.apply(results);
        }
    }

    /// The results of a batch, filled up to one length.
    fn batch(&self, batch: Vec<Inputs>) -> PyResult<Vec<Encoded>> {
        let threads = threads(batch.len());
        let results: PyResult<Vec<Encoded>> = match threads {
            1 => {
                let mut worker = self.worker().map_err(exception)?;
                let results = batch
                    .into_iter()
                    .map(|inputs| self.run(&mut worker, inputs));
                results.collect()
            }
            _ => in_pool(threads, || {
                let results = batch.into_par_iter().map_init(
                    || self.worker(),
                    |worker, inputs| match worker {
                        Ok(worker) => self.run(worker, inputs),
                        Err(error) => Err(exception(error)),
                    },
                );
                results.collect()
            })?,
        };
        let mut results = results?;
        self.pad(&mut results);
        Ok(results)
    }
}

/// The message of tokenizers, where it has one.
fn truncation_message(error: &spiece::pipeline::TruncationError) -> String {
    use spiece::pipeline::TruncationError;
    match error {
        TruncationError::NoSecondText => {
            "Truncation error: Second sequence not provided".to_owned()
        }
        TruncationError::TextTooShort => {
            "Truncation error: Sequence to truncate too short to respect the provided max_length"
                .to_owned()
        }
        _ => error.to_string(),
    }
}

fn component_of(name: &str) -> PyResult<Component> {
    let found = Component::ALL.into_iter().find(|it| it.field() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("there is no component {name:?}")))
}

/// An added token in the order of its fields in Python.
type TokenFields = (String, bool, bool, bool, bool, bool);

impl TokenizerCore {
    /// The state, after changes of the components that a program holds.
    pub fn state(&self, py: Python<'_>) -> PyResult<Arc<State>> {
        // The function may set another one: the lock is not held while it runs.
        let refresh = {
            let refresh = self.refresh.lock().unwrap_or_else(PoisonError::into_inner);
            refresh.as_ref().map(|refresh| refresh.clone_ref(py))
        };
        if let Some(refresh) = refresh {
            refresh.call0(py)?;
        }
        Ok(self.current())
    }

    fn current(&self) -> Arc<State> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&state)
    }

    fn replace(&self, state: State) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
    }

    /// Changes the file.
    fn change<T>(
        &self,
        change: impl FnOnce(&mut TokenizerFile) -> Result<T, FormatError>,
    ) -> PyResult<T> {
        let state = self.current();
        let mut file = state.file();
        let result = change(&mut file).map_err(exception)?;
        self.replace(state.with_file(file)?);
        Ok(result)
    }

    fn set_lengths(&self, truncation: Option<Truncation>, padding: Option<Padding>) {
        let state = State {
            truncation,
            padding,
            ..(*self.current()).clone()
        };
        self.replace(state);
    }

    /// The results of a batch.
    fn results(
        &self,
        py: Python<'_>,
        input: &[Bound<'_, PyAny>],
        is_pretokenized: bool,
        adds_special: bool,
        places: Places,
    ) -> PyResult<Vec<Encoded>> {
        let inputs = input
            .iter()
            .map(|element| Inputs::of_element(element, is_pretokenized));
        let inputs: Vec<Inputs> = inputs.collect::<PyResult<_>>()?;
        let state = self.state(py)?;
        let job = job(&state, places, adds_special);
        py.detach(|| job.batch(inputs))
    }

    fn batch<'py>(
        &self,
        py: Python<'py>,
        input: &[Bound<'py, PyAny>],
        is_pretokenized: bool,
        adds_special: bool,
        places: Places,
    ) -> PyResult<Bound<'py, PyList>> {
        let results = self.results(py, input, is_pretokenized, adds_special, places)?;
        let _paused = PausedCollector::new(py, results.len())?;
        let encodings = results
            .into_iter()
            .map(|result| Bound::new(py, PyEncoding::from(result)));
        PyList::new(py, encodings.collect::<PyResult<Vec<_>>>()?)
    }
}

fn job(state: &State, places: Places, adds_special: bool) -> Job<'_> {
    Job {
        state,
        call: Call {
            places,
            finds_special: !state.encodes_special,
        },
        adds_special,
    }
}

#[pymethods]
impl TokenizerCore {
    /// The tokenizer of the bytes of a tokenizer.json.
    #[new]
    fn new(py: Python<'_>, json: &Bound<'_, PyBytes>) -> PyResult<TokenizerCore> {
        let state = State::new(engine_of(py, json.as_bytes())?);
        Ok(TokenizerCore {
            state: Mutex::new(Arc::new(state)),
            refresh: Mutex::default(),
        })
    }

    /// Replaces everything by that of a tokenizer.json.
    fn _read(&self, py: Python<'_>, json: &Bound<'_, PyBytes>) -> PyResult<()> {
        self.replace(State::new(engine_of(py, json.as_bytes())?));
        Ok(())
    }

    /// The function that is called before each call, or None.
    fn _set_refresh(&self, refresh: Option<Py<PyAny>>) {
        *self.refresh.lock().unwrap_or_else(PoisonError::into_inner) = refresh;
    }

    /// The JSON of a component, or None.
    fn _component(&self, name: &str) -> PyResult<Option<String>> {
        let component = component_of(name)?;
        Ok(self.current().engine.file.component(component))
    }

    fn _set_component(&self, name: &str, json: Option<&str>) -> PyResult<()> {
        let component = component_of(name)?;
        self.change(|file| file.set_component(component, json))
    }

    fn _model(&self) -> String {
        self.current().engine.file.model_json()
    }

    fn _set_model(&self, json: &str) -> PyResult<()> {
        self.change(|file| file.set_model(json))
    }

    fn _add_tokens(&self, tokens: Vec<TokenFields>) -> PyResult<usize> {
        let tokens =
            tokens
                .into_iter()
                .map(
                    |(text, single_word, lstrip, rstrip, normalized, special)| SpecialToken {
                        single_word,
                        lstrip,
                        rstrip,
                        normalized,
                        special,
                        ..SpecialToken::new(text, 0)
                    },
                );
        let tokens: Vec<SpecialToken> = tokens.collect();
        self.change(|file| Ok(file.add_tokens(tokens)))
    }

    /// The added tokens by their ids, in the order of their ids.
    fn _added_tokens(&self) -> Vec<(u32, TokenFields)> {
        let state = self.current();
        let tokens = state.engine.file.added_tokens().iter();
        let mut tokens: Vec<(u32, TokenFields)> = tokens
            .map(|it| {
                let text = it.text.clone();
                let flags = (
                    it.single_word,
                    it.lstrip,
                    it.rstrip,
                    it.normalized,
                    it.special,
                );
                (it.id, (text, flags.0, flags.1, flags.2, flags.3, flags.4))
            })
            .collect();
        tokens.sort_by_key(|(id, _)| *id);
        tokens
    }

    /// The tokenizer.json.
    #[pyo3(signature = (pretty = false))]
    fn to_str(&self, py: Python<'_>, pretty: bool) -> PyResult<String> {
        let file = self.state(py)?.file();
        Ok(py.detach(|| file.to_json(pretty)))
    }

    /// The number of special tokens around a text, or around two.
    fn num_special_tokens_to_add(&self, py: Python<'_>, is_pair: bool) -> PyResult<usize> {
        Ok(self.state(py)?.engine.pipeline()?.added_length(is_pair))
    }

    /// The tokens and their ids.
    #[pyo3(signature = (with_added_tokens = true))]
    fn get_vocab<'py>(
        &self,
        py: Python<'py>,
        with_added_tokens: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let state = self.state(py)?;
        let ints = state.engine.loaded.ints(py);
        let vocab = PyDict::new(py);
        let insert = |text: &str, id: u32| match ints.get(id as usize) {
            Some(int) => vocab.set_item(text, int),
            None => vocab.set_item(text, id),
        };
        for (text, id) in state.engine.file.model().vocabulary().tokens() {
            insert(text, id)?;
        }
        if with_added_tokens {
            for token in state.engine.file.added_tokens() {
                insert(&token.text, token.id)?;
            }
        }
        Ok(vocab)
    }

    /// The number of tokens.
    #[pyo3(signature = (with_added_tokens = true))]
    fn get_vocab_size(&self, py: Python<'_>, with_added_tokens: bool) -> PyResult<usize> {
        let state = self.state(py)?;
        let file = &state.engine.file;
        let vocabulary = file.model().vocabulary();
        let is_new = |token: &&SpecialToken| vocabulary.id(&token.text).is_none();
        let added = file.added_tokens().iter().filter(is_new);
        let added = if with_added_tokens { added.count() } else { 0 };
        Ok(file.model_size() as usize + added)
    }

    /// Cuts long texts from now on.
    #[pyo3(signature = (max_length, **kwargs))]
    fn enable_truncation(
        &self,
        py: Python<'_>,
        max_length: usize,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        let truncation = settings::read_truncation(max_length, kwargs)?;
        let state = self.state(py)?;
        let added = state.engine.pipeline()?.added_length(false);
        let stride = truncation.stride;
        if let Some(left) = max_length.checked_sub(added).filter(|left| *left < stride) {
            return Err(PyValueError::new_err(format!(
                "tokenizer stride set to {stride}, which is greater than or equal to its effective max length of {left} \
                 (= {max_length} original max length - {added} added special tokens), "
            )));
        }
        self.set_lengths(Some(truncation), state.padding.clone());
        Ok(())
    }

    /// Cuts no text from now on.
    fn no_truncation(&self) {
        self.set_lengths(None, self.current().padding.clone());
    }

    /// How long texts are cut, or None.
    #[getter]
    fn truncation<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        settings::truncation_of(py, self.current().truncation.as_ref())
    }

    /// Fills up short texts from now on.
    #[pyo3(signature = (**kwargs))]
    fn enable_padding(&self, kwargs: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        let padding = settings::read_padding(kwargs)?;
        self.set_lengths(self.current().truncation, Some(padding));
        Ok(())
    }

    /// Fills up no text from now on.
    fn no_padding(&self) {
        self.set_lengths(self.current().truncation, None);
    }

    /// How short texts are filled up, or None.
    #[getter]
    fn padding<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        settings::padding_of(py, self.current().padding.as_ref())
    }

    /// Whether special tokens in texts are ordinary text.
    #[getter]
    fn encode_special_tokens(&self) -> bool {
        self.current().encodes_special
    }

    #[setter]
    fn set_encode_special_tokens(&self, value: bool) {
        let state = State {
            encodes_special: value,
            ..(*self.current()).clone()
        };
        self.replace(state);
    }

    /// The result of one text or two.
    #[pyo3(signature = (sequence, pair = None, is_pretokenized = false, add_special_tokens = true))]
    fn encode(
        &self,
        py: Python<'_>,
        sequence: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
        is_pretokenized: bool,
        add_special_tokens: bool,
    ) -> PyResult<PyEncoding> {
        let inputs = Inputs::of(sequence, pair, is_pretokenized)?;
        self.encode_inputs(py, inputs, add_special_tokens, Places::Chars)
    }

    /// Like encode; spans count bytes.
    fn _encode_bytes(
        &self,
        py: Python<'_>,
        sequence: &Bound<'_, PyAny>,
        pair: Option<&Bound<'_, PyAny>>,
        is_pretokenized: bool,
        add_special_tokens: bool,
    ) -> PyResult<PyEncoding> {
        let inputs = Inputs::of(sequence, pair, is_pretokenized)?;
        self.encode_inputs(py, inputs, add_special_tokens, Places::Bytes)
    }

    /// The results of texts and pairs of texts.
    #[pyo3(signature = (input, is_pretokenized = false, add_special_tokens = true))]
    fn encode_batch<'py>(
        &self,
        py: Python<'py>,
        input: Vec<Bound<'py, PyAny>>,
        is_pretokenized: bool,
        add_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        self.batch(
            py,
            &input,
            is_pretokenized,
            add_special_tokens,
            Places::Chars,
        )
    }

    /// Like encode_batch, without spans and texts of tokens.
    #[pyo3(signature = (input, is_pretokenized = false, add_special_tokens = true))]
    fn encode_batch_fast<'py>(
        &self,
        py: Python<'py>,
        input: Vec<Bound<'py, PyAny>>,
        is_pretokenized: bool,
        add_special_tokens: bool,
    ) -> PyResult<Bound<'py, PyList>> {
        self.batch(
            py,
            &input,
            is_pretokenized,
            add_special_tokens,
            Places::Nothing,
        )
    }

    /// The ids of a batch in one array, and the offsets at which each text begins and the last one ends.
    fn _encode_ragged(
        &self,
        py: Python<'_>,
        input: Vec<Bound<'_, PyAny>>,
        is_pretokenized: bool,
        add_special_tokens: bool,
    ) -> PyResult<(VectorBuffer, VectorBuffer)> {
        let places = Places::Nothing;
        let results = self.results(py, &input, is_pretokenized, add_special_tokens, places)?;
        py.detach(|| {
            let mut ids = Vec::with_capacity(results.iter().map(Encoded::len).sum());
            let mut offsets = Vec::with_capacity(results.len() + 1);
            offsets.push(0);
            for result in &results {
                push_all_ids(result, &mut ids);
                offsets.push(i64::try_from(ids.len()).map_err(exception)?);
            }
            let ids = ids.into_iter().map(u32::cast_signed).collect();
            Ok((VectorBuffer::of_i32(ids), VectorBuffer::of_i64(offsets)))
        })
    }

    /// Truncation, template and padding for encodings.
    #[pyo3(signature = (encoding, pair = None, add_special_tokens = true))]
    fn post_process(
        &self,
        py: Python<'_>,
        encoding: &PyEncoding,
        pair: Option<&PyEncoding>,
        add_special_tokens: bool,
    ) -> PyResult<PyEncoding> {
        let state = self.state(py)?;
        let second = pair.map(|pair| pair.layout.clone());
        let job = job(&state, Places::Chars, add_special_tokens);
        let mut results = [job.finish(&state.engine, encoding.layout.clone(), second)?];
        job.pad(&mut results);
        let [result] = results;
        Ok(result.into())
    }

    /// The text of ids.
    #[pyo3(signature = (ids, skip_special_tokens = true))]
    fn decode(&self, py: Python<'_>, ids: Vec<u32>, skip_special_tokens: bool) -> PyResult<String> {
        let state = self.state(py)?;
        detached_if(py, ids.len() > MAX_ATTACHED_BYTES, || {
            state.engine.decode(&ids, skip_special_tokens)
        })
    }

    /// The text of each list of ids.
    #[pyo3(signature = (sequences, skip_special_tokens = true))]
    fn decode_batch(
        &self,
        py: Python<'_>,
        sequences: Vec<Vec<u32>>,
        skip_special_tokens: bool,
    ) -> PyResult<Vec<String>> {
        let state = self.state(py)?;
        let decode = |ids: &Vec<u32>| state.engine.decode(ids, skip_special_tokens);
        py.detach(|| match threads(sequences.len()) {
            1 => sequences.iter().map(decode).collect(),
            threads => in_pool(threads, || sequences.par_iter().map(decode).collect())?,
        })
    }

    /// The id of a token, or None.
    fn token_to_id(&self, py: Python<'_>, token: &str) -> PyResult<Option<u32>> {
        let id = self.state(py)?.engine.loaded.tokenizer.piece_to_id(token);
        Ok(id.map(PieceId::get))
    }

    /// The token of an id, or None.
    fn id_to_token(&self, py: Python<'_>, id: u32) -> PyResult<Option<String>> {
        let state = self.state(py)?;
        let token = state.engine.loaded.tokenizer.id_to_piece(PieceId::new(id));
        Ok(token.map(|token| String::from_utf8_lossy(token).into_owned()))
    }
}

impl TokenizerCore {
    fn encode_inputs(
        &self,
        py: Python<'_>,
        inputs: Inputs,
        adds_special: bool,
        places: Places,
    ) -> PyResult<PyEncoding> {
        let state = self.state(py)?;
        let job = job(&state, places, adds_special);
        let result = detached_if(py, inputs.bytes() > MAX_ATTACHED_BYTES, || job.one(inputs))?;
        Ok(result.into())
    }
}
