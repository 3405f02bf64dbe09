//! A model -> a GGUF file without tensors.
//!
//! Input: a model and the options. Output: the bytes of a file of version 3, little-endian. Cost: linear in the pieces.

use super::GgufOptions;
use crate::convert::FileFormat;
use crate::error::ConvertError;
use crate::model::{Model, ModelType, kind_number};
use crate::piece::PieceId;
use crate::text::num::low_u32;

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

    fn push_text(&mut self, text: &[u8]) {
        self.push(&(text.len() as u64).to_le_bytes());
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
        self.push(&(length as u64).to_le_bytes());
    }
}

/// The file.
pub(super) fn vocab(model: &Model, options: &GgufOptions) -> Result<Vec<u8>, ConvertError> {
    let name = match model.model_type() {
        ModelType::Bpe => "llama",
        ModelType::Unigram => "t5",
        model_type => {
            return Err(ConvertError::Type {
                model_type,
                format: FileFormat::Gguf,
            });
        }
    };
    let mut fields = FieldWriter::default();
    fields.text("general.architecture", name);
    fields.text("tokenizer.ggml.model", name);
    fields.text("tokenizer.ggml.pre", "default");
    push_pieces(&mut fields, model);
    push_special_ids(&mut fields, model, options)?;
    push_normalizer(&mut fields, model);
    let mut file = b"GGUF".to_vec();
    file.extend_from_slice(&3_u32.to_le_bytes());
    file.extend_from_slice(&0_u64.to_le_bytes());
    file.extend_from_slice(&fields.count.to_le_bytes());
    file.append(&mut fields.bytes);
    Ok(file)
}

fn push_pieces(fields: &mut FieldWriter, model: &Model) {
    fields.array("tokenizer.ggml.tokens", TEXT, model.len());
    for piece in model.pieces() {
        fields.push_text(piece.text);
    }
    fields.array("tokenizer.ggml.scores", F32, model.len());
    for piece in model.pieces() {
        fields.push(&piece.score.to_le_bytes());
    }
    fields.array("tokenizer.ggml.token_type", I32, model.len());
    for piece in model.pieces() {
        // The numbers of SentencePiece, which fit in 32 bits.
        fields.push(&low_u32(kind_number(piece.kind)).to_le_bytes());
    }
}

/// Writes ids, and whether llama.cpp adds the pieces, which it does by default.
fn push_special_ids(
    fields: &mut FieldWriter,
    model: &Model,
    options: &GgufOptions,
) -> Result<(), ConvertError> {
    let spec = model.trainer_spec();
    let bos = model.piece_to_id(spec.bos_piece());
    let eos = model.piece_to_id(spec.eos_piece());
    let pad = model.piece_to_id(spec.pad_piece());
    let ids = [
        ("unknown", model.unknown_piece()),
        ("bos", bos),
        ("eos", eos),
        ("padding", pad),
    ];
    for (name, id) in ids {
        if let Some(id) = id {
            fields.u32(&format!("tokenizer.ggml.{name}_token_id"), id.get());
        }
    }
    let asked = [
        ("bos", "add_bos", options.add_bos, bos, spec.bos_piece()),
        ("eos", "add_eos", options.add_eos, eos, spec.eos_piece()),
    ];
    for (name, option, is_asked, id, piece) in asked {
        check_piece(option, is_asked, id, piece)?;
        fields.bool(&format!("tokenizer.ggml.add_{name}_token"), is_asked);
    }
    Ok(())
}

/// Fails if an option asks for a piece that the model lacks.
fn check_piece(
    option: &'static str,
    is_asked: bool,
    id: Option<PieceId>,
    piece: &[u8],
) -> Result<(), ConvertError> {
    if is_asked && id.is_none() {
        return Err(ConvertError::NoSuchPiece {
            option,
            piece: crate::text::lossy_string(piece),
        });
    }
    Ok(())
}

fn push_normalizer(fields: &mut FieldWriter, model: &Model) {
    let spec = model.normalizer_spec();
    fields.bool("tokenizer.ggml.add_space_prefix", spec.add_dummy_prefix());
    fields.bool(
        "tokenizer.ggml.remove_extra_whitespaces",
        spec.remove_extra_whitespaces(),
    );
    let charsmap = spec.precompiled_charsmap();
    if !charsmap.is_empty() {
        fields.array("tokenizer.ggml.precompiled_charsmap", U8, charsmap.len());
        fields.push(charsmap);
    }
    if !spec.escape_whitespaces() {
        fields.bool("spiece.escape_whitespaces", false);
    }
    if model.trainer_spec().treat_whitespace_as_suffix() {
        fields.bool("spiece.treat_whitespace_as_suffix", true);
    }
}
