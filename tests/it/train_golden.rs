//! Training against the reference: every case of `testdata/golden` has to give the same bytes, and
//! every option set that the reference refuses has to be refused.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use spiece::train::{OptionError, SpecRecording};
use spiece::{Corpus, Model, ModelType, TrainError, TrainFlags};

use crate::support::testdata;

fn golden(name: &str) -> PathBuf {
    testdata("golden").join(name)
}

/// Flags from `name=value` lines, recorded as the program records them.
fn flags<'f>(lines: impl Iterator<Item = &'f str>) -> Result<TrainFlags, TrainError> {
    let mut flags = TrainFlags::default();
    flags.recording = SpecRecording::All;
    for flag in lines {
        let (name, value) = flag.split_once('=').expect("a flag is name=value");
        flags.set(name, value)?;
    }
    Ok(flags)
}

/// The names of all cases.
fn cases() -> Vec<String> {
    let files = std::fs::read_dir(golden("")).expect("testdata/golden is part of the repository");
    let names = files.filter_map(|file| file.unwrap().file_name().into_string().ok());
    let mut cases: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".flags").map(str::to_owned))
        .collect();
    cases.sort();
    cases
}

/// Makes a test for each case, so that a failure names its case and hides no other.
macro_rules! golden_cases {
    ($($case:ident)*) => {
        $(#[test]
        fn $case() {
            assert_trains_the_golden_files(stringify!($case));
        })*

        /// Every case has a test.
        #[test]
        fn all_cases_are_listed() {
            assert_eq!(cases(), [$(stringify!($case)),*]);
        }
    };
}
golden_cases! {
    auto_coverage
    auto_coverage_mixed
    char
    char_all
    char_small
    coverage_0_98
    coverage_1
    delimiter
    delimiter_letter
    exhausted
    first_sentences
    hostile
    hostile_bytes
    ids_far
    ids_permuted
    llama2
    nfkc
    nfkc_cf
    nmt_nfkc_cf
    no_scores
    no_split_number
    no_split_script
    no_split_whitespace
    no_split_whitespace_suffix
    no_unk
    own_names
    piece_length_1
    piece_length_3
    piece_length_64
    repeats
    repeats_whole
    required_chars
    rule_files
    several_inputs
    short_lines
    split_digits
    spm_default
    symbols
    tsv
    unigram
    unigram_1_thread
    unigram_3_threads
    unigram_delimiter
    unigram_few_seeds
    unigram_hostile
    unigram_length_power
    unigram_min_count
    unigram_repeats
    unigram_seed_file
    unigram_seed_size_0
    unigram_slow
    unigram_sparse
    unigram_sparse_biased
    unigram_sparse_characters
    unigram_square_root
    unigram_suffix
    unigram_symbols
    unigram_tsv
    unigram_whole
    unigram_whole_suffix
    unread_file
    whitespace_kept
    whitespace_suffix
    word
    word_all
    word_exhausted
    word_symbols
    word_tsv
}

fn assert_trains_the_golden_files(case: &str) {
    let lines = std::fs::read_to_string(golden(&format!("{case}.flags"))).unwrap();
    let flags = flags(lines.lines()).unwrap();
    let [model, vocab] =
        ["model", "vocab"].map(|end| std::fs::read(golden(&format!("{case}.{end}"))).unwrap());
    let trained = train(case, &flags);
    assert!(trained.to_bytes() == model, "{case}: .model differs");
    assert!(
        trained.to_vocab(flags.vocabulary_output_piece_score) == vocab,
        "{case}: .vocab differs"
    );
    if flags.model_type == ModelType::Unigram {
        // The number of threads is part of the arithmetic; the unit tests vary the real threads.
        return;
    }
    for threads in [1, 2, 4] {
        let threads = NonZeroUsize::new(threads).unwrap();
        let trainer = flags.trainer().unwrap().with_threads(threads);
        let trained = trainer.train(flags.corpus().unwrap()).unwrap();
        assert!(
            trained.to_bytes() == model,
            "{case}: differs on {threads} threads"
        );
    }
}

fn train(case: &str, flags: &TrainFlags) -> Model {
    let trained = flags
        .trainer()
        .and_then(|trainer| trainer.train(flags.corpus()?));
    trained.unwrap_or_else(|error| panic!("{case}: {error}"))
}

/// Every row of `golden/refused.tsv` by its reason, and the facts of the error that [`facts_of`]
/// gives.
const REFUSALS: &[(&str, &str)] = &[
    (
        "the vocabulary cannot hold the alphabet",
        "vocabulary 100 below 3 + 175",
    ),
    ("no vocabulary", "range of vocab_size: 0"),
    (
        "the corpus cannot fill the vocabulary, and the limit is hard",
        "vocabulary 2000 above 66",
    ),
    ("coverage below 0.98", "range of character_coverage: 0.5"),
    ("coverage above 1", "range of character_coverage: 1.5"),
    (
        "no unknown piece without byte fallback",
        "conflict of unk_id",
    ),
    ("two special pieces with one id", "conflict of eos_id"),
    ("a special id outside the vocabulary", "conflict of pad_id"),
    ("an empty special piece", "conflict of bos_piece"),
    ("a control symbol twice", "piece <a> of control_symbols"),
    (
        "a symbol both control and user-defined",
        "piece <a> of user_defined_symbols",
    ),
    (
        "the unknown piece as a symbol",
        "piece <unk> of user_defined_symbols",
    ),
    ("a byte piece as a symbol", "piece <0x41> of byte_fallback"),
    ("an empty symbol", "piece  of control_symbols"),
    (
        "a required character is a space",
        "reserved character U+0020",
    ),
    (
        "a required character is U+2585",
        "reserved character U+2585",
    ),
    (
        "automatic coverage without byte fallback",
        "conflict of auto_character_coverage",
    ),
    (
        "automatic coverage with required characters",
        "conflict of auto_character_coverage",
    ),
    ("byte pieces do not fit", "vocabulary 200 below 259 + 0"),
    ("an unknown input format", "value of input_format: csv"),
    ("a tsv row of one column", "row testdata/bad_columns.tsv:2"),
    (
        "a tsv count that is no number",
        "row testdata/bad_count.tsv:2",
    ),
    ("a tsv count of zero", "row testdata/zero_count.tsv:2"),
    (
        "a missing file",
        "cannot read testdata/missing.txt: entity not found",
    ),
    (
        "a missing second file",
        "cannot read testdata/missing.txt: entity not found",
    ),
    ("no line is short enough", "no text"),
    (
        "sentence length below 10",
        "range of max_sentence_length: 3",
    ),
    ("piece length 0", "range of max_sentencepiece_length: 0"),
    (
        "piece length above 512",
        "range of max_sentencepiece_length: 513",
    ),
    (
        "a sample of 100 or fewer",
        "conflict of input_sentence_size",
    ),
    ("no threads", "range of num_threads: 0"),
    ("use_all_vocab with bpe", "conflict of use_all_vocab"),
    (
        "a seed file with bpe",
        "conflict of seed_sentencepieces_file",
    ),
    (
        "an unknown normalization rule",
        "value of normalization_rule_name: nfd",
    ),
    (
        "a missing rule file",
        "cannot read testdata/missing.tsv: entity not found",
    ),
    (
        "a rule that is no code point",
        "rules of normalization_rule_tsv",
    ),
    (
        "automatic coverage with unigram",
        "conflict of auto_character_coverage",
    ),
    (
        "automatic coverage with word",
        "conflict of auto_character_coverage",
    ),
    ("use_all_vocab with unigram", "conflict of use_all_vocab"),
    (
        "a seed file with char",
        "conflict of seed_sentencepieces_file",
    ),
    (
        "a delimiter with word",
        "conflict of pretokenization_delimiter",
    ),
    (
        "shrinking_factor below 0.5",
        "range of shrinking_factor: 0.25",
    ),
    ("no sub-iterations", "range of num_sub_iterations: 0"),
    (
        "too few words, and the limit is hard",
        "vocabulary 100 above 15",
    ),
    (
        "too few unigram pieces, and the limit is hard",
        "vocabulary 500 above 22",
    ),
    (
        "a unigram vocabulary cannot hold the alphabet",
        "vocabulary 100 below 3 + 175",
    ),
    ("a seed file without counts", "row testdata/few_words.txt:1"),
];

/// The variant of an error and the facts in it, without its prose.
fn facts_of(error: &TrainError) -> String {
    match error {
        TrainError::Option(OptionError::Range { option, value, .. }) => {
            format!("range of {option}: {value}")
        }
        TrainError::Option(OptionError::Value { option, value, .. }) => {
            format!("value of {option}: {value}")
        }
        TrainError::Option(OptionError::Conflict { option, .. }) => format!("conflict of {option}"),
        TrainError::Option(OptionError::Piece { option, piece, .. }) => {
            format!("piece {piece} of {option}")
        }
        TrainError::Rules { option, .. } => format!("rules of {option}"),
        TrainError::Read { path, source } => {
            format!("cannot read {}: {}", path.display(), source.kind())
        }
        TrainError::Row {
            path: Some(path),
            line,
            ..
        } => format!("row {}:{line}", path.display()),
        TrainError::NoText { .. } => "no text".to_owned(),
        TrainError::ReservedCharacter { character } => {
            format!("reserved character U+{:04X}", u32::from(*character))
        }
        TrainError::VocabularyTooSmall {
            vocab_size,
            meta_pieces,
            characters,
        } => format!("vocabulary {vocab_size} below {meta_pieces} + {characters}"),
        TrainError::VocabularyTooLarge {
            vocab_size,
            largest,
            ..
        } => format!("vocabulary {vocab_size} above {largest}"),
        other => format!("not expected of any row: {other:?}"),
    }
}

#[test]
fn option_sets_that_the_reference_refuses_give_the_right_error() {
    let table = std::fs::read_to_string(golden("refused.tsv")).unwrap();
    let mut reasons = Vec::new();
    for row in table.lines().filter(|row| !row.starts_with('#')) {
        let mut fields = row.split('\t');
        let reason = fields.next().unwrap();
        let mut lines: Vec<&str> = fields.collect();
        lines.insert(0, "model_type=bpe");
        let trained =
            flags(lines.iter().copied()).and_then(|flags| flags.trainer()?.train(flags.corpus()?));
        let error = trained
            .err()
            .unwrap_or_else(|| panic!("{reason}: {lines:?} is not refused"));
        let expected = REFUSALS.iter().find(|(known, _)| *known == reason);
        let (_, expected) = expected.unwrap_or_else(|| panic!("add {reason:?} to REFUSALS"));
        assert_eq!(facts_of(&error), *expected, "{reason}");
        reasons.push(reason);
    }
    assert!(
        REFUSALS.iter().map(|(reason, _)| *reason).eq(reasons),
        "refused.tsv and REFUSALS list other rows"
    );
}

/// The flags of a golden model that its file does not record.
const UNRECORDED: &[&str] = &[
    "random_seed",
    "seed_piece_length_power",
    "min_freq_alpha",
    "use_sparse_pruning",
    "post_l1_debias",
];

/// What a model records are the flags that it was trained with, except that a vocabulary that the
/// corpus did not fill is recorded with its real size; that size trains the same model.
#[test]
fn golden_models_record_the_flags_that_train_them() {
    for case in cases() {
        let lines = std::fs::read_to_string(golden(&format!("{case}.flags"))).unwrap();
        let flags = flags(lines.lines()).unwrap();
        let model = Model::open(golden(&format!("{case}.model"))).unwrap();
        let record = model.training_record();
        let mut is_complete = true;
        for option in TrainFlags::DESCRIPTORS {
            let (given, recorded) = (flags.get(option.name), record.flags.get(option.name));
            if UNRECORDED.contains(&option.name) {
                is_complete &= given == recorded;
            } else if option.name != "vocab_size" {
                assert_eq!(recorded, given, "{case}: {}", option.name);
            }
        }
        if record.flags.vocab_size != flags.vocab_size && is_complete {
            let trained = train(&case, &record.flags);
            assert!(trained.to_bytes() == model.to_bytes(), "{case}");
        }
        let is_unigram = flags.model_type == ModelType::Unigram;
        assert_eq!(
            record.gaps.is_empty(),
            !is_unigram,
            "{case}: {:?}",
            record.gaps
        );
        assert!(is_complete || is_unigram, "{case}");
    }
}

#[test]
fn saving_a_golden_model_gives_its_bytes() {
    for case in cases() {
        let bytes = std::fs::read(golden(&format!("{case}.model"))).unwrap();
        let model = Model::from_bytes(&bytes).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert!(model.to_bytes() == bytes, "{case}");
    }
}

/// The corpus of the Llama-2-like case in every form that a corpus can have.
#[test]
fn a_reader_texts_and_counted_texts_train_the_same_model() {
    let lines = std::fs::read_to_string(golden("llama2.flags")).unwrap();
    let flags = flags(lines.lines()).unwrap();
    let expected = std::fs::read(golden("llama2.model")).unwrap();
    let text: Vec<u8> = flags
        .input
        .iter()
        .flat_map(|path| std::fs::read(path).unwrap())
        .collect();
    let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let trainer = flags.trainer().unwrap();
    let corpora: [(&str, Corpus<'_>); 4] = [
        ("reader", Corpus::reader(&text[..])),
        ("texts", Corpus::texts(&lines)),
        ("reversed", Corpus::texts(lines.iter().rev())),
        (
            "counted",
            Corpus::counted_texts(lines.iter().map(|line| (line, 1))),
        ),
    ];
    for (name, corpus) in corpora {
        assert!(
            trainer.train(corpus).unwrap().to_bytes() == expected,
            "{name}"
        );
    }
    let twice = trainer
        .train(Corpus::texts(lines.iter().chain(&lines)))
        .unwrap();
    let doubled = trainer
        .train(Corpus::counted_texts(lines.iter().map(|line| (line, 2))))
        .unwrap();
    assert!(twice.to_bytes() == doubled.to_bytes());
}
