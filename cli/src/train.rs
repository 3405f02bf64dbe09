//! `spiece train`: `spm_train`'s flags, made from the table of options.
//!
//! Most flags are those of [`training_flags`](super::training_flags). Before training starts, the
//! program checks that PREFIX.model and PREFIX.vocab can be written; they are written at the end.
//!
//! Without `--model_type`, a BPE model is trained, and a note says so, because `spm_train` would
//! train a unigram model. Called as `spm_train`, the program also trains a unigram model, without a
//! note. `--jobs` is the number of threads; the model does not depend on it. For unigram models,
//! `--num_threads` is the number of partial sums, on which the model depends. With
//! `--input_format=counts`, the inputs are tables of `spiece count`. With `--like`, what is not given
//! is as in a trained model.
//!
//! ```text
//! $ printf 'low lower lowest\nnew newer newest\n' > text.txt
//! $ spiece train --quiet --input=text.txt --model_prefix=my --vocab_size=20
//! $ head -n 6 my.vocab
//! <unk>    0
//! <s>    0
//! </s>    0
//! we    -0
//! lo    -1
//! ne    -2
//! ```

pub(crate) mod bytes;
mod like;
mod like_pipeline;
pub(super) mod superwords;

use clap::{ArgMatches, Command};

use self::like::LikeFile;
use self::superwords::SuperwordStage;
use super::args;
use super::count_tables;
use super::headings;
use super::io::{CliError, CliResult};
use super::model_files::{OutputSet, warn_of_older_releases};
use super::progress::Progress;
use super::training_flags::{
    check_input_and_output, corpus, default_note, jobs, read_flags, read_flags_like,
    stop_on_signal, trainer, training_flags,
};

/// What is written if the command line does not choose a type of model.
const DEFAULT_TYPE_NOTE: &str = "note: training a BPE model, the default of spiece train; the default of spm_train is \
                                 unigram. Choose with --model_type=unigram or --model_type=bpe";

/// The flags of the shortest command line.
const EXAMPLE: &str = "--input=text.txt --model_prefix=my --vocab_size=8000";

/// The command line: a flag for each option, the files of lists, and retired flags, which have no
/// effect.
pub(crate) fn command() -> Command {
    let command = Command::new("train")
        .about("Trains a model: PREFIX.model and PREFIX.vocab, the bytes that spm_train writes")
        .long_about(
            "Trains a BPE, unigram, word or char model and writes PREFIX.model and PREFIX.vocab, the bytes that \
             spm_train 0.2.3 writes for the same flags.\n\nExample:\n  spiece train --model_type=bpe \
             --input=text.txt --model_prefix=my --vocab_size=32000 --byte_fallback --split_digits\n\nWith \
             --model_type=byte_bpe it trains byte-level BPE, with the tokens of the library tokenizers, rustbpe, minbpe or plain \
             implementations, and writes PREFIX.json or what --format says.\n\nExample:\n  spiece train --model_type=byte_bpe --pattern=gpt2 \
             --input=text.txt --model_prefix=my --vocab_size=32000 --special_tokens='<|endoftext|>'\n\nWith --like=FILE it trains \
             one like a given tokenizer: of a .model, with its options, rules and special pieces; of a tokenizer.json with BPE or \
             WordPiece, with all but its vocabulary, and the tokens of the trainers of the library tokenizers.\n\nExamples:\n  \
             spiece train --like=old.model --input=new.txt --model_prefix=new\n  spiece train --like=tokenizer.json --input=text.txt \
             --model_prefix=my --vocab_size=32000",
        )
        .args(training_flags())
        .arg(like::flag())
        .next_help_heading(headings::CUTTING)
        .args([
            args::value(
                superwords::SUPERWORD_FROM,
                "BPE and byte_bpe: learn so many pieces within words, and the rest of vocab_size across words, like ▁of▁the; reads the \
                 text twice. The file is no longer that of spm_train, which lacks this",
            )
            .value_name("N"),
            superwords::max_words_flag("With --superword_from: the most words of a piece [default: 4]"),
        ])
        .next_help_heading(headings::SELECTION)
        .arg(
            args::value(
                "min_word_count",
                "Leave out words that occur less often, after counting characters; needs less memory. The file is no longer \
                 that of spm_train, which lacks this",
            )
            .value_name("N"),
        )
        .args(bytes::flags())
        .args(like_pipeline::flags())
        .mut_arg("model_type", bytes::with_model_type);
    args::with_common_flags(command)
}

/// The command line with the default of `spm_train`: unigram models.
pub(crate) fn with_reference_defaults(command: Command) -> Command {
    command.mut_arg("model_type", |flag| {
        let help = flag.get_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        flag.default_value("unigram")
            .hide_default_value(true)
            .help(help.replace(&default_note("model_type"), " [default: unigram]"))
    })
}

/// Trains a model, writes both files, and reports a summary.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let template = LikeFile::open(matches)?;
    if let Some(LikeFile::Pipeline(pipeline)) = &template {
        return like_pipeline::run(pipeline, matches, &messages);
    }
    like_pipeline::refuse_own(matches)?;
    if bytes::is_wanted(matches)? {
        if template.is_some() {
            return Err(CliError::usage(
                "--like: a .model says nothing about byte-level BPE; leave --model_type=byte_bpe or --like out",
            ));
        }
        return bytes::run(matches, &messages);
    }
    let mut flags = match &template {
        Some(LikeFile::Model(model)) => read_flags_like(model, matches, &messages)?,
        Some(LikeFile::Pipeline(_)) | None => read_flags(matches, &messages)?,
    };
    let example = match &template {
        None => EXAMPLE.to_owned(),
        Some(_) => like::example(matches),
    };
    check_input_and_output(&flags, &example)?;
    let counts = messages.during("reading tables", || count_tables::counted_input(&mut flags))?;
    let superwords = SuperwordStage::new(matches, &mut flags)?;
    if counts.is_some() && superwords.is_some() {
        return Err(superwords::needs_text());
    }
    let stop = stop_on_signal();
    let progress = Progress::new(&messages, stop);
    let mut trainer = trainer(&flags, matches)?.with_observer(progress.observer());
    if let Some(count) = args::given_number(matches, "min_word_count")? {
        trainer = trainer.with_min_word_count(count)?;
    }
    let mut output = OutputSet::with_prefix(&flags.model_prefix, &[".model", ".vocab"])?;
    if template.is_none() && !args::is_given(matches, "model_type") {
        messages.say(DEFAULT_TYPE_NOTE);
    }
    let trained = match counts {
        Some(counts) => trainer.train_counts(counts),
        None => trainer.train(corpus(&flags, &messages)?),
    };
    let mut summary = progress.finish();
    let mut model = trained?;
    if let Some(stage) = superwords {
        let corpus = flags.corpus().map_err(args::invalid_option)?;
        let extended = stage.extend(&model, corpus, jobs(matches)?, progress.observer());
        progress.finish();
        model = extended?;
        summary.pieces = model.len();
    }
    output.add_model(&model, &messages);
    let name = output.first_name();
    let written = output.write()?;
    warn_of_older_releases(&messages, &model);
    progress.summarize(&summary, &written);
    progress.suggest(&name);
    Ok(())
}
