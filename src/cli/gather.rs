//! One value from all lines of files: each thread fills a part, and the parts are merged.
//!
//! Input: files, and a [`Gathering`]: how a part begins, takes a line, and is merged with another part. Output: the
//! merged part. Method: the loop over blocks of [`stream`](super::stream); each thread has a part of its own, which
//! is merged when the thread ends. The threads end in any order, so the result of merging must not depend on the
//! order of the parts. Cost: that of adding the lines, and one merge for each thread and file.
//!
//! Example with two threads and a gathering that counts lines: thread A reads blocks of 3 and 4 lines, thread B one
//! of 5; the parts 7 and 5 are merged to 12.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use clap::ArgMatches;

use super::io::CliResult;
use super::stream::{Block, Conversion, Stream};

/// How lines become one value.
pub(crate) trait Gathering: Sync {
    /// The value, or a part of it.
    type Part: Send;

    /// A part without lines.
    fn part(&self) -> Self::Part;

    /// Adds a line to a part. Lines are numbered from 1 through all files.
    fn add(&self, part: &mut Self::Part, number: u64, line: &[u8]);

    /// Adds the lines of `other` to `part`.
    fn merge(&self, part: &mut Self::Part, other: Self::Part);

    /// The number of lines in a part.
    fn lines(&self, part: &Self::Part) -> u64;
}

/// Gathers the lines of the files, `-` being standard input. `after_file` sees the merged part after each file.
pub(crate) fn gather<G: Gathering>(
    matches: &ArgMatches,
    files: &[PathBuf],
    gathering: &G,
    mut after_file: impl FnMut(&PathBuf, &G::Part),
) -> CliResult<G::Part> {
    let mut merged = gathering.part();
    for file in files {
        let stream = Stream::of_file(matches, file)?;
        gather_file(&stream, gathering, &mut merged)?;
        after_file(file, &merged);
    }
    Ok(merged)
}

/// Adds the lines of one file.
fn gather_file<G: Gathering>(stream: &Stream, gathering: &G, merged: &mut G::Part) -> CliResult {
    let conversion = GatherConversion {
        gathering,
        lines_before: gathering.lines(merged),
        merged: Mutex::new(merged),
    };
    stream.run_workers(&BorrowedConversion(&conversion))
}

/// The conversion of the blocks of one file.
struct GatherConversion<'g, G: Gathering> {
    gathering: &'g G,
    /// The lines of the files before.
    lines_before: u64,
    merged: Mutex<&'g mut G::Part>,
}

/// The part of one thread. It is merged when the thread drops it.
struct GatherWorker<'g, 'c, G: Gathering> {
    conversion: &'c GatherConversion<'g, G>,
    /// Present until the worker is dropped.
    part: Option<G::Part>,
}

impl<G: Gathering> Drop for GatherWorker<'_, '_, G> {
    fn drop(&mut self) {
        let Some(part) = self.part.take() else {
            return;
        };
        let merged = self.conversion.merged.lock();
        let mut merged = merged.unwrap_or_else(PoisonError::into_inner);
        self.conversion.gathering.merge(&mut merged, part);
    }
}

/// The loop of a [`GatherConversion`] over its blocks. The workers borrow the conversion, so it is a reference that
/// converts.
struct BorrowedConversion<'g, 'c, G: Gathering>(&'c GatherConversion<'g, G>);

impl<'g, 'c, G: Gathering> Conversion for BorrowedConversion<'g, 'c, G> {
    type Worker = GatherWorker<'g, 'c, G>;
    type Result = ();

    fn worker(&self) -> CliResult<GatherWorker<'g, 'c, G>> {
        Ok(GatherWorker {
            conversion: self.0,
            part: Some(self.0.gathering.part()),
        })
    }

    fn convert(&self, worker: &mut Self::Worker, block: &Block, _: &mut ()) -> CliResult {
        let Some(part) = &mut worker.part else {
            return Ok(());
        };
        for (number, line) in block.lines() {
            let number = self.0.lines_before + number;
            self.0.gathering.add(part, number, line);
        }
        Ok(())
    }
}
