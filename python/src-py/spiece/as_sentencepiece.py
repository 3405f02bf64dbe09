"""Makes ``spiece.sentencepiece`` what ``import sentencepiece`` finds in this process.

    import spiece.as_sentencepiece
    import sentencepiece  # is spiece.sentencepiece

Other packages that look for it with ``importlib.util.find_spec("sentencepiece")`` or
``importlib.metadata.version("sentencepiece")`` find it too. Import this module before
them. It replaces an installed ``sentencepiece`` for this process only.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import spiece.sentencepiece as _module

_NAME = "sentencepiece"
_OURS = "spiece.sentencepiece"


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``sentencepiece`` and its submodules where ``spiece.sentencepiece`` has them."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of ``sentencepiece`` or of one of its submodules."""
        if name != _NAME and not name.startswith(_NAME + "."):
            return None
        ours = _OURS + name[len(_NAME) :]
        try:
            found = importlib.util.find_spec(ours)
        except ModuleNotFoundError:
            return None
        if found is None:
            return None
        folders = found.submodule_search_locations
        spec = importlib.machinery.ModuleSpec(name, self, origin=found.origin, is_package=folders is not None)
        if folders is not None:
            spec.submodule_search_locations = list(folders)
        return spec

    def find_distributions(self, context: Any) -> Iterator[importlib.metadata.Distribution]:
        """The distribution ``sentencepiece``: some packages ask ``importlib.metadata`` for its version."""
        if context.name == _NAME:
            yield _distribution()

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module of spiece itself, so that both names have the same classes."""
        return importlib.import_module(_OURS + spec.name[len(_NAME) :])

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module was executed under its own name."""


def _distribution() -> importlib.metadata.Distribution:
    class Distribution(importlib.metadata.Distribution):
        """The metadata of the release whose interface this is."""

        def read_text(self, filename: str) -> str | None:
            if filename != "METADATA":
                return None
            return f"Metadata-Version: 2.1\nName: {_NAME}\nVersion: {_module.__version__}\n"

        def locate_file(self, path: Any) -> Any:
            import pathlib

            return pathlib.Path(_module.__file__).parent / path

    return Distribution()


def _register() -> None:
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    for name in [name for name in sys.modules if name == _NAME or name.startswith(_NAME + ".")]:
        del sys.modules[name]
    # The spec is that of sentencepiece: find_spec() returns it for modules that are imported already.
    _module.__spec__ = finder.find_spec(_NAME)  # type: ignore[assignment]
    sys.modules[_NAME] = _module
    # Pickles name the module of a class. Under this name, programs that have the reference read them as well.
    for value in list(vars(_module).values()):
        if getattr(value, "__module__", None) == _OURS:
            value.__module__ = _NAME


_register()
