//! Chunks of byte-level BPE: the pretokens of a pattern, counted as they are.
//!
//! For example, GPT-2's pattern cuts `I'm, you're` into `I`, `'m`, `,`, ` you` and `'re`.
//!
//! Each byte that is not UTF-8 is read as U+FFFD, as for all other models. A pretoken of one byte
//! is counted, although it has no pair.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Cuts;
use super::worker::Worker;
use crate::added::FoundTokens;
use crate::pattern::Pretokenizer;
use crate::pipeline::Pipeline;
use crate::train::TrainError;
use crate::train::counts::{TableAdder, Tally};

/// What divides a text into pretokens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PretokenSource<'v> {
    /// A pattern.
    Pattern(&'v Pretokenizer),
    /// A pipeline that finds these added tokens: they are left out, and what is between them is
    /// normalized.
    Pipeline {
        pipeline: &'v Pipeline,
        found: &'v FoundTokens,
    },
    /// A pattern. The added tokens that the pipeline, which has this pattern, finds are text like any
    /// other, and are counted.
    Counting {
        pretokenizer: &'v Pretokenizer,
        pipeline: &'v Pipeline,
        found: &'v FoundTokens,
    },
}

impl PretokenSource<'_> {
    /// A position near the end of a text, which may go on after its end in any way, at which it can
    /// be divided: the pretokens of the text are those of the parts.
    pub(crate) fn last_boundary(self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Pattern(pretokenizer) => pretokenizer.last_boundary(text),
            Self::Pipeline { pipeline, .. } | Self::Counting { pipeline, .. } => {
                pipeline.last_pretoken_boundary(text)
            }
        }
    }

    /// Passes each pretoken with the text in which it has this range: `text`, or a normalized part
    /// of it. Returns how many added tokens are found.
    fn for_each(
        self,
        text: &[u8],
        mut on_pretoken: impl FnMut(&[u8], Range<usize>),
    ) -> Result<u64, TrainError> {
        Ok(match self {
            Self::Pattern(pretokenizer) => {
                pretokenizer.for_each(text, &mut |pretoken| on_pretoken(text, pretoken));
                0
            }
            Self::Counting {
                pretokenizer,
                pipeline,
                found,
            } => {
                pretokenizer.for_each(text, &mut |pretoken| on_pretoken(text, pretoken));
                pipeline.count_added(text, found)
            }
            Self::Pipeline { pipeline, found } => {
                pipeline.for_each_pretoken(text, found, on_pretoken)?
            }
        })
    }
}

/// Cuts texts into pretokens, of which a [`Tally`] is made. The places of a vocabulary's pretokens
/// are those in the normalized parts, so only a [`Tally`] without places is of use there.
pub(crate) struct PatternCuts<'v, T> {
    source: PretokenSource<'v>,
    /// The place of the first byte of the texts.
    first_place: u64,
    /// How often added tokens were found.
    added: AtomicU64,
    tally: PhantomData<fn() -> T>,
}

impl<'v, T> PatternCuts<'v, T> {
    pub(crate) fn new(source: PretokenSource<'v>) -> Self {
        Self {
            source,
            first_place: 0,
            added: AtomicU64::new(0),
            tally: PhantomData,
        }
    }

    /// For texts whose first byte has this place.
    pub(crate) fn with_first_place(self, first_place: u64) -> Self {
        Self {
            first_place,
            ..self
        }
    }

    /// How often added tokens were found in the texts that were cut.
    pub(crate) fn added(&self) -> u64 {
        self.added.load(Ordering::Relaxed)
    }
}

impl<T: Tally> Cuts for PatternCuts<'_, T> {
    type Tally = T;
    /// How often the thread found added tokens.
    type Local = u64;

    fn local(&self) -> u64 {
        0
    }

    fn cut(
        &self,
        text: &[u8],
        (count, place): (u64, u64),
        worker: &mut Worker<'_, '_, Self>,
    ) -> Result<(), TrainError> {
        let mut result = Ok(());
        let place = self.first_place.saturating_add(place);
        let added = self.source.for_each(&well_formed(text), |text, pretoken| {
            if result.is_ok() {
                let count = T::new(count, place.saturating_add(pretoken.start as u64));
                result = worker.add_part(text, pretoken, count);
            }
        })?;
        worker.local += count * added;
        result
    }

    fn count(
        &self,
        pretoken: &[u8],
        count: T,
        _added: &mut u64,
        words: &mut TableAdder<'_, T>,
    ) -> Result<(), TrainError> {
        words.add(pretoken, count)
    }

    fn finish(&self, added: u64, _words: &mut TableAdder<'_, T>) -> Result<(), TrainError> {
        self.added.fetch_add(added, Ordering::Relaxed);
        Ok(())
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
