//! `spiece decode`: pieces or ids -> text, with the flags of `spm_decode`.
//!
//! Input: a model, and lines of pieces with one space between them, or of ids with spaces, commas
//! and brackets. Output: one line of text for each input line.
//!
//! ```text
//! $ echo '608 462 1929 1925' | spiece decode --model=testdata/golden/llama2.model --input_format=id
//! Hello
//! ```
//!
//! An id that the model lacks is an error that names the line. The blocks of lines before the block
//! of that line are still written to standard output; a file named by `--output` is not changed.

use clap::{ArgMatches, Command};
use spiece::{ExtraOption, PieceId, Tokenizer};

use super::args;
use super::encode::open_model;
use super::io::{CliError, CliResult};
use super::stream::{Stream, with_stream_flags};

/// The command line: formats, changes before decoding, and the flags of all subcommands that read
/// lines.
pub(crate) fn command() -> Command {
    let command = Command::new("decode")
        .about("Joins lines of pieces or ids to text")
        .long_about(
            "Joins lines of pieces or ids to text, as spm_decode 0.2.3 does. One space separates pieces.\n\n\
             Example:\n  spiece decode --model=my.model --input_format=id < ids.txt",
        )
        .arg(args::value("input_format", "Format of the input: piece or id. Ids are separated by spaces or commas, with or without brackets: 1 2 or [1, 2]; \
                 words that are not numbers are skipped").default_value("piece"))
        .arg(args::value("output_format", "Format of the output: string").default_value("string"))
        .arg(args::value("extra_options", "Changes before decoding: bos, eos, reverse, unk; several are separated by colons: reverse:bos"));
    with_stream_flags(command)
}

/// Appends the text of one line of pieces or ids. The error does not name the line.
type LineDecoder = fn(&Tokenizer, &[ExtraOption], &[u8], &mut Vec<u8>) -> Result<(), String>;

/// Decodes each line of the input. Checks all flags before the first line is read.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let stream = Stream::new(matches)?;
    check_output_format(matches)?;
    let decode = line_decoder(matches)?;
    let tokenizer = open_model(matches)?;
    let extra = args::extra_options(matches)?;
    // An error of the options concerns every line, so it is reported before the first one.
    tokenizer.apply_extra(&extra, &mut Vec::new())?;
    stream.run(
        || Ok(()),
        |(), number, line, out| {
            decode(&tokenizer, &extra, line, out)
                .map_err(|problem| CliError::in_line(number, problem))?;
            out.push(b'\n');
            Ok(())
        },
    )
}

/// Checks `--output_format`, which has only one value; the flag exists because `spm_decode` has it.
fn check_output_format(matches: &ArgMatches) -> CliResult {
    match args::text(matches, "output_format") {
        "string" => Ok(()),
        other => {
            let expected = "supported; the only format is string";
            Err(args::invalid("output_format", other, expected))
        }
    }
}

/// The function for the value of `--input_format`.
fn line_decoder(matches: &ArgMatches) -> CliResult<LineDecoder> {
    match args::text(matches, "input_format") {
        "piece" => Ok(decode_pieces),
        "id" => Ok(decode_ids),
        other => Err(args::invalid("input_format", other, "piece or id")),
    }
}

/// Decodes a line of ids. A word that is not a 32-bit number is skipped, as in `spm_decode`.
fn decode_ids(
    tokenizer: &Tokenizer,
    extra: &[ExtraOption],
    line: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut ids = parse_ids(line)?;
    tokenizer
        .apply_extra(extra, &mut ids)
        .map_err(|error| error.to_string())?;
    tokenizer
        .decode_into(&ids, out)
        .map_err(|error| error.to_string())
}

/// The ids of a line. A negative number is an error: no model has such an id.
fn parse_ids(line: &[u8]) -> Result<Vec<PieceId>, String> {
    // `spm_decode` knows only spaces; logs and notebooks have lists such as `[1, 2]`.
    line.split(|byte| b" \t,[]".contains(byte))
        .filter_map(parse_number)
        .map(id_of_number)
        .collect()
}

/// The id with this number, or an error that no model has such an id.
fn id_of_number(number: i32) -> Result<PieceId, String> {
    let id = u32::try_from(number).map(PieceId::new);
    id.map_err(|_| no_such_id(number))
}

fn no_such_id(number: i32) -> String {
    format!("there is no piece with the id {number}")
}

/// The number in a word, ignoring whitespace around it.
fn parse_number(word: &[u8]) -> Option<i32> {
    let word = std::str::from_utf8(word).ok()?;
    word.trim_ascii().parse().ok()
}

/// Decodes a line of pieces. The options `bos` and `eos` add pieces without text, so only `reverse`
/// has an effect.
fn decode_pieces(
    tokenizer: &Tokenizer,
    extra: &[ExtraOption],
    line: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut pieces: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    if reverses(extra) {
        pieces.reverse();
    }
    out.extend_from_slice(&tokenizer.decode_pieces_to_bytes(&pieces));
    Ok(())
}

/// Whether the options reverse the pieces: two reversals cancel each other.
fn reverses(extra: &[ExtraOption]) -> bool {
    let reversals = extra.iter().filter(|o| **o == ExtraOption::Reverse);
    reversals.count() % 2 == 1
}
