//! Chunks of byte-level BPE: the pretokens of a pattern, counted as they are.
//!
//! For example, GPT-2's pattern cuts `I'm, you're` into `I`, `'m`, `,`, ` you` and `'re`.
//!
//! Each byte that is not UTF-8 is read as U+FFFD, as for all other models. A pretoken of one byte
//! is counted, although it has no pair.

use std::borrow::Cow;
use std::marker::PhantomData;

use super::worker::ChunkCaches;
use super::{ChunkCounter, Cuts};
use crate::byte_bpe::{ByteBpe, SpecialSet};
use crate::pattern::Pretokenizer;
use crate::train::TrainError;
use crate::train::counts::{SharedTable, TableAdder, Tally};

/// Cuts texts into pretokens, of which a [`Tally`] is made.
pub(crate) struct PatternCuts<'p, T> {
    pretokenizer: &'p Pretokenizer,
    tally: PhantomData<fn() -> T>,
}

impl<'p, T> PatternCuts<'p, T> {
    pub(crate) fn new(pretokenizer: &'p Pretokenizer) -> Self {
        Self {
            pretokenizer,
            tally: PhantomData,
        }
    }
}

impl<T: Tally> Cuts for PatternCuts<'_, T> {
    type Tally = T;
    type Counter<'c>
        = PretokenCounter<'c, T>
    where
        Self: 'c;

    fn counter<'c>(&'c self, counts: &'c SharedTable<T>) -> PretokenCounter<'c, T> {
        PretokenCounter(counts.adder())
    }

    fn cut<'c>(
        &'c self,
        text: &[u8],
        (count, place): (u64, u64),
        chunks: &mut ChunkCaches<'_, PretokenCounter<'c, T>>,
    ) -> Result<(), TrainError> {
        let text = well_formed(text);
        let mut result = Ok(());
        self.pretokenizer.for_each(&text, &mut |pretoken| {
            if result.is_ok() {
                let count = T::new(count, place + pretoken.start as u64);
                result = chunks.add_part(&text, pretoken, count);
            }
        });
        result
    }
}

/// Cuts texts into pretokens as a vocabulary does that finds special tokens: these are left out,
/// and what is between them is normalized.
pub(crate) struct VocabularyCuts<'b> {
    pub(crate) bpe: &'b ByteBpe,
    pub(crate) special: &'b SpecialSet,
}

impl Cuts for VocabularyCuts<'_> {
    type Tally = u64;
    type Counter<'c>
        = PretokenCounter<'c, u64>
    where
        Self: 'c;

    fn counter<'c>(&'c self, counts: &'c SharedTable) -> PretokenCounter<'c, u64> {
        PretokenCounter(counts.adder())
    }

    fn cut<'c>(
        &'c self,
        text: &[u8],
        (count, _place): (u64, u64),
        chunks: &mut ChunkCaches<'_, PretokenCounter<'c, u64>>,
    ) -> Result<(), TrainError> {
        let text = well_formed(text);
        let mut result = Ok(());
        self.bpe
            .for_each_pretoken(&text, self.special, |text, pretoken| {
                if result.is_ok() {
                    result = chunks.add_part(text, pretoken, count);
                }
            });
        result
    }
}

/// The text with U+FFFD for each byte that is not UTF-8.
fn well_formed(text: &[u8]) -> Cow<'_, [u8]> {
    if std::str::from_utf8(text).is_ok() {
        return Cow::Borrowed(text);
    }
    let mut filled = Vec::with_capacity(text.len() + 64);
    for chunk in text.utf8_chunks() {
        filled.extend_from_slice(chunk.valid().as_bytes());
        for _ in chunk.invalid() {
            filled.extend_from_slice("\u{FFFD}".as_bytes());
        }
    }
    Cow::Owned(filled)
}

/// Counts pretokens.
pub(crate) struct PretokenCounter<'c, T>(TableAdder<'c, T>);

impl<T: Tally> ChunkCounter for PretokenCounter<'_, T> {
    type Tally = T;

    fn add(&mut self, chunk: &[u8], count: T) -> Result<(), TrainError> {
        self.0.add(chunk, count)
    }

    fn flush(&mut self) -> Result<(), TrainError> {
        self.0.flush()
    }
}
