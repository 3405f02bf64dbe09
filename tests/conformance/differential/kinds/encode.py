"""Encoding: ids, pieces, spans, extra options and n-best lists.

Input: a model, lines of text. Output: differences, by output format.

The program writes a JSON object, a line of ids and a line of pieces for each line of text, all of which are
compared: they are separate code paths. JSON cannot hold malformed UTF-8, so pieces of JSON are compared after
replacement of malformed bytes, and exactly in the line of pieces.
"""

import json

from .. import models
from ..case import Case, Outcome
from ..sides import agree
from .base import MODEL, Kind, compare_lines, pack, text_of, unpack

EXTRA_OPTIONS = ["reverse", "bos", "eos", "unk"]
LINES = 40
# n-best search of the reference is exponential in the worst case.
NBEST_LINES = 12
NBEST_BYTES = 60


class Encode(Kind):
    name = "encode"
    default_cases = 650
    text_files = ()

    def generate(self, rng, pool, sides):
        model, source = pool.draw(rng, sides)
        lines = models.lines_for(rng, model, LINES)
        options = {"source": source}
        if rng.random() < 0.35:
            chosen = [rng.choice(EXTRA_OPTIONS) for _ in range(rng.randint(1, 4))]
            options["extra_options"] = ":".join(chosen + ["none"] * (rng.random() < 0.02))
        if rng.random() < 0.3:
            options["num_threads"] = str(rng.choice([1, 2, 3]))
        if rng.random() < (0.6 if models.is_unigram(model) else 0.05):
            options["nbest_size"] = str(rng.choice([1, 2, 3, 5, 10, 50]))
        return Case(self.name, "", options, {MODEL: model}, lines)

    def compare(self, case, sides, folder):
        outcome = Outcome()
        case.write_files(folder)
        compare_encoding(outcome, case, sides, folder)
        if "nbest_size" in case.options:
            compare_nbest(outcome, case, sides, folder)
        return outcome


def _flags(case, output_format):
    result = [f"--model={MODEL}", f"--output_format={output_format}"]
    if "num_threads" in case.options:
        result.append(f"--num_threads={case.options['num_threads']}")
    if "extra_options" in case.options and not output_format.startswith("nbest"):
        result.append(f"--extra_options={case.options['extra_options']}")
    return ["encode"] + result


def compare_encoding(outcome, case, sides, folder):
    """Compares the three output formats; true if both sides accept the model and the options."""
    text = text_of(case.lines)
    reply = sides.reference.call(
        "encode", model=str(folder / MODEL), lines=[pack(line) for line in case.lines],
        extra=case.options.get("extra_options", ""),
    )
    run = sides.spiece.run(_flags(case, "id"), folder, text)
    if not agree(outcome, "encoding", reply, run):
        return False
    expected = [" ".join(map(str, ids)).encode() for ids, _, _ in reply.value]
    compare_lines(outcome, "ids", case, expected, run)
    expected = [b" ".join(map(unpack, pieces)) for _, pieces, _ in reply.value]
    compare_lines(outcome, "pieces", case, expected, sides.spiece.run(_flags(case, "piece"), folder, text))
    expected = [tokens for _, _, tokens in reply.value]
    _compare_tokens(outcome, "spans", case.lines, expected, sides.spiece.run(_flags(case, "json"), folder, text))
    return True


def compare_nbest(outcome, case, sides, folder):
    lines = [line for line in case.lines if len(line) <= NBEST_BYTES][:NBEST_LINES]
    size = case.options["nbest_size"]
    model = str(folder / MODEL)
    reply = sides.reference.call("nbest", model=model, lines=[pack(line) for line in lines], size=int(size))
    arguments = _flags(case, "nbest_json") + [f"--nbest_size={size}"]
    run = sides.spiece.run(arguments, folder, text_of(lines))
    if not lines or not agree(outcome, "n-best", reply, run):
        return
    sources = [line for line, results in zip(lines, reply.value) for _ in results]
    expected = [tokens for results in reply.value for tokens in results]
    _compare_tokens(outcome, "n-best", sources, expected, run)


def _compare_tokens(outcome, category, lines, expected, run):
    """Compares [id, piece, begin, end] of each token with the program's JSON."""
    outcome.compared += len(expected)
    try:
        actual = [json.loads(line)["pieces"] for line in run.lines()]
    except (ValueError, KeyError) as error:
        outcome.add(category, f"spiece wrote no JSON: {error}; {run.status} {run.message}")
        return
    if len(actual) != len(expected):
        outcome.add(category, f"the reference gave {len(expected)} results, spiece {len(actual)} ({run.message})")
        return
    for number, (wanted, got) in enumerate(zip(expected, actual)):
        wanted = [[i, _readable(unpack(piece)), begin, end] for i, piece, begin, end in wanted]
        tokens = [[token["id"], token["piece"], token["begin"], token["end"]] for token in got]
        surfaces = [_readable(lines[number][token["begin"] : token["end"]]) for token in got]
        if wanted != tokens:
            at = next((i for i, pair in enumerate(zip(wanted, tokens)) if pair[0] != pair[1]), -1)
            outcome.add(
                category,
                f"line {lines[number]!r}, token {at} of {len(wanted)} and {len(tokens)}\n"
                f"    reference: {wanted[at:][:4]}\n    spiece:    {tokens[at:][:4]}",
                lines[number],
            )
            return
        if surfaces != [token["surface"] for token in got]:
            outcome.add(category, f"line {lines[number]!r}: the surfaces are not the bytes of the spans")
            return


def _readable(data):
    return data.decode("utf-8", "replace")
