//! Lines in, text out: the loop of the verbs that take text apart.
//!
//! Lines are read in blocks, a round of blocks is worked on by all threads, and the results are written in
//! the order of the lines. So memory holds one round, whatever the size of the input, and the output does not
//! depend on the number of threads.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use crate::output::OutputFile;
use clap::{Arg, ArgAction, ArgMatches, Command};
use rayon::prelude::*;

use super::args;
use super::io::{self, CliError};
use super::progress::{LineCount, Messages};

/// A block ends with the line that reaches this many bytes.
const BLOCK_BYTES: usize = 1 << 18;
/// Blocks of a round, for each thread.
const BLOCKS_PER_THREAD: usize = 2;

/// The most threads that can be asked for, as in training.
const MOST_THREADS: usize = 1024;

/// Lines of the input, without their newlines.
#[derive(Debug, Default)]
pub(crate) struct Block {
    text: Vec<u8>,
    ends: Vec<usize>,
    /// The number of the first line, from 1.
    first_line: u64,
}

impl Block {
    /// The lines with their numbers.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        (self.first_line..).zip(
            starts
                .zip(&self.ends)
                .map(|(start, end)| &self.text[start..*end]),
        )
    }

    /// Reads lines from `reader` until the block is full; false at the end.
    fn fill(&mut self, reader: &mut dyn BufRead) -> std::io::Result<bool> {
        while self.text.len() < BLOCK_BYTES {
            if reader.read_until(b'\n', &mut self.text)? == 0 {
                return Ok(false);
            }
            if self.text.last() == Some(&b'\n') {
                self.text.pop();
            }
            self.ends.push(self.text.len());
        }
        Ok(true)
    }
}

/// The flags that every such verb has: the model, where lines come from and where results go, threads.
pub(crate) fn with_stream_flags(command: Command) -> Command {
    let command = command
        .arg(args::value("model", "The .model file").value_name("FILE"))
        .arg(args::value("input", "Read this file; - is standard input").value_name("FILE"))
        .arg(
            args::value(
                "output",
                "Write to this file, which changes at the end, whole",
            )
            .value_name("FILE"),
        )
        .arg(
            args::value(
                "num_threads",
                "Threads; 0 is one for each core, 1 is sequential",
            )
            .default_value("0"),
        )
        .arg(
            Arg::new("files")
                .help("Files to read, unless --input is given; none is standard input")
                .action(ArgAction::Append)
                .value_parser(clap::value_parser!(PathBuf)),
        )
        .arg(
            args::value(
                "minloglevel",
                "Messages to leave out: 0 none, 1 or more all but errors",
            )
            .hide(true),
        );
    args::with_common_flags(command)
}

/// Threads to use: as many as are asked for; 0 is one for each core.
fn number_of_threads(asked: usize) -> Result<usize, CliError> {
    match asked {
        0 => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        1..=MOST_THREADS => Ok(asked),
        _ => Err(CliError::Usage(format!(
            "--num_threads: {asked} is out of range; use 0 to {MOST_THREADS}"
        ))),
    }
}

/// Where lines come from and where results go.
pub(crate) struct Stream {
    files: Vec<PathBuf>,
    output: Option<PathBuf>,
    threads: usize,
    messages: Messages,
}

impl Stream {
    pub(crate) fn new(matches: &ArgMatches) -> Result<Stream, CliError> {
        let given = |name| args::given(matches, name).filter(|value| !value.is_empty());
        let files = matches
            .get_many::<PathBuf>("files")
            .map(|files| files.cloned().collect())
            .unwrap_or_default();
        let threads = number_of_threads(args::number(matches, "num_threads")?)?;
        Ok(Stream {
            files: given("input").map_or(files, |file| vec![PathBuf::from(file)]),
            output: given("output")
                .filter(|name| !io::is_standard_output(name))
                .map(PathBuf::from),
            threads,
            messages: args::messages(matches),
        })
    }

    /// The name of the input, for people.
    pub(crate) fn input_name(&self) -> String {
        let names: Vec<String> = self
            .files
            .iter()
            .map(|file| file.display().to_string())
            .collect();
        if names.is_empty() {
            "-".to_owned()
        } else {
            names.join(", ")
        }
    }

    /// Writes what `work` makes of each line. Each thread has a worker of its own.
    pub(crate) fn run<W>(
        &self,
        worker: impl Fn() -> W + Sync + Send,
        work: impl Fn(&mut W, u64, &[u8], &mut Vec<u8>) -> Result<(), CliError> + Sync + Send,
    ) -> Result<(), CliError> {
        let convert = |worker: &mut W, block: &Block| {
            let mut out = Vec::with_capacity(block.text.len() * 2);
            block
                .lines()
                .try_for_each(|(number, line)| work(worker, number, line, &mut out))
                .map(|()| out)
        };
        self.fold_blocks(
            (),
            worker,
            convert,
            |(), output, result: Vec<u8>| output.write_all(&result),
            |(), _| Ok(()),
        )
    }

    /// Gives what `convert` makes of each block to `take`, in order, with the output and a state; `finish`
    /// ends it.
    pub(crate) fn fold_blocks<S, W, R: Send>(
        &self,
        mut state: S,
        worker: impl Fn() -> W + Sync + Send,
        convert: impl Fn(&mut W, &Block) -> Result<R, CliError> + Sync + Send,
        mut take: impl FnMut(&mut S, &mut dyn Write, R) -> std::io::Result<()>,
        finish: impl FnOnce(S, &mut dyn Write) -> std::io::Result<()>,
    ) -> Result<(), CliError> {
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .build();
        let threads = threads.map_err(|error| {
            CliError::Error(format!("--num_threads: cannot start threads: {error}"))
        })?;
        let mut count = LineCount::new(&self.messages);
        let failed = |error| CliError::write("the output", &error);
        self.with_output(|output| {
            self.for_each_round(|round| {
                let results: Vec<Result<R, CliError>> = if self.threads == 1 {
                    let mut worker = worker();
                    round
                        .iter()
                        .map(|block| convert(&mut worker, block))
                        .collect()
                } else {
                    threads.install(|| {
                        round
                            .par_iter()
                            .map_init(&worker, |worker, block| convert(worker, block))
                            .collect()
                    })
                };
                results
                    .into_iter()
                    .try_for_each(|result| take(&mut state, output, result?).map_err(failed))?;
                count.advance(round.iter().map(|block| block.ends.len() as u64).sum());
                Ok(())
            })?;
            finish(state, output).map_err(failed)
        })
    }

    fn with_output(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let Some(path) = &self.output else {
            let mut output = io::standard_output();
            write(&mut output)?;
            return output
                .flush()
                .map_err(|error| CliError::write("standard output", &error));
        };
        let mut output = OutputFile::create(path)?;
        write(&mut output)?;
        Ok(output.commit()?)
    }

    fn for_each_round(
        &self,
        mut visit: impl FnMut(&[Block]) -> Result<(), CliError>,
    ) -> Result<(), CliError> {
        let standard_input = [PathBuf::from("-")];
        let files = if self.files.is_empty() {
            &standard_input
        } else {
            self.files.as_slice()
        };
        let mut round: Vec<Block> = Vec::new();
        let mut next_line = 1;
        for path in files {
            let failed = |error| CliError::read(path, &error);
            let mut reader = io::open(path).map_err(failed)?;
            let mut has_more = true;
            while has_more {
                let mut block = Block {
                    first_line: next_line,
                    ..Block::default()
                };
                has_more = block.fill(&mut reader).map_err(failed)?;
                next_line += block.ends.len() as u64;
                round.push(block);
                if round.len() >= self.threads * BLOCKS_PER_THREAD {
                    visit(&round)?;
                    round.clear();
                }
            }
        }
        visit(&round)
    }
}
