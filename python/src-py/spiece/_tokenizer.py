"""``spiece.Tokenizer`` and ragged batches."""

from . import _native
from ._native import DecodeStream

__all__ = ["DecodeStream", "Ragged", "Tokenizer"]


class Ragged:
    """The ids of many texts in two arrays, which share the memory of the native result.

    ``ids`` (int32) has the ids of all texts, one text behind the other; those of text ``n`` are
    ``ids[offsets[n]:offsets[n + 1]]``. ``offsets`` (int64) has one entry more than there are texts. Both are buffers:
    NumPy, Arrow and ``memoryview`` read them without a copy.
    """

    __slots__ = ("ids_buffer", "offsets_buffer")

    def __init__(self, ids, offsets):
        self.ids_buffer = ids
        self.offsets_buffer = offsets

    def __len__(self):
        return len(self.offsets_buffer) - 1

    def __iter__(self):
        ids = memoryview(self.ids_buffer)
        offsets = memoryview(self.offsets_buffer)
        return (ids[offsets[n] : offsets[n + 1]].tolist() for n in range(len(self)))

    def __getitem__(self, index):
        length = len(self)
        if not -length <= index < length:
            raise IndexError(f"the batch has {length} texts, and none with the number {index}")
        index %= length
        offsets = memoryview(self.offsets_buffer)
        return memoryview(self.ids_buffer)[offsets[index] : offsets[index + 1]].tolist()

    def __repr__(self):
        return f"<spiece.Ragged: {len(self)} texts, {len(self.ids_buffer)} ids>"

    @property
    def ids(self):
        """The ids as a read-only array of NumPy."""
        return _array(self.ids_buffer, "int32")

    @property
    def offsets(self):
        """Where the ids of each text begin, and the end, as a read-only array of NumPy."""
        return _array(self.offsets_buffer, "int64")

    def to_arrow(self):
        """A ``large_list<int32>`` array of pyarrow, without a copy."""
        import pyarrow as pa

        values = pa.Array.from_buffers(
            pa.int32(), len(self.ids_buffer), [None, pa.py_buffer(memoryview(self.ids_buffer))]
        )
        offsets = pa.py_buffer(memoryview(self.offsets_buffer))
        return pa.Array.from_buffers(pa.large_list(pa.int32()), len(self), [None, offsets], children=[values])

    def to_lists(self):
        """The ids of each text as lists."""
        return list(self)


def _array(buffer, dtype):
    from ._convert import numpy

    return numpy().frombuffer(buffer, dtype=dtype)


class Tokenizer(_native.Tokenizer):
    """Encodes and decodes with a model. It does not change, and any number of threads can use it.

    >>> tokenizer = Tokenizer.open(model_path)
    >>> ids = tokenizer.encode("Hello world")
    >>> tokenizer.decode(ids)
    'Hello world'
    """

    __slots__ = ()

    def __new__(cls, model):
        """The tokenizer of a model: a path, the bytes of a file, or a :class:`spiece.Model`."""
        if isinstance(model, (bytes, bytearray)):
            return cls._of_bytes(bytes(model))
        if hasattr(model, "to_bytes"):
            return cls._of_bytes(model.to_bytes())
        return cls._of_file(model)

    @classmethod
    def open(cls, path):
        """Reads a model file."""
        return cls._of_file(path)

    @classmethod
    def from_bytes(cls, model):
        """Reads the bytes of a model file."""
        return cls._of_bytes(model)

    def encode_ragged(
        self,
        texts,
        *,
        threads=None,
        add_bos=False,
        add_eos=False,
        allowed_special=None,
        user_defined_symbols=True,
    ):
        """The ids of all texts as a :class:`Ragged` batch: two arrays and no lists, the fastest form.

        ``texts`` is a list of ``str`` or ``bytes``, or a string array of pyarrow, which is read without objects of Python.

        >>> batch = tokenizer.encode_ragged(["one", "two three"])
        >>> len(batch), batch[1] == tokenizer.encode("two three")
        (2, True)
        """
        if hasattr(texts, "__arrow_array__") or type(texts).__module__.startswith("pyarrow"):
            is_plain = not (add_bos or add_eos or allowed_special) and user_defined_symbols
            as_list, arrays = _arrow_texts(texts)
            if is_plain and arrays is not None:
                return Ragged(*self._encode_arrow(*arrays, threads))
            # With options, the texts become objects of Python.
            texts = texts.to_pylist() if as_list is None else as_list
        ids, offsets = self._encode_ragged(
            texts,
            threads=threads,
            add_bos=add_bos,
            add_eos=add_eos,
            allowed_special=allowed_special,
            user_defined_symbols=user_defined_symbols,
        )
        return Ragged(ids, offsets)

    def encode_spans(self, text, *, unit="chars"):
        """The ids of a text and where each token begins and ends: three arrays of NumPy.

        Positions are in characters, or in bytes for ``unit="bytes"``.

        >>> ids, begins, ends = tokenizer.encode_spans("the right")
        >>> [("the right"[b:e]) for b, e in zip(begins, ends)]
        ['the', ' right']
        """
        if unit not in ("chars", "bytes"):
            raise ValueError(f"unit: {unit!r} is not 'chars' or 'bytes'")
        ids, begins, ends = self._encode_spans(text, unit == "bytes")
        return _array(ids, "int32"), _array(begins, "int64"), _array(ends, "int64")

    def count_batch(self, texts, *, threads=None):
        """The number of ids of each text, as an array of NumPy."""
        return _array(self._count_batch(texts, threads=threads), "int64")

    def decode_ragged(self, batch, offsets=None, *, threads=None):
        """The texts of a :class:`Ragged` batch, or of two arrays of ids and offsets.

        >>> tokenizer.decode_ragged(tokenizer.encode_ragged(["one", "two"]))
        ['one', 'two']
        """
        if offsets is None:
            batch, offsets = batch.ids_buffer, batch.offsets_buffer
        return self._decode_ragged(batch, offsets, threads)


def _arrow_texts(texts):
    """The texts of an array of pyarrow: as a list, and as data and offsets if it is one string array without nulls."""
    import pyarrow as pa

    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
        if isinstance(texts, pa.ChunkedArray):
            texts = texts.chunk(0) if texts.num_chunks else pa.array([], texts.type)
    is_large = pa.types.is_large_string(texts.type) or pa.types.is_large_binary(texts.type)
    is_string = is_large or pa.types.is_string(texts.type) or pa.types.is_binary(texts.type)
    if not is_string or texts.null_count:
        raise TypeError(f"texts: an array of {texts.type} with {texts.null_count} nulls; pass strings without nulls")
    if not len(texts):
        return [], None
    _, offsets, data = texts.buffers()
    width = "q" if is_large else "i"
    offsets = memoryview(offsets).cast("B").cast(width)[texts.offset : texts.offset + len(texts) + 1]
    return None, (memoryview(data).cast("B") if data is not None else b"", offsets)
