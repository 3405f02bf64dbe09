#!/usr/bin/env bash
# Package:   transformers 5.24.0 (PyPI), with tokenizers 0.23.3.
# Behaviour: train_new_from_iterator keeps the special tokens of a tokenizer and loses its other added tokens, here "<think>":
#            the new tokenizer cuts its text into pieces. If the post-processor has such a token, it raises ValueError.
# Surprise:  the documentation says that the new tokenizer has the special tokens and the pipeline of the old one. Files of
#            Qwen 3 and DeepSeek V3 have tokens of their chat templates that are not special.
# Who:       who trains a vocabulary for another language "like that of Qwen 3" and uses its chat template.
# Seen:      old: ['<think>', 'a'], new: ['<', 'thin', 'k', '>', 'a']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
import logging

logging.disable(logging.WARNING)
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

alphabet = pre_tokenizers.ByteLevel.alphabet()
plain = Tokenizer(models.BPE({char: id for id, char in enumerate(sorted(alphabet))}, []))
plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
plain.add_special_tokens(["<|im_end|>"])
plain.add_tokens([AddedToken("<think>", normalized=False)])
old = PreTrainedTokenizerFast(tokenizer_object=plain)
new = old.train_new_from_iterator(["thin thin a"] * 9, 262)
seen = {name: tokenizer.tokenize("<think>a") for name, tokenizer in (("old", old), ("new", new))}
print(", ".join(f"{name}: {tokens}" for name, tokens in seen.items()))
assert seen["old"] == ["<think>", "a"] and "<think>" not in seen["new"], "the behaviour has changed"
PYTHON
