"""`model_type="byte_bpe"`: the vocabularies of testdata/bytes, which tokenizers and rustbpe have trained."""

import json
import pickle

import pytest

import spiece

TEXTS = ["low lower lowest\n", "new newer newest", "wider wide é世界 1234\n\n"] * 5


def train(texts=None, **options):
    return spiece.train(texts, model_type="byte_bpe", **options)


@pytest.fixture
def small_corpus(testdata):
    return testdata / "udhr_small.txt"


def tokens(model):
    tokenizer = model.tokenizer()
    return [tokenizer.id_to_bytes(id) for id in range(len(model))]


@pytest.mark.parametrize(("name", "options"), [
    ("llama3", {"pattern": "llama3", "vocab_size": 360}),
    ("whole", {"pattern": "none", "vocab_size": 270}),
])
def test_the_file_is_the_one_that_tokenizers_saves(testdata, small_corpus, tmp_path, name, options):
    expected = (testdata / f"bytes/{name}.json").read_bytes()
    lines = small_corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    for sources in ({"files": small_corpus}, {"files": [small_corpus], "threads": 2}, {"texts": lines}):
        model = train(**sources, **options)
        assert model.to_bytes() == expected
    model.save(tmp_path / "m")
    assert (tmp_path / "m.json").read_bytes() == expected


def test_tokens_are_those_of_rustbpe(testdata, small_corpus):
    expected = spiece.Tokenizer.open(testdata / "bytes/rustbpe.tiktoken", pattern="rustbpe")
    model = train(files=small_corpus, pattern="rustbpe", tie_order="rustbpe", vocab_size=len(expected))
    assert tokens(model) == [expected.id_to_bytes(id) for id in range(len(expected))]


def test_the_result_is_a_model_with_a_tokenizer_and_a_summary():
    model = train(TEXTS, vocab_size=280, special_tokens=["<|end|>", "a,b"])
    assert isinstance(model, spiece.Model) and model.model_type == "byte_bpe" and len(model) == 280
    assert model.summary["pieces"] == 280 and model.summary["merges"] == 22 and model.summary["sentences"] == len(TEXTS)
    tokenizer = model.tokenizer()
    assert tokenizer.special_tokens == {"<|end|>": 0, "a,b": 1}
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text)) == text
    copy = pickle.loads(pickle.dumps(model))
    assert copy == model and copy.summary == model.summary
    assert spiece.Model(model.to_bytes()) == model


def test_saved_files_are_read_back_in_each_format(tmp_path):
    special = {"<|end|>": 279}
    model = train(TEXTS, vocab_size=280, tie_order="rustbpe", pattern="cl100k", special_tokens=list(special))
    lacking = {"pattern": "cl100k", "special_tokens": special}
    for format, names, options in (
        ("tokenizer.json", ["m.json"], {}),
        ("tiktoken", ["m.tiktoken"], lacking),
        ("vocab-merges", ["m-merges.txt", "m-vocab.json"], lacking),
    ):
        folder = tmp_path / format
        folder.mkdir()
        model.save(folder / "m", format=format)
        assert sorted(path.name for path in folder.iterdir()) == names
        if format == "vocab-merges":
            for name in names:
                (folder / name).rename(folder / name.removeprefix("m-"))
        path = folder if format == "vocab-merges" else folder / names[0]
        read = spiece.Tokenizer.open(path, **options)
        assert read.encode_batch(TEXTS) == model.tokenizer().encode_batch(TEXTS)
        assert read.encode("low<|end|>", allowed_special="all")[-1] == 279


def test_files_of_llama_cpp_and_minbpe_are_saved(tmp_path, small_corpus):
    model = train(files=small_corpus, vocab_size=300, tie_order="rustbpe", pattern="llama3")
    for format, name in (("gguf", "m.gguf"), ("minbpe", "m.model")):
        model.save(tmp_path / "m", format=format)
        read = spiece.Tokenizer.open(tmp_path / name)
        texts = ["All human beings are born free", "low lower 123"]
        assert [read.decode(ids) for ids in read.encode_batch(texts)] == texts
        assert read.count_batch(texts).tolist() == model.tokenizer().count_batch(texts).tolist()


def test_what_cannot_be_saved_is_said(tmp_path, bpe_path):
    model = train(TEXTS, vocab_size=260)
    with pytest.raises(ValueError, match="format: json is not tokenizer.json"):
        model.save(tmp_path / "m", format="json")
    with pytest.raises(spiece.ModelError):
        model.save(tmp_path / "m", format="model")
    with pytest.raises(spiece.MissingFileError):
        model.save(tmp_path / "missing" / "m")
    with pytest.raises(spiece.ModelError, match="format: tiktoken is for byte-level"):
        spiece.Model.open(bpe_path).save(tmp_path / "m", format="tiktoken")
    assert list(tmp_path.iterdir()) == []


def test_options_limit_the_merges():
    for limits, is_allowed in (
        ({"max_token_length": 4}, lambda token: len(token) < 4),
        ({"pattern": r"\w\w?"}, lambda token: len(token.decode(errors="replace")) <= 2),
    ):
        learned = tokens(train(TEXTS, vocab_size=400, **limits))[256:]
        assert learned and all(map(is_allowed, learned))
    assert len(train(["ab ab ab cd"], vocab_size=300, min_frequency=3)) < len(train(["ab ab ab cd"], vocab_size=300))
    unlimited = train(TEXTS, vocab_size=300)
    assert train(TEXTS, vocab_size=300, min_frequency=None, max_token_length=None, special_tokens=None) == unlimited


def test_line_ends_of_sentences_are_text_and_lines_of_files_have_theirs(tmp_path):
    options = {"pattern": "none", "vocab_size": 300}
    assert b"a\n\n" in tokens(train(["a\n\n"] * 3, **options))
    path = tmp_path / "corpus.txt"
    path.write_text("a\n\nb\n\n" * 3)
    assert b"\n\n" not in tokens(train(files=path, **options))
    assert b"\n\n" in tokens(train(files=path, document="file", **options))
    records = tmp_path / "corpus.jsonl"
    records.write_text('{"text": "a\\n\\nb\\n\\nc"}\n' * 3)
    assert b"\n\n" in tokens(train(files=records, json_field="text", **options))
    assert b"\n\n" not in tokens(train(files=records, json_field="text", document="line", **options))


def test_counts_of_lines_are_read(tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("ab\t7\ncd\t2\n")
    model = train(files=path, input_format="tsv", vocab_size=300, min_frequency=3)
    assert tokens(model)[256:] == [b"ab"]


@pytest.mark.parametrize(("options", "message"), [
    ({"vocab_size": 100}, "vocab_size: 100 is too small"),
    ({"vocab_size": "many"}, "vocab_size"),
    ({"vocab_size": -1}, "vocab_size"),
    ({"pattern": "("}, "pattern: "),
    ({"tie_order": "best"}, 'tie_order: "best" is not hf, rustbpe, minbpe or greatest'),
    ({"min_frequency": -1}, "min_frequency"),
    ({"max_token_length": 0}, "max_token_length"),
    ({"special_tokens": ["é"]}, "special_tokens"),
    ({"document": "page"}, 'document: "page" is not line, record or file'),
    ({"document": "file"}, "document are for files"),
    ({"input_format": "counts"}, 'input_format: "counts" is not text or tsv'),
    ({"character_coverage": 0.9}, "character_coverage: .*leave it out"),
    ({"control_symbols": ["<a>"]}, "control_symbols: .*use special_tokens"),
    ({"normalizer": b""}, "normalizer: .*normalize the sentences"),
    ({"pretokenizer": str.split}, "pretokenizer: .*use pattern"),
    ({"vocabsize": 300}, "there is no option vocabsize"),
])
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        train(TEXTS, **options)


def test_options_of_byte_level_bpe_are_listed_and_refused_for_other_types():
    for name in ("pattern", "tie_order", "min_frequency", "max_token_length", "special_tokens"):
        assert "byte_bpe" in spiece.Trainer.options()[name]
        with pytest.raises(ValueError, match=f"{name} is for byte-level BPE; add model_type='byte_bpe'"):
            spiece.train(TEXTS, **{name: "1"})


def test_problems_of_the_text_are_raised(tmp_path):
    def failing():
        yield "a"
        raise LookupError("the disk is gone")

    with pytest.raises(LookupError, match="the disk is gone"):
        train(failing(), vocab_size=300)
    with pytest.raises(ValueError, match="sentence 1: .*str or bytes"):
        train(["a", 5], vocab_size=300)
    with pytest.raises(spiece.TrainingError):
        train([], vocab_size=300)
    with pytest.raises(FileNotFoundError):
        train(files=tmp_path / "missing.txt", vocab_size=300)


def test_progress_is_reported_and_can_stop(small_corpus):
    events = []
    model = train(files=small_corpus, vocab_size=300, progress=events.append)
    assert [event["stage"] for event in events if event["event"] == "started"][:2] == ["reading", "merging"]
    merged = [event["done"] for event in events if event["event"] == "merged"]
    assert merged[-1] == model.summary["merges"] == 44

    def stop(event):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        train(TEXTS, vocab_size=300, progress=stop)


def test_ctrl_c_stops_training(endless_until_ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        train(endless_until_ctrl_c(TEXTS), vocab_size=300)


@pytest.mark.parametrize("special", [[], ["<|bos|>", "<|end|>"]])
def test_the_file_equals_that_of_the_installed_tokenizers(special):
    tokenizers = pytest.importorskip("tokenizers")
    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    theirs.train_from_iterator(TEXTS, trainer)
    model = train(TEXTS, vocab_size=300, special_tokens=special)
    expected = json.loads(theirs.to_str())["model"]
    saved = json.loads(model.to_bytes())["model"]
    assert saved["vocab"] == expected["vocab"] and saved["merges"] == expected["merges"]


def test_tables_of_counts_that_are_no_pretokens_are_refused():
    pa = pytest.importorskip("pyarrow")
    from spiece import counts

    table = counts.count(["to be", "or not"])
    with pytest.raises(spiece.TrainingError):
        counts.train_counts(table, model_type="byte_bpe", vocab_size=300)
    with pytest.raises(spiece.TrainingError):
        counts.train_counts(pa.table({"word": [b"a"], "count": [1]}), model_type="byte_bpe", vocab_size=300)


def test_tables_of_pretokens_give_the_tokens_of_the_text():
    pa = pytest.importorskip("pyarrow")
    from spiece import counts

    words = ["low", " lower", " lowest"]
    rows = dict.fromkeys((word.encode() for word in words), 4)
    rows |= {b"\xfffingerprint\ncounting_rules=1\nmodel_type=byte_bpe\npattern=gpt2\n": 1, b"\xffsentences_used": 4}
    table = pa.table({"word": list(rows), "count": list(rows.values())})
    options = {"model_type": "byte_bpe", "vocab_size": 264}
    model = counts.train_counts(table, **options)
    assert model == train(["".join(words)] * 4, vocab_size=264) and model.summary["sentences"] == 4
    with pytest.raises(spiece.TrainingError, match="pattern"):
        counts.train_counts(table, pattern="cl100k", **options)
    with pytest.raises(spiece.TrainingError):
        counts.train_counts(table, tie_order="minbpe", **options)
