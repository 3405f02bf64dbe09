//! A tokenizer with options of encoding, and a decoder of ids that arrive one by one.

use std::cell::RefCell;
use std::rc::Rc;

use spiece::byte_bpe::SpecialToken;
use spiece::formats::{ByteFormatOptions, ByteVocabulary, Converted};
use spiece::{
    EncodeOptions, ExtraOption, IncrementalDecoder, Offsets, PatternError, PatternSyntax, PieceId,
    PreparedOptions, Pretokenizer, Tokenizer, TokenizerConfig,
};
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Copies the ids of a text once, from the memory of the module; a `Vec` would be one more
    /// copy.
    #[wasm_bindgen(typescript_type = "Uint32Array")]
    pub type Uint32Array;
    #[wasm_bindgen(constructor)]
    fn new(numbers: &[u32]) -> Uint32Array;
}

/// What a vocabulary needs and its file lacks: the name of a pattern or an expression, and special
/// tokens. `None` leaves each of them to the file.
fn format_options(
    pattern: Option<String>,
    special: Option<(Vec<String>, Vec<u32>)>,
) -> Result<ByteFormatOptions, PatternError> {
    let mut options = ByteFormatOptions::default();
    if let Some(pattern) = pattern {
        options.pretokenizer = Some(Pretokenizer::parse(&pattern, PatternSyntax::Rust)?);
    }
    if let Some((texts, ids)) = special {
        let tokens = texts.into_iter().zip(ids);
        let tokens = tokens.map(|(text, id)| SpecialToken::new(text, id));
        options.special_tokens = Some(tokens.collect());
    }
    Ok(options)
}

/// A position in a text. The memory of a module has no more than 2^32 bytes, so that it always fits.
fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// A tokenizer and the options that its methods encode with.
#[wasm_bindgen(js_name = CoreTokenizer)]
pub struct CoreTokenizer {
    pub(crate) tokenizer: Rc<Tokenizer>,
    pub(crate) options: PreparedOptions,
    /// The ids of the last text; kept so that short texts need no new memory.
    ids: RefCell<Vec<u32>>,
}

impl CoreTokenizer {
    fn of(tokenizer: Rc<Tokenizer>, options: &EncodeOptions) -> Result<Self, JsError> {
        Ok(Self {
            options: tokenizer.prepare_options(options)?,
            tokenizer,
            ids: RefCell::default(),
        })
    }

    /// Refuses a text with special tokens, if the options say so, and gives it to `use_encoder`.
    fn encode_as<T>(
        &self,
        text: &str,
        use_encoder: impl FnOnce(&mut spiece::Encoder<'_>) -> T,
    ) -> Result<T, JsError> {
        let mut encoder = self.tokenizer.encoder_of(&self.options)?;
        encoder.check_special(text)?;
        Ok(use_encoder(&mut encoder))
    }
}

#[wasm_bindgen(js_class = CoreTokenizer)]
impl CoreTokenizer {
    /// Reads a tokenizer file of any format, recognized by its content. The special tokens are
    /// given as two lists of equal length, or not at all.
    pub fn load(
        file: &[u8],
        pattern: Option<String>,
        special_texts: Option<Vec<String>>,
        special_ids: Option<Vec<u32>>,
    ) -> Result<Self, JsError> {
        let special = special_texts.zip(special_ids);
        let options = format_options(pattern, special)?;
        let tokenizer = Tokenizer::from_bytes_with(file, &options)?;
        Self::of(Rc::new(tokenizer), &EncodeOptions::default())
    }

    /// Reads the contents of `vocab.json` and `merges.txt`.
    #[wasm_bindgen(js_name = loadVocabAndMerges)]
    pub fn load_vocab_and_merges(
        vocab: &[u8],
        merges: &[u8],
        pattern: Option<String>,
        special_texts: Option<Vec<String>>,
        special_ids: Option<Vec<u32>>,
    ) -> Result<Self, JsError> {
        let special = special_texts.zip(special_ids);
        let options = format_options(pattern, special)?;
        let vocabulary = ByteVocabulary::from_vocab_and_merges(vocab, merges, &options);
        let bpe = vocabulary.and_then(Converted::into_bpe)?;
        let tokenizer = Tokenizer::from_pipeline(bpe, TokenizerConfig::default());
        Self::of(Rc::new(tokenizer), &EncodeOptions::default())
    }

    /// The same tokenizer with other options; the tables are shared.
    #[wasm_bindgen(js_name = withOptions)]
    pub fn with_options(
        &self,
        allowed_special: Vec<String>,
        refuses_special: bool,
        user_defined_symbols: bool,
        extra: &str,
    ) -> Result<Self, JsError> {
        let options = EncodeOptions::default()
            .with_allowed_special(allowed_special)
            .with_refuses_special(refuses_special)
            .with_user_defined_symbols(user_defined_symbols)
            .with_extra(ExtraOption::parse_list(extra)?);
        Self::of(Rc::clone(&self.tokenizer), &options)
    }

    /// The ids of a text.
    pub fn encode(&self, text: &str) -> Result<Uint32Array, JsError> {
        let mut numbers = self.ids.borrow_mut();
        numbers.clear();
        self.encode_as(text, |encoder| {
            numbers.extend(encoder.encode(text).iter().map(|id| id.get()));
        })?;
        Ok(Uint32Array::new(&numbers))
    }

    /// The number of ids of a text.
    pub fn count(&self, text: &str) -> Result<usize, JsError> {
        self.encode_as(text, |encoder| encoder.count(text))
    }

    /// For each token its id, and the start and the end of its span in UTF-16 units.
    pub fn tokens(&self, text: &str) -> Result<Vec<u32>, JsError> {
        self.encode_as(text, |encoder| {
            let offsets = Offsets::new(text);
            let mut numbers = Vec::new();
            for token in &encoder.tokens(text) {
                let span = token.span();
                let units = [span.start, span.end].map(|at| index(offsets.utf16(at)));
                numbers.extend([token.id().get(), units[0], units[1]]);
            }
            numbers
        })
    }

    /// The text of ids. If it `is_strict`, bytes that are no UTF-8 are an error; otherwise they
    /// become U+FFFD.
    pub fn decode(&self, ids: &[u32], is_strict: bool) -> Result<String, JsError> {
        let ids = ids.iter().map(|id| PieceId::new(*id));
        match is_strict {
            true => Ok(self.tokenizer.decode_strictly(ids)?),
            false => Ok(self.tokenizer.decode(ids)?),
        }
    }

    /// The bytes of the text of ids.
    #[wasm_bindgen(js_name = decodeToBytes)]
    pub fn decode_to_bytes(&self, ids: &[u32]) -> Result<Vec<u8>, JsError> {
        let ids = ids.iter().map(|id| PieceId::new(*id));
        Ok(self.tokenizer.decode_to_bytes(ids)?)
    }

    /// A decoder of ids that arrive one by one.
    pub fn decoder(&self) -> CoreDecoder {
        CoreDecoder(self.tokenizer.incremental_decoder())
    }

    /// The number of ids.
    #[wasm_bindgen(getter, js_name = vocabSize)]
    pub fn vocab_size(&self) -> usize {
        self.tokenizer.vocab_size()
    }

    /// The bytes of a piece, or nothing.
    #[wasm_bindgen(js_name = pieceBytes)]
    pub fn piece_bytes(&self, id: u32) -> Option<Vec<u8>> {
        let piece = self.tokenizer.id_to_piece(PieceId::new(id))?;
        Some(piece.to_vec())
    }

    /// The id of a piece, or nothing.
    #[wasm_bindgen(js_name = pieceId)]
    pub fn piece_id(&self, piece: &[u8]) -> Option<u32> {
        Some(self.tokenizer.piece_to_id(piece)?.get())
    }

    /// What a piece is for, in one word of the library, or nothing.
    pub fn kind(&self, id: u32) -> Option<String> {
        let piece = self.tokenizer.piece(PieceId::new(id))?;
        Some(piece.kind.to_string())
    }

    /// The score of a piece, or nothing.
    pub fn score(&self, id: u32) -> Option<f32> {
        Some(self.tokenizer.piece(PieceId::new(id))?.score)
    }

    /// The special tokens or control pieces.
    #[wasm_bindgen(getter, js_name = specialIds)]
    pub fn special_ids(&self) -> Vec<u32> {
        let special = self.tokenizer.special_tokens();
        special.map(|(id, _)| id.get()).collect()
    }

    /// The text as the model sees it, before it is cut into pieces.
    pub fn normalize(&self, text: &str) -> String {
        self.tokenizer.normalize(text)
    }

    /// What kind of vocabulary it is.
    #[wasm_bindgen(getter, js_name = modelType)]
    pub fn model_type(&self) -> String {
        self.tokenizer.model_type_name().to_owned()
    }
}

#[cfg(feature = "train")]
#[wasm_bindgen(js_class = CoreTokenizer)]
impl CoreTokenizer {
    /// For each merge of the text of a piece the id that it makes, and the start, the middle and the
    /// end of what it joins, in bytes of the piece.
    pub fn merges(&self, id: u32) -> Result<Vec<u32>, JsError> {
        let merges = spiece::inspect::piece_merges(&self.tokenizer, PieceId::new(id))?;
        let numbers = merges.iter().flat_map(|merge| {
            let ends = [merge.left.start, merge.left.end, merge.right.end].map(index);
            [merge.id.get(), ends[0], ends[1], ends[2]]
        });
        Ok(numbers.collect())
    }
}

/// Decodes ids that arrive one by one.
#[wasm_bindgen(js_name = CoreDecoder)]
pub struct CoreDecoder(IncrementalDecoder);

#[wasm_bindgen(js_class = CoreDecoder)]
impl CoreDecoder {
    /// Takes the next id and returns the text that is certain.
    pub fn push(&mut self, id: u32) -> Result<String, JsError> {
        Ok(self.0.push(PieceId::new(id))?.to_owned())
    }

    /// Ends the text and returns what was held back.
    pub fn finish(&mut self) -> String {
        self.0.finish().to_owned()
    }
}
