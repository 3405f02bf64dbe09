"""How fast SentencePiece loads, encodes and decodes: encode.py MODEL TEXT [REPEATS]; one thread.

Prints what `examples/throughput.rs` prints.
"""

import json
import sys
import time

import sentencepiece as spm


def main():
    model, path, *repeats = sys.argv[1:]
    with open(path, encoding="utf-8", newline="\n") as file:
        text = file.read()
    lines = text.removesuffix("\n").split("\n")
    best = {}

    def timed(name, work):
        start = time.perf_counter()
        result = work()
        best[name] = min(best.get(name, 1e9), time.perf_counter() - start)
        return result

    for _ in range(int(repeats[0]) if repeats else 3):
        processor = timed("load", lambda: spm.SentencePieceProcessor(model_file=model))
        ids = timed("encode", lambda: [processor.encode_as_ids(line) for line in lines])
        timed("decode", lambda: [processor.decode_ids(line) for line in ids])
    checksum = 0
    for line in ids:
        for id in line:
            checksum = (checksum * 31 + id) % 1_000_000_007
    print(json.dumps({"bytes": len(text.encode()), "ids": sum(map(len, ids)), "checksum": checksum, **best}))


main()
