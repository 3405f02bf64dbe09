#!/usr/bin/env python3
"""Compares spiece.tokenizers with the package tokenizers 0.23.3 call by call.

Usage: tokenizers_surface.py --ours PYTHON --reference PYTHON [--seed 1] [--cases 3] [FILE...]

PYTHON is the interpreter of an environment: one with spiece and tokenizers 0.23.3 (whose components are used as objects), one
with tokenizers 0.23.3 (it can be the same), both with numpy. FILE is a tokenizer.json, or a file with one in each line; by
default those of the test data. Values have to be equal, with their types. Where the reference raises an exception, ours has
to be caught by the same ``except``. Differences that have a reason are in ``ACCEPTED``; others are printed, and the exit
status is 1. The last line has the numbers of calls that passed and failed.
"""

import argparse
import pathlib
import sys
import tempfile

import differential

#: Labels of calls (regular expressions) that may differ, and why.
ACCEPTED = {}


def main():
    """Runs both probes and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=3, help="texts for each file")
    parser.add_argument("files", nargs="*")
    given = parser.parse_args()
    testdata = differential.TESTDATA
    files = given.files or [str(testdata / "pipelines/cases.jsonl"), *map(str, sorted(testdata.glob("bytes/*.json")))]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        probe = differential.HERE / "tokenizers_probe.py"
        arguments = [str(given.seed), str(given.cases), *files]
        reference = differential.run(probe, given.reference, "tokenizers", folder / "a", arguments)
        ours = differential.run(probe, given.ours, "spiece.tokenizers", folder / "b", arguments)
    for row in reference:
        # Where the reference panics, for example because a stride is too long, ours raises an ordinary exception.
        if "error" in row and row["error"][0] in ("PanicException", "RustPanic"):
            row["error"] = ["Exception"]
    rows = list(zip(ours, reference))
    failed = differential.report(ours, reference, ACCEPTED)
    different = [row for row in rows if not differential.is_equal(*row)]
    failures = sum(not differential.reason(mine["label"], ACCEPTED) for mine, _ in different)
    print(f"{len(rows) - failures} passed, {failures} failed")
    sys.exit(failed)


if __name__ == "__main__":
    main()
