"""Encodings by their names: those of OpenAI, and those of plugins.

A plugin is a module in the namespace package ``tiktoken_ext`` with a ``dict`` ``ENCODING_CONSTRUCTORS``: for each name a
function that returns the arguments of ``Encoding``. A plugin that imports ``tiktoken`` needs ``import spiece.as_tiktoken``
before it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import threading
from collections.abc import Callable, Sequence
from typing import Any

from .core import Encoding

__all__ = ["ENCODINGS", "ENCODING_CONSTRUCTORS", "get_encoding", "list_encoding_names"]

_PUBLIC = f"{__package__}.openai_public"

_lock = threading.RLock()
#: The encodings that were made, by their names.
ENCODINGS: dict[str, Encoding] = {}
#: The functions of all plugins; ``None`` until they are needed.
ENCODING_CONSTRUCTORS: dict[str, Callable[[], dict[str, Any]]] | None = None


@functools.lru_cache
def _available_plugin_modules() -> Sequence[str]:
    """The modules with encodings. Ours stands for that of the package tiktoken, if this is installed, too."""
    try:
        import tiktoken_ext
    except ModuleNotFoundError:
        return [_PUBLIC]
    found = (name for _, name, _ in pkgutil.iter_modules(tiktoken_ext.__path__, "tiktoken_ext."))
    return [_PUBLIC, *(name for name in found if name != "tiktoken_ext.openai_public")]


def _find_constructors() -> None:
    global ENCODING_CONSTRUCTORS
    with _lock:
        if ENCODING_CONSTRUCTORS is not None:
            return
        found: dict[str, Callable[[], dict[str, Any]]] = {}
        for name in _available_plugin_modules():
            module = importlib.import_module(name)
            try:
                constructors = module.ENCODING_CONSTRUCTORS
            except AttributeError as error:
                raise ValueError(f"tiktoken plugin {name} does not define ENCODING_CONSTRUCTORS") from error
            for encoding, constructor in constructors.items():
                if encoding in found:
                    raise ValueError(f"Duplicate encoding name {encoding} in tiktoken plugin {name}")
                found[encoding] = constructor
        # Only now: an error is raised again by the next call.
        ENCODING_CONSTRUCTORS = found


def _constructors() -> dict[str, Callable[[], dict[str, Any]]]:
    _find_constructors()
    assert ENCODING_CONSTRUCTORS is not None
    return ENCODING_CONSTRUCTORS


def get_encoding(encoding_name: str) -> Encoding:
    """The encoding with a name, which is made once."""
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    if encoding_name in ENCODINGS:
        return ENCODINGS[encoding_name]
    with _lock:
        if encoding_name not in ENCODINGS:
            constructors = _constructors()
            if encoding_name not in constructors:
                from . import __version__

                raise ValueError(
                    f"Unknown encoding {encoding_name}.\n"
                    f"Plugins found: {_available_plugin_modules()}\n"
                    f"tiktoken version: {__version__} (are you on latest?)"
                )
            ENCODINGS[encoding_name] = Encoding(**constructors[encoding_name]())
        return ENCODINGS[encoding_name]


def list_encoding_names() -> list[str]:
    """The names of all encodings."""
    with _lock:
        return list(_constructors())
