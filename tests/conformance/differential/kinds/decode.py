"""Decoding of ids and pieces.

Input: a model, lines of ids or of pieces. Output: differences in text, or in refusal of ids out of range.

`spm_decode` splits lines at single spaces and leaves out of ids what is not a number of 32 bits; the worker does the
same.
"""

from .. import models, texts
from ..case import Case, Outcome
from ..sides import agree
from .base import MODEL, Kind, compare_lines, pack, text_of, unpack

LINES = 40
NO_NUMBERS = ["", "x", "1.5", "0x1", "\t", "--1", "+"]
OUT_OF_RANGE = ["-1", "1000000", "2147483647", "-2147483648"]


class Decode(Kind):
    name = "decode"
    default_cases = 400

    def generate(self, rng, pool, sides):
        model, source = pool.draw(rng, sides)
        pieces = models.piece_texts(model)
        options = {"source": source, "input_format": rng.choice(["id", "piece"])}
        if rng.random() < 0.15:
            options["extra_options"] = "reverse"
        if options["input_format"] == "piece":
            lines = [_piece_line(rng, pieces) for _ in range(LINES)]
        else:
            lines = [_id_line(rng, pieces) for _ in range(LINES)]
            if rng.random() < 0.1:
                lines = [b"0 " + rng.choice(OUT_OF_RANGE + [str(len(pieces))]).encode()]
        return Case(self.name, "", options, {MODEL: model}, lines)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        input_format = case.options.get("input_format", "piece")
        extra = case.options.get("extra_options", "")
        reply = sides.reference.call(
            f"decode_{input_format}s", model=str(folder / MODEL), lines=[pack(line) for line in case.lines],
            reverse=extra == "reverse",
        )
        arguments = ["decode", f"--model={MODEL}", f"--input_format={input_format}"]
        if extra:
            arguments.append(f"--extra_options={extra}")
        run = sides.spiece.run(arguments, folder, text_of(case.lines))
        if agree(outcome, "decoding", reply, run):
            expected = [unpack(text) for text in reply.value]
            compare_lines(outcome, "text", case, expected, run)
        return outcome


def _id_line(rng, pieces):
    """Random ids, with more special pieces and byte pieces than their share."""
    special = [number for number, text in enumerate(pieces) if text.startswith((b"<", b"\xe2\x96\x81"))] or [0]
    words = []
    for _ in range(rng.randint(0, 15)):
        kind = rng.random()
        if kind < 0.5:
            words.append(str(rng.randrange(len(pieces))))
        elif kind < 0.97:
            words.append(str(rng.choice(special)))
        else:
            words.append(rng.choice(NO_NUMBERS))
    return " ".join(words).encode()


def _piece_line(rng, pieces):
    """Pieces of the model, and words that are not pieces."""
    words = []
    for _ in range(rng.randint(0, 15)):
        kind = rng.random()
        if kind < 0.75:
            words.append(rng.choice(pieces))
        elif kind < 0.8:
            words.append(b"<0x%02X>" % rng.randrange(256))
        elif kind < 0.9:
            words.append(rng.choice(texts.SPECIAL).encode())
        else:
            words.append(rng.choice([b"", texts.hostile_line(rng), b"\xe2\x96\x81" + rng.choice(pieces)]))
    return texts.clean(b" ".join(words))
