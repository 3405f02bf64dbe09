"""Measures the reference: run_sentencepiece.py OPERATION MODEL [TEXT [SECONDS [THREADS]]].

The operations are encode, batch, decode and load; benches/peers/measure.rs defines the JSON object that is printed.
The library has no caches, so the model is not loaded again for each round.

The C++ code is called with the lowest overhead: one call for all lines, lines as bytes, ids as numpy arrays or as
Python lists, whichever was faster in the warm-up on the same text.
"""

import hashlib
import json
import resource
import sys
import time
from pathlib import Path

import numpy
import sentencepiece

# The text that is encoded after loading, to verify that the model is usable.
GREETING = "Hello world"


def memory(field):
    """A field of /proc/self/status in bytes; 0 where the file does not exist."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith(field))


def user_seconds():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def digest_ids(lines):
    digest = hashlib.sha256()
    for ids in lines:
        digest.update(numpy.asarray(ids, dtype="<u4").tobytes())
        digest.update(b"\xff\xff\xff\xff")
    return digest.hexdigest()[:32]


def digest_texts(lines):
    return hashlib.sha256(b"".join(line + b"\n" for line in lines)).hexdigest()[:32]


def timed(round):
    user, start = user_seconds(), time.perf_counter()
    made = round()
    return time.perf_counter() - start, user_seconds() - user, made


def load(path):
    return sentencepiece.SentencePieceProcessor(model_file=path)


def works(work, path, lines, threads):
    """The alternative calls for an operation, and the function that computes the digest of a result."""
    model = load(path)
    if work == "load":
        return [lambda: load(path)], lambda made: digest_ids([made.encode(GREETING)])
    if work in ("encode", "batch"):
        kinds = ["numpy", int]
        return [lambda kind=kind: model.encode(lines, out_type=kind, num_threads=threads) for kind in kinds], digest_ids
    if work == "decode":
        ids = model.encode(lines, out_type="numpy", num_threads=1)
        # The binding derives the type of the ids from the first id, so empty lines are handled here.
        full = [line for line in ids if len(line) > 0]
        empty = [len(line) == 0 for line in ids]

        def digest(made):
            made = iter(made)
            return digest_texts(b"" if nothing else next(made) for nothing in empty)

        return [lambda: model.decode(full, out_type=bytes, num_threads=1)], digest
    sys.exit(f"there is no work {work}")


def main(name="sentencepiece", works=works):
    """Measures the ways that `works` returns for an operation, the fastest one of them."""
    work, path, *rest = sys.argv[1:]
    lines = [b""]
    if rest:
        lines = Path(rest[0]).read_bytes().removesuffix(b"\n").split(b"\n")
    lines = lines[len(lines) // 10:]
    seconds = float(rest[1]) if len(rest) > 1 else 1.0
    threads = int(rest[2]) if len(rest) > 2 else 1
    before = memory("VmRSS:")
    ways, digest = works(work, path, lines, threads)
    tried = [timed(way) for way in ways]
    best = min(range(len(ways)), key=lambda way: tried[way][0])
    made = digest(tried[best][2])
    del tried
    walls, user, end = [], 0.0, time.perf_counter() + seconds
    while len(walls) < 2 or time.perf_counter() < end:
        wall, used, _ = timed(ways[best])
        walls.append(wall)
        user += used
    peak = memory("VmHWM:")
    print(json.dumps({
        "name": name, "lines": len(lines), "bytes": sum(map(len, lines)) + len(lines),
        "rounds": len(walls), "wall": sorted(walls)[len(walls) // 2], "user": user / len(walls),
        "peak": peak, "grown": max(0, peak - before), "digest": made,
    }))


if __name__ == "__main__":
    main()
