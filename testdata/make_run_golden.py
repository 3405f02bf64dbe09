#!/usr/bin/env python3
"""Make the models of testdata/run/, and what the reference, SentencePiece 0.2.3, does with them.

    pip install sentencepiece==0.2.3 protobuf
    python3 testdata/make_run_golden.py           # from the repository root: write models and expectations
    python3 testdata/make_run_golden.py --check   # compute the expectations again, report what differs

Models: small unigram, word and char models, and models of testdata/golden/ changed in ways
that files in circulation have (unused pieces, equal, positive and NaN scores, no unknown piece).

`expected.tsv` has a row for each text and model: the model, the text, its ids, the bytes of the text that each
stands for (`begin-end`), the pieces (joined by U+001F), the normalized text, and the text that the ids decode to.
`nbest.tsv` has a row for each of the best segmentations: model, text, score (a float32 in hexadecimal bits), ids.
`dropout.tsv` has counts from random runs: model, text, alpha, number of runs, then `ids=count` for each result.
`decoded.tsv` has texts of random ids: model, ids, text. `refused.tsv` has changes to a model that the reference
refuses: the model's name under testdata/run/refused/ and the reference's message.
"""

import hashlib
import math
import random
import struct
import subprocess
import sys
from pathlib import Path

import sentencepiece as spm
from sentencepiece import sentencepiece_model_pb2 as pb

HERE = Path(__file__).resolve().parent
RUN = HERE / "run"
GOLDEN = HERE / "golden"
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6

TRAINED = {
    "unigram": {"model_type": "unigram", "vocab_size": 600, "user_defined_symbols": "<sep>,ab,abc,la"},
    "unigram_bytes": {"model_type": "unigram", "vocab_size": 600, "byte_fallback": True,
                      "remove_extra_whitespaces": False},
    "unigram_rules": {"model_type": "unigram", "vocab_size": 400, "normalization_rule_tsv": "testdata/normalize.tsv",
                      "denormalization_rule_tsv": "testdata/denormalize.tsv"},
    "unigram_suffix": {"model_type": "unigram", "vocab_size": 400, "treat_whitespace_as_suffix": True},
    "word": {"model_type": "word", "vocab_size": 300, "user_defined_symbols": "la"},
    "char": {"model_type": "char", "vocab_size": 120, "user_defined_symbols": "<sep>,qu"},
}


def train():
    RUN.mkdir(exist_ok=True)
    for name, options in TRAINED.items():
        spm.SentencePieceTrainer.train(**{
            "input": "testdata/udhr_small.txt", "model_prefix": str(RUN / name), "normalization_rule_name": "identity",
            "hard_vocab_limit": False, "num_threads": 1, "minloglevel": 2, **options})
        (RUN / f"{name}.vocab").unlink()


def changed(name, source, change):
    model = pb.ModelProto()
    model.ParseFromString((GOLDEN / f"{source}.model").read_bytes() if source in golden_names()
                          else (RUN / f"{source}.model").read_bytes())
    change(model)
    path = RUN / f"{name}.model"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(model.SerializeToString())


def golden_names():
    """The golden BPE models. This script trains models of the other types itself."""
    is_bpe = lambda path: "model_type=bpe\n" in path.with_suffix(".flags").read_text("utf-8")
    return {path.stem for path in GOLDEN.glob("*.model") if is_bpe(path)}


def unused(model):
    rng = random.Random(1)
    for piece in model.pieces:
        if piece.type == NORMAL and rng.random() < 0.3:
            piece.type = UNUSED


def scores(model):
    rng = random.Random(2)
    for piece in model.pieces:
        if piece.type == NORMAL:
            piece.score = rng.choice([0.0, -0.0, 1.0, 2.5, -1.0, -1.0, -7.0, math.nan, math.inf, -math.inf])


def equal_scores(model):
    for piece in model.pieces:
        piece.score = 0.0


def coarse_scores(model):
    for piece in model.pieces:
        piece.score = float(round(piece.score / 3) * 3)


def no_unknown(model):
    for piece in model.pieces:
        if piece.type == UNKNOWN:
            piece.type = CONTROL


def steep_scores(model):
    """Sums that leave 100,000 soon."""
    for piece in model.pieces:
        piece.score *= 997.0


def symbols_that_merge(model):
    rng = random.Random(3)
    for piece in model.pieces:
        if piece.type == NORMAL and len(piece.piece) > 1 and rng.random() < 0.05:
            piece.type = USER_DEFINED


CHANGED = [
    ("bpe_unused", "llama2", unused), ("bpe_scores", "llama2", scores), ("bpe_no_unknown", "llama2", no_unknown),
    ("bpe_symbols", "llama2", symbols_that_merge), ("bpe_equal", "llama2", equal_scores),
    ("unigram_equal", "unigram", equal_scores), ("unigram_coarse", "unigram_bytes", coarse_scores),
    ("unigram_steep", "unigram", steep_scores), ("unigram_unused", "unigram", unused),
    ("char_unused", "char", unused), ("word_unused", "word", unused),
]


def append_piece(text, kind=NORMAL, score=0.0):
    def change(model):
        model.pieces.add(piece=text, type=kind, score=score)
    return change


def long_piece(model):
    model.pieces[300].piece = "a" * 8000


def drop_byte(model):
    del model.pieces[5]


def set_charsmap(data):
    def change(model):
        model.normalizer_spec.precompiled_charsmap = data
    return change


def denormalizer_charsmap(model):
    model.denormalizer_spec.precompiled_charsmap = b"abc"


REFUSED = [
    ("empty_piece", "llama2", append_piece("")), ("long_piece", "llama2", long_piece),
    ("nul_in_piece", "llama2", append_piece("a\0b")), ("twice", "llama2", append_piece("<s>")),
    ("two_unknown", "llama2", append_piece("<unk2>", UNKNOWN)), ("no_byte", "llama2", drop_byte),
    ("strange_byte", "llama2", append_piece("<0xzz>", BYTE)), ("byte_without_fallback", "word", append_piece("<0x00>", BYTE)),
    ("no_unknown", "word", no_unknown), ("nan", "unigram", append_piece("zzz", NORMAL, math.nan)),
    ("infinite", "unigram", append_piece("zzz", CONTROL, math.inf)), ("charsmap", "word", set_charsmap(b"abc")),
    ("denormalizer", "word", denormalizer_charsmap), ("charsmap_size", "word", set_charsmap(b"\xff" * 2000)),
    ("twice_from_text", "word", append_piece("la", UNUSED)),
]


def lines():
    rng = random.Random(7)
    real = (HERE / "udhr.txt").read_text("utf-8").split("\n") + (HERE / "udhr_small.txt").read_text("utf-8").split("\n")
    real += (HERE / "mixed.txt").read_text("utf-8").split("\n")
    texts = [line for line in rng.sample([line for line in real if len(line) < 250], 30) if "\t" not in line]
    parts = ["a", "b", "ab", "abc", "la", " ", "  ", "\u2581", "<sep>", "<s>", "</s>", "<unk>", "<0x41>", "1", "é", "e\u0301",
             "ж", "日本", "\U0001f600", "\u0915\u093f", "\u00a0", "\x01", "\ufffd", "qu", "que", "the", "ﬁ", "Ａ", "."]
    for length in [1, 2, 3, 5, 8, 13, 21, 34] * 3:
        texts.append("".join(rng.choice(parts) for _ in range(length)))
    texts += ["", " ", "   ", "  a  b  ", "\u2581\u2581 \u2581a", "a" * 300, "ab" * 100, "abc" * 60, "é" * 60, "日" * 40,
              "".join(parts), " ".join(parts)]
    return [text.replace("\t", " ").replace("\r", " ").replace("\n", " ") for text in texts]


def bits(score):
    return struct.pack(">f", score).hex()


def joined(values, by=" "):
    return by.join(str(value) for value in values)


def expectations():
    texts = lines()
    rows, nbest, decoded = [], [], []
    models = [GOLDEN / f"{name}.model" for name in sorted(golden_names())]
    models += [RUN / f"{name}.model" for name in sorted([*TRAINED, *(name for name, _, _ in CHANGED)])]
    for number, path in enumerate(models):
        sp = spm.SentencePieceProcessor(model_file=str(path))
        name = f"{path.parent.name}/{path.stem}"
        own = path.parent == RUN
        for text in texts if own else texts[number % 9::9]:
            proto = sp.encode_as_proto(text)
            ids = [piece.id for piece in proto.pieces]
            assert ids == sp.encode_as_ids(text)
            spans = joined(f"{piece.begin}-{piece.end}" for piece in proto.pieces)
            rows.append([name, text, joined(ids), spans, joined((piece.piece for piece in proto.pieces), "\x1f"),
                         sp.normalize(text), sp.decode_ids(ids)])
            if own and path.stem.startswith("unigram") and 0 < len(text) < 90:
                for result in sp.nbest_encode_as_proto(text, 7).nbests:
                    nbest.append([name, text, bits(result.score), joined(piece.id for piece in result.pieces)])
        rng = random.Random(path.stem)
        for length in [0, 1, 2, 3, 5, 8, 20] * 2:
            ids = [rng.randrange(min(sp.get_piece_size(), rng.choice([10, 260, 10**6]))) for _ in range(length)]
            text = sp.decode_ids(ids)
            if not set(text) & set("\t\n\r"):
                decoded.append([name, joined(ids), text])
    return {"expected.tsv": rows, "nbest.tsv": nbest, "decoded.tsv": decoded, "refused.tsv": refused()}


def refused():
    rows = []
    for name, _, _ in REFUSED:
        code = f"import sentencepiece as s; s.SentencePieceProcessor(model_file={str(RUN / 'refused' / (name + '.model'))!r})"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode != 0, name
        rows.append([name, done.stderr.strip().split("\n")[-1]])
    return rows


def dropout():
    rows = []
    for name in ["golden/llama2", "run/bpe_unused"]:
        sp = spm.SentencePieceProcessor(model_file=str(HERE / f"{name}.model"))
        for text, alpha in [("les droits", 0.1), ("universelle", 0.3), ("la la", 0.5)]:
            counts = {}
            runs = 100000
            for _ in range(runs):
                ids = joined(sp.sample_encode_as_ids(text, -1, alpha))
                counts[ids] = counts.get(ids, 0) + 1
            frequent = sorted(((count, ids) for ids, count in counts.items() if count >= 50), reverse=True)
            rows.append([name, text, alpha, runs, *(f"{ids}={count}" for count, ids in frequent)])
    return rows


def table(rows):
    assert all("\t" not in str(cell) and "\n" not in str(cell) for row in rows for cell in row), "a cell has a tab or newline"
    return "".join(joined(row, "\t") + "\n" for row in rows)


def main():
    if "--check" in sys.argv:
        wrong = [name for name, rows in expectations().items() if (RUN / name).read_text("utf-8") != table(rows)]
        print("differs: " + ", ".join(wrong) if wrong else "all as expected")
        sys.exit(bool(wrong))
    train()
    for name, source, change in CHANGED:
        changed(name, source, change)
    for name, source, change in REFUSED:
        changed(f"refused/{name}", source, change)
    for name, rows in {**expectations(), "dropout.tsv": dropout()}.items():
        (RUN / name).write_text(table(rows), "utf-8", newline="\n")
    files = sorted(path for path in RUN.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(RUN)}\n" for path in files]
    (RUN / "SHA256SUMS").write_text("".join(sums))


if __name__ == "__main__":
    main()
