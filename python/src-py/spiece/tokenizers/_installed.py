"""The installed package tokenizers, whose components are used as objects."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

#: The name of the package in a process in which its own name stands for the drop-in.
_OTHER_NAME = "spiece.tokenizers._package"

_loaded: ModuleType | None = None


def _load() -> ModuleType | None:
    global _loaded
    known = sys.modules.get("tokenizers")
    if known is None or known is not sys.modules.get("spiece.tokenizers"):
        try:
            return importlib.import_module("tokenizers")
        except ImportError:
            return None
    found = importlib.machinery.PathFinder.find_spec("tokenizers")
    if found is None or found.origin is None:
        return None
    folders = found.submodule_search_locations
    spec = importlib.util.spec_from_file_location(_OTHER_NAME, found.origin, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        return None
    # While it is loaded, its modules ask the drop-in for classes of the package.
    _loaded = sys.modules[_OTHER_NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(_loaded)
    return _loaded


def package_or_none() -> ModuleType | None:
    """The package; None if it is not installed."""
    global _loaded
    if _loaded is None:
        _loaded = _load()
    return _loaded


def package(what: str) -> ModuleType:
    """The package, for what needs it."""
    found = package_or_none()
    if found is None:
        raise ImportError(
            f"{what} is an object of the package tokenizers, which is not installed; pip install tokenizers. Reading a "
            "tokenizer.json, encoding and decoding do not need it"
        )
    return found


def added_token_class() -> Any:
    """The class of added tokens: that of the package, which trainers need, or one of our own."""
    found = package_or_none()
    if found is not None:
        return found.AddedToken
    from ._added_token import AddedToken

    return AddedToken


def attribute(module: str, name: str) -> Any:
    """A class or function of one of the modules of the package."""
    missing = f"module 'spiece.tokenizers.{module}' has no attribute {name!r}"
    if name.startswith("__"):
        raise AttributeError(missing)
    found = package(f"spiece.tokenizers.{module}.{name}")
    try:
        return getattr(importlib.import_module(f"{found.__name__}.{module}"), name)
    except AttributeError:
        raise AttributeError(missing) from None


def names(module: str) -> list[str]:
    """The names in one of the modules of the package."""
    found = package_or_none()
    return dir(importlib.import_module(f"{found.__name__}.{module}")) if found is not None else []
