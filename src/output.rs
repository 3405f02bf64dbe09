//! Files that appear whole or not at all.
//!
//! The bytes go to a temporary file beside the target and are flushed to the disk; then the file is renamed
//! over the target, in one step as others see it. Until then, and if anything fails, the target is as it
//! was. A run that is killed leaves its temporary files, under names that say what they are; the next run on
//! the same target removes them, and finishes what a set of files lacks ([`temporary`], [`set`]).
//!
//! A pipe or a device is no file that could be replaced; it is written to ([`target`]).

mod set;
mod target;
mod temporary;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use self::target::Target;
use self::temporary::Temporary;
use crate::error::WriteError;

/// Writes several files that belong together so that all are new or, if anything fails before the last step,
/// none is. Of processes that write to the same files at the same time, one goes after the other: the files are
/// then those of one process. The first file changes last; if the process is killed between the changes, the
/// next call for these files (or [`check_writable`]) completes them.
///
/// # Errors
/// The first file that could not be written. What stood there before is still there.
pub(crate) fn write_files(files: &[(&Path, &[u8])]) -> Result<(), WriteError> {
    let targets = targets(files.iter().map(|(path, _)| *path))?;
    let (mut set, mut paths) = (Vec::new(), Vec::new());
    for ((path, bytes), target) in files.iter().zip(&targets) {
        if let Target::File(target) = target {
            set.push(write_temporary(target, bytes).map_err(|source| failed(path, source))?);
            paths.push((target, path));
        }
    }
    for ((path, bytes), target) in files.iter().zip(&targets) {
        if let Target::Stream(target) = target {
            let written = open_stream(target).and_then(|mut stream| stream.write_all(bytes));
            written.map_err(|source| failed(path, source))?;
        }
    }
    set::replace_targets(set).map_err(|(target, source)| {
        let path = paths
            .iter()
            .find(|(known, _)| **known == target)
            .map_or(target.as_path(), |(_, path)| path);
        failed(path, source)
    })
}

/// Tells whether files could be written at all of `paths`, without touching what is there; but what a killed run
/// left half done is finished, and its temporary files are removed. For the paths of one [`write_files`].
///
/// # Errors
/// As writing would fail, but for a disk that is full by then.
pub(crate) fn check_writable(paths: &[&Path]) -> Result<(), WriteError> {
    for (path, target) in paths.iter().zip(targets(paths.iter().copied())?) {
        if let Target::File(target) = target {
            Temporary::beside(&target).map_err(|source| failed(path, source))?;
        }
    }
    Ok(())
}

/// What `paths` stand for, after what a killed run began to do there was finished.
fn targets<'p>(paths: impl Iterator<Item = &'p Path> + Clone) -> Result<Vec<Target>, WriteError> {
    let targets: Result<Vec<Target>, WriteError> = paths
        .clone()
        .map(|path| Target::of(path).map_err(|source| failed(path, source)))
        .collect();
    let targets = targets?;
    let files: Vec<&Path> = targets
        .iter()
        .filter_map(|target| match target {
            Target::File(path) => Some(path.as_path()),
            Target::Stream(_) => None,
        })
        .collect();
    let first = paths.into_iter().next().unwrap_or(Path::new(""));
    set::finish_interrupted(&files).map_err(|source| failed(first, source))?;
    Ok(targets)
}

fn write_temporary(target: &Path, bytes: &[u8]) -> io::Result<Temporary> {
    let mut temporary = Temporary::beside(target)?;
    temporary.file().write_all(bytes)?;
    temporary.file().sync_all()?;
    Ok(temporary)
}

fn open_stream(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

fn failed(path: &Path, source: io::Error) -> WriteError {
    WriteError {
        path: path.to_owned(),
        source,
    }
}

/// A file that is written bit by bit and takes its place at the end. Dropping it leaves no trace, and
/// what stood in its place stays. A pipe or a device gets the bytes as they come.
#[derive(Debug)]
pub(crate) struct OutputFile {
    destination: Destination,
    /// The name that the caller gave the target.
    path: PathBuf,
}

#[derive(Debug)]
enum Destination {
    File(Temporary),
    Stream(File),
}

impl OutputFile {
    /// Begins a file that will be at `path`.
    ///
    /// # Errors
    /// The file system refuses.
    pub(crate) fn create(path: impl AsRef<Path>) -> Result<OutputFile, WriteError> {
        let path = path.as_ref();
        let destination = Target::of(path).and_then(|target| match target {
            Target::File(target) => Temporary::beside(&target).map(Destination::File),
            Target::Stream(target) => open_stream(&target).map(Destination::Stream),
        });
        let destination = destination.map_err(|source| failed(path, source))?;
        Ok(OutputFile {
            destination,
            path: path.to_owned(),
        })
    }

    /// Puts the file into its place.
    ///
    /// # Errors
    /// The file system refuses. What stood there before is still there.
    pub(crate) fn commit(self) -> Result<(), WriteError> {
        let committed = match self.destination {
            Destination::Stream(_) => Ok(()),
            Destination::File(mut temporary) => temporary
                .file()
                .sync_all()
                .and_then(|()| temporary.replace_target()),
        };
        committed.map_err(|source| failed(&self.path, source))
    }

    fn file(&mut self) -> &mut File {
        match &mut self.destination {
            Destination::File(temporary) => temporary.file(),
            Destination::Stream(stream) => stream,
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file().flush()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_target_changes_at_once_or_not_at_all() {
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
    fn all_files_are_new_or_none() {
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
    fn devices_stay_what_they_are() {
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
}
