#!/usr/bin/env bash
# Package:   tokenizers 0.22.2 and 0.23.3 (PyPI).
# Behaviour: a normalizer is set after tokens were added that are searched for in normalized text. Release 0.22.2 goes on to
#            search for them as the former normalizer made them, 0.23.3 as the new one makes them. The file that 0.22.2 saves
#            gives the ids of 0.23.3 when it is loaded again.
# Surprise:  the tokenizer in memory and the one that it saves give different ids.
# Who:       programs that load a tokenizer with transformers 4.57, which requires a release before 0.23, add tokens and set
#            `backend_tokenizer.normalizer`.
# Seen:      0.22.2 [0] saved and loaded [1]
#            0.23.3 [1] saved and loaded [1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for release in 0.22.2 0.23.3; do
  python3 -m venv "$folder/$release"
  "$folder/$release/bin/pip" install --quiet "tokenizers==$release"
  "$folder/$release/bin/python" - "$release" <<'PYTHON'
import sys

from tokenizers import AddedToken, Tokenizer, models, normalizers

tokenizer = Tokenizer(models.WordLevel({"x": 0}, unk_token="x"))
tokenizer.add_tokens([AddedToken("AB", normalized=True)])
tokenizer.normalizer = normalizers.Lowercase()
ids = tokenizer.encode("AB").ids
loaded = Tokenizer.from_str(tokenizer.to_str()).encode("AB").ids
print(sys.argv[1], ids, "saved and loaded", loaded)
assert ids == {"0.22.2": [0], "0.23.3": [1]}[sys.argv[1]] and loaded == [1], "the ids are others now"
PYTHON
done
