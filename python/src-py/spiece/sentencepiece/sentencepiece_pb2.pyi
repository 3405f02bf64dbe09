"""The messages of ``sentencepiece.proto``: texts and their pieces."""

from collections.abc import Iterable

from google.protobuf.descriptor import FileDescriptor
from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from google.protobuf.message import Message

DESCRIPTOR: FileDescriptor

class SentencePieceText(Message):
    class SentencePiece(Message):
        piece: str
        id: int
        surface: str
        begin: int
        end: int
        def __init__(
            self,
            *,
            piece: str | None = None,
            id: int | None = None,
            surface: str | None = None,
            begin: int | None = None,
            end: int | None = None,
        ) -> None: ...
    text: str
    @property
    def pieces(self) -> RepeatedCompositeFieldContainer[SentencePieceText.SentencePiece]: ...
    score: float
    def __init__(
        self,
        *,
        text: str | None = None,
        pieces: Iterable[SentencePieceText.SentencePiece] | None = None,
        score: float | None = None,
    ) -> None: ...

class NBestSentencePieceText(Message):
    @property
    def nbests(self) -> RepeatedCompositeFieldContainer[SentencePieceText]: ...
    def __init__(
        self,
        *,
        nbests: Iterable[SentencePieceText] | None = None,
    ) -> None: ...
