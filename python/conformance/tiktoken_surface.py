#!/usr/bin/env python3
"""Compares spiece.tiktoken with the package tiktoken 0.14.0 call by call.

Usage: tiktoken_surface.py --ours PYTHON --reference PYTHON [--seed 1] [--cases 30]

PYTHON is the interpreter of an environment: one with spiece, one with tiktoken 0.14.0 (it can be the same), both with numpy.
Values have to be equal, with their types. Where the reference raises an exception, ours has to be caught by the same
``except``. Six vocabularies are made from the seed; the published ones are used if SPIECE_VOCABULARIES names a folder that has them.
Differences that have a reason are in ``ACCEPTED``; others are printed, and the exit status is 1.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import differential
import published

#: Labels of calls (regular expressions) that may differ, and why.
ACCEPTED = {}


def main():
    """Runs both probes and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=30, help="texts for each vocabulary")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        probe = differential.HERE / "tiktoken_probe.py"
        published.fill_cache(os.environ.get("SPIECE_VOCABULARIES", ""), folder / "vocabularies")
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder / "vocabularies")
        numbers = [str(given.seed), str(given.cases)]
        reference = differential.run(probe, given.reference, "tiktoken", folder / "a", numbers)
        ours = differential.run(probe, given.ours, "spiece.tiktoken", folder / "b", numbers)
    sys.exit(differential.report(ours, reference, ACCEPTED))


if __name__ == "__main__":
    main()
