//! Where a text that goes on can be divided.
//!
//! A position is a *boundary* if the ids of a text are those of the part before it, and then those of
//! the rest, whatever follows. That is a boundary of the pretokens of a byte-level pipeline, or of
//! [chunks](super::chunks), that no added token crosses or touches. What decides on an added token are
//! its bytes, the characters beside it, white space, and the tokens before it that overlap it. None
//! of these is on both sides: before a boundary is no white space. A token that more text completes is
//! too long to begin before it, because at least the bytes of the longest one follow.
//!
//! In a chunk, what an added token is in normalized text is a matter of the chunk alone. Of the bytes
//! of a byte-level text, normalization form C makes others, which are searched for tokens, too.

use super::{NormalizerStep, Pipeline, UnicodeForm};

impl Pipeline {
    /// The last boundary after `start` of a text, which may go on after its end in any way; the ids
    /// after it are those that [`encode_rest`](Self::encode_rest) gives. `start` is that of the text,
    /// or a boundary.
    ///
    /// The pretokens of a byte-level pipeline are divided there, too.
    pub(crate) fn last_boundary(&self, text: &[u8], start: usize) -> Option<usize> {
        let is_form_c =
            |step: &NormalizerStep| matches!(step, NormalizerStep::Unicode(UnicodeForm::Nfc, _));
        let keeps_bytes = self.normalizer.is_empty();
        let path = self.byte_path.as_ref();
        let path = path.filter(|_| keeps_bytes || self.normalizer.iter().all(is_form_c));
        // Text in normalization form C comes from at most three times as many bytes, or four if a
        // character has a longer form there.
        let reach = match path.is_some() && !keeps_bytes {
            true => 4 * self.added.longest(),
            false => self.added.longest(),
        };
        let mut end = text.len().checked_sub(reach)?;
        loop {
            let at = match (path, &self.chunks) {
                (Some(path), _) => path.last_boundary(&text[..end])?,
                (None, Some(chunks)) => chunks.last_start(self, &text[..end], start)?,
                (None, None) => return None,
            };
            if at <= start {
                return None;
            }
            if !self.touches_added(text, at, reach) {
                return Some(at);
            }
            end = at;
        }
    }

    /// Whether an added token, found by a call or not, may have a part within `reach` bytes on both
    /// sides of a position, or an end there.
    fn touches_added(&self, text: &[u8], at: usize, reach: usize) -> bool {
        let before = &text[at.saturating_sub(reach)..at];
        let after = &text[at..text.len().min(at + reach)];
        let around = [before, after].concat();
        if self.added.touches_as_is(&around, before.len()) {
            return true;
        }
        if self.normalizer.is_empty() || self.byte_path.is_none() {
            return self.added.touches_normalized(&around, before.len());
        }
        let mut normalized = Vec::new();
        let is_normalized = self.normalize(before, &mut normalized, None).is_ok();
        let middle = normalized.len();
        let is_normalized = is_normalized && self.normalize(after, &mut normalized, None).is_ok();
        !is_normalized || self.added.touches_normalized(&normalized, middle)
    }
}
