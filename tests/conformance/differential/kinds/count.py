"""Training from counted words: the bytes of PREFIX.model and PREFIX.vocab, or refusal by both sides.

Input: random options and corpora, as for `train`, for the types that are trained from counts. The reference trains on
the text. spiece counts the words of all files, or of each file and adds the tables, and trains on the table. Output:
differences in acceptance, .model and .vocab. Needs a program with the feature `parquet`.
"""

import csv

from .. import flags
from ..sides import OK, agree
from ..case import Outcome
from .train import PREFIX, Train, compare_files, two_folders

TABLE = "counts.parquet"


class Count(Train):
    name = "count"
    default_cases = 120
    model_types = ("bpe", "bpe", "word", "char")

    def compare(self, case, sides, folder):
        outcome = Outcome()
        theirs, ours = two_folders(case, folder)
        options = {**case.options, "model_prefix": PREFIX}
        arguments = flags.library_arguments(options, theirs)
        reply = sides.reference.call("train", folder=str(theirs), arguments=arguments)
        run = _count(sides, ours, case)
        if run.status == OK:
            options |= {"input": TABLE, "input_format": "counts"}
            run = sides.spiece.run(["train"] + flags.command_line(options), ours)
        if agree(outcome, "training", reply, run):
            for ending in ("model", "vocab"):
                compare_files(outcome, theirs / f"{PREFIX}.{ending}", ours / f"{PREFIX}.{ending}")
        return outcome


def _count(sides, folder, case):
    """Makes the table: of all files together, or of each file by itself where that is the same corpus."""
    inputs = next(csv.reader([case.options["input"]]), [])
    if len(inputs) < 2 or not _are_independent(folder, inputs, case.options):
        return _run_count(sides, folder, case.options, TABLE)
    tables = []
    for number, name in enumerate(inputs):
        tables.append(f"part{number}.parquet")
        run = _run_count(sides, folder, {**case.options, "input": flags.quote(name)}, tables[-1])
        if run.status != OK:
            return run
    return sides.spiece.run(["count", "--merge", *tables, f"--output={TABLE}", "--quiet"], folder)


def _are_independent(folder, inputs, options):
    """Whether the lines of the files are those of the corpus: an empty file counts as a line, a sample is one of all files."""
    if options.get("input_sentence_size", "0") != "0":
        return False
    return all((folder / name).is_file() and (folder / name).stat().st_size > 0 for name in inputs)


def _run_count(sides, folder, options, output):
    return sides.spiece.run(["count", f"--output={output}"] + flags.command_line(options), folder)
