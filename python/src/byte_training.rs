//! Training of byte-level BPE on an iterator of Python, for `spiece/rustbpe.py`.

use std::sync::Arc;

use pyo3::prelude::*;
use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer};
use spiece::{ByteBpe, Corpus, Tokenizer, TokenizerConfig, TrainError};

use crate::errors;
use crate::loaded::Loaded;
use crate::tokenizer::PyTokenizer;
use crate::trainer::{Failure, LineEnds, PyObserver, PySentences};

/// The tokenizer that rustbpe trains on texts; with the bytes alone if there is none.
#[pyfunction]
pub fn _train_byte_bpe(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    vocab_size: u32,
    pattern: &str,
) -> PyResult<PyTokenizer> {
    let order = ByteTieOrder::Rustbpe;
    let pretokenizer = order.pretokenizer(pattern).map_err(|error| {
        errors::exception(py, "OptionValueError", (format!("pattern: {error}"),))
    })?;
    let mut options = ByteTrainOptions::new(vocab_size, pretokenizer);
    options.tie_order = order;
    let failure = Failure::default();
    let texts = PySentences::new(texts, LineEnds::Kept, failure.clone())?;
    let mut observer = PyObserver::new(None, failure.clone());
    let trained = py.detach(|| -> Result<ByteBpe, TrainError> {
        let trainer = ByteTrainer::new(options)?;
        match trainer.train_observed(Corpus::texts(texts), &mut observer) {
            Ok((trained, _)) => Ok(trained),
            Err(TrainError::NoText { .. }) => trainer.untrained(),
            Err(error) => Err(error),
        }
    });
    let tokenizer = Tokenizer::of_bytes(failure.or(py, trained)?, TokenizerConfig::default());
    Ok(PyTokenizer {
        loaded: Arc::new(Loaded::new(tokenizer)),
    })
}
