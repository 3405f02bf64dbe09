//! What several modules of tests need: paths of the test data, and the program.

use std::path::{Path, PathBuf};

/// The path of a file or folder in `testdata/`.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("testdata")
        .join(name)
}

/// The same path as text, for command lines.
#[cfg(feature = "cli")]
pub fn testdata_argument(name: &str) -> String {
    testdata(name).display().to_string()
}

/// A command that runs `spiece`.
#[cfg(feature = "cli")]
pub fn program() -> std::process::Command {
    std::process::Command::new(env!("CARGO_BIN_EXE_spiece"))
}
