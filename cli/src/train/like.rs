//! `spiece train --like=FILE`: what the command line does not say is as in a trained file.
//!
//! ```text
//! $ spiece train --quiet --like=old.model --input=new.txt --model_prefix=new --vocab_size=16000
//! ```
//!
//! The content of the file decides what is trained. Which options a `.model` gives is the subject of
//! [`Model::training_like`].

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::{Arg, ArgMatches};

use crate::args;
use crate::io::{CliError, CliResult};
use spiece::Model;
use spiece::formats::FileFormat;

/// The flag for the file.
const LIKE: &str = "like";
/// More bytes than any format needs to be recognized.
const START_BYTES: u64 = 1 << 16;

/// The flag for the file.
pub(crate) fn flag() -> Arg {
    args::file(
        LIKE,
        "Train a model like this .model: its options, normalization rules, special pieces with their ids, and size, but \
         for the flags that are given. The old corpus has no effect",
    )
}

/// What is trained like something.
pub(crate) enum Template {
    Model(Box<Model>),
}

impl Template {
    /// The content of the file of `--like`; `None` without it.
    pub(crate) fn open(matches: &ArgMatches) -> CliResult<Option<Self>> {
        let Some(name) = args::non_empty(matches, LIKE) else {
            return Ok(None);
        };
        let path = Path::new(name);
        match format(path)? {
            FileFormat::Model => Ok(Some(Self::Model(Box::new(Model::open(path)?)))),
            format => Err(CliError::Error(format!(
                "--like: {name} is of the format {format}, which does not say how it was trained; name a .model of \
                 SentencePiece"
            ))),
        }
    }
}

/// The format of a file, by its content.
fn format(path: &Path) -> CliResult<FileFormat> {
    if path.is_dir() {
        return Ok(FileFormat::Folder);
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(START_BYTES).read_to_end(&mut start));
    read.map_err(CliError::reading(path))?;
    Ok(FileFormat::of_content(&start))
}
