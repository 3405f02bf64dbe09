//! Parameters of a training run that do not change the model: threads, batch sizes, memory for
//! lattices, hash seeds.
//!
//! Tests vary these parameters and compare the models.
//!
//! For BPE, word and char models, the option `num_threads` is the maximum number of threads. For
//! unigram models it is not one of these parameters: it is the number of partial sums, which the
//! model depends on, and it does not limit the threads.
//!
//! ```text
//! 8 cores, num_threads = 16 (the default)   BPE: 8 threads   unigram: 8 threads, 16 partial sums
//! 8 cores, num_threads = 2                  BPE: 2 threads   unigram: 8 threads, 2 partial sums
//! ```
//!
//! Hash tables whose keys come from the corpus (words, pairs of characters, counts of a tsv file)
//! use a different seed in each run, so that nobody can construct a corpus whose keys all collide.

use std::num::NonZeroUsize;

use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};

use crate::model::ModelType;
use crate::train::TrainError;
use crate::train::options::TrainOptions;

/// The maximum number of threads of a run; each has its own buffers.
const MAX_THREADS: usize = 1024;

/// The target size of a batch: small enough to distribute work evenly, large enough to amortize the
/// overhead. It is also less than what glibc maps by itself: after larger blocks have been freed,
/// the tables of words come from its heap, and their memory is not returned when they are freed.
pub(crate) const BATCH_BYTES: usize = 1 << 16;

/// Large enough that small corpora need no temporary file, which a web page cannot have.
const SPOOL_MEMORY: usize = if cfg!(target_family = "wasm") {
    usize::MAX
} else {
    1 << 25
};

/// A map whose keys come from the corpus.
pub(crate) type SeededMap<K, V> = HashMap<K, V, SeedableRandomState>;

/// Parameters of a run that do not change the model.
#[derive(Debug, Clone)]
pub(crate) struct ExecutionConfig {
    /// Threads to use.
    pub(crate) threads: usize,
    /// Bytes of input per batch.
    pub(crate) batch_bytes: usize,
    /// Hasher of the tables.
    pub(crate) hasher: SeedableRandomState,
    /// Bytes of prepared sentences that unigram training keeps in memory, of a corpus that can be
    /// read only once; more go to a temporary file.
    pub(crate) spool_memory: usize,
}

/// Where the parallel parts of a run are executed.
#[derive(Debug)]
pub(crate) enum Threads {
    Pool(ThreadPool),
    /// The platform has no threads. There, rayon executes everything on the calling one.
    OfCaller,
}

impl Threads {
    pub(crate) fn new(count: usize) -> Result<Self, TrainError> {
        if cfg!(target_family = "wasm") {
            return Ok(Self::OfCaller);
        }
        let pool = ThreadPoolBuilder::new().num_threads(count).build();
        pool.map(Self::Pool).map_err(|error| TrainError::Threads {
            source: Box::new(error),
        })
    }

    /// As [`ThreadPool::install`].
    pub(crate) fn install<T: Send>(&self, operation: impl FnOnce() -> T + Send) -> T {
        match self {
            Self::Pool(pool) => pool.install(operation),
            Self::OfCaller => operation(),
        }
    }

    /// As [`ThreadPool::in_place_scope`].
    pub(crate) fn in_place_scope<'s, T>(&self, operation: impl FnOnce(&Scope<'s>) -> T) -> T {
        match self {
            Self::Pool(pool) => pool.in_place_scope(operation),
            Self::OfCaller => rayon::in_place_scope(operation),
        }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        match self {
            Self::Pool(pool) => pool.current_num_threads(),
            Self::OfCaller => 1,
        }
    }
}

impl ExecutionConfig {
    /// As many threads as this machine can use and, except for unigram models, as the options
    /// allow.
    pub(crate) fn new(options: &TrainOptions) -> Self {
        let mut work = Self::of_machine();
        work.threads = default_threads(options, work.threads);
        work
    }

    /// As many threads as this machine can use.
    pub(crate) fn of_machine() -> Self {
        let available = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            threads: available.min(MAX_THREADS),
            batch_bytes: BATCH_BYTES,
            hasher: SeedableRandomState::default(),
            spool_memory: SPOOL_MEMORY,
        }
    }

    /// Sets the number of threads regardless of the options and the machine, at most
    /// [`MAX_THREADS`].
    pub(crate) fn set_threads(&mut self, threads: NonZeroUsize) {
        self.threads = threads.get().min(MAX_THREADS);
    }

    /// The threads of a run.
    pub(crate) fn thread_pool(&self) -> Result<Threads, TrainError> {
        Threads::new(self.threads)
    }
}

/// The number of threads for a machine with `available` cores.
fn default_threads(options: &TrainOptions, available: usize) -> usize {
    let allowed = match options.model_type {
        // `num_threads` is the number of partial sums.
        ModelType::Unigram => MAX_THREADS,
        _ => options.num_threads as usize,
    };
    allowed.clamp(1, available.clamp(1, MAX_THREADS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn num_threads_bounds_the_threads_of_all_but_unigram_models() {
        let cases = [
            (ModelType::Bpe, 16, 8, 8),
            (ModelType::Bpe, 2, 8, 2),
            (ModelType::Word, 2, 8, 2),
            (ModelType::Char, 2, 1, 1),
            (ModelType::Unigram, 2, 8, 8),
            (ModelType::Unigram, 16, 1, 1),
            (ModelType::Unigram, 16, 5000, MAX_THREADS),
        ];
        for (model_type, num_threads, available, expected) in cases {
            let mut options = TrainOptions::default();
            options.model_type = model_type;
            options.num_threads = num_threads;
            let threads = default_threads(&options, available);
            assert_eq!(
                threads, expected,
                "{model_type}, num_threads {num_threads}, {available} cores"
            );
        }
    }

    #[test]
    fn a_set_number_of_threads_is_kept_up_to_the_maximum() {
        let mut work = ExecutionConfig::new(&TrainOptions::default());
        for (threads, expected) in [(1, 1), (7, 7), (usize::MAX, MAX_THREADS)] {
            work.set_threads(NonZeroUsize::new(threads).unwrap());
            assert_eq!(work.threads, expected);
        }
    }
}
