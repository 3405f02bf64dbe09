#!/usr/bin/env python3
"""Compares the unreachable pieces of every model of a folder with a brute force by SentencePiece 0.2.3.

Job: `run.py inspect` for given models, each of them once.
Input: a folder of .model files. Output: a line for each model; exit status 0 if nothing differs, 1 if something does, 2 if
the comparison cannot run.

    python3 tests/conformance/inspect_models.py DIR --spiece target/release/spiece
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from differential import bootstrap  # noqa: E402
from differential.case import Outcome  # noqa: E402
from differential.kinds.inspect import compare_reachability  # noqa: E402
from differential.sides import Sides  # noqa: E402

SECONDS = 600.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--spiece", type=Path, help="the program to test [default: cargo build --release]")
    parser.add_argument("--work", type=Path, default=bootstrap.REPOSITORY / "target" / "conformance")
    options = parser.parse_args()
    models = sorted(options.folder.glob("*.model"))
    if not models:
        print(f"{options.folder} has no .model files", file=sys.stderr)
        return 2
    try:
        python = bootstrap.reference_python(options.work)
        sides = Sides(python, bootstrap.spiece_program(options.spiece), SECONDS)
    except bootstrap.SetupError as error:
        print(f"inspect_models.py: {error}", file=sys.stderr)
        return 2
    failed = 0
    for model in models:
        outcome = Outcome()
        with tempfile.TemporaryDirectory(prefix="spiece-inspect-") as folder:
            compare_reachability(outcome, model.resolve(), sides, Path(folder))
        failed += bool(outcome.differences)
        details = [str(difference) for difference in outcome.differences] or [outcome.note or "equal"]
        print(f"{model.name}: {outcome.compared} compared, {'; '.join(details)}", flush=True)
    sides.close()
    print(f"{len(models) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
