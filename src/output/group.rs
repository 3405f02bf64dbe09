//! Several files that belong together and are written incrementally.
//!
//! Job: the [protocol](super) for content that does not fit in memory and whose files grow at the
//! same time: the ids of a corpus and the index of its documents. Input: paths, then bytes for each
//! file. Output: all files at [`commit`](OutputGroup::commit), or none. The files can be read and
//! written anywhere until then, so that a header can follow its data. Cost: that of
//! [`OutputFile`](super::OutputFile) for each file.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::target::Target;
use super::temporary::Temporary;
use super::{failed, replace_targets, target_of, targets};
use crate::output::WriteError;

/// Files that replace their targets together. Dropping it removes them.
#[derive(Debug)]
pub struct OutputGroup {
    files: Vec<(PathBuf, Temporary)>,
}

impl OutputGroup {
    /// Creates the temporary files, after repairing what a killed run left.
    ///
    /// # Errors
    /// The file system refuses, or one of the paths is a pipe or a device, which nothing can
    /// replace.
    pub fn create(paths: &[&Path]) -> Result<Self, WriteError> {
        let targets = targets(paths.iter().copied())?;
        let mut files = Vec::new();
        for (path, target) in paths.iter().zip(&targets) {
            let temporary = temporary_beside(target).map_err(failed(path))?;
            files.push((path.to_path_buf(), temporary));
        }
        Ok(Self { files })
    }

    /// The name and the content of the file at this position in the list of paths.
    pub fn file(&mut self, position: usize) -> Option<(&Path, &mut File)> {
        let (path, temporary) = self.files.get_mut(position)?;
        Some((path, temporary.file()))
    }

    /// Flushes all files to the disk and renames them to their paths.
    ///
    /// # Errors
    /// The file system refuses; see [`write_contents`](super::write_contents).
    pub fn commit(mut self) -> Result<(), WriteError> {
        for (path, temporary) in &mut self.files {
            temporary.file().sync_all().map_err(failed(path))?;
        }
        replace_targets(self.files)
    }
}

/// A temporary file for `target`.
fn temporary_beside(target: &Target) -> io::Result<Temporary> {
    match target {
        Target::File(path) => Temporary::beside(path),
        Target::Stream(_) => Err(not_replaceable()),
    }
}

/// The error for a stream in a group.
fn not_replaceable() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        "it is a pipe or a device, which cannot be replaced by a file",
    )
}

/// Whether `path` is a pipe or a device, to which bytes are written directly.
///
/// # Errors
/// It is a folder, or a file without write permission.
pub fn is_stream(path: &Path) -> Result<bool, WriteError> {
    Ok(matches!(target_of(path)?, Target::Stream(_)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    #[test]
    fn files_appear_together_at_commit() {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a.bin", "a.idx"].map(|name| folder.path().join(name));
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        fs::write(paths[0], "old").unwrap();
        let write = |commit: bool| {
            let mut group = OutputGroup::create(&paths).unwrap();
            for (position, expected) in paths.iter().enumerate() {
                let (path, file) = group.file(position).unwrap();
                assert_eq!(path, *expected);
                file.write_all(b"__data").unwrap();
                file.seek(SeekFrom::Start(0)).unwrap();
                file.write_all(b"2:").unwrap();
            }
            assert!(group.file(2).is_none());
            if commit {
                group.commit().unwrap();
            }
        };
        write(false);
        assert_eq!(fs::read(paths[0]).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write(true);
        assert_eq!(fs::read(paths[0]).unwrap(), b"2:data");
        assert_eq!(fs::read(paths[1]).unwrap(), b"2:data");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn streams_are_refused() {
        let error = OutputGroup::create(&[Path::new("/dev/null")]).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::InvalidInput);
        assert!(is_stream(Path::new("/dev/null")).unwrap());
    }
}
