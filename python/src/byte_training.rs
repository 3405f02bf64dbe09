//! Training of byte-level BPE, for `model_type="byte_bpe"` and for `spiece/rustbpe.py`.
//!
//! Options come as texts by name, like the flags of other types. Those that concern characters,
//! normalization or the `.model` file are refused.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use spiece::formats::{ByteFileOptions, FileFormat};
use spiece::output::write_files;
use spiece::train::{ByteTieOrder, ByteTrainOptions, ByteTrainer, Summary};
use spiece::{ByteBpe, Corpus, Tokenizer, TokenizerConfig, TrainError, TrainFlags};

use crate::errors;
use crate::loaded::Loaded;
use crate::tokenizer::{PyTokenizer, threads_or_all};
use crate::trainer::{Failure, LineEnds, PyObserver, PySentences, Request, summary_dict};
use crate::training_flags::set_flag;

/// The options of other types that mean the same here.
const SHARED_OPTIONS: [&str; 6] = [
    "input",
    "input_format",
    "vocab_size",
    "num_threads",
    "json_field",
    "on_bad_record",
];

/// What takes the place of options of other types.
const REMEDIES: [(&str, &str); 6] = [
    ("max_sentencepiece_length", "use max_token_length"),
    ("control_symbols", "use special_tokens"),
    ("user_defined_symbols", "use special_tokens"),
    ("normalizer", "normalize the sentences before training"),
    ("pretokenizer", "use pattern"),
    ("model_prefix", "call save() of the model"),
];

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
        let mut flags = TrainFlags::default();
        let mut own = Vec::new();
        for (name, value) in values {
            let is_own = ByteTrainOptions::FLAGS.contains(&name.as_str());
            if is_own {
                own.push((name.as_str(), value.as_str()));
            }
            if SHARED_OPTIONS.contains(&name.as_str()) {
                set_flag(py, &mut flags, name, value)?;
            } else if !is_own && name != "model_type" {
                return Err(not_here(py, name, value));
            }
        }
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
fn most_threads(flags: &TrainFlags) -> Option<NonZeroUsize> {
    let most = usize::try_from(flags.num_threads).ok()?;
    let cores = std::thread::available_parallelism().ok()?;
    NonZeroUsize::new(cores.get().min(most))
}

/// The exception for an option that byte-level BPE does not have.
fn not_here(py: Python<'_>, name: &str, value: &str) -> PyErr {
    let remedy = REMEDIES.iter().find(|(option, _)| *option == name);
    let is_known = TrainFlags::DESCRIPTORS
        .iter()
        .any(|option| option.name == name);
    if remedy.is_none() && !is_known {
        // The error for an unknown name.
        let set = set_flag(py, &mut TrainFlags::default(), name, value);
        if let Err(error) = set {
            return error;
        }
    }
    let remedy = remedy.map_or("leave it out", |(_, remedy)| remedy);
    let message = format!(
        "{name}: byte-level BPE, which has all bytes and takes text as it is, does not have this; {remedy}"
    );
    errors::exception(py, "TrainingOptionError", (message,))
}

fn python_tokenizer(trained: ByteBpe) -> PyTokenizer {
    let tokenizer = Tokenizer::from_pipeline(trained, TokenizerConfig::default());
    PyTokenizer {
        loaded: Arc::new(Loaded::new(tokenizer)),
    }
}

/// A vocabulary and figures about the run.
pub fn with_summary(
    py: Python<'_>,
    (trained, summary): (ByteBpe, Summary),
) -> PyResult<(PyTokenizer, Bound<'_, PyDict>)> {
    Ok((python_tokenizer(trained), summary_dict(py, &summary)?))
}

/// Trains on the sentences or files of a request as [`_train`](crate::trainer::_train) has it.
/// Sentences are taken as they are, with their line ends.
#[pyfunction]
pub fn _train_byte_bpe<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
) -> PyResult<(PyTokenizer, Bound<'py, PyDict>)> {
    let request: Request<'py> = request.extract()?;
    let ByteTraining { mut trainer, flags } = ByteTraining::new(py, &request.flags)?;
    for (name, is_given) in [
        ("normalizer", request.normalizer.is_some()),
        ("pretokenizer", request.pretokenizer.is_some()),
    ] {
        if is_given {
            return Err(not_here(py, name, ""));
        }
    }
    if let Some(threads) = &request.threads
        && let Some(threads) = NonZeroUsize::new(threads_or_all(Some(threads))?)
    {
        trainer = trainer.with_threads(threads);
    }
    let failure = Failure::default();
    let has_document = trainer.options().document.is_some();
    let corpus = request.corpus(py, &flags, has_document, LineEnds::Kept, &failure)?;
    let progress = request.progress.map(Bound::unbind);
    let mut observer = PyObserver::new(progress, failure.clone());
    let trained = py.detach(|| trainer.train_observed(corpus, &mut observer));
    with_summary(py, failure.or(py, trained)?)
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
    let mut observer = PyObserver::new(None, failure.clone());
    let trained = py.detach(|| -> Result<ByteBpe, TrainError> {
        let trainer = ByteTrainer::new(options)?;
        match trainer.train_observed(Corpus::texts(texts), &mut observer) {
            Ok((trained, _)) => Ok(trained),
            Err(TrainError::NoText { .. }) => trainer.untrained(),
            Err(error) => Err(error),
        }
    });
    Ok(python_tokenizer(failure.or(py, trained)?))
}

/// Writes the files of a byte-level vocabulary in a format by its name, all or none:
/// PREFIX.json, PREFIX.tiktoken, PREFIX.model, PREFIX.gguf, or PREFIX- and the names of files that need each
/// other.
#[pyfunction]
pub fn _save_byte_level(
    py: Python<'_>,
    tokenizer: &PyTokenizer,
    prefix: PathBuf,
    format: &str,
) -> PyResult<()> {
    let bpe = tokenizer.loaded.tokenizer.byte_bpe().ok_or_else(|| {
        let message = format!("format: {format} is for byte-level vocabularies; leave it out");
        errors::exception(py, "ModelError", (message,))
    })?;
    let format: FileFormat = format.parse().map_err(|_| {
        let expected = "tokenizer.json, tiktoken, vocab-merges, tekken, minbpe or gguf";
        let message = format!("format: {format} is not {expected}");
        errors::exception(py, "OptionValueError", (message,))
    })?;
    let written = py.detach(|| bpe.to_format(format, &ByteFileOptions::default()));
    let written = written.map_err(|error| errors::refused(py, &error))?;
    let files = written.files.into_iter().map(|(name, content)| {
        let mut path = prefix.clone().into_os_string();
        match format {
            FileFormat::TokenizerJson => path.push(".json"),
            FileFormat::Tiktoken => path.push(".tiktoken"),
            FileFormat::Minbpe => path.push(".model"),
            FileFormat::Gguf => path.push(".gguf"),
            _ => path.push(format!("-{name}")),
        }
        (PathBuf::from(path), content)
    });
    let files: Vec<(PathBuf, Vec<u8>)> = files.collect();
    let contents = files.iter().map(|(path, content)| (&**path, &**content));
    let contents: Vec<_> = contents.collect();
    let saved = py.detach(|| write_files(&contents));
    saved.map_err(|error| errors::of_write(py, &error))
}
