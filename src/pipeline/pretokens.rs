//! The pretokens of texts between added tokens, for the training of byte-level vocabularies.

use std::ops::Range;

use super::text::MappedText;
use super::{FoundTokens, Pipeline, PipelineError};
use crate::special::{Scope, Segment};

impl Pipeline {
    /// Passes the pretokens of a text between added tokens: each with the normalized text in which it
    /// has this range. The pipeline is byte-level; the text is UTF-8. Returns how many added tokens are
    /// found.
    ///
    /// # Errors
    /// A step of the normalizer fails.
    pub(crate) fn for_each_pretoken(
        &self,
        text: &[u8],
        found: &FoundTokens,
        mut on_pretoken: impl FnMut(&[u8], Range<usize>),
    ) -> Result<u64, PipelineError> {
        let Some(path) = &self.byte_path else {
            return Ok(0);
        };
        let mut added = 0;
        let mut result = Ok(());
        let mut mapped = MappedText::default();
        let scopes = Scope::whole(text, found);
        self.added.cut_as_is(text, &scopes, |segment| {
            let Segment::Text(range) = segment else {
                added += 1;
                return;
            };
            let passed =
                self.for_each_byte_part(&text[range], found, &mut mapped, |part, segment| {
                    match segment {
                        Segment::Text(range) => {
                            path.for_each_pretoken(&part[range], &mut on_pretoken);
                        }
                        Segment::Special(..) => added += 1,
                    }
                });
            if let Err(error) = passed {
                result = Err(error);
            }
        });
        result.map(|()| added)
    }

    /// How many added tokens are found in a text as it is.
    pub(crate) fn count_added(&self, text: &[u8], found: &FoundTokens) -> u64 {
        let mut added = 0;
        self.added
            .cut_as_is(text, &Scope::whole(text, found), |segment| {
                added += u64::from(matches!(segment, Segment::Special(..)));
            });
        added
    }
}
