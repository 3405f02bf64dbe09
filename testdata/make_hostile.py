#!/usr/bin/env python3
"""Makes the hostile models, texts and rules of testdata/hostile/, with nothing but Python's library.

From the repository root: python3 testdata/make_hostile.py [--check]
With --check it writes nothing and names each file that differs. Files that a fuzzer found are not made here;
the table in testdata/hostile/README.md has both.
"""

import pathlib
import struct
import sys

FOLDER = pathlib.Path(__file__).parent / "hostile"
UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
MARK = "\u2581".encode()


# The wire format.


def varint(number):
    number %= 1 << 64
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, value):
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    return varint(number << 3) + varint(value)


def piece(text, score=0.0, kind=NORMAL):
    return field(1, field(1, text) + field(2, score) + field(3, kind))


def spec(fields):
    return b"".join(field(number, value) for number, value in fields)


def model(kind, pieces, trainer=(), normalizer=(), denormalizer=None):
    """A model of this type, with an unknown piece and these, which leaves text as it is."""
    plain = [(3, 0), (4, 0)]  # no dummy prefix, spaces kept
    return b"".join(
        [
            piece(b"<unk>", 0.0, UNKNOWN),
            *pieces,
            field(2, spec([(3, kind), *trainer])),
            field(3, spec([*plain, *normalizer])),
            field(5, spec(denormalizer)) if denormalizer else b"",
        ]
    )


# The double array; see src/normalize/double_array.rs.

VALUE, LEAF = 1 << 31, 1 << 8


def inner(cell, base, label, leaf=False):
    return label | (cell ^ base) << 10 | (LEAF if leaf else 0)


def charsmap(units, pool=b"x\0", claimed=None):
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie) if claimed is None else claimed) + trie + pool


def circle(leaf):
    """Each byte leads from the root back to it; with `leaf`, each also ends a rule."""
    units = [VALUE] * 512
    units[0] = inner(0, 256, 0)
    for label in range(1, 256):
        units[256 ^ label] = inner(256 ^ label, 256, label, leaf)
    return units


def tangle(states, leaf):
    """All bytes lead from each state to the next: 255 to the power of `states` paths."""
    units = [VALUE] * (256 * (states + 2))
    units[0] = inner(0, 256, 0)
    for state in range(1, states + 1):
        for label in range(1, 256):
            cell = 256 * state | label
            units[cell] = inner(cell, 256 * (state + 1), label, leaf and state == states)
    return units


def one_rule(target):
    """'a' becomes `target`."""
    units = [VALUE] * 512
    units[0] = inner(0, 256, 0)
    for label in range(1, 256):
        # The label of no cell here fits its place but that of 'a'.
        units[256 | label] = inner(256 | label, 0, 0) | (label ^ 1)
    units[256 | 97] = inner(256 | 97, 0, 97, True)
    # The leaf's value is in cell 0 of the next base, which has to be another block.
    units = units[:256] + units[256:] + [VALUE] * 256
    units[256 | 97] = inner(256 | 97, 512, 97, True)
    return charsmap(units, target + b"\0")


LETTERS = [piece(bytes([letter]), -2.0) for letter in b"abc"]
BYTES = [piece(b"<0x%02X>" % byte, 0.0, BYTE) for byte in range(256)]


def chain(unit, texts, kind, rising=True):
    return [piece(unit * n, float(n if rising else -n), kind) for n in texts]


MODELS = {
    # Pieces that are parts of characters.
    "unigram_half_characters": model(
        UNIGRAM, [piece(b"\xe3", 1.0), piece(b"\x81", 1.0), piece(b"\xe3\x81", 2.0), piece(b"\x82a", 1.0), *LETTERS]
    ),
    "unigram_half_characters_and_bytes": model(
        UNIGRAM, [piece(b"\xf0\x9f", 3.0), piece(b"a\xf0", 2.0), piece(b"a\xe3", 2.0), *LETTERS, *BYTES], [(35, 1)]
    ),
    "bpe_half_characters": model(
        BPE, [piece(b"\xe3"), piece(b"\xe3\x81", 1.0), piece(b"\x82a", 2.0), piece(b"\xff\xff", 3.0), *LETTERS]
    ),
    "symbols_half_characters": model(
        BPE, [piece(b"\x81", 0.0, USER_DEFINED), piece(b"\xe3", 0.0, USER_DEFINED), piece(b"\xff", 0.0, USER_DEFINED), *LETTERS]
    ),
    "char_half_characters": model(CHAR, [piece(b"\x81", 0.0, USER_DEFINED), piece(b"\xe3", 0.0), *LETTERS]),
    # Scores.
    "unigram_greatest_scores": model(UNIGRAM, [piece(b"a", 3.4e38), piece(b"b", -3.4e38), piece(b"ab", 3.4e38)]),
    "unigram_equal_scores": model(UNIGRAM, chain(b"a", range(1, 40), NORMAL, False) + [piece(b"aa" * 30, 5.0)]),
    "bpe_strange_scores": model(
        BPE,
        [
            piece(text, score)
            for text, score in zip(
                [b"ab", b"bc", b"abc", b"ca", b"a", b"b", b"c"],
                [float("nan"), float("inf"), -float("inf"), -float("nan"), -0.0, 0.0, 3.4e38],
            )
        ],
    ),
    # Chains of pieces.
    "bpe_unused_chain": model(BPE, chain(b"a", range(1, 90), UNUSED)),
    "bpe_unused_doubling": model(BPE, [piece(b"ab" * 2**n, float(n), UNUSED) for n in range(11)] + LETTERS),
    "bpe_symbol_chain": model(BPE, chain(b"a", range(2, 90), USER_DEFINED) + LETTERS),
    "bpe_kept_spaces": model(
        BPE,
        [
            # The first text that is tried has the texts of all pieces: a space, and what goes on without a cut.
            piece(b" ", 0.0, CONTROL),
            piece(b"xyz" * 4, -1.5),
            piece(b"xyz" * 8, -2.0),
            piece(b"xyz", -1.0),  # better than what it is made of
            piece(b"xy", -9.0),
            piece(b"zx", -30.0),
            piece(MARK + b"x", -40.0),
            *[piece(bytes([letter]), -50.0) for letter in b"xyz"],
        ],
        [],
        [(5, 0)],
    ),
    "bpe_longest_piece": model(BPE, [piece(b"ab" * 3999 + b"c", 0.0), *LETTERS]),
    "bpe_too_long_piece": model(BPE, [piece(b"a" * 8000, 0.0), *LETTERS]),
    "unigram_longest_symbol": model(UNIGRAM, [piece(b"a" * 7999, 0.0, USER_DEFINED), *LETTERS]),
    # Normalization tables.
    "charsmap_circle": model(BPE, LETTERS, [], [(2, charsmap(circle(False)))]),
    "charsmap_circle_of_rules": model(BPE, LETTERS, [], [(2, charsmap(circle(True)))]),
    "charsmap_tangle": model(BPE, LETTERS, [], [(2, charsmap(tangle(5, False)))]),
    "charsmap_tangle_of_rules": model(BPE, LETTERS, [], [(2, charsmap(tangle(5, True)))]),
    "charsmap_growth": model(BPE, LETTERS, [], [(2, one_rule(b"b" * 4000))]),
    "charsmap_spaces": model(BPE, LETTERS, [], [(2, one_rule(b"   ")), (4, 1), (3, 1)]),
    "charsmap_nothing": model(BPE, LETTERS, [], [(2, one_rule(b"")), (4, 1), (3, 1)]),
    "charsmap_not_utf8": model(BPE, LETTERS, [], [(2, one_rule(b"\xe3\x81 \xff"))]),
    "charsmap_claims_all": model(BPE, LETTERS, [], [(2, charsmap(circle(False), claimed=0xFFFFFFFF))]),
    "charsmap_value_outside": model(BPE, LETTERS, [], [(2, charsmap([inner(0, 256, 0)] + [VALUE | 2] * 511))]),
    "charsmap_offset_outside": model(
        BPE, LETTERS, [], [(2, charsmap([inner(0, 256, 0)] + [inner(1, 1 << 20, 1)] * 511))]
    ),
    "denormalizer_circle": model(BPE, LETTERS, [], [], [(2, charsmap(circle(False)))]),
    "denormalizer_growth": model(BPE, LETTERS, [], [], [(2, one_rule(b"b" * 4000))]),
    # The file.
    "empty": b"",
    "empty_pieces": b"\x0a\x00" * 2000,
    "one_letter_often": piece(b"<unk>", 0.0, UNKNOWN) + b"\x0a\x03\x0a\x01a" * 1000,
    "empty_inputs": model(BPE, LETTERS, [(1, b"")] * 2000 + [(31, b"")] * 2000),
    "piece_claims_more": b"\x0a" + varint(1 << 60) + b"abc",
    "groups_in_groups": b"\xa3\x06" * 1000,
    "groups_that_end": b"\xa3\x06" * 99 + b"\xa4\x06" * 99 + model(BPE, LETTERS),
    "ids_out_of_range": model(
        BPE, LETTERS, [(40, -1), (41, 2**31 - 1), (42, -(2**31)), (43, 2**40), (4, -5), (16, -1)]
    ),
    "names_of_others": model(BPE, LETTERS, [(45, b"a"), (46, b"b"), (47, b"\0"), (48, b"\xff"), (44, b"\xe2\x96")]),
    "type_unknown": model(9, LETTERS),
    "bytes_twice": model(BPE, LETTERS + BYTES + BYTES[:1], [(35, 1)]),
    "bytes_missing": model(BPE, LETTERS + BYTES[1:], [(35, 1)]),
}

# The first byte is the number of a model in tests/it/hostile/seeds.rs.
TEXTS = {
    "one_letter": b"\0" + b"a" * 30_000,
    "marks": b"\0" + MARK * 10_000,
    "pairs": b"\x06" + b"ab" * 10_000,
    "malformed": b"\0" + b"\xff\xc0\x80\xed\xa0\x80\xf4\x90\x80\x80\xe3\x81" * 300,
    "spaces": b"\x01" + b" " * 20_000 + b"\t\r\x0b\0",
    "unigram_letters": b"\x01" + b"e" * 20_000,
    "unused": b"\x09" + b"les droits " * 300,
    "emoji": b"\0" + "\U0001f468\u200d\U0001f469\u200d\U0001f467\ufe0f".encode() * 300,
}

RULES = {
    "endless_source": b"61 " * 1500 + b"\t62\n",
    "greatest_code_point": b"FFFFFFFF\t41\n10FFFF\t110000\n",
    "nul_in_rule": b"41 0 42\t43 0\n",
    "prefixes": b"".join(b"61 " * n + b"\t62\n" for n in range(1, 32)) + b"\0" + b"a" * 200,
    "spaces": b"61\t20 20 20\n62\t2581\n63\n\0 abcabc cba ",
    "too_large_number": b"123456789ABCDEF01\t41\n",
    "crlf": b"61\t62\r\n63\t64\r\n\0abc",
}

TOKENIZER_JSON = {
    "form_feed": b'{"":[x\x0c]}',
}


def main():
    made = [("model_bytes", f"{name}.model", data) for name, data in MODELS.items()]
    made += [("text", name, data) for name, data in TEXTS.items()]
    made += [("rules", f"{name}.tsv", data) for name, data in RULES.items()]
    made += [("tokenizer_json", f"{name}.json", data) for name, data in TOKENIZER_JSON.items()]
    differing = 0
    for folder, name, data in made:
        path = FOLDER / folder / name
        if "--check" in sys.argv:
            if not path.is_file() or path.read_bytes() != data:
                differing += 1
                print("differs:", path)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    sys.exit(1 if differing else 0)


if __name__ == "__main__":
    main()
