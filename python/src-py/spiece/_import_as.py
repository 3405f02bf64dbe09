"""Makes a package of spiece what ``import`` finds under the name of another one, in this process."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import pathlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds packages and modules, and their submodules, where spiece has them."""

    def __init__(self, name: str, version: str, modules: Mapping[str, str]) -> None:
        self.name = name
        self.version = version
        self.modules = modules

    def _ours(self, name: str) -> str | None:
        """The name that a module has in spiece."""
        for theirs, ours in self.modules.items():
            if name == theirs or name.startswith(theirs + "."):
                return ours + name[len(theirs) :]
        return None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec of one of the modules."""
        ours = self._ours(name)
        if ours is None:
            return None
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
        """The distribution: some packages ask ``importlib.metadata`` for its version."""
        if context.name == self.name:
            yield _Distribution(self.name, self.version, self.modules[self.name])

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module of spiece itself, so that both names have the same classes."""
        ours = self._ours(spec.name)
        assert ours is not None, spec.name
        return importlib.import_module(ours)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: the module was executed under its own name."""


class _Distribution(importlib.metadata.Distribution):
    """The metadata of the release whose interface a package of spiece has."""

    def __init__(self, name: str, version: str, ours: str) -> None:
        self._text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        self._ours = ours

    def read_text(self, filename: str) -> str | None:
        """The content of a file of the metadata."""
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        """Where a file of the distribution would be."""
        file = importlib.import_module(self._ours).__file__
        assert file is not None, self._ours
        return pathlib.Path(file).parent / path


def register(name: str, version: str, modules: Mapping[str, str]) -> None:
    """From now on, ``import`` finds the modules of spiece, by the names under which others look for them.

    ``modules`` has the names in spiece by those of others; ``name`` is one of the latter and a distribution with this
    version.
    """
    finder = _Finder(name, version, modules)
    sys.meta_path.insert(0, finder)
    for theirs in modules:
        for loaded in [loaded for loaded in sys.modules if loaded == theirs or loaded.startswith(theirs + ".")]:
            del sys.modules[loaded]
    for theirs, ours in modules.items():
        module = importlib.import_module(ours)
        # The spec is that of the other package: find_spec() returns it for modules that are imported already.
        module.__spec__ = finder.find_spec(theirs)
        sys.modules[theirs] = module
        # Pickles name the module of a class. Under this name, programs that have the other package read them as well.
        for part in [loaded for loaded in sys.modules if loaded == ours or loaded.startswith(ours + ".")]:
            for value in list(vars(sys.modules[part]).values()):
                if getattr(value, "__module__", None) == part:
                    value.__module__ = theirs + part[len(ours) :]
