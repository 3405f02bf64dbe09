"""Compares training: spiece and each peer on the same corpus, in turn."""

import json

from .tables import head, median, ratios, row
from .tools import PEERS, REFERENCE, install, measure, spiece

TOKENIZERS = (["tokenizers==0.23.3"], [])
# Model type -> peer -> (its packages, the packages that are required to build them).
OTHERS = {
    "bpe": {
        "youtokentome": (["youtokentome==1.0.6"], ["cython", "setuptools", "wheel"]),
        "rustbpe": (["rustbpe==0.1.0"], []),
        "tokenizers": TOKENIZERS,
        "bpeasy": (["bpeasy==0.1.6"], []),
    },
    "unigram": {"tokenizers": TOKENIZERS},
    "word": {},
    "char": {},
}
OPTIONS = {
    "llama": {
        "character_coverage": 0.99995, "byte_fallback": True, "split_digits": True,
        "allow_whitespace_only_pieces": True, "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
    "default": {},
}


def flags(options):
    return [f"--{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in options.items()]


def options_for(text, name, vocab_size, args):
    return {"input": str(text), "model_prefix": "m", "model_type": args.model_type, "vocab_size": vocab_size,
            "num_threads": args.num_threads, **OPTIONS[name]}


def train_all(args):
    return all([train(text, name, args) for text in args.text for name in args.options])


def train(text, name, args):
    options = options_for(text, name, args.vocab_size, args)
    if args.no_split_by_whitespace:
        options["split_by_whitespace"] = False
    python = install(args.work)
    script = [python, PEERS / "train.py"]
    job = [text, args.vocab_size, args.jobs, json.dumps(options)]
    own = [spiece(), "train", "--quiet", f"--jobs={args.jobs}", *flags(options)]
    commands = {"spiece": own, REFERENCE: [*script, REFERENCE, *job]}
    for peer, (packages, build_needs) in OTHERS[args.model_type].items() if args.peers else ():
        install(args.work, packages, build_needs)
        commands[peer] = [*script, peer, *job]
    runs = {side: [] for side in commands}
    for number in range(args.pairs + 1):
        for side, command in commands.items():
            figures = measure(command, args.work / "out" / side)
            if number > 0:
                runs[side].append(figures)
    made = [[(args.work / "out" / side / f"m.{end}").read_bytes() for end in ("model", "vocab")]
            for side in ("spiece", REFERENCE)]
    agree = made[0] == made[1]
    size = text.stat().st_size / 1e6
    title = (f"train on {text.name}, {size:.3g} MB, {args.model_type}, {args.vocab_size} pieces, {name} options, "
         f"{args.num_threads} {'partial sums' if args.model_type == 'unigram' else 'threads'}, {args.jobs} jobs")
    head(title, ["program", "wall", "user", "peak memory", "throughput", "wall / spiece", "memory / spiece"])
    for side, own in runs.items():
        cells = [side, f"{median(own, 0):.2f} s", f"{median(own, 1):.2f} s", f"{median(own, 2):.0f} MB",
                 f"{size / median(own, 0):.1f} MB/s"]
        if side == "spiece":
            cells += ["", ""]
        elif side == REFERENCE and not agree:
            cells += ["outputs differ", "outputs differ"]
        else:
            cells += [ratios(own, runs["spiece"], 0), ratios(own, runs["spiece"], 2)]
        row(cells)
    same = runs if agree else {}
    args.summary.append((title, {side: median(own, 0) for side, own in same.items()
                                if side in ("spiece", REFERENCE)}))
    return agree
