#!/usr/bin/env python3
"""Compares WordPiece of spiece with tokenizers 0.23.3.

    python3 tests/conformance/wordpiece.py                        # vocabularies trained here, seed 1
    python3 tests/conformance/wordpiece.py --vocabularies FOLDER  # also each vocab.txt and .json of a folder
    python3 tests/conformance/wordpiece.py --cases 1000000 --seed 7

tokenizers trains small vocabularies of testdata/, for each normalizer that `BertNormalizer` can be. They are run as
tokenizer.json, some with added tokens of all properties, and the default one as vocab.txt.

Of each text the ids, the spans and the text of the ids are compared: of every character alone and between letters and
marks (once), of all strings of `--longest` characters over an alphabet with a character of each class that the
normalizer tells apart, of `--cases` random strings, and of the lines of testdata/. A text that differs is reduced to a
smallest one. The exit status is 0 if nothing differs, 1 if something does, 2 if the harness cannot run.
"""

import itertools
import json
import random
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from differential import bootstrap, script, texts  # noqa: E402

# A character of every class: letters by case, with accents in one character and as marks of several combining
# classes (U+0345 is a mark that becomes a letter in upper case), the dotted I, final sigma, Kelvin and Angstrom, a sign
# that decomposes into punctuation and a mark, Hangul as a syllable and as letters, Chinese of two planes, one that
# decomposes, kana with a mark, ASCII and other punctuation, symbols, white space of all kinds, control characters, NUL,
# U+FFFD, a soft hyphen, zero-width joiner, private use, characters of later versions of Unicode, letters that have lower
# case since Unicode 16 and 17, an emoji.
CLASSES = list("abAZ1\u00e9\u00c9\u01d5\u0130\u0131\u03a3\u03c2\u1e9e\u212a\u212b\u2260\u1fef\u0301\u0323\u0327\u0345\u05b0\u0f73"
               "\u302e\u0d3b\u1df9\ud55c\u1112\u1161\u4e2d\uf900\U00020000\u304c\u3099.'#!$\u3002\u00a1\u166d\u05be"
               "\u20ac \t\n\r\u000b\u0085\u00a0\u2003\u2028\u3000\u0000\u0001\ufffd\u00ad\u200d\ue000\u0378\u1885\ua7cb\ua7ce"
               "\U00016ea0\U0001f600")
NORMALIZERS = [(clean, chinese, strip, lower) for clean, chinese in ((True, True), (False, False), (True, False))
               for strip in (None, True, False) for lower in (True, False)]


class Reference:
    """A tokenizer of tokenizers, which finds no special tokens, as spiece does without an allowance."""

    def __init__(self, path, ends=False):
        import tokenizers

        if path.suffix == ".txt":
            # The default of spiece: lower case unless a piece has an upper-case letter.
            lines = path.read_text(encoding="utf-8").split("\n")
            upper = any(set(line) & set("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for line in lines if not line.startswith("["))
            self.tokenizer = tokenizers.BertWordPieceTokenizer(str(path), lowercase=not upper)._tokenizer
        else:
            self.tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self.tokenizer.encode_special_tokens = True
        self.ends = ends

    def encodings(self, lines):
        return self.tokenizer.encode_batch(lines, add_special_tokens=self.ends)

    def decode(self, ids):
        return self.tokenizer.decode_batch(ids, skip_special_tokens=False)


def trained(folder, rng):
    """Vocabularies with the flags of spiece."""
    from tokenizers import AddedToken, BertWordPieceTokenizer, Tokenizer

    corpus = [str(bootstrap.TESTDATA / "udhr.txt"), str(bootstrap.TESTDATA / "mixed.txt")]
    for number, (clean, chinese, strip, lower) in enumerate(NORMALIZERS):
        made = BertWordPieceTokenizer(clean_text=clean, handle_chinese_chars=chinese, strip_accents=strip, lowercase=lower)
        made.train(corpus, vocab_size=rng.choice([400, 1500, 5000]), min_frequency=1, limit_alphabet=rng.choice([100, 1000]),
                   show_progress=False)
        path = folder / f"trained_{number}.json"
        made.save(str(path))
        data = json.loads(path.read_text(encoding="utf-8"))
        vocab = data["model"]["vocab"]
        # Pieces for the classes that the corpus does not have.
        normalized = [made.normalize(char) for char in CLASSES]
        pieces = [f"{prefix}{part}" for char in normalized for part in char.split() for prefix in ("", "##")]
        for piece in pieces:
            if piece.replace("##", "") and "\0" not in piece and rng.random() < 0.7:
                vocab.setdefault(piece, len(vocab))
        if number % 3 == 1:
            data["model"]["max_input_chars_per_word"] = rng.choice([1, 3, 7])
        if number % 4 == 3:
            data["decoder"] = rng.choice([None, {"type": "WordPiece", "prefix": "##", "cleanup": False}])
        path.write_text(json.dumps(data), encoding="utf-8")
        if number % 2:
            tokenizer = Tokenizer.from_file(str(path))
            for content in ("a\u00c9", "Zo\u00eb", "<x>", "[M]", "\u4e2d\u4e2d", "b b", "\u2260", "\u00e9"):
                flags = {name: rng.random() < 0.3 for name in ("single_word", "lstrip", "rstrip")}
                token = AddedToken(content, normalized=rng.random() < 0.6, **flags)
                # Two tokens of one normalized text are refused by tokenizers.
                tokenizer.add_tokens([token])
            tokenizer.save(str(path))
        yield path, Reference(path), []
        if number == 0:
            made.save_model(str(folder))
            yield folder / "vocab.txt", Reference(folder / "vocab.txt"), []
            yield folder / "vocab.txt", Reference(folder / "vocab.txt", ends=True), ["--extra_options=bos:eos"]


def random_text(rng):
    """A string of one of several kinds: of classes, of few characters, of words, of real lines, long words."""
    kind = rng.randrange(6)
    if kind == 0:
        return "".join(rng.choice(CLASSES) for _ in range(rng.randint(1, 12)))
    if kind == 1:
        few = rng.sample(CLASSES, 4)
        return "".join(rng.choice(few) for _ in range(rng.choice([5, 20, 80, 120])))
    if kind == 2:
        return "".join(texts.character(rng, rng.choice(sorted(texts.ALPHABETS))) for _ in range(rng.randint(1, 20)))
    if kind == 3:
        return texts.line_of_words(rng, texts.Lexicon(rng))
    if kind == 4:
        marks = [chr(code) for code in (*range(0x300, 0x370), *range(0x5B0, 0x5C8), *range(0x1DC0, 0x1E00), 0x302E, 0x16FF0)]
        return "".join(rng.choice([rng.choice(marks), rng.choice("ae\u00e9\u1ebf.\u4e2d ")]) for _ in range(rng.randint(2, 15)))
    words = b" ".join(texts.real_lines(rng, 1)).decode("utf-8", "replace").split(" ")
    start = rng.randrange(len(words))
    return rng.choice([" ", "  ", "\n", "", "[SEP]", "<x>", "Zo\u00eb"]).join(words[start : start + rng.randint(1, 8)])


def differences(spiece, reference, lines):
    """The texts of `lines` that differ, each with what differs."""
    found = []
    encodings = reference.encodings(lines)
    expected = [encoding.ids for encoding in encodings]
    for line, theirs, ours, encoding, spans in zip(lines, expected, spiece.ids(lines), encodings, spiece.spans(lines)):
        if ours != theirs:
            found.append((line, f"ids: {ours}, reference {theirs}"))
        elif not reference.ends:
            starts = list(itertools.accumulate((len(char.encode()) for char in line), initial=0))
            converted = [(starts[begin], starts[end]) for begin, end in encoding.offsets]
            if spans != converted:
                found.append((line, f"spans: {spans}, reference {converted}"))
    decoded = reference.decode(expected)
    if spiece.decode(expected) != "".join(f"{text}\n" for text in decoded).encode():
        each = zip(lines, decoded, expected)
        wrong = [(line, f"decoding {ids}, reference {text!r}") for line, text, ids in each
                 if spiece.decode([ids]) != f"{text}\n".encode()]
        found += wrong[:20] or [(lines[0], "decoding of several texts")]
    return found


def with_every_character(options):
    """Every character alone, between letters, and between marks."""
    codes = range(options.seed % options.stride, 0x110000, options.stride)
    characters = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for start in range(0, len(characters), 50_000):
        part = characters[start : start + 50_000]
        yield part
        yield [f"a{char}b\u0301" for char in part]
        yield [f"\u0345{char}\u0327{char}" for char in part]


def vocabularies(options, folder):
    """Paths, references, spiece and texts of all vocabularies."""
    for number, (path, reference, flags) in enumerate(trained_and_given(options, folder)):
        strings = ("".join(chars) for chars in itertools.product(CLASSES, repeat=options.longest))
        files = [bootstrap.TESTDATA / "udhr.txt", bootstrap.TESTDATA / "mixed.txt", *options.texts]
        lists = script.batches(strings, random_text, f"{options.seed} {path.name}", options.cases, files)
        # What is done with a character does not depend on the vocabulary, but on what the normalizer does.
        if number in (0, 3, 8):
            lists = itertools.chain(with_every_character(options), lists)
        yield path, reference, script.Spiece(options.program, path, [], flags), lists


def trained_and_given(options, folder):
    """Paths, references and flags."""
    yield from trained(folder, random.Random(options.seed))
    if options.vocabularies:
        for path in sorted(options.vocabularies.iterdir()):
            if path.suffix in (".txt", ".json"):
                yield path, Reference(path), []


def compare(options):
    with tempfile.TemporaryDirectory() as folder:
        return script.compare_vocabularies(options.only, vocabularies(options, Path(folder)), differences)


def main():
    parser = script.flags(__doc__, cases=5_000, cases_help="random texts for each vocabulary")
    parser.add_argument("--vocabularies", type=Path, help="a folder with vocab.txt and tokenizer.json files")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a further text; may be repeated")
    parser.add_argument("--longest", type=int, default=2, help="all strings of so many characters")
    parser.add_argument("--stride", type=int, default=1, help="of every so many characters one is compared, another with each seed")
    parser.add_argument("--only", help="only vocabularies whose name contains this")
    script.run(parser, compare)


if __name__ == "__main__":
    main()
