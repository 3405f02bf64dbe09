#!/usr/bin/env bash
# Package:   transformers 5.24.0 (PyPI), with tokenizers 0.23.3.
# Behaviour: a folder has a tokenizer.json and names PreTrainedTokenizerFast, and its config.json has the model_type qwen2.
#            Then AutoTokenizer takes only vocabulary and merges of tokenizer.json, and puts Qwen's pre-tokenizer around them.
# Surprise:  neither the class that is named nor the stages of tokenizer.json count, and no message says so. Beside a
#            config.json of the type llama the same files give the right tokens; PreTrainedTokenizerFast gives them always.
# Who:       who trains a model with the architecture of Qwen 2 and a tokenizer of another kind, such as one of Llama 2.
# Seen:      llama: TokenizersBackend ['▁one', '▁two']
#            qwen2: Qwen2Tokenizer ['one', 'tw', 'o']
#            qwen2, PreTrainedTokenizerFast: TokenizersBackend ['▁one', '▁two']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import json
import pathlib
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

folder = pathlib.Path(sys.argv[1]) / "model"
folder.mkdir()
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
tokenizer.decoder = decoders.Metaspace()
tokenizer.train_from_iterator(["one two"] * 9, trainers.BpeTrainer(vocab_size=50, show_progress=False))
tokenizer.save(str(folder / "tokenizer.json"))
(folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
seen = []
for model_type, opener in (("llama", AutoTokenizer), ("qwen2", AutoTokenizer), ("qwen2", PreTrainedTokenizerFast)):
    (folder / "config.json").write_text(json.dumps({"model_type": model_type}))
    opened = opener.from_pretrained(folder)
    seen.append(opened.tokenize("one two"))
    name = model_type if opener is AutoTokenizer else f"{model_type}, PreTrainedTokenizerFast"
    print(f"{name}: {type(opened).__name__} {seen[-1]}")
right = ["▁one", "▁two"]
assert seen == [right, ["one", "tw", "o"], right], "the behaviour has changed"
PYTHON
