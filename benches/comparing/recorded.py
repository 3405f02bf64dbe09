"""Repeats the rows of docs/COMPARISON.md in one run, and marks those that fell behind the ratios recorded there.

`benches/recorded.json` has a row for each of them: the work, its corpus and options, and how many times faster than
SentencePiece the row was. A row is behind if the median ratio is more than a tenth below that.
"""

import argparse
import json

from . import running, texts, training
from .tables import head, row
from .tools import PEERS, REFERENCE, ROOT, install, run

TOLERANCE = 0.9


def with_row(args, entry):
    """The arguments of a run on one row."""
    own = argparse.Namespace(**vars(args))
    own.model_type = entry.get("model_type", "bpe")
    own.vocab_size = entry.get("vocab_size", 32000)
    own.no_split_by_whitespace = entry.get("whole_lines", False)
    own.num_threads = 16 if own.model_type == "unigram" else args.num_threads
    own.pairs = entry.get("pairs", args.pairs)
    own.peers, own.reference_alone, own.summary = False, True, []
    return own


def do_train(entry, text, own):
    return training.train(text, entry.get("options", "default"), own)


def do_run(entry, text, own):
    """Encodes or decodes lines of the text, in the shape that the row says."""
    size = int(entry["megabytes"] * 1e6)
    shapes = {
        "lines": texts.head_of,
        "one line": texts.one_line,
        "lines of 20 bytes": texts.short_lines,
        "a run of a": lambda _, size: b"a" * size + b"\n",
    }
    shape = entry.get("shape", "lines")
    job = [own.model[0], texts.kept(own.work, f"{shape} of {text.name}", shapes[shape](text, size)), own.seconds]
    return running.side_by_side(entry["name"], running.programs(entry["work"], own), job, own, [REFERENCE])


def do_load(entry, text, own):
    model = own.model[0]
    if entry.get("model") == "unigram of 250,000 pieces":
        model = own.work / "unigram_250k.model"
        run([install(own.work), PEERS / "large_unigram.py", text, model])
    return running.side_by_side(entry["name"], running.programs("load", own), [model, "/dev/null", own.seconds], own,
                                [REFERENCE])


WORKS = {"train": do_train, "encode": do_run, "decode": do_run, "load": do_load}


def repeat_all(args):
    """Returns False if a row is behind, has no ratio or could not run."""
    results = []
    for entry in json.loads((ROOT / "benches/recorded.json").read_text()):
        text = args.corpora / entry["text"]
        if not text.exists():
            results.append((entry, None, f"{text} is not there"))
            continue
        own = with_row(args, entry)
        agrees = WORKS[entry["work"]](entry, text.resolve(), own)
        sides = own.summary[-1][1] if own.summary else {}
        if not agrees or REFERENCE not in sides:
            results.append((entry, None, "no ratio: see the table above"))
            continue
        times = sides[REFERENCE] / sides[running.SPIECE]
        results.append((entry, times, "" if times >= entry["times"] * TOLERANCE else "BEHIND"))
    head("rows of docs/COMPARISON.md, times faster than SentencePiece", ["row", "recorded", "now", ""])
    for entry, times, remark in results:
        row([entry["name"], f"{entry['times']:.1f}", "" if times is None else f"{times:.2f}", remark])
    return not any(remark for _, _, remark in results)
