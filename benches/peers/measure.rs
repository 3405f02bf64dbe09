//! How every program that `benches/compare` runs measures itself and says what it measured.
//!
//! Some programs keep what they found out about a text in a cache. To be timed with a warm cache, but on lines
//! that it has not seen, a program begins each round with a model that it has just read, does the first tenth
//! of the lines off the clock, and the others on the clock. After one round to warm up and one that makes the
//! digest there are rounds until enough time has passed. Then it prints one JSON object:
//!
//! - `lines`, `bytes`: what was worked on, on the clock;
//! - `wall`, `user`: seconds of a round, the median and the mean; what a round made is dropped off the clock;
//! - `peak`: bytes that the process held at most; `grown`: how much more than before it read the model;
//! - `digest`: SHA-256 of everything that was made, to be compared with another program's.
//!
//! User time and memory are read from Linux' /proc, and are 0 elsewhere. `benches/peers/run_sentencepiece.py` is the
//! same in Python.

use std::hint::black_box;
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

/// Ticks in which /proc counts user time, for every processor that Linux runs on.
const TICKS_PER_SECOND: f64 = 100.0;

/// What a model that was just read encodes, to show that it is ready.
pub const GREETING: &str = "Hello world";

/// Collects what a work makes.
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
    /// Cuts `text` at line feeds.
    pub fn new(text: &'t str) -> Lines<'t> {
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

    /// The lines that make caches warm.
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
    /// Begins: everything but the model is in memory. There will be rounds over the `unseen` lines for `seconds`.
    pub fn new(name: &str, seconds: f64, lines: &Lines<'_>) -> Report {
        let bytes = lines.unseen().iter().map(|line| line.len() + 1).sum();
        Report {
            name: name.to_owned(),
            seconds,
            memory_before: memory("VmRSS:"),
            lines: lines.unseen().len(),
            bytes,
        }
    }

    /// Does the rounds, each with what `prepare` makes, and prints what was measured. One more round, off the
    /// clock, is given a digest to fill.
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

/// User time of the process until now.
fn user_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks = after_name
        .split_whitespace()
        .nth(11)
        .and_then(|field| field.parse::<f64>().ok());
    ticks.unwrap_or(0.0) / TICKS_PER_SECOND
}

/// A figure of /proc/self/status, in bytes.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok())
        .unwrap_or(0)
        * 1024
}
