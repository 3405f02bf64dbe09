"""Compares what `spiece convert` and `spiece encode --output_format=u16` are for with other ways to do the same.

Input: models and texts. Output: for each model a table of loading it, as `.model` and as the `tokenizer.json` that spiece converts
it to, which Hugging Face tokenizers loads, too; and for each text a table of writing its ids to a file. Goals:

| work | against | goal |
|---|---|---|
| load `tokenizer.json` | tokenizers, the same file | 5 times as fast in wall-clock time, on two cores |
| `encode --output_format=u16`, the whole process | a batch of the library | 90 % of the speed |
"""

from . import texts
from .running import SPIECE, side_by_side
from .tables import head, median, row, seconds
from .tools import PEERS, REFERENCE_PACKAGES, NoResult, install, measure, report, run, spiece, throughput

PACKAGES = [*REFERENCE_PACKAGES, "tokenizers==0.23.*"]
JSON_SIDE = f"{SPIECE}, tokenizer.json"
MODEL_SIDE = f"{SPIECE}, .model"
TOKENIZERS = "tokenizers, tokenizer.json"


def convert_all(args):
    python = install(args.work, PACKAGES)
    agree = True
    for model in args.model:
        converted = args.work / "converted" / model.stem / "tokenizer.json"
        converted.parent.mkdir(parents=True, exist_ok=True)
        run([spiece(), "convert", model, converted, "--quiet"])
        agree &= load(python, model, converted, args)
        for text in args.text:
            agree &= write_ids(python, model, converted, text, args)
    return agree


def load(python, model, converted, args):
    """Loads a model in both formats and in both libraries; the ids of a short text have to be equal."""
    sides = {
        JSON_SIDE: ([throughput(), "load", converted], {}),
        MODEL_SIDE: ([throughput(), "load", model], {}),
        TOKENIZERS: ([python, PEERS / "run_tokenizers.py", "load", converted], {}),
    }
    return side_by_side(f"load {model.name}", sides, ["/dev/null", args.seconds], args, sides)


def write_ids(python, model, converted, corpus, args):
    """Writes the ids of a text as training data, and encodes the same text with libraries. Returns False if ids differ."""
    text = texts.kept(args.work, f"lines of {corpus.name}", texts.head_of(corpus, args.size))
    threads = str(args.num_threads)
    size = text.stat().st_size
    folder = args.work / "out/u16"
    # A restart continues with the shards that are missing, so that each run writes a file of its own.
    command = [spiece(), "encode", f"--model={model}", "--output_format=u16", f"--num_threads={threads}", "--quiet", text]
    job = [text, args.seconds]
    libraries = {
        f"{SPIECE}, batch": ([throughput(), "batch", model, *job], {"RAYON_NUM_THREADS": threads}),
        "sentencepiece, batch": ([python, PEERS / "run_sentencepiece.py", "batch", model, *job, threads], {}),
        "tokenizers, encode_batch": ([python, PEERS / "run_tokenizers.py", "batch", converted, *job],
                                     {"RAYON_NUM_THREADS": threads}),
    }
    runs = {"program": [], **{side: [] for side in libraries}}
    missing = {}
    for number in range(args.pairs + 1):
        wall, user, peak = measure([*command, f"--output={folder / f'{number}.bin'}"], folder)
        results = {"program": {"wall": wall, "user": user, "peak": peak * 1e6, "bytes": size, "digest": None}}
        for side, (library, environment) in libraries.items():
            try:
                results[side] = report(library, args.timeout, **environment)
            except NoResult as reason:
                missing[side] = str(reason)
        for side, figures in results.items():
            if number > 0:
                runs[side].append(figures)
    return print_speeds(f"ids of {size / 1e6:.3g} MB of {corpus.name}, {model.name}, {threads} threads", runs, missing)


def print_speeds(title, runs, missing):
    """Prints the table of the speeds; they count the bytes that were encoded in the time measured."""
    head(title, ["program", "wall", "peak memory", "speed", "of the speed of the batch", "same ids"])
    own = f"{SPIECE}, batch"
    if own in missing:
        row([own, missing[own]])
        return False
    speed = {side: median([{"speed": run["bytes"] / run["wall"] / 1e6} for run in figures], "speed")
             for side, figures in runs.items() if side not in missing}
    digests = {side: figures[0]["digest"] for side, figures in runs.items() if side not in missing}
    differing = {side for side, digest in digests.items() if digest not in (None, digests[own])}
    names = {"program": f"{SPIECE} encode --output_format=u16"}
    for side, figures in runs.items():
        if side in missing:
            row([side, missing[side], "", "", "", ""])
            continue
        same = "" if side in ("program", own) else "NO" if side in differing else "yes"
        row([names.get(side, side), seconds(median(figures, "wall")), f"{median(figures, 'peak') / 1e6:.0f} MB",
             f"{speed[side]:.1f} MB/s", f"{100 * speed[side] / speed[own]:.0f} %", same])
    return not differing
