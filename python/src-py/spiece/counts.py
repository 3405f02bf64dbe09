"""Word counts as tables of pyarrow: count a corpus in parts, train once or many times.

A table has the columns ``word`` (binary) and ``count`` (int64). Tables of parts of a corpus are added by grouping the rows by
``word`` and summing ``count``, with any program. A few rows, whose ``word`` begins with the byte FF, have the options and the
numbers of sentences; keep them. For BPE, word and char models, and with ``model_type="byte_bpe"`` for byte-level BPE, whose
words are the pretokens of ``pattern``.

>>> parts = [count(["to be", "or not"]), count(["to be, or"])]
>>> model = train_counts(add(parts), vocab_size=30, hard_vocab_limit=False)
>>> whole = spiece.train(["to be", "or not", "to be, or"], vocab_size=30, hard_vocab_limit=False)
>>> model == whole
True
>>> options = {"model_type": "byte_bpe", "pattern": "cl100k"}
>>> parts = [count(["to be", "or not"], **options), count(["to be, or"], **options)]
>>> model = train_counts(add(parts), vocab_size=260, **options)
>>> model == spiece.train(["to be", "or not", "to be, or"], vocab_size=260, **options)
True
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import _native
from ._convert import load
from ._model import Model, flags_of
from ._progress import Progress, callback
from ._training import is_byte_level

__all__ = ["Counter", "add", "count", "train_counts"]

# Rows that are read or converted at once, and about the most bytes of them.
_BATCH_ROWS = 1 << 16
_BATCH_BYTES = 1 << 22


def _arrow() -> Any:
    return load("pyarrow", "pyarrow", "tables of word counts")


class Counter:
    """Counts the words of arrays of sentences, in a thread of its own. The options are those of :func:`spiece.train`.

    With ``model_type="byte_bpe"`` it counts the pretokens of ``pattern``. Each row is then a text as it is, which may have line
    feeds; with ``document="line"`` rows are what lines of a file are: each gets a line feed, and a line feed inside ends a text.

    An error of a row is raised by a later call, and ends the counter.

    >>> import pyarrow as pa
    >>> counter = Counter(split_digits=True)
    >>> counter.add(pa.array(["to be", None, "or not"]))
    >>> counter.take_table().num_rows > 4
    True
    """

    def __init__(self, **options: object) -> None:
        options.pop("vocab_size", None)
        is_bytes = is_byte_level(options)
        flags = list(flags_of(options, omits_none=is_bytes).items())
        self._counter = _native.WordCounter.of_bytes(flags) if is_bytes else _native.WordCounter(flags)

    def __repr__(self) -> str:
        return f"<spiece.counts.Counter: {len(self)} distinct words>"

    def __len__(self) -> int:
        """The number of distinct words that are counted so far."""
        return len(self._counter)

    def add(self, sentences: Any) -> None:
        """Adds an array of pyarrow with strings or bytes. NULL is an empty sentence; a line feed ends a sentence, as in a file,
        but is text of byte-level BPE unless ``document`` is ``"line"``."""
        pa = _arrow()
        if isinstance(sentences, pa.ChunkedArray):
            for chunk in sentences.chunks:
                self.add(chunk)
            return
        # The native code copies what it is given, and counts it while the next rows come.
        step = max(1, min(_BATCH_ROWS, len(sentences) * _BATCH_BYTES // max(1, sentences.nbytes)))
        for start in range(0, len(sentences), step):
            rows = _as_binary(pa, sentences.slice(start, step))
            self._counter.add_rows(*_bytes_and_offsets(rows))

    def take_table(self, *, with_options: bool = True) -> Any:
        """The counts as a table, which are removed. ``with_options=False`` leaves out the rows that are no words, of which each
        corpus needs one set for each counter."""
        pa = _arrow()
        data, offsets, counts = self._counter.take_rows(with_options)
        words = pa.Array.from_buffers(
            pa.large_binary(), len(counts), [None, pa.py_buffer(memoryview(offsets)), pa.py_buffer(data)]
        )
        numbers = pa.Array.from_buffers(pa.int64(), len(counts), [None, pa.py_buffer(memoryview(counts))])
        return pa.table({"word": words, "count": numbers})


def _as_binary(pa: Any, sentences: Any) -> Any:
    """The sentences as strings or bytes with offsets; NULL as an empty sentence, which is skipped and counted."""
    texts = (pa.string(), pa.large_string())
    if sentences.type not in (*texts, pa.binary(), pa.large_binary()):
        sentences = sentences.cast(pa.large_binary())
    if not sentences.null_count:
        return sentences
    # A NULL may have bytes.
    return sentences.fill_null("" if sentences.type in texts else b"")


def _numbers(column: Any) -> memoryview[int]:
    """The numbers of an array of int64 without NULL."""
    return memoryview(column.buffers()[1]).cast("B").cast("q")[column.offset : column.offset + len(column)]


def _bytes_and_offsets(array: Any) -> tuple[Any, Any]:
    """The bytes of the rows of an array of strings or bytes, and the offsets where each row begins and the last one ends. The
    first offset is that of the first of the bytes."""
    pa = _arrow()
    _, offsets, data = array.buffers()
    has_wide_offsets = array.type in (pa.large_string(), pa.large_binary())
    offsets = memoryview(offsets).cast("B").cast("q" if has_wide_offsets else "i")
    offsets = offsets[array.offset : array.offset + len(array) + 1]
    return memoryview(data).cast("B")[offsets[0] : offsets[-1]] if data is not None else b"", offsets


def count(sentences: Iterable[str | bytes] | Any, **options: object) -> Any:
    """The table of an iterable of sentences, or of an array of pyarrow. The options are those of :class:`Counter`."""
    if isinstance(sentences, (str, bytes)):
        raise TypeError("sentences: a text is no collection of sentences; pass [text]")
    pa = _arrow()
    counter = Counter(**options)
    if isinstance(sentences, (pa.Array, pa.ChunkedArray)):
        counter.add(sentences)
        return counter.take_table()
    batch = []
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, (str, bytes)):
            raise TypeError(f"sentence {number}: expected str or bytes, not {type(sentence).__name__}")
        batch.append(sentence.encode() if isinstance(sentence, str) else sentence)
        if len(batch) == _BATCH_ROWS:
            counter.add(pa.array(batch, pa.large_binary()))
            batch.clear()
    counter.add(pa.array(batch, pa.large_binary()))
    return counter.take_table()


def add(tables: Iterable[Any]) -> Any:
    """The sum of tables: rows with equal words are one row, with the sum of their counts."""
    rows = _arrow().concat_tables([_table(table) for table in tables])
    return rows.group_by("word").aggregate([("count", "sum")]).rename_columns(rows.column_names)


def _table(table: Any) -> Any:
    """A table, or the table of Parquet files."""
    pa = _arrow()
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        import pyarrow.dataset as ds

        table = ds.dataset(table, format="parquet").to_table(columns=["word", "count"])
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    types = {"word": pa.large_binary(), "count": pa.int64()}
    return pa.table({name: table[name].cast(type) for name, type in types.items()})


def train_counts(table: Any, *, progress: Progress = None, **options: object) -> Model:
    """The model of the corpus that was counted: the bytes that training on the text gives.

    ``table`` is a table of pyarrow, a Parquet file, a folder of such files or a list of them; rows of several tables need not be
    added. The options have to be those of counting, but for ``vocab_size``, ``character_coverage``, ``required_chars`` and
    ``hard_vocab_limit``. With ``model_type="byte_bpe"`` only ``pattern`` has to be that of counting; ``tie_order="minbpe"`` is
    refused, because it depends on the order of the text.
    """
    rows = _native.CountRows()
    for batch in _table(table).to_batches(max_chunksize=_BATCH_ROWS):
        words, numbers = batch.columns
        if words.null_count or numbers.null_count:
            raise ValueError("table: a row has NULL; make the table with spiece, and add only its counts")
        if len(words):
            rows.add(*_bytes_and_offsets(words), _numbers(numbers))
    is_bytes = is_byte_level(options)
    flags = list(flags_of(options, omits_none=is_bytes).items())
    with callback(progress) as call:
        if is_bytes:
            return Model._trained(*_native._train_byte_counts(rows, flags, call))
        return Model._trained(*_native._train_counts(rows, flags, call))
