"""Makes a unigram model with 250,000 pieces from a text: large_unigram.py TEXT MODEL.

Trained ones of this size come from corpora that few have at hand. This one has the specifications that the
reference writes, rules for normalization among them, and for pieces the characters, the words and the beginnings of
words of the text, then words of letters in every order until there are enough, with scores that fall by rank.
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
    """Different texts without end, the most frequent words first."""
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
