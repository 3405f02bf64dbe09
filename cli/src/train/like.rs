//! `spiece train --like=FILE`: what the command line does not say is as in a trained file.
//!
//! ```text
//! $ spiece train --quiet --like=old.model --input=new.txt --model_prefix=new --vocab_size=16000
//! ```
//!
//! The content of the file decides what is trained. Which options a `.model` gives is the subject of
//! [`Model::training_like`]; [`like_pipeline`](super::like_pipeline) trains the others.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use clap::{Arg, ArgMatches};

use crate::args;
use crate::io::{CliError, CliResult};
use spiece::formats::FileFormat;
use spiece::pipeline::Pipeline;
use spiece::{Model, Tokenizer};

/// The flag for the file.
pub(super) const LIKE: &str = "like";
/// More bytes than any format needs to be recognized.
const START_BYTES: u64 = 1 << 16;

/// The flag for the file.
pub(crate) fn flag() -> Arg {
    args::file(
        LIKE,
        "Train like this file, but for the flags that are given. Of a .model: its options, normalization rules, special \
         pieces with their ids, and size. Of a tokenizer.json with BPE or WordPiece: all but the vocabulary and the merges; \
         writes PREFIX.json",
    )
}

/// The flags of the shortest command line that trains like the file of `--like`.
pub(super) fn example(matches: &ArgMatches) -> String {
    let file = args::text(matches, LIKE);
    format!("--{LIKE}={file} --input=text.txt --model_prefix=my")
}

/// What is trained like something.
pub(crate) enum LikeFile {
    Model(Box<Model>),
    Pipeline(Arc<Pipeline>),
}

impl LikeFile {
    /// The content of the file of `--like`; `None` without it.
    pub(crate) fn open(matches: &ArgMatches) -> CliResult<Option<Self>> {
        let Some(name) = args::non_empty(matches, LIKE) else {
            return Ok(None);
        };
        let path = Path::new(name);
        if format(path)? == FileFormat::Model {
            return Ok(Some(Self::Model(Box::new(Model::open(path)?))));
        }
        // A folder can have a .model.
        match Tokenizer::open(path)?.pipeline() {
            Some(pipeline) => Ok(Some(Self::Pipeline(Arc::clone(pipeline)))),
            None => Err(CliError::Error(format!(
                "--like: {name} has a .model of SentencePiece in it; name that file"
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
