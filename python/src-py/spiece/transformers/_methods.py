"""The methods of ``tokenizers.Tokenizer`` while spiece runs them."""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

from spiece._native import Encoding
from spiece.tokenizers import Tokenizer

from ._twin import Twin

#: What a tokenizer keeps its twin under, in its dict; its pickles and copies have none.
_TWIN = "_spiece_twin"

#: Methods that spiece runs.
_RUN = ("encode", "encode_batch", "encode_batch_fast", "decode", "decode_batch", "post_process")
#: Methods after which the tokens or the components are others.
_CHANGE = ("add_tokens", "add_special_tokens", "train", "train_from_iterator", "__setstate__")
#: Methods after which the settings of calls are others.
_SET = ("enable_truncation", "no_truncation", "enable_padding", "no_padding")
_COMPONENTS = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")

#: What was replaced: the object, the name and the value.
_replaced: list[tuple[Any, str, Any]] = []
_twins: weakref.WeakSet[Twin] = weakref.WeakSet()


def are_replaced() -> bool:
    """Whether spiece runs the methods."""
    return bool(_replaced)


def _put(owner: Any, name: str, value: Any) -> None:
    _replaced.append((owner, name, vars(owner)[name]))
    setattr(owner, name, value)


def replace() -> None:
    """Lets spiece run the methods."""
    try:
        import tokenizers
        import transformers
        import transformers.tokenization_utils_base as base
    except ImportError as error:
        raise ImportError(f"spiece.transformers needs transformers and tokenizers: {error}; pip install transformers") from error
    original = tokenizers.Tokenizer
    if original is Tokenizer:
        # After `import spiece.as_tokenizers`, transformers has the drop-in itself.
        return
    Twin.told.clear()
    Twin.encode_of_package = original.encode
    for name in _RUN:
        _put(original, name, _run(name, vars(original)[name], vars(original)["encode_special_tokens"]))
    for name in _CHANGE:
        _put(original, name, _after(vars(original)[name], Twin.change))
    for name in _SET:
        _put(original, name, _after(vars(original)[name], Twin.change_settings))
    for name in _COMPONENTS:
        _put(original, name, _component(name, vars(original)[name]))
    _put(original, "encode_special_tokens", _setting(vars(original)["encode_special_tokens"]))
    for module in (tokenizers.normalizers, tokenizers.pre_tokenizers, tokenizers.processors, tokenizers.decoders):
        if "__getitem__" in vars(module.Sequence):
            _put(module.Sequence, "__getitem__", _member(vars(module.Sequence)["__getitem__"]))
    # Functions of the package that take encodings take those of spiece.
    _put(tokenizers.Encoding, "merge", staticmethod(_converted(tokenizers.Encoding.merge)))
    post_processor = tokenizers.processors.PostProcessor
    _put(post_processor, "process", _converted(vars(post_processor)["process"]))
    # transformers asks whether it was given one encoding or a list.
    _put(base, "EncodingFast", (tokenizers.Encoding, Encoding))
    # The method that all calls of a tokenizer go through, of 4.57 or of 5.24.
    fast = transformers.PreTrainedTokenizerFast
    name = "_batch_encode_plus" if "_batch_encode_plus" in vars(fast) else "_encode_plus"
    _put(fast, name, _without_collector(vars(fast)[name]))


def restore() -> None:
    """Lets the package run the methods."""
    while _replaced:
        owner, name, value = _replaced.pop()
        setattr(owner, name, value)
    for twin in list(_twins):
        twin.forget()


def _twin_of(original: Any) -> Twin:
    found: Twin | None = original.__dict__.get(_TWIN)
    if found is None:
        found = original.__dict__[_TWIN] = Twin()
        _twins.add(found)
    return found


def _run(name: str, method: Any, encodes_special: Any) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
        # A program may have kept the method beyond `disable`.
        twin = _twin_of(self)
        copy = twin.current(self, encodes_special.__get__(self)) if _replaced else None
        if copy is not None and (twin.decodes or not name.startswith("decode")):
            try:
                return getattr(copy, name)(*arguments, **keywords)
            except Exception:  # noqa: S110  (the package raises its own exception)
                pass
        if name == "post_process":
            return _converted(method)(self, *arguments, **keywords)
        return method(self, *arguments, **keywords)

    return run


def _without_collector(method: Any) -> Callable[..., Any]:
    # A large batch has a list for each column of each text. The collector traverses all of them repeatedly, which takes half
    # of the time of the call, and none of them is in a cycle.
    @functools.wraps(method)
    def run(*arguments: Any, **keywords: Any) -> Any:
        if not gc.isenabled():
            return method(*arguments, **keywords)
        gc.disable()
        try:
            return method(*arguments, **keywords)
        finally:
            gc.enable()

    return run


def _after(method: Any, tell: Callable[[Twin], None]) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Any, *arguments: Any, **keywords: Any) -> Any:
        try:
            return method(self, *arguments, **keywords)
        finally:
            tell(_twin_of(self))

    return run


def _component(name: str, of_package: Any) -> property:
    def get(self: Any) -> Any:
        twin = _twin_of(self)
        component = twin.lent(name)
        if component is None:
            component = of_package.__get__(self)
            twin.lend(name, component)
        return component

    def replace_component(self: Any, component: Any) -> None:
        of_package.__set__(self, component)
        twin = _twin_of(self)
        twin.change()
        # The original shares the state of this object from now on.
        twin.lend(name, component)

    return property(get, replace_component, doc=of_package.__doc__)


def _setting(of_package: Any) -> property:
    def replace_setting(self: Any, value: Any) -> None:
        of_package.__set__(self, value)
        _twin_of(self).change_settings()

    return property(of_package.__get__, replace_setting, doc=of_package.__doc__)


def _member(method: Any) -> Callable[[Any, int], Any]:
    def get(self: Any, number: int) -> Any:
        Twin.members_are_held = True
        return method(self, number)

    return get


def _converted(function: Any) -> Callable[..., Any]:
    """A function of the package that takes its own encodings, and those of spiece, in lists as well."""

    def converted(value: Any) -> Any:
        if isinstance(value, list):
            return [converted(item) for item in value]
        if not isinstance(value, Encoding):
            return value
        encoding = sys.modules["tokenizers"].Encoding()
        encoding.__setstate__(value.__getstate__())
        return encoding

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        return function(*map(converted, arguments), **{name: converted(value) for name, value in keywords.items()})

    return call
