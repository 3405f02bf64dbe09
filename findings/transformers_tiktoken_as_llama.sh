#!/usr/bin/env bash
# Package:   transformers 5.24.0 (PyPI), with tokenizers 0.23.3.
# Behaviour: AutoTokenizer opens a folder whose tokenizer.model has the ranks of tiktoken, as that of Llama 3. With the class
#            LlamaTokenizer it adds <s>, </s> and <unk> and gives them the first ids after the ranks; without a class it
#            adds nothing. In neither case is <|begin_of_text|> a token.
# Surprise:  the first id after the ranks of Llama 3, 128000, is <|begin_of_text|> in the model, and becomes <s> here. No
#            error is raised: ordinary text has the right ids, special tokens have wrong ones or are cut into pieces.
# Who:       who opens the folder `original` of a Llama 3 release, or copies its tokenizer.model beside a configuration that
#            names LlamaTokenizer.
# Seen:      none: 258 tokens, {}
#            LlamaTokenizer: 261 tokens, {"<s>": 258, "</s>": 259, "<unk>": 260}
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3 sentencepiece==0.2.1 protobuf tiktoken==0.14.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import base64
import json
import logging
import pathlib
import sys

logging.disable(logging.WARNING)
from transformers import AutoTokenizer

tokens = [bytes([byte]) for byte in range(256)] + [b"lo", b"low"]
lines = [f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(tokens)]
seen = {}
for name in ("none", "LlamaTokenizer"):
    folder = pathlib.Path(sys.argv[1]) / name
    folder.mkdir()
    (folder / "tokenizer.model").write_text("".join(lines))
    if name != "none":
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.encode("low", add_special_tokens=False) == [257]
    assert len(tokenizer.encode("<|begin_of_text|>", add_special_tokens=False)) > 1
    added = {text: id for text, id in tokenizer.get_vocab().items() if id >= len(tokens)}
    seen[name] = (len(tokenizer), dict(sorted(added.items(), key=lambda entry: entry[1])))
    print(f"{name}: {seen[name][0]} tokens, {json.dumps(seen[name][1])}")
expected = {"none": (258, {}), "LlamaTokenizer": (261, {"<s>": 258, "</s>": 259, "<unk>": 260})}
assert seen == expected, "the behaviour has changed"
PYTHON
