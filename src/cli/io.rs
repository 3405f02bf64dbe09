//! Errors of the program, and the streams that its subcommands read and write.
//!
//! Each error becomes one line on standard error and an exit status: 1 if an operation failed, 2 if the command line is
//! wrong. An error of [`EncodeError`] is caused by an option that the model does not support, so its status is 2. A pipe
//! whose reader has closed it, as `head` does, ends the program without a message and with status 0.
//!
//! ```text
//! $ spiece encode
//! spiece: --model is missing; it names the .model file
//! $ echo $?
//! 2
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::{EncodeError, ModelError, TrainError, WriteError};

/// Why a subcommand ends early.
#[derive(Debug)]
pub(crate) enum CliError {
    /// An operation failed; exit status 1.
    Error(String),
    /// The command line is wrong; exit status 2.
    Usage(String),
    /// The reader of the output closed the pipe; this is no error.
    ClosedPipe,
}

impl CliError {
    /// Prints the message to standard error. Returns the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        let (message, status) = match self {
            CliError::Error(message) => (message, 1),
            CliError::Usage(message) => (message, 2),
            CliError::ClosedPipe => return ExitCode::SUCCESS,
        };
        // A failure to print cannot be reported anywhere else.
        let _ = writeln!(io::stderr(), "spiece: {message}");
        ExitCode::from(status)
    }

    /// An error for reading `path`.
    pub(crate) fn read(path: &Path, error: &io::Error) -> CliError {
        CliError::Error(format!(
            "cannot read {}: {error}; check its name and permissions",
            path.display()
        ))
    }

    /// An error for writing to `name`.
    pub(crate) fn write(name: &str, error: &io::Error) -> CliError {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return CliError::ClosedPipe;
        }
        CliError::Error(format!(
            "cannot write {name}: {error}; check the disk and the permissions"
        ))
    }
}

/// A wrong value of an option is a usage error; all other errors are failures of the operation.
impl From<TrainError> for CliError {
    fn from(error: TrainError) -> CliError {
        match error {
            TrainError::Option(error) => CliError::Usage(error.to_string()),
            error => CliError::Error(error.to_string()),
        }
    }
}

/// A model that cannot be read is a failure of the operation.
impl From<ModelError> for CliError {
    fn from(error: ModelError) -> CliError {
        CliError::Error(error.to_string())
    }
}

/// Options that the model does not support are a usage error.
impl From<EncodeError> for CliError {
    fn from(error: EncodeError) -> CliError {
        CliError::Usage(error.to_string())
    }
}

/// A file that cannot be written is a failure; a closed pipe is none.
impl From<WriteError> for CliError {
    fn from(error: WriteError) -> CliError {
        if error.source.kind() == io::ErrorKind::BrokenPipe {
            return CliError::ClosedPipe;
        }
        CliError::Error(error.to_string())
    }
}

/// Whether an output of this name is standard output. The device is not opened anew: that would write from the
/// start of a file to which output was redirected.
pub(crate) fn is_standard_output(name: &str) -> bool {
    matches!(name, "-" | "/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1")
}

/// Standard output with a buffer of 64 kB. The caller flushes it, because a failure while dropping it would be lost.
pub(crate) fn standard_output() -> BufWriter<io::Stdout> {
    BufWriter::with_capacity(1 << 16, io::stdout())
}

/// Writes all of `bytes` to standard output.
pub(crate) fn write_to_standard_output(bytes: &[u8]) -> Result<(), CliError> {
    let mut output = standard_output();
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(|error| CliError::write("standard output", &error))
}

/// Opens a file, or standard input for `-`.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(File::open(path)?))
}
