//! `spiece decode`: pieces or ids -> text, with the flags of `spm_decode`.

use crate::{ExtraOption, PieceId, Tokenizer};
use clap::{ArgMatches, Command};

use super::args;
use super::encode::open_model;
use super::io::CliError;
use super::stream::{Stream, with_stream_flags};

pub(crate) fn command() -> Command {
    let command = Command::new("decode")
        .about("Joins lines of pieces or ids to text")
        .long_about(
            "Joins lines of pieces or ids, separated by single blanks, to text, as spm_decode 0.2.3 does.\n\n\
             Example:\n  spiece decode --model=my.model --input_format=id < ids.txt",
        )
        .arg(args::value("input_format", "Format of the input: piece or id; words that are not numbers are skipped in ids").default_value("piece"))
        .arg(args::value("output_format", "Format of the output: string").default_value("string"))
        .arg(args::value("extra_options", "Changes before decoding: bos, eos, reverse, unk; several are separated by colons: reverse:bos"));
    with_stream_flags(command)
}

pub(crate) fn run(matches: &ArgMatches) -> Result<(), CliError> {
    let stream = Stream::new(matches)?;
    let given = |name| args::given(matches, name).unwrap_or_default();
    if given("output_format") != "string" {
        return Err(CliError::Usage(format!(
            "--output_format: {:?} is not supported; the only format is string",
            given("output_format")
        )));
    }
    let decode = match given("input_format") {
        "piece" => decode_pieces,
        "id" => decode_ids,
        other => {
            return Err(CliError::Usage(format!(
                "--input_format: {other:?} is not piece or id"
            )));
        }
    };
    let tokenizer = open_model(matches)?;
    let extra = ExtraOption::parse_list(given("extra_options"))?;
    // An error of the options concerns every line, so it is reported before the first.
    tokenizer.apply_extra(&extra, &mut Vec::new())?;
    stream.run(
        || Ok(()),
        |(), number, line, out| {
            decode(&tokenizer, &extra, line, out)
                .map_err(|problem| CliError::Error(format!("line {number}: {problem}")))?;
            out.push(b'\n');
            Ok(())
        },
    )
}

fn decode_ids(
    tokenizer: &Tokenizer,
    extra: &[ExtraOption],
    line: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut ids = Vec::new();
    for word in line.split(|byte| *byte == b' ') {
        // A word that is no number of 32 bits is skipped, as in spm_decode.
        let number = std::str::from_utf8(word)
            .ok()
            .and_then(|word| word.trim_ascii().parse::<i32>().ok());
        if let Some(number) = number {
            let id = u32::try_from(number)
                .map_err(|_| format!("there is no piece with the id {number}"))?;
            ids.push(PieceId::new(id));
        }
    }
    tokenizer
        .apply_extra(extra, &mut ids)
        .map_err(|error| error.to_string())?;
    tokenizer
        .decode_into(&ids, out)
        .map_err(|error| error.to_string())
}

/// Joins pieces. The options `bos` and `eos` add pieces without text, so that only `reverse` has an effect.
fn decode_pieces(
    tokenizer: &Tokenizer,
    extra: &[ExtraOption],
    line: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), String> {
    let mut pieces: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    if extra
        .iter()
        .filter(|option| **option == ExtraOption::Reverse)
        .count()
        % 2
        == 1
    {
        pieces.reverse();
    }
    out.extend_from_slice(&tokenizer.decode_pieces_to_bytes(&pieces));
    Ok(())
}
