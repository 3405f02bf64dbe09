//! The options of a model for training another one like it: everything that was not learned.
//!
//! | what | where from |
//! |---|---|
//! | options of training | `trainer_spec` |
//! | rules of the normalizer and the denormalizer | the compiled rules of the model; a path is not read again |
//! | treatment of whitespace | `normalizer_spec` |
//! | special pieces, symbols and byte pieces, with their ids | the pieces of the model, where they are not what the options say |
//! | number of pieces | the pieces of the model |
//!
//! What belongs to the corpus is not taken: the files `input` with their `input_format`, the name
//! `model_prefix`, the candidates `seed_sentencepieces_file`, and the limits
//! `mining_sentence_size` and `training_sentence_size` of old releases. `required_chars` and the
//! limits `input_sentence_size` and `max_sentence_length` are decisions about any corpus, and are
//! taken. `accept_language`, `self_test_sample_size` and `train_extremely_large_corpus` never had an
//! effect on pieces. What no model records has its default.

use std::collections::{BTreeMap, HashSet};

use super::meta_pieces::MetaPieces;
use super::options::{OptionError, RecordGap, TrainFlags, TrainingRecord};
use crate::base::WHITESPACE_MARK;
use crate::model::{Model, ModelType};
use crate::piece::PieceKind;

/// Flags that belong to the corpus.
const OF_CORPUS: [&str; 4] = [
    "input",
    "input_format",
    "model_prefix",
    "seed_sentencepieces_file",
];

/// Recorded options of old releases that are not missed: they belong to the corpus, or have no
/// effect on pieces.
const NOT_MISSED: [&str; 5] = [
    "accept_language",
    "self_test_sample_size",
    "mining_sentence_size",
    "training_sentence_size",
    "train_extremely_large_corpus",
];

impl Model {
    /// The options that train a model like this one on another corpus, and what cannot be like it:
    /// all options that the model records, its compiled rules of normalization, its special pieces
    /// and symbols with their ids, and its number of pieces.
    ///
    /// Symbols that were added after training count as control or user-defined symbols. Options that
    /// belong to the old corpus are not taken: `input`, `input_format`, `model_prefix`,
    /// `seed_sentencepieces_file`. Set what is to be otherwise with
    /// [`TrainingRecord::set_flags`].
    ///
    /// ```
    /// use spiece::{Corpus, Model};
    ///
    /// let old = Model::open("testdata/golden/llama2.model")?;
    /// let mut like = old.training_like();
    /// like.set_flags([("vocab_size", "270"), ("hard_vocab_limit", "false")])?;
    /// let new = like.flags.trainer()?.train(Corpus::texts(["low lower lowest"; 9]))?;
    /// assert!(new.trainer_spec().byte_fallback());
    /// assert_eq!(new.normalizer_spec().name(), old.normalizer_spec().name());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn training_like(&self) -> TrainingRecord {
        let TrainingRecord { mut flags, gaps } = self.training_record();
        let mut gaps: Vec<RecordGap> = gaps.into_iter().filter(is_missed).collect();
        if !flags.seed_sentencepieces_file.is_empty() {
            gaps.push(RecordGap::NotTaken {
                name: "seed_sentencepieces_file",
                value: flags.seed_sentencepieces_file.clone(),
            });
        }
        for name in OF_CORPUS {
            flags.forget(name);
        }
        flags.take_rules(self);
        // Every piece has an id of 31 bits.
        if let Ok(pieces) = i32::try_from(self.len()) {
            flags.vocab_size = pieces;
        }
        flags.take_symbols(self, &mut gaps);
        TrainingRecord { flags, gaps }
    }
}

/// Whether a model that is like another one lacks what the gap says.
fn is_missed(gap: &RecordGap) -> bool {
    match gap {
        RecordGap::NoFlag { name, value } => {
            let has_no_effect = match *name {
                // What normalizers do anyway.
                "escape_whitespaces" => value == "true",
                "encode_case" | "decode_case" => value == "false",
                name if name.starts_with("differential_privacy_") => true,
                "enable_differential_privacy" => value == "false",
                name => NOT_MISSED.contains(&name),
            };
            !has_no_effect
        }
        RecordGap::Value { name, .. } => {
            let of_rules = ["normalization_rule_tsv", "denormalization_rule_tsv"];
            !OF_CORPUS.contains(name) && !of_rules.contains(name)
        }
        // The rules are taken as they are, and a seed only selects from one corpus. The other flags
        // are younger than the models that lack them, but for those of today's release.
        RecordGap::Rules { .. } | RecordGap::NotRecorded { .. } => false,
        RecordGap::Changed { .. }
        | RecordGap::OlderRelease { .. }
        | RecordGap::NotTaken { .. }
        | RecordGap::SymbolIds { .. } => true,
    }
}

impl TrainingRecord {
    /// Sets flags by name, as [`TrainFlags::set`]; they take the place of what the model says. Of a
    /// name that is repeated, the last value counts.
    ///
    /// A symbol whose id they leave no room for gets the lowest free one, and is a
    /// [`RecordGap::SymbolIds`].
    ///
    /// # Errors
    /// As [`TrainFlags::set`].
    pub fn set_flags<'f>(
        &mut self,
        flags: impl IntoIterator<Item = (&'f str, &'f str)>,
    ) -> Result<(), OptionError> {
        for (name, value) in flags {
            self.flags.set(name, value)?;
            self.gaps.retain(|gap| match gap {
                RecordGap::NoFlag { name: gap, .. }
                | RecordGap::Value { name: gap, .. }
                | RecordGap::NotRecorded { name: gap }
                | RecordGap::NotTaken { name: gap, .. } => *gap != name,
                RecordGap::Changed { .. } => name != "vocab_size",
                RecordGap::Rules { .. }
                | RecordGap::OlderRelease { .. }
                | RecordGap::SymbolIds { .. } => true,
            });
        }
        self.gaps.extend(self.flags.give_up_symbol_ids());
        Ok(())
    }
}

impl TrainFlags {
    /// Takes the rules of the model as they are compiled.
    fn take_rules(&mut self, model: &Model) {
        let spec = model.normalizer_spec();
        let is_of_file = !spec.normalization_rule_tsv().is_empty();
        self.forget("normalization_rule_tsv");
        if spec.precompiled_charsmap().is_empty() {
            // Whatever the name says: without rules, text stays as it is.
            self.normalizer = None;
            "identity".clone_into(&mut self.normalization_rule_name);
        } else if self.normalizer.is_some() || is_of_file {
            let mut spec = spec.clone();
            spec.normalization_rule_tsv = None;
            spec.encode_case = None;
            spec.decode_case = None;
            self.normalizer = Some(spec);
            self.forget("normalization_rule_name");
        }
        self.forget("denormalization_rule_tsv");
        let denormalizer = model.denormalizer_spec();
        let denormalizer = denormalizer.filter(|spec| !spec.precompiled_charsmap().is_empty());
        self.denormalizer = denormalizer.cloned();
    }

    /// Makes the flags give the pieces of the model that are not learned, with their ids.
    fn take_symbols(&mut self, model: &Model, gaps: &mut Vec<RecordGap>) {
        let pieces = MetaPieces::of_model(model);
        if self.meta_pieces().as_ref() == Some(&pieces) {
            return;
        }
        // The pieces are no longer what the options say: they were edited.
        let ids: BTreeMap<&str, (usize, PieceKind)> = pieces
            .iter()
            .map(|(id, text, kind)| (text, (id, kind)))
            .collect();
        let flag_id = |id: usize| i32::try_from(id).unwrap_or(-1);
        self.unk_id = -1;
        if let Some((id, text)) = pieces.unknown() {
            self.unk_id = flag_id(id);
            text.clone_into(&mut self.unk_piece);
        }
        let symbols = [&self.control_symbols, &self.user_defined_symbols];
        let is_symbol = |text: &String| symbols.iter().any(|list| list.contains(text));
        let role_id = |text: &String, id: i32| match ids.get(text.as_str()) {
            // It has no id as a role, but one as a symbol.
            Some(_) if id < 0 && is_symbol(text) => id,
            Some((id, PieceKind::Control | PieceKind::UserDefined)) => flag_id(*id),
            _ => -1,
        };
        (self.bos_id, self.eos_id, self.pad_id) = (
            role_id(&self.bos_piece, self.bos_id),
            role_id(&self.eos_piece, self.eos_id),
            role_id(&self.pad_piece, self.pad_id),
        );
        // The recorded symbols that the model still has stay in their order; the others follow by id.
        let symbols_of = |recorded: &[String], kind: PieceKind| {
            let has_kind = |text: &str| ids.get(text).is_some_and(|(_, found)| *found == kind);
            let recorded = recorded.iter().map(String::as_str);
            let all = recorded.filter(|text| has_kind(text));
            let mut seen = HashSet::new();
            let mut symbols = Vec::new();
            for text in all.chain(
                pieces
                    .iter()
                    .map(|(_, text, _)| text)
                    .filter(|text| has_kind(text)),
            ) {
                let is_role = kind == PieceKind::Control && self.has_role(text);
                // In word models, a user-defined symbol is followed by its copy with whitespace.
                let is_copy = self.model_type == ModelType::Word
                    && text
                        .strip_prefix(WHITESPACE_MARK)
                        .is_some_and(|text| seen.contains(text));
                if !is_role && !is_copy && seen.insert(text) {
                    symbols.push(text.to_owned());
                }
            }
            symbols
        };
        let control = symbols_of(&self.control_symbols, PieceKind::Control);
        let user_defined = symbols_of(&self.user_defined_symbols, PieceKind::UserDefined);
        self.control_symbols = control;
        self.user_defined_symbols = user_defined;
        self.byte_fallback = pieces.has_bytes();
        let symbols = pieces.iter().filter(|(_, text, _)| !self.has_role(text));
        let symbols =
            symbols.filter_map(|(id, text, _)| Some((text.to_owned(), u32::try_from(id).ok()?)));
        self.symbol_ids = symbols.collect();
        gaps.extend(self.give_up_symbol_ids());
        // What the options cannot express. If they are refused, training says why.
        let Some(new) = self.meta_pieces() else {
            return;
        };
        let has_id = |id: usize, text: &str| new.get(id).is_some_and(|(new, _)| new == text);
        let lost = pieces.iter().filter(|(id, text, _)| !has_id(*id, text));
        let lost =
            lost.filter_map(|(id, text, _)| Some((text.to_owned(), u32::try_from(id).ok()?)));
        gaps.extend(gap_of(lost.collect()));
    }

    /// Whether the text is that of a special piece with an id.
    fn has_role(&self, text: &str) -> bool {
        self.roles()
            .iter()
            .any(|(role, id)| *role == text && *id >= 0)
    }

    /// The texts and ids of the special pieces.
    fn roles(&self) -> [(&str, i32); 4] {
        [
            (&self.unk_piece, self.unk_id),
            (&self.bos_piece, self.bos_id),
            (&self.eos_piece, self.eos_id),
            (&self.pad_piece, self.pad_id),
        ]
    }

    /// The pieces that these flags give; `None` if they give none.
    fn meta_pieces(&self) -> Option<MetaPieces> {
        MetaPieces::new(&self.options().ok()?).ok()
    }

    /// Removes the ids of symbols that are no ids of the vocabulary, or those of special pieces.
    fn give_up_symbol_ids(&mut self) -> Option<RecordGap> {
        let vocab_size = u32::try_from(self.vocab_size).unwrap_or(0);
        let roles = self.roles().map(|(_, id)| u32::try_from(id).ok());
        let (given_up, kept) = std::mem::take(&mut self.symbol_ids)
            .into_iter()
            .partition(|(_, id)| *id >= vocab_size || roles.contains(&Some(*id)));
        self.symbol_ids = kept;
        gap_of(given_up)
    }
}

/// The gap of symbols without their ids, if there are any.
fn gap_of(symbols: BTreeMap<String, u32>) -> Option<RecordGap> {
    (!symbols.is_empty()).then_some(RecordGap::SymbolIds { symbols })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelBuilder;
    use crate::normalize::charsmap::compile;
    use crate::normalize::rules::parse_tsv;
    use crate::train::options::SpecRecording;
    use crate::train::{Corpus, NormalizationRules};

    const LINES: [&str; 4] = [
        "pen pineapple apple pen",
        "an apple a day",
        "7 8 9",
        "apple-pen",
    ];

    fn train(flags: &TrainFlags) -> Model {
        flags
            .trainer()
            .unwrap()
            .train(Corpus::texts(LINES))
            .unwrap()
    }

    fn symbols(model: &Model) -> Vec<(usize, String, PieceKind)> {
        let pieces = MetaPieces::of_model(model);
        let pieces = pieces.iter();
        pieces
            .map(|(id, text, kind)| (id, text.to_owned(), kind))
            .collect()
    }

    /// A model of the pieces, and after them characters.
    fn model_of(pieces: &[(&str, PieceKind)], change: impl Fn(&mut ModelBuilder)) -> Model {
        let mut builder = Model::builder();
        builder.model_type(ModelType::Bpe);
        for (text, kind) in pieces {
            builder.piece(text, 0.0, *kind);
        }
        change(&mut builder);
        builder.build().unwrap()
    }

    #[test]
    fn a_model_like_another_one_on_the_same_corpus_is_the_same_model() {
        let cases: &[&[(&str, &str)]] = &[
            &[],
            &[
                ("model_type", "unigram"),
                ("shrinking_factor", "0.9"),
                ("pad_id", "3"),
            ],
            &[("model_type", "word"), ("user_defined_symbols", "pen")],
            &[("model_type", "char"), ("required_chars", "xyz")],
            &[
                ("byte_fallback", "true"),
                ("unk_id", "-1"),
                ("vocab_size", "300"),
            ],
            &[
                ("control_symbols", "<s>,<sep>"),
                ("user_defined_symbols", "</s>,9"),
                ("unk_id", "5"),
            ],
            &[
                ("normalization_rule_name", "nfkc_cf"),
                ("remove_extra_whitespaces", "false"),
            ],
            &[
                ("input_sentence_size", "200"),
                ("split_digits", "true"),
                ("treat_whitespace_as_suffix", "1"),
            ],
        ];
        for recording in [SpecRecording::Named, SpecRecording::All] {
            for settings in cases {
                let mut flags = TrainFlags::default();
                flags.recording = recording;
                for (name, value) in [("vocab_size", "40"), ("hard_vocab_limit", "false")] {
                    flags.set(name, value).unwrap();
                }
                for (name, value) in *settings {
                    flags.set(name, value).unwrap();
                }
                let model = train(&flags);
                let mut like = model.training_like();
                assert_eq!(like.gaps, [], "{settings:?}");
                // It is recorded although it has no value.
                like.flags.recording = recording;
                let again = train(&like.flags);
                assert_eq!(again.to_bytes(), model.to_bytes(), "{settings:?}");
            }
        }
    }

    #[test]
    fn what_belongs_to_the_corpus_is_not_taken() {
        let model = model_of(
            &[("<unk>", PieceKind::Unknown), ("a", PieceKind::Normal)],
            |builder| {
                let spec = builder.trainer_spec_mut();
                spec.input.push(b"old.txt");
                spec.input_format = Some(b"tsv".to_vec());
                spec.model_prefix = Some(b"old".to_vec());
                spec.seed_sentencepieces_file = Some(b"seeds.tsv".to_vec());
                spec.mining_sentence_size = Some(1000);
                spec.required_chars = Some(b"xyz".to_vec());
                spec.max_sentence_length = Some(99);
            },
        );
        let record = model.training_like();
        let flags = record.flags;
        assert!(
            flags.input.is_empty()
                && flags.input_format.is_empty()
                && flags.model_prefix.is_empty()
        );
        assert_eq!(flags.seed_sentencepieces_file, "");
        assert_eq!(
            (
                &*flags.required_chars,
                flags.max_sentence_length,
                flags.vocab_size
            ),
            ("xyz", 99, 2)
        );
        let file = RecordGap::NotTaken {
            name: "seed_sentencepieces_file",
            value: "seeds.tsv".to_owned(),
        };
        assert!(record.gaps.contains(&file));
        let releases = |gap: &RecordGap| {
            matches!(
                gap,
                RecordGap::OlderRelease {
                    releases: "0.2.1 or older",
                    ..
                }
            )
        };
        assert!(record.gaps.iter().any(releases));
        assert!(
            !record
                .gaps
                .iter()
                .any(|gap| matches!(gap, RecordGap::NoFlag { .. }))
        );
    }

    #[test]
    fn compiled_rules_are_taken_and_given_rules_win() {
        let charsmap = compile(&parse_tsv(b"0041\t0061\n").unwrap()).unwrap();
        let pieces = [("<unk>", PieceKind::Unknown), ("a", PieceKind::Normal)];
        let model = model_of(&pieces, |builder| {
            builder
                .normalization_rules("nmt_nfkc", &charsmap)
                .add_dummy_prefix(false);
            builder.normalizer_spec_mut().normalization_rule_tsv = Some(b"no/such/file".to_vec());
            builder.denormalizer_spec_mut().precompiled_charsmap = Some(charsmap.clone());
        });
        let mut like = model.training_like();
        let compiled = |name: &str| NormalizationRules::Compiled {
            name: name.to_owned(),
            charsmap: charsmap.clone(),
        };
        let options = like.flags.options().unwrap();
        assert_eq!(options.normalization, compiled("nmt_nfkc"));
        assert_eq!(options.denormalization, Some(compiled("")));
        assert!(!options.add_dummy_prefix);
        like.set_flags([("add_dummy_prefix", "true")]).unwrap();
        let options = like.flags.options().unwrap();
        assert_eq!(
            (options.normalization, options.add_dummy_prefix),
            (compiled("nmt_nfkc"), true)
        );
        like.set_flags([
            ("normalization_rule_name", "nfkc"),
            ("denormalization_rule_tsv", ""),
        ])
        .unwrap();
        let options = like.flags.options().unwrap();
        assert_eq!(
            options.normalization,
            NormalizationRules::BuiltIn("nfkc".parse().unwrap())
        );
        assert_eq!(
            (options.denormalization, options.add_dummy_prefix),
            (None, true)
        );
        // Without rules, a name says nothing.
        let model = model_of(&pieces, |builder| {
            builder.normalization_rules("nmt_nfkc", b"");
        });
        let options = model.training_like().flags.options().unwrap();
        assert_eq!(
            options.normalization,
            NormalizationRules::BuiltIn("identity".parse().unwrap())
        );
    }

    #[test]
    fn symbols_that_were_added_or_renamed_later_keep_their_ids() {
        let pieces = [
            ("<pad>", PieceKind::Control),
            ("a", PieceKind::Normal),
            ("<mask>", PieceKind::UserDefined),
            ("p", PieceKind::Normal),
            ("[UNK]", PieceKind::Unknown),
            ("e", PieceKind::Normal),
            ("[SEP]", PieceKind::Control),
            ("n", PieceKind::Normal),
            ("</s>", PieceKind::UserDefined),
        ];
        // The record is that of a model with other special pieces.
        let model = model_of(&pieces, |builder| {
            let spec = builder.trainer_spec_mut();
            spec.unk_piece = Some(b"<unk>".to_vec());
            spec.user_defined_symbols = [&b"<gone>"[..], b"[SEP]"].into_iter().collect();
            spec.vocab_size = Some(9);
        });
        let like = model.training_like();
        assert_eq!(like.gaps, []);
        assert_eq!(like.flags.user_defined_symbols, ["<mask>", "</s>"]);
        assert_eq!(like.flags.control_symbols, ["[SEP]"]);
        let trainer = like.flags.trainer().unwrap();
        let new = trainer.train(Corpus::texts(["aaaa aaaa aaaaaa"])).unwrap();
        assert_eq!(symbols(&new), symbols(&model));
        // Those that the vocabulary has no room for get the lowest free ids.
        let mut like = model.training_like();
        like.set_flags([
            ("vocab_size", "8"),
            ("pad_id", "6"),
            ("character_coverage", "0.98"),
        ])
        .unwrap();
        let lost = BTreeMap::from([("[SEP]".to_owned(), 6)]);
        assert!(
            like.gaps.contains(&RecordGap::SymbolIds { symbols: lost }),
            "{:?}",
            like.gaps
        );
        assert!(like.flags.trainer().is_err(), "</s> has the id 8");
        like.set_flags([("eos_id", "1")]).unwrap();
        let pieces = like.flags.meta_pieces().unwrap();
        assert_eq!(pieces.get(0), Some(("[SEP]", PieceKind::Control)));
        assert_eq!(pieces.get(1), Some(("</s>", PieceKind::UserDefined)));
        assert_eq!(pieces.get(6), Some(("<pad>", PieceKind::Control)));
    }

    #[test]
    fn given_symbols_take_the_place_of_those_of_the_model() {
        let pieces = [
            ("<unk>", PieceKind::Unknown),
            ("a", PieceKind::Normal),
            ("<mask>", PieceKind::UserDefined),
            ("[SEP]", PieceKind::Control),
        ];
        let mut like = model_of(&pieces, |_| {}).training_like();
        like.set_flags([("user_defined_symbols", "x,y"), ("vocab_size", "20")])
            .unwrap();
        let found: Vec<_> = like
            .flags
            .meta_pieces()
            .unwrap()
            .iter()
            .map(|(id, text, _)| (id, text.to_owned()))
            .collect();
        let expected = [(0, "<unk>"), (1, "x"), (2, "y"), (3, "[SEP]")];
        assert_eq!(found, expected.map(|(id, text)| (id, text.to_owned())));
    }
}
