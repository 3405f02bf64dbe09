//! Lines in, results out: the loop of the subcommands that process text line by line.
//!
//! Input: files or standard input. Output: what a subcommand makes of the lines, in the order of
//! the lines, whatever the number of threads. Method: each thread repeats three steps until the
//! input ends.
//!
//! 1. Read the next block of whole lines ([`input`](super::input); under a lock, one copy of the
//!    bytes).
//! 2. Convert the block to a result, with its own worker (no lock).
//! 3. Hand the result to the [`ordered`](super::ordered) output. Results that arrive early wait
//!    there. The thread that hands over the next result also writes it. If there are fewer threads
//!    than cores, one more thread writes all results.
//!
//! Blocks and results are recycled, so the loop allocates nothing once it is warm. Memory: a few
//! blocks and results for each thread. Cost besides the conversion: a copy of the input, a count of
//! its newlines and a copy of the output.
//!
//! Example with two threads on two cores and four blocks: thread A reads block 0, thread B reads
//! block 1 and finishes first; its result waits. A finishes block 0, writes results 0 and 1 and
//! reads block 3; B has meanwhile read block 2.
//!
//! ```text
//! $ printf '608 462\n281 439\n' | spiece decode --model=testdata/golden/llama2.model --input_format=id --num_threads=2
//! Hel
//! wor
//! ```

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::args;
use super::documents::Documents;
pub(crate) use super::input::Block;
use super::input::Input;
use super::io::{self, CliError, CliResult};
use super::ordered::{Ordered, ResultWriter};
use super::progress::{LineCount, Messages};
use spiece::output::OutputFile;

/// The number of cores that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// The highest number of threads, as in training.
const MAX_THREADS: usize = 1024;

/// Adds the flags that all subcommands on lines share: model, input, output, threads.
pub(crate) fn with_stream_flags(command: Command) -> Command {
    let command = command
        .args([args::model_flag(), input_flag(), args::output_flag()])
        .args([threads_flag().help(STREAM_THREADS_HELP), files_argument()]);
    args::with_common_flags(command)
}

/// The help of `--num_threads`, if results are written in order.
const STREAM_THREADS_HELP: &str = "Number of threads that work on lines; 0 is one for each core. If a core is left, one more thread writes";

fn input_flag() -> Arg {
    args::file("input", "Read this file; - is standard input")
}

/// The files that are given without a flag.
fn files_argument() -> Arg {
    Arg::new("files")
        .help("Files to read, unless --input is given; none is standard input")
        .action(ArgAction::Append)
        .value_parser(clap::value_parser!(PathBuf))
}

/// The flag for the number of threads.
pub(crate) fn threads_flag() -> Arg {
    let help = "Number of threads; 0 is one for each core";
    args::value("num_threads", help).default_value("0")
}

/// The number of threads for the value of [`threads_flag`]; 0 is one for each core.
pub(crate) fn thread_count(matches: &ArgMatches) -> CliResult<usize> {
    let asked: usize = args::number(matches, "num_threads")?;
    match asked {
        0 => Ok(cores()),
        1..=MAX_THREADS => Ok(asked),
        _ => Err(out_of_range(asked)),
    }
}

/// The error for more than [`MAX_THREADS`].
fn out_of_range(asked: usize) -> CliError {
    CliError::Usage(format!(
        "--num_threads: {asked} is out of range; use 0 to {MAX_THREADS}"
    ))
}

/// The output of a run.
pub(crate) type Output<'o> = dyn Write + Send + 'o;

/// How the blocks of the input become output.
///
/// A result is reused for another block, so [`convert`](Self::convert) replaces its former content.
pub(crate) trait Conversion: Sync {
    /// The state of one thread: an encoder, for example. Created by the thread that uses it.
    type Worker;
    /// What a block is converted to. `Default` is the result before its first use.
    type Result: Default + Send;

    /// A worker for one thread.
    fn worker(&self) -> CliResult<Self::Worker>;

    /// Converts one block. Called by all threads.
    fn convert(
        &self,
        worker: &mut Self::Worker,
        block: &Block,
        result: &mut Self::Result,
    ) -> CliResult;
}

/// The input, output and number of threads that the command line asks for.
pub(crate) struct Stream {
    /// The input files; none is standard input.
    files: Vec<PathBuf>,
    /// The output file; `None` is standard output.
    output: Option<PathBuf>,
    /// What a document is.
    documents: Documents,
    /// The number of threads, at least 1.
    threads: usize,
    /// Whether progress is reported.
    messages: Messages,
}

impl Stream {
    /// Reads the flags of [`with_stream_flags`]. An empty value means that the flag is not given,
    /// as in the reference.
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        let threads = thread_count(matches)?;
        Ok(Self {
            files: input_files(matches),
            output: args::output_file(matches).map(PathBuf::from),
            documents: Documents::new(matches)?,
            threads,
            messages: args::messages(matches)?,
        })
    }

    /// The file of the output; `None` is standard output.
    pub(crate) fn output_path(&self) -> Option<&Path> {
        self.output.as_deref()
    }

    /// The files of the input; none is standard input.
    pub(crate) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// What a document is.
    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The input from its beginning.
    pub(crate) fn open_input(&self) -> Input<'_> {
        Input::new(&self.files, &self.documents)
    }

    /// Writes a message.
    pub(crate) fn say(&self, message: &str) {
        self.messages.say(message);
    }

    /// The name of the input in reports.
    pub(crate) fn input_name(&self) -> String {
        if self.files.is_empty() {
            return "-".to_owned();
        }
        io::joined_names(&self.files)
    }

    /// Writes what `line` appends to its buffer for each line; its arguments are the worker, the
    /// number of the line (from 1), the line without its newline, and the buffer.
    pub(crate) fn run<W>(
        &self,
        worker: impl Fn() -> CliResult<W> + Sync,
        line: impl Fn(&mut W, u64, &[u8], &mut Vec<u8>) -> CliResult + Sync,
    ) -> CliResult {
        let conversion = LineByLine { worker, line };
        self.write_blocks(&conversion, Vec::as_slice)
    }

    /// Writes the text of the result of each block, in order.
    pub(crate) fn write_blocks<C: Conversion>(
        &self,
        conversion: &C,
        text: impl Fn(&C::Result) -> &[u8] + Sync,
    ) -> CliResult {
        self.with_output(|output| {
            self.convert(conversion, |result| write_at_once(output, text(result)))
        })
    }

    /// Combines the results of all blocks, in order, and writes what `write` makes of them.
    pub(crate) fn run_blocks<C: Conversion, S: Send>(
        &self,
        conversion: &C,
        mut state: S,
        add: impl Fn(&mut S, &mut C::Result) + Sync,
        write: impl FnOnce(S, &mut dyn Write) -> std::io::Result<()>,
    ) -> CliResult {
        self.with_output(|output| {
            self.convert(conversion, |result| {
                add(&mut state, result);
                Ok(())
            })?;
            write(state, output).map_err(output_error)
        })
    }

    /// Converts all blocks; `take` gets the results in order.
    fn convert<C: Conversion>(
        &self,
        conversion: &C,
        take: impl FnMut(&mut C::Result) -> CliResult + Send,
    ) -> CliResult {
        let input = Mutex::new(self.open_input());
        self.convert_input(&input, conversion, take)
    }

    /// Converts the blocks of `input`; `take` gets the results in order.
    pub(crate) fn convert_input<C: Conversion>(
        &self,
        input: &Mutex<Input<'_>>,
        conversion: &C,
        mut take: impl FnMut(&mut C::Result) -> CliResult + Send,
    ) -> CliResult {
        let mut lines = LineCount::new(&self.messages);
        let sink = |result: &mut C::Result, block_lines: u64| {
            take(result)?;
            lines.advance(block_lines);
            Ok(())
        };
        convert_in_order(input, self.threads, conversion, Box::new(sink))
    }

    /// Calls `write` with the output and completes the output if that succeeds.
    fn with_output(&self, write: impl FnOnce(&mut Output<'_>) -> CliResult) -> CliResult {
        with_output(self.output.as_deref(), write)
    }
}

/// Calls `write` with the file, which is replaced if that succeeds, or with standard output without
/// a file.
pub(crate) fn with_output(
    path: Option<&Path>,
    write: impl FnOnce(&mut Output<'_>) -> CliResult,
) -> CliResult {
    match path {
        Some(path) => write_file(path, write),
        None => write_standard_output(write),
    }
}

/// Calls `write` with a new file, which replaces the file `path` if that succeeds.
fn write_file(path: &Path, write: impl FnOnce(&mut Output<'_>) -> CliResult) -> CliResult {
    let mut file = OutputFile::create(path)?;
    write(&mut file)?;
    Ok(file.commit()?)
}

/// Calls `write` with standard output and flushes its buffer.
fn write_standard_output(write: impl FnOnce(&mut Output<'_>) -> CliResult) -> CliResult {
    let mut output = io::standard_output();
    write(&mut output)?;
    output.flush().map_err(CliError::standard_output)
}

/// Writes the result of a block. The caller of a co-process may write the next line only when it has
/// read the answer to this one, so nothing stays in a buffer.
pub(crate) fn write_at_once(output: &mut Output<'_>, bytes: &[u8]) -> CliResult {
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(output_error)
}

/// An error for writing results.
pub(crate) fn output_error(error: std::io::Error) -> CliError {
    CliError::write("the output", &error)
}

/// The file of `--input`, or the files that are given without a flag.
fn input_files(matches: &ArgMatches) -> Vec<PathBuf> {
    args::non_empty(matches, "input")
        .map_or_else(|| positional_files(matches), |file| vec![file.into()])
}

/// The files that are given without a flag.
fn positional_files(matches: &ArgMatches) -> Vec<PathBuf> {
    let files = matches.get_many("files").unwrap_or_default();
    files.cloned().collect()
}

/// A conversion of lines that do not depend on each other.
struct LineByLine<F, G> {
    /// Creates the worker of a thread.
    worker: F,
    /// Appends the output of one line.
    line: G,
}

impl<W, F, G> Conversion for LineByLine<F, G>
where
    F: Fn() -> CliResult<W> + Sync,
    G: Fn(&mut W, u64, &[u8], &mut Vec<u8>) -> CliResult + Sync,
{
    type Worker = W;
    type Result = Vec<u8>;

    fn worker(&self) -> CliResult<W> {
        (self.worker)()
    }

    fn convert(&self, worker: &mut W, block: &Block, out: &mut Vec<u8>) -> CliResult {
        out.clear();
        block.for_each_document(|number, line| (self.line)(worker, number, line, out))
    }
}

/// Converts the blocks of `input` on `threads` threads; `take` gets the results in order.
fn convert_in_order<C: Conversion>(
    input: &Mutex<Input<'_>>,
    threads: usize,
    conversion: &C,
    take: ResultWriter<'_, C::Result>,
) -> CliResult {
    let ordered = Ordered::new(take, threads);
    std::thread::scope(|scope| {
        if threads < cores() {
            // For 10 MB of English on one thread this saves 4 to 7 % of the time. If this thread
            // cannot be started, the others write.
            let _ = std::thread::Builder::new().spawn_scoped(scope, || ordered.pass_on_all());
        }
        convert_on_threads(input, &ordered, threads, conversion);
        ordered.complete();
    });
    ordered.finish()
}

/// Converts the blocks of `input` on `threads` threads, of which the caller's is one.
fn convert_on_threads<C: Conversion>(
    input: &Mutex<Input<'_>>,
    ordered: &Ordered<'_, C::Result>,
    threads: usize,
    conversion: &C,
) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let run = || convert_blocks(input, ordered, conversion);
            let started = std::thread::Builder::new().spawn_scoped(scope, run);
            if let Err(error) = started {
                ordered.stop(no_thread(&error));
                break;
            }
        }
        convert_blocks(input, ordered, conversion);
    });
}

/// The error if the operating system does not start a thread.
fn no_thread(error: &std::io::Error) -> CliError {
    CliError::Error(format!(
        "--num_threads: cannot start threads: {error}; use a lower number"
    ))
}

/// The work of one thread: reads, converts and hands over blocks until the input ends or the run is
/// stopped.
fn convert_blocks<C: Conversion>(
    input: &Mutex<Input<'_>>,
    ordered: &Ordered<'_, C::Result>,
    conversion: &C,
) {
    let _guard = ordered.stop_on_panic();
    let mut worker = match conversion.worker() {
        Ok(worker) => worker,
        Err(error) => return ordered.stop(error),
    };
    let mut block = Block::default();
    while let Some(mut result) = ordered.next_buffer() {
        let read = match input.lock() {
            Ok(mut input) => input.read_block(&mut block),
            // Another thread has panicked; the scope passes its panic on.
            Err(_) => return,
        };
        let converted = match read {
            Ok(false) => return,
            Ok(true) => conversion.convert(&mut worker, &block, &mut result),
            Err(error) => Err(error),
        };
        let lines = block.line_count();
        ordered.hand_over(block.index(), converted.map(|()| (result, lines)));
    }
}
