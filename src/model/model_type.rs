//! The algorithms that a model can be made for.

use super::proto::trainer_spec::ModelType as Recorded;

/// The algorithm behind a model. spiece runs all of them and trains [`ModelType::Bpe`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelType {
    /// A unigram language model.
    Unigram,
    /// Byte-pair encoding over code points.
    Bpe,
    /// Whole words between whitespace.
    Word,
    /// Single characters.
    Char,
}

impl From<Recorded> for ModelType {
    fn from(recorded: Recorded) -> ModelType {
        match recorded {
            Recorded::Unigram => ModelType::Unigram,
            Recorded::Bpe => ModelType::Bpe,
            Recorded::Word => ModelType::Word,
            Recorded::Char => ModelType::Char,
        }
    }
}

impl From<ModelType> for Recorded {
    fn from(model_type: ModelType) -> Recorded {
        match model_type {
            ModelType::Unigram => Recorded::Unigram,
            ModelType::Bpe => Recorded::Bpe,
            ModelType::Word => Recorded::Word,
            ModelType::Char => Recorded::Char,
        }
    }
}
