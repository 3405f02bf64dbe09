"""Shrinks failing cases.

Job: find a smaller case that fails in the same way.
Input: a case and a predicate that is true for cases that fail as the original does.
Output: the smallest case found within a budget of predicate calls and seconds.
Method: drop options one at a time until none can be dropped; then drop unneeded files; then remove ever smaller
ranges (delta debugging) of lines, of the model's pieces, and of the characters of each remaining line.
Cost: one run of both programs for each candidate.
"""

import struct
import time

from . import wire
from .kinds.base import MODEL

MOST_CANDIDATES = 400
MOST_SECONDS = 60.0


class Budget:
    """Counts candidates and seconds; `fails` asks the predicate only while something is left of both."""

    def __init__(self, predicate, candidates=MOST_CANDIDATES, seconds=MOST_SECONDS):
        self.predicate = predicate
        self.remaining = candidates
        self.deadline = time.monotonic() + seconds

    def fails(self, case):
        if self.remaining <= 0 or time.monotonic() > self.deadline:
            return False
        self.remaining -= 1
        return self.predicate(case)


def shrink_list(items, fails):
    """A sublist for which `fails` is still true, from which no single item can be removed.

    Worked example: for [1 2 3 4 5 6 7 8] and "contains 3 and 6": the halves [5..8] and [1..4] cannot be removed;
    of the quarters [1 2] [3 4] [5 6] [7 8], the first and the last can; of the single items 4 and 5 can: [3 6].
    """
    items = list(items)
    if items and fails([]):
        return []
    size = max(1, len(items) // 2)
    while True:
        removed = False
        start = 0
        while start < len(items):
            candidate = items[:start] + items[start + size :]
            if len(items) > len(candidate) and candidate and fails(candidate):
                items = candidate
                removed = True
            else:
                start += size
        if size == 1 and not removed:
            return items
        size = max(1, size // 2)


def _drop_options(case, kind, budget):
    progress = True
    while progress:
        progress = False
        for name in sorted(set(case.options) - kind.fixed_options):
            options = {key: value for key, value in case.options.items() if key != name}
            candidate = case.with_options(options)
            if budget.fails(candidate):
                case = candidate
                progress = True
    return case


def _drop_files(case, budget):
    for name in sorted(case.files):
        files = {key: data for key, data in case.files.items() if key != name}
        candidate = case.copy()
        candidate.files = files
        if budget.fails(candidate):
            case = candidate
    return case


def characters(line):
    """The characters of a line; each malformed byte is a character."""
    return list(line.decode("utf-8", "surrogateescape"))


def from_characters(items):
    return "".join(items).encode("utf-8", "surrogateescape")


def _shrink_lines_of(lines, rebuild, budget):
    """Shrinks a list of lines, then the characters of each line; `rebuild` makes a case of lines."""
    lines = shrink_list(lines, lambda some: budget.fails(rebuild(some)))
    for number in range(len(lines)):
        before, after = lines[:number], lines[number + 1 :]

        def fails(items, before=before, after=after):
            return budget.fails(rebuild(before + [from_characters(items)] + after))

        lines[number] = from_characters(shrink_list(characters(lines[number]), fails))
    return rebuild(lines)


def _shrink_file(case, name, budget):
    lines = case.files[name].split(b"\n")
    return _shrink_lines_of(lines, lambda some: case.with_file(name, b"\n".join(some)), budget)


def _shrink_pieces(case, budget):
    try:
        parts = wire.ModelParts(case.files[MODEL])
    except (wire.WireError, struct.error, TypeError):
        return case

    def rebuild(pieces):
        parts.pieces = pieces
        return case.with_file(MODEL, parts.to_bytes())

    return rebuild(shrink_list(parts.pieces, lambda some: budget.fails(rebuild(some))))


def minimize(case, kind, predicate, candidates=MOST_CANDIDATES, seconds=MOST_SECONDS):
    """A case that is no larger than `case` and for which `predicate` is true."""
    budget = Budget(predicate, candidates, seconds)
    smallest = _drop_options(case, kind, budget)
    smallest = _drop_files(smallest, budget)
    if smallest.lines:
        smallest = _shrink_lines_of(smallest.lines, smallest.with_lines, budget)
    for name in kind.text_files:
        if name in smallest.files:
            smallest = _shrink_file(smallest, name, budget)
    if kind.shrinks_pieces and MODEL in smallest.files:
        smaller = _shrink_pieces(smallest, budget)
        if budget.predicate(smaller):
            smallest = smaller
    return smallest
