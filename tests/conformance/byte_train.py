#!/usr/bin/env python3
"""Compares the training of byte-level BPE with tokenizers 0.23.3, rustbpe 0.1.0, and the algorithms of minbpe and of courses.

    python3 tests/conformance/byte_train.py                                # 300 cases, seed 1
    python3 tests/conformance/byte_train.py --cases 1500 --seed 7 --texts FILE --texts FILE

Each case is a random text, a pattern, a number of tokens and limits. For tokenizers the whole tokenizer.json is
compared, for the others the tokens. Texts are tiny with many ties, random words, and parts of testdata and of
`--texts`; they are read by line, as one text, or as records. minbpe is not on PyPI; its algorithm is written here once
more, and with another order of ties it is the one that courses teach. With special tokens cut out, the reference gets
what is between them. A text that differs is reduced to a smallest one. The exit status is 0 if nothing differs, 1 if something does, 2
if the harness cannot run.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from byte_level import LLAMA_PATTERN, QWEN_PATTERN, mapped_characters  # noqa: E402
from differential import bootstrap, script, texts  # noqa: E402
from differential.minimize import shrink_list  # noqa: E402

# What `--pattern` is, and the expression of the reference. The names are in the form that Oniguruma reads alike.
RUSTBPE_PATTERN = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]"
                   r"|\s+(?!\S)|\s+")
GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
PATTERNS = {
    "gpt2": GPT2_PATTERN,
    "llama3": LLAMA_PATTERN,
    "qwen2": QWEN_PATTERN,
    **{pattern: pattern for pattern in (RUSTBPE_PATTERN, r"\p{L}+|[^\p{L}\s]+|\s+", r" ?\p{L}+", r"[ab]+|\s|.{1,3}")},
    "none": None,
}
SPECIAL = ["<|endoftext|>", "<s>", "ab", "abab", "a", "th", "the", "in", "er", "[MASK]", "«x y»", "</s>", "  "]
# Those that can stand beside tokens of text in an order in which a merge never has the id of a special token.
UNLEARNED = ["<|endoftext|>", "<|endoftext|>>", "<s>", "[MASK]", "</s>"]


def tokenizers_file(case, documents):
    """The tokenizer.json that tokenizers saves."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=case["pattern"] == "gpt2")
    expression = PATTERNS[case["pattern"]]
    if case["pattern"] == "gpt2" or expression is None:
        tokenizer.pre_tokenizer = byte_level
    else:
        split = pre_tokenizers.Split(Regex(expression), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
    tokenizer.decoder = decoders.ByteLevel()
    limit = {} if case["max_length"] is None else {"max_token_length": case["max_length"]}
    trainer = trainers.BpeTrainer(
        vocab_size=case["size"], min_frequency=case["min_frequency"], special_tokens=case["special"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False, **limit)
    tokenizer.train_from_iterator(documents, trainer)
    return tokenizer.to_str(pretty=True).encode()


def rustbpe_tokens(case, documents):
    import rustbpe

    trained = rustbpe.Tokenizer()
    expression = PATTERNS[case["pattern"]]
    size = case["size"] - len(case["special"])
    trained.train_from_iterator(iter(documents), size, pattern=expression)
    return [bytes(token) for token, _ in sorted(trained.get_mergeable_ranks(), key=lambda entry: entry[1])]


def plain_tokens(case, documents):
    """The most frequent pair is merged everywhere, until none is left. Of equal ones it is the one that occurs first in the
    order of minbpe, and the one with the greatest bytes in that of courses."""
    import regex

    expression = PATTERNS[case["pattern"]]
    parts = documents
    if expression is not None:
        parts = [part for document in documents for part in regex.findall(expression, document)]
    parts = [[bytes([byte]) for byte in part.encode()] for part in parts]
    tokens = [bytes([byte]) for byte in range(256)]
    while len(tokens) < case["size"] - len(case["special"]):
        counts = {}
        for part in parts:
            for pair in zip(part, part[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        is_greatest = case["trainer"] == "greatest"
        best = max(counts, key=lambda pair: (counts[pair], pair) if is_greatest else counts[pair])
        joined = b"".join(best)
        tokens.append(joined)
        for part in parts:
            at = 0
            while at + 1 < len(part):
                if (part[at], part[at + 1]) == best:
                    part[at : at + 2] = [joined]
                at += 1
    return tokens


def tokens_of(file):
    """The tokens of a tokenizer.json, in the order of their ids, without special tokens."""
    model = json.loads(file)
    spelling = {char: byte for byte, char in mapped_characters().items()}
    added = {token["content"] for token in model["added_tokens"]}
    in_order = sorted(model["model"]["vocab"].items(), key=lambda entry: entry[1])
    return [bytes(spelling[char] for char in token) for token, _ in in_order if token not in added]


def random_text(rng, corpora):
    """A list of lines, each with its line end, of one of several kinds."""
    kind = rng.randrange(5)
    if kind == 0:
        few = rng.choice(["ab", "ab \n", "abc\n ", "aé漢 \n", "01 a\r\n'"])
        return ["".join(rng.choice(few) for _ in range(rng.choice([1, 5, 20, 200, 700])))]
    if kind == 1:
        words = ["".join(rng.choice("abcd") for _ in range(rng.randint(1, 12))) for _ in range(rng.randint(1, 80))]
        return [rng.choice([" ", "  ", "\n", ", "]).join(words)]
    if kind == 2:
        lexicon = texts.Lexicon(rng)
        return [texts.line_of_words(rng, lexicon).replace("\x00", "") + "\n" for _ in range(rng.randint(1, 30))]
    text = rng.choice(corpora)
    size = rng.choice([200, 2000, 20_000] if kind == 3 else [500, 4000])
    start = rng.randrange(max(1, len(text) - size))
    return text[start : start + size].splitlines(keepends=True)


def insert_special_tokens(rng, lines, special):
    for _ in range(rng.choice([1, 5, 20])):
        number = rng.randrange(len(lines))
        at = rng.randrange(len(lines[number]) + 1)
        lines[number] = lines[number][:at] + rng.choice(special) + lines[number][at:]


def random_case(rng):
    trainer = rng.choice(["hf", "hf", "hf", "rustbpe", "rustbpe", "minbpe", "greatest"])
    splits = trainer != "minbpe" and rng.random() < 0.4
    special = []
    if trainer == "hf" or splits:
        special = rng.sample(SPECIAL if trainer == "hf" else UNLEARNED, rng.choice([0, 0, 1, 3]))
    names = [name for name in PATTERNS if trainer != "rustbpe" or name != "none"]
    return {
        "trainer": trainer,
        "pattern": rng.choice(names),
        "size": 256 + len(special) + rng.choice([0, 1, 10, 50, 300, 1500]),
        "min_frequency": rng.choice([0, 0, 1, 2, 3, 10]) if trainer == "hf" else 0,
        "max_length": rng.choice([None, None, 1, 2, 3, 5, 9]) if trainer == "hf" else None,
        "special": special,
        "splits": splits,
        "document": rng.choice(["line", "line", "file", "record"]),
        "jobs": rng.choice([1, 2, 7]),
    }


class Spiece:
    """The program, which trains in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = str(program), folder

    def file(self, case, lines):
        """The tokenizer.json of a case, and the documents that the reference gets."""
        text, documents = "".join(lines), ["".join(lines)]
        flags = [f"--document={case['document']}"]
        if case["document"] == "line":
            documents = text.split("\n")
            documents = [line + "\n" for line in documents[:-1]] + [line for line in documents[-1:] if line]
        elif case["document"] == "record":
            documents = lines
            text = "".join(json.dumps({"text": line}) + "\n" for line in lines)
            flags = ["--json_field=text"]
        path = Path(self.folder, "text")
        path.write_bytes(text.encode())
        flags += [f"--min_frequency={case['min_frequency']}", f"--tie_order={case['trainer']}"]
        if case["max_length"] is not None:
            flags.append(f"--max_token_length={case['max_length']}")
        if case["special"]:
            flags.append("--special_tokens=" + ",".join(case["special"]))
        if case["splits"]:
            flags.append("--split_special_tokens")
        done = subprocess.run(
            [self.program, "train", "--model_type=byte_bpe", f"--pattern={case['pattern']}", f"--jobs={case['jobs']}",
             f"--vocab_size={case['size']}", f"--input={path}", f"--model_prefix={self.folder}/m", "--quiet", *flags],
            capture_output=True)
        if done.returncode != 0:
            raise RuntimeError(f"status {done.returncode}: {done.stderr.decode()}")
        return Path(self.folder, "m.json").read_bytes(), documents


def difference(spiece, case, lines):
    """What differs; None if nothing does."""
    try:
        file, documents = spiece.file(case, lines)
    except RuntimeError as error:
        return str(error)
    if case["splits"] and case["special"]:
        longest_first = sorted(case["special"], key=len, reverse=True)
        expression = "|".join(map(re.escape, longest_first))
        documents = [part for document in documents for part in re.split(expression, document)]
    if case["trainer"] == "hf":
        theirs = tokenizers_file(case, documents)
        if file == theirs:
            return None
        rows = zip(file.decode().split("\n"), theirs.decode().split("\n"))
        found = next(((ours, their) for ours, their in rows if ours != their), None)
        return "one file is longer" if found is None else f"{found[0]!r}, reference {found[1]!r}"
    reference = rustbpe_tokens if case["trainer"] == "rustbpe" else plain_tokens
    ours, theirs = tokens_of(file), reference(case, documents)
    if ours == theirs:
        return None
    found = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]), None)
    return f"{len(ours)} tokens, reference {len(theirs)}" if found is None else f"{found[0]!r}, reference {found[1]!r}"


def smallest(spiece, case, lines):
    """Fewest lines, and then characters, that still differ."""
    lines = shrink_list(lines, lambda kept: bool(kept) and difference(spiece, case, kept) is not None)
    characters = list("".join(lines))
    if case["document"] == "record" or len(characters) > 5000:
        return lines
    return ["".join(shrink_list(characters, lambda kept: bool(kept) and difference(spiece, case, kept) is not None))]


def compare(options):
    paths = [bootstrap.TESTDATA / "udhr.txt", bootstrap.TESTDATA / "mixed.txt", *options.texts]
    corpora = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    passed, failed = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        spiece = Spiece(options.program, folder)
        for number in range(options.cases):
            rng = random.Random(f"{options.seed} {number}")
            case, lines = random_case(rng), random_text(rng, corpora)
            if options.trainer not in (None, case["trainer"]):
                continue
            if case["special"] and rng.random() < 0.7:
                insert_special_tokens(rng, lines, case["special"])
            if case["trainer"] in ("minbpe", "greatest"):
                # Every merge of the reference counts everything again.
                lines = ["".join(lines)[:3000]]
            what = difference(spiece, case, lines)
            if what is None:
                passed[case["trainer"]] = passed.get(case["trainer"], 0) + 1
                continue
            failed += 1
            print(f"case {number}: {case}\n  {what}", flush=True)
            if failed <= 3:
                print(f"  {json.dumps(smallest(spiece, case, lines))}", flush=True)
            if failed > 20:
                break
    counts = ", ".join(f"{trainer} {count}" for trainer, count in sorted(passed.items()))
    print(f"{sum(passed.values())} passed ({counts}), {failed} failed")
    return 1 if failed else 0


def main():
    parser = script.flags(__doc__, cases=300, seed_help="every seed gives other cases")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a further text; may be repeated")
    parser.add_argument("--trainer", choices=["hf", "rustbpe", "minbpe", "greatest"], help="only cases of this trainer")
    script.run(parser, compare)


if __name__ == "__main__":
    main()
