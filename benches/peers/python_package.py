"""Times calls of the Python packages spiece, sentencepiece and tokenizers in one process, in turn.

    python_package.py MODEL TEXT LINES PAIRS [TOKENIZER_JSON]

LINES lines of TEXT are encoded and decoded; tokenizers takes part in encoding if it is given the model as a tokenizer.json, and
needs the package tokenizers. Prints a JSON object for each task: the sides, and the seconds of each of their
runs. The first run of each side is a warm-up. Sides that give other ids than the first one are reported with "differs".
"""

import concurrent.futures
import functools
import gc
import json
import os
import subprocess
import sys
import tempfile
import time

import sentencepiece
import spiece
import spiece.sentencepiece as ours


def seconds_of(call):
    """The seconds of a call."""
    gc.collect()
    start = time.perf_counter()
    result = call()
    seconds = time.perf_counter() - start
    del result
    return seconds


def differing(sides, same):
    """The sides that give other results than the first one. This is the warm-up."""
    expected = None
    differs = []
    for side, call in sides.items():
        result = same(call())
        if expected is None:
            expected = result
        elif result != expected:
            differs.append(side)
    return differs


def in_turn(task, sides, pairs, same=lambda result: result, goal=None):
    """Runs the sides of a task in turn and prints their times.

    No result is kept while another one is timed: the collector of Python would search its objects, too.
    """
    differs = differing(sides, same)
    times = {side: [] for side in sides}
    for _ in range(pairs):
        for side, call in sides.items():
            times[side].append(seconds_of(call))
    print(json.dumps({"task": task, "times": times, "differs": differs, "goal": goal}), flush=True)


def lists(result):
    """Ids in any form as lists."""
    if isinstance(result, spiece.Ragged):
        return result.to_lists()
    return [ids if isinstance(ids, list) else list(ids.ids) if hasattr(ids, "ids") else ids.tolist() for ids in result]


def at_once(call, threads):
    """The results of calls on so many threads of Python."""
    with concurrent.futures.ThreadPoolExecutor(threads) as executor:
        return [future.result() for future in [executor.submit(call) for _ in range(threads)]]


def call_each(call, lines):
    """Calls a function for each line and drops the results."""
    for line in lines:
        call(line)


def hugging_face(path):
    """Functions for batches, on one thread or on all, and for single calls of tokenizers; None without a file."""
    if path is None:
        return None, None
    import tokenizers

    model = tokenizers.Tokenizer.from_file(path)

    def batch(lines, threads):
        os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
        return model.encode_batch_fast(lines, add_special_tokens=False)

    return batch, lambda line: model.encode(line, add_special_tokens=False)


def encoding(new, old, lines, pairs, threads, tokenizer_json=None):
    """Batches of short lines."""
    tokenizer = new._tokenizer()
    batch, single = hugging_face(tokenizer_json)
    for count in (1, threads):
        suffix = f"{count} thread" + "s" * (count > 1)
        in_turn(
            f"list of lists, {suffix}",
            {
                "spiece": lambda: new.encode(lines, num_threads=count),
                **({"tokenizers": lambda: batch(lines, count)} if batch else {}),
                "sentencepiece": lambda: old.encode(lines, num_threads=count),
            },
            pairs,
            lists,
            7 if count == 1 else None,
        )
    in_turn(
        "flat arrays against list of arrays, 1 thread",
        {
            "spiece": lambda: spiece.Tokenizer.encode_ragged(shared(tokenizer), lines, threads=1),
            "sentencepiece": lambda: old.encode(lines, return_type="numpy", num_threads=1),
        },
        pairs,
        lists,
        15,
    )
    flat = spiece.Tokenizer.encode_ragged
    in_turn(
        f"flat arrays, {threads} threads against 1",
        {
            f"{threads} threads": lambda: flat(shared(tokenizer), lines, threads=threads),
            "1 thread": lambda: flat(shared(tokenizer), lines, threads=1),
        },
        pairs,
        lists,
        1.8,
    )
    # What the machine allows: calls that have nothing to do with each other, at the same time and one after the other.
    call = functools.partial(flat, shared(tokenizer), lines, threads=1)
    in_turn(
        f"{threads} calls on one thread each, at once against in turn",
        {"at once": lambda: at_once(call, threads), "in turn": lambda: [call() for _ in range(threads)]},
        pairs,
        lambda results: [lists(result) for result in results],
    )
    singles = {
        "spiece": new.encode,
        **({"tokenizers": single} if single else {}),
        "sentencepiece": old.encode,
    }
    in_turn(
        "loop of single calls",
        {side: lambda call=call: call_each(call, lines) for side, call in singles.items()},
        pairs,
        goal=7,
    )
    # Python's collector searches all lists that are kept, which takes equally long on each side.
    in_turn(
        "single calls, results kept in a list",
        {side: lambda call=call: [call(line) for line in lines] for side, call in singles.items()},
        pairs,
        lists,
    )
    in_turn(
        "single calls, pieces",
        {
            "spiece": lambda: [new.encode(line, out_type=str) for line in lines],
            "sentencepiece": lambda: [old.encode(line, out_type=str) for line in lines],
        },
        pairs,
    )
    in_turn(
        "offset mapping, 1 thread",
        {
            "spiece": lambda: new.encode(lines, return_type="offset_mapping", num_threads=1),
            "sentencepiece": lambda: old.encode(lines, return_type="offset_mapping", num_threads=1),
        },
        pairs,
        goal=10,
    )
    in_turn(
        "counting, 1 thread",
        {
            "spiece": lambda: shared(tokenizer).count_batch(lines, threads=1).tolist(),
            "sentencepiece": lambda: [len(ids) for ids in old.encode(lines, num_threads=1)],
        },
        pairs,
    )


def shared(native):
    """A tokenizer of the modern interface with the model of a processor."""
    return spiece.Tokenizer.__base__.__new__(spiece.Tokenizer, native)


def long_texts(new, old, lines, pairs):
    """One text of all lines."""
    text = "\n".join(lines)
    in_turn("one long text", {"spiece": lambda: new.encode(text), "sentencepiece": lambda: old.encode(text)}, pairs)


def decoding(new, old, lines, pairs):
    """Batches of ids."""
    ids = old.encode(lines, num_threads=1)
    in_turn(
        "decode lists, 1 thread",
        {"spiece": lambda: new.decode(ids, num_threads=1), "sentencepiece": lambda: old.decode(ids, num_threads=1)},
        pairs,
        goal=4,
    )
    in_turn(
        "decode, single calls",
        {"spiece": lambda: [new.decode(line) for line in ids], "sentencepiece": lambda: [old.decode(line) for line in ids]},
        pairs,
    )


def training(lines, pairs):
    """Training from an iterator."""
    options = {"vocab_size": 4000, "model_type": "bpe", "hard_vocab_limit": False}

    def train(module):
        def call():
            with tempfile.TemporaryFile() as out, open(os.devnull, "w") as log:
                module.SentencePieceTrainer.train(
                    sentence_iterator=iter(lines), model_writer=out, logstream=log, **options
                )
                out.seek(0)
                return out.read()

        return call

    in_turn("train a BPE model from an iterator", {"spiece": train(ours), "sentencepiece": train(sentencepiece)}, pairs)


def importing(pairs):
    """Seconds that an import takes, beyond the start of Python, and the memory of a process with a model."""

    def start(code):
        return lambda: float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)

    code = "import time; a = time.perf_counter(); import {}; print(time.perf_counter() - a)"
    times = {}
    for module in ("spiece.sentencepiece", "spiece", "sentencepiece"):
        call = start(code.format(module))
        call()
        times[module] = [call() for _ in range(pairs)]
    print(json.dumps({"task": "import", "times": times, "differs": [], "goal": None}), flush=True)


def memory(model):
    """Peak megabytes of a process that loads the model and encodes a text, where /proc tells them."""
    if not os.path.exists("/proc/self/status"):
        return
    code = (
        "import {0} as spm; sp = spm.SentencePieceProcessor(model_file={1!r}); sp.encode('Hello world'); "
        "print([int(line.split()[1]) / 1000 for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )
    peaks = {}
    for module in ("spiece.sentencepiece", "sentencepiece"):
        done = subprocess.run([sys.executable, "-c", code.format(module, model)], capture_output=True, check=True)
        peaks[module] = float(done.stdout)
    print(json.dumps({"task": "memory in MB, with the model", "peaks": peaks}), flush=True)


def main():
    """Runs all tasks."""
    model, text, count, pairs = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    with open(text, encoding="utf-8", errors="replace") as file:
        lines = [line.rstrip("\n") for line in file]
    new = ours.SentencePieceProcessor(model_file=model)
    # tokenizers finds control pieces in texts, which the others take as ordinary text.
    controls = [new.id_to_piece(id) for id in range(len(new)) if new.is_control(id)]
    lines = [line for line in lines if 0 < len(line) <= 200 and not any(piece in line for piece in controls)]
    lines = (lines * (count // max(len(lines), 1) + 1))[:count]
    old = sentencepiece.SentencePieceProcessor(model_file=model)
    encoding(new, old, lines, pairs, 2, sys.argv[5] if len(sys.argv) > 5 else None)
    long_texts(new, old, lines, pairs)
    decoding(new, old, lines, pairs)
    training(lines[:20000], min(pairs, 3))
    importing(pairs)
    memory(model)


if __name__ == "__main__":
    main()
