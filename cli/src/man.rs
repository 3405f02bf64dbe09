//! `spiece man`: the pages of the manual, one for the program and one for each subcommand.
//!
//! The pages say what `--help` says, and nothing else: they are made from the same command line.
//!
//! ```text
//! $ spiece man --output=man1
//! $ ls man1
//! spiece-compare.1  spiece-completions.1  ...  spiece.1
//! $ spiece man train | man -l -
//! ```

use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use spiece::output::write_files;

use super::args;
use super::io::{self, CliError, CliResult};

/// The argument for the subcommand.
const VERB: &str = "verb";

/// The command line: the subcommand, or the folder for all pages.
pub(crate) fn command() -> Command {
    let verb = Arg::new(VERB).value_name("COMMAND").help(
        "The subcommand whose page is written to standard output; without it, the page of spiece",
    );
    let command = Command::new("man")
        .about("Writes the pages of the manual")
        .long_about(
            "Writes the page of spiece or of a subcommand to standard output, or with --output all pages into a \
             folder.\n\nExamples:\n  spiece man train | man -l -\n  spiece man --output=/usr/local/share/man/man1",
        )
        .args([verb, args::folder("output", "Write all pages into this folder, which must exist: spiece.1, spiece-train.1, ...")]);
    args::with_common_flags(command)
}

/// Writes one page to standard output, or all pages into a folder.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let mut program = super::program().disable_help_subcommand(true);
    // Gives subcommands the names spiece-train and so on.
    program.build();
    let verb = args::given(matches, VERB);
    let Some(folder) = args::non_empty(matches, "output").map(Path::new) else {
        let command = match verb {
            None => &program,
            Some(name) => program.find_subcommand(name).ok_or_else(|| {
                CliError::Usage(format!(
                    "{name:?} is no subcommand; spiece --help lists them"
                ))
            })?,
        };
        return io::write_output(None, &page(command)?);
    };
    if verb.is_some() {
        return Err(CliError::usage(
            "--output is a folder for all pages; leave it or COMMAND out",
        ));
    }
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(CliError::Error(format!(
            "{folder} is no folder; make it first"
        )));
    }
    let commands = std::iter::once(&program).chain(program.get_subcommands());
    let pages = commands.map(|command| Ok((folder.join(file_name(command)), page(command)?)));
    let pages = pages.collect::<CliResult<Vec<(PathBuf, Vec<u8>)>>>()?;
    let pages = pages.iter().map(|(path, page)| (&**path, &**page));
    Ok(write_files(&pages.collect::<Vec<_>>())?)
}

/// The name of the file of a page: that of the subcommand after that of the program.
fn file_name(command: &Command) -> String {
    let name = command.get_display_name();
    format!("{}.1", name.unwrap_or(command.get_name()))
}

/// The page of a command, in the language of troff.
///
/// The sections of clap_mangen, but for two: its synopsis lists every flag, and its description
/// fills the lines of the examples, which could not be typed then.
fn page(command: &Command) -> CliResult<Vec<u8>> {
    let man = Man::new(command.clone())
        .source(concat!("spiece ", env!("CARGO_PKG_VERSION")))
        .manual("User Commands");
    let usage = command.clone().render_usage().to_string();
    let about = command.get_long_about().or_else(|| command.get_about());
    let texts = [about, command.get_after_help()];
    let texts: Vec<String> = texts
        .into_iter()
        .flatten()
        .map(ToString::to_string)
        .collect();
    let mut middle = Roff::new();
    middle.control("SH", ["SYNOPSIS"]);
    middle.text([roman(usage.trim_start_matches("Usage: "))]);
    middle.control("SH", ["DESCRIPTION"]);
    add_paragraphs(&texts.join("\n\n"), &mut middle);

    let mut page = Vec::new();
    let rendered = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| middle.to_writer(&mut page))
        .and_then(|()| man.render_options_section(&mut page))
        .and_then(|()| match command.has_subcommands() {
            true => man.render_subcommands_section(&mut page),
            false => Ok(()),
        });
    // Memory takes everything.
    rendered.map_err(CliError::standard_output)?;
    // Headings are in capitals, and no flag is.
    let mut text = String::from_utf8_lossy(&page).into_owned();
    for heading in command.get_arguments().filter_map(Arg::get_help_heading) {
        text = text.replace(&heading.to_uppercase(), heading);
    }
    Ok(text.into_bytes())
}

/// Appends paragraphs; lines that begin with a space stay lines.
fn add_paragraphs(text: &str, page: &mut Roff) {
    for line in text.lines() {
        if line.is_empty() {
            page.control("PP", []);
        } else if line.starts_with(' ') {
            page.control("nf", []);
            page.text([roman(line)]);
            page.control("fi", []);
        } else {
            page.text([roman(line)]);
        }
    }
}
