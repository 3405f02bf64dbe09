//! Word counts from Python: counting rows in parts, tables of rows, and training on them.
//!
//! Rows come and go as buffers (bytes, offsets, counts), from which Arrow makes arrays without a
//! copy. `spiece/counts.py` and `spiece/spark.py` build on it.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spiece::input::Document;
use spiece::train::{ByteTieOrder, CountRows, CountsError, WordCounts};
use spiece::{TrainError, TrainFlags};

use crate::array_rows::{ArrayRows, elements};
use crate::buffer::VectorBuffer;
use crate::byte_training::{ByteTraining, with_summary};
use crate::counting_thread::{BackgroundCounts, CountingError};
use crate::errors;
use crate::row_counts::{RowCounts, WordRows};
use crate::tokenizer::PyTokenizer;
use crate::trainer::{Failure, PyObserver, summary_dict};
use crate::training_flags::set_flags;

/// Rows as buffers: the bytes of all rows, the offsets of the rows, and the counts.
type Rows<'py> = (Bound<'py, PyBytes>, VectorBuffer, VectorBuffer);

/// Counts the words, or the pretokens, of rows.
#[pyclass(module = "spiece._native", name = "WordCounter", frozen)]
pub struct PyWordCounter {
    counts: Mutex<BackgroundCounts>,
}

#[pymethods]
impl PyWordCounter {
    #[new]
    fn new(py: Python<'_>, flags: Vec<(String, String)>) -> PyResult<PyWordCounter> {
        let values = flags;
        let mut flags = TrainFlags::default();
        set_flags(py, &mut flags, &values)?;
        if !flags.json_field.is_empty() {
            return Err(no_records());
        }
        // Counts do not depend on the size of the vocabulary.
        flags.vocab_size = i32::MAX;
        let error = |error: TrainError| errors::of_train(py, &error);
        let trainer = flags.trainer().map_err(error)?;
        // One thread: callers that count in several processes have one process per core.
        let trainer = trainer.with_threads(NonZeroUsize::MIN);
        let counts = WordRows::new(trainer, true).map_err(error)?;
        Ok(PyWordCounter::of_counts(Box::new(counts)))
    }

    /// A counter of the pretokens of byte-level BPE.
    #[staticmethod]
    fn of_bytes(py: Python<'_>, mut flags: Vec<(String, String)>) -> PyResult<PyWordCounter> {
        // Counts do not depend on the size of the vocabulary.
        flags.push(("vocab_size".to_owned(), i32::MAX.to_string()));
        let training = ByteTraining::new(py, &flags)?;
        if !training.flags.json_field.is_empty() {
            return Err(no_records());
        }
        if training.trainer.options().document == Some(Document::File) {
            return Err(PyValueError::new_err(
                "document: rows are lines (line) or texts (record), not files",
            ));
        }
        // Training would refuse the table, perhaps hours later.
        if training.trainer.options().tie_order == ByteTieOrder::Minbpe {
            return Err(errors::of_train(py, &CountsError::Order.into()));
        }
        // As above.
        let trainer = training.trainer.with_threads(NonZeroUsize::MIN);
        let are_lines = trainer.options().document == Some(Document::Line);
        let counts = WordRows::new(trainer, are_lines);
        let counts = counts.map_err(|error| errors::of_train(py, &error))?;
        Ok(PyWordCounter::of_counts(Box::new(counts)))
    }

    /// Adds rows of text: lines, of which each gets a line feed, or texts. `offsets` says where
    /// each row begins and the last one ends; the first offset is that of the first of the bytes.
    fn add_rows(
        &self,
        py: Python<'_>,
        bytes: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let rows = ArrayRows::new(bytes, offsets)?;
        let added = py.detach(|| self.lock().add(rows));
        added.map_err(|error| of_counting(py, &error))
    }

    /// The number of distinct words, without those of rows that have not been counted yet.
    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.lock().words())
    }

    /// Removes and returns all words and their counts; with `with_options`, also the rows with the
    /// options and the numbers of sentences, once for each counter.
    fn take_rows<'py>(&self, py: Python<'py>, with_options: bool) -> PyResult<Rows<'py>> {
        let taken = py.detach(|| {
            let mut counts = self.lock();
            let taken = counts.finish()?.take(with_options);
            taken.map_err(CountingError::Train)
        });
        let rows = taken.map_err(|error| of_counting(py, &error))?;
        Ok((
            PyBytes::new(py, &rows.bytes),
            VectorBuffer::of_i64(rows.offsets),
            VectorBuffer::of_i64(rows.counts),
        ))
    }
}

impl PyWordCounter {
    fn of_counts(counts: Box<dyn RowCounts>) -> PyWordCounter {
        PyWordCounter {
            counts: Mutex::new(BackgroundCounts::new(counts)),
        }
    }

    /// The thread that holds the lock never waits for Python. A caller that waits for it must be
    /// detached.
    fn lock(&self) -> MutexGuard<'_, BackgroundCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows of one table or of several.
#[pyclass(module = "spiece._native", name = "CountRows", frozen)]
pub struct PyCountRows {
    /// `None` once the rows have been taken for training.
    rows: Mutex<Option<CountRows>>,
}

#[pymethods]
impl PyCountRows {
    #[new]
    fn new() -> PyCountRows {
        PyCountRows {
            rows: Mutex::new(Some(CountRows::new())),
        }
    }

    /// Adds rows: their bytes and offsets as in [`PyWordCounter::add_rows`], and their counts (int64).
    fn add(
        &self,
        py: Python<'_>,
        bytes: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
        counts: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let added = ArrayRows::new(bytes, offsets)?;
        let counts: Vec<i64> = elements(counts)?;
        let mut guard = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = guard.as_mut().ok_or_else(taken)?;
        let mut numbered = added.iter().zip(&counts);
        let added = numbered.try_for_each(|(row, count)| rows.add(row, *count));
        added.map_err(|error| errors::of_train(py, &error))
    }
}

impl PyCountRows {
    /// The counts of the rows, which are removed.
    fn take_counts(&self, py: Python<'_>) -> PyResult<WordCounts> {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = rows.take().ok_or_else(taken)?;
        let counts = py.detach(|| rows.finish());
        counts.map_err(|error| errors::of_train(py, &error))
    }
}

fn no_records() -> PyErr {
    PyValueError::new_err("json_field is for files; pass the texts")
}

fn of_counting(py: Python<'_>, error: &CountingError) -> PyErr {
    match error {
        CountingError::Train(error) => errors::of_train(py, error),
        CountingError::Thread(error) => {
            PyRuntimeError::new_err(format!("the thread that counts: {error}"))
        }
        CountingError::OtherProcess => PyRuntimeError::new_err(
            "rows were added in another process, whose thread counts them; make a counter in each process",
        ),
    }
}

fn taken() -> PyErr {
    PyValueError::new_err("these rows were trained on already; make the table again")
}

/// Trains on the rows. Returns the bytes of the model, which records the inputs of the rows, and
/// figures about the run.
#[pyfunction]
pub fn _train_counts<'py>(
    py: Python<'py>,
    rows: &PyCountRows,
    flags: Vec<(String, String)>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)> {
    let values = flags;
    let mut flags = TrainFlags::default();
    set_flags(py, &mut flags, &values)?;
    let counts = rows.take_counts(py)?;
    if !counts.inputs().is_empty() {
        flags.input = counts.inputs().to_vec();
        counts.input_format().clone_into(&mut flags.input_format);
    }
    let trainer = py.detach(|| flags.trainer());
    let trainer = trainer.map_err(|error| errors::of_train(py, &error))?;
    let failure = Failure::default();
    let observer = PyObserver::new(progress.map(Bound::unbind), failure.clone());
    let trainer = trainer.with_observer(observer.observer());
    let trained = py.detach(|| trainer.train_counts(counts));
    let model = failure.or(py, trained)?;
    Ok((
        PyBytes::new(py, &model.to_bytes()),
        summary_dict(py, &observer.summary())?,
    ))
}

/// Trains on rows of counted pretokens.
#[pyfunction]
pub fn _train_byte_counts<'py>(
    py: Python<'py>,
    rows: &PyCountRows,
    flags: Vec<(String, String)>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(PyTokenizer, Bound<'py, PyDict>)> {
    let ByteTraining { trainer, .. } = ByteTraining::new(py, &flags)?;
    let counts = rows.take_counts(py)?;
    let failure = Failure::default();
    let observer = PyObserver::new(progress.map(Bound::unbind), failure.clone());
    let trainer = trainer.with_observer(observer.observer());
    let trained = py.detach(|| trainer.train_counts(counts));
    with_summary(py, failure.or(py, trained)?, &observer.summary())
}
