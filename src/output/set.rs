//! Several files that belong together, such as a `.model` and its `.vocab`.
//!
//! A rename replaces one file at once, but no system replaces two. So a set is put into its places under a lock
//! on its first target, one process at a time, and what is about to happen is written down first, in the file
//! that is locked: `.NAME.spiece-writing.tmp`, with the tokens of the temporary files, which are complete by
//! then. A process that is killed between two renames leaves that record, and whoever next writes to the first
//! target finishes the work before anything else. The first file takes its place last: whoever waits for it
//! finds the others there.
//!
//! Where the file system has no locks, files are put into their places without one.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::temporary::{Temporary, is_token, path_with, stands_at};

/// What stands in the record's name for a token; it is not one.
const RECORD: &str = "writing";
/// The record's last line; a record without it was not finished, and nothing was moved yet.
const END: &str = "end";
/// A lock is held for some renames. Whoever cannot have it for so long is told.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(2);

/// Puts the files of `set` into their places, the first one last.
///
/// # Errors
/// The target that could not be replaced. Those before it in the set are as they were.
pub(super) fn replace_targets(set: Vec<Temporary>) -> Result<(), (PathBuf, io::Error)> {
    let targets: Vec<PathBuf> = set.iter().map(|file| file.target().to_owned()).collect();
    let _record = match &targets[..] {
        [first, _, ..] => announce(&set, &targets).map_err(|error| (first.clone(), error))?,
        _ => None,
    };
    let mut pairs = set.into_iter().zip(targets).rev();
    pairs.try_for_each(|(file, target)| file.replace_target().map_err(|error| (target, error)))
}

/// Takes the lock on `targets` and notes what is about to be done to them, after what a killed run noted.
fn announce(set: &[Temporary], targets: &[PathBuf]) -> io::Result<Option<Record>> {
    let tokens: Option<Vec<String>> = set.iter().map(Temporary::token).collect();
    let (Some(first), Some(tokens)) = (targets.first(), tokens) else {
        return Ok(None);
    };
    let Some(mut record) = Record::lock(first)? else {
        return Ok(None);
    };
    record.finish_interrupted(targets)?;
    record.write(&tokens)?;
    Ok(Some(record))
}

/// Finishes what a killed run had begun to do to these targets.
///
/// # Errors
/// The file system refuses.
pub(super) fn finish_interrupted(targets: &[&Path]) -> io::Result<()> {
    let [first, _, ..] = targets else {
        return Ok(());
    };
    if fs::symlink_metadata(path_with(first, RECORD)?).is_err() {
        return Ok(());
    }
    match Record::lock(first)? {
        Some(mut record) => record.finish_interrupted(targets),
        None => Ok(()),
    }
}

/// The record of what is about to be done to a set of files, locked. Dropping it removes it.
#[derive(Debug)]
struct Record {
    path: PathBuf,
    file: File,
}

impl Drop for Record {
    fn drop(&mut self) {
        // A record that stays is finished, and then removed, by the next run.
        let _ = fs::remove_file(&self.path);
    }
}

impl Record {
    /// The record beside `target`, once nobody else has it; `None` if there are no locks.
    fn lock(target: &Path) -> io::Result<Option<Record>> {
        let path = path_with(target, RECORD)?;
        let started = Instant::now();
        while started.elapsed() < PATIENCE {
            let Some(file) = open(&path)? else { continue };
            match file.try_lock() {
                Ok(()) if stands_at(&file, &path) => return Ok(Some(Record { path, file })),
                // Whoever had it before has removed it; another one has to be made.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
                Err(TryLockError::Error(_)) => {
                    let _ = fs::remove_file(&path);
                    return Ok(None);
                }
            }
        }
        let problem = format!(
            "another process has been holding {} for long",
            path.display()
        );
        Err(io::Error::new(io::ErrorKind::WouldBlock, problem))
    }

    /// Moves the files that the record names into their places. The first one is moved last: if it is not
    /// there any more, nothing is left to do.
    fn finish_interrupted(&mut self, targets: &[impl AsRef<Path>]) -> io::Result<()> {
        let mut text = String::new();
        // What is not text is no record of ours.
        let tokens = self
            .file
            .read_to_string(&mut text)
            .ok()
            .and_then(|_| tokens_of(&text, targets.len()));
        let pairs = targets.iter().zip(tokens.unwrap_or_default());
        let paths: io::Result<Vec<PathBuf>> = pairs
            .map(|(target, token)| path_with(target.as_ref(), token))
            .collect();
        let (paths, is_file) = (paths?, |path: &PathBuf| {
            fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
        });
        if paths.first().is_some_and(is_file) {
            let left = paths
                .iter()
                .zip(targets)
                .rev()
                .filter(|(path, _)| is_file(path));
            left.into_iter()
                .try_for_each(|(path, target)| fs::rename(path, target))?;
        }
        Ok(())
    }

    /// Notes what is about to be done.
    fn write(&mut self, tokens: &[String]) -> io::Result<()> {
        use std::io::Seek;
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file
            .write_all(format!("{}\n{END}\n", tokens.join("\n")).as_bytes())?;
        self.file.sync_all()
    }
}

/// Opens a record, or makes an empty one; `None` if it was there and is not any more.
fn open(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result.map(Some),
    }
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other(format!(
            "{} is no file; remove it",
            path.display()
        )));
    }
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

/// The tokens in a record of `count` files, if it is one and complete.
fn tokens_of(text: &str, count: usize) -> Option<Vec<&str>> {
    let tokens: Vec<&str> = text
        .strip_suffix('\n')?
        .strip_suffix(END)?
        .lines()
        .collect();
    (tokens.len() == count && tokens.iter().all(|token| is_token(token))).then_some(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Folder {
            let folder = Folder(tempfile::tempdir().unwrap());
            fs::write(folder.path("m.model"), "old model").unwrap();
            fs::write(folder.path("m.vocab"), "old vocab").unwrap();
            folder
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn targets(&self) -> [PathBuf; 2] {
            [self.path("m.model"), self.path("m.vocab")]
        }

        /// What a run leaves that is killed before any file is in its place.
        fn interrupt(&self, record: &str) {
            fs::write(self.path(".m.model.spiece-aaaaaa.tmp"), "new model").unwrap();
            fs::write(self.path(".m.vocab.spiece-bbbbbb.tmp"), "new vocab").unwrap();
            fs::write(self.path(".m.model.spiece-writing.tmp"), record).unwrap();
        }

        fn finish(&self) {
            let targets = self.targets();
            finish_interrupted(&[&targets[0], &targets[1]]).unwrap();
        }

        fn contents(&self) -> [String; 2] {
            self.targets().map(|path| fs::read_to_string(path).unwrap())
        }

        fn files(&self) -> usize {
            fs::read_dir(self.0.path()).unwrap().count()
        }
    }

    const COMPLETE: &str = "aaaaaa\nbbbbbb\nend\n";

    #[test]
    fn what_was_begun_is_finished() {
        let folder = Folder::new();
        folder.interrupt(COMPLETE);
        folder.finish();
        assert_eq!(folder.contents(), ["new model", "new vocab"]);
        assert_eq!(folder.files(), 2);

        let folder = Folder::new();
        folder.interrupt(COMPLETE);
        fs::rename(
            folder.path(".m.vocab.spiece-bbbbbb.tmp"),
            folder.path("m.vocab"),
        )
        .unwrap();
        folder.finish();
        assert_eq!(folder.contents(), ["new model", "new vocab"]);
    }

    #[test]
    fn what_was_not_begun_is_forgotten() {
        let strange = [
            "",
            "aaaaaa\nbbbbbb\n",
            "aaaaaa\nbbbbbb\nen",
            "aaaaaa\nend\n",
            "aaaaaa\n../../x\nend\n",
            "\u{0}",
        ];
        for record in strange {
            let folder = Folder::new();
            folder.interrupt(record);
            folder.finish();
            assert_eq!(folder.contents(), ["old model", "old vocab"], "{record:?}");
            assert_eq!(folder.files(), 4, "{record:?}");
        }
    }

    #[test]
    fn what_somebody_has_cleared_away_is_not_missed() {
        let folder = Folder::new();
        folder.interrupt(COMPLETE);
        fs::remove_file(folder.path(".m.model.spiece-aaaaaa.tmp")).unwrap();
        folder.finish();
        assert_eq!(folder.contents(), ["old model", "old vocab"]);
        let folder = Folder::new();
        folder.interrupt(COMPLETE);
        finish_interrupted(&[&folder.path("m.model")]).unwrap();
        assert_eq!(
            (folder.contents(), folder.files()),
            (["old model", "old vocab"].map(str::to_owned), 5)
        );
    }

    #[test]
    fn a_record_that_is_no_file_is_refused() {
        let folder = Folder::new();
        fs::create_dir(folder.path(".m.model.spiece-writing.tmp")).unwrap();
        let targets = folder.targets();
        assert!(finish_interrupted(&[&targets[0], &targets[1]]).is_err());
    }

    #[test]
    fn sets_that_are_written_at_once_do_not_mix() {
        let folder = Folder::new();
        let targets = folder.targets();
        std::thread::scope(|scope| {
            for writer in 0..6 {
                let targets = &targets;
                scope.spawn(move || {
                    for round in 0..30 {
                        let set = targets.each_ref().map(|target| {
                            let mut file = Temporary::beside(target).unwrap();
                            write!(file.file(), "{writer} {round}").unwrap();
                            file
                        });
                        replace_targets(set.into()).unwrap();
                    }
                });
            }
            for _ in 0..100 {
                let Some(record) = Record::lock(&targets[0]).unwrap() else {
                    return;
                };
                let [model, vocab] = folder.contents();
                assert!(model == vocab || model == "old model");
                drop(record);
            }
        });
        let [model, vocab] = folder.contents();
        assert_eq!(model, vocab);
        assert_eq!(folder.files(), 2);
    }
}
