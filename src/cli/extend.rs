//! `spiece extend`: a BPE model learns further pieces from a text.
//!
//! Input: a BPE model, text files, how many pieces to learn. Output: OUT.model, OUT.vocab and OUT.extension.tsv (id, piece, the
//! old ids that it replaces, count). The guarantees are checked before the files are written. Cost: that of training on the
//! text.
//!
//! ```text
//! $ spiece extend testdata/golden/llama2.model --input=testdata/udhr.txt --pieces=1000 --model_prefix=more
//! pieces: 4,000 before, 1,000 learned, 5,000 now
//! old ids: 4,000 unchanged
//! unreachable pieces: 0
//! checked: 4,998 texts, 11,857 tokens before, 10,886 now; 3,750 without new pieces have the same ids
//! checked: 4,998 texts have no new boundary
//! written: more.model, more.vocab, more.extension.tsv
//! ```

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command};
use regex::Regex;

use super::args;
use super::documents::{json_field_flag, with_records};
use super::io::{CliError, CliResult};
use super::model_files::{self, OutputSet, count, listed_pieces};
use super::progress::{Messages, Progress};
use super::train::{jobs, stop_on_signal, superwords};
use crate::{
    Corpus, ExtendCheck, ExtendError, ExtendOptions, ExtendSize, ExtendedModel, Model,
    NewCharacters, OptionKind, PieceId, TrainFlags, TrainOptions,
};

/// Takes one option over from other options.
type TakeOver = fn(&mut TrainOptions, &TrainOptions);

/// The flags of training that apply, and how an option is taken over.
const TRAINING_FLAGS: &[(&str, TakeOver)] = &[
    ("input_format", |to, from| {
        to.input_format = from.input_format
    }),
    ("input_sentence_size", |to, from| {
        to.sentences = from.sentences
    }),
    ("shuffle_input_sentence", |to, from| {
        to.sentences = from.sentences
    }),
    ("max_sentence_length", |to, from| {
        to.max_sentence_length = from.max_sentence_length;
    }),
    ("max_sentencepiece_length", |to, from| {
        to.max_sentencepiece_length = from.max_sentencepiece_length;
    }),
    ("character_coverage", |to, from| {
        to.character_coverage = from.character_coverage;
    }),
    ("split_by_unicode_script", |to, from| {
        to.split_by_unicode_script = from.split_by_unicode_script;
    }),
    ("split_by_number", |to, from| {
        to.split_by_number = from.split_by_number
    }),
    ("split_by_whitespace", |to, from| {
        to.split_by_whitespace = from.split_by_whitespace;
    }),
    ("split_digits", |to, from| {
        to.split_digits = from.split_digits
    }),
    ("allow_whitespace_only_pieces", |to, from| {
        to.allow_whitespace_only_pieces = from.allow_whitespace_only_pieces;
    }),
    ("pretokenization_delimiter", |to, from| {
        to.pretokenization_delimiter
            .clone_from(&from.pretokenization_delimiter);
    }),
];

/// The command line: the model, the text, the number of pieces, the rules.
pub(crate) fn command() -> Command {
    let command = Command::new("extend")
        .about("Adds pieces to a BPE model that continued training learns from a text")
        .long_about(
            "Goes on with the training of a BPE model on another text: the pieces that training would learn next are added \
             behind the model's own, whose ids and scores stay. No text gets a token boundary that it did not have before, \
             so there are never more tokens, and each new piece is reachable. Writes OUT.model, OUT.vocab and \
             OUT.extension.tsv: id, piece, the old ids that it replaces (to initialize its embedding with their mean), \
             count. The rules for pieces are those that the model was trained with, unless flags change them.\n\nExamples:\n  \
             spiece extend llama2.model --input=chinese.txt --pieces=8000 --model_prefix=llama2-zh\n  spiece extend my.model \
             --input=text.txt --vocab_size=64000 --split_by_whitespace=false --max_words=4 --model_prefix=superwords",
        )
        .arg(model_files::model_argument("MODEL", "The .model file of a BPE model"))
        .arg(model_files::prefix_flag())
        .args([
            args::value("input", "Files with the text to learn from; - is standard input").value_name("A,B,..."),
            json_field_flag(),
            args::value("pieces", "Learn so many pieces").value_name("N"),
            args::value("vocab_size", "Learn as many pieces as make a vocabulary of this size").value_name("N"),
            args::value(
                "multiple_of",
                "With one of the above: fill up with control pieces <reserved_0>, ... to a multiple of N. Alone: learn as many \
                 pieces as make the size the next multiple of N",
            )
            .value_name("N"),
            args::value(
                "new_characters",
                "How characters that the model lacks become pieces: gain (when a character saves as many tokens as the next \
                 merge), coverage (by --character_coverage, before all merges), never [default: gain for models with byte \
                 fallback, else coverage]",
            ),
            args::value("reuse", "Learned pieces take the ids of control, unused and user-defined pieces with texts like this \
                 first; * is any text, ? any character; may be given several times")
                .value_name("PATTERN")
                .action(ArgAction::Append),
            args::value("control_symbols", "Control pieces to add").value_name("A,B,..."),
            args::value("user_defined_symbols", "User-defined pieces to add").value_name("A,B,..."),
            superwords::max_words_flag("With --split_by_whitespace=false: the most words of a piece [default: 4]"),
            args::value("text", "Lines to check the new model with, besides the texts of its pieces").value_name("FILE"),
            args::value("jobs", "Number of threads; the result does not depend on it [default: all cores]").value_name("N"),
        ])
        .args(TRAINING_FLAGS.iter().filter_map(|(name, _)| training_flag(name)));
    args::with_common_flags(command)
}

/// A flag of training; its default is the model's.
fn training_flag(name: &str) -> Option<Arg> {
    let option = TrainFlags::DESCRIPTORS
        .iter()
        .find(|option| option.name == name)?;
    Some(match option.kind {
        OptionKind::Flag => args::switch(option.name, option.help),
        _ => args::value(option.name, option.help).value_name("VALUE"),
    })
}

/// Extends the model, checks, writes and reports.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    let model = model_files::open_model(matches, "MODEL")?;
    let options = options(matches, &model)?;
    let files = input_files(matches)?;
    let mut output = OutputSet::new(matches, &[".model", ".vocab", ".extension.tsv"])?;
    let text = model_files::text_of_flag(matches, "text")?;
    let mut progress = Progress::new(&messages, stop_on_signal());
    let corpus = with_records(Corpus::files(files), matches)?;
    let extended = model.extend_observed(corpus, &options, &mut progress);
    progress.finish();
    let extended = extended?;
    let check = extended.check(&model, model_files::lines(&text))?;
    output.add_model(extended.model());
    output.add(".extension.tsv", extended.to_tsv());
    let written = output.write()?;
    progress.summarize_input(extended.summary());
    report(&messages, &model, &extended);
    report_check(&messages, &extended, &check);
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// The options of the flags.
fn options(matches: &ArgMatches, model: &Model) -> CliResult<ExtendOptions> {
    let multiple = number_of(matches, "multiple_of")?;
    let (size, multiple_of) = size(matches, multiple)?;
    let mut options = ExtendOptions::new(model, size);
    options.multiple_of = multiple_of;
    set_training_options(matches, &mut options.training)?;
    set_max_words(matches, &mut options.training)?;
    if let Some(characters) = new_characters(matches)? {
        options.characters = characters;
    }
    options.reuse = pieces_like(model, matches)?;
    options.control = texts(matches, "control_symbols")?;
    options.user_defined = texts(matches, "user_defined_symbols")?;
    options.threads = jobs(matches)?;
    Ok(options)
}

/// How many pieces to learn, and the multiple to fill up to.
fn size(
    matches: &ArgMatches,
    multiple: Option<NonZeroUsize>,
) -> CliResult<(ExtendSize, Option<NonZeroUsize>)> {
    let pieces = args::given(matches, "pieces").map(|_| args::number(matches, "pieces"));
    let vocab_size =
        args::given(matches, "vocab_size").map(|_| args::number(matches, "vocab_size"));
    let usage = |message: &str| Err(CliError::Usage(message.to_owned()));
    match (pieces.transpose()?, vocab_size.transpose()?, multiple) {
        (Some(_), Some(_), _) => {
            usage("--pieces and --vocab_size exclude each other; give one of them")
        }
        (Some(pieces), None, multiple) => Ok((ExtendSize::Learn(pieces), multiple)),
        (None, Some(size), multiple) => Ok((ExtendSize::Vocabulary(size), multiple)),
        (None, None, Some(multiple)) => Ok((ExtendSize::NextMultiple(multiple), None)),
        (None, None, None) => usage(
            "--pieces, --vocab_size or --multiple_of is missing; one of them says how many pieces to learn",
        ),
    }
}

/// The value of a flag that is a number above 0, if it is given.
fn number_of(matches: &ArgMatches, name: &str) -> CliResult<Option<NonZeroUsize>> {
    let given = args::given(matches, name).map(|_| args::number::<NonZeroUsize>(matches, name));
    given.transpose()
}

/// Takes over the flags of training that are given.
fn set_training_options(matches: &ArgMatches, options: &mut TrainOptions) -> CliResult {
    let mut flags = TrainFlags::default();
    let is_given = |(name, _): &&(&str, _)| args::given(matches, name).is_some();
    let given: Vec<_> = TRAINING_FLAGS.iter().filter(is_given).collect();
    for (name, _) in &given {
        let value = args::given(matches, name).unwrap_or_default();
        flags
            .set(name, value)
            .map_err(|error| CliError::Usage(format!("--{error}")))?;
    }
    let from = flags
        .options()
        .map_err(|error| CliError::Usage(format!("--{error}")))?;
    for (_, take_over) in given {
        take_over(options, &from);
    }
    Ok(())
}

/// Sets the limits of superwords, if pieces may cross words.
fn set_max_words(matches: &ArgMatches, options: &mut TrainOptions) -> CliResult {
    if !options.split_by_whitespace {
        return superwords::cross_words(matches, options);
    }
    match args::given(matches, "max_words") {
        None => Ok(()),
        Some(_) => Err(CliError::Usage(
            "--max_words goes with --split_by_whitespace=false; otherwise no piece has two words"
                .to_owned(),
        )),
    }
}

/// The value of `--new_characters`, or the coverage if that is given.
fn new_characters(matches: &ArgMatches) -> CliResult<Option<NewCharacters>> {
    match args::given(matches, "new_characters") {
        Some("gain") => Ok(Some(NewCharacters::ByGain)),
        Some("coverage") => Ok(Some(NewCharacters::Coverage)),
        Some("never") => Ok(Some(NewCharacters::Never)),
        Some(other) => Err(args::invalid(
            "new_characters",
            other,
            "gain, coverage or never",
        )),
        None => Ok(args::given(matches, "character_coverage").map(|_| NewCharacters::Coverage)),
    }
}

/// The pieces whose texts are like the patterns of `--reuse`.
fn pieces_like(model: &Model, matches: &ArgMatches) -> CliResult<Vec<PieceId>> {
    let patterns = matches.get_many::<String>("reuse").unwrap_or_default();
    let mut ids = Vec::new();
    for pattern in patterns {
        let expression = regex::escape(pattern)
            .replace(r"\*", ".*")
            .replace(r"\?", ".");
        let expression = Regex::new(&format!("(?s)^(?:{expression})$"));
        let expression = expression.map_err(|_| too_long(pattern))?;
        let is_like =
            |text: &[u8]| str::from_utf8(text).is_ok_and(|text| expression.is_match(text));
        let like = model.pieces().filter(|piece| is_like(piece.text));
        let before = ids.len();
        ids.extend(like.map(|piece| piece.id));
        if ids.len() == before {
            return Err(CliError::Error(format!(
                "--reuse: no piece is like {pattern:?}; `spiece export-vocab` lists the pieces"
            )));
        }
    }
    Ok(ids)
}

fn too_long(pattern: &str) -> CliError {
    CliError::Usage(format!(
        "--reuse: {pattern:?} is too long; use a shorter pattern"
    ))
}

/// The texts of a list flag.
fn texts(matches: &ArgMatches, name: &'static str) -> CliResult<Vec<String>> {
    let mut flags = TrainFlags::default();
    if let Some(value) = args::given(matches, name) {
        flags
            .set(name, value)
            .map_err(|error| CliError::Usage(format!("--{error}")))?;
    }
    Ok(match name {
        "control_symbols" => flags.control_symbols,
        _ => flags.user_defined_symbols,
    })
}

/// The files of `--input`.
fn input_files(matches: &ArgMatches) -> CliResult<Vec<PathBuf>> {
    let missing =
        || CliError::Usage("--input is missing; it names the text to learn from".to_owned());
    let files = args::non_empty(matches, "input").ok_or_else(missing)?;
    Ok(files.split(',').map(PathBuf::from).collect())
}

/// Writes what became of the pieces.
fn report(messages: &Messages, old: &Model, extended: &ExtendedModel) {
    let model = extended.model();
    let learned = extended.pieces().len();
    let other = extended.ids().added().count() - learned;
    let other = if other > 0 {
        format!("{} special pieces added, ", count(other))
    } else {
        String::new()
    };
    messages.say(&format!(
        "pieces: {} before, {other}{} learned, {} now",
        count(old.len()),
        count(learned),
        count(model.len())
    ));
    let reused = extended.ids().removed().count();
    let reused = if reused > 0 {
        format!(", {} reused", count(reused))
    } else {
        String::new()
    };
    messages.say(&format!(
        "old ids: {} unchanged{reused}",
        count(extended.ids().kept().count())
    ));
}

/// Writes which guarantees were checked.
fn report_check(messages: &Messages, extended: &ExtendedModel, check: &ExtendCheck) {
    let unreachable = check.unreachable.iter();
    let pieces = unreachable.filter_map(|id| extended.model().piece(*id));
    let list = listed_pieces(pieces);
    let separator = if list.is_empty() { "" } else { ", as before: " };
    messages.say(&format!(
        "unreachable pieces: {}{separator}{list}",
        count(check.unreachable.len())
    ));
    model_files::report_boundaries(messages, &check.texts, ["before", "new"]);
}

/// Models that cannot be extended are a failure of the operation.
impl From<ExtendError> for CliError {
    fn from(error: ExtendError) -> Self {
        match error {
            ExtendError::Train(error) => error.into(),
            error => Self::Error(error.to_string()),
        }
    }
}
