"""The Python package against sentencepiece and tokenizers, in one environment and one process."""

import json
import statistics
import subprocess
import sys

from .tables import head, ratios, row, seconds
from .tools import PEERS, ROOT, run, spiece

PACKAGES = ["numpy", "protobuf", "sentencepiece==0.2.3", "tokenizers==0.23.*"]


def environment(args):
    """A Python interpreter with the wheel of this repository and the peers."""
    folder = args.work / "python-package"
    python = folder / "bin/python"
    installed = folder / f"{' '.join(PACKAGES)}.installed"
    if not installed.exists():
        run([sys.executable, "-m", "venv", folder])
        run([python, "-m", "pip", "install", "--quiet", *PACKAGES])
        installed.touch()
    if not args.installed:
        run([python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", ROOT / "python"])
    return python


def python_all(args):
    """Prints a table for each model and text. Returns False if results differ."""
    python = environment(args)
    agree = True
    for model in args.model:
        for text in args.text:
            agree &= compare(python, model, text, args)
    return agree


def compare(python, model, text, args):
    """One table."""
    converted = args.work / "converted" / model.stem / "tokenizer.json"
    converted.parent.mkdir(parents=True, exist_ok=True)
    run([spiece(), "convert", model, converted, "--quiet"])
    command = [python, PEERS / "python_package.py", model, text, args.lines, args.pairs, converted]
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    head(
        f"Python: {args.lines:,} lines of {text.name}, {model.name}",
        ["task", "sides", "medians", "ratio: median (range)", "goal", "same results"],
    )
    agree = True
    for line in process.stdout:
        task = json.loads(line)
        if "peaks" in task:
            row([task["task"], ", ".join(task["peaks"]), ", ".join(f"{peak:.1f}" for peak in task["peaks"].values())])
            continue
        sides = list(task["times"])
        medians = ", ".join(seconds(statistics.median(times)) for times in task["times"].values())
        first, *others = task["times"].values()
        runs = [[{"wall": time} for time in times] for times in (others[-1], first)]
        agree &= not task["differs"]
        same = "NO" if task["differs"] else "yes"
        row([task["task"], ", ".join(sides), medians, ratios(*runs, "wall"), task["goal"] or "", same])
    return process.wait() == 0 and agree
