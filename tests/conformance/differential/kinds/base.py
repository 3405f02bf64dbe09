"""What all kinds of cases share.

Job: the interface of a kind, and the comparison of outputs line by line.
Input: a case and both sides. Output: an `Outcome`.
"""

from ..sides import OK

MODEL = "model.model"
# Bytes of context in a report.
SHOWN = 160


class Kind:
    """A kind of cases.

    `default_cases`: cases of a run without --cases, in proportion to the others.
    `fixed_options`: options that shrinking must not drop.
    `text_files`: files that shrinking may shorten, line by line and character by character.
    `shrinks_pieces`: whether shrinking may remove pieces from the model.
    `needs_transformers`: whether transformers is installed for it, which takes 500 MB.
    """

    name = ""
    default_cases = 100
    fixed_options = frozenset()
    text_files = ()
    shrinks_pieces = True
    needs_transformers = False

    def generate(self, rng, pool, sides):
        """A case without a name, drawn from `rng`."""
        raise NotImplementedError

    def compare(self, case, sides, folder):
        """Runs both sides in the empty `folder` and compares what they did."""
        raise NotImplementedError


def pack(data):
    """Bytes as a JSON string for the worker."""
    return data.decode("latin-1")


def unpack(text):
    return text.encode("latin-1")


def shown(data):
    """Bytes for a report."""
    return repr(data if len(data) <= SHOWN else data[:SHOWN] + b"...")


def text_of(lines):
    """The lines as the standard input of the program."""
    return b"".join(line + b"\n" for line in lines)


def compare_lines(outcome, category, case, expected, run):
    """Compares the program's output with the lines that the reference gave, one for each line of the case."""
    if run.status != OK:
        outcome.add(category, f"spiece {run.status}: {run.message}")
        return
    outcome.compared += len(expected)
    if run.output == text_of(expected):
        return
    # A result can contain newlines, so the results are compared as they stand in the output, one by one.
    at = 0
    for line, wanted in zip(case.lines, expected):
        got = run.output[at : at + len(wanted) + 1]
        if got != wanted + b"\n":
            got = run.output[at : at + len(wanted) + SHOWN].split(b"\n")
            got = b"\n".join(got[: wanted.count(b"\n") + 1])
            outcome.add(
                category, f"line {shown(line)}\n    reference: {shown(wanted)}\n    spiece:    {shown(got)}", line
            )
            return
        at += len(got)
    outcome.add(category, f"spiece wrote more than {len(expected)} lines: {shown(run.output[at:])}")
