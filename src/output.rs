//! Output files that are replaced as a whole: a reader sees the old file or the new file, never a
//! part of one.
//!
//! The bytes go to a temporary file beside the target, `.NAME.spiece-XXXXXX.tmp`, which is flushed
//! to the disk and renamed over the target. If anything fails, the temporary file is removed and
//! the target is as it was. A process that is killed (`kill -9`, power failure) can leave a
//! temporary file, which no one needs.
//!
//! Files that belong together are all written before the first one is renamed, and the first one is
//! renamed last: whoever waits for the `.model` finds the new `.vocab` beside it. A process that is
//! killed between two renames leaves the old `.model` and the new `.vocab`; `spiece export-vocab`
//! makes a `.vocab` of a model.
//!
//! A pipe or a device cannot be replaced by a rename; the bytes are written to it directly.

mod error;
mod target;
mod temporary;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::path::PathBuf;

pub use self::error::WriteError;
use self::target::Target;
use self::temporary::Temporary;

/// Writes several files that belong together; see the [module page](self).
///
/// # Errors
/// The first file that could not be written. All files are as they were, unless the system refuses
/// to rename one of them after others.
pub fn write_files(files: &[(&Path, &[u8])]) -> Result<(), WriteError> {
    let outputs = files.iter().map(|(path, _)| OutputFile::create(path));
    let mut outputs = outputs.collect::<Result<Vec<_>, _>>()?;
    // What is written to a stream cannot be taken back, so streams are last.
    for is_stream in [false, true] {
        for (output, (path, bytes)) in outputs.iter_mut().zip(files) {
            if matches!(output.destination, Destination::Stream(_)) == is_stream {
                output.write_all(bytes).map_err(failed(path))?;
            }
        }
    }
    commit_all(outputs)
}

/// Flushes all files to the disk, then renames them, the first one last.
fn commit_all(mut outputs: Vec<OutputFile>) -> Result<(), WriteError> {
    for output in &mut outputs {
        output.destination.sync().map_err(failed(&output.path))?;
    }
    outputs.into_iter().rev().try_for_each(OutputFile::rename)
}

/// Checks that the files of a later [`write_files`] can be written, so that a long run does not
/// fail at its end. Changes nothing.
///
/// # Errors
/// The error that writing would give, except for a disk that becomes full in the meantime.
pub fn check_writable(paths: &[&Path]) -> Result<(), WriteError> {
    for path in paths {
        if let Target::File(target) = target_of(path)? {
            Temporary::beside(&target).map_err(failed(path))?;
        }
    }
    Ok(())
}

/// Whether `path` is a pipe or a device, to which bytes are written directly.
///
/// # Errors
/// It is a folder, or a file without write permission.
pub fn is_stream(path: &Path) -> Result<bool, WriteError> {
    Ok(matches!(target_of(path)?, Target::Stream(_)))
}

/// What `path` means as an output.
fn target_of(path: &Path) -> Result<Target, WriteError> {
    Target::of(path).map_err(failed(path))
}

/// Turns an error of the operating system into one that names `path`.
fn failed(path: &Path) -> impl FnOnce(io::Error) -> WriteError {
    |source| WriteError {
        path: path.to_owned(),
        source,
    }
}

/// A file that is written incrementally and replaces its target at [`commit`](Self::commit).
/// Without a commit the target is unchanged and the temporary file is removed. A pipe or a device
/// receives the bytes at once.
#[derive(Debug)]
pub struct OutputFile {
    destination: Destination,
    /// The name that the caller gave the target.
    path: PathBuf,
}

#[derive(Debug)]
enum Destination {
    File(Temporary),
    Stream(File),
}

impl Destination {
    /// Makes the temporary file, or opens the stream.
    fn open(target: &Target) -> io::Result<Self> {
        match target {
            Target::File(path) => Temporary::beside(path).map(Self::File),
            Target::Stream(path) => {
                let stream = OpenOptions::new().write(true).open(path);
                stream.map(Self::Stream)
            }
        }
    }

    /// Flushes the temporary file to the disk.
    fn sync(&mut self) -> io::Result<()> {
        match self {
            Self::File(temporary) => temporary.file().sync_all(),
            Self::Stream(_) => Ok(()),
        }
    }

    fn file(&mut self) -> &mut File {
        match self {
            Self::File(temporary) => temporary.file(),
            Self::Stream(stream) => stream,
        }
    }
}

impl OutputFile {
    /// Creates the temporary file for `path`, or opens the stream.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, WriteError> {
        let path = path.as_ref();
        let target = target_of(path)?;
        let destination = Destination::open(&target).map_err(failed(path))?;
        Ok(Self {
            destination,
            path: path.to_owned(),
        })
    }

    /// Flushes the file to the disk and renames it to its path.
    ///
    /// # Errors
    /// The file system refuses; the former file is unchanged.
    pub fn commit(self) -> Result<(), WriteError> {
        commit_all(vec![self])
    }

    /// Renames the file, which was flushed to the disk, to its path.
    fn rename(self) -> Result<(), WriteError> {
        match self.destination {
            Destination::File(temporary) => temporary.replace_target().map_err(failed(&self.path)),
            Destination::Stream(_) => Ok(()),
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.destination.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.destination.file().flush()
    }
}

/// Files that belong together and grow at the same time, such as the ids of a corpus and the index
/// of its documents. They replace their targets at [`commit`](Self::commit); until then they can be
/// read and written anywhere, so that a header can follow its data. Dropping it removes them.
#[derive(Debug)]
pub struct OutputGroup {
    files: Vec<OutputFile>,
}

impl OutputGroup {
    /// Creates the temporary files.
    ///
    /// # Errors
    /// The file system refuses, or one of the paths is a pipe or a device, which nothing can
    /// replace.
    pub fn create(paths: &[&Path]) -> Result<Self, WriteError> {
        let mut files = Vec::new();
        for path in paths {
            if is_stream(path)? {
                return Err(failed(path)(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is a pipe or a device, which cannot be replaced by a file",
                )));
            }
            files.push(OutputFile::create(path)?);
        }
        Ok(Self { files })
    }

    /// The name and the content of the file at this position in the list of paths.
    pub fn file(&mut self, position: usize) -> Option<(&Path, &mut File)> {
        let output = self.files.get_mut(position)?;
        Some((&output.path, output.destination.file()))
    }

    /// Flushes all files to the disk and renames them to their paths, the first one last.
    ///
    /// # Errors
    /// The file system refuses; see [`write_files`].
    pub fn commit(self) -> Result<(), WriteError> {
        commit_all(self.files)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Seek, SeekFrom};

    use super::*;

    #[test]
    fn the_target_changes_at_commit_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old").unwrap();
        let mut output = OutputFile::create(&path).unwrap();
        output.write_all(b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(output);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        write_files(&[(&path, b"new")]).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }

    #[test]
    fn a_set_with_one_bad_target_changes_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let [model, vocab] = ["m.model", "m.vocab"].map(|name| folder.path().join(name));
        fs::write(&model, "old").unwrap();
        fs::create_dir(&vocab).unwrap();
        let error = write_files(&[(&model, b"new"), (&vocab, b"new")]).unwrap_err();
        assert_eq!(error.path, vocab);
        assert_eq!(error.source.kind(), io::ErrorKind::IsADirectory, "{error}");
        assert_eq!(fs::read(&model).unwrap(), b"old");
        let missing = folder.path().join("none/file");
        let error = check_writable(&[&missing]).unwrap_err();
        assert_eq!(error.source.kind(), io::ErrorKind::NotFound, "{error}");
        fs::remove_dir(&vocab).unwrap();
        write_files(&[(&model, b"new"), (&vocab, b"new")]).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        std::os::unix::fs::symlink("real", &link).unwrap();
        for content in ["first", "second"] {
            write_files(&[(&link, content.as_bytes())]).unwrap();
            assert_eq!(fs::read_to_string(&real).unwrap(), content);
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        }
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_not_replaced_by_files() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        write_files(&[(&link, b"bytes")]).unwrap();
        check_writable(&[&link]).unwrap();
        let mut output = OutputFile::create(&link).unwrap();
        output.write_all(b"bytes").unwrap();
        output.commit().unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

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
