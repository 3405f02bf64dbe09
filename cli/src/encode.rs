//! `spiece encode`: text -> pieces or ids, with the flags of `spm_encode`.
//!
//! The output has one line for each input line (several for n-best lists), in the order of the
//! input, or the counts of the pieces with `--generate_vocabulary`.
//!
//! ```text
//! $ echo 'Hello, world!' | spiece encode --model=testdata/golden/llama2.model
//! ▁H el l o , ▁w or l d <0x21>
//! $ echo 'Hello, world!' | spiece encode --model=testdata/golden/llama2.model --output_format=id
//! 608 462 1929 1925 1934 281 439 1929 1933 36
//! ```
//!
//! Samples do not depend on the number of threads: each line has its own random number generator,
//! seeded from `--random_seed` and the number of the line.

mod best;
mod format;
mod restriction;
mod training_data;
mod vocabulary;

use clap::{ArgMatches, Command};
use spiece::{
    EncodeError, EncodeOptions, Encoder, Model, ModelType, Rng, SampleOptions, Tokenizer, Tokens,
};

use self::best::BestWriter;
use super::args;
use super::documents::document_flags;
use super::io::{CliError, CliResult};
use super::stream::{Stream, with_stream_flags};

/// Spreads the numbers of lines over all bits of their seeds: an odd number near 2^64 divided by
/// the golden ratio.
const LINE_SEEDS: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is written for each token of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    /// The text of the piece.
    Piece,
    /// The number of the piece.
    Id,
    /// Id, piece, surface and span.
    Json,
}

/// Which segmentation of a line is written.
#[derive(Debug, Clone, Copy)]
enum Selection {
    /// The best one.
    Best,
    /// At most this many of the best ones, each as a line.
    Nbest(usize),
    /// A random one.
    Sample(Sampling),
}

/// The sampling flags. The meaning of the first two depends on the model type.
#[derive(Debug, Clone, Copy)]
struct Sampling {
    /// Unigram: the size of the n-best list to draw from; a negative number draws from all
    /// segmentations.
    nbest_size: i32,
    /// Unigram: the exponent of the probabilities. BPE: the probability that a merge is omitted.
    alpha: f32,
    /// The seed of the run; each line derives its own seed from it.
    seed: u64,
}

impl Sampling {
    /// Reads the sampling flags; `nbest_size` has already been read.
    fn new(matches: &ArgMatches, nbest_size: i32) -> CliResult<Self> {
        Ok(Self {
            nbest_size,
            alpha: args::number(matches, "alpha")?,
            seed: args::number(matches, "random_seed")?,
        })
    }

    /// A random segmentation of `line`. `line_seed` is the part of the seed that differs between
    /// lines.
    fn draw<'e>(
        &self,
        encoder: &'e mut Encoder<'_>,
        line: &'e [u8],
        line_seed: u64,
    ) -> Result<Tokens<'e>, EncodeError> {
        let options = self.options(encoder)?;
        let mut rng = Rng::with_seed(self.seed ^ line_seed);
        encoder.sample(line, &options, &mut rng)
    }

    /// The options of the library for the model type.
    fn options(&self, encoder: &Encoder<'_>) -> Result<SampleOptions, EncodeError> {
        // Byte-level BPE is sampled as the BPE of SentencePiece.
        let model = encoder.tokenizer().model();
        let model_type = model.map_or(ModelType::Bpe, Model::model_type);
        SampleOptions::from_reference(model_type, self.nbest_size, self.alpha)
    }
}

/// The command line: output format, selection, and the flags of all subcommands that read lines.
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
                 random segmentation or the best ones. Training data: u16, u32 (little-endian ids), npy (NumPy), llmc (llm.c)",
            )
            .default_value("piece"),
            args::value("extra_options", "Changes of the result: bos, eos, reverse, unk; several are separated by colons: bos:eos"),
            args::value(
                "allowed_special",
                "Special tokens, or control pieces, that are found in the text instead of being ordinary text: all, or their \
                 texts, separated by commas",
            ),
        ])
        .next_help_heading("Samples and best segmentations (--output_format=sample_id, nbest_id, ...)")
        .args([
            args::value(
                "nbest_size",
                "nbest_ formats: how many best segmentations to write, 1 to 512; below 1 is 1. sample_ formats: how many to draw \
                 from; 0 and 1 give the best one, below 0 draws from all. Without effect on other formats and on samples of BPE",
            )
                .default_value("10"),
            args::value("alpha", "Smoothing of sampling (unigram), or how often a merge is dropped (BPE)")
                .default_value("0.5"),
            args::value("random_seed", "Seed of sampling").default_value("4294967295"),
        ])
        .next_help_heading("Restriction to frequent pieces")
        .args([
            args::switch("generate_vocabulary", "Write the pieces that occur in the text and their counts"),
            args::file(
                "vocabulary",
                "Write only the pieces in this file and single characters (BPE and unigram). A line is a piece, or a piece, a \
                 tab and a count, as --generate_vocabulary writes them",
            ),
            args::value("vocabulary_threshold", "With --vocabulary: leave out pieces with lower counts; a piece without a count has 1")
                .value_name("N"),
        ])
        .args(document_flags())
        .next_help_heading("Training data (--output_format=u16, u32, npy, llmc)")
        .args(training_data::flags())
        .next_help_heading(None::<&str>);
    with_stream_flags(command)
}

/// Encodes each line of the input. Checks all flags before the first line is read.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let stream = Stream::new(matches)?;
    if training_data::is_wanted(matches) {
        return training_data::run(matches, &stream);
    }
    training_data::check_absent(matches)?;
    let output = OutputChoice::new(matches)?;
    let tokenizer = restriction::open_model(matches)?;
    let options = encode_options(matches, &tokenizer)?;
    // Invalid options are an error even if the input is empty.
    check(&mut tokenizer.encoder_with(&options)?, output.selection)?;
    let worker = || Ok(tokenizer.encoder_with(&options)?);
    if args::is_on(matches, "generate_vocabulary")? {
        return vocabulary::write(&stream, &tokenizer, worker);
    }
    if let (Selection::Best, Format::Piece | Format::Id) = (output.selection, output.format) {
        let best = BestWriter::new(&tokenizer, output.format);
        return stream.run_blocks(worker, |encoder, block, out| {
            best.write(encoder, block, out)?;
            // A block does not say which of its texts it is.
            encoder
                .take_failure()
                .map_or(Ok(()), |error| Err(error.into()))
        });
    }
    stream.run(worker, |encoder, number, line, out| {
        // The options have been checked, so an error concerns this line.
        write_selection(encoder, output, (number, line), out)
            .map_err(|problem| CliError::in_line(number, problem))
    })
}

/// The options of the encoders, from `--extra_options` and `--allowed_special`.
fn encode_options(matches: &ArgMatches, tokenizer: &Tokenizer) -> CliResult<EncodeOptions> {
    let mut options = EncodeOptions::default();
    options.extra = args::extra_options(matches)?;
    options.allowed_special = match args::non_empty(matches, "allowed_special") {
        None => Vec::new(),
        Some("all") => tokenizer
            .special_tokens()
            .map(|(_, text)| text.to_vec())
            .collect(),
        Some(texts) => texts.split(',').map(Into::into).collect(),
    };
    Ok(options)
}

/// Writes the selected segmentations of a line, which is given with its number.
fn write_selection(
    encoder: &mut Encoder<'_>,
    output: OutputChoice,
    (number, line): (u64, &[u8]),
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let format = output.format;
    match output.selection {
        Selection::Best => {
            format::write(format, &encoder.tokens(line), out);
            if let Some(error) = encoder.take_failure() {
                return Err(error);
            }
        }
        Selection::Nbest(size) => {
            encoder.for_each_nbest(line, size, |_, tokens| format::write(format, &tokens, out))?;
        }
        Selection::Sample(sampling) => {
            let tokens = sampling.draw(encoder, line, number.wrapping_mul(LINE_SEEDS))?;
            format::write(format, &tokens, out);
        }
    }
    Ok(())
}

/// The value of `--output_format` together with the flags that it refers to.
#[derive(Debug, Clone, Copy)]
struct OutputChoice {
    selection: Selection,
    format: Format,
}

impl OutputChoice {
    /// Parses `id`, `nbest_id`, `sample_id` and so on. `--nbest_size` is always parsed, so an
    /// invalid number is always an error; `--alpha` and `--random_seed` are parsed only for
    /// samples.
    fn new(matches: &ArgMatches) -> CliResult<Self> {
        let name = args::text(matches, "output_format");
        let nbest_size: i32 = args::number(matches, "nbest_size")?;
        let (selection, format) = match name.split_once('_') {
            None => (Selection::Best, name),
            Some(("nbest", format)) => {
                // Numbers below 0 count as 0, as in the reference.
                let size = nbest_size.max(0).unsigned_abs() as usize;
                (Selection::Nbest(size), format)
            }
            Some(("sample", format)) => {
                let sampling = Sampling::new(matches, nbest_size)?;
                (Selection::Sample(sampling), format)
            }
            Some(_) => return Err(unknown_format(name)),
        };
        let format = Format::parse(format).ok_or_else(|| unknown_format(name))?;
        Ok(Self { selection, format })
    }
}

impl Format {
    /// The format with this name.
    fn parse(name: &str) -> Option<Self> {
        match name {
            "piece" => Some(Self::Piece),
            "id" => Some(Self::Id),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// The error for a value of `--output_format` that does not exist.
fn unknown_format(name: &str) -> CliError {
    args::invalid("output_format", name, FORMATS)
}

/// The values of `--output_format`, for the message.
const FORMATS: &str = "piece, id or json, nor one of them with sample_ or nbest_ before it, nor training data: u16, u32, npy, llmc";

/// Fails if the model does not support the selection: n-best lists need a unigram model, for
/// example. Encodes an empty text, because only the encoder knows what it supports.
fn check(encoder: &mut Encoder<'_>, selection: Selection) -> Result<(), EncodeError> {
    match selection {
        Selection::Best => Ok(()),
        Selection::Nbest(size) => encoder.for_each_nbest("", size, |_, _| ()),
        Selection::Sample(sampling) => sampling.draw(encoder, b"", 0).map(drop),
    }
}
