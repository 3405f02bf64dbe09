//! Limits on the memory that a tokenizer keeps between calls.
//!
//! A cache never changes a result, so these numbers affect only memory and speed.

/// Limits on the memory that a [`Tokenizer`](crate::Tokenizer) keeps between calls.
///
/// Each worker (an [`Encoder`](crate::Encoder), an [`EncodeCache`](crate::EncodeCache) or a thread
/// of a batch) has its own caches. The tokenizer keeps the caches of finished workers for later
/// ones. So the memory between calls is at most `max_pooled_caches * (max_cache_bytes + 2.5 MiB)`,
/// where 2.5 MiB are for text buffers and caches of pairs (more with superwords, see
/// [`max_cache_bytes`](Self::max_cache_bytes)). In practice it is far less: caches start empty and
/// grow with the variety of the text.
///
/// ```
/// use spiece::{Model, Tokenizer, TokenizerConfig};
/// let mut config = TokenizerConfig::default();
/// config.max_cache_bytes = 1 << 20; // 1 MiB for each worker
/// config.max_pooled_caches = 4;
/// let model = Model::open("testdata/golden/llama2.model")?;
/// let tokenizer = Tokenizer::with_config(model, config);
/// assert_eq!(tokenizer.config().max_pooled_caches, 4);
/// # Ok::<(), spiece::OpenError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenizerConfig {
    /// The maximum number of bytes for the chunk caches of one worker. Default: 17 MiB; larger
    /// caches were slower. BPE models need up to 2 MB more for caches of pairs, which have a
    /// fixed size (9.5 MB with superwords); below 68 KiB (unigram: 102 KiB) no chunk is cached. Word
    /// and char models have no caches.
    pub max_cache_bytes: usize,
    /// The maximum number of caches that the tokenizer keeps for later workers. Further caches are
    /// freed when they are returned. Default: 32. A server with more threads than that should
    /// create one [`EncodeCache`](crate::EncodeCache) per thread, or raise this number.
    pub max_pooled_caches: usize,
}

impl Default for TokenizerConfig {
    fn default() -> Self {
        Self {
            max_cache_bytes: 17 << 20,
            max_pooled_caches: 32,
        }
    }
}
