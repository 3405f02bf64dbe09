"""What each normalizer and pre-tokenizer of the library tokenizers makes of every code point.

Usage: code_points.py > cases.jsonl
       SPIECE_CODE_POINTS=cases.jsonl cargo test --release --lib --all-features every_code_point -- --ignored

Needs tokenizers 0.23.3 and numpy. A line has a tokenizer.json with one component before a model of bytes, so that the
tokens show the text that the component makes, and the parts that it cuts. For each block of 256 code points and each of
the shapes of `SHAPES` it has the digest of ids, offsets in bytes and parts of one text. In that text an added token
stands between the code points, so that each is treated by itself. The test makes the same texts and digests.
"""

import json
import pathlib
import sys

import numpy
import pipelines
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

SEPARATOR = "<|>"
SHAPES = ["{}", "a{}b", "é{} 1"]
BLOCK = 256
# Beyond these planes there are only private and unassigned code points, and tags; they get the first shape alone.
SHAPED = [*range(0x32400), *range(0xE0000, 0xE1000)]
PATTERNS = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "o200k": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "words": r"\w+|[^\w\s]+",
    "punctuation": r"[[:punct:]]+|[[:alpha:]]+|[[:cntrl:]]",
    "case": r"(?i:[a-zµßåσ])",
    "marks": r"\p{Mn}|\p{Me}|\p{Cf}|\p{Zs}|\p{Sc}",
    "scripts": r"\p{Han}+|\p{Hiragana}+|\p{Cyrillic}|\p{Arabic}|\p{Thai}",
}  # fmt: skip


def rules(name):
    path = pathlib.Path(pipelines.MODEL_WITH_RULES).with_name(name)
    spec = dict(pipelines.fields(path.read_bytes()))[3]
    return dict(pipelines.fields(spec))[2]


def components():
    n, p = normalizers, pre_tokenizers
    flags = [(True, True, None, True), (True, False, True, False), (False, True, False, True), (False, False, True, True)]
    for clean, chinese, accents, lower in flags:
        yield "normalizer", n.BertNormalizer(clean, chinese, accents, lower)
    yield from [
        ("normalizer", made)
        for made in [
            n.ByteLevel(), n.Lowercase(), n.NFC(), n.NFD(), n.NFKC(), n.NFKD(), n.Nmt(), n.StripAccents(), n.Prepend("▁"),
            n.Strip(), n.Strip(True, False), n.Sequence([n.NFD(), n.StripAccents()]),
            n.Sequence([n.NFKD(), n.StripAccents(), n.Lowercase()]), n.Precompiled(rules("nfkc.model")),
            n.Precompiled(rules("nmt_nfkc_cf.model")), n.Replace(Regex(r"\s+"), "_"), n.Replace(Regex(r"\d"), "0"),
        ]
    ]  # fmt: skip
    yield from [
        ("pre_tokenizer", made)
        for made in [
            p.BertPreTokenizer(), p.ByteLevel(False), p.ByteLevel(True), p.ByteLevel(False, use_regex=False),
            p.CharDelimiterSplit("b"), p.Digits(), p.Digits(True), p.FixedLength(2), p.Metaspace(),
            p.Metaspace(prepend_scheme="first"), p.Metaspace(prepend_scheme="never", split=False), p.Punctuation(),
            p.Punctuation("merged_with_previous"), p.UnicodeScripts(), p.Whitespace(), p.WhitespaceSplit(),
            *(p.Split(Regex(pattern), "isolated") for pattern in PATTERNS.values()),
        ]
    ]  # fmt: skip


def digest(values):
    values = numpy.asarray(values, dtype=numpy.uint64)
    weights = numpy.arange(1, len(values) + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    return int(((values + numpy.uint64(1)) * weights).sum(dtype=numpy.uint64))


def digest_of(tokenizer, text):
    encoding = tokenizer.encode(text, add_special_tokens=False)
    lengths = [len(c.encode()) for c in text]
    bytes_before = numpy.concatenate([[0], numpy.cumsum(lengths)])
    offsets = bytes_before[numpy.asarray(encoding.offsets, dtype=numpy.int64).reshape(-1)]
    return digest(numpy.concatenate([encoding.ids, offsets, encoding.word_ids]).astype(numpy.uint64))


def main():
    vocab = {f"<0x{byte:02X}>": byte for byte in range(256)}
    shaped = set(SHAPED)
    for kind, component in components():
        tokenizer = Tokenizer(models.BPE(vocab, [], byte_fallback=True))
        setattr(tokenizer, kind, component)
        tokenizer.add_special_tokens([SEPARATOR])
        blocks = []
        for first in range(0, 0x110000, BLOCK):
            if 0xD800 <= first < 0xE000:
                continue
            chars = [chr(first + at) for at in range(BLOCK)]
            shapes = SHAPES if first in shaped else SHAPES[:1]
            texts = [SEPARATOR.join(shape.format(c) for c in chars) for shape in shapes]
            blocks.append([first, *(f"{digest_of(tokenizer, text):x}" for text in texts)])
        print(json.dumps({"file": json.loads(tokenizer.to_str()), "blocks": blocks}, ensure_ascii=False), flush=True)
        print(kind, str(component)[:80], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
