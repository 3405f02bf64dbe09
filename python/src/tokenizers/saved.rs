//! An encoding as tokenizers pickles it: its columns in JSON.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use pyo3::prelude::*;
use serde::{Deserialize, Serialize};
use spiece::PieceId;
use spiece::pipeline::Layout;

use super::columns::{self, Encoded};
use super::source::{Details, GivenColumns, Source};

/// All columns of an encoding.
#[derive(Serialize, Deserialize)]
pub struct SavedEncoding<'t> {
    ids: Vec<u32>,
    type_ids: Vec<u32>,
    tokens: Vec<Cow<'t, str>>,
    words: Vec<Option<u32>>,
    offsets: Vec<(usize, usize)>,
    special_tokens_mask: Vec<u32>,
    attention_mask: Vec<u32>,
    overflowing: Vec<SavedEncoding<'t>>,
    sequence_ranges: BTreeMap<usize, Range<usize>>,
}

impl<'t> SavedEncoding<'t> {
    pub fn new(layout: &'t Encoded) -> PyResult<Self> {
        let mut ids = Vec::with_capacity(layout.len());
        columns::push_all_ids(layout, &mut ids);
        let tokens = columns::texts(layout)?.into_iter().map(Cow::Borrowed);
        let sequences = layout.sequences().iter();
        let overflow = layout.overflow().iter().map(Self::new);
        Ok(Self {
            ids,
            type_ids: columns::type_ids(layout).into_numbers(),
            tokens: tokens.collect(),
            words: columns::words(layout)?,
            offsets: columns::spans_of(layout)?,
            special_tokens_mask: columns::special_tokens_mask(layout).into_numbers(),
            attention_mask: columns::attention_mask(layout).into_numbers(),
            overflowing: overflow.collect::<PyResult<_>>()?,
            sequence_ranges: sequences
                .map(|known| (known.sequence, known.tokens.clone()))
                .collect(),
        })
    }

    /// The encoding; an error says what does not fit together.
    pub fn into_layout(self) -> Result<Encoded, String> {
        let length = self.ids.len();
        let lengths = [
            self.type_ids.len(),
            self.tokens.len(),
            self.words.len(),
            self.offsets.len(),
            self.special_tokens_mask.len(),
            self.attention_mask.len(),
        ];
        if lengths.iter().any(|other| *other != length) {
            return Err(format!(
                "the columns of the encoding have the lengths {length} and {lengths:?}"
            ));
        }
        let details = Details {
            texts: self.tokens.into_iter().map(Into::into).collect(),
            spans: self.offsets,
            words: self.words,
            given: Some(GivenColumns {
                type_ids: self.type_ids,
                special: self.special_tokens_mask,
                attention: self.attention_mask,
            }),
        };
        let ids = self.ids.into_iter().map(PieceId::new).collect();
        let mut layout = Layout::of_source(Arc::new(Source::given(ids, details)), length);
        for (sequence, tokens) in self.sequence_ranges {
            layout.set_tokens_of(sequence, tokens);
        }
        let overflow = self.overflowing.into_iter().map(Self::into_layout);
        *layout.overflow_mut() = overflow.collect::<Result<_, _>>()?;
        Ok(layout)
    }
}
