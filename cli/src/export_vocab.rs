//! `spiece export-vocab`: the pieces of a model as text, with the flags of `spm_export_vocab`.
//!
//! Each line has a piece, in the order of the ids, a tab, and its score (`vocab`) or its id
//! (`syms`). Pieces without scores stand alone.
//!
//! ```text
//! $ spiece export-vocab --model=testdata/golden/llama2.model --output_format=syms | head -n 3
//! <unk>    0
//! <s>    1
//! </s>    2
//! ```

use clap::{ArgMatches, Command};

use super::args;
use super::io::{self, CliResult};
use super::model_files::warn_of_broken_vocab;
use spiece::ModelType;

/// The command line: model, output file and format.
pub(crate) fn command() -> Command {
    let command = Command::new("export-vocab")
        .visible_alias("export_vocab")
        .about("Writes the pieces of a model, one a line")
        .long_about(
            "Writes the pieces of a model, one a line.\n\nExample:\n  spiece export-vocab --model=my.model \
             --output=my.vocab",
        )
        .args(args::tokenizer_flags())
        .args([
            args::output_flag(),
            args::value("output_format", "vocab (pieces and scores) or syms (pieces and ids)").default_value("vocab"),
        ]);
    args::with_common_flags(command)
}

/// Writes the pieces of the tokenizer in the format of `--output_format`. Those of vocabularies that
/// are no SentencePiece models have no scores, except those of unigram pipelines; bytes are written in printable characters.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let has_ids = match args::text(matches, "output_format") {
        "vocab" => false,
        "syms" => true,
        other => return Err(args::invalid("output_format", other, "vocab or syms")),
    };
    let tokenizer = args::tokenizer(matches)?;
    if let Some(model) = tokenizer.model() {
        warn_of_broken_vocab(&args::messages(matches)?, model);
        if !has_ids {
            return io::write_output(args::output_file(matches), &model.to_vocab(true));
        }
    }
    let scores = tokenizer.model_type_name() == ModelType::Unigram.name();
    let mut lines = Vec::new();
    for piece in tokenizer.pieces() {
        lines.extend_from_slice(&tokenizer.printable_piece(piece.text));
        if has_ids {
            lines.extend_from_slice(format!("\t{}", piece.id).as_bytes());
        } else if scores {
            lines.extend_from_slice(format!("\t{}", piece.score).as_bytes());
        }
        lines.push(b'\n');
    }
    io::write_output(args::output_file(matches), &lines)
}
