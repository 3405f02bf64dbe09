//! The normalization rules that the options name, compiled, and the specs in which the model
//! records them.
//!
//! A model records a built-in set and compiled rules under their names, and rules in TSV form as
//! `user_defined`.

use std::path::PathBuf;
use std::sync::Arc;

use crate::base::fnv::fnv1a;
use crate::model::{NormalizerSpec, Specs};
use crate::normalize::charsmap::{Charsmap, builtin_charsmap, compile};
use crate::normalize::rules::parse_tsv;
use crate::train::TrainError;
use crate::train::corpus::read_file;

use crate::train::options::{NormalizationRules, RuleSet, TrainFlags, TrainOptions};

/// The name that the model records for rules in TSV form.
const CUSTOM_RULES: &str = "user_defined";

/// The flag that names the normalizer's built-in rules.
const NAME_FLAG: &str = "normalization_rule_name";
/// The flag that names the file of the normalizer's rules.
const TSV_FLAG: &str = "normalization_rule_tsv";
/// The flag that names the file of the denormalizer's rules.
const DENORMALIZER_FLAG: &str = "denormalization_rule_tsv";

/// The normalizer and the denormalizer of the model to be trained.
pub(crate) struct NormalizerSpecs {
    normalizer: NormalizerSpec,
    denormalizer: Option<NormalizerSpec>,
    /// The normalizer's rules, ready to use; `None` for the identity.
    pub(crate) charsmap: Option<Arc<Charsmap>>,
}

impl NormalizerSpecs {
    /// Compiles the rules of `options`; `record` says which options the specs record.
    ///
    /// # Errors
    /// A file that cannot be read, or rules that cannot be compiled.
    pub(crate) fn new(options: &TrainOptions, record: &TrainFlags) -> Result<Self, TrainError> {
        let rules = CompiledRules::new(&options.normalization, TSV_FLAG)?;
        let charsmap = rules.charsmap()?;
        let denormalization = options.denormalization.as_ref();
        let denormalization = denormalization
            .map(|rules| CompiledRules::new(rules, DENORMALIZER_FLAG))
            .transpose()?;
        Ok(Self {
            normalizer: normalizer_spec(rules, record),
            denormalizer: denormalization.map(|rules| denormalizer_spec(rules, record)),
            charsmap,
        })
    }

    /// The name and a hash of the normalizer's rules.
    pub(crate) fn rules_digest(&self) -> String {
        let rules = self.normalizer.precompiled_charsmap();
        let name = String::from_utf8_lossy(self.normalizer.name());
        let hash = fnv1a(rules.iter().copied());
        format!("{name} {hash:016x}")
    }

    /// Everything in the model file except the pieces. If given, `vocab_size` is recorded in place
    /// of the option.
    pub(crate) fn specs(&self, record: &TrainFlags, vocab_size: Option<i32>) -> Specs {
        let mut trainer_spec = record.trainer_spec();
        if vocab_size.is_some() {
            trainer_spec.vocab_size = vocab_size;
        }
        Specs {
            trainer: Some(trainer_spec),
            normalizer: Some(self.normalizer.clone()),
            denormalizer: self.denormalizer.clone(),
        }
    }
}

/// Rules in the form of a model's `precompiled_charsmap`, empty for the identity.
struct CompiledRules {
    /// The name that the model records.
    name: String,
    /// The flag that the rules come from, for errors.
    flag: &'static str,
    blob: Vec<u8>,
}

impl CompiledRules {
    fn new(rules: &NormalizationRules, tsv_flag: &'static str) -> Result<Self, TrainError> {
        match rules {
            NormalizationRules::BuiltIn(set) => Self::built_in(*set),
            NormalizationRules::Tsv(content) => Self::of_tsv(content, tsv_flag, None),
            NormalizationRules::Compiled { name, charsmap } => Ok(Self {
                name: name.clone(),
                flag: NAME_FLAG,
                blob: charsmap.clone(),
            }),
            NormalizationRules::TsvFile(path) => {
                Self::of_tsv(&read_file(path)?, tsv_flag, Some(path.clone()))
            }
        }
    }

    fn built_in(set: RuleSet) -> Result<Self, TrainError> {
        let name = set.name();
        let blob = match builtin_charsmap(name) {
            Some(Ok(blob)) => blob.to_vec(),
            Some(Err(error)) => return Err(rules_error(NAME_FLAG, None, error)),
            None => {
                let problem = format!("there are no built-in rules {name}");
                return Err(rules_error(NAME_FLAG, None, problem));
            }
        };
        Ok(Self {
            name: name.to_owned(),
            flag: NAME_FLAG,
            blob,
        })
    }

    fn of_tsv(
        content: &[u8],
        flag: &'static str,
        path: Option<PathBuf>,
    ) -> Result<Self, TrainError> {
        let rules = parse_tsv(content).map_err(|error| rules_error(flag, path.clone(), error))?;
        let blob = compile(&rules).map_err(|error| rules_error(flag, path, error))?;
        Ok(Self {
            name: CUSTOM_RULES.to_owned(),
            flag,
            blob,
        })
    }

    /// The rules ready to use; `None` for the identity.
    fn charsmap(&self) -> Result<Option<Arc<Charsmap>>, TrainError> {
        if self.blob.is_empty() {
            return Ok(None);
        }
        match Charsmap::from_bytes(&self.blob) {
            Ok(charsmap) => Ok(Some(Arc::new(charsmap))),
            Err(error) => Err(rules_error(self.flag, None, error)),
        }
    }
}

fn rules_error(
    option: &'static str,
    path: Option<PathBuf>,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> TrainError {
    TrainError::Rules {
        option,
        path,
        source: source.into(),
    }
}

fn normalizer_spec(rules: CompiledRules, record: &TrainFlags) -> NormalizerSpec {
    if let Some(spec) = &record.normalizer {
        return NormalizerSpec {
            name: Some(rules.name.into()),
            precompiled_charsmap: Some(rules.blob),
            ..spec.clone()
        };
    }
    let defaults = TrainFlags::default();
    let prefix = record.add_dummy_prefix;
    let remove = record.remove_extra_whitespaces;
    let tsv = &record.normalization_rule_tsv;
    let has_prefix = record.is_recorded("add_dummy_prefix", prefix != defaults.add_dummy_prefix);
    let has_remove = record.is_recorded(
        "remove_extra_whitespaces",
        remove != defaults.remove_extra_whitespaces,
    );
    let has_tsv = record.is_recorded(TSV_FLAG, !tsv.is_empty());
    NormalizerSpec {
        name: Some(rules.name.into()),
        precompiled_charsmap: Some(rules.blob),
        add_dummy_prefix: has_prefix.then_some(prefix),
        remove_extra_whitespaces: has_remove.then_some(remove),
        normalization_rule_tsv: has_tsv.then(|| tsv.clone().into_bytes()),
        ..NormalizerSpec::default()
    }
}

/// The denormalizer only applies its rules: it neither adds nor removes whitespace.
fn denormalizer_spec(rules: CompiledRules, record: &TrainFlags) -> NormalizerSpec {
    let tsv = &record.denormalization_rule_tsv;
    NormalizerSpec {
        name: Some(rules.name.into()),
        precompiled_charsmap: Some(rules.blob),
        add_dummy_prefix: Some(false),
        remove_extra_whitespaces: Some(false),
        escape_whitespaces: Some(false),
        normalization_rule_tsv: (!tsv.is_empty()).then(|| tsv.clone().into_bytes()),
        ..NormalizerSpec::default()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn specs(rules: NormalizationRules) -> Result<NormalizerSpecs, TrainError> {
        let mut options = TrainOptions::default();
        options.normalization = rules;
        let record = TrainFlags::of_options(&options)?;
        NormalizerSpecs::new(&options, &record)
    }

    #[test]
    fn every_rule_set_is_built_in() {
        for set in RuleSet::ALL {
            let specs = specs(NormalizationRules::BuiltIn(set)).unwrap();
            assert_eq!(specs.normalizer.name.unwrap(), set.name().as_bytes());
            assert_eq!(specs.charsmap.is_none(), set == RuleSet::Identity, "{set}");
        }
    }

    #[test]
    fn rules_in_memory_are_the_rules_of_a_file() {
        let tsv = b"0041\t0061\n".to_vec();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.tsv");
        std::fs::write(&path, &tsv).unwrap();
        let in_memory = specs(NormalizationRules::Tsv(tsv)).unwrap().normalizer;
        let of_file = specs(NormalizationRules::TsvFile(path)).unwrap().normalizer;
        assert_eq!(in_memory.name.clone().unwrap(), CUSTOM_RULES.as_bytes());
        assert_eq!(in_memory.precompiled_charsmap, of_file.precompiled_charsmap);
        assert!(in_memory.normalization_rule_tsv.is_none());
        assert!(of_file.normalization_rule_tsv.is_some());
    }

    #[test]
    fn errors_keep_their_cause() {
        let error = specs(NormalizationRules::Tsv(b"x\n".to_vec()))
            .err()
            .unwrap();
        assert!(matches!(&error, TrainError::Rules { option, .. } if *option == TSV_FLAG));
        assert!(error.source().is_some());
        let missing = specs(NormalizationRules::TsvFile("no/such/file".into()))
            .err()
            .unwrap();
        assert!(matches!(missing, TrainError::Read { .. }));
    }
}
