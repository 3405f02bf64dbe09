//! The algorithms of models.

use std::fmt;
use std::str::FromStr;

/// The algorithm of a model. spiece trains and runs all of them.
///
/// As text (`Display` and `FromStr`) the types have the names of `spm_train`: unigram, bpe, word,
/// char.
///
/// ```
/// use spiece::ModelType;
///
/// assert_eq!("bpe".parse::<ModelType>()?, ModelType::Bpe);
/// assert_eq!(ModelType::Unigram.to_string(), "unigram");
/// # Ok::<(), spiece::model::ParseModelTypeError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
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

impl ModelType {
    /// Every type, in the order of their numbers in the file format.
    pub const ALL: [Self; 4] = [Self::Unigram, Self::Bpe, Self::Word, Self::Char];

    /// The name: unigram, bpe, word or char.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unigram => "unigram",
            Self::Bpe => "bpe",
            Self::Word => "word",
            Self::Char => "char",
        }
    }

    /// The number in the file format.
    pub(super) const fn number(self) -> u8 {
        match self {
            Self::Unigram => 1,
            Self::Bpe => 2,
            Self::Word => 3,
            Self::Char => 4,
        }
    }

    /// The type with this number in the file format.
    pub(super) fn from_number(number: i32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|model_type| i32::from(model_type.number()) == number)
    }
}

impl fmt::Display for ModelType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ModelType {
    type Err = ParseModelTypeError;

    fn from_str(name: &str) -> Result<Self, ParseModelTypeError> {
        let mut all = Self::ALL.into_iter();
        all.find(|model_type| model_type.name() == name)
            .ok_or_else(|| ParseModelTypeError {
                name: name.to_owned(),
            })
    }
}

/// A name that no [`ModelType`] has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseModelTypeError {
    /// The name.
    pub name: String,
}

impl fmt::Display for ParseModelTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        write!(
            f,
            "unknown model type {name:?}; use unigram, bpe, word or char"
        )
    }
}

impl std::error::Error for ParseModelTypeError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_types_have_names_and_numbers() {
        for model_type in ModelType::ALL {
            assert_eq!(model_type.to_string().parse(), Ok(model_type));
            let number = i32::from(model_type.number());
            assert_eq!(ModelType::from_number(number), Some(model_type));
        }
        assert_eq!(ModelType::from_number(5), None);
        assert_eq!("x".parse::<ModelType>().unwrap_err().name, "x");
    }
}
