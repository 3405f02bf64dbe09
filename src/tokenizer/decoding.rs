//! Ids or pieces -> text.
//!
//! All methods call the [decoder](crate::decode) of the model.
//!
//! Example: the ids of the pieces `▁the` and `▁right` become the text `the right`: whitespace marks
//! become spaces, and the dummy prefix is removed.
//!
//! Ids become a text with one allocation. Pieces given by their texts need one hash lookup each.

use std::collections::HashSet;
use std::sync::Arc;

use super::Tokenizer;
use super::incremental::IncrementalDecoder;
use super::tables::Tables;
#[cfg(feature = "formats")]
use crate::base::lossy_string;
use crate::decode::spans::{DecodedText, GivenPiece};
use crate::decode::{DecodeError, Decoder};
use crate::piece::PieceId;
#[cfg(feature = "formats")]
use crate::pipeline::Pipeline;

/// More bytes than a typical piece has, so that the buffer rarely grows twice.
const BYTES_PER_ID: usize = 5;

/// Appends the text of ids of a pipeline.
#[cfg(feature = "formats")]
fn decode_by(
    pipeline: &Pipeline,
    ids: &[PieceId],
    skips_special: bool,
    text: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let decoded = pipeline.decode(ids, skips_special)?;
    text.extend_from_slice(&decoded);
    Ok(())
}

/// Decoding.
impl Tokenizer {
    /// The text of `ids`, which are ids of this library or numbers: a slice, a list, or any
    /// iterator. Malformed parts, which only pieces that are not UTF-8 can produce, become U+FFFD.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let ids = tokenizer.encode("the right");
    /// assert_eq!(tokenizer.decode(&ids)?, "the right");
    /// let numbers: Vec<u32> = ids.iter().map(|id| id.get()).collect();
    /// assert_eq!(tokenizer.decode(&numbers)?, "the right");
    /// assert_eq!(tokenizer.decode(numbers.iter().take(1))?, "the");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An id is not in the model.
    pub fn decode<I: Into<PieceId>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<String, DecodeError> {
        Ok(self.decoder().to_text(self.decode_to_bytes(ids)?))
    }

    /// Like [`decode`](Self::decode), but malformed text is an error.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.decode_strictly(tokenizer.encode("the right"))?, "the right");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An id is not in the model, or the text is not UTF-8: in a byte-level vocabulary, because the
    /// ids begin or end inside a character, or because of the model that generated them. In a
    /// SentencePiece model, byte pieces that are no character are U+FFFD, as in the reference.
    pub fn decode_strictly<I: Into<PieceId>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<String, DecodeError> {
        let bytes = self.decode_to_bytes(ids)?;
        String::from_utf8(bytes).map_err(|error| DecodeError::Malformed {
            begin: error.utf8_error().valid_up_to(),
        })
    }

    /// The text of `ids`, byte for byte, for models with pieces that are not UTF-8.
    ///
    /// # Errors
    /// An id is not in the model.
    pub fn decode_to_bytes<I: Into<PieceId>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<Vec<u8>, DecodeError> {
        let ids: Vec<PieceId> = ids.into_iter().map(Into::into).collect();
        let mut text = Vec::with_capacity(ids.len() * BYTES_PER_ID);
        self.decode_into(&ids, &mut text)?;
        Ok(text)
    }

    /// Appends the text of `ids`, which are ids of this library or numbers, to `text`. Nothing else is allocated, so that a loop over many
    /// texts is faster than with [`decode`](Self::decode).
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let mut text = b"> ".to_vec();
    /// tokenizer.decode_into(&tokenizer.encode("quoted"), &mut text)?;
    /// assert_eq!(text, b"> quoted");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// An id is not in the model; `text` is then unchanged.
    pub fn decode_into<I: Copy + Into<PieceId>>(
        &self,
        ids: &[I],
        text: &mut Vec<u8>,
    ) -> Result<(), DecodeError> {
        #[cfg(feature = "formats")]
        if let Some(pipeline) = self.pipeline().filter(|pipeline| !pipeline.joins_bytes()) {
            let ids: Vec<PieceId> = ids.iter().map(|id| (*id).into()).collect();
            return decode_by(pipeline, &ids, false, text);
        }
        self.decoder().decode(ids, text)
    }

    /// The text of `ids` without that of special tokens: what the library tokenizers calls
    /// `skip_special_tokens`. In a SentencePiece model, control pieces have no text anyway.
    ///
    /// # Errors
    /// An id is not in the vocabulary.
    pub fn decode_without_special<I: Into<PieceId>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<String, DecodeError> {
        let ids = ids.into_iter().map(Into::into);
        #[cfg(feature = "formats")]
        if let Some(pipeline) = self.pipeline() {
            let mut text = Vec::new();
            decode_by(pipeline, &ids.collect::<Vec<_>>(), true, &mut text)?;
            return Ok(self.decoder().to_text(text));
        }
        let special = self.special_ids();
        self.decode(ids.filter(|id| !special.contains(id)))
    }

    /// The ids that [`decode_without_special`](Self::decode_without_special) leaves out: without them,
    /// the other functions that decode give the same text. They are collected in the time that a look at
    /// each token takes.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let special = tokenizer.special_ids();
    /// let mut decoder = tokenizer.incremental_decoder();
    /// let mut text = String::new();
    /// for id in tokenizer.encode("the right") {
    ///     if !special.contains(&id) {
    ///         text += decoder.push(id)?;
    ///     }
    /// }
    /// assert_eq!(text, "the right");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn special_ids(&self) -> HashSet<PieceId> {
        #[cfg(feature = "formats")]
        if let Some(pipeline) = self.pipeline() {
            return pipeline.hidden_ids().map(PieceId::new).collect();
        }
        self.special_tokens().map(|(id, _)| id).collect()
    }

    /// The text of pieces that are given by their texts. Text that is not a piece stands for
    /// itself.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.decode_pieces(&["\u{2581}the", "<0x21>"]), "the!");
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn decode_pieces<P: AsRef<[u8]>>(&self, pieces: &[P]) -> String {
        self.decoder().to_text(self.decode_pieces_to_bytes(pieces))
    }

    /// The text of pieces that are given by their texts, byte for byte: pieces that are not UTF-8
    /// stay unchanged.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// assert_eq!(tokenizer.decode_pieces_to_bytes(&[b"\xFF"]), b"\xFF");
    /// assert_eq!(tokenizer.decode_pieces(&[b"\xFF"]), "\u{FFFD}");
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn decode_pieces_to_bytes<P: AsRef<[u8]>>(&self, pieces: &[P]) -> Vec<u8> {
        let pieces = pieces.iter().map(AsRef::as_ref);
        #[cfg(feature = "formats")]
        if let Some(pipeline) = self.pipeline().filter(|it| !it.has_byte_strings()) {
            let tokens: Vec<String> = pieces.clone().map(lossy_string).collect();
            if let Ok(text) = pipeline.decode_tokens(tokens.iter().map(String::as_str)) {
                return text.into_bytes();
            }
        }
        let found = pieces.map(|piece| (piece, self.piece_to_id(piece)));
        self.decoder().decode_pieces(found)
    }

    /// The text of `ids`, with the part of it that each id stands for; see [`DecodedText`] for an
    /// example.
    ///
    /// # Errors
    /// An id is not in the model.
    pub fn decode_to_tokens<I: Into<PieceId>>(
        &self,
        ids: impl IntoIterator<Item = I>,
    ) -> Result<DecodedText<'_>, DecodeError> {
        let ids: Vec<PieceId> = ids.into_iter().map(Into::into).collect();
        ids.iter().try_for_each(|id| self.decoder().check_id(*id))?;
        #[cfg(feature = "formats")]
        if self
            .pipeline()
            .is_some_and(|pipeline| !pipeline.joins_bytes())
        {
            return Err(DecodeError::NoResult {
                problem: "the decoder of this tokenizer.json does not say which part of the text \
                          belongs to an id; decode the ids without spans"
                    .to_owned(),
            });
        }
        let pieces = ids.iter().map(|id| self.given_id(*id));
        Ok(self.decoder().decode_with_spans(pieces, self.unk_id()))
    }

    /// A piece that is given by its id.
    fn given_id(&self, id: PieceId) -> GivenPiece<'_> {
        GivenPiece {
            text: self.id_to_piece(id).unwrap_or_default(),
            id: Some(id),
        }
    }

    /// The text of pieces that are given by their texts, with the part of it that each piece stands
    /// for.
    ///
    /// ```
    /// let tokenizer = spiece::Tokenizer::open("testdata/golden/llama2.model")?;
    /// let pieces = ["\u{2581}the", "<0x21>"];
    /// let decoded = tokenizer.decode_pieces_to_tokens(&pieces);
    /// assert_eq!(decoded.text(), b"the!");
    /// assert_eq!(decoded.tokens()[1].span, 3..4);
    /// # Ok::<(), spiece::OpenError>(())
    /// ```
    pub fn decode_pieces_to_tokens<'p, P: AsRef<[u8]>>(&self, pieces: &'p [P]) -> DecodedText<'p> {
        let pieces = pieces.iter().map(|piece| self.given_text(piece.as_ref()));
        self.decoder().decode_with_spans(pieces, self.unk_id())
    }

    /// A piece that is given by its text.
    fn given_text<'p>(&self, text: &'p [u8]) -> GivenPiece<'p> {
        GivenPiece {
            text,
            id: self.piece_to_id(text),
        }
    }

    fn decoder(&self) -> &Arc<Decoder> {
        self.decoder.get_or_init(|| {
            Arc::new(match &self.tables {
                Tables::Model(tables) => Decoder::new(tables.model()),
                // Only the bytes of byte-level pipelines are those of the texts; see
                // `Pipeline::joins_bytes`.
                #[cfg(feature = "formats")]
                Tables::Pipeline(tables) => {
                    let pipeline = &tables.pipeline;
                    let ids = (0..pipeline.vocab_size()).map(PieceId::from_index);
                    let texts: Vec<_> = ids.map(|id| pipeline.bytes_of(id.get())).collect();
                    Decoder::of_tokens(texts.iter().map(|text| text.as_deref()))
                }
            })
        })
    }

    /// A decoder that takes ids one by one; see [`IncrementalDecoder`] for an example.
    ///
    /// What a step of the decoder of a `tokenizer.json` may still change is held back.
    pub fn incremental_decoder(&self) -> IncrementalDecoder {
        #[cfg(feature = "formats")]
        if let Some(pipeline) = self.pipeline().filter(|pipeline| !pipeline.joins_bytes()) {
            return IncrementalDecoder::of_pipeline(Arc::clone(pipeline));
        }
        IncrementalDecoder::new(Arc::clone(self.decoder()))
    }
}
