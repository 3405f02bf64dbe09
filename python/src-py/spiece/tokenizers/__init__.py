"""The drop-in for the package tokenizers 0.23.3: the same calls with the same results.

    from spiece.tokenizers import Tokenizer
    tokenizer = Tokenizer.from_file("tokenizer.json")
    tokenizer.encode("Hello world").ids

Reading a file, encoding, decoding and adding tokens need nothing else. Components as objects (``tokenizer.normalizer``,
``models.BPE()``) and training are those of the installed package tokenizers, which is loaded when they are used.
"""

from enum import Enum
from typing import Any, List, Tuple, Union

from spiece._native import Encoding as Encoding

from . import _installed
from ._tokenizer import Tokenizer as Tokenizer

__version__ = "0.23.3"

Offsets = Tuple[int, int]
TextInputSequence = str
PreTokenizedInputSequence = Union[List[str], Tuple[str]]
TextEncodeInput = Union[TextInputSequence, Tuple[TextInputSequence, TextInputSequence], List[TextInputSequence]]
PreTokenizedEncodeInput = Union[
    PreTokenizedInputSequence,
    Tuple[PreTokenizedInputSequence, PreTokenizedInputSequence],
    List[PreTokenizedInputSequence],
]
InputSequence = Union[TextInputSequence, PreTokenizedInputSequence]
EncodeInput = Union[TextEncodeInput, PreTokenizedEncodeInput]


class OffsetReferential(Enum):
    """What spans refer to."""

    ORIGINAL = "original"
    NORMALIZED = "normalized"


class OffsetType(Enum):
    """What spans count."""

    BYTE = "byte"
    CHAR = "char"


class SplitDelimiterBehavior(Enum):
    """What becomes of what a text is cut at."""

    REMOVED = "removed"
    ISOLATED = "isolated"
    MERGED_WITH_PREVIOUS = "merged_with_previous"
    MERGED_WITH_NEXT = "merged_with_next"
    CONTIGUOUS = "contiguous"


_OF_INSTALLED = ("NormalizedString", "PreTokenizedString", "Regex", "Token")
_IMPLEMENTATIONS = (
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
)

from . import decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402  (they need nothing of the above)


def __getattr__(name: str) -> Any:
    if name == "AddedToken":
        return _installed.added_token_class()
    if name in _OF_INSTALLED:
        return getattr(_installed.package(f"spiece.tokenizers.{name}"), name)
    if name in _IMPLEMENTATIONS:
        from . import implementations

        return getattr(implementations, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted([*globals(), "AddedToken", *_OF_INSTALLED, *_IMPLEMENTATIONS])
