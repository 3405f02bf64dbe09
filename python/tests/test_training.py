"""Training, in both interfaces."""

import gzip
import io
import json
import os

import pytest

import spiece
import spiece.sentencepiece as spm

OPTIONS = {"vocab_size": 300, "hard_vocab_limit": False}


def test_an_iterator_and_a_file_give_the_same_pieces(corpus, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(corpus), encoding="utf-8")
    for model_type in ("bpe", "unigram", "word", "char"):
        from_lines = spiece.train(corpus, model_type=model_type, **OPTIONS)
        from_file = spiece.train(files=path, model_type=model_type, **OPTIONS)
        assert from_lines.pieces() == from_file.pieces()
        assert from_lines.model_type == model_type
        assert from_lines.summary["pieces"] == len(from_lines)


def test_the_drop_in_trains_unigram_models_and_writes_both_files(corpus, tmp_path):
    prefix = str(tmp_path / "m")
    log = io.StringIO()
    result = spm.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus), model_prefix=prefix, logstream=log, **OPTIONS
    )
    assert result is None
    assert "trained" in log.getvalue()
    model = spiece.Model.open(prefix + ".model")
    assert model.model_type == "unigram"
    assert len(open(prefix + ".vocab", encoding="utf-8").readlines()) == len(model)
    writer = io.BytesIO()
    spm.SentencePieceTrainer.Train(sentence_iterator=iter(corpus), model_writer=writer, **OPTIONS)
    assert spiece.Model.from_bytes(writer.getvalue()).pieces() == model.pieces()


def test_training_from_a_string_returns_true(corpus, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(corpus), encoding="utf-8")
    flags = f"--input={path} --model_prefix={tmp_path / 'm'} --vocab_size=300 --model_type=bpe --hard_vocab_limit=false"
    assert spm.SentencePieceTrainer.train(flags) is True
    assert spiece.Model.open(tmp_path / "m.model").model_type == "bpe"


def test_progress_is_reported_and_can_stop(corpus):
    events = []
    spiece.train(corpus, progress=events.append, **OPTIONS)
    assert [event["stage"] for event in events if event["event"] == "started"][0] == "reading"

    def stop(event):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        spiece.train(corpus, progress=stop, **OPTIONS)


def test_an_exception_of_the_iterator_is_raised(corpus):
    def sentences():
        yield from corpus
        raise LookupError("the disk is gone")

    with pytest.raises(LookupError, match="the disk is gone"):
        spiece.train(sentences(), **OPTIONS)
    with pytest.raises(ValueError, match="str or bytes"):
        spiece.train([1, 2], **OPTIONS)


def test_ctrl_c_stops_training(corpus, endless_until_ctrl_c):
    with pytest.raises(KeyboardInterrupt):
        spiece.train(endless_until_ctrl_c(corpus), **OPTIONS)


def test_wrong_options_name_the_option(corpus):
    with pytest.raises(ValueError, match="vocab_size"):
        spiece.train(corpus, vocab_size="many")
    with pytest.raises(RuntimeError, match="there is no option vocabsize"):
        spiece.train(corpus, vocabsize=3)
    with pytest.raises(TypeError, match="either sentences or files"):
        spiece.train(vocab_size=10)


def test_a_normalizer_is_recorded(corpus, tmp_path):
    normalizer = spm.SentencePieceNormalizer(norm_map=[("le", "LE")], add_dummy_prefix=False)
    model = spiece.train(corpus, normalizer=normalizer, **OPTIONS)
    assert model.tokenizer().normalize("le") == "LE"
    assert spm.SentencePieceNormalizer(model_proto=model.to_bytes()).decompile() == [("le", "LE")]


def test_a_pretokenizer_bounds_pieces(corpus):
    model = spiece.train(corpus, pretokenizer=lambda text: list(text), **OPTIONS)
    lengths = {len(text) for text, _, kind in model.pieces() if kind == "normal"}
    assert lengths == {1}

    def fail(text):
        raise LookupError("no tokens")

    with pytest.raises(RuntimeError, match="Pretokenizer failed.*no tokens"):
        spiece.train(corpus, pretokenizer=fail, **OPTIONS)


def test_models_are_saved_whole_or_not_at_all(corpus, tmp_path):
    model = spiece.train(corpus, **OPTIONS)
    model.save(tmp_path / "saved")
    assert spiece.Model.open(tmp_path / "saved.model") == model
    with pytest.raises(FileNotFoundError, match="no_such_folder"):
        model.save(tmp_path / "no_such_folder" / "m")
    assert sorted(os.listdir(tmp_path)) == ["saved.model", "saved.vocab"]


class Bar:
    """Stands for a bar of tqdm, and keeps what was shown."""

    shown = []

    def __init__(self, desc=None, total=None, **options):
        self.desc, self.total, self.n = desc, total, 0

    def refresh(self):
        self.shown.append((self.desc, self.n, self.total))

    def close(self):
        self.shown.append((self.desc, self.n, self.total))


@pytest.fixture
def shown(monkeypatch):
    """What bars show."""
    import sys
    import types

    Bar.shown = []
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, types.SimpleNamespace(tqdm=Bar))
    return Bar.shown


@pytest.mark.parametrize("model_type", ["bpe", "unigram", "word", "char"])
def test_the_bar_of_each_stage_moves_to_its_end(shown, corpus, tmp_path, model_type):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(corpus) + "\n", encoding="utf-8")
    model = spiece.train(files=path, model_type=model_type, progress=True, **OPTIONS)
    ends = {desc: (n, total) for desc, n, total in shown}
    assert ends["reading"] == (path.stat().st_size, path.stat().st_size)
    if model_type == "bpe":
        assert ends["merging"] == (model.summary["merges"], model.summary["merges"])
    if model_type == "unigram":
        moves = [n for desc, n, _ in shown if desc == "estimating"]
        assert moves == sorted(moves) and len(set(moves)) > 2 and ends["estimating"][0] == ends["estimating"][1] > 0


def test_the_last_merge_is_reported_although_fewer_are_found_than_wanted(corpus):
    for text, sizes in ((corpus, {"vocab_size": 8000}), (corpus, {"vocab_size": 273}), (["ab ab"] * 3, {"vocab_size": 99})):
        events = []
        model = spiece.train(text, progress=events.append, hard_vocab_limit=False, **sizes)
        merged = [event["done"] for event in events if event["event"] == "merged"]
        assert merged[-1] == model.summary["merges"] and merged == sorted(set(merged))


def test_continued_training_and_counts_take_a_bar_too(shown, bpe_path, corpus):
    spiece.Model.open(bpe_path).extend(corpus, pieces=20, progress=True)
    assert shown[-1] == ("merging", 20, 20)
    pytest.importorskip("pyarrow")
    from spiece import counts

    del shown[:]
    model = counts.train_counts(counts.count(corpus), progress=True, **OPTIONS)
    assert ("merging", model.summary["merges"], model.summary["merges"]) in shown


def test_without_tqdm_a_warning_says_why_there_is_no_bar(monkeypatch, corpus):
    import sys

    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.warns(RuntimeWarning, match="pip install tqdm"):
        spiece.train(corpus, progress=True, **OPTIONS)
    with pytest.raises(TypeError, match="progress: expected a function or True, not str"):
        spiece.train(corpus, progress="bar", **OPTIONS)


def test_symbols_in_a_set_have_the_ids_of_their_order(corpus):
    symbols = ["<b>", "<a>", "<d>", "<c>"]
    expected = spiece.train(corpus, user_defined_symbols=sorted(symbols), **OPTIONS)
    assert spiece.train(corpus, user_defined_symbols=set(symbols), **OPTIONS) == expected
    assert spiece.train(corpus, user_defined_symbols=(s for s in sorted(symbols)), **OPTIONS) == expected


def test_records_are_read_as_lines_or_as_wholes_and_bad_ones_are_skipped(corpus, tmp_path):
    texts = ["\n".join(corpus[start : start + 3]) for start in range(0, len(corpus), 3)]
    records = [json.dumps({"text": text, "score": float("nan")}) for text in texts]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\ufeff" + "\n".join(records), encoding="utf-8")
    options = {"normalization_rule_name": "identity", **OPTIONS}
    lines = spiece.train(files=path, json_field="text", **options)
    assert lines.pieces() == spiece.train(corpus, **options).pieces()
    wholes = spiece.train(files=path, json_field="text", document="record", **options)
    assert wholes.pieces() == spiece.train(texts, **options).pieces()
    assert any("\n" in text for text, _, _ in wholes.pieces())

    path.write_text("\n".join([records[0], '{"text": null}', *records[1:]]), encoding="utf-8")
    with pytest.raises(Exception, match='line 2: the field "text" is null'):
        spiece.train(files=path, json_field="text", **options)
    with pytest.warns(UserWarning, match='line 2: the field "text" is null'):
        skipped = spiece.train(files=path, json_field="text", on_bad_record="skip", **options)
    assert skipped.pieces() == lines.pieces()
    assert skipped.summary["bad_records"] == 1
    with pytest.raises(ValueError, match="for files"):
        spiece.train(texts, document="record", **options)


def test_files_that_are_no_text_are_refused_or_doubted(corpus, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_bytes("\n".join(corpus).encode("utf-16"))
    with pytest.raises(Exception, match="UTF-16"):
        spiece.train(files=path, **OPTIONS)
    path.write_bytes(gzip.compress("\n".join(corpus).encode()))
    assert spiece.train(files=path, **OPTIONS).pieces() == spiece.train(corpus, **OPTIONS).pieces()
    path.write_bytes(b"a\0b\n" + "\n".join(corpus).encode())
    with pytest.warns(UserWarning, match="NUL"):
        spiece.train(files=path, **OPTIONS)


def test_a_model_is_trained_like_another_one_but_for_the_options_that_are_given(corpus, tmp_path):
    special = {"pad_id": 3, "user_defined_symbols": ["<sep>"], "normalization_rule_name": "nfkc"}
    old = spiece.train(corpus, **OPTIONS, **special)
    old.save(tmp_path / "old")
    for like in (old, tmp_path / "old.model", str(tmp_path / "old.model")):
        assert spiece.train(corpus, like=like).pieces() == old.pieces()
        smaller = spiece.train(corpus, like=like, vocab_size=len(old) - 10)
        assert len(smaller) == len(old) - 10
        assert smaller.pieces()[:5] == old.pieces()[:5]
        assert spiece.train(corpus, like=spiece.Tokenizer(like)).pieces() == old.pieces()
    (tmp_path / "a.json").write_text('{"version": "1.0"}')
    with pytest.raises(spiece.ModelError, match="a.json"):
        spiece.train(corpus, like=tmp_path / "a.json")
    with pytest.raises(FileNotFoundError, match="missing.model"):
        spiece.train(corpus, like=tmp_path / "missing.model")
    with pytest.raises(ValueError, match="limit_alphabet is for training like a tokenizer.json; add like="):
        spiece.train(corpus, like=old, limit_alphabet=40)
    with pytest.raises(TypeError, match="leave model_type='byte_bpe' out"):
        spiece.train(corpus, like=old, model_type="byte_bpe")


def test_byte_level_training_takes_required_and_forbidden_tokens(corpus):
    options = {"required_tokens": ["SELECT", " FROM"], "forbidden_tokens": ["never_made  the", "never_merged e"]}
    tokenizer = spiece.train(corpus, model_type="byte_bpe", vocab_size=400, **options).tokenizer()
    assert len(tokenizer.encode(" FROM")) == 1
    assert len(tokenizer.encode("SELECT")) == 1
    assert len(tokenizer.encode(" the")) > 1
