//! Several files that belong together, such as a `.model` and its `.vocab`.
//!
//! Job: steps 5 to 7 of the [protocol](super). A rename replaces one file atomically, but no system
//! call replaces two. So the renames of a set happen under a lock on a journal beside the first
//! target, `.NAME.spiece-writing.tmp`. The journal has one line for each temporary file (the token
//! in its name) and a last line `end`; it is complete before the first rename. A process that is
//! killed between two renames leaves the journal, and the next process that writes the same set of
//! targets carries out the remaining renames.
//!
//! The first target is renamed last. Hence, if its temporary file is gone, all renames are done.
//!
//! On a file system without locks the files are renamed without a journal.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::temporary::{Temporary, is_token, path_with, stands_at};

/// The part of the journal's name where temporary files have a token; it is too long for a token.
const JOURNAL: &str = "writing";
/// The journal's last line; if it is missing, no file was renamed yet.
const END: &str = "end";
/// How long to wait for the lock before failing. The lock is held only for a few renames.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(2);

/// Renames the files of `set` to their targets, the first one last.
///
/// # Errors
/// The position in the set of the file that could not replace its target. The targets before it are
/// as they were.
pub(super) fn replace_targets(set: Vec<Temporary>) -> Result<(), (usize, io::Error)> {
    let _journal = match &set[..] {
        [_, _, ..] => announce(&set).map_err(|error| (0, error))?,
        _ => None,
    };
    let mut files = set.into_iter().enumerate().rev();
    files.try_for_each(|(position, file)| file.replace_target().map_err(|error| (position, error)))
}

/// Locks the journal of `set`, carries out what a killed run left in it, and writes the renames of
/// `set` to it.
fn announce(set: &[Temporary]) -> io::Result<Option<Journal>> {
    let targets: Vec<&Path> = set.iter().map(Temporary::target).collect();
    let tokens: Option<Vec<String>> = set.iter().map(Temporary::token).collect();
    let (Some(first), Some(tokens)) = (targets.first(), tokens) else {
        return Ok(None);
    };
    let Some(mut journal) = Journal::lock(first)? else {
        return Ok(None);
    };
    journal.finish_interrupted(&targets)?;
    journal.write(&tokens)?;
    Ok(Some(journal))
}

/// Carries out the renames that a killed run left in the journal of these targets.
///
/// # Errors
/// The file system refuses.
pub(super) fn finish_interrupted(targets: &[&Path]) -> io::Result<()> {
    let [first, _, ..] = targets else {
        return Ok(());
    };
    if fs::symlink_metadata(path_with(first, JOURNAL)?).is_err() {
        return Ok(());
    }
    match Journal::lock(first)? {
        Some(mut journal) => journal.finish_interrupted(targets),
        None => Ok(()),
    }
}

/// The locked journal of a set of files. Dropping it removes the file.
#[derive(Debug)]
struct Journal {
    path: PathBuf,
    file: File,
}

impl Drop for Journal {
    fn drop(&mut self) {
        // A journal that cannot be removed is removed by the next run.
        let _ = fs::remove_file(&self.path);
    }
}

impl Journal {
    /// The journal beside `target`, as soon as no other process holds it; `None` if the file system
    /// has no locks.
    fn lock(target: &Path) -> io::Result<Option<Self>> {
        let path = path_with(target, JOURNAL)?;
        let started = Instant::now();
        while started.elapsed() < LOCK_TIMEOUT {
            let Some(file) = open(&path)? else { continue };
            match file.try_lock() {
                Ok(()) if stands_at(&file, &path) => return Ok(Some(Self { path, file })),
                // The process that held it has removed it, so make another one.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_RETRY_INTERVAL),
                Err(TryLockError::Error(_)) => {
                    let _ = fs::remove_file(&path);
                    return Ok(None);
                }
            }
        }
        Err(lock_timeout(&path))
    }

    /// Renames the files that the journal names. The first one is renamed last: if it is gone, all
    /// renames are done.
    fn finish_interrupted(&mut self, targets: &[impl AsRef<Path>]) -> io::Result<()> {
        let temporaries = self.temporaries(targets)?;
        if !temporaries.first().is_some_and(|path| is_file(path)) {
            return Ok(());
        }
        let pairs = temporaries.iter().zip(targets).rev();
        pairs
            .filter(|(path, _)| is_file(path))
            .try_for_each(|(path, target)| fs::rename(path, target))
    }

    /// The temporary files that the journal names; none if it is incomplete.
    fn temporaries(&mut self, targets: &[impl AsRef<Path>]) -> io::Result<Vec<PathBuf>> {
        let text = self.text();
        let tokens = tokens_of(&text, targets.len()).unwrap_or_default();
        let pairs = targets.iter().zip(tokens);
        pairs
            .map(|(target, token)| path_with(target.as_ref(), token))
            .collect()
    }

    /// The content of the file; empty if it is not UTF-8, because such a file is not a journal.
    fn text(&mut self) -> String {
        let mut text = String::new();
        match self.file.read_to_string(&mut text) {
            Ok(_) => text,
            Err(_) => String::new(),
        }
    }

    /// Writes the renames that follow.
    fn write(&mut self, tokens: &[String]) -> io::Result<()> {
        self.clear()?;
        self.file.write_all(journal_text(tokens).as_bytes())?;
        self.file.sync_all()
    }

    /// Removes the content of the file.
    fn clear(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()
    }
}

/// The error if another process holds the lock for too long.
fn lock_timeout(path: &Path) -> io::Error {
    let path = path.display();
    let problem = format!(
        "another process has held the lock on {path} for 20 seconds; wait for it or end it"
    );
    io::Error::new(io::ErrorKind::WouldBlock, problem)
}

/// Whether `path` is a regular file.
fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Opens a journal, or makes an empty one; `None` if it was there and is not any more.
fn open(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result.map(Some),
    }
    check_is_file(path)?;
    if_found(options.open(path))
}

/// Checks that `path` leads to a regular file or to nothing any more.
fn check_is_file(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(io::Error::other(format!(
            "{} is no file; remove it",
            path.display()
        )));
    }
    Ok(())
}

/// The opened file; `None` if there was none.
fn if_found(opened: io::Result<File>) -> io::Result<Option<File>> {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

/// The tokens in a journal of `count` files, if it is one and complete.
fn tokens_of(text: &str, count: usize) -> Option<Vec<&str>> {
    let tokens = lines_before_end(text)?;
    are_tokens(&tokens, count).then_some(tokens)
}

/// The lines before the last one, if that is [`END`].
fn lines_before_end(text: &str) -> Option<Vec<&str>> {
    let body = text.strip_suffix('\n')?.strip_suffix(END)?;
    Some(body.lines().collect())
}

/// Whether the lines are `count` tokens.
fn are_tokens(lines: &[&str], count: usize) -> bool {
    lines.len() == count && lines.iter().all(|line| is_token(line))
}

/// The content of the journal of files with these tokens.
fn journal_text(tokens: &[String]) -> String {
    format!("{}\n{END}\n", tokens.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(tempfile::TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = Self(tempfile::tempdir().unwrap());
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
        fn interrupt(&self, journal: &str) {
            fs::write(self.path(".m.model.spiece-aaaaaa.tmp"), "new model").unwrap();
            fs::write(self.path(".m.vocab.spiece-bbbbbb.tmp"), "new vocab").unwrap();
            fs::write(self.path(".m.model.spiece-writing.tmp"), journal).unwrap();
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
    fn a_complete_journal_is_carried_out_by_the_next_run() {
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
    fn an_incomplete_journal_is_ignored_and_removed() {
        let strange = [
            "",
            "aaaaaa\nbbbbbb\n",
            "aaaaaa\nbbbbbb\nen",
            "aaaaaa\nend\n",
            "aaaaaa\n../../x\nend\n",
            "\u{0}",
        ];
        for journal in strange {
            let folder = Folder::new();
            folder.interrupt(journal);
            folder.finish();
            assert_eq!(folder.contents(), ["old model", "old vocab"], "{journal:?}");
            assert_eq!(folder.files(), 4, "{journal:?}");
        }
    }

    #[test]
    fn a_journal_whose_files_are_gone_is_removed() {
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
    fn a_journal_that_is_a_directory_is_an_error() {
        let folder = Folder::new();
        fs::create_dir(folder.path(".m.model.spiece-writing.tmp")).unwrap();
        let targets = folder.targets();
        assert!(finish_interrupted(&[&targets[0], &targets[1]]).is_err());
    }

    #[test]
    fn sets_that_are_written_at_the_same_time_do_not_mix() {
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
                let Some(journal) = Journal::lock(&targets[0]).unwrap() else {
                    return;
                };
                let [model, vocab] = folder.contents();
                assert!(model == vocab || model == "old model");
                drop(journal);
            }
        });
        let [model, vocab] = folder.contents();
        assert_eq!(model, vocab);
        assert_eq!(folder.files(), 2);
    }
}
