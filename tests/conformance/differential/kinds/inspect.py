"""Inspection: the pieces that no text gives.

Input: a model. Output: differences between the list `unreachable` of `spiece inspect` and a brute force with the reference.

The brute force encodes the text of each normal piece and user-defined symbol with a copy of the model whose normalizer changes
nothing (no rules, no dummy prefix, spaces neither removed nor escaped). A piece is reachable if the only id is its own. The
reference replaces malformed UTF-8 in text, so pieces that are not UTF-8 are left out.
"""

import json

from .. import wire
from ..case import Case, Outcome
from ..sides import OK, agree
from .base import MODEL, Kind, pack

PLAIN_MODEL = "plain.model"
CHARSMAP = 2
# add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces
NORMALIZER_FLAGS = (3, 4, 5)


class Inspect(Kind):
    name = "inspect"
    default_cases = 250

    def generate(self, rng, pool, sides):
        model, source = pool.draw(rng, sides)
        return Case(self.name, "", {"source": source}, {MODEL: model}, [])

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        compare_reachability(outcome, folder / MODEL, sides, folder)
        return outcome


def plain_model(data):
    """The model with a normalizer that changes nothing."""
    parts = wire.ModelParts(data)
    parts.normalizer = [field for field in parts.normalizer if field.number != CHARSMAP]
    for number in NORMALIZER_FLAGS:
        wire.put(parts.normalizer, number, wire.VARINT, 0)
    return parts.to_bytes()


def is_utf8(data):
    try:
        data.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def tested_pieces(data):
    """[id, text] of the pieces that are compared."""
    kinds = (wire.NORMAL, wire.USER_DEFINED)
    pieces = enumerate(wire.ModelParts(data).pieces)
    return [[number, piece.text] for number, piece in pieces if piece.kind in kinds and is_utf8(piece.text)]


def compare_reachability(outcome, model, sides, folder):
    """Compares the unreachable pieces of the file `model`; `folder` is for a copy of it."""
    data = model.read_bytes()
    run = sides.spiece.run(["inspect", str(model), "--format=json"], folder)
    if not agree(outcome, "loading", sides.reference.call("load", model=str(model)), run):
        return
    (folder / PLAIN_MODEL).write_bytes(plain_model(data))
    tested = tested_pieces(data)
    reply = sides.reference.call(
        "encode_each", model=str(folder / PLAIN_MODEL), texts=[pack(text) for _, text in tested], time_limit=600,
    )
    if reply.status != OK:
        outcome.note = f"the reference {reply.status} ({reply.message})"
        return
    expected = [number for (number, _), ids in zip(tested, reply.value) if ids != [number]]
    report = json.loads(run.output)
    numbers = {number for number, _ in tested}
    found = [number for number in report["unreachable"] if number in numbers]
    outcome.compared += len(tested)
    if found != expected:
        differing = sorted(set(found) ^ set(expected))[:10]
        outcome.add("unreachable", f"of {len(expected)} and {len(found)} ids these are on one side only: {differing}")
