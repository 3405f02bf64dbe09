#!/usr/bin/env python3
"""Makes testdata/records: texts with line feeds as JSON Lines, and the pieces that SentencePiece 0.2.3 learns from them.

The reference gets the texts from `sentence_iterator`. Run from the repository root, with the wheel of sentencepiece 0.2.3:

    python3 testdata/make_records.py
"""

import io
import itertools
import json
import random
import struct

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

TYPES = ["bpe", "unigram", "word", "char"]
RULES = ["identity", "nmt_nfkc"]


def texts():
    """Groups of lines; some have CR LF, some begin or end with empty lines, some consist of these alone."""
    with open("testdata/comma,name.txt", encoding="utf-8", newline="\n") as file:
        lines = file.read().splitlines()
    draw = random.Random(1)
    while lines:
        count = draw.choice([1, 1, 2, 3, 5])
        text = "\n".join(lines[:count])
        del lines[:count]
        kind = draw.random()
        if kind < 0.1:
            text += "\n\n"
        elif kind < 0.2:
            text = text.replace("\n", "\r\n") + "\r\n"
        elif kind < 0.3:
            text = "\n" + text
        elif kind < 0.35:
            text = "\n\r\n"
        yield text


def pieces(all_texts, model_type, rules):
    """The pieces of a model and the bits of their scores as rows of a table."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(all_texts),
        model_writer=model,
        model_type=model_type,
        normalization_rule_name=rules,
        vocab_size=300,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    for piece in proto.pieces:
        yield f"{json.dumps(piece.piece)}\t{struct.pack('>f', piece.score).hex()}\n"


def main():
    assert sentencepiece.__version__ == "0.2.3", sentencepiece.__version__
    all_texts = list(texts())
    with open("testdata/records/texts.jsonl", "w", encoding="utf-8", newline="\n") as file:
        for number, text in enumerate(all_texts):
            file.write(json.dumps({"score": float("nan"), "id": number, "text": text}) + "\n")
    for model_type, rules in itertools.product(TYPES, RULES):
        path = f"testdata/records/{model_type}_{rules}.tsv"
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces(all_texts, model_type, rules))


if __name__ == "__main__":
    main()
