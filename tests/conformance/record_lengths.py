"""Records what the library tokenizers makes of random settings of truncation, template and padding.

    python3 tests/conformance/record_lengths.py > testdata/pipelines/lengths.jsonl

Each line has the settings as in a tokenizer.json, the texts as ids, and the results of `encode_batch`; an error is
null. A unit test of `src/pipeline` repeats them, and `python/tests/test_lengths.py`. Needs tokenizers 0.23.3.
"""

import json
import random

from tokenizers import Tokenizer

WORDS = "abcdefgh"
ROWS = 300


def template(rng):
    """A template for one text, or none."""
    special = lambda: {"SpecialToken": {"id": "[C]", "type_id": rng.randrange(3)}}
    before = [special() for _ in range(rng.randrange(3))]
    after = [special() for _ in range(rng.randrange(3))]
    if not before and not after:
        return None
    single = [*before, {"Sequence": {"id": "A", "type_id": rng.randrange(3)}}, *after]
    pair = [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}]
    ids = [20, 21][: rng.randint(1, 2)]
    token = {"id": "[C]", "ids": ids, "tokens": ["[C]"] * len(ids)}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": {"[C]": token}}


def settings(rng):
    """Random settings."""
    truncation = {
        "direction": rng.choice(["Left", "Right"]),
        "max_length": rng.randrange(10),
        "strategy": rng.choice(["LongestFirst", "LongestFirst", "OnlyFirst", "OnlySecond"]),
        "stride": rng.choice([0, 0, 1, 2, 5]),
    }
    padding = {
        "strategy": rng.choice(["BatchLongest", {"Fixed": rng.randrange(12)}]),
        "direction": rng.choice(["Left", "Right"]),
        "pad_to_multiple_of": rng.choice([None, 0, 1, 4, 7]),
        "pad_id": 30,
        "pad_type_id": 9,
        "pad_token": "[PAD]",
    }
    return {
        "truncation": rng.choice([None, truncation, truncation]),
        "padding": rng.choice([None, padding, padding]),
        "post_processor": template(rng),
    }


def result(encoding):
    """What the unit test compares."""
    return {
        "ids": encoding.ids,
        "type_ids": encoding.type_ids,
        "mask": encoding.attention_mask,
        "overflow": [result(part) for part in encoding.overflowing],
    }


def main():
    rng = random.Random(7)
    for _ in range(ROWS):
        row = settings(rng)
        vocab = {word: number for number, word in enumerate(WORDS)} | {"<unk>": 8}
        file = {
            "version": "1.0",
            "pre_tokenizer": {"type": "WhitespaceSplit"},
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
        } | row
        tokenizer = Tokenizer.from_str(json.dumps(file))
        texts = [[rng.randrange(8) for _ in range(rng.choice([0, 1, 3, 8, 14]))] for _ in range(rng.randint(1, 3))]
        adds_special = rng.random() < 0.8
        try:
            encoded = tokenizer.encode_batch(
                [" ".join(WORDS[number] for number in text) for text in texts], add_special_tokens=adds_special
            )
            results = [result(encoding) for encoding in encoded]
        # A panic of the library is no Exception.
        except BaseException:
            results = None
        print(json.dumps({"file": file, "texts": texts, "adds_special": adds_special, "results": results}))


if __name__ == "__main__":
    main()
