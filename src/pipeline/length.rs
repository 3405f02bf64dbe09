//! The settings of a `tokenizer.json` about the lengths of results: truncation and padding.
//!
//! They are data. No call applies them on its own; [`Pipeline::finish`] does, to the ids of texts, in
//! the order of the library tokenizers: truncation of the text alone, template, padding. Pairs of texts
//! are not supported, so that truncation of the second text alone is an error where it has to cut.
//!
//! # Example
//! A maximum of 5 with a template of two tokens leaves 3 for the text. `a b c d e f g` with a stride of 1
//! becomes `a b c`, with the overflow `c d e` and `e f g`, each in the template.

use std::fmt;
use std::ops::Range;

use super::{Pipeline, PostProcessorStep, TemplatePart};
use crate::piece::PieceId;

/// Which end of a text is cut off, or filled up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The start.
    Left,
    /// The end.
    Right,
}

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

/// Why a text cannot be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum TruncationError {
    /// The second text is to be cut, and there is none.
    NoSecondText,
    /// As many ids as are left for the text, or more, are to be shared by parts of the overflow.
    StrideTooLong {
        /// The stride.
        stride: usize,
        /// The ids that are left for the text.
        left: usize,
    },
}

impl fmt::Display for TruncationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSecondText => f.write_str(
                "truncation.strategy is OnlySecond, and there is one text; use LongestFirst",
            ),
            Self::StrideTooLong { stride, left } => write!(
                f,
                "truncation.stride is {stride}, and max_length leaves {left} ids for a text; use a smaller stride"
            ),
        }
    }
}

impl std::error::Error for TruncationError {}

impl Truncation {
    /// The ranges into which as many ids of one text are cut, of which the first one is kept and the
    /// others are the overflow. The template will add `added` ids; if these alone are too many, nothing
    /// is cut, as in the library.
    ///
    /// # Errors
    /// The text is too long, and the settings do not allow to cut it.
    pub fn ranges(
        &self,
        length: usize,
        added: usize,
    ) -> Result<Vec<Range<usize>>, TruncationError> {
        let whole = 0..length;
        let Some(left) = self.max_length.checked_sub(added) else {
            return Ok(vec![whole]);
        };
        if length <= left {
            return Ok(vec![whole]);
        }
        if left == 0 {
            return Ok(vec![0..0, whole]);
        }
        if self.strategy == TruncationStrategy::OnlySecond {
            return Err(TruncationError::NoSecondText);
        }
        let Some(step) = left.checked_sub(self.stride).filter(|step| *step > 0) else {
            let stride = self.stride;
            return Err(TruncationError::StrideTooLong { stride, left });
        };
        let mut ranges = Vec::new();
        let mut done: usize = 0;
        loop {
            let end = done.saturating_add(left).min(length);
            ranges.push(match self.direction {
                Side::Right => done..end,
                Side::Left => length - end..length - done,
            });
            if end == length {
                return Ok(ranges);
            }
            done += step;
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

    /// Fills a text up to a length.
    fn pad(&self, text: &mut FinishedText, length: usize) {
        for part in &mut text.overflow {
            self.pad(part, length);
        }
        let Some(missing) = length.checked_sub(text.ids.len()) else {
            return;
        };
        let at = match self.direction {
            Side::Left => {
                text.unpadded.start += missing;
                text.unpadded.end += missing;
                0
            }
            Side::Right => text.ids.len(),
        };
        let id = PieceId::new(self.pad_id);
        text.ids.splice(at..at, std::iter::repeat_n(id, missing));
        let types = std::iter::repeat_n(self.pad_type_id, missing);
        text.type_ids.splice(at..at, types);
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
        let ends = self.text_ends();
        let added = match adds_special {
            true => ends.before.len() + ends.after.len(),
            false => 0,
        };
        let finish = |ids: Vec<PieceId>| {
            let whole = 0..ids.len();
            let ranges = match truncation {
                Some(truncation) => truncation.ranges(ids.len(), added)?,
                None => vec![whole],
            };
            let mut parts = ranges.into_iter().enumerate().map(|(number, range)| {
                let ids = ids[range].to_vec();
                self.with_template(ids, adds_special, number > 0)
            });
            let first = parts.next();
            let mut text = first.unwrap_or_else(|| self.with_template(Vec::new(), false, false));
            text.overflow = parts.collect();
            Ok(text)
        };
        let texts = texts.into_iter().map(finish);
        let mut texts: Vec<FinishedText> = texts.collect::<Result<_, TruncationError>>()?;
        if let Some(padding) = padding {
            let longest = texts.iter().map(|text| text.ids.len()).max();
            let length = padding.length(longest.unwrap_or_default());
            texts.iter_mut().for_each(|text| padding.pad(text, length));
        }
        Ok(texts)
    }

    /// A text in the templates, of which the later stand around the former. The library gives the text
    /// its type unless it is a part of the overflow.
    fn with_template(
        &self,
        ids: Vec<PieceId>,
        adds_special: bool,
        is_overflow: bool,
    ) -> FinishedText {
        let mut type_ids = vec![0; ids.len()];
        let mut ids = ids;
        for step in &self.post_processor {
            let PostProcessorStep::Template(template) = step else {
                continue;
            };
            let (text, types) = (std::mem::take(&mut ids), std::mem::take(&mut type_ids));
            for part in &template.single {
                match part {
                    TemplatePart::Special {
                        ids: special,
                        type_id,
                        ..
                    } if adds_special => {
                        ids.extend(special.iter().copied().map(PieceId::new));
                        type_ids.extend(special.iter().map(|_| *type_id));
                    }
                    TemplatePart::Special { .. } => {}
                    TemplatePart::Sequence { type_id, .. } => {
                        ids.extend_from_slice(&text);
                        match is_overflow {
                            true => type_ids.extend_from_slice(&types),
                            false => type_ids.extend(types.iter().map(|_| *type_id)),
                        }
                    }
                }
            }
        }
        FinishedText {
            unpadded: 0..ids.len(),
            ids,
            type_ids,
            overflow: Vec::new(),
        }
    }
}
