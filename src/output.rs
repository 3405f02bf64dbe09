//! Files that appear whole or not at all.
//!
//! The bytes go to a temporary file beside the target and are flushed to the disk; then the file is renamed
//! over the target, in one step as others see it. Until then, and if anything fails, the target is as it
//! was. A symbolic link is followed, so that it goes on pointing where it did.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::WriteError;

/// Writes several files so that all are new or, if anything fails before the last step, none is.
///
/// # Errors
/// The first file that could not be written. What stood there before is still there.
pub fn write_files(files: &[(&Path, &[u8])]) -> Result<(), WriteError> {
    let pending: Result<Vec<PendingFile>, WriteError> =
        files.iter().map(|(path, bytes)| PendingFile::create(path, bytes)).collect();
    pending?.into_iter().try_for_each(PendingFile::commit)
}

/// Tells whether a file could be written at `path`, without touching what is there.
///
/// # Errors
/// As writing would fail, but for a disk that is full by then.
pub fn check_writable(path: &Path) -> Result<(), WriteError> {
    PendingFile::create(path, b"").map(drop)
}

/// A file that is written but not yet in its place. Dropping it leaves no trace.
#[derive(Debug)]
pub(crate) struct PendingFile {
    file: NamedTempFile,
    target: PathBuf,
    /// The name that the caller gave the target.
    path: PathBuf,
}

impl PendingFile {
    /// Writes `bytes` beside `path`.
    pub(crate) fn create(path: &Path, bytes: &[u8]) -> Result<PendingFile, WriteError> {
        let mut pending = PendingFile::begin(path)?;
        let written = pending.file.write_all(bytes).and_then(|()| pending.file.as_file().sync_all());
        written.map_err(|source| WriteError { path: path.to_owned(), source })?;
        Ok(pending)
    }

    /// An empty file beside `path`.
    fn begin(path: &Path) -> Result<PendingFile, WriteError> {
        let failed = |source| WriteError { path: path.to_owned(), source };
        let target = target_of(path).map_err(failed)?;
        let file = temporary_file(&target).map_err(failed)?;
        Ok(PendingFile { file, target, path: path.to_owned() })
    }

    /// Puts the file into its place.
    pub(crate) fn commit(self) -> Result<(), WriteError> {
        let PendingFile { file, target, path } = self;
        file.persist(&target).map(drop).map_err(|error| WriteError { path, source: error.error })
    }
}

/// A file that is written bit by bit and takes its place at the end. Dropping it leaves no trace, and
/// what stood in its place stays.
///
/// ```
/// use std::io::Write;
/// # let folder = std::env::temp_dir().join("spiece-doc-output");
/// # std::fs::create_dir_all(&folder)?;
/// let mut file = spiece::OutputFile::create(folder.join("ids.txt"))?;
/// writeln!(file, "1 2 3")?;
/// file.commit()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutputFile {
    pending: PendingFile,
}

impl OutputFile {
    /// Begins a file that will be at `path`.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(path: impl AsRef<Path>) -> Result<OutputFile, WriteError> {
        PendingFile::begin(path.as_ref()).map(|pending| OutputFile { pending })
    }

    /// Puts the file into its place.
    ///
    /// # Errors
    /// The file system refuses. What stood there before is still there.
    pub fn commit(self) -> Result<(), WriteError> {
        let synced = self.pending.file.as_file().sync_all();
        synced.map_err(|source| WriteError { path: self.pending.path.clone(), source })?;
        self.pending.commit()
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pending.file.flush()
    }
}

/// The file that `path` stands for, which need not exist.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if metadata.is_symlink() => match fs::canonicalize(path) {
            Ok(target) if target.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            result => result,
        },
        _ => Ok(path.to_owned()),
    }
}

/// An empty file in the folder of `target`, with a name that tells what it is, and with the permissions
/// that a new file gets.
fn temporary_file(target: &Path) -> io::Result<NamedTempFile> {
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let prefix = format!(".{name}.spiece-");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_changes_at_once_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let pending = PendingFile::create(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(pending);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        PendingFile::create(&path, b"new").unwrap().commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = PendingFile::create(folder.path(), b"").unwrap_err();
        assert!(error.to_string().contains("a folder has that name"), "{error}");
        let missing = folder.path().join("none/file");
        assert!(PendingFile::create(&missing, b"").unwrap_err().to_string().contains("make its folder"));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        PendingFile::create(&link, b"new").unwrap().commit().unwrap();
        assert_eq!(fs::read(&real).unwrap(), b"new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o111, 0);
    }
}
