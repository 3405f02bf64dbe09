//! Temporary files that the next run removes if their owner was killed.
//!
//! Job: steps 3 and 4 of the [protocol](super). A temporary file stands beside its target as
//! `.NAME.spiece-XXXXXX.tmp` and is locked (an advisory lock, as of `flock`) while its owner works
//! on it. The operating system releases the lock when the owner ends, however it ends. So a
//! temporary file without a lock has no owner, and the next process that writes to the target
//! removes it.
//!
//! Two races are excluded: a file is removed only under its lock, and an owner uses a file only if
//! the file still has its name after it was locked (otherwise another process removed it between
//! creation and lock, and a new file is made).
//!
//! On a file system without locks no file counts as abandoned, and temporary files of killed runs
//! stay until a person removes them. On a network file system whose locks other machines do not
//! see, another machine may remove a file that is in use: its owner then fails with an error, and
//! the target is unchanged.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::target::folder_of;

/// The part of the name between the name of the target and the token.
const MARK: &str = ".spiece-";
const ENDING: &str = ".tmp";
/// Characters of a token, the random part of the name.
const TOKEN_LENGTH: usize = 6;
/// Bytes that are taken from the name of the target: a file name has room for 255.
const NAME_LIMIT: usize = 200;
/// How many files are made, at most, if other processes remove them before they are locked.
const ATTEMPTS: usize = 100;

/// A file that will replace its target. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Temporary {
    file: NamedTempFile,
    target: PathBuf,
}

impl Temporary {
    /// An empty file beside `target`, with the permissions of the target or, if there is none, of a
    /// new file. Removes what killed runs left beside it. Cost: the folder is read once.
    pub(super) fn beside(target: &Path) -> io::Result<Self> {
        remove_abandoned(target);
        let file = locked_file(target)?;
        copy_permissions(target, file.as_file())?;
        Ok(Self {
            file,
            target: target.to_owned(),
        })
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    pub(super) fn target(&self) -> &Path {
        &self.target
    }

    /// The random part of the name.
    pub(super) fn token(&self) -> Option<String> {
        let name = self.file.path().file_name()?.to_str()?;
        token_in(name).map(str::to_owned)
    }

    /// Renames the file to the target.
    pub(super) fn replace_target(self) -> io::Result<()> {
        self.file
            .persist(&self.target)
            .map(drop)
            .map_err(|error| error.error)
    }
}

/// The random part of a temporary file's name.
fn token_in(name: &str) -> Option<&str> {
    let name = name.strip_suffix(ENDING)?;
    name.get(name.len() - TOKEN_LENGTH..)
}

/// Makes and locks a file.
fn locked_file(target: &Path) -> io::Result<NamedTempFile> {
    let prefix = prefix(target)?;
    let builder = file_builder(&prefix);
    for _ in 0..ATTEMPTS {
        let file = builder.tempfile_in(folder_of(target))?;
        if lock(file.as_file(), file.path()) {
            return Ok(file);
        }
    }
    Err(io::Error::other(
        "another process removes its temporary files as soon as they are made; end that process",
    ))
}

/// Makes temporary files whose names begin with `prefix`, with the permissions of new files.
fn file_builder(prefix: &str) -> tempfile::Builder<'_, 'static> {
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(prefix)
        .suffix(ENDING)
        .rand_bytes(TOKEN_LENGTH);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder
}

/// Locks a new file; false if another process has locked or removed it.
fn lock(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => stands_at(file, path),
        Err(TryLockError::WouldBlock) => false,
        // On a file system without locks, no other process has one either.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Gives `file` the permissions of the target, if there is a target.
fn copy_permissions(target: &Path, file: &File) -> io::Result<()> {
    match fs::metadata(target) {
        Ok(metadata) => file.set_permissions(metadata.permissions()),
        Err(_) => Ok(()),
    }
}

/// The beginning of the names of a target's temporary files.
fn prefix(target: &Path) -> io::Result<String> {
    let name = name_of(target)?;
    Ok(format!(".{}{MARK}", shortened(&name)))
}

/// The name of a file, without its folder.
fn name_of(path: &Path) -> io::Result<Cow<'_, str>> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    Ok(name.to_string_lossy())
}

/// The first [`NAME_LIMIT`] bytes of a name, without an incomplete character at the end.
fn shortened(name: &str) -> &str {
    let mut ends = (0..=NAME_LIMIT).rev();
    let end = ends.find(|end| name.is_char_boundary(*end));
    &name[..end.unwrap_or(0)]
}

/// The path of a file beside `target` that belongs to it and has `token` in its name.
pub(super) fn path_with(target: &Path, token: &str) -> io::Result<PathBuf> {
    Ok(folder_of(target).join(format!("{}{token}{ENDING}", prefix(target)?)))
}

/// Whether a temporary file's name can have `token` in it.
pub(super) fn is_token(token: &str) -> bool {
    token.len() == TOKEN_LENGTH && token.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Removes the temporary files of `target` that no process has locked. Failures are ignored.
fn remove_abandoned(target: &Path) {
    let (Ok(prefix), Ok(entries)) = (prefix(target), fs::read_dir(folder_of(target))) else {
        return;
    };
    for entry in entries.flatten() {
        if is_temporary(&entry.file_name(), &prefix) {
            // A file that cannot be removed does no harm.
            let _ = remove_if_abandoned(&entry.path());
        }
    }
}

/// Whether a file with this name is a temporary file of the target with this prefix.
fn is_temporary(name: &OsStr, prefix: &str) -> bool {
    let token = name.to_str().and_then(|name| token_after(prefix, name));
    token.is_some_and(is_token)
}

/// The part of a name between `prefix` and [`ENDING`].
fn token_after<'n>(prefix: &str, name: &'n str) -> Option<&'n str> {
    name.strip_prefix(prefix)?.strip_suffix(ENDING)
}

fn remove_if_abandoned(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Ok(());
    }
    // Some network file systems lock only what is open for writing.
    let file = OpenOptions::new().write(true).open(path)?;
    if file.try_lock().is_ok() && stands_at(&file, path) {
        fs::remove_file(path)?;
    }
    Ok(())
}

/// Whether `path` is the name of `file`, and not of another one or none.
#[cfg(unix)]
pub(super) fn stands_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(file), Ok(path)) => identity(file) == identity(path),
        _ => false,
    }
}

/// Whether `path` is the name of a file, which on these systems cannot be another one while it is
/// open.
#[cfg(not(unix))]
pub(super) fn stands_at(_file: &File, path: &Path) -> bool {
    path.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_temporary_files_without_a_lock_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("m.model");
        let abandoned = path_with(&target, "aB3dE6").unwrap();
        let others = [
            ".m.model.spiece-aB3dE67.tmp",
            ".m.model.spiece-aB3d_6.tmp",
            ".m.model.spiece-aB3dE6",
            ".n.model.spiece-aB3dE6.tmp",
            "m.model.spiece-aB3dE6.tmp",
        ];
        for other in others {
            fs::write(folder.path().join(other), "").unwrap();
        }
        let first = Temporary::beside(&target).unwrap();
        fs::write(&abandoned, "half of a mod").unwrap();
        let second = Temporary::beside(&target).unwrap();
        assert!(!abandoned.exists());
        let name = |file: &Temporary| format!(".m.model.spiece-{}.tmp", file.token().unwrap());
        let mut expected = [
            others.map(str::to_owned).to_vec(),
            vec![name(&first), name(&second)],
        ]
        .concat();
        expected.sort();
        assert_eq!(names_in(folder.path()), expected);
        drop((first, second));
        assert_eq!(names_in(folder.path()).len(), others.len());
    }

    #[test]
    fn concurrent_writers_do_not_remove_files_of_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("m.model");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let file = Temporary::beside(&target).unwrap();
                        assert!(stands_at(file.file.as_file(), file.file.path()));
                        file.replace_target().unwrap();
                    }
                });
            }
        });
        assert_eq!(names_in(folder.path()), ["m.model"]);
    }

    #[test]
    fn names_of_any_length_have_temporary_files() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["x".repeat(255), "\u{e9}".repeat(127)] {
            let target = folder.path().join(name);
            Temporary::beside(&target)
                .unwrap()
                .replace_target()
                .unwrap();
            assert!(target.exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn permissions_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("m.model");
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        Temporary::beside(&target)
            .unwrap()
            .replace_target()
            .unwrap();
        assert_eq!(mode(&target) & 0o111, 0);
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        Temporary::beside(&target)
            .unwrap()
            .replace_target()
            .unwrap();
        assert_eq!(mode(&target), 0o640);
    }
}
