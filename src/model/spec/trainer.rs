//! The table of `TrainerSpec`.

use super::super::ModelType;
use super::super::wire::Value;
use super::{BytesList, FieldType, Spec, accessor, spec, stored_type};

spec! {
    /// How the model was trained: the options of `spm_train`, and settings that encoding and
    /// decoding need.
    ///
    /// Each field is `None` if the file does not have it; the method of the same name then gives
    /// the default. Texts are bytes, because they need not be UTF-8.
    ///
    /// ```
    /// let model = spiece::Model::open("testdata/golden/llama2.model")?;
    /// let spec = model.trainer_spec();
    /// assert!(spec.byte_fallback());
    /// assert_eq!(spec.bos_piece(), b"<s>");
    /// // The file does not have the field, which old releases wrote.
    /// assert_eq!(spec.mining_sentence_size, None);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    TrainerSpec {
        /// Files that the model was trained on.
        1 input: list;
        /// Path of the model without `.model`.
        2 model_prefix: bytes = b"";
        /// The algorithm.
        3 model_type: ModelType = ModelType::Unigram;
        /// The number of pieces that training was asked for; edited files may have another number.
        4 vocab_size: i32 = 8000;
        /// Languages; up to 0.2.1.
        5 accept_language: list;
        /// Number of self-test samples; up to 0.2.1.
        6 self_test_sample_size: i32 = 0;
        /// Format of the input: `text` or `tsv`.
        7 input_format: bytes = b"";
        /// Proportion of the characters of the corpus that the alphabet covers.
        10 character_coverage: f32 = 0.9995;
        /// Sentences to train on; 0 means all.
        11 input_sentence_size: u64 = 0;
        /// Up to 0.1.8.
        12 mining_sentence_size: i32 = 0;
        /// Up to 0.1.8.
        13 training_sentence_size: i32 = 0;
        /// Size of the first vocabulary of unigram training.
        14 seed_sentencepiece_size: i32 = 1_000_000;
        /// Proportion of the pieces that each round of unigram training keeps.
        15 shrinking_factor: f32 = 0.75;
        /// Threads of training.
        16 num_threads: i32 = 16;
        /// Iterations of each round of unigram training.
        17 num_sub_iterations: i32 = 2;
        /// Sentences with more bytes were skipped.
        18 max_sentence_length: i32 = 4192;
        /// Whether the sample of sentences was random.
        19 shuffle_input_sentence: bool = true;
        /// Longest piece in characters.
        20 max_sentencepiece_length: i32 = 16;
        /// Whether no piece has characters of two scripts.
        21 split_by_unicode_script: bool = true;
        /// Whether no piece has whitespace inside.
        22 split_by_whitespace: bool = true;
        /// Whether digits are a script of their own.
        23 split_by_number: bool = true;
        /// Whether the whitespace mark is at the end of words, not at their start.
        24 treat_whitespace_as_suffix: bool = false;
        /// Whether each digit is a piece of its own.
        25 split_digits: bool = false;
        /// Whether pieces may consist of whitespace marks only.
        26 allow_whitespace_only_pieces: bool = false;
        /// Texts of control pieces.
        30 control_symbols: list;
        /// Texts of user-defined symbols.
        31 user_defined_symbols: list;
        /// Whether the `.vocab` file has scores.
        32 vocabulary_output_piece_score: bool = true;
        /// Whether `vocab_size` had to be reached exactly.
        33 hard_vocab_limit: bool = true;
        /// Whether word and char training kept all pieces.
        34 use_all_vocab: bool = false;
        /// Whether characters that are no pieces become byte pieces.
        35 byte_fallback: bool = false;
        /// Characters that had to become pieces.
        36 required_chars: bytes = b"";
        /// Id of the unknown piece; -1 means none.
        40 unk_id: i32 = 0;
        /// Id of the piece for the beginning of a text; -1 means none.
        41 bos_id: i32 = 1;
        /// Id of the piece for the end of a text; -1 means none.
        42 eos_id: i32 = 2;
        /// Id of the piece for padding; -1 means none.
        43 pad_id: i32 = -1;
        /// The text that unknown pieces are decoded to.
        44 unk_surface: bytes = b" \xe2\x81\x87 ";
        /// Text of the unknown piece.
        45 unk_piece: bytes = b"<unk>";
        /// Text of the piece for the beginning of a text.
        46 bos_piece: bytes = b"<s>";
        /// Text of the piece for the end of a text.
        47 eos_piece: bytes = b"</s>";
        /// Text of the piece for padding.
        48 pad_piece: bytes = b"<pad>";
        /// Up to 0.2.1.
        49 train_extremely_large_corpus: bool = false;
        /// Up to 0.2.1.
        50 enable_differential_privacy: bool = false;
        /// Up to 0.2.1.
        51 differential_privacy_noise_level: f32 = 0.0;
        /// Up to 0.2.1.
        52 differential_privacy_clipping_threshold: u64 = 0;
        /// A delimiter that training split sentences at.
        53 pretokenization_delimiter: bytes = b"";
        /// A file with the first vocabulary of unigram training.
        54 seed_sentencepieces_file: bytes = b"";
        /// Whether a search divided the vocabulary between characters and merges.
        55 auto_character_coverage: bool = false;
    }
}
