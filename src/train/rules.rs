//! The normalization rules that the options name, compiled, and the specs in which the model records them.

use std::path::Path;
use std::sync::Arc;

use crate::error::TrainError;
use crate::model::{NormalizerSpec, Specs};
use crate::normalize::charsmap::{Charsmap, builtin_charsmap, compile};
use crate::normalize::rules::{BUILTIN_NAMES, parse_tsv};
use crate::train::options::TrainOptions;

/// The name that the model records for rules from a file.
const OWN_RULES: &str = "user_defined";
/// The rules that an empty name stands for.
const DEFAULT_RULES: &str = "nmt_nfkc";

/// Normalizer and denormalizer of a model to be.
pub(crate) struct NormalizerSpecs {
    normalizer: NormalizerSpec,
    denormalizer: Option<NormalizerSpec>,
    /// The normalizer's rules, ready to use; `None` for the identity.
    pub(crate) charsmap: Option<Arc<Charsmap>>,
}

impl NormalizerSpecs {
    pub(crate) fn new(options: &TrainOptions) -> Result<NormalizerSpecs, TrainError> {
        let (name, blob) = if options.normalization_rule_tsv.is_empty() {
            builtin_rules(&options.normalization_rule_name)?
        } else {
            (
                OWN_RULES.to_owned(),
                rules_of_file("normalization_rule_tsv", &options.normalization_rule_tsv)?,
            )
        };
        let charsmap = (!blob.is_empty())
            .then(|| Charsmap::from_bytes(&blob))
            .transpose();
        let charsmap = charsmap.map_err(|error| TrainError::Rules {
            option: "normalization_rule_name",
            problem: error.to_string(),
        })?;
        let normalizer = normalizer_spec(options, name, blob);
        Ok(NormalizerSpecs {
            normalizer,
            denormalizer: denormalizer_spec(options)?,
            charsmap: charsmap.map(Arc::new),
        })
    }

    /// Everything in the model's file but the pieces, of which there are `pieces`.
    pub(crate) fn specs(&self, options: &TrainOptions, pieces: usize) -> Specs {
        let mut trainer_spec = options.trainer_spec();
        if !options.hard_vocab_limit {
            trainer_spec.vocab_size = i32::try_from(pieces).ok();
        }
        Specs {
            trainer: Some(trainer_spec),
            normalizer: Some(self.normalizer.clone()),
            denormalizer: self.denormalizer.clone(),
        }
    }
}

fn normalizer_spec(options: &TrainOptions, name: String, blob: Vec<u8>) -> NormalizerSpec {
    let tsv = &options.normalization_rule_tsv;
    let prefix = options.add_dummy_prefix;
    let remove = options.remove_extra_whitespaces;
    NormalizerSpec {
        name: Some(name.into_bytes()),
        precompiled_charsmap: Some(blob),
        add_dummy_prefix: options
            .is_recorded("add_dummy_prefix", !prefix)
            .then_some(prefix),
        remove_extra_whitespaces: options
            .is_recorded("remove_extra_whitespaces", !remove)
            .then_some(remove),
        normalization_rule_tsv: options
            .is_recorded("normalization_rule_tsv", !tsv.is_empty())
            .then(|| tsv.clone().into_bytes()),
        ..NormalizerSpec::default()
    }
}

fn denormalizer_spec(options: &TrainOptions) -> Result<Option<NormalizerSpec>, TrainError> {
    let tsv = &options.denormalization_rule_tsv;
    if tsv.is_empty() {
        return Ok(None);
    }
    Ok(Some(NormalizerSpec {
        name: Some(OWN_RULES.into()),
        precompiled_charsmap: Some(rules_of_file("denormalization_rule_tsv", tsv)?),
        add_dummy_prefix: Some(false),
        remove_extra_whitespaces: Some(false),
        escape_whitespaces: Some(false),
        normalization_rule_tsv: Some(tsv.clone().into_bytes()),
        ..NormalizerSpec::default()
    }))
}

/// The recorded name and the compiled form of built-in rules.
fn builtin_rules(name: &str) -> Result<(String, Vec<u8>), TrainError> {
    let name = if name.is_empty() { DEFAULT_RULES } else { name };
    let failed = |problem| TrainError::Rules {
        option: "normalization_rule_name",
        problem,
    };
    match builtin_charsmap(name) {
        Some(Ok(blob)) => Ok((name.to_owned(), blob.to_vec())),
        Some(Err(error)) => Err(failed(error.to_string())),
        None => Err(failed(format!(
            "there are no rules {name:?}; use {}",
            BUILTIN_NAMES.join(", ")
        ))),
    }
}

fn rules_of_file(option: &'static str, path: &str) -> Result<Vec<u8>, TrainError> {
    let path = Path::new(path);
    let file = std::fs::read(path).map_err(|source| TrainError::Read {
        path: path.to_owned(),
        source,
    })?;
    let failed = |problem: String| TrainError::Rules {
        option,
        problem: format!("{}: {problem}", path.display()),
    };
    let rules = parse_tsv(&file).map_err(|error| failed(error.to_string()))?;
    compile(&rules).map_err(|error| failed(error.to_string()))
}
