#!/usr/bin/env bash
# Package:   tokenizers 1.0.0rc3 and 0.23.3 (PyPI).
# Behaviour: a Split whose expression is that of cl100k with \p{N}{1,2} cuts numbers into three digits in 1.0.0rc3, as with {1,3}.
# Surprise:  the file loads without an error, and 1.0.0rc3 refuses all expressions that it has no code for; the family is
#            recognized by its text, and the number in it is read and then not used.
# Who:       vocabularies with two digits at a time, as nanochat's, whose numbers get other ids.
# Seen:      0.23.3 [3, 3] 1.0.0rc3 [4, 2]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > ids.py <<'PYTHON'
import json

from tokenizers import Tokenizer

end = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
pattern = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}" + end
split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
vocab = {"<unk>": 0, "1": 2, "11": 3, "111": 4}
file = {
    "version": "1.0",
    "added_tokens": [],
    "pre_tokenizer": split,
    "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
}
with open("tokenizer.json", "w") as out:
    json.dump(file, out)
print(Tokenizer.from_file("tokenizer.json").encode("1111").ids)
PYTHON
for version in 0.23.3 1.0.0rc3; do
  python3 -m venv "venv$version"
  "venv$version/bin/pip" install --quiet "tokenizers==$version"
done
old=$(venv0.23.3/bin/python ids.py)
new=$(venv1.0.0rc3/bin/python ids.py)
echo "0.23.3 $old 1.0.0rc3 $new"
[ "$old" = "[3, 3]" ] && [ "$new" = "[4, 2]" ]
