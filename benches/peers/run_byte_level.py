"""Measures Python packages for byte-level BPE: run_byte_level.py PACKAGE OPERATION FILE [TEXT [SECONDS]].

tiktoken reads a `.tiktoken` file, tokenizers and tuetoken a tokenizer.json, gigatoken both; the pattern of a `.tiktoken`
file is that of the encoding with the file's name. The operations are encode, one call for each line, batch, one call
for all lines, and load; the JSON object is that of benches/peers/measure.rs, and so is the measurement: each round loads
the vocabulary and encodes the first tenth of the lines outside the timed part, since some packages keep results. All
work is done on one thread. Where a package offers several forms of ids, the calls are those with the lowest overhead.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import numpy  # noqa: E402

import run_sentencepiece as measuring  # noqa: E402

LLAMA3_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)


class Calls(NamedTuple):
    """The calls of a package that has loaded a vocabulary, and functions that make lists or arrays of their results."""

    encode: Callable  # a line
    batch: Callable  # a list of lines
    ids: Callable = lambda made: made  # the ids of what `encode` returns
    rows: Callable = lambda made: made  # the ids of each line of what `batch` returns


def tiktoken(path):
    """OpenAI's package, without its download."""
    import tiktoken
    import tiktoken.load
    import tiktoken_ext.openai_public as public

    public.load_tiktoken_bpe = lambda *_, **__: tiktoken.load.load_tiktoken_bpe(str(path))
    public.data_gym_to_mergeable_bpe_ranks = None
    if path.stem == "llama3":
        definition = {"name": "llama3", "pat_str": LLAMA3_PATTERN, "mergeable_ranks": public.load_tiktoken_bpe(),
                      "special_tokens": {}}
    else:
        definition = public.ENCODING_CONSTRUCTORS[path.stem]()
    encoding = tiktoken.Encoding(**definition)
    return Calls(encoding.encode_ordinary, lambda lines: encoding.encode_ordinary_batch(lines, num_threads=1))


def gigatoken(path):
    import gigatoken

    tokenizer = gigatoken.Tokenizer(path) if path.suffix == ".json" else gigatoken.Tokenizer.from_tiktoken(path)
    return Calls(tokenizer.encode, lambda lines: tokenizer.encode_batch(lines, parallel=False))


def tuetoken(path):
    import tuetoken

    tokenizer = tuetoken.Tokenizer(str(path))
    return Calls(
        tokenizer.encode_to_bytes, lambda lines: tokenizer.encode_ordinary_to_buffer(lines, num_threads=1),
        ids=lambda made: numpy.frombuffer(made, dtype=numpy.uint32),
        rows=lambda made: numpy.split(made["data"], made["offsets"][1:-1]) if len(made["offsets"]) > 1 else [],
    )


def tokenizers(path):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return Calls(
        lambda line: tokenizer.encode(line, add_special_tokens=False).ids,
        lambda lines: [made.ids for made in tokenizer.encode_batch_fast(lines, add_special_tokens=False)],
    )


def main():
    package, work, path, *rest = sys.argv[1:]
    load, path = globals()[package], Path(path)
    lines = Path(rest[0]).read_text(encoding="utf-8").removesuffix("\n").split("\n") if rest else [""]
    seen, unseen = lines[: len(lines) // 10], lines[len(lines) // 10 :]
    seconds = float(rest[1]) if len(rest) > 1 else 1.0
    before = measuring.memory("VmRSS:")

    def round():
        """Wall and user seconds, and the ids of each line, which are taken from the result outside the timed part."""
        if work == "load":
            wall, user, calls = measuring.timed(lambda: load(path))
            return wall, user, lambda: [calls.ids(calls.encode(measuring.GREETING))]
        calls = load(path)
        if work == "batch":
            calls.batch(seen)
            wall, user, made = measuring.timed(lambda: calls.batch(unseen))
            return wall, user, lambda: calls.rows(made)
        encode = calls.encode
        for line in seen:
            encode(line)
        wall, user, made = measuring.timed(lambda: [encode(line) for line in unseen])
        return wall, user, lambda: map(calls.ids, made)

    digest = measuring.digest_ids(round()[2]())
    walls, users, end = [], [], time.perf_counter() + seconds
    while len(walls) < 2 or time.perf_counter() < end:
        wall, user, _ = round()
        walls.append(wall)
        users.append(user)
    peak = measuring.memory("VmHWM:")
    print(json.dumps({
        "name": f"{package} {version(package)}", "lines": len(unseen),
        "bytes": sum(len(line.encode()) + 1 for line in unseen), "rounds": len(walls),
        "wall": sorted(walls)[len(walls) // 2], "user": sum(users) / len(users), "peak": peak,
        "grown": max(0, peak - before), "digest": digest,
    }))


if __name__ == "__main__":
    main()
