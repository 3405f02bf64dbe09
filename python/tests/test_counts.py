"""Word counts: tables of the parts of a corpus give the model of the whole."""

import os
from array import array

import pytest

import spiece

pa = pytest.importorskip("pyarrow")
counts = pytest.importorskip("spiece.counts")

OPTIONS = {"byte_fallback": True, "split_digits": True, "normalization_rule_name": "identity"}
TRAINING = {"vocab_size": 700, "hard_vocab_limit": False, **OPTIONS}


@pytest.fixture(scope="module")
def parts(corpus):
    return [corpus[start::5] for start in range(5)]


@pytest.fixture(scope="module")
def whole(corpus):
    return spiece.train(corpus, **TRAINING)


def test_sums_of_tables_in_any_form_give_the_model_of_the_text(parts, whole, tmp_path):
    tables = [counts.count(part, **OPTIONS) for part in parts]
    assert counts.train_counts(counts.add(tables), **TRAINING) == whole
    assert counts.train_counts(pa.concat_tables(tables), **TRAINING) == whole
    import pyarrow.parquet as pq

    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    assert counts.train_counts(tmp_path, **TRAINING) == whole
    model = counts.train_counts(counts.add([tmp_path]), **TRAINING)
    assert model == whole and model.summary["sentences"] == 400


def test_a_counter_that_is_emptied_in_between_gives_the_same_model(parts, whole):
    counter = counts.Counter(**TRAINING)
    tables = []
    for part in parts:
        counter.add(pa.chunked_array([pa.array(part[:10]), pa.array(part[10:])]))
        tables.append(counter.take_table(with_options=part is parts[-1]))
        counter.add(pa.array([], pa.large_string()))
        assert len(counter) == 0
    assert counts.train_counts(pa.concat_tables(tables), **TRAINING) == whole


def test_arrays_have_the_sentences_that_a_file_has(tmp_path):
    rows = [b"a\xffb", None, b"x" * 5000, "a\u2585".encode(), b"two\nlines", b"", b"r\r", b"end\n"]
    path = tmp_path / "rows.txt"
    path.write_bytes(b"".join((row or b"") + b"\n" for row in rows))
    from_file = spiece.train(files=path, **TRAINING)
    table = counts.count(pa.array(rows, pa.binary()), **OPTIONS)
    model = counts.train_counts(table, **TRAINING)
    assert model.pieces() == from_file.pieces()
    assert model.summary == from_file.summary
    assert model.summary["empty_sentences"] == 3
    sliced = pa.array([b"none", *rows, b"none"], pa.binary()).slice(1, len(rows))
    assert counts.count(sliced, **OPTIONS).equals(table) or counts.train_counts(
        counts.count(sliced, **OPTIONS), **TRAINING
    ) == model


def test_arrays_of_every_type_of_text_are_counted(parts):
    expected = counts.count(pa.array(parts[0]), **OPTIONS)
    types = [pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view()]
    for kind in [*types, pa.dictionary(pa.int32(), pa.string())]:
        texts = pa.array([None, "none", *parts[0], "none", None]).cast(kind).slice(2, len(parts[0]))
        assert sorted_rows(counts.count(texts, **OPTIONS)) == sorted_rows(expected), kind
    with pytest.raises(pa.ArrowNotImplementedError):
        counts.count(pa.array([1.5]), **OPTIONS)


def sorted_rows(table):
    return sorted(zip(table["word"].to_pylist(), table["count"].to_pylist()))


def test_a_null_is_an_empty_sentence_whatever_bytes_it_has(parts):
    """Arrow allows bytes where a row is NULL."""
    texts = pa.array(["a pen", "an apple", "a pen"])
    validity = pa.py_buffer(bytes([0b101]))
    texts = pa.Array.from_buffers(texts.type, 3, [validity, *texts.buffers()[1:]], null_count=1)
    assert sorted_rows(counts.count(texts)) == sorted_rows(counts.count(["a pen", "", "a pen"]))


def test_arrays_of_any_size_and_rows_between_them_are_counted():
    """The thread that counts reads arrays one after the other, some without rows, some larger than what it reads at once."""
    rows = [f"word{number % 1000} {'long' * (number % 50)}" for number in range(200_000)]
    whole = counts.Counter()
    whole.add(pa.array(rows))
    expected = sorted_rows(whole.take_table(with_options=False))
    counter = counts.Counter()
    start = 0
    for size in [0, 1, 0, 2, 70_000, 3, 1, 100_000, 0, len(rows)]:
        counter.add(pa.array(rows[start : start + size], pa.string()))
        start += size
    assert sorted_rows(counter.take_table(with_options=False)) == expected
    assert len(counter) == 0
    counter.add(pa.array(rows))
    assert sorted_rows(counter.take_table(with_options=False)) == expected


def test_a_row_that_is_refused_ends_the_counter():
    counter = counts.Counter(input_format="tsv")
    counter.add(pa.array(["a pen\t3"]))
    assert ("\u2581pen".encode(), 3) in sorted_rows(counter.take_table())
    counter.add(pa.array(["a pen\tmany"]))
    with pytest.raises(spiece.TrainingError, match="row|count"):
        counter.take_table()
    for call in [counter.take_table, lambda: counter.add(pa.array(["a pen\t3"]))]:
        with pytest.raises(RuntimeError, match="make another counter"):
            call()


def test_the_error_of_a_row_reaches_whoever_adds_more():
    counter = counts.Counter(input_format="tsv")
    with pytest.raises(spiece.TrainingError):
        for _ in range(1000):
            counter.add(pa.array(["a pen\tmany"] * 1000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_counter_with_rows_refuses_another_process():
    counter = counts.Counter()
    counter.add(pa.array(["a pen"]))
    child = os.fork()
    if not child:
        try:
            counter.add(pa.array(["a pen"]))
        except RuntimeError as error:
            os._exit(0 if "another process" in str(error) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert ("\u2581pen".encode(), 1) in sorted_rows(counter.take_table())


def test_offsets_outside_of_the_bytes_are_refused():
    from spiece import _native

    for offsets in [[0, 4], [0, 3, 2], [2, 1], [-(2**63), 2**63 - 1]]:
        for rows in [_native.WordCounter([]).add_rows, lambda *rows: _native.CountRows().add(*rows, array("q", [1]))]:
            with pytest.raises(BufferError, match="outside"):
                rows(b"abc", array("q", offsets))


def test_other_options_are_refused_by_name(parts):
    table = counts.count(parts[0], **OPTIONS)
    with pytest.raises(spiece.TrainingError, match="split_digits"):
        counts.train_counts(table, **{**TRAINING, "split_digits": False})
    other = counts.count(parts[1], **{**OPTIONS, "split_digits": False})
    with pytest.raises(spiece.TrainingError, match="split_digits"):
        counts.train_counts(counts.add([table, other]), **TRAINING)
    with pytest.raises(spiece.TrainingError, match="unigram"):
        counts.Counter(model_type="unigram")


def test_tables_that_nobody_counted_are_refused():
    for words, numbers, message in [
        ([b"word"], [1], "options"),
        ([b"\xc3"], [1], "UTF-8"),
        ([b"word"], [0], "below 1"),
    ]:
        table = pa.table({"word": pa.array(words, pa.binary()), "count": pa.array(numbers, pa.int64())})
        with pytest.raises(spiece.TrainingError, match=message):
            counts.train_counts(table, **TRAINING)
    with pytest.raises(ValueError, match="NULL"):
        counts.train_counts(pa.table({"word": [None], "count": [1]}), **TRAINING)


def test_files_of_the_program_and_of_python_are_the_same_tables(parts, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    import pyarrow.parquet as pq

    for number, part in enumerate(parts):
        pq.write_table(counts.count(part, **OPTIONS), tmp_path / f"{number}.parquet")
    files = str(tmp_path / "*.parquet")
    expected = spiece.train([line for part in parts for line in part], **TRAINING)
    query = f"SELECT word, CAST(sum(count) AS BIGINT) AS count FROM '{files}' GROUP BY word"
    summed = duckdb.sql(query).to_arrow_table()
    assert counts.train_counts(summed, **TRAINING) == expected
    summed = polars.scan_parquet(files).group_by("word").agg(polars.col("count").sum()).collect().to_arrow()
    assert counts.train_counts(summed, **TRAINING) == expected
