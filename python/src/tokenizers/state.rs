//! What a tokenizer is between two changes.

use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use spiece::formats::TokenizerFile;
use spiece::pipeline::{Padding, Pipeline, PipelineError, PipelineModel, Truncation};
use spiece::{EncodeError, EncodeOptions, Encoder, PieceId, PreparedOptions, Tokenizer};

use crate::loaded::Loaded;
use crate::pool::{pool, resolve_threads};

/// The exception for what the library refuses, with the class of tokenizers.
pub fn exception(error: impl ToString) -> PyErr {
    PyException::new_err(error.to_string())
}

/// The components with their tables.
pub struct Engine {
    pub loaded: Loaded,
    pub file: TokenizerFile,
    /// The options with which special tokens are found in texts, and those with which they are not.
    finding: PreparedOptions,
    plain: PreparedOptions,
    /// The part of merges that is skipped at random, if there are any: encoding twice gives two results.
    pub dropout: Option<f32>,
    /// Whether an id is that of a special token, once a program leaves them out of a text.
    special: OnceLock<Vec<bool>>,
}

impl Engine {
    pub fn new(mut file: TokenizerFile) -> PyResult<Engine> {
        let tokenizer = file.to_tokenizer().map_err(exception)?;
        let special = tokenizer.special_tokens().map(|(_, text)| text.to_vec());
        let options = EncodeOptions::default().with_untrimmed_spans(true);
        let finding = options.clone().with_allowed_special(special);
        let prepare = |options| tokenizer.prepare_options(options).map_err(exception);
        let dropout = match file.model() {
            PipelineModel::Bpe(bpe) => bpe.options().dropout.filter(|dropout| *dropout > 0.0),
            _ => None,
        };
        Ok(Engine {
            finding: prepare(&finding)?,
            plain: prepare(&options)?,
            dropout,
            special: OnceLock::new(),
            loaded: Loaded::new(tokenizer),
            file,
        })
    }

    pub fn pipeline(&self) -> PyResult<&Pipeline> {
        let pipeline = self.loaded.tokenizer.pipeline();
        let pipeline = pipeline.map(Arc::as_ref);
        pipeline.ok_or_else(|| exception("the tokenizer is no pipeline"))
    }

    /// The exception for a text that has no ids, with the message of tokenizers where it has one.
    pub fn encode_exception(&self, error: &EncodeError) -> PyErr {
        let unknown = PipelineError::NoUnknownToken.to_string();
        let is_unknown = matches!(error, EncodeError::NoResult { problem } if *problem == unknown);
        exception(match self.file.model() {
            PipelineModel::Unigram(_) if is_unknown => {
                "Encountered an unknown token but `unk_id` is missing".to_owned()
            }
            PipelineModel::WordPiece(_) if is_unknown => {
                "WordPiece error: Missing [UNK] token from the vocabulary".to_owned()
            }
            PipelineModel::WordLevel(_) if is_unknown => {
                "WordLevel error: Missing [UNK] token from the vocabulary".to_owned()
            }
            _ => error.to_string(),
        })
    }

    /// A worker for texts in which special tokens are found, or not.
    pub fn encoder(&self, finds_special: bool) -> Result<Encoder<'_>, EncodeError> {
        let options = if finds_special {
            &self.finding
        } else {
            &self.plain
        };
        self.loaded.tokenizer.encoder_of(options)
    }

    /// The text of ids; those without a token are left out, as in tokenizers.
    pub fn decode(&self, ids: &[u32], skips_special: bool) -> PyResult<String> {
        let tokenizer = &self.loaded.tokenizer;
        let hidden = match skips_special {
            true => self.special.get_or_init(|| special_by_id(tokenizer)),
            false => &[][..],
        };
        let is_shown = |id: &PieceId| !hidden.get(id.get() as usize).is_some_and(|hidden| *hidden);
        let shown = || ids.iter().copied().map(PieceId::new).filter(is_shown);
        // Ids without a token are rare: they are looked for when decoding fails.
        let text = tokenizer.decode(shown()).or_else(|_| {
            let known = shown().filter(|id| tokenizer.id_to_piece(*id).is_some());
            tokenizer.decode(known)
        });
        text.map_err(exception)
    }
}

fn special_by_id(tokenizer: &Tokenizer) -> Vec<bool> {
    let ids = tokenizer.special_ids();
    let indexes = || ids.iter().map(|id| id.get() as usize);
    let mut special = vec![false; indexes().max().map_or(0, |last| last + 1)];
    indexes().for_each(|index| special[index] = true);
    special
}

/// The components and the settings of calls.
#[derive(Clone)]
pub struct State {
    pub engine: Arc<Engine>,
    pub truncation: Option<Truncation>,
    pub padding: Option<Padding>,
    /// Whether special tokens in texts are ordinary text.
    pub encodes_special: bool,
}

impl State {
    /// The components with the settings of their file.
    pub fn new(engine: Arc<Engine>) -> State {
        State {
            truncation: engine.file.truncation().cloned(),
            padding: engine.file.padding().cloned(),
            engine,
            encodes_special: false,
        }
    }

    /// The file with the settings of calls.
    pub fn file(&self) -> TokenizerFile {
        let mut file = self.engine.file.clone();
        file.set_truncation(self.truncation);
        file.set_padding(self.padding.clone());
        file
    }

    /// A state with a changed file; the settings of calls stay.
    pub fn with_file(&self, file: TokenizerFile) -> PyResult<State> {
        Ok(State {
            engine: Arc::new(Engine::new(file)?),
            ..self.clone()
        })
    }
}

/// The number of threads of a batch, as tokenizers chooses it.
pub fn threads(tasks: usize) -> usize {
    if tasks <= MIN_TASKS {
        // Asking for the number of cores takes longer than encoding a short text.
        return 1;
    }
    let of_variable = |name: &str| std::env::var(name).ok();
    let is_parallel = of_variable("TOKENIZERS_PARALLELISM").is_none_or(|value| {
        let off = ["", "off", "false", "f", "no", "n", "0"];
        !off.contains(&value.to_ascii_lowercase().as_str())
    });
    if !is_parallel {
        return 1;
    }
    let chosen = of_variable("RAYON_NUM_THREADS").and_then(|number| number.parse::<i64>().ok());
    let threads = chosen.filter(|number| *number > 0).unwrap_or(-1);
    resolve_threads(threads)
        .min(tasks.div_ceil(MIN_TASKS))
        .max(1)
}

/// Fewer texts than this are not worth another thread.
const MIN_TASKS: usize = 8;

/// Calls `work` in a pool of so many threads; on the thread of the caller if it is one.
pub fn in_pool<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    match threads {
        1 => Ok(work()),
        _ => Ok(pool(threads)?.install(work)),
    }
}
