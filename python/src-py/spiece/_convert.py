"""Native results as objects of NumPy and protobuf, which are imported when they are first needed."""

_modules = {}


def _load(name, package, purpose):
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


def numpy():
    """NumPy."""
    return _load("numpy", "numpy", "return_type='numpy'")


def int32_array(buffer):
    """A read-only array on the memory of a buffer."""
    np = numpy()
    return np.frombuffer(buffer, dtype=np.int32)


def _messages():
    return _load("spiece.sentencepiece.sentencepiece_pb2", "protobuf", "return_type='proto'")


def text_message(serialized):
    """A ``SentencePieceText``."""
    return _messages().SentencePieceText.FromString(serialized)


def nbest_message(serialized):
    """An ``NBestSentencePieceText``."""
    return _messages().NBestSentencePieceText.FromString(serialized)


def immutable_text(serialized):
    """An ``ImmutableSentencePieceText``, which needs no protobuf."""
    from spiece.sentencepiece._immutable import ImmutableSentencePieceText

    return ImmutableSentencePieceText.FromString(serialized)


def immutable_nbest(serialized):
    """An ``ImmutableNBestSentencePieceText``, which needs no protobuf."""
    from spiece.sentencepiece._immutable import ImmutableNBestSentencePieceText

    return ImmutableNBestSentencePieceText.FromString(serialized)
