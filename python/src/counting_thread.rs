//! Counting on a separate thread: Python reads the next rows, for example from Spark, while the
//! previous ones are counted.
//!
//! Rows wait in a channel of at most [`WAITING`]
//! arrays. The thread reads them as lines and counts them in rounds of at least [`ROUND_BYTES`];
//! after each round it updates the number of words. Taking the counts closes the channel and waits
//! until the thread has counted the remaining rows.
//!
//! ```text
//! Python   add(1)  add(2)  add(3)  take
//! channel     1 ---- 2 ------ 3 ---- closed
//! thread         count 1, 2  | count 3  -> the counts
//! ```
//!
//! The bytes are copied twice, and up to [`WAITING`] + 2 arrays are in memory.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use spiece::train::WordCounts;
use spiece::{Corpus, TrainError, Trainer};

use crate::array_rows::ArrayRows;

/// The maximum number of arrays that wait to be counted.
const WAITING: usize = 2;
/// The minimum number of bytes of a round, so that the caches of counting are effective.
const ROUND_BYTES: usize = 1 << 24;

/// Why rows cannot be counted.
pub enum CountingError {
    Train(TrainError),
    /// The thread cannot be started, or it ended without a result.
    Thread(io::Error),
    /// Rows were added in another process: threads do not survive `fork`.
    OtherProcess,
}

/// The counts of a trainer, and the thread that adds to them.
pub struct BackgroundCounts {
    trainer: Arc<Trainer>,
    state: State,
    words: Arc<AtomicUsize>,
}

enum State {
    Idle(WordCounts),
    Counting {
        rows: SyncSender<ArrayRows>,
        thread: JoinHandle<Result<WordCounts, TrainError>>,
        process: u32,
    },
    /// An error was returned; nothing can be counted any more.
    Failed,
}

impl BackgroundCounts {
    /// # Errors
    /// The options need the whole corpus.
    pub fn new(trainer: Trainer) -> Result<BackgroundCounts, TrainError> {
        let counts = trainer.new_counts()?;
        Ok(BackgroundCounts {
            trainer: Arc::new(trainer),
            state: State::Idle(counts),
            words: Arc::default(),
        })
    }

    /// The number of distinct words that have been counted so far.
    pub fn words(&self) -> usize {
        match &self.state {
            State::Idle(counts) => counts.len(),
            State::Counting { .. } | State::Failed => self.words.load(Ordering::Relaxed),
        }
    }

    /// Adds rows as lines; a line feed is added to each. Waits while the channel is full.
    ///
    /// # Errors
    /// An error of these rows or of earlier ones; nothing can be counted after it.
    pub fn add(&mut self, rows: ArrayRows) -> Result<(), CountingError> {
        let sender = self.sender()?;
        if sender.send(rows).is_ok() {
            return Ok(());
        }
        // The thread has ended, which happens only after an error.
        self.finish().map(drop)
    }

    /// The channel to the thread, which is started if there is none.
    fn sender(&mut self) -> Result<&SyncSender<ArrayRows>, CountingError> {
        self.check_process()?;
        if let State::Idle(_) = self.state {
            self.start()?;
        }
        match &self.state {
            State::Counting { rows, .. } => Ok(rows),
            State::Idle(_) | State::Failed => Err(CountingError::ended()),
        }
    }

    fn check_process(&self) -> Result<(), CountingError> {
        match self.state {
            State::Counting { process, .. } if process != std::process::id() => {
                Err(CountingError::OtherProcess)
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self) -> Result<(), CountingError> {
        let State::Idle(counts) = std::mem::replace(&mut self.state, State::Failed) else {
            return Ok(());
        };
        let (sender, receiver) = sync_channel(WAITING);
        let trainer = Arc::clone(&self.trainer);
        let words = Arc::clone(&self.words);
        let builder = std::thread::Builder::new().name("spiece-count".to_owned());
        let thread = builder
            .spawn(move || count_rows(&trainer, counts, receiver, &words))
            .map_err(CountingError::Thread)?;
        self.state = State::Counting {
            rows: sender,
            thread,
            process: std::process::id(),
        };
        Ok(())
    }

    /// The counts of all rows; waits for the thread.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn finish(&mut self) -> Result<&mut WordCounts, CountingError> {
        self.check_process()?;
        let counts = match std::mem::replace(&mut self.state, State::Failed) {
            State::Idle(counts) => counts,
            State::Counting { rows, thread, .. } => {
                drop(rows);
                let counted = thread.join().map_err(|_| CountingError::ended())?;
                counted.map_err(CountingError::Train)?
            }
            State::Failed => return Err(CountingError::ended()),
        };
        self.state = State::Idle(counts);
        match &mut self.state {
            State::Idle(counts) => Ok(counts),
            State::Counting { .. } | State::Failed => Err(CountingError::ended()),
        }
    }
}

impl CountingError {
    fn ended() -> CountingError {
        CountingError::Thread(io::Error::other(
            "it ended with an error; make another counter and count its rows again",
        ))
    }
}

/// The work of the thread: counts rows until the channel is closed.
fn count_rows(
    trainer: &Trainer,
    mut counts: WordCounts,
    rows: Receiver<ArrayRows>,
    words: &AtomicUsize,
) -> Result<WordCounts, TrainError> {
    let mut lines = RowLines::new(rows);
    while lines.begin_round() {
        trainer.count_into(Corpus::reader(&mut lines), &mut counts)?;
        words.store(counts.len(), Ordering::Relaxed);
    }
    Ok(counts)
}

/// Reads rows as lines, in rounds. A round ends between two arrays.
struct RowLines {
    rows: Receiver<ArrayRows>,
    current: Option<ArrayRows>,
    /// The row of `current` that is read next; `bytes_of_row` bytes of it have been read.
    row: usize,
    bytes_of_row: usize,
    /// The bytes of this round's arrays.
    round_bytes: usize,
}

impl RowLines {
    fn new(rows: Receiver<ArrayRows>) -> RowLines {
        RowLines {
            rows,
            current: None,
            row: 0,
            bytes_of_row: 0,
            round_bytes: 0,
        }
    }

    /// Waits for rows; `false` if there are no more.
    fn begin_round(&mut self) -> bool {
        self.round_bytes = 0;
        self.receive()
    }

    /// Takes the next array; `false` if there is none.
    fn receive(&mut self) -> bool {
        self.current = self.rows.recv().ok();
        self.row = 0;
        self.bytes_of_row = 0;
        self.round_bytes += self.current.as_ref().map_or(0, ArrayRows::size);
        self.current.is_some()
    }

    /// Copies lines of the current array and returns the number of bytes: 0 at the end of the array
    /// or if `buffer` is empty.
    fn copy(&mut self, buffer: &mut [u8]) -> usize {
        let mut copied = 0;
        while let Some(row) = self.current.as_ref().and_then(|rows| rows.get(self.row)) {
            let rest = &row[self.bytes_of_row..];
            let buffer = &mut buffer[copied..];
            let Some(after) = buffer.get_mut(rest.len()) else {
                buffer.copy_from_slice(&rest[..buffer.len()]);
                self.bytes_of_row += buffer.len();
                return copied + buffer.len();
            };
            *after = b'\n';
            buffer[..rest.len()].copy_from_slice(rest);
            copied += rest.len() + 1;
            self.row += 1;
            self.bytes_of_row = 0;
        }
        copied
    }
}

impl Read for RowLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let copied = self.copy(buffer);
            if copied > 0 || buffer.is_empty() || self.round_bytes >= ROUND_BYTES {
                return Ok(copied);
            }
            if !self.receive() {
                return Ok(0);
            }
        }
    }
}
