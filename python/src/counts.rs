//! Word counts from Python: counting lines in parts, tables of rows, and training from them.
//!
//! Input: flags by name, and lines as one buffer; rows as three buffers (bytes, offsets, counts). Output: rows in the same form,
//! from which Arrow makes arrays without a copy; models. `spiece/counts.py` and `spiece/spark.py` build on it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use spiece::{Corpus, CountRows, TrainError, TrainFlags, Trainer, WordCounts};

use crate::buffer::VectorBuffer;
use crate::errors;
use crate::trainer::{Failure, PyObserver, summary_dict};

/// Bytes of lines that are counted together, so that the caches of counting are used.
const COLLECTED_BYTES: usize = 1 << 24;
/// The size of the vocabulary, which counts do not depend on.
const ANY_VOCAB_SIZE: i32 = i32::MAX;

/// Rows as buffers: the bytes of all rows, where each begins and ends, and the counts.
type Rows<'py> = (Bound<'py, PyBytes>, VectorBuffer, VectorBuffer);

/// Counts the words of lines.
#[pyclass(module = "spiece._native", name = "WordCounter", frozen)]
pub struct PyWordCounter {
    trainer: Trainer,
    state: Mutex<CounterState>,
}

struct CounterState {
    counts: WordCounts,
    /// Lines that are not counted yet, each with its line feed.
    lines: Vec<u8>,
}

impl CounterState {
    fn flush(&mut self, trainer: &Trainer) -> Result<(), TrainError> {
        let lines = std::mem::take(&mut self.lines);
        trainer.count_into(Corpus::reader(&lines[..]), &mut self.counts)
    }
}

/// The flags by name. The size of the vocabulary is `vocab_size` if that is given.
fn flags_of(
    py: Python<'_>,
    flags: &[(String, String)],
    vocab_size: Option<i32>,
) -> PyResult<TrainFlags> {
    let mut result = TrainFlags::default();
    for (name, value) in flags {
        let set = result.set(name, value);
        set.map_err(|error| errors::of_option(py, &error))?;
    }
    if let Some(vocab_size) = vocab_size {
        result.vocab_size = vocab_size;
    }
    Ok(result)
}

/// A copy of the elements of a buffer.
fn elements<T: pyo3::buffer::Element>(object: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(object)?.to_vec(object.py())
}

/// The rows of an array of Arrow.
struct ArrayRows {
    bytes: Vec<u8>,
    /// Where each row begins and the last one ends; in ascending order, and within the bytes.
    offsets: Vec<usize>,
}

impl ArrayRows {
    /// The offsets have 32 or 64 bits; the first one is that of the first of the bytes.
    fn new(bytes: &Bound<'_, PyAny>, offsets: &Bound<'_, PyAny>) -> PyResult<ArrayRows> {
        let bytes: Vec<u8> = elements(bytes)?;
        let offsets: Vec<i64> = match elements::<i32>(offsets) {
            Ok(offsets) => offsets.into_iter().map(i64::from).collect(),
            Err(_) => elements(offsets)?,
        };
        let first = offsets.first().copied().unwrap_or_default();
        let from_first = |offset: &i64| usize::try_from(offset.checked_sub(first)?).ok();
        let offsets: Option<Vec<usize>> = offsets.iter().map(from_first).collect();
        let is_inside = |offsets: &Vec<usize>| {
            offsets.is_sorted() && offsets.last().is_none_or(|end| *end <= bytes.len())
        };
        match offsets.filter(is_inside) {
            Some(offsets) => Ok(ArrayRows { bytes, offsets }),
            None => Err(PyBufferError::new_err(
                "offsets: a row is outside of its bytes",
            )),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let bounds = self.offsets.windows(2);
        bounds.map(|bounds| &self.bytes[bounds[0]..bounds[1]])
    }
}

#[pymethods]
impl PyWordCounter {
    #[new]
    fn new(py: Python<'_>, flags: Vec<(String, String)>) -> PyResult<PyWordCounter> {
        let flags = flags_of(py, &flags, Some(ANY_VOCAB_SIZE))?;
        let error = |error: TrainError| errors::of_train(py, &error);
        let trainer = flags.trainer().map_err(error)?;
        // Whoever counts in several processes has one for each core.
        let trainer = trainer.with_threads(std::num::NonZeroUsize::MIN);
        // Refuses options that need the whole corpus.
        trainer.counter().map_err(error)?;
        let counts = trainer.new_counts().map_err(error)?;
        let lines = Vec::new();
        Ok(PyWordCounter {
            trainer,
            state: Mutex::new(CounterState { counts, lines }),
        })
    }

    /// Adds rows of text, as lines: a line feed is added to each. `offsets` says where each row begins and the last one ends;
    /// the first offset is that of the first of the bytes.
    fn add_rows(
        &self,
        py: Python<'_>,
        bytes: &Bound<'_, PyAny>,
        offsets: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let rows = ArrayRows::new(bytes, offsets)?;
        let added = py.detach(|| {
            let mut state = self.lock();
            for row in rows.iter() {
                state.lines.extend_from_slice(row);
                state.lines.push(b'\n');
            }
            if state.lines.len() < COLLECTED_BYTES {
                return Ok(());
            }
            state.flush(&self.trainer)
        });
        added.map_err(|error| errors::of_train(py, &error))
    }

    /// The number of distinct words, without those of lines that are not counted yet.
    fn __len__(&self) -> usize {
        self.lock().counts.len()
    }

    /// All words and their counts, which are removed; with `with_options` also the rows with the options and the numbers of
    /// sentences, once for each counter.
    fn take_rows<'py>(&self, py: Python<'py>, with_options: bool) -> PyResult<Rows<'py>> {
        let taken = py.detach(|| {
            let mut state = self.lock();
            state.flush(&self.trainer)?;
            let mut rows = RowBuffers::default();
            if with_options {
                state
                    .counts
                    .for_each_other_row(|bytes, count| rows.add(bytes, count))?;
            }
            let mut result = Ok(());
            state.counts.drain(|word, count| {
                let count = i64::try_from(count).unwrap_or(i64::MAX);
                if result.is_ok() {
                    result = rows.add(word.as_bytes(), count);
                }
            });
            result.map(|()| rows)
        });
        let rows = taken.map_err(|error| errors::of_train(py, &error))?;
        Ok(rows.into_python(py))
    }
}

impl PyWordCounter {
    fn lock(&self) -> MutexGuard<'_, CounterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows that are written to buffers.
struct RowBuffers {
    bytes: Vec<u8>,
    offsets: Vec<i64>,
    counts: Vec<i64>,
}

impl Default for RowBuffers {
    fn default() -> RowBuffers {
        RowBuffers {
            bytes: Vec::new(),
            offsets: vec![0],
            counts: Vec::new(),
        }
    }
}

impl RowBuffers {
    fn add(&mut self, bytes: &[u8], count: i64) -> Result<(), TrainError> {
        self.bytes.extend_from_slice(bytes);
        // A vector has at most isize::MAX bytes.
        self.offsets
            .push(i64::try_from(self.bytes.len()).unwrap_or(i64::MAX));
        self.counts.push(count);
        Ok(())
    }

    fn into_python(self, py: Python<'_>) -> Rows<'_> {
        (
            PyBytes::new(py, &self.bytes),
            VectorBuffer::of_i64(self.offsets),
            VectorBuffer::of_i64(self.counts),
        )
    }
}

/// Rows of one table or of several.
#[pyclass(module = "spiece._native", name = "CountRows", frozen)]
pub struct PyCountRows {
    /// `None` after the rows were taken for training.
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
        for (row, count) in added.iter().zip(&counts) {
            rows.add(row, *count)
                .map_err(|error| errors::of_train(py, &error))?;
        }
        Ok(())
    }
}

fn taken() -> PyErr {
    PyValueError::new_err("these rows were trained on already; make the table again")
}

/// Trains on the rows: the bytes of a model, and figures about the run. The inputs of the rows are recorded.
#[pyfunction]
pub fn _train_counts<'py>(
    py: Python<'py>,
    rows: &PyCountRows,
    flags: Vec<(String, String)>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyDict>)> {
    let mut flags = flags_of(py, &flags, None)?;
    let rows = rows
        .rows
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .take()
        .ok_or_else(taken)?;
    let error = |error: TrainError| errors::of_train(py, &error);
    let counts = py.detach(|| rows.finish()).map_err(error)?;
    if !counts.inputs().is_empty() {
        flags.input = counts.inputs().to_vec();
        counts.input_format().clone_into(&mut flags.input_format);
    }
    let trainer = py.detach(|| flags.trainer()).map_err(error)?;
    let failure = Failure::default();
    let mut observer = PyObserver::new(progress.map(Bound::unbind), failure.clone());
    let trained = py.detach(|| trainer.train_counts_observed(counts, &mut observer));
    let (model, summary) = failure.or(py, trained)?;
    Ok((
        PyBytes::new(py, &model.to_bytes()),
        summary_dict(py, &summary)?,
    ))
}
