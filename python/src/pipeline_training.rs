//! Training whose result is the pipeline of a `tokenizer.json`: byte-level BPE, or a model like the one of
//! another pipeline. Sentences are taken as they are, with their line ends.

use std::ffi::CString;
use std::num::NonZeroUsize;

use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use spiece::pipeline::Pipeline;
use spiece::train::{Observer, PipelineTrainOptions, PipelineTrainer, Summary};
use spiece::{Corpus, TrainError, TrainFlags};

use crate::byte_training::{BYTE_LEVEL, ByteTraining, most_threads, with_summary};
use crate::errors;
use crate::tokenizer::{PyTokenizer, threads_or_all};
use crate::trainer::{Failure, LineEnds, PyObserver, Request};
use crate::training_flags::OwnOptions;

/// The options of training like a pipeline.
const LIKE_PIPELINE: OwnOptions = OwnOptions {
    trainer: "training like a tokenizer.json",
    names: &PipelineTrainOptions::FLAGS,
    remedies: &[
        ("max_sentencepiece_length", "use max_token_length"),
        ("character_coverage", "use limit_alphabet"),
        ("required_chars", "use initial_alphabet"),
        ("required_chars_file", "use initial_alphabet"),
        ("control_symbols", "use special_tokens"),
        ("control_symbols_file", "use special_tokens"),
        ("user_defined_symbols", "use special_tokens"),
        ("user_defined_symbols_file", "use special_tokens"),
        ("model_type", "the type is that of like"),
        ("pattern", "text is cut as like does"),
        ("tie_order", "the order is that of the library tokenizers"),
        ("normalizer", "text is normalized as like does"),
        ("pretokenizer", "text is cut as like does"),
        ("model_prefix", "call save() of the model"),
    ],
};

/// A trainer like a pipeline, and what is read.
struct LikePipeline {
    trainer: PipelineTrainer,
    flags: TrainFlags,
}

impl LikePipeline {
    /// # Errors
    /// `TrainingOptionError`, which names the option; `TrainingError` for a model of another type than BPE
    /// and WordPiece.
    fn new(
        py: Python<'_>,
        pipeline: &Pipeline,
        values: &[(String, String)],
    ) -> PyResult<LikePipeline> {
        let (own, flags) = LIKE_PIPELINE.divide(py, values)?;
        let size = u32::try_from(pipeline.vocab_size()).unwrap_or(u32::MAX);
        let options = PipelineTrainOptions::from_flags(size, own);
        let options = options.map_err(|error| errors::of_option(py, &error))?;
        let trainer = PipelineTrainer::new(pipeline, options);
        let trainer = trainer.map_err(|error| errors::of_train(py, &error))?;
        let trainer = match most_threads(&flags) {
            Some(threads) => trainer.with_threads(threads),
            None => trainer,
        };
        Ok(LikePipeline { trainer, flags })
    }
}

/// Trains on the sentences or files of a request as [`_train`](crate::trainer::_train) has it: like the
/// pipeline of `like`, or byte-level BPE without it.
#[pyfunction]
pub fn _train_pipeline<'py>(
    py: Python<'py>,
    request: &Bound<'py, PyDict>,
) -> PyResult<(PyTokenizer, Bound<'py, PyDict>)> {
    let request: Request<'py> = request.extract()?;
    let threads = match &request.threads {
        Some(threads) => NonZeroUsize::new(threads_or_all(Some(threads))?),
        None => None,
    };
    let Some(like) = &request.like else {
        refuse_callables(py, &request, &BYTE_LEVEL)?;
        let ByteTraining { mut trainer, flags } = ByteTraining::new(py, &request.flags)?;
        if let Some(threads) = threads {
            trainer = trainer.with_threads(threads);
        }
        let has_document = trainer.options().document.is_some();
        let run = run(py, &request, (&flags, has_document), |corpus, observer| {
            trainer.with_observer(observer).train(corpus)
        });
        let (trained, summary) = run?;
        return with_summary(py, trained, &summary);
    };
    let pipeline = like.get().loaded.tokenizer.pipeline().ok_or_else(|| {
        let message = "like: a SentencePiece model has no pipeline; pass a tokenizer.json";
        errors::exception(py, "ModelError", (message,))
    })?;
    refuse_callables(py, &request, &LIKE_PIPELINE)?;
    let LikePipeline { mut trainer, flags } = LikePipeline::new(py, pipeline, &request.flags)?;
    if let Some(threads) = threads {
        trainer = trainer.with_threads(threads);
    }
    let has_document = trainer.options().document.is_some();
    let wanted = trainer.options().vocab_size;
    let run = run(py, &request, (&flags, has_document), |corpus, observer| {
        trainer.with_observer(observer).train(corpus)
    });
    let (trained, summary) = run?;
    warn_of_size(py, wanted, summary.pieces)?;
    with_summary(py, trained, &summary)
}

/// Refuses what is no flag.
fn refuse_callables(py: Python<'_>, request: &Request<'_>, options: &OwnOptions) -> PyResult<()> {
    match (&request.normalizer, &request.pretokenizer) {
        (Some(_), _) => Err(options.refusal(py, "normalizer")),
        (_, Some(_)) => Err(options.refusal(py, "pretokenizer")),
        (None, None) => Ok(()),
    }
}

/// The result of `train` for what a request reads, and figures about the run. Other threads of Python run
/// meanwhile.
fn run<T: Send>(
    py: Python<'_>,
    request: &Request<'_>,
    (flags, has_document): (&TrainFlags, bool),
    train: impl FnOnce(Corpus<'_>, Observer) -> Result<T, TrainError> + Send,
) -> PyResult<(T, Summary)> {
    let failure = Failure::default();
    let corpus = request.corpus(py, flags, has_document, LineEnds::Kept, &failure)?;
    let progress = request.progress.clone().map(Bound::unbind);
    let observer = PyObserver::new(progress, failure.clone());
    let trained = py.detach(|| train(corpus, observer.observer()));
    Ok((failure.or(py, trained)?, observer.summary()))
}

/// Warns if there are more tokens than asked for.
fn warn_of_size(py: Python<'_>, wanted: u32, tokens: usize) -> PyResult<()> {
    if tokens <= wanted as usize {
        return Ok(());
    }
    let message = CString::new(format!(
        "vocab_size={wanted} is less than the {tokens} tokens of the result: added tokens and characters alone are more; \
         raise it, or leave rare characters out with limit_alphabet"
    ))?;
    PyErr::warn(py, &py.get_type::<PyUserWarning>(), &message, 2)
}
