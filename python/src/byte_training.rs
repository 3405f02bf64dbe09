//! Training of byte-level BPE, for `model_type="byte_bpe"` and for `spiece/rustbpe.py`.
//!
//! Options come as texts by name, like the flags of other types. Those that concern characters,
//! normalization or the `.model` file are refused.

use std::num::NonZeroUsize;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use spiece::pipeline::Pipeline;
use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer, Summary};
use spiece::{ByteBpe, Corpus, Tokenizer, TokenizerConfig, TrainError, TrainFlags};

use crate::errors;
use crate::tokenizer::PyTokenizer;
use crate::trainer::{Failure, LineEnds, PyObserver, PySentences, summary_dict};
use crate::training_flags::OwnOptions;

/// The options of byte-level BPE.
pub const BYTE_LEVEL: OwnOptions = OwnOptions {
    trainer: "byte-level BPE, which has all bytes and takes text as it is,",
    names: &ByteTrainOptions::FLAGS,
    remedies: &[
        ("max_sentencepiece_length", "use max_token_length"),
        ("control_symbols", "use special_tokens"),
        ("user_defined_symbols", "use special_tokens"),
        ("normalizer", "normalize the sentences before training"),
        ("pretokenizer", "use pattern"),
        ("model_prefix", "call save() of the model"),
    ],
};

/// The options of a run.
pub struct ByteTraining {
    pub trainer: ByteTrainer,
    /// What is read.
    pub flags: TrainFlags,
}

impl ByteTraining {
    /// # Errors
    /// `TrainingOptionError`, which names the option.
    pub fn new(py: Python<'_>, values: &[(String, String)]) -> PyResult<ByteTraining> {
        let values = values.iter().filter(|(name, _)| name != "model_type");
        let (own, flags) = BYTE_LEVEL.divide(py, values)?;
        let options = ByteTrainOptions::from_flags(own);
        let options = options.map_err(|error| errors::of_option(py, &error))?;
        let trainer = ByteTrainer::new(options).map_err(|error| errors::of_train(py, &error))?;
        let trainer = match most_threads(&flags) {
            Some(threads) => trainer.with_threads(threads),
            None => trainer,
        };
        Ok(ByteTraining { trainer, flags })
    }
}

/// The number of cores, but at most `num_threads`.
pub fn most_threads(flags: &TrainFlags) -> Option<NonZeroUsize> {
    let most = usize::try_from(flags.num_threads).ok()?;
    let cores = std::thread::available_parallelism().ok()?;
    NonZeroUsize::new(cores.get().min(most))
}

fn python_tokenizer(trained: impl Into<Pipeline>) -> PyTokenizer {
    PyTokenizer::of(Tokenizer::from_pipeline(
        trained,
        TokenizerConfig::default(),
    ))
}

/// A tokenizer and figures about the run.
pub fn with_summary<'py>(
    py: Python<'py>,
    trained: impl Into<Pipeline>,
    summary: &Summary,
) -> PyResult<(PyTokenizer, Bound<'py, PyDict>)> {
    Ok((python_tokenizer(trained), summary_dict(py, summary)?))
}

/// The tokenizer that rustbpe trains on texts; with the bytes alone if there is none.
#[pyfunction]
pub fn _train_rustbpe(
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
    let observer = PyObserver::new(None, failure.clone());
    let trained = py.detach(|| -> Result<ByteBpe, TrainError> {
        let trainer = ByteTrainer::new(options)?.with_observer(observer.observer());
        match trainer.train(Corpus::texts(texts)) {
            Err(TrainError::NoText { .. }) => trainer.untrained(),
            trained => trained,
        }
    });
    Ok(python_tokenizer(failure.or(py, trained)?))
}
