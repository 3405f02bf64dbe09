"""Differences that are known and not yet removed.

Job: keep a run useful as a gate while a known difference exists.
Input: a case and a difference. Output: the name of the known difference that explains it, or None.

Each entry is as narrow as possible and concerns pieces that are not UTF-8, which no trainer writes. Known
differences are counted and printed, but do not fail a run; with --strict they do. Remove an entry when the program
is changed.
"""

import struct

from . import wire
from .kinds.base import MODEL

DECODED_PIECE = "decode: bytes of a given piece that are not UTF-8 become U+FFFD, one for each byte"
NBEST_PIECE = "n-best: the text of a piece that ends inside a character does not extend to the whole character"


def is_malformed(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return True
    return False


def with_replacements(data):
    """`data` with U+FFFD for each byte that is not part of a character."""
    text = data.decode("utf-8", "surrogateescape")
    return "".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text).encode()


def _malformed_pieces(case, kind):
    try:
        pieces = wire.ModelParts(case.files[MODEL]).pieces
    except (KeyError, wire.WireError, struct.error, TypeError):
        return []
    return [piece.text for piece in pieces if piece.kind == kind and is_malformed(piece.text)]


def explain(case, difference):
    """The known difference that this one is an instance of."""
    if difference.known:
        return difference.known
    if difference.line is None:
        return None
    if difference.category == "n-best" and _malformed_pieces(case, wire.NORMAL):
        return NBEST_PIECE
    return None
