//! What several modules of tests need: test data, the program, numbers of threads.

use std::path::{Path, PathBuf};

/// The path of a file or folder in `testdata/`.
pub fn testdata(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../testdata")
        .join(name)
}

/// Asserts that `run` gives the same result on 1, 2, 7 and 64 threads. `what` names the case in a
/// failure.
pub fn assert_equal_on_any_number_of_threads<T: PartialEq>(what: &str, run: impl Fn(u16) -> T) {
    let expected = run(1);
    for threads in [2, 7, 64] {
        assert!(
            run(threads) == expected,
            "{what}: {threads} threads give another result than one"
        );
    }
}

/// The same path as text, for command lines.
pub fn testdata_argument(name: &str) -> String {
    testdata(name).display().to_string()
}

/// A command that runs `spiece`.
pub fn program() -> std::process::Command {
    std::process::Command::new(env!("CARGO_BIN_EXE_spiece"))
}

/// The names of the files in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
