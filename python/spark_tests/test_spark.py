"""Apache Spark on this machine: counting, training and encoding. Needs pyspark and Java; under 90 seconds."""

import os
import pathlib
import subprocess
import sys

import pytest

import spiece
import spiece.counts
import spiece.spark

pytest.importorskip("pyspark")
from pyspark.sql import SparkSession  # noqa: E402

TESTDATA = pathlib.Path(__file__).parents[2] / "testdata"
OPTIONS = {"vocab_size": 900, "hard_vocab_limit": False, "byte_fallback": True, "split_digits": True}


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Two cores; a task may fail twice.
    builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
    session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="module")
def rows():
    lines = (TESTDATA / "udhr_small.txt").read_bytes().split(b"\n")[:-1]
    return [*lines, None, b"", b"a\xffb", b"x" * 5000, "a\u2585".encode(), b"two\nlines", b"carriage\rreturn"]


@pytest.fixture(scope="module")
def file(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "rows.txt"
    path.write_bytes(b"".join((row or b"") + b"\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def expected(file):
    return spiece.train(file.read_bytes().split(b"\n")[:-1], **OPTIONS)


@pytest.mark.parametrize("partitions", [1, 7])
def test_the_model_does_not_depend_on_partitions(spark, rows, expected, partitions):
    df = spark.createDataFrame([(row,) for row in rows], "text binary").repartition(partitions)
    model = spiece.spark.train(df, "text", **OPTIONS)
    assert model == expected
    assert model.summary == expected.summary


def test_rows_are_the_sentences_that_a_file_has(spark, rows, file):
    """Invalid UTF-8, U+2585, a sentence that is too long, NULL, an empty row, a line feed and a carriage return: in rows, and as lines of a file."""
    from_file = spiece.train(files=file, **OPTIONS)
    summary = from_file.summary
    skipped = [summary[name] for name in ("empty_sentences", "too_long_sentences", "reserved_sentences")]
    assert skipped == [2, 1, 1] and summary["sentences"] == len(rows) + 1 - 4
    df = spark.createDataFrame([(row,) for row in rows], "text binary").repartition(5)
    lines = spark.read.option("lineSep", "\n").text(str(file)).repartition(3)
    for model in (spiece.spark.train(df, "text", **OPTIONS), spiece.spark.train(lines, "value", **OPTIONS)):
        assert model.pieces() == from_file.pieces()
        assert model.summary == summary


def test_a_task_holds_few_words_and_its_counts_serve_many_vocabularies(spark, rows, expected, tmp_path):
    df = spark.createDataFrame([(row,) for row in rows], "text binary")
    path = str(tmp_path / "counts")
    assert spiece.spark.train(df, "text", counts_path=path, max_words=100, **OPTIONS) == expected
    smaller = spiece.counts.train_counts(path, **{**OPTIONS, "vocab_size": 600})
    assert len(smaller) == 600


def test_a_task_that_fails_once_is_counted_once(spark, rows, expected, tmp_path):
    """The first attempt of each task ends with an error after it has counted."""
    marks = tmp_path / "attempts"
    marks.mkdir()
    df = spark.createDataFrame([(row,) for row in rows], "text binary").repartition(3)

    def fail_once(batches):
        from pyspark import TaskContext

        mark = marks / str(TaskContext.get().partitionId())
        for batch in batches:
            yield batch
        if not mark.exists():
            mark.touch()
            raise RuntimeError("the first attempt fails")

    model = spiece.spark.train(df.mapInArrow(fail_once, df.schema), "text", **OPTIONS)
    assert len(list(marks.iterdir())) == 3
    assert model == expected


def test_ids_in_a_column_are_those_of_the_tokenizer(spark, expected):
    texts = ["to be or not to be", "", None, "日本語 😀"]
    df = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "id int, text string")
    rows = spiece.spark.encode(df, "text", expected, add_bos=True).orderBy("id").collect()
    tokenizer = expected.tokenizer()
    for row, text in zip(rows, texts):
        wanted = None if text is None else tokenizer.encode_ragged([text], add_bos=True)[0]
        assert row.ids == wanted
    with pytest.raises(ValueError, match="choose another name"):
        spiece.spark.encode(df, "text", expected, output="id")


@pytest.mark.parametrize("order", ["hf", "rustbpe", "greatest"])
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k"])
def test_byte_level_vocabularies_have_the_bytes_of_training_without_spark(spark, rows, file, tmp_path, pattern, order):
    counting = {"model_type": "byte_bpe", "pattern": pattern, "tie_order": order}
    training = {"vocab_size": 500, "special_tokens": ["<|end|>"], **counting}
    df = spark.createDataFrame([(row,) for row in rows], "text binary").repartition(5)
    lines = spark.read.option("lineSep", "\n").text(str(file)).repartition(3)
    texts = spiece.train([row or b"" for row in rows], **training)
    from_file = spiece.train(files=file, **training)
    # Only cl100k has tokens of other characters and line feeds.
    assert (texts.to_bytes() == from_file.to_bytes()) == (pattern == "gpt2")
    path = str(tmp_path / "counts")
    for expected, model in [
        (texts, spiece.spark.train(df, "text", **training)),
        (texts, spiece.spark.train(df, "text", counts_path=path, max_words=100, **training)),
        (from_file, spiece.spark.train(lines, "value", document="line", **training)),
        (from_file, spiece.spark.train(df, "text", document="line", **training)),
    ]:
        assert model.to_bytes() == expected.to_bytes()
        assert model.summary == expected.summary
    for folder, of in [("spark", model), ("local", from_file)]:
        (tmp_path / folder).mkdir()
        of.save(tmp_path / folder / "m")
        of.save(tmp_path / folder / "m", format="vocab-merges")
    for name in ("m.json", "m-merges.txt", "m-vocab.json"):
        assert (tmp_path / "spark" / name).read_bytes() == (tmp_path / "local" / name).read_bytes()
    smaller = {**counting, "vocab_size": 300}
    assert spiece.counts.train_counts(path, **smaller) == spiece.train([row or b"" for row in rows], **smaller)


def test_ids_of_byte_level_vocabularies_are_those_of_the_tokenizer(spark):
    texts = ["low lower\nlowest<|end|>", "", None, "日本語 😀"]
    df = spark.createDataFrame([(number, text) for number, text in enumerate(texts)], "id int, text string")
    model = spiece.train(texts[:1], model_type="byte_bpe", vocab_size=262, pattern="cl100k", special_tokens=["<|end|>"])
    # No file of tokenizers or tiktoken holds this vocabulary, whose ids have gaps and whose pattern is an expression.
    ranks = {bytes([byte]): 2 * byte for byte in range(256)} | {b"lo": 600, b"low": 601}
    of_ranks = spiece.Tokenizer.from_ranks(ranks, pattern=r"\w+|\W+", special_tokens={"<|end|>": 5})
    for given in (model, model.tokenizer(), model.to_bytes(), of_ranks):
        tokenizer = spiece.Model(given).tokenizer()
        encoded = spiece.spark.encode(df, "text", given, allowed_special="all").orderBy("id").collect()
        for row, text in zip(encoded, texts):
            assert row.ids == (None if text is None else tokenizer.encode(text, allowed_special="all"))


def test_a_wrong_option_is_named_before_a_task_begins(spark):
    df = spark.createDataFrame([("low",)], "text string")
    with pytest.raises(spiece.TrainingOptionError, match="pattern: "):
        spiece.spark.train(df, "text", model_type="byte_bpe", vocab_size=300, pattern="(")
    with pytest.raises(spiece.TrainingError, match="have no order"):
        spiece.spark.count(df, "text", model_type="byte_bpe", tie_order="minbpe")


def test_spark_connect_gives_the_same():
    program = [sys.executable, pathlib.Path(__file__).with_name("connect_session.py"), TESTDATA / "udhr_small.txt"]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=600)
    if ended.returncode == 77:
        pytest.skip(ended.stdout.strip())
    assert ended.returncode == 0, ended.stderr
    assert "equal: " in ended.stdout
