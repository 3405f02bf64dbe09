//! `spiece export-vocab`: the pieces of a model as text, with the flags of `spm_export_vocab`.
//!
//! Input: a model. Output: one line for each piece, in the order of the ids: the piece, a tab, and
//! its score (`vocab`) or its id (`syms`). Cost: one pass over the pieces. The output is built in
//! memory, so that the file is replaced as a whole.
//!
//! ```text
//! $ spiece export-vocab --model=testdata/golden/llama2.model --output_format=syms | head -n 3
//! <unk>    0
//! <s>    1
//! </s>    2
//! ```

use std::io::Write;

use clap::{ArgMatches, Command};
use spiece::{Model, Piece};

use super::args;
use super::io::{self, CliResult};
use super::model_files::warn_of_broken_vocab;

/// The command line: model, output file and format.
pub(crate) fn command() -> Command {
    let command = Command::new("export-vocab")
        .visible_alias("export_vocab")
        .about("Writes the pieces of a model, one a line")
        .long_about(
            "Writes the pieces of a model, one a line.\n\nExample:\n  spiece export-vocab --model=my.model \
             --output=my.vocab",
        )
        .args([
            args::model_flag(),
            args::output_flag(),
            args::value("output_format", "vocab (pieces and scores) or syms (pieces and ids)").default_value("vocab"),
        ]);
    args::with_common_flags(command)
}

/// Writes the pieces of the model in the format of `--output_format`.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let export = export_function(matches)?;
    let model = args::model(matches)?;
    warn_of_broken_vocab(&args::messages(matches)?, &model);
    let text = export(&model);
    io::write_output(args::output_file(matches), &text)
}

/// The function for the value of `--output_format`.
fn export_function(matches: &ArgMatches) -> CliResult<fn(&Model) -> Vec<u8>> {
    match args::text(matches, "output_format") {
        "vocab" => Ok(|model| model.to_vocab(true)),
        "syms" => Ok(symbols),
        other => Err(args::invalid("output_format", other, "vocab or syms")),
    }
}

/// The lines of the format `syms`.
fn symbols(model: &Model) -> Vec<u8> {
    let mut lines = Vec::new();
    for piece in model.pieces() {
        push_symbol(&piece, &mut lines);
    }
    lines
}

/// Appends the line of a piece.
fn push_symbol(piece: &Piece<'_>, lines: &mut Vec<u8>) {
    lines.extend_from_slice(piece.text);
    // Writing to memory does not fail.
    let _ = writeln!(lines, "\t{}", piece.id);
}
