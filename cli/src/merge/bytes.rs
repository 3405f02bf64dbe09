//! `spiece merge` of byte-level vocabularies.
//!
//! ```text
//! $ spiece merge testdata/bytes/gpt2.json testdata/bytes/llama3.json --force --model_prefix=both
//! pieces: 400 of A, 10 of B added, 410 together
//! old ids: 400 unchanged
//! unreachable pieces of B: 0
//! written: both.json
//! ```

use clap::ArgMatches;
use spiece::adapt::MergeOptions;
use spiece::{ByteBpe, PieceId, Tokenizer, TokenizerConfig};

use super::say_list;
use crate::byte_files::{ByteFile, ByteFormat};
use crate::io::{CliError, CliResult};
use crate::model_files::{self, OutputSet, count, listed};
use crate::progress::Messages;

/// Merges the vocabularies, writes and reports.
pub(super) fn run(
    matches: &ArgMatches,
    messages: &Messages,
    (file, second): (&ByteFile, Option<&ByteFile>),
    options: &MergeOptions,
) -> CliResult {
    let first = &file.tokenizer;
    let second = second.and_then(|file| file.tokenizer.byte_bpe());
    let (Some(a), Some(b)) = (first.byte_bpe(), second) else {
        return Err(CliError::Error(
            "A is a byte-level vocabulary and B is a model; merge two of one kind".to_owned(),
        ));
    };
    let format = ByteFormat::new(matches)?;
    let text = model_files::text(matches, messages)?;
    let mut output = OutputSet::new(matches, format.endings())?;
    let merged = messages.during("merging", || a.merge(b, options))?;
    let file_options = file.file_options(merged.ids(), messages);
    for (ending, content) in format.files(merged.bpe(), &file_options)? {
        output.add(ending, content);
    }
    let written = output.write()?;
    let (before, now) = (a.vocab_size(), merged.bpe().vocab_size());
    messages.say(&format!(
        "pieces: {} of A, {} of B added, {} together",
        count(before),
        count(now - before),
        count(now)
    ));
    messages.say(&format!("old ids: {} unchanged", count(before)));
    let texts = texts(merged.bpe(), merged.unreachable());
    let number = merged.unreachable().len();
    say_list(messages, "unreachable pieces of B", number, texts);
    if merged.dropped().next().is_some() {
        let what = "not added, because no text would give them";
        let texts = listed(merged.dropped());
        say_list(messages, what, merged.dropped().count(), texts);
    }
    let counts = text.map(|text| {
        let ids = merged.ids().clone();
        let new = Tokenizer::from_pipeline(merged.into_bpe(), TokenizerConfig::default());
        model_files::compare_encodings(&text, &ids, [first, &new], messages)
    });
    model_files::report_lines(messages, counts);
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// The texts of these tokens as a list.
fn texts(bpe: &ByteBpe, ids: &[PieceId]) -> String {
    listed(ids.iter().filter_map(|id| bpe.id_to_bytes(*id)))
}
