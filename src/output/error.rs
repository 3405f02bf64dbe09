//! Errors of writing output files.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// An output file could not be written. The file is as it was before.
#[derive(Debug)]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The error of the operating system.
    pub source: io::Error,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        let remedy = remedy(&self.source);
        write!(f, "cannot write {path}: {}; {remedy}", self.source)
    }
}

impl std::error::Error for WriteError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// What to do about a file that could not be written.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "free disk space, or write to another disk",
        io::ErrorKind::NotFound => "create its folder first",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check the permissions of its folder, or write to another folder"
        }
        io::ErrorKind::IsADirectory => "a folder has that name; choose another",
        _ => "the file was not changed",
    }
}
