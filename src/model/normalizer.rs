//! The normalizers that a model's specs describe.
//!
//! Job: convert the protobuf messages `normalizer_spec` and `denormalizer_spec` to the types of
//! [`normalize`](crate::normalize), which does not know the file format. Cost: reading the charsmap, linear in its
//! size.

use std::sync::Arc;

use super::{Model, proto};
use crate::error::ModelError;
use crate::normalize::charsmap::Charsmap;
use crate::normalize::standalone::TextNormalizer;
use crate::normalize::{Normalizer, NormalizerOptions};

/// The normalizer of `spec`; `field` is the name of the spec in error messages.
///
/// # Errors
/// The spec's charsmap is damaged.
pub(crate) fn normalizer_of(
    spec: &proto::NormalizerSpec,
    treat_whitespace_as_suffix: bool,
    field: &'static str,
) -> Result<Normalizer, ModelError> {
    let options = NormalizerOptions {
        add_dummy_prefix: spec.add_dummy_prefix(),
        remove_extra_whitespaces: spec.remove_extra_whitespaces(),
        escape_whitespaces: spec.escape_whitespaces(),
        treat_whitespace_as_suffix,
    };
    let charsmap = match spec.precompiled_charsmap() {
        [] => None,
        bytes => Some(Arc::new(Charsmap::from_bytes(bytes).map_err(|error| {
            ModelError::Charsmap {
                field,
                source: error.into(),
            }
        })?)),
    };
    Ok(Normalizer::new(options, charsmap))
}

impl TextNormalizer {
    /// The normalizer of a model, without its user-defined symbols.
    ///
    /// # Errors
    /// None for a model that was loaded or trained; its tables are read again.
    pub fn of_model(model: &Model) -> Result<TextNormalizer, ModelError> {
        let is_suffix = model.trainer_spec().treat_whitespace_as_suffix();
        normalizer_of(model.normalizer_spec(), is_suffix, "normalizer_spec")
            .map(TextNormalizer::from_normalizer)
    }
}
