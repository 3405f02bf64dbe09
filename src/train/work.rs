//! What decides how the work of a training run is done, but not what comes out.
//!
//! Tests change it to see that nothing of it shows in the model.

use foldhash::fast::SeedableRandomState;

use crate::train::corpus::BATCH_BYTES;
use crate::train::options::TrainOptions;

/// How the work is done.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// Threads to use.
    pub(crate) threads: usize,
    /// Bytes of input that are handed to a thread at once.
    pub(crate) batch_bytes: usize,
    /// Places words in the tables that count them.
    pub(crate) hasher: SeedableRandomState,
}

impl Work {
    /// As many threads as the options allow and this machine can use.
    pub(crate) fn new(options: &TrainOptions) -> Work {
        let available = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = usize::try_from(options.num_threads).unwrap_or(1).clamp(1, available);
        Work { threads, batch_bytes: BATCH_BYTES, hasher: SeedableRandomState::default() }
    }
}
