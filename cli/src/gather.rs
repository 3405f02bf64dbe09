//! One value from all lines of files: each thread fills a part, and the parts are merged.
//!
//! Input: files, and a [`Gathering`], which makes a part, adds lines to it and merges it with
//! another part. Output: the merged part. Method: [`LineWorkers`], whose workers are the parts. The
//! threads take lines in any order, so the result must not depend on which part gets a line, nor on
//! the order of merging. Cost: adding the lines, and one merge for each thread and file.

use std::path::PathBuf;

use clap::ArgMatches;

use super::io::CliResult;
use super::line_workers::LineWorkers;

/// How lines become one value.
pub(crate) trait Gathering: Sync {
    /// The value of all or some of the lines.
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

/// Gathers the lines of the files; `-` is standard input. `after_file` is called with the merged
/// part after each file.
pub(crate) fn gather<G: Gathering>(
    matches: &ArgMatches,
    files: &[PathBuf],
    gathering: &G,
    mut after_file: impl FnMut(&PathBuf, &G::Part),
) -> CliResult<G::Part> {
    let workers = LineWorkers::new(matches)?;
    let mut merged = gathering.part();
    for file in files {
        let lines_before = gathering.lines(&merged);
        let add = |part: &mut G::Part, number: u64, line: &[u8]| {
            gathering.add(part, lines_before + number, line);
            Ok(())
        };
        let make = || Ok(gathering.part());
        for part in workers.run(std::slice::from_ref(file), make, add)? {
            gathering.merge(&mut merged, part);
        }
        after_file(file, &merged);
    }
    Ok(merged)
}
