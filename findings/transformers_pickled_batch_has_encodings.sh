#!/usr/bin/env bash
# Package:   transformers 5.24.0 with tokenizers 0.23.3 and numpy 2.4.6 (PyPI); 4.57.6 does the same.
# Behaviour: a pickled BatchEncoding of a fast tokenizer has all of its tokenizers.Encoding objects, as JSON with texts and
#            offsets of every token. Pickling arrays of ids for 256 short texts, and reading them, takes fifty to a hundred times as
#            long with them.
# Surprise:  `return_tensors` gives arrays, and what is asked for are ids and masks. A DataLoader of torch whose collate_fn
#            returns the BatchEncoding sends it from each worker through a pipe, so that workers save little or nothing;
#            `dict(batch)`, which models take as well, has the arrays alone.
# Who:       training loops with `num_workers` that tokenize in collate_fn, and everybody who caches or sends batches.
# Seen:      BatchEncoding 273632 bytes, dict 82143 bytes
#            BatchEncoding 57 times as long
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pickle
import time

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

words = [f"word{number}" for number in range(100)]
backend = Tokenizer(models.WordLevel({word: id for id, word in enumerate(["<pad>", *words])}, unk_token="<pad>"))
backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="<pad>")
texts = [" ".join(words[at % 50 : at % 50 + 20]) for at in range(256)]
batch = tokenizer(texts, padding=True, return_tensors="np", return_token_type_ids=False)
whole, arrays = len(pickle.dumps(batch)), len(pickle.dumps(dict(batch)))
print("BatchEncoding", whole, "bytes, dict", arrays, "bytes")


def seconds(value):
    start = time.perf_counter()
    pickle.loads(pickle.dumps(value))
    return time.perf_counter() - start


ratio = min(seconds(batch) for _ in range(5)) / min(seconds(dict(batch)) for _ in range(5))
print("BatchEncoding", round(ratio), "times as long")
assert sorted(batch) == ["attention_mask", "input_ids"]
assert whole > 2 * arrays and ratio > 10, "the encodings are not pickled now"
PYTHON
