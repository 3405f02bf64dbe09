//! Errors of the program, and the streams that its subcommands read and write.
//!
//! An error becomes a message on standard error and an exit status: 1 if an operation failed, 2 if
//! the command line is wrong. An [`EncodeError`] is caused by an option that the model does not
//! support, so its status is 2. If the reader of the output closes the pipe, as `head` does, the
//! program ends without a message and with status 0.
//!
//! ```text
//! $ spiece encode
//! spiece: --model is missing; it names the .model file
//! $ echo $?
//! 2
//! ```

use std::ffi::OsString;
use std::fmt::Display;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::progress::Messages;
use spiece::formats::FormatError;
use spiece::input::{OpenText, reading_remedy};
use spiece::output::WriteError;
use spiece::output::write_files;
use spiece::{EncodeError, ModelError, NoModelError, OpenError, TrainError};

/// What may help after an error of writing.
const WRITING_REMEDY: &str = "check the disk and the permissions";

/// The result of an operation of the program.
pub(crate) type CliResult<T = ()> = Result<T, CliError>;

/// Why a subcommand ends early.
#[derive(Debug)]
pub(crate) enum CliError {
    /// An operation failed; exit status 1.
    Error(String),
    /// The command line is wrong; exit status 2.
    Usage(String),
    /// The reader of standard output closed the pipe; this is no error.
    ClosedPipe,
    /// What was compared differs, as the output says; exit status 1 without a message.
    Different,
}

impl CliError {
    /// An operation failed.
    pub(crate) fn failure(message: &str) -> Self {
        Self::Error(message.to_owned())
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: &str) -> Self {
        Self::Usage(message.to_owned())
    }

    /// Prints the message to standard error. Returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        let (status, message) = match self {
            Self::ClosedPipe => (0, None),
            Self::Different => (1, None),
            Self::Error(message) => (1, Some(message)),
            Self::Usage(message) => (2, Some(message)),
        };
        if let Some(message) = message {
            // A failure to print cannot be reported anywhere else.
            let _ = writeln!(io::stderr(), "spiece: {message}");
        }
        ExitCode::from(status)
    }

    /// An error that concerns the line with this number, from 1.
    pub(crate) fn in_line(number: u64, problem: impl Display) -> Self {
        Self::Error(format!("line {number}: {problem}"))
    }

    /// An error in the content of the file `path`.
    pub(crate) fn in_file(path: &Path, problem: impl Display) -> Self {
        Self::Error(format!("{}: {problem}", path.display()))
    }

    /// An error for reading `path`.
    pub(crate) fn read(path: &Path, error: &io::Error) -> Self {
        Self::Error(format!(
            "cannot read {}: {error}; {}",
            path.display(),
            reading_remedy(error)
        ))
    }

    /// Makes the error for reading `path`.
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::read(path, &error)
    }

    /// An error for writing to `name`; a closed pipe needs no message.
    pub(crate) fn write(name: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::ClosedPipe;
        }
        Self::Error(format!("cannot write {name}: {error}; {WRITING_REMEDY}"))
    }

    /// An error for writing to standard output.
    pub(crate) fn standard_output(error: io::Error) -> Self {
        Self::write("standard output", &error)
    }
}

/// A wrong value of an option is a usage error; all other errors are failures of the operation.
impl From<TrainError> for CliError {
    fn from(error: TrainError) -> Self {
        let message = error.to_string();
        match error {
            TrainError::Option(_) => Self::Usage(message),
            _ => Self::Error(message),
        }
    }
}

/// A file that cannot be opened is a failure of the operation.
impl From<OpenError> for CliError {
    fn from(error: OpenError) -> Self {
        let flag = match error.without_path() {
            OpenError::Format(error) => flag_of(error),
            _ => "",
        };
        Self::Error(format!("{error}{flag}"))
    }
}

/// So is a model that cannot be made.
impl From<ModelError> for CliError {
    fn from(error: ModelError) -> Self {
        Self::Error(error.to_string())
    }
}

/// So is a tokenizer that has no model.
impl From<NoModelError> for CliError {
    fn from(error: NoModelError) -> Self {
        Self::Error(error.to_string())
    }
}

/// The flag that gives what an error says is missing.
pub(crate) fn flag_of(error: &FormatError) -> &'static str {
    match error.lacks_pattern() {
        true => " (--pattern=gpt2)",
        false => "",
    }
}

/// Options that the model does not support are a usage error.
impl From<EncodeError> for CliError {
    fn from(error: EncodeError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// A file that cannot be written is a failure; a closed pipe is none.
impl From<WriteError> for CliError {
    fn from(error: WriteError) -> Self {
        Self::Error(error.to_string())
    }
}

/// Whether an output of this name is standard output. The device is not opened anew: that would
/// write from the start of a file to which output was redirected.
pub(crate) fn is_standard_output(name: &str) -> bool {
    matches!(name, "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1")
}

/// Standard output with a buffer of 64 kB. The caller flushes it, because a failure while dropping
/// it would be lost.
pub(crate) fn standard_output() -> BufWriter<io::Stdout> {
    BufWriter::with_capacity(1 << 16, io::stdout())
}

/// The path with an ending after its name, for example `.vocab`.
pub(crate) fn with_ending(path: impl Into<OsString>, ending: &str) -> PathBuf {
    let mut path = path.into();
    path.push(ending);
    path.into()
}

/// The names of the files for a message.
pub(crate) fn joined_names(paths: &[PathBuf]) -> String {
    let names = paths.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}

/// Writes `bytes` to the file, which is replaced as a whole, or to standard output without a file.
pub(crate) fn write_output(file: Option<&str>, bytes: &[u8]) -> CliResult {
    if let Some(path) = file {
        return Ok(write_files(&[(path.as_ref(), bytes)])?);
    }
    let mut output = standard_output();
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(CliError::standard_output)
}

/// The content of a file.
pub(crate) fn read_file(path: &str) -> CliResult<Vec<u8>> {
    read_file_at(path.as_ref())
}

/// The content of the file at a path, which need not be UTF-8.
pub(crate) fn read_file_at(path: &Path) -> CliResult<Vec<u8>> {
    std::fs::read(path).map_err(CliError::reading(path))
}

/// Opens the text of a file, or of standard input for `-`; warns if it is doubtful.
pub(crate) fn open_text(path: &Path, messages: &Messages) -> CliResult<Box<dyn Read + Send>> {
    let text = OpenText::open(path).map_err(CliError::reading(path))?;
    if let Some(warning) = &text.warning {
        messages.warn(&warning.to_string());
    }
    Ok(text.reader)
}

/// The text of a file.
pub(crate) fn read_text(path: &Path, messages: &Messages) -> CliResult<Vec<u8>> {
    let mut text = Vec::new();
    let mut reader = open_text(path, messages)?;
    reader
        .read_to_end(&mut text)
        .map_err(CliError::reading(path))?;
    Ok(text)
}
