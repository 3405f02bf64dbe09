"""Runs groups of cases and reports.

Job: generate the cases of a group from the seed, compare them in parallel, minimize and save what fails.
Input: settings of a run. Output: lines on standard output, folders of failing cases, the number of failures.

Case I of kind K with seed S depends on K, S and I only, not on the number of cases, the other groups or --jobs.
"""

import collections
import random
import shlex
import shutil
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

from .case import Case, Outcome
from .kinds import KINDS
from .known import explain
from .minimize import MOST_CANDIDATES, minimize
from .models import ModelPool
from .sides import Sides

# Further failures are saved as they are.
MOST_MINIMIZED = 12


@dataclass
class Settings:
    """What a run needs; `cases` of None means `share` of each kind's default."""

    python: Path
    program: object
    seed: int = 1
    cases: Optional[int] = None
    share: float = 1.0
    models: Optional[Path] = None
    keep: Path = Path("failures")
    jobs: int = 2
    timeout: float = 60.0
    candidates: int = MOST_CANDIDATES
    strict: bool = False


@dataclass
class Result:
    """A case and what became of it."""

    case: Case
    outcome: Outcome


class Runner:
    """Runs cases on threads that each own both sides."""

    def __init__(self, settings):
        self.settings = settings
        self.pool = ModelPool(settings.seed, settings.models)
        self.local = threading.local()
        self.all_sides = []
        self.minimized = 0

    def close(self):
        for sides in self.all_sides:
            sides.close()

    def sides(self):
        """The sides of the calling thread."""
        if not hasattr(self.local, "sides"):
            settings = self.settings
            self.local.sides = Sides(settings.python, settings.program, settings.timeout)
            self.all_sides.append(self.local.sides)
        return self.local.sides

    def compare(self, case):
        """Compares and sets known differences apart, unless the run is strict."""
        outcome = self.compare_strictly(case)
        if not self.settings.strict:
            known = [explain(case, difference) for difference in outcome.differences]
            outcome.known = sorted({name for name in known if name})
            outcome.differences = [d for d, name in zip(outcome.differences, known) if not name]
        return outcome

    def compare_strictly(self, case):
        """Compares in a temporary folder. An exception in the harness is a failure of the case."""
        with tempfile.TemporaryDirectory(prefix="spiece-case-") as folder:
            try:
                return KINDS[case.kind].compare(case, self.sides(), Path(folder))
            except Exception:
                outcome = Outcome()
                outcome.add("harness", traceback.format_exc(limit=4))
                return outcome

    def run_case(self, kind, index):
        name = f"{kind.name}-{self.settings.seed}-{index}"
        rng = random.Random(f"{self.settings.seed}/{kind.name}/{index}")
        try:
            case = kind.generate(rng, self.pool, self.sides())
        except Exception:
            outcome = Outcome()
            outcome.add("harness", f"generating {name}: {traceback.format_exc(limit=4)}")
            return Result(Case(kind.name, name), outcome)
        case.name = name
        return Result(case, self.compare(case))

    def run_group(self, kind):
        """Runs one group and prints its line; returns the numbers of passed and of failed cases."""
        started = time.monotonic()
        count = self.settings.cases or max(1, round(kind.default_cases * self.settings.share))
        with ThreadPoolExecutor(self.settings.jobs) as threads:
            results = list(threads.map(lambda index: self.run_case(kind, index), range(count)))
        seconds = time.monotonic() - started
        failed = [result for result in results if result.outcome.differences]
        noted = [result for result in results if result.outcome.note]
        accepted = sum(result.outcome.accepted for result in results)
        compared = sum(result.outcome.compared for result in results)
        print(
            f"{kind.name:<10} {count} cases ({accepted} accepted by both sides), {compared} comparisons, "
            f"{count - len(failed)} passed, {len(failed)} failed, "
            f"{len(noted)} without a result of the reference ({seconds:.0f} s)",
            flush=True,
        )
        known = collections.Counter(name for result in results for name in result.outcome.known)
        for name, times in sorted(known.items()):
            print(f"  known difference in {times} cases: {name}")
        for result in noted:
            print(f"  note: {result.case.name} ({result.case.options.get('source', '')}): {result.outcome.note}")
        for result in failed:
            self.report(kind, result)
        return count - len(failed), len(failed)

    def report(self, kind, result):
        """Minimizes and saves a failing case, and prints it with the command that replays it."""
        case = result.case
        outcome = result.outcome
        categories = outcome.categories()
        if self.minimized < MOST_MINIMIZED and "harness" not in categories:
            self.minimized += 1
            wanted = min(categories)
            predicate = lambda candidate: wanted in self.compare(candidate).categories()
            if predicate(case):
                case = minimize(case, kind, predicate, self.settings.candidates)
                outcome = self.compare(case)
            else:
                outcome.add("harness", "the difference did not occur again when the case was run a second time")
        folder = self.settings.keep / case.name
        shutil.rmtree(folder, ignore_errors=True)
        case.save(folder)
        replay = f"python3 tests/conformance/run.py replay {shlex.quote(str(folder))}"
        lines = [f"FAILED {case.name}: {', '.join(sorted(outcome.categories()))}"]
        lines += [f"  {difference.category}: {difference.detail}" for difference in outcome.differences]
        lines += [f"  options: {case.options}", f"  replay: {replay}"]
        (folder / "report.txt").write_text("\n".join(lines) + "\n", errors="backslashreplace")
        (folder / "replay").write_text(f"#!/bin/sh\nexec {replay} \"$@\"\n")
        print("\n".join(lines).encode("ascii", "backslashreplace").decode(), flush=True)


def run_groups(settings, names):
    """Runs the named groups; prints the closing line and returns the numbers of passed and of failed cases."""
    print(f"seed {settings.seed}", flush=True)
    runner = Runner(settings)
    try:
        totals = [runner.run_group(KINDS[name]) for name in names]
    finally:
        runner.close()
    passed = sum(total[0] for total in totals)
    failed = sum(total[1] for total in totals)
    print(f"{passed} passed, {failed} failed", flush=True)
    return passed, failed


def replay(settings, folder):
    """Compares a saved case again and prints what differs; returns the numbers of passed and of failed cases."""
    runner = Runner(settings)
    case = Case.load(folder)
    try:
        outcome = runner.compare(case)
    finally:
        runner.close()
    for difference in outcome.differences:
        print(f"{difference.category}: {difference.detail}".encode("ascii", "backslashreplace").decode())
    if outcome.note:
        print(f"note: {outcome.note}")
    failed = 1 if outcome.differences else 0
    print(f"{1 - failed} passed, {failed} failed")
    return 1 - failed, failed
