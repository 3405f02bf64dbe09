#!/usr/bin/env python3
"""Compares byte-level BPE of spiece with tiktoken 0.14.0 and tokenizers 0.23.3.

    python3 tests/conformance/byte_level.py                            # vocabularies trained here, seed 1
    python3 tests/conformance/byte_level.py --vocabularies FOLDER      # also the known files of a folder
    python3 tests/conformance/byte_level.py --cases 1000000 --seed 7 --longest 4

Without a folder, tokenizers trains vocabularies of testdata/ with each pattern; they are run as tokenizer.json and, by
their ranks, as `.tiktoken`. A folder may have the files of the table KNOWN, under these names.

For each vocabulary the ids of three sets of texts are compared: all strings of up to `--longest` characters over an
alphabet with a character of each class that a pattern names, `--cases` random strings, and the texts of testdata/ (and
of `--texts`). Decoding the ids has to give the text back, and spans have to cover it, each as long as its token; those of
a tokenizer.json are the offsets of tokenizers, which have whole characters. A text that differs is reduced to a smallest one. The exit status is 0 if nothing differs, 1 if something does, 2 if the
harness cannot run.
"""

import base64
import itertools
import json
import random
import re
import sys
import tempfile
import unicodedata
from pathlib import Path

sys.dont_write_bytecode = True

from differential import bootstrap, script, texts  # noqa: E402

# A character of every class: letters by case (title case, modifier, without case), marks, digits, other numbers,
# punctuation, the apostrophe, long s and the Kelvin sign (which fold to s and k), the ends of lines, white space
# of several kinds, no-break space, ideographs, Hangul, kana, an emoji, a symbol, a character that is not assigned.
CLASSES = list("aAsStl\u01c5\u02b0\u00aa\u05d0\u0301\u0903" "1\u0664\u00bd\u2167" ".'/!_$\u2019" "\u017f\u212a"
               "\r\n\t \u00a0\u3000\u0085\u200b" "\u4e2d\ud55c\u3042\U0001f600\u0378")

# Llama 3's and Kimi's patterns are not in tiktoken, so their `.tiktoken` files are run with these.
QWEN_PATTERN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                r"|\s+(?!\S)|\s+")
LLAMA_PATTERN = QWEN_PATTERN.replace(r"\p{N}|", r"\p{N}{1,3}|")
KIMI_PATTERN = "|".join([
    r"[\p{Han}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+",
])


class Tiktoken:
    """A file of ranks. Its pattern is that of tiktoken's encoding of the same name, or is given."""

    has_offsets = False

    def __init__(self, path, pattern=None, form=None):
        import tiktoken
        import tiktoken_ext.openai_public as public
        from tiktoken.load import load_tiktoken_bpe

        ranks = load_tiktoken_bpe(str(path))
        self.form = form
        if pattern is None:
            public.load_tiktoken_bpe = lambda *_, **__: ranks
            self.encoding = tiktoken.Encoding(**public.ENCODING_CONSTRUCTORS[path.stem]())
        else:
            self.encoding = tiktoken.Encoding(path.stem, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    def ids(self, lines):
        return self.encoding.encode_ordinary_batch([self.normalized(line) for line in lines])

    def normalized(self, line):
        """Qwen's own code, which calls tiktoken, brings text to NFC before."""
        return unicodedata.normalize(self.form, line) if self.form else line

    def lengths(self, ids):
        return [len(token) for token in self.encoding.decode_tokens_bytes(ids)]


class Tokenizers:
    """A tokenizer.json, or a folder with vocab.json and merges.txt as GPT-2 uses them."""

    def __init__(self, path):
        import tokenizers

        if path.is_dir():
            model = tokenizers.models.BPE.from_file(str(path / "vocab.json"), str(path / "merges.txt"))
            self.tokenizer = tokenizers.Tokenizer(model)
            self.tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
            self.tokenizer.decoder = tokenizers.decoders.ByteLevel()
        else:
            self.tokenizer = tokenizers.Tokenizer.from_file(str(path))
        self.tokenizer.encode_special_tokens = True
        # A folder runs as a vocabulary of bytes, whose tokens cover their bytes.
        self.has_offsets = not path.is_dir()

    def ids(self, lines):
        return [made.ids for made in self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)]

    def normalized(self, line):
        """Qwen's tokenizers normalize to NFC, so what is decoded is another text."""
        return self.tokenizer.normalizer.normalize_str(line) if self.tokenizer.normalizer else line

    def offsets(self, line):
        """In bytes."""
        before = [len(line[:at].encode()) for at in range(len(line) + 1)]
        offsets = self.tokenizer.encode(line, add_special_tokens=False).offsets
        return [(before[begin], before[end]) for begin, end in offsets]

    def lengths(self, ids):
        # Each byte is one mapped character.
        return [len(self.tokenizer.id_to_token(token)) for token in ids]


def mapped_characters():
    """GPT-2's character for each byte: printable ones of Latin-1 stand for themselves, others are moved above."""
    kept = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in kept]
    return {**{byte: chr(byte) for byte in kept}, **{byte: chr(256 + at) for at, byte in enumerate(moved)}}


def tekken(path):
    """mistral-common's way from tekken.json to tiktoken: ranks in order, ids after the special tokens."""
    import tiktoken

    data = json.loads(path.read_text(encoding="utf-8"))
    special = data["config"]["default_num_special_tokens"]
    size = data["config"]["default_vocab_size"] - special
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in data["vocab"][:size]}
    encoding = tiktoken.Encoding("tekken", pat_str=data["config"]["pattern"], mergeable_ranks=ranks, special_tokens={})

    class Tekken(Tiktoken):
        def __init__(self):
            self.encoding, self.form = encoding, None

        def ids(self, lines):
            return [[rank + special for rank in ranks] for ranks in super().ids(lines)]

        def lengths(self, ids):
            return super().lengths([token - special for token in ids])

    return Tekken()


# The names of known files, how the reference runs them, and the flags of spiece.
KNOWN = {
    **{f"{name}.tiktoken": (Tiktoken, []) for name in ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")},
    "llama3.tiktoken": (lambda path: Tiktoken(path, LLAMA_PATTERN), [f"--pattern={LLAMA_PATTERN}"]),
    "qwen3.tiktoken": (lambda path: Tiktoken(path, QWEN_PATTERN, "NFC"), [f"--pattern={QWEN_PATTERN}"]),
    "kimi.tiktoken": (lambda path: Tiktoken(path, KIMI_PATTERN), [f"--pattern={KIMI_PATTERN}"]),
    **{f"{name}.json": (Tokenizers, []) for name in ("llama3", "qwen3", "deepseek_v3", "gpt4o")},
    "tekken_240911.json": (tekken, []),
    "gpt2": (Tokenizers, []),
}


def trained(folder, rng):
    """Vocabularies that tokenizers trains of testdata/ with each pattern, as tokenizer.json and as ranks."""
    import tiktoken_ext.openai_public as public
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    public.load_tiktoken_bpe = public.data_gym_to_mergeable_bpe_ranks = lambda *_, **__: {}
    patterns = {"llama3": LLAMA_PATTERN, "qwen2": QWEN_PATTERN}
    for name in ("r50k_base", "cl100k_base", "o200k_base"):
        patterns[name] = public.ENCODING_CONSTRUCTORS[name]()["pat_str"]
    corpus = [str(bootstrap.TESTDATA / "udhr.txt"), str(bootstrap.TESTDATA / "mixed.txt")]
    for name, pattern in patterns.items():
        tokenizer = Tokenizer(models.BPE())
        # Quantifiers are greedy here: after `{1,3}`, a plus sign is a second quantifier to Oniguruma.
        greedy = re.sub(r"([+*?}])\+", r"\1", pattern)
        split = pre_tokenizers.Split(Regex(greedy), "isolated")
        byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, byte_level])
        tokenizer.decoder = decoders.ByteLevel()
        size = rng.choice([300, 700, 2000, 5000])
        tokenizer.train(corpus, trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        path = folder / f"trained_{name}.json"
        tokenizer.save(str(path))
        yield path, Tokenizers(path), []

        spelling = {char: byte for byte, char in mapped_characters().items()}
        in_order = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
        ranks = folder / f"trained_{name}.tiktoken"
        with open(ranks, "wb") as file:
            for token, rank in in_order:
                file.write(base64.b64encode(bytes(spelling[char] for char in token)) + b" %d\n" % rank)
        yield ranks, Tiktoken(ranks, pattern), [f"--pattern={pattern}"]


def random_text(rng):
    """A string of one of several kinds: of classes, of letters, of few characters, of words, of real lines."""
    kind = rng.randrange(6)
    if kind == 0:
        return "".join(rng.choice(CLASSES) for _ in range(rng.randint(1, 12)))
    if kind == 1:
        return "".join(rng.choice("ab") for _ in range(rng.choice([3, 10, 40, 200])))
    if kind == 2:
        few = rng.sample(CLASSES, 3)
        return "".join(rng.choice(few) for _ in range(rng.choice([5, 20, 80])))
    if kind == 3:
        return "".join(texts.character(rng, rng.choice(sorted(texts.ALPHABETS))) for _ in range(rng.randint(1, 20)))
    if kind == 4:
        return texts.line_of_words(rng, texts.Lexicon(rng)).replace("\x00", "")
    words = b" ".join(texts.real_lines(rng, 1)).decode("utf-8", "replace").split(" ")
    start = rng.randrange(len(words))
    return rng.choice([" ", "  ", "\n", ""]).join(words[start : start + rng.randint(1, 8)])


def differences(spiece, reference, lines):
    """The texts of `lines` that differ, each with what differs."""
    found = []
    expected = reference.ids(lines)
    for line, theirs, ours, spans in zip(lines, expected, spiece.ids(lines), spiece.spans(lines)):
        if ours != theirs:
            found.append((line, f"ids: {ours}, reference {theirs}"))
            continue
        ends = list(itertools.accumulate(reference.lengths(theirs)))
        of_tokens = reference.offsets(line) if reference.has_offsets else list(zip([0, *ends], ends))
        if reference.normalized(line) == line and spans != of_tokens:
            found.append((line, f"spans: {spans}, of tokens {of_tokens}"))
    texts_of_ids = [f"{reference.normalized(line)}\n".encode() for line in lines]
    if spiece.decode(expected) != b"".join(texts_of_ids):
        each = zip(lines, texts_of_ids, expected)
        wrong = [(line, f"decoding {ids}") for line, text, ids in each if spiece.decode([ids]) != text]
        found += wrong or [(lines[0], "decoding of several texts")]
    return found


def vocabularies(options, folder):
    """Paths, references, spiece and texts of all vocabularies."""
    for path, reference, flags in trained_and_known(options, folder):
        strings = ("".join(chars) for length in range(1, options.longest + 1)
                   for chars in itertools.product(CLASSES, repeat=length))
        files = [bootstrap.TESTDATA / "udhr.txt", *options.texts]
        lists = script.batches(strings, random_text, f"{options.seed} {path.name}", options.cases, files)
        yield path, reference, script.Spiece(options.program, path, flags), lists


def trained_and_known(options, folder):
    """Paths, references and flags."""
    yield from trained(folder, random.Random(options.seed))
    for name, (reference, flags) in KNOWN.items() if options.vocabularies else ():
        path = options.vocabularies / name
        if path.exists():
            yield path, reference(path), flags


def compare(options):
    with tempfile.TemporaryDirectory() as folder:
        return script.compare_vocabularies(options.only, vocabularies(options, Path(folder)), differences)


def main():
    parser = script.flags(__doc__, cases=20_000, cases_help="random texts for each vocabulary")
    parser.add_argument("--vocabularies", type=Path, help="a folder with known files")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a further text; may be repeated")
    parser.add_argument("--longest", type=int, default=2, help="all strings of up to so many characters")
    parser.add_argument("--only", help="only vocabularies whose name contains this")
    script.run(parser, compare)


if __name__ == "__main__":
    main()
