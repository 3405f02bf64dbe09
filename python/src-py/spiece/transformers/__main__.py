"""Says whether the tokenizer of a folder runs on spiece, and measures it with and without.

    python -m spiece.transformers FOLDER [--text FILE]
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

import spiece.transformers

#: Lines for those who give no file.
LINES = [
    "All human beings are born free and equal in dignity and rights.",
    "Tous les êtres humains naissent libres et égaux en dignité et en droits.",
    "すべての人間は、生れながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "for (int i = 0; i < 10; i++) { sum += values[i]; }  // 😀",
] * 2500
SHORT = "Hello world, this is one short text."
RUNS = 3


def seconds(work: Callable[[], object]) -> float:
    """The shortest of some runs."""
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


class Measured:
    """What a tokenizer gives, and the seconds it takes."""

    def __init__(self, tokenizer: Any, lines: list[str]) -> None:
        self.ids = tokenizer(lines)["input_ids"]
        self.texts = tokenizer.batch_decode(self.ids)
        self.batch = seconds(lambda: tokenizer(lines)["input_ids"])
        self.short = seconds(lambda: [tokenizer(SHORT)["input_ids"] for _ in range(1000)]) / 1000
        self.decode = seconds(lambda: tokenizer.batch_decode(self.ids))


def main() -> int:
    """Returns the exit status: 0 if the tokenizer runs on spiece with equal results."""
    parser = argparse.ArgumentParser(prog="python -m spiece.transformers", description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="a folder, or the name of a repository of the Hub, for AutoTokenizer")
    parser.add_argument("--text", type=pathlib.Path, metavar="FILE", help="measure with the lines of this file")
    given = parser.parse_args()
    try:
        import transformers
    except ImportError:
        sys.exit("transformers is not installed; pip install transformers")
    transformers.logging.set_verbosity_error()
    lines = given.text.read_text(encoding="utf-8").splitlines() if given.text else LINES
    tokenizer = transformers.AutoTokenizer.from_pretrained(given.folder)
    reason = spiece.transformers.refusal(tokenizer)
    if reason is not None:
        print(f"{type(tokenizer).__name__} stays with the package tokenizers: {reason}")
        return 1
    print(f"{type(tokenizer).__name__} with {len(tokenizer)} tokens runs on spiece")
    theirs = Measured(tokenizer, lines)
    with spiece.transformers.enable():
        ours = Measured(tokenizer, lines)
    if ours.ids != theirs.ids or ours.texts != theirs.texts:
        print("the results differ, which is a bug; please report the folder and the text")
        return 1
    print(f"{len(lines)} lines, {sum(map(len, theirs.ids))} ids: equal")
    for label, mine, other, unit, factor in (
        (f"{len(lines)} lines to ids", ours.batch, theirs.batch, "ms", 1e3),
        ("one short text to ids", ours.short, theirs.short, "us", 1e6),
        (f"{len(lines)} lines from ids", ours.decode, theirs.decode, "ms", 1e3),
    ):
        print(f"{label}: tokenizers {other * factor:.1f} {unit}, spiece {mine * factor:.1f} {unit}, {other / mine:.1f} x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
