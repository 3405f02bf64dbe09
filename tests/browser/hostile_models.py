"""Small models with hostile pieces, written as the bytes of their protobuf messages.

Job: pieces that a training would not give: markup, marks of direction, control characters, bytes that are not UTF-8,
unused pieces, scores without an order. Input: a folder. Output: model files.
"""

import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
UNIGRAM, BPE = 1, 2

# Name, type, and kind of the hostile pieces.
MODELS = [
    ("bpe", BPE, NORMAL),
    ("unigram", UNIGRAM, NORMAL),
    ("symbols", BPE, USER_DEFINED),
]

PIECES = [
    b"</script><script>attacked=1</script>",
    b"<!--",
    b"<img src=x onerror=attacked=1>",
    b"&lt;b&gt;",
    b"'\"`\\",
    "\u202eabc\u2066".encode(),
    "\u2028\u2029".encode(),
    b"\x1b[2J",
    b"\r",
    b"\xff\xfe",
    b"\xe2\x96",
    "\u200d".encode(),
    "\U000e0041".encode(),
]


def field(number, payload):
    """A field of protobuf that holds bytes."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def varint(value):
    """A number of protobuf."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def piece(text, score, kind):
    """A piece of a model."""
    return field(1, field(1, text) + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind]))


def model(model_type, pieces):
    """A model whose normalizer keeps all text as it is."""
    normalizer = field(3, b"\x18\x00\x20\x00")
    return b"".join(pieces) + field(2, b"\x18" + bytes([model_type])) + normalizer


def letters():
    """Pieces of single characters, and merges with unused ones among them."""
    for number, letter in enumerate("▁abcst<>/!-&;'\"ripx=1"):
        yield piece(letter.encode(), -number / 3, NORMAL)
    for text, score, kind in (("z", -1, UNUSED), ("ab", -2, NORMAL), ("abc", -0.0, UNUSED), ("st", 0.0, NORMAL), ("bc", 1e9, UNUSED)):
        yield piece(text.encode(), score, kind)


def hostile_models(folder):
    """Writes the models; the path of each of them."""
    for name, model_type, kind in MODELS:
        pieces = [piece(b"<unk>", 0, UNKNOWN), piece(b"<s>", 0, CONTROL)]
        pieces += [piece(text, -number, kind) for number, text in enumerate(PIECES)]
        path = folder / f"hostile_{name}<img src=x onerror=attacked=1>.model"
        path.write_bytes(model(model_type, [*pieces, *letters()]))
        yield path
