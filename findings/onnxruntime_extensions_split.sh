#!/usr/bin/env bash
# Package:   onnxruntime-extensions 0.15.2 (PyPI), with onnxruntime 1.32.0 and tokenizers 0.23.3.
# Behaviour: pp_api.Tokenizer reads a tokenizer.json with a pre-tokenizer `Split` and the behavior `Isolated`. It keeps the
#            matches of the expression and drops the text between them. No error is raised.
# Surprise:  `Isolated` makes pretokens of the matches and of the text between them. Here the words are gone. With expressions
#            that match all text, as GPT-2's, nothing is lost, so that a test with another tokenizer does not show it.
# Who:       who exports a tokenizer that splits off digits or ideographs first, as DeepSeek V3's does, to ONNX Runtime.
# Seen:      'one 23 four': tokenizers 'one 23 four', onnxruntime-extensions '23'
#            'one-two': tokenizers 'one-two', onnxruntime-extensions ''
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet onnxruntime-extensions==0.15.2 onnxruntime==1.32.0 tokenizers==0.23.3 numpy
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import json
import pathlib
import sys

import numpy
from onnxruntime_extensions import pp_api
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

folder = pathlib.Path(sys.argv[1]) / "digits"
folder.mkdir()
vocab = {character: id for id, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
tokenizer = Tokenizer(models.BPE(vocab, []))
tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
    pre_tokenizers.Split(Regex("[0-9]{1,3}"), "isolated"),
    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
])
tokenizer.decoder = decoders.ByteLevel()
tokenizer.save(str(folder / "tokenizer.json"))
(folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
other = pp_api.Tokenizer(str(folder))
seen = {}
for text in ("one 23 four", "one-two"):
    ids = numpy.array(other.tokenize([text])[0]).reshape(-1)
    seen[text] = (tokenizer.decode(tokenizer.encode(text).ids), tokenizer.decode([int(id) for id in ids]))
    print(f"{text!r}: tokenizers {seen[text][0]!r}, onnxruntime-extensions {seen[text][1]!r}")
assert seen == {"one 23 four": ("one 23 four", "23"), "one-two": ("one-two", "")}, "the behaviour has changed"
PYTHON
