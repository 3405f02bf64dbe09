//! `spiece install-links`: links in the names of the programs of SentencePiece.
//!
//! The folder gets a link to the file of this program for each program of SentencePiece that a
//! subcommand replaces. Under these names the program behaves as the programs of SentencePiece; see
//! [`reference`](super::reference). First all names are checked, then all links are made, each in
//! one step, so that a name never lacks its file.
//!
//! On Unix the links are symbolic and hold the full path of the program. Elsewhere they are hard
//! links, or copies where the file system has no hard links or the folder is on another one; repeat
//! the command after an update of spiece there.
//!
//! ```text
//! $ spiece install-links /usr/local/bin
//! made /usr/local/bin/spm_train -> /opt/spiece/bin/spiece
//! made /usr/local/bin/spm_encode -> /opt/spiece/bin/spiece
//! ...
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::args;
use super::io::{CliError, CliResult, joined_names, read_file_at};
use super::reference::is_program_file;

/// What has the name of a link.
#[derive(Debug, PartialEq, Eq)]
enum Occupant {
    /// Nothing.
    Nothing,
    /// A link to spiece, or a copy of it.
    Link,
    /// The file of this program itself.
    Program,
    /// A folder.
    Folder,
    /// Another file.
    Other,
}

/// The command line: the folder, and whether other files are replaced.
pub(crate) fn command() -> Command {
    let folder = Arg::new("folder")
        .value_name("DIR")
        .help("The folder for the links")
        .required(true)
        .value_parser(clap::value_parser!(PathBuf));
    let force = Arg::new("force")
        .long("force")
        .help("Replace files that are no links to spiece")
        .action(ArgAction::SetTrue);
    let command = Command::new("install-links")
        .visible_alias("install_links")
        .about("Makes links named spm_train, spm_encode and so on, which behave as these programs")
        .long_about(
            "Makes links to this program named spm_train, spm_encode, spm_decode, spm_normalize, spm_export_vocab and \
             spm_eval. Called by such a name, the program behaves as that program of SentencePiece, with its \
             defaults.\n\nExample:\n  spiece install-links ~/bin",
        )
        .args([folder, force]);
    args::with_common_flags(command)
}

/// Makes all links, or none if a name is taken by a file that may not be replaced.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let folder: &PathBuf = matches
        .get_one("folder")
        .ok_or_else(|| CliError::usage("DIR is missing; it names the folder for the links"))?;
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(CliError::Error(format!(
            "{folder} is no folder; make it first"
        )));
    }
    // Without symbolic links.
    let program = std::env::current_exe().and_then(fs::canonicalize);
    let program = program.map_err(|error| {
        CliError::Error(format!(
            "cannot find the file of this program: {error}; call it by its full path"
        ))
    })?;
    let file_names = super::reference_programs().map(|program| program.file_name());
    let links: Vec<PathBuf> = file_names.map(|name| folder.join(name)).collect();
    check_names(&links, &program, matches.get_flag("force"))?;
    let messages = args::messages(matches)?;
    for link in &links {
        make_link(&program, folder, link)?;
        let line = format!("made {} -> {}", link.display(), program.display());
        messages.say(&line);
    }
    Ok(())
}

/// An error if a name is taken by something that may not be replaced.
fn check_names(links: &[PathBuf], program: &Path, force: bool) -> CliResult {
    let mut others = Vec::new();
    for link in links {
        match occupant(link, program)? {
            Occupant::Nothing | Occupant::Link => {}
            Occupant::Other => others.push(link.clone()),
            Occupant::Folder => return Err(refusal(link, "a folder")),
            Occupant::Program => return Err(refusal(link, "the file of this program")),
        }
    }
    if force || others.is_empty() {
        return Ok(());
    }
    let names = joined_names(&others);
    Err(CliError::Error(format!(
        "no link made: there are files that are no links to spiece: {names}; remove them, or replace them with --force"
    )))
}

/// The error for a name whose occupant is never replaced.
fn refusal(link: &Path, occupant: &str) -> CliError {
    CliError::Error(format!(
        "no link made: {} is {occupant}; choose another folder",
        link.display()
    ))
}

/// What has the name `link` now.
fn occupant(link: &Path, program: &Path) -> CliResult<Occupant> {
    let metadata = match fs::symlink_metadata(link) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Occupant::Nothing),
        Err(error) => return Err(CliError::read(link, &error)),
    };
    if metadata.is_dir() {
        return Ok(Occupant::Folder);
    }
    let is_link = if metadata.is_symlink() {
        // A file named `spiece` may be an older installation that is gone.
        let is_spiece = |target: PathBuf| is_program_file(&target, "spiece");
        is_same_file(link, program) || fs::read_link(link).is_ok_and(is_spiece)
    } else if is_same_file(link, program) {
        return Ok(Occupant::Program);
    } else {
        // A hard link to this program or a copy of it. Files of different sizes are not read.
        let size = |path: &Path| fs::metadata(path).map(|metadata| metadata.len()).ok();
        metadata.is_file()
            && size(link) == size(program)
            && read_file_at(link)? == read_file_at(program)?
    };
    Ok(if is_link {
        Occupant::Link
    } else {
        Occupant::Other
    })
}

/// Whether `path` leads to the file `program`.
fn is_same_file(path: &Path, program: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|file| file == program)
}

/// Makes the link under a temporary name and renames it, so that a former file is replaced in one
/// step.
fn make_link(program: &Path, folder: &Path, link: &Path) -> CliResult {
    let made = tempfile::Builder::new()
        .prefix(".spiece-link-")
        .make_in(folder, |temporary| new_link(program, temporary));
    let renamed = made.and_then(|temporary| {
        let persisted = temporary.into_temp_path().persist(link);
        persisted.map_err(|error| error.error)
    });
    renamed.map_err(|error| CliError::write(&link.display().to_string(), &error))
}

/// Makes a symbolic link.
#[cfg(unix)]
fn new_link(program: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, link)
}

/// Makes a hard link, or a copy where that fails. Symbolic links need a privilege on Windows.
#[cfg(not(unix))]
fn new_link(program: &Path, link: &Path) -> io::Result<()> {
    fs::hard_link(program, link).or_else(|_| fs::copy(program, link).map(drop))
}
