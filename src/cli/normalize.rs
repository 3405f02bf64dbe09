//! `spiece normalize`: text -> text as pieces are made of, with the flags of `spm_normalize`.

use clap::{ArgMatches, Command};

use super::encode::open_model;
use super::io::Failure;
use super::stream::{Stream, with_stream_flags};

pub(crate) fn command() -> Command {
    let command = Command::new("normalize")
        .about("Normalizes lines of text as a model does before it splits them")
        .long_about("Normalizes lines of text as a model does before it splits them into pieces.");
    with_stream_flags(command)
}

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let stream = Stream::new(matches)?;
    let tokenizer = open_model(matches)?;
    stream.run(
        || tokenizer.encoder(),
        |encoder, _, line, out| {
            out.extend_from_slice(encoder.normalize(line));
            out.push(b'\n');
            Ok(())
        },
    )
}
