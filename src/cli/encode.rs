//! `spiece encode`: text -> pieces or ids, with the flags of `spm_encode`.

mod vocabulary;

use std::io::Write;

use crate::{
    EncodeError, EncodeOptions, Encoder, ExtraOption, PieceId, Rng, SampleOptions, Tokenizer,
    Tokens,
};
use clap::{ArgMatches, Command};

use super::args;
use super::io::CliError;
use super::json;
use super::stream::{Stream, with_stream_flags};

/// Seeds of lines are the seed of the run and the number of the line, mixed.
const LINE_SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is written for each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Piece,
    Id,
    Json,
}

/// Which segmentation of a line is written.
#[derive(Debug, Clone, Copy)]
enum Choice {
    Best,
    Nbest(usize),
    Sample(SampleOptions, u64),
}

pub(crate) fn command() -> Command {
    let command = Command::new("encode")
        .about("Splits lines of text into pieces or ids")
        .long_about(
            "Splits lines of text into pieces or ids, as spm_encode 0.2.3 does.\n\nExample:\n  spiece encode \
             --model=my.model --output_format=id < text.txt > ids.txt",
        )
        .args([
            args::value(
                "output_format",
                "piece, id or json (ids, pieces and their places in the line); with sample_ or nbest_ before it, one \
                 random segmentation or the best ones",
            )
            .default_value("piece"),
            args::value("extra_options", "What to do with the result: bos, eos, reverse, unk; several as bos:eos"),
            args::value("nbest_size", "How many best segmentations to write, or to draw from; -1 is all")
                .default_value("10"),
            args::value("alpha", "Smoothing of sampling (unigram), or how often a merge is dropped (BPE)")
                .default_value("0.5"),
            args::value("random_seed", "Seed of sampling").default_value("4294967295"),
            args::switch("generate_vocabulary", "Write the pieces that the text has, and how often"),
            args::value("vocabulary", "Retired; has no effect").hide(true),
            args::value("vocabulary_threshold", "Retired; has no effect").hide(true),
        ]);
    with_stream_flags(command)
}

pub(crate) fn run(matches: &ArgMatches) -> Result<(), CliError> {
    let stream = Stream::new(matches)?;
    let (format, choice) = output(matches)?;
    let tokenizer = open_model(matches)?;
    let mut options = EncodeOptions::default();
    options.extra =
        ExtraOption::parse_list(args::given(matches, "extra_options").unwrap_or_default())?;
    // What is wrong with the options is wrong for every thread, so it is found here.
    check(&mut tokenizer.encoder_with(&options)?, choice)?;
    let worker = || tokenizer.encoder_with(&options);
    if args::is_on(matches, "generate_vocabulary")? {
        return vocabulary::write(&stream, &tokenizer, worker);
    }
    stream.run(worker, |encoder, number, line, out| {
        let encoder = encoder
            .as_mut()
            .map_err(|error| CliError::from(error.clone()))?;
        // The options are right, so it is the line that is not.
        let failed = |problem: EncodeError| CliError::Error(format!("line {number}: {problem}"));
        match (choice, format) {
            (Choice::Best, Format::Id) => write_ids(encoder.encode(line), out),
            (Choice::Best, _) => write(format, &encoder.tokens(line), out),
            (Choice::Nbest(size), _) => {
                encoder
                    .for_each_nbest(line, size, |_, tokens| write(format, &tokens, out))
                    .map_err(failed)?;
            }
            (Choice::Sample(options, seed), _) => {
                let mut rng = Rng::with_seed(seed ^ number.wrapping_mul(LINE_SEED));
                write(
                    format,
                    &encoder.sample(line, &options, &mut rng).map_err(failed)?,
                    out,
                );
            }
        }
        Ok(())
    })
}

/// What the flags say about the output.
fn output(matches: &ArgMatches) -> Result<(Format, Choice), CliError> {
    let name = args::given(matches, "output_format").unwrap_or_default();
    let nbest_size: i32 = args::number(matches, "nbest_size")?;
    let (choice, format) = match name.split_once('_') {
        None => (Choice::Best, name),
        Some(("nbest", format)) => (
            Choice::Nbest(usize::try_from(nbest_size).unwrap_or(0)),
            format,
        ),
        Some(("sample", format)) => {
            let mut options = SampleOptions::default();
            (options.nbest_size, options.alpha) = (nbest_size, args::number(matches, "alpha")?);
            (
                Choice::Sample(options, args::number(matches, "random_seed")?),
                format,
            )
        }
        Some(_) => (Choice::Best, ""),
    };
    let format = match format {
        "piece" => Format::Piece,
        "id" => Format::Id,
        "json" => Format::Json,
        _ => {
            let problem =
                "is not piece, id or json, nor one of them with sample_ or nbest_ before it";
            return Err(CliError::Usage(format!(
                "--output_format: {name:?} {problem}"
            )));
        }
    };
    Ok((format, choice))
}

/// Whether the model can do what is asked for.
fn check(encoder: &mut Encoder<'_>, choice: Choice) -> Result<(), EncodeError> {
    match choice {
        Choice::Best => Ok(()),
        Choice::Nbest(size) => encoder.for_each_nbest("", size, |_, _| ()),
        Choice::Sample(options, seed) => encoder
            .sample("", &options, &mut Rng::with_seed(seed))
            .map(drop),
    }
}

/// The model that the command line names.
pub(crate) fn open_model(matches: &ArgMatches) -> Result<Tokenizer, CliError> {
    match args::given(matches, "model").filter(|path| !path.is_empty()) {
        Some(path) => Ok(Tokenizer::open(path)?),
        None => Err(CliError::Usage(
            "--model is missing; it names the .model file".to_owned(),
        )),
    }
}

fn write(format: Format, tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    match format {
        Format::Piece => write_pieces(tokens, out),
        Format::Id => write_ids(tokens.as_slice().iter().map(|token| &token.id), out),
        Format::Json => write_json(tokens, out),
    }
}

/// Appends the ids with blanks between them, and a newline.
fn write_ids<'i>(ids: impl IntoIterator<Item = &'i PieceId>, out: &mut Vec<u8>) {
    for (at, id) in ids.into_iter().enumerate() {
        let blank = if at > 0 { " " } else { "" };
        // Writing to memory does not fail.
        let _ = write!(out, "{blank}{id}");
    }
    out.push(b'\n');
}

fn write_pieces(tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    for (at, (_, piece)) in tokens.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b" " } else { b"" });
        out.extend_from_slice(piece);
    }
    out.push(b'\n');
}

fn write_json(tokens: &Tokens<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"pieces\":[");
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
