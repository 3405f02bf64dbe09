//! `--vocabulary`: encoding with the pieces that are frequent in a text, as `spm_encode` did until
//! release 0.2.0.
//!
//! A model that was trained on two languages together splits each of them into pieces that occur
//! often in that language only:
//!
//! ```text
//! spiece encode --model=m.model --generate_vocabulary < train.de > vocab.de
//! spiece encode --model=m.model --vocabulary=vocab.de --vocabulary_threshold=50 < train.de
//! ```

use std::path::Path;

use clap::ArgMatches;

use crate::args;
use crate::input::line_ranges;
use crate::io::{self, CliError, CliResult};
use spiece::{ModelType, Tokenizer};

/// The tokenizer of `--model`, restricted to the pieces of `--vocabulary`.
pub(super) fn open_model(matches: &ArgMatches) -> CliResult<Tokenizer> {
    let messages = args::messages(matches)?;
    let threshold: i64 = args::given_number(matches, "vocabulary_threshold")?.unwrap_or(0);
    let Some(path) = args::non_empty(matches, "vocabulary") else {
        if args::is_given(matches, "vocabulary_threshold") {
            messages.warn("--vocabulary_threshold has no effect without --vocabulary");
        }
        return args::tokenizer(matches);
    };
    let model = args::model(matches)?;
    if !matches!(model.model_type(), ModelType::Bpe | ModelType::Unigram) {
        return Err(CliError::usage(
            "--vocabulary restricts BPE and unigram models only; leave it out for this model",
        ));
    }
    let lines = io::read_file(path)?;
    let pieces = pieces(&lines, threshold).map_err(|e| CliError::in_file(Path::new(path), e))?;
    if !pieces
        .iter()
        .any(|piece| model.piece_to_id(piece).is_some())
    {
        messages.warn(&format!(
            "--vocabulary: no line of {path} names a piece of the model with a count of {threshold} or more; only single \
             characters are written"
        ));
    }
    Ok(Tokenizer::new(model.restrict_to(&pieces)?))
}

/// The pieces in the lines of a file whose counts are not below `threshold`.
fn pieces(lines: &[u8], threshold: i64) -> Result<Vec<&[u8]>, String> {
    let mut pieces = Vec::new();
    for (number, line) in (1..).zip(line_ranges(lines)) {
        let mut columns = lines[line].split(|byte| *byte == b'\t');
        let piece = columns.next().unwrap_or_default();
        let count = match columns.next().map(str::from_utf8) {
            None => Some(1),
            Some(text) => text.ok().and_then(|text| text.trim_ascii().parse().ok()),
        };
        match count {
            _ if piece.is_empty() => {
                return Err(format!("line {number} has no piece; remove it"));
            }
            None => {
                return Err(format!(
                    "line {number}: the second column is no count; use a file that --generate_vocabulary has written, not a \
                     .vocab file with scores"
                ));
            }
            Some(count) if count >= threshold => pieces.push(piece),
            Some(_) => {}
        }
    }
    Ok(pieces)
}
