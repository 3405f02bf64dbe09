#!/usr/bin/env bash
# Package:   transformers 5.24.0 (PyPI), with tokenizers 0.23.3.
# Behaviour: Qwen2Tokenizer with add_prefix_space=True puts a space before each part of a text into which its expression cuts
#            it, not only before the text: "I'll 12" has the ids of " I 'll  1 2".
# Surprise:  GPT2Tokenizer with the same option puts one space before the text, and so says its documentation ("an initial
#            space"). Here words and numbers are divided, and decoding shows it.
# Who:       who sets add_prefix_space for pre-tokenized input, which GPT-2's tokenizers ask for, with a model of Qwen.
# Seen:      GPT2Tokenizer: " I'll 12"
#            Qwen2Tokenizer: " I 'll  1 2"
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import json
import pathlib
import sys

from tokenizers.pre_tokenizers import ByteLevel
from transformers import AutoTokenizer

vocab = {character: id for id, character in enumerate(sorted(ByteLevel.alphabet()))}
seen = {}
for name in ("GPT2Tokenizer", "Qwen2Tokenizer"):
    folder = pathlib.Path(sys.argv[1]) / name
    folder.mkdir()
    (folder / "vocab.json").write_text(json.dumps(vocab))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, "add_prefix_space": True}))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    seen[name] = tokenizer.decode(tokenizer.encode("I'll 12", add_special_tokens=False))
    print(f"{name}: {json.dumps(seen[name])}")
assert seen == {"GPT2Tokenizer": " I'll 12", "Qwen2Tokenizer": " I 'll  1 2"}, "the behaviour has changed"
PYTHON
