//! The ids of many texts in one vector.
//!
//! Threads are used as in [`batch`](super::batch). A batch is divided into contiguous parts. The
//! calling thread encodes parts from the front, into the vector that becomes the result; the other
//! threads encode parts from the end into their own vectors, which are appended to it.
//!
//! Example with two threads and the parts 0 to 4: the calling thread encodes 0, 1 and 2, the other
//! one 4 and 3. Only the ids of 3 and 4 are copied.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::batch::{locked, part_texts};
use super::options::EncodeOptions;
use super::{Encoder, Tokenizer};
use crate::encode::EncodeError;
use crate::piece::PieceId;

/// Bytes of text for which a part reserves the memory of one id. With more ids per byte, as in
/// Chinese text, the vector grows once or twice.
const BYTES_PER_ID: usize = 3;

/// The ids of a part of a batch, and the number of ids of each text.
struct FlatPart {
    ids: Vec<PieceId>,
    counts: Vec<usize>,
    /// Why a text has no ids.
    failure: Option<EncodeError>,
}

/// The size of the texts of a part.
#[derive(Clone, Copy, Default)]
struct FlatSize {
    texts: usize,
    bytes: usize,
}

impl FlatSize {
    fn of<T: AsRef<[u8]>>(texts: &[T]) -> Self {
        Self {
            texts: texts.len(),
            bytes: texts.iter().map(|text| text.as_ref().len()).sum(),
        }
    }

    fn add(&mut self, other: Self) {
        self.texts += other.texts;
        self.bytes += other.bytes;
    }
}

impl FlatPart {
    /// An empty part with room for the ids of texts of this size.
    fn with_capacity(size: FlatSize) -> Self {
        Self {
            ids: Vec::with_capacity(size.bytes / BYTES_PER_ID + size.texts),
            counts: Vec::with_capacity(size.texts),
            failure: None,
        }
    }

    /// The ids of texts.
    fn of<T: AsRef<[u8]>>(texts: &[T], encoder: &mut Encoder<'_>) -> Self {
        let mut part = Self::with_capacity(FlatSize::of(texts));
        part.encode(texts, encoder);
        part
    }

    /// Adds the ids of texts.
    fn encode<T: AsRef<[u8]>>(&mut self, texts: &[T], encoder: &mut Encoder<'_>) {
        for text in texts {
            let start = self.ids.len();
            encoder.encode_into(text, &mut self.ids);
            self.counts.push(self.ids.len() - start);
        }
        self.failure = encoder.take_failure().or(self.failure.take());
    }

    /// Adds other parts. All threads copy: with one thread, copying a large batch into memory that
    /// the system has yet to provide took a tenth of the time of encoding it on two threads.
    fn append(&mut self, parts: &[Self]) {
        let own = self.ids.len();
        let added: usize = parts.iter().map(|part| part.ids.len()).sum();
        self.ids.resize(own + added, PieceId::new(0));
        let mut copies = Vec::with_capacity(parts.len());
        let mut rest = &mut self.ids[own..];
        for part in parts {
            let (copy, others) = rest.split_at_mut(part.ids.len());
            copies.push((copy, &part.ids));
            rest = others;
            self.counts.extend_from_slice(&part.counts);
        }
        copies
            .into_par_iter()
            .for_each(|(copy, ids)| copy.copy_from_slice(ids));
    }
}

/// The offsets of runs with these lengths, with the end as the last entry.
fn offsets_of(counts: &[usize]) -> Vec<usize> {
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    let mut end = 0;
    offsets.push(end);
    for count in counts {
        end += count;
        offsets.push(end);
    }
    offsets
}

/// The parts of a batch while they are encoded. Parts are numbered from the end of the batch to its
/// beginning.
struct PartQueue<P> {
    /// Parts that are not being encoded yet, in the order of the batch.
    untaken: Mutex<VecDeque<(usize, P)>>,
    /// The ids of parts that were taken from the end.
    last_parts: Mutex<Vec<(usize, FlatPart)>>,
}

impl<P> PartQueue<P> {
    fn new() -> Self {
        Self {
            untaken: Mutex::default(),
            last_parts: Mutex::default(),
        }
    }

    /// Adds a part before all others.
    fn push_front(&self, number: usize, texts: P) {
        locked(&self.untaken).push_front((number, texts));
    }

    /// Removes the parts that are not being encoded.
    fn clear(&self) {
        locked(&self.untaken).clear();
    }

    /// Takes the first part.
    fn pop_front(&self) -> Option<P> {
        let (_, texts) = locked(&self.untaken).pop_front()?;
        Some(texts)
    }

    /// Takes the last part, with its number.
    fn pop_back(&self) -> Option<(usize, P)> {
        locked(&self.untaken).pop_back()
    }

    /// Encodes the last part, if one is left.
    fn encode_last<'t, T: AsRef<[u8]>>(&self, encoder: impl FnOnce() -> Encoder<'t>)
    where
        P: AsRef<[T]>,
    {
        if let Some((number, texts)) = self.pop_back() {
            let part = FlatPart::of(texts.as_ref(), &mut encoder());
            locked(&self.last_parts).push((number, part));
        }
    }

    /// The ids of the parts that were taken from the end, in the order of the batch.
    fn into_last_parts(self) -> Vec<FlatPart> {
        let parts = self.last_parts.into_inner();
        let mut parts = parts.unwrap_or_else(PoisonError::into_inner);
        parts.sort_unstable_by_key(|(number, _)| Reverse(*number));
        parts.into_iter().map(|(_, part)| part).collect()
    }
}

impl Tokenizer {
    /// The ids of all texts in one vector, and the offset of each text in it, with the end as the
    /// last entry: the ids of text `n` are `ids[offsets[n]..offsets[n + 1]]`. The result takes two
    /// allocations instead of one per text, and its form suits the arrays of other languages.
    /// Threads are used as in [`encode_batch`](Tokenizer::encode_batch).
    ///
    /// ```
    /// use spiece::{EncodeOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
    /// let texts = ["one", "", "two three"];
    /// let (ids, offsets) = tokenizer.encode_batch_flat(&texts, &EncodeOptions::default())?;
    /// assert_eq!(offsets.len(), 4);
    /// assert_eq!(ids[offsets[2]..offsets[3]], tokenizer.encode("two three"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`encoder_with`](Tokenizer::encoder_with): none for the default options.
    pub fn encode_batch_flat<T: AsRef<[u8]> + Sync>(
        &self,
        texts: &[T],
        options: &EncodeOptions,
    ) -> Result<(Vec<PieceId>, Vec<usize>), EncodeError> {
        let prepared = self.prepare(options)?;
        prepared.check_special(texts)?;
        let parts = texts.chunks(part_texts(texts.len())).rev();
        encode_flat_parts(parts.map(Ok::<_, EncodeError>), || prepared.encoder())
    }

    /// Like [`encode_batch_flat`](Tokenizer::encode_batch_flat), for texts that take time to
    /// obtain, for example from objects of another language: the other threads encode the available
    /// texts while one thread obtains more.
    ///
    /// `parts` yields the texts in parts, **the last part first**; within a part they are in order.
    /// A thousand texts are a good size for a part. One thread takes all parts before it encodes
    /// texts itself.
    ///
    /// ```
    /// use spiece::{EncodeError, EncodeOptions, Tokenizer};
    /// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
    /// let options = EncodeOptions::default();
    /// let parts = [vec!["three", "four"], vec!["one", "two"]].map(Ok::<_, EncodeError>);
    /// let flat = tokenizer.encode_batch_flat_from_end(parts, &options)?;
    /// let texts = ["one", "two", "three", "four"];
    /// assert_eq!(flat, tokenizer.encode_batch_flat(&texts, &options)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The first error that `parts` yields, after which no more parts are taken, or that of
    /// [`encoder_with`](Tokenizer::encoder_with).
    pub fn encode_batch_flat_from_end<T, E, I>(
        &self,
        parts: I,
        options: &EncodeOptions,
    ) -> Result<(Vec<PieceId>, Vec<usize>), E>
    where
        T: AsRef<[u8]> + Send,
        E: From<EncodeError> + Send,
        I: IntoIterator<Item = Result<Vec<T>, E>>,
        I::IntoIter: Send,
    {
        let prepared = self.prepare(options)?;
        let parts = parts.into_iter().map(|part| {
            let part = part?;
            prepared.check_special(&part)?;
            Ok(part)
        });
        encode_flat_parts(parts, || prepared.encoder())
    }
}

/// Encodes parts of a batch that the calling thread takes from `parts`, the last one first, while
/// the other threads encode those that were taken.
///
/// Then the calling thread encodes parts too, from the first one on, while the others continue from
/// the end, so only the ids of the others have to be copied.
fn encode_flat_parts<'t, T, P, E>(
    parts: impl Iterator<Item = Result<P, E>> + Send,
    encoder: impl Fn() -> Encoder<'t> + Sync + Send,
) -> Result<(Vec<PieceId>, Vec<usize>), E>
where
    T: AsRef<[u8]>,
    P: AsRef<[T]> + Send,
    E: From<EncodeError> + Send,
{
    let queue = PartQueue::new();
    let has_helpers = rayon::current_num_threads() > 1;
    let first_parts: Result<FlatPart, E> = rayon::scope(|scope| {
        let mut size = FlatSize::default();
        for (number, part) in parts.enumerate() {
            let part = part.inspect_err(|_| queue.clear())?;
            size.add(FlatSize::of(part.as_ref()));
            queue.push_front(number, part);
            if has_helpers {
                // The task encodes any part, not necessarily this one. No task waits for another,
                // whatever `parts` does with the pool.
                scope.spawn(|_| queue.encode_last(&encoder));
            }
        }
        let mut encoder = encoder();
        let mut first_parts = FlatPart::with_capacity(size);
        while let Some(texts) = queue.pop_front() {
            first_parts.encode(texts.as_ref(), &mut encoder);
        }
        Ok(first_parts)
    });
    let last_parts = queue.into_last_parts();
    let mut result = first_parts?;
    let mut failures = last_parts.iter().map(|part| &part.failure);
    if let Some(error) = failures.find_map(Clone::clone).or(result.failure.take()) {
        return Err(error.into());
    }
    result.append(&last_parts);
    let offsets = offsets_of(&result.counts);
    Ok((result.ids, offsets))
}

#[cfg(test)]
mod tests {
    use crate::tokenizer::batch::tests::{open, texts};
    use crate::{EncodeError, EncodeOptions, ExtraOption};

    #[derive(Debug, PartialEq)]
    enum PartError {
        Gone,
        Encode(EncodeError),
    }

    impl From<EncodeError> for PartError {
        fn from(error: EncodeError) -> Self {
            Self::Encode(error)
        }
    }

    #[test]
    fn parts_from_the_end_equal_the_whole_batch_on_any_number_of_threads() {
        let tokenizer = open("golden/llama2");
        let texts = texts();
        let options = EncodeOptions::default().with_extra([ExtraOption::Eos]);
        let whole = tokenizer.encode_batch_flat(&texts, &options).unwrap();
        for (threads, size) in [(1, 7), (3, 7), (3, 1), (3, 200)] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let parts = texts.chunks(size).rev().map(|part| {
                // What gives the parts may use the same pool.
                rayon::join(|| (), || ());
                Ok::<_, PartError>(part.to_vec())
            });
            let pool = pool.build().unwrap();
            let flat = pool.install(|| tokenizer.encode_batch_flat_from_end(parts, &options));
            assert_eq!(flat.as_ref(), Ok(&whole), "{threads} threads, {size} texts");
        }
    }

    #[test]
    fn an_error_of_a_part_ends_the_batch() {
        let tokenizer = open("golden/llama2");
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let mut taken = 0;
            let parts = [Ok(vec!["c"]), Err(PartError::Gone), Ok(vec!["a"])];
            let parts = parts.into_iter().inspect(|_| taken += 1);
            let pool = pool.build().unwrap();
            let options = EncodeOptions::default();
            let flat = pool.install(|| tokenizer.encode_batch_flat_from_end(parts, &options));
            assert_eq!(flat, Err(PartError::Gone));
            assert_eq!(taken, 2, "{threads} threads");
        }
    }

    #[test]
    fn an_empty_batch_has_one_offset() {
        let none: [&str; 0] = [];
        let (tokenizer, options) = (open("golden/llama2"), EncodeOptions::default());
        let flat = tokenizer.encode_batch_flat(&none, &options);
        assert_eq!(flat, Ok((Vec::new(), vec![0])));
        let no_parts: [Result<Vec<&str>, PartError>; 0] = [];
        let flat = tokenizer.encode_batch_flat_from_end(no_parts, &options);
        assert_eq!(flat, Ok((Vec::new(), vec![0])));
    }
}
