"""Exceptions of spiece.

Each derives from the built-in exceptions that the releases of the reference's package raise for the same problem, so
that code written for any of them catches it.
"""

from __future__ import annotations

from typing import Any


class SpieceError(Exception):
    """Every error of spiece but wrong types of arguments."""


class ModelError(SpieceError, RuntimeError):
    """A model is refused, or cannot do what was asked for."""


class FileError(OSError, ModelError):
    """A file cannot be read or written: an ``OSError`` with ``errno``, ``strerror`` and ``filename``.

    Where Python has a class for the error, the exception is of this class too: of ``FileNotFoundError``,
    ``PermissionError``, ``IsADirectoryError`` or ``NotADirectoryError``. For the content of a compressed file that is
    damaged, ``errno`` is ``None``.
    """


class MissingFileError(FileError, FileNotFoundError):
    """A file or its folder does not exist."""


class FilePermissionError(FileError, PermissionError):
    """A file may not be read or written."""


class FileIsADirectoryError(FileError, IsADirectoryError):
    """A file is needed, and a folder has this name."""


class FileNotADirectoryError(FileError, NotADirectoryError):
    """A file has the name of a folder on the way to the file."""


_OF_BUILTIN: dict[type[OSError], type[FileError]] = {
    FileNotFoundError: MissingFileError,
    PermissionError: FilePermissionError,
    IsADirectoryError: FileIsADirectoryError,
    NotADirectoryError: FileNotADirectoryError,
}


def file_error(*arguments: Any) -> FileError:
    """The error with these arguments of ``OSError``, which determine its class."""
    return _OF_BUILTIN.get(type(OSError(*arguments)), FileError)(*arguments)


class IdError(SpieceError, IndexError):
    """The model has no piece with an id."""


class EncodeError(SpieceError, RuntimeError):
    """A text cannot be encoded as wanted: n-best lists and sampling depend on the type of the model."""


class OptionValueError(EncodeError, ValueError):
    """The value of an option cannot be used, or asks for a piece that the model does not have."""


class TrainingError(SpieceError, RuntimeError):
    """A model cannot be trained."""


class TrainingOptionError(TrainingError, ValueError):
    """An option of training cannot be used."""


def unknown_option(name: str, known: list[str]) -> TrainingOptionError:
    """The error for a name that no option of training has."""
    import difflib

    similar = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {similar[0]}? " if similar else ""
    return TrainingOptionError(f"there is no option {name}; {hint}Trainer.options() lists all options")
