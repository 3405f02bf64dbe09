//! The pretokens of texts between added tokens, for training.
//!
//! Those of a pipeline with a path of bytes are bytes; those of others are what the model gets, with
//! the characters that stand for bytes if there is a step `ByteLevel`.

use std::ops::Range;

use super::text::MappedText;
use super::{FoundTokens, Pipeline, PipelineError};
use crate::special::{Scope, Segment};

impl Pipeline {
    /// Whether pretokens are bytes, and not characters.
    pub(crate) fn has_pretokens_of_bytes(&self) -> bool {
        self.byte_path.is_some()
    }

    /// A position near the end of a text, which may go on after its end in any way, at which it can be
    /// divided: the pretokens of the text are those of the parts. `None` also if the pretokens are
    /// characters, because what begins there is the start of a text for the steps of such a pipeline.
    pub(crate) fn last_pretoken_boundary(&self, text: &[u8]) -> Option<usize> {
        self.byte_path.as_ref()?;
        self.last_boundary(text, 0)
    }

    /// Passes the pretokens of a text between added tokens: each with the normalized text in which it
    /// has this range, which is not empty. The text is UTF-8. Returns how many added tokens are found.
    ///
    /// # Errors
    /// A step of the normalizer fails.
    pub(crate) fn for_each_pretoken(
        &self,
        text: &[u8],
        found: &FoundTokens,
        on_pretoken: &mut dyn FnMut(&[u8], Range<usize>),
    ) -> Result<u64, PipelineError> {
        let mut added = 0;
        let mut result = Ok(());
        let mut mapped = MappedText::default();
        let scopes = Scope::whole(text, found);
        self.added.cut_as_is(text, &scopes, |segment| {
            let Segment::Text(range) = segment else {
                added += 1;
                return;
            };
            let passed = if let Some(path) = &self.byte_path {
                let on_part = |part: &[u8], segment| match segment {
                    Segment::Text(range) => {
                        path.for_each_pretoken(&part[range], on_pretoken);
                    }
                    Segment::Special(..) => added += 1,
                };
                // The text is UTF-8, so that it always passes.
                let passed = self.for_each_byte_part(&text[range], found, &mut mapped, on_part);
                passed.map(|_| ())
            } else {
                let tracks = self.needs_origins || (range.start == 0 && self.depends_on_start);
                let cut = self.cut(text, range, true, &scopes, tracks, &mut mapped);
                for part in &mapped.parts {
                    if part.added.is_some() {
                        added += 1;
                    } else if !part.range.is_empty() {
                        on_pretoken(mapped.text.as_bytes(), part.range.clone());
                    }
                }
                cut
            };
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
