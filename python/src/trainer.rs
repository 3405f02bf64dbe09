//! Training from Python, on files that the flags name or on an iterator, with callbacks.
//!
//! Training runs detached from the interpreter, so other Python threads can run. It attaches to
//! take a thousand sentences from an iterator, to call a pre-tokenizer, and to report progress.
//! When it reports progress, it also checks for signals, so Ctrl-C stops it. An exception in a
//! callback stops the run and is raised at its end.

use std::collections::VecDeque;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyString};
use spiece::input::Document;
use spiece::train::{Event, Observer, Summary};
use spiece::{Corpus, NormalizerSpec, TrainError, TrainFlags};

use crate::errors;
use crate::text::Text;
use crate::tokenizer::{PyTokenizer, threads_or_all};
use crate::training_flags::{flags_like, set_flags};

/// The number of sentences that are taken from an iterator at once, unless they are long.
const BATCH_SENTENCES: usize = 1000;
/// The number of bytes after which no more sentences are taken at once.
const BATCH_BYTES: usize = 1 << 20;
/// The minimum time between two checks for signals.
const SIGNAL_PERIOD: Duration = Duration::from_millis(50);

/// The first exception of a callback.
#[derive(Clone, Default)]
pub struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn set(&self, error: PyErr) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    fn is_set(&self) -> bool {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }

    /// Raises the exception, if there is one.
    pub fn check(&self) -> PyResult<()> {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.map_or(Ok(()), Err)
    }

    /// The result of a run. The exception of a callback takes precedence over the error that it
    /// caused.
    pub fn or<T>(&self, py: Python<'_>, result: Result<T, TrainError>) -> PyResult<T> {
        self.check()?;
        result.map_err(|error| errors::of_train(py, &error))
    }
}

/// What becomes of the line ends at the end of a text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LineEnds {
    Kept,
    Removed,
}

/// The sentences of an iterator of Python.
pub struct PySentences {
    iterator: Py<PyIterator>,
    line_ends: LineEnds,
    taken: VecDeque<Vec<u8>>,
    /// The number of sentences that were taken, including the earlier ones.
    count: usize,
    is_done: bool,
    failure: Failure,
}

impl PySentences {
    /// # Errors
    /// `TypeError` if the object is not an iterator, for example a list.
    pub fn new(
        object: &Bound<'_, PyAny>,
        line_ends: LineEnds,
        failure: Failure,
    ) -> PyResult<PySentences> {
        let iterator = object.cast::<PyIterator>().map_err(|_| {
            PyTypeError::new_err(format!(
                "sentences: {} is no iterator; pass iter(sentences)",
                crate::text::type_name(object)
            ))
        })?;
        Ok(PySentences {
            iterator: iterator.clone().unbind(),
            line_ends,
            taken: VecDeque::new(),
            count: 0,
            is_done: false,
            failure,
        })
    }

    /// Takes some sentences.
    fn take(&mut self) {
        let taken = Python::attach(|py| -> PyResult<bool> {
            let mut bytes = 0;
            for item in self.iterator.bind(py).clone().take(BATCH_SENTENCES) {
                let item = item?;
                let text = Text::of(&item).map_err(|error| {
                    let problem = error.value(py);
                    PyValueError::new_err(format!("sentence {}: {problem}", self.count))
                })?;
                let text = text.bytes;
                self.count += 1;
                bytes += text.len();
                let text = match self.line_ends {
                    LineEnds::Kept => text,
                    LineEnds::Removed => without_line_end(text),
                };
                self.taken.push_back(text.to_vec());
                if bytes >= BATCH_BYTES {
                    return Ok(false);
                }
            }
            Ok(self.taken.len() < BATCH_SENTENCES)
        });
        match taken {
            Ok(is_done) => self.is_done = is_done,
            Err(error) => {
                self.failure.set(error);
                self.is_done = true;
            }
        }
    }
}

impl Iterator for PySentences {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        if self.taken.is_empty() && !self.is_done {
            self.take();
        }
        self.taken.pop_front()
    }
}

/// A sentence without the carriage returns and line feeds at its end.
fn without_line_end(text: &[u8]) -> &[u8] {
    let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    let length = text.iter().rposition(is_text).map_or(0, |last| last + 1);
    &text[..length]
}

/// Reports progress to a callable, checks for signals, and keeps the figures of the run.
pub struct PyObserver(Arc<Mutex<Progress>>);

impl PyObserver {
    pub fn new(progress: Option<Py<PyAny>>, failure: Failure) -> PyObserver {
        PyObserver(Arc::new(Mutex::new(Progress {
            progress,
            failure,
            looked: None,
            held: None,
            summary: Summary::default(),
        })))
    }

    /// The setting of a trainer.
    pub fn observer(&self) -> Observer {
        let progress = Arc::clone(&self.0);
        Observer::new(move |event| lock(&progress).on_event(event))
    }

    /// The figures of the run, after its end.
    pub fn summary(&self) -> Summary {
        lock(&self.0).summary.clone()
    }
}

fn lock(progress: &Mutex<Progress>) -> MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state of an observer.
struct Progress {
    progress: Option<Py<PyAny>>,
    failure: Failure,
    looked: Option<Instant>,
    /// The last event of the stage, if it came too soon after another one to be reported.
    held: Option<HeldEvent>,
    summary: Summary,
}

/// An event that is reported if its stage ends before another one is.
enum HeldEvent {
    Read(u64, Option<u64>),
    Merged(usize, usize, String, u64),
}

impl HeldEvent {
    fn of(event: Event<'_>) -> Option<HeldEvent> {
        match event {
            Event::Read { bytes, total } => Some(HeldEvent::Read(bytes, total)),
            Event::Merged {
                done,
                wanted,
                piece,
                count,
            } => Some(HeldEvent::Merged(done, wanted, piece.to_owned(), count)),
            _ => None,
        }
    }

    fn event(&self) -> Event<'_> {
        match *self {
            HeldEvent::Read(bytes, total) => Event::Read { bytes, total },
            HeldEvent::Merged(done, wanted, ref piece, count) => Event::Merged {
                done,
                wanted,
                piece,
                count,
            },
        }
    }
}

impl Progress {
    fn report(&mut self, py: Python<'_>, event: Event<'_>) -> PyResult<()> {
        py.check_signals()?;
        if matches!(event, Event::Started(_) | Event::Finished(_))
            && let Some(held) = self.held.take()
        {
            self.call(py, held.event())?;
        }
        if let Event::Warned(warning) = event {
            let message = CString::new(warning.to_string()).unwrap_or_default();
            return PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 3);
        }
        self.held = None;
        self.call(py, event)
    }

    fn call(&self, py: Python<'_>, event: Event<'_>) -> PyResult<()> {
        if let Some(progress) = &self.progress
            && let Some(event) = event_dict(py, event)?
        {
            progress.call1(py, (event,))?;
        }
        Ok(())
    }

    fn on_event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        if self.failure.is_set() {
            return ControlFlow::Break(());
        }
        let is_time = self
            .looked
            .is_none_or(|looked| looked.elapsed() >= SIGNAL_PERIOD);
        if let Event::Finished(summary) = event {
            self.summary = summary.clone();
        }
        // Iterations of unigram training are few.
        let is_rare = matches!(
            event,
            Event::Started(_) | Event::Estimated { .. } | Event::Finished(_)
        );
        let is_warning = matches!(event, Event::Warned(_));
        if is_time || is_warning || (self.progress.is_some() && is_rare) {
            self.looked = Some(Instant::now());
            if let Err(error) = Python::attach(|py| self.report(py, event)) {
                self.failure.set(error);
                return ControlFlow::Break(());
            }
        } else if self.progress.is_some() {
            self.held = HeldEvent::of(event);
        }
        ControlFlow::Continue(())
    }
}

/// An event as a `dict`.
fn event_dict<'py>(py: Python<'py>, event: Event<'_>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let dict = PyDict::new(py);
    match event {
        Event::Started(stage) => {
            dict.set_item("event", "started")?;
            dict.set_item("stage", format!("{stage:?}").to_lowercase())?;
        }
        Event::Read { bytes, total } => {
            dict.set_item("event", "read")?;
            dict.set_item("bytes", bytes)?;
            dict.set_item("total", total)?;
        }
        Event::Merged {
            done,
            wanted,
            piece,
            count,
        } => {
            dict.set_item("event", "merged")?;
            dict.set_item("done", done)?;
            dict.set_item("wanted", wanted)?;
            dict.set_item("piece", piece)?;
            dict.set_item("count", count)?;
        }
        Event::Estimated {
            iteration,
            pieces,
            wanted,
            log_likelihood,
        } => {
            dict.set_item("event", "estimated")?;
            dict.set_item("iteration", iteration)?;
            dict.set_item("pieces", pieces)?;
            dict.set_item("wanted", wanted)?;
            dict.set_item("log_likelihood", log_likelihood)?;
        }
        _ => return Ok(None),
    }
    Ok(Some(dict))
}

/// The figures of a run.
pub fn summary_dict<'py>(py: Python<'py>, summary: &Summary) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("sentences", summary.sentences.used)?;
    dict.set_item("empty_sentences", summary.sentences.empty)?;
    dict.set_item("too_long_sentences", summary.sentences.too_long)?;
    dict.set_item("reserved_sentences", summary.sentences.reserved)?;
    dict.set_item("bad_records", summary.sentences.bad_records)?;
    dict.set_item("distinct_words", summary.distinct_words)?;
    dict.set_item("characters", summary.characters)?;
    dict.set_item("coverage", summary.coverage)?;
    dict.set_item("merges", summary.merges)?;
    dict.set_item("pieces", summary.pieces)?;
    dict.set_item("special_tokens", summary.special_tokens)?;
    Ok(dict)
}

/// The request for a training run: the items of the `dict` that `_train` takes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Request<'py> {
    /// Names and values of flags.
    pub flags: Vec<(String, String)>,
    sentences: Option<Bound<'py, PyAny>>,
    pub pretokenizer: Option<Bound<'py, PyAny>>,
    allow_inconsistent_pretokenization: bool,
    pub normalizer: Option<Bound<'py, PyBytes>>,
    pub progress: Option<Bound<'py, PyAny>>,
    /// The number of threads that run; it does not change the model.
    pub threads: Option<Bound<'py, PyAny>>,
    /// What has the options that are the defaults.
    pub like: Option<Bound<'py, PyTokenizer>>,
    /// Whether the flags have the reference's defaults.
    for_schema: bool,
}

impl Request<'_> {
    /// What is read: the sentences, or the files that the flags name. `has_document` says whether
    /// an option says what a text of files is.
    pub fn corpus<'c>(
        &self,
        py: Python<'_>,
        flags: &TrainFlags,
        has_document: bool,
        line_ends: LineEnds,
        failure: &Failure,
    ) -> PyResult<Corpus<'c>> {
        match &self.sentences {
            Some(_) if !flags.json_field.is_empty() || has_document => Err(PyValueError::new_err(
                "json_field and document are for files; each of the sentences is one sentence",
            )),
            Some(sentences) => Ok(Corpus::texts(PySentences::new(
                sentences,
                line_ends,
                failure.clone(),
            )?)),
            None => flags
                .corpus()
                .map_err(|error| errors::of_option(py, &error)),
        }
    }

    fn flags(&self, py: Python<'_>) -> PyResult<TrainFlags> {
        let mut flags = match &self.like {
            Some(like) => flags_like(py, like.get().loaded.model(py)?, &self.flags)?,
            None => {
                let mut flags = match self.for_schema {
                    true => TrainFlags::for_schema(),
                    false => TrainFlags::default(),
                };
                set_flags(py, &mut flags, &self.flags)?;
                flags
            }
        };
        if let Some(spec) = &self.normalizer {
            let spec = NormalizerSpec::from_bytes(spec.as_bytes());
            flags.normalizer = Some(spec.map_err(|error| errors::of_model(py, &error))?);
        }
        Ok(flags)
    }

    /// The trainer for the flags.
    fn trainer(
        &self,
        py: Python<'_>,
        flags: &TrainFlags,
        failure: &Failure,
    ) -> PyResult<spiece::Trainer> {
        let error = |error: TrainError| errors::of_train(py, &error);
        let mut trainer = py.detach(|| flags.trainer()).map_err(error)?;
        if let Some(threads) = &self.threads
            && let Some(threads) = NonZeroUsize::new(threads_or_all(Some(threads))?)
        {
            trainer = trainer.with_threads(threads);
        }
        if let Some(callable) = &self.pretokenizer {
            let call = pretokenizer(callable.clone().unbind(), failure.clone());
            trainer = trainer.with_pretokenizer(call).map_err(error)?;
        }
        Ok(trainer.allow_inconsistent_pretokenization(self.allow_inconsistent_pretokenization))
    }
}

/// A Python callable as a pre-tokenizer. After its first exception it is not called again.
fn pretokenizer(
    callable: Py<PyAny>,
    failure: Failure,
) -> impl Fn(&str) -> Vec<String> + Send + Sync + 'static {
    move |sentence| {
        if failure.is_set() {
            return vec![sentence.to_owned()];
        }
        let chunks = Python::attach(|py| -> PyResult<Vec<String>> {
            let chunks = callable.bind(py).call1((PyString::new(py, sentence),))?;
            let chunks = chunks.try_iter()?.map(|chunk| chunk?.extract::<String>());
            chunks.collect()
        });
        chunks.unwrap_or_else(|error| {
            failure.set(pretokenizer_error(error));
            vec![sentence.to_owned()]
        })
    }
}

/// The exception for an error of a pre-tokenizer, as in the reference, with its cause.
fn pretokenizer_error(error: PyErr) -> PyErr {
    Python::attach(|py| {
        if error.is_instance_of::<pyo3::exceptions::PyKeyboardInterrupt>(py) {
            return error;
        }
        let message = format!("Pretokenizer failed: {error}");
        let raised = errors::exception(py, "TrainingError", (message,));
        raised.set_cause(py, Some(error));
        raised
    })
}

/// Trains a model. Returns the bytes of its file and figures about the run.
#[pyfunction]
pub fn _train<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)> {
    let request: Request<'py> = request.extract()?;
    let failure = Failure::default();
    let flags = request.flags(py)?;
    let has_document = flags.document != Document::Line;
    let corpus = request.corpus(py, &flags, has_document, LineEnds::Removed, &failure)?;
    let trainer = request.trainer(py, &flags, &failure)?;
    let progress = request
        .progress
        .as_ref()
        .map(|progress| progress.clone().unbind());
    let observer = PyObserver::new(progress, failure.clone());
    let trainer = trainer.with_observer(observer.observer());
    let trained = py.detach(|| trainer.train(corpus));
    let model = failure.or(py, trained)?;
    Ok((
        PyBytes::new(py, &model.to_bytes()),
        summary_dict(py, &observer.summary())?,
    ))
}
