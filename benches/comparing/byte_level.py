"""Compares byte-level BPE: spiece and its peers with the same vocabulary, on the same lines, in turn.

The texts are those that users have: prose, source code, many languages, Chinese, Japanese, one line of 1 MB, and short
lines. Files that are not in --corpora or --vocabularies are left out with a message.
"""

from . import running, texts
from .tables import head, row
from .tools import PEERS, install, rust_peers, throughput

PACKAGES = ["numpy", "protobuf", "sentencepiece==0.2.3", "tiktoken==0.14.0", "gigatoken==0.10.0", "tokenizers==0.23.3"]
SPIECE = running.SPIECE
TEXTS = [
    ("English", "en_10m.txt", texts.head_of, 10_000_000),
    ("source code", "code.txt", texts.head_of, 10_000_000),
    ("many languages", "multi.txt", texts.head_of, 10_000_000),
    ("Chinese", "zh.txt", texts.head_of, 10_000_000),
    ("Japanese", "ja.txt", texts.head_of, 10_000_000),
    ("one line of 1 MB", "en_10m.txt", texts.one_line, 1_000_000),
    ("lines of 20 bytes", "en_10m.txt", texts.short_lines, 1_000_000),
]
# Vocabularies, with the peers that can run them: the first is the reference.
TIKTOKEN = ["tiktoken", "gigatoken", "bytes:toktok", "bytes:bpe-openai", "bytes:tiktoken"]
VOCABULARIES = {
    "cl100k_base.tiktoken": TIKTOKEN,
    "o200k_base.tiktoken": TIKTOKEN,
    "llama3.json": ["tokenizers", "bytes:tokenizers"],
}


def sides(peers, work, args):
    """For each program its command line, without vocabulary and text, and its environment variables."""
    python = install(args.work, PACKAGES)
    commands = {SPIECE: ([throughput(), work], {})}
    for peer in peers:
        if peer.startswith("bytes:"):
            name, command = f"{peer.removeprefix('bytes:')} (Rust)", [rust_peers(args.work), peer, work]
        else:
            name, command = peer, [python, PEERS / "run_byte_level.py", peer, work]
        commands[name] = (command, {})
    return commands


def kept_lines(args, corpus, make, size):
    """A text without carriage returns: programs differ in whether a line ends there."""
    return texts.kept(args.work, f"{make.__name__} of {corpus.name}", make(corpus, size).replace(b"\r", b""))


def compare_all(args):
    """Prints a table for each vocabulary and text. Returns False if ids differ from those of the reference."""
    agree = True
    for file, peers in VOCABULARIES.items():
        vocabulary = args.vocabularies / file
        if not vocabulary.exists():
            print(f"\n{vocabulary} is not there")
            continue
        reference = peers[0]
        for name, corpus, make, size in TEXTS:
            if not (args.corpora / corpus).exists():
                print(f"\n{args.corpora / corpus} is not there")
                continue
            text = kept_lines(args, args.corpora / corpus, make, min(size, args.size))
            programs = sides(peers, "encode", args)
            title = f"{file}: {name}, {text.stat().st_size / 1e6:.3g} MB"
            agree &= running.side_by_side(title, programs, [vocabulary, text, args.seconds], args, [reference])
        loading = {side: command for side, command in sides(peers, "load", args).items() if not side.endswith("(Rust)")}
        agree &= running.side_by_side(f"{file}: loading", loading, [vocabulary, "/dev/null", args.seconds], args,
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
