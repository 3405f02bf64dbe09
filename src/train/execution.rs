//! Parameters of a training run that do not change the model: threads, batch sizes, hash seeds.
//!
//! Tests vary these parameters and compare the models.
//!
//! Wherever the keys of a table come from the corpus (words, pairs of characters, counts of a tsv file), its
//! hashes have a seed that is another in each run. So nobody can write a corpus whose keys all collide.

use foldhash::fast::SeedableRandomState;
use hashbrown::HashMap;

use crate::train::corpus::BATCH_BYTES;
use crate::train::options::TrainOptions;

/// A map whose keys come from the corpus.
pub(crate) type SeededMap<K, V> = HashMap<K, V, SeedableRandomState>;

/// How the work is done.
#[derive(Debug, Clone)]
pub(crate) struct ExecutionConfig {
    /// Threads to use.
    pub(crate) threads: usize,
    /// Bytes of input that are handed to a thread at once.
    pub(crate) batch_bytes: usize,
    /// Hasher of the tables.
    pub(crate) hasher: SeedableRandomState,
}

impl ExecutionConfig {
    /// As many threads as the options allow and this machine can use.
    pub(crate) fn new(options: &TrainOptions) -> Self {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (options.num_threads as usize).clamp(1, available);
        Self {
            threads,
            batch_bytes: BATCH_BYTES,
            hasher: SeedableRandomState::default(),
        }
    }
}
