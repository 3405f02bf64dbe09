"""Compares changing and inspecting models with training and encoding the same text.

Input: the first text. Output: a table with the ratio of each work to the work that it has to be near to, and the goal.

| work | against | goal |
|---|---|---|
| extend a model of 16,000 pieces by 16,000 | train 16,000 pieces | 1.5 times |
| prune to the pieces of the text | encode the text | 1.3 times |
| inspect the text | encode the text | 1.3 times |
| inspect a vocabulary of 250,000 pieces | | 1 second |
| encode with 16,000 superwords | encode with the same number of plain pieces | 2 times |
"""

from . import texts
from .tables import head, median, ratios, row, seconds
from .tools import measure, spiece
from .training import flags, options_for

PIECES = 16_000
LARGE = 250_000
SUPERWORDS = ["--split_by_whitespace=false", "--max_words=4"]


def edit_all(args):
    text = args.text[0]
    args.model_type = "bpe"
    encoded = texts.kept(args.work, f"lines of {text.name}", texts.head_of(text, args.size))
    base = train(text, PIECES, args)
    models = {
        "base": base,
        "plain": train(text, 2 * PIECES, args),
        "superwords": extend(base, text, args, SUPERWORDS),
        "large": train(text, LARGE, args),
    }
    size = f"{text.stat().st_size / 1e6:.3g} MB of {text.name}"
    head(f"change and inspect models: training on {size}, encoding {encoded.stat().st_size / 1e6:.3g} MB of it, "
         f"{args.jobs} jobs", ["work", "wall", "peak memory", "against", "wall", "ratio of walls", "goal"])
    for title, work, other_title, other, goal in works(text, encoded, models, args):
        compare(title, work, other_title, other, goal, args)
    return True


def works(text, encoded, models, args):
    """Title and command of each work and of what it is compared with, and the goal."""
    trained = ("train 16,000", training(text, PIECES, args))
    yield ("extend by 16,000", extension(models["base"], text, args), *trained, "1.5")
    yield ("extend by 16,000 superwords", extension(models["base"], text, args, SUPERWORDS), *trained, "")
    for verb, options in (("prune", [f"--keep_text={encoded}", "--model_prefix=c", "--num_threads=1"]),
                          ("inspect", [f"--text={encoded}", "--num_threads=1"])):
        command = [spiece(), verb, models["plain"], *options, "--quiet"]
        yield (f"{verb} with the text", command, "encode, 1 thread", encoding(models["plain"], encoded), "1.3")
    yield ("inspect 250,000 pieces", [spiece(), "inspect", models["large"], "--quiet"], "", None, "1 s")
    yield ("encode with superwords", encoding(models["superwords"], encoded), "encode, 1 thread",
           encoding(models["plain"], encoded), "2")


def compare(title, work, other_title, other, goal, args):
    """Runs both commands in turn and prints a row."""
    runs = {"work": [], "other": []}
    for number in range(args.pairs + 1):
        for side, command in (("work", work), ("other", other)):
            if command is None:
                continue
            figures = measure(command, args.work / "out" / side)
            if number > 0:
                runs[side].append(figures)
    own, others = runs["work"], runs["other"]
    row([title, seconds(median(own, 0)), f"{median(own, 2):.0f} MB", other_title,
         seconds(median(others, 0)) if others else "", ratios(own, others, 0) if others else "", goal])


def training(text, pieces, args):
    options = options_for(text, "llama", pieces, args)
    return [spiece(), "train", "--quiet", f"--jobs={args.jobs}", "--hard_vocab_limit=false", *flags(options)]


def extension(model, text, args, more=()):
    return [spiece(), "extend", model, "--quiet", f"--input={text}", f"--pieces={PIECES}", "--model_prefix=m",
            "--new_characters=never", f"--jobs={args.jobs}", *more]


def encoding(model, text):
    return [spiece(), "encode", f"--model={model}", "--output_format=id", "--num_threads=1", "--output=/dev/null", text]


def train(text, pieces, args):
    """Trains a model and returns its path."""
    return made(training(text, pieces, args), f"{pieces}.model", args)


def extend(model, text, args, more):
    return made(extension(model, text, args, more), "superwords.model", args)


def made(command, name, args):
    folder = args.work / "out/edit"
    measure(command, folder)
    path = args.work / name
    (folder / "m.model").replace(path)
    return path
