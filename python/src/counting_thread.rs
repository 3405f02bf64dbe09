//! Counting on a separate thread: Python reads the next rows, for example from Spark, while the
//! previous ones are counted.
//!
//! Rows wait in a channel of at most [`WAITING`] arrays. The thread counts them in rounds
//! ([`RowReader`]); after each round it updates the number of words. Taking the counts closes the
//! channel and waits until the thread has counted the remaining rows.
//!
//! ```text
//! Python   add(1)  add(2)  add(3)  take
//! channel     1 ---- 2 ------ 3 ---- closed
//! thread         count 1, 2  | count 3  -> the counts
//! ```
//!
//! The bytes are copied twice, and up to [`WAITING`] + 2 arrays are in memory.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use spiece::TrainError;

use crate::array_rows::ArrayRows;
use crate::row_counts::RowCounts;
use crate::row_reader::RowReader;

/// The maximum number of arrays that wait to be counted.
const WAITING: usize = 2;

/// Why rows cannot be counted.
pub enum CountingError {
    Train(TrainError),
    /// The thread cannot be started, or it ended without a result.
    Thread(io::Error),
    /// Rows were added in another process: threads do not survive `fork`.
    OtherProcess,
}

/// Counts, and the thread that adds to them.
pub struct BackgroundCounts {
    state: State,
    words: Arc<AtomicUsize>,
}

enum State {
    Idle(Box<dyn RowCounts>),
    Counting {
        rows: SyncSender<ArrayRows>,
        thread: JoinHandle<Result<Box<dyn RowCounts>, TrainError>>,
        process: u32,
    },
    /// An error was returned; nothing can be counted any more.
    Failed,
}

impl BackgroundCounts {
    pub fn new(counts: Box<dyn RowCounts>) -> BackgroundCounts {
        BackgroundCounts {
            state: State::Idle(counts),
            words: Arc::default(),
        }
    }

    /// The number of distinct words that have been counted so far.
    pub fn words(&self) -> usize {
        match &self.state {
            State::Idle(counts) => counts.words(),
            State::Counting { .. } | State::Failed => self.words.load(Ordering::Relaxed),
        }
    }

    /// Adds rows. Waits while the channel is full.
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
        let words = Arc::clone(&self.words);
        let builder = std::thread::Builder::new().name("spiece-count".to_owned());
        let thread = builder
            .spawn(move || count_rows(counts, RowReader::new(receiver), &words))
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
    pub fn finish(&mut self) -> Result<&mut dyn RowCounts, CountingError> {
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
            State::Idle(counts) => Ok(&mut **counts),
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
    mut counts: Box<dyn RowCounts>,
    mut rows: RowReader,
    words: &AtomicUsize,
) -> Result<Box<dyn RowCounts>, TrainError> {
    while rows.begin_round() {
        counts.count(&mut rows)?;
        words.store(counts.words(), Ordering::Relaxed);
    }
    Ok(counts)
}
