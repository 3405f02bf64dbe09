//! Real models of every type, from the golden files, and their parts.

use std::sync::{Mutex, OnceLock};

use prost::Message;
use spiece::{Model, Tokenizer};

use super::checks::Promise;

macro_rules! seed {
    ($path:literal, $promise:ident) => {
        (
            include_bytes!(concat!("../../../testdata/", $path)),
            Promise::$promise,
        )
    };
}

/// Models, and what they promise.
const SEEDS: &[(&[u8], Promise)] = &[
    seed!("golden/llama2.model", Text),
    seed!("run/unigram.model", Nothing),
    seed!("golden/symbols.model", Nothing),
    seed!("run/unigram_rules.model", Nothing),
    seed!("run/word.model", Nothing),
    seed!("run/char.model", Nothing),
    seed!("golden/repeats.model", Nothing),
    seed!("run/unigram_bytes.model", Normalized),
    seed!("golden/rule_files.model", Nothing),
    seed!("run/bpe_unused.model", Nothing),
    seed!("run/unigram_unused.model", Nothing),
    seed!("golden/whitespace_suffix.model", Nothing),
    seed!("run/unigram_suffix.model", Nothing),
    seed!("run/bpe_symbols.model", Nothing),
    seed!("golden/hostile_bytes.model", Nothing),
    seed!("run/bpe_scores.model", Nothing),
    seed!("run/word_unused.model", Nothing),
    seed!("run/char_unused.model", Nothing),
    seed!("golden/exhausted.model", Nothing),
    seed!("run/unigram_steep.model", Nothing),
];

/// The parts of a model file. Specs stay as they are: a field that is appended to one counts.
#[derive(Clone, PartialEq, Message)]
pub struct ModelFile {
    /// The pieces, by id.
    #[prost(message, repeated, tag = "1")]
    pub pieces: Vec<Entry>,
    /// How it was trained, and its type.
    #[prost(bytes = "vec", tag = "2")]
    pub trainer_spec: Vec<u8>,
    /// How text is prepared.
    #[prost(bytes = "vec", tag = "3")]
    pub normalizer_spec: Vec<u8>,
    /// How decoded text is finished.
    #[prost(bytes = "vec", optional, tag = "5")]
    pub denormalizer_spec: Option<Vec<u8>>,
}

impl ModelFile {
    /// The parts of a file, if it is one.
    pub fn read(file: &[u8]) -> Option<Self> {
        Self::decode(file).ok()
    }
}

/// A piece in a file.
#[derive(Clone, PartialEq, Message)]
pub struct Entry {
    /// Its text.
    #[prost(bytes = "vec", optional, tag = "1")]
    pub text: Option<Vec<u8>>,
    /// Its score.
    #[prost(float, optional, tag = "2")]
    pub score: Option<f32>,
    /// Its kind as a number.
    #[prost(int32, optional, tag = "3")]
    pub kind: Option<i32>,
}

/// The file of one of the models.
pub fn file(choice: usize) -> &'static [u8] {
    SEEDS[choice % SEEDS.len()].0
}

/// The parts of one of the models.
pub fn parts(choice: usize) -> ModelFile {
    static PARTS: OnceLock<Vec<ModelFile>> = OnceLock::new();
    let read = |(file, _): &(&[u8], Promise)| ModelFile::read(file).expect("a golden file");
    let parts = PARTS.get_or_init(|| SEEDS.iter().map(read).collect());
    parts[choice % parts.len()].clone()
}

/// Calls `run` with one of the models.
pub fn with_tokenizer(choice: usize, run: impl FnOnce(&Tokenizer, Promise)) {
    static TOKENIZERS: Mutex<Vec<Option<&'static Tokenizer>>> = Mutex::new(Vec::new());
    let choice = choice % SEEDS.len();
    let (file, promise) = SEEDS[choice];
    let tokenizer = {
        let mut tokenizers = TOKENIZERS
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        tokenizers.resize(SEEDS.len(), None);
        *tokenizers[choice].get_or_insert_with(|| {
            let model = Model::from_bytes(file).expect("a golden file");
            Box::leak(Box::new(Tokenizer::new(model)))
        })
    };
    run(tokenizer, promise);
}
