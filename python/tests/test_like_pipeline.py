"""`like=` a tokenizer.json: its BPE or WordPiece model is trained anew, and all else stays."""

import json
import pickle

import pytest

import spiece

TEXTS = ["low lower lowest\n", "new newer newest <s>", "wider wide é世界 1234\n\n"] * 5


@pytest.fixture
def small_corpus(testdata):
    return testdata / "udhr_small.txt"


@pytest.fixture
def gpt2(testdata):
    """A byte-level tokenizer.json with added tokens."""
    return testdata / "bytes/gpt2.json"


@pytest.fixture
def wordpiece(testdata):
    """A tokenizer.json of BERT."""
    return testdata / "wordpiece/tokenizer.json"


def trained_by_tokenizers(like, lines, make_trainer, **options):
    """The model that the installed tokenizers trains, and their tokenizer; added tokens are text for it."""
    tokenizers = pytest.importorskip("tokenizers")
    parts = json.loads(like.read_bytes())
    special = [token["content"] for token in parts["added_tokens"] if token["special"]]
    parts["added_tokens"] = []
    theirs = tokenizers.Tokenizer.from_str(json.dumps(parts))
    trainer = make_trainer(tokenizers)(special_tokens=special, show_progress=False, **options)
    theirs.train_from_iterator(lines, trainer)
    return json.loads(theirs.to_str())["model"]


def test_the_vocabulary_is_that_of_tokenizers_for_a_byte_level_file(testdata, small_corpus):
    like = testdata / "bytes/words.json"
    lines = small_corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    pre_tokenizers = pytest.importorskip("tokenizers").pre_tokenizers
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    limits = {"vocab_size": 400, "initial_alphabet": alphabet, "min_frequency": 2}
    expected = trained_by_tokenizers(like, lines, lambda it: it.trainers.BpeTrainer, **limits)
    options = {"split_special_tokens": False, "special_ids_first": True}
    for sources in ({"sentences": lines}, {"files": small_corpus}, {"files": [small_corpus], "threads": 2}):
        model = spiece.train(**sources, like=like, **limits, **options)
        saved = json.loads(model.to_bytes())["model"]
        assert saved["vocab"] == expected["vocab"] and saved["merges"] == expected["merges"]


def test_the_vocabulary_is_that_of_tokenizers_for_wordpiece(wordpiece, small_corpus, tmp_path):
    parts = json.loads(wordpiece.read_bytes())
    # Added tokens that are not special are lost by tokenizers.
    parts["added_tokens"] = [token for token in parts["added_tokens"] if token["special"]]
    like = tmp_path / "tokenizer.json"
    like.write_text(json.dumps(parts))
    lines = small_corpus.read_text(encoding="utf-8").splitlines(keepends=True)
    # With a prefix, tokenizers numbers the characters within words in another order in each run.
    options = {"vocab_size": 500, "continuing_subword_prefix": ""}
    expected = trained_by_tokenizers(like, lines, lambda it: it.trainers.WordPieceTrainer, **options)
    for folder_or_file in (like, str(like), tmp_path, spiece.Tokenizer.open(like)):
        model = spiece.train(
            lines, like=folder_or_file, split_special_tokens=False, special_ids_first=True, **options
        )
        assert json.loads(model.to_bytes())["model"]["vocab"] == expected["vocab"]


def test_all_but_the_model_is_as_in_the_file(wordpiece, gpt2, small_corpus, tmp_path):
    for like in (wordpiece, gpt2):
        model = spiece.train(files=small_corpus, like=like, vocab_size=420)
        model.save(tmp_path / "m")
        assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
        saved = (tmp_path / "m.json").read_bytes()
        assert saved == model.to_bytes()
        new, old = json.loads(saved), json.loads(like.read_bytes())
        for component in ("normalizer", "pre_tokenizer", "decoder"):
            assert new[component] == old[component]
        assert {token["content"] for token in new["added_tokens"]} == {token["content"] for token in old["added_tokens"]}
        assert len(model) == 420 and model.summary["pieces"] == 420 and model.summary["merges"] > 0
        assert spiece.Tokenizer.open(tmp_path / "m.json") == model.tokenizer()
        copy = pickle.loads(pickle.dumps(model))
        assert copy == model and copy.summary == model.summary


def test_the_number_of_tokens_is_that_of_the_file_unless_it_is_given(gpt2, small_corpus):
    old = spiece.Tokenizer.open(gpt2)
    assert len(spiece.train(files=small_corpus, like=old)) == len(old)
    assert len(spiece.train(files=small_corpus, like=old, vocab_size=None)) == len(old)
    assert len(spiece.train(files=small_corpus, like=spiece.Model(old), vocab_size=300)) == 300


def test_special_tokens_are_added_to_those_of_the_file(gpt2, small_corpus):
    options = {"vocab_size": 300, "special_tokens": ["<|new|>", "a,b", "<s>"]}
    tokenizer = spiece.Trainer(like=gpt2, **options).train(files=small_corpus).tokenizer()
    old = spiece.Tokenizer.open(gpt2).special_tokens
    assert set(tokenizer.special_tokens) == {*old, "<|new|>", "a,b"}
    assert all(tokenizer.special_tokens[text] == id for text, id in old.items())
    ids = tokenizer.encode("low<|new|>", allowed_special="all")
    assert ids[-1] == tokenizer.special_tokens["<|new|>"]
    assert tokenizer.decode(tokenizer.encode("lowest é")) == "lowest é"


def test_special_tokens_are_cut_out_unless_they_are_text(gpt2):
    model = spiece.train(TEXTS, like=gpt2, vocab_size=400)
    as_text = spiece.train(TEXTS, like=gpt2, vocab_size=400, split_special_tokens=False)
    assert model.tokenizer().count(" <") == 2 and as_text.tokenizer().count(" <") == 1
    assert model.summary["special_tokens"] == 5 and as_text.summary["special_tokens"] == 0


def test_characters_are_limited_and_required(wordpiece):
    def pieces(**options):
        return {text for text, _, _ in spiece.train(TEXTS, like=wordpiece, vocab_size=60, **options).pieces()}

    assert {"世", "##d"} <= pieces()
    assert "世" not in pieces(limit_alphabet=10)
    for alphabet in ("ж,", ["ж", ","], {",", "ж"}):
        assert {"ж", ","} <= pieces(initial_alphabet=alphabet)
    assert "@@d" in pieces(continuing_subword_prefix="@@")


def test_texts_of_files_are_what_the_options_say(gpt2, tmp_path):
    path = tmp_path / "counts.tsv"
    path.write_text("ab\t7\ncd\t2\n")
    options = {"like": gpt2, "vocab_size": 300}
    tokenizer = spiece.train(files=path, input_format="tsv", min_frequency=3, **options).tokenizer()
    assert len(tokenizer.encode("ab")) == 1 and len(tokenizer.encode("cd")) == 2
    records = tmp_path / "corpus.jsonl"
    records.write_text('{"text": "a\\n\\n\\n\\nb"}\n' * 3)
    for document, count in (("record", 1), ("line", 3)):
        model = spiece.train(files=records, json_field="text", document=document, **options)
        assert model.tokenizer().count("\n\n\n") == count, document


def test_a_size_that_cannot_be_reached_is_a_warning(gpt2):
    with pytest.warns(UserWarning, match="vocab_size=100 is less than the 259 tokens of the result"):
        model = spiece.train(TEXTS, like=gpt2, vocab_size=100)
    assert len(model) == 259


@pytest.mark.parametrize(("options", "message"), [
    ({"vocab_size": "many"}, "vocab_size"),
    ({"vocab_size": -1}, "vocab_size"),
    ({"limit_alphabet": 0}, "limit_alphabet"),
    ({"special_ids_first": "perhaps"}, "special_ids_first"),
    ({"character_coverage": 0.9}, "character_coverage: training like a tokenizer.json does not have this; use limit_alphabet"),
    ({"control_symbols": ["<a>"]}, "control_symbols: .*use special_tokens"),
    ({"model_type": "bpe"}, "model_type: .*the type is that of like"),
    ({"pattern": "gpt2"}, "pattern: .*text is cut as like does"),
    ({"tie_order": "hf"}, "tie_order: .*order"),
    ({"required_tokens": ["low"]}, "required_tokens: .*leave it out"),
    ({"byte_fallback": True}, "byte_fallback: .*leave it out"),
    ({"normalizer": b""}, "normalizer: .*normalized as like does"),
    ({"pretokenizer": str.split}, "pretokenizer: .*cut as like does"),
    ({"limit_alphabets": 4}, "there is no option limit_alphabets"),
    ({"document": "page"}, 'document: "page" is not line, record or file'),
    ({"document": "file"}, "document are for files"),
])
def test_wrong_options_are_named(gpt2, options, message):
    with pytest.raises(ValueError, match=message):
        spiece.train(TEXTS, like=gpt2, **options)


def test_options_of_pipelines_are_listed_and_refused_for_other_types():
    for name in ("limit_alphabet", "initial_alphabet", "continuing_subword_prefix", "end_of_word_suffix", "special_ids_first"):
        assert "like a tokenizer.json" in spiece.Trainer.options()[name]
        with pytest.raises(ValueError, match=f"{name} is for training like a tokenizer.json; add like="):
            spiece.train(TEXTS, **{name: "1"})
        with pytest.raises(ValueError, match=f"{name}: byte-level BPE.*leave it out"):
            spiece.train(TEXTS, model_type="byte_bpe", **{name: "1"})


def test_models_of_other_types_are_refused(testdata, tmp_path):
    words = {"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}, "pre_tokenizer": {"type": "WhitespaceSplit"}}
    unigram = {"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", 0.0], ["b", -1.0]]}}
    for name, parts in (("word_level", words), ("unigram", unigram)):
        like = spiece.Tokenizer.from_bytes(json.dumps(parts).encode())
        with pytest.raises(spiece.TrainingError, match=f"a model of the type {name} is not trained like a pipeline"):
            spiece.train(TEXTS, like=like)
    ranks = spiece.Tokenizer.open(testdata / "bytes/gpt2.tiktoken", pattern="gpt2")
    with pytest.raises(spiece.TrainingError, match="not trained like a pipeline"):
        spiece.train(TEXTS, like=ranks)
    with pytest.raises(TypeError, match="leave model_type='byte_bpe' out"):
        spiece.train(TEXTS, like=testdata / "bytes/gpt2.json", model_type="byte_bpe")


def test_problems_of_the_text_are_raised(gpt2, tmp_path):
    def failing():
        yield "a"
        raise LookupError("the disk is gone")

    def stop(event):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="the disk is gone"):
        spiece.train(failing(), like=gpt2)
    with pytest.raises(LookupError, match="enough"):
        spiece.train(TEXTS, like=gpt2, progress=stop)
    with pytest.raises(spiece.TrainingError):
        spiece.train([], like=gpt2)
    with pytest.raises(FileNotFoundError):
        spiece.train(files=tmp_path / "missing.txt", like=gpt2)


def test_progress_is_reported(gpt2, small_corpus):
    events = []
    model = spiece.train(files=small_corpus, like=gpt2, progress=events.append)
    assert [event["stage"] for event in events if event["event"] == "started"][:2] == ["reading", "merging"]
    assert [event["done"] for event in events if event["event"] == "merged"][-1] == model.summary["merges"]
