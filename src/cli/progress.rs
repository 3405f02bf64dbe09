//! Messages of long runs on standard error: a progress bar on a terminal, lines otherwise, nothing with `--quiet`.

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{Event, Observer, Stage, Summary};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Writes messages to standard error unless `--quiet` is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages {
    quiet: bool,
}

impl Messages {
    pub(crate) fn new(quiet: bool) -> Messages {
        Messages { quiet }
    }

    pub(crate) fn say(&self, message: &str) {
        if !self.quiet {
            // A failure to write to standard error cannot be reported.
            let _ = writeln!(std::io::stderr(), "{message}");
        }
    }

    pub(crate) fn warn(&self, message: &str) {
        self.say(&format!("warning: {message}"));
    }
}

/// Shows how far a training run is.
pub(crate) struct Progress {
    messages: Messages,
    stop: Arc<AtomicBool>,
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    started: Instant,
    stage_started: Instant,
    last_line: Instant,
}

impl Progress {
    pub(crate) fn new(messages: &Messages, stop: Arc<AtomicBool>) -> Progress {
        let has_bar = !messages.quiet && std::io::stderr().is_terminal();
        let bar = has_bar
            .then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)));
        let now = Instant::now();
        Progress {
            messages: *messages,
            stop,
            bar,
            stage: None,
            started: now,
            stage_started: now,
            last_line: now,
        }
    }

    /// Takes the bar away.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// The last lines: what was read, what was made, what it took.
    pub(crate) fn summarize(&self, summary: &Summary, written: &[PathBuf; 2]) {
        let sentences = &summary.sentences;
        let skipped = [
            (sentences.empty, "empty"),
            (sentences.too_long, "too long"),
            (sentences.reserved, "with U+2585"),
        ];
        let skipped: Vec<String> = skipped
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, why)| format!("{} {why}", HumanCount(count)))
            .collect();
        let skipped = if skipped.is_empty() {
            "none".to_owned()
        } else {
            skipped.join(", ")
        };
        self.messages.say(&format!(
            "sentences: {} (skipped: {skipped})",
            HumanCount(sentences.used)
        ));
        self.messages.say(&format!(
            "distinct words: {}",
            HumanCount(summary.distinct_words as u64)
        ));
        self.messages.say(&format!(
            "alphabet: {} characters, {:.4} % of the text",
            HumanCount(summary.characters as u64),
            100.0 * summary.coverage
        ));
        self.messages.say(&format!(
            "pieces: {} ({} merges)",
            HumanCount(summary.pieces as u64),
            HumanCount(summary.merges as u64)
        ));
        let memory = peak_memory().map_or(String::new(), |bytes| {
            format!(", {} of memory at most", HumanBytes(bytes))
        });
        self.messages.say(&format!(
            "time: {:.1} s{memory}",
            self.started.elapsed().as_secs_f64()
        ));
        self.messages.say(&format!(
            "written: {}, {}",
            written[0].display(),
            written[1].display()
        ));
    }

    fn start(&mut self, stage: Stage) {
        self.stage = Some(stage);
        self.stage_started = Instant::now();
        self.last_line = self.stage_started;
        match &self.bar {
            Some(bar) => {
                bar.reset();
                bar.set_message(name(stage));
                bar.tick();
            }
            None => self.messages.say(&format!(
                "[{:.1} s] {}",
                self.started.elapsed().as_secs_f64(),
                name(stage)
            )),
        }
    }

    fn advance(
        &mut self,
        done: u64,
        total: Option<u64>,
        template: &str,
        line: impl Fn(f64) -> String,
    ) {
        if let Some(bar) = &self.bar {
            if bar.length() != total
                && let Ok(style) = ProgressStyle::with_template(template)
            {
                bar.set_style(style);
            }
            if let Some(total) = total {
                bar.set_length(total);
            }
            bar.set_position(done);
        } else if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let elapsed = self.stage_started.elapsed().as_secs_f64();
            self.messages.say(&format!(
                "[{:.1} s] {}",
                self.started.elapsed().as_secs_f64(),
                line(elapsed)
            ));
        }
    }
}

impl Observer for Progress {
    fn on_event(&mut self, event: Event<'_>) -> ControlFlow<()> {
        match event {
            Event::Started(stage) => self.start(stage),
            Event::Read { bytes, total } => self.advance(
                bytes,
                total,
                "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
                |elapsed| reading_line(bytes, total, elapsed),
            ),
            Event::Merged {
                done,
                wanted,
                count,
                ..
            } => self.advance(
                done as u64,
                Some(wanted as u64),
                "{msg} {bar:30} {pos}/{len} {per_sec} {eta} left",
                |elapsed| {
                    format!(
                        "merged {done} of {wanted}, {}, the last pair {count} times",
                        left(done as f64, wanted as f64, elapsed)
                    )
                },
            ),
        }
        if self.stop.load(Ordering::Relaxed) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Says how many lines are done, now and then.
pub(crate) struct LineCount {
    messages: Messages,
    lines: u64,
    started: Instant,
    last_line: Instant,
}

impl LineCount {
    pub(crate) fn new(messages: &Messages) -> LineCount {
        let now = Instant::now();
        LineCount {
            messages: *messages,
            lines: 0,
            started: now,
            last_line: now,
        }
    }

    pub(crate) fn advance(&mut self, lines: u64) {
        self.lines += lines;
        if self.last_line.elapsed() >= LINE_INTERVAL {
            self.last_line = Instant::now();
            let elapsed = self.started.elapsed().as_secs_f64();
            let speed = self.lines as f64 / elapsed.max(1e-3);
            self.messages.say(&format!(
                "[{elapsed:.1} s] {} lines, {speed:.0} a second",
                HumanCount(self.lines)
            ));
        }
    }
}

fn reading_line(bytes: u64, total: Option<u64>, elapsed: f64) -> String {
    let speed = bytes as f64 / elapsed.max(1e-3) / 1e6;
    match total {
        Some(total) => format!(
            "read {} of {}, {speed:.0} MB/s, {}",
            HumanBytes(bytes),
            HumanBytes(total),
            left(bytes as f64, total as f64, elapsed)
        ),
        None => format!("read {}, {speed:.0} MB/s", HumanBytes(bytes)),
    }
}

/// The time left if the rest goes as fast as the beginning.
fn left(done: f64, total: f64, elapsed: f64) -> String {
    format!(
        "{:.0} s left",
        elapsed * (total - done).max(0.0) / done.max(1.0)
    )
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Sampling => "drawing a sample",
        Stage::Reading => "reading and counting words",
        Stage::Characters => "choosing characters",
        Stage::Merging => "merging pairs",
        Stage::Assembling => "assembling the model",
    }
}

/// The most memory that this process has had, in bytes, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
