"""Runs the fast tokenizers of transformers on spiece, with the same results.

    import spiece.transformers
    spiece.transformers.enable()
    tokenizer = transformers.AutoTokenizer.from_pretrained("model")
    tokenizer(["Hello world"])

A fast tokenizer of transformers calls an object of ``tokenizers.Tokenizer``. ``enable`` changes the methods of this class that
encode and decode: they call spiece. The object stays what it is and keeps its place, so pickles, files, components and classes
are those of before, and ``disable`` leaves nothing behind. What spiece refuses stays with tokenizers, and a warning says why.
"""

from __future__ import annotations

from typing import Any, Literal

from spiece.tokenizers import Tokenizer

from . import _methods, _twin

__all__ = ["Enabled", "disable", "enable", "is_enabled", "refusal", "to_spiece"]


class Enabled:
    """What :func:`enable` gives: a context, at whose end everything is as it was at its begin."""

    def __init__(self, was_enabled: bool) -> None:
        self._was_enabled = was_enabled

    def __enter__(self) -> Enabled:
        return self

    def __exit__(self, *exception: object) -> Literal[False]:
        if not self._was_enabled:
            disable()
        return False


def enable() -> Enabled:
    """From now on, each ``tokenizers.Tokenizer`` of this process encodes and decodes with spiece, whenever it was loaded."""
    was_enabled = _methods.are_replaced()
    if not was_enabled:
        _methods.replace()
    return Enabled(was_enabled)


def disable() -> None:
    """Everything is as before :func:`enable`."""
    _methods.restore()


def is_enabled() -> bool:
    """Whether tokenizers run on spiece."""
    return _methods.are_replaced()


def refusal(tokenizer: Any) -> str | None:
    """Why spiece cannot run a fast tokenizer, or ``None`` if it can."""
    try:
        to_spiece(tokenizer)
    except _twin.Refused as refused:
        return str(refused)
    return None


def to_spiece(tokenizer: Any) -> Tokenizer:
    """A copy of a fast tokenizer in spiece, for what transformers has no call for, such as ``encode_ragged``."""
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "to_str"):
        raise TypeError(
            f"tokenizer: {type(tokenizer).__name__} is no fast tokenizer of transformers; "
            "AutoTokenizer.from_pretrained(..., use_fast=True) gives one where there is one"
        )
    return _twin.copy_of(backend, backend.encode_special_tokens)
