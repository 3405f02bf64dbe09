//! The compiled charsmaps of the built-in rule sets.
//!
//! Input: a name of [`BUILTIN_NAMES`]. Output: the bytes that the reference writes into model files for it.
//! Cost: some tens of milliseconds for the first request of a set; the bytes are kept for the rest of the process
//! (230 kB to 530 kB for each set).

use std::sync::OnceLock;

use super::compile::{CompileError, compile};
use crate::normalize::rules::{BUILTIN_NAMES, builtin_rules};

/// The compiled charsmap of a built-in set; `None` if there is no such name. For `identity` it is empty.
pub(crate) fn builtin_charsmap(name: &str) -> Option<Result<&'static [u8], CompileError>> {
    static COMPILED: [OnceLock<Result<Vec<u8>, CompileError>>; BUILTIN_NAMES.len()] =
        [const { OnceLock::new() }; BUILTIN_NAMES.len()];

    let index = BUILTIN_NAMES.iter().position(|known| *known == name)?;
    let compiled = COMPILED[index].get_or_init(|| match builtin_rules(name) {
        Some(rules) if !rules.is_empty() => compile(&rules),
        _ => Ok(Vec::new()),
    });
    Some(compiled.as_deref().map_err(Clone::clone))
}
