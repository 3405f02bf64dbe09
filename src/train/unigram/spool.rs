//! Prepared sentences that are kept to be read a second time, of a corpus that can be read only
//! once.
//!
//! A few stay in memory; more are written to a temporary file without a name, which the system
//! removes when the run ends, however it ends. A sentence is written as its count and its length,
//! eight bytes each, and its text; the number of its sentences precedes each batch.

use std::io::{self, BufReader, Read, Seek, Write};

use tempfile::SpooledTempFile;

use super::sentences::CountedTexts;
use crate::base::num::low_usize;
use crate::train::TrainError;

/// Batches of prepared sentences, in memory or in a temporary file.
pub(crate) struct SentenceSpool {
    file: SpooledTempFile,
    batches: u64,
}

fn failed(source: io::Error) -> TrainError {
    TrainError::TemporaryFile {
        folder: std::env::temp_dir(),
        source,
    }
}

impl SentenceSpool {
    /// An empty spool that keeps up to `memory` bytes in memory.
    pub(crate) fn new(memory: usize) -> Self {
        Self {
            file: SpooledTempFile::new(memory),
            batches: 0,
        }
    }

    /// Appends batches.
    pub(crate) fn push(&mut self, batches: &[CountedTexts]) -> Result<(), TrainError> {
        let mut bytes = Vec::new();
        for batch in batches {
            bytes.clear();
            bytes.extend((batch.len() as u64).to_le_bytes());
            for (text, count) in batch.iter() {
                bytes.extend(count.to_le_bytes());
                bytes.extend((text.len() as u64).to_le_bytes());
                bytes.extend(text.as_bytes());
            }
            self.file.write_all(&bytes).map_err(failed)?;
            self.batches += 1;
        }
        Ok(())
    }

    /// Calls `add` with all batches in their order, at most `size` at a time.
    pub(crate) fn for_each_group(
        mut self,
        size: usize,
        mut add: impl FnMut(Vec<CountedTexts>) -> Result<(), TrainError>,
    ) -> Result<(), TrainError> {
        self.file.rewind().map_err(failed)?;
        let mut file = BufReader::new(self.file);
        let mut group = Vec::new();
        for _ in 0..self.batches {
            group.push(read_batch(&mut file).map_err(failed)?);
            if group.len() >= size {
                add(std::mem::take(&mut group))?;
            }
        }
        add(group)
    }
}

fn read_number(file: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    file.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn read_batch(file: &mut impl Read) -> io::Result<CountedTexts> {
    let mut batch = CountedTexts::default();
    let mut bytes = Vec::new();
    for _ in 0..read_number(file)? {
        let count = read_number(file)?;
        bytes.resize(low_usize(read_number(file)?), 0);
        file.read_exact(&mut bytes)?;
        let text = std::str::from_utf8(&bytes);
        batch.push(
            text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?,
            count,
        );
    }
    Ok(batch)
}
