//! `spiece encode`: text -> pieces or ids, with the flags of `spm_encode`.

mod format;
mod vocabulary;

use crate::{
    EncodeError, EncodeOptions, Encoder, ExtraOption, Rng, SampleOptions, Tokenizer, Tokens,
};
use clap::{ArgMatches, Command};

use self::format::{IdTexts, PieceTexts};
use super::args;
use super::io::CliError;
use super::stream::{Stream, with_stream_flags};
use crate::text::num::mix_high;

/// What is written for each line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Piece,
    Id,
    Json,
}

/// Which segmentation of a line is written.
#[derive(Debug, Clone, Copy)]
enum Selection {
    Best,
    Nbest(usize),
    Sample(Sampling),
}

/// The flags of sampling. What the first two mean depends on the type of the model.
#[derive(Debug, Clone, Copy)]
struct Sampling {
    nbest_size: i32,
    alpha: f32,
    seed: u64,
}

impl Sampling {
    fn options(&self, encoder: &Encoder<'_>) -> Result<SampleOptions, EncodeError> {
        let model_type = encoder.tokenizer().model().model_type();
        SampleOptions::from_reference(model_type, self.nbest_size, self.alpha)
    }
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
                "piece, id or json (ids, pieces and their positions in the line); with sample_ or nbest_ before it, one \
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
    let (format, selection) = output(matches)?;
    let tokenizer = open_model(matches)?;
    let mut options = EncodeOptions::default();
    options.extra =
        ExtraOption::parse_list(args::given(matches, "extra_options").unwrap_or_default())?;
    // Invalid options are an error even if the input is empty.
    check(&mut tokenizer.encoder_with(&options)?, selection)?;
    let worker = || Ok(tokenizer.encoder_with(&options)?);
    if args::is_on(matches, "generate_vocabulary")? {
        return vocabulary::write(&stream, &tokenizer, worker);
    }
    match (selection, format) {
        (Selection::Best, Format::Id) => {
            let texts = IdTexts::new(tokenizer.model());
            stream.run(worker, |encoder, _, line, out| {
                texts.write_line(encoder.encode(line), out);
                Ok(())
            })
        }
        (Selection::Best, Format::Piece) => {
            let texts = PieceTexts::new(tokenizer.model());
            stream.run(worker, |encoder, _, line, out| {
                format::write_best_pieces(encoder, &texts, line, out);
                Ok(())
            })
        }
        _ => stream.run(worker, |encoder, number, line, out| {
            // The options are valid, so the line is at fault.
            write_selection(encoder, selection, format, (number, line), out)
                .map_err(|problem| CliError::Error(format!("line {number}: {problem}")))
        }),
    }
}

/// Writes the selected segmentations of a line, given with its number, as tokens with spans.
fn write_selection(
    encoder: &mut Encoder<'_>,
    selection: Selection,
    format: Format,
    (number, line): (u64, &[u8]),
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    match selection {
        Selection::Best => write(format, &encoder.tokens(line), out),
        Selection::Nbest(size) => {
            encoder.for_each_nbest(line, size, |_, tokens| write(format, &tokens, out))?;
        }
        Selection::Sample(sampling) => {
            let options = sampling.options(encoder)?;
            let mut rng = Rng::with_seed(sampling.seed ^ mix_high(number));
            write(format, &encoder.sample(line, &options, &mut rng)?, out);
        }
    }
    Ok(())
}

/// What the flags say about the output.
fn output(matches: &ArgMatches) -> Result<(Format, Selection), CliError> {
    let name = args::given(matches, "output_format").unwrap_or_default();
    let nbest_size: i32 = args::number(matches, "nbest_size")?;
    let (selection, format) = match name.split_once('_') {
        None => (Selection::Best, name),
        Some(("nbest", format)) => (Selection::Nbest(nbest_count(nbest_size)), format),
        Some(("sample", format)) => {
            let sampling = Sampling {
                nbest_size,
                alpha: args::number(matches, "alpha")?,
                seed: args::number(matches, "random_seed")?,
            };
            (Selection::Sample(sampling), format)
        }
        Some(_) => (Selection::Best, ""),
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
    Ok((format, selection))
}

/// The size of an n-best list; numbers below 0 count as 0, as in the reference.
fn nbest_count(nbest_size: i32) -> usize {
    nbest_size.max(0).unsigned_abs() as usize
}

/// Whether the model can do what is asked for.
fn check(encoder: &mut Encoder<'_>, selection: Selection) -> Result<(), EncodeError> {
    match selection {
        Selection::Best => Ok(()),
        Selection::Nbest(size) => encoder.for_each_nbest("", size, |_, _| ()),
        Selection::Sample(sampling) => {
            let options = sampling.options(encoder)?;
            let mut rng = Rng::with_seed(sampling.seed);
            encoder.sample("", &options, &mut rng).map(drop)
        }
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
        Format::Piece => format::write_pieces(tokens, out),
        Format::Id => format::write_ids(tokens.as_slice().iter().map(|token| &token.id), out),
        Format::Json => format::write_json(tokens, out),
    }
}
