"""Word counts as tables of pyarrow: count a corpus in parts, train once or many times.

A table has the columns ``word`` (binary) and ``count`` (int64). Tables of parts of a corpus are added by grouping the rows by
``word`` and summing ``count``, with any program. A few rows, whose ``word`` begins with the byte FF, have the options and the
numbers of sentences; keep them. For BPE, word and char models.

>>> parts = [count(["to be", "or not"]), count(["to be, or"])]
>>> model = train_counts(add(parts), vocab_size=30, hard_vocab_limit=False)
>>> whole = spiece.train(["to be", "or not", "to be, or"], vocab_size=30, hard_vocab_limit=False)
>>> model == whole
True
"""

from . import _native
from ._convert import _load
from ._model import Model, _flag

__all__ = ["Counter", "add", "count", "train_counts"]

# Rows that are read or converted at once.
_BATCH_ROWS = 1 << 16


def _arrow():
    return _load("pyarrow", "pyarrow", "tables of word counts")


def _flags(options):
    return [(name, _flag(value)) for name, value in options.items()]


class Counter:
    """Counts the words of arrays of sentences. The options are those of :func:`spiece.train`.

    >>> import pyarrow as pa
    >>> counter = Counter(split_digits=True)
    >>> counter.add(pa.array(["to be", None, "or not"]))
    >>> counter.take_table().num_rows > 4
    True
    """

    def __init__(self, **options):
        options.pop("vocab_size", None)
        self._counter = _native.WordCounter(_flags(options))

    def __len__(self):
        """The number of distinct words that are counted so far."""
        return len(self._counter)

    def add(self, sentences):
        """Adds an array of pyarrow with strings or bytes. NULL is an empty sentence; a line feed ends a
        sentence, as in a file."""
        pa = _arrow()
        if isinstance(sentences, pa.ChunkedArray):
            for chunk in sentences.chunks:
                self.add(chunk)
            return
        sentences = _as_large_binary(pa, sentences)
        if len(sentences):
            self._counter.add_lines(_joined(pa, sentences))

    def take_table(self, *, with_options=True):
        """The counts as a table, which are removed. ``with_options=False`` leaves out the rows that are no words, of which each
        corpus needs one set for each counter."""
        pa = _arrow()
        data, offsets, counts = self._counter.take_rows(with_options)
        words = pa.Array.from_buffers(
            pa.large_binary(), len(counts), [None, pa.py_buffer(memoryview(offsets)), pa.py_buffer(data)]
        )
        counts = pa.Array.from_buffers(pa.int64(), len(counts), [None, pa.py_buffer(memoryview(counts))])
        return pa.table({"word": words, "count": counts})


def _as_large_binary(pa, sentences):
    """The sentences as bytes with offsets of 64 bits; NULL as an empty sentence, which is skipped and counted."""
    if pa.types.is_string(sentences.type):
        sentences = sentences.cast(pa.large_string())
    sentences = sentences.cast(pa.large_binary())
    return sentences.fill_null(b"") if sentences.null_count else sentences


def _joined(pa, sentences):
    """All sentences in one buffer, with line feeds between them."""
    import pyarrow.compute as pc

    whole = pa.LargeListArray.from_arrays(pa.array([0, len(sentences)], pa.int64()), sentences)
    joined = pc.binary_join(whole, pa.scalar(b"\n", pa.large_binary()))
    _, offsets, data = joined.buffers()
    start, end = memoryview(offsets).cast("B").cast("q")[joined.offset : joined.offset + 2]
    # The last line needs its end as well, if it is empty.
    return memoryview(data).cast("B")[start:end].tobytes() + b"\n" if data is not None else b"\n"


def count(sentences, **options):
    """The table of an iterable of sentences, or of an array of pyarrow."""
    pa = _arrow()
    counter = Counter(**options)
    if isinstance(sentences, (pa.Array, pa.ChunkedArray)):
        counter.add(sentences)
        return counter.take_table()
    batch = []
    for sentence in sentences:
        batch.append(sentence.encode() if isinstance(sentence, str) else sentence)
        if len(batch) == _BATCH_ROWS:
            counter.add(pa.array(batch, pa.large_binary()))
            batch.clear()
    counter.add(pa.array(batch, pa.large_binary()))
    return counter.take_table()


def add(tables):
    """The sum of tables: rows with equal words are one row, with the sum of their counts."""
    pa = _arrow()
    rows = pa.concat_tables([_table(table) for table in tables])
    return rows.group_by("word").aggregate([("count", "sum")]).rename_columns(["word", "count"])


def _table(table):
    """A table, or the table of Parquet files."""
    pa = _arrow()
    if not isinstance(table, (pa.Table, pa.RecordBatch)):
        import pyarrow.dataset as ds

        table = ds.dataset(table, format="parquet").to_table(columns=["word", "count"])
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    columns = {"word": table["word"].cast(pa.large_binary()), "count": table["count"].cast(pa.int64())}
    return pa.table(columns)


def train_counts(table, *, progress=None, **options):
    """The model of the corpus that was counted: the bytes that training on the text gives.

    ``table`` is a table of pyarrow, a Parquet file, a folder of such files or a list of them; rows of several tables need not be
    added. The options have to be those of counting, but for ``vocab_size``, ``character_coverage``, ``required_chars`` and
    ``hard_vocab_limit``.
    """
    rows = _native.CountRows()
    for batch in _table(table).to_batches(max_chunksize=_BATCH_ROWS):
        words, counts = batch.column(0), batch.column(1)
        if words.null_count or counts.null_count:
            raise ValueError("table: a row has NULL; make the table with spiece, and add only its counts")
        offsets = memoryview(words.buffers()[1]).cast("B").cast("q")[words.offset : words.offset + len(words) + 1]
        data = words.buffers()[2]
        numbers = memoryview(counts.buffers()[1]).cast("B").cast("q")[counts.offset : counts.offset + len(counts)]
        rows.add(memoryview(data).cast("B") if data is not None else b"", offsets, numbers)
    serialized, summary = _native._train_counts(rows, _flags(options), progress)
    model = Model(serialized)
    model.summary = summary
    return model
