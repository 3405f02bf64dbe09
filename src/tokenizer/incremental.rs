//! Incremental decoding: takes ids one by one and returns text as soon as it is certain.
//!
//! The parts of the text together are what [`Tokenizer::decode`](crate::Tokenizer::decode) gives
//! for all ids. The state between two ids is kept, and the bytes of an incomplete character (three
//! at most) are held back, whether they come from byte pieces or from the tokens of a byte-level
//! vocabulary. Models with a denormalizer, which are rare, have rules that may depend on any amount
//! of text, so their whole text comes from [`finish`](IncrementalDecoder::finish).
//!
//! The steps of the decoder of a `tokenizer.json` hold back what the next token can change: runs of
//! byte tokens, which are characters or not as a whole, the last token with the end of a word, spaces
//! that are removed from the end. A pattern that is replaced after all tokens were joined to one needs
//! the whole text.
//!
//! Example (Llama 2): `你` is not a piece; its ids are those of `▁`, `<0xE4>`, `<0xBD>`, `<0xA0>`.
//! The four calls of `push` return `""` (the dummy prefix), `""`, `""` and `"你"`.

use std::fmt;
use std::sync::Arc;

use crate::base::begun_char;
use crate::decode::{DecodeError, DecodeState, Decoder};
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::pipeline::{DecoderState, Pipeline};

/// Decodes ids one by one; made by
/// [`Tokenizer::incremental_decoder`](crate::Tokenizer::incremental_decoder).
///
/// It borrows nothing, so it can be stored, for example in the state of a request.
///
/// ```
/// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
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
#[derive(Clone)]
pub struct IncrementalDecoder {
    decoding: Decoding,
    /// What the last call returned.
    text: String,
}

/// What makes a text of ids.
#[derive(Clone)]
enum Decoding {
    Pieces(PieceDecoding),
    #[cfg(feature = "formats")]
    Pipeline {
        pipeline: Arc<Pipeline>,
        state: DecoderState,
    },
}

/// The decoder of a model or of a byte-level vocabulary.
#[derive(Clone)]
struct PieceDecoding {
    decoder: Arc<Decoder>,
    state: DecodeState,
    /// What was not returned yet.
    bytes: Vec<u8>,
}

impl PieceDecoding {
    /// Takes the next id; `text`, which is empty, becomes what is now certain.
    fn push(&mut self, id: PieceId, text: &mut String) -> Result<(), DecodeError> {
        self.decoder.check_id(id)?;
        self.decoder
            .push(id.index(), &mut self.state, &mut self.bytes);
        if self.decoder.has_denormalizer() {
            return Ok(());
        }
        let begun = match self.decoder.splits_chars {
            true => begun_char(&self.bytes),
            false => 0,
        };
        let whole = self.bytes.len() - begun;
        match std::str::from_utf8(&self.bytes[..whole]) {
            Ok(certain) => text.push_str(certain),
            Err(_) => *text = self.decoder.to_text(self.bytes[..whole].to_vec()),
        }
        self.bytes.drain(..whole);
        Ok(())
    }

    /// The text that is left after the last id.
    fn finish(&mut self) -> String {
        self.decoder.finish(&mut self.state, 0, &mut self.bytes);
        self.state = DecodeState::default();
        self.decoder.to_text(std::mem::take(&mut self.bytes))
    }
}

impl IncrementalDecoder {
    pub(crate) fn new(decoder: Arc<Decoder>) -> Self {
        Self {
            decoding: Decoding::Pieces(PieceDecoding {
                decoder,
                state: DecodeState::default(),
                bytes: Vec::new(),
            }),
            text: String::new(),
        }
    }

    /// A decoder by the steps of a pipeline.
    #[cfg(feature = "formats")]
    pub(crate) fn of_pipeline(pipeline: Arc<Pipeline>) -> Self {
        Self {
            decoding: Decoding::Pipeline {
                state: pipeline.decoder_state(),
                pipeline,
            },
            text: String::new(),
        }
    }

    /// Takes the next id and returns the text that is now certain, which may be empty.
    ///
    /// # Errors
    /// The id is not in the model; the decoder is then unchanged. Or a pattern of the decoder of a
    /// `tokenizer.json` takes too many steps.
    pub fn push(&mut self, id: PieceId) -> Result<&str, DecodeError> {
        self.text.clear();
        match &mut self.decoding {
            Decoding::Pieces(pieces) => pieces.push(id, &mut self.text)?,
            #[cfg(feature = "formats")]
            Decoding::Pipeline { pipeline, state } => {
                pipeline.check_id(id)?;
                pipeline.decode_next(id.get(), state, &mut self.text)?;
            }
        }
        Ok(&self.text)
    }

    /// Ends the text and returns what was held back, which is nothing if a pattern of the decoder takes
    /// too many steps. The decoder is then ready for another text.
    pub fn finish(&mut self) -> &str {
        self.text.clear();
        match &mut self.decoding {
            Decoding::Pieces(pieces) => self.text = pieces.finish(),
            #[cfg(feature = "formats")]
            Decoding::Pipeline { pipeline, state } => {
                let state = std::mem::replace(state, pipeline.decoder_state());
                if pipeline.decode_end(state, &mut self.text).is_err() {
                    self.text.clear();
                }
            }
        }
        &self.text
    }
}

impl fmt::Debug for IncrementalDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncrementalDecoder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use crate::{PieceId, Tokenizer};

    #[test]
    fn a_split_character_appears_with_its_last_byte() {
        let root = env!("CARGO_MANIFEST_DIR");
        let tokenizer = Tokenizer::open(format!("{root}/testdata/golden/llama2.model")).unwrap();
        let pieces = ["\u{2581}", "<0xE4>", "<0xBD>", "<0xA0>", ",", "<0xE4>"];
        let ids: Vec<PieceId> = pieces
            .iter()
            .map(|piece| tokenizer.piece_to_id(piece).unwrap())
            .collect();
        let mut decoder = tokenizer.incremental_decoder();
        for _ in 0..2 {
            let mut parts: Vec<String> = ids
                .iter()
                .map(|id| decoder.push(*id).unwrap().to_owned())
                .collect();
            parts.push(decoder.finish().to_owned());
            assert_eq!(parts, ["", "", "", "\u{4f60}", ",", "", "\u{fffd}"]);
            assert_eq!(parts.concat(), tokenizer.decode(&ids).unwrap());
        }
    }

    #[test]
    fn a_refused_id_leaves_the_decoder_unchanged() {
        let root = env!("CARGO_MANIFEST_DIR");
        let tokenizer = Tokenizer::open(format!("{root}/testdata/golden/llama2.model")).unwrap();
        let byte = tokenizer.piece_to_id("<0xC3>").unwrap();
        let last = tokenizer.piece_to_id("<0xA9>").unwrap();
        let mut decoder = tokenizer.incremental_decoder();
        assert_eq!(decoder.push(byte).unwrap(), "");
        assert!(decoder.push(PieceId::new(u32::MAX)).is_err());
        assert_eq!(decoder.push(last).unwrap(), "\u{e9}");
    }
}
