"""Normalization by a model, by built-in rules, and by random rules.

Input: a source of rules, lines of text. Output: differences in the normalized text.
The offsets of normalization are compared as spans by the kind `encode`; the program does not write them.
"""

from .. import models, texts
from ..case import Case, Outcome
from ..sides import agree
from ..train_options import RULE_NAMES
from .base import MODEL, Kind, compare_lines, pack, text_of, unpack

RULES = "rules.tsv"
LINES = 60


class Normalize(Kind):
    name = "normalize"
    default_cases = 450
    fixed_options = frozenset(["rules"])
    text_files = (RULES,)

    def generate(self, rng, pool, sides):
        options, files = {"rules": rng.choice(["model", "model_rules", "tsv", "name"])}, {}
        if options["rules"].startswith("model"):
            files[MODEL], options["source"] = pool.draw(rng, sides)
        elif options["rules"] == "tsv":
            files[RULES] = texts.rules(rng)
        else:
            options["name"] = rng.choice(RULE_NAMES + ["nfd"])
        if options["rules"] != "model" and rng.random() < 0.5:
            options["remove_extra_whitespaces"] = "false"
        lines = models.lines_for(rng, files.get(MODEL, b""), LINES)
        return Case(self.name, "", options, files, lines)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        lines = [pack(line) for line in case.lines]
        arguments, source = _source(case, folder)
        if case.options["rules"] == "model":
            reply = sides.reference.call("normalize", model=source[1], lines=lines)
        else:
            removes = case.options.get("remove_extra_whitespaces") != "false"
            arguments += ["--use_internal_normalization=false", f"--remove_extra_whitespaces={str(removes).lower()}"]
            reply = sides.reference.call(
                "apply_rules", source=source, lines=lines, remove_extra_whitespaces=removes
            )
        run = sides.spiece.run(["normalize"] + arguments, folder, text_of(case.lines))
        if agree(outcome, "normalization", reply, run):
            compare_lines(outcome, "normalized text", case, [unpack(text) for text in reply.value], run)
        return outcome


def _source(case, folder):
    """The program's flags and the worker's arguments for the source of the rules."""
    if case.options["rules"].startswith("model"):
        return [f"--model={MODEL}"], ["model", str(folder / MODEL)]
    if case.options["rules"] == "tsv":
        return [f"--normalization_rule_tsv={RULES}"], ["tsv", str(folder / RULES)]
    name = case.options.get("name", "nfkc")
    return [f"--normalization_rule_name={name}"], ["name", name]
