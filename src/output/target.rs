//! What the path of an output means: a file that is replaced by a rename, or a stream that is
//! written to.
//!
//! A symbolic link is followed and stays; if it leads to nothing, the file is made where it leads.
//! A pipe or a device (`/dev/stdout`, `/dev/null`) is a stream. A file without write permission is
//! an error even if its directory would allow a rename: people protect a model by taking the
//! permission away.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// The longest chain of symbolic links; a longer one counts as a cycle.
const MAX_LINKS: usize = 40;

/// Where an output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    /// A regular file, which need not exist.
    File(PathBuf),
    /// A pipe or a device.
    Stream(PathBuf),
}

impl Target {
    /// What `path` means.
    ///
    /// # Errors
    /// It is a directory, or a file without write permission, or the file system refuses to say.
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        match fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
            Ok(metadata) if metadata.is_file() => writable(path).map(Self::File),
            Ok(_) => Ok(Self::Stream(path.to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                end_of_links(path).map(Self::File)
            }
            Err(error) => Err(error),
        }
    }
}

/// The path of an existing file after following links, if the file can be written.
fn writable(path: &Path) -> io::Result<PathBuf> {
    // This changes nothing in the file.
    OpenOptions::new().write(true).open(path)?;
    followed(path)
}

/// The path of an existing file after following links. A path without a link at its end stays as it
/// is.
fn followed(path: &Path) -> io::Result<PathBuf> {
    if fs::symlink_metadata(path)?.is_symlink() {
        return fs::canonicalize(path);
    }
    Ok(path.to_owned())
}

/// The path at the end of a chain of links that leads to no file.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = folder_of(&path).join(next);
    }
    Err(io::Error::other(
        "its symbolic links form a cycle; remove one of them",
    ))
}

/// The folder of a file.
pub(super) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(
            Target::of(folder.path()).unwrap_err().kind(),
            io::ErrorKind::IsADirectory
        );
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_their_end() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        symlink("b", path("a")).unwrap();
        symlink("c", path("b")).unwrap();
        assert_eq!(
            Target::of(&path("a")).unwrap(),
            Target::File(path("c")),
            "nothing is there yet"
        );
        fs::write(path("c"), "").unwrap();
        assert_eq!(
            Target::of(&path("a")).unwrap(),
            Target::File(fs::canonicalize(path("c")).unwrap())
        );
        symlink("e", path("d")).unwrap();
        symlink("d", path("e")).unwrap();
        assert!(Target::of(&path("d")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn devices_are_streams() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/null", &link).unwrap();
        for path in [Path::new("/dev/null"), &link] {
            assert_eq!(Target::of(path).unwrap(), Target::Stream(path.to_owned()));
        }
    }
}
