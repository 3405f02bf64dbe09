//! `spiece prune` of byte-level vocabularies.
//!
//! ```text
//! $ spiece prune testdata/bytes/gpt2.json --size=350 --text=testdata/udhr_small.txt --model_prefix=small
//! pieces: 400 before, 350 after
//! checked: 96 of 274 lines have the same pieces; 26,836 tokens before, 30,071 now
//! written: small.json, small.ids.tsv
//! ```

use clap::ArgMatches;
use spiece::{Tokenizer, TokenizerConfig};

use super::{Task, compare_lines, count_pieces};
use crate::byte_files::{ByteFile, ByteFormat, refuse};
use crate::io::CliResult;
use crate::model_files::{self, OutputSet};
use crate::progress::Messages;

/// Prunes the vocabulary, compares the lines, writes and reports.
pub(super) fn run(
    matches: &ArgMatches,
    messages: &Messages,
    (file, task): (&ByteFile, &Task),
) -> CliResult {
    let tokenizer = &file.tokenizer;
    let Some(bpe) = tokenizer.byte_bpe() else {
        return Ok(());
    };
    let reason = "is for models, and MODEL is a byte-level vocabulary, which keeps all bytes";
    refuse(matches, &["keep_unused_tail", "keep_chars"], reason)?;
    let format = ByteFormat::new(matches)?;
    let endings = [format.endings(), &[".ids.tsv"]].concat();
    let mut output = OutputSet::new(matches, &endings)?;
    let usage = count_pieces(tokenizer, task)?;
    let pruned = messages.during("pruning", || bpe.prune(&usage, task.options.target))?;
    let file_options = file.file_options(pruned.ids(), messages);
    for (ending, content) in format.files(pruned.bpe(), &file_options)? {
        output.add(ending, content);
    }
    let ids = pruned.ids().clone();
    output.add(".ids.tsv", ids.to_tsv());
    let new = Tokenizer::from_pipeline(pruned.into_bpe(), TokenizerConfig::default());
    let counts = compare_lines((tokenizer, &new), &ids, task)?;
    let written = output.write()?;
    messages.say(&model_files::pieces_line(&ids));
    model_files::report_lines(messages, counts);
    messages.say(&format!("written: {written}"));
    Ok(())
}
