//! `spiece extend`: learns more pieces for a BPE model from a text.
//!
//! OUT.extension.tsv has the id, the text and the count of each learned piece, and the old ids that
//! it replaces.
//!
//! ```text
//! $ spiece extend testdata/golden/llama2.model --input=testdata/udhr.txt --pieces=1000 --model_prefix=more
//! pieces: 4,000 before, 1,000 learned, 5,000 now
//! old ids: 4,000 unchanged
//! written: more.model, more.vocab, more.extension.tsv
//! ```

use std::num::NonZeroUsize;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::args;
use super::byte_files;
use super::documents::{record_flags, set_record_flags};
use super::headings;
use super::io::{CliError, CliResult};
use super::list_files;
use super::model_files::{self, OutputSet, count};
use super::progress::{Messages, Progress};
use super::train::superwords;
use super::training_flags::{self, jobs, set_option, stop_on_signal};
use spiece::adapt::{ExtendError, ExtendOptions, ExtendSize, ExtendedModel, IdMap, NewCharacters};
use spiece::{Corpus, Model, PieceId, TrainFlags, TrainOptions};

mod bytes;

/// The training flags that apply to extension.
const TRAINING_FLAGS: &[&str] = &[
    "input_format",
    "document",
    "input_sentence_size",
    "shuffle_input_sentence",
    "max_sentence_length",
    "max_sentencepiece_length",
    "character_coverage",
    "split_by_unicode_script",
    "split_by_number",
    "split_by_whitespace",
    "split_digits",
    "allow_whitespace_only_pieces",
    "pretokenization_delimiter",
];

/// The command line: the model, the text, the number of pieces, the rules.
pub(crate) fn command() -> Command {
    let command = Command::new("extend")
        .about("Adds pieces to a BPE model that continued training learns from a text")
        .long_about(
            "Goes on with the training of a BPE model on another text: the pieces that training would learn next are added \
             after the model's own, whose ids and scores stay. No text gets a token boundary that it did not have before, \
             so there are never more tokens, and each new piece is reachable. Writes OUT.model, OUT.vocab and \
             OUT.extension.tsv: id, piece, the old ids that it replaces (to initialize its embedding with their mean), \
             count. The rules for pieces are those that the model was trained with, unless flags change them.\n\nMODEL can \
             be a byte-level vocabulary, as those of Llama 3, Qwen and GPT: tokenizer.json, .tiktoken, vocab.json beside \
             merges.txt, tekken.json or minbpe's .model. Its pattern cuts the text, and special tokens in the text are left \
             out. In place of OUT.model and OUT.vocab, the files of --format are written.\n\nExamples:\n  \
             spiece extend llama3.json --input=korean.txt --pieces=8000 --model_prefix=llama3-ko\n  spiece extend llama2.model --input=chinese.txt --pieces=8000 --model_prefix=llama2-zh\n  spiece extend my.model \
             --input=text.txt --vocab_size=64000 --split_by_whitespace=false --max_words=4 --model_prefix=superwords",
        )
        .arg(model_files::model_argument("MODEL", "The .model file of a BPE model, or a byte-level vocabulary"))
        .arg(model_files::prefix_flag())
        .args([
            args::file("input", "Files with the text to learn from; - is standard input").value_name("A,B,..."),
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
            superwords::max_words_flag("With --split_by_whitespace=false: the most words of a learned piece [default: 4]"),
            model_files::text_flag(),
            args::value("jobs", "Number of threads; the result does not depend on it [default: all cores]").value_name("N"),
        ])
        .next_help_heading(headings::SPECIAL_PIECES)
        .args([
            args::value("control_symbols", "Control pieces to add").value_name("A,B,..."),
            args::file("control_symbols_file", "File with more control pieces to add, one per line"),
            args::value("user_defined_symbols", "User-defined pieces to add").value_name("A,B,..."),
            args::file("user_defined_symbols_file", "File with more user-defined pieces to add, one per line"),
        ])
        .args(args::vocabulary_flags())
        .args(bytes::flags())
        .next_help_heading(None::<&str>)
        .args(record_flags().filter(|flag| flag.get_id() != "document"))
        .args(TRAINING_FLAGS.iter().filter_map(|name| training_flag(name)));
    args::with_common_flags(command)
}

/// A training flag. Its default is the value of the model, so the help shows no default.
fn training_flag(name: &str) -> Option<Arg> {
    TrainFlags::DESCRIPTORS
        .iter()
        .find(|option| option.name == name)
        .map(|option| headings::under_training_heading(args::flag_of(option)))
}

/// Extends the model, checks, writes and reports.
pub(crate) fn run(matches: &ArgMatches) -> CliResult {
    let messages = args::messages(matches)?;
    if let Some(file) = byte_files::open(matches, "MODEL")? {
        return bytes::run(matches, &messages, &file);
    }
    byte_files::refuse_for_model(matches, "MODEL", &bytes::FLAGS)?;
    let model = model_files::open_model(matches, "MODEL")?;
    let mut options = options(matches, &model)?;
    let corpus = corpus(matches, &messages)?;
    let text = model_files::text(matches, &messages)?;
    let mut output = OutputSet::new(matches, &[".model", ".vocab", ".extension.tsv"])?;
    let progress = Progress::new(&messages, stop_on_signal());
    options.observer = progress.observer();
    let extended = model.extend(corpus, &options);
    let summary = progress.finish();
    let extended = extended?;
    let models = [&model, extended.model()];
    let counts = model_files::compare_lines(text, extended.ids(), models, &messages);
    output.add_model(extended.model(), &messages);
    output.add(".extension.tsv", extended.to_tsv());
    let written = output.write()?;
    progress.summarize_input(&summary);
    report(&messages, &model, &extended);
    model_files::report_lines(&messages, counts);
    model_files::warn_of_older_releases(&messages, extended.model());
    messages.say(&format!("written: {written}"));
    Ok(())
}

/// The options of the flags.
fn options(matches: &ArgMatches, model: &Model) -> CliResult<ExtendOptions> {
    let multiple = args::given_number(matches, "multiple_of")?;
    let (size, multiple_of) = size(matches, multiple)?;
    let mut options = ExtendOptions::new(model, size);
    options.multiple_of = multiple_of;
    set_training_options(matches, &mut options.training)?;
    set_max_words(matches, &mut options.training)?;
    if let Some(characters) = new_characters(matches)? {
        options.characters = characters;
    }
    let pieces = (0..).map(PieceId::new).map_while(|id| model.piece(id));
    options.reuse = pieces_like(pieces.map(|piece| (piece.id, piece.text)), matches)?;
    options.control = texts(matches, "control_symbols")?;
    options.user_defined = texts(matches, "user_defined_symbols")?;
    options.threads = jobs(matches)?;
    Ok(options)
}

/// The number of pieces to learn, and the multiple to fill up to.
fn size(
    matches: &ArgMatches,
    multiple: Option<NonZeroUsize>,
) -> CliResult<(ExtendSize, Option<NonZeroUsize>)> {
    let pieces = args::given_number(matches, "pieces")?;
    let vocab_size = args::given_number(matches, "vocab_size")?;
    match (pieces, vocab_size, multiple) {
        (Some(_), Some(_), _) => Err(CliError::usage(
            "--pieces and --vocab_size exclude each other; give one of them",
        )),
        (Some(pieces), None, multiple) => Ok((ExtendSize::Learn(pieces), multiple)),
        (None, Some(size), multiple) => Ok((ExtendSize::Vocabulary(size), multiple)),
        (None, None, Some(multiple)) => Ok((ExtendSize::NextMultiple(multiple), None)),
        (None, None, None) => Err(CliError::usage(
            "--pieces, --vocab_size or --multiple_of is missing; one of them says how many pieces to learn",
        )),
    }
}

/// Sets the options of the training flags that are given.
fn set_training_options(matches: &ArgMatches, options: &mut TrainOptions) -> CliResult {
    let given = TRAINING_FLAGS.iter();
    let given = given.filter_map(|name| Some((*name, args::given(matches, name)?)));
    options.set_flags(given).map_err(args::invalid_option)
}

/// Sets the limits for superwords, if pieces may cross words.
fn set_max_words(matches: &ArgMatches, options: &mut TrainOptions) -> CliResult {
    if !options.split_by_whitespace {
        return superwords::cross_words(matches, options);
    }
    if args::is_given(matches, "max_words") {
        return Err(CliError::usage(
            "--max_words goes with --split_by_whitespace=false; otherwise no piece has two words",
        ));
    }
    Ok(())
}

/// The value of `--new_characters`; without it, `Coverage` if `--character_coverage` is given.
fn new_characters(matches: &ArgMatches) -> CliResult<Option<NewCharacters>> {
    let has_coverage = args::is_given(matches, "character_coverage");
    match args::given(matches, "new_characters") {
        None => Ok(has_coverage.then_some(NewCharacters::Coverage)),
        Some("gain") => Ok(Some(NewCharacters::ByGain)),
        Some("coverage") => Ok(Some(NewCharacters::Coverage)),
        Some("never") => Ok(Some(NewCharacters::Never)),
        Some(name) => Err(args::invalid(
            "new_characters",
            name,
            "gain, coverage or never",
        )),
    }
}

/// The pieces whose texts are like the patterns of `--reuse`.
fn pieces_like<'p>(
    pieces: impl Iterator<Item = (PieceId, &'p [u8])> + Clone,
    matches: &ArgMatches,
) -> CliResult<Vec<PieceId>> {
    let patterns = matches.get_many::<String>("reuse").unwrap_or_default();
    let mut ids = Vec::new();
    for pattern in patterns {
        let before = ids.len();
        let is_like = |text| str::from_utf8(text).is_ok_and(|text| is_like(text, pattern));
        let found = pieces.clone().filter(|(_, text)| is_like(text));
        ids.extend(found.map(|(id, _)| id));
        if ids.len() == before {
            return Err(CliError::Error(format!(
                "--reuse: no piece is like {pattern:?}; `spiece export-vocab` lists the pieces"
            )));
        }
    }
    Ok(ids)
}

/// Whether a text is like a pattern, in which `*` is any text and `?` any character.
fn is_like(text: &str, pattern: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    // For each position, whether the text before it is like the pattern so far.
    let mut ends = vec![false; text.len() + 1];
    ends[0] = true;
    for c in pattern.chars() {
        if c == '*' {
            (1..ends.len()).for_each(|end| ends[end] |= ends[end - 1]);
        } else {
            let is_equal = |end: usize| c == '?' || c == text[end - 1];
            let from_last = (1..ends.len()).rev();
            from_last.for_each(|end| ends[end] = ends[end - 1] && is_equal(end));
            ends[0] = false;
        }
    }
    ends[text.len()]
}

/// The texts of a list flag and of its file.
fn texts(matches: &ArgMatches, name: &'static str) -> CliResult<Vec<String>> {
    let mut flags = TrainFlags::default();
    if let Some(value) = args::given(matches, name) {
        set_option(&mut flags, name, value)?;
    }
    let mut texts = match name {
        "control_symbols" => flags.control_symbols,
        _ => flags.user_defined_symbols,
    };
    if let Some(path) = args::non_empty(matches, &format!("{name}_file")) {
        texts.extend(list_files::visible_symbols(path)?);
    }
    Ok(texts)
}

/// The corpus of `--input`.
fn corpus(matches: &ArgMatches, messages: &Messages) -> CliResult<Corpus<'static>> {
    let files = args::required(matches, "input", "it names the text to learn from")?;
    let mut flags = TrainFlags::default();
    set_option(&mut flags, "input", files)?;
    set_record_flags(matches, &mut flags)?;
    training_flags::corpus(&flags, messages)
}

/// Reports the numbers of old, added and learned pieces.
fn report(messages: &Messages, old: &Model, extended: &ExtendedModel) {
    let learned = extended.pieces().len();
    report_counts(
        messages,
        (old.len(), extended.model().len(), learned),
        extended.ids(),
    );
}

/// Reports the numbers of pieces before, now and learned.
fn report_counts(messages: &Messages, (before, now, learned): (usize, usize, usize), ids: &IdMap) {
    let [before, now] = [before, now].map(count);
    let added = match ids.added().count() - learned {
        0 => String::new(),
        special => format!("{} special pieces added, ", count(special)),
    };
    let learned = count(learned);
    messages.say(&format!(
        "pieces: {before} before, {added}{learned} learned, {now} now"
    ));
    let unchanged = count(ids.kept().count());
    let reused = match ids.removed().count() {
        0 => String::new(),
        reused => format!(", {} reused", count(reused)),
    };
    messages.say(&format!("old ids: {unchanged} unchanged{reused}"));
}

/// A model that cannot be extended is a failure of the operation.
impl From<ExtendError> for CliError {
    fn from(error: ExtendError) -> Self {
        match error {
            ExtendError::Train(error) => error.into(),
            ExtendError::PieceExists { .. } => {
                Self::Error(format!("{error} (`spiece edit --set_kind`)"))
            }
            ExtendError::PartOfCharacter { .. } => Self::Error(format!("{error} (--reuse)")),
            error => Self::Error(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn patterns_have_stars_and_question_marks() {
        let like = [
            ("", ""),
            ("", "**"),
            ("<unused12>", "<unused*>"),
            ("<unused12>", "<unused??>"),
            ("abcabd", "*ab?"),
            ("a\n.b", "a*.?"),
            ("\u{2581}\u{e9}", "\u{2581}?"),
            ("*", "?"),
        ];
        for (text, pattern) in like {
            assert!(is_like(text, pattern), "{text:?} {pattern:?}");
        }
        let unlike = [
            ("", "?"),
            ("ab", "a"),
            ("ab", "b"),
            ("a.b", "a?c"),
            ("abc", "*ab"),
            ("A", "a"),
            ("\u{e9}", "??"),
        ];
        for (text, pattern) in unlike {
            assert!(!is_like(text, pattern), "{text:?} {pattern:?}");
        }
    }
}
