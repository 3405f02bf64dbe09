//! Many texts, or one long text, on several threads.
//!
//! The ids are the same as on one thread, whatever the number of threads.
//!
//! **Threads.** All functions run on rayon's *current* pool: inside `ThreadPool::install`, the
//! caller's pool; otherwise rayon's global pool, which rayon starts at its first use with one
//! thread per core. No other method of [`Tokenizer`] uses a pool.
//!
//! **A batch** is divided into contiguous parts for the threads; each thread has its own
//! [`Encoder`].
//!
//! **A long text** is normalized by one thread if necessary, then split at positions that no piece
//! can cross (see [`encode::bpe`](crate::encode::bpe)), and its parts are encoded in parallel. Only
//! BPE models allow this. In a unigram model the rounding of sums in a chunk depends on the sum
//! before it, so one thread encodes the text.
//!
//! Example: a text of 1 MB has 15 splits, about 64 KiB apart, each at a character pair that occurs
//! in no piece, such as `.` and `▁T`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rayon::prelude::*;

use super::cache::{CacheParts, EncodeCache};
use super::context::{EncodeContext, FoundSpecial};
use super::model_tables::ModelContext;
use super::options::EncodeOptions;
use super::tables::TablesRef;
use super::{Encoder, Tokenizer};
#[cfg(feature = "formats")]
use crate::added::FoundTokens;
use crate::decode::DecodeError;
use crate::encode::EncodeError;
use crate::encode::ModelEncoder;
use crate::encode::bpe::BpeEncoder;
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::pipeline::Pipeline;
#[cfg(feature = "formats")]
use crate::special::Scope;
use crate::special::Segment;

/// The minimum distance between two splits of a long text. Smaller parts are not worth a task.
const MIN_PART_BYTES: usize = 1 << 16;

/// The number of parts of a batch per thread: enough that all threads finish at about the same
/// time.
const PARTS_PER_THREAD: usize = 32;
/// The minimum number of texts in a part.
const MIN_PART_TEXTS: usize = 16;

impl Tokenizer {
    /// The ids of each of `texts`, on the threads of rayon's current pool: inside
    /// `ThreadPool::install` the caller's pool, otherwise the global one.
    ///
    /// ```
    /// use spiece::{EncodeOptions, ExtraOption, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
    /// let options = EncodeOptions::default();
    /// let batch = tokenizer.encode_batch(&["one", "two"], &options)?;
    /// assert_eq!(batch, [tokenizer.encode("one"), tokenizer.encode("two")]);
    ///
    /// let options = options.with_extra([ExtraOption::Bos]);
    /// let batch = tokenizer.encode_batch(&["one", "two"], &options)?;
    /// assert!(batch.iter().all(|ids| ids.first().copied() == tokenizer.bos_id()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`encoder_with`](Tokenizer::encoder_with): none for the default options. Or a text has no
    /// ids; see [`Encoder::take_failure`].
    pub fn encode_batch<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        options: &EncodeOptions,
    ) -> Result<Vec<Vec<PieceId>>, EncodeError> {
        let prepared = self.prepare(options)?;
        prepared.check_special(texts)?;
        // Allocated on the calling thread: on a worker, the allocator may consolidate a whole heap
        // while the other threads wait.
        let mut batch = Vec::with_capacity(texts.len());
        let parts = texts.par_iter().with_max_len(part_texts(texts.len()));
        let failure = Mutex::new(None);
        parts
            .map_init(
                || prepared.encoder(),
                |encoder, text| {
                    let ids = encoder.encode(text).to_vec();
                    if let Some(error) = encoder.take_failure() {
                        *locked(&failure) = Some(error);
                    }
                    ids
                },
            )
            .collect_into_vec(&mut batch);
        match locked(&failure).take() {
            Some(error) => Err(error),
            None => Ok(batch),
        }
    }

    /// The text of each sequence of ids or numbers of `batch`, on the threads of rayon's current pool.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let batch = ["one", "two"].map(|text| tokenizer.encode(text));
    /// assert_eq!(tokenizer.decode_batch(&batch)?, ["one", "two"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An id is not in the model.
    pub fn decode_batch<'b, B: Sync, I: Into<PieceId>>(
        &self,
        batch: &'b [B],
    ) -> Result<Vec<String>, DecodeError>
    where
        &'b B: IntoIterator<Item = I>,
    {
        batch.par_iter().map(|ids| self.decode(ids)).collect()
    }

    /// The ids of one long text, equal to those of an [`Encoder`] with these options. In BPE models
    /// the threads of rayon's current pool share the work; texts of less than 128 KiB gain nothing.
    /// Allowed special pieces split the text into parts that are encoded one after another.
    ///
    /// ```
    /// use spiece::{EncodeOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
    /// let text = "All human beings are born free. ".repeat(10_000);
    /// let ids = tokenizer.encode_long(&text, &EncodeOptions::default())?;
    /// assert_eq!(ids, tokenizer.encode(&text));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`encoder_with`](Tokenizer::encoder_with): none for the default options.
    pub fn encode_long(
        &self,
        text: impl AsRef<[u8]>,
        options: &EncodeOptions,
    ) -> Result<Vec<PieceId>, EncodeError> {
        let text = text.as_ref();
        let mut encoder = self.encoder_with(options)?;
        encoder.check_special(text)?;
        let mut ids = Vec::new();
        let (context, cache) = encoder.parts();
        context.encode_long(cache, text, &mut ids);
        match encoder.take_failure() {
            Some(error) => Err(error),
            None => Ok(ids),
        }
    }
}

/// The number of texts in a part of a batch of `texts` texts.
pub(super) fn part_texts(texts: usize) -> usize {
    let parts = rayon::current_num_threads() * PARTS_PER_THREAD;
    (texts / parts).max(MIN_PART_TEXTS)
}

/// Locks a mutex. Poisoning is ignored: a thread that panicked has not changed the value.
pub(super) fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl EncodeContext<'_> {
    /// Like [`EncodeContext::encode`] for a text that the options do not refuse, on the threads of
    /// rayon's current pool where the tables allow it.
    fn encode_long(&self, cache: &mut EncodeCache, text: &[u8], ids: &mut Vec<PieceId>) {
        let parts = self.tables.pool().parts_of(cache);
        match (&self.tables, &self.options.special) {
            (TablesRef::Model(model), FoundSpecial::Pieces(allowed)) => {
                for segment in allowed.segments(text) {
                    self.encode_long_segment(model, text, segment, parts, ids);
                }
            }
            (TablesRef::Model(model), _) => model.encode_long(self, parts, text, ids),
            #[cfg(feature = "formats")]
            (TablesRef::Pipeline(tables), _) => {
                let found = self.found(tables);
                match tables.model_of_parts(text.len(), found) {
                    Some(model) => {
                        let scopes = Scope::whole(text, found);
                        tables.pipeline.cut_as_is(text, &scopes, |segment| {
                            self.encode_long_segment(&model, text, segment, parts, ids);
                        });
                    }
                    None => {
                        self.encode_long_by_stages(&tables.pipeline, found, text, parts, ids);
                    }
                }
            }
        }
        self.tokenizer.add_extra(&self.options.extra, ids, 0);
    }

    fn encode_long_segment(
        &self,
        model: &ModelContext<'_>,
        text: &[u8],
        segment: Segment,
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) {
        match segment {
            Segment::Text(range) => model.encode_long(self, parts, &text[range], ids),
            Segment::Special(id, _) => ids.push(PieceId::from_index(id)),
        }
    }

    /// Appends the ids of a text by the stages of a pipeline.
    #[cfg(feature = "formats")]
    fn encode_long_by_stages(
        &self,
        pipeline: &Pipeline,
        found: &FoundTokens,
        text: &[u8],
        parts: &mut CacheParts,
        ids: &mut Vec<PieceId>,
    ) {
        let encode_parts = |parts: &[&[u8]]| {
            let encode = |encoder: &mut Encoder<'_>, part: &&[u8]| {
                let mut ids = Vec::with_capacity(part.len() / 4);
                let state = &mut encoder.memory().pipeline;
                pipeline.encode_part_of_long(part, state, &mut ids);
                ids
            };
            let parts = parts.par_iter();
            let encoded = parts.map_init(|| self.encoder(), encode);
            encoded.collect::<Vec<_>>().concat()
        };
        let start = ids.len();
        let state = &mut parts.pipeline;
        let encoded = pipeline.encode_long(text, found, encode_parts, state, ids);
        if encoded.is_err() {
            ids.truncate(start);
        }
        parts.note_failure(encoded);
    }

    /// An encoder without options for another thread.
    fn encoder(&self) -> Encoder<'_> {
        Encoder::new(self.tokenizer, self.tables, None)
    }
}

/// A text that is split at positions that no piece can cross.
struct SplitText<'t> {
    bpe: &'t BpeEncoder,
    parts: Vec<&'t [u8]>,
}

impl<'t> SplitText<'t> {
    fn new(bpe: &'t BpeEncoder, text: &'t [u8], is_raw: bool) -> Self {
        let boundaries = if is_raw {
            bpe.find_boundaries::<true>(text, MIN_PART_BYTES)
        } else {
            bpe.find_boundaries::<false>(text, MIN_PART_BYTES)
        };
        let mut parts = Vec::new();
        let mut start = 0;
        for end in boundaries.into_iter().chain([text.len()]) {
            parts.push(&text[start..end]);
            start = end;
        }
        SplitText { bpe, parts }
    }

    /// The ids of all parts, with unknown ids unresolved.
    fn encode(&self, model: &ModelContext<'_>, context: &EncodeContext<'_>) -> Vec<PieceId> {
        let adds_prefix = model.stages.normalizer.adds_dummy_prefix();
        let parts = self.parts.par_iter().enumerate();
        let encoded: Vec<Vec<PieceId>> = parts
            .map_init(
                || context.encoder(),
                |encoder, (number, part)| {
                    let mut ids = Vec::with_capacity(part.len() / 3);
                    // The dummy prefix precedes only the first part, and normalized text already
                    // contains it.
                    let adds_prefix = adds_prefix && number == 0;
                    let memory = encoder.memory();
                    if !model.encode_raw(memory, part, adds_prefix, &mut ids) {
                        let pieces = model.tables.model().table();
                        self.bpe
                            .encode(pieces, part, &mut memory.state.bpe, &mut ids);
                    }
                    ids
                },
            )
            .collect();
        encoded.concat()
    }
}

impl ModelContext<'_> {
    /// Like [`ModelContext::encode_segment`], in parallel if the model allows it.
    fn encode_long(
        &self,
        context: &EncodeContext<'_>,
        memory: &mut CacheParts,
        text: &[u8],
        ids: &mut Vec<PieceId>,
    ) {
        let ModelEncoder::Bpe(bpe) = &self.stages.encoder else {
            return self.encode_segment(memory, text, ids);
        };
        let start = ids.len();
        if self.stages.reads_raw_text {
            ids.extend(SplitText::new(bpe, text, true).encode(self, context));
            return self.join_unknowns(ids, start);
        }
        let buffers = &mut memory.buffers;
        self.normalize_into(buffers, text);
        ids.extend(SplitText::new(bpe, &buffers.normalized, false).encode(self, context));
        self.resolve_unknowns(buffers, ids, start);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use crate::{EncodeOptions, ExtraOption, PieceId, Tokenizer};

    pub(in crate::tokenizer) fn open(name: &str) -> Tokenizer {
        let root = env!("CARGO_MANIFEST_DIR");
        Tokenizer::open(format!("{root}/testdata/{name}.model")).unwrap()
    }

    const MODELS: [&str; 6] = [
        "golden/llama2",
        "golden/symbols",
        "run/unigram",
        "run/unigram_bytes",
        "run/word",
        "run/char",
    ];

    pub(in crate::tokenizer) fn texts() -> Vec<String> {
        let words = ["les droits", "", " <s> 日本 ", "l'homme et la femme", "\n"];
        (0..200)
            .map(|n| words[n % 5].repeat(n % 7) + words[n % 3])
            .collect()
    }

    fn all_options(tokenizer: &Tokenizer) -> Vec<EncodeOptions> {
        use ExtraOption::{Bos, Eos, Reverse};
        let mut all = vec![
            EncodeOptions::default(),
            EncodeOptions::default().with_user_defined_symbols(false),
        ];
        if tokenizer.bos_id().is_some() && tokenizer.eos_id().is_some() {
            all.push(EncodeOptions::default().with_extra([Reverse, Bos, Eos]));
        }
        if tokenizer.piece_to_id("<s>") == tokenizer.bos_id() {
            all.push(EncodeOptions::default().with_allowed_special(["<s>"]));
        }
        all
    }

    #[test]
    fn batches_with_options_equal_single_calls_on_any_number_of_threads() {
        for name in MODELS {
            let tokenizer = open(name);
            let texts = texts();
            for options in all_options(&tokenizer) {
                let mut encoder = tokenizer.encoder_with(&options).unwrap();
                let single: Vec<Vec<PieceId>> = texts
                    .iter()
                    .map(|text| encoder.encode(text).to_vec())
                    .collect();
                for threads in [1, 3] {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
                    let (batch, flat) = pool.build().unwrap().install(|| {
                        let batch = tokenizer.encode_batch(&texts, &options);
                        let flat = tokenizer.encode_batch_flat(&texts, &options);
                        (batch.unwrap(), flat.unwrap())
                    });
                    assert_eq!(batch, single, "{name} {options:?} {threads} threads");
                    let (ids, offsets) = flat;
                    let spans = offsets.windows(2).map(|span| &ids[span[0]..span[1]]);
                    assert!(spans.eq(&single), "{name} {options:?} {threads} threads");
                }
            }
        }
    }

    #[test]
    fn long_texts_with_options_equal_single_calls() {
        for name in MODELS {
            let tokenizer = open(name);
            let text = texts().concat().repeat(40);
            assert!(text.len() > 3 * super::MIN_PART_BYTES);
            for options in all_options(&tokenizer) {
                let ids = tokenizer.encode_long(&text, &options).unwrap();
                let mut encoder = tokenizer.encoder_with(&options).unwrap();
                assert!(encoder.encode(&text) == ids, "{name} {options:?}");
            }
        }
    }

    #[test]
    fn long_texts_of_bpe_models_are_split() {
        let tokenizer = open("golden/llama2");
        let text = texts().concat().repeat(40);
        let crate::encode::ModelEncoder::Bpe(bpe) =
            &tokenizer.model_tables().unwrap().stages.encoder
        else {
            panic!("llama2 is a BPE model");
        };
        let split = super::SplitText::new(bpe, text.as_bytes(), true);
        assert!(split.parts.len() > 2);
        assert_eq!(split.parts.concat(), text.as_bytes());
    }
}
