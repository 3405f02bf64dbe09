//! Many texts, or one long text, with all cores.
//!
//! In: texts. Out: what one thread makes of them, whatever the number of threads; the threads are rayon's
//! current pool. A batch is divided among them. A single long text is normalized by one of them, if it must be, then cut
//! where no piece reaches across (see [`find_boundaries`](crate::encode::bpe::BpeEncoder::find_boundaries)) and its parts are
//! segmented at the same time. Only BPE models allow that: in a unigram model each part depends, in the last bits
//! of its sums, on the sum of all that is before it, so one thread does it all.

use rayon::prelude::*;

use super::{Encoder, Tokenizer};
use crate::encode::Segmenter;
use crate::piece::PieceId;

/// Texts of fewer bytes are not worth the threads.
const PART_BYTES: usize = 1 << 16;

/// Shares of a batch for each thread, so that all are done at about the same time.
const SHARES: usize = 32;
/// Texts of a share, at least.
const LEAST_SHARE: usize = 16;

impl Tokenizer {
    /// The ids of each of `texts`, worked out by all threads of rayon's current pool.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let batch = tokenizer.encode_batch(&["one", "two"]);
    /// assert_eq!(batch, [tokenizer.encode("one"), tokenizer.encode("two")]);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn encode_batch<T: AsRef<[u8]> + Sync>(&self, texts: &[T]) -> Vec<Vec<PieceId>> {
        // The caller allocates it: in a worker it can make the allocator put a whole heap in order while the others wait.
        let mut batch = Vec::with_capacity(texts.len());
        let share = (texts.len() / (rayon::current_num_threads() * SHARES)).max(LEAST_SHARE);
        let texts = texts.par_iter().with_max_len(share);
        texts
            .map_init(
                || self.encoder(),
                |encoder, text| encoder.encode(text).to_vec(),
            )
            .collect_into_vec(&mut batch);
        batch
    }

    /// The texts of each of the id sequences of `batch`, worked out by all threads of rayon's current pool.
    ///
    /// # Errors
    /// An id that the model does not have.
    pub fn decode_batch<I: AsRef<[PieceId]> + Sync>(
        &self,
        batch: &[I],
    ) -> Result<Vec<String>, crate::DecodeError> {
        batch
            .par_iter()
            .map(|ids| self.decode(ids.as_ref()))
            .collect()
    }

    /// The ids of one long text, equal to those of [`encode`](Tokenizer::encode). In BPE models all threads
    /// of rayon's current pool work on it.
    pub fn encode_long(&self, text: impl AsRef<[u8]>) -> Vec<PieceId> {
        let mut ids = Vec::new();
        self.encoder().encode_long_into(text.as_ref(), &mut ids);
        ids
    }
}

impl Encoder<'_> {
    /// Appends the ids of `text`, with all threads.
    fn encode_long_into(&mut self, text: &[u8], ids: &mut Vec<PieceId>) {
        let Segmenter::Bpe(bpe) = &self.pipeline.segmenter else {
            return self.encode_into(text, ids);
        };
        let (tokenizer, is_raw) = (self.tokenizer, self.pipeline.takes_raw_text);
        if !is_raw {
            self.pipeline
                .normalizer
                .normalize(text, &mut self.scratch.normalized);
        }
        let text = if is_raw {
            text
        } else {
            &self.scratch.normalized[..]
        };
        let cuts = if is_raw {
            bpe.find_boundaries::<true>(text, PART_BYTES)
        } else {
            bpe.find_boundaries::<false>(text, PART_BYTES)
        };
        let bounds: Vec<usize> = std::iter::once(0).chain(cuts).chain([text.len()]).collect();
        let parts: Vec<&[u8]> = bounds
            .windows(2)
            .map(|bound| &text[bound[0]..bound[1]])
            .collect();
        let prefix = self.pipeline.normalizer.adds_dummy_prefix();
        let segmented: Vec<Vec<PieceId>> = parts
            .par_iter()
            .enumerate()
            .map_init(
                || tokenizer.encoder(),
                |encoder, (number, part)| {
                    let mut ids = Vec::with_capacity(part.len() / 3);
                    if !encoder.segment_raw(part, prefix && number == 0, &mut ids) {
                        bpe.encode(
                            tokenizer.model.table(),
                            part,
                            &mut encoder.scratch.segment.bpe,
                            &mut ids,
                        );
                    }
                    ids
                },
            )
            .collect();
        ids.extend(segmented.into_iter().flatten());
        if is_raw {
            self.join_unknown(ids, 0);
        } else {
            self.settle(ids, 0);
        }
    }
}
