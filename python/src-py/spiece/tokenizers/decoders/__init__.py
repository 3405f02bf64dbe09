"""Decoders: the objects of the installed package tokenizers, and ``DecodeStream``, which needs no package."""

from __future__ import annotations

from typing import Any

from spiece._native import DecodeStreamOfTokenizers as DecodeStream

from .. import _installed


def __getattr__(name: str) -> Any:
    return _installed.attribute("decoders", name)


def __dir__() -> list[str]:
    return sorted({"DecodeStream", *_installed.names("decoders")})
