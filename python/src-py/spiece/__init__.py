"""Trains and runs SentencePiece models, with the results of SentencePiece 0.2.3, and byte-level BPE.

>>> import spiece
>>> sentences = ["a pen", "a pineapple", "an apple"] * 10
>>> model = spiece.train(sentences, vocab_size=30, hard_vocab_limit=False)
>>> tokenizer = model.tokenizer()
>>> tokenizer.decode(tokenizer.encode("an apple pen"))
'an apple pen'

``spiece.sentencepiece`` has the interface of the package ``sentencepiece``.
"""

from . import _native
from ._errors import (
    EncodeError,
    FileError,
    FileIsADirectoryError,
    FileNotADirectoryError,
    FilePermissionError,
    IdError,
    MissingFileError,
    ModelError,
    OptionValueError,
    SpieceError,
    TrainingError,
    TrainingOptionError,
)
from ._model import Model, Trainer, train
from ._tokenizer import DecodeStream, EncodeStream, ProcessedText, Ragged, Tokenizer

__version__ = _native.__version__
__all__ = [
    "DecodeStream",
    "EncodeStream",
    "EncodeError",
    "FileError",
    "FileIsADirectoryError",
    "FileNotADirectoryError",
    "FilePermissionError",
    "IdError",
    "MissingFileError",
    "Model",
    "ModelError",
    "OptionValueError",
    "ProcessedText",
    "Ragged",
    "SpieceError",
    "Tokenizer",
    "Trainer",
    "TrainingError",
    "TrainingOptionError",
    "train",
]
