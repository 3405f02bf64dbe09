"""Exceptions of spiece.

Each derives from the built-in exceptions that the releases of the reference's package raise for the same problem, so
that code written for any of them catches it.
"""


class SpieceError(Exception):
    """Every error of spiece but wrong types of arguments."""


class ModelError(SpieceError, RuntimeError):
    """A model is refused, or cannot do what was asked for."""


class FileError(ModelError, OSError):
    """A file cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """A file does not exist."""


class IdError(SpieceError, IndexError):
    """The model has no piece with an id."""


class EncodeError(SpieceError, RuntimeError):
    """A text cannot be encoded as wanted: n-best lists and sampling depend on the type of the model."""


class OptionValueError(EncodeError, ValueError):
    """An option asks for a piece that the model does not have."""


class TrainingError(SpieceError, RuntimeError):
    """A model cannot be trained."""


class TrainingOptionError(TrainingError, ValueError):
    """An option of training cannot be used."""
