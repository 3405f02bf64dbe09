"""Checks that the harness can fail.

Job: run each group against programs that are wrong on purpose (`wrong_spiece`), and check that each is found,
minimized and saved in a form that fails again when replayed.
Input: settings of a run. Output: one line for each wrong program; 0 if all were found, otherwise 1.
"""

import contextlib
import dataclasses
import io
import sys
import tempfile
from pathlib import Path

from . import runner
from .kinds import KINDS

SHIM = Path(__file__).with_name("wrong_spiece.py")
CASES = 6
# Candidates tried per minimized case.
CANDIDATES = 80

# The fault of the shim, the group that must find it, and how large the minimized case may be at most.
FAULTS = [
    ("model_byte", "train", 1),
    ("accepts_all", "train", 1),
    ("one_id", "encode", 1),
    ("one_span", "encode", 1),
    ("crash", "encode", 1),
    ("one_letter", "decode", 1),
    ("one_letter", "normalize", 1),
    ("accepts_all", "load", 8),
]


def _check(settings, fault, group, most_lines):
    """None if the fault is found; otherwise what is wrong with the harness."""
    program = [sys.executable, "-B", str(SHIM), fault, str(settings.program)]
    with tempfile.TemporaryDirectory(prefix="spiece-self-test-") as keep:
        faulty = dataclasses.replace(settings, program=program, keep=Path(keep), cases=CASES, candidates=CANDIDATES)
        report = io.StringIO()
        with contextlib.redirect_stdout(report):
            _, failed = runner.run_groups(faulty, [group])
        if not failed:
            return "no failure was reported"
        folder = min(Path(keep).iterdir(), key=lambda path: (path / "lines.bin").stat().st_size)
        case = runner.Case.load(folder)
        if len(case.lines) > most_lines:
            return f"the minimized case has {len(case.lines)} lines"
        with contextlib.redirect_stdout(report):
            _, failed = runner.replay(faulty, folder)
            _, still_failed = runner.replay(settings, folder)
        if not failed:
            return "the saved case passes when it is replayed"
        if still_failed:
            return f"the saved case fails without the fault too:\n{report.getvalue()}"
    return None


def run(settings):
    """Runs all faults and prints the closing line."""
    problems = 0
    runner.MOST_MINIMIZED = 1
    for fault, group, most_lines in FAULTS:
        assert group in KINDS
        problem = _check(settings, fault, group, most_lines)
        print(f"{fault} in {group}: {'found' if problem is None else problem}", flush=True)
        problems += problem is not None
    print(f"{len(FAULTS) - problems} passed, {problems} failed")
    return 1 if problems else 0
