//! `spiece decode`: pieces or ids -> text, with the flags of `spm_decode`.
//!
//! Each line has pieces with one space between them, or ids with spaces, commas and brackets.
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
use super::io::{CliError, CliResult};
use super::stream::{Stream, with_stream_flags};

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

/// Decodes each line of the input. Checks all flags before the first line is read.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let stream = Stream::new(matches)?;
    // `spm_decode` has the flag, too, with this value only.
    match args::text(matches, "output_format") {
        "string" => {}
        other => {
            let expected = "supported; the only format is string";
            return Err(args::invalid("output_format", other, expected));
        }
    }
    let decode = match args::text(matches, "input_format") {
        "piece" => decode_pieces,
        "id" => decode_ids,
        other => return Err(args::invalid("input_format", other, "piece or id")),
    };
    let tokenizer = args::tokenizer(matches)?;
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

/// Appends the text of a line of ids.
fn decode_ids(
    tokenizer: &Tokenizer,
    extra: &[ExtraOption],
    line: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut ids = Vec::new();
    // `spm_decode` knows only spaces; logs and notebooks have lists such as `[1, 2]`.
    for word in line.split(|byte| b" \t,[]".contains(byte)) {
        let word = str::from_utf8(word).unwrap_or_default();
        // A word that is no number is skipped, as in `spm_decode`, which skips numbers from 2^31 on, too.
        let word = word.trim_ascii();
        let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let id = word.parse();
        let id = id.map_err(|_| format!("there is no piece with the id {word}"))?;
        ids.push(PieceId::new(id));
    }
    tokenizer
        .apply_extra(extra, &mut ids)
        .map_err(|error| error.to_string())?;
    tokenizer
        .decode_into(&ids, out)
        .map_err(|error| error.to_string())
}

/// Appends the text of a line of pieces.
fn decode_pieces(
    tokenizer: &Tokenizer,
    extra: &[ExtraOption],
    line: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut pieces: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    // `bos` and `eos` add pieces without text, so only `reverse` has an effect; two cancel each
    // other.
    let reversals = extra.iter().filter(|o| **o == ExtraOption::Reverse);
    if reversals.count() % 2 == 1 {
        pieces.reverse();
    }
    let pieces: Vec<_> = pieces
        .into_iter()
        .map(|piece| tokenizer.piece_of_printable(piece))
        .collect();
    out.extend_from_slice(&tokenizer.decode_pieces_to_bytes(&pieces));
    Ok(())
}
