//! `spiece extend` of byte-level vocabularies.
//!
//! ```text
//! $ spiece extend testdata/bytes/gpt2.json --input=testdata/udhr.txt --pieces=100 --model_prefix=more
//! pieces: 400 before, 100 learned, 500 now
//! old ids: 400 unchanged
//! written: more.json, more.extension.tsv
//! ```

use std::num::NonZeroU16;

use clap::{Arg, ArgMatches};
use spiece::adapt::{ByteExtendOptions, ExtendedBytes};
use spiece::formats::ByteFileOptions;
use spiece::input::Document;
use spiece::train::InputFormat;
use spiece::{ByteBpe, PieceId, Tokenizer, TokenizerConfig};

use super::{TRAINING_FLAGS, corpus, pieces_like, report_counts, size};
use crate::args;
use crate::byte_files::{ByteFile, ByteFormat, SPECIAL_TOKENS, format_flag, refuse};
use crate::headings;
use crate::io::CliResult;
use crate::model_files::{self, OutputSet};
use crate::progress::{Messages, Progress};
use crate::train::superwords::{self, SUPERWORD_PATTERN};
use crate::training_flags::{jobs, stop_on_signal};

const MIN_FREQUENCY: &str = "min_frequency";
const MAX_TOKEN_LENGTH: &str = "max_token_length";

/// The flags that only byte-level vocabularies have.
pub(super) fn flags() -> [Arg; 5] {
    let flags = [
        args::value(
            MIN_FREQUENCY,
            "Merge only pairs that occur so often [default: 0]",
        )
        .value_name("N"),
        args::value(
            MAX_TOKEN_LENGTH,
            "Learned tokens have fewer bytes than this (two are always allowed) [default: no limit]",
        )
        .value_name("N"),
        args::value(SPECIAL_TOKENS, "Special tokens to add").value_name("A,B,..."),
        superwords::pattern_flag(
            "With --split_by_whitespace=false: how text is cut into the parts that no learned token crosses, which \
             becomes the pattern of the vocabulary [default: superbpe, which cuts out numbers and runs of symbols]",
        ),
        format_flag(),
    ];
    flags.map(|flag| flag.help_heading(headings::BYTE_LEVEL))
}

/// The flags that only byte-level vocabularies have, besides those of all subcommands.
pub(super) const FLAGS: [&str; 4] = [
    MIN_FREQUENCY,
    MAX_TOKEN_LENGTH,
    SPECIAL_TOKENS,
    SUPERWORD_PATTERN,
];

/// Extends the vocabulary, writes and reports.
pub(super) fn run(matches: &ArgMatches, messages: &Messages, file: &ByteFile) -> CliResult {
    let tokenizer = &file.tokenizer;
    let Some(bpe) = tokenizer.byte_bpe() else {
        return Ok(());
    };
    let mut options = options(matches, bpe)?;
    let format = ByteFormat::new(matches)?;
    // What the format cannot hold is known before learning.
    format.files(bpe, &ByteFileOptions::default())?;
    let corpus = corpus(matches, messages)?;
    let text = model_files::text(matches, messages)?;
    let endings = [format.endings(), &[".extension.tsv"]].concat();
    let mut output = OutputSet::new(matches, &endings)?;
    let progress = Progress::new(messages, stop_on_signal());
    options.observer = progress.observer();
    let extended = bpe.extend(corpus, &options);
    let summary = progress.finish();
    let extended = extended?;
    let file_options = file.file_options(extended.ids(), messages);
    for (ending, content) in format.files(extended.bpe(), &file_options)? {
        output.add(ending, content);
    }
    output.add(".extension.tsv", extended.to_tsv());
    let written = output.write()?;
    progress.summarize_input(&summary);
    let sizes = [bpe.vocab_size(), extended.bpe().vocab_size()];
    let learned = extended.tokens().len();
    report_counts(messages, (sizes[0], sizes[1], learned), extended.ids());
    let counts = text.map(|text| {
        let ids = extended.ids().clone();
        let new = Tokenizer::from_pipeline(
            ExtendedBytes::into_bpe(extended),
            TokenizerConfig::default(),
        );
        model_files::compare_encodings(&text, &ids, [tokenizer, &new], messages)
    });
    model_files::report_lines(messages, counts);
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// The options of the flags.
fn options(matches: &ArgMatches, bpe: &ByteBpe) -> CliResult<ByteExtendOptions> {
    let of_models = TRAINING_FLAGS
        .iter()
        .copied()
        .filter(|flag| !["input_format", "document", "split_by_whitespace"].contains(flag))
        .chain([
            "new_characters",
            "control_symbols",
            "control_symbols_file",
            "user_defined_symbols",
            "user_defined_symbols_file",
        ]);
    let of_models: Vec<&str> = of_models.collect();
    refuse(
        matches,
        &of_models,
        "is for models, and MODEL is a byte-level vocabulary",
    )?;
    let multiple = args::given_number(matches, "multiple_of")?;
    let (size, multiple_of) = size(matches, multiple)?;
    let mut options = ByteExtendOptions::new(size);
    options.multiple_of = multiple_of;
    options.min_frequency = args::given_number(matches, MIN_FREQUENCY)?.unwrap_or(0);
    options.max_token_length = args::given_number::<NonZeroU16>(matches, MAX_TOKEN_LENGTH)?;
    let special = bpe.special_tokens().iter();
    let special = special.map(|token| (PieceId::new(token.id), token.text.as_bytes()));
    options.reuse = pieces_like(special, matches)?;
    options.special_tokens = args::list(matches, SPECIAL_TOKENS)?;
    if args::is_given(matches, "split_by_whitespace")
        && !args::is_on(matches, "split_by_whitespace")?
    {
        options.superwords = Some(superwords::byte_superwords(matches)?);
    } else {
        let reason = "goes with --split_by_whitespace=false";
        refuse(matches, &["max_words", SUPERWORD_PATTERN], reason)?;
    }
    if let Some(name) = args::given(matches, "document") {
        let document = Document::from_name(name);
        let expected = "line, record or file";
        options.document = Some(document.ok_or_else(|| args::invalid("document", name, expected))?);
    }
    options.input_format = match args::given(matches, "input_format") {
        None | Some("" | "text") => InputFormat::Text,
        Some("tsv") => InputFormat::Tsv,
        Some(other) => return Err(args::invalid("input_format", other, "text or tsv")),
    };
    options.threads = jobs(matches)?;
    Ok(options)
}
