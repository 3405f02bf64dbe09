#!/usr/bin/env bash
# Package:   transformers 5.24.0 (PyPI), with tokenizers 0.23.3 and sentencepiece 0.2.1.
# Behaviour: a model of SentencePiece with byte_fallback has a piece for each byte. The tokenizer that train_new_from_iterator
#            makes of it has none, although its model still says byte_fallback: characters that the corpus lacks become <unk>.
# Surprise:  the documentation says that the new tokenizer has the pipeline of the old one. Here the old one has no unknown
#            text and decodes all, and the new one loses each line feed.
# Who:       who trains a vocabulary for code or another language "like that of Llama 2" with this method.
# Seen:      old: 256 byte tokens, 'a\nb' -> 'a\nb'
#            new: 0 byte tokens, byte_fallback True, 'a\nb' -> 'a<unk>b'
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3 sentencepiece==0.2.1 protobuf
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import io
import json
import logging
import pathlib
import sys

logging.disable(logging.WARNING)
import sentencepiece
from transformers import AutoTokenizer

folder = pathlib.Path(sys.argv[1]) / "model"
folder.mkdir()
texts = ["a b ab ba abba"] * 20
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(texts), model_writer=model, model_type="bpe", vocab_size=265, byte_fallback=True,
    normalization_rule_name="identity", hard_vocab_limit=False, minloglevel=2,
)
(folder / "tokenizer.model").write_bytes(model.getvalue())
old = AutoTokenizer.from_pretrained(folder)
new = old.train_new_from_iterator(texts, 265)
seen = {}
for name, tokenizer in (("old", old), ("new", new)):
    count = sum(token.startswith("<0x") for token in tokenizer.get_vocab())
    seen[name] = (count, tokenizer.decode(tokenizer.encode("a\nb", add_special_tokens=False)))
    fallback = json.loads(tokenizer.backend_tokenizer.to_str())["model"]["byte_fallback"]
    print(f"{name}: {count} byte tokens, byte_fallback {fallback}, 'a\\nb' -> {seen[name][1]!r}")
assert seen == {"old": (256, "a\nb"), "new": (0, "a<unk>b")}, "the behaviour has changed"
PYTHON
