"""Growth of time and memory: training with the corpus and the vocabulary, encoding with the length of a line.

Expected results: the memory of training is proportional to the number of distinct words, not to the bytes of the
corpus (of unigram models to both, since they need the sentences in their order); the time of encoding per byte
depends neither on the length nor on the content of a line.
"""

import random
import re
import subprocess

from . import texts
from .tables import head, row, seconds
from .tools import NoResult, PEERS, REFERENCE, install, measure, report, run, spiece, throughput
from .training import flags, options_for

CORPUS_SIZES = [10_000_000, 50_000_000, 100_000_000, 500_000_000]
# Parts of the stream; the largest is --stream-gigabytes.
STREAM_PARTS = [0.01, 0.1, 0.5, 1]
STREAM_WORDS = 2_000_000
VOCABULARIES = [8_000, 32_000, 128_000, 256_000]
VOCABULARY_CORPUS = 100_000_000
LINE_SIZES = [1_000, 10_000, 100_000, 1_000_000, 10_000_000]
SYMBOLS = ["<sep>", "<mask>"]
TRAIN_COLUMNS = ["wall", "user", "throughput", "peak memory", "distinct words", "bytes for each distinct word"]


def grow_all(args):
    grow_corpus(args)
    grow_stream(args)
    if args.model_type != "bpe":
        return True
    grow_vocabulary(args)
    symbols = model_with_symbols(args)
    for model in [*args.model, symbols]:
        grow_line(model, made_lines(model, args), args)
    grow_line(symbols, {"user-defined symbols": lambda size: repeat("".join(SYMBOLS), size)}, args)
    return True


def trained(source, vocab_size, args, more=()):
    """Trains on the output of a command. Returns wall seconds, user seconds, peak megabytes and distinct words."""
    options = options_for("-", "llama", vocab_size, args)
    with subprocess.Popen([str(part) for part in source], stdout=subprocess.PIPE) as pipe:
        folder = args.work / "out/growth"
        wall, user, peak = measure([spiece(), "train", f"--jobs={args.jobs}", *flags(options),
                                    "--hard_vocab_limit=false", *more], folder, pipe.stdout)
    log = (folder / "log").read_text(errors="replace")
    words = int(re.search(r"^distinct words: ([\d,]+)", log, re.MULTILINE)[1].replace(",", ""))
    return wall, user, peak, words


def train_row(first, size, source, vocab_size, args):
    wall, user, peak, words = trained(source, vocab_size, args)
    row([first, f"{wall:.2f} s", f"{user:.2f} s", f"{size / wall / 1e6:.1f} MB/s", f"{peak:.0f} MB", f"{words:,}",
         f"{peak * 1e6 / words:.0f}"])


def grow_corpus(args):
    for text in args.text:
        head(f"train on the beginning of {text.name}, {args.model_type}, {args.vocab_size} pieces, {args.jobs} jobs",
             ["corpus", *TRAIN_COLUMNS])
        whole = text.stat().st_size
        for size in [size for size in CORPUS_SIZES if size < whole] + ([whole] if whole <= CORPUS_SIZES[-1] else []):
            train_row(f"{size / 1e6:.3g} MB", size, ["head", "-c", size, text], args.vocab_size, args)
        for size in [size for size in CORPUS_SIZES if size > whole] if args.repeat else []:
            train_row(f"{size / 1e6:.3g} MB (repeated)", size, repeated(text, size), args.vocab_size, args)


def repeated(text, size):
    """The command that prints a text over and over, up to a size."""
    return ["sh", "-c", 'while cat "$1"; do :; done 2>&- | head -c "$2"', "sh", text, size]


def grow_stream(args):
    stream = args.work / "stream"
    run(["rustc", "-O", "-o", stream, PEERS / "stream.rs"])
    head(f"train on a stream through a pipe, {STREAM_WORDS:,} words in all, {args.model_type}, {args.vocab_size} "
         f"pieces, {args.jobs} jobs", ["stream", *TRAIN_COLUMNS])
    for part in STREAM_PARTS:
        size = int(part * args.stream_gigabytes * 1e9)
        train_row(f"{size / 1e6:.4g} MB", size, [stream, size, STREAM_WORDS], args.vocab_size, args)


def grow_vocabulary(args):
    text = args.text[0]
    size = min(text.stat().st_size, VOCABULARY_CORPUS)
    head(f"train on {size / 1e6:.3g} MB of {text.name}, {args.jobs} jobs", ["pieces", *TRAIN_COLUMNS])
    for vocab_size in VOCABULARIES:
        train_row(f"{vocab_size:,}", size, ["head", "-c", size, text], vocab_size, args)


def model_with_symbols(args):
    """Trains a model with user-defined symbols and returns its path."""
    size = min(args.text[0].stat().st_size, 10_000_000)
    symbols = f"--user_defined_symbols={','.join(SYMBOLS)}"
    trained(["head", "-c", size, args.text[0]], args.vocab_size, args, [symbols])
    made = args.work / "with_symbols.model"
    (args.work / "out/growth/m.model").replace(made)
    return made


def repeat(text, size):
    return (text * (size // len(text) + 1))[:size]


def grow_line(model, kinds, args):
    """Prints nanoseconds per byte for each kind of line and each length."""
    sides = {"spiece": [throughput(), "encode"]}
    if args.peers:
        sides[REFERENCE] = [install(args.work), PEERS / "run_sentencepiece.py", "encode"]
    names = [f"{size / 1e6:g} MB" if size >= 1_000_000 else f"{size // 1_000} KB" for size in LINE_SIZES]
    head(f"encode one line, {model.name}: nanoseconds for each byte", ["line", "program", *names, "longest line"])
    for kind, make in kinds.items():
        for side, command in sides.items():
            cells, wall = [], None
            for size in LINE_SIZES:
                # Several lines, so that the time is measurable and one tenth of them can be the warm-up.
                line = texts.valid_start(make(size).encode(), size) + b"\n"
                text = texts.kept(args.work, "growth", line * max(1, 200_000 // size))
                try:
                    figures = report([*command, model, text, args.seconds / 4], args.timeout)
                except NoResult as reason:
                    cells.append(str(reason))
                    break
                wall = figures["wall"]
                cells.append(f"{wall / figures['bytes'] * 1e9:.1f}")
            row([kind, side, *cells, *[""] * (len(LINE_SIZES) - len(cells)), seconds(wall) if wall else ""])


def pieces_of(model):
    """The pieces of a model with more than one character, without meta pieces."""
    exported = subprocess.run([spiece(), "export-vocab", f"--model={model}"], check=True, stdout=subprocess.PIPE)
    pieces = [line.split("\t")[0] for line in exported.stdout.decode(errors="ignore").split("\n")]
    return [piece for piece in pieces if len(piece) > 1 and not piece.startswith("<")]


def made_lines(model, args):
    """For each kind of line a function of the size; the last kinds are adversarial for this model."""
    pieces = pieces_of(model)
    prose = texts.one_line(args.text[0], LINE_SIZES[-1]).decode().strip()
    no_spaces = "".join(prose.split())
    return {
        "prose": lambda size: repeat(prose, size),
        "a run of a": lambda size: "a" * size,
        "prose without spaces": lambda size: repeat(no_spaces, size),
        "Chinese characters": lambda size: at_random([chr(code) for code in range(0x4E00, 0x6E00)], size // 3 + 1),
        "two characters in turn": lambda size: repeat(alternating(pieces), size),
        "pieces without their ends": lambda size: at_random(unfinished(pieces), size // 4 + 1),
        "no place to cut": lambda size: walk(pieces, size),
        "spaces": lambda size: " " * size,
    }


def at_random(parts, count):
    return "".join(random.Random(1).choices(parts, k=count))


def alternating(pieces):
    """The two characters of the longest piece in which they alternate; its merges have the greatest depth."""
    turns = [piece for piece in pieces if piece[0] != piece[1] and piece == repeat(piece[:2], len(piece))]
    return max(turns, key=len, default="ab")[:2]


def unfinished(pieces):
    """The longest pieces without their last characters. Each is a prefix of a piece but not a piece, so an encoder
    that follows the longest piece has to backtrack."""
    return [piece[:-1] for piece in sorted(pieces, key=len, reverse=True)[:2_000] if "\u2581" not in piece] or ["ab"]


def walk(pieces, size):
    """A line in which each two adjacent characters are adjacent in some piece, so that it has no bigram boundary and
    is one chunk."""
    follows = {}
    for piece in pieces:
        for left, right in zip(piece, piece[1:]):
            follows.setdefault(left, set()).add(right)
    follows = {left: sorted(rights) for left, rights in follows.items()}
    if not follows:
        return "ab" * size
    choose = random.Random(1)
    starts = sorted(follows)
    made = [choose.choice(starts)]
    while len(made) < size:
        made.append(choose.choice(follows.get(made[-1], starts)))
    return "".join(made).replace("\u2581", " ")
