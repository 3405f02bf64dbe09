//! The settings of a `tokenizer.json` about the lengths of results: truncation and padding.
//!
//! They are data. No call applies them on its own; [`Pipeline::post_process`] and [`Padding::apply`] do, in the order
//! of the library tokenizers: truncation of the texts alone, template, padding. [`Pipeline::finish`] does all of it to the
//! ids of single texts.
//!
//! # Example
//! A maximum of 5 with a template of two tokens leaves 3 for the text. `a b c d e f g` with a stride of 1
//! becomes `a b c`, with the overflow `c d e` and `e f g`, each in the template.

use std::ops::Range;

use super::Pipeline;
use super::layout::{Layout, PieceContent, Side, TruncationError};
use crate::piece::PieceId;

/// Which text of a pair is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TruncationStrategy {
    /// The longer one, token by token.
    LongestFirst,
    /// The first one.
    OnlyFirst,
    /// The second one.
    OnlySecond,
}

/// How long texts are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The most ids of a result, those of the template included.
    pub max_length: usize,
    /// Which text of a pair is cut.
    pub strategy: TruncationStrategy,
    /// How many ids each part of the overflow shares with the one before.
    pub stride: usize,
    /// Which end is cut off.
    pub direction: Side,
}

/// How short texts are filled up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Padding {
    /// The length; `None` for that of the longest text of a batch.
    pub fixed_length: Option<usize>,
    /// At which end.
    pub direction: Side,
    /// The length is rounded up to a multiple of this; 0 is as `None`.
    pub pad_to_multiple_of: Option<usize>,
    /// The id that fills texts up.
    pub pad_id: u32,
    /// Its type.
    pub pad_type_id: u32,
    /// Its text.
    pub pad_token: String,
}

/// The ids of a text with everything around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedText {
    /// The ids, with those of the template and of the padding.
    pub ids: Vec<PieceId>,
    /// The type of each id.
    pub type_ids: Vec<u32>,
    /// The ids that are no padding: those of which the attention mask is 1.
    pub unpadded: Range<usize>,
    /// What was cut off, in parts; these have no overflow.
    pub overflow: Vec<Self>,
}

impl FinishedText {
    /// The columns of a result.
    fn new(result: &Layout<&[PieceId]>) -> Self {
        let mut ids = Vec::with_capacity(result.len());
        let mut type_ids = Vec::with_capacity(result.len());
        let mut unpadded = 0..0;
        for piece in result.pieces() {
            let start = ids.len();
            let own_type = match &piece.content {
                PieceContent::Tokens { source, range } => {
                    ids.extend_from_slice(&source[range.clone()]);
                    0
                }
                PieceContent::Special { tokens, range } => {
                    let special = tokens.ids[range.clone()].iter();
                    ids.extend(special.copied().map(PieceId::new));
                    0
                }
                PieceContent::Padding { token, length } => {
                    let id = PieceId::new(token.id);
                    ids.extend(std::iter::repeat_n(id, *length));
                    token.type_id
                }
            };
            if matches!(piece.content, PieceContent::Padding { .. }) {
                if start == 0 {
                    unpadded = ids.len()..ids.len();
                }
            } else {
                unpadded.end = ids.len();
            }
            type_ids.resize(ids.len(), piece.type_id.unwrap_or(own_type));
        }
        Self {
            ids,
            type_ids,
            unpadded,
            overflow: result.overflow().iter().map(Self::new).collect(),
        }
    }
}

impl Padding {
    /// The length of a batch whose longest text has as many ids.
    pub fn length(&self, longest: usize) -> usize {
        let length = self.fixed_length.unwrap_or(longest);
        let multiple = self.pad_to_multiple_of.filter(|multiple| *multiple > 0);
        multiple.map_or(length, |multiple| {
            length.checked_next_multiple_of(multiple).unwrap_or(length)
        })
    }
}

impl Pipeline {
    /// How the file says that short texts are filled up. No call does it on its own.
    pub fn padding(&self) -> Option<&Padding> {
        self.padding.as_ref()
    }

    /// How the file says that long texts are cut. No call does it on its own.
    pub fn truncation(&self) -> Option<&Truncation> {
        self.truncation.as_ref()
    }

    /// Cuts the ids of texts, puts the template around them if `adds_special`, and fills them up to one
    /// length: what `encode_batch` of the library tokenizers does with these settings. The ids are
    /// those of the texts alone. Pass [`truncation`](Self::truncation) and [`padding`](Self::padding) for
    /// the settings of the file.
    ///
    /// ```
    /// use spiece::Tokenizer;
    /// let file = br#"{"padding": {"strategy": {"Fixed": 3}, "direction": "Right", "pad_id": 2, "pad_type_id": 0,
    ///     "pad_token": "<pad>"}, "pre_tokenizer": {"type": "WhitespaceSplit"},
    ///     "model": {"type": "WordLevel", "vocab": {"a": 0, "<unk>": 1, "<pad>": 2}, "unk_token": "<unk>"}}"#;
    /// let tokenizer = Tokenizer::from_bytes(file)?;
    /// let pipeline = tokenizer.pipeline().expect("it is a tokenizer.json");
    /// let ids = vec![tokenizer.encode("a b")];
    /// let finished = pipeline.finish(ids, true, pipeline.truncation(), pipeline.padding())?;
    /// assert_eq!(finished[0].ids, [0, 1, 2]);
    /// assert_eq!(finished[0].unpadded, 0..2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A text is too long, and the settings do not allow to cut it.
    pub fn finish(
        &self,
        texts: Vec<Vec<PieceId>>,
        adds_special: bool,
        truncation: Option<&Truncation>,
        padding: Option<&Padding>,
    ) -> Result<Vec<FinishedText>, TruncationError> {
        let results = texts.iter().map(|ids| {
            let text = Layout::of_source(&ids[..], ids.len());
            self.post_process(text, None, adds_special, truncation)
        });
        let mut results: Vec<_> = results.collect::<Result<_, TruncationError>>()?;
        if let Some(padding) = padding {
            padding.apply(&mut results);
        }
        Ok(results.iter().map(FinishedText::new).collect())
    }
}
