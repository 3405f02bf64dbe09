#!/usr/bin/env python3
"""Compares byte-level BPE with superwords, as SuperBPE trains it, with its definition and with tokenizers and tiktoken.

    python3 tests/conformance/superwords.py                                # 60 cases, seed 1
    python3 tests/conformance/superwords.py --cases 500 --seed 7 --texts FILE

Each case is a random text, two patterns, two sizes and the most words of a token. tokenizers 0.23.3 trains the first
stage. The second one, which it does not have, is defined here in a few lines: tokenizers cuts the text by the second
pattern and encodes each part; of all pairs the most frequent one, of equal ones that with the smallest ids, is merged
everywhere, unless the token would have too many words or a space after a colon; and so on. The merges of `spiece train
--superword_from` have to be these, and so have those of `spiece extend` of the first stage. Then tokenizers and tiktoken
load the files that spiece writes, and have to give its ids for random strings and held-out lines. The exit status is 0 if
nothing differs, 1 if something does, 2 if the harness cannot run.
"""

import collections
import json
import random
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import byte_level  # noqa: E402
from byte_adapt import run  # noqa: E402
from byte_level import LLAMA_PATTERN, Tiktoken, Tokenizers  # noqa: E402
from byte_train import GPT2_PATTERN, random_text  # noqa: E402
from differential import bootstrap, script  # noqa: E402

# What the flags are, and the expressions of the references.
FIRST = {"gpt2": GPT2_PATTERN, "llama3": LLAMA_PATTERN}
SUPERBPE = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]{2,}[\r\n/]*| +(?!\S)"
SECOND = {"superbpe": SUPERBPE, **{it: it for it in (r"\p{N}", r"[,.]|\s+(?!\S)", r"b+ ?")}, "none": None}


def pre_tokenizer(expression):
    from tokenizers import Regex, pre_tokenizers

    bytes_alone = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    if expression is None:
        return bytes_alone
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(expression), "isolated"), bytes_alone])


def first_stage(case, documents):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizer(FIRST[case["pattern"]])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(documents, trainers.BpeTrainer(
        vocab_size=case["first"], initial_alphabet=alphabet, show_progress=False))
    return tokenizer


def second_stage(case, tokenizer, documents):
    """The merges of the second stage, as pairs of texts."""
    tokenizer.pre_tokenizer = pre_tokenizer(SECOND[case["superword_pattern"]])
    counts = collections.Counter(
        part for document in documents for part, _ in tokenizer.pre_tokenizer.pre_tokenize_str(document))
    words = [([token.id for token in tokenizer.model.tokenize(part)], count) for part, count in counts.items()]
    texts = [text for text, _ in sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])]
    merges = []
    while len(texts) < case["size"]:
        pairs = collections.Counter()
        for ids, count in words:
            for pair in zip(ids, ids[1:]):
                pairs[pair] += count
        allowed = [pair for pair in pairs if is_allowed(texts[pair[0]] + texts[pair[1]], case["max_words"])]
        if not allowed:
            break
        best = min(allowed, key=lambda pair: (-pairs[pair], pair))
        merges.append([texts[id] for id in best])
        for ids, _ in words:
            at = 0
            while at + 1 < len(ids):
                if (ids[at], ids[at + 1]) == best:
                    ids[at : at + 2] = [len(texts)]
                at += 1
        texts.append("".join(merges[-1]))
    return merges


def is_allowed(text, max_words):
    return ":Ġ" not in text and len([word for word in text.split("Ġ") if word]) <= max_words


def random_case(rng):
    first = 256 + rng.choice([1, 20, 100, 300])
    return {
        "pattern": rng.choice(list(FIRST)),
        "superword_pattern": rng.choice(["superbpe", *SECOND]),
        "first": first,
        "size": first + rng.choice([1, 10, 60]),
        "max_words": rng.choice([1, 2, 4, 4, 9]),
    }


def check(program, folder, case, documents, lines):
    """What differs."""
    corpus = folder / "corpus.jsonl"
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents), encoding="utf-8")
    tokenizer = first_stage(case, documents)
    if tokenizer.get_vocab_size() < case["first"]:
        return None
    tokenizer.save(str(folder / "first.json"))
    old_merges = json.loads((folder / "first.json").read_text())["model"]["merges"]
    expected = second_stage(case, tokenizer, documents)
    size = case["first"] + len(expected)
    if not expected:
        return None
    superwords = [f"--max_words={case['max_words']}", f"--superword_pattern={case['superword_pattern']}",
                  f"--vocab_size={size}", f"--input={corpus}", "--json_field=text"]
    train = ["train", "--model_type=byte_bpe", f"--pattern={case['pattern']}", f"--superword_from={case['first']}", *superwords]
    run(program, folder, *train, "--model_prefix=trained")
    run(program, folder, "extend", "first.json", "--split_by_whitespace=false", *superwords, "--model_prefix=extended")
    wrong = []
    for name in ("trained", "extended"):
        merges = json.loads((folder / f"{name}.json").read_text())["model"]["merges"]
        if merges != old_merges + expected:
            first = next((it for it in zip(merges, old_merges + expected) if it[0] != it[1]), "their number")
            wrong.append(f"{name}: merges: {first}")
    pairs = [(script.Spiece(program, folder / "trained.json", []), Tokenizers(folder / "trained.json"))]
    expression = SECOND[case["superword_pattern"]]
    whole = "(?s:.+)" if expression is None else f"(?:{expression})|(?:(?!{expression})(?s:.))+"
    try:
        run(program, folder, *train, "--tie_order=rustbpe", "--format=tiktoken", "--model_prefix=ranks")
        ranks = folder / "ranks.tiktoken"
        pairs.append((script.Spiece(program, ranks, [f"--pattern={whole}"]), Tiktoken(ranks, whole)))
    except RuntimeError as error:
        # Other bytes come first there, so that other pairs are merged, and fewer may be left.
        if "the text gives" not in str(error):
            raise
    for ours, reference in pairs:
        for line, mine, theirs in zip(lines, ours.ids(lines), reference.ids(lines)):
            if mine != theirs:
                wrong.append(f"{type(reference).__name__}: {line!r}: ids {mine}, reference {theirs}")
    return wrong


def compare(options):
    paths = [bootstrap.TESTDATA / "udhr.txt", bootstrap.TESTDATA / "mixed.txt", *options.texts]
    corpora = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    held_out = [line for text in corpora for line in text.splitlines(keepends=True)]
    tally, skipped = script.Tally(), 0
    for number in range(options.cases):
        rng = random.Random(f"superwords {options.seed} {number}")
        case, documents = random_case(rng), random_text(rng, corpora)
        lines = [byte_level.random_text(rng) for _ in range(options.lines)]
        lines += rng.sample(held_out, min(options.lines, len(held_out))) + documents
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong = check(options.program.resolve(), Path(folder), case, documents, lines)
            except RuntimeError as error:
                wrong = [str(error)]
        if wrong is None:
            skipped += 1
            continue
        tally.add(wrong)
        if wrong:
            print(f"case {number} of seed {options.seed}: {case}: {len(wrong)} differ")
            for what in wrong[:3]:
                print(f"  {what}", flush=True)
    print(f"{skipped} cases with too little text")
    return tally.status()


def main():
    parser = script.flags(__doc__, cases=60, seed_help="every seed gives other cases")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="a text of which parts are taken; may be repeated")
    parser.add_argument("--lines", type=int, default=300, help="random texts and held-out lines for each case")
    script.run(parser, compare)


if __name__ == "__main__":
    main()
