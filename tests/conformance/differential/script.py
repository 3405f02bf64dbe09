"""The frame of the scripts that compare with other packages than sentencepiece, such as `byte_level.py`.

Job: the environment with these packages, the flags, the calls of spiece, the loop over vocabularies and the report.
Input: what a script compares: vocabularies, texts, and a function that says what differs.
Output: a line for each vocabulary; exit status 0 if nothing differs, 1 if something does, 2 if the script cannot run.
"""

import argparse
import itertools
import json
import os
import random
import subprocess
import sys
from pathlib import Path

from . import bootstrap
from .minimize import shrink_list

# `byte_train.py` needs rustbpe, `byte_formats.py` gguf.
PACKAGES = ["tiktoken==0.14.0", "tokenizers==0.23.3", "rustbpe==0.1.0", "gguf==0.19.0"]


def flags(page, cases, cases_help=None, seed_help="every seed gives other texts and vocabularies"):
    """A parser of the flags that all scripts have."""
    parser = argparse.ArgumentParser(description=page, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help=seed_help)
    parser.add_argument("--cases", type=int, default=cases, help=cases_help)
    parser.add_argument("--spiece", type=Path, help="the program to test [default: cargo build --release]")
    parser.add_argument("--work", type=Path, default=bootstrap.REPOSITORY / "target/conformance")
    return parser


def _in_environment(work):
    """Goes on in an interpreter that has the packages, which are installed into a folder if need be."""
    folder = work / "byte-level"
    done = folder / f"{' '.join(PACKAGES)}.installed"
    if not done.exists():
        bootstrap.make_environment(folder, PACKAGES)
        done.touch()
    if Path(sys.prefix) != folder.resolve():
        python = bootstrap.interpreter(folder)
        os.execv(python, [str(python), *sys.argv])


def run(parser, compare):
    """Runs a script in the environment: `compare` gets the options, and the program as one of them, and returns the status."""
    options = parser.parse_args()
    try:
        _in_environment(options.work.resolve())
        options.program = bootstrap.spiece_program(options.spiece)
        sys.exit(compare(options))
    except bootstrap.SetupError as error:
        print(error, file=sys.stderr)
        sys.exit(2)


class Spiece:
    """The program, called once for many texts, which are records of JSON Lines."""

    def __init__(self, program, path, flags, encode_flags=()):
        self.encode_flags = encode_flags
        self.command = [str(program), "{}", f"--model={path}", *flags, "--quiet"]

    def run(self, verb, data, *flags):
        command = [part.format(verb) if part == "{}" else part for part in self.command]
        done = subprocess.run([*command, *flags], input=data, capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"spiece {verb} failed with status {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def encode(self, lines, output_format):
        records = "".join(json.dumps({"text": line}) + "\n" for line in lines)
        made = self.run("encode", records.encode(), "--json_field=text", f"--output_format={output_format}", *self.encode_flags)
        return made.decode("utf-8", "replace").split("\n")[: len(lines)]

    def ids(self, lines):
        return [[int(token) for token in line.split()] for line in self.encode(lines, "id")]

    def spans(self, lines):
        pieces = (json.loads(line)["pieces"] for line in self.encode(lines, "json"))
        return [[(piece["begin"], piece["end"]) for piece in line] for line in pieces]

    def decode(self, ids):
        lines = "".join(" ".join(map(str, line)) + "\n" for line in ids)
        return self.run("decode", lines.encode(), "--input_format=id")


class Tally:
    """How many vocabularies are equal, and how many are not."""

    def __init__(self):
        self.passed = self.failed = 0

    def add(self, wrong):
        self.failed, self.passed = self.failed + bool(wrong), self.passed + (not wrong)

    def status(self):
        """Prints the sums; the exit status."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0


def batches(strings, random_text, seed, cases, files):
    """Texts in lists that one call can take: all `strings`, random texts, and the lines of files."""
    strings = iter(strings)
    yield from iter(lambda: list(itertools.islice(strings, 50_000)), [])
    rng = random.Random(seed)
    for start in range(0, cases, 20_000):
        yield [random_text(rng) for _ in range(min(cases - start, 20_000))]
    for path in files:
        yield path.read_text(encoding="utf-8", errors="replace").split("\n")


def compare_vocabularies(only, vocabularies, differences):
    """Compares spiece with a reference for each vocabulary whose name contains `only`; the exit status.

    A vocabulary is a path, the reference, spiece and lists of texts. `differences(spiece, reference, lines)` are those of
    `lines` that differ, each with what differs. The first of them are reduced to a shortest part that still differs.
    """
    tally = Tally()
    for path, reference, spiece, lists in vocabularies:
        if only and only not in path.name:
            continue
        count, wrong = 0, []
        try:
            for lines in lists:
                wrong += differences(spiece, reference, lines)
                count += len(lines)
                if len(wrong) > 20:
                    break
        except RuntimeError as error:
            wrong.append(("", str(error)))
        print(f"{path.name}: {count} texts, {len(wrong)} differ", flush=True)

        def fails(characters, spiece=spiece, reference=reference):
            return bool(characters) and bool(differences(spiece, reference, ["".join(characters)]))

        for line, what in wrong[:3]:
            if line:
                line = "".join(shrink_list(list(line), fails))
                what = (differences(spiece, reference, [line]) or [(line, what)])[0][1]
            print(f"  {json.dumps(line)}: {what}", flush=True)
        tally.add(wrong)
    return tally.status()
