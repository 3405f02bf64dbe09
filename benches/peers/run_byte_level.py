"""Measures Python packages for byte-level BPE: run_byte_level.py PACKAGE OPERATION FILE [TEXT [SECONDS]].

The packages are tiktoken, gigatoken (both with a `.tiktoken` file whose name is that of an encoding) and tokenizers
(with a tokenizer.json). The operations are encode and load; the JSON object is that of benches/peers/measure.rs, and
so is the measurement: each round loads the vocabulary and encodes the first tenth of the lines outside the timed part,
since some packages keep results. All work is done on one thread.
"""

import json
import os
import sys
import time
from importlib.metadata import version
from pathlib import Path

os.environ["RAYON_NUM_THREADS"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import run_sentencepiece as measuring  # noqa: E402


def tiktoken(path):
    """OpenAI's package, without its download: the pattern is that of the encoding with the file's name."""
    import tiktoken
    import tiktoken.load
    import tiktoken_ext.openai_public as public

    public.load_tiktoken_bpe = lambda *_, **__: tiktoken.load.load_tiktoken_bpe(str(path))
    public.data_gym_to_mergeable_bpe_ranks = None
    encoding = tiktoken.Encoding(**public.ENCODING_CONSTRUCTORS[path.stem]())
    return lambda lines: [encoding.encode_ordinary(line) for line in lines]


def gigatoken(path):
    import gigatoken

    tokenizer = gigatoken.Tokenizer.from_tiktoken(path)
    return lambda lines: tokenizer.encode_batch(lines, parallel=False)


def tokenizers(path):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True
    return lambda lines: [made.ids for made in tokenizer.encode_batch_fast(lines, add_special_tokens=False)]


def main():
    package, work, path, *rest = sys.argv[1:]
    load, path = globals()[package], Path(path)
    lines = Path(rest[0]).read_text(encoding="utf-8").removesuffix("\n").split("\n") if rest else [""]
    seen, unseen = lines[: len(lines) // 10], lines[len(lines) // 10 :]
    seconds = float(rest[1]) if len(rest) > 1 else 1.0
    before = measuring.memory("VmRSS:")

    def round():
        if work == "load":
            wall, user, encode = measuring.timed(lambda: load(path))
            return wall, user, encode([measuring.GREETING])
        encode = load(path)
        encode(seen)
        return measuring.timed(lambda: encode(unseen))

    digest = measuring.digest_ids(round()[2])
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
