#!/usr/bin/env bash
# Package:   tokenizers 1.0.0rc3 and 0.23.3 (PyPI).
# Behaviour: a byte-level vocabulary has a token of a character that stands for no byte, here an emoji as it is. Release 1.0.0rc3
#            gives this token for a text that is this character; 0.23.3 gives the tokens of its bytes. Both load the same file.
# Surprise:  tokens of a byte-level vocabulary are written in 256 printable characters. Another character in one matches no
#            text in 0.23.3, so that its id looks unused.
# Who:       vocabularies with leftovers of another alphabet, such as that of Command R+, whose id 1130 is such a token.
# Seen:      0.23.3 [240, 159, 152, 128]
#            1.0.0rc3 [256]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for release in 0.23.3 1.0.0rc3; do
  python3 -m venv "$folder/$release"
  "$folder/$release/bin/pip" install --quiet "tokenizers==$release"
  "$folder/$release/bin/python" - "$release" "$folder" <<'PYTHON'
import json
import pathlib
import sys

from tokenizers import Tokenizer

printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
others = [byte for byte in range(256) if byte not in printable]
characters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
vocabulary = {characters[byte]: byte for byte in range(256)} | {"\U0001f600": 256}
file = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
    "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
}
path = pathlib.Path(sys.argv[2], "tokenizer.json")
path.write_text(json.dumps(file))
ids = list(Tokenizer.from_file(str(path)).encode("\U0001f600").ids)
print(sys.argv[1], ids)
assert ids == {"0.23.3": [240, 159, 152, 128], "1.0.0rc3": [256]}[sys.argv[1]], "the ids are others now"
PYTHON
done
