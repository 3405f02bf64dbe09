#!/usr/bin/env bash
# Package:   tokenizers 0.23.3 (PyPI).
# Behaviour: an added token of white space, with `normalized` and `rstrip`, after a normalizer `Strip` is empty, and is then
#            found between all characters. Where white space follows it takes that, whatever white space it is.
# Surprise:  the token "  " of two spaces is found in "a\nb", which has no space at all; without `rstrip` it is never found.
# Who:       vocabularies with runs of spaces as added tokens, to which a normalizer that strips text is added later.
# Seen:      'a\nb' -> ['a', '\n', 'b'], ids [0, 3, 1]; 3 is the token of two spaces
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
from tokenizers import AddedToken, Tokenizer, models, normalizers

tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "\n": 2}, []))
tokenizer.normalizer = normalizers.Strip()
tokenizer.add_tokens([AddedToken("  ", normalized=True, rstrip=True)])
encoding = tokenizer.encode("a\nb")
print(encoding.tokens, encoding.ids)
assert encoding.ids == [0, 3, 1], "the empty token is no longer found"
PYTHON
