#!/usr/bin/env python3
"""Compares byte-level vocabularies that spiece has changed with tiktoken 0.14.0 and tokenizers 0.23.3.

    python3 tests/conformance/byte_adapt.py                            # vocabularies trained here, seed 1
    python3 tests/conformance/byte_adapt.py --vocabularies FOLDER      # also the known files of a folder

Each vocabulary is extended on a part of the texts, pruned to half of its tokens, and merged with a vocabulary of another
text. tokenizers loads the tokenizer.json that is written, tiktoken the `.tiktoken` file; both have to give the ids of
spiece for random strings and for texts. What is promised is checked with the ids of the references alone: old tokens keep
their ids (extend, merge), every boundary between tokens was one before (extend, merge), and the ids are the old ones by
the table of ids (prune, for texts that it was made of). The exit status is 0 if nothing differs, 1 if something does, 2
if the harness cannot run.
"""

import itertools
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
# tiktoken would take another file of the same name out of its cache.
os.environ["TIKTOKEN_CACHE_DIR"] = ""

import byte_level  # noqa: E402
from byte_level import LLAMA_PATTERN, Tiktoken, Tokenizers  # noqa: E402
from differential import bootstrap, script  # noqa: E402

CL100K_PATTERN = r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""

# Known files, and the pattern for tiktoken of those that can be written as `.tiktoken`.
KNOWN = {
    "llama3.json": None,
    "llama3.tiktoken": LLAMA_PATTERN,
    "qwen3.json": None,
    "cl100k_base.tiktoken": CL100K_PATTERN,
    "gpt2": None,
}


def run(program, folder, *arguments):
    done = subprocess.run([str(program), *map(str, arguments), "--quiet"], cwd=folder, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(f"spiece {' '.join(map(str, arguments))}: {done.stderr.decode()}")


def boundaries(reference, ids):
    return set(itertools.accumulate(reference.lengths(ids)))


def compare(new, old, spiece, lines, promise):
    """What differs between spiece and the references, or breaks the promise."""
    wrong = []
    ours = spiece.ids(lines)
    before = old.ids(lines)
    for reference in new:
        for line, mine, theirs, old_ids in zip(lines, ours, reference.ids(lines), before):
            if mine != theirs:
                wrong.append(f"{type(reference).__name__}: {line!r}: ids {mine}, reference {theirs}")
            elif problem := promise(reference, theirs, old_ids):
                wrong.append(f"{line!r}: {problem}")
    return wrong


def keeps(old):
    """No new boundary, old ids kept."""
    def promise(reference, ids, old_ids):
        added = boundaries(reference, ids) - boundaries(old, old_ids)
        return f"new boundaries {sorted(added)}: {ids} before {old_ids}" if added else None

    return promise


def maps(table):
    """Pruned ids are the old ones."""
    def promise(_, ids, old_ids):
        return None if [table[id] for id in ids] == old_ids else f"{ids} is not {old_ids}"

    return promise


def old_tokens_kept(old, new):
    """The tokens of the old file that have another id, or none, in the new one."""
    if isinstance(old, Tiktoken):
        return [token for token, rank in old.encoding._mergeable_ranks.items()
                if new.encoding._mergeable_ranks.get(token) != rank]
    vocab = new.tokenizer.get_vocab()
    return [token for token, id in old.tokenizer.get_vocab().items() if vocab.get(token) != id]


def written(program, folder, path, flags, pattern, verb):
    """The references of both files that `verb` writes, and the tokenizer.json."""
    made = []
    for form, ending in (("tokenizer.json", ".json"), ("tiktoken", ".tiktoken")):
        name = f"{verb[0]}{ending}"
        if ending == ".tiktoken" and pattern is None:
            continue
        run(program, folder, verb[0], path, *flags, *verb[1:], f"--model_prefix={verb[0]}", f"--format={form}")
        file = folder / name
        made.append(Tokenizers(file) if ending == ".json" else
                    Tiktoken(file, pattern))
    return made, folder / f"{verb[0]}.json"


def vocabularies(options, folder):
    """Paths, references, flags and patterns."""
    for path, reference, flags in byte_level.trained(folder, random.Random(options.seed)):
        pattern = flags[0].partition("=")[2] if flags else None
        yield path, reference, flags, pattern
    for name, pattern in KNOWN.items() if options.vocabularies else ():
        path = options.vocabularies / name
        if path.exists():
            reference, flags = byte_level.KNOWN[name]
            yield path, reference(path), flags, pattern


def check(options, folder, vocabulary, corpus, held_out):
    path, reference, flags, pattern = vocabulary
    other = corpus.with_name("other.txt")
    wrong = []
    random_lines = [byte_level.random_text(options.rng) for _ in range(options.cases)]
    lines = [*random_lines, *held_out]
    verbs = {
        "extend": [f"--input={corpus}", f"--pieces={options.pieces}"],
        "prune": ["--keep_text=" + str(corpus)],
        "merge": None,
    }
    for verb in options.verbs:
        if verb == "merge":
            run(options.program, folder, "train", "--model_type=byte_bpe", f"--input={other}", "--model_prefix=second",
                "--vocab_size=1000", f"--pattern={pattern or 'gpt2'}")
            others = [folder / "second.json", "--force"]
            made, json_file = written(options.program, folder, path, [*flags, *others], pattern, ["merge"])
        else:
            made, json_file = written(options.program, folder, path, flags, pattern, [verb, *verbs[verb]])
        spiece = script.Spiece(options.program, json_file, [])
        if verb == "prune":
            rows = (folder / "prune.ids.tsv").read_text().split("\n")[:-1]
            table = {int(new): int(old) for new, old in (row.split("\t") for row in rows)}
            kept = corpus.read_text(encoding="utf-8").split("\n")
            found = compare(made, reference, spiece, kept, maps(table))
            found += compare(made, reference, spiece, lines, lambda *_: None)
        else:
            found = compare(made, reference, spiece, lines, keeps(reference))
            for new in made:
                if type(new) is type(reference):
                    found += [f"the id of {token!r} is another" for token in old_tokens_kept(reference, new)]
        print(f"{path.name}: {verb}: {len(lines)} texts, {len(found)} differ", flush=True)
        for what in found[:3]:
            print(f"  {what}", flush=True)
        wrong += found
    return wrong


def compare_all(options):
    options.rng = random.Random(options.seed)
    tally = script.Tally()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        source = options.corpus or bootstrap.TESTDATA / "udhr.txt"
        all_lines = source.read_text(encoding="utf-8", errors="replace").split("\n")
        corpus = folder / "corpus.txt"
        corpus.write_text("\n".join(line for at, line in enumerate(all_lines) if at % 4), encoding="utf-8")
        (folder / "other.txt").write_text("\n".join(all_lines[::3]), encoding="utf-8")
        held_out = all_lines[::4]
        for path in [bootstrap.TESTDATA / "mixed.txt", *options.texts]:
            held_out += path.read_text(encoding="utf-8", errors="replace").split("\n")
        for vocabulary in vocabularies(options, folder):
            if options.only and options.only not in vocabulary[0].name:
                continue
            try:
                wrong = check(options, folder, vocabulary, corpus, held_out)
            except RuntimeError as error:
                wrong = [str(error)]
                print(f"{vocabulary[0].name}: {error}", flush=True)
            tally.add(wrong)
    return tally.status()


def main():
    parser = script.flags(__doc__, cases=2000, cases_help="random texts for each vocabulary")
    parser.add_argument("--vocabularies", type=Path, help="a folder with known files")
    parser.add_argument("--corpus", type=Path, help="a text to extend on [default: the languages of testdata/udhr.txt]")
    parser.add_argument("--texts", type=Path, action="append", default=[], help="held-out text; may be repeated")
    parser.add_argument("--pieces", type=int, default=200, help="the number of tokens to learn")
    parser.add_argument("--verbs", type=lambda text: text.split(","), default=["extend", "prune", "merge"])
    parser.add_argument("--only", help="only vocabularies whose name contains this")
    script.run(parser, compare_all)


if __name__ == "__main__":
    main()
