"""The twin of a tokenizer of the package tokenizers: the same tokenizer in spiece, which is made when it is first needed and
follows the changes of the original.

A program that takes a component of the original may change it later, without a call of the original. So a component that was
handed out is kept and compared before each call. One that nobody else holds cannot change any more, and is forgotten; except
sequences, once the program has taken a member of any of them, which it may hold.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from typing import Any

from spiece.tokenizers import Tokenizer
from spiece.tokenizers._components import _mark

#: The references to a component that nobody else holds: that of `_Lent`, and that of the call.
_OWN_REFERENCES = 2


class Refused(Exception):
    """A tokenizer that spiece cannot run."""


class _Lent:
    """A component that the program may hold, and what it was when the twin was made."""

    def __init__(self, component: Any) -> None:
        self.component = component
        self.mark: Any = None

    def can_change(self) -> bool:
        is_held = sys.getrefcount(self.component) > _OWN_REFERENCES
        return is_held or (Twin.members_are_held and hasattr(self.component, "__getitem__"))


def copy_of(original: Any, encodes_special: bool) -> Tokenizer:
    """A tokenizer of spiece that is equal to one of the package."""
    try:
        # A component in Python has no JSON.
        copy = Tokenizer.from_str(original.to_str())
    except Exception as error:
        raise Refused(str(error)) from error
    # This setting is not in the file.
    copy.encode_special_tokens = encodes_special
    return copy


class Twin:
    """See the page of the module. It has no lock: two threads that need a twin at once may make two, which are equal."""

    #: ``Tokenizer.encode`` of the package.
    encode_of_package: Callable[..., Any]
    #: The reasons that were told; a reason is told once.
    told: set[str] = set()
    #: Whether the program may hold a member of a sequence of components.
    members_are_held = False

    def __init__(self) -> None:
        self._copy: Tokenizer | None = None
        #: Whether the copy gives the texts of ids that the original gives.
        self.decodes = False
        self._is_refused = False
        self._has_old_settings = False
        self._changes = 0
        self._lent: dict[str, _Lent] = {}

    def current(self, original: Any, encodes_special: bool) -> Tokenizer | None:
        """The tokenizer of spiece as the original is now; None if spiece cannot run it."""
        if self._lent and self._lent_was_changed():
            self.change()
        if self._copy is None and not self._is_refused:
            self._make(original, encodes_special)
        elif self._has_old_settings and self._copy is not None:
            self._has_old_settings = False
            try:
                self._copy_settings(self._copy, original, encodes_special)
            except Exception:
                # The package took the setting when it had another template.
                self._has_old_settings = True
                return None
        return self._copy

    def change(self) -> None:
        """Called when the original has other tokens or components."""
        self._changes += 1
        self._copy = None
        self._is_refused = False

    def change_settings(self) -> None:
        """Called when the original has another truncation or padding, or finds special tokens or not."""
        self._has_old_settings = True

    def lent(self, name: str) -> Any:
        """The component that is kept, or None."""
        lent = self._lent.get(name)
        return None if lent is None else lent.component

    def lend(self, name: str, component: Any) -> None:
        """Keeps a component that the program has now."""
        if component is None:
            self._lent.pop(name, None)
            return
        self._lent[name] = lent = _Lent(component)
        if self._copy is not None:
            self._set_mark(name, lent)

    def forget(self) -> None:
        """Gives back the memory, when tokenizers run on the package again."""
        self.change()
        self._lent.clear()

    def _make(self, original: Any, encodes_special: bool) -> None:
        changes = self._changes
        # A setting that changes from here on is copied by the next call.
        self._has_old_settings = False
        for name, lent in list(self._lent.items()):
            self._set_mark(name, lent)
        try:
            copy = copy_of(original, encodes_special)
            _require_equal_tokens(copy, original)
        except Refused as refused:
            self._is_refused = True
            _tell(str(refused))
            return
        if changes == self._changes:
            self.decodes = _has_equal_texts(copy, original)
            self._copy = copy

    def _copy_settings(self, copy: Tokenizer, original: Any, encodes_special: bool) -> None:
        truncation, padding = original.truncation, original.padding
        if truncation is None:
            copy.no_truncation()
        else:
            copy.enable_truncation(**truncation)
        if padding is None:
            copy.no_padding()
        else:
            copy.enable_padding(**padding)
        copy.encode_special_tokens = encodes_special

    def _set_mark(self, name: str, lent: _Lent) -> None:
        try:
            lent.mark = _mark(name, lent.component)
        except Exception:
            # A component in Python has no JSON, and spiece refuses it.
            lent.mark = None

    def _lent_was_changed(self) -> bool:
        was_changed = False
        for name, lent in list(self._lent.items()):
            before = lent.mark
            can_change = lent.can_change()
            self._set_mark(name, lent)
            was_changed |= self._copy is not None and lent.mark != before
            if not can_change:
                self._lent.pop(name, None)
        return was_changed


def _require_equal_tokens(copy: Tokenizer, original: Any) -> None:
    # What tokenizers 0.22 finds is not always what its tokenizer.json says: an added token stays as the normalizer of then
    # made it, when another one is set.
    for token in copy.get_added_tokens_decoder().values():
        text = token.content
        if token.normalized and _ids(copy.encode, text) != _ids(Twin.encode_of_package, original, text):
            raise Refused(f"the added token {text!r} does not follow the normalizer; it does from tokenizers 0.23 on")


def _ids(encode: Callable[..., Any], *arguments: Any) -> list[int] | None:
    try:
        ids: list[int] = encode(*arguments).ids
        return ids
    except Exception:
        return None


def _has_equal_texts(copy: Tokenizer, original: Any) -> bool:
    # An added token that is found in normalized text is decoded to its own text by tokenizers 0.22, and to the normalized
    # one by 0.23 and spiece.
    for id in copy.get_added_tokens_decoder():
        ours, theirs = copy.id_to_token(id), original.id_to_token(id)
        if ours != theirs:
            _tell(f"decoding: the added token {id} is {theirs!r}, and {ours!r} from tokenizers 0.23 on")
            return False
    return True


def _tell(reason: str) -> None:
    if reason not in Twin.told:
        Twin.told.add(reason)
        warnings.warn(f"spiece.transformers: a tokenizer stays with the package tokenizers: {reason}", stacklevel=5)
