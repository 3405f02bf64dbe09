"""The drop-in for tokenizers. ``conformance/tokenizers_surface.py`` compares all its calls with the package; these tests run
without it."""

import asyncio
import copy
import json
import pickle
import threading

import pytest

from spiece import tokenizers
from spiece.tokenizers import Encoding, Tokenizer, decoders

WORDS = ["<unk>", "<s>", "</s>", "a", "b", "c", "d", "e", "é"]


def file(**changes):
    """A tokenizer of words, with a template."""
    special = {text: {"id": text, "ids": [WORDS.index(text)], "tokens": [text]} for text in ("<s>", "</s>")}
    before, after = ({"SpecialToken": {"id": text, "type_id": 0}} for text in ("<s>", "</s>"))
    first, second = ({"Sequence": {"id": name, "type_id": type_id}} for name, type_id in (("A", 0), ("B", 1)))
    parts = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [before, first, after],
            "pair": [before, first, after, second, after],
            "special_tokens": special,
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": {word: id for id, word in enumerate(WORDS)}, "unk_token": "<unk>"},
    }
    return json.dumps(parts | changes)


@pytest.fixture
def tokenizer():
    return Tokenizer.from_str(file())


def test_an_encoding_has_all_columns(tokenizer):
    encoding = tokenizer.encode("é b", "x a")
    assert encoding.ids == [1, 8, 4, 2, 0, 3, 2]
    assert encoding.tokens == ["<s>", "é", "b", "</s>", "<unk>", "a", "</s>"]
    assert encoding.offsets == [(0, 0), (0, 1), (2, 3), (0, 0), (0, 1), (2, 3), (0, 0)]
    assert encoding.type_ids == [0, 0, 0, 0, 1, 1, 0]
    assert encoding.word_ids == [None, 0, 1, None, 0, 1, None]
    assert encoding.sequence_ids == [None, 0, 0, None, 1, 1, None]
    assert encoding.special_tokens_mask == [1, 0, 0, 1, 0, 0, 1]
    assert encoding.attention_mask == [1] * 7
    assert (encoding.char_to_token(2), encoding.char_to_token(2, 1), encoding.char_to_token(1)) == (2, 5, None)
    assert (encoding.word_to_tokens(1, 1), encoding.word_to_chars(1, 1), encoding.token_to_sequence(5)) == ((5, 6), (2, 3), 1)


def test_words_of_the_caller_have_numbers_and_spans_of_their_own(tokenizer):
    encoding = tokenizer.encode(["a b", "é"], is_pretokenized=True)
    assert encoding.word_ids == [None, 0, 0, 1, None]
    assert encoding.offsets == [(0, 0), (0, 1), (2, 3), (0, 1), (0, 0)]


def test_the_parts_of_a_long_text_share_the_stride_and_are_filled_up(tokenizer):
    tokenizer.enable_truncation(5, stride=1)
    tokenizer.enable_padding(pad_token="<pad>", direction="left", length=6)
    encoding = tokenizer.encode("a b c d e")
    assert encoding.tokens == ["<pad>", "<s>", "a", "b", "c", "</s>"]
    assert [part.tokens for part in encoding.overflowing] == [["<pad>", "<s>", "c", "d", "e", "</s>"]]
    assert encoding.sequence_ids == [None, None, 0, 0, 0, None]
    assert encoding.attention_mask == [0, 1, 1, 1, 1, 1]
    with pytest.raises(ValueError, match="tokenizer stride set to 4"):
        tokenizer.enable_truncation(5, stride=4)
    tokenizer.enable_truncation(4, strategy="only_second")
    with pytest.raises(Exception, match="Second sequence not provided"):
        tokenizer.encode("a b c d e")


def test_the_parts_of_two_long_texts_are_combined(tokenizer):
    tokenizer.enable_truncation(5)
    encoding = tokenizer.encode("a b", "c d")
    assert encoding.tokens == ["<s>", "a", "</s>", "c", "</s>"]
    parts = [["b", "c"], ["b", "d"], ["a", "d"]]
    assert [[part.tokens[1], part.tokens[3]] for part in encoding.overflowing] == parts
    inner = [[[part.tokens[1], part.tokens[3]] for part in parts.overflowing] for parts in encoding.overflowing]
    assert inner == [[["b", "d"]], [], [["b", "d"]]]


def test_a_fast_batch_has_ids_alone_and_all_batches_are_filled_up(tokenizer):
    tokenizer.enable_padding()
    fast = tokenizer.encode_batch_fast(["a", ("a", "b c")])
    slow = tokenizer.encode_batch(["a", ["a", "b c"]])
    assert [encoding.ids for encoding in fast] == [encoding.ids for encoding in slow] == [[1, 3, 2, 0, 0, 0], [1, 3, 2, 4, 5, 2]]
    assert fast[0].offsets == [(0, 0)] * 6 and fast[0].tokens[1] == "" and slow[0].tokens[1] == "a"


def test_added_tokens_are_found_and_keep_their_ids(tokenizer):
    assert tokenizer.add_tokens(["new", "new", ""]) == 1
    assert tokenizer.add_special_tokens([tokenizers.AddedToken("<m>", lstrip=True)]) == 1
    encoding = tokenizer.encode("a <m>new", add_special_tokens=False)
    assert (encoding.ids, encoding.tokens) == ([3, 10, 9], ["a", " <m>", "new"])
    assert tokenizer.decode(encoding.ids) == "a new"
    assert [repr(token) for token in tokenizer.get_added_tokens_decoder().values()] == [
        'AddedToken("new", rstrip=False, lstrip=False, single_word=False, normalized=True, special=False)',
        'AddedToken("<m>", rstrip=False, lstrip=True, single_word=False, normalized=False, special=True)',
    ]
    assert (tokenizer.get_vocab_size(), tokenizer.get_vocab_size(with_added_tokens=False)) == (11, 9)
    tokenizer.encode_special_tokens = True
    assert tokenizer.encode("a <m>", add_special_tokens=False).ids == [3, 0]


def test_an_encoding_keeps_its_details_when_the_tokenizer_changes(tokenizer):
    encoding = tokenizer.encode("a new")
    tokenizer.add_tokens(["new"])
    assert encoding.tokens == ["<s>", "a", "<unk>", "</s>"]


def test_files_and_pickles_are_the_same_tokenizer(tokenizer, tmp_path):
    tokenizer.enable_truncation(3)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    for again in (
        Tokenizer.from_pretrained(str(tmp_path)),
        Tokenizer.from_buffer(tokenizer.to_str(pretty=True).encode()),
        pickle.loads(pickle.dumps(tokenizer)),
        copy.deepcopy(tokenizer),
    ):
        assert again.to_str() == tokenizer.to_str()
        assert again.encode("a b").tokens == ["<s>", "a", "</s>"]
    assert json.loads(tokenizer.to_str())["truncation"]["max_length"] == 3
    with pytest.raises(ValueError, match="Cannot instantiate Tokenizer from buffer"):
        Tokenizer.from_buffer(b"{}")
    with pytest.raises(FileNotFoundError, match="fetch it"):
        Tokenizer.from_pretrained("nobody/nothing")


def test_encodings_are_merged_padded_and_pickled(tokenizer):
    merged = Encoding.merge([tokenizer.encode("a", add_special_tokens=False), tokenizer.encode("b", add_special_tokens=False)])
    assert merged.offsets == [(0, 1), (1, 2)]
    merged.pad(3, pad_id=7)
    merged.truncate(2, direction="left")
    again = pickle.loads(pickle.dumps(merged))
    assert again.ids == merged.ids == [4, 7] and again.overflowing[0].tokens == ["a"]
    with pytest.raises(ValueError):
        merged.truncate(1, stride=1)


def test_ids_are_decoded_as_they_come(tokenizer):
    tokenizer.add_special_tokens(["<s>"])
    stream = decoders.DecodeStream(skip_special_tokens=True)
    assert [stream.step(tokenizer, id) for id in (3, 1, 4)] == ["a", None, " b"]


def test_calls_can_be_awaited(tokenizer):
    async def both():
        return await tokenizer.async_encode("é a"), await tokenizer.async_encode_batch(["a"])

    one, batch = asyncio.run(both())
    assert one.offsets[1:3] == [(0, 2), (3, 4)]
    assert batch[0].ids == [1, 3, 2]


def test_threads_share_a_tokenizer_that_changes(tokenizer):
    expected = tokenizer.encode("a b").ids

    def work():
        for _ in range(200):
            assert tokenizer.encode("a b").ids == expected

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(50):
        tokenizer.add_tokens([f"new{number}"])
    for thread in threads:
        thread.join()


def test_wrong_arguments_have_the_exceptions_of_the_package(tokenizer):
    for value in (5, None, b"a", "\ud800"):
        with pytest.raises(TypeError, match="TextInputSequence must be str"):
            tokenizer.encode(value)
    with pytest.raises(TypeError, match="PreTokenizedInputSequence"):
        tokenizer.encode("a", is_pretokenized=True)
    with pytest.raises(Exception, match="No such file"):
        Tokenizer.from_file("/nothing/there")
