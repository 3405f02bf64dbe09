"""Makes a unigram model with 250,000 pieces from a text: large_unigram.py TEXT MODEL.

Training a model of this size requires a large corpus, so this model is generated. It has the specs that the
reference writes, including normalization rules. Its pieces are the characters, words and prefixes of words of the
text, then sequences of five letters up to the number; the scores decrease with the rank.
"""

import io
import itertools
import math
import string
import sys
from collections import Counter

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

SIZE = 250_000


def texts(words):
    """The texts of the pieces, without duplicates within a group; the most frequent words come first."""
    counts = Counter(words)
    yield from (character for character, _ in Counter("".join(words)).most_common())
    yield from ("\u2581" + word for word, _ in counts.most_common())
    yield from ("\u2581" + word[:end] for word, _ in counts.most_common() for end in range(2, len(word)))
    yield from map("".join, itertools.product(string.ascii_lowercase, repeat=5))


def main():
    source, made = sys.argv[1:]
    with open(source, encoding="utf-8", errors="ignore") as file:
        words = file.read(20_000_000).replace("\0", " ").split()
    trained = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["a small text to train on"]), model_writer=trained, vocab_size=30,
        hard_vocab_limit=False, minloglevel=2)
    model = sentencepiece_model_pb2.ModelProto.FromString(trained.getvalue())
    pieces = [piece.piece for piece in model.pieces[:3]]
    del model.pieces[3:]
    known = set(pieces)
    for text in texts(words):
        if len(model.pieces) == SIZE:
            break
        if text not in known:
            known.add(text)
            model.pieces.add(piece=text, score=-math.log(len(model.pieces)) - 2)
    model.trainer_spec.vocab_size = SIZE
    with open(made, "wb") as file:
        file.write(model.SerializeToString())


main()
