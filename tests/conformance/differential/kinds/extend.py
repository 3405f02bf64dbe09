"""Extended models: `spiece extend` writes files that the reference loads and runs as spiece does.

Input: a BPE model, a corpus, flags, 24 lines of text. Output: differences in loading and encoding of the new file, old
pieces that changed, and lines with more tokens than before. If the corpus has too few pieces, the number in the message has
to work.
"""

import re

from .. import models, texts, wire
from ..case import Case, Outcome
from ..sides import OK, REFUSED
from .base import MODEL, Kind, pack
from .encode import compare_encoding

LINES = 24
EXTENDED = "extended"
CORPUS = "corpus.txt"
ATTEMPTS = 50
BPE_TYPE = 2
RESERVED = ["<r0>", "<r1>", "<r2>"]
NEW_PIECES = ["<sep>", "ab", "\u2581the", "\u4e2d\u6587", "e"]


def _bpe_model(rng, pool, sides):
    for _ in range(ATTEMPTS):
        model, source = pool.draw(rng, sides)
        parts = wire.ModelParts(model)
        if wire.get(parts.trainer, models.TRAINER_MODEL_TYPE, models.UNIGRAM_TYPE) == BPE_TYPE:
            return model, source
    raise models.NoModel(f"{ATTEMPTS} models are no BPE models")


def _with_reserved(rng, model):
    """The model with pieces that can be reused, at random places after the first ones."""
    parts = wire.ModelParts(model)
    for text in RESERVED:
        kind = rng.choice([wire.CONTROL, wire.USER_DEFINED, wire.UNUSED])
        parts.pieces.append(wire.Piece(text.encode(), rng.choice([0.0, -3.0]), kind))
    return parts.to_bytes()


def _flags(rng):
    flags = [f"--pieces={rng.choice([0, 1, 5, 30, 200])}"]
    chosen = [
        [f"--multiple_of={rng.choice([1, 7, 64])}"],
        [f"--new_characters={rng.choice(['gain', 'coverage', 'never'])}"],
        [f"--character_coverage={rng.choice(['0.98', '1'])}"],
        ["--split_by_whitespace=false", f"--max_words={rng.randint(1, 5)}"],
        [f"--max_sentencepiece_length={rng.choice([1, 2, 5, 40])}"],
        [f"--split_by_unicode_script={rng.choice(['true', 'false'])}"],
        [f"--split_digits={rng.choice(['true', 'false'])}"],
        [f"--allow_whitespace_only_pieces={rng.choice(['true', 'false'])}"],
        [f"--user_defined_symbols={rng.choice(NEW_PIECES)}"],
        [f"--control_symbols={rng.choice(NEW_PIECES)}"],
        [f"--jobs={rng.choice([1, 2, 3])}"],
    ]
    for group in chosen:
        if rng.random() < 0.25:
            flags += group
    return flags


class Extend(Kind):
    name = "extend"
    default_cases = 200
    fixed_options = frozenset({"flags"})
    text_files = (CORPUS,)
    shrinks_pieces = False

    def generate(self, rng, pool, sides):
        model, source = _bpe_model(rng, pool, sides)
        flags = _flags(rng)
        if rng.random() < 0.3:
            model = _with_reserved(rng, model)
            flags.append("--reuse=<r?>")
        lines = [line for line in models.lines_for(rng, model, LINES) if b"\n" not in line]
        corpus = texts.corpus(rng)
        if rng.random() < 0.5:
            corpus += b"\n".join(lines) + b"\n"
        options = {"source": source, "flags": "\n".join(flags)}
        return Case(self.name, "", options, {MODEL: model, CORPUS: corpus}, lines)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        old = (folder / MODEL).read_bytes()
        run = self._extend(sides, folder, case.options["flags"].split("\n"))
        outcome.compared += 1
        if run.status != OK:
            # A model that cannot be extended so is refused; a crash or a broken guarantee is a difference.
            if run.status != REFUSED or "guarantee" in run.message or "new pieces" in run.message:
                outcome.add(f"spiece {run.status}", run.message)
            return outcome
        before = self._ids(sides, folder / MODEL, case)
        (folder / MODEL).write_bytes((folder / f"{EXTENDED}.model").read_bytes())
        rows = (folder / f"{EXTENDED}.extension.tsv").read_bytes().split(b"\n")[1:-1]
        learned = [int(row.split(b"\t")[0]) for row in rows]
        self._compare_pieces(outcome, old, folder, learned)
        if compare_encoding(outcome, case, sides, folder):
            after = self._ids(sides, folder / MODEL, case)
            self._compare_lengths(outcome, case, case.options["flags"], before, after)
        return outcome

    def _extend(self, sides, folder, flags):
        """Extends; if the corpus has too few pieces, once more by as many as there are."""
        arguments = ["extend", MODEL, f"--input={CORPUS}", f"--model_prefix={EXTENDED}"]
        run = sides.spiece.run(arguments + flags, folder)
        available = re.search(r"gives (\d+) new pieces", run.message) if run.status == REFUSED else None
        if available:
            flags = [flag for flag in flags if not flag.startswith("--pieces=")]
            run = sides.spiece.run(arguments + flags + [f"--pieces={available[1]}"], folder)
        return run

    def _compare_pieces(self, outcome, old, folder, learned):
        """Old pieces are unchanged, but for those that were reused."""
        before = wire.ModelParts(old).pieces
        after = wire.ModelParts((folder / MODEL).read_bytes()).pieces
        for number, (was, now) in enumerate(zip(before, after)):
            outcome.compared += 1
            is_same = was == now or was.score != was.score
            if not is_same and number not in learned and was.text.decode("utf-8", "replace") not in RESERVED:
                outcome.add("old pieces", f"piece {number} was {was} and is {now}")
                return

    def _compare_lengths(self, outcome, case, flags, before, after):
        """No line has more tokens than before, unless unused pieces are split or special pieces were added or reused.

        A run of unknown characters is one token, so lines with unknown characters can have more tokens.
        """
        pieces = wire.ModelParts(case.files[MODEL]).pieces
        changes_base = "user_defined" in flags or "reuse" in flags
        if before is None or after is None or changes_base or any(piece.kind == wire.UNUSED for piece in pieces):
            return
        for line, old, new in zip(case.lines, before, after):
            if any(pieces[number].kind == wire.UNKNOWN for number in old):
                continue
            outcome.compared += 1
            if len(new) > len(old):
                outcome.add("longer", f"line {line!r}: the reference gives {len(old)} tokens before, {len(new)} now", line)
                return

    def _ids(self, sides, path, case):
        reply = sides.reference.call("encode", model=str(path), lines=[pack(line) for line in case.lines], extra="")
        return [ids for ids, _, _ in reply.value] if reply.status == OK else None
