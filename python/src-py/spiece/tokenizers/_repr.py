"""The text of a tokenizer for people, in the form of the package tokenizers."""

from __future__ import annotations

import dataclasses
import json
import struct
from decimal import Decimal
from typing import Any


@dataclasses.dataclass
class Limits:
    """How much of a value is shown."""

    elements: int | None
    string: int | None


REPR = Limits(elements=99, string=None)
STR = Limits(elements=5, string=100)

#: Fields whose texts are names.
_NAMES = {"direction", "strategy", "prepend_scheme", "behavior"}
_CLASSES = {"truncation": "TruncationParams", "padding": "PaddingParams"}


def _number(value: float) -> str:
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _string(value: str, limits: Limits) -> str:
    content = value.encode()
    if limits.string is not None and len(content) > limits.string:
        return f'"{content[: limits.string].decode(errors="replace")}..."'
    return f'"{value}"'


def _joined(parts: list[Any], shown: Any, limits: Limits) -> str:
    """Parts, of which too many are left out."""
    count = len(parts) if limits.elements is None else limits.elements
    texts = [shown(part) for part in parts[:count]]
    return ", ".join(texts + ["..."] * (len(parts) > count))


def _fields(value: dict[str, Any], limits: Limits) -> str:
    shown = (f"{name}={_shown(name, field, limits)}" for name, field in value.items() if name != "type")
    return ", ".join(shown)


def _mapping(value: dict[str, Any], limits: Limits) -> str:
    def entry(item: tuple[str, Any]) -> str:
        return f"{_string(item[0], limits)}:{_shown(item[0], item[1], limits)}"

    return "{" + _joined(list(value.items()), entry, limits) + "}"


def _object(name: str, value: dict[str, Any], limits: Limits) -> str:
    if "type" in value:
        return f"{value['type']}({_fields(value, limits)})"
    if name in _CLASSES:
        return f"{_CLASSES[name]}({_fields(value, limits)})"
    if len(value) == 1:
        ((variant, content),) = value.items()
        if variant == "Sequence":
            return f"Sequence(id={content['id']}, type_id={content['type_id']})"
        if variant == "SpecialToken":
            return f"SpecialToken({_fields(content, limits)})"
        if variant in ("String", "Regex", "Fixed"):
            return f"{variant}({_shown(variant, content, limits)})"
    return _mapping(value, limits)


def _template_token(item: tuple[str, Any], limits: Limits) -> str:
    return f"{_string(item[0], limits)}:SpecialToken({_fields(item[1], limits)})"


def _shown(name: str, value: Any, limits: Limits) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if name == "dropout":
        return _number(struct.unpack("f", struct.pack("f", value))[0])
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, str):
        return value if name in _NAMES else _string(value, limits)
    if isinstance(value, list):
        if name in ("sep", "cls", "pair of a list"):
            return "(" + _joined(value, lambda part: _shown("", part, limits), limits) + ")"
        inner = "pair of a list" if name in ("vocab", "merges") else "element of " + name
        return "[" + _joined(value, lambda part: _shown(inner, part, limits), limits) + "]"
    if name == "special_tokens":
        return "{" + _joined(list(value.items()), lambda item: _template_token(item, limits), limits) + "}"
    if name in ("vocab", "element of added_tokens"):
        return _mapping(value, limits)
    return _object(name, value, limits)


def text_of(file: str, limits: Limits) -> str:
    """The text of a ``tokenizer.json``."""
    return f"Tokenizer({_fields(json.loads(file), limits)})"
