//! A model as a GGUF file without tensors: version 3, little-endian.

use super::{
    CHARSMAP, DUMMY_PREFIX, ESCAPES_SPACES, GgufOptions, GgufResult, MODEL, REMOVES_SPACES, SCORES,
    SPACE_IS_SUFFIX, TOKENS, TYPES,
};
use crate::base::num::low_u32;
use crate::base::{WHITESPACE_MARK_STR, lossy_string};
use crate::formats::FileFormat;
use crate::formats::FormatError;
use crate::model::{Model, ModelType, Piece, kind_number};
use crate::piece::PieceKind;

/// The numbers of the types of values.
const U8: u32 = 0;
pub(super) const U32: u32 = 4;
pub(super) const I32: u32 = 5;
const F32: u32 = 6;
const BOOL: u32 = 7;
pub(super) const TEXT: u32 = 8;
const ARRAY: u32 = 9;

/// Fields of a header.
#[derive(Default)]
pub(super) struct FieldWriter {
    bytes: Vec<u8>,
    count: u64,
}

impl FieldWriter {
    pub(super) fn field(&mut self, name: &str, value_type: u32, value: &[u8]) {
        push_text(&mut self.bytes, name.as_bytes());
        self.bytes.extend(value_type.to_le_bytes());
        self.bytes.extend_from_slice(value);
        self.count += 1;
    }

    pub(super) fn text(&mut self, name: &str, text: &str) {
        let mut value = Vec::new();
        push_text(&mut value, text.as_bytes());
        self.field(name, TEXT, &value);
    }

    pub(super) fn bool(&mut self, name: &str, value: bool) {
        self.field(name, BOOL, &[u8::from(value)]);
    }

    pub(super) fn array(&mut self, name: &str, element: u32, length: usize, elements: &[u8]) {
        let mut value = element.to_le_bytes().to_vec();
        value.extend((length as u64).to_le_bytes());
        value.extend_from_slice(elements);
        self.field(name, ARRAY, &value);
    }

    /// The file with these fields and without tensors.
    pub(super) fn into_file(self) -> Vec<u8> {
        let mut file = b"GGUF".to_vec();
        file.extend(3_u32.to_le_bytes());
        file.extend(0_u64.to_le_bytes());
        file.extend(self.count.to_le_bytes());
        file.extend(self.bytes);
        file
    }
}

pub(super) fn push_text(bytes: &mut Vec<u8>, text: &[u8]) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text);
}

/// The file.
pub(super) fn vocab(model: &Model, options: &GgufOptions) -> GgufResult<Vec<u8>> {
    let name = match model.model_type() {
        ModelType::Bpe => "llama",
        ModelType::Unigram => "t5",
        model_type => {
            let format = FileFormat::Gguf;
            return Err(FormatError::ModelType { model_type, format });
        }
    };
    let spec = model.trainer_spec();
    for (is_wanted, option, piece) in [
        (options.add_bos, "add_bos", spec.bos_piece()),
        (options.add_eos, "add_eos", spec.eos_piece()),
    ] {
        if is_wanted && model.piece_to_id(piece).is_none() {
            let piece = lossy_string(piece);
            return Err(FormatError::NoSuchPiece { option, piece });
        }
    }
    let mut fields = FieldWriter::default();
    fields.text("general.architecture", name);
    fields.text(MODEL, name);
    fields.text("tokenizer.ggml.pre", "default");
    write_pieces(model, &mut fields);
    write_special_ids(model, &mut fields);
    // llama.cpp adds both by default.
    fields.bool("tokenizer.ggml.add_bos_token", options.add_bos);
    fields.bool("tokenizer.ggml.add_eos_token", options.add_eos);
    write_normalization(model, &mut fields);
    Ok(fields.into_file())
}

/// Texts, scores and kinds, each as an array.
fn write_pieces(model: &Model, fields: &mut FieldWriter) {
    let mut texts = Vec::new();
    let mut scores = Vec::new();
    let mut kinds = Vec::new();
    for piece in model.pieces() {
        match spaced_symbol(model, &piece) {
            Some(text) => push_text(&mut texts, text.as_bytes()),
            None => push_text(&mut texts, piece.text),
        }
        scores.extend(piece.score.to_le_bytes());
        // The numbers of SentencePiece, which fit in 32 bits.
        kinds.extend(low_u32(kind_number(piece.kind)).to_le_bytes());
    }
    fields.array(TOKENS, TEXT, model.len(), &texts);
    fields.array(SCORES, F32, model.len(), &scores);
    fields.array(TYPES, I32, model.len(), &kinds);
}

fn write_special_ids(model: &Model, fields: &mut FieldWriter) {
    let spec = model.trainer_spec();
    for (role, id) in [
        ("unknown", model.unknown_piece()),
        ("bos", model.piece_to_id(spec.bos_piece())),
        ("eos", model.piece_to_id(spec.eos_piece())),
        ("padding", model.piece_to_id(spec.pad_piece())),
    ] {
        if let Some(id) = id {
            let name = format!("tokenizer.ggml.{role}_token_id");
            fields.field(&name, U32, &id.get().to_le_bytes());
        }
    }
}

/// Dummy prefix, spaces and charsmap.
fn write_normalization(model: &Model, fields: &mut FieldWriter) {
    let normalizer = model.normalizer_spec();
    fields.bool(DUMMY_PREFIX, normalizer.add_dummy_prefix());
    fields.bool(REMOVES_SPACES, normalizer.remove_extra_whitespaces());
    let charsmap = normalizer.precompiled_charsmap();
    if !charsmap.is_empty() {
        fields.array(CHARSMAP, U8, charsmap.len(), charsmap);
    }
    // llama.cpp does not have these flags.
    if !normalizer.escape_whitespaces() {
        fields.bool(ESCAPES_SPACES, false);
    }
    if model.trainer_spec().treat_whitespace_as_suffix() {
        fields.bool(SPACE_IS_SUFFIX, true);
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
