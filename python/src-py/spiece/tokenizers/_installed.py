"""The installed package tokenizers, whose components are used as objects."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from types import ModuleType
from typing import Any

_loaded: ModuleType | None = None


def _is_ours(module: ModuleType) -> bool:
    """Whether a module that is known as ``tokenizers`` is the drop-in."""
    return module is sys.modules.get("spiece.tokenizers")


def folder() -> str | None:
    """The folder of the installed package."""
    spec = importlib.machinery.PathFinder.find_spec("tokenizers")
    places = spec.submodule_search_locations if spec else None
    return next(iter(places), None) if places else None


def _load() -> ModuleType | None:
    known = sys.modules.get("tokenizers")
    if known is None or not _is_ours(known):
        try:
            return importlib.import_module("tokenizers")
        except ImportError:
            return None
    # The name stands for the drop-in in this process: the native module alone is loaded, which needs no other.
    place = folder()
    if place is None:
        return None
    spec = importlib.machinery.PathFinder.find_spec("tokenizers.tokenizers", [place])
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package_or_none() -> ModuleType | None:
    """The package, or its native module, which has the same classes; None if it is not installed."""
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
    """A class of one of the modules of the package."""
    if name.startswith("__"):
        raise AttributeError(f"module 'spiece.tokenizers.{module}' has no attribute {name!r}")
    classes = getattr(package(f"spiece.tokenizers.{module}.{name}"), module)
    try:
        return getattr(classes, name)
    except AttributeError:
        raise AttributeError(f"module 'spiece.tokenizers.{module}' has no attribute {name!r}") from None
