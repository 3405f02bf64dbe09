"""``Encoding``: a byte-level vocabulary with a pattern and special tokens."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

from . import _tiktoken

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["Encoding", "raise_disallowed_special_token"]

_Allowed = Literal["all"] | AbstractSet[str]
_Disallowed = Literal["all"] | Collection[str]
_Given = TypeVar("_Given")
_Made = TypeVar("_Made")

_NONE: frozenset[str] = frozenset()


class Encoding:
    """Encodes and decodes with a vocabulary of byte strings.

    ``mergeable_ranks`` has the id of each token, which is its rank in merging; ``pat_str`` is the regular expression that
    cuts texts; ``special_tokens`` has the ids of tokens that only calls with ``allowed_special`` give. If
    ``explicit_n_vocab`` is given, the ids have to be those below it.
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        self.name = name
        self._pat_str = pat_str
        self._mergeable_ranks = mergeable_ranks
        self._special_tokens = special_tokens
        self.max_token_value = max(max(mergeable_ranks.values()), max(special_tokens.values(), default=0))
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert self.max_token_value == explicit_n_vocab - 1
        self._special_token_values = set(special_tokens.values())
        self._core_bpe = _tiktoken.CoreBPE(mergeable_ranks, special_tokens, pat_str)

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    # Encoding

    def encode_ordinary(self, text: str) -> list[int]:
        """The ids of a text; what special tokens are spelled like is ordinary text."""
        try:
            return self._core_bpe.encode_ordinary(text)
        except UnicodeEncodeError:
            return self._core_bpe.encode_ordinary(_without_surrogates(text))

    def encode(
        self, text: str, *, allowed_special: _Allowed = _NONE, disallowed_special: _Disallowed = "all"
    ) -> list[int]:
        """The ids of a text.

        ``allowed_special`` names special tokens that are found in the text, or is ``"all"``. A text with one of
        ``disallowed_special`` (``"all"``: all that are not allowed) is a ``ValueError``. All others are ordinary text.
        """
        allowed = self._checked(text, allowed_special, disallowed_special)
        try:
            return self._core_bpe.encode(text, allowed)
        except UnicodeEncodeError:
            return self._core_bpe.encode(_without_surrogates(text), allowed)

    def encode_to_numpy(
        self, text: str, *, allowed_special: _Allowed = _NONE, disallowed_special: _Disallowed = "all"
    ) -> npt.NDArray[np.uint32]:
        """Like :meth:`encode`, as an array of NumPy, which has the memory of the native result."""
        allowed = self._checked(text, allowed_special, disallowed_special)
        import numpy as np

        buffer = memoryview(self._core_bpe.encode_to_tiktoken_buffer(text, allowed))
        return np.frombuffer(buffer, dtype=np.uint32)

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """The ids of each text, as :meth:`encode_ordinary` gives them."""
        return self._encode_batch(text, num_threads, _NONE, False, self.encode_ordinary)

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: _Allowed = _NONE,
        disallowed_special: _Disallowed = "all",
    ) -> list[list[int]]:
        """The ids of each text, as :meth:`encode` gives them."""
        if allowed_special == "all":
            allowed_special = self.special_tokens_set
        others = self.special_tokens_set - allowed_special
        disallowed = others if disallowed_special == "all" else frozenset(disallowed_special)

        def encode(one: str) -> list[int]:
            return self.encode(one, allowed_special=allowed_special, disallowed_special=disallowed)

        if disallowed and disallowed != others:
            return _mapped(encode, text, num_threads)
        return self._encode_batch(text, num_threads, allowed_special, bool(disallowed), encode)

    def _encode_batch(
        self,
        texts: list[str],
        num_threads: int,
        allowed: AbstractSet[str],
        refuses: bool,
        encode: Callable[[str], list[int]],
    ) -> list[list[int]]:
        _check_threads(num_threads)
        texts = list(texts)
        try:
            return self._core_bpe._encode_batch(texts, num_threads, allowed, refuses)
        except (TypeError, ValueError):
            # A text with surrogates, or the error of the first text that has one.
            return [encode(text) for text in texts]

    def encode_with_unstable(
        self, text: str, *, allowed_special: _Allowed = _NONE, disallowed_special: _Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """The ids that are certain although the text can go on, and sequences of ids that can follow them.

        The bytes of the certain ids and a sequence begin with the text. The sequences are in the order of their ids.
        """
        allowed = self._checked(text, allowed_special, disallowed_special)
        return self._core_bpe.encode_with_unstable(text, allowed)

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """The id of a token or special token; ``KeyError`` if there is none with this text."""
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode("utf-8")
        return self._core_bpe.encode_single_token(text_or_bytes)

    def _checked(self, text: str, allowed: _Allowed, disallowed: _Disallowed) -> AbstractSet[str]:
        """The special tokens that are allowed, after the text was searched for those that are not."""
        special = self.special_tokens_set
        if allowed == "all":
            allowed = special
        if disallowed == "all":
            if allowed is special or not special:
                return allowed
            try:
                found = self._core_bpe._find_special(text, allowed)
            except (TypeError, UnicodeEncodeError):
                # A wrong type matters only after the search.
                disallowed = special - allowed
            else:
                if found is not None:
                    raise_disallowed_special_token(found)
                return allowed
        if disallowed:
            match = _any_of(frozenset(disallowed)).search(text)
            if match:
                raise_disallowed_special_token(match.group())
        return allowed

    # Decoding

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of ids; ``KeyError`` for one that no token has."""
        return self._core_bpe.decode_bytes(tokens)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """The text of ids. ``errors`` is that of ``bytes.decode``, for ids whose bytes are not UTF-8."""
        return self._core_bpe.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """The bytes of an id, special or not; ``KeyError`` if no token has it."""
        return self._core_bpe.decode_single_token_bytes(token)

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """The bytes of each id."""
        return [self._core_bpe.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """The text of ids, which has to be UTF-8, and the position in it at which each of them begins.

        An id that begins inside a character begins with this character.
        """
        parts = self.decode_tokens_bytes(tokens)
        offsets = []
        chars = 0
        for part in parts:
            offsets.append(max(0, chars - _continues_char(part[0])))
            chars += sum(not _continues_char(byte) for byte in part)
        return b"".join(parts).decode("utf-8", errors="strict"), offsets

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """The text of each sequence of ids, as :meth:`decode` gives it."""
        return _mapped(functools.partial(self.decode, errors=errors), batch, num_threads)

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """The bytes of each sequence of ids."""
        return _mapped(self.decode_bytes, batch, num_threads)

    # The vocabulary

    def token_byte_values(self) -> list[bytes]:
        """The bytes of all tokens but the special ones, sorted."""
        return self._core_bpe.token_byte_values()

    @property
    def eot_token(self) -> int:
        """The id of ``<|endoftext|>``."""
        return self._special_tokens["<|endoftext|>"]

    @functools.cached_property
    def special_tokens_set(self) -> set[str]:
        """The texts of the special tokens."""
        return set(self._special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Whether an id is that of a special token."""
        assert isinstance(token, int)
        return token in self._special_token_values

    @property
    def n_vocab(self) -> int:
        """One more than the highest id."""
        return self.max_token_value + 1

    # What programs use although it is not public

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        """The ids of a text that is not cut."""
        if isinstance(text_or_bytes, str):
            text_or_bytes = text_or_bytes.encode("utf-8")
        return self._core_bpe.encode_single_piece(text_or_bytes)

    def _encode_only_native_bpe(self, text: str) -> list[int]:
        """The ids of a text that the package ``regex`` cuts."""
        import regex

        pieces = regex.findall(self._pat_str, text)
        return [id for piece in pieces for id in self._core_bpe.encode_single_piece(piece.encode("utf-8"))]

    def _encode_bytes(self, text: bytes) -> list[int]:
        """The ids of bytes that need not be UTF-8."""
        return self._core_bpe._encode_bytes(text)

    def __getstate__(self) -> object:
        from . import registry

        # Encodings with a name are made again by their name.
        if self is registry.ENCODINGS.get(self.name):
            return self.name
        return {
            "name": self.name,
            "pat_str": self._pat_str,
            "mergeable_ranks": self._mergeable_ranks,
            "special_tokens": self._special_tokens,
        }

    def __setstate__(self, value: Any) -> None:
        from . import registry

        if isinstance(value, str):
            self.__dict__ = registry.get_encoding(value).__dict__
        else:
            self.__init__(**value)  # type: ignore[misc]


def raise_disallowed_special_token(token: str) -> NoReturn:
    """The error for a text with a special token that is not allowed, with the words of tiktoken."""
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        f"If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )


@functools.lru_cache(maxsize=128)
def _any_of(texts: frozenset[str]) -> re.Pattern[str]:
    """An expression for each of these texts."""
    return re.compile("|".join(map(re.escape, texts)))


def _without_surrogates(text: str) -> str:
    """The text with characters for pairs of surrogates, and U+FFFD for lone ones."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _continues_char(byte: int) -> bool:
    """Whether a byte is one of a character in UTF-8 but the first one."""
    return 0x80 <= byte < 0xC0


def _check_threads(num_threads: int) -> None:
    # The words are those of the standard library, which tiktoken uses.
    if num_threads <= 0:
        raise ValueError("max_workers must be greater than 0")


def _mapped(function: Callable[[_Given], _Made], items: Sequence[_Given], num_threads: int) -> list[_Made]:
    """The results for all items, on this thread: each call takes less time than the switch to another one."""
    _check_threads(num_threads)
    return [function(item) for item in items]
