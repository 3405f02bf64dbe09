"""Native results as objects of NumPy and protobuf, which are imported when they are first needed."""

from __future__ import annotations

from typing import Any

_modules: dict[str, Any] = {}


def load(name: str, package: str, purpose: str) -> Any:
    """A module of a package that is not required."""
    module = _modules.get(name)
    if module is None:
        import importlib

        try:
            module = importlib.import_module(name)
        except ImportError as error:
            raise ImportError(
                f"{package} is required for {purpose}. Please install it: pip install {package}"
            ) from error
        _modules[name] = module
    return module


def int32_array(buffer: Any) -> Any:
    """A read-only array on the memory of a buffer."""
    np = load("numpy", "numpy", "return_type='numpy'")
    return np.frombuffer(buffer, dtype=np.int32)


def _messages() -> Any:
    return load("spiece.sentencepiece.sentencepiece_pb2", "protobuf", "return_type='proto'")


def text_message(serialized: bytes) -> Any:
    """A ``SentencePieceText``."""
    return _messages().SentencePieceText.FromString(serialized)


def nbest_message(serialized: bytes) -> Any:
    """An ``NBestSentencePieceText``."""
    return _messages().NBestSentencePieceText.FromString(serialized)


def immutable_text(serialized: bytes) -> Any:
    """An ``ImmutableSentencePieceText``, which needs no protobuf."""
    from spiece.sentencepiece._immutable import ImmutableSentencePieceText

    return ImmutableSentencePieceText.FromString(serialized)


def immutable_nbest(serialized: bytes) -> Any:
    """An ``ImmutableNBestSentencePieceText``, which needs no protobuf."""
    from spiece.sentencepiece._immutable import ImmutableNBestSentencePieceText

    return ImmutableNBestSentencePieceText.FromString(serialized)
