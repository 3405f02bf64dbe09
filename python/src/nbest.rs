//! N-best lists of the drop-in.
//!
//! Input: a text and a number. Output: a list for each segmentation, best first, or one message for all of them.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use spiece::EncodeError;

use crate::arguments::ReturnType;
use crate::encode::{EncodeCall, is_message, tokens_object};
use crate::errors;
use crate::loaded::Loaded;
use crate::text::Text;
use crate::tokens::OwnedTokens;

/// The best segmentations of one text.
pub fn nbest<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    input: &Bound<'py, PyAny>,
    size: usize,
    call: &EncodeCall<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    let text = Text::of(input)?;
    call.check(py, loaded)?;
    let makes_messages = is_message(call.return_type);
    let options = &call.options;
    let found = py.detach(|| segmentations(loaded, options, text.bytes, size, makes_messages));
    let found = found.map_err(|error| errors::of_encode(py, &error))?;
    if makes_messages {
        return nbest_message(py, &found, call.return_type);
    }
    let objects = found.into_iter();
    let objects = objects.map(|tokens| tokens_object(py, loaded, tokens, text, call));
    Ok(PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)?.into_any())
}

fn segmentations(
    loaded: &Loaded,
    options: &spiece::EncodeOptions,
    text: &[u8],
    size: usize,
    makes_messages: bool,
) -> Result<Vec<OwnedTokens>, EncodeError> {
    let mut encoder = loaded.tokenizer.encoder_with(options)?;
    let mut found = Vec::new();
    encoder.for_each_nbest(text, size, |score, tokens| {
        found.push(if makes_messages {
            OwnedTokens::of_message(tokens.to_message(Some(score)))
        } else {
            OwnedTokens::new(loaded, tokens)
        });
    })?;
    Ok(found)
}

/// The message `NBestSentencePieceText`: each segmentation is an element of field 1.
fn nbest_message<'py>(
    py: Python<'py>,
    found: &[OwnedTokens],
    return_type: ReturnType,
) -> PyResult<Bound<'py, PyAny>> {
    const FIELD: u8 = 0x0A;
    let mut message = Vec::new();
    for tokens in found {
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
