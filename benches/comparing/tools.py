"""Builds spiece and installs the peers, and runs them.

Everything is installed into the work folder: a Python environment with the peers from PyPI, and the target folder of
the program benches/peers/rust, which contains the peers from crates.io.
"""

import functools
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "benches/peers"
REFERENCE = "sentencepiece"
REFERENCE_PACKAGES = ["numpy", "protobuf", "sentencepiece==0.2.3"]

# The exit status of a peer that does not support a model.
REFUSED = 3


def run(command, **options):
    return subprocess.run([str(part) for part in command], check=True, **options)


@functools.cache
def target():
    """The folder with the programs of spiece, which are built once, as they are published."""
    run(["cargo", "build", "--profile", "dist", "--quiet", "--bins", "--example", "throughput"], cwd=ROOT)
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    return Path(json.loads(run(command, cwd=ROOT, capture_output=True).stdout)["target_directory"]) / "dist"


def spiece():
    return target() / "spiece"


def throughput():
    return target() / "examples/throughput"


@functools.cache
def rust_peers(work):
    """The program that contains the peers from crates.io; built once."""
    print("building the peers from crates.io", file=sys.stderr)
    run(["cargo", "build", "--release", "--quiet", "--locked", "--manifest-path", PEERS / "rust/Cargo.toml",
         "--target-dir", work / "peers"])
    return work / "peers/release/peers"


def install(work, packages=REFERENCE_PACKAGES, build_needs=()):
    """A Python interpreter with these packages; each list is installed once. `build_needs` are installed first."""
    python = work / "venv/bin/python"
    if not python.exists():
        run([sys.executable, "-m", "venv", work / "venv"])
    done = work / "venv" / f"{' '.join(packages)}.installed"
    if not done.exists():
        pip = [python, "-m", "pip", "install", "--quiet"]
        if build_needs:
            run([*pip, *build_needs])
            pip.append("--no-build-isolation")
        run([*pip, *packages])
        done.touch()
    return python


def measure(command, folder, stdin=None):
    """Runs a command. Returns wall seconds, user seconds and peak megabytes; exits if the command fails."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "log", "wb") as log:
        start = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], cwd=folder, stdin=stdin, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed with status {process.returncode}, see {folder / 'log'}: {command}")
    return wall, usage.ru_utime, usage.ru_maxrss / 1000


class NoResult(Exception):
    """A program has no result for an operation; the message is the cell of the table."""


def report(command, timeout, **environment):
    """The JSON object that a program of benches/peers/measure.rs prints."""
    try:
        done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, env={**os.environ, **environment})
    except subprocess.TimeoutExpired:
        raise NoResult(f"not done in {timeout} s") from None
    if done.returncode == REFUSED:
        raise NoResult(done.stderr.decode().strip().split(": ", 1)[-1])
    if done.returncode != 0:
        print(done.stderr.decode(), file=sys.stderr)
        raise NoResult(f"failed with status {done.returncode}")
    return json.loads(done.stdout)


def machine():
    model = "unknown processor"
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, {time.strftime('%Y-%m-%d')}"
