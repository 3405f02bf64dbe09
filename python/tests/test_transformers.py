"""transformers on spiece. ``conformance/transformers_surface.py`` compares all calls of many tokenizers; these tests look at what
switching changes and what it leaves alone."""

import copy
import gc
import json
import multiprocessing
import pickle
import subprocess
import sys
import warnings

import pytest

tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")

import spiece.transformers  # noqa: E402
from spiece.tokenizers import Encoding  # noqa: E402

WORDS = ["<unk>", "<s>", "</s>", "<pad>", "a", "b", "c", "hello", "e"]


@pytest.fixture
def folder(tmp_path):
    """A tokenizer of words, with a template."""
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: id for id, word in enumerate(WORDS)}, "<unk>"))
    backend.normalizer = tokenizers.normalizers.Sequence([tokenizers.normalizers.NFC(), tokenizers.normalizers.Lowercase()])
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    backend.post_processor = tokenizers.processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B:1 </s>", [("<s>", 1), ("</s>", 2)])
    backend.add_special_tokens(WORDS[:4])
    backend.save(str(tmp_path / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "<pad>", "unk_token": "<unk>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return tmp_path


@pytest.fixture
def tokenizer(folder):
    return transformers.AutoTokenizer.from_pretrained(folder)


@pytest.fixture
def enabled():
    with spiece.transformers.enable():
        yield


def runs_on_spiece(tokenizer):
    return isinstance(tokenizer("a").encodings[0], Encoding)


def test_tokenizers_run_on_spiece_whenever_they_were_loaded_and_no_longer_than_enabled(folder, tokenizer):
    methods = dict(vars(tokenizers.Tokenizer))
    with spiece.transformers.enable():
        assert spiece.transformers.is_enabled()
        assert runs_on_spiece(tokenizer)
        assert runs_on_spiece(transformers.AutoTokenizer.from_pretrained(folder))
        with spiece.transformers.enable():
            pass
        assert spiece.transformers.is_enabled()
        method = tokenizer._tokenizer.encode
    assert not spiece.transformers.is_enabled()
    assert not runs_on_spiece(tokenizer)
    assert not isinstance(method("a"), Encoding)
    assert dict(vars(tokenizers.Tokenizer)) == methods


def test_results_are_equal(tokenizer):
    def results():
        batch = tokenizer(
            ["a b c a b", "c"], padding=True, truncation=True, max_length=5, stride=1,
            return_overflowing_tokens=True, return_offsets_mapping=True, return_special_tokens_mask=True,
        )  # fmt: skip
        return [dict(batch), batch.word_ids(1), batch.char_to_token(0, 2), batch.tokens(0), tokenizer.batch_decode(batch["input_ids"])]

    expected = results()
    with spiece.transformers.enable():
        assert results() == expected


def test_errors_are_those_of_the_package(tokenizer):
    def failures():
        for first, second in (("\ud800", None), ("a b c", "a"), (["a"], 5)):
            try:
                # The stride is too long for what the second text leaves of the first: the package panics.
                tokenizer(first, second, truncation="only_first", max_length=5, stride=1)
            except BaseException as error:  # noqa: BLE001  (a panic is no Exception)
                yield type(error), str(error)

    expected = list(failures())
    assert len(expected) == 3
    with spiece.transformers.enable():
        assert list(failures()) == expected


def test_the_backend_stays_what_it_is(tokenizer, enabled):
    state = pickle.dumps(tokenizer)
    assert runs_on_spiece(tokenizer)
    assert type(tokenizer.backend_tokenizer) is tokenizers.Tokenizer
    assert pickle.dumps(tokenizer) == state
    for other in (pickle.loads(state), copy.deepcopy(tokenizer)):
        assert other("a b").tokens() == ["<s>", "a", "b", "</s>"]
    stream = tokenizers.decoders.DecodeStream()
    assert [stream.step(tokenizer._tokenizer, id) for id in (4, 5)] == ["a", " b"]


def test_changes_of_tokens_and_components_are_followed(tokenizer, enabled):
    def tokens():
        return tokenizer("HELLO b,c", add_special_tokens=False).tokens()

    assert tokens() == ["hello", "<unk>"]
    backend = tokenizer.backend_tokenizer
    tokenizer.add_tokens(["b,"])
    assert tokens() == ["hello", "b,", "c"]
    lowercase = tokenizers.normalizers.BertNormalizer(lowercase=False)
    backend.normalizer = lowercase
    assert tokens() == ["<unk>", "b,", "c"]
    lowercase.lowercase = True
    assert tokens() == ["hello", "b,", "c"]
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([tokenizers.pre_tokenizers.CharDelimiterSplit("l")])
    member = backend.pre_tokenizer[0]
    assert tokens() == ["<unk>", "<unk>", "b,", "c"]
    member.delimiter = "o"
    assert tokens() == ["<unk>", "<unk>", "b,", "c"] and runs_on_spiece(tokenizer)
    backend.pre_tokenizer[0] = tokenizers.pre_tokenizers.Whitespace()
    assert tokens() == ["hello", "b,", "c"]


def test_what_spiece_refuses_stays_with_the_package_and_is_told_once(tokenizer, enabled):
    class Pieces:
        def pre_tokenize(self, text):
            text.split(lambda _, part: [part[:1], part[1:]] if len(str(part)) > 1 else [part])

    assert spiece.transformers.refusal(tokenizer) is None
    tokenizer.backend_tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.PreTokenizer.custom(Pieces())
    assert "Custom PreTokenizer" in spiece.transformers.refusal(tokenizer)
    with pytest.warns(UserWarning, match="stays with the package tokenizers: .*Custom PreTokenizer"):
        assert tokenizer("ab").tokens() == ["<s>", "a", "b", "</s>"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenizer.add_tokens(["abc"])
        assert tokenizer("ab").tokens() == ["<s>", "a", "b", "</s>"]
    assert not runs_on_spiece(tokenizer)


def test_functions_of_the_package_take_encodings_of_spiece(tokenizer, enabled):
    encodings = tokenizer(["a", "b c"], add_special_tokens=False).encodings
    assert tokenizers.Encoding.merge(encodings).tokens == ["a", "b", "c"]
    assert tokenizer.backend_tokenizer.post_processor.process(encodings[0]).tokens == ["<s>", "a", "</s>"]
    assert transformers.BatchEncoding({}, encodings[1]).tokens() == ["b", "c"]
    assert [encoding.tokens for encoding in pickle.loads(pickle.dumps(encodings))] == [["a"], ["b", "c"]]


def _ids(tokenizer, results):
    results.put(tokenizer(["a b"] * 100)["input_ids"])


def test_a_forked_process_goes_on(tokenizer, enabled):
    expected = tokenizer(["a b"] * 100)["input_ids"]
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=_ids, args=(tokenizer, results))
    process.start()
    assert results.get(timeout=60) == expected
    process.join(timeout=60)


def test_copies_change_alone(tokenizer, enabled):
    copies = [copy.deepcopy(tokenizer) for _ in range(3)]
    expected = tokenizer("a b c hello")["input_ids"]
    copies[0].add_tokens(["hel"])
    copies[1].backend_tokenizer.enable_truncation(3)
    assert copies[0]("a b c hello")["input_ids"] != expected
    assert copies[1].backend_tokenizer.encode("a b c hello").ids == [*expected[:2], expected[-1]]
    assert copies[2]("a b c hello")["input_ids"] == tokenizer("a b c hello")["input_ids"] == expected


def test_the_collector_is_as_before_each_call(tokenizer, enabled):
    texts = ["a b c"] * 5000
    collections = []
    gc.callbacks.append(lambda phase, info: collections.append(phase))
    try:
        tokenizer(texts)
        # Only the objects that the call gave are looked at, after it.
        assert len(collections) < 10
        assert gc.isenabled()
        with pytest.raises((TypeError, ValueError)):
            tokenizer([5])
        assert gc.isenabled()
        gc.disable()
        tokenizer(texts[:2])
        assert not gc.isenabled()
    finally:
        gc.enable()
        gc.callbacks.pop()


def test_a_copy_in_spiece_gives_arrays(tokenizer):
    pa = pytest.importorskip("pyarrow")
    mine = spiece.transformers.to_spiece(tokenizer)
    mine.enable_truncation(4)
    mine.enable_padding(pad_id=3, pad_token="<pad>")
    column = mine.encode_ragged(pa.chunked_array([["a b c"], ["e"]])).to_arrow()
    assert column.type == pa.large_list(pa.int32())
    assert column.to_pylist() == [[1, 4, 5, 2], [1, 8, 2, 3]]
    with pytest.raises(TypeError, match="is no fast tokenizer of transformers"):
        spiece.transformers.to_spiece(5)


def test_the_command_compares_and_measures(folder):
    text = folder / "text.txt"
    text.write_text("a b\nc\n" * 10)
    command = [sys.executable, "-m", "spiece.transformers", str(folder), "--text", str(text)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "runs on spiece" in done.stdout and "20 lines, 70 ids: equal" in done.stdout
