#!/usr/bin/env python3
"""Compares the pretokens of spiece with those of tiktoken and of tokenizers.

    pip install tiktoken==0.14.0 tokenizers==0.23.3 rustbpe==0.1.0
    cargo build --release --example pretokens
    python3 tests/conformance/patterns.py target/release/examples/pretokens [--seed 1] [--cases 1000000] [--length 4]
        [--only NAME]

Each known expression, and some that have no scanner, cut all texts of up to --length characters of an alphabet that has
every class that an expression names, and --cases random texts. tokenizers shows its pretokens. tiktoken shows ids only:
it gets a vocabulary in which every substring of the texts is a token, and then makes one token of each pretoken.

The exit status is 1 if something differs; the shortest different texts are printed.
"""

import argparse
import collections
import itertools
import random
import subprocess
import sys

import rustbpe
import tiktoken
import tiktoken_ext.openai_public
from tokenizers import Regex, pre_tokenizers

ALPHABET = (
    list("aBsStTlLveErRmdDk'\"1!/$_ \n\r\t")
    + ["\u00a0", "\u2028", "\u3000", "\u0085", "é", "Σ", "\u01c5", "\u02b0", "א", "中", "々", "〇", "⺀", "か", "ー", "・"]
    + ["\u3099", "\u0301", "Ⅷ", "٣", "²", "한", "😀", "\u200d", "\u0001", "\u0378", "\u017f", "\u212a", "\U00016ff0", "龦"]
)
# For all texts of a length: one of each kind, and the letters of contractions.
SHORT = list("aBsSlLver'1!/ \n\r\t") + ["\u00a0", "é", "Σ", "\u01c5", "\u02b0", "中", "々", "〇", "⺀", "・", "\u0301"] + [
    "٣", "한", "😀", "\u200d", "\u017f", "\u212a"
]

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WHITE_SPACE = r"\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"


def cased(without, contractions):
    before = r"[^\r\n\p{L}\p{N}]?"
    return f"{before}[{UPPER}{without}]*[{LOWER}{without}]+{contractions}|{before}[{UPPER}{without}]+[{LOWER}{without}]*{contractions}"


def like_llama3(numbers):
    return rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{numbers}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{WHITE_SPACE}"


def of_tiktoken(name):
    return getattr(tiktoken_ext.openai_public, name)()["pat_str"]


def without_files(function):
    """The pattern of an encoding of tiktoken, without its vocabulary."""
    module = tiktoken_ext.openai_public
    load, module.load_tiktoken_bpe = module.load_tiktoken_bpe, lambda *_, **__: {}
    try:
        return function()
    finally:
        module.load_tiktoken_bpe = load


def of_rustbpe():
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(["a"]), vocab_size=256)
    return tokenizer.get_pattern()


O200K = without_files(lambda: of_tiktoken("o200k_base"))
CL100K = without_files(lambda: of_tiktoken("cl100k_base"))
TEKKEN = rf"{cased('', '')}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{WHITE_SPACE}"
PLACE_DIGITS = r"(?<!\p{N})\p{N}{1,2}(?=(?:\p{N}{3})*(?!\p{N}))|\p{N}{3}"
HAN = r"&&[^\p{Han}]"
KIMI = rf"[\p{{Han}}]+|{cased(HAN, CONTRACTIONS + '?')}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{WHITE_SPACE}"
DEEPSEEK = [
    ("isolated", r"\p{N}{1,3}"),
    ("isolated", "[一-龥\u3040-ゟ゠-ヿ]+"),
    (
        "isolated",
        "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
        "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+",
    ),
]

# What tiktoken runs.
FINDALL = {
    "r50k": tiktoken_ext.openai_public.r50k_pat_str,
    "gpt2": GPT2,
    "cl100k": CL100K,
    "llama3": like_llama3(r"\p{N}{1,3}"),
    "qwen2": like_llama3(r"\p{N}"),
    "o200k": O200K,
    "tekken": TEKKEN,
    "kimi": KIMI,
    "rustbpe": of_rustbpe(),
    "deepseek words": DEEPSEEK[2][1],
    "llama3, numbers from the right": like_llama3(PLACE_DIGITS),
    "o200k, numbers from the right": O200K.replace(r"|\p{N}{1,3}|", f"|{PLACE_DIGITS}|"),
    # Without scanners.
    "qwen3.5": rf"{CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?[\p{{L}}\p{{M}}]+|\p{{N}}| ?[^\s\p{{L}}\p{{M}}\p{{N}}]+[\r\n]*|{WHITE_SPACE}",
    "words": r"\w+|[^\w\s]+",
    "possessive": r"\p{L}++'?+|\p{N}{2}+|[^\s\p{L}\p{N}]*+[\r\n]|\s*+\S|\s",
    "fold": r"(?i)k+|s|\s+(?!\S)|l",
    "lazy": r"\S+?'|\s+?\S|\s+(?!\S)|[\s\S]",
}

# What tokenizers runs.
SPLITS = {
    "gpt2": [("isolated", GPT2)],
    "r50k": [("isolated", FINDALL["r50k"])],
    "cl100k": [("isolated", CL100K)],
    "rustbpe": [("isolated", FINDALL["rustbpe"])],
    "llama3": [("isolated", FINDALL["llama3"])],
    "qwen3": [("isolated", FINDALL["qwen2"])],
    "gpt4o": [("removed!", O200K)],
    "tekken": [("isolated", TEKKEN)],
    "kimi": [("isolated", KIMI)],
    "deepseek": DEEPSEEK,
    "deepseek words": DEEPSEEK[2:],
    "llama3, numbers from the right": [("isolated", like_llama3(PLACE_DIGITS))],
    "llama3, numbers from the right, quadratic": [("isolated", like_llama3(r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))"))],
    "o200k, numbers from the right": [("removed!", O200K.replace(r"|\p{N}{1,3}|", f"|{PLACE_DIGITS}|"))],
    # Without scanners.
    "numbers, gpt2": [("contiguous", r"\p{N}"), ("isolated", GPT2)],
    "starcoder": [("isolated", r"\p{N}"), ("isolated", GPT2)],
    "bloom": [("isolated", r" ?[^(\s|[.,!?…。，、।۔،])]+"), ("merged_with_next", r"\s+$")],
    "lines": [("merged_with_previous", r"[\r\n]"), ("removed", r"^\s|\s$")],
    "word": [("isolated", r"\w+|[^\w\s]+"), ("merged_with_previous!", r"[aeiou]\W")],
    "empty matches": [("isolated", r"a*|\s+(?!\S)")],
    "numbers twice": [("contiguous", r"\p{N}{1,2}+|\s+(?!\S)"), ("merged_with_next", r"l*")],
    "deepseek coder": [
        ("isolated", r"[\r\n]"),
        ("isolated", r"\s?\p{L}+"),
        ("isolated", r"\s?\p{P}+"),
        ("isolated", r"[一-龥ࠀ-一가-퟿]+"),
        ("isolated", r"\p{N}"),
    ],
}


def all_texts(length):
    for count in range(length + 1):
        for characters in itertools.product(SHORT, repeat=count):
            yield "".join(characters)


def random_texts(seed, count):
    source = random.Random(seed)
    for case in range(count):
        # Few different characters make long runs.
        alphabet = ALPHABET if case % 2 else source.sample(ALPHABET, 5)
        text = "".join(source.choices(alphabet, k=source.randint(3, 9)))
        # Long runs of numbers are rare among these.
        yield text.replace("1", "1" * source.randint(1, 40)) if case % 8 == 0 else text


def batches(texts, size=4000):
    texts = iter(texts)
    while batch := list(itertools.islice(texts, size)):
        yield batch


def with_tiktoken(expression, batch):
    parts = {text[i:j].encode() for text in batch for i in range(len(text)) for j in range(i + 1, len(text) + 1)}
    parts |= {bytes([byte]) for byte in range(256)}
    parts = list(parts)
    encoding = tiktoken.Encoding(
        "all", pat_str=expression, mergeable_ranks={part: rank for rank, part in enumerate(parts)}, special_tokens={}
    )
    for text in batch:
        yield b"\x1f".join(parts[token] for token in encoding.encode_ordinary(text)).hex()


def with_tokenizers(splits, batch):
    steps = [
        pre_tokenizers.Split(Regex(expression), behavior.rstrip("!"), invert=behavior.endswith("!"))
        for behavior, expression in splits
    ]
    sequence = pre_tokenizers.Sequence(steps)
    for text in batch:
        yield "\x1f".join(part for part, _ in sequence.pre_tokenize_str(text)).encode().hex()


class Spiece:
    def __init__(self, program, arguments):
        self.command = [program, *arguments]

    def __call__(self, batch):
        text = "".join(text.encode().hex() + "\n" for text in batch)
        run = subprocess.run(self.command, input=text, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{self.command}: {run.stderr}")
        return run.stdout.splitlines()


def readable(parts):
    return bytes.fromhex(parts).decode().split("\x1f")


def compare(name, spiece, reference, texts):
    count, differences = 0, collections.Counter()
    for batch in batches(texts):
        for text, ours, theirs in zip(batch, spiece(batch), reference(batch), strict=True):
            count += 1
            if ours != theirs:
                differences[text, ours, theirs] += 1
    print(f"{name}: {count} texts, {sum(differences.values())} differences", flush=True)
    for text, ours, theirs in sorted(differences, key=lambda difference: len(difference[0]))[:5]:
        print(f"  {text!a}\n    spiece    {readable(ours)}\n    reference {readable(theirs)}")
    return not differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    equal = True
    for name, expression in FINDALL.items():
        if options.only in f"tiktoken {name}":
            texts = itertools.chain(all_texts(options.length), random_texts(f"{options.seed} {name}", options.cases))
            spiece = Spiece(options.program, ["findall", expression])
            equal &= compare(f"tiktoken {name}", spiece, lambda batch: with_tiktoken(expression, batch), texts)
    for name, splits in SPLITS.items():
        if options.only in f"tokenizers {name}":
            texts = itertools.chain(all_texts(options.length), random_texts(f"{options.seed} {name}", options.cases))
            spiece = Spiece(options.program, [argument for split in splits for argument in split])
            equal &= compare(f"tokenizers {name}", spiece, lambda batch: with_tokenizers(splits, batch), texts)
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
