#!/usr/bin/env python3
"""Compares WordPiece of spiece with tokenizers 0.23.3.

    python3 tests/conformance/wordpiece.py                        # vocabularies trained here, seed 1
    python3 tests/conformance/wordpiece.py --vocabularies FOLDER  # also each vocab.txt and .json of a folder
    python3 tests/conformance/wordpiece.py --cases 1000000 --seed 7
    python3 tests/conformance/wordpiece.py --only conversions     # no more than what `spiece convert` writes

tokenizers trains small vocabularies of testdata/, for each normalizer that `BertNormalizer` can be. They are run as
tokenizer.json, some with added tokens of all properties, and the default one as vocab.txt.

Of each text the ids, the spans and the text of the ids are compared: of every character alone and between letters and
marks (once), of all strings of `--longest` characters over an alphabet with a character of each class that the
normalizer tells apart, of `--cases` random strings, and of the lines of testdata/. A text that differs is reduced to a
smallest one. The exit status is 0 if nothing differs, 1 if something does, 2 if the harness cannot run.

`--conversions` files of these vocabularies with changes at random are then converted. A vocab.txt becomes the bytes that
tokenizers saves. A tokenizer.json becomes a vocab.txt of which `BertWordPieceTokenizer` and spiece make a tokenizer with
the same ids for `--converted` texts, with special tokens and without, or the verdict has a reason.
"""

import itertools
import json
import random
import re
import subprocess
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


SPECIAL = ("[UNK]", "[SEP]", "[CLS]", "[PAD]", "[MASK]")


def template(tokenizer):
    """What stands around texts."""
    from tokenizers import processors

    special = [(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")]
    return processors.TemplateProcessing(single="[CLS]:0 $A:0 [SEP]:0", pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1", special_tokens=special)


def tokenizer_of(path, lowercase):
    """The tokenizer of BERT for a vocab.txt, built in tokenizers."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    made = Tokenizer(models.WordPiece.from_file(str(path), unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    made.post_processor = template(made)
    made.add_special_tokens([token for token in SPECIAL if made.token_to_id(token) is not None])
    return made


def without_rows(vocab, rng):
    """Ids with gaps."""
    dropped = set(rng.sample(sorted(vocab.keys() - set(SPECIAL)), 5))
    return {token: number for token, number in vocab.items() if token not in dropped}


# Changes of a file. A vocab.txt holds the first six, and most of the others not.
CHANGES = [
    lambda data, rng: data["normalizer"].update(lowercase=rng.choice([True, False])),
    lambda data, rng: data.update(decoder=rng.choice([None, {"type": "WordPiece", "prefix": "##", "cleanup": False}])),
    lambda data, rng: data["model"].update(vocab=without_rows(data["model"]["vocab"], rng)),
    lambda data, rng: data["normalizer"].update(strip_accents=data["normalizer"]["lowercase"]),
    lambda data, rng: data["added_tokens"].sort(key=lambda token: rng.random()),
    lambda data, rng: data.update(truncation={"direction": "Right", "max_length": 6, "strategy": "LongestFirst", "stride": 0}),
    lambda data, rng: data["normalizer"].update(strip_accents=rng.choice([True, False])),
    lambda data, rng: data["normalizer"].update(clean_text=False),
    lambda data, rng: data["normalizer"].update(handle_chinese_chars=False),
    lambda data, rng: data.update(normalizer=rng.choice([None, {"type": "Lowercase"}])),
    lambda data, rng: data.update(pre_tokenizer={"type": rng.choice(["Whitespace", "WhitespaceSplit"])}),
    lambda data, rng: data["post_processor"]["single"].pop(),
    lambda data, rng: data.update(post_processor=None),
    lambda data, rng: data["added_tokens"].pop(rng.randrange(5)),
    lambda data, rng: data["added_tokens"][0].update(lstrip=True),
    lambda data, rng: data["added_tokens"].append({**data["added_tokens"][0], "id": 1 << 20, "content": "Zo\u00eb"}),
    lambda data, rng: data["model"].update(max_input_chars_per_word=rng.choice([3, 99, 101])),
    lambda data, rng: data["model"].update(continuing_subword_prefix=rng.choice(["", "#", "@@"])),
    lambda data, rng: data["model"].update(unk_token="a"),
    lambda data, rng: data["model"]["vocab"].update({rng.choice(["a ", "a\nb", "a b", "\u2003", "b\r", "\u0001"]): 1 << 12}),
    lambda data, rng: data["model"]["vocab"].update({"a": data["model"]["vocab"].get("b", 7)}),
    lambda data, rng: data["model"]["vocab"].update({"\ufeffa": 0, "[PAD]": 1 << 12}),
]


class Conversions:
    """Files of trained vocabularies, and what `spiece convert` makes of them."""

    def __init__(self, options, folder):
        self.program, self.folder, self.count = options.program, folder, options.conversions
        self.rng = random.Random(f"{options.seed} conversions")
        self.lines = [random_text(self.rng) for _ in range(options.converted)]
        self.lines += [f"{token} a{token}" for token in (*SPECIAL, "Zo\u00eb", "abcdefghij" * 10, "abcdefghij" * 10 + "a")]
        self.exact = 0

    def convert(self, *arguments):
        """The exit status of the program, and its messages."""
        done = subprocess.run([str(self.program), "convert", *map(str, arguments)], capture_output=True, text=True, encoding="utf-8")
        return done.returncode, done.stderr

    def differing(self, one, other):
        """The first text of which two tokenizers of tokenizers give other ids."""
        for ends in (False, True):
            made = [tokenizer.encode_batch(self.lines, add_special_tokens=ends) for tokenizer in (one, other)]
            for line, *both in zip(self.lines, *made):
                if both[0].ids != both[1].ids:
                    return [f"{line!r}: {both[0].ids} and {both[1].ids}"]
        return []

    def to_json(self, path):
        """What is wrong with the tokenizer.json of a vocab.txt."""
        lines = path.read_text(encoding="utf-8").split("\n")
        is_cased = any(re.search("[A-Z]", line) for line in lines if not line.startswith("["))
        written, expected = self.folder / "written.json", self.folder / "expected.json"
        for flags, lowercase in (([], not is_cased), (["--lowercase"], True), (["--lowercase=false"], False)):
            status, messages = self.convert(path, written, *flags)
            if status != 0:
                return [messages]
            tokenizer_of(path, lowercase).save(str(expected))
            if written.read_bytes() != expected.read_bytes():
                return [f"{flags}: tokenizers saves other bytes"]
        return []

    def to_list(self, path):
        """What is wrong with the vocab.txt of a tokenizer.json."""
        import tokenizers

        written = self.folder / "written-vocab.txt"
        status, messages = self.convert(path, written)
        self.is_recognized = True
        if status != 0:
            status, forced = self.convert(path, written, "--force")
            self.is_recognized = "is taken for" not in messages
            return [] if status == 0 and "ids can differ" in messages else [messages, forced]
        self.exact += 1
        stated = re.search(r"(--lowercase=(true|false)) of spiece", messages)
        original = tokenizers.Tokenizer.from_file(str(path))
        original.no_truncation()
        made = tokenizers.BertWordPieceTokenizer(str(written), lowercase=not stated or stated[2] == "true")._tokenizer
        found = self.differing(original, made)
        original.encode_special_tokens = True
        expected = [encoding.ids for encoding in original.encode_batch(self.lines, add_special_tokens=False)]
        ours = script.Spiece(self.program, written, [stated[1]] if stated else []).ids(self.lines)
        return found + [f"{line!r} with spiece" for line, *both in zip(self.lines, ours, expected) if both[0] != both[1]][:1]

    def check(self):
        """Converts all files; the exit status."""
        tally = script.Tally()
        bases = [path for path, _, _ in trained(self.folder, self.rng) if path.suffix == ".json"]
        for number in range(self.count):
            data = json.loads(self.rng.choice(bases).read_text(encoding="utf-8"))
            vocab = data["model"]["vocab"]
            # Most changes are about a file that a vocab.txt holds but for them.
            data["added_tokens"] = [token for token in data["added_tokens"] if token["content"] in SPECIAL]
            data["normalizer"] = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                                  "lowercase": self.rng.random() < 0.7}
            data["model"]["max_input_chars_per_word"] = 100
            special = {token: {"id": token, "ids": [vocab[token]], "tokens": [token]} for token in ("[CLS]", "[SEP]")}
            part = {name: {"SpecialToken": {"id": f"[{name}]", "type_id": 0}} for name in ("CLS", "SEP")}
            text = [{"Sequence": {"id": name, "type_id": number}} for number, name in enumerate("AB")]
            second = {"SpecialToken": {"id": "[SEP]", "type_id": 1}}
            data["post_processor"] = {"type": "TemplateProcessing", "single": [part["CLS"], text[0], part["SEP"]],
                                      "pair": [part["CLS"], text[0], part["SEP"], text[1], second], "special_tokens": special}
            # In their order: what one removes, no later one changes.
            for change in sorted(self.rng.sample(range(len(CHANGES)), self.rng.choice([0, 1, 1, 2]))):
                CHANGES[change](data, self.rng)
            path = self.folder / f"changed_{number}.json"
            path.write_text(json.dumps(data), encoding="utf-8")
            wrong = self.to_list(path)
            # What is not recognized was written with a reason.
            if not wrong and self.is_recognized and number % 4 == 0:
                wrong = self.to_json(self.folder / "written-vocab.txt")
            for what in wrong:
                print(f"  {path.name}: {what}", flush=True)
            tally.add(wrong)
        print(f"{self.count} files become vocab.txt, {self.exact} of them exactly", flush=True)
        return tally.status()


def compare(options):
    with tempfile.TemporaryDirectory() as folder:
        status = 0
        if options.only != "conversions":
            status = script.compare_vocabularies(options.only, vocabularies(options, Path(folder)), differences)
        return status if options.only not in (None, "conversions") else max(status, Conversions(options, Path(folder)).check())


def main():
    parser = script.flags(__doc__, cases=5_000, cases_help="random texts for each vocabulary")
    parser.add_argument("--vocabularies", type=Path, help="a folder with vocab.txt and tokenizer.json files")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a further text; may be repeated")
    parser.add_argument("--longest", type=int, default=2, help="all strings of so many characters")
    parser.add_argument("--stride", type=int, default=1, help="of every so many characters one is compared, another with each seed")
    parser.add_argument("--only", help="only vocabularies whose name contains this, or conversions")
    parser.add_argument("--conversions", type=int, default=200, help="files that are converted")
    parser.add_argument("--converted", type=int, default=500, help="texts that are compared for each of them")
    script.run(parser, compare)


if __name__ == "__main__":
    main()
