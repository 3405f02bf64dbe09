//! The fields of a GGUF header -> a model.
//!
//! Input: the header. Output: a BPE model for `llama`, a unigram model for `t5`. Cost: that of loading a model.
//!
//! Fields that a file may lack have the defaults of llama.cpp: for `llama` a dummy prefix, for `t5` none; spaces stay.

use super::header::{GgufValue, Header, TextList, invalid};
use crate::convert::FileFormat;
use crate::error::ConvertError;
use crate::model::{Model, ModelBuilder, ModelType};
use crate::piece::PieceKind;

/// The model.
pub(super) fn model(header: &Header) -> Result<Model, ConvertError> {
    let model_type = model_type(header)?;
    let mut builder = Model::builder();
    builder.model_type(model_type);
    push_pieces(header, &mut builder)?;
    set_special_pieces(header, &mut builder)?;
    set_normalizer(header, model_type, &mut builder)?;
    Ok(builder.build()?)
}

fn model_type(header: &Header) -> Result<ModelType, ConvertError> {
    let name = match header.get("tokenizer.ggml.model") {
        Some(GgufValue::Text(name)) => name.as_slice(),
        Some(_) => return Err(wrong_type("tokenizer.ggml.model")),
        None => return Err(missing("tokenizer.ggml.model")),
    };
    match name {
        b"llama" => Ok(ModelType::Bpe),
        b"t5" => Ok(ModelType::Unigram),
        other => Err(ConvertError::Unsupported {
            format: FileFormat::Gguf,
            component: "tokenizer.ggml.model".to_owned(),
            found: crate::text::lossy_string(other),
            remedy: "\"llama\" and \"t5\" are the vocabularies of SentencePiece",
        }),
    }
}

fn push_pieces(header: &Header, builder: &mut ModelBuilder) -> Result<(), ConvertError> {
    let texts = texts(header, "tokenizer.ggml.tokens")?;
    let Some(GgufValue::Floats(scores)) = header.get("tokenizer.ggml.scores") else {
        return Err(missing("tokenizer.ggml.scores"));
    };
    let Some(GgufValue::Integers(types)) = header.get("tokenizer.ggml.token_type") else {
        return Err(missing("tokenizer.ggml.token_type"));
    };
    if texts.len() != scores.len() || texts.len() != types.len() {
        return Err(invalid(format!(
            "there are {} tokens, {} scores and {} types",
            texts.len(),
            scores.len(),
            types.len()
        )));
    }
    let pieces = texts.iter().zip(scores).zip(types).enumerate();
    for (id, ((text, score), number)) in pieces {
        let kind = kind(*number);
        let kind =
            kind.ok_or_else(|| invalid(format!("the token {id} has the unknown type {number}")))?;
        builder.piece(text, *score, kind);
    }
    let has_bytes = types.contains(&6);
    builder.trainer_spec_mut().byte_fallback = Some(has_bytes);
    Ok(())
}

fn texts<'h>(header: &'h Header, name: &str) -> Result<&'h TextList, ConvertError> {
    match header.get(name) {
        Some(GgufValue::Texts(texts)) => Ok(texts),
        Some(_) => Err(wrong_type(name)),
        None => Err(missing(name)),
    }
}

fn kind(number: i32) -> Option<PieceKind> {
    Some(match number {
        1 => PieceKind::Normal,
        2 => PieceKind::Unknown,
        3 => PieceKind::Control,
        4 => PieceKind::UserDefined,
        5 => PieceKind::Unused,
        6 => PieceKind::Byte,
        _ => return None,
    })
}

/// Sets the ids and the texts of the special pieces. An id that the file lacks is -1.
fn set_special_pieces(header: &Header, builder: &mut ModelBuilder) -> Result<(), ConvertError> {
    let texts = texts(header, "tokenizer.ggml.tokens")?;
    let special = |name: &str| -> Result<(i32, Option<Vec<u8>>), ConvertError> {
        let field = format!("tokenizer.ggml.{name}_token_id");
        let id = match header.get(&field) {
            None => return Ok((-1, None)),
            Some(GgufValue::Integer(id)) => *id,
            Some(_) => return Err(wrong_type(&field)),
        };
        let position = usize::try_from(id).ok();
        let text = position.and_then(|position| texts.iter().nth(position));
        match (i32::try_from(id), text) {
            (Ok(id), Some(text)) => Ok((id, Some(text.to_vec()))),
            _ => Err(invalid(format!("{field} is {id}, which is no token"))),
        }
    };
    let (unk_id, unk_piece) = special("unknown")?;
    let (bos_id, bos_piece) = special("bos")?;
    let (eos_id, eos_piece) = special("eos")?;
    let (pad_id, pad_piece) = special("padding")?;
    let spec = builder.trainer_spec_mut();
    spec.unk_id = Some(unk_id);
    spec.bos_id = Some(bos_id);
    spec.eos_id = Some(eos_id);
    spec.pad_id = Some(pad_id);
    spec.unk_piece = unk_piece;
    spec.bos_piece = bos_piece;
    spec.eos_piece = eos_piece;
    spec.pad_piece = pad_piece;
    Ok(())
}

fn set_normalizer(
    header: &Header,
    model_type: ModelType,
    builder: &mut ModelBuilder,
) -> Result<(), ConvertError> {
    let has_prefix = bool_of(header, "tokenizer.ggml.add_space_prefix")?;
    let removes = bool_of(header, "tokenizer.ggml.remove_extra_whitespaces")?;
    builder.add_dummy_prefix(has_prefix.unwrap_or(model_type == ModelType::Bpe));
    builder.remove_extra_whitespaces(removes.unwrap_or(false));
    builder.escape_whitespaces(bool_of(header, "spiece.escape_whitespaces")?.unwrap_or(true));
    let is_suffix = bool_of(header, "spiece.treat_whitespace_as_suffix")?;
    builder.trainer_spec_mut().treat_whitespace_as_suffix = is_suffix;
    match header.get("tokenizer.ggml.precompiled_charsmap") {
        None => builder.normalization_rules("identity", b""),
        Some(GgufValue::Bytes(charsmap)) => builder.normalization_rules("user_defined", charsmap),
        Some(_) => return Err(wrong_type("tokenizer.ggml.precompiled_charsmap")),
    };
    Ok(())
}

fn bool_of(header: &Header, name: &str) -> Result<Option<bool>, ConvertError> {
    match header.get(name) {
        None => Ok(None),
        Some(GgufValue::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(wrong_type(name)),
    }
}

fn missing(name: &str) -> ConvertError {
    invalid(format!(
        "the field {name:?} is missing or of another type; the file has no vocabulary of SentencePiece"
    ))
}

fn wrong_type(name: &str) -> ConvertError {
    invalid(format!("the field {name:?} is of another type"))
}
