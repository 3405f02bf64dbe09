//! Tokenizers of the same tokenizer.json share their tables: deep copies, which servers make for their threads, and copies
//! that were pickled and read again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::prelude::*;
use sha2::{Digest, Sha256};
use spiece::formats::TokenizerFile;

use super::state::{Engine, exception};

/// Engines that a tokenizer has, by the SHA-256 of their tokenizer.json.
type Engines = HashMap<[u8; 32], Weak<Engine>>;

static ENGINES: Mutex<Option<Engines>> = Mutex::new(None);

/// The engine of a tokenizer.json: the one that another tokenizer has, or a new one.
pub fn engine_of(py: Python<'_>, json: &[u8]) -> PyResult<Arc<Engine>> {
    let digest: [u8; 32] = py.detach(|| Sha256::digest(json)).into();
    // The thread holds the lock of the interpreter, if there is one, so that no other thread forks meanwhile.
    if let Some(engine) = with_engines(|engines| engines.get(&digest)?.upgrade()) {
        return Ok(engine);
    }
    let file = py
        .detach(|| TokenizerFile::parse(json))
        .map_err(exception)?;
    let engine = Arc::new(Engine::new(file)?);
    with_engines(|engines| {
        engines.retain(|_, engine| engine.strong_count() > 0);
        engines.insert(digest, Arc::downgrade(&engine));
    });
    Ok(engine)
}

fn with_engines<T>(work: impl FnOnce(&mut Engines) -> T) -> T {
    let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
    work(engines.get_or_insert_default())
}
