//! Training on anything: small options and a corpus of any bytes.

use std::io::Read;

use arbitrary::{Result, Unstructured};
use spiece::{Corpus, Model, TrainError, TrainFlags};

use super::checks;

/// Options by name, and a corpus.
#[derive(Debug)]
pub struct Case {
    settings: Vec<(&'static str, String)>,
    corpus: Vec<u8>,
}

const FLAGS: &[&str] = &[
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "split_by_unicode_script",
    "split_by_number",
    "split_by_whitespace",
    "split_digits",
    "treat_whitespace_as_suffix",
    "allow_whitespace_only_pieces",
    "byte_fallback",
    "auto_character_coverage",
    "hard_vocab_limit",
    "vocabulary_output_piece_score",
    "shuffle_input_sentence",
    "use_all_vocab",
];

const TEXTS: &[&str] = &[
    "pretokenization_delimiter",
    "control_symbols",
    "user_defined_symbols",
    "required_chars",
    "unk_piece",
    "bos_piece",
    "eos_piece",
    "pad_piece",
    "unk_surface",
];

const MODEL_TYPES: &[&str] = &["bpe", "unigram", "word", "char"];

/// Numbers, with the values that are usual.
const NUMBERS: &[(&str, i32, i32)] = &[
    ("vocab_size", 1, 400),
    ("max_sentence_length", 10, 60),
    ("max_sentencepiece_length", 1, 20),
    ("input_sentence_size", 99, 110),
    ("unk_id", -1, 4),
    ("bos_id", -1, 4),
    ("eos_id", -1, 4),
    ("pad_id", -1, 4),
    ("random_seed", 0, 3),
];

impl Case {
    /// The case that bytes are.
    pub fn new(input: &mut Unstructured<'_>) -> Result<Self> {
        // Built-in rules are compiled for every training, which takes long: the golden tests have
        // them.
        let mut settings = vec![("normalization_rule_name", "identity".to_owned())];
        settings.push(("vocab_size", input.int_in_range(4..=320)?.to_string()));
        settings.push(("hard_vocab_limit", (!input.ratio(3, 4)?).to_string()));
        for _ in 0..input.int_in_range(0..=6)? {
            settings.push(match input.int_in_range(0..=3)? {
                0 | 1 => (
                    *input.choose(FLAGS)?,
                    input.arbitrary::<bool>()?.to_string(),
                ),
                2 => (*input.choose(TEXTS)?, any_text(input)?),
                _ => any_number(input)?,
            });
        }
        if !input.ratio(7, 8)? {
            settings.push(("input_format", "tsv".to_owned()));
        }
        if !input.ratio(7, 8)? {
            settings.push((
                "character_coverage",
                input.choose(&["0.98", "1", "nan", "0.999"])?.to_string(),
            ));
        }
        // Drawn after all other options, so that inputs found earlier keep those.
        let model_type = *input.choose(MODEL_TYPES)?;
        settings.push(("model_type", model_type.to_owned()));
        if model_type == "unigram" {
            draw_unigram_settings(input, &mut settings)?;
        }
        let mut corpus = input.bytes(input.len().min(2000))?.to_vec();
        if corpus.len() < 30 {
            // Little text in many lines, for what needs some hundred of them.
            corpus = [&corpus[..], b"\n"].concat().repeat(130);
        }
        Ok(Self { settings, corpus })
    }

    fn is_unigram(&self) -> bool {
        let is_type = |(name, value): &(&str, String)| *name == "model_type" && value == "unigram";
        self.settings.iter().any(is_type)
    }

    /// `threads` is not set for unigram models, whose scores it would change.
    fn flags(&self, threads: &str) -> Option<TrainFlags> {
        let mut flags = TrainFlags::default();
        for (name, value) in &self.settings {
            flags.set(name, value).ok()?;
        }
        if !self.is_unigram() {
            flags.set("num_threads", threads).ok()?;
        }
        Some(flags)
    }
}

/// What the estimation of unigram models depends on. Few seeds, rounds and partial sums bound the
/// work.
fn draw_unigram_settings(
    input: &mut Unstructured<'_>,
    settings: &mut Vec<(&'static str, String)>,
) -> Result<()> {
    if !input.ratio(1, 2)? {
        let seeds = input.choose(&["0", "1", "20", "300", "-1"])?;
        settings.push(("seed_sentencepiece_size", seeds.to_string()));
        let factor = input.choose(&["0.1", "0.5", "0.75", "0.9", "0", "1", "nan"])?;
        settings.push(("shrinking_factor", factor.to_string()));
        let rounds = input.int_in_range(0..=3)?;
        settings.push(("num_sub_iterations", rounds.to_string()));
    }
    let partials = input.choose(&["1", "2", "3", "7", "16"])?;
    settings.push(("num_threads", partials.to_string()));
    if !input.ratio(1, 2)? {
        draw_program_flags(input, settings)?;
    }
    Ok(())
}

/// The flags that only the program `spm_train` has.
fn draw_program_flags(
    input: &mut Unstructured<'_>,
    settings: &mut Vec<(&'static str, String)>,
) -> Result<()> {
    let power = input.choose(&["1", "0.5", "0", "2", "-1", "0.3", "100", "nan", "-inf"])?;
    settings.push(("seed_piece_length_power", power.to_string()));
    let alpha = input.choose(&["0", "0.5", "10", "-0.001", "-1", "1e30", "inf"])?;
    settings.push(("min_freq_alpha", alpha.to_string()));
    for name in ["use_sparse_pruning", "post_l1_debias"] {
        settings.push((name, input.arbitrary::<bool>()?.to_string()));
    }
    if input.arbitrary()? {
        for name in ["byte_fallback", "auto_character_coverage"] {
            settings.push((name, "true".to_owned()));
        }
        settings.push(("vocab_size", input.int_in_range(260..=400)?.to_string()));
    }
    Ok(())
}

fn any_text(input: &mut Unstructured<'_>) -> Result<String> {
    const SOME: &[&str] = &[
        "", "a", "ab", " ", "\u{2581}", "\u{2585}", "<s>", "<unk>", "<0x41>", "\0", "a,b,a",
        "\u{1f}",
    ];
    Ok(if input.arbitrary()? {
        input.choose(SOME)?.to_string()
    } else {
        input.arbitrary()?
    })
}

fn any_number(input: &mut Unstructured<'_>) -> Result<(&'static str, String)> {
    let (name, low, high) = *input.choose(NUMBERS)?;
    let is_usual = input.ratio(7, 8)?;
    // No vocabulary of a size that takes long if it is full.
    let number = if is_usual {
        input.int_in_range(low..=high)?
    } else {
        input.arbitrary::<i16>()?.into()
    };
    Ok((name, number.to_string()))
}

/// Gives a byte or a few at a time.
struct Slowly<'b>(&'b [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1 + self.0.len() % 7);
        self.0.read(&mut buffer[..most])
    }
}

/// Trains in several ways, which have to agree.
pub fn check(case: &Case) {
    let Some(one) = case.flags("1") else { return };
    let three = case.flags("3").expect("a number of threads");
    let trainer = match one.trainer() {
        Ok(trainer) => trainer,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert!(three.trainer().is_err());
            return;
        }
    };
    let result = trainer.train(Corpus::reader(&case.corpus[..]));
    let expected = outcome(&result);
    result.iter().for_each(check_model);
    let slowly = trainer.train(Corpus::reader(Slowly(&case.corpus)));
    assert_eq!(
        expected,
        outcome(&slowly),
        "{case:?}: parts of another size"
    );
    let trainer = three.trainer().expect("the same options");
    let threads = trainer.train(Corpus::reader(&case.corpus[..]));
    assert_eq!(expected, outcome(&threads), "{case:?}: three threads");
}

/// What shows of a training: its model's `.vocab` file, or why there is none.
fn outcome(
    result: &std::result::Result<Model, TrainError>,
) -> std::result::Result<Vec<u8>, String> {
    result
        .as_ref()
        .map(|model| model.to_vocab(true))
        .map_err(ToString::to_string)
}

/// A model that was trained can be saved, loaded and used.
fn check_model(model: &Model) {
    let file = model.to_bytes();
    let again = Model::from_bytes(&file)
        .unwrap_or_else(|error| panic!("a trained model is refused: {error}"));
    checks::assert_same(model, &again);
    checks::exercise(&file, &[b"ab \xff\xe3\x81\x82a"], 3);
}
