#!/usr/bin/env bash
# Package:   tokenizers 0.23.3 (PyPI).
# Behaviour: the `type` of a post-processor in tokenizer.json does not choose it. One with `sep` and `cls` is read as
#            BertProcessing, and one with the fields of a template as TemplateProcessing, whatever `type` says. Only
#            ByteLevel and Sequence need their type, and a Sequence with such fields is not read as one.
# Surprise:  for all other components `type` decides, and nothing is refused or told: the ids of a text become others, and
#            what is saved has another type.
# Who:       those who edit a post-processor and leave fields of the former one in it, as the published file of Command R+
#            has them, and those who write another reader of these files.
# Seen:      TemplateProcessing with sep and cls: BertProcessing, ids [2, 1, 3]
#            Sequence with a template: TemplateProcessing, ids [1, 3]
#            ByteLevel with a template, without its own fields: TemplateProcessing, ids [1, 3]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
import json

from tokenizers import Tokenizer

template = {
    "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"</s>": {"id": "</s>", "ids": [3], "tokens": ["</s>"]}},
}
ends = {"sep": ["</s>", 3], "cls": ["<s>", 2]}
file = {"version": "1.0", "added_tokens": [], "model": {"type": "WordLevel", "vocab": {"<unk>": 0, "a": 1}, "unk_token": "<unk>"}}
for label, component, expected in (
    ("TemplateProcessing with sep and cls", {"type": "TemplateProcessing", **template, **ends}, ("BertProcessing", [2, 1, 3])),
    ("Sequence with a template", {"type": "Sequence", "processors": [], **template}, ("TemplateProcessing", [1, 3])),
    ("ByteLevel with a template, without its own fields", {"type": "ByteLevel", **template}, ("TemplateProcessing", [1, 3])),
):
    tokenizer = Tokenizer.from_str(json.dumps({**file, "post_processor": component}))
    found = json.loads(tokenizer.to_str())["post_processor"]["type"], tokenizer.encode("a").ids
    print(f"{label}: {found[0]}, ids {found[1]}")
    assert found == expected, "the type decides now"
PYTHON
