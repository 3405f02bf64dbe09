#!/usr/bin/env python3
"""Programs at a terminal and behind named pipes answer each line when it is typed; runs of seconds show a bar.

Usage: tests/terminal.py [target/release/spiece]      Linux; needs python3 only
"""
import gzip
import os
import pty
import select
import subprocess
import sys
import tempfile
import tty
import zlib

SPIECE = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "target/release/spiece")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MODEL = f"--model={ROOT}/testdata/golden/llama2.model"
LONGEST_WAIT = 60
VERBS = [
    (["encode", MODEL], "the right", "▁the ▁right"),
    (["decode", MODEL], "▁the ▁right", "the right"),
    (["decode", MODEL, "--input_format=id"], "[411, 775]", "the right"),
    (["normalize", MODEL], "the right", "▁the▁right"),
]


def read_line(descriptor):
    """The next line; fails if it does not come."""
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([descriptor], [], [], LONGEST_WAIT)[0]:
            sys.exit(f"no answer within {LONGEST_WAIT} s; read so far: {line!r}")
        line += os.read(descriptor, 1)
    return line.decode().rstrip("\r\n")


def check(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found!r} instead of {expected!r}")


def terminal(arguments, line, expected):
    """Input and output are a terminal, which needs ^D only to end the program."""
    ours, theirs = pty.openpty()
    settings = tty.tcgetattr(theirs)
    settings[3] &= ~tty.ECHO
    tty.tcsetattr(theirs, tty.TCSANOW, settings)
    process = subprocess.Popen([SPIECE, *arguments], stdin=theirs, stdout=theirs)
    for _ in range(20):
        os.write(ours, line.encode() + b"\n")
        check(f"{arguments} at a terminal", read_line(ours), expected)
    os.write(ours, b"\x04")
    check(f"{arguments}: exit status", process.wait(LONGEST_WAIT), 0)
    os.close(ours)
    os.close(theirs)


def compressed_pipe(threads):
    """A named pipe of compressed text that its writer flushes after each line."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lines.gz")
        os.mkfifo(path)
        process = subprocess.Popen(
            [SPIECE, "encode", MODEL, f"--num_threads={threads}", path], stdout=subprocess.PIPE)
        with open(path, "wb", buffering=0) as pipe:
            writer = gzip.GzipFile(fileobj=pipe, mode="wb")
            for _ in range(20):
                writer.write(b"the right\n")
                writer.flush(zlib.Z_SYNC_FLUSH)
                check("compressed input", read_line(process.stdout.fileno()), "▁the ▁right")
            writer.close()
        check("compressed input: exit status", process.wait(LONGEST_WAIT), 0)


def bar(arguments, expected, lines=2_000_000):
    """Messages go to a terminal, and the run is so slow that a bar appears; it is removed at the end."""
    ours, theirs = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        text = os.path.join(folder, "text")
        with open(text, "wb") as file:
            file.write(b"the right of the people to be heard, and of one another\n" * lines)
        process = subprocess.Popen(
            [SPIECE, *(argument.format(text=text, folder=folder) for argument in arguments)],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:
                break
            if not part:
                break
            said += part
        check(f"{arguments}: exit status", process.wait(LONGEST_WAIT), 0)
    os.close(ours)
    if expected.encode() not in said:
        sys.exit(f"{arguments}: no {expected!r} in {said[:2000]!r}")


# 112 MB take seconds on one thread; `edit` uses all cores.
bar(["encode", MODEL, "--output_format=json", "--num_threads=1", "{text}"], " s left")
bar(["inspect", MODEL[8:], "--num_threads=1", "--text={text}"], " s left")
bar(["edit", MODEL[8:], "--add_control=<x>", "--text={text}", "--model_prefix={folder}/m"], " s left",
    lines=8_000_000)
bar(["train", "--input={text}", "--model_prefix={folder}/m", "--vocab_size=30"], "reading and counting words")
for verb in VERBS:
    for threads in (1, 2):
        terminal([*verb[0], f"--num_threads={threads}"], verb[1], verb[2])
for threads in (1, 2):
    compressed_pipe(threads)
# Each of them ends quietly when `head` has what it wants.
for command in ("yes | {} encode {} | head -n 1", "yes | {} normalize {} | head -n 1"):
    run = subprocess.run(["bash", "-c", "set -o pipefail; " + command.format(SPIECE, MODEL) + '; echo "${PIPESTATUS[1]}"'],
                         capture_output=True, text=True, timeout=LONGEST_WAIT)
    check(command, (run.stdout.splitlines()[-1], run.stderr), ("0", ""))
print("all answers came")
