//! Incremental decoding: takes ids one by one and returns text as soon as it is certain.
//!
//! The parts of the text together are what [`Tokenizer::decode`](crate::Tokenizer::decode) gives
//! for all ids. The state between two ids is kept, and the bytes of an incomplete character (three
//! at most) are held back, whether they come from byte pieces or from the tokens of a byte-level
//! vocabulary. Models with a denormalizer, which are rare, have rules that may depend on any amount
//! of text, so their whole text comes from [`finish`](IncrementalDecoder::finish). So does that of
//! pipelines with other decoder steps than that of byte-level vocabularies.
//!
//! Example (Llama 2): `你` is not a piece; its ids are those of `▁`, `<0xE4>`, `<0xBD>`, `<0xA0>`.
//! The four calls of `push` return `""` (the dummy prefix), `""`, `""` and `"你"`.

use std::fmt;
use std::sync::Arc;

use super::{DecodeState, Decoder};
use crate::base::may_become_char;
use crate::decode::DecodeError;
use crate::piece::PieceId;

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
    decoder: Arc<Decoder>,
    state: DecodeState,
    /// What was not returned yet.
    bytes: Vec<u8>,
    /// What the last call returned.
    text: String,
    /// Makes the text, if no part of it is certain before the end.
    whole: Option<WholeDecoder>,
    /// The ids so far, for `whole`.
    ids: Vec<PieceId>,
}

/// Makes a text of all ids.
pub(crate) type WholeDecoder = Arc<dyn Fn(&[PieceId]) -> String + Send + Sync>;

impl IncrementalDecoder {
    pub(crate) fn new(decoder: Arc<Decoder>) -> Self {
        Self {
            decoder,
            state: DecodeState::default(),
            bytes: Vec::new(),
            text: String::new(),
            whole: None,
            ids: Vec::new(),
        }
    }

    /// A decoder whose whole text comes from [`finish`](Self::finish).
    #[cfg(feature = "formats")]
    pub(crate) fn of_whole(decoder: Arc<Decoder>, whole: WholeDecoder) -> Self {
        Self {
            whole: Some(whole),
            ..Self::new(decoder)
        }
    }

    /// Takes the next id and returns the text that is now certain, which may be empty.
    ///
    /// # Errors
    /// The id is not in the model. The decoder is then unchanged.
    pub fn push(&mut self, id: PieceId) -> Result<&str, DecodeError> {
        self.decoder.check_id(id)?;
        if self.whole.is_some() {
            self.ids.push(id);
            return Ok("");
        }
        let index = id.index();
        self.decoder.push(index, &mut self.state, &mut self.bytes);
        if self.decoder.has_denormalizer() {
            return Ok("");
        }
        Ok(self.take_text())
    }

    /// Ends the text and returns what was held back. The decoder is then ready for another text.
    pub fn finish(&mut self) -> &str {
        if let Some(whole) = &self.whole {
            self.text = whole(&std::mem::take(&mut self.ids));
            return &self.text;
        }
        self.decoder.finish(&mut self.state, 0, &mut self.bytes);
        self.state = DecodeState::default();
        let bytes = std::mem::take(&mut self.bytes);
        self.text = self.decoder.to_text(bytes);
        &self.text
    }

    /// Takes the bytes as text, but those of a character that the next piece may complete.
    fn take_text(&mut self) -> &str {
        let begun = match self.decoder.splits_chars {
            true => begun_char(&self.bytes),
            false => 0,
        };
        let whole = &self.bytes[..self.bytes.len() - begun];
        self.text.clear();
        match std::str::from_utf8(whole) {
            Ok(text) => self.text.push_str(text),
            Err(_) => self.text = self.decoder.to_text(whole.to_vec()),
        }
        self.bytes.drain(..self.bytes.len() - begun);
        &self.text
    }
}

/// The bytes at the end that are the beginning of a character, but no character.
fn begun_char(bytes: &[u8]) -> usize {
    let longest = bytes.len().min(3);
    let mut lengths = (1..=longest).rev();
    let begins = |length: &usize| may_become_char(&bytes[bytes.len() - length..]);
    lengths.find(begins).unwrap_or(0)
}

impl fmt::Debug for IncrementalDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IncrementalDecoder")
            .field("state", &self.state)
            .finish_non_exhaustive()
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
