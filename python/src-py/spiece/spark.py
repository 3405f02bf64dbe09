"""Apache Spark: counting, training and encoding columns of text.

The words are counted where the text is, and the driver merges: the model is the one that a single machine makes of the whole
column. Only DataFrames are used, no RDDs, so that it also works over Spark Connect. The workers need this package and pyarrow.

    import spiece.spark
    model = spiece.spark.train(df, "text", vocab_size=32000, byte_fallback=True)
    model.save("tokenizer")
    tokens = spiece.spark.encode(df, "text", model)

    model = spiece.spark.train(df, "text", model_type="byte_bpe", pattern="cl100k", vocab_size=100000)

One machine and Spark agree because a model depends on the sum of the word counts alone, and sums do not depend on partitions,
on retried tasks or on their order: a task that fails yields no rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from . import counts as _counts
from ._model import Model
from ._progress import Progress
from ._tokenizer import Tokenizer

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["count", "encode", "train"]

# Distinct words that a task holds, 32 to 40 bytes each besides long texts, before it yields them.
MAX_WORDS = 4_000_000


def count(df: Any, column: str, *, max_words: int = MAX_WORDS, **options: object) -> Any:
    """The words of a column and their counts: a ``DataFrame`` with the columns ``word`` (binary) and ``count`` (bigint).

    Each row is a sentence; NULL is an empty one, and a line feed ends a sentence, as in a file. ``options`` are those of
    :func:`spiece.train`. A task holds at most ``max_words`` distinct words at a time. Write the result to Parquet to train many
    vocabularies from it: ``spiece.counts.train_counts(path, ...)``, or ``spiece train --input_format=counts``.

    With ``model_type="byte_bpe"`` the words are the pretokens of ``pattern``, and each row is a text as it is, with its line
    feeds; with ``document="line"`` rows are lines of a file, to each of which its line feed is added.
    """
    from pyspark.sql import functions as F

    # An option that is wrong is refused here, and not by each task.
    _counts.Counter(**options)
    rows = df.select(column).mapInArrow(_partition_counter(max_words, options), "word binary, count bigint")
    return rows.groupBy("word").agg(F.sum("count").alias("count"))


def _partition_counter(max_words: int, options: dict[str, object]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function that counts the batches of a partition."""

    def count_partition(batches: Iterator[Any]) -> Iterator[Any]:
        counter = _counts.Counter(**options)
        for batch in batches:
            counter.add(batch.column(0))
            if len(counter) > max_words:
                yield from _batches(counter.take_table(with_options=False))
        yield from _batches(counter.take_table())

    return count_partition


def _batches(table: Any) -> Iterator[Any]:
    """The rows with the types of Spark, whose binary columns have offsets of 32 bits."""
    import pyarrow as pa

    schema = pa.schema([(name, pa.binary() if name == "word" else pa.int64()) for name in table.column_names])
    for batch in table.to_batches(max_chunksize=1 << 16):
        columns = [column.cast(field.type) for column, field in zip(batch.columns, schema)]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def train(
    df: Any,
    column: str,
    *,
    counts_path: str | None = None,
    progress: Progress = None,
    max_words: int = MAX_WORDS,
    **options: object,
) -> Model:
    """The model of the sentences of a column, trained on the driver.

    The counts come to the driver in one Arrow table. With ``counts_path``, a folder that the driver and the workers see, they are
    written there as Parquet instead, and read from there.
    """
    counted = count(df, column, max_words=max_words, **options)
    if counts_path is not None:
        counted.write.mode("overwrite").parquet(counts_path)
        table = counts_path
    else:
        table = _to_arrow(counted)
    return _counts.train_counts(table, progress=progress, **options)


def _to_arrow(df: Any) -> Any:
    """All rows as a table of pyarrow."""
    if hasattr(df, "toArrow"):
        return df.toArrow()
    import pyarrow as pa

    return pa.Table.from_pandas(df.toPandas(), preserve_index=False)


def encode(
    df: Any,
    column: str,
    model: Model | Tokenizer | Buffer | str | os.PathLike[str],
    *,
    output: str = "ids",
    threads: int = 1,
    **options: Any,
) -> Any:
    """The columns of ``df`` and a column with the ids of the text in ``column``: an array of int, NULL where the text is NULL.

    ``model`` is a :class:`spiece.Model` or :class:`spiece.Tokenizer`, the bytes of a model file or its path on the driver. It is
    sent to the workers with the function. ``options`` are those of :meth:`spiece.Tokenizer.encode_ragged`, such as ``add_bos``.
    """
    from pyspark.sql.types import ArrayType, IntegerType, StructType

    if output in df.columns:
        raise ValueError(f"output: the DataFrame has a column {output!r}; choose another name")
    tokenizer = Model(model).tokenizer()
    schema = StructType(list(df.schema.fields)).add(output, ArrayType(IntegerType(), False))

    def encode_partition(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            yield _with_ids(batch, column, output, tokenizer, {"threads": threads, **options})

    return df.mapInArrow(encode_partition, schema)


def _with_ids(batch: Any, column: str, output: str, tokenizer: Tokenizer, options: dict[str, Any]) -> Any:
    """The batch with a column of ids."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = batch.column(batch.schema.get_field_index(column))
    ids = tokenizer.encode_ragged(texts.fill_null(""), **options).to_arrow().cast(pa.list_(pa.int32()))
    if texts.null_count:
        ids = pc.if_else(texts.is_valid(), ids, pa.scalar(None, ids.type))
    return batch.append_column(pa.field(output, ids.type), ids)
