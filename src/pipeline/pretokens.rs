//! The pretokens of texts, for training that goes on with a byte-level vocabulary.

use std::ops::Range;

use super::text::MappedText;
use super::{FoundTokens, Pipeline, PipelineError};
use crate::special::Segment;

impl Pipeline {
    /// Passes the pretokens of a text between added tokens: each with the normalized text in which it
    /// has this range. The pipeline is byte-level; the text is UTF-8.
    ///
    /// # Errors
    /// A step of the normalizer fails.
    pub(crate) fn for_each_pretoken(
        &self,
        text: &[u8],
        found: &FoundTokens,
        mut on_pretoken: impl FnMut(&[u8], Range<usize>),
    ) -> Result<(), PipelineError> {
        let Some(path) = &self.byte_path else {
            return Ok(());
        };
        let mut result = Ok(());
        let mut mapped = MappedText::default();
        self.added.cut_as_is(text, found, |segment| {
            let Segment::Text(range) = segment else {
                return;
            };
            let passed =
                self.for_each_byte_part(&text[range], found, &mut mapped, |part, segment| {
                    if let Segment::Text(range) = segment {
                        path.for_each_pretoken(&part[range], &mut on_pretoken);
                    }
                });
            if let Err(error) = passed {
                result = Err(error);
            }
        });
        result
    }

    /// A position near the end of a text, which may go on after its end in any way, at which it can
    /// be divided: what [`for_each_pretoken`](Self::for_each_pretoken) passes for the text is what
    /// it passes for the parts. For vocabularies whose normalizer is NFC or nothing.
    ///
    /// That is a boundary of the pretokens that no added token crosses or touches. So each added
    /// token is found in one of the parts, and in no other place than in the text: what decides on
    /// one are its bytes, the characters beside it, and the tokens before it that overlap it. White
    /// space that belongs to a token is not divided from it, because before the boundary is a letter.
    pub(crate) fn last_boundary(&self, text: &[u8]) -> Option<usize> {
        let path = self.byte_path.as_ref()?;
        let lengths = self.added.tokens().iter().map(|token| token.text.len());
        // Text in normalization form C comes from at most three times as many bytes, or four if a
        // character has a longer form there.
        let reach = 4 * lengths.max().unwrap_or(0);
        let mut end = text.len().checked_sub(reach)?;
        loop {
            let at = path.last_boundary(&text[..end])?;
            // The second part would get a space of its own.
            let gets_space = path.needs_space(&text[at..]);
            if !gets_space && !self.touches_added(text, at, reach) {
                return Some(at);
            }
            end = at;
        }
    }

    /// Whether an added token may have a part within `reach` bytes on both sides of a position, or
    /// an end there.
    fn touches_added(&self, text: &[u8], at: usize, reach: usize) -> bool {
        let before = &text[at.saturating_sub(reach)..at];
        let after = &text[at..text.len().min(at + reach)];
        let mut normalized = Vec::new();
        let mut normalize = |part: &[u8]| -> Result<usize, PipelineError> {
            self.normalize(part, &mut normalized, None)?;
            Ok(normalized.len())
        };
        let (Ok(middle), Ok(_)) = (normalize(before), normalize(after)) else {
            return true;
        };
        let as_is = [before, after].concat();
        self.added.touches_as_is(&as_is, before.len())
            || self.added.touches_normalized(&normalized, middle)
    }
}
