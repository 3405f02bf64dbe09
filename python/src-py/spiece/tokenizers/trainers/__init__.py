"""Trainers: the objects of the installed package tokenizers."""

from __future__ import annotations

from typing import Any

from .. import _installed


def __getattr__(name: str) -> Any:
    return _installed.attribute("trainers", name)


def __dir__() -> list[str]:
    return _installed.names("trainers")
