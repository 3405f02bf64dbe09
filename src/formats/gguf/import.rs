//! The fields of a GGUF header as a model: BPE for `llama`, unigram for `t5`.
//!
//! Missing optional fields have the defaults of llama.cpp: a dummy prefix for `llama`, none for
//! `t5`; extra spaces are kept; the scores are 0.
//!
//! # Kinds of pieces
//! The numbers of the types are those of SentencePiece, but the converters of llama.cpp use them
//! more freely than SentencePiece allows:
//!
//! | in the file | kind |
//! |---|---|
//! | the token of `unknown_token_id`, whatever its type: often control, since `<unk>` is a special added token | unknown |
//! | the first token of type unknown, or else the control token `<unk>`, in files without that field | unknown |
//! | other tokens of type unknown, such as the padding `[PAD32011]` | unused |
//! | a token of type byte whose text is not that of a byte, such as `<b'\x00'>` | unused |
//! | a user-defined token with spaces | user-defined, with U+2581 for spaces |
//!
//! llama.cpp looks for user-defined tokens in the text before it replaces spaces, SentencePiece
//! afterwards. So the converters write spaces where the `.model` file has U+2581.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::header::{GgufValue, Header, TextList, invalid};
use super::{
    CHARSMAP, DUMMY_PREFIX, ESCAPES_SPACES, GgufResult, MODEL, REMOVES_SPACES, SCORES,
    SPACE_IS_SUFFIX, TOKENS, TYPES,
};
use crate::base::{WHITESPACE_MARK_STR, lossy_string};
use crate::formats::FormatError;
use crate::formats::{FileFormat, Reason, ReasonKind};
use crate::model::validate::byte_of_piece;
use crate::model::{Model, ModelType, TrainerSpec, kind_number};
use crate::piece::PieceKind;

/// The unknown token of `t5` files without `unknown_token_id`.
const DEFAULT_UNKNOWN_OF_T5: usize = 2;

/// The model, and reasons why its ids differ from those of llama.cpp that the model does not show.
pub(super) fn model(header: &Header) -> GgufResult<(Model, Vec<Reason>)> {
    let model_type = model_type(header)?;
    let Columns {
        texts,
        scores,
        mut kinds,
    } = columns(header)?;
    let escapes = bool_of(header, ESCAPES_SPACES)?.unwrap_or(true);
    let mut reasons = Vec::new();
    let unknown = unknown_piece(header, model_type, texts, &kinds, &mut reasons)?;
    adjust_kinds(&mut kinds, texts, unknown);

    let mut builder = Model::builder();
    builder.model_type(model_type);
    let symbols = match escapes {
        true => marked_symbols(texts, &kinds),
        false => HashMap::new(),
    };
    for (id, ((text, score), kind)) in texts.iter().zip(scores).zip(&kinds).enumerate() {
        if text.is_empty() {
            // llama.cpp gives it this text.
            builder.piece(format!("[EMPTY_{id}]"), score, *kind);
        } else {
            let marked = symbols.get(&id).map(Vec::as_slice);
            builder.piece(marked.unwrap_or(text), score, *kind);
        }
    }

    let spec = builder.trainer_spec_mut();
    spec.byte_fallback = Some(kinds.contains(&PieceKind::Byte));
    set_roles(header, texts, unknown, spec)?;
    spec.treat_whitespace_as_suffix = bool_of(header, SPACE_IS_SUFFIX)?;

    let has_prefix = bool_of(header, DUMMY_PREFIX)?;
    let removes = bool_of(header, REMOVES_SPACES)?;
    builder.add_dummy_prefix(has_prefix.unwrap_or(model_type == ModelType::Bpe));
    builder.remove_extra_whitespaces(removes.unwrap_or(false));
    builder.escape_whitespaces(escapes);
    match header.get(CHARSMAP) {
        None => builder.normalization_rules("identity", b""),
        Some(GgufValue::Bytes(charsmap)) => builder.normalization_rules("user_defined", charsmap),
        Some(_) => return Err(wrong_type(CHARSMAP)),
    };
    Ok((builder.build()?, reasons))
}

/// The texts, scores and kinds of the tokens, of each as many.
struct Columns<'h> {
    texts: &'h TextList,
    scores: Vec<f32>,
    kinds: Vec<PieceKind>,
}

fn columns(header: &Header) -> GgufResult<Columns<'_>> {
    let GgufValue::Texts(texts) = required(header, TOKENS)? else {
        return Err(wrong_type(TOKENS));
    };
    let scores = scores(header, texts.len())?;
    let Some(GgufValue::Integers(types)) = header.get(TYPES) else {
        return Err(missing(TYPES));
    };
    if texts.len() != scores.len() || texts.len() != types.len() {
        return Err(invalid(format!(
            "there are {} tokens, {} scores and {} types",
            texts.len(),
            scores.len(),
            types.len()
        )));
    }
    let kinds = kinds(types)?;
    Ok(Columns {
        texts,
        scores,
        kinds,
    })
}

fn model_type(header: &Header) -> GgufResult<ModelType> {
    match required(header, MODEL)? {
        GgufValue::Text(name) => match &name[..] {
            b"llama" => Ok(ModelType::Bpe),
            b"t5" => Ok(ModelType::Unigram),
            other => Err(FormatError::NoModel {
                format: FileFormat::Gguf,
                component: MODEL.to_owned(),
                found: lossy_string(other),
                remedy: "\"llama\" and \"t5\" are the vocabularies of SentencePiece; a \"gpt2\" is byte-level, and formats::ByteVocabulary reads it",
            }),
        },
        _ => Err(wrong_type(MODEL)),
    }
}

/// The scores. Writers that choose the type of an array by its first element write integers if the
/// first score is 0.
fn scores(header: &Header, pieces: usize) -> GgufResult<Vec<f32>> {
    match header.get(SCORES) {
        None => Ok(vec![0.0; pieces]),
        Some(GgufValue::Floats(scores)) => Ok(scores.clone()),
        #[expect(
            clippy::cast_precision_loss,
            reason = "llama.cpp rounds such scores to 32-bit floats, too"
        )]
        Some(GgufValue::Integers(scores)) => Ok(scores.iter().map(|score| *score as f32).collect()),
        Some(_) => Err(wrong_type(SCORES)),
    }
}

/// The kinds with these numbers, which are those of SentencePiece's file format.
fn kinds(types: &[i32]) -> GgufResult<Vec<PieceKind>> {
    let kind = |(id, number): (usize, &i32)| {
        let mut all = PieceKind::ALL.into_iter();
        all.find(|kind| u64::try_from(*number).is_ok_and(|number| kind_number(*kind) == number))
            .ok_or_else(|| invalid(format!("the token {id} has the unknown type {number}")))
    };
    types.iter().enumerate().map(kind).collect()
}

/// The index of the unknown piece.
fn unknown_piece(
    header: &Header,
    model_type: ModelType,
    texts: &TextList,
    kinds: &[PieceKind],
    reasons: &mut Vec<Reason>,
) -> GgufResult<Option<usize>> {
    if let Some(id) = special(header, "unknown", texts)? {
        if kinds[id] == PieceKind::UserDefined {
            let text = texts.get(id).map(lossy_string).unwrap_or_default();
            let explanation = format!(
                "the unknown piece {text:?} is a user-defined symbol, which llama.cpp finds in text"
            );
            let reason = Reason::new(ReasonKind::UserDefinedSymbol, explanation);
            reasons.push(reason.with_example(text));
        }
        return Ok(Some(id));
    }
    let typed = kinds.iter().position(|kind| *kind == PieceKind::Unknown);
    let named = || {
        let mut pieces = texts.iter().zip(kinds);
        pieces.position(|(text, kind)| text == b"<unk>" && *kind == PieceKind::Control)
    };
    let unknown = typed.or_else(named);
    // Only `t5` gives the unknown token for text.
    if model_type == ModelType::Unigram && unknown != Some(DEFAULT_UNKNOWN_OF_T5) {
        reasons.push(Reason::new(
            ReasonKind::UnknownCharacter,
            format!(
                "the file does not name the unknown token; llama.cpp takes {DEFAULT_UNKNOWN_OF_T5}"
            ),
        ));
    }
    Ok(unknown)
}

/// Makes the kinds of the file those of the model; see the [module page](self).
fn adjust_kinds(kinds: &mut [PieceKind], texts: &TextList, unknown: Option<usize>) {
    for (id, (kind, text)) in kinds.iter_mut().zip(texts.iter()).enumerate() {
        *kind = match *kind {
            _ if unknown == Some(id) => PieceKind::Unknown,
            PieceKind::Unknown => PieceKind::Unused,
            PieceKind::Byte if byte_of_piece(text).is_none() => PieceKind::Unused,
            kind => kind,
        };
    }
}

/// The texts with whitespace marks of the user-defined symbols with spaces, by their indices. If a
/// text with marks is that of another token, each of them keeps its text.
fn marked_symbols(texts: &TextList, kinds: &[PieceKind]) -> HashMap<usize, Vec<u8>> {
    let symbols = texts.iter().zip(kinds).enumerate();
    let symbols = symbols.filter(|(_, (_, kind))| **kind == PieceKind::UserDefined);
    let spaced = symbols.filter(|(_, (text, _))| text.contains(&b' '));
    let mut marked: HashMap<usize, Vec<u8>> = HashMap::new();
    let mut taken: HashSet<Cow<'_, [u8]>> = HashSet::new();
    for (id, (text, _)) in spaced {
        if taken.is_empty() {
            taken.extend(texts.iter().map(Cow::Borrowed));
        }
        let text = with_marks(text);
        if taken.insert(Cow::Owned(text.clone())) {
            marked.insert(id, text);
        }
    }
    marked
}

/// Sets the ids and texts of the unknown, BOS, EOS and padding pieces.
fn set_roles(
    header: &Header,
    texts: &TextList,
    unknown: Option<usize>,
    spec: &mut TrainerSpec,
) -> GgufResult<()> {
    let bos = special(header, "bos", texts)?;
    let eos = special(header, "eos", texts)?;
    let pad = special(header, "padding", texts)?;
    spec.unk_id = Some(id_in_spec(unknown));
    spec.bos_id = Some(id_in_spec(bos));
    spec.eos_id = Some(id_in_spec(eos));
    spec.pad_id = Some(id_in_spec(pad));
    let text_of = |id: Option<usize>| texts.get(id?).map(<[u8]>::to_vec);
    spec.unk_piece = text_of(unknown);
    spec.bos_piece = text_of(bos);
    spec.eos_piece = text_of(eos);
    spec.pad_piece = text_of(pad);
    Ok(())
}

/// The index of the token with a role; `None` if the file names none. Like llama.cpp, ids that no
/// token has are ignored: some writers use 2^32 - 1 for none.
fn special(header: &Header, role: &str, texts: &TextList) -> GgufResult<Option<usize>> {
    let field = format!("tokenizer.ggml.{role}_token_id");
    match header.get(&field) {
        None => Ok(None),
        Some(GgufValue::Integer(id)) => {
            let index = usize::try_from(*id).ok();
            Ok(index.filter(|index| *index < texts.len()))
        }
        Some(_) => Err(wrong_type(&field)),
    }
}

/// The id as the spec has it: -1 for none.
fn id_in_spec(index: Option<usize>) -> i32 {
    index.map_or(-1, |index| i32::try_from(index).unwrap_or(-1))
}

/// A text with whitespace marks for spaces.
fn with_marks(text: &[u8]) -> Vec<u8> {
    let mut marked = Vec::with_capacity(text.len() + 4);
    for byte in text {
        match byte {
            b' ' => marked.extend_from_slice(WHITESPACE_MARK_STR.as_bytes()),
            _ => marked.push(*byte),
        }
    }
    marked
}

fn bool_of(header: &Header, field: &str) -> GgufResult<Option<bool>> {
    match header.get(field) {
        None => Ok(None),
        Some(GgufValue::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(wrong_type(field)),
    }
}

/// The value of a field that a file must have.
fn required<'h>(header: &'h Header, field: &str) -> GgufResult<&'h GgufValue> {
    header.get(field).ok_or_else(|| missing(field))
}

fn missing(field: &str) -> FormatError {
    invalid(format!(
        "the field {field:?} is missing or of another type; the file has no vocabulary of SentencePiece"
    ))
}

fn wrong_type(field: &str) -> FormatError {
    invalid(format!("the field {field:?} is of another type"))
}
