#!/usr/bin/env python3
"""Compares spiece.sentencepiece with the package sentencepiece 0.2.3 call by call.

Usage: differential.py --ours PYTHON --reference PYTHON [MODEL...]

PYTHON is the interpreter of an environment: one with spiece, one with sentencepiece 0.2.3, both with numpy and protobuf.
Values have to be equal, with their types. Where the reference raises an exception, ours has to be caught by the same
``except``. Differences that have a reason are in ``ACCEPTED``; others are printed, and the exit status is 1.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TESTDATA = HERE.parents[1] / "testdata"
MODELS = ["golden/llama2", "golden/symbols", "run/unigram", "run/unigram_bytes", "run/word", "run/char"]

#: Labels of calls (regular expressions) that may differ, and why.
ACCEPTED = {
    r"'enable_sampling': True\}\)$": "random segmentations: the same distribution, other random numbers",
    r"nbest\(2\.0, offset_mapping\)$": "two errors in one call; the other one is reported first",
    r"object unloaded (decode|piece|id|normalize)$": "without a model the reference gives empty results or calls ids out "
    "of range; ours says that no model is loaded",
    r": parallel (<class .(str|bytes).>|proto|serialized_proto)$": "the reference's ParallelEncode cuts unknown words "
    "at chunks; ours gives the result of Encode",
}


def run(probe, python, module, folder, models):
    """What a probe gives: a row for each call."""
    folder.mkdir()
    command = [python, str(probe), module, str(folder), *models]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr[-3000:]}")
    return [json.loads(line.replace(str(folder), "FOLDER")) for line in done.stdout.splitlines()]


def is_equal(ours, reference):
    """Whether two results are the same to a program that uses them."""
    if "value" in reference or "value" in ours:
        return ours.get("value") == reference.get("value") and "value" in ours and "value" in reference
    return reference["error"][0] in ours["error"]


def described(row):
    """A result in one line."""
    if "value" in row:
        return str(row["value"])[:300]
    return f"{row['error'][0]}: {row['message'][:200]}"


def reason(label, accepted):
    """Why a call may differ."""
    for pattern, why in accepted.items():
        if re.search(pattern, label):
            return why
    return None


def report(ours, reference, accepted):
    """Prints the differences. Returns whether there are any without a reason."""
    if [row["label"] for row in ours] != [row["label"] for row in reference]:
        sys.exit("the probes made different calls")
    counts = collections.Counter()
    different = 0
    for mine, theirs in zip(ours, reference):
        if is_equal(mine, theirs):
            continue
        why = reason(mine["label"], accepted)
        if why:
            counts[why] += 1
            continue
        different += 1
        print(f"{mine['label']}\n   reference: {described(theirs)}\n   ours:      {described(mine)}")
    for why, count in counts.items():
        print(f"{count} accepted: {why}")
    errors = sum("error" in row for row in reference)
    print(f"{len(ours)} calls, {errors} of them errors, {different} differences, {sum(counts.values())} accepted")
    return different > 0


def arguments(description):
    """The arguments of the command line."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("models", nargs="*")
    found = parser.parse_args()
    found.models = found.models or [str(TESTDATA / f"{name}.model") for name in MODELS]
    return found


def main():
    """Runs both probes and compares."""
    given = arguments(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        # Models record the paths of their corpora, so both probes use folders with names of one length.
        folder = pathlib.Path(temporary)
        probe = HERE / "probe.py"
        reference = run(probe, given.reference, "sentencepiece", folder / "a", given.models)
        ours = run(probe, given.ours, "spiece.sentencepiece", folder / "b", given.models)
    sys.exit(report(ours, reference, ACCEPTED))


if __name__ == "__main__":
    main()
