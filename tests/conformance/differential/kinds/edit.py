"""Changed models: `spiece edit`, `merge` and `prune` write files that the reference loads and runs as spiece does.

Input: a model, flags of one subcommand, 24 lines of text. Output: differences in loading and encoding of the new file, and,
for pruning to a text, lines whose pieces in the reference are not those of the original model.
"""

from .. import models
from ..case import Case, Outcome
from ..sides import OK
from .base import MODEL, Kind, pack, text_of
from .encode import compare_encoding

LINES = 24
CHANGED = "changed"
SECOND = "second.model"
TEXT = "text.txt"
NEW_PIECES = ["<sep>", "[MASK]", "ab", "\u2581the", "e", "<|x|>", "\u4e2d\u6587", "\u2581\u2581"]
KINDS = ["normal", "control", "user_defined", "unused"]


def _edit_flags(rng, model):
    pieces = [piece.decode("utf-8", "replace") for piece in models.piece_texts(model)] or ["a"]
    flags = []
    for _ in range(rng.randint(1, 4)):
        piece, new = rng.choice(pieces), rng.choice(NEW_PIECES)
        flags += rng.choice([
            [f"--add_control={new}"],
            [f"--add_user_defined={new}"],
            [f"--insert={rng.randint(0, 5)}:{rng.choice(KINDS)}:{new}"],
            [f"--remove={piece}"],
            [f"--set_kind={piece}={rng.choice(KINDS)}"],
            [f"--add_dummy_prefix={rng.choice(['true', 'false'])}"],
            [f"--remove_extra_whitespaces={rng.choice(['true', 'false'])}"],
            [f"--escape_whitespaces={rng.choice(['true', 'false'])}"],
        ])
    return flags


def _prune_flags(rng):
    flags = rng.choice([
        [f"--keep_text={TEXT}"],
        [f"--keep_text={TEXT}", "--keep_unused_tail"],
        [f"--size={rng.randint(50, 2000)}", f"--text={TEXT}"],
        [f"--size={rng.randint(50, 2000)}"],
    ])
    return flags + rng.choice([[], ["--keep_chars=false"]])


class Edit(Kind):
    name = "edit"
    default_cases = 300
    fixed_options = frozenset({"verb", "flags"})
    shrinks_pieces = False

    def generate(self, rng, pool, sides):
        model, source = pool.draw(rng, sides)
        lines = [line for line in models.lines_for(rng, model, LINES) if b"\n" not in line]
        files = {MODEL: model, TEXT: text_of(lines)}
        verb = rng.choice(["edit", "merge", "prune"])
        if verb == "edit":
            flags = _edit_flags(rng, model)
        elif verb == "merge":
            files[SECOND], _ = pool.draw(rng, sides)
            flags = ["--force"] + rng.choice([[], ["--drop_unreachable"]])
        else:
            flags = _prune_flags(rng)
        # A flag contains no line feed.
        options = {"source": source, "verb": verb, "flags": "\n".join(flag.replace("\n", " ") for flag in flags)}
        return Case(self.name, "", options, files, lines)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        verb = case.options["verb"]
        names = [MODEL, SECOND] if verb == "merge" else [MODEL]
        arguments = [verb, *names, f"--model_prefix={CHANGED}", *case.options["flags"].split("\n")]
        run = sides.spiece.run(arguments, folder)
        outcome.compared += 1
        if run.status != OK:
            # A model that cannot be changed so is refused; a crash or a broken guarantee is a difference.
            if run.status != "refused" or "guarantee" in run.message:
                outcome.add(f"spiece {run.status}", f"{verb}: {run.message}")
            return outcome
        before = self._ids(sides, folder / MODEL, case)
        (folder / MODEL).write_bytes((folder / f"{CHANGED}.model").read_bytes())
        compare_encoding(outcome, case, sides, folder)
        if verb == "prune" and "--keep_text" in case.options["flags"] and before is not None:
            self._compare_pruned(outcome, case, sides, folder, before)
        return outcome

    def _ids(self, sides, path, case):
        lines = [pack(line) for line in case.lines]
        reply = sides.reference.call("encode", model=str(path), lines=lines, extra="")
        return [ids for ids, _, _ in reply.value] if reply.status == OK else None

    def _compare_pruned(self, outcome, case, sides, folder, before):
        after = self._ids(sides, folder / MODEL, case)
        if after is None:
            return
        rows = (folder / f"{CHANGED}.ids.tsv").read_text().splitlines()
        old_ids = [int(row.split("\t")[1]) for row in rows]
        for line, old, new in zip(case.lines, before, after):
            outcome.compared += 1
            if [old_ids[number] for number in new] != old:
                outcome.add("kept text", f"line {line!r}: the reference gives {old} before and {new} now", line)
                return
