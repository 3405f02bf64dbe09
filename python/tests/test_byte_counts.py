"""Counts of pretokens: tables of the parts of a corpus give the byte-level vocabulary of the whole."""

import pickle

import pytest

import spiece

pa = pytest.importorskip("pyarrow")
counts = pytest.importorskip("spiece.counts")

PATTERNS = ["gpt2", "cl100k", r"\w+|[^\w]", "none"]
TEXTS = ["low lower lowest\n", "new newer newest\n\n", "wider wide é世界 1234", "a\r\nb\n\nc", "", "x" * 3000] * 7


def options(**others):
    return {"model_type": "byte_bpe", **others}


def sorted_rows(table):
    return sorted(zip(table["word"].to_pylist(), table["count"].to_pylist()))


@pytest.mark.parametrize("order", ["hf", "rustbpe", "greatest"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_sums_of_tables_give_the_vocabulary_of_the_texts(corpus, pattern, order, tmp_path):
    import pyarrow.parquet as pq

    texts = [*corpus, *TEXTS]
    same = options(pattern=pattern, tie_order=order)
    training = {"vocab_size": 400, "special_tokens": ["<|end|>"], **same}
    whole = spiece.train(texts, **training)
    parts = [texts[start : start + 90] for start in range(0, len(texts), 90)]
    tables = [counts.count(part, **same) for part in parts][::-1]
    assert counts.train_counts(counts.add(tables), **training).to_bytes() == whole.to_bytes()
    for number, table in enumerate(tables):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    model = counts.train_counts(tmp_path, **training)
    assert model.to_bytes() == whole.to_bytes()
    del whole.summary["distinct_words"], model.summary["distinct_words"]
    assert model.summary == whole.summary
    assert pickle.loads(pickle.dumps(model)).to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("pattern", PATTERNS)
def test_rows_are_texts_or_the_lines_of_a_file(pattern, tmp_path):
    rows = [b"a\xffb low", None, b"x" * 5000, b"two\nlines", b"", b"r\r", b"end\n", b" \n \n\n"] * 3
    path = tmp_path / "rows.txt"
    path.write_bytes(b"".join((row or b"") + b"\n" for row in rows))
    training = options(pattern=pattern, vocab_size=300)
    for document, expected in [
        ("line", spiece.train(files=path, **training)),
        ("record", spiece.train([row or b"" for row in rows], **training)),
    ]:
        table = counts.count(pa.array(rows, pa.binary()), document=document, **options(pattern=pattern))
        model = counts.train_counts(table, **training)
        assert model.to_bytes() == expected.to_bytes()
        assert model.summary["sentences"] == expected.summary["sentences"]
    texts = counts.count(pa.array(rows, pa.binary()), **options(pattern=pattern))
    assert sorted_rows(texts) == sorted_rows(table), "texts are the default"


def test_a_counter_that_is_emptied_in_between_gives_the_same_vocabulary(corpus):
    training = options(pattern="cl100k", vocab_size=350)
    counter = counts.Counter(**training)
    tables = []
    for start in range(5):
        part = corpus[start::5]
        counter.add(pa.chunked_array([pa.array(part[:10]), pa.array([], pa.string()), pa.array(part[10:])]))
        tables.append(counter.take_table(with_options=start == 4))
        assert len(counter) == 0
    assert counts.train_counts(pa.concat_tables(tables), **training) == spiece.train(corpus, **training)


def test_arrays_larger_than_a_round_are_counted_in_both_ways():
    """The thread that counts reads at least 16 MiB at once."""
    rows = pa.array([f"word{number % 1000} {'long' * (number % 50)}" for number in range(200_000)])
    for document in ("record", "line"):
        counted = dict(sorted_rows(counts.count(rows, document=document, **options())))
        assert counted[b"word"] == 200_000 and counted[b" longlong"] == counted[b" " + b"long" * 49] == 4000
        assert counted[b"\xffsentences_used"] == 200_000


def test_the_order_of_minbpe_needs_the_text():
    training = options(vocab_size=258, tie_order="minbpe")
    with pytest.raises(spiece.TrainingError, match="have no order"):
        counts.train_counts(counts.count(["ab", "cd"], **options()), **training)
    with pytest.raises(spiece.TrainingError, match="have no order"):
        counts.Counter(**training)


def test_wrong_options_are_named():
    for wrong, message in [
        ({"pattern": "("}, "pattern: "),
        ({"document": "file"}, "document: rows are lines"),
        ({"json_field": "text"}, "json_field is for files"),
        ({"split_digits": True}, "split_digits: .*leave it out"),
        ({"tie_order": "best"}, 'tie_order: "best" is not hf'),
    ]:
        with pytest.raises(ValueError, match=message):
            counts.Counter(**options(**wrong))
    with pytest.raises(ValueError, match="pattern is for byte-level BPE"):
        counts.Counter(pattern="gpt2")


def test_tables_of_another_pattern_are_refused_by_name():
    table = counts.count(TEXTS, **options(pattern="gpt2"))
    with pytest.raises(spiece.TrainingError, match="pattern"):
        counts.train_counts(table, **options(pattern="cl100k", vocab_size=300))
    with pytest.raises(spiece.TrainingError, match="pattern"):
        other = counts.count(TEXTS, **options(pattern="cl100k"))
        counts.train_counts(counts.add([table, other]), **options(vocab_size=300))
    with pytest.raises(spiece.TrainingError, match="model_type"):
        counts.train_counts(counts.add([table, counts.count(TEXTS)]), **options(vocab_size=300))


def test_other_programs_add_tables_of_pretokens(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    import pyarrow.parquet as pq

    training = options(pattern="cl100k", vocab_size=350)
    for number in range(3):
        pq.write_table(counts.count(TEXTS[number::3], **training), tmp_path / f"{number}.parquet")
    files = str(tmp_path / "*.parquet")
    expected = spiece.train(TEXTS, **training)
    query = f"SELECT word, CAST(sum(count) AS BIGINT) AS count FROM '{files}' GROUP BY word"
    assert counts.train_counts(duckdb.sql(query).to_arrow_table(), **training) == expected
    summed = polars.scan_parquet(files).group_by("word").agg(polars.col("count").sum()).collect().to_arrow()
    assert counts.train_counts(summed, **training) == expected
