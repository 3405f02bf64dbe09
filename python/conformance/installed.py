#!/usr/bin/env python3
"""The installed package is whole: its native module trains, encodes and decodes, and its drop-ins can be imported.

Usage: python/conformance/installed.py      with the Python in which the package is installed
"""

import sys
import threading

import spiece
import spiece.rustbpe
import spiece.sentencepiece
import spiece.tiktoken
import spiece.tokenizers

texts = ["a pen", "an apple", "a pineapple pen"] * 9
tokenizer = spiece.train(texts, vocab_size=30, hard_vocab_limit=False).tokenizer()
results = []


def encode():
    results.append([tokenizer.encode(text) for text in texts])


threads = [threading.Thread(target=encode) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(results) == 4 and all(result == results[0] for result in results), results
assert [tokenizer.decode(ids) for ids in results[0]] == texts, results[0]
# An interpreter without a global lock keeps none because of this module.
has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
if "free-threading" in sys.version:
    assert not has_lock
print(f"spiece trains, encodes and decodes on {sys.implementation.name} {sys.version.split()[0]}, with a global lock: {has_lock}")
