"""Compares byte-level BPE: spiece and its peers with the same vocabulary, on the same lines, in turn.

The texts are those that users have: prose, source code, many languages, Chinese, Japanese, one line of 1 MB, and short
lines. Files that are not in --corpora or --vocabularies are left out with a message. Everything runs on one thread.
"""

import json
import subprocess
from typing import NamedTuple

from . import running, texts
from .tables import head, row
from .tools import PEERS, install, run, rust_peers, spiece, throughput

PACKAGES = ["numpy", "protobuf", "sentencepiece==0.2.3", "tiktoken==0.14.0", "gigatoken==0.10.0", "tokenizers==0.23.3",
            "tuetoken==0.1.3"]
SPIECE = running.SPIECE
ONE_THREAD = {"RAYON_NUM_THREADS": "1"}
TEXTS = [
    ("English", "en_10m.txt", texts.head_of, 10_000_000),
    ("source code", "code.txt", texts.head_of, 10_000_000),
    ("many languages", "multi.txt", texts.head_of, 10_000_000),
    ("Chinese", "zh.txt", texts.head_of, 10_000_000),
    ("Japanese", "ja.txt", texts.head_of, 10_000_000),
    ("one line of 1 MB", "en_10m.txt", texts.one_line, 1_000_000),
    ("lines of 20 bytes", "en_10m.txt", texts.short_lines, 1_000_000),
]


class Peer(NamedTuple):
    """A program, its row in the tables, and what it can do."""

    row: str
    program: str  # its name for benches/peers/rust, which begins with "bytes:", or for benches/peers/run_byte_level.py
    file: str  # which of the files of a `Vocabulary` it reads
    loads: bool = True  # the vocabulary is in the file, not in the program
    batches: bool = True  # it has a call for several lines


class Vocabulary(NamedTuple):
    file: str
    peers: list  # the first is the reference
    # The name of a pattern for tokenizer.json that cuts lines like the own one, which not all peers run.
    pattern: str | None = None


TIKTOKEN = Peer("tiktoken", "tiktoken", "tiktoken")
TOKENIZERS = Peer("tokenizers", "tokenizers", "json")
OTHERS = [
    Peer("gigatoken", "gigatoken", "source"),
    Peer("tuetoken", "tuetoken", "json"),
    Peer("snaptokens (Rust)", "bytes:snaptokens", "snaptokens"),
    Peer("splintr (Rust)", "bytes:splintr", "source"),
    Peer("tokenizers (Rust)", "bytes:tokenizers", "json", batches=False),
    Peer("tiktoken (Rust)", "bytes:tiktoken", "tiktoken", loads=False, batches=False),
]
# They run vocabularies of OpenAI only: toktok reads no others, and bpe, on which bpe-openai is built, panics at a token
# that is not what its own bytes are encoded to, of which Llama 3 has some.
OPENAI = [
    Peer("bpe-openai (Rust)", "bytes:bpe-openai", "tiktoken", loads=False, batches=False),
    Peer("toktok (Rust)", "bytes:toktok", "tiktoken", loads=False),
]
VOCABULARIES = [
    Vocabulary("cl100k_base.tiktoken", [TIKTOKEN, *OTHERS, *OPENAI], pattern="llama3"),
    Vocabulary("o200k_base.tiktoken", [TIKTOKEN, *OTHERS, *OPENAI]),
    Vocabulary("llama3.json", [TOKENIZERS, TIKTOKEN, *OTHERS]),
]


def converted(source, target, *options):
    target.parent.mkdir(parents=True, exist_ok=True)
    run([spiece(), "convert", source, target, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return target


def without_special_tokens(source, target):
    """Writes a tokenizer.json that has no special tokens."""
    definition = json.loads(source.read_text(encoding="utf-8"))
    for token in definition["added_tokens"]:
        definition["model"]["vocab"].pop(token["content"], None)
    definition["added_tokens"] = []
    target.write_text(json.dumps(definition, ensure_ascii=False), encoding="utf-8")
    return target


def files_of(vocabulary, args):
    """The files of a vocabulary: `source`, the same as `tiktoken` or `json`, the other one as spiece converts it, and
    a tokenizer.json for `snaptokens`, which refuses ids with gaps, as OpenAI's special tokens have. The lines have
    neither special tokens nor line ends, so the ids are those of `source`; the digests verify it."""
    source = args.vocabularies / vocabulary.file
    folder = args.work / "vocabularies"
    if source.suffix == ".json":
        tiktoken = converted(source, folder / f"{source.stem}.tiktoken")
        return {"source": source, "json": source, "tiktoken": tiktoken, "snaptokens": source}
    options = [f"--pattern={vocabulary.pattern}"] if vocabulary.pattern else []
    definition = converted(source, folder / f"{source.stem}.json", *options)
    snaptokens = without_special_tokens(definition, folder / f"{source.stem}_snaptokens.json")
    return {"source": source, "json": definition, "tiktoken": source, "snaptokens": snaptokens}


def sides(peers, work, files, args):
    """For each program its command line without the text, and its environment variables."""
    python = install(args.work, PACKAGES)
    # One vector of all ids is the fastest form of a batch.
    commands = {SPIECE: ([throughput(), "flat" if work == "batch" else work, files["source"]], ONE_THREAD)}
    for peer in peers:
        if peer.program.startswith("bytes:"):
            program = [rust_peers(args.work)]
        else:
            program = [python, PEERS / "run_byte_level.py"]
        commands[peer.row] = ([*program, peer.program, work, files[peer.file]], ONE_THREAD)
    return commands


def kept_lines(args, corpus, make, size):
    """A text without carriage returns: programs differ in whether a line ends there."""
    return texts.kept(args.work, f"{make.__name__} of {corpus.name}", make(corpus, size).replace(b"\r", b""))


def compare_all(args):
    """Prints two tables for each vocabulary and text, one for each kind of calls, and one for loading each vocabulary.
    Returns False if ids differ from those of the reference."""
    agree = True
    for vocabulary in VOCABULARIES:
        if not (args.vocabularies / vocabulary.file).exists():
            print(f"\n{args.vocabularies / vocabulary.file} is not there")
            continue
        files = files_of(vocabulary, args)
        reference = vocabulary.peers[0].row
        kinds = {
            "single calls": sides(vocabulary.peers, "encode", files, args),
            "one call": sides([peer for peer in vocabulary.peers if peer.batches], "batch", files, args),
        }
        for name, corpus, make, size in TEXTS:
            if not (args.corpora / corpus).exists():
                print(f"\n{args.corpora / corpus} is not there")
                continue
            text = kept_lines(args, args.corpora / corpus, make, min(size, args.size))
            for calls, programs in kinds.items():
                title = f"{vocabulary.file}: {name}, {text.stat().st_size / 1e6:.3g} MB, {calls}"
                agree &= running.side_by_side(title, programs, [text, args.seconds], args, [reference])
        loading = sides([peer for peer in vocabulary.peers if peer.loads], "load", files, args)
        agree &= running.side_by_side(f"{vocabulary.file}: loading", loading, ["/dev/null", args.seconds], args,
                                      [reference])
    print_ratios(args)
    return agree


def print_ratios(args):
    """How many times faster than the reference and than the best other program each row is."""
    head("times faster", ["work", "than the reference", "than the fastest peer", "which is"])
    for title, walls in args.summary:
        own = walls.get(SPIECE)
        others = {side: wall / own for side, wall in walls.items() if side != SPIECE} if own else {}
        if not others:
            row([title, "no ratio", "", ""])
            continue
        best = min(others, key=others.get)
        row([title, f"{next(iter(others.values())):.2f}", f"{others[best]:.2f}", best])
    args.summary.clear()
