"""Compares encoding, decoding and loading: spiece and each peer on the same lines, in turn."""

from . import texts
from .tables import head, median, ratios, row, seconds
from .tools import NoResult, PEERS, REFERENCE, install, report, run, rust_peers, throughput

CRATES = ["kitoken", "bpe", "tokenizers", "sentencepiece-rust"]
SPIECE = "spiece"
COLUMNS = ["program", "wall", "user", "peak memory", "of it for the work", "throughput", "each line", "wall / {}",
           "same output"]


def programs(work, args):
    """For each program its command line for an operation, without model and text, and its environment variables."""
    python = install(args.work)
    peers = {REFERENCE: ([python, PEERS / "run_sentencepiece.py", work], {})}
    if not args.reference_alone:
        peers.update({crate: ([rust_peers(args.work), crate, work], {}) for crate in CRATES})
    return {SPIECE: ([throughput(), work], {}), **peers}


def side_by_side(title, sides, job, args, must_agree):
    """Runs the sides in turn and prints their table. Ratios are relative to the first side. Returns False if the
    first side has no result, or if the output of a side of `must_agree` differs from its output."""
    runs, missing = {side: [] for side in sides}, {}
    for number in range(args.pairs + 1):
        for side, (command, environment) in sides.items():
            if side in missing:
                continue
            try:
                figures = report([*command, *job], args.timeout, **environment)
            except NoResult as reason:
                missing[side] = str(reason)
                continue
            if number > 0:
                runs[side].append(figures)
    first = next(iter(sides))
    head(title, [column.format(first) for column in COLUMNS])
    digest = runs[first][0]["digest"] if first not in missing else None
    wrong = {side for side in must_agree if side not in missing and runs[side][0]["digest"] != digest}
    for side, own in runs.items():
        if side in missing:
            row([side, missing[side], *[""] * (len(COLUMNS) - 2)])
            continue
        wall, lines = median(own, "wall"), own[0]["lines"]
        agrees = own[0]["digest"] == digest
        text = own[0]["bytes"] > 1
        row([
            side, seconds(wall), seconds(median(own, "user")), f"{median(own, 'peak') / 1e6:.0f} MB",
            f"{median(own, 'grown') / 1e6:.0f} MB", f"{own[0]['bytes'] / wall / 1e6:.1f} MB/s" if text else "",
            seconds(wall / lines) if text else "",
            "" if side == first else "no ratio" if wrong or not agrees else ratios(own, runs[first], "wall"),
            "" if side == first else "yes" if agrees else "NO",
        ])
    agreeing = {side: own for side, own in runs.items() if side not in missing and own[0]["digest"] == digest}
    args.summary.append((title, {} if wrong else {side: median(own, "wall") for side, own in agreeing.items()}))
    return first not in missing and not wrong


def print_summary(args):
    """Prints for each operation the speed of spiece relative to the reference and to the fastest program with the
    same output."""
    works = [(title, sides) for title, sides in args.summary if SPIECE in sides]
    if not works:
        return
    head("times faster", ["work", "than SentencePiece", "than the fastest peer", "which is"])
    for title, sides in works:
        own = sides.pop(SPIECE)
        sides = {side: wall / own for side, wall in sides.items()}
        best = min(sides, key=sides.get, default=None)
        row([title, *(f"{sides[side]:.2f}" if side in sides else "no ratio" for side in (REFERENCE, best)), best or ""])


def encode_all(args):
    return all([encode_text(model, text, args) for model in args.model for text in args.text]
               + [encode_made(model, args) for model in args.model])


def encode_text(model, corpus, args):
    """Encodes lines of a corpus with all programs, and with the other interfaces of spiece."""
    text = texts.kept(args.work, f"lines of {corpus.name}", texts.head_of(corpus, args.size))
    name = f"{text.stat().st_size / 1e6:.3g} MB of {corpus.name}, {model.name}"
    job = [model, text, args.seconds]
    agree = side_by_side(f"encode {name}", programs("encode", args), job, args, [REFERENCE])
    own = {f"{SPIECE}, {kind}": ([throughput(), work], {}) for kind, work in
           (("ids alone", "encode"), ("ids and spans", "spans"), ("single calls", "call"))}
    agree &= side_by_side(f"ways to encode {name}", own, job, args, own)
    threads = {f"{SPIECE}, {count} threads": ([throughput(), "batch"], {"RAYON_NUM_THREADS": str(count)})
               for count in (args.num_threads, 1)}
    return side_by_side(f"encode a batch, {name}", threads, job, args, threads) and agree


def encode_made(model, args):
    """Encodes unusual texts made from the first corpus: one long line, one letter, short lines."""
    corpus = args.text[0]
    made = {
        f"one line of {corpus.name}": texts.one_line(corpus, min(args.size, 1_000_000)),
        "a run of a": b"a" * 200_000 + b"\n",
        f"lines of 20 bytes of {corpus.name}": texts.short_lines(corpus, min(args.size, 1_000_000)),
    }
    agree = True
    for name, content in made.items():
        job = [model, texts.kept(args.work, name, content), args.seconds]
        title = f"encode {name}, {len(content) / 1e6:.3g} MB, {model.name}"
        agree &= side_by_side(title, programs("encode", args), job, args, [REFERENCE])
    return agree


def decode_all(args):
    agree = True
    for model in args.model:
        for corpus in args.text:
            text = texts.kept(args.work, f"lines of {corpus.name}", texts.head_of(corpus, args.size))
            title = f"decode the ids of {text.stat().st_size / 1e6:.3g} MB of {corpus.name}, {model.name}"
            job = [model, text, args.seconds]
            agree &= side_by_side(title, programs("decode", args), job, args, [REFERENCE])
    return agree


def load_all(args):
    made = args.work / "unigram_250k.model"
    run([install(args.work), PEERS / "large_unigram.py", args.text[0], made])
    agree = True
    for model in [*args.model, made]:
        agree &= side_by_side(f"load {model.name}", programs("load", args), [model, "/dev/null", args.seconds], args,
                              [REFERENCE])
    return agree
