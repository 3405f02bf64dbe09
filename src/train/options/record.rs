//! The options that a model records, as flags again.
//!
//! Not everything in a record is a flag of today: old releases recorded more, rules of
//! normalization are recorded as what they were compiled to, and a model can be changed after its
//! training. Some flags change a model and are recorded nowhere. Each such thing is a
//! [`RecordGap`].

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use super::{
    PIECE_LENGTH, SENTENCE_LENGTH, SentenceSelection, SpecRecording, TrainFlags, TrainOptions,
};
use crate::model::{Model, ModelType, NormalizerSpec};
use crate::normalize::charsmap::builtin_charsmap;

/// How many symbols the text form of a gap lists.
const MAX_LISTED: usize = 3;

/// The options of training that a model records. Made by [`Model::training_record`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TrainingRecord {
    /// The recorded options. [`TrainFlags::recorded`] lists them; a model that is trained with them
    /// records the same ones.
    pub flags: TrainFlags,
    /// What these flags do not say. If there is nothing, they train the same model on the same
    /// corpus, to the byte.
    pub gaps: Vec<RecordGap>,
}

/// Something about the training of a model that the flags of a [`TrainingRecord`] do not say. The
/// text form is a sentence for users.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordGap {
    /// The model records an option that is no flag of training (any more).
    NoFlag {
        /// The name of the field.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The recorded value cannot be given as the value of a flag: it is not UTF-8, or has a NUL.
    Value {
        /// The name of the flag.
        name: &'static str,
        /// The value, with U+FFFD for what is not UTF-8.
        value: String,
    },
    /// The flag changes models of this kind, and no model records it; its default is assumed.
    NotRecorded {
        /// The name of the flag.
        name: &'static str,
    },
    /// The normalizer (or the denormalizer) has rules that no flag gives: those of an unknown file
    /// or name, or other rules than this release has under the name.
    Rules {
        /// The name of the spec: `normalizer_spec` or `denormalizer_spec`.
        spec: &'static str,
        /// The name of the rules.
        name: String,
    },
    /// The model has another number of pieces than it was trained to have, so it was changed
    /// afterwards.
    Changed {
        /// The number of pieces.
        pieces: usize,
        /// The recorded `vocab_size`.
        vocab_size: i32,
    },
    /// A release of SentencePiece trained the model that has other pieces on the same text than the
    /// release that this library follows.
    OlderRelease {
        /// The releases, as a range.
        releases: &'static str,
        /// The type of the model. Word and char models have the same pieces in all releases.
        model_type: ModelType,
        /// Whether tabs of text stay tabs.
        keeps_tabs: bool,
    },
    /// The model was trained from a file that is not read again.
    NotTaken {
        /// The name of the flag.
        name: &'static str,
        /// The file.
        value: String,
    },
    /// Symbols of the model cannot have their ids again.
    SymbolIds {
        /// Their ids in the model, by their texts.
        symbols: BTreeMap<String, u32>,
    },
}

impl fmt::Display for RecordGap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFlag { name, value } => {
                write!(
                    f,
                    "{name}: the model records {value:?}, which is no flag of training"
                )
            }
            Self::Value { name, value } => {
                write!(
                    f,
                    "{name}: the model records {value:?}, which is not UTF-8 or has a NUL"
                )
            }
            Self::NotRecorded { name } => {
                write!(f, "{name}: no model records it; its default is assumed")
            }
            Self::Rules { spec, name } => write!(
                f,
                "{spec}: no flag gives the rules that the model has under the name {name:?}; give \
                 the file that they came from, or train with Model::training_record"
            ),
            Self::Changed { pieces, vocab_size } => write!(
                f,
                "vocab_size: the model has {pieces} pieces and was trained to have {vocab_size}; \
                 it was changed afterwards"
            ),
            Self::OlderRelease {
                releases,
                model_type,
                keeps_tabs,
            } => {
                let difference = match (model_type, keeps_tabs) {
                    (ModelType::Bpe, false) => {
                        "chooses other pieces where merges reach pairs that occur about twice"
                    }
                    (ModelType::Bpe, true) => {
                        "chooses other pieces where merges reach pairs that occur about twice, and \
                         makes pieces with tabs"
                    }
                    (ModelType::Unigram, _) => {
                        "has other scores, and up to a quarter of its pieces are others"
                    }
                    (ModelType::Word | ModelType::Char, _) => "has the same pieces",
                };
                write!(
                    f,
                    "SentencePiece {releases} trained the model; training as of 0.2.3 {difference} \
                     (docs/reference/older_releases.md)"
                )
            }
            Self::NotTaken { name, value } => write!(
                f,
                "{name}: {value:?} was made from another corpus and is not read; name a file to use one"
            ),
            Self::SymbolIds { symbols } => {
                let listed = symbols.iter().take(MAX_LISTED);
                let listed: Vec<String> = listed
                    .map(|(text, id)| format!("{text:?} ({id})"))
                    .collect();
                let more = symbols.len() - listed.len();
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(
                    f,
                    "symbols that cannot keep their ids, and get the lowest free ones: {}{more}",
                    listed.join(", ")
                )
            }
        }
    }
}

impl Model {
    /// The options of training that the model records, as flags that train it again on the same
    /// corpus, and what the flags do not say.
    ///
    /// ```
    /// let model = spiece::Model::open("testdata/golden/llama2.model")?;
    /// let record = model.training_record();
    /// assert!(record.gaps.is_empty());
    /// assert_eq!(record.flags.vocab_size, 4000);
    /// let trained = record.flags.trainer()?.train(record.flags.corpus()?)?;
    /// assert_eq!(trained.to_bytes(), model.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn training_record(&self) -> TrainingRecord {
        let mut flags = TrainFlags {
            recording: SpecRecording::Named,
            ..TrainFlags::for_schema()
        };
        let mut gaps = Vec::new();
        let spec = self.trainer_spec();
        flags.read_trainer_spec(spec, &mut gaps);
        for (name, value) in spec.present_fields() {
            if !TrainFlags::is_recorded_in_trainer_spec(name) {
                gaps.push(RecordGap::NoFlag { name, value });
            }
        }
        if usize::try_from(spec.vocab_size()) != Ok(self.len()) {
            gaps.push(RecordGap::Changed {
                pieces: self.len(),
                vocab_size: spec.vocab_size(),
            });
        }
        gaps.extend(self.older_release());
        flags.read_normalizer(self.normalizer_spec(), &mut gaps);
        if let Some(spec) = self.denormalizer_spec() {
            flags.read_denormalizer(spec, &mut gaps);
        }
        let mut unrecorded = Vec::new();
        if flags.input_sentence_size > 0 && flags.shuffle_input_sentence {
            unrecorded.push("random_seed");
        }
        if flags.model_type == ModelType::Unigram {
            unrecorded.extend([
                "seed_piece_length_power",
                "min_freq_alpha",
                "use_sparse_pruning",
                "post_l1_debias",
            ]);
        }
        gaps.extend(
            unrecorded
                .into_iter()
                .map(|name| RecordGap::NotRecorded { name }),
        );
        TrainingRecord { flags, gaps }
    }
}

impl Model {
    /// Which releases of SentencePiece trained the model, if its pieces depend on that and the file
    /// tells that it was none of today: by its rules, or by fields that were removed. A model that
    /// keeps text as it is and records few options tells nothing.
    fn older_release(&self) -> Option<RecordGap> {
        let model_type = self.model_type();
        if matches!(model_type, ModelType::Word | ModelType::Char) {
            return None;
        }
        let spec = self.normalizer_spec();
        let rules = spec.precompiled_charsmap();
        let name = std::str::from_utf8(spec.name()).ok()?;
        let is_older = match builtin_charsmap(name) {
            Some(Ok(built_in)) => !rules.is_empty() && built_in != rules,
            _ => false,
        };
        let by_rules = is_older
            .then(|| releases_of_rules(name, rules.len()))
            .flatten();
        let mut fields = self.trainer_spec().present_fields();
        let by_field = fields.any(|(name, _)| REMOVED_FIELDS.contains(&name));
        let releases = by_rules.or(by_field.then_some("0.2.1 or older"))?;
        // Of the named rules, those of machine translation make spaces of tabs.
        let keeps_tabs = !name.starts_with("nmt_") || rules.is_empty();
        if releases == "0.2.2" && model_type == ModelType::Bpe && !keeps_tabs {
            return None;
        }
        Some(RecordGap::OlderRelease {
            releases,
            model_type,
            keeps_tabs,
        })
    }
}

/// Fields of `trainer_spec` that 0.2.1 was the last release to have.
const REMOVED_FIELDS: [&str; 8] = [
    "accept_language",
    "self_test_sample_size",
    "mining_sentence_size",
    "training_sentence_size",
    "train_extremely_large_corpus",
    "enable_differential_privacy",
    "differential_privacy_noise_level",
    "differential_privacy_clipping_threshold",
];

/// The releases before the current one that have a charsmap of this name and size.
fn releases_of_rules(name: &str, bytes: usize) -> Option<&'static str> {
    Some(match (name, bytes) {
        ("nmt_nfkc", 237_539)
        | ("nfkc", 237_540)
        | ("nmt_nfkc_cf", 242_634)
        | ("nfkc_cf", 242_635) => "0.1.95 or older",
        ("nmt_nfkc", 237_561)
        | ("nfkc", 237_562)
        | ("nmt_nfkc_cf", 244_410)
        | ("nfkc_cf", 244_411) => "0.1.96 to 0.2.0",
        ("nmt_nfkc_cf", 247_027) | ("nfkc_cf", 247_028) => "0.2.1",
        ("nmt_nfkc", 240_007) => "0.2.1 or 0.2.2",
        // The rules nfkc and nfkc_cf of 0.2.2 are those of 0.2.3.
        ("nfkc", 240_008) => "0.2.1",
        ("nmt_nfkc_cf", 247_164) => "0.2.2",
        // Before the oldest release that a package of Python can be had of.
        ("nmt_nfkc" | "nfkc", 237_484 | 237_538) => "0.1.85 or older",
        _ => return None,
    })
}

impl TrainFlags {
    /// The names and values of the flags that a model trained with these flags records, in the
    /// order of [`TrainFlags::DESCRIPTORS`] and the notation of [`TrainFlags::set`].
    pub fn recorded(&self) -> impl Iterator<Item = (&'static str, String)> {
        let defaults = Self::default();
        Self::DESCRIPTORS.iter().filter_map(move |option| {
            let name = option.name;
            let value = self.get(name)?;
            let is_changed = Some(&value) != defaults.get(name).as_ref();
            self.is_recorded(name, is_changed).then_some((name, value))
        })
    }

    /// Takes over what a normalizer records.
    fn read_normalizer(&mut self, spec: &NormalizerSpec, gaps: &mut Vec<RecordGap>) {
        let name = String::from_utf8_lossy(spec.name()).into_owned();
        let rules = spec.precompiled_charsmap();
        let built_in = builtin_charsmap(if name.is_empty() { "identity" } else { &name });
        let path = self.read_rule_file(spec, "normalization_rule_tsv", gaps);
        if !path.is_empty() {
            self.normalization_rule_tsv = path;
        } else if matches!(built_in, Some(Ok(built_in)) if built_in == rules) {
            self.normalization_rule_name = if name.is_empty() {
                "identity".to_owned()
            } else {
                name
            };
            self.named.insert("normalization_rule_name");
        } else {
            self.normalizer = Some(spec.clone());
            let spec = "normalizer_spec";
            gaps.push(RecordGap::Rules { spec, name });
        }
        if let Some(value) = spec.add_dummy_prefix {
            self.add_dummy_prefix = value;
            self.named.insert("add_dummy_prefix");
        }
        if let Some(value) = spec.remove_extra_whitespaces {
            self.remove_extra_whitespaces = value;
            self.named.insert("remove_extra_whitespaces");
        }
        for (name, value) in spec.present_fields() {
            if matches!(name, "escape_whitespaces" | "encode_case" | "decode_case") {
                gaps.push(RecordGap::NoFlag { name, value });
            }
        }
    }

    /// Takes over what a denormalizer records. It has rules only if they came from a file.
    fn read_denormalizer(&mut self, spec: &NormalizerSpec, gaps: &mut Vec<RecordGap>) {
        let path = self.read_rule_file(spec, "denormalization_rule_tsv", gaps);
        if path.is_empty() && !spec.precompiled_charsmap().is_empty() {
            let name = String::from_utf8_lossy(spec.name()).into_owned();
            let spec = "denormalizer_spec";
            gaps.push(RecordGap::Rules { spec, name });
        }
        self.denormalization_rule_tsv = path;
    }

    /// The recorded path of a file of rules; empty if there is none.
    fn read_rule_file(
        &mut self,
        spec: &NormalizerSpec,
        name: &'static str,
        gaps: &mut Vec<RecordGap>,
    ) -> String {
        let Some(path) = &spec.normalization_rule_tsv else {
            return String::new();
        };
        self.named.insert(name);
        flag_text(path).unwrap_or_else(|value| {
            gaps.push(RecordGap::Value { name, value });
            String::new()
        })
    }
}

/// Recorded bytes as the value of a flag; an error with what can be shown of them otherwise.
pub(super) fn flag_text(bytes: &[u8]) -> Result<String, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(text.to_owned()),
        _ => Err(String::from_utf8_lossy(bytes).into_owned()),
    }
}

impl TrainOptions {
    /// The rules for pieces and sentences that a model was trained with, as its trainer spec
    /// records them. A length or coverage outside the range of its option is clamped to the range;
    /// a negative length becomes the default. The treatment of whitespace is taken from the
    /// normalizer. The vocabulary and the normalization rules are not taken over, and all sentences
    /// are used.
    pub fn of_model(model: &Model) -> Self {
        let spec = model.trainer_spec();
        let defaults = Self::default();
        let within = |recorded: i32, default: u32, range: &RangeInclusive<u32>| {
            let length = u32::try_from(recorded).unwrap_or(default);
            length.clamp(*range.start(), *range.end())
        };
        let options = Self {
            model_type: model.model_type(),
            sentences: SentenceSelection::All,
            max_sentence_length: within(
                spec.max_sentence_length(),
                defaults.max_sentence_length,
                &SENTENCE_LENGTH,
            ),
            max_sentencepiece_length: within(
                spec.max_sentencepiece_length(),
                defaults.max_sentencepiece_length,
                &PIECE_LENGTH,
            ),
            character_coverage: spec.character_coverage().clamp(0.98, 1.0),
            byte_fallback: spec.byte_fallback(),
            split_by_unicode_script: spec.split_by_unicode_script(),
            split_by_number: spec.split_by_number(),
            split_by_whitespace: spec.split_by_whitespace(),
            split_digits: spec.split_digits(),
            allow_whitespace_only_pieces: spec.allow_whitespace_only_pieces(),
            pretokenization_delimiter: String::from_utf8_lossy(spec.pretokenization_delimiter())
                .into_owned(),
            ..defaults
        };
        options.with_normalization_of(model)
    }

    /// The options with the model's treatment of whitespace.
    pub(crate) fn with_normalization_of(self, model: &Model) -> Self {
        let normalizer = model.normalizer().options();
        Self {
            treat_whitespace_as_suffix: normalizer.treat_whitespace_as_suffix,
            add_dummy_prefix: normalizer.add_dummy_prefix,
            remove_extra_whitespaces: normalizer.remove_extra_whitespaces,
            ..self
        }
    }
}
