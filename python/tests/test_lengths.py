"""Truncation, template and padding of ids, with the settings of a file and with others."""

import json

import pytest

import spiece

PAIR = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
# `[CLS] TEXT [SEP]`
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ],
    "pair": PAIR,
    "special_tokens": {text: {"id": text, "ids": [id], "tokens": [text]} for id, text in [(1, "[CLS]"), (2, "[SEP]")]},
}
VOCABULARY = ["[PAD]", "[CLS]", "[SEP]", "a", "b", "c", "d", "[UNK]"]


def of_settings(truncation=None, padding=None):
    """A tokenizer of a tokenizer.json with these settings."""
    file = {
        "version": "1.0", "truncation": truncation, "padding": padding, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"}, "post_processor": TEMPLATE, "decoder": None,
        "model": {"type": "WordLevel", "vocab": {text: id for id, text in enumerate(VOCABULARY)}, "unk_token": "[UNK]"},
    }
    return spiece.Tokenizer.from_bytes(json.dumps(file).encode())


def recorded(text):
    """A result as the recorded file has it."""
    return {
        "ids": text.ids, "type_ids": text.type_ids, "mask": text.attention_mask,
        "overflow": [recorded(part) for part in text.overflowing],
    }


def test_settings_of_a_file_and_the_same_as_dicts_give_the_recorded_results_of_tokenizers(testdata):
    rows = [json.loads(line) for line in (testdata / "pipelines/lengths.jsonl").read_text().splitlines()]
    assert len(rows) == 300
    for row in rows:
        settings = dict.fromkeys(["truncation", "padding"])
        tokenizer = spiece.Tokenizer.from_bytes(json.dumps(row["file"]).encode())
        without = spiece.Tokenizer.from_bytes(json.dumps(row["file"] | settings).encode())
        assert without.truncation is None and without.padding is None
        given = {"truncation": tokenizer.truncation, "padding": tokenizer.padding}
        for one, settings in [(tokenizer, {}), (without, given), (tokenizer, given)]:
            process = lambda: one.post_process(row["texts"], add_special_tokens=row["adds_special"], **settings)
            if row["results"] is None:
                with pytest.raises(spiece.OptionValueError, match="truncation"):
                    process()
            else:
                assert [recorded(text) for text in process()] == row["results"], row


# The expected values are those of tokenizers 0.23.3.
def test_settings_are_dicts_as_those_of_tokenizers():
    tokenizer = of_settings(
        {"direction": "Right", "max_length": 5, "strategy": "LongestFirst", "stride": 1},
        {
            "strategy": {"Fixed": 6}, "direction": "Left", "pad_to_multiple_of": 4, "pad_id": 0, "pad_type_id": 3,
            "pad_token": "[PAD]",
        },
    )
    assert tokenizer.truncation == {"max_length": 5, "stride": 1, "strategy": "longest_first", "direction": "right"}
    assert tokenizer.padding == {
        "length": 6, "pad_to_multiple_of": 4, "pad_id": 0, "pad_token": "[PAD]", "pad_type_id": 3, "direction": "left",
    }
    long, short = tokenizer.post_process(tokenizer.encode_ragged(["a b c d", "d"]))
    assert long == spiece.ProcessedText(
        ids=[0, 0, 0, 1, 3, 4, 5, 2],
        type_ids=[3, 3, 3, 0, 0, 0, 0, 0],
        attention_mask=[0, 0, 0, 1, 1, 1, 1, 1],
        overflowing=[
            spiece.ProcessedText([0, 0, 0, 0, 1, 5, 6, 2], [3, 3, 3, 3, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1], []),
        ],
    )
    assert short == ([0, 0, 0, 0, 0, 1, 6, 2], [3, 3, 3, 3, 3, 0, 0, 0], [0, 0, 0, 0, 0, 1, 1, 1], [])
    # Other settings, for this call.
    batch = tokenizer.encode_batch(["a b c d", "d"])
    ids = lambda **settings: [text.ids for text in tokenizer.post_process(batch, **settings)]
    assert ids(truncation=None, padding=None) == [[1, 3, 4, 5, 6, 2], [1, 6, 2]]
    assert ids(truncation={"max_length": 4, "direction": "left"}, padding=None) == [[1, 5, 6, 2], [1, 6, 2]]
    assert ids(truncation=None, padding={"pad_id": 0}) == [[1, 3, 4, 5, 6, 2], [1, 6, 2, 0, 0, 0]]
    assert ids(truncation=None, padding=tokenizer.padding | {"length": None, "direction": "right"}) == [
        [1, 3, 4, 5, 6, 2, 0, 0],
        [1, 6, 2, 0, 0, 0, 0, 0],
    ]
    assert ids(add_special_tokens=False, truncation={"max_length": 2}, padding=None) == [[3, 4], [6]]
    assert tokenizer.post_process([]) == []


def test_encoding_does_not_apply_the_settings():
    tokenizer = of_settings({"direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0})
    assert tokenizer.encode("a b c d") == [3, 4, 5, 6]
    assert tokenizer.encode("a b c d", add_bos=True, add_eos=True) == [1, 3, 4, 5, 6, 2]


def test_settings_that_cannot_be_used_are_named():
    tokenizer = of_settings()
    for settings, error, message in [
        ({"truncation": {}}, spiece.OptionValueError, "truncation: max_length is missing"),
        ({"truncation": {"max_length": -1}}, spiece.OptionValueError, "max_length.*out of range"),
        ({"truncation": {"max_length": "5"}}, TypeError, "max_length"),
        ({"truncation": {"max_length": 5, "strategy": "longest"}}, spiece.OptionValueError, "longest_first"),
        ({"truncation": {"max_length": 5, "direction": 1}}, spiece.OptionValueError, "right, left"),
        ({"truncation": {"max_len": 5}}, spiece.OptionValueError, "'max_len'.*max_length"),
        ({"truncation": {"max_length": 3, "stride": 1}}, spiece.OptionValueError, "stride"),
        ({"truncation": {"max_length": 3, "strategy": "only_second"}}, spiece.OptionValueError, "only_second.*longest_first"),
        ({"truncation": 5}, TypeError, "truncation: expected a dict"),
        ({"truncation": "true"}, TypeError, "truncation: expected a dict"),
        ({"padding": {"length": 5}}, spiece.OptionValueError, "padding: pad_id is missing"),
        ({"padding": {"pad_id": 1 << 32}}, spiece.OptionValueError, "pad_id.*out of range"),
        ({"padding": {"pad_id": 0, "length": 1 << 40}}, spiece.OptionValueError, "16777216"),
        ({"padding": {"pad_id": 0, "pad_to_multiple_of": 1 << 62}}, spiece.OptionValueError, "16777216"),
        ({"padding": True}, TypeError, "padding: expected a dict"),
    ]:
        with pytest.raises(error, match=message):
            tokenizer.post_process([[3, 4, 5]], **settings)
    claimed = {"strategy": {"Fixed": 1 << 60}, "direction": "Left", "pad_id": 0, "pad_type_id": 0, "pad_token": ""}
    with pytest.raises(spiece.OptionValueError, match="16777216"):
        of_settings(padding=claimed).post_process([[3]])
    with pytest.raises(spiece.IdError, match=r"batch\[1\]\[0\]"):
        tokenizer.post_process([[3], [8]])
    with pytest.raises(TypeError, match="batch"):
        tokenizer.post_process("a")


def test_models_have_no_settings(tokenizer):
    assert tokenizer.truncation is None and tokenizer.padding is None
    with pytest.raises(spiece.ModelError, match=r"tokenizer\.json"):
        tokenizer.post_process([tokenizer.encode("a")])
