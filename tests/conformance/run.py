#!/usr/bin/env python3
"""Compares spiece with SentencePiece 0.2.3 on random training runs, models and texts.

Job: the command line of the differential harness; README.md beside this file is the manual.
Input: flags. Output: a report on standard output; exit status 0 if nothing differs, 1 if something does, 2 if
the harness cannot run.

    python3 tests/conformance/run.py                          # all groups, seed 1
    python3 tests/conformance/run.py train --seed 7 --cases 1000
    python3 tests/conformance/run.py replay target/conformance/failures/train-7-31
"""

import argparse
import os
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from differential import bootstrap, runner, self_test  # noqa: E402
from differential.kinds import DEFAULT_KINDS, KINDS  # noqa: E402
from differential.models import NoModel  # noqa: E402

WORK = bootstrap.REPOSITORY / "target" / "conformance"


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", default="all", choices=["all", "replay", *KINDS])
    parser.add_argument("folder", nargs="?", type=Path, help="replay: the folder of the saved case")
    parser.add_argument("--seed", type=int, default=1, help="every seed gives other cases [default: 1]")
    parser.add_argument("--cases", type=int, help="cases of each group [default: 3 to 4 minutes on two cores]")
    parser.add_argument("--share", type=float, default=1.0, help="without --cases: this fraction of the usual number of cases [default: 1]")
    parser.add_argument("--models", type=Path, help="a folder of .model files to run besides the generated ones")
    parser.add_argument("--spiece", type=Path, help="the program to test [default: cargo build --release]")
    parser.add_argument("--keep", type=Path, default=WORK / "failures", help="where failing cases are saved")
    parser.add_argument("--work", type=Path, default=WORK, help="where the reference is installed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cases at a time [default: cores]")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one step of one side")
    parser.add_argument("--strict", action="store_true", help="known differences (known.py) fail the run too")
    parser.add_argument("--self-test", action="store_true", help="check that wrong programs are found")
    options = parser.parse_args(arguments)
    if (options.what == "replay") != (options.folder is not None):
        parser.error("replay needs a folder, and nothing else takes one")
    return options


def main(arguments=None):
    options = parse_arguments(arguments)
    sys.stdout.reconfigure(errors="backslashreplace")
    try:
        settings = runner.Settings(
            python=bootstrap.reference_python(options.work), program=bootstrap.spiece_program(options.spiece),
            seed=options.seed, cases=options.cases, share=options.share, models=options.models, keep=options.keep,
            jobs=max(1, options.jobs), timeout=options.timeout, strict=options.strict or options.what == "replay",
        )
        if options.self_test:
            return self_test.run(settings)
        if options.what == "replay":
            _, failed = runner.replay(settings, options.folder)
        else:
            _, failed = runner.run_groups(settings, DEFAULT_KINDS if options.what == "all" else [options.what])
    except (bootstrap.SetupError, NoModel) as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
