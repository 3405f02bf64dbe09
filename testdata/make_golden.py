#!/usr/bin/env python3
"""Train the golden models of testdata/golden/ with the reference, SentencePiece 0.2.3.

    pip install sentencepiece==0.2.3
    python3 testdata/make_golden.py           # from the repository root: write inputs and golden files
    python3 testdata/make_golden.py --check   # train again, report every file that differs

Names of cases as arguments train only these (and compute SHA256SUMS again).
The cases of PROGRAM_CASES have flags that only the program `spm_train` has, not the wheel; with
`--spm_train PATH`, the path of that program, release 0.2.3, they are trained too. Otherwise they stay as they are.

For each case it writes three files:

    <case>.flags   every flag of `spm_train`, one `name=value` a line; the value is
                   all that follows the first `=`, blanks included
    <case>.model   what the reference wrote
    <case>.vocab   likewise

The program `spm_train` sets every field of its trainer and normalizer specs,
given or not, and the model file records which fields were set. The Python call
sets only what it is given, so this script gives it all of them and gets the
program's bytes. `control_symbols`, `user_defined_symbols` and
`denormalization_rule_tsv` are the exceptions: the program too leaves them out
when they are empty, and so do the .flags files.

`refused.tsv` lists inputs that the reference refuses: a reason, then the flags
that differ from the program's defaults. The script fails if one is accepted.
SHA256SUMS, for `sha256sum -c` in testdata/, covers the inputs and the golden files.

The inputs made here (hostile_text.txt, mixed.txt, repeats.txt, ...) are our own
and depend on nothing random. Standard library only, but for the reference.
"""

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
GOLDEN = HERE / "golden"
RELEASE = "0.2.3"

# ---------------------------------------------------------------- inputs


def mixed_text():
    """Lines of awkward words: digits, adjoining scripts, forms that normalizers change."""
    words = """
        iphone12 x86_64 v1.2.3 2024-05-17 3,141.59 covid19 1000000 100 2000 abc123def456 ver２ １２３４円 ٣٤٥ ४२
        for(int i=0;i<n;++i) a||b||c foo||bar if(x==y){return;} http://example.org/a?b=c&d=e user@example.org #tag
        Tシャツ カラオケbar 東京タワー ラーメン屋 日本語テキスト Wi-Fiを使う 第12回 한국어abc нетlatin नमस्तेworld ไทยok αβγabc
        e\u0301tude cafe\u0301 \u0301start a\u0300\u0323b Ａ\u0301 \u064eب ं
        ﬁne ﬂow eﬃcient ㍿ ㌔ ½ ¾ Ⅷ ⅷ ǅ ǆ ｶﾞｷﾞ ﾊﾟﾝ ＡＢＣ ａｂｃ ～ 〜 ｡｢｣ № x² ™ ℡ ﷺ ﷲ ﻻ … ‥ ¨ ´ ΐ
        STRASSE Straße ẞ İstanbul ı ſ K Å Ω ΣΊΣΥΦΟΣ Σίσυφος Ꭰꭰ ᏸ Ა Ⴀ Ⴠ Ԁ ΑΒΓ ÀÉÎ
        \u1112\u1161\u11ab\u1100\u116e\u11a8 한국 각\u11a8 か\u3099 は\u309a か゛
        zero\u200bwidth non\u00a0break wide\u3000space soft\u00adhyphen \ufefffeff join\u200der non\u200cjoiner line\u2028sep tab\tbed bell\x07 del\x7f nel\u0085
        👩\u200d👩\u200d👧 🇯🇵 🇩🇪 👍🏽 ☕\ufe0f 🥰 𝔘𝔫𝔦 𝟘𝟙 ₿ 𐌰𐌱 𞤀𞤣 𠀀𠀁
        <s> </s> <unk> <pad> <0x41> <0xE3> <sep> [INST] the of and the of the
    """.split(" ")
    words = [w for word in words for w in word.strip("\n").split("\n") if w]
    state, lines = 2023, []

    def draw(n):
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % n

    for number in range(600):
        line = "  " if number % 37 == 0 else ""
        for _ in range(1 + draw(9)):
            index = min(draw(len(words)), draw(len(words)))
            line += words[index] + ("" if draw(12) == 0 else "  " if draw(15) == 0 else " ")
        lines.append(line if number % 3 == 0 else line.rstrip(" "))
    return "\n".join(lines).encode() + b"\n"


def hostile_text():
    """Bytes that are no text, reserved characters, line ends and lengths at the edge."""
    mark, bar = "\u2581".encode(), "\u2585".encode()
    lines = [
        b"\xef\xbb\xbfa byte order mark opens the file",
        b"caf\xe9 in latin-1, na\xefve",
        b"\xff\xfe alone", b"cut \xe3\x81 short \xf0\x9f\x98", b"lone \x80\xbf tails",
        b"overlong \xc0\x80 \xc0\xaf \xe0\x80\xaf \xf0\x80\x80\xaf", b"surrogate \xed\xa0\x80 \xed\xbf\xbf",
        b"beyond \xf4\x90\x80\x80 \xf8\x88\x80\x80\x80 \xfc\x84\x80\x80\x80\x80",
        b"nul \x00 inside", b"\x00", b"nu\x00l nu\x00l nu\x00l",
        b"unit \x1f separator\x1f", b"\x1f", b"\x01\x02\x03 controls \x1b[0m",
        b"windows line\r", b"another windows line\r", b"\r", b"old\rmac\rline",
        b"", b" ", b"    ", "\u3000".encode(), "\u00a0\u00a0".encode(),
        b"reserved " + bar + b" bar, never counted", bar, b"glued" + bar + b"bar",
        b"literal " + mark + b"mark", mark * 3 + b" three " + mark + mark + b"two", mark, b"mid" + mark + b"word end" + mark,
        "replacement \ufffd character \ufffd\ufffd".encode(),
        "noncharacters \ufffe \uffff \ufdd0 \U0001fffe \U0010ffff".encode(), "private \ue000 \U000f0000".encode(),
        "next\u0085line para\u2029graph line\u2028separator".encode(),
        b"  leading and trailing  ", b"many    inner     blanks", b"tab\tand\t\ttabs",
        b"just at the limit " + b"x" * (4192 - 18), b"just over the limit " + b"y" * (4193 - 20),
        b"z" * 9000, "\U0001f600".encode() * 1048, "\U0001f601".encode() * 1049,
        b"w" * 300, b"plain words end the round", b"plain words", b"plain",
    ]
    return b"\n".join(lines * 3 + [b"no newline at the end \xe3"])


def repeats_text():
    """Runs in which a pair overlaps itself, and pieces that several paths can make."""
    lines = []
    for n in list(range(1, 20)) + [31, 32, 33, 64]:
        lines += [unit * n for unit in ["a", "ab", "aab", "abc", "は", "ハハ", "!"]]
        lines += ["b" + "a" * n + "b " + "ab" * n + "a", "x" * n + " " + "y" * n + "x" * n]
    lines += ["banana bananas ananas", "aaabaaab aabaab abaaba", "mississippi sississi"] * 4
    return ("\n".join(lines) + "\n").encode()


def words_tsv():
    """Words of a real text with counts up to 10^12: ties, repeats, a row of several words."""
    rows, seen = [("de  la", 10**12), ("un derecho de todos", 999_999_999_999), (" de ", 5)], set()
    for word in (HERE / "comma,name.txt").read_text("utf-8").split():
        if word not in seen and len(seen) < 400:
            seen.add(word)
            rows.append((word, max(1, 10**12 // len(seen) ** (2 + len(seen) % 3))))
    rows += [("artículo", 7), ("artículo", 10**12), ("", 3), ("x" * 5000, 9)]
    return "".join(f"{word}\t{count}\n" for word, count in rows).encode()


def seeds_tsv():
    """Parts of words of a real text with counts: repeats, single characters, impossible pieces, a third column."""
    rows = ["\u2581\t900", "de\t77\tmore", "a b\t50", "x" * 17 + "\t50", "1a\t60", "zz\u2581\t8", "\u2581que\t 40 "]
    for number, word in enumerate((HERE / "comma,name.txt").read_text("utf-8").split()):
        text = ("\u2581" + word) if number % 3 else word
        start = number % 2
        rows.append(f"{text[start : start + 2 + number % 7]}\t{1 + 7919 * number % 1000}")
    return "\n".join(rows[:900]).encode()


def small_counts_tsv():
    """Words of a real text with counts up to 1000, for trainers that repeat each text so often: ties, repeats, several words."""
    rows = [("de  la", 1000), ("un derecho de todos", 999), (" de ", 5), ("artículo", 7), ("artículo", 1000), ("", 3)]
    for number, word in enumerate((HERE / "comma,name.txt").read_text("utf-8").split()[:600]):
        rows.append((word, 1 + 104729 * number % (1 + number)))
    return "".join(f"{word}\t{count}\n" for word, count in rows).encode()


INPUTS = {
    "seeds.tsv": seeds_tsv,
    "small_counts.tsv": small_counts_tsv,
    "mixed.txt": mixed_text,
    "hostile_text.txt": hostile_text,
    "repeats.txt": repeats_text,
    "words.tsv": words_tsv,
    "few_words.txt": lambda: "low lower lowest\nnew newer newest\nwide wider widest\nslow slower slowest\n".encode(),
    "bad_columns.tsv": lambda: b"good\t1\nno count\n",
    "bad_count.tsv": lambda: b"good\t1\nword\tmany\n",
    "zero_count.tsv": lambda: b"good\t1\nword\t0\n",
    # Code points in hexadecimal, source and target; one column deletes, a third is ignored.
    "normalize.tsv": lambda: (
        "0065 0301\t00E9\nU+2019\tU+0027\n00DF\t0073 0073\n200C\n200D\t\n005F\t0020\n"
        "0063 0068\t010D\tch as one letter\n0063 0068 0061\t0430\n0031 0030 0030\t0043\n"
        "3042 3099\t3094\n1F970\t2764 FE0F\n0066\t0066 0066\n").encode(),
    "denormalize.tsv": lambda: "010D\t0063 0068\n0027\t2019\n2764 FE0F\t1F970\n".encode(),
    "bad_rules.tsv": lambda: b"0041\t0061\nxyz\t0062\n",
}

# ---------------------------------------------------------------- flags

# The program's flags and their defaults, in the order in which .flags files list them.
DEFAULTS = dict(
    line.split("=", 1) for line in """\
input_format=
vocab_size=8000
character_coverage=0.9995
auto_character_coverage=false
required_chars=
input_sentence_size=0
shuffle_input_sentence=true
max_sentence_length=4192
max_sentencepiece_length=16
split_by_whitespace=true
split_by_unicode_script=true
split_by_number=true
split_digits=false
treat_whitespace_as_suffix=false
allow_whitespace_only_pieces=false
pretokenization_delimiter=
byte_fallback=false
hard_vocab_limit=true
use_all_vocab=false
vocabulary_output_piece_score=true
unk_id=0
bos_id=1
eos_id=2
pad_id=-1
unk_piece=<unk>
bos_piece=<s>
eos_piece=</s>
pad_piece=<pad>
unk_surface= \u2047\x20
normalization_rule_name=nmt_nfkc
normalization_rule_tsv=
add_dummy_prefix=true
remove_extra_whitespaces=true
num_threads=16
num_sub_iterations=2
seed_sentencepiece_size=1000000
seed_sentencepieces_file=
shrinking_factor=0.75""".split("\n"))


def csv(*values):
    """Values as the reference splits them: at commas, double quotes guard and double themselves."""
    return ",".join('"' + v.replace('"', '""') + '"' if "," in v or '"' in v else v for v in values)


def flags(prefix, inputs, **given):
    given = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in given.items()}
    head = {"input": csv(*(f"testdata/{name}" for name in inputs)), "model_prefix": prefix, "model_type": "bpe"}
    return {**head, **DEFAULTS, **given}


ALL, SMALL, MIXED, SPANISH = "udhr.txt", "udhr_small.txt", "mixed.txt", "comma,name.txt"
PLAIN = {"normalization_rule_name": "identity"}
UNIGRAM = dict(PLAIN, model_type="unigram")
WORD = dict(PLAIN, model_type="word")
CHAR = dict(PLAIN, model_type="char")

CASES = {
    # The two usual set-ups.
    "llama2": ([ALL], dict(PLAIN, vocab_size=4000, character_coverage=0.99995, byte_fallback=True, split_digits=True,
                           allow_whitespace_only_pieces=True, remove_extra_whitespaces=False)),
    "spm_default": ([ALL], dict(vocab_size=3500)),
    # The other built-in rules.
    "nfkc": ([MIXED], dict(vocab_size=900, normalization_rule_name="nfkc", character_coverage=1.0)),
    "nfkc_cf": ([MIXED, SMALL], dict(vocab_size=1200, normalization_rule_name="nfkc_cf")),
    "nmt_nfkc_cf": ([MIXED, "hostile_text.txt"], dict(vocab_size=900, normalization_rule_name="nmt_nfkc_cf")),
    # White space.
    "no_split_whitespace": ([SMALL], dict(PLAIN, vocab_size=1200, split_by_whitespace=False)),
    "no_split_whitespace_suffix": ([SMALL], dict(PLAIN, vocab_size=900, split_by_whitespace=False,
                                                 treat_whitespace_as_suffix=True)),
    "whitespace_suffix": ([SMALL], dict(PLAIN, vocab_size=1000, treat_whitespace_as_suffix=True)),
    "whitespace_kept": (["hostile_text.txt", MIXED], dict(
        PLAIN, vocab_size=1000, add_dummy_prefix=False, remove_extra_whitespaces=False,
        allow_whitespace_only_pieces=True, treat_whitespace_as_suffix=True)),
    # What a piece may hold.
    "no_split_script": ([MIXED], dict(PLAIN, vocab_size=1000, split_by_unicode_script=False)),
    "no_split_number": ([MIXED], dict(PLAIN, vocab_size=1000, split_by_number=False)),
    "split_digits": ([MIXED], dict(PLAIN, vocab_size=900, split_digits=True)),
    "piece_length_1": ([SMALL], dict(PLAIN, vocab_size=400, max_sentencepiece_length=1, hard_vocab_limit=False)),
    "piece_length_3": ([SMALL], dict(PLAIN, vocab_size=1000, max_sentencepiece_length=3)),
    "piece_length_64": ([SMALL], dict(PLAIN, vocab_size=2500, max_sentencepiece_length=64, split_by_whitespace=False)),
    "delimiter": ([MIXED, SMALL], dict(PLAIN, vocab_size=1200, pretokenization_delimiter="||", split_by_whitespace=False)),
    "delimiter_letter": ([SPANISH], dict(PLAIN, vocab_size=400, pretokenization_delimiter="re")),
    # The alphabet.
    "coverage_0_98": ([ALL], dict(PLAIN, vocab_size=2000, character_coverage=0.98)),
    "coverage_1": ([ALL], dict(PLAIN, vocab_size=2500, character_coverage=1.0)),
    "auto_coverage": ([ALL], dict(PLAIN, vocab_size=2500, auto_character_coverage=True, byte_fallback=True)),
    "auto_coverage_mixed": ([MIXED, "hostile_text.txt"], dict(
        PLAIN, vocab_size=800, auto_character_coverage=True, byte_fallback=True, split_by_whitespace=False,
        user_defined_symbols="<sep>")),
    "required_chars": ([SMALL], dict(PLAIN, vocab_size=800, character_coverage=0.98, required_chars="€日本\u2581ЖZZé𠀀\ufffd")),
    # Symbols and special ids.
    "symbols": ([MIXED, SMALL], dict(
        PLAIN, vocab_size=1200, byte_fallback=True, control_symbols=csv("<cls>", "<|im_start|>", "</s>", "of"),
        user_defined_symbols=csv("<sep>", "a,b", 'say "so"', "\u2581", "日本", "東京タワー", "<s>", "droit", "droits", "12",
                                 "прав", "[INST]"))),
    "ids_permuted": ([SPANISH], dict(PLAIN, vocab_size=300, unk_id=3, bos_id=1, eos_id=2, pad_id=0)),
    "ids_far": ([SPANISH], dict(PLAIN, vocab_size=300, unk_id=5, bos_id=-1, eos_id=100, pad_id=299,
                                control_symbols="<s>,<mask>", user_defined_symbols="que")),
    "no_unk": ([SPANISH], dict(PLAIN, vocab_size=500, unk_id=-1, bos_id=0, eos_id=1, byte_fallback=True)),
    "own_names": ([SPANISH], dict(PLAIN, vocab_size=300, unk_piece="[UNK]", bos_piece="[CLS]", eos_piece="[SEP]",
                                  pad_piece="[PAD]", pad_id=3, unk_surface="??")),
    # Rules from files.
    "rule_files": ([MIXED, SPANISH], dict(vocab_size=900, normalization_rule_tsv="testdata/normalize.tsv",
                                          denormalization_rule_tsv="testdata/denormalize.tsv")),
    # How the corpus is read.
    "tsv": (["words.tsv"], dict(PLAIN, vocab_size=700, input_format="tsv")),
    "first_sentences": ([SMALL, ALL], dict(PLAIN, vocab_size=700, input_sentence_size=350, shuffle_input_sentence=False)),
    "unread_file": ([SMALL, "missing.txt"], dict(PLAIN, vocab_size=500, input_sentence_size=200, shuffle_input_sentence=False)),
    "several_inputs": ([SPANISH, "few_words.txt", SMALL], dict(PLAIN, vocab_size=800, input_format="text")),
    "short_lines": ([SMALL], dict(PLAIN, vocab_size=600, max_sentence_length=100)),
    "hostile": (["hostile_text.txt"], dict(PLAIN, vocab_size=600, character_coverage=1.0, hard_vocab_limit=False,
                                           max_sentencepiece_length=512)),
    "hostile_bytes": (["hostile_text.txt"], dict(PLAIN, vocab_size=500, byte_fallback=True, split_by_whitespace=False,
                                                 remove_extra_whitespaces=False)),
    # The merge order.
    "repeats": (["repeats.txt"], dict(PLAIN, vocab_size=200, split_by_unicode_script=False, hard_vocab_limit=False)),
    "repeats_whole": (["repeats.txt"], dict(PLAIN, vocab_size=300, split_by_whitespace=False, hard_vocab_limit=False,
                                            max_sentencepiece_length=100)),
    "exhausted": (["few_words.txt"], dict(PLAIN, vocab_size=2000, hard_vocab_limit=False)),
    "no_scores": ([SPANISH], dict(PLAIN, vocab_size=300, vocabulary_output_piece_score=False)),
    # Unigram models.
    "unigram": ([SMALL], dict(UNIGRAM, vocab_size=1000)),
    "unigram_3_threads": ([SMALL], dict(UNIGRAM, vocab_size=600, num_threads=3)),
    "unigram_1_thread": ([MIXED], dict(UNIGRAM, vocab_size=330, num_threads=1, character_coverage=0.98)),
    "unigram_whole": ([SPANISH], dict(UNIGRAM, vocab_size=500, split_by_whitespace=False)),
    "unigram_whole_suffix": ([SMALL], dict(UNIGRAM, vocab_size=500, split_by_whitespace=False, treat_whitespace_as_suffix=True,
                                           max_sentencepiece_length=6, num_threads=5)),
    "unigram_suffix": ([SPANISH], dict(UNIGRAM, vocab_size=400, treat_whitespace_as_suffix=True)),
    "unigram_symbols": ([MIXED, SPANISH], dict(
        UNIGRAM, vocab_size=700, byte_fallback=True, split_digits=True, control_symbols="<cls>,of",
        user_defined_symbols=csv("<sep>", "a,b", "\u2581", "日本", "dere", "<s>"), required_chars="€日")),
    "unigram_seed_file": ([SPANISH], dict(UNIGRAM, vocab_size=300, seed_sentencepieces_file="testdata/seeds.tsv")),
    "unigram_seed_size_0": ([SPANISH], dict(UNIGRAM, vocab_size=400, seed_sentencepiece_size=0)),
    "unigram_few_seeds": ([SMALL], dict(UNIGRAM, vocab_size=350, seed_sentencepiece_size=400, shrinking_factor=0.6,
                                        num_sub_iterations=1)),
    "unigram_slow": (["few_words.txt", SPANISH], dict(UNIGRAM, vocab_size=150, shrinking_factor=0.95, num_sub_iterations=4)),
    "unigram_tsv": (["small_counts.tsv"], dict(UNIGRAM, vocab_size=300, input_format="tsv", num_threads=2)),
    "unigram_repeats": (["repeats.txt"], dict(UNIGRAM, vocab_size=100, split_by_unicode_script=False, hard_vocab_limit=False,
                                              max_sentencepiece_length=100)),
    "unigram_hostile": (["hostile_text.txt"], dict(UNIGRAM, vocab_size=300, hard_vocab_limit=False)),
    "unigram_delimiter": ([SPANISH], dict(UNIGRAM, vocab_size=300, pretokenization_delimiter="re")),
    # Word and char models.
    "word": ([SPANISH], dict(WORD, vocab_size=400)),
    "word_all": (["few_words.txt", MIXED], dict(WORD, vocab_size=20, use_all_vocab=True, character_coverage=0.99)),
    "word_symbols": ([SPANISH, MIXED], dict(WORD, vocab_size=300, user_defined_symbols="que,\u2581de,<sep>,日本",
                                            control_symbols="<cls>", treat_whitespace_as_suffix=True)),
    "word_exhausted": (["few_words.txt"], dict(WORD, vocab_size=100, hard_vocab_limit=False)),
    "word_tsv": (["words.tsv"], dict(WORD, vocab_size=150, input_format="tsv")),
    "char": ([SMALL], dict(CHAR, vocab_size=150)),
    "char_all": ([MIXED], dict(CHAR, vocab_size=30, use_all_vocab=True, character_coverage=1.0, required_chars="€")),
    "char_small": ([SPANISH], dict(CHAR, vocab_size=1000, byte_fallback=True, user_defined_symbols="de,a")),
}

# Flags of the program alone. They are not recorded in the model.
SPARSE = dict(UNIGRAM, use_sparse_pruning=True)
PROGRAM_CASES = {
    "unigram_sparse": ([SMALL], dict(SPARSE, vocab_size=600)),
    "unigram_sparse_biased": ([SPANISH], dict(SPARSE, vocab_size=300, post_l1_debias=False, num_threads=3)),
    "unigram_sparse_characters": ([MIXED, SPANISH], dict(
        SPARSE, vocab_size=700, auto_character_coverage=True, byte_fallback=True, user_defined_symbols="<sep>,que")),
    "unigram_length_power": ([SMALL], dict(UNIGRAM, vocab_size=500, seed_piece_length_power=0.3, seed_sentencepiece_size=900)),
    "unigram_square_root": ([SPANISH], dict(UNIGRAM, vocab_size=300, seed_piece_length_power=0.5, min_freq_alpha=0.5)),
    "unigram_min_count": ([SMALL], dict(UNIGRAM, vocab_size=450, seed_piece_length_power=0, min_freq_alpha=0.7,
                                        split_by_whitespace=False)),
}

REFUSED = [
    ("the vocabulary cannot hold the alphabet", [SMALL], dict(vocab_size=100)),
    ("no vocabulary", [SPANISH], dict(vocab_size=0)),
    ("the corpus cannot fill the vocabulary, and the limit is hard", ["few_words.txt"], dict(vocab_size=2000)),
    ("coverage below 0.98", [SPANISH], dict(vocab_size=300, character_coverage=0.5)),
    ("coverage above 1", [SPANISH], dict(vocab_size=300, character_coverage=1.5)),
    ("no unknown piece without byte fallback", [SPANISH], dict(vocab_size=300, unk_id=-1)),
    ("two special pieces with one id", [SPANISH], dict(vocab_size=300, bos_id=2)),
    ("a special id outside the vocabulary", [SPANISH], dict(vocab_size=300, pad_id=300)),
    ("an empty special piece", [SPANISH], dict(vocab_size=300, bos_piece="")),
    ("a control symbol twice", [SPANISH], dict(vocab_size=300, control_symbols="<a>,<b>,<a>")),
    ("a symbol both control and user-defined", [SPANISH], dict(vocab_size=300, control_symbols="<a>", user_defined_symbols="<a>")),
    ("the unknown piece as a symbol", [SPANISH], dict(vocab_size=300, user_defined_symbols="<unk>")),
    ("a byte piece as a symbol", [SPANISH], dict(vocab_size=600, byte_fallback=True, user_defined_symbols="<0x41>")),
    ("an empty symbol", [SPANISH], dict(vocab_size=300, control_symbols="<a>,,<b>")),
    ("a required character is a space", [SPANISH], dict(vocab_size=300, required_chars="a b")),
    ("a required character is U+2585", [SPANISH], dict(vocab_size=300, required_chars="\u2585")),
    ("automatic coverage without byte fallback", [SPANISH], dict(vocab_size=300, auto_character_coverage=True)),
    ("automatic coverage with required characters", [SPANISH], dict(
        vocab_size=600, auto_character_coverage=True, byte_fallback=True, required_chars="a")),
    ("byte pieces do not fit", [SPANISH], dict(vocab_size=200, byte_fallback=True)),
    ("an unknown input format", [SPANISH], dict(vocab_size=300, input_format="csv")),
    ("a tsv row of one column", ["bad_columns.tsv"], dict(vocab_size=300, input_format="tsv")),
    ("a tsv count that is no number", ["bad_count.tsv"], dict(vocab_size=300, input_format="tsv")),
    ("a tsv count of zero", ["zero_count.tsv"], dict(vocab_size=300, input_format="tsv")),
    ("a missing file", ["missing.txt"], dict(vocab_size=300)),
    ("a missing second file", [SPANISH, "missing.txt"], dict(vocab_size=300)),
    ("no line is short enough", ["few_words.txt"], dict(vocab_size=60, max_sentence_length=10)),
    ("sentence length below 10", [SPANISH], dict(vocab_size=300, max_sentence_length=3)),
    ("piece length 0", [SPANISH], dict(vocab_size=300, max_sentencepiece_length=0)),
    ("piece length above 512", [SPANISH], dict(vocab_size=300, max_sentencepiece_length=513)),
    ("a sample of 100 or fewer", [SPANISH], dict(vocab_size=300, input_sentence_size=100)),
    ("no threads", [SPANISH], dict(vocab_size=300, num_threads=0)),
    ("use_all_vocab with bpe", [SPANISH], dict(vocab_size=300, use_all_vocab=True)),
    ("a seed file with bpe", [SPANISH], dict(vocab_size=300, seed_sentencepieces_file="testdata/words.tsv")),
    ("an unknown normalization rule", [SPANISH], dict(vocab_size=300, normalization_rule_name="nfd")),
    ("a missing rule file", [SPANISH], dict(vocab_size=300, normalization_rule_tsv="testdata/missing.tsv")),
    ("a rule that is no code point", [SPANISH], dict(vocab_size=300, normalization_rule_tsv="testdata/bad_rules.tsv")),
    ("automatic coverage with unigram", [SPANISH], dict(
        model_type="unigram", vocab_size=600, byte_fallback=True, auto_character_coverage=True)),
    ("automatic coverage with word", [SPANISH], dict(
        model_type="word", vocab_size=600, byte_fallback=True, auto_character_coverage=True)),
    ("use_all_vocab with unigram", [SPANISH], dict(model_type="unigram", vocab_size=300, use_all_vocab=True)),
    ("a seed file with char", [SPANISH], dict(
        model_type="char", vocab_size=300, seed_sentencepieces_file="testdata/seeds.tsv")),
    ("a delimiter with word", [SPANISH], dict(model_type="word", vocab_size=300, pretokenization_delimiter="re")),
    ("shrinking_factor below 0.5", [SPANISH], dict(model_type="unigram", vocab_size=300, shrinking_factor=0.25)),
    ("no sub-iterations", [SPANISH], dict(model_type="unigram", vocab_size=300, num_sub_iterations=0)),
    ("too few words, and the limit is hard", ["few_words.txt"], dict(model_type="word", vocab_size=100)),
    ("too few unigram pieces, and the limit is hard", ["few_words.txt"], dict(model_type="unigram", vocab_size=500)),
    ("a unigram vocabulary cannot hold the alphabet", [SMALL], dict(model_type="unigram", vocab_size=100)),
    ("a seed file without counts", [SPANISH], dict(
        model_type="unigram", vocab_size=300, seed_sentencepieces_file="testdata/few_words.txt")),
]

# ---------------------------------------------------------------- the reference

TRAIN = """
import sys, sentencepiece
try:
    sentencepiece.SentencePieceTrainer.train(**dict(a.split("=", 1) for a in sys.argv[1:]), minloglevel="2")
except Exception as e:
    sys.exit(f"{type(e).__name__}: {e}")
"""


def run_reference(options, folder, program=None):
    """Train in a process of its own, in `folder`, where `testdata` is a link to ours; None or the error.

    Without a program, the wheel trains.
    """
    arguments = [f"{name}={value}" for name, value in options.items()]
    command = [program, *(f"--{a}" for a in arguments)] if program else [sys.executable, "-c", TRAIN, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=600)
    if done.returncode == 0:
        return None
    said = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1]
    return f"{said} (exit status {done.returncode})"


def train(case, program):
    """(the three golden files of a case: {name: bytes})"""
    inputs, given = {**CASES, **PROGRAM_CASES}[case]
    options = flags(case, inputs, **given)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(HERE, Path(folder, "testdata"))
        error = run_reference(options, folder, program if case in PROGRAM_CASES else None)
        if error:
            raise SystemExit(f"{case}: {error}")
        files = {f"{case}.flags": "".join(f"{k}={v}\n" for k, v in options.items()).encode()}
        for kind in ("model", "vocab"):
            files[f"{case}.{kind}"] = Path(folder, f"{case}.{kind}").read_bytes()
    return files


def refused():
    """The table of refused options, each tried."""
    rows = []
    for reason, inputs, given in REFUSED:
        options = flags("refused", inputs, **dict(PLAIN, **given))
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(HERE, Path(folder, "testdata"))
            error = run_reference(options, folder)
            print(f"  refused: {reason}: {error}", file=sys.stderr)
            if error is None:
                raise SystemExit(f"accepted, though we say: {reason}")
        # A flag at its default is left out, but for those that every row names.
        shown = [f"{k}={v}" for k, v in options.items() if DEFAULTS.get(k) != v]
        rows.append("\t".join([reason, *shown]))
    return {"refused.tsv": ("\n".join(rows) + "\n").encode()}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help="train only these")
    parser.add_argument("--check", action="store_true", help="write nothing, report every file that differs")
    parser.add_argument("--spm_train", type=Path, help="the program spm_train, release 0.2.3, for PROGRAM_CASES")
    options = parser.parse_args()
    known = {*CASES, *PROGRAM_CASES} if options.spm_train else set(CASES)
    if not set(options.cases) <= known:
        parser.error(f"no such case, or no --spm_train: {' '.join(sorted(set(options.cases) - known))}")
    return options


def check_releases(spm_train):
    import sentencepiece
    if sentencepiece.__version__ != RELEASE:
        sys.exit(f"need sentencepiece {RELEASE}, found {sentencepiece.__version__}")
    if spm_train:
        said = subprocess.run([spm_train, "--version"], capture_output=True, text=True).stdout
        if RELEASE not in said.split():
            sys.exit(f"need spm_train {RELEASE}, found {said!r}")


def main():
    options = parse_arguments()
    program = options.spm_train and options.spm_train.resolve()
    check_releases(program)
    check, chosen = options.check, options.cases
    cases = [*CASES, *PROGRAM_CASES] if program else [*CASES]
    wrong = []

    def put(path, data):
        if not check:
            path.write_bytes(data)
        elif not path.exists() or path.read_bytes() != data:
            wrong.append(path.name)

    if not check and not chosen:
        GOLDEN.mkdir(exist_ok=True)
        for path in GOLDEN.iterdir():
            if program or path.stem not in PROGRAM_CASES:
                path.unlink()
    for name, make in INPUTS.items():
        put(HERE / name, make())
    for case in chosen or cases:
        print(case, file=sys.stderr)
        for name, data in train(case, program).items():
            put(GOLDEN / name, data)
    if not chosen:
        for name, data in refused().items():
            put(GOLDEN / name, data)
    kinds = {".txt", ".tsv", ".flags", ".model", ".vocab", ".LICENSE"}
    # The other folders have sums of their own.
    data = sorted(p for folder in (HERE, GOLDEN) for p in folder.iterdir() if p.suffix in kinds)
    sums = [f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.relative_to(HERE).as_posix()}\n" for p in data]
    put(HERE / "SHA256SUMS", "".join(sums).encode())
    if wrong:
        sys.exit("differ: " + " ".join(wrong))


if __name__ == "__main__":
    main()
