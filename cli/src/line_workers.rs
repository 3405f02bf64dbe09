//! Lines of files, each once, for workers on several threads that need no order.
//!
//! Input: files, and a function that makes a worker. Output: the workers, after each line was given
//! to one of them. Method: the threads take turns in reading blocks of lines (see
//! [`input`](super::input)), so that memory is a block for each thread. An error stops all threads.
//! Cost: that of the workers.
//!
//! Example with two threads and workers that count lines: thread A reads blocks of 3 and 4 lines,
//! thread B one of 5; the workers have counted 7 and 5.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use clap::ArgMatches;

use super::args;
use super::documents::Documents;
use super::input::{Block, Input};
use super::io::{CliError, CliResult};
use super::progress::{LineCount, Messages};
use super::stream::thread_count;

/// How lines are given to workers.
pub(crate) struct LineWorkers {
    /// What a line is: with `--json_field` the text of a record.
    documents: Documents,
    threads: usize,
    /// Whether progress is reported.
    messages: Messages,
}

impl LineWorkers {
    /// Reads the flags of a subcommand, [`threads_flag`](super::stream::threads_flag) among them.
    pub(crate) fn new(matches: &ArgMatches) -> CliResult<Self> {
        Ok(Self {
            documents: Documents::new(matches)?,
            threads: thread_count(matches)?,
            messages: args::messages(matches)?,
        })
    }

    /// Gives each line of the files, with its number from 1, to one of the workers that `make`
    /// makes. Returns the workers.
    pub(crate) fn run<W: Send>(
        &self,
        files: &[PathBuf],
        make: impl Fn() -> CliResult<W> + Sync,
        give: impl Fn(&mut W, u64, &[u8]) -> CliResult + Sync,
    ) -> CliResult<Vec<W>> {
        let source = Mutex::new(LineSource {
            input: Input::new(files, &self.documents),
            lines: LineCount::new(&self.messages),
        });
        let is_stopped = AtomicBool::new(false);
        let work = || {
            let result = make().and_then(|mut worker| {
                let mut block = Block::default();
                while !is_stopped.load(Ordering::Relaxed) && read_block(&source, &mut block)? {
                    block.for_each_document(|number, line| give(&mut worker, number, line))?;
                }
                Ok(worker)
            });
            is_stopped.fetch_or(result.is_err(), Ordering::Relaxed);
            result
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..self.threads).map(|_| scope.spawn(work)).collect();
            let results = threads.into_iter().map(|thread| thread.join());
            results
                .map(|result| result.unwrap_or_else(|_| Err(panicked())))
                .collect()
        })
    }
}

/// What the threads share.
struct LineSource<'f> {
    input: Input<'f>,
    lines: LineCount,
}

fn read_block(source: &Mutex<LineSource<'_>>, block: &mut Block) -> CliResult<bool> {
    let mut source = source.lock().unwrap_or_else(PoisonError::into_inner);
    let is_read = source.input.read_block(block)?;
    if is_read {
        source.lines.advance(block.line_count());
    }
    Ok(is_read)
}

fn panicked() -> CliError {
    CliError::failure("a thread panicked; this is a bug of spiece")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three_threads() -> LineWorkers {
        LineWorkers {
            documents: Documents::Lines,
            threads: 3,
            messages: Messages::new(true),
        }
    }

    #[test]
    fn each_line_is_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let text: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let files = [path];
        let give = |worker: &mut Vec<u64>, number: u64, line: &[u8]| {
            let written: u64 = std::str::from_utf8(line).unwrap().parse().unwrap();
            assert_eq!(number, written + 1);
            worker.push(written);
            Ok(())
        };
        let workers = three_threads().run(&files, || Ok(Vec::new()), give);
        let mut numbers = workers.unwrap().concat();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100_000));
    }

    #[test]
    fn an_error_ends_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a\nb\n").unwrap();
        let files = [path];
        let give = |(): &mut (), _: u64, _: &[u8]| Err(CliError::Error("no".to_owned()));
        let error = three_threads().run(&files, || Ok(()), give).unwrap_err();
        assert!(matches!(error, CliError::Error(message) if message == "no"));
    }
}
