#!/usr/bin/env bash
# Package:   transformers 5.24.0 (PyPI), with tokenizers 0.23.3 and sentencepiece 0.2.1.
# Behaviour: LlamaTokenizer(vocab_file="tokenizer.model") does not read the file. It makes a tokenizer of three special
#            tokens, which gives no token for any word. The name of a file that does not exist is accepted as well.
# Surprise:  vocab_file was the first parameter of LlamaTokenizer in release 4, and is still a known keyword: no error and no
#            warning. encode returns an empty list.
# Who:       who moves scripts that load a .model of SentencePiece by its name from transformers 4 to 5.
# Seen:      vocab_file: 3 tokens, 'one two' -> []
#            missing file: 3 tokens, 'one two' -> []
#            from_pretrained: 'one two' -> ['▁one', '▁two']
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet transformers==5.24.0 tokenizers==0.23.3 sentencepiece==0.2.1 protobuf
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import io
import logging
import pathlib
import sys

logging.disable(logging.WARNING)
import sentencepiece
from transformers import AutoTokenizer, LlamaTokenizer

folder = pathlib.Path(sys.argv[1]) / "model"
folder.mkdir()
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(["one two three"] * 10), model_writer=model, model_type="bpe", vocab_size=290, byte_fallback=True,
    hard_vocab_limit=False, minloglevel=2,
)
(folder / "tokenizer.model").write_bytes(model.getvalue())
seen = []
for name, file in (("vocab_file", "tokenizer.model"), ("missing file", "missing.model")):
    tokenizer = LlamaTokenizer(vocab_file=str(folder / file))
    seen.append((len(tokenizer), tokenizer.encode("one two", add_special_tokens=False)))
    print(f"{name}: {seen[-1][0]} tokens, 'one two' -> {seen[-1][1]}")
right = AutoTokenizer.from_pretrained(folder).tokenize("one two")
print(f"from_pretrained: 'one two' -> {right}")
assert seen == [(3, []), (3, [])] and right == ["▁one", "▁two"], "the behaviour has changed"
PYTHON
