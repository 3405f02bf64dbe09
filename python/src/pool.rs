//! Thread pools: one for each number of threads, shared by all calls.
//!
//! Starting
//! threads takes longer than encoding a short batch, so a pool is kept for later calls. Threads do
//! not survive `fork`: the pools record their process, and a child process makes its own. It leaks
//! the pools of the parent, because joining their threads would wait forever.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

/// The maximum number of threads of a pool, as in the reference.
const MAX_THREADS: usize = 1024;

/// The pools of this process, by their numbers of threads.
static POOLS: Mutex<Option<Pools>> = Mutex::new(None);

struct Pools {
    process: u32,
    by_size: HashMap<usize, Arc<rayon::ThreadPool>>,
}

/// The number of threads for the reference's `num_threads`: all cores if it is negative, otherwise
/// between 1 and 1024.
pub fn resolve_threads(num_threads: i64) -> usize {
    match usize::try_from(num_threads) {
        Ok(threads) => threads.clamp(1, MAX_THREADS),
        Err(_) => std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get),
    }
}

/// The pool with this many threads.
pub fn pool(threads: usize) -> PyResult<Arc<rayon::ThreadPool>> {
    let process = std::process::id();
    let mut guard = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if guard.as_ref().is_some_and(|pools| pools.process != process) {
        std::mem::forget(guard.take());
    }
    let pools = guard.get_or_insert_with(|| Pools {
        process,
        by_size: HashMap::new(),
    });
    if let Some(pool) = pools.by_size.get(&threads) {
        return Ok(Arc::clone(pool));
    }
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|number| format!("spiece-{number}"))
        .build()
        .map_err(|error| {
            PyRuntimeError::new_err(format!("cannot start {threads} threads: {error}"))
        })?;
    let pool = Arc::new(pool);
    pools.by_size.insert(threads, Arc::clone(&pool));
    Ok(pool)
}

/// A number of threads that calls can share: `ThreadPool(4)`. At most 1024; a negative number means
/// all cores.
#[pyclass(module = "spiece.sentencepiece", name = "ThreadPool", frozen, subclass)]
#[derive(Debug)]
pub struct ThreadPool {
    pub threads: usize,
}

#[pymethods]
impl ThreadPool {
    #[new]
    fn new(num_threads: i32) -> ThreadPool {
        ThreadPool {
            threads: resolve_threads(num_threads.into()),
        }
    }

    /// The number of threads.
    fn num_threads(&self) -> usize {
        self.threads
    }
}

/// The number of threads for a batch of `tasks` texts: that of `thread_pool`, or `num_threads`, but
/// never more than there are texts.
pub fn batch_threads(
    num_threads: i64,
    thread_pool: Option<&Bound<'_, PyAny>>,
    tasks: usize,
) -> PyResult<usize> {
    let threads = match thread_pool {
        Some(pool) => {
            let pool = pool.cast::<ThreadPool>().map_err(|_| {
                PyRuntimeError::new_err("thread_pool is no ThreadPool; make one with ThreadPool(4)")
            })?;
            pool.get().threads
        }
        None if i32::try_from(num_threads).is_err() => {
            return Err(PyTypeError::new_err("num_threads must be int of 32 bits"));
        }
        None => resolve_threads(num_threads),
    };
    Ok(threads.min(tasks.max(1)))
}
