//! The incremental decoder: ids one by one -> text as soon as it is certain.
//!
//! In: ids, as a model generates them. Out: pieces of text that together are what
//! [`Tokenizer::decode`](crate::Tokenizer::decode) makes of all the ids. What it holds back: up to three bytes
//! that may become a character with those to come. Models with a denormalizer (rare) have rules that look
//! at any amount of text, so all of their text comes at the end.

use super::State;
use crate::error::DecodeError;
use crate::piece::PieceId;
use crate::text::lossy_string;
use crate::tokenizer::Tokenizer;

/// Decodes ids as they come; made by [`Tokenizer::incremental_decoder`].
///
/// ```
/// # let model = spiece::Model::open("testdata/golden/llama2.model")?;
/// let tokenizer = spiece::Tokenizer::new(model)?;
/// let ids = tokenizer.encode("Grüße, 世界");
/// let mut decoder = tokenizer.incremental_decoder();
/// let mut text = String::new();
/// for id in &ids {
///     text += decoder.push(*id)?; // never half a character
/// }
/// text += decoder.finish();
/// assert_eq!(text, "Grüße, 世界");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct IncrementalDecoder<'t> {
    tokenizer: &'t Tokenizer,
    state: State,
    bytes: Vec<u8>,
    text: String,
}

impl<'t> IncrementalDecoder<'t> {
    pub(crate) fn new(tokenizer: &'t Tokenizer) -> IncrementalDecoder<'t> {
        IncrementalDecoder {
            tokenizer,
            state: State::default(),
            bytes: Vec::new(),
            text: String::new(),
        }
    }

    /// Takes the next id and returns the text that is certain now, perhaps none.
    ///
    /// # Errors
    /// The model has no such id. The decoder is as it was before.
    pub fn push(&mut self, id: PieceId) -> Result<&str, DecodeError> {
        let decoder = self.tokenizer.decoder();
        self.tokenizer.check_ids(&[id])?;
        if !decoder.has_denormalizer() {
            self.bytes.clear();
        }
        decoder.push(id.index(), &mut self.state, &mut self.bytes);
        Ok(if decoder.has_denormalizer() {
            ""
        } else {
            self.show()
        })
    }

    /// Ends the text and returns what was held back. The decoder is then ready for another text.
    pub fn finish(&mut self) -> &str {
        let decoder = self.tokenizer.decoder();
        if !decoder.has_denormalizer() {
            self.bytes.clear();
        }
        decoder.finish(&mut self.state, 0, &mut self.bytes);
        self.show();
        self.bytes.clear();
        self.state = State::default();
        &self.text
    }

    /// The bytes as text.
    fn show(&mut self) -> &str {
        self.text.clear();
        match std::str::from_utf8(&self.bytes) {
            Ok(text) => self.text.push_str(text),
            Err(_) => self.text = lossy_string(&self.bytes),
        }
        &self.text
    }
}
