//! Specs -> normalizers.
//!
//! [`normalize`](crate::normalize) does not know the file format. Charsmaps are parsed and checked
//! once, when a model is made, and are shared from then on, so the functions that return
//! normalizers cannot fail.

use std::sync::Arc;

use super::Model;
use super::file::{field, read};
use super::spec::{NormalizerSpec, Spec};
use super::wire::write_bytes_field;
use crate::base::lossy_string;
use crate::model::ModelError;
use crate::model::text_normalizer::TextNormalizer;
#[cfg(feature = "train")]
use crate::model::text_normalizer::rules::{charsmap_of_rules, charsmap_of_tsv, named_charsmap};
use crate::normalize::charsmap::Charsmap;
use crate::normalize::{Normalizer, NormalizerOptions};

impl Model {
    /// The normalizer of text that is to be encoded, without user-defined symbols.
    pub(crate) fn normalizer(&self) -> Normalizer {
        Normalizer::new(self.normalizer_options(), self.charsmap.clone())
    }

    /// The treatment of spaces in text that is to be encoded, from the specs.
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
    /// The normalizer of a model, without its user-defined symbols. The charsmap is shared with the
    /// model.
    pub fn of_model(model: &Model) -> Self {
        Self::from_normalizer(model.normalizer())
    }

    /// The normalizer that a spec describes.
    ///
    /// # Errors
    /// Its charsmap is damaged.
    pub fn of_spec(spec: &NormalizerSpec) -> Result<Self, ModelError> {
        let charsmap = parse_charsmap(Some(spec), SPEC_FIELD)?;
        let normalizer = Normalizer::new(options(spec, false), charsmap);
        Ok(Self::from_normalizer(normalizer))
    }
}

/// The name of a spec in errors.
const SPEC_FIELD: &str = "normalizer_spec";

/// Specs without a model: as messages, or as the only content of a `.model` file.
impl NormalizerSpec {
    /// Reads a `NormalizerSpec` message of protobuf. Unknown fields are ignored.
    ///
    /// # Errors
    /// The bytes are not a message.
    pub fn from_bytes(message: &[u8]) -> Result<Self, ModelError> {
        let mut spec = Self::default();
        spec.merge(message)
            .map_err(|problem| ModelError::Format { offset: 0, problem })?;
        Ok(spec)
    }

    /// The spec of a `.model` file. The pieces are not validated, and there need not be any.
    ///
    /// # Errors
    /// The bytes are not a model file.
    pub fn from_model_bytes(file: &[u8]) -> Result<Self, ModelError> {
        let (_, specs) = read(file)?;
        Ok(specs.normalizer.unwrap_or_default())
    }

    /// The message, with its fields in the order of their numbers.
    ///
    /// ```
    /// use spiece::NormalizerSpec;
    /// let mut spec = NormalizerSpec::default();
    /// spec.add_dummy_prefix = Some(false);
    /// assert_eq!(spec.to_bytes(), [0x18, 0]);
    /// assert_eq!(NormalizerSpec::from_bytes(&[0x18, 0])?, spec);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        self.encode()
    }

    /// A `.model` file that contains nothing but this spec, as the reference's
    /// `SentencePieceNormalizer` writes it.
    pub fn to_model_bytes(&self) -> Vec<u8> {
        let mut file = Vec::new();
        write_bytes_field(field::NORMALIZER_SPEC, &self.encode(), &mut file);
        file
    }

    /// The rules of the spec, sorted by source: pairs of a source and its replacement.
    ///
    /// # Errors
    /// The charsmap is damaged.
    pub fn rules(&self) -> Result<Vec<(String, String)>, ModelError> {
        let rules = parse_charsmap(Some(self), SPEC_FIELD)?;
        charsmap_rules(rules.as_deref())
    }
}

/// Specs of rules from elsewhere.
#[cfg(feature = "train")]
impl NormalizerSpec {
    /// The spec of built-in rules: identity, nfkc, nmt_nfkc, nfkc_cf or nmt_nfkc_cf.
    ///
    /// # Errors
    /// There are no rules with this name.
    pub fn named(name: &str) -> Result<Self, ModelError> {
        let mut spec = Self::default();
        spec.set_rules(name, named_charsmap(name)?);
        Ok(spec)
    }

    /// The spec of the rules of a TSV file. Each line has the code points of the source in
    /// hexadecimal, a tab, and the code points of the replacement.
    ///
    /// # Errors
    /// A line is not a rule, or the rules cannot be compiled.
    pub fn from_tsv(file: &[u8]) -> Result<Self, ModelError> {
        let mut spec = Self::default();
        spec.set_rules("user_defined", &charsmap_of_tsv(file)?);
        Ok(spec)
    }

    /// The spec of a list of rules: pairs of a source and its replacement. It has no name.
    ///
    /// ```
    /// let spec = spiece::NormalizerSpec::from_rules([("a", "b")])?;
    /// assert_eq!(spec.rules()?, [("a".to_owned(), "b".to_owned())]);
    /// # Ok::<(), spiece::ModelError>(())
    /// ```
    ///
    /// # Errors
    /// As [`TextNormalizer::from_rules`].
    pub fn from_rules<S: AsRef<str>, T: AsRef<str>>(
        rules: impl IntoIterator<Item = (S, T)>,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            precompiled_charsmap: Some(charsmap_of_rules(rules)?),
            ..Self::default()
        })
    }
}

/// The rules of a charsmap as text; empty without a charsmap.
///
/// # Errors
/// The table of rules is cyclic.
pub(super) fn charsmap_rules(
    charsmap: Option<&Charsmap>,
) -> Result<Vec<(String, String)>, ModelError> {
    let Some(charsmap) = charsmap else {
        return Ok(Vec::new());
    };
    let rules = charsmap.rules().ok_or_else(cyclic_rules)?;
    Ok(rules
        .into_iter()
        .map(|(source, target)| (lossy_string(&source), lossy_string(&target)))
        .collect())
}

fn cyclic_rules() -> ModelError {
    ModelError::Charsmap {
        field: SPEC_FIELD,
        source: "cyclic rule table; the model file is damaged, get a fresh copy".into(),
    }
}

/// The treatment of spaces, from a spec.
fn options(spec: &NormalizerSpec, treat_whitespace_as_suffix: bool) -> NormalizerOptions {
    NormalizerOptions {
        add_dummy_prefix: spec.add_dummy_prefix(),
        remove_extra_whitespaces: spec.remove_extra_whitespaces(),
        escape_whitespaces: spec.escape_whitespaces(),
        treat_whitespace_as_suffix,
    }
}

/// The rules of a spec, if it has any; `field` names the spec in the error.
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
