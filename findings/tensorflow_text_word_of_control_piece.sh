#!/usr/bin/env bash
# Package:   tensorflow-text 2.21.1 and sentencepiece 0.2.3 (PyPI).
# Behaviour: a word model is trained with `treat_whitespace_as_suffix`, so that words do not begin with the mark of a space. For a
#            text that begins with the word of a control piece, such as <s>, tensorflow-text raises an error, and sentencepiece
#            gives ids.
# Surprise:  tensorflow-text has SentencePiece inside, of an older release, and gives equal ids for all other texts.
# Who:       graphs that tokenize text of users with word models.
# Seen:      sentencepiece [0, 4]
#            tensorflow-text InternalError
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tensorflow-text==2.21.1 sentencepiece==0.2.3
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import sentencepiece
import tensorflow_text

words = "one two three four five six seven eight nine ten"
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter([words] * 10), model_prefix="m", model_type="word", vocab_size=13,
    treat_whitespace_as_suffix=True, minloglevel=2,
)
content = open("m.model", "rb").read()
own = sentencepiece.SentencePieceProcessor(model_proto=content)
other = tensorflow_text.SentencepieceTokenizer(model=content)
assert own.encode("one two") == other.tokenize("one two").numpy().tolist()
print("sentencepiece", own.encode("<s>"))
try:
    seen = other.tokenize("<s>").numpy().tolist()
except Exception as error:
    seen = type(error).__name__
print("tensorflow-text", seen)
assert seen == "InternalError", "there are ids now"
PYTHON
