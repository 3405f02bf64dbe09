#!/usr/bin/env python3
"""Compares training like a tokenizer.json with BpeTrainer and WordPieceTrainer of tokenizers 0.23.3.

    python3 tests/conformance/train_pipelines.py                                # 300 cases, seed 1
    python3 tests/conformance/train_pipelines.py --cases 1000 --seed 7 --trainer wordpiece
    python3 tests/conformance/train_pipelines.py --like FILE --texts FILE       # train_new_from_iterator of transformers
    python3 tests/conformance/train_pipelines.py --varies 40                    # what differs between runs of tokenizers

A case is a random normalizer, pre-tokenizer, model and options, and a text in several scripts with special tokens. The
vocabulary, the merges, and the ids of texts are compared. Where tokenizers decides by the order of a hash table, its result is
one of several: it is compared with the algorithm, given what it decided (`differential/bpe_trainer.py`), and so is that of
spiece, with the order that spiece documents. With added tokens cut out, the reference is the algorithm alone.

With `--like`, which needs transformers 5.24.0 in the environment, the vocabulary, the merges and the ids of special tokens are
those of `train_new_from_iterator`. With `--varies`, a corpus is trained in so many new processes; the results have to differ,
and that of spiece has to be one of them. The exit status is 0 if nothing differs, 1 if something does, 2 if the harness cannot run.
"""

import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True

from byte_train import insert_special_tokens, random_text  # noqa: E402
from differential import bootstrap, bpe_trainer, script  # noqa: E402
from differential.minimize import shrink_list  # noqa: E402

SPECIAL = ["<|endoftext|>", "<s>", "ab", "abab", "a", "th", "the", "in", "er", "[MASK]", "«x y»", "</s>", "##a", "a</w>"]
# Two of these that a text has are apart in it.
CUT_OUT = ["<|endoftext|>", "<s>", "[MASK]", "</s>"]


def usual(rng):
    """A normalizer and a pre-tokenizer as published files have them."""
    from tokenizers import Regex, normalizers as n, pre_tokenizers as p

    def split(expression):
        return p.Split(Regex(expression), "isolated")

    bytes_only = p.ByteLevel(add_prefix_space=False, use_regex=False)
    return rng.choice([
        lambda: (None, p.ByteLevel(add_prefix_space=rng.random() < 0.5)),
        lambda: (n.NFC(), p.Sequence([split(r"\p{L}+|\p{N}{1,3}|[^\p{L}\p{N}]+"), bytes_only])),
        lambda: (n.NFKC(), p.Sequence([p.Digits(True), p.ByteLevel(add_prefix_space=False)])),
        lambda: (None, p.Sequence([p.Punctuation("contiguous"), p.ByteLevel(add_prefix_space=False)])),
        lambda: (n.Sequence([n.NFC(), n.Lowercase()]), p.Sequence([split(r"'s|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"), bytes_only])),
        lambda: (None, p.Whitespace()),
        lambda: (n.NFKC(), p.WhitespaceSplit()),
        lambda: (n.BertNormalizer(), p.BertPreTokenizer()),
        lambda: (None, p.Metaspace(prepend_scheme=rng.choice(["always", "never", "first"]))),
        lambda: (n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")]), None),
        lambda: (None, p.Sequence([p.Whitespace(), p.Digits(True)])),
    ])()  # fmt: skip


def random_components(rng):
    """As JSON, with what they need of the options."""
    from pipelines import Maker

    if rng.random() < 0.65:
        return usual(rng)
    maker = Maker(rng.randrange(10**9) + 100)
    normalizer = maker.normalizer() if maker.is_on(0.6) else None
    return normalizer, maker.pre_tokenizer() if maker.is_on(0.8) else None


def is_byte_level(file):
    """As transformers finds it."""
    pre_tokenizer = file["pre_tokenizer"]
    steps = [] if pre_tokenizer is None else [pre_tokenizer, *pre_tokenizer.get("pretokenizers", [])]
    return any(step["type"] == "ByteLevel" for step in steps)


def random_case(rng, trainer):
    trainer = trainer or rng.choice(["bpe", "bpe", "wordpiece"])
    affixes = [None, None, None, "</w>"] if trainer == "bpe" else [None, None, None, None, "</w>"]
    prefixes = [None, None, None, "##", "@", "a"] if trainer == "bpe" else ["##", "##", "##", "@", "a"]
    splits = rng.random() < 0.3
    special = rng.sample(CUT_OUT if splits else SPECIAL, rng.choice([0, 1, 3]))
    return {
        "trainer": trainer,
        "size": rng.choice([30, 60, 100, 300, 700]) + rng.choice([0, 1, 256]),
        "min_frequency": rng.choice([0, 0, 1, 2, 3, 10]),
        "limit": rng.choice([None, None, None, 1, 5, 20, 60]),
        "initial": rng.choice([None, None, "", "abc", "zé漢"]),
        "prefix": rng.choice(prefixes),
        "suffix": rng.choice(affixes),
        "max_length": rng.choice([None, None, None, 1, 2, 3, 5, 9]) if trainer == "bpe" else None,
        "special": special + (["[UNK]"] if trainer == "wordpiece" or rng.random() < 0.5 else []),
        "in_file": rng.random() < 0.5,
        "splits": splits,
        "fuse_unk": rng.random() < 0.3,
        "ignore_merges": rng.random() < 0.2,
        "jobs": rng.choice([1, 2, 7]),
    }


def skeleton(case, components):
    """A tokenizer of the case, without a vocabulary."""
    from tokenizers import Tokenizer, models

    if case["trainer"] == "wordpiece":
        model = models.WordPiece({}, unk_token="[UNK]", continuing_subword_prefix=case["prefix"])
    else:
        affixes = {}
        if case["in_file"]:
            affixes = {"continuing_subword_prefix": case["prefix"], "end_of_word_suffix": case["suffix"]}
        unknown = {"unk_token": "[UNK]"} if "[UNK]" in case["special"] else {}
        model = models.BPE(fuse_unk=case["fuse_unk"], ignore_merges=case["ignore_merges"], **unknown,
                           **{name: affix for name, affix in affixes.items() if affix})  # fmt: skip
    tokenizer = Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer = components
    return tokenizer


def trained_by_tokenizers(case, components, initial, texts):
    from tokenizers import trainers

    tokenizer = skeleton(case, components)
    given = {
        "vocab_size": case["size"], "min_frequency": case["min_frequency"], "special_tokens": case["special"],
        "limit_alphabet": case["limit"], "initial_alphabet": initial, "continuing_subword_prefix": case["prefix"],
        "end_of_word_suffix": case["suffix"], "max_token_length": case["max_length"], "show_progress": False,
    }  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    kind = trainers.WordPieceTrainer if case["trainer"] == "wordpiece" else trainers.BpeTrainer
    tokenizer.train_from_iterator(texts, kind(**given))
    return tokenizer


def words_of(case, components, texts):
    """The pretokens with their counts."""
    normalizer, pre_tokenizer = components
    if case["splits"] and case["special"]:
        expression = "|".join(map(re.escape, sorted(case["special"], key=len, reverse=True)))
        texts = [part for text in texts for part in re.split(expression, text) if part]
    words = Counter()
    for text in texts:
        text = normalizer.normalize_str(text) if normalizer else text
        parts = [part for part, _ in pre_tokenizer.pre_tokenize_str(text)] if pre_tokenizer else [text]
        words.update(part for part in parts if part)
    return words


def tokens_and_merges(file):
    """The tokens in the order of their ids, and the merges, of a tokenizer.json."""
    model = file["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    if [model["vocab"][token] for token in tokens] != list(range(len(tokens))):
        raise RuntimeError("the ids have gaps")
    return tokens, [tuple(merge) for merge in model.get("merges", [])]


def first_difference(ours, theirs, what):
    found = next((pair for pair in zip(ours, theirs) if pair[0] != pair[1]), None)
    if found is not None:
        return f"{what}: {found[0]!r}, reference {found[1]!r}"
    return None if len(ours) == len(theirs) else f"{len(ours)} {what}, reference {len(theirs)}"


def compare_results(ours, theirs):
    return first_difference(ours[0], theirs[0], "tokens") or first_difference(ours[1], theirs[1], "merges")


def expected(case, words, initial, result, is_reference, ties=None):
    """The result of the algorithm, given what this result decided, or what spiece documents; a text if that is impossible."""
    counts = bpe_trainer.counts_of_characters(words, initial)
    prefix, suffix = case["prefix"] or "", case["suffix"] or ""
    singles = {token for token in case["special"] if len(token) == 1}
    kept = bpe_trainer.kept_of_spiece(counts, case["limit"])
    forms = bpe_trainer.forms(sorted(words, key=str.encode), kept | singles, prefix, suffix)
    if is_reference:
        number = len(set(case["special"]))
        size = min(len(counts), case["limit"] or len(counts))
        tokens = result[0][number:]
        in_special = counts.keys() & singles
        # A special token of one character is not listed again if it is kept.
        for kept_specials in range(len(in_special) + 1):
            kept = set(tokens[: size - kept_specials])
            rest = sorted(in_special, key=lambda char: -counts[char])[:kept_specials]
            if all(len(token) == 1 for token in kept) and bpe_trainer.may_be_kept(kept | set(rest), counts, case["limit"]):
                kept |= set(rest)
                break
        else:
            return f"the characters {sorted(kept)} cannot be an alphabet"
        known = bpe_trainer.forms(words, kept | singles, prefix, suffix)
        forms = [token for token in tokens if token in known]
        # A form that merging made again has the id of the form.
        forms = sorted(known, key=lambda form: forms.index(form) if form in forms else -1)
    return bpe_trainer.train(words, case_options(case), kept, forms, ties)


def case_options(case):
    return {name: case[name] for name in ("size", "min_frequency", "special", "prefix", "suffix", "max_length")}


class Spiece:
    """The program, which trains in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder = str(program), folder

    def call(self, *arguments, data=None):
        done = subprocess.run([self.program, *arguments], capture_output=True, input=data)
        if done.returncode != 0:
            raise RuntimeError(f"status {done.returncode}: {done.stderr.decode()}")
        return done.stdout

    def file(self, like, texts, *flags):
        """The tokenizer.json that is trained on texts."""
        folder = Path(self.folder)
        Path(folder, "like.json").write_bytes(like.encode())
        Path(folder, "texts").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
        self.call("train", f"--like={folder}/like.json", f"--input={folder}/texts", "--json_field=text",
                  f"--model_prefix={folder}/m", "--special_ids_first", "--quiet", *flags)  # fmt: skip
        return json.loads(Path(folder, "m.json").read_bytes())

    def case(self, case, components, texts):
        flags = [f"--vocab_size={case['size']}", f"--min_frequency={case['min_frequency']}", f"--jobs={case['jobs']}",
                 f"--split_special_tokens={json.dumps(case['splits'])}"]  # fmt: skip
        given = {"limit_alphabet": case["limit"], "initial_alphabet": case["initial"], "max_token_length": case["max_length"]}
        if not case["in_file"] or case["trainer"] == "wordpiece":
            given |= {"continuing_subword_prefix": case["prefix"], "end_of_word_suffix": case["suffix"]}
        flags += [f"--{name}={value}" for name, value in given.items() if value is not None]
        if case["special"]:
            flags.append("--special_tokens=" + ",".join(case["special"]))
        return self.file(skeleton(case, components).to_str(), texts, *flags)

    def ids(self, texts):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        made = self.call("encode", f"--model={self.folder}/m.json", "--json_field=text", "--output_format=id", "--quiet",
                         "--allowed_special=all", data=lines.encode())  # fmt: skip
        return [[int(token) for token in line.split()] for line in made.decode().split("\n")[: len(texts)]]


def difference(spiece, case, components, texts):
    """What differs, and whether the result of tokenizers is one of several; `None` and a text if nothing does."""
    from tokenizers import Tokenizer, pre_tokenizers

    plain = json.loads(skeleton(case, components).to_str())
    initial = case["initial"]
    if initial is None:
        initial = pre_tokenizers.ByteLevel.alphabet() if is_byte_level(plain) else []
    initial = list(initial)
    ours = spiece.case(case, components, texts)
    result = tokens_and_merges(ours)
    of_wordpiece = case["trainer"] == "wordpiece"

    def unlike(found, wanted):
        if isinstance(wanted, str):
            return wanted
        return first_difference(found[0], wanted[0], "tokens") if of_wordpiece else compare_results(found, wanted)

    kind = "equal"
    words = words_of(case, components, texts)
    if case["splits"] and case["special"]:
        wrong = unlike(result, expected(case, words, initial, result, False))
        kind = "cut"
    else:
        reference = trained_by_tokenizers(case, components, initial, texts)
        theirs = tokens_and_merges(json.loads(reference.to_str()))
        wrong = unlike(result, theirs)
        if wrong:
            orders = [None, *(random.Random(seed) for seed in range(200))]
            tries = (unlike(theirs, expected(case, words, initial, theirs, True, ties)) for ties in orders)
            varies = next((None for what in tries if what is None), "no order of equal pairs explains the result")
            if varies:
                return f"{wrong}; {varies}", kind
            wrong = unlike(result, expected(case, words, initial, result, False))
            kind = "varies"
    if wrong:
        return wrong, kind
    # The file runs in tokenizers as it does here.
    opened = Tokenizer.from_str(json.dumps(ours))
    samples = [text for text in texts if text][:20]
    try:
        wanted = [opened.encode(text).ids for text in samples]
    except Exception:
        # Unknown text without an unknown token.
        return None, kind
    for text, found, ids in zip(samples, spiece.ids(samples), wanted):
        if found != ids:
            return f"ids of {text!r}: {found}, reference {ids}", kind
    return None, kind


def checked(spiece, case, components, texts):
    try:
        return difference(spiece, case, components, texts)
    except RuntimeError as error:
        return str(error), "error"


def compare_cases(options, spiece):
    paths = [bootstrap.TESTDATA / "udhr.txt", bootstrap.TESTDATA / "mixed.txt", *options.texts]
    corpora = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    passed, failed, refused = Counter(), 0, 0
    for number in range(options.cases):
        rng = random.Random(f"{options.seed} {number}")
        case, components, texts = random_case(rng, options.trainer), random_components(rng), random_text(rng, corpora)
        texts = "".join(texts)[: rng.choice([300, 3000, 3000])].splitlines(keepends=True) or ["ab"]
        if case["special"] and rng.random() < 0.7:
            insert_special_tokens(rng, texts, case["special"])
        if case["splits"] and '"first"' in skeleton(case, components).to_str():
            # What is between added tokens is no start.
            case["splits"] = False
        try:
            words_of(case, components, texts)
        except BaseException:
            # tokenizers panics.
            refused += 1
            continue
        what, kind = checked(spiece, case, components, texts)
        if what is None:
            passed[case["trainer"], kind] += 1
            continue
        failed += 1
        print(f"case {number}: {case}\n  {what}", flush=True)
        if failed <= 3:
            print(f"  {skeleton(case, components).to_str()}")
            fewer = shrink_list(texts, lambda kept: bool(kept) and checked(spiece, case, components, kept)[0] is not None)
            print(f"  {json.dumps(fewer)}", flush=True)
        if failed > 20:
            break
    counts = ", ".join(f"{trainer} {kind} {count}" for (trainer, kind), count in sorted(passed.items()))
    print(f"{sum(passed.values())} passed ({counts}), {refused} left out because tokenizers fails, {failed} failed")
    return 1 if failed else 0


def compare_files(options, spiece):
    """Files, as train_new_from_iterator of transformers trains them."""
    from transformers import PreTrainedTokenizerFast

    text = "".join(path.read_bytes().decode("utf-8", "replace") for path in options.texts)
    text = text or (bootstrap.TESTDATA / "udhr.txt").read_text() + (bootstrap.TESTDATA / "mixed.txt").read_text()
    texts = text.splitlines(keepends=True)
    failed = 0
    for path in options.like:
        like = path.read_text()
        fast = PreTrainedTokenizerFast(tokenizer_file=str(path))
        try:
            trained = fast.train_new_from_iterator([texts], options.size)
        except ValueError as error:
            print(f"{path.name}: transformers refuses it: {error}")
            continue
        theirs = json.loads(trained._tokenizer.to_str())
        ours = spiece.file(like, texts, f"--vocab_size={options.size}", "--split_special_tokens=false")
        vocab = ours["model"]["vocab"]
        wrong = [token for token, id in theirs["model"]["vocab"].items() if vocab.get(token) != id]
        merges = [tokens_and_merges(file)[1] for file in (ours, theirs)]
        # Those that transformers adds because its class has them come last.
        added = [token for token in theirs["added_tokens"] if token["id"] < len(theirs["model"]["vocab"])]
        lost = [token for token in added if token not in ours["added_tokens"]]
        kept = len(vocab) - len(theirs["model"]["vocab"]), len(ours["added_tokens"]) - len(added)
        is_equal = not wrong and merges[0] == merges[1] and not lost
        failed += not is_equal
        print(f"{path.name}: {'equal' if is_equal else 'differs'}; {len(vocab)} tokens, {len(merges[0])} merges; "
              f"{len(wrong)} ids differ; also kept: {kept[0]} tokens, {kept[1]} added tokens", flush=True)  # fmt: skip
    return 1 if failed else 0


VARYING = {
    "ties at the limit of the alphabet": (["abc"], {"limit": 2, "suffix": None}),
    "ids of characters with a suffix": (["ab cd ef"], {"limit": None, "suffix": "</w>"}),
}
ONE_RUN = """
import json, sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
texts, options = json.loads(sys.argv[1])
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=16, show_progress=False, **options))
print(tokenizer.to_str())
"""


def compare_runs(options, spiece):
    from tokenizers import Tokenizer, models, pre_tokenizers

    failed = 0
    for name, (texts, given) in VARYING.items():
        of_trainer = {"limit_alphabet": given["limit"], "end_of_word_suffix": given["suffix"]}
        of_trainer = {option: value for option, value in of_trainer.items() if value is not None}
        results = Counter()
        for _ in range(options.varies):
            done = subprocess.run([sys.executable, "-c", ONE_RUN, json.dumps([texts, of_trainer])], capture_output=True, check=True)
            results[json.dumps(tokens_and_merges(json.loads(done.stdout)))] += 1
        plain = Tokenizer(models.BPE())
        plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        flags = [f"--{option}={value}" for option, value in of_trainer.items()]
        ours = json.dumps(tokens_and_merges(spiece.file(plain.to_str(), texts, "--vocab_size=16", *flags)))
        is_right = len(results) > 1 and ours in results
        failed += not is_right
        print(f"{name}: {len(results)} results in {options.varies} runs; that of spiece in {results[ours]} of them", flush=True)
    return 1 if failed else 0


def compare(options):
    with tempfile.TemporaryDirectory() as folder:
        spiece = Spiece(options.program, folder)
        if options.varies:
            return compare_runs(options, spiece)
        return compare_files(options, spiece) if options.like else compare_cases(options, spiece)


def main():
    parser = script.flags(__doc__, cases=300, seed_help="every seed gives other cases")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a further text; may be repeated")
    parser.add_argument("--trainer", choices=["bpe", "wordpiece"], help="only cases of this trainer")
    parser.add_argument("--like", type=Path, action="append", default=[], help="a tokenizer.json to train like; may be repeated")
    parser.add_argument("--size", type=int, default=2000, help="the vocab_size of --like")
    parser.add_argument("--varies", type=int, default=0, metavar="N", help="train N times in new processes")
    script.run(parser, compare)


if __name__ == "__main__":
    main()
