#!/usr/bin/env bash
# Package:   tokenizers 1.0.0rc3 and 0.23.3 (PyPI).
# Behaviour: in a BPE model with end_of_word_suffix, a word of one character is looked up without the suffix in 1.0.0rc3.
# Surprise:  all longer words have the suffix, and the file loads without an error.
# Who:       vocabularies of GPT-1's kind: "a", "I" and every comma and full stop get other ids.
# Seen:      0.23.3 [1, 2] 1.0.0rc3 [0, 2]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat > ids.py <<'PYTHON'
import json

from tokenizers import Tokenizer

vocab = {"a": 0, "a</w>": 1, "aa</w>": 2}
model = {"type": "BPE", "vocab": vocab, "merges": [["a", "a</w>"]], "end_of_word_suffix": "</w>"}
file = {"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "WhitespaceSplit"}, "model": model}
with open("tokenizer.json", "w") as out:
    json.dump(file, out)
print(Tokenizer.from_file("tokenizer.json").encode("a aa").ids)
PYTHON
for version in 0.23.3 1.0.0rc3; do
  python3 -m venv "venv$version"
  "venv$version/bin/pip" install --quiet "tokenizers==$version"
done
old=$(venv0.23.3/bin/python ids.py)
new=$(venv1.0.0rc3/bin/python ids.py)
echo "0.23.3 $old 1.0.0rc3 $new"
[ "$old" = "[1, 2]" ] && [ "$new" = "[0, 2]" ]
