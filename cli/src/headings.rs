//! The groups of flags in `--help` and in the manual.
//!
//! What every run needs stands first, under clap's own heading: the input, the output, the size,
//! the number of threads. The other flags have one of the headings below.

use clap::Arg;

/// What files of some tokenizers do not say.
pub(crate) const FILES: &str = "What the file of a tokenizer may not say";
/// What a text is, in files of records and others.
pub(crate) const DOCUMENTS: &str = "Format of the input";
/// What is written for special tokens, and which tokens become special.
pub(crate) const SPECIAL_PIECES: &str = "Special pieces";
/// Rules for text before it is cut, and after it is put together.
pub(crate) const NORMALIZATION: &str = "Normalization";
/// The flags of byte-level BPE where other models are trained, too.
pub(crate) const BYTE_BPE: &str = "Byte-level BPE (--model_type=byte_bpe)";
/// The flags of byte-level vocabularies where other models are changed, too.
pub(crate) const BYTE_LEVEL: &str = "Byte-level vocabularies";
/// The flags of training like a pipeline.
pub(crate) const LIKE: &str = "Like a tokenizer.json (--like=FILE)";

/// Which parts of the text are learned from.
pub(crate) const SELECTION: &str = "Selection of text";
const ALPHABET: &str = "Alphabet";
/// Where pieces begin and end.
pub(crate) const CUTTING: &str = "What a piece may be";

/// The headings of the options of training, and of the files of lists beside them, in the order of
/// the help.
const TRAINING: &[(&str, &[&str])] = &[
    (
        DOCUMENTS,
        &["input_format", "json_field", "document", "on_bad_record"],
    ),
    (
        SELECTION,
        &[
            "input_sentence_size",
            "shuffle_input_sentence",
            "random_seed",
            "max_sentence_length",
        ],
    ),
    (
        ALPHABET,
        &[
            "character_coverage",
            "auto_character_coverage",
            "required_chars",
            "required_chars_file",
            "byte_fallback",
        ],
    ),
    (
        CUTTING,
        &[
            "max_sentencepiece_length",
            "split_by_unicode_script",
            "split_by_number",
            "split_by_whitespace",
            "split_digits",
            "pretokenization_delimiter",
            "treat_whitespace_as_suffix",
            "allow_whitespace_only_pieces",
        ],
    ),
    (
        SPECIAL_PIECES,
        &[
            "control_symbols",
            "control_symbols_file",
            "user_defined_symbols",
            "user_defined_symbols_file",
            "unk_id",
            "bos_id",
            "eos_id",
            "pad_id",
            "unk_piece",
            "bos_piece",
            "eos_piece",
            "pad_piece",
            "unk_surface",
        ],
    ),
    (
        NORMALIZATION,
        &[
            "normalization_rule_name",
            "normalization_rule_tsv",
            "denormalization_rule_tsv",
            "add_dummy_prefix",
            "remove_extra_whitespaces",
        ],
    ),
    (
        "Unigram models (--model_type=unigram)",
        &[
            "seed_sentencepiece_size",
            "seed_sentencepieces_file",
            "shrinking_factor",
            "num_sub_iterations",
            "seed_piece_length_power",
            "min_freq_alpha",
            "use_sparse_pruning",
            "post_l1_debias",
        ],
    ),
];

/// The option of training, or the file of a list, under its heading.
pub(crate) fn under_training_heading(flag: Arg) -> Arg {
    let name = flag.get_id().as_str();
    let found = TRAINING.iter().find(|(_, names)| names.contains(&name));
    match found {
        Some((heading, _)) => flag.help_heading(*heading),
        None => flag,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use spiece::TrainFlags;

    use super::TRAINING;

    #[test]
    fn each_name_is_that_of_one_flag_of_training() {
        let options = TrainFlags::DESCRIPTORS.iter().map(|option| option.name);
        let files = [
            "control_symbols_file",
            "user_defined_symbols_file",
            "required_chars_file",
        ];
        let known: HashSet<&str> = options.chain(files).collect();
        let mut seen = HashSet::new();
        for name in TRAINING.iter().flat_map(|(_, names)| *names) {
            assert!(known.contains(name), "{name} is no flag");
            assert!(seen.insert(name), "{name} has two headings");
        }
        // A new option of the library gets a heading here, or is one that every run needs.
        let mut first: Vec<&str> = known
            .iter()
            .copied()
            .filter(|n| !seen.contains(n))
            .collect();
        first.sort_unstable();
        let expected = [
            "hard_vocab_limit",
            "input",
            "model_prefix",
            "model_type",
            "num_threads",
            "use_all_vocab",
            "vocab_size",
            "vocabulary_output_piece_score",
        ];
        assert_eq!(first, expected);
    }
}
