//! Lists of segmentations of the drop-in: n-best lists, and the code that they share with scored
//! samples.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use spiece::{EncodeError, Encoder, Tokens};

use crate::arguments::ReturnType;
use crate::encode::{EncodeCall, TokenWork, is_message, tokens_object};
use crate::errors;
use crate::loaded::Loaded;
use crate::text::Text;
use crate::tokens::OwnedTokens;

/// A segmentation and its score.
pub struct ScoredTokens {
    pub tokens: OwnedTokens,
    pub score: f32,
}

/// Checks that lists of segmentations can have this result type.
///
/// # Errors
/// `ValueError`
pub fn check_type(return_type: ReturnType) -> PyResult<()> {
    if return_type == ReturnType::OffsetMapping {
        return Err(PyValueError::new_err("unknown return_type=offset_mapping"));
    }
    Ok(())
}

/// The best segmentations of one text.
pub fn nbest<'py>(
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    size: usize,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let text = Text::of(input)?;
    let found = segmentations(py, loaded, call, |encoder, visit| {
        encoder.for_each_nbest(text.bytes, size, visit)
    })?;
    if is_message(call.return_type) {
        return list_message(py, &found, call.return_type);
    }
    let objects = found.into_iter();
    let objects = objects.map(|found| tokens_object(py, loaded, found.tokens, text, call));
    Ok(PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

/// The segmentations that `list` visits, found while other threads of Python run.
///
/// # Errors
/// The keywords are incompatible with the model or the result type, or the library refuses the
/// call.
pub fn segmentations<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    call: &EncodeCall<'py>,
    list: impl Send
    + FnOnce(&mut Encoder<'_>, &mut dyn FnMut(f32, Tokens<'_>)) -> Result<(), EncodeError>,
) -> PyResult<Vec<ScoredTokens>> {
    call.check(py, loaded)?;
    let work = TokenWork::new(loaded, call);
    let found = py.detach(|| {
        let mut encoder = loaded.tokenizer.encoder_with(work.options)?;
        let mut found = Vec::new();
        list(&mut encoder, &mut |score, tokens| {
            let tokens = work.owned(tokens, Some(score));
            found.push(ScoredTokens { tokens, score });
        })?;
        Ok(found)
    });
    found.map_err(|error: EncodeError| errors::of_encode(py, &error))
}

/// The message `NBestSentencePieceText`: each segmentation is an element of field 1.
pub fn list_message<'py>(
    py: Python<'py>,
    found: &[ScoredTokens],
    return_type: ReturnType,
) -> PyResult<Bound<'py, PyAny>> {
    const FIELD: u8 = 0x0A;
    let mut message = Vec::new();
    for ScoredTokens { tokens, .. } in found {
        message.push(FIELD);
        write_length(tokens.message.len(), &mut message);
        message.extend_from_slice(&tokens.message);
    }
    let bytes = PyBytes::new(py, &message);
    let function = match return_type {
        ReturnType::Proto => "nbest_message",
        ReturnType::ImmutableProto => "immutable_nbest",
        _ => return Ok(bytes.into_any()),
    };
    py.import("spiece._convert")?
        .call_method1(function, (bytes,))
}

/// A length as a varint of protobuf: seven bits in each byte, the lowest first.
fn write_length(mut length: usize, out: &mut Vec<u8>) {
    while length >= 0x80 {
        out.push(length.to_le_bytes()[0] | 0x80);
        length >>= 7;
    }
    out.push(length.to_le_bytes()[0]);
}
