//! Programs in a pipe: each line is answered before the next one is written.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use crate::support::{program, start, testdata_argument};

/// A program that waits longer than this for the next line waits for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A running program.
struct CoProcess {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl CoProcess {
    fn start(mut command: Command) -> Self {
        let mut child = start(&mut command);
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                let _ = sender.send(line.unwrap());
            }
        });
        Self {
            child,
            stdin,
            lines,
        }
    }

    fn write(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).unwrap();
    }

    fn answer(&mut self) -> String {
        match self.lines.recv_timeout(LONGEST_WAIT) {
            Ok(line) => line,
            Err(error) => {
                self.child.kill().unwrap();
                panic!("no answer: {error}");
            }
        }
    }

    /// Ends the input; returns whether the program has succeeded, and its messages.
    fn finish(mut self) -> (bool, String) {
        drop(self.stdin);
        let rest = self.lines.recv_timeout(LONGEST_WAIT);
        assert_eq!(rest, Err(RecvTimeoutError::Disconnected));
        let mut messages = String::new();
        let mut stderr = self.child.stderr.take().unwrap();
        stderr.read_to_string(&mut messages).unwrap();
        (self.child.wait().unwrap().success(), messages)
    }
}

fn spiece(arguments: &[&str], threads: usize) -> Command {
    let mut command = program();
    command
        .args(arguments)
        .arg(format!("--num_threads={threads}"));
    command
}

/// Each verb that maps lines, with an input and the output for it.
fn verbs() -> Vec<(Vec<String>, &'static str, &'static str)> {
    let bpe = format!("--model={}", testdata_argument("golden/llama2.model"));
    let unigram = format!("--model={}", testdata_argument("run/unigram.model"));
    let verb = |arguments: &[&str], input, output| {
        let arguments = arguments.iter().map(ToString::to_string).collect();
        (arguments, input, output)
    };
    vec![
        verb(&["encode", &bpe], "the right\n", "▁the ▁right"),
        verb(&["encode", &bpe, "--output_format=id"], "\n", ""),
        verb(
            &["encode", &bpe, "--json_field=t"],
            "{\"t\": \"the right\"}\n",
            "▁the ▁right",
        ),
        verb(
            &[
                "encode",
                &unigram,
                "--output_format=nbest_piece",
                "--nbest_size=1",
            ],
            "les\n",
            "▁ les",
        ),
        verb(&["decode", &bpe], "▁the ▁right\n", "the right"),
        verb(&["normalize", &bpe], "the right\n", "▁the▁right"),
        verb(&["normalize", "--normalization_rule_name=nfkc"], "①\n", "1"),
    ]
}

#[test]
fn each_line_is_answered_before_the_next_one_is_written() {
    for (arguments, input, output) in verbs() {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        for threads in [1, 2, 7] {
            let mut process = CoProcess::start(spiece(&arguments, threads));
            for _ in 0..1000 {
                process.write(input);
                assert_eq!(process.answer(), output, "{arguments:?}");
            }
            assert_eq!(process.finish(), (true, String::new()), "{arguments:?}");
        }
    }
}

/// The programs of SentencePiece answer at once, and so do the links with their names.
#[cfg(unix)]
#[test]
fn a_linked_name_answers_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let link: PathBuf = folder.path().join("spm_encode");
    let original: &Path = env!("CARGO_BIN_EXE_spiece").as_ref();
    std::os::unix::fs::symlink(original, &link).unwrap();
    let mut command = Command::new(link);
    command.arg(format!(
        "--model={}",
        testdata_argument("golden/llama2.model")
    ));
    let mut process = CoProcess::start(command);
    for _ in 0..10 {
        process.write("the\n");
        assert_eq!(process.answer(), "▁the");
    }
    assert_eq!(process.finish(), (true, String::new()));
}

#[test]
fn a_line_is_answered_when_its_second_half_has_arrived() {
    let model = format!("--model={}", testdata_argument("golden/llama2.model"));
    for threads in [1, 2] {
        let mut process = CoProcess::start(spiece(&["encode", &model], threads));
        process.write("the\nthe ri");
        assert_eq!(process.answer(), "▁the");
        let early = process.lines.recv_timeout(Duration::from_millis(50));
        assert_eq!(early, Err(RecvTimeoutError::Timeout));
        process.write("ght\n\nth");
        assert_eq!(process.answer(), "▁the ▁right");
        assert_eq!(process.answer(), "");
        drop(process.stdin);
        assert_eq!(process.lines.recv_timeout(LONGEST_WAIT).unwrap(), "▁th");
        assert!(process.child.wait().unwrap().success());
    }
}

/// As in `yes | spiece encode | head -n 1`.
#[test]
fn a_reader_that_leaves_ends_the_program_quietly() {
    let model = format!("--model={}", testdata_argument("golden/llama2.model"));
    for threads in [1, 2] {
        let mut child = start(&mut spiece(&["encode", &model], threads));
        let mut stdin = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || while stdin.write_all(b"y\ny\n").is_ok() {});
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut first)
            .unwrap();
        assert_eq!(first, "▁y\n");
        let mut messages = String::new();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut messages).unwrap();
        assert_eq!(
            (child.wait().unwrap().code(), messages),
            (Some(0), String::new())
        );
        writer.join().unwrap();
    }
}

/// The error does not wait for the thread that waits for more input.
#[test]
fn an_error_ends_the_program_while_its_input_is_open() {
    let model = format!("--model={}", testdata_argument("golden/llama2.model"));
    for threads in [1, 2, 7] {
        let decode = ["decode", &model, "--input_format=id"];
        let mut process = CoProcess::start(spiece(&decode, threads));
        process.write("411\n");
        assert_eq!(process.answer(), "the");
        process.write("99999999\n");
        let rest = process.lines.recv_timeout(LONGEST_WAIT);
        assert_eq!(rest, Err(RecvTimeoutError::Disconnected));
        assert_eq!(process.child.wait().unwrap().code(), Some(1));
    }
}
