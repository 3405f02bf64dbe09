//! The native module `spiece._native` of the Python package.
//!
//! `spiece/sentencepiece/__init__.py`, `spiece/tiktoken`, `spiece/tokenizers` and `spiece/__init__.py` build their
//! interfaces on it; nothing else should import it.
//!
//! ```text
//! drop-in:  processor -> arguments, settings -> encode, decode, nbest, scored, vocabulary, normalizer
//! tiktoken: tiktoken
//! tokenizers: tokenizers
//! rustbpe:  byte_training
//! modern:   tokenizer, pipeline_training -> byte_training, editing, counts, saving
//! all:      loaded (tokenizer and ready objects), byte_level, tokens, spans, text, ids, buffer, pool, random, trainer,
//!           training_flags, errors
//! ```

mod arguments;
mod array_rows;
mod buffer;
mod byte_level;
mod byte_training;
mod counting_thread;
mod counts;
mod decode;
mod editing;
mod encode;
mod errors;
mod ids;
mod loaded;
mod nbest;
mod normalizer;
mod pipeline_training;
mod pool;
mod processor;
mod random;
mod row_counts;
mod row_reader;
mod saving;
mod scored;
mod settings;
mod spans;
mod text;
mod tiktoken;
mod tokenizer;
mod tokenizers;
mod tokens;
mod trainer;
mod training_flags;
mod vocabulary;

use std::sync::atomic::Ordering;

use pyo3::prelude::*;

/// Sets the seed of sampling.
#[pyfunction]
fn _set_seed(seed: u32) {
    random::set_seed(seed);
}

/// Sets the time limit of n-best searches of the drop-in, in milliseconds; 0 or less means no
/// limit.
#[pyfunction]
fn _set_nbest_timeout(milliseconds: i32) {
    settings::NBEST_TIMEOUT_MS.store(milliseconds.into(), Ordering::Relaxed);
}

/// The native module.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<buffer::VectorBuffer>()?;
    module.add_class::<pool::ThreadPool>()?;
    module.add_class::<processor::Processor>()?;
    module.add_class::<normalizer::Normalizer>()?;
    module.add_class::<tokenizer::PyTokenizer>()?;
    module.add_class::<tokenizer::DecodeStream>()?;
    module.add_class::<tokenizer::EncodeStream>()?;
    module.add_class::<tiktoken::CoreBpe>()?;
    module.add_class::<tokenizers::TokenizerCore>()?;
    module.add_class::<tokenizers::PyEncoding>()?;
    // Its name is that of another class of this module.
    let stream = module.py().get_type::<tokenizers::PyDecodeStream>();
    module.add("DecodeStreamOfTokenizers", stream)?;
    module.add_function(wrap_pyfunction!(trainer::_train, module)?)?;
    module.add_function(wrap_pyfunction!(training_flags::_options, module)?)?;
    module.add_function(wrap_pyfunction!(
        pipeline_training::_train_pipeline,
        module
    )?)?;
    module.add_function(wrap_pyfunction!(byte_training::_train_rustbpe, module)?)?;
    module.add_function(wrap_pyfunction!(saving::_save_with_vocab, module)?)?;
    module.add_function(wrap_pyfunction!(saving::_save_pipeline, module)?)?;
    module.add_class::<counts::PyWordCounter>()?;
    module.add_class::<counts::PyCountRows>()?;
    module.add_function(wrap_pyfunction!(counts::_train_counts, module)?)?;
    module.add_function(wrap_pyfunction!(counts::_train_byte_counts, module)?)?;
    module.add_function(wrap_pyfunction!(editing::_edit, module)?)?;
    module.add_function(wrap_pyfunction!(editing::_merge, module)?)?;
    module.add_function(wrap_pyfunction!(editing::_prune, module)?)?;
    module.add_function(wrap_pyfunction!(editing::_extend, module)?)?;
    module.add_function(wrap_pyfunction!(editing::_inspect, module)?)?;
    module.add_function(wrap_pyfunction!(editing::_compare, module)?)?;
    module.add_function(wrap_pyfunction!(_set_seed, module)?)?;
    module.add_function(wrap_pyfunction!(_set_nbest_timeout, module)?)?;
    Ok(())
}
