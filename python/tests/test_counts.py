"""Word counts: tables of the parts of a corpus give the model of the whole."""

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
