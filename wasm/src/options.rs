//! Options of loading and encoding.

use spiece::byte_bpe::SpecialToken;
use spiece::formats::ByteFormatOptions;
use spiece::{EncodeOptions, ExtraOption, Pattern};
use wasm_bindgen::prelude::*;

/// What a vocabulary needs and its file lacks: the name of a pattern or an expression, and special
/// tokens. `None` leaves each of them to the file.
pub(crate) fn format_options(
    pattern: Option<&str>,
    special: Option<(Vec<String>, Vec<u32>)>,
) -> Result<ByteFormatOptions, JsError> {
    let mut options = ByteFormatOptions::default();
    if let Some(pattern) = pattern {
        options.pattern = Some(match Pattern::named(pattern) {
            Some(pattern) => pattern,
            None => Pattern::new(pattern)?,
        });
    }
    if let Some((texts, ids)) = special {
        let tokens = texts.into_iter().zip(ids);
        let tokens = tokens.map(|(text, id)| SpecialToken::new(text, id));
        options.special_tokens = Some(tokens.collect());
    }
    Ok(options)
}

/// The options of an encoder, as `Tokenizer.withOptions` has checked them.
pub(crate) fn encode_options(
    allowed_special: Vec<String>,
    refuses_special: bool,
    user_defined_symbols: bool,
    extra: &str,
) -> Result<EncodeOptions, JsError> {
    Ok(EncodeOptions::default()
        .with_allowed_special(allowed_special)
        .with_refuses_special(refuses_special)
        .with_user_defined_symbols(user_defined_symbols)
        .with_extra(ExtraOption::parse_list(extra)?))
}
