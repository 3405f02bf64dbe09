#!/usr/bin/env bash
# Package:   sentencepiece 0.2.1 and 0.2.2 (PyPI); 0.1.99 gives the pieces of 0.2.1, 0.2.3 those of 0.2.2.
# Behaviour: BPE of the same text with the same options has other pieces in 0.2.2, where the vocabulary reaches pairs that
#            occur about twice. Up to there, and beyond it once most words are pieces, the two releases are equal.
# Surprise:  0.2.2 is a minor release, vocabularies of usual sizes show no difference, and no message says that the trainer
#            is another one.
# Who:       those who train large vocabularies on small corpora, repeat a training with a newer release, and expect the
#            same model.
# Seen:      2000 pieces: 0 of 0.2.1 are not in 0.2.2
#            3000 pieces: 38 of 0.2.1 are not in 0.2.2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/train.py" <<'PYTHON'
import io
import random
import sys

import sentencepiece

rng = random.Random(7)
syllables = ["ka", "ru", "to", "mi", "ne", "so", "la", "vi", "pe", "do", "gu", "fa", "zi", "ho", "ba", "chi"]
words = ["".join(rng.choice(syllables) for _ in range(rng.randint(2, 5))) for _ in range(3000)]
lines = [" ".join(words[min(int(rng.expovariate(1 / 600)), 2999)] for _ in range(12)) for _ in range(1200)]
for size in (2000, 3000):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=model, vocab_size=size, model_type="bpe", minloglevel=2
    )
    loaded = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    with open(f"{sys.argv[1]}/{sentencepiece.__version__}-{size}", "w", encoding="utf-8") as file:
        file.writelines(sorted(f"{loaded.id_to_piece(id)}\n" for id in range(size)))
PYTHON
for release in 0.2.1 0.2.2; do
  python3 -m venv "$folder/venv-$release"
  "$folder/venv-$release/bin/pip" install --quiet "sentencepiece==$release"
  "$folder/venv-$release/bin/python" "$folder/train.py" "$folder"
done
missing() { LC_ALL=C comm -23 <(LC_ALL=C sort "$folder/0.2.1-$1") <(LC_ALL=C sort "$folder/0.2.2-$1") | wc -l; }
for size in 2000 3000; do echo "$size pieces: $(missing $size) of 0.2.1 are not in 0.2.2"; done
[ "$(missing 2000)" = 0 ] && [ "$(missing 3000)" -gt 0 ]
