"""The two sides of a comparison as objects with time limits.

Job: run an operation on the reference (in a worker process) and on spiece (one process each time).
Input: requests as Python values. Output: `Reply` for the reference, `Run` for spiece; neither raises when its
side refuses, crashes or hangs.
"""

import json
import queue
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, List

WORKER = Path(__file__).with_name("reference_worker.py")

OK = "accepted"
REFUSED = "refused"
CRASHED = "crashed"
HUNG = "hung"


@dataclass
class Reply:
    """What the reference did: `status` is one of the four above."""

    status: str
    value: Any = None
    message: str = ""


@dataclass
class Run:
    """What spiece did: `output` is its standard output."""

    status: str
    output: bytes = b""
    message: str = ""

    def lines(self):
        """The output's lines without their newlines."""
        return self.output.split(b"\n")[:-1]


def _describe_exit(code):
    if code is None:
        return "no exit status"
    if code < 0:
        try:
            return f"signal {signal.Signals(-code).name}"
        except ValueError:
            return f"signal {-code}"
    return f"exit status {code}"


class ReferenceClient:
    """A worker process of the reference, started on demand and again after each crash or time-out."""

    def __init__(self, python, timeout, worker=WORKER):
        self.python = python
        self.timeout = timeout
        self.worker = worker
        self.process = None
        self.answers = None

    def call(self, operation, time_limit=None, **arguments):
        """The answer to one request; `time_limit` in seconds replaces the client's own."""
        timeout = time_limit or self.timeout
        if self.process is None:
            self._start()
        request = json.dumps({"operation": operation, **arguments}) + "\n"
        try:
            self.process.stdin.write(request.encode("ascii"))
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # The answer is then the end of the stream.
        try:
            answer = self.answers.get(timeout=timeout)
        except queue.Empty:
            self.stop()
            return Reply(HUNG, message=f"no answer in {timeout} s")
        if answer is None:
            code = self.process.wait()
            self.stop()
            return Reply(CRASHED, message=_describe_exit(code))
        answer = json.loads(answer)
        if "error" in answer:
            return Reply(REFUSED, message=answer["error"])
        return Reply(OK, answer["value"])

    def _start(self):
        self.process = subprocess.Popen(
            [str(self.python), "-B", str(self.worker)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, cwd=tempfile.gettempdir(),
        )
        self.answers = queue.Queue()
        reader = threading.Thread(target=_forward, args=(self.process.stdout, self.answers), daemon=True)
        reader.start()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                try:
                    stream.close()
                except OSError:
                    pass
            self.process = None


def _forward(stream, answers):
    try:
        for line in stream:
            answers.put(line)
    except ValueError:
        pass  # The stream was closed by `stop`.
    answers.put(None)


# A panic ends the program with this status; every other failure is a refusal.
PANIC_STATUS = 101


class Program:
    """The program `spiece`, or a wrong one, which is run once for each request."""

    def __init__(self, program, timeout):
        self.program = [str(program)] if not isinstance(program, (list, tuple)) else list(map(str, program))
        self.timeout = timeout

    def run(self, arguments: List[str], folder, text=b""):
        """Runs the program in `folder` with `text` on standard input and without messages."""
        command = self.program + [str(argument) for argument in arguments] + ["--quiet"]
        try:
            done = subprocess.run(command, cwd=folder, input=text, capture_output=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return Run(HUNG, message=f"no end in {self.timeout} s")
        message = done.stderr.decode("utf-8", "replace")[-500:]
        if done.returncode < 0 or done.returncode == PANIC_STATUS:
            return Run(CRASHED, done.stdout, f"{_describe_exit(done.returncode)}: {message}")
        return Run(OK if done.returncode == 0 else REFUSED, done.stdout, message)


class Sides:
    """Both sides, for the use of one thread."""

    def __init__(self, python, program, timeout):
        self.reference = ReferenceClient(python, timeout)
        self.spiece = Program(program, timeout)

    def close(self):
        self.reference.stop()


def agree(outcome, what, reply, run):
    """Compares the statuses of the two sides; true if both accepted.

    Both refusing is agreement. A crash or time-out of the reference is reported as a note, not as a difference:
    there is no result to equal. A crash or time-out of spiece is always a difference.
    """
    outcome.compared += 1
    if run.status in (CRASHED, HUNG):
        outcome.add(f"spiece {run.status}", f"{what}: spiece {run.status} ({run.message}); the reference {reply.status}")
        return False
    if reply.status in (CRASHED, HUNG):
        outcome.note = f"{what}: the reference {reply.status} ({reply.message}); spiece {run.status} ({run.message})"
        return False
    if reply.status != run.status:
        outcome.add(
            f"spiece {run.status}",
            f"{what}: the reference {reply.status} ({reply.message}), spiece {run.status} ({run.message})",
        )
        return False
    outcome.accepted = reply.status == OK
    return outcome.accepted
