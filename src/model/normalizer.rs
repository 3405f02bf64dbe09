//! Specs -> normalizers.
//!
//! Input: a [`NormalizerSpec`]. Output: the types of [`normalize`](crate::normalize), which does not know the file
//! format: [`NormalizerOptions`] and a [`Charsmap`]. The charsmaps are parsed and checked once, when a model is made, and
//! are shared from then on, so that the functions that return normalizers cannot fail.
//!
//! Cost: parsing is linear in the charsmap (240 KB for NFKC); the other functions copy a few words.

use std::sync::Arc;

use super::Model;
use super::spec::NormalizerSpec;
use crate::error::ModelError;
use crate::normalize::charsmap::Charsmap;
use crate::normalize::standalone::TextNormalizer;
use crate::normalize::{Normalizer, NormalizerOptions};

impl Model {
    /// The normalizer of text before it is encoded, without user-defined symbols.
    pub(crate) fn normalizer(&self) -> Normalizer {
        Normalizer::new(self.normalizer_options(), self.charsmap.clone())
    }

    /// What the specs say about spaces in text before it is encoded.
    fn normalizer_options(&self) -> NormalizerOptions {
        options(
            self.normalizer_spec(),
            self.trainer_spec().treat_whitespace_as_suffix(),
        )
    }

    /// The normalizer of decoded text; `None` if decoded text is not changed.
    pub(crate) fn denormalizer(&self) -> Option<Normalizer> {
        let charsmap = self.denormalizer_charsmap.clone()?;
        let options = options(self.denormalizer_spec()?, false);
        Some(Normalizer::new(options, Some(charsmap)))
    }
}

impl TextNormalizer {
    /// The normalizer of a model, without its user-defined symbols. The charsmap is shared with the model.
    pub fn of_model(model: &Model) -> TextNormalizer {
        TextNormalizer::from_normalizer(model.normalizer())
    }
}

/// What a spec says about spaces.
fn options(spec: &NormalizerSpec, treat_whitespace_as_suffix: bool) -> NormalizerOptions {
    NormalizerOptions {
        add_dummy_prefix: spec.add_dummy_prefix(),
        remove_extra_whitespaces: spec.remove_extra_whitespaces(),
        escape_whitespaces: spec.escape_whitespaces(),
        treat_whitespace_as_suffix,
    }
}

/// The rules of a spec, if it has any; `field` names the spec in the error.
///
/// # Errors
/// The charsmap is damaged.
pub(super) fn parse_charsmap(
    spec: Option<&NormalizerSpec>,
    field: &'static str,
) -> Result<Option<Arc<Charsmap>>, ModelError> {
    let bytes = spec.map_or(&[][..], NormalizerSpec::precompiled_charsmap);
    Charsmap::shared(bytes).map_err(|error| ModelError::Charsmap {
        field,
        source: error.into(),
    })
}
