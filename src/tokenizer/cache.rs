//! The memory of one worker, and the pool in which a tokenizer keeps it between calls.
//!
//! Single calls, encoders and the threads of a batch need text buffers and caches for exclusive
//! use. The pool is a stack with a mutex, which is locked twice for each worker, not for each text:
//! two uncontended locks take some 40 ns.
//!
//! **Bounds.** The chunk caches of one worker use at most
//! [`max_cache_bytes`](TokenizerConfig::max_cache_bytes). The text buffers grow with the longest
//! text; a cache that returns to the pool with buffers of more than [`MAX_POOLED_BUFFER_BYTES`]
//! loses them, and a cache that returns to a full pool is freed. So the pool holds at most
//! `max_pooled_caches * (max_cache_bytes + MAX_POOLED_BUFFER_BYTES)` bytes and, in BPE models, the
//! caches of pairs, which have a fixed size.
//!
//! **Identity.** Cached ids are valid for one model only. Each pool and each cache has an
//! [`Owner`]; a cache that is used with another tokenizer is emptied first.

use std::sync::{Arc, Mutex, PoisonError};

use super::config::TokenizerConfig;
use super::token::TokenBuffer;
use crate::encode::encoded_lines::EncodedLines;
use crate::encode::{EncodeError, EncodeState};
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::pipeline::{PipelineError, PipelineState};

/// Larger text buffers are freed when a cache returns to the pool.
pub(super) const MAX_POOLED_BUFFER_BYTES: usize = 1 << 20;

/// Identifies the tables that a cache belongs to: two owners are the same if they share the
/// allocation. A cache keeps the allocation alive, so its address cannot be reused for another
/// owner.
pub(super) type Owner = Arc<OwnerTag>;

/// See [`Owner`].
#[derive(Debug, Default)]
pub(super) struct OwnerTag;

/// The memory of one worker: text buffers, and caches that make repeated words fast. Made by
/// [`Tokenizer::create_cache`](crate::Tokenizer::create_cache).
///
/// A cache borrows nothing, so a server or a language binding can store it beside its tokenizer. It
/// never changes a result. It may be used with another tokenizer, but is then emptied first.
///
/// ```
/// use spiece::{EncodeCache, Tokenizer};
///
/// struct Worker {
///     tokenizer: std::sync::Arc<Tokenizer>,
///     cache: EncodeCache,
/// }
/// let tokenizer = std::sync::Arc::new(Tokenizer::open("testdata/golden/llama2.model")?);
/// let cache = tokenizer.create_cache();
/// let mut worker = Worker { tokenizer, cache };
///
/// let mut ids = Vec::new();
/// worker.tokenizer.encode_with(&mut worker.cache, "Hello, world!", &mut ids);
/// assert_eq!(ids, worker.tokenizer.encode("Hello, world!"));
/// # Ok::<(), spiece::OpenError>(())
/// ```
pub struct EncodeCache {
    owner: Owner,
    /// Boxed, because every single call moves a cache out of the pool and back.
    parts: Box<CacheParts>,
}

/// The mutable state of a worker.
#[derive(Debug)]
pub(super) struct CacheParts {
    pub(super) state: EncodeState,
    #[cfg(feature = "formats")]
    pub(super) pipeline: PipelineState,
    pub(super) buffers: TextBuffers,
    /// Why a text has no result, until it is asked for.
    pub(super) failure: Option<EncodeError>,
}

/// Buffers for one text, which the next text overwrites.
#[derive(Debug, Default)]
pub(super) struct TextBuffers {
    pub(super) normalized: Vec<u8>,
    /// The origin in the text of each byte of `normalized`, and of its end.
    pub(super) origins: Vec<usize>,
    /// Ids before unknown ones are resolved.
    pub(super) unresolved: Vec<PieceId>,
    /// Ids that [`Encoder::encode`](crate::Encoder::encode) lends to its caller.
    pub(super) ids: Vec<PieceId>,
    /// The result of [`Encoder::encode_lines`](super::Encoder::encode_lines).
    pub(super) lines: EncodedLines,
    pub(super) tokens: TokenBuffer,
    /// The text of all segments, to which the tokens belong.
    pub(super) joined: Vec<u8>,
}

impl EncodeCache {
    fn new(owner: Owner, config: TokenizerConfig) -> Self {
        Self {
            owner,
            parts: Box::new(CacheParts::new(config)),
        }
    }

    /// The bytes of memory in use by chunk caches and text buffers.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut cache = tokenizer.create_cache();
    /// let before = cache.memory_usage();
    /// tokenizer.encode_with(&mut cache, "some words to remember", &mut Vec::new());
    /// assert!(cache.memory_usage() > before);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn memory_usage(&self) -> usize {
        let parts = &self.parts;
        #[cfg(feature = "formats")]
        let pipeline = parts.pipeline.memory_usage();
        #[cfg(not(feature = "formats"))]
        let pipeline = 0;
        parts.state.memory_usage() + pipeline + parts.buffers.memory_usage()
    }
}

impl EncodeCache {
    /// Why a text since the last call has no ids; see
    /// [`Encoder::take_failure`](crate::Encoder::take_failure).
    pub fn take_failure(&mut self) -> Option<EncodeError> {
        self.parts.failure.take()
    }
}

impl std::fmt::Debug for EncodeCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodeCache")
            .field("memory_usage", &self.memory_usage())
            .finish_non_exhaustive()
    }
}

impl CacheParts {
    fn new(config: TokenizerConfig) -> Self {
        Self {
            state: EncodeState::with_max_bytes(config.max_cache_bytes),
            #[cfg(feature = "formats")]
            pipeline: PipelineState::with_max_bytes(config.max_cache_bytes),
            buffers: TextBuffers::default(),
            failure: None,
        }
    }

    /// Why a text has no ids, if it has none.
    #[cfg(feature = "formats")]
    pub(super) fn note_failure(&mut self, encoded: Result<(), PipelineError>) {
        if let Err(error) = encoded {
            self.failure = Some(error.into());
        }
    }

    /// Frees the text buffers if they are too large for the pool.
    fn free_large_buffers(&mut self) {
        if self.buffers.memory_usage() > MAX_POOLED_BUFFER_BYTES {
            self.buffers = TextBuffers::default();
        }
    }
}

impl TextBuffers {
    fn memory_usage(&self) -> usize {
        self.normalized.capacity()
            + self.joined.capacity()
            + self.origins.capacity() * size_of::<usize>()
            + (self.unresolved.capacity() + self.ids.capacity()) * size_of::<PieceId>()
            + self.lines.size_bytes()
            + self.tokens.memory_usage()
    }
}

/// Caches that are not in use.
#[derive(Debug)]
pub(super) struct CachePool {
    owner: Owner,
    config: TokenizerConfig,
    caches: Mutex<Vec<EncodeCache>>,
}

impl CachePool {
    pub(super) fn new(owner: Owner, config: TokenizerConfig) -> Self {
        Self {
            owner,
            config,
            caches: Mutex::default(),
        }
    }

    /// Identifies the tables of this pool.
    pub(super) fn owner(&self) -> &Owner {
        &self.owner
    }

    /// An empty cache for this pool's tables.
    pub(super) fn create(&self) -> EncodeCache {
        EncodeCache::new(Arc::clone(&self.owner), self.config)
    }

    /// A cache that a worker has used before, or an empty one.
    pub(super) fn take(&self) -> EncodeCache {
        let pooled = self.lock().pop();
        pooled.unwrap_or_else(|| self.create())
    }

    /// Takes a cache back, unless the pool is full.
    pub(super) fn give(&self, mut cache: EncodeCache) {
        cache.parts.free_large_buffers();
        cache.parts.failure = None;
        self.push(cache);
    }

    /// Stores a cache, unless the pool is full.
    fn push(&self, cache: EncodeCache) {
        let mut caches = self.lock();
        if caches.len() < self.config.max_pooled_caches {
            caches.push(cache);
        }
    }

    /// The parts of a cache, for use with this pool's tables. A cache that belongs to other tables
    /// is emptied first.
    #[inline]
    pub(super) fn parts_of<'c>(&self, cache: &'c mut EncodeCache) -> &'c mut CacheParts {
        if !Arc::ptr_eq(&cache.owner, &self.owner) {
            *cache = self.create();
        }
        &mut cache.parts
    }

    /// The caches. A poisoned lock is ignored: a panic cannot leave them half changed.
    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<EncodeCache>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }
}
