//! Lines in, results out: the loop of the subcommands that process text line by line.
//!
//! One thread reads [blocks](super::input) of whole lines, `--num_threads` threads map them to
//! results, and the caller's thread takes the results in the order of the blocks. Blocks and
//! results are used again, so that nothing is allocated once the loop is warm, and reading does not
//! run ahead of writing.
//!
//! ```text
//! $ printf '608 462\n281 439\n' | spiece decode --model=testdata/golden/llama2.model --input_format=id --num_threads=2
//! Hel
//! wor
//! ```

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::args;
use super::documents::DocumentRules;
pub(crate) use super::input::Block;
use super::input::{Input, SharedInput};
use super::io::{self, CliError, CliResult};
use super::progress::{LineCount, LineRun, Messages};
use spiece::output::OutputFile;

/// The highest number of threads, as in training.
const MAX_THREADS: usize = 1024;

/// Adds the flags that all subcommands on lines share: model, input, output, threads.
pub(crate) fn with_stream_flags(command: Command) -> Command {
    let command = command
        .args(args::tokenizer_flags())
        .args([
            args::file("input", "Read this file; - is standard input"),
            args::output_flag(),
        ])
        .args([threads_flag().help(STREAM_THREADS_HELP), files_argument()]);
    args::with_common_flags(command)
}

/// The help of `--num_threads`, if results are written in order.
const STREAM_THREADS_HELP: &str = "Number of threads that work on lines; 0 is one for each core. Reading and writing have threads of their own";

/// The files that are given without a flag.
fn files_argument() -> Arg {
    Arg::new("files")
        .value_name("FILE")
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
        0 => Ok(thread::available_parallelism().map_or(1, NonZeroUsize::get)),
        1..=MAX_THREADS => Ok(asked),
        _ => Err(CliError::Usage(format!(
            "--num_threads: {asked} is out of range; use 0 to {MAX_THREADS}"
        ))),
    }
}

/// How lines are read and given to threads.
pub(crate) struct Lines {
    documents: Arc<DocumentRules>,
    /// At least 1.
    threads: usize,
    messages: Messages,
    /// The messages of a bar, which a second reading of the input has, too.
    progress: Messages,
    /// Whether results appear at the terminal that would show a bar.
    shares_terminal: bool,
}

/// What arrives at the thread that puts results in order.
enum StreamEvent<R> {
    /// The next block; `None` at the end of the input.
    Read(CliResult<Option<Block>>),
    /// The block with this number and its result.
    Mapped(u64, CliResult<(Block, R)>),
}

/// A block with its number, and the result to be replaced.
type Job<R> = (u64, Block, R);

impl Lines {
    /// Reads the flags of a subcommand, [`threads_flag`] among them.
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        let messages = args::messages(matches)?;
        Ok(Self {
            documents: Arc::new(DocumentRules::new(matches)?),
            threads: thread_count(matches)?,
            messages,
            progress: messages,
            shares_terminal: false,
        })
    }

    /// The same for files that are read again: without the notes and warnings on them.
    pub(crate) fn again(&self) -> Self {
        Self {
            documents: Arc::clone(&self.documents),
            messages: Messages::new(true),
            ..*self
        }
    }

    /// The same for results that are printed one after the other, unless there is a file for them.
    fn printing(&self, has_file: bool) -> Self {
        Self {
            documents: Arc::clone(&self.documents),
            shares_terminal: !has_file && std::io::stdout().is_terminal(),
            ..*self
        }
    }

    /// The documents of the files from the beginning; of standard input if there are no files.
    pub(crate) fn open(&self, files: &[PathBuf]) -> SharedInput {
        let input = Input::new(files.to_vec(), &self.documents, &self.messages);
        Arc::new(Mutex::new(input))
    }

    /// Maps the blocks of the input. `make` makes the state of one thread, an encoder for example.
    /// `map` replaces the content of a result, which may be that of another block. `take` gets the
    /// results in the order of the blocks. Returns the states.
    ///
    /// The functions are called once for a block, so that they need not be compiled into the loop,
    /// which would be compiled again for each subcommand.
    pub(crate) fn map<W: Send, R: Default + Send + 'static>(
        &self,
        input: &SharedInput,
        make: &dyn Fn() -> CliResult<W>,
        map: &(dyn Fn(&mut W, &Block, &mut R) -> CliResult + Sync),
        take: &mut dyn FnMut(&mut R) -> CliResult,
    ) -> CliResult<Vec<W>> {
        let workers = (0..self.threads).map(|_| make());
        let workers = workers.collect::<CliResult<Vec<W>>>()?;
        let (events, arrivals) = channel();
        let mut run = input.lock().unwrap_or_else(PoisonError::into_inner).run();
        run.shares_terminal |= self.shares_terminal;
        let empty = start_reading(input, events.clone())?;
        // One block for each thread, one that is read meanwhile, and one that is written.
        for _ in 0..2 * self.threads + 1 {
            let _ = empty.send(Block::default());
        }
        let (jobs, queue) = channel();
        let queue = Mutex::new(queue);
        thread::scope(|scope| {
            let start = |worker| {
                let (queue, events) = (&queue, events.clone());
                let run = move || map_blocks(worker, queue, &events, map);
                thread::Builder::new().spawn_scoped(scope, run)
            };
            let threads = workers.into_iter().map(start);
            let threads = threads.collect::<Result<Vec<_>, _>>().map_err(no_thread)?;
            // Dropping `jobs`, which this call does, ends the threads.
            self.take_in_order(run, &empty, jobs, arrivals, take)?;
            self.documents.report_skipped(&self.messages);
            let workers = threads.into_iter().map(thread::ScopedJoinHandle::join);
            workers.collect::<Result<_, _>>().map_err(|_| panicked())
        })
    }

    /// Gives each block that was read to the threads, and each result to `take`.
    fn take_in_order<R: Default>(
        &self,
        run: LineRun,
        empty: &Sender<Block>,
        jobs: Sender<Job<R>>,
        arrivals: Receiver<StreamEvent<R>>,
        take: &mut dyn FnMut(&mut R) -> CliResult,
    ) -> CliResult {
        let mut lines = LineCount::new(&self.progress, run);
        let mut waiting = BTreeMap::new();
        let mut spare = Vec::new();
        let (mut read, mut taken) = (0, 0);
        let mut end = None;
        for event in arrivals {
            match event {
                StreamEvent::Read(Ok(None)) => end = Some(read),
                StreamEvent::Read(Ok(Some(block))) => {
                    let _ = jobs.send((read, block, spare.pop().unwrap_or_default()));
                    read += 1;
                }
                // The results before the error are taken first.
                StreamEvent::Read(Err(error)) => drop(waiting.insert(read, Err(error))),
                StreamEvent::Mapped(number, mapped) => drop(waiting.insert(number, mapped)),
            }
            while let Some(mapped) = waiting.remove(&taken) {
                let (block, mut result) = mapped?;
                take(&mut result)?;
                lines.advance(block.line_count(), block.byte_count());
                taken += 1;
                spare.push(result);
                let _ = empty.send(block);
            }
            if end == Some(taken) {
                break;
            }
        }
        Ok(())
    }

    /// Gives each line of the files, with its number from 1, to one of the workers that `make`
    /// makes, in any order. Returns the workers.
    pub(crate) fn give<W: Send>(
        &self,
        files: &[PathBuf],
        make: impl Fn() -> CliResult<W>,
        give: impl Fn(&mut W, u64, &[u8]) -> CliResult + Sync,
    ) -> CliResult<Vec<W>> {
        let map = |worker: &mut W, block: &Block, (): &mut ()| {
            block.for_each_document(|number, line| give(worker, number, line))
        };
        self.map(&self.open(files), &make, &map, &mut |()| Ok(()))
    }

    /// One value from all lines of the files: each thread fills a part, and the parts are merged.
    /// Lines are numbered from 1 through all files. `after_file` gets the merged part after each
    /// file.
    pub(crate) fn gather<G: Gathering>(
        &self,
        files: &[PathBuf],
        gathering: &G,
        mut after_file: impl FnMut(&Path, &G::Part),
    ) -> CliResult<G::Part> {
        let mut merged = gathering.part();
        for file in files {
            let lines_before = gathering.lines(&merged);
            let add = |part: &mut G::Part, number: u64, line: &[u8]| {
                gathering.add(part, lines_before + number, line);
                Ok(())
            };
            let file_alone = std::slice::from_ref(file);
            for part in self.give(file_alone, || Ok(gathering.part()), add)? {
                gathering.merge(&mut merged, part);
            }
            after_file(file, &merged);
        }
        Ok(merged)
    }
}

/// Reads blocks into those that are sent, on a thread that no one waits for: it may still wait for
/// input when an error ends the run.
fn start_reading<R: Send + 'static>(
    input: &SharedInput,
    events: Sender<StreamEvent<R>>,
) -> CliResult<Sender<Block>> {
    let (empty, blocks) = channel::<Block>();
    let input = Arc::clone(input);
    let read_all = move || {
        let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
        for mut block in blocks {
            let read = input.read_block(&mut block);
            let read = read.map(|is_read| is_read.then_some(block));
            let is_last = !matches!(read, Ok(Some(_)));
            if events.send(StreamEvent::Read(read)).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new().spawn(read_all).map_err(no_thread)?;
    Ok(empty)
}

/// Maps blocks until there are no more jobs, or no one wants the results.
fn map_blocks<W, R>(
    mut worker: W,
    jobs: &Mutex<Receiver<Job<R>>>,
    events: &Sender<StreamEvent<R>>,
    map: &dyn Fn(&mut W, &Block, &mut R) -> CliResult,
) -> W {
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((number, block, mut result)) = job else {
            return worker;
        };
        // Without its result, the other thread would wait for ever.
        let mapped = catch_unwind(AssertUnwindSafe(|| map(&mut worker, &block, &mut result)));
        let mapped = mapped.unwrap_or_else(|_| Err(panicked()));
        let mapped = mapped.map(|()| (block, result));
        if events.send(StreamEvent::Mapped(number, mapped)).is_err() {
            return worker;
        }
    }
}

/// The error if the operating system does not start a thread.
fn no_thread(error: std::io::Error) -> CliError {
    CliError::Error(format!(
        "--num_threads: cannot start threads: {error}; use a lower number"
    ))
}

fn panicked() -> CliError {
    CliError::failure("a thread panicked; this is a bug of spiece")
}

/// How lines become one value. Which part gets a line, and the order of merging, must not matter.
pub(crate) trait Gathering: Sync {
    /// The value of all or some of the lines.
    type Part: Send;

    /// A part without lines.
    fn part(&self) -> Self::Part;

    /// Adds a line to a part.
    fn add(&self, part: &mut Self::Part, number: u64, line: &[u8]);

    /// Adds the lines of `other` to `part`.
    fn merge(&self, part: &mut Self::Part, other: Self::Part);

    /// The number of lines in a part.
    fn lines(&self, part: &Self::Part) -> u64;
}

/// The input, output and number of threads that the command line asks for.
pub(crate) struct Stream {
    /// None is standard input.
    files: Vec<PathBuf>,
    /// `None` is standard output.
    output: Option<PathBuf>,
    pub(crate) lines: Lines,
}

impl Stream {
    /// Reads the flags of [`with_stream_flags`]. An empty value means that the flag is not given,
    /// as in the reference.
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        let files = match args::non_empty(matches, "input") {
            Some(file) => vec![file.into()],
            None => matches
                .get_many("files")
                .unwrap_or_default()
                .cloned()
                .collect(),
        };
        Ok(Self {
            files,
            output: args::output_file(matches).map(PathBuf::from),
            lines: Lines::new(matches)?,
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
    pub(crate) fn documents(&self) -> &DocumentRules {
        &self.lines.documents
    }

    /// The input from its beginning.
    pub(crate) fn open_input(&self) -> SharedInput {
        self.lines.open(&self.files)
    }

    /// Writes a message.
    pub(crate) fn say(&self, message: &str) {
        self.lines.messages.say(message);
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
    pub(crate) fn run<W: Send>(
        &self,
        make: impl Fn() -> CliResult<W>,
        line: impl Fn(&mut W, u64, &[u8], &mut Vec<u8>) -> CliResult + Sync,
    ) -> CliResult {
        self.run_blocks(make, |worker, block, out| {
            block.for_each_document(|number, text| line(worker, number, text, out))
        })
    }

    /// Writes what `append` appends to its buffer for each block.
    pub(crate) fn run_blocks<W: Send>(
        &self,
        make: impl Fn() -> CliResult<W>,
        append: impl Fn(&mut W, &Block, &mut Vec<u8>) -> CliResult + Sync,
    ) -> CliResult {
        let map = |worker: &mut W, block: &Block, out: &mut Vec<u8>| {
            out.clear();
            append(worker, block, out)
        };
        self.with_output(|output| {
            let mut write = |result: &mut Vec<u8>| write_at_once(output, result);
            let lines = self.lines.printing(self.output.is_some());
            let workers = lines.map(&self.open_input(), &make, &map, &mut write);
            workers.map(drop)
        })
    }

    /// Calls `write` with the output and completes the output if that succeeds.
    pub(crate) fn with_output(&self, write: impl FnOnce(&mut dyn Write) -> CliResult) -> CliResult {
        with_output(self.output.as_deref(), write)
    }
}

/// Calls `write` with the file, which is replaced if that succeeds, or with standard output without
/// a file.
pub(crate) fn with_output(
    path: Option<&Path>,
    write: impl FnOnce(&mut dyn Write) -> CliResult,
) -> CliResult {
    let Some(path) = path else {
        let mut output = io::standard_output();
        write(&mut output)?;
        return output.flush().map_err(CliError::standard_output);
    };
    let mut file = OutputFile::create(path)?;
    write(&mut file).map_err(|error| match error {
        // Who names a pipe waits for what is written to it.
        CliError::ClosedPipe => CliError::Error(format!(
            "cannot write {}: its reader has left",
            path.display()
        )),
        error => error,
    })?;
    Ok(file.commit()?)
}

/// Writes the result of a block. The caller of a co-process may write the next line only when it
/// has read the answer to this one, so nothing stays in a buffer.
pub(crate) fn write_at_once(output: &mut dyn Write, bytes: &[u8]) -> CliResult {
    let written = output.write_all(bytes).and_then(|()| output.flush());
    written.map_err(output_error)
}

/// An error for writing results.
pub(crate) fn output_error(error: std::io::Error) -> CliError {
    CliError::write("the output", &error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_threads() -> Lines {
        Lines {
            documents: Arc::new(DocumentRules::lines()),
            threads: 3,
            messages: Messages::new(true),
            progress: Messages::new(true),
            shares_terminal: false,
        }
    }

    /// A file of many blocks: the numbers from 0, one a line.
    fn numbers(count: u64) -> (tempfile::TempDir, [PathBuf; 1]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let text: String = (0..count).map(|number| format!("{number}\n")).collect();
        std::fs::write(&path, text).unwrap();
        (folder, [path])
    }

    /// Maps the numbers; `map` may fail. Returns the lines that were taken, and the error.
    fn taken(map: impl Fn(u64) -> CliResult + Sync) -> (Vec<u64>, CliResult) {
        let (_folder, files) = numbers(200_000);
        let lines = three_threads();
        let map = |(): &mut (), block: &Block, out: &mut Vec<u64>| {
            out.clear();
            block.for_each_document(|number, _| {
                out.push(number);
                map(number)
            })
        };
        let mut taken = Vec::new();
        let mut take = |result: &mut Vec<u64>| {
            taken.extend_from_slice(result);
            Ok(())
        };
        let ended = lines.map(&lines.open(&files), &|| Ok(()), &map, &mut take);
        (taken, ended.map(drop))
    }

    #[test]
    fn results_are_taken_in_the_order_of_the_blocks() {
        let (taken, ended) = taken(|_| Ok(()));
        ended.unwrap();
        assert!(taken.into_iter().eq(1..=200_000));
    }

    #[test]
    fn an_error_or_a_panic_ends_the_run_after_the_results_before_it() {
        let error = |number| match number {
            150_000.. => Err(CliError::failure("no")),
            _ => Ok(()),
        };
        let panic = |number| {
            assert!(number < 150_000, "as the test wants");
            Ok(())
        };
        for (message, (taken, ended)) in [("no", taken(error)), ("a thread", taken(panic))] {
            let Err(CliError::Error(said)) = ended else {
                panic!("{ended:?}");
            };
            assert!(said.starts_with(message), "{said}");
            let count = taken.len() as u64;
            assert!((100_000..150_000).contains(&count), "{count}");
            assert!(taken.into_iter().eq(1..=count));
        }
    }

    #[test]
    fn each_line_is_given_once() {
        let (_folder, files) = numbers(100_000);
        let give = |worker: &mut Vec<u64>, number: u64, line: &[u8]| {
            let written: u64 = str::from_utf8(line).unwrap().parse().unwrap();
            assert_eq!(number, written + 1);
            worker.push(written);
            Ok(())
        };
        let workers = three_threads().give(&files, || Ok(Vec::new()), give);
        let mut numbers = workers.unwrap().concat();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100_000));
    }
}
