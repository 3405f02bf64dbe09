"""Small models with hostile pieces, written as the bytes of their protobuf messages.

Job: pieces that a training would not give: markup, marks of direction, control characters, bytes that are not UTF-8,
unused pieces, scores without an order. Input: a folder. Output: model files, and how a report shows their pieces.
"""

import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5
UNIGRAM, BPE = 1, 2

# The reference divides unused pieces up to this depth.
MAX_LEVELS = 100

# Name, type, kind of the hostile pieces, and differences of scores. With steep scores the sums of a unigram model exceed
# 100,000, where the reference subtracts them.
MODELS = [
    ("bpe", BPE, NORMAL, 1.0),
    ("unigram", UNIGRAM, NORMAL, 1.0),
    ("steep", UNIGRAM, NORMAL, 3_333.3),
    ("symbols", BPE, USER_DEFINED, 1.0),
]

# The bytes of a piece, and the text that a report shows for it.
PIECES = [
    (b"</script><script>attacked=1</script>", "</script><script>attacked=1</script>"),
    (b"<!--", "<!--"),
    (b"<img src=x onerror=attacked=1>", "<img␣src=x␣onerror=attacked=1>"),
    (b"&lt;b&gt;", "&lt;b&gt;"),
    (b"{{data}}", "{{data}}"),
    (b"'\"`\\", "'\"`\\"),
    ("\u202eabc\u2066".encode(), "\\u{202e}abc\\u{2066}"),
    ("\u2028\u2029".encode(), "\\u{2028}\\u{2029}"),
    (b"\x1b[2J", "\\u{1b}[2J"),
    (b"\r", "\\u{d}"),
    (b"\xff\xfe", "\\xff\\xfe"),
    (b"\xe2\x96", "\\xe2\\x96"),
    ("\u200d".encode(), "\\u{200d}"),
    ("\U000e0041".encode(), "\\u{e0041}"),
    (b"__proto__", "__proto__"),
    (b"constructor", "constructor"),
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


def letters(steepness):
    """Pieces of single characters, and merges with unused ones among them."""
    for number, letter in enumerate("▁abcst<>/!-&;'\"ripx=1"):
        yield piece(letter.encode(), -steepness * number / 3, NORMAL)
    yield piece(b"z", -1, UNUSED)
    for text, score, kind in (("ab", -2, NORMAL), ("abc", -0.0, UNUSED), ("st", 0.0, NORMAL), ("bc", 1e9, UNUSED)):
        yield piece(text.encode(), score, kind)
    # Almost a tie with two pieces `a`: sums above 100,000 would round the difference away.
    yield piece(b"aa", -2 * steepness / 3 - 0.02, NORMAL)
    # More levels of unused pieces than are divided.
    for count in range(1, MAX_LEVELS + 10):
        yield piece(b"t" + count * b"i", -10.0 - count, UNUSED)
    yield piece("cc".encode(), -2, NORMAL)
    yield piece("cs".encode(), -2, NORMAL)


def hostile_models(folder):
    """Writes the models; (path, shown texts) for each of them."""
    shown = [text for _, text in PIECES]
    for name, model_type, kind, steepness in MODELS:
        pieces = [piece(b"<unk>", 0, UNKNOWN), piece(b"<s>", 0, CONTROL)]
        pieces += [piece(text, -steepness * number, kind) for number, (text, _) in enumerate(PIECES)]
        path = folder / f"hostile_{name}<img src=x onerror=attacked=1>.model"
        path.write_bytes(model(model_type, [*pieces, *letters(steepness)]))
        yield path, shown
