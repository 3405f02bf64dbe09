//! The preparation of a sentence for training: normalization, and boundary marks (U+001F) that no
//! piece may cross.
//!
//! 1. The sentence is normalized.
//! 2. Every meta piece (control and user-defined symbols, `<s>`, byte pieces, ...) that occurs in
//!    the text is replaced by a boundary mark, the longest match first.
//! 3. Every occurrence of `pretokenization_delimiter` is replaced by a boundary mark, or a caller's
//!    pre-tokenizer splits the text into chunks, which are joined by boundary marks.
//!
//! For example, with `user_defined_symbols=<sep>` and `pretokenization_delimiter=||` (`|` marks a
//! boundary here):
//!
//! ```text
//! sentence     Ａ  cat<sep>on||a mat
//! normalized   ▁A▁cat<sep>on||a▁mat
//! meta pieces  ▁A▁cat|on||a▁mat          (only the first | is a boundary mark)
//! delimiters   ▁A▁cat|on|a▁mat           (both are)
//! ```

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;

use crate::base::BOUNDARY_MARK;
use crate::normalize::Normalizer;
use crate::train::TrainError;
use crate::trie::prefix::PrefixTrie;

/// Splits a normalized sentence into chunks that no piece crosses.
pub(crate) type PretokenizerCallback = dyn Fn(&str) -> Vec<String> + Send + Sync;

/// Everything that happens to a sentence before it is counted.
#[derive(Clone)]
pub(crate) struct Preparation {
    pub(crate) normalizer: Normalizer,
    pub(crate) meta_pieces: Arc<PrefixTrie>,
    pub(crate) delimiter: String,
    pub(crate) pretokenizer: Option<Arc<PretokenizerCallback>>,
    /// Whether the concatenation of the chunks may differ from the sentence.
    pub(crate) allow_inconsistent_pretokenization: bool,
}

impl Preparation {
    /// The same preparation for text that already contains its dummy prefix.
    pub(crate) fn without_dummy_prefix(&self) -> Self {
        let mut other = self.clone();
        other.normalizer.set_add_dummy_prefix(false);
        other
    }

    /// The prepared form of `sentence`, made in `buffer`.
    ///
    /// # Errors
    /// The concatenation of a pre-tokenizer's chunks is not the sentence.
    pub(crate) fn prepare<'b>(
        &self,
        sentence: &[u8],
        buffer: &'b mut Vec<u8>,
    ) -> Result<Cow<'b, str>, TrainError> {
        buffer.clear();
        self.normalizer.normalize(sentence, buffer);
        // The result is UTF-8 unless the charsmap is damaged.
        let normalized = std::str::from_utf8(buffer)
            .map_or_else(|_| String::from_utf8_lossy(buffer), Cow::Borrowed);
        let text = self.mark_meta_pieces(normalized);
        match &self.pretokenizer {
            Some(pretokenizer) => self
                .pretokenize(pretokenizer.as_ref(), &text)
                .map(Cow::Owned),
            None => Ok(self.mark_delimiters(text)),
        }
    }

    fn mark_meta_pieces<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        let mut marked = String::new();
        let mut rest = text.as_ref();
        while let Some((start, length)) = self.meta_pieces.find(rest.as_bytes()) {
            marked.push_str(&rest[..start]);
            marked.push(BOUNDARY_MARK);
            rest = &rest[start + length..];
        }
        if marked.is_empty() {
            return text;
        }
        marked.push_str(rest);
        Cow::Owned(marked)
    }

    fn mark_delimiters<'t>(&self, text: Cow<'t, str>) -> Cow<'t, str> {
        if self.delimiter.is_empty()
            || memmem::find(text.as_bytes(), self.delimiter.as_bytes()).is_none()
        {
            return text;
        }
        Cow::Owned(text.replace(&self.delimiter, BOUNDARY_MARK.encode_utf8(&mut [0; 4])))
    }

    fn pretokenize(
        &self,
        pretokenizer: &PretokenizerCallback,
        text: &str,
    ) -> Result<String, TrainError> {
        let chunks = pretokenizer(text);
        let mut parts = chunks.iter().map(String::as_str);
        let is_concatenation = parts.try_fold(text, str::strip_prefix) == Some("");
        if !self.allow_inconsistent_pretokenization && !is_concatenation {
            return Err(TrainError::Pretokenizer {
                sentence: text.to_owned(),
                chunks,
            });
        }
        Ok(chunks.join(BOUNDARY_MARK.encode_utf8(&mut [0; 4])))
    }
}
