"""Random pipelines of the library tokenizers, and its files, with what it makes of hostile texts.

Usage: pipelines.py FIRST LAST > cases.jsonl
       pipelines.py --expressions FIRST LAST > cases.jsonl
       pipelines.py --digits FIRST LAST > cases.jsonl
       pipelines.py --files COUNT FILE... > cases.jsonl
       pipelines.py --minimize SEED TEXT > cases.jsonl
       SPIECE_PIPELINES=cases.jsonl cargo test --release --lib --all-features pipeline::tests::cases_of_a_file -- --ignored

Needs tokenizers 0.23.3. Each number from FIRST to LAST is the seed of a tokenizer with random components and a made-up
model. A line has its tokenizer.json, or the path of a FILE, and for each text the ids, tokens, offsets in bytes, parts
and decoded texts, with and without special tokens, or the error of a text that has none. A FILE gets COUNT random texts.
With --expressions the tokenizers split at random expressions with look-around and the like, with --digits by expressions
of published files and of spiece that group digits from the right.
With --minimize the cases are the tokenizer of a SEED, and what is left of it without one of its components or added
tokens, each with all parts of TEXT, the shortest ones first.
`testdata/pipelines/cases.jsonl` is written by it, and read by the tests of the library; the last command compares other
cases.
"""

import itertools
import json
import pathlib
import random
import sys

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

ALPHABET = [
    *"abcxyzABZ019 .,-'_é", "日", "本", "ー", "ひ", "한", "İ", "ß", "①", "ﬁ", "\u0301", "\u0323", "▁", "Ġ", "😀", "\n", "\t",
    "\u200d", "\u00a0",
]  # fmt: skip
# Letters of languages with spaces, and what joins them; of later seeds than the recorded ones.
LETTERS = [*"жийωקكकक्षकेㄱㅏ각가", "и\u0306", "e\u0301", "\u0627\u0651", "\u1100\u1161\u11A8", "\u0600", "ﬀ", "Å"]
EXPRESSIONS = [
    r"\s+", r" {2,}", r"\w+", r"[^\s]+", r"\d{1,3}(?=(?:\d{3})*\b)", r"(?<=a)b", r"\p{L}+", r"\p{N}", r"x+", r"(?i:ab)",
    r"[aeiou]", r".", r"\p{Han}+|\p{Hiragana}", r"a|ab", r"(a)\1", r"(?>a+)b", r"[[:punct:]]", r"\s+(?!\S)|\s+", r"\p{Lu}",
    r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
]  # fmt: skip
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
# The seeds that are recorded in the repository; later ones have components that were added after.
RECORDED = 40
BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


MODEL_WITH_RULES = pathlib.Path(__file__).parents[2] / "testdata/golden/nfkc.model"


def fields(message):
    """The numbers and values of the fields of a message of protobuf that have a length."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 2:
            length = varint()
            at += length
            yield key >> 3, message[at - length : at]
        elif key & 7 == 0:
            varint()
        else:
            at += {1: 8, 5: 4}[key & 7]


def charsmap():
    """The rules of a SentencePiece model."""
    spec = dict(fields(MODEL_WITH_RULES.read_bytes()))[3]
    return dict(fields(spec))[2]


class Maker:
    def __init__(self, seed):
        self.seed = seed
        self.random = random.Random(seed)

    def is_on(self, share=0.5):
        return self.random.random() < share

    def text(self, length):
        alphabet = ALPHABET + LETTERS * (self.seed > RECORDED)
        return "".join(self.random.choice(alphabet) for _ in range(self.random.randint(0, length)))

    def pattern(self):
        return Regex(self.random.choice(EXPRESSIONS)) if self.is_on() else self.text(2) or "a"

    def sequence(self, kind, make):
        return kind([make(False) for _ in range(self.random.randint(0, 4))])

    def normalizer(self, may_nest=True):
        n, pick = normalizers, self.random.choice
        makers = [
            lambda: n.BertNormalizer(self.is_on(), self.is_on(), pick([None, True, False]), self.is_on()),
            n.ByteLevel, n.Lowercase, n.NFC, n.NFD, n.NFKC, n.NFKD, n.Nmt, n.StripAccents,
            lambda: n.Prepend(pick(["▁", "a", " "])),
            lambda: n.Replace(self.pattern(), pick(["", "▁", " ", "xy"])),
            lambda: n.Strip(self.is_on(), self.is_on()),
            *[lambda: n.Precompiled(charsmap())] * (self.seed > RECORDED),
        ]  # fmt: skip
        nested = [lambda: self.sequence(n.Sequence, self.normalizer)] * 3
        return pick(makers + nested * may_nest)()

    def pre_tokenizer(self, may_nest=True):
        p, pick = pre_tokenizers, self.random.choice
        makers = [
            p.BertPreTokenizer, p.UnicodeScripts, p.Whitespace, p.WhitespaceSplit,
            lambda: p.ByteLevel(add_prefix_space=self.is_on(), use_regex=self.is_on(0.7)),
            lambda: p.CharDelimiterSplit(pick(ALPHABET)),
            lambda: p.Digits(self.is_on()),
            lambda: p.FixedLength(self.random.randint(1, 7)),
            lambda: p.Metaspace(pick("▁_a"), pick(["always", "never", "first"]), self.is_on(0.6)),
            lambda: p.Punctuation(pick(BEHAVIORS)),
            lambda: p.Split(self.pattern(), pick(BEHAVIORS), self.is_on(0.4)),
        ]  # fmt: skip
        nested = [lambda: self.sequence(p.Sequence, self.pre_tokenizer)] * 3
        return pick(makers + nested * may_nest)()

    def decoder(self, may_nest=True):
        d, pick = decoders, self.random.choice
        makers = [
            d.ByteFallback, d.ByteLevel, d.Fuse,
            lambda: d.BPEDecoder(pick(["</w>", "a"])),
            lambda: d.CTC(pick(["<pad>", "a"]), pick("|b"), self.is_on()),
            lambda: d.Metaspace(pick("▁_"), pick(["always", "never", "first"])),
            lambda: d.Replace(self.pattern(), pick(["", " ", "xy"])),
            lambda: d.Strip(pick(" ▁a"), self.random.randint(0, 2), self.random.randint(0, 1)),
            lambda: d.WordPiece(pick(["##", "a"]), self.is_on()),
        ]  # fmt: skip
        nested = [lambda: self.sequence(d.Sequence, self.decoder)] * 3
        return pick(makers + nested * may_nest)()

    def words(self, chars, count):
        return ["".join(self.random.choices(chars, k=self.random.randint(2, 5))) for _ in range(count)]

    def model(self):
        alphabet = ALPHABET + [c for c in LETTERS if len(c) == 1] * (self.seed > RECORDED)
        chars = [c for c in alphabet if self.is_on(0.8)] + [c for c in BYTES if self.is_on(0.9)] * self.is_on(0.3)
        chars = list(dict.fromkeys(chars))
        byte_tokens = [f"<0x{byte:02X}>" for byte in range(256)] * self.is_on(0.3)
        kind = self.random.choice(["bpe", "bpe", "unigram", "wordpiece", "word level"])
        if kind == "bpe":
            return self.bpe(chars, byte_tokens)
        if kind == "unigram":
            scores = [1.0, 2.0, 3.0, 3.5, 4.0, 7.25]
            pieces = [(piece, -self.random.choice(scores)) for piece in chars + self.words(chars, 40)]
            pieces = [("<unk>", 0.0), *pieces, *((token, -9.0) for token in byte_tokens)]
            return models.Unigram(pieces, 0, self.is_on())
        if kind == "wordpiece":
            prefix = self.random.choice(["##", "@"])
            words = [self.random.choice(["", prefix]) + word for word in self.words(chars, 40)]
            tokens = dict.fromkeys(["[UNK]", *chars, *(prefix + c for c in chars), *words])
            limit = self.random.choice([5, 100])
            vocab = {token: id for id, token in enumerate(tokens)}
            return models.WordPiece(
                vocab, unk_token="[UNK]", max_input_chars_per_word=limit, continuing_subword_prefix=prefix
            )
        tokens = dict.fromkeys(["<unk>", *chars, *self.words(chars, 60)])
        return models.WordLevel({token: id for id, token in enumerate(tokens)}, unk_token="<unk>")

    def bpe(self, chars, byte_tokens):
        suffix = self.random.choice([None, None, "</w>"])
        if self.seed > RECORDED and self.is_on(0.2):
            return self.prefixed_bpe(chars)
        tokens = [*chars, *(c + suffix for c in chars if suffix), *["<unk>"] * self.is_on(0.6), *byte_tokens]
        vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
        merges = []
        for _ in range(self.random.randint(0, 60)):
            left, right = self.random.choices(list(vocab), k=2)
            is_plain = not left.startswith("<") and not right.startswith("<")
            if is_plain and not (suffix and left.endswith(suffix)) and len(left + right) <= 14:
                vocab.setdefault(left + right, len(vocab))
                merges.append((left, right))
        affix = {"end_of_word_suffix": suffix} if suffix else {}
        unknown = {"unk_token": "<unk>"} if "<unk>" in vocab else {}
        return models.BPE(
            vocab, merges, fuse_unk=self.is_on(), byte_fallback=self.is_on() and not suffix,
            ignore_merges=self.is_on(0.3), **affix, **unknown
        )  # fmt: skip

    def prefixed_bpe(self, chars):
        prefix = self.random.choice(["##", "@"])
        tokens = ["<unk>", *chars, *(prefix + c for c in chars)]
        vocab = {token: id for id, token in enumerate(dict.fromkeys(tokens))}
        merges = []
        for _ in range(self.random.randint(0, 60)):
            left = self.random.choice(list(vocab))
            right = self.random.choice([token for token in vocab if token.startswith(prefix)])
            joined = left + right[len(prefix) :]
            if not left.startswith("<") and len(joined) <= 14:
                vocab.setdefault(joined, len(vocab))
                merges.append((left, right))
        return models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=self.is_on(), continuing_subword_prefix=prefix)

    def tokenizer(self):
        tokenizer = Tokenizer(self.model())
        if self.is_on(0.75):
            tokenizer.normalizer = self.normalizer()
        if self.is_on(0.75):
            tokenizer.pre_tokenizer = self.pre_tokenizer()
        if self.is_on(0.8):
            tokenizer.decoder = self.decoder()
        trims, adds = self.is_on(), self.is_on()
        post = self.random.choice([None, "bytes", "roberta", "bert", "template"])
        if post == "bytes":
            tokenizer.post_processor = processors.ByteLevel(trim_offsets=trims, add_prefix_space=adds)
        elif post == "roberta":
            ends = [("</s>", 2), ("<s>", 1)]
            tokenizer.post_processor = processors.RobertaProcessing(*ends, trim_offsets=trims, add_prefix_space=adds)
        elif post == "bert":
            tokenizer.post_processor = processors.BertProcessing(("</s>", 2), ("<s>", 1))
        elif post == "template":
            special = [("<s>", 1)]
            tokenizer.post_processor = processors.TemplateProcessing("<s> $A", "<s> $A $B", special)
        if self.seed > RECORDED and self.is_on(0.2) and tokenizer.post_processor:
            trim = processors.ByteLevel(trim_offsets=trims, add_prefix_space=adds)
            tokenizer.post_processor = processors.Sequence([trim, tokenizer.post_processor])
        names = self.random.sample(["<s>", "</s>", "[MASK]", "ab", "<a>", "b c"], self.random.choice([0, 0, 1, 3]))
        normalized = set()
        for name in names:
            flags = {flag: self.is_on(0.3) for flag in ["single_word", "lstrip", "rstrip", "normalized"]}
            add = tokenizer.add_special_tokens if self.is_on() else tokenizer.add_tokens
            if flags["normalized"] and tokenizer.normalizer:
                # Of tokens that the normalizer makes equal the library takes one at random, whenever it reads the file.
                text = tokenizer.normalizer.normalize_str(name)
                if text in normalized:
                    continue
                normalized.add(text)
            add([AddedToken(name, special=add == tokenizer.add_special_tokens, **flags)])
        return tokenizer, names

    def texts(self, names):
        texts = [self.text(length) for length in [3, 8, 20, 40] for _ in range(3)]
        parts = [*names, " ", *self.words("abcxyzABZ019.,-'_", 6)]
        texts += ["".join(self.random.choices(parts, k=5)) for _ in range(4)]
        texts += [" ".join(self.random.choices(parts, k=8)) for _ in range(3)]
        if self.seed > RECORDED:
            words = ["".join(self.random.choices(LETTERS, k=self.random.randint(1, 3))) for _ in range(6)]
            texts += [" ".join(self.random.choices(words, k=8)) for _ in range(4)]
        return texts


def results(tokenizer, text):
    encoding = tokenizer.encode(text, add_special_tokens=False)
    bytes_before = [len(text[:at].encode()) for at in range(len(text) + 1)]
    return {
        "text": text,
        "ids": encoding.ids,
        "tokens": encoding.tokens,
        "offsets": [[bytes_before[at] for at in span] for span in encoding.offsets],
        "words": encoding.word_ids,
        "decoded": tokenizer.decode(encoding.ids, skip_special_tokens=False),
        "without_special": tokenizer.decode(encoding.ids),
    }


def results_or_error(tokenizer, text):
    try:
        return results(tokenizer, text)
    except Exception as error:
        return {"text": text, "error": str(error)}


def texts_of_files(count):
    """Random texts: words of real text, characters of all planes, and the alphabet of the random pipelines."""
    maker = Maker(1)
    lines = (MODEL_WITH_RULES.parents[1] / "udhr.txt").read_text().splitlines()
    words = [word for line in lines for word in line.split(" ") if word]
    parts = [" ", "  ", "\n", "\t", "<s>", "</s>", "<unk>", "[MASK]", "<|endoftext|>", "<pad>"]
    texts = maker.random.sample(lines, min(count // 4, len(lines)))
    while len(texts) < count:
        kind = maker.random.randint(0, 2)
        if kind == 0:
            texts.append(maker.text(40))
        elif kind == 1:
            chosen = maker.random.choices(words, k=6) + maker.random.choices(parts, k=4)
            maker.random.shuffle(chosen)
            texts.append(maker.random.choice(["", " "]).join(chosen))
        else:
            codes = [maker.random.choice([0x80, 0x800, 0x10000, 0x20000]) for _ in range(12)]
            chars = [chr(maker.random.randrange(limit)) for limit in codes]
            texts.append("".join(c for c in chars if not 0xD800 <= ord(c) < 0xE000))
    return texts


def compare_files(count, paths):
    texts = texts_of_files(count)
    for path in paths:
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_padding()
        tokenizer.no_truncation()
        found = [results_or_error(tokenizer, text) for text in texts]
        print(json.dumps({"path": path, "texts": found}, ensure_ascii=False))


def write_case(seed, file, texts):
    """Writes a line: what the library makes of the texts with the tokenizer of a file."""
    # Ids and normalized texts of added tokens are those of the file that is read.
    tokenizer = Tokenizer.from_str(file)
    made = []
    for text in texts:
        try:
            made.append(results(tokenizer, text))
        except BaseException as error:  # The library panics on some texts.
            if isinstance(error, KeyboardInterrupt):
                raise
    print(json.dumps({"seed": seed, "file": json.loads(file), "texts": made}, ensure_ascii=False))


class ExpressionMaker:
    """Random expressions with look-around, atomic groups, possessive quantifiers and back references."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.groups = 0

    def assertion(self, depth):
        kind = self.random.choice(["(?=", "(?!", "(?<=", "(?<!", "\\b", "\\B", "^", "$"])
        if kind.startswith("(?<"):
            # Oniguruma takes what has one length, and alternatives of such.
            return kind + "|".join(self.fixed() for _ in range(self.random.randint(1, 2))) + ")"
        return kind + self.alternatives(depth - 1) + ")" if kind.startswith("(") else kind

    def fixed(self):
        return "".join(self.one() for _ in range(self.random.randint(1, 2)))

    def one(self):
        return self.random.choice(["a", "b", "c", ".", "[ab]", "[^a]", r"\w", r"\d", r"\s", "\u00e9", r"[\w-]", r"\p{L}"])

    def atom(self, depth):
        if depth <= 0 or self.random.random() < 0.6:
            return self.one()
        kind = self.random.choice(["(?:", "(", "(?>", "again"])
        if kind == "again":
            return f"\\{self.random.randint(1, self.groups)}" if self.groups else "a"
        inner = self.alternatives(depth - 1)
        self.groups += kind == "("
        return f"{kind}{inner})"

    def part(self, depth):
        if self.random.random() < 0.25:
            return self.assertion(depth)
        quantifiers = ["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??", "++", "*+", "?+", "{2}?", "{2,}"]
        atom, quantifier = self.atom(depth), self.random.choice(quantifiers)
        # Loops in loops take exponential time, of which the library and spiece allow different amounts.
        is_nested = atom.startswith("(") and any(c in atom for c in "*+,")
        return atom + ("?" if is_nested and quantifier else quantifier)

    def alternatives(self, depth):
        count = self.random.choice([1, 1, 2, 3])
        return "|".join("".join(self.part(depth) for _ in range(self.random.randint(1, 3))) for _ in range(count))

    def text(self):
        return "".join(self.random.choices("aaabbbc \n1-\u00e9\u4e2d", k=self.random.randint(1, 14)))


def compare_expressions(first, last):
    """Splits at random expressions; words tell the parts."""
    vocabulary = {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}
    for seed in range(first, last + 1):
        maker = ExpressionMaker(seed)
        split = {"type": "Split", "pattern": {"Regex": maker.alternatives(2)}, "behavior": "Isolated", "invert": False}
        try:
            tokenizer = Tokenizer.from_str(json.dumps({"version": "1.0", "pre_tokenizer": split, "model": vocabulary}))
        except Exception:  # Oniguruma does not take everything that is made here.
            continue
        write_case(seed, tokenizer.to_str(), [maker.text() for _ in range(12)])


LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|NUMBERS| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# Lists of splits, each at what the ones before have left.
PLACE_DIGITS = [
    # Cohere's Tiny Aya.
    [r"\d{1,3}(?=(?:\d{3})*\b)", LLAMA3.replace("NUMBERS", r"\p{N}{1,3}")],
    # Trinity.
    [
        r"\p{Nd}{1,510}(?=(?>\p{Nd}{510})*(?:\P{Nd}|$))|\G\p{Nd}{510}",
        r"\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z)",
        r"\A\p{Nd}{3}|\G\p{Nd}{3}",
    ],
    # The same with smaller blocks, so that short texts have several.
    [
        r"\p{Nd}{1,6}(?=(?>\p{Nd}{6})*(?:\P{Nd}|$))|\G\p{Nd}{6}",
        r"\A\p{Nd}{1,2}(?=\p{Nd}{3}+\z)",
        r"\A\p{Nd}{3}|\G\p{Nd}{3}",
    ],
    [LLAMA3.replace("NUMBERS", r"(?<!\p{N})\p{N}{1,2}(?=(?:\p{N}{3})*(?!\p{N}))|\p{N}{3}")],
    [LLAMA3.replace("NUMBERS", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))")],
    [LLAMA3.replace("NUMBERS", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:\P{N}|$))")],
    [LLAMA3.replace("NUMBERS", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?:$|\P{N}))")],
    [LLAMA3.replace("NUMBERS", r"\d{1,3}(?=(?:\d{3})*\b)")],
    [r"(?<=\d)(?=(?:\d{3})+(?!\d))"],
    [r"\B(?=(\d{3})+(?!\d))"],
    [r"(?<=\d)(?=(\d{3})+\b)", r"\s+|\d+"],
    [r"\d{1,3}(?=(?:\d{3})+(?!\d))|\d+"],
    [r"[0-9]{1,3}(?=([0-9]{3})*+(?![0-9]))"],
    [r"\d+?(?=(?:\d{3})*$)"],
    [r"\d(?=\d*\.)|\d{2}(?!\d*[a-z])|\d(?=\d{2,}?_)"],
]


def compare_digits(first, last):
    """Splits that group digits from the right; words tell the parts."""
    vocabulary = {"type": "WordLevel", "vocab": {"<unk>": 0}, "unk_token": "<unk>"}
    for seed in range(first, last + 1):
        source = random.Random(seed)
        expressions = PLACE_DIGITS[seed % len(PLACE_DIGITS)]
        behavior = source.choice(["Isolated", "Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"])
        splits = [
            {"type": "Split", "pattern": {"Regex": it}, "behavior": behavior, "invert": False} for it in expressions
        ]
        sequence = {"type": "Sequence", "pretokenizers": splits}
        file = Tokenizer.from_str(json.dumps({"version": "1.0", "pre_tokenizer": sequence, "model": vocabulary})).to_str()
        texts = []
        for _ in range(8):
            digits = source.choice(["0123456789", "0123456789", "٠١٢٣٤", "०१२", "１２３", "𝟘𝟙", "12²Ⅷ½", "1٣"])
            runs = ["".join(source.choices(digits, k=source.randint(1, 40))) for _ in range(source.randint(1, 4))]
            # A combining mark and a letter may stand before and after them.
            between = [source.choice(["", " ", "a", "-", "_", ".", ",", "\n", "'s ", "é", "中", "\u0301", "+"]) for _ in range(5)]
            texts.append("".join(itertools.chain.from_iterable(itertools.zip_longest(between, runs, fillvalue=""))))
        write_case(seed, file, texts)


def smaller(file):
    """A file, and what is left of it without a component, a step of one, or an added token."""
    yield file
    for component in ("normalizer", "pre_tokenizer", "post_processor", "decoder"):
        if file[component]:
            yield {**file, component: None}
        lists = [key for key, value in (file[component] or {}).items() if isinstance(value, list)]
        for key in lists if (file[component] or {}).get("type") == "Sequence" else []:
            steps = file[component][key]
            for at in range(len(steps)):
                yield {**file, component: {**file[component], key: steps[:at] + steps[at + 1 :]}}
    for at in range(len(file["added_tokens"])):
        yield {**file, "added_tokens": file["added_tokens"][:at] + file["added_tokens"][at + 1 :]}


def minimize(seed, text):
    """Writes the cases of a seed that can be smaller than the one that differs."""
    file = json.loads(Maker(seed).tokenizer()[0].to_str())
    parts = {text[begin:end] for end in range(len(text) + 1) for begin in range(end)}
    parts = sorted(parts, key=lambda part: (len(part), part))
    for candidate in smaller(file):
        try:
            write_case(seed, json.dumps(candidate), parts)
        except Exception as error:  # The library refuses what some components need.
            print(f"left out: {error}", file=sys.stderr)


def main():
    if sys.argv[1] == "--files":
        return compare_files(int(sys.argv[2]), sys.argv[3:])
    if sys.argv[1] == "--expressions":
        return compare_expressions(int(sys.argv[2]), int(sys.argv[3]))
    if sys.argv[1] == "--digits":
        return compare_digits(int(sys.argv[2]), int(sys.argv[3]))
    if sys.argv[1] == "--minimize":
        return minimize(int(sys.argv[2]), sys.argv[3])
    first, last = map(int, sys.argv[1:])
    for seed in range(first, last + 1):
        maker = Maker(seed)
        tokenizer, names = maker.tokenizer()
        write_case(seed, tokenizer.to_str(), maker.texts(names))


if __name__ == "__main__":
    main()
