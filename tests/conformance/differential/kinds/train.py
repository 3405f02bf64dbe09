"""Training: the bytes of PREFIX.model and PREFIX.vocab, or refusal by both sides.

Input: random options and corpora (`train_options`). Output: differences in acceptance, .model and .vocab.
"""

import shutil
from pathlib import Path

from .. import flags, train_options, wire
from ..case import Case, Outcome
from ..sides import OK, REFUSED, agree
from .base import Kind, shown

PREFIX = "out"


class Train(Kind):
    name = "train"
    default_cases = 400
    fixed_options = frozenset(["input", "model_type"])
    text_files = ("corpus.txt", "more,text.txt", "corpus.tsv", "rules.tsv", "denormalize.tsv",
                  "seeds.tsv")
    model_types = ("bpe", "unigram", "word", "char")

    def generate(self, rng, pool, sides):
        options, files = train_options.generate(rng, rng.choice(self.model_types))
        return Case(self.name, "", options, files)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        theirs, ours = two_folders(case, folder)
        options = {**case.options, "model_prefix": PREFIX}
        arguments = flags.library_arguments(options, theirs)
        reply = sides.reference.call("train", folder=str(theirs), arguments=arguments)
        run = sides.spiece.run(["train"] + flags.command_line(options), ours)
        written = theirs / f"{PREFIX}.model"
        if reply.status == OK and run.status == REFUSED and not self.loads(written, sides):
            # spiece writes no model that cannot be loaded.
            outcome.note = f"the reference cannot load what it trained; spiece {run.message}"
            return outcome
        if agree(outcome, "training", reply, run):
            for ending in ("model", "vocab"):
                compare_files(outcome, theirs / f"{PREFIX}.{ending}", ours / f"{PREFIX}.{ending}")
        return outcome

    def loads(self, model, sides):
        """Whether the reference loads a model."""
        return sides.reference.call("load", model=str(model)).status == OK


def two_folders(case, folder):
    """A working folder for each side, with the case's files; each side records the same relative paths."""
    folders = [Path(folder) / side for side in ("reference", "spiece")]
    for side in folders:
        shutil.rmtree(side, ignore_errors=True)
        side.mkdir()
        case.write_files(side)
    return folders


def compare_files(outcome, expected_path, actual_path):
    outcome.compared += 1
    category = f".{expected_path.suffix[1:]} bytes"
    if not actual_path.exists():
        outcome.add(category, f"spiece wrote no {actual_path.name}")
        return
    expected = expected_path.read_bytes()
    actual = actual_path.read_bytes()
    if expected != actual:
        describe = _first_different_field if expected_path.suffix == ".model" else _first_different_line
        outcome.add(category, describe(expected, actual))


def _first_different_line(expected, actual):
    wanted, got = expected.split(b"\n"), actual.split(b"\n")
    for number, pair in enumerate(zip(wanted, got)):
        if pair[0] != pair[1]:
            return f"line {number + 1}: reference {shown(pair[0])}, spiece {shown(pair[1])}"
    return f"reference {len(wanted)} lines, spiece {len(got)}"


def _first_different_field(expected, actual):
    try:
        wanted, got = wire.parse(expected), wire.parse(actual)
    except wire.WireError as error:
        return f"not a model: {error}"
    for number, pair in enumerate(zip(wanted, got)):
        if pair[0] != pair[1]:
            return f"field {number} of the file: reference {_field(pair[0])}, spiece {_field(pair[1])}"
    return f"reference {len(wanted)} fields, spiece {len(got)}"


def _field(field):
    if field.number == wire.PIECES:
        return f"piece {shown(wire.get(wire.parse(field.value), wire.PIECE_TEXT, b''))} {shown(field.value)}"
    return f"field {field.number} ({len(field.value) if isinstance(field.value, bytes) else field.value} bytes)"
