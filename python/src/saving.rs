//! Files of models, all or none.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use spiece::Model;
use spiece::formats::{ByteFileOptions, FileFormat};
use spiece::output::write_files;

use crate::errors;
use crate::tokenizer::PyTokenizer;

/// Writes PREFIX.model and PREFIX.vocab together.
#[pyfunction]
pub fn _save_with_vocab(
    py: Python<'_>,
    model: &Bound<'_, PyBytes>,
    prefix: PathBuf,
) -> PyResult<()> {
    let model = Model::from_bytes(model.as_bytes()).map_err(|error| errors::of_open(py, &error))?;
    let saved = py.detach(|| model.save_with_vocab(prefix));
    saved.map_err(|error| errors::of_write(py, &error))
}

/// Writes the files of a pipeline in a format by its name, all or none: PREFIX.json, PREFIX.tiktoken,
/// PREFIX.model, PREFIX.gguf, or PREFIX- and the names of files that need each other.
#[pyfunction]
pub fn _save_pipeline(
    py: Python<'_>,
    tokenizer: &PyTokenizer,
    prefix: PathBuf,
    format: &str,
) -> PyResult<()> {
    let pipeline = tokenizer.loaded.tokenizer.pipeline().ok_or_else(|| {
        let message = format!(
            "format: {format} is for byte-level vocabularies and tokenizer.json; leave it out"
        );
        errors::exception(py, "ModelError", (message,))
    })?;
    let format: FileFormat = format.parse().map_err(|_| {
        let expected = "tokenizer.json, tiktoken, vocab-merges, tekken, minbpe or gguf";
        let message = format!("format: {format} is not {expected}");
        errors::exception(py, "OptionValueError", (message,))
    })?;
    let written = py.detach(|| pipeline.to_format(format, &ByteFileOptions::default()));
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
