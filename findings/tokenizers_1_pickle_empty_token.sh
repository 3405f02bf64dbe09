#!/usr/bin/env bash
# Package:   tokenizers 1.0.0rc3 (PyPI).
# Behaviour: a pickled copy of a tokenizer whose vocabulary has the empty token has other ids for added tokens: pickling drops
#            that token, the vocabulary is one shorter, and added tokens are numbered from its size on.
# Surprise:  ids of the vocabulary itself stay, so that ordinary text shows nothing; all special tokens are off by one.
# Who:       Whisper, whose vocabulary has "" with the id before its first special token, in worker processes.
# Seen:      original [2, 3] copy [1, 2]
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


def token(id, content):
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **flags}


file = {
    "version": "1.0",
    "added_tokens": [token(2, "<|start|>"), token(3, "<|en|>")],
    "model": {"type": "BPE", "vocab": {"a": 0, "": 1}, "merges": []},
}
with open("tokenizer.json", "w") as out:
    json.dump(file, out)
original = Tokenizer.from_file("tokenizer.json")
copy = pickle.loads(pickle.dumps(original))
ids = [tokenizer.encode("<|start|><|en|>").ids for tokenizer in (original, copy)]
print("original", ids[0], "copy", ids[1])
assert ids[0] == [2, 3] and ids[1] != ids[0], "the copy has the ids of the file"
PYTHON
