"""Models to run: trained by the reference, edited, from testdata/, or from a folder of the user.

Job: supply the bytes of model files and texts that suit a model.
Input: a seed, a `Sides` for training, optionally a folder of models. Output: bytes of .model files, lines of text.

Fresh models are numbered: the model of a number depends on the seed and the number only, and it is trained when
it is first asked for.
"""

import functools
import random
import struct
import tempfile
import threading
from pathlib import Path

from . import flags, texts, train_options, wire
from .bootstrap import TESTDATA
from .sides import OK

# Fresh models of one run. All of them together take some seconds to train.
FRESH_MODELS = 24
MODEL_TYPES = ["bpe", "bpe", "unigram", "bpe", "unigram", "char", "bpe", "unigram", "word"]
ATTEMPTS = 20
# Training takes milliseconds here; options for which it takes longer are drawn again.
TRAINING_SECONDS = 5.0

UNIGRAM_TYPE = 1
TRAINER_MODEL_TYPE = 3
TRAINER_UNK_SURFACE = 44
MARK = "\u2581".encode()


class NoModel(Exception):
    """No training run of the reference succeeded, or a folder has no models."""


def _suit_model_type(options, model_type):
    """Removes what the reference refuses for this type of model."""
    options["hard_vocab_limit"] = "false"
    if model_type != "bpe":
        options.pop("auto_character_coverage", None)
    if model_type in ("word", "char"):
        options.pop("pretokenization_delimiter", None)
        options["use_all_vocab"] = "true"


def train_fresh(rng, model_type, sides):
    """A model that the reference trained with random options."""
    for _ in range(ATTEMPTS):
        options, files = train_options.generate(rng, model_type, invalid_share=0)
        _suit_model_type(options, model_type)
        with tempfile.TemporaryDirectory(prefix="spiece-model-") as folder:
            for name, data in files.items():
                (Path(folder) / name).write_bytes(data)
            options["model_prefix"] = "m"
            arguments = flags.library_arguments(options, folder)
            reply = sides.reference.call("train", TRAINING_SECONDS, folder=folder, arguments=arguments)
            if reply.status == OK:
                return (Path(folder) / "m.model").read_bytes()
    raise NoModel(f"{ATTEMPTS} training runs of a {model_type} model failed")


class ModelPool:
    """All models of one run; safe to use from several threads."""

    def __init__(self, seed, folder=None):
        self.seed = seed
        self.fresh = {}
        self.locks = [threading.Lock() for _ in range(FRESH_MODELS)]
        self.golden = sorted((TESTDATA / "golden").glob("*.model"))
        self.external = sorted(Path(folder).glob("**/*.model")) if folder else []
        if folder and not self.external:
            raise NoModel(f"--models: {folder} has no .model files")

    def fresh_model(self, number, sides):
        with self.locks[number]:
            if number not in self.fresh:
                rng = random.Random(f"{self.seed}/model/{number}")
                self.fresh[number] = train_fresh(rng, MODEL_TYPES[number % len(MODEL_TYPES)], sides)
            return self.fresh[number]

    def draw(self, rng, sides):
        """A model and what it is: fresh, golden, external, or an edited fresh or golden one."""
        kind = rng.random()
        if self.external and kind < 0.6:
            path = rng.choice(self.external)
            return path.read_bytes(), f"external {path.name}"
        if kind < 0.75:
            number = rng.randrange(FRESH_MODELS)
            data = self.fresh_model(number, sides)
            name = f"fresh {number}"
        else:
            path = rng.choice(self.golden)
            data = path.read_bytes()
            name = f"golden {path.name}"
        if rng.random() < 0.4:
            return edit(rng, data), f"{name}, edited"
        return data, name


# ---------------------------------------------------------------- edits


def _normal(parts):
    return [piece for piece in parts.pieces if piece.kind == wire.NORMAL]


def _equal_scores(rng, parts):
    value = rng.choice([0.0, -1.0, 2.0])
    for piece in _normal(parts):
        if rng.random() < 0.8:
            piece.score = value


def _random_scores(rng, parts):
    low, high = rng.choice([(-10.0, 10.0), (0.0, 5.0), (-1e-3, 1e-3), (-1e30, 1e30)])
    for piece in _normal(parts):
        piece.score = rng.uniform(low, high)


def _few_scores(rng, parts):
    values = [float(rng.randint(-4, 3)) for _ in range(3)]
    for piece in _normal(parts):
        piece.score = rng.choice(values)


def _shuffled_scores(rng, parts):
    pieces = _normal(parts)
    scores = [piece.score for piece in pieces]
    rng.shuffle(scores)
    for piece, score in zip(pieces, scores):
        piece.score = score


def _other_kinds(rng, parts):
    kind = rng.choice([wire.UNUSED, wire.UNUSED, wire.USER_DEFINED, wire.CONTROL])
    share = rng.choice([0.02, 0.2, 0.6])
    for piece in _normal(parts):
        if rng.random() < share:
            piece.kind = kind


def _new_pieces(rng, parts):
    """Pieces with spaces, malformed UTF-8, joined pieces, and pieces that no merge can reach."""
    known = {piece.text for piece in parts.pieces}
    for _ in range(rng.randint(1, 12)):
        base = rng.choice(parts.pieces).text
        text = rng.choice([
            base + rng.choice(parts.pieces).text, base + b" ", b" " + base, MARK + base, base + MARK, base * 3,
            base[:-1], base + rng.choice(texts.MALFORMED),
            texts.word(rng, rng.choice(sorted(texts.ALPHABETS))).encode(),
        ])
        if text and text not in known and b"\0" not in text:
            known.add(text)
            kind = rng.choice([wire.NORMAL] * 6 + [wire.USER_DEFINED, wire.UNUSED, wire.CONTROL])
            parts.pieces.append(wire.Piece(text, rng.uniform(-20, 1), kind))


def _fewer_pieces(rng, parts):
    share = rng.choice([0.02, 0.3])
    parts.pieces = [piece for piece in parts.pieces if piece.kind != wire.NORMAL or rng.random() > share]


def _shuffled_pieces(rng, parts):
    rng.shuffle(parts.pieces)


def _normalizer_switches(rng, parts):
    for number in (3, 4, 5):
        if rng.random() < 0.6:
            wire.put(parts.normalizer, number, wire.VARINT, rng.randrange(2))


def _no_rules(rng, parts):
    parts.normalizer = [field for field in parts.normalizer if field.number != 2]


def _whitespace_suffix(rng, parts):
    wire.put(parts.trainer, 24, wire.VARINT, rng.randrange(2))


def _byte_fallback(rng, parts):
    wire.put(parts.trainer, 35, wire.VARINT, rng.randrange(2))


def _model_type(rng, parts):
    wire.put(parts.trainer, TRAINER_MODEL_TYPE, wire.VARINT, rng.randint(1, 4))


def _unk_surface(rng, parts):
    surface = rng.choice([b"", b"?", b"\xff", MARK, "\u2047".encode()])
    wire.put(parts.trainer, TRAINER_UNK_SURFACE, wire.BYTES, surface)


EDITS = [
    _equal_scores, _random_scores, _few_scores, _shuffled_scores, _other_kinds, _new_pieces, _fewer_pieces,
    _shuffled_pieces, _normalizer_switches, _no_rules, _whitespace_suffix, _byte_fallback, _model_type, _unk_surface,
]


def edit(rng, data):
    """One to three random edits of a model that keep it a well-formed message."""
    parts = wire.ModelParts(data)
    for change in rng.sample(EDITS, rng.choice([1, 1, 2, 3])):
        change(rng, parts)
    return parts.to_bytes()


def damage(rng, data):
    """A model file with damaged bytes or with fields that contradict each other."""
    kind = rng.randrange(9)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    if kind == 1:
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    if kind == 2:
        at = rng.randrange(len(data))
        return data[:at] + data[at + rng.randint(1, 8) :]
    if kind == 3:
        at = rng.randrange(len(data))
        return data[:at] + bytes(rng.randrange(256) for _ in range(rng.randint(1, 8))) + data[at:]
    if kind == 4:
        return data + rng.choice([b"\0", b"\x08\x01", b"\xfa\x3e\x02hi", b"\xff" * 10, data[:20], b"\x22\x00"])
    if kind == 5:
        return rng.choice([b"", b"\n", b"model", b"\0" * 64, b"\x0a\x00"])
    parts = wire.ModelParts(data)
    _damage_parts(rng, parts)
    return parts.to_bytes()


def _damage_parts(rng, parts):
    piece = rng.choice(parts.pieces)
    kind = rng.randrange(12)
    if kind == 0:
        piece.text = b""
    elif kind == 1:
        piece.text = rng.choice(parts.pieces).text
    elif kind == 2:
        piece.score = rng.choice([float("nan"), float("inf"), -float("inf"), 1e38])
    elif kind == 3:
        piece.kind = rng.randrange(0, 9)
    elif kind == 4:
        parts.pieces = [piece for piece in parts.pieces if piece.kind != wire.UNKNOWN]
    elif kind == 5:
        piece.text = rng.choice([b"<0x41>", b"<0x4>", b"<0x100>", b"<0xaf>", b"\xff", b"a\0b", b"\0"])
        piece.kind = rng.choice([wire.BYTE, wire.NORMAL])
    elif kind == 6:
        wire.put(parts.normalizer, 2, wire.BYTES, bytes(rng.randrange(256) for _ in range(rng.choice([1, 4, 8, 1024]))))
    elif kind == 7:
        _damage_charsmap(rng, parts)
    elif kind == 8:
        wire.put(parts.trainer, TRAINER_MODEL_TYPE, wire.VARINT, rng.choice([0, 5, 2**31, 2**64 - 1]))
    elif kind == 9:
        parts.pieces = rng.choice([[], parts.pieces[:1], parts.pieces * 2])
    elif kind == 10:
        number, wire_type = rng.choice([(3, wire.BYTES), (35, wire.BYTES), (10, wire.VARINT), (44, wire.FIXED32)])
        value = 1 if wire_type == wire.VARINT else b"abcd"
        wire.put(parts.trainer, number, wire_type, value)
    else:
        for number, text in [(45, b"?"), (46, b"none"), (47, b"")]:
            wire.put(parts.trainer, number, wire.BYTES, text)


def _damage_charsmap(rng, parts):
    rules = bytearray(wire.get(parts.normalizer, 2, b""))
    if not isinstance(wire.get(parts.normalizer, 2, b""), bytes) or len(rules) < 8:
        return
    for _ in range(rng.randint(1, 4)):
        rules[rng.randrange(len(rules))] = rng.randrange(256)
    if rng.random() < 0.3:
        rules[0:4] = struct.pack("<I", rng.choice([0, 4, 5, 1024, len(rules), 2**32 - 4]))
    wire.put(parts.normalizer, 2, wire.BYTES, bytes(rules))


# ---------------------------------------------------------------- texts that suit a model


# Cases and their shrinking ask for the same models again.
@functools.lru_cache(maxsize=16)
def piece_texts(data):
    """The texts of the pieces; nothing if the bytes are not a model."""
    try:
        return [piece.text for piece in wire.ModelParts(data).pieces if isinstance(piece.text, bytes)]
    except (wire.WireError, struct.error, TypeError):
        return []


@functools.lru_cache(maxsize=16)
def is_unigram(data):
    try:
        parts = wire.ModelParts(data)
    except (wire.WireError, struct.error, TypeError):
        return False
    return wire.get(parts.trainer, TRAINER_MODEL_TYPE, UNIGRAM_TYPE) == UNIGRAM_TYPE


def adversarial_line(rng, pieces):
    """Pieces of the model, whole or cut, joined, repeated, with special strings between them."""
    parts = []
    for _ in range(rng.randint(1, 25)):
        piece = rng.choice(pieces)
        kind = rng.random()
        if kind < 0.1:
            piece = piece[rng.randrange(len(piece) + 1) :]
        elif kind < 0.2:
            piece = piece[: rng.randrange(len(piece) + 1)]
        elif kind < 0.25:
            piece = rng.choice(texts.SPECIAL).encode()
        elif kind < 0.30:
            piece = piece * rng.randint(2, 12)
        elif kind < 0.33:
            piece = rng.choice(texts.MALFORMED)
        parts.append(piece.replace(MARK, b" ") if rng.random() < 0.8 else piece)
    return texts.clean(b"".join(parts))


def lines_for(rng, data, count):
    """Texts for a model: one half from its own pieces, one half from the general generators."""
    pieces = piece_texts(data)
    general = texts.lines(rng, count)
    if not pieces:
        return general
    return [adversarial_line(rng, pieces) if rng.random() < 0.5 else line for line in general]
