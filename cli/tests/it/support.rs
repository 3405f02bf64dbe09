//! What several modules of tests need: test data, the program, numbers of threads.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

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
pub fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_spiece"))
}

/// Runs `spiece` in a folder.
pub fn spiece_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = program();
    command.current_dir(folder).args(arguments);
    command.output().unwrap()
}

/// Starts a command with pipes for its input and output.
pub fn start(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a command with `input` on standard input.
pub fn output_for(command: &mut Command, input: &[u8]) -> Output {
    let mut child = start(command);
    let (mut stdin, input) = (child.stdin.take().unwrap(), input.to_vec());
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    // A program that stops early closes the pipe.
    let _ = writer.join().unwrap();
    output
}

/// What the program has written to standard error; it must have succeeded.
pub fn report_of(arguments: &[&str], output: &Output) -> String {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.status.success(), "{arguments:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    stderr
}

/// Asserts that a run failed with an exit status and a message that contains `message`.
pub fn assert_refused(arguments: &[&str], output: &Output, status: i32, message: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let found = output.status.code();
    assert_eq!(found, Some(status), "{arguments:?}: {stderr}");
    assert!(stderr.contains(message), "{arguments:?}: {stderr}");
}

/// A temporary folder with these files.
pub fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    folder
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
