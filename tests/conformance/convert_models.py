#!/usr/bin/env python3
"""Compares the conversion of every model of a folder with transformers, and with the verdict of `spiece convert`.

Job: `run.py convert` for given models, each of them once, with both versions of transformers. With --saved the same for the
tokenizer.json that transformers itself makes of each model: the .model that spiece makes of it has its ids, or the verdict says why not.
Input: folders of .model files. Output: a line for each model; exit status 0 if no text differs that the verdict does not explain,
1 if one does, 2 if the comparison cannot run.

    python3 tests/conformance/convert_models.py testdata/golden --spiece target/release/spiece --lines 3000
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from differential import bootstrap, conversion, models, transformers_side  # noqa: E402
from differential.case import Outcome  # noqa: E402
from differential.sides import Sides  # noqa: E402

SECONDS = 600.0
WORK = bootstrap.REPOSITORY / "target" / "conformance"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--spiece", type=Path, help="the program to test [default: cargo build --release]")
    parser.add_argument("--work", type=Path, default=WORK, help="where the environments are installed")
    parser.add_argument("--lines", type=int, default=3000, help="adversarial lines for each model")
    parser.add_argument("--text", type=Path, default=bootstrap.TESTDATA, help="a folder of .txt files with real lines")
    parser.add_argument("--real", type=int, default=20000, help="real lines for each model")
    parser.add_argument("--versions", default=",".join(transformers_side.VERSIONS), help="versions of transformers")
    parser.add_argument("--saved", action="store_true", help="compare the files that transformers makes, too")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found = [path for folder in options.folders for path in sorted(folder.glob("*.model"))]
    if not found:
        print("there are no .model files in these folders", file=sys.stderr)
        return 2
    try:
        python = bootstrap.reference_python(options.work)
        sides = Sides(python, bootstrap.spiece_program(options.spiece), SECONDS)
        versions = options.versions.split(",")
        workers = {version: transformers_side.client(options.work, version, SECONDS) for version in versions}
    except bootstrap.SetupError as error:
        print(f"convert_models.py: {error}", file=sys.stderr)
        return 2
    real = real_texts(options)
    failed = files = 0
    for model in found:
        outcome = Outcome()
        lines = models.lines_for(random.Random(f"{options.seed} {model.name}"), model.read_bytes(), options.lines)
        with tempfile.TemporaryDirectory(prefix="spiece-convert-") as folder:
            texts = real + conversion.texts_of(lines)
            summary = conversion.compare_conversion(outcome, model.resolve(), texts, sides, workers, Path(folder))
            if options.saved:
                found_in_saved, made = conversion.compare_saved(outcome, model.resolve(), texts, sides, workers, Path(folder))
                summary += found_in_saved
                files += made
        failed += bool(outcome.differences)
        details = [*summary, *filter(None, [outcome.note]), *map(str, outcome.differences)]
        print(f"{model.name}: {outcome.compared} compared, {'; '.join(details)}", flush=True)
    for worker in workers.values():
        worker.stop()
    sides.close()
    print(f"{len(found) - failed} passed, {failed} failed")
    if options.saved:
        print(f"files that transformers made: {files}")
    return 1 if failed or (options.saved and files == 0) else 0


def real_texts(options):
    """Lines of the text files, spread over all of them."""
    lines = [line for path in sorted(options.text.glob("*.txt")) for line in path.read_bytes().split(b"\n")]
    random.Random(options.seed).shuffle(lines)
    return conversion.texts_of(lines[: options.real])


if __name__ == "__main__":
    sys.exit(main())
