//! The pretokens of texts, for training that goes on with a byte-level vocabulary.

use std::ops::Range;

use super::text::MappedText;
use super::{FoundTokens, Pipeline, PipelineError};
use crate::special::{Scope, Segment};

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
        let scopes = Scope::whole(text, found);
        self.added.cut_as_is(text, &scopes, |segment| {
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
}
