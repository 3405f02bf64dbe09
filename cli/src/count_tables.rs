//! Tables of word counts, which `spiece count` writes and adds, and `spiece train
//! --input_format=counts` reads in place of text.

use std::path::{Path, PathBuf};

pub(super) use self::table::save;
use super::io::{CliError, CliResult};
use spiece::TrainFlags;
use spiece::train::WordCounts;

/// The value of `--input_format` for tables of counts.
pub(super) const COUNTS_FORMAT: &str = "counts";

/// The sum of the tables in these files.
pub(super) fn open_tables(files: &[PathBuf]) -> CliResult<WordCounts> {
    let Some((first, rest)) = files.split_first() else {
        return Err(CliError::usage("there is no table of counts"));
    };
    let mut sum = table::open(first)?;
    for file in rest {
        sum.merge(&table::open(file)?)
            .map_err(|error| CliError::in_file(file, error))?;
    }
    Ok(sum)
}

/// The counts of `--input` if it names tables; `None` for text. The flags are changed to name the
/// inputs that were counted.
pub(super) fn counted_input(flags: &mut TrainFlags) -> CliResult<Option<WordCounts>> {
    if flags.input_format != COUNTS_FORMAT {
        return Ok(None);
    }
    if !flags.json_field.is_empty() {
        return Err(CliError::usage(
            "--json_field and --input_format=counts exclude each other; a table has no records",
        ));
    }
    let files: Vec<PathBuf> = flags.input.iter().map(PathBuf::from).collect();
    let counts = open_tables(&files)?;
    flags.input = counts.inputs().to_vec();
    counts.input_format().clone_into(&mut flags.input_format);
    Ok(Some(counts))
}

/// Tables of counts as Parquet files.
#[cfg(feature = "parquet")]
mod table {
    use super::{CliResult, Path, WordCounts};

    pub(super) fn open(path: &Path) -> CliResult<WordCounts> {
        Ok(WordCounts::open_parquet(path)?)
    }

    pub(crate) fn save(counts: &WordCounts, path: &Path) -> CliResult {
        Ok(counts.save_parquet(path)?)
    }
}

/// The same functions in a build without Parquet: they fail.
#[cfg(not(feature = "parquet"))]
mod table {
    use super::{CliError, CliResult, Path, WordCounts};

    fn missing() -> CliError {
        CliError::failure(
            "this program was built without tables of counts; build it with cargo build --release --features parquet",
        )
    }

    pub(super) fn open(_: &Path) -> CliResult<WordCounts> {
        Err(missing())
    }

    pub(crate) fn save(_: &WordCounts, _: &Path) -> CliResult {
        Err(missing())
    }
}
