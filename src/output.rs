//! Atomic output files: a reader sees the old file or the new file, never a part of one.
//!
//! Job: write one file ([`OutputFile`]) or several files that belong together ([`write_contents`];
//! `group` for files that grow at the same time), so that a failure or a kill leaves what was there
//! before. Input: paths and bytes. Cost: one directory scan, one flush to the disk and one rename
//! for each file.
//!
//! # The protocol
//!
//! | step | what happens | a kill after this step leaves |
//! |---|---|---|
//! | 1 | links are followed; the target is found to be a file or a stream (`target`) | everything as it was |
//! | 2 | what an earlier, killed run left is completed or removed (step 6 of that run, or its temporary files) | the same |
//! | 3 | a temporary file `.NAME.spiece-XXXXXX.tmp` is made beside each target and locked (`temporary`) | empty temporary files |
//! | 4 | the bytes are written to the temporary files and flushed to the disk | incomplete or complete temporary files |
//! | 5 | for several files: the journal `.NAME.spiece-writing.tmp` is locked and names the temporary files (`set`) | old targets, a journal |
//! | 6 | the temporary files are renamed over their targets, the first target last | some new targets, a journal |
//! | 7 | the journal is removed | all new targets |
//!
//! The next run on the same targets repairs each of these: temporary files that no process locks
//! are removed (steps 3 and 4); a journal whose last line is missing is ignored (nothing was
//! renamed before it was complete); a complete journal is carried out to its end (steps 5 and 6).
//! The first target changes last: whoever waits for the `.model` finds the new `.vocab` beside it.
//!
//! Example: `spiece train --model_prefix=m` writes `m.model` and `m.vocab`. It is killed after
//! `m.vocab` was renamed. The directory then holds the old `m.model`, the new `m.vocab`, the
//! journal `.m.model.spiece-writing.tmp` and the temporary file of `m.model` that the journal
//! names. The next run renames that file to `m.model` before it starts to train.
//!
//! A pipe or a device cannot be replaced by a rename; the bytes are written to it directly.

mod error;
mod group;
mod set;
mod target;
mod temporary;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::path::PathBuf;

pub use self::error::WriteError;
pub use self::group::{OutputGroup, is_stream};
use self::target::Target;
use self::temporary::Temporary;

/// The content of an output file.
#[derive(Clone, Copy)]
pub enum FileContent<'c> {
    /// These bytes.
    Bytes(&'c [u8]),
    /// What the function writes, for content that need not fit in memory.
    Written(WriteContent<'c>),
}

/// Writes the content of a file.
pub type WriteContent<'c> = &'c dyn Fn(&mut (dyn Write + Send)) -> io::Result<()>;

impl FileContent<'_> {
    fn write_to(self, file: &mut File) -> io::Result<()> {
        match self {
            Self::Bytes(bytes) => file.write_all(bytes),
            Self::Written(write) => write(file),
        }
    }
}

/// Writes several files whose content is in memory; see [`write_contents`].
///
/// # Errors
/// The first file that could not be written. Its former content is unchanged.
pub fn write_files(files: &[(&Path, &[u8])]) -> Result<(), WriteError> {
    let contents = files
        .iter()
        .map(|(path, bytes)| (*path, FileContent::Bytes(bytes)));
    write_contents(&contents.collect::<Vec<_>>())
}

/// Writes several files that belong together: all are new or, if anything fails before the renames,
/// none is. Processes that write the same files at the same time take turns, so the files are those
/// of one process. If the process is killed between two renames, the next call for these files (or
/// [`check_writable`]) completes them.
///
/// # Errors
/// The first file that could not be written. Its former content is unchanged.
pub fn write_contents(files: &[(&Path, FileContent<'_>)]) -> Result<(), WriteError> {
    let targets = targets(files.iter().map(|(path, _)| *path))?;
    let temporaries = write_temporaries(files, &targets)?;
    write_streams(files, &targets)?;
    replace_targets(temporaries)
}

/// Writes the files that a rename replaces (steps 3 and 4 of the protocol); each with the name that
/// the caller gave it.
fn write_temporaries<'p>(
    files: &[(&'p Path, FileContent<'_>)],
    targets: &[Target],
) -> Result<Vec<(&'p Path, Temporary)>, WriteError> {
    let mut temporaries = Vec::new();
    for ((path, content), target) in files.iter().zip(targets) {
        if let Target::File(target) = target {
            let temporary = write_temporary(target, *content).map_err(failed(path))?;
            temporaries.push((*path, temporary));
        }
    }
    Ok(temporaries)
}

fn write_temporary(target: &Path, content: FileContent<'_>) -> io::Result<Temporary> {
    let mut temporary = Temporary::beside(target)?;
    content.write_to(temporary.file())?;
    temporary.file().sync_all()?;
    Ok(temporary)
}

/// Writes the contents that go to pipes and devices.
fn write_streams(files: &[(&Path, FileContent<'_>)], targets: &[Target]) -> Result<(), WriteError> {
    for ((path, content), target) in files.iter().zip(targets) {
        if let Target::Stream(target) = target {
            write_stream(target, *content).map_err(failed(path))?;
        }
    }
    Ok(())
}

fn write_stream(target: &Path, content: FileContent<'_>) -> io::Result<()> {
    content.write_to(&mut open_stream(target)?)
}

/// Renames temporary files to their targets; each stands with the name that the caller gave its
/// target.
fn replace_targets<P: AsRef<Path>>(files: Vec<(P, Temporary)>) -> Result<(), WriteError> {
    let (paths, set): (Vec<P>, Vec<Temporary>) = files.into_iter().unzip();
    set::replace_targets(set).map_err(|(position, source)| failed(paths[position].as_ref())(source))
}

/// Checks that the files of a later [`write_files`] can be written, so that a long run does not
/// fail at its end. Repairs what a killed run left; changes nothing else.
///
/// # Errors
/// The error that writing would give, except for a disk that becomes full in the meantime.
pub fn check_writable(paths: &[&Path]) -> Result<(), WriteError> {
    for (path, target) in paths.iter().zip(targets(paths.iter().copied())?) {
        if let Target::File(target) = target {
            Temporary::beside(&target).map_err(failed(path))?;
        }
    }
    Ok(())
}

/// The targets of `paths`, after repairing what a killed run left (steps 1 and 2 of the protocol).
fn targets<'p>(paths: impl Iterator<Item = &'p Path> + Clone) -> Result<Vec<Target>, WriteError> {
    let targets = paths.clone().map(target_of);
    let targets = targets.collect::<Result<Vec<Target>, WriteError>>()?;
    let files: Vec<&Path> = targets.iter().filter_map(Target::as_file).collect();
    let first = paths.into_iter().next().unwrap_or(Path::new(""));
    set::finish_interrupted(&files).map_err(failed(first))?;
    Ok(targets)
}

/// What `path` means as an output.
fn target_of(path: &Path) -> Result<Target, WriteError> {
    Target::of(path).map_err(failed(path))
}

fn open_stream(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(path)
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
            Target::Stream(path) => open_stream(path).map(Self::Stream),
        }
    }

    /// Flushes the temporary file to the disk and renames it.
    fn commit(self) -> io::Result<()> {
        let Self::File(mut temporary) = self else {
            return Ok(());
        };
        temporary.file().sync_all()?;
        temporary.replace_target()
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
        self.destination.commit().map_err(failed(&self.path))
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

#[cfg(test)]
mod tests {
    use std::fs;

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
}
