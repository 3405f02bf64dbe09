//! A temporary file that replaces its target by a rename.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::target::folder_of;

/// Bytes that are taken from the name of the target: a file name has room for 255.
const NAME_LIMIT: usize = 200;

/// A file that will replace its target. Dropping it removes it.
#[derive(Debug)]
pub(super) struct Temporary {
    file: NamedTempFile,
    target: PathBuf,
}

impl Temporary {
    /// An empty file beside `target`, `.NAME.spiece-XXXXXX.tmp`, with the permissions of the target
    /// or, if there is none, of a new file.
    pub(super) fn beside(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let name = name.to_string_lossy();
        let end = (0..=NAME_LIMIT)
            .rev()
            .find(|end| name.is_char_boundary(*end));
        let prefix = format!(".{}.spiece-", &name[..end.unwrap_or(0)]);
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder_of(target))?;
        if let Ok(metadata) = fs::metadata(target) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        Ok(Self {
            file,
            target: target.to_owned(),
        })
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// Renames the file, which was flushed to the disk, to the target.
    pub(super) fn replace_target(self) -> io::Result<()> {
        let renamed = self.file.persist(&self.target);
        renamed.map(drop).map_err(|error| error.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
