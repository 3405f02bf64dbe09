"""A drop-in for the package ``sentencepiece``, releases 0.1.99 to 0.2.3.

    import spiece.sentencepiece as spm

    sp = spm.SentencePieceProcessor(model_file="some.model")
    sp.encode("Hello world", out_type=str)

``import spiece.as_sentencepiece`` makes it what ``import sentencepiece`` finds in this process.
"""

import copyreg
import os

from .. import _native
from . import _old
from ._version import __version__

__all__ = [
    "ConvertToFlatbuffer",
    "ImmutableNBestSentencePieceText",
    "ImmutableSentencePieceText",
    "ImmutableSentencePieceText_ImmutableSentencePiece",
    "SentencePieceNormalizer",
    "SentencePieceProcessor",
    "SentencePieceTrainer",
    "SetDataDir",
    "SetMinLogLevel",
    "SetNBestTimeout",
    "SetRandomGeneratorSeed",
    "ThreadPool",
]


class ThreadPool(_native.ThreadPool):
    """A number of threads that calls share: ``ThreadPool(4)``."""

    __slots__ = ()


def SetRandomGeneratorSeed(seed):
    """Starts the random numbers of sampling again. The numbers are not those of the reference."""
    _native._set_seed(_integer(seed, 0, 2**32 - 1))


def SetMinLogLevel(level):
    """Has no effect: nothing is logged but to ``logstream`` of training."""
    _integer(level, -(2**31), 2**31 - 1)


def SetNBestTimeout(timeout_ms):
    """The longest time of an n-best search in milliseconds; then the best segmentation alone is returned."""
    _native._set_nbest_timeout(_integer(timeout_ms, -(2**31), 2**31 - 1))


def SetDataDir(data_dir):
    """Has no effect: the rules of normalization are compiled in."""
    if not isinstance(data_dir, str):
        raise TypeError("SetDataDir() takes a str")


def _integer(value, low, high):
    """An integer in a range."""
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"an integer is required, not {value!r}") from None
    if not low <= number <= high:
        raise TypeError(f"{number} is out of range; use {low} to {high}")
    return number


def ConvertToFlatbuffer(
    model_file=None,
    model_proto=None,
    serialized_model_proto=None,
    output_file=None,
    skip_char_bigrams=False,
    treat_null_byte_as_unused=False,
    allow_unsupported_model_type=False,
):
    """Not available: the flatbuffer format of the reference's lite library is its own. Use the reference for it."""
    inputs = (model_file, model_proto, serialized_model_proto)
    if sum(value is not None for value in inputs) != 1:
        raise ValueError("Exactly one of model_file, model_proto, or serialized_model_proto must be specified.")
    raise NotImplementedError("spiece does not write flatbuffers; convert the model with sentencepiece 0.2.3")


def _text(text):
    """A side of a rule, which may be given in UTF-8."""
    return text.decode("utf-8") if isinstance(text, bytes) else text


def _reduced(instance):
    """How an instance is pickled, in every protocol: those before 2 would make it without the native class."""
    return copyreg.__newobj__, (type(instance),), instance.__getstate__()


def _setting(place):
    """An attribute of a processor that the native class stores."""
    return property(
        lambda self: self._setting(place),
        lambda self, value: self._set_setting(place, value),
    )


def _result_type(return_type, out_type, default):
    """The result type that two keywords name."""
    if out_type is not None:
        if return_type is not None:
            raise ValueError("Cannot specify both out_type and return_type. Use return_type instead.")
        return "proto" if out_type == "immutable_proto" else out_type
    return default if return_type is None else return_type


_TYPES = (int, str, bytes, "proto", "serialized_proto", "numpy", "offset_mapping")


def _as(return_type, samples=False):
    """A method with a fixed result type."""

    if samples:

        def method(self, input, nbest_size=None, alpha=None, **kwargs):
            return self._encode_as(input, return_type, True, nbest_size=nbest_size, alpha=alpha, **kwargs)

    else:

        def method(self, input, **kwargs):
            return self._encode_as(input, return_type, False, **kwargs)

    return method


def _nbest_as(return_type):
    def method(self, input, nbest_size=None, **kwargs):
        return self._nbest(input, nbest_size, return_type, **kwargs)

    return method


def _parallel_as(return_type):
    def method(self, input, chunk_len=None, **kwargs):
        _check_chunk(chunk_len)
        return self._encode_parallel(input, return_type, **kwargs)

    return method


def _decode_as(return_type):
    def method(self, input, **kwargs):
        return self._decode(input, return_type, **kwargs)

    return method


def _check_chunk(chunk_len):
    if chunk_len is None or not isinstance(chunk_len, int) or chunk_len <= 0:
        raise ValueError("chunk_len must be positive.")


def _message_bytes(message):
    """The bytes of a message of protobuf, or the argument itself."""
    return message.SerializeToString() if hasattr(message, "SerializeToString") else message


def _batch_method(return_type):
    """A method that decodes a batch; the tests of the reference call these."""

    def method(self, batch, num_threads, thread_pool, return_bytes=False):
        return self._decode_batch(batch, return_type, num_threads, thread_pool, return_bytes)

    return method


class SentencePieceProcessor(_old.OldProcessor, _native.Processor):
    """Encodes and decodes with a model.

    The keyword arguments are the defaults of ``encode`` and the other methods.
    """

    def __init__(
        self,
        model_file=None,
        model_proto=None,
        out_type=None,
        add_bos=False,
        add_eos=False,
        reverse=False,
        emit_unk_piece=False,
        enable_sampling=False,
        nbest_size=-1,
        alpha=0.1,
        num_threads=-1,
        return_type=None,
    ):
        kind = _result_type(return_type, out_type, int)
        if kind not in _TYPES:
            raise ValueError(f"Invalid return_type: {kind}. Must be one of {_TYPES}")
        if out_type == "immutable_proto":
            kind = out_type
        self._configure(
            (kind, add_bos, add_eos, reverse, emit_unk_piece, enable_sampling, nbest_size, alpha, num_threads)
        )
        if model_file or model_proto:
            self.Load(model_file=model_file, model_proto=model_proto)

    _DecodePiecesBatch = _batch_method(str)
    _DecodePiecesAsBytesBatch = _batch_method(bytes)
    _DecodePiecesAsSerializedProtoBatch = _batch_method("serialized_proto")
    _DecodeAsOffsetMappingBatch = _batch_method("offset_mapping")

    @property
    def _processor(self):
        """The native part."""
        return self

    @classmethod
    def from_file(cls, model_file, **kwargs):
        """A processor with the model of a file."""
        _refuse_models(kwargs, "from_file")
        processor = cls(**kwargs)
        processor.LoadFromFile(model_file)
        return processor

    @classmethod
    def from_proto(cls, model_proto, **kwargs):
        """A processor with a model in memory."""
        _refuse_models(kwargs, "from_proto")
        processor = cls(**kwargs)
        processor.LoadFromSerializedProto(model_proto)
        return processor

    def Load(self, model_file=None, model_proto=None):
        """Loads the model of a file or in memory."""
        if model_file and model_proto:
            raise ValueError("model_file and model_proto must be exclusive.")
        if model_proto:
            return self.LoadFromSerializedProto(model_proto)
        if model_file:
            return self.LoadFromFile(model_file)
        raise ValueError("Either model_file or model_proto must be specified.")

    def LoadFromFile(self, filename):
        """Loads the model of a file."""
        return self._load_file(os.fsdecode(filename))

    def LoadFromSerializedProto(self, serialized):
        """Loads a model from its bytes, or from a ``ModelProto``."""
        return self._load_bytes(_message_bytes(serialized))

    Encode = _native.Processor._encode
    EncodeAsIds = _native.Processor._encode_ids
    EncodeAsPieces = _native.Processor._encode_pieces
    EncodeAsNumpy = _as("numpy")
    EncodeAsProto = _as("proto")
    EncodeAsOffsetMapping = _as("offset_mapping")

    SampleEncodeAsPieces = _as(str, samples=True)
    SampleEncodeAsIds = _as(int, samples=True)
    SampleEncodeAsNumpy = _as("numpy", samples=True)
    SampleEncodeAsProto = _as("proto", samples=True)

    def NBestEncode(
        self,
        input,
        add_bos=None,
        add_eos=None,
        reverse=None,
        emit_unk_piece=None,
        nbest_size=None,
        return_type=None,
        out_type=None,
    ):
        """The best segmentations of a text, best first."""
        if isinstance(add_bos, (type, str)):  # the order of parameters until 0.2.1
            out_type, add_bos, add_eos, reverse, emit_unk_piece = (add_bos, add_eos, reverse, emit_unk_piece, None)
        return self._nbest(
            input,
            nbest_size,
            None,
            add_bos=add_bos,
            add_eos=add_eos,
            reverse=reverse,
            emit_unk_piece=emit_unk_piece,
            return_type=return_type,
            out_type=out_type,
        )

    NBestEncodeAsPieces = _nbest_as(str)
    NBestEncodeAsIds = _nbest_as(int)
    NBestEncodeAsNumpy = _nbest_as("numpy")
    NBestEncodeAsProto = _nbest_as("proto")

    def ParallelEncode(
        self,
        input,
        add_bos=None,
        add_eos=None,
        reverse=None,
        emit_unk_piece=None,
        chunk_len=None,
        num_threads=None,
        thread_pool=None,
        return_type=None,
        out_type=None,
    ):
        """Encodes a long text on several threads. The result is that of ``Encode``."""
        _check_chunk(chunk_len)
        return self._encode_parallel(
            input,
            None,
            add_bos=add_bos,
            add_eos=add_eos,
            reverse=reverse,
            emit_unk_piece=emit_unk_piece,
            num_threads=num_threads,
            thread_pool=thread_pool,
            return_type=return_type,
            out_type=out_type,
        )

    ParallelEncodeAsPieces = _parallel_as(str)
    ParallelEncodeAsIds = _parallel_as(int)
    ParallelEncodeAsNumpy = _parallel_as("numpy")
    ParallelEncodeAsProto = _parallel_as("proto")

    Decode = _native.Processor._decode
    DecodePieces = _native.Processor._decode
    DecodeIds = _native.Processor._decode
    DecodePiecesAsProto = _decode_as("proto")
    DecodeIdsAsProto = _decode_as("proto")

    Normalize = _native.Processor._normalize
    GetPieceSize = _native.Processor._piece_size
    PieceToId = _native.Processor._piece_to_id
    IdToPiece = _native.Processor._id_to_piece
    GetScore = _native.Processor._score
    IsUnknown = _native.Processor._is_unknown
    IsControl = _native.Processor._is_control
    IsUnused = _native.Processor._is_unused
    IsByte = _native.Processor._is_byte
    unk_id = _native.Processor._unk_id
    bos_id = _native.Processor._bos_id
    eos_id = _native.Processor._eos_id
    pad_id = _native.Processor._pad_id
    serialized_model_proto = _native.Processor._serialized
    piece_size = GetPieceSize
    vocab_size = GetPieceSize

    def __reduce__(self):
        return _reduced(self)

    def __getstate__(self):
        state = dict(self.__dict__)
        for place, name in enumerate(self._setting_names):
            state[name] = self._setting(place)
        state["model_proto"] = self.serialized_model_proto()
        return state

    def __setstate__(self, state):
        # Pickles of older releases are the bytes of the model.
        state = dict(state) if isinstance(state, dict) else {"model_proto": state}
        SentencePieceProcessor.__init__(self)
        model = state.pop("model_proto")
        if model:
            self.LoadFromSerializedProto(model)
        if "_out_type" in state:
            state["_return_type"] = state.pop("_out_type")
        for place, name in enumerate(self._setting_names):
            if name in state:
                self._set_setting(place, state.pop(name))
        self.__dict__.update(state)

    def __len__(self):
        return self._piece_size()

    def __getitem__(self, piece):
        return self._piece_to_id(piece)


for _place, _name in enumerate(_native.Processor._setting_names):
    setattr(SentencePieceProcessor, _name, _setting(_place))


def _refuse_models(kwargs, method):
    if "model_file" in kwargs or "model_proto" in kwargs:
        raise ValueError(f"model_file and model_proto cannot be passed via kwargs when using {method} classmethod.")


class _LogStream:
    """What training writes its messages to: the argument ``logstream``."""

    def __init__(self, ostream=None):
        self.ostream = ostream

    def __enter__(self):
        return self.ostream

    def __exit__(self, type, value, traceback):
        if self.ostream is not None:
            self.ostream.flush()


class SentencePieceTrainer:
    """Trains models."""

    @staticmethod
    def _Train(arg=None, **kwargs):
        return SentencePieceTrainer._run(arg, None, kwargs)

    @staticmethod
    def _run(arg, log, kwargs):
        from . import _trainer

        if isinstance(arg, str):
            return _trainer.train_from_string(arg, log)
        _trainer.train_from_keywords(kwargs, log)
        return None

    @staticmethod
    def Train(arg=None, logstream=None, **kwargs):
        """Trains a model: ``Train("--input=a.txt --model_prefix=m")`` or ``Train(input="a.txt", model_prefix="m")``."""
        with _LogStream(ostream=logstream) as log:
            return SentencePieceTrainer._run(arg, log, kwargs)


class SentencePieceNormalizer(_old.OldNormalizer, _native.Normalizer):
    """Normalizes texts: with the rules of a model, of a spec, of a file, of a name, or of pairs."""

    def __init__(
        self,
        model_file=None,
        model_proto=None,
        normalizer_spec=None,
        rule_tsv=None,
        rule_name=None,
        norm_map=None,
        add_dummy_prefix=None,
        escape_whitespaces=None,
        remove_extra_whitespaces=None,
    ):
        if model_file:
            self._load_file(os.fsdecode(model_file))
        elif model_proto:
            self._load_model(_message_bytes(model_proto))
        elif normalizer_spec:
            self._load_spec(_message_bytes(normalizer_spec))
        elif rule_tsv:
            self._load_tsv(rule_tsv)
        elif rule_name:
            self._load_name(rule_name)
        elif norm_map:
            self._load_map([(_text(source), _text(target)) for source, target in norm_map])
        else:
            raise ValueError("no model is specified")
        flags = {
            "add_dummy_prefix": add_dummy_prefix,
            "escape_whitespaces": escape_whitespaces,
            "remove_extra_whitespaces": remove_extra_whitespaces,
        }
        for name, value in flags.items():
            if value is not None:
                self._set_flag(name, bool(value))

    @property
    def _normalizer(self):
        """The native part."""
        return self

    Decompile = _native.Normalizer._rules
    Normalize = _native.Normalizer._normalize
    serialized_model_proto = _native.Normalizer._serialized
    serialized_normalizer_spec = _native.Normalizer._serialized_spec

    def __reduce__(self):
        return _reduced(self)

    def __getstate__(self):
        return self.serialized_model_proto()

    def __setstate__(self, serialized_model_proto):
        self._load_model(serialized_model_proto)


def _snake_case(name):
    """``EncodeAsIds`` as ``encode_as_ids``, and ``NBestEncode`` as ``nbest_encode``."""
    words = "".join("_" + char.lower() if char.isupper() else char for char in name)
    return words.lstrip("_").replace("n_best", "nbest")


def _add_snake_case(owner):
    for name, value in list(vars(owner).items()):
        if name[0].isupper():
            setattr(owner, _snake_case(name), value)


SentencePieceProcessor.Tokenize = SentencePieceProcessor.Encode
SentencePieceProcessor.Detokenize = SentencePieceProcessor.Decode
for _class in (_old.OldProcessor, SentencePieceProcessor, SentencePieceTrainer, SentencePieceNormalizer):
    _add_snake_case(_class)
del _class, _place, _name

set_random_generator_seed = SetRandomGeneratorSeed
set_min_log_level = SetMinLogLevel
set_nbest_timeout = SetNBestTimeout
set_data_dir = SetDataDir
convert_to_flatbuffer = ConvertToFlatbuffer


def __getattr__(name):
    """The classes of read-only results, which few programs need."""
    if name.startswith("Immutable"):
        from . import _immutable

        return getattr(_immutable, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
