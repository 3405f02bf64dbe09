//! Texts that are given in parts: segments with their own options, and text that is appended.

use spiece::{AppendingEncoder, PreparedOptions, TextSegment};
use wasm_bindgen::prelude::*;

use crate::tokenizer::CoreTokenizer;

/// One text in segments.
#[wasm_bindgen(js_name = CoreSegments)]
pub struct CoreSegments(Vec<(String, PreparedOptions)>);

#[wasm_bindgen(js_class = CoreSegments)]
impl CoreSegments {
    /// Appends a segment in which is found what the options of a tokenizer say.
    pub fn push(&mut self, text: String, found: &CoreTokenizer) {
        self.0.push((text, found.options.clone()));
    }
}

#[wasm_bindgen(js_class = CoreTokenizer)]
impl CoreTokenizer {
    /// Takes the segments of a text, of which there are none at first.
    pub fn segments(&self) -> CoreSegments {
        CoreSegments(Vec::new())
    }

    /// The ids of one text in segments.
    #[wasm_bindgen(js_name = encodeSegments)]
    pub fn encode_segments(&self, segments: &CoreSegments) -> Result<Vec<u32>, JsError> {
        let segments = segments.0.iter();
        let segments = segments.map(|(text, options)| TextSegment::new(text, options));
        let segments: Vec<TextSegment<'_>> = segments.collect();
        let mut encoder = self.tokenizer.encoder_of(&self.options)?;
        let ids = encoder.encode_segments(&segments)?;
        Ok(ids.iter().map(|id| id.get()).collect())
    }

    /// An encoder of a text that grows at its end.
    #[wasm_bindgen(js_name = appendingEncoder)]
    pub fn appending_encoder(&self) -> Result<CoreAppendingEncoder, JsError> {
        let encoder = self.tokenizer.appending_encoder(self.options.options());
        Ok(CoreAppendingEncoder(encoder?))
    }
}

/// Encodes a text that grows at its end.
#[wasm_bindgen(js_name = CoreAppendingEncoder)]
pub struct CoreAppendingEncoder(AppendingEncoder);

#[wasm_bindgen(js_class = CoreAppendingEncoder)]
impl CoreAppendingEncoder {
    /// Appends text and returns how many of the ids before stay.
    pub fn push(&mut self, text: &str) -> Result<usize, JsError> {
        Ok(self.0.push(text)?.kept)
    }

    /// The ids of the text so far without the first `start`.
    pub fn ids(&self, start: usize) -> Vec<u32> {
        self.0.ids().iter().skip(start).map(|id| id.get()).collect()
    }

    /// Begins another text.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}
