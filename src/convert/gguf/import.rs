//! The fields of a GGUF header -> a model.
//!
//! Input: the header. Output: a BPE model for `llama`, a unigram model for `t5`. Cost: that of
//! loading a model.
//!
//! Missing optional fields have the defaults of llama.cpp: a dummy prefix for `llama`, none for
//! `t5`; extra spaces are kept.

use super::header::{GgufValue, Header, TextList, invalid};
use super::{
    CHARSMAP, DUMMY_PREFIX, ESCAPES_SPACES, GgufResult, MODEL, REMOVES_SPACES, SCORES,
    SPACE_IS_SUFFIX, TOKENS, TYPES,
};
use crate::convert::FileFormat;
use crate::error::ConvertError;
use crate::model::{Model, ModelBuilder, ModelType, kind_number};
use crate::piece::PieceKind;
use crate::text::lossy_string;

/// The model.
pub(super) fn model(header: &Header) -> GgufResult<Model> {
    let model_type = model_type(header)?;
    let mut builder = Model::builder();
    builder.model_type(model_type);
    push_pieces(header, &mut builder)?;
    set_special_pieces(header, &mut builder)?;
    set_whitespace(header, model_type, &mut builder)?;
    set_charsmap(header, &mut builder)?;
    Ok(builder.build()?)
}

fn model_type(header: &Header) -> GgufResult<ModelType> {
    match model_name(header)? {
        b"llama" => Ok(ModelType::Bpe),
        b"t5" => Ok(ModelType::Unigram),
        other => Err(unsupported_model(other)),
    }
}

fn model_name(header: &Header) -> GgufResult<&[u8]> {
    match required(header, MODEL)? {
        GgufValue::Text(name) => Ok(name),
        _ => Err(wrong_type(MODEL)),
    }
}

fn unsupported_model(name: &[u8]) -> ConvertError {
    ConvertError::Unsupported {
        format: FileFormat::Gguf,
        component: MODEL.to_owned(),
        found: lossy_string(name),
        remedy: "\"llama\" and \"t5\" are the vocabularies of SentencePiece",
    }
}

fn push_pieces(header: &Header, builder: &mut ModelBuilder) -> GgufResult<()> {
    let texts = texts(header)?;
    let scores = scores(header)?;
    let types = types(header)?;
    check_counts(texts.len(), scores.len(), types.len())?;
    let pieces = texts.iter().zip(scores).zip(types).enumerate();
    for (id, ((text, score), number)) in pieces {
        let kind = kind(*number).ok_or_else(|| unknown_kind(id, *number))?;
        builder.piece(text, *score, kind);
    }
    let has_bytes = types.contains(&6);
    builder.trainer_spec_mut().byte_fallback = Some(has_bytes);
    Ok(())
}

fn texts(header: &Header) -> GgufResult<&TextList> {
    match required(header, TOKENS)? {
        GgufValue::Texts(texts) => Ok(texts),
        _ => Err(wrong_type(TOKENS)),
    }
}

fn scores(header: &Header) -> GgufResult<&[f32]> {
    match header.get(SCORES) {
        Some(GgufValue::Floats(scores)) => Ok(scores),
        _ => Err(missing(SCORES)),
    }
}

fn types(header: &Header) -> GgufResult<&[i32]> {
    match header.get(TYPES) {
        Some(GgufValue::Integers(types)) => Ok(types),
        _ => Err(missing(TYPES)),
    }
}

/// Fails unless there are as many scores and types as texts.
fn check_counts(texts: usize, scores: usize, types: usize) -> GgufResult<()> {
    if texts != scores || texts != types {
        return Err(invalid(format!(
            "there are {texts} tokens, {scores} scores and {types} types"
        )));
    }
    Ok(())
}

/// The kind with this number. The numbers are those of SentencePiece's file format.
fn kind(number: i32) -> Option<PieceKind> {
    let number = u64::try_from(number).ok()?;
    let mut all = PieceKind::ALL.into_iter();
    all.find(|kind| kind_number(*kind) == number)
}

fn unknown_kind(id: usize, number: i32) -> ConvertError {
    invalid(format!("the token {id} has the unknown type {number}"))
}

/// Sets the ids and the texts of the special pieces; -1 for an id that the file lacks.
fn set_special_pieces(header: &Header, builder: &mut ModelBuilder) -> GgufResult<()> {
    let unk = HeaderSpecial::of(header, "unknown")?;
    let bos = HeaderSpecial::of(header, "bos")?;
    let eos = HeaderSpecial::of(header, "eos")?;
    let pad = HeaderSpecial::of(header, "padding")?;
    let spec = builder.trainer_spec_mut();
    spec.unk_id = Some(unk.id);
    spec.bos_id = Some(bos.id);
    spec.eos_id = Some(eos.id);
    spec.pad_id = Some(pad.id);
    spec.unk_piece = unk.text;
    spec.bos_piece = bos.text;
    spec.eos_piece = eos.text;
    spec.pad_piece = pad.text;
    Ok(())
}

/// A piece with a special role.
struct HeaderSpecial {
    id: i32,
    text: Option<Vec<u8>>,
}

impl HeaderSpecial {
    /// The piece with a role of llama.cpp.
    fn of(header: &Header, role: &str) -> GgufResult<Self> {
        let field = format!("tokenizer.ggml.{role}_token_id");
        match header.get(&field) {
            None => Ok(Self::missing()),
            Some(GgufValue::Integer(id)) => {
                Self::with_id(*id, texts(header)?).ok_or_else(|| no_token(&field, *id))
            }
            Some(_) => Err(wrong_type(&field)),
        }
    }

    fn missing() -> Self {
        Self { id: -1, text: None }
    }

    /// The piece with this id; `None` if no piece has it.
    fn with_id(id: i64, texts: &TextList) -> Option<Self> {
        let position = usize::try_from(id).ok()?;
        let text = texts.iter().nth(position)?;
        Some(Self {
            id: i32::try_from(id).ok()?,
            text: Some(text.to_vec()),
        })
    }
}

fn no_token(field: &str, id: i64) -> ConvertError {
    invalid(format!("{field} is {id}, which is no token"))
}

fn set_whitespace(
    header: &Header,
    model_type: ModelType,
    builder: &mut ModelBuilder,
) -> GgufResult<()> {
    let has_prefix = bool_of(header, DUMMY_PREFIX)?;
    let removes = bool_of(header, REMOVES_SPACES)?;
    let escapes = bool_of(header, ESCAPES_SPACES)?;
    let is_suffix = bool_of(header, SPACE_IS_SUFFIX)?;
    builder.add_dummy_prefix(has_prefix.unwrap_or(model_type == ModelType::Bpe));
    builder.remove_extra_whitespaces(removes.unwrap_or(false));
    builder.escape_whitespaces(escapes.unwrap_or(true));
    builder.trainer_spec_mut().treat_whitespace_as_suffix = is_suffix;
    Ok(())
}

fn bool_of(header: &Header, field: &str) -> GgufResult<Option<bool>> {
    match header.get(field) {
        None => Ok(None),
        Some(GgufValue::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(wrong_type(field)),
    }
}

fn set_charsmap(header: &Header, builder: &mut ModelBuilder) -> GgufResult<()> {
    match header.get(CHARSMAP) {
        None => builder.normalization_rules("identity", b""),
        Some(GgufValue::Bytes(charsmap)) => builder.normalization_rules("user_defined", charsmap),
        Some(_) => return Err(wrong_type(CHARSMAP)),
    };
    Ok(())
}

/// The value of a field that a file must have.
fn required<'h>(header: &'h Header, field: &str) -> GgufResult<&'h GgufValue> {
    header.get(field).ok_or_else(|| missing(field))
}

fn missing(field: &str) -> ConvertError {
    invalid(format!(
        "the field {field:?} is missing or of another type; the file has no vocabulary of SentencePiece"
    ))
}

fn wrong_type(field: &str) -> ConvertError {
    invalid(format!("the field {field:?} is of another type"))
}
