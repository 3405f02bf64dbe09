//! The compiled charsmaps of the built-in rule sets.
//!
//! Input: a name of [`BUILTIN_NAMES`]. Output: the bytes that the reference writes into model files
//! for it.
//!
//! The default set, `nmt_nfkc`, is compiled ahead of time: `nmt_nfkc.charsmap` is the output of
//! [`compile`]. A test compares it, and `cargo test --lib write_precompiled -- --ignored` writes
//! it. Compiling it in each process takes as long as training on 10 MB of text. The library
//! contains its bytes in the order of `build.rs`, which compresses to two thirds of the size (72 kB
//! instead of 109 kB for the double array): the wheel of the Python package is a compressed file.
//! The other sets are rare; they are compiled on the first request. Each set is kept for the rest
//! of the process.
//!
//! Cost: none for `identity`, a copy of 240 kB for the first request of `nmt_nfkc`, some tens of
//! milliseconds for the first request of another set. A charsmap has 240 kB to 250 kB.

use std::sync::OnceLock;

use super::compile::{CompileError, compile};
use crate::normalize::rules::{BUILTIN_NAMES, builtin_rules};

/// The name of the set that is compiled ahead of time.
const PRECOMPILED_NAME: &str = "nmt_nfkc";
/// The charsmap of [`PRECOMPILED_NAME`]: its bytes 0, 4, 8 ..., then 1, 5, 9 ..., then 2, 6 ... and
/// 3, 7 ....
static PLANES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/nmt_nfkc.planes"));

/// The compiled charsmap of a built-in set; `None` if there is no such name. For `identity` it is
/// empty.
pub(crate) fn builtin_charsmap(name: &str) -> Option<Result<&'static [u8], CompileError>> {
    static COMPILED: [OnceLock<Result<Vec<u8>, CompileError>>; BUILTIN_NAMES.len()] =
        [const { OnceLock::new() }; BUILTIN_NAMES.len()];

    let index = BUILTIN_NAMES.iter().position(|known| *known == name)?;
    let compiled = COMPILED[index].get_or_init(|| match name {
        PRECOMPILED_NAME => Ok(interleave(PLANES)),
        _ => compile_builtin(name),
    });
    Some(compiled.as_deref().map_err(Clone::clone))
}

/// The bytes that have these planes. For example, the planes `ae`, `bf`, `c`, `d` are those of
/// `abcdef`.
fn interleave(planes: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; planes.len()];
    let mut rest = planes;
    for first in 0..4 {
        for byte in bytes.iter_mut().skip(first).step_by(4) {
            let Some((next, others)) = rest.split_first() else {
                return bytes;
            };
            *byte = *next;
            rest = others;
        }
    }
    bytes
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
    fn planes_of_any_length_are_interleaved() {
        for (planes, bytes) in [("", ""), ("a", "a"), ("abcd", "abcd"), ("aebfcd", "abcdef")] {
            assert_eq!(interleave(planes.as_bytes()), bytes.as_bytes());
        }
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
