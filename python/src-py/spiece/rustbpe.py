"""The interface of the package ``rustbpe`` 0.1.0: trains byte-level BPE.

>>> from spiece import rustbpe
>>> tokenizer = rustbpe.Tokenizer()
>>> tokenizer.train_from_iterator(["low lower", "lowest low"], vocab_size=259)
>>> tokenizer.get_mergeable_ranks()[256:]
[(b'lo', 256), (b'low', 257), (b' low', 258)]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from . import _native

__all__ = ["Tokenizer"]

#: The pattern of GPT-4, as rustbpe has it.
_PATTERN = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"


class Tokenizer:
    """Byte-level BPE that is trained on texts. The tokens are those of rustbpe: ids and ranks are equal.

    The bytes are the tokens 0 to 255; merges follow in the order in which they are learned.
    """

    def __init__(self) -> None:
        self._pattern = ""
        self._tokenizer: _native.Tokenizer | None = None

    def train_from_iterator(
        self, iterator: Iterable[str], vocab_size: int, buffer_size: int = 8192, pattern: str | None = None
    ) -> None:
        """Learns tokens of the texts of an iterable, until there are ``vocab_size``.

        ``pattern`` cuts the texts; the default is that of GPT-4. Other threads run meanwhile, and Ctrl-C stops training.
        ``buffer_size`` is not used: memory grows with the distinct words.
        """
        pattern = _PATTERN if pattern is None else pattern
        self._tokenizer = _native._train_rustbpe(map(_encoded, iterator), vocab_size, pattern)
        self._pattern = pattern

    def get_pattern(self) -> str:
        """The pattern of the training; empty before it."""
        return self._pattern

    def get_mergeable_ranks(self) -> list[tuple[bytes, int]]:
        """The bytes and the id of each token, in the order of the ids; with these ``spiece.tiktoken`` makes an encoding."""
        tokenizer = self._tokenizer
        return [(bytes([id]) if tokenizer is None else tokenizer.id_to_bytes(id), id) for id in range(self.vocab_size)]

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return 256 if self._tokenizer is None else self._tokenizer.vocab_size

    def encode(self, text: str) -> list[int]:
        """The ids of a text; none before the training."""
        return self.batch_encode([text])[0]

    def batch_encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, made on all cores."""
        for text in texts:
            _check(text, "argument 'texts': ")
        return [[] for _ in texts] if self._tokenizer is None else self._tokenizer.encode_batch(texts)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ids; ``ValueError`` for an id that no token has, and if the bytes are not UTF-8."""
        for id in ids:
            if id >= self.vocab_size:
                raise ValueError(f"Unknown token id: {id}")
        data = bytes(ids) if self._tokenizer is None else self._tokenizer.decode_bytes(ids)
        return data.decode("utf-8")


def _check(text: object, place: str = "") -> None:
    if not isinstance(text, str):
        raise TypeError(f"{place}{type(text).__name__!r} object cannot be cast as 'str'")


def _encoded(text: str) -> bytes:
    """The bytes of a text of the training; ``UnicodeEncodeError`` for half a surrogate pair."""
    _check(text)
    return text.encode()
