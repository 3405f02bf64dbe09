//! A model -> a GGUF file without tensors.
//!
//! Input: a model and the options. Output: the bytes of a file of version 3, little-endian. Cost:
//! linear in the pieces.

use super::{
    CHARSMAP, DUMMY_PREFIX, ESCAPES_SPACES, GgufOptions, GgufResult, MODEL, REMOVES_SPACES, SCORES,
    SPACE_IS_SUFFIX, TOKENS, TYPES,
};
use crate::convert::FileFormat;
use crate::error::ConvertError;
use crate::model::{Model, ModelType, Piece, kind_number};
use crate::piece::PieceKind;
use crate::text::num::low_u32;
use crate::text::{WHITESPACE_MARK_STR, lossy_string};

/// The numbers of the types of values.
const U32: u32 = 4;
const BOOL: u32 = 7;
const TEXT: u32 = 8;
const ARRAY: u32 = 9;
const U8: u32 = 0;
const I32: u32 = 5;
const F32: u32 = 6;

/// Fields of a header.
#[derive(Default)]
struct FieldWriter {
    bytes: Vec<u8>,
    count: u64,
}

impl FieldWriter {
    /// Begins a field of this type.
    fn begin(&mut self, name: &str, value_type: u32) {
        self.push_text(name.as_bytes());
        self.push(&value_type.to_le_bytes());
        self.count += 1;
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn push_length(&mut self, length: usize) {
        self.push(&(length as u64).to_le_bytes());
    }

    fn push_text(&mut self, text: &[u8]) {
        self.push_length(text.len());
        self.push(text);
    }

    fn text(&mut self, name: &str, text: &str) {
        self.begin(name, TEXT);
        self.push_text(text.as_bytes());
    }

    fn bool(&mut self, name: &str, value: bool) {
        self.begin(name, BOOL);
        self.push(&[u8::from(value)]);
    }

    fn u32(&mut self, name: &str, value: u32) {
        self.begin(name, U32);
        self.push(&value.to_le_bytes());
    }

    /// Begins an array, whose elements are pushed next.
    fn array(&mut self, name: &str, element: u32, length: usize) {
        self.begin(name, ARRAY);
        self.push(&element.to_le_bytes());
        self.push_length(length);
    }

    /// The header of a file without tensors.
    fn into_file(self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(0_u64.to_le_bytes());
        file.extend(self.count.to_le_bytes());
        file.extend(self.bytes);
        file
    }
}

/// The file.
pub(super) fn vocab(model: &Model, options: &GgufOptions) -> GgufResult<Vec<u8>> {
    let mut fields = FieldWriter::default();
    fields.push_names(model.model_type())?;
    fields.push_pieces(model);
    fields.push_special_ids(model);
    fields.push_added_pieces(model, options)?;
    fields.push_whitespace(model);
    fields.push_charsmap(model);
    fields.push_own_flags(model);
    Ok(fields.into_file())
}

/// The fields of a model.
impl FieldWriter {
    fn push_names(&mut self, model_type: ModelType) -> GgufResult<()> {
        let name = type_name(model_type)?;
        self.text("general.architecture", name);
        self.text(MODEL, name);
        self.text("tokenizer.ggml.pre", "default");
        Ok(())
    }

    fn push_pieces(&mut self, model: &Model) {
        self.push_texts(model);
        self.push_scores(model);
        self.push_kinds(model);
    }

    fn push_texts(&mut self, model: &Model) {
        self.array(TOKENS, TEXT, model.len());
        for piece in model.pieces() {
            match spaced_symbol(model, &piece) {
                Some(text) => self.push_text(text.as_bytes()),
                None => self.push_text(piece.text),
            }
        }
    }

    fn push_scores(&mut self, model: &Model) {
        self.array(SCORES, F32, model.len());
        for piece in model.pieces() {
            self.push(&piece.score.to_le_bytes());
        }
    }

    fn push_kinds(&mut self, model: &Model) {
        self.array(TYPES, I32, model.len());
        for piece in model.pieces() {
            // The numbers of SentencePiece, which fit in 32 bits.
            self.push(&low_u32(kind_number(piece.kind)).to_le_bytes());
        }
    }

    /// Writes the ids of the pieces with special roles.
    fn push_special_ids(&mut self, model: &Model) {
        let spec = model.trainer_spec();
        let ids = [
            ("unknown", model.unknown_piece()),
            ("bos", model.piece_to_id(spec.bos_piece())),
            ("eos", model.piece_to_id(spec.eos_piece())),
            ("padding", model.piece_to_id(spec.pad_piece())),
        ];
        for (name, id) in ids {
            if let Some(id) = id {
                self.u32(&format!("tokenizer.ggml.{name}_token_id"), id.get());
            }
        }
    }

    /// Writes whether llama.cpp adds BOS and EOS, which it does by default.
    fn push_added_pieces(&mut self, model: &Model, options: &GgufOptions) -> GgufResult<()> {
        let spec = model.trainer_spec();
        if options.add_bos {
            check_piece(model, "add_bos", spec.bos_piece())?;
        }
        if options.add_eos {
            check_piece(model, "add_eos", spec.eos_piece())?;
        }
        self.bool("tokenizer.ggml.add_bos_token", options.add_bos);
        self.bool("tokenizer.ggml.add_eos_token", options.add_eos);
        Ok(())
    }

    fn push_whitespace(&mut self, model: &Model) {
        let spec = model.normalizer_spec();
        self.bool(DUMMY_PREFIX, spec.add_dummy_prefix());
        self.bool(REMOVES_SPACES, spec.remove_extra_whitespaces());
    }

    fn push_charsmap(&mut self, model: &Model) {
        let charsmap = model.normalizer_spec().precompiled_charsmap();
        if !charsmap.is_empty() {
            self.array(CHARSMAP, U8, charsmap.len());
            self.push(charsmap);
        }
    }

    /// Writes flags that llama.cpp does not have, unless they have the usual values.
    fn push_own_flags(&mut self, model: &Model) {
        if !model.normalizer_spec().escape_whitespaces() {
            self.bool(ESCAPES_SPACES, false);
        }
        if model.trainer_spec().treat_whitespace_as_suffix() {
            self.bool(SPACE_IS_SUFFIX, true);
        }
    }
}

/// A user-defined symbol with spaces for whitespace marks, if it has marks: llama.cpp looks for
/// symbols in the text before it replaces spaces.
fn spaced_symbol(model: &Model, piece: &Piece<'_>) -> Option<String> {
    if piece.kind != PieceKind::UserDefined || !model.normalizer_spec().escape_whitespaces() {
        return None;
    }
    let text = std::str::from_utf8(piece.text).ok()?;
    let spaced = text.replace(WHITESPACE_MARK_STR, " ");
    let is_new = spaced != text && !text.contains(' ') && model.piece_to_id(&spaced).is_none();
    is_new.then_some(spaced)
}

/// The name of a model type in llama.cpp. Fails for types that llama.cpp does not have.
fn type_name(model_type: ModelType) -> GgufResult<&'static str> {
    match model_type {
        ModelType::Bpe => Ok("llama"),
        ModelType::Unigram => Ok("t5"),
        _ => Err(unsupported(model_type)),
    }
}

fn unsupported(model_type: ModelType) -> ConvertError {
    let format = FileFormat::Gguf;
    ConvertError::Type { model_type, format }
}

/// Fails if the model lacks a piece that an option asks for.
fn check_piece(model: &Model, option: &'static str, piece: &[u8]) -> GgufResult<()> {
    match model.piece_to_id(piece) {
        Some(_) => Ok(()),
        None => Err(no_such_piece(option, piece)),
    }
}

fn no_such_piece(option: &'static str, piece: &[u8]) -> ConvertError {
    let piece = lossy_string(piece);
    ConvertError::NoSuchPiece { option, piece }
}
