//! Options that are checked once and used for many calls.

use std::sync::Arc;

use super::cache::Owner;
use super::context::CheckedOptions;
use super::{EncodeOptions, Encoder, Tokenizer};
use crate::encode::EncodeError;

/// Options that were checked against a tokenizer: an [`Encoder`] with them is made without a look
/// at the vocabulary. They borrow nothing, so a server can store them beside the tokenizer.
///
/// ```
/// use spiece::{EncodeOptions, Tokenizer};
/// let tokenizer = Tokenizer::open("testdata/golden/llama2.model")?;
/// let options = EncodeOptions::default().with_allowed_special(["</s>"]);
/// let prepared = tokenizer.prepare_options(&options)?;
/// for text in ["a</s>", "</s>"] {
///     let ids = tokenizer.encoder_of(&prepared)?.encode(text).to_vec();
///     assert_eq!(ids.last().copied(), tokenizer.eos_id());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct PreparedOptions {
    given: EncodeOptions,
    checked: Arc<CheckedOptions>,
    owner: Owner,
}

impl PreparedOptions {
    /// The options as they were given.
    pub fn options(&self) -> &EncodeOptions {
        &self.given
    }

    pub(super) fn as_checked(&self) -> &CheckedOptions {
        &self.checked
    }
}

impl Tokenizer {
    /// Checks options for many calls of [`encoder_of`](Self::encoder_of).
    ///
    /// # Errors
    /// As [`encoder_with`](Self::encoder_with).
    pub fn prepare_options(&self, options: &EncodeOptions) -> Result<PreparedOptions, EncodeError> {
        Ok(PreparedOptions {
            checked: self.prepare(options)?.options,
            given: options.clone(),
            owner: Arc::clone(self.tables.by_default().pool().owner()),
        })
    }

    /// The options, checked against this tokenizer.
    pub(super) fn checked(
        &self,
        options: &PreparedOptions,
    ) -> Result<Arc<CheckedOptions>, EncodeError> {
        if Arc::ptr_eq(&options.owner, self.tables.by_default().pool().owner()) {
            return Ok(Arc::clone(&options.checked));
        }
        Ok(self.prepare(&options.given)?.options)
    }

    /// An encoder with these options. Those of another tokenizer are checked again.
    ///
    /// # Errors
    /// As [`encoder_with`](Self::encoder_with): none for options of this tokenizer.
    pub fn encoder_of(&self, options: &PreparedOptions) -> Result<Encoder<'_>, EncodeError> {
        let checked = self.checked(options)?;
        let tables = self
            .tables
            .with_symbols(options.given.user_defined_symbols)?;
        Ok(Encoder::new(self, tables, Some(checked)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_another_tokenizer_are_checked_again() {
        let open = |path: &str| {
            let root = env!("CARGO_MANIFEST_DIR");
            Tokenizer::open(format!("{root}/testdata/{path}")).unwrap()
        };
        let [llama, unigram] = ["golden/llama2.model", "run/unigram.model"].map(open);
        for symbols in [true, false] {
            let options = EncodeOptions::default()
                .with_allowed_special(["</s>"])
                .with_user_defined_symbols(symbols);
            let prepared = llama.prepare_options(&options).unwrap();
            assert_eq!(prepared.options(), &options);
            for tokenizer in [&llama, &unigram] {
                let mut encoder = tokenizer.encoder_of(&prepared).unwrap();
                let mut expected = tokenizer.encoder_with(&options).unwrap();
                assert_eq!(encoder.encode("a</s>b"), expected.encode("a</s>b"));
            }
        }
        let options = EncodeOptions::default().with_allowed_special(["<nothing>"]);
        assert!(llama.prepare_options(&options).is_err());
    }
}
