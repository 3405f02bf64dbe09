"""The classes of the installed package tokenizers that put whole tokenizers together.

They take their parts from what ``import tokenizers`` finds: after ``import spiece.as_tokenizers`` the drop-in.
"""

from __future__ import annotations

from typing import Any

from .. import _installed


def __getattr__(name: str) -> Any:
    return _installed.attribute("implementations", name)


def __dir__() -> list[str]:
    return _installed.names("implementations")
