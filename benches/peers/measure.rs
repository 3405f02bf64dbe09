//! The measurement that every program run by `benches/compare` performs and prints.
//!
//! Some programs cache results. To measure them with a warm cache on lines that are not in the
//! cache, each round loads the model and processes the first tenth of the lines outside the timed
//! part, and then processes the other lines in the timed part. After one round as a warm-up and one
//! round that computes the digest, rounds are repeated for the given time. Then one JSON object is
//! printed:
//!
//! - `lines`, `bytes`: the size of the text of the timed part;
//! - `rounds`: the number of timed rounds;
//! - `wall`, `user`: seconds of a round, median and mean; results are dropped outside the timed
//!   part;
//! - `peak`: the peak memory of the process in bytes; `grown`: its growth since before the model
//!   was loaded;
//! - `digest`: the first 16 bytes of the SHA-256 of all results, for the comparison with other
//!   programs.
//!
//! User time and memory are read from /proc of Linux and are 0 on other systems.
//! `benches/peers/run_sentencepiece.py` is the same measurement in Python.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

/// The ticks per second in which /proc counts user time, the same on every architecture of Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// The text that is encoded after loading, to verify that the model is usable.
pub const GREETING: &str = "Hello world";

/// The digest of all results of an operation.
#[derive(Default)]
pub struct Digest(Sha256);

impl Digest {
    /// Takes the ids of one line.
    pub fn ids(&mut self, ids: impl IntoIterator<Item = u32>) {
        ids.into_iter()
            .for_each(|id| self.0.update(id.to_le_bytes()));
        self.0.update(u32::MAX.to_le_bytes());
    }

    /// Takes the text of one line.
    pub fn text(&mut self, text: impl AsRef<[u8]>) {
        self.0.update(text);
        self.0.update(b"\n");
    }

    fn hex(self) -> String {
        self.0
            .finalize()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// The lines of a text, in two parts.
pub struct Lines<'t> {
    all: Vec<&'t str>,
    unseen: usize,
}

impl<'t> Lines<'t> {
    /// Splits `text` at line feeds.
    pub fn new(text: &'t str) -> Self {
        let all: Vec<&str> = text
            .strip_suffix('\n')
            .unwrap_or(text)
            .split('\n')
            .collect();
        Lines {
            unseen: all.len() / 10,
            all,
        }
    }

    /// The lines of the warm-up, outside the timed part.
    pub fn seen(&self) -> &[&'t str] {
        &self.all[..self.unseen]
    }

    /// The lines that are timed.
    pub fn unseen(&self) -> &[&'t str] {
        &self.all[self.unseen..]
    }
}

/// A measurement that has begun.
pub struct Report {
    name: String,
    seconds: f64,
    memory_before: u64,
    lines: usize,
    bytes: usize,
}

impl Report {
    /// Starts a measurement when everything except the model is in memory. The rounds over the
    /// `unseen` lines take `seconds` in total.
    pub fn new(name: &str, seconds: f64, lines: &Lines<'_>) -> Self {
        let bytes = lines.unseen().iter().map(|line| line.len() + 1).sum();
        Self {
            name: name.to_owned(),
            seconds,
            memory_before: memory("VmRSS:"),
            lines: lines.unseen().len(),
            bytes,
        }
    }

    /// Runs the rounds, each with a state made by `prepare`, and prints the measurement. One
    /// additional round outside the timed part computes the digest.
    pub fn measure<S, T>(
        self,
        prepare: impl Fn() -> S,
        round: impl Fn(&mut S, Option<&mut Digest>) -> T,
    ) {
        drop(black_box(round(&mut prepare(), None)));
        let mut sum = Digest::default();
        drop(round(&mut prepare(), Some(&mut sum)));

        let (mut walls, mut user) = (Vec::new(), 0.0);
        let end = Instant::now() + Duration::from_secs_f64(self.seconds);
        while walls.len() < 2 || Instant::now() < end {
            let mut state = prepare();
            let (user_before, start) = (user_seconds(), Instant::now());
            let made = black_box(round(&mut state, None));
            walls.push(start.elapsed().as_secs_f64());
            user += user_seconds() - user_before;
            drop(made);
        }
        self.print(&mut walls, user, sum);
    }

    fn print(self, walls: &mut [f64], user: f64, sum: Digest) {
        walls.sort_by(f64::total_cmp);
        let (peak, rounds) = (memory("VmHWM:"), walls.len());
        println!(
            r#"{{"name": "{}", "lines": {}, "bytes": {}, "rounds": {rounds}, "wall": {:e}, "user": {:e}, "peak": {peak}, "grown": {}, "digest": "{}"}}"#,
            self.name,
            self.lines,
            self.bytes,
            walls[rounds / 2],
            user / rounds as f64,
            peak.saturating_sub(self.memory_before),
            sum.hex(),
        );
    }
}

/// User time of the process so far, in seconds.
fn user_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name
        .split_whitespace()
        .nth(11)
        .and_then(|field| field.parse::<f64>().ok());
    ticks.unwrap_or(0.0) / TICKS_PER_SECOND
}

/// A field of /proc/self/status in bytes.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}
