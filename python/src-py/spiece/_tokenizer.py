"""``spiece.Tokenizer`` and ragged batches."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, overload

from . import _native
from ._native import DecodeStream, EncodeStream

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Buffer

__all__ = ["DecodeStream", "EncodeStream", "ProcessedText", "Ragged", "Tokenizer"]


class Ragged(Sequence[list[int]]):
    """The ids of many texts in two arrays, which share the memory of the native result.

    ``ids`` (int32) has the ids of all texts, one text after the other; those of text ``n`` are
    ``ids[offsets[n]:offsets[n + 1]]``. ``offsets`` (int64) has one entry more than there are texts. ``ids_buffer`` and
    ``offsets_buffer`` are both as read-only ``memoryview``: NumPy and Arrow read them without a copy.

    A batch is a sequence of lists; a slice is another batch. Batches with equal ids are equal, and batches can be pickled.

    >>> batch = Tokenizer.open(model_path).encode_ragged(["one", "two", "three"])
    >>> batch[1:] == Tokenizer.open(model_path).encode_ragged(["two", "three"])
    True
    """

    __slots__ = ("ids_buffer", "offsets_buffer")

    ids_buffer: memoryview[int]
    offsets_buffer: memoryview[int]

    def __init__(self, ids: Buffer, offsets: Buffer) -> None:
        """A batch of an array of int32 and one of int64, whose offsets ascend from 0 to the number of ids."""
        self.ids_buffer = _view(ids, "ids", 4)
        self.offsets_buffer = offsets_view = _view(offsets, "offsets", 8)
        bounds = offsets_view.tolist()
        if not bounds or bounds[0] != 0 or bounds[-1] != len(self.ids_buffer) or bounds != sorted(bounds):
            raise ValueError(f"offsets: they have to ascend from 0 to the number of ids, {len(self.ids_buffer)}")

    @classmethod
    def _of_native(cls, ids: Buffer, offsets: Buffer) -> Self:
        self = cls.__new__(cls)
        self.ids_buffer = memoryview(ids).toreadonly()
        self.offsets_buffer = memoryview(offsets).toreadonly()
        return self

    def __len__(self) -> int:
        return len(self.offsets_buffer) - 1

    def __iter__(self) -> Iterator[list[int]]:
        ids, offsets = self.ids_buffer, self.offsets_buffer
        return (ids[offsets[n] : offsets[n + 1]].tolist() for n in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> list[int]: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> list[int] | Self:
        ids, offsets = self.ids_buffer, self.offsets_buffer
        if isinstance(index, slice):
            return self._slice(range(*index.indices(len(self))))
        try:
            text = range(len(self))[index]
        except IndexError:
            raise IndexError(f"the batch has {len(self)} texts, and none with the number {index}") from None
        return ids[offsets[text] : offsets[text + 1]].tolist()

    def _slice(self, texts: range) -> Self:
        ids, offsets = self.ids_buffer, self.offsets_buffer
        if texts.step == 1 and texts:
            begin = offsets[texts.start]
            bounds = offsets[texts.start : texts.stop + 1]
            part = ids[begin : bounds[-1]]
            return self._of_native(part, bounds if begin == 0 else array("q", [bound - begin for bound in bounds]))
        taken, ends = array("i"), array("q", [0])
        for text in texts:
            taken.frombytes(ids[offsets[text] : offsets[text + 1]].tobytes())
            ends.append(len(taken))
        return self._of_native(taken, ends)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        return self.offsets_buffer == other.offsets_buffer and self.ids_buffer == other.ids_buffer

    def __hash__(self) -> int:
        return hash((self.ids_buffer.tobytes(), self.offsets_buffer.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (array("i", self.ids_buffer.tobytes()), array("q", self.offsets_buffer.tobytes()))

    def __repr__(self) -> str:
        return f"<spiece.Ragged: {len(self)} texts, {len(self.ids_buffer)} ids>"

    @property
    def ids(self) -> npt.NDArray[np.int32]:
        """The ids as a read-only array of NumPy."""
        ids: npt.NDArray[np.int32] = _array(self.ids_buffer, "int32")
        return ids

    @property
    def offsets(self) -> npt.NDArray[np.int64]:
        """The offsets as a read-only array of NumPy."""
        offsets: npt.NDArray[np.int64] = _array(self.offsets_buffer, "int64")
        return offsets

    def to_arrow(self) -> Any:
        """A ``large_list<int32>`` array of pyarrow, without a copy."""
        import pyarrow as pa

        ids, offsets = pa.py_buffer(self.ids_buffer), pa.py_buffer(self.offsets_buffer)
        values = pa.Array.from_buffers(pa.int32(), len(self.ids_buffer), [None, ids])
        return pa.Array.from_buffers(pa.large_list(pa.int32()), len(self), [None, offsets], children=[values])

    def to_lists(self) -> list[list[int]]:
        """The ids of each text as lists."""
        return list(self)


class ProcessedText(NamedTuple):
    """The ids of a text as a network takes them, in four lists with the names that tokenizers gives them."""

    ids: list[int]
    """The ids, with those of the template and of the padding."""
    type_ids: list[int]
    """The type of each id."""
    attention_mask: list[int]
    """1 for each id of the text and of the template, 0 for padding."""
    overflowing: list[ProcessedText]
    """What was cut off, in parts; these have no overflow."""

    @classmethod
    def _of_native(cls, parts: tuple[list[int], list[int], list[int], list[Any]]) -> Self:
        ids, type_ids, mask, overflow = parts
        return cls(ids, type_ids, mask, [cls._of_native(part) for part in overflow])


def _view(numbers: Buffer, name: str, size: int) -> memoryview[int]:
    """A read-only view of an array of integers of ``size`` bytes."""
    view = memoryview(numbers).toreadonly()
    if view.ndim != 1 or view.itemsize != size or view.format not in ("i", "l", "q") or not view.c_contiguous:
        raise TypeError(f"{name}: expected an array of int{8 * size} without gaps; numpy.ascontiguousarray makes one")
    return view


def _array(buffer: Buffer, dtype: str) -> Any:
    from ._convert import load

    return load("numpy", "numpy", "arrays").frombuffer(buffer, dtype=dtype)


class HasTokenizer:
    """What a :class:`Tokenizer` can be made of because it has one: the base class of :class:`spiece.Model`."""

    __slots__ = ("_tokenizer",)

    _tokenizer: Tokenizer

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model."""
        return self._tokenizer


class Tokenizer(_native.Tokenizer):
    """Encodes and decodes with a model or a byte-level vocabulary. It does not change, and any number of threads can use it.

    Tokenizers of equal models are equal.

    >>> tokenizer = Tokenizer.open(model_path)
    >>> ids = tokenizer.encode("Hello world")
    >>> tokenizer.decode(ids)
    'Hello world'
    """

    __slots__ = ()

    def __new__(cls, model: str | os.PathLike[str] | Buffer | HasTokenizer | _native.Tokenizer) -> Self:
        """The tokenizer of a model: a path, the bytes of a file, a :class:`spiece.Model`, or another tokenizer."""
        if isinstance(model, (str, os.PathLike)):
            return cls._of_file(model, None, None, None)
        if isinstance(model, (bytes, bytearray, memoryview)):
            return cls._of_bytes(bytes(model), None, None, None)
        if isinstance(model, HasTokenizer):
            model = model.tokenizer()
        if isinstance(model, _native.Tokenizer):
            return super().__new__(cls, model)
        raise TypeError(
            "model: expected a path, the bytes of a model file, a Model or a Tokenizer, "
            f"not {type(model).__name__}"
        )

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        lowercase: bool | None = None,
    ) -> Self:
        """Reads a file, or a folder with one, which is recognized by its content.

        These are ``.model`` files, the vocabularies in GGUF files, every ``tokenizer.json``, byte-level vocabularies:
        ``.tiktoken``, ``vocab.json`` with ``merges.txt``, Mistral's ``tekken.json`` and minbpe's ``.model``, and BERT's
        ``vocab.txt``.
        ``pattern``, a name such as ``"cl100k"`` or an expression, and ``special_tokens``, ids by texts, are for files of
        tiktoken and for ``vocab.json``, which have none, unless they are published ones. ``lowercase`` says whether text
        becomes lower case, for ``vocab.txt``; ``None`` is no, if a piece has a capital letter.
        """
        return cls._of_file(path, pattern, None if special_tokens is None else dict(special_tokens), lowercase)

    @classmethod
    def from_bytes(
        cls,
        model: Buffer,
        *,
        pattern: str | None = None,
        special_tokens: Mapping[str, int] | None = None,
        lowercase: bool | None = None,
    ) -> Self:
        """Reads the bytes of a file, like :meth:`open`."""
        special = None if special_tokens is None else dict(special_tokens)
        return cls._of_bytes(bytes(memoryview(model)), pattern, special, lowercase)

    @classmethod
    def from_ranks(
        cls, ranks: Mapping[bytes, int], *, pattern: str, special_tokens: Mapping[str, int] | None = None
    ) -> Self:
        """The tokenizer of a byte-level vocabulary, as tiktoken has it: the rank of each token, which is its id.

        ``pattern`` is a name such as ``"cl100k"`` or an expression; ``special_tokens`` has ids by texts.

        >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
        >>> tokenizer = Tokenizer.from_ranks(ranks, pattern="gpt2", special_tokens={"<|end|>": 258})
        >>> tokenizer.encode("low<|end|>", allowed_special="all")
        [257, 258]
        """
        return cls._of_ranks(dict(ranks), pattern, dict(special_tokens or {}))

    def encode_ragged(
        self,
        texts: Iterable[str | bytes],
        *,
        threads: int | None = None,
        add_bos: bool = False,
        add_eos: bool = False,
        allowed_special: Literal["all"] | Iterable[str | bytes] | None = None,
        refuse_special: bool = False,
        user_defined_symbols: bool = True,
    ) -> Ragged:
        """The ids of all texts as a :class:`Ragged` batch: two arrays and no lists, the fastest form.

        ``texts`` is an iterable of ``str`` or ``bytes``, or a string array of pyarrow, which is read without objects of
        Python.

        >>> batch = tokenizer.encode_ragged(["one", "two three"])
        >>> len(batch), batch[1] == tokenizer.encode("two three")
        (2, True)
        """
        if hasattr(texts, "__arrow_array__") or type(texts).__module__.startswith("pyarrow"):
            is_plain = not (add_bos or add_eos or allowed_special or refuse_special) and user_defined_symbols
            as_list, arrays = _arrow_texts(texts)
            if is_plain and arrays is not None:
                return Ragged._of_native(*self._encode_arrow(*arrays, threads))
            # With options, the texts become objects of Python.
            texts = as_list or [] if arrays is None else _texts_of_arrow(texts)
        ids, offsets = self._encode_ragged(
            texts,
            threads=threads,
            add_bos=add_bos,
            add_eos=add_eos,
            allowed_special=allowed_special,
            refuse_special=refuse_special,
            user_defined_symbols=user_defined_symbols,
        )
        return Ragged._of_native(ids, offsets)

    def encode_spans(
        self,
        text: str | bytes,
        *,
        unit: Literal["chars", "bytes"] = "chars",
        allowed_special: Literal["all"] | Iterable[str | bytes] | None = None,
        refuse_special: bool = False,
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The ids of a text and where each token begins and ends: three arrays of NumPy.

        Positions are in characters, or in bytes for ``unit="bytes"``.

        >>> ids, begins, ends = tokenizer.encode_spans("the right")
        >>> [("the right"[b:e]) for b, e in zip(begins, ends)]
        ['the', ' right']
        """
        if unit not in ("chars", "bytes"):
            raise ValueError(f"unit: {unit!r} is not 'chars' or 'bytes'")
        ids, begins, ends = self._encode_spans(text, unit == "bytes", allowed_special, refuse_special)
        return _array(ids, "int32"), _array(begins, "int64"), _array(ends, "int64")

    def post_process(
        self,
        batch: Iterable[Iterable[int] | Buffer] | Buffer,
        *,
        add_special_tokens: bool = True,
        truncation: Mapping[str, Any] | Literal["file"] | None = "file",
        padding: Mapping[str, Any] | Literal["file"] | None = "file",
    ) -> list[ProcessedText]:
        """The ids of texts cut, with special tokens around them, and filled up, as ``encode_batch`` of tokenizers does it.

        ``batch`` has the ids of each text alone, such as :meth:`encode_batch` and :meth:`encode_ragged` give, or lists of
        :meth:`encode_segments`. The special tokens are those of the template of a ``tokenizer.json``; other files are refused.

        Settings are those of the file, none for ``None``, or a dict with keys of :attr:`truncation` and :attr:`padding`, as
        tokenizers has them: ``max_length``, ``stride`` (0), ``strategy`` (``"longest_first"``) and ``direction``
        (``"right"``); ``pad_id``, ``length`` (``None``: that of the longest text), ``pad_to_multiple_of`` (``None``),
        ``pad_type_id`` (0) and ``direction`` (``"right"``). ``max_length`` and ``pad_id`` have no default.

        >>> batch = words.encode_batch(["a b a b", "a"])
        >>> one, two = words.post_process(batch, truncation={"max_length": 3, "stride": 1}, padding={"pad_id": 2})
        >>> one.ids, one.overflowing[0].ids
        ([0, 1, 0], [0, 1, 2])
        >>> two.ids, two.attention_mask
        ([0, 2, 2], [1, 0, 0])
        """
        return [ProcessedText._of_native(text) for text in self._post_process(batch, add_special_tokens, truncation, padding)]

    def count_batch(self, texts: Iterable[str | bytes], *, threads: int | None = None) -> npt.NDArray[np.int64]:
        """The number of ids of each text, as an array of NumPy."""
        counts: npt.NDArray[np.int64] = _array(self._count_batch(texts, threads=threads), "int64")
        return counts

    @overload
    def decode_ragged(
        self, batch: Ragged, offsets: None = None, *, threads: int | None = None, skip_special_tokens: bool = False
    ) -> list[str]: ...
    @overload
    def decode_ragged(
        self,
        batch: Buffer | Sequence[int],
        offsets: Buffer | Sequence[int],
        *,
        threads: int | None = None,
        skip_special_tokens: bool = False,
    ) -> list[str]: ...
    def decode_ragged(
        self,
        batch: Ragged | Buffer | Sequence[int],
        offsets: Buffer | Sequence[int] | None = None,
        *,
        threads: int | None = None,
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """The texts of a :class:`Ragged` batch, or of two arrays of ids and offsets.

        ``skip_special_tokens=True`` leaves out the text of special tokens.

        >>> tokenizer.decode_ragged(tokenizer.encode_ragged(["one", "two"]))
        ['one', 'two']
        """
        if offsets is None:
            if not isinstance(batch, Ragged):
                raise TypeError(f"batch: expected a Ragged batch, or arrays of ids and offsets, not {type(batch).__name__}")
            return self._decode_ragged(batch.ids_buffer, batch.offsets_buffer, threads, skip_special_tokens)
        if isinstance(batch, Ragged):
            raise TypeError("offsets: a Ragged batch has its own; pass the batch alone")
        return self._decode_ragged(batch, offsets, threads, skip_special_tokens)


def _texts_of_arrow(texts: Any) -> list[str | bytes]:
    """The texts of an array of pyarrow as objects of Python."""
    return list(texts.to_pylist())


def _arrow_texts(texts: Any) -> tuple[list[str] | None, tuple[Buffer, Buffer] | None]:
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
    view = memoryview(offsets).cast("B")
    numbers = view.cast("q") if is_large else view.cast("i")
    numbers = numbers[texts.offset : texts.offset + len(texts) + 1]
    return None, (memoryview(data).cast("B") if data is not None else b"", numbers)
