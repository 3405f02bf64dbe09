#!/usr/bin/env bash
# Package:   tokenizers 1.0.0rc3 (PyPI).
# Behaviour: a pickled copy of a tokenizer gives other ids. Pickling writes the texts of added tokens with `normalized` as they
#            are after the normalizer, and the copy normalizes them again; here "<x>" becomes "__<x>", which no text has.
# Surprise:  the package recommends pickling for worker processes, the copy loads without an error, and only texts with
#            such a token differ.
# Who:       preparation of data with multiprocessing, a DataLoader or datasets.map, with Llama-like files of older
#            converters: their added tokens are normalized, and the normalizer puts U+2581 before every text.
# Seen:      original [5, 1] copy [3, 2, 0, 4, 1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tokenizers==1.0.0rc3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import json
import pickle

from tokenizers import Tokenizer

vocab = {"x": 0, "a": 1, "<": 2, "_": 3, ">": 4}
token = {"id": 5, "content": "<x>", "single_word": False, "lstrip": False, "rstrip": False, "normalized": True, "special": False}
file = {
    "version": "1.0",
    "added_tokens": [token],
    "normalizer": {"type": "Prepend", "prepend": "_"},
    "model": {"type": "BPE", "vocab": vocab, "merges": []},
}
with open("tokenizer.json", "w") as out:
    json.dump(file, out)
original = Tokenizer.from_file("tokenizer.json")
copy = pickle.loads(pickle.dumps(original))
ids = [tokenizer.encode("<x>a").ids for tokenizer in (original, copy)]
print("original", ids[0], "copy", ids[1])
assert 5 in ids[0] and 5 not in ids[1], "the copy finds the token"
PYTHON
