#!/usr/bin/env python3
"""Writes the golden files of WordPiece: what tokenizers 0.23.3 does.

    pip install tokenizers==0.23.3 && python3 testdata/make_wordpiece.py

`wordpiece/classes.tsv` has the characters of each class that the components of BERT tell apart, as ranges;
`wordpiece/tokenizer.json` and `vocab.txt` a small vocabulary that is trained on `udhr_small.txt`; `wordpiece/encoded.jsonl`
texts with their ids, spans in bytes, and the text of the ids, without and with special tokens found in the text.
"""

import itertools
import json
import random
from pathlib import Path

from tokenizers import AddedToken, BertWordPieceTokenizer, Tokenizer, __version__, normalizers, pre_tokenizers

assert __version__ == "0.23.3"
TESTDATA = Path(__file__).parent
FOLDER = TESTDATA / "wordpiece"


def normalizer(**changes):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**flags, **changes}).normalize_str


clean, chinese = normalizer(clean_text=True), normalizer(handle_chinese_chars=True)
strip = normalizer(strip_accents=True)
words = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
CLASSES = {
    "removed": lambda char: clean(char) == "",
    "mark": lambda char: strip(char) == "",
    "punctuation": lambda char: [word for word, _ in words(f"a{char}b")] == ["a", char, "b"],
    "space": lambda char: [word for word, _ in words(f"a{char}b")] == ["a", "b"],
    "chinese": lambda char: chinese(char) == f" {char} ",
}


def write_classes():
    with open(FOLDER / "classes.tsv", "w", encoding="ascii") as file:
        for name, is_in in CLASSES.items():
            ranges = []
            for code in (*range(0xD800), *range(0xE000, 0x110000)):
                if is_in(chr(code)):
                    if ranges and ranges[-1][1] == code - 1:
                        ranges[-1][1] = code
                    else:
                        ranges.append([code, code])
            print(name, " ".join(f"{first:X}-{last:X}" for first, last in ranges), sep="\t", file=file)


def write_vocabulary():
    made = BertWordPieceTokenizer()
    made.train([str(TESTDATA / "udhr_small.txt")], vocab_size=400, limit_alphabet=90, show_progress=False)
    made.save_model(str(FOLDER))
    # Training stores the special tokens, the wrapper that reads vocab.txt also the post-processor.
    made = BertWordPieceTokenizer(str(FOLDER / "vocab.txt"))
    made._tokenizer.add_tokens([AddedToken("Zo\u00eb", normalized=True, lstrip=True), AddedToken("<x>", normalized=False)])
    made.save(str(FOLDER / "tokenizer.json"))


def write_encoded():
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    rng = random.Random(1)
    lines = (TESTDATA / "udhr_small.txt").read_text(encoding="utf-8").split("\n")[:200:9]
    lines += (TESTDATA / "mixed.txt").read_text(encoding="utf-8").split("\n")[:20]
    pieces = "les droits|Zoë|ZOE\u0308|<x>|[SEP]|\u00c9\u0327\u0301t\u00e9|\u4e2d\u6587|\uf900|\ud55c\uae00|\u0130|\u2260|\u1fef|. ,|\t\n|\u3000|\0|\u00ad|\ufffd|\u302e\u0323|n't|x\U0001f600"
    pieces = pieces.split("|")
    lines += ["".join(rng.choice(pieces) for _ in range(rng.randint(1, 7))) for _ in range(60)] + ["", "a" * 101]
    with open(FOLDER / "encoded.jsonl", "w", encoding="ascii") as file:
        for text in lines:
            row = {"text": text}
            starts = list(itertools.accumulate((len(char.encode()) for char in text), initial=0))
            for key, hides in (("plain", True), ("special", False)):
                tokenizer.encode_special_tokens = hides
                made = tokenizer.encode(text, add_special_tokens=not hides)
                row[key] = made.ids
                if hides:
                    row["spans"] = [[starts[begin], starts[end]] for begin, end in made.offsets]
                    row["decoded"] = tokenizer.decode(made.ids)
            file.write(json.dumps(row) + "\n")


write_classes()
write_vocabulary()
write_encoded()
