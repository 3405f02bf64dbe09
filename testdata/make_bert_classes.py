#!/usr/bin/env python3
"""Writes the characters of each class that the components of BERT in tokenizers 0.23.3 tell apart, as ranges.

    pip install tokenizers==0.23.3 && python3 testdata/make_bert_classes.py > testdata/bert_classes.tsv
"""

from tokenizers import __version__, normalizers, pre_tokenizers

assert __version__ == "0.23.3"


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
for name, is_in in CLASSES.items():
    ranges = []
    for code in (*range(0xD800), *range(0xE000, 0x110000)):
        if is_in(chr(code)):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1][1] = code
            else:
                ranges.append([code, code])
    print(name, " ".join(f"{first:X}-{last:X}" for first, last in ranges), sep="\t")
