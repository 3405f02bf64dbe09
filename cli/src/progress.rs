//! Messages of long runs on standard error: a progress bar on a terminal, lines otherwise, nothing
//! with `--quiet`.
//!
//! The messages are for people; programs must not parse them. A bar is drawn at most 10 times a
//! second; those of other subcommands than training appear after the first second. Without a bar,
//! each stage and iteration writes a line, and other events write one at most every 5 seconds. An
//! event that writes nothing costs one look at the clock.
//!
//! | what takes long | what shows it |
//! |---|---|
//! | training, counting, extending | [`Progress`]: the stages of the library |
//! | lines of text: encoding, decoding, reports on texts | [`LineCount`]: bytes and lines so far |
//! | one step without parts: a conversion, a merge | [`Messages::during`]: the time so far |
//!
//! ```text
//! $ spiece train --model_type=bpe --input=text.txt --model_prefix=my --vocab_size=20
//! [0.2 s] reading and counting words
//! [0.2 s] choosing characters
//! [0.2 s] merging pairs
//! [0.2 s] assembling the model
//! sentences: 2 (skipped: none)
//! distinct words: 6
//! alphabet: 9 characters, 100.0000 % of the text
//! pieces: 20 (8 merges)
//! time: 0.2 s, 29.45 MiB of memory at most
//! written: my.model, my.vocab
//! try: spiece encode --model=my.model FILE, spiece inspect my.model
//! ```

use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use spiece::input::InputWarning;
use spiece::train::{Event, Observer, Stage, Summary};

use super::reference::own_name;

/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// What takes less shows no bar.
const BAR_DELAY: Duration = Duration::from_secs(1);

/// Time between two drawings of a bar that nothing else moves.
const TICK: Duration = Duration::from_millis(100);

/// What is shown of work that has no known end.
const SPINNER: &str = "{spinner} {msg} {elapsed}";

/// The bar on standard error, which there is one of. Messages are written above it.
static SHOWN_BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// A bar on standard error, until it is dropped.
struct Bar(ProgressBar);

impl Bar {
    /// A bar that is not drawn yet.
    fn new(template: &str) -> Self {
        let bar = Self(ProgressBar::hidden());
        bar.set_template(template);
        bar
    }

    /// Draws the bar from now on. Standard error must be a terminal.
    fn appear(&self) {
        if self.0.is_hidden() {
            *SHOWN_BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.0.clone());
            let target = ProgressDrawTarget::stderr_with_hz(10);
            self.0.set_draw_target(target);
        }
    }

    fn set_template(&self, template: &str) {
        if let Ok(style) = ProgressStyle::with_template(template) {
            self.0.set_style(style);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        *SHOWN_BAR.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.finish_and_clear();
    }
}

/// Writes messages to standard error unless `--quiet` is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages {
    /// Write nothing.
    quiet: bool,
}

impl Messages {
    /// Messages that are all left out if `quiet` is true.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Writes a line.
    pub(crate) fn say(&self, message: &str) {
        if self.quiet {
            return;
        }
        // A failure to write to standard error cannot be reported.
        let write = || drop(writeln!(std::io::stderr(), "{message}"));
        let bar = SHOWN_BAR.lock().unwrap_or_else(PoisonError::into_inner);
        match bar.clone() {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Whether long runs show a bar.
    fn has_bar(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Performs `work`, which has no parts to count. A terminal shows `what` and the time.
    pub(crate) fn during<T>(&self, what: &'static str, work: impl FnOnce() -> T) -> T {
        if !self.has_bar() {
            return work();
        }
        let (done, end) = channel::<()>();
        let show = move || {
            if end.recv_timeout(BAR_DELAY) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = Bar::new(SPINNER);
            bar.0.set_message(what);
            bar.0.set_elapsed(BAR_DELAY);
            bar.appear();
            while end.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                bar.0.tick();
            }
        };
        thread::scope(|scope| {
            // Without the thread there is no bar, and the work is done.
            let _ = thread::Builder::new().spawn_scoped(scope, show);
            let result = work();
            drop(done);
            result
        })
    }

    /// Writes a line that begins with `warning:`.
    pub(crate) fn warn(&self, message: &str) {
        self.say(&format!("warning: {message}"));
    }
}

/// Reports the progress of training, counting or extending.
pub(crate) struct Progress {
    messages: Messages,
    /// The start of the run.
    started: Instant,
    shown: Arc<Mutex<Shown>>,
}

/// What the events of a run change.
struct Shown {
    messages: Messages,
    /// Set by the signal handler; read at every event.
    stop: Arc<AtomicBool>,
    /// The bar, if standard error is a terminal; lines are written otherwise.
    bar: Option<Bar>,
    /// The start of the run.
    started: Instant,
    /// The start of the current stage, from which the remaining time is estimated.
    stage_started: Instant,
    /// The time of the last line, or of the start of the stage.
    last_line: Instant,
    /// The warnings that were written.
    warned: Vec<InputWarning>,
    /// The figures of the run, after its end.
    summary: Summary,
}

impl Progress {
    /// Starts the clock. The run stops at the next event after `stop` is set.
    pub(crate) fn new(messages: &Messages, stop: Arc<AtomicBool>) -> Self {
        let now = Instant::now();
        let shown = Shown {
            messages: *messages,
            stop,
            bar: messages.has_bar().then(|| Bar::new(SPINNER)),
            started: now,
            stage_started: now,
            last_line: now,
            warned: Vec::new(),
            summary: Summary::default(),
        };
        Self {
            messages: *messages,
            started: now,
            shown: Arc::new(Mutex::new(shown)),
        }
    }

    /// The setting of a trainer: shows its events, and stops it after a signal.
    pub(crate) fn observer(&self) -> Observer {
        let shown = Arc::clone(&self.shown);
        Observer::new(move |event| {
            let mut shown = shown.lock().unwrap_or_else(PoisonError::into_inner);
            shown.on_event(event)
        })
    }

    /// Removes the bar, and returns the figures of the run. Call before other messages are written.
    pub(crate) fn finish(&self) -> Summary {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        shown.bar = None;
        shown.summary.clone()
    }

    /// Writes the last lines: sentences, words, pieces, time, memory, and the names of the files.
    pub(crate) fn summarize(&self, summary: &Summary, written: &str) {
        self.summarize_input(summary);
        let characters = HumanCount(summary.characters as u64);
        let percent = 100.0 * summary.coverage;
        self.messages.say(&format!(
            "alphabet: {characters} characters, {percent:.4} % of the text"
        ));
        let pieces = HumanCount(summary.pieces as u64);
        let merges = match summary.merges {
            0 => String::new(),
            merges => format!(" ({} merges)", HumanCount(merges as u64)),
        };
        self.messages.say(&format!("pieces: {pieces}{merges}"));
        self.summarize_run(written);
    }

    /// Writes the last lines of byte-level training: texts, pretokens, tokens, time, memory, and
    /// the names of the files.
    pub(crate) fn summarize_bytes(&self, summary: &Summary, wanted: u32, written: &str) {
        self.summarize_input(summary);
        let tokens = HumanCount(summary.pieces as u64);
        let merges = HumanCount(summary.merges as u64);
        self.messages
            .say(&format!("tokens: {tokens} ({merges} merges)"));
        if summary.pieces < wanted as usize {
            self.messages.warn(&format!(
                "--vocab_size={wanted} is more than the text gives: no other pair occurs as often as --min_frequency says; \
                 give more text for more tokens"
            ));
        }
        self.summarize_run(written);
    }

    /// Says how often special tokens were found in the text.
    pub(crate) fn note_special_tokens(&self, found: u64, are_left_out: bool) {
        let count = HumanCount(found);
        match (found, are_left_out) {
            (0, _) => {}
            (_, true) => self.messages.say(&format!("special tokens left out: {count}")),
            (_, false) => self.messages.warn(&format!(
                "the text has special tokens ({count} in all), whose parts are learned like other text; \
                 --split_special_tokens leaves them out"
            )),
        }
    }

    /// Writes the lines of a table of counts: sentences, words, time, memory, and the name of the
    /// file.
    pub(crate) fn summarize_counts(&self, summary: &Summary, written: &Path) {
        self.summarize_input(summary);
        self.summarize_run(&written.display().to_string());
    }

    /// Writes the counts of sentences and words.
    pub(crate) fn summarize_input(&self, summary: &Summary) {
        let sentences = &summary.sentences;
        let skipped = [
            (sentences.empty, "empty"),
            (sentences.too_long, "too long"),
            (sentences.reserved, "with U+2585"),
            (sentences.bad_records, "records without a text"),
        ];
        let skipped = skipped.into_iter().filter(|(count, _)| *count > 0);
        let skipped: Vec<String> = skipped
            .map(|(count, reason)| format!("{} {reason}", HumanCount(count)))
            .collect();
        let skipped = match skipped.is_empty() {
            true => "none".to_owned(),
            false => skipped.join(", "),
        };
        let used = HumanCount(sentences.used);
        self.messages
            .say(&format!("sentences: {used} (skipped: {skipped})"));
        if sentences.too_long > 0 {
            let count = HumanCount(sentences.too_long);
            self.messages.warn(&format!(
                "{count} sentences were skipped because they are longer than --max_sentence_length bytes; raise it to train \
                 on them"
            ));
        }
        let words = HumanCount(summary.distinct_words as u64);
        self.messages.say(&format!("distinct words: {words}"));
    }

    /// Writes the time, the memory and the names of the files.
    fn summarize_run(&self, written: &str) {
        let seconds = self.started.elapsed().as_secs_f64();
        let memory = match peak_memory() {
            Some(bytes) => format!(", {} of memory at most", HumanBytes(bytes)),
            None => String::new(),
        };
        self.messages.say(&format!("time: {seconds:.1} s{memory}"));
        self.messages.say(&format!("written: {written}"));
    }

    /// Writes what can be done with a tokenizer that has just been trained. Scripts that call
    /// `spm_train` do not expect it.
    pub(crate) fn suggest(&self, tokenizer: &str) {
        if let Some(program) = own_name() {
            self.messages.say(&format!(
                "try: {program} encode --model={tokenizer} FILE, {program} inspect {tokenizer}"
            ));
        }
    }
}

impl Shown {
    /// Writes a line with the time since the start of the run.
    fn say_timed(&self, message: &str) {
        let seconds = self.started.elapsed().as_secs_f64();
        self.messages.say(&format!("[{seconds:.1} s] {message}"));
    }

    /// Reports the start of a stage: restarts the bar, or writes the name as a line.
    fn start(&mut self, stage: Stage) {
        self.stage_started = Instant::now();
        self.last_line = self.stage_started;
        let name = name(stage);
        match &self.bar {
            Some(bar) => {
                // Until the first event says how much there is to do.
                bar.set_template(SPINNER);
                bar.0.set_message(name);
                bar.0.unset_length();
                bar.0.reset();
                bar.appear();
                bar.0.tick();
            }
            None => self.say_timed(name),
        }
    }

    /// Writes a warning, once for all passes over the input.
    fn warn(&mut self, warning: &InputWarning) {
        if self.warned.contains(warning) {
            return;
        }
        self.messages.warn(&warning.to_string());
        self.warned.push(warning.clone());
    }

    /// Reports an iteration of the estimation, which has no known end.
    fn show_iteration(&mut self, text: &str) {
        match &self.bar {
            Some(Bar(bar)) => bar.set_message(text.to_owned()),
            None => self.say_timed(text),
        }
    }

    /// Reports that `done` of `total` units of the stage are done: moves the bar, or writes `line`
    /// (which gets the seconds since the start of the stage) if the last line is old enough.
    fn advance(
        &mut self,
        done: u64,
        total: Option<u64>,
        template: &str,
        line: impl Fn(f64) -> String,
    ) {
        if let Some(bar) = &self.bar {
            if let Some(total) = total
                && bar.0.length() != Some(total)
            {
                bar.set_template(template);
                bar.0.set_length(total);
            }
            bar.0.set_position(done);
        } else if is_line_due(&mut self.last_line) {
            let elapsed = self.stage_started.elapsed().as_secs_f64();
            self.say_timed(&line(elapsed));
        }
    }

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
                    let remaining = left(done as f64, wanted as f64, elapsed);
                    format!("merged {done} of {wanted}, {remaining}, the last pair {count} times")
                },
            ),
            Event::Warned(warning) => self.warn(warning),
            Event::Estimated {
                iteration,
                pieces,
                wanted,
                log_likelihood,
            } => self.show_iteration(&format!(
                "iteration {iteration}: {pieces} pieces, {wanted} or fewer wanted, \
                 mean log likelihood {log_likelihood:.4}"
            )),
            Event::Finished(summary) => self.summary = summary.clone(),
            // Events of later versions of the library.
            _ => {}
        }
        match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Whether the last line is old enough for another one, which is then the last line.
fn is_line_due(last_line: &mut Instant) -> bool {
    let is_due = last_line.elapsed() >= LINE_INTERVAL;
    if is_due {
        *last_line = Instant::now();
    }
    is_due
}

/// Where a run on lines begins, and how far it goes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LineRun {
    /// The bytes of the input before the run.
    pub(crate) position: u64,
    /// The bytes of the whole input, if they are known before it is read.
    pub(crate) total: Option<u64>,
    /// Whether a bar would disturb what is typed or printed at the same terminal.
    pub(crate) shares_terminal: bool,
}

/// Reports the number of processed lines: by a bar, or every 5 seconds.
pub(crate) struct LineCount {
    messages: Messages,
    run: LineRun,
    /// The bar, after the first second.
    bar: Option<Bar>,
    /// Whether there can be a bar.
    may_have_bar: bool,
    /// Lines processed so far.
    lines: u64,
    /// Bytes processed so far.
    bytes: u64,
    /// The start of the run, from which the speed is computed.
    started: Instant,
    /// The time of the last message.
    last_line: Instant,
}

impl LineCount {
    /// Starts the clock.
    pub(crate) fn new(messages: &Messages, run: LineRun) -> Self {
        let now = Instant::now();
        Self {
            messages: *messages,
            run,
            bar: None,
            may_have_bar: messages.has_bar() && !run.shares_terminal,
            lines: 0,
            bytes: 0,
            started: now,
            last_line: now,
        }
    }

    /// Adds processed lines and their bytes. Called once for each block, so the clock is read
    /// rarely.
    pub(crate) fn advance(&mut self, lines: u64, bytes: u64) {
        self.lines += lines;
        self.bytes += bytes;
        if self.may_have_bar {
            if self.started.elapsed() >= BAR_DELAY {
                self.draw();
            }
            return;
        }
        if is_line_due(&mut self.last_line) {
            let elapsed = self.started.elapsed().as_secs_f64();
            let speed = self.lines as f64 / elapsed.max(1e-3);
            let lines = HumanCount(self.lines);
            self.messages.say(&format!(
                "[{elapsed:.1} s] {lines} lines, {speed:.0} a second"
            ));
        }
    }

    /// Moves the bar, which appears at the first call.
    fn draw(&mut self) {
        let run = self.run;
        let bar = self.bar.get_or_insert_with(|| match run.total {
            Some(_) => Bar::new("{bar:20} {bytes}/{total_bytes}, {msg}"),
            None => Bar::new("{spinner} {bytes}, {msg}"),
        });
        let elapsed = self.started.elapsed().as_secs_f64();
        let speed = self.bytes as f64 / elapsed.max(1e-3) / 1e6;
        let mut message = format!("{} lines, {speed:.0} MB/s", HumanCount(self.lines));
        if let Some(total) = run.total {
            bar.0.set_length(total);
            let rest = total.saturating_sub(run.position);
            message += ", ";
            message += &left(self.bytes as f64, rest as f64, elapsed);
        }
        bar.0.set_message(message);
        bar.0.set_position(run.position + self.bytes);
        bar.appear();
    }
}

/// The message while the corpus is read; the total is unknown for standard input.
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

/// An estimate of the remaining time, for the average speed so far.
fn left(done: f64, total: f64, elapsed: f64) -> String {
    format!(
        "{:.0} s left",
        elapsed * (total - done).max(0.0) / done.max(1.0)
    )
}

/// The name of a stage in messages.
fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Sampling => "drawing a sample",
        Stage::Reading => "reading and counting words",
        Stage::Characters => "choosing characters",
        Stage::Merging => "merging pairs",
        Stage::Seeding => "choosing seed pieces",
        Stage::Estimating => "estimating scores and pruning pieces",
        Stage::Assembling => "assembling the model",
        _ => "training",
    }
}

/// The largest resident memory of this process so far, in bytes. Only Linux has the file, with a
/// line `VmHWM:     3012 kB`.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let field = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = field.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
