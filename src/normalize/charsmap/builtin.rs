//! The compiled charsmaps of the built-in rule sets.
//!
//! The default set, `nmt_nfkc`, is compiled ahead of time: `nmt_nfkc.charsmap` is the output of
//! [`compile`]. A test compares it, and `cargo test --lib write_precompiled -- --ignored` writes
//! it. Compiling it in each process takes as long as training on 10 MB of text. The other sets are
//! rare; they are compiled on the first request, in some tens of milliseconds, and kept for the
//! rest of the process. A charsmap has 240 kB to 250 kB.

use std::sync::OnceLock;

use super::compile::{CompileError, compile};
use crate::normalize::rules::{BUILTIN_NAMES, builtin_rules};

/// The name of the set that is compiled ahead of time.
const PRECOMPILED_NAME: &str = "nmt_nfkc";
/// The charsmap of [`PRECOMPILED_NAME`].
static PRECOMPILED: &[u8] = include_bytes!("nmt_nfkc.charsmap");

/// The compiled charsmap of a built-in set; `None` if there is no such name. For `identity` it is
/// empty.
pub(crate) fn builtin_charsmap(name: &str) -> Option<Result<&'static [u8], CompileError>> {
    static COMPILED: [OnceLock<Result<Vec<u8>, CompileError>>; BUILTIN_NAMES.len()] =
        [const { OnceLock::new() }; BUILTIN_NAMES.len()];

    if name == PRECOMPILED_NAME {
        return Some(Ok(PRECOMPILED));
    }
    let index = BUILTIN_NAMES.iter().position(|known| *known == name)?;
    let compiled = COMPILED[index].get_or_init(|| compile_builtin(name));
    Some(compiled.as_deref().map_err(Clone::clone))
}

fn compile_builtin(name: &str) -> Result<Vec<u8>, CompileError> {
    match builtin_rules(name) {
        Some(rules) if !rules.is_empty() => compile(&rules),
        _ => Ok(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_precompiled_charsmap_is_the_compiled_one() {
        let compiled = compile_builtin(PRECOMPILED_NAME).unwrap();
        assert!(
            compiled == builtin_charsmap(PRECOMPILED_NAME).unwrap().unwrap(),
            "run `cargo test --lib write_precompiled -- --ignored`"
        );
    }

    #[test]
    #[ignore = "writes a source file"]
    fn write_precompiled() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src/normalize/charsmap/nmt_nfkc.charsmap"
        );
        std::fs::write(path, compile_builtin(PRECOMPILED_NAME).unwrap()).unwrap();
    }
}
