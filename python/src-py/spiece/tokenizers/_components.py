"""Components as objects of the installed package tokenizers.

A program that takes a component may change it, and the tokenizer has to follow, as that of the package does, whose objects
share their state. So a component that was handed out is kept with its JSON, and before each call its JSON is compared; a
component that nobody else holds any more cannot change, and is forgotten.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from . import _installed

if TYPE_CHECKING:
    from ._tokenizer import Tokenizer

#: The modules and base classes of components.
_CLASSES = {
    "normalizer": ("normalizers", "Normalizer"),
    "pre_tokenizer": ("pre_tokenizers", "PreTokenizer"),
    "post_processor": ("processors", "PostProcessor"),
    "decoder": ("decoders", "Decoder"),
    "model": ("models", "Model"),
}
_NO_MODEL = (
    '{"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,'
    '"fuse_unk":false,"byte_fallback":false,"ignore_merges":false,"vocab":{},"merges":[]}'
)
#: What can be changed of a model. Its vocabulary cannot, and takes too long to compare.
_MODEL_FIELDS = (
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "max_input_chars_per_word",
)


def file_of(model: str = _NO_MODEL, **components: str) -> str:
    """A ``tokenizer.json`` with these components."""
    parts = "".join(f'"{name}":{components.get(name, "null")},' for name in _CLASSES if name != "model")
    return f'{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],{parts}"model":{model}}}'


def json_of(name: str, component: Any) -> str:
    """The JSON of an object of the package."""
    module, base = _CLASSES[name]
    package = _installed.package(f"spiece.tokenizers.{module}.{base}")
    if not isinstance(component, getattr(getattr(package, module), base)):
        raise TypeError(f"argument '{name}': '{type(component).__name__}' object cannot be cast as '{base}'")
    state: bytes = component.__getstate__()
    return state.decode()


def object_of(name: str, json: str) -> Any:
    """The object of the package with this JSON."""
    package = _installed.package(f"spiece.tokenizers.Tokenizer.{name}")
    return getattr(package.Tokenizer.from_str(file_of(**{name: json})), name)


def _mark(name: str, component: Any) -> Any:
    """A value that differs if a component was changed."""
    if name == "model":
        return [getattr(component, field, None) for field in _MODEL_FIELDS]
    return component.__getstate__()


class Lent:
    """The components of a tokenizer that its program may hold."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._objects: dict[str, list[Any]] = {}

    def get(self, name: str) -> Any:
        """An object that is kept, or None."""
        kept = self._objects.get(name)
        return kept[0] if kept else None

    def keep(self, name: str, component: Any) -> None:
        """Keeps an object, or forgets the one before."""
        if component is None:
            self._objects.pop(name, None)
        else:
            self._objects[name] = [component, _mark(name, component)]

    def refresh(self) -> bool:
        """Gives the tokenizer what was changed; whether anything can still be changed."""
        for name, kept in list(self._objects.items()):
            # One reference is that of the list, and one that of the call.
            is_last = sys.getrefcount(kept[0]) <= 2
            mark = _mark(name, kept[0])
            if mark != kept[1]:
                kept[1] = mark
                self._tokenizer._take(name, json_of(name, kept[0]))
            if is_last:
                del self._objects[name]
        return bool(self._objects)
