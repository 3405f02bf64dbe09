"""``AddedToken`` for programs that run without the package tokenizers."""

from __future__ import annotations

from typing import Any


class AddedToken:
    """A token that is found in texts before the model sees them."""

    def __init__(self, content: str | None = None, **kwargs: bool) -> None:
        self.content = content or ""
        self.special = kwargs.pop("special", False)
        self.single_word = kwargs.pop("single_word", False)
        self.lstrip = kwargs.pop("lstrip", False)
        self.rstrip = kwargs.pop("rstrip", False)
        self._normalized = kwargs.pop("normalized", None)
        for name in kwargs:
            print(f"Ignored unknown kwarg option {name}")

    @property
    def normalized(self) -> bool:
        """Whether it is found in normalized text; unless it was given, if the token is not special."""
        return not self.special if self._normalized is None else self._normalized

    def _fields(self) -> tuple[Any, ...]:
        return (self.content, self.single_word, self.lstrip, self.rstrip, self.normalized, self.special)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddedToken) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self.content)

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        return (
            f'AddedToken("{self.content}", rstrip={self.rstrip}, lstrip={self.lstrip}, single_word={self.single_word}, '
            f"normalized={self.normalized}, special={self.special})"
        )
