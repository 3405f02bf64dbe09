//! SentenceChunks of byte-level BPE: the pretokens of a pattern, counted as they are.
//!
//! For example, GPT-2's pattern cuts `I'm, you're` into `I`, `'m`, `,`, ` you` and `'re`.
//!
//! Each byte that is not UTF-8 is read as U+FFFD, as for all other models. A pretoken of one byte
//! is counted, although it has no pair.

use std::borrow::Cow;
use std::ops::Range;

use super::chunks::SentenceChunks;
use crate::added::FoundTokens;
use crate::pattern::Pretokenizer;
use crate::pipeline::Pipeline;
use crate::train::TrainError;

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

    /// Adds the pretokens of a text to `chunks`. Returns how many added tokens are found.
    pub(super) fn cut(self, text: &[u8], chunks: &mut SentenceChunks) -> Result<u64, TrainError> {
        self.for_each(text, &mut |text: &[u8], pretoken| {
            chunks.push_part(text, pretoken)
        })
    }

    /// Passes each pretoken with the text in which it has this range: the text, with U+FFFD for
    /// each byte that is not UTF-8, or a normalized part of it. Returns how many added tokens are
    /// found.
    pub(crate) fn for_each(
        self,
        text: &[u8],
        on_pretoken: &mut (impl FnMut(&[u8], Range<usize>) + ?Sized),
    ) -> Result<u64, TrainError> {
        let text = &*well_formed(text);
        let mut pass = |pretokenizer: &Pretokenizer| {
            pretokenizer.for_each(text, &mut |pretoken| on_pretoken(text, pretoken));
        };
        Ok(match self {
            Self::Pattern(pretokenizer) => {
                pass(pretokenizer);
                0
            }
            Self::Counting {
                pretokenizer,
                pipeline,
                found,
            } => {
                pass(pretokenizer);
                pipeline.count_added(text, found)
            }
            Self::Pipeline { pipeline, found } => {
                let on_pretoken = &mut |text: &[u8], pretoken| on_pretoken(text, pretoken);
                pipeline.for_each_pretoken(text, found, on_pretoken)?
            }
        })
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
