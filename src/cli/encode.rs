//! `spiece encode`: text -> pieces or ids, with the flags of `spm_encode`.

use std::io::Write;

use clap::{ArgMatches, Command};
use spiece::{EncodeOptions, Encoder, ExtraOption, PieceId, Tokenizer};

use super::args;
use super::io::Failure;
use super::json;
use super::stream::{Stream, with_stream_flags};

pub(crate) fn command() -> Command {
    let command = Command::new("encode")
        .about("Splits lines of text into pieces or ids")
        .long_about(
            "Splits lines of text into pieces or ids, as spm_encode 0.2.3 does.\n\nExample:\n  spiece encode \
             --model=my.model --output_format=id < text.txt > ids.txt",
        )
        .arg(
            args::value("output_format", "piece, id, or json (pieces with their ids and places)")
                .default_value("piece"),
        )
        .arg(args::value("extra_options", "What to do with the result: bos, eos, reverse, unk, as in bos:eos"));
    with_stream_flags(command)
}

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let stream = Stream::new(matches)?;
    let tokenizer = open_model(matches)?;
    let mut options = EncodeOptions::default();
    options.extra = ExtraOption::parse_list(args::given(matches, "extra_options").unwrap_or_default())?;
    // What is wrong with the options is wrong for every thread, so it is found here.
    tokenizer.encoder_with(&options)?;
    let write = match args::given(matches, "output_format").unwrap_or_default() {
        "piece" => write_pieces,
        "id" => write_ids,
        "json" => write_json,
        other => return Err(Failure::Usage(format!("--output_format: {other:?} is not piece, id or json"))),
    };
    stream.run(
        || tokenizer.encoder_with(&options),
        |encoder, _, line, out| {
            let encoder = encoder.as_mut().map_err(|error| Failure::from(error.clone()))?;
            write(encoder, line, out);
            Ok(())
        },
    )
}

/// The model that the command line names.
pub(crate) fn open_model(matches: &ArgMatches) -> Result<Tokenizer, Failure> {
    match args::given(matches, "model").filter(|path| !path.is_empty()) {
        Some(path) => Ok(Tokenizer::open(path)?),
        None => Err(Failure::Usage("--model is missing; it names the .model file".to_owned())),
    }
}

fn write_ids(encoder: &mut Encoder<'_>, line: &[u8], out: &mut Vec<u8>) {
    write_id_line(encoder.encode(line), out);
}

/// Appends the ids with blanks between them, and a newline.
pub(crate) fn write_id_line(ids: &[PieceId], out: &mut Vec<u8>) {
    for (at, id) in ids.iter().enumerate() {
        let blank = if at > 0 { " " } else { "" };
        // Writing to memory does not fail.
        let _ = write!(out, "{blank}{id}");
    }
    out.push(b'\n');
}

fn write_pieces(encoder: &mut Encoder<'_>, line: &[u8], out: &mut Vec<u8>) {
    for (at, (_, piece)) in encoder.tokens(line).iter().enumerate() {
        out.extend_from_slice(if at > 0 { b" " } else { b"" });
        out.extend_from_slice(piece);
    }
    out.push(b'\n');
}

fn write_json(encoder: &mut Encoder<'_>, line: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"pieces\":[");
    let tokens = encoder.tokens(line);
    for (at, (token, piece)) in tokens.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(out, "{comma}{{\"id\":{},\"piece\":", token.id);
        json::write_string(piece, out);
        out.extend_from_slice(b",\"surface\":");
        json::write_string(tokens.surface(&token), out);
        let _ = write!(out, ",\"begin\":{},\"end\":{}}}", token.begin, token.end);
    }
    out.extend_from_slice(b"]}\n");
}
