//! What encoding and decoding do besides: the reference's extra options.

use crate::error::EncodeError;

/// One of the reference's extra options, which are applied in the order in which they are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExtraOption {
    /// Put the beginning-of-sentence piece first.
    Bos,
    /// Put the end-of-sentence piece last.
    Eos,
    /// Turn the order around.
    Reverse,
    /// Write the unknown piece's own text instead of the unknown text. It changes no ids.
    UnkPiece,
}

impl ExtraOption {
    /// Reads a list as the reference's programs take it: `bos:eos`, `reverse`, `unk` (or `unk_piece`).
    ///
    /// # Errors
    /// A name that is none of these.
    pub fn parse_list(list: &str) -> Result<Vec<ExtraOption>, EncodeError> {
        if list.is_empty() {
            return Ok(Vec::new());
        }
        list.split(':').map(ExtraOption::parse).collect()
    }

    fn parse(name: &str) -> Result<ExtraOption, EncodeError> {
        match name {
            "bos" => Ok(ExtraOption::Bos),
            "eos" => Ok(ExtraOption::Eos),
            "reverse" => Ok(ExtraOption::Reverse),
            "unk" | "unk_piece" => Ok(ExtraOption::UnkPiece),
            _ => Err(EncodeError::UnknownExtra {
                name: name.to_owned(),
            }),
        }
    }
}

/// How to encode. The default is what the reference does: no extra pieces, user-defined symbols found.
///
/// ```
/// use spiece::{EncodeOptions, ExtraOption};
/// let mut options = EncodeOptions::default();
/// options.extra = ExtraOption::parse_list("bos:eos")?;
/// # Ok::<(), spiece::EncodeError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EncodeOptions {
    /// Applied to the result, one after the other.
    pub extra: Vec<ExtraOption>,
    /// Whether text yields user-defined symbols. Switch it off for text that must not, such as what a
    /// stranger wrote between chat markers: their text is then text like any other.
    pub user_defined_symbols: bool,
    /// Control pieces that text may yield after all, by their texts; everything else stays text. Text never
    /// yields control pieces without this.
    pub allowed_control: Vec<Vec<u8>>,
}

impl Default for EncodeOptions {
    fn default() -> EncodeOptions {
        EncodeOptions {
            extra: Vec::new(),
            user_defined_symbols: true,
            allowed_control: Vec::new(),
        }
    }
}

/// How to draw a segmentation at random, with the reference's two numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct SampleOptions {
    /// Unigram models: draw among that many best segmentations; below 0, among all that there are; 0 and 1
    /// take the best. It means nothing in BPE models.
    pub nbest_size: i32,
    /// Unigram models: segmentations have the weight exp(alpha · score), so 0 makes all equal and a high
    /// number leaves the best. BPE models: the probability with which a merge is dropped; 0 drops none.
    pub alpha: f32,
}

impl Default for SampleOptions {
    /// Among all segmentations, with an alpha of 0.1.
    fn default() -> SampleOptions {
        SampleOptions {
            nbest_size: -1,
            alpha: 0.1,
        }
    }
}
