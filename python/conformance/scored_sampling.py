#!/usr/bin/env python3
"""Compares entropies and scored samples with the package sentencepiece 0.2.1, the last release that had them.

Usage: scored_sampling.py --ours PYTHON --reference PYTHON [MODEL...]

PYTHON is the interpreter of an environment: one with spiece, one with sentencepiece 0.2.1. Models have to be unigram models.
Entropies agree within 1e-5 of their size; a segmentation that both draw has the same score to the bit; the frequencies of
segmentations, and without replacement the frequencies with which samples have them, differ by less than six standard
deviations. Not compared are user-defined symbols, which have other scores since 0.2.2, and samples without replacement of
all segmentations, of which the reference loses one.
"""

import argparse
import json
import math
import pathlib
import sys
import tempfile

from differential import TESTDATA, run

HERE = pathlib.Path(__file__).parent
MODELS = ["unigram", "unigram_bytes", "unigram_coarse", "unigram_rules", "unigram_suffix", "unigram_unused"]
TEXTS = ["les droits", "une personne", "bcbc aux", "人人 x", "Toute personne a droit à l'éducation.", "x" * 40, "", "a\u0301 \ufb01"]
RUNS = 4000


def probe(module, models):
    """Runs in one of the two environments: prints a row for each call."""
    if module != "sentencepiece":
        import spiece.as_sentencepiece  # noqa: F401
    import sentencepiece as spm

    for path in models:
        sp = spm.SentencePieceProcessor(model_file=path)
        for text in TEXTS:
            label = f"{pathlib.Path(path).stem} {text[:30]!r}"
            for alpha in (0.0, 0.1, 0.5, 1.0, 3.0):
                print(json.dumps({"label": f"{label} entropy {alpha}", "entropy": sp.CalculateEntropy(text, alpha)}))
            number = len({tuple(ids) for ids, _ in sp.SampleEncodeAndScoreAsIds(text, 500, 0.0)})
            for options in ({}, {"wor": True}, {"wor": True, "include_best": True}):
                if options and number < 5:
                    continue
                draws = draw(sp, text, options)
                print(json.dumps({"label": f"{label} {options}", "options": options, "draws": draws}))


def draw(sp, text, options):
    """For each segmentation how often samples have it, and its score if that is no random number."""
    found = {}
    size = 3 if options else 1
    for _ in range(RUNS):
        for ids, score in sp.SampleEncodeAndScore(text, num_samples=size, alpha=0.5, **options):
            entry = found.setdefault(" ".join(map(str, ids)), [0, None if options else score])
            entry[0] += 1
    return found


def differences(ours, reference):
    """What is wrong with a row, as texts."""
    if "entropy" in reference:
        expected = reference["entropy"]
        if abs(ours["entropy"] - expected) > 1e-5 * max(1.0, abs(expected)):
            yield f"{ours['entropy']}, not {expected}"
        return
    for ids in reference["draws"].keys() | ours["draws"].keys():
        count, score = reference["draws"].get(ids, (0, None))
        mine, my_score = ours["draws"].get(ids, (0, None))
        if abs(count - mine) > 6 * math.sqrt(count + mine) + 1:
            yield f"{ids}: {mine} times in {RUNS} samples, not {count}"
        if None not in (score, my_score) and score != my_score:
            yield f"{ids}: the score {my_score}, not {score}"


def main():
    """Runs the probe with both, and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("models", nargs="*")
    given = parser.parse_args()
    given.models = given.models or [str(TESTDATA / "run" / f"{name}.model") for name in MODELS]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        reference = run(HERE / "scored_sampling.py", given.reference, "sentencepiece", folder / "a", given.models)
        ours = run(HERE / "scored_sampling.py", given.ours, "spiece.sentencepiece", folder / "b", given.models)
    if [row["label"] for row in ours] != [row["label"] for row in reference]:
        sys.exit("the probes made different calls")
    wrong = [f"{mine['label']}: {what}" for mine, theirs in zip(ours, reference) for what in differences(mine, theirs)]
    print("\n".join([*wrong, f"{len(ours)} rows, {len(wrong)} differences"]))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    if sys.argv[1] in ("sentencepiece", "spiece.sentencepiece"):
        probe(sys.argv[1], sys.argv[3:])
    else:
        main()
