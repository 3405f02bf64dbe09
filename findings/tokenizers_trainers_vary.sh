#!/usr/bin/env bash
# Package:   tokenizers 0.23.3 (PyPI).
# Behaviour: WordPieceTrainer, and BpeTrainer with a prefix or a suffix, give another vocabulary in each run on the same text
#            with the same options. Characters with an affix get their ids in the order of a hash table, and which of two pairs
#            is merged that occur equally often depends on these ids: the tokens differ, and not only their ids.
# Surprise:  nothing in training is random, no option seeds it, and BpeTrainer without affixes always gives the same file.
# Who:       who trains BERT's tokenizer again to get the file of a model that was trained before.
# Seen:      20 vocabularies in 20 runs, with 20 sets of tokens (the second number varies)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tokenizers==0.23.3
cat > "$folder/train.py" <<'PYTHON'
import json

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

texts = ["all human beings are born free and equal in dignity and rights", "they are endowed with reason and conscience"]
tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=70, special_tokens=["[UNK]"], show_progress=False))
vocab = tokenizer.get_vocab()
print(json.dumps(sorted(vocab, key=vocab.get)))
PYTHON
for _ in $(seq 20); do "$folder/venv/bin/python" "$folder/train.py"; done > "$folder/runs"
"$folder/venv/bin/python" - "$folder/runs" <<'PYTHON'
import json
import sys

runs = [json.loads(line) for line in open(sys.argv[1])]
vocabularies = {tuple(run) for run in runs}
sets = {frozenset(run) for run in runs}
print(f"{len(vocabularies)} vocabularies in {len(runs)} runs, with {len(sets)} sets of tokens")
assert len(sets) > 1, "the result is always the same"
PYTHON
