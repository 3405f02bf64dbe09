#!/usr/bin/env bash
# Package:   transformers 5.24.0 (PyPI), with tokenizers 0.23.3 and sentencepiece 0.2.1.
# Behaviour: AutoTokenizer opens a folder with a .model of SentencePiece and no class with TokenizersBackend. If the model
#            has user-defined symbols, the pre-tokenizer splits at them, and `ignore_merges` looks each part up as a whole.
# Surprise:  the text behind a symbol is a part, too, and is looked up: a text that spells a byte piece becomes that piece.
#            SentencePiece never gives a byte piece for its spelling. Without a symbol before it, the ids are equal.
# Who:       who converts a model with user_defined_symbols and byte_fallback, and has source code or logs with <0x41>.
# Seen:      <0x41>: equal
#            <sep><0x41>: sentencepiece ['▁', '<sep>', '<', '0', 'x', '4', '1', '>'], transformers ['▁', '<sep>', '<0x41>']
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
from transformers import AutoTokenizer

folder = pathlib.Path(sys.argv[1])
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(["one two three < 0 x 4 1 >"] * 10), model_writer=model, model_type="bpe", vocab_size=290,
    byte_fallback=True, user_defined_symbols=["<sep>"], hard_vocab_limit=False, minloglevel=2,
)
(folder / "tokenizer.model").write_bytes(model.getvalue())
reference = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
tokenizer = AutoTokenizer.from_pretrained(folder)
seen = {}
for text in ("<0x41>", "<sep><0x41>"):
    pieces = reference.encode(text, out_type=str)
    tokens = tokenizer.tokenize(text)
    seen[text] = (pieces, tokens)
    print(f"{text}: equal" if pieces == tokens else f"{text}: sentencepiece {pieces}, transformers {tokens}")
spelling = ["<", "0", "x", "4", "1", ">"]
assert seen["<0x41>"][0] == seen["<0x41>"][1], "the behaviour has changed"
assert seen["<sep><0x41>"] == (["▁", "<sep>", *spelling], ["▁", "<sep>", "<0x41>"]), "the behaviour has changed"
PYTHON
