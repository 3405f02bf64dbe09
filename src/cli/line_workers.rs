//! Lines of files, each once, for workers on several threads that need no order.
//!
//! Input: files, and a function that makes a worker. Output: the workers, after each line was given to one of them. Method:
//! the threads take turns in reading blocks of lines (see `input`), so that memory is a block for each thread. An error
//! stops all threads. Cost: that of the workers.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::input::{Block, Input};
use super::io::{CliError, CliResult};

/// Gives each line to one of the workers, and returns these.
pub(crate) fn run_on_lines<W: Send>(
    files: &[PathBuf],
    threads: usize,
    make: impl Fn() -> CliResult<W> + Sync,
    give: impl Fn(&mut W, &[u8]) -> CliResult + Sync,
) -> CliResult<Vec<W>> {
    let input = Mutex::new(Input::new(files));
    let is_stopped = AtomicBool::new(false);
    let work = || {
        let result = make().and_then(|mut worker| {
            let mut block = Block::default();
            while !is_stopped.load(Ordering::Relaxed) && read_block(&input, &mut block)? {
                for (_, line) in block.lines() {
                    give(&mut worker, line)?;
                }
            }
            Ok(worker)
        });
        is_stopped.fetch_or(result.is_err(), Ordering::Relaxed);
        result
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let results = threads.into_iter().map(|thread| thread.join());
        results
            .map(|result| result.unwrap_or_else(|_| Err(panicked())))
            .collect()
    })
}

fn read_block(input: &Mutex<Input<'_>>, block: &mut Block) -> CliResult<bool> {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    input.read_block(block)
}

fn panicked() -> CliError {
    CliError::Error("a thread panicked; this is a bug of spiece".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_given_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let text: String = (0..100_000).map(|number| format!("{number}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let files = [path];
        let give = |worker: &mut Vec<u64>, line: &[u8]| {
            worker.push(std::str::from_utf8(line).unwrap().parse().unwrap());
            Ok(())
        };
        let workers = run_on_lines(&files, 3, || Ok(Vec::new()), give).unwrap();
        let mut numbers = workers.concat();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..100_000));
    }

    #[test]
    fn an_error_ends_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, "a\nb\n").unwrap();
        let files = [path];
        let give = |(): &mut (), _: &[u8]| Err(CliError::Error("no".to_owned()));
        let error = run_on_lines(&files, 2, || Ok(()), give).unwrap_err();
        assert!(matches!(error, CliError::Error(message) if message == "no"));
    }
}
