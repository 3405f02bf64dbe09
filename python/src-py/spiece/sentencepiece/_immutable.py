"""Read-only results of encoding and decoding, as the reference's package had them until 0.2.1. They need no protobuf."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar

_Item = TypeVar("_Item")


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a message of protobuf: pairs of a number and a value."""
    at = 0
    value: int | bytes | float
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(message, at)
        elif kind == 2:
            length, at = _varint(message, at)
            value = message[at : at + length]
            at += length
        elif kind == 5:
            (value,) = struct.unpack_from("<f", message, at)
            at += 4
        else:
            raise ValueError(f"a message has a field of the unknown kind {kind}")
        yield key >> 3, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


class _Message:
    __slots__ = ("_message",)

    def __init__(self, message: bytes = b"") -> None:
        self._message = bytes(message)
        self._read()

    def _read(self) -> None:
        raise NotImplementedError

    @classmethod
    def FromString(cls, message: bytes) -> Self:
        """The result that these bytes describe."""
        return cls(message)

    def SerializeAsString(self) -> bytes:
        """The bytes of the message."""
        return self._message

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, _Message) and self._message == other._message

    def __hash__(self) -> int:
        return hash(self._message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._message,))

    def __repr__(self) -> str:
        return str(self)


class ImmutableSentencePieceText_ImmutableSentencePiece(_Message):
    """A piece of a text: ``piece``, ``id``, ``surface``, ``begin`` and ``end``."""

    __slots__ = ("piece_as_bytes", "id", "surface_as_bytes", "begin", "end")

    piece_as_bytes: bytes
    id: int
    surface_as_bytes: bytes
    begin: int
    end: int

    def _read(self) -> None:
        fields = dict(_fields(self._message))
        self.piece_as_bytes = fields.get(1, b"")
        self.id = fields.get(2, 0)
        self.surface_as_bytes = fields.get(3, b"")
        self.begin = fields.get(4, 0)
        self.end = fields.get(5, 0)

    @property
    def piece(self) -> str:
        """The text of the piece."""
        return self.piece_as_bytes.decode("utf-8")

    @property
    def surface(self) -> str:
        """The part of the text that it stands for."""
        return self.surface_as_bytes.decode("utf-8")

    def _in_characters(self, text: bytes) -> Self:
        copy = type(self)(self._message)
        copy.begin = len(text[: self.begin].decode("utf-8", "replace"))
        copy.end = len(text[: self.end].decode("utf-8", "replace"))
        return copy

    def __str__(self) -> str:
        return (
            f'piece: "{self.piece}"\nid: {self.id}\nsurface: "{self.surface}"\n'
            f"begin: {self.begin}\nend: {self.end}\n"
        )


class _Items(Generic[_Item]):
    """A sequence of parts of a result."""

    __slots__ = ("_items", "_name")

    def __init__(self, items: list[_Item], name: str) -> None:
        self._items = items
        self._name = name

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, index: int) -> _Item:
        return self._items[index]

    def __iter__(self) -> Iterator[_Item]:
        return iter(self._items)

    def __str__(self) -> str:
        return "\n".join(f"{self._name} {{\n{item}}}" for item in self._items)

    __repr__ = __str__


class ImmutableSentencePieceText(_Message):
    """A text and its pieces: ``text``, ``pieces`` and ``score``. Positions of pieces are in characters."""

    __slots__ = ("text_as_bytes", "score", "pieces")

    text_as_bytes: bytes
    score: float
    pieces: _Items[ImmutableSentencePieceText_ImmutableSentencePiece]

    def _read(self) -> None:
        self.text_as_bytes = b""
        self.score = 0.0
        pieces = []
        for number, value in _fields(self._message):
            if number == 1:
                self.text_as_bytes = value
            elif number == 2:
                pieces.append(ImmutableSentencePieceText_ImmutableSentencePiece(value))
            elif number == 3:
                self.score = value
        if not self.text_as_bytes.isascii():
            pieces = [piece._in_characters(self.text_as_bytes) for piece in pieces]
        self.pieces = _Items(pieces, "pieces")

    @property
    def text(self) -> str:
        """The text."""
        return self.text_as_bytes.decode("utf-8")

    def __str__(self) -> str:
        return f'text: "{self.text}"\nscore: {self.score}\n{self.pieces}'


class ImmutableNBestSentencePieceText(_Message):
    """The best segmentations of a text: ``nbests``."""

    __slots__ = ("nbests",)

    nbests: _Items[ImmutableSentencePieceText]

    def _read(self) -> None:
        texts = [ImmutableSentencePieceText(value) for number, value in _fields(self._message) if number == 1]
        self.nbests = _Items(texts, "nbests")

    def __str__(self) -> str:
        return str(self.nbests)
