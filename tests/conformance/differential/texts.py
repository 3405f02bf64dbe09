"""Generators of text.

Job: draw words, lines and corpora that exercise normalization, splitting and segmentation.
Input: a `random.Random`; for real text also the folder testdata/.
Output: `bytes`. A line never contains a newline; everything else may occur, malformed UTF-8 and NUL included.
"""

from functools import lru_cache

from .bootstrap import TESTDATA

# Inclusive ranges of code points from which the words of one alphabet are drawn.
ALPHABETS = {
    "ascii_lower": [(0x61, 0x7A)],
    "ascii_mixed": [(0x41, 0x5A), (0x61, 0x7A), (0x30, 0x39)],
    "two_letters": [(0x61, 0x62)],
    "digits": [(0x30, 0x39), (0x660, 0x669), (0x966, 0x96F), (0xFF10, 0xFF19)],
    "punctuation": [(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E), (0x2010, 0x2027)],
    "latin_marks": [(0x61, 0x65), (0xC0, 0x17F), (0x300, 0x304), (0x1E00, 0x1E20)],
    "greek": [(0x391, 0x3C9), (0x1F00, 0x1F15)],
    "cyrillic": [(0x410, 0x44F), (0x460, 0x470)],
    "hebrew": [(0x5D0, 0x5EA), (0x5B0, 0x5B9)],
    "arabic": [(0x621, 0x64A), (0x64B, 0x652), (0xFE8D, 0xFE98)],
    "devanagari": [(0x905, 0x939), (0x93E, 0x94D), (0x951, 0x954)],
    "thai": [(0xE01, 0xE2E), (0xE30, 0xE3A), (0xE40, 0xE4C)],
    "kana": [(0x3041, 0x3093), (0x3099, 0x309A), (0x30A1, 0x30F6), (0x30FC, 0x30FC), (0xFF66, 0xFF9F)],
    "han": [(0x4E00, 0x4E40), (0x3400, 0x3408), (0x20000, 0x20008), (0xF900, 0xF908)],
    "hangul": [(0xAC00, 0xAC40), (0x1100, 0x1112), (0x1161, 0x1175), (0x11A8, 0x11C2)],
    "emoji": [(0x1F600, 0x1F610), (0x1F3FB, 0x1F3FF), (0x1F1E6, 0x1F1F0), (0x200D, 0x200D), (0xFE0F, 0xFE0F)],
    "compatibility": [(0xFB00, 0xFB06), (0x2150, 0x215F), (0x3300, 0x3310), (0xFF21, 0xFF3A), (0x1D400, 0x1D410)],
    "rare_scripts": [(0x13A0, 0x13B0), (0x10400, 0x10410), (0x1E900, 0x1E910), (0x1200, 0x1210)],
    "unassigned": [(0x378, 0x379), (0xE000, 0xE004), (0xFDD0, 0xFDD2), (0xFFFE, 0xFFFF), (0x10FFFE, 0x10FFFF)],
}

SPACES = [" ", "  ", "   ", "\t", "\u3000", "\u00a0", "\u2003", "\u200b", "\u2028", "\u0085", "\r"]

# Characters and strings with a meaning of their own in the reference.
SPECIAL = [
    "\u2581", "\u2581\u2581", "\u2585", "\u001f", "\u2047", "\ufeff", "\ufffd", "\u0000", "\u0007", "\u007f",
    "\u00ad", "\u200d", "\u0301", "\u064e", "\u0e33", "\u1100\u1161", "e\u0301", "\u304b\u3099", "\u0130", "\u1e9e",
    "<s>", "</s>", "<unk>", "<pad>", "<mask>", "<sep>", "<0x00>", "<0x0A>", "<0x41>", "<0xE3>", "<0xFF>",
]

MALFORMED = [
    b"\x80", b"\xbf\xbf", b"\xc0\x80", b"\xc3", b"\xe3\x81", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xf0\x9f\x98",
    b"\xf4\x90\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe", b"\xff\xff",
]


def character(rng, alphabet):
    """One character of the alphabet."""
    first, last = rng.choice(ALPHABETS[alphabet])
    return chr(rng.randint(first, last))


def word(rng, alphabet, longest=9):
    """A word of one alphabet; short words are more frequent than long words."""
    length = min(rng.randint(1, longest), rng.randint(1, longest))
    return "".join(character(rng, alphabet) for _ in range(length))


class Lexicon:
    """A fixed set of words, drawn with frequencies that fall like 1 / rank, so that pairs repeat."""

    def __init__(self, rng, size=None, alphabets=None):
        count = rng.choice([1, 1, 2, 3, 5])
        names = alphabets or [rng.choice(sorted(ALPHABETS)) for _ in range(count)]
        size = size or rng.choice([3, 20, 80, 200])
        self.words = [word(rng, rng.choice(names)) for _ in range(size)]
        if rng.random() < 0.4:
            self.words += rng.sample(SPECIAL, 4)
        if rng.random() < 0.3:
            self.words += [rng.choice(self.words) + rng.choice(self.words) for _ in range(10)]

    def draw(self, rng):
        return self.words[min(rng.randrange(len(self.words)), rng.randrange(len(self.words)))]


def clean(data):
    """`data` as one line."""
    return data.replace(b"\n", b" ")


def line_of_words(rng, lexicon, longest=14):
    """Words of the lexicon, mostly separated by single spaces."""
    parts = []
    for _ in range(rng.randint(1, longest)):
        parts.append(lexicon.draw(rng))
        kind = rng.random()
        parts.append(" " if kind < 0.85 else "" if kind < 0.93 else rng.choice(SPACES))
    text = "".join(parts)
    return text if rng.random() < 0.3 else text.rstrip(" ")


def hostile_line(rng):
    """Bytes of every sort: special characters, malformed UTF-8, repetitions, controls."""
    parts = []
    for _ in range(rng.randint(0, 10)):
        kind = rng.randrange(6)
        if kind == 0:
            parts.append(rng.choice(SPECIAL).encode())
        elif kind == 1:
            parts.append(rng.choice(MALFORMED))
        elif kind == 2:
            parts.append(rng.choice(SPACES).encode())
        elif kind == 3:
            parts.append(word(rng, rng.choice(sorted(ALPHABETS)), 3).encode() * rng.choice([1, 2, 3, 20]))
        elif kind == 4:
            parts.append(bytes(rng.randrange(256) for _ in range(rng.randint(1, 6))))
        else:
            parts.append(word(rng, rng.choice(sorted(ALPHABETS))).encode())
    return clean(b"".join(parts))


@lru_cache(maxsize=None)
def _lines_of(name):
    return (TESTDATA / name).read_bytes().split(b"\n")


def real_lines(rng, count):
    """Adjacent lines of one of the real texts in testdata/, many languages."""
    lines = _lines_of(rng.choice(["udhr.txt", "udhr.txt", "udhr_small.txt", "comma,name.txt", "mixed.txt"]))
    start = rng.randrange(max(1, len(lines) - count))
    return [clean(line) for line in lines[start : start + count]]


def long_line(rng, lexicon):
    """A line of some thousand bytes: at the edges of blocks, windows and of max_sentence_length."""
    kind = rng.randrange(3)
    if kind == 0:
        return lexicon.draw(rng).encode() * rng.choice([300, 700, 1500])
    if kind == 1:
        return b"x" * rng.choice([4191, 4192, 4193])
    return " ".join(lexicon.draw(rng) for _ in range(rng.choice([200, 800]))).encode()


def lines(rng, count):
    """`count` lines of mixed sorts, for encoding and normalization."""
    lexicon = Lexicon(rng)
    result = []
    while len(result) < count:
        kind = rng.random()
        if kind < 0.40:
            result.append(line_of_words(rng, lexicon).encode())
        elif kind < 0.60:
            result += real_lines(rng, 2)
        elif kind < 0.90:
            result.append(hostile_line(rng))
        elif kind < 0.93:
            result.append(long_line(rng, lexicon))
        elif kind < 0.96:
            result.append(b"")
        else:
            result.append(rng.choice(SPACES).encode() * rng.randint(1, 3))
    return [clean(line) for line in result[:count]]


def corpus(rng):
    """A corpus: lines of one lexicon, of real text, of both, or hostile lines among them."""
    size = rng.choice([1, 3, 10, 40, 120, 250])
    lexicon = Lexicon(rng)
    sort = rng.random()
    if sort < 0.25:
        result = real_lines(rng, size)
    elif sort < 0.85:
        result = [line_of_words(rng, lexicon).encode() for _ in range(size)]
    else:
        result = [hostile_line(rng) for _ in range(size)] + real_lines(rng, 10)
    if rng.random() < 0.35:
        for _ in range(rng.randint(1, 6)):
            extra = rng.choice([hostile_line(rng), b"", b" ", b"\r", long_line(rng, lexicon)])
            result.insert(rng.randrange(len(result) + 1), extra)
    data = b"\n".join(clean(line) for line in result)
    return data if rng.random() < 0.2 else data + b"\n"


def tsv_corpus(rng, highest=10**12):
    """A corpus of sentences with counts up to `highest`; seldom a row that must be refused."""
    lexicon = Lexicon(rng)
    rows = []
    for _ in range(rng.choice([1, 5, 40, 150])):
        text = line_of_words(rng, lexicon, 3).replace("\t", " ")
        count = rng.choice([1, 1, 2, 3, 10, rng.randint(1, 1000), highest])
        rows.append(f"{text}\t{count}".encode())
    if rng.random() < 0.15:
        bad = rng.choice([b"no count", b"a\t0", b"a\t-1", b"a\tx", b"a\t1\t1", b"", b"\t3", b"a\t", b"a\t 7 ", b"a\t+7"])
        rows.insert(rng.randrange(len(rows) + 1), bad)
    return b"\n".join(clean(row) for row in rows) + b"\n"


def rules(rng):
    """A file of normalization rules: code points in hexadecimal, a tab, code points."""
    rows = {}
    for _ in range(rng.randint(1, 12)):
        alphabet = rng.choice(["ascii_lower", "latin_marks", "kana", "punctuation", "digits"])
        source = [ord(character(rng, alphabet)) for _ in range(rng.choice([1, 1, 1, 2, 3]))]
        target = [ord(character(rng, alphabet)) for _ in range(rng.choice([0, 1, 1, 2, 3]))]
        if rng.random() < 0.1:
            target = [0x20]
        prefix = "U+" if rng.random() < 0.1 else ""
        render = lambda points: " ".join(f"{prefix}{point:X}" for point in points)
        rows[tuple(source)] = f"{render(source)}\t{render(target)}"
    result = list(rows.values())
    if rng.random() < 0.1:
        result.append(rng.choice(["", "zz\t61", "61", "# comment", "110000\t61", "0\t61", "\t61", "D800\t61", result[0]]))
    return ("\n".join(result) + "\n").encode()
