#!/usr/bin/env bash
# Package:   tokenizers 0.23.3 (PyPI).
# Behaviour: the offsets of `async_encode` and `async_encode_batch` count bytes of UTF-8, those of `encode` and `encode_batch`
#            characters, for the same tokenizer and text.
# Surprise:  the documentation of `async_encode`, too, promises offsets of characters; ids and tokens are equal, and for ASCII the
#            offsets are.
# Who:       servers that move from `encode` to `async_encode` and cut the text by offsets.
# Seen:      encode [(0, 2), (3, 5)]
#            async_encode [(0, 3), (4, 6)]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio

from tokenizers import Tokenizer, models, pre_tokenizers

tokenizer = Tokenizer(models.WordLevel({"<unk>": 0, "\u00e9a": 1, "ab": 2}, unk_token="<unk>"))
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()


async def awaited(text):
    return await tokenizer.async_encode(text)


text = "\u00e9a ab"
plain, later = tokenizer.encode(text), asyncio.run(awaited(text))
print("encode", plain.offsets)
print("async_encode", later.offsets)
assert plain.ids == later.ids == [1, 2]
assert plain.offsets == [(0, 2), (3, 5)] and later.offsets == [(0, 3), (4, 6)], "the offsets are others now"
PYTHON
