"""The classes of the installed package tokenizers that put whole tokenizers together.

They take their parts from what ``import tokenizers`` finds: after ``import spiece.as_tokenizers`` the drop-in.
"""

from __future__ import annotations

import pathlib
from typing import Any

from .. import _installed

_folder = _installed.folder()
if _folder is not None:
    __path__ = [str(pathlib.Path(_folder) / "implementations")]

_CLASSES = {
    "BaseTokenizer": "base_tokenizer",
    "BertWordPieceTokenizer": "bert_wordpiece",
    "ByteLevelBPETokenizer": "byte_level_bpe",
    "CharBPETokenizer": "char_level_bpe",
    "SentencePieceBPETokenizer": "sentencepiece_bpe",
    "SentencePieceUnigramTokenizer": "sentencepiece_unigram",
}


def __getattr__(name: str) -> Any:
    if name not in _CLASSES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    _installed.package(f"spiece.tokenizers.{name}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_CLASSES[name]}"), name)
