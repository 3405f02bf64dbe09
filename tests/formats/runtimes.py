#!/usr/bin/env python3
"""Which programs give the ids of a SentencePiece model, from which file: the tables of docs/RUNTIMES.md.

    tests/formats/runtimes.py --spiece PATH [--work DIR] [--lines 3000] [--programs "NAME;..."] [--check] [MODEL...]
    tests/formats/runtimes.py --spiece PATH --encodings

Each program encodes natural lines (testdata/udhr.txt) and as many generated ones: words with spaces, tabs, a NUL, the
texts of special pieces, U+2581, combining marks, emoji and unseen characters. The ids have to be those of `spiece encode` on the
.model, which are those of SentencePiece 0.2.3. It prints tables in Markdown: the share of lines with equal ids (all lines, then
the natural ones alone), and for each program and model which kinds of generated lines differ, with the shortest text found.
The same seed gives the same texts and the same tables. Without MODEL: some models of testdata/golden.

--encodings prints the table of OpenAI's encodings in JavaScript: the ids of `spiece encode` on their ranks, which are those of
tiktoken, and the ids of the programs.

--check compares what `spiece inspect MODEL --runtimes` says with these ids: a program that it calls exact may give no other id,
and a program that differs has to give other ids for the text of each reason (transformers and llama.cpp, which have the verdicts
of `spiece convert`: for at least one). Without MODEL: all models of testdata/golden.

Each program is installed into an environment of its own in --work (about 4 GB with all of them); one that cannot be installed
is left out of the tables and named. This is not a part of CI: it takes half an hour. The last line of --check is "N passed,
M failed", and the exit status is 1 if M is not 0.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
GOLDEN = ROOT / "testdata/golden"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/conformance"))
from differential import bootstrap, wire  # noqa: E402

SECONDS = 900
SEED = 7
DEFAULT_MODELS = ["llama2", "spm_default", "symbols", "unigram", "unigram_symbols", "word", "char", "whitespace_suffix"]
TRANSFORMERS = "transformers==5.24.0"
# The texts of other models' special pieces, too, are ordinary text.
SPECIAL = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", "[CLS]", "<0x41>", "<0x0A>", "<|endoftext|>"]
PARTS = {
    "spaces": [" ", "  ", "   "],
    "other spaces": ["\t", "\r", "\n", "\u00a0", "\u3000", "\u2003", "\u200b", "\u2028", "\u0085"],
    "NUL": ["\0"],
    "invisible characters": ["\ufeff", "\u00ad", "\u200d", "\u007f", "\u0007", "\u061c"],
    "special texts": SPECIAL,
    "U+2581": ["\u2581", "\u2581\u2581"],
    "marks": ["\u0301", "e\u0301", "\u064e", "\u304b\u3099", "\u1100\u1161", "\u0e33", "\u00e9\u0323", "n\u0303o"],
    "compatibility characters": ["\ufb01", "\u00b2", "\u212b", "\u2026", "\uff21", "\uff76\uff9e", "\u3300", "\u0132", "\u00bd"],
    "emoji": ["\U0001f600", "\U0001f468\u200d\U0001f469", "\U0001f44d\U0001f3fd", "\u2764\ufe0f", "\U0001f1e9\U0001f1ea"],
    "unseen characters": ["\U00020000", "\ue000", "\u0378", "\U0001e900", "\u13a0", "\ufdd0", "\U000e0041", "\u1e9e"],
}


@dataclass(frozen=True)
class Program:
    """A program that encodes, and where it comes from."""

    name: str
    # A function of runtime_ids.py, or a file for node.
    runs: str
    packages: tuple
    # "model", "folder" or "gguf".
    file: str
    # Whether tokenizer_config.json gets the name of a class that the program knows.
    names_class: bool = False

    # What a file for node gets before the names of files.
    arguments: tuple = ()

    @property
    def is_node(self):
        return self.runs.endswith(".mjs")

    @property
    def environment(self):
        """The name of the folder that it is installed into."""
        return self.packages[0].replace("/", "+")


ORT_EXTENSIONS = ("onnxruntime-extensions==0.15.2", "onnxruntime==1.32.0", "onnx==1.23.2", "numpy")
PROGRAMS = [
    Program("mistral-common", "mistral_common", ("mistral-common==1.13.1", "sentencepiece==0.2.3"), "model"),
    Program("tensorflow-text", "tensorflow_text", ("tensorflow-text==2.21.1",), "model"),
    Program("onnxruntime-extensions", "onnxruntime_extensions", ORT_EXTENSIONS, "model"),
    Program("transformers", "transformers", (TRANSFORMERS,), "folder"),
    Program("openvino-tokenizers", "openvino_tokenizers", ("openvino-tokenizers==2026.4.1.0", TRANSFORMERS), "folder"),
    Program("@huggingface/tokenizers", "tokenizers_js.mjs", ("@huggingface/tokenizers@0.2.0",), "folder"),
    Program("llama.cpp", "llama_cpp.mjs", ("node-llama-cpp@3.22.1",), "gguf"),
    Program("splintr", "splintr", ("splintr-rs==0.22.0",), "folder"),
    Program("tensorflow-text Fast", "tensorflow_text_fast", ("tensorflow-text==2.21.1",), "model"),
    Program("onnxruntime-genai", "onnxruntime_genai", ORT_EXTENSIONS, "folder", names_class=True),
    Program("onnxruntime-genai, no class", "onnxruntime_genai", ORT_EXTENSIONS, "folder"),
]


# The programs whose verdict is that of `spiece convert`.
CONVERSIONS = ["transformers", "llama.cpp"]
JAVASCRIPT = ("tiktoken@1.0.22", "js-tiktoken@1.0.21", "gpt-tokenizer@4.0.0")
ENCODINGS = ["r50k_base", "cl100k_base", "o200k_base"]
ENCODING_PROGRAMS = [package.rsplit("@", 1)[0] for package in JAVASCRIPT]


class Failure(Exception):
    """A program does not read a file, or does not finish."""


class NotRun(Failure):
    """A program that would not come back is not run."""


class Work:
    """The folder with the environments and the files of the last model."""

    def __init__(self, folder, spiece):
        self.folder, self.spiece = folder, spiece
        self.missing = {}

    def run_spiece(self, *arguments):
        return subprocess.run([self.spiece, *map(str, arguments)], capture_output=True, text=True)

    def environment(self, program):
        return self.folder / "environments" / program.environment

    def install(self, program):
        """Whether the program is installed."""
        if program.packages in self.missing:
            return False
        folder = self.environment(program)
        try:
            if program.is_node:
                self._install_node(folder, program)
            elif not (folder / "complete").exists():
                bootstrap.make_environment(folder, program.packages)
                (folder / "complete").touch()
        except bootstrap.SetupError as error:
            self.missing[program.packages] = str(error).splitlines()[-1]
            return False
        return True

    def _install_node(self, folder, program):
        folder.mkdir(parents=True, exist_ok=True)
        if not shutil.which("npm"):
            raise bootstrap.SetupError("npm is not installed")
        if not (folder / "complete").exists():
            npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", folder, *program.packages]
            if subprocess.run(npm, stdout=subprocess.DEVNULL).returncode != 0:
                raise bootstrap.SetupError(f"{program.packages[0]} cannot be installed")
            (folder / "complete").touch()
        shutil.copy(HERE / program.runs, folder)

    def texts_file(self, texts):
        path = self.folder / "texts.json"
        path.write_text(json.dumps(texts), "utf-8")
        return path

    def expected(self, model, texts):
        """The ids of `spiece encode` on the model."""
        path = self.folder / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), "utf-8")
        run = self.run_spiece("encode", f"--model={model}", "--json_field=text", "--output_format=id", path)
        if run.returncode != 0:
            raise Failure(run.stderr.strip())
        return [[int(number) for number in line.split()] for line in run.stdout.removesuffix("\n").split("\n")]

    def file_for(self, program, model):
        """The file of the model that the program reads; Failure if there is none."""
        if program.file == "model":
            return model
        path = self.folder / ("file.gguf" if program.file == "gguf" else "file")
        shutil.rmtree(path, ignore_errors=True)
        path.unlink(missing_ok=True)
        name = f"{path}/" if program.file == "folder" else path
        run = self.run_spiece("convert", model, name, "--force")
        if run.returncode != 0:
            raise Failure(run.stderr.strip())
        # Unigram models have a reason of this kind, too, but there it gives the unknown piece.
        if program.file == "gguf" and "llama.cpp fails for characters without a piece" in run.stderr:
            raise NotRun("not run: llama.cpp stops at a character without a piece")
        if program.names_class:
            config = path / "tokenizer_config.json"
            settings = json.loads(config.read_text("utf-8"))
            is_bpe = json.loads((path / "tokenizer.json").read_text("utf-8"))["model"]["type"] == "BPE"
            settings["tokenizer_class"] = "LlamaTokenizer" if is_bpe else "T5Tokenizer"
            config.write_text(json.dumps(settings), "utf-8")
        return path

    def ids(self, program, file, texts):
        """The ids that the program gives."""
        output = self.folder / "ids.json"
        output.unlink(missing_ok=True)
        environment = self.environment(program)
        command = ["node", environment / program.runs, *program.arguments]
        if not program.is_node:
            command = [bootstrap.interpreter(environment), HERE / "runtime_ids.py", program.runs]
        command = [str(part) for part in (*command, file, self.texts_file(texts), output)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, cwd=environment)
        except subprocess.TimeoutExpired:
            raise Failure("does not finish") from None
        if not output.exists():
            message = run.stderr.strip().splitlines() or [f"exit status {run.returncode}"]
            raise Failure(message[-1][:200])
        ids = json.loads(output.read_text())
        if len(ids) != len(texts):
            raise Failure(f"gives {len(ids)} results for {len(texts)} texts")
        return ids

    def differing(self, program, file, model, texts):
        """The indexes of the texts to which the program gives other ids."""
        found, expected = self.ids(program, file, texts), self.expected(model, texts)
        return [number for number, ids in enumerate(found) if ids != expected[number]]


def natural_lines():
    return [line for line in (ROOT / "testdata/udhr.txt").read_text("utf-8").split("\n") if line]


@dataclass
class Pieces:
    """The texts of pieces: those for which programs look in texts, and others."""

    symbols: tuple = ()
    special: tuple = ()
    normal: tuple = ()

    @classmethod
    def of_model(cls, model):
        pieces = wire.ModelParts(model.read_bytes()).pieces
        readable = [(piece.kind, piece.text.decode()) for piece in pieces if is_utf8(piece.text)]

        def of_kinds(*kinds):
            return tuple(text for kind, text in readable if kind in kinds)

        return cls(of_kinds(wire.USER_DEFINED), of_kinds(wire.UNKNOWN, wire.CONTROL), of_kinds(wire.NORMAL))


def is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True)
class Text:
    kind: str
    text: str


def texts_for(model, count):
    return texts_of_pieces(Pieces.of_model(model), count)


def texts_of_pieces(pieces, count):
    """Natural lines, and generated ones, of each kind as many."""
    rng = random.Random(SEED)
    lines = natural_lines()
    natural = [Text("natural", line) for line in rng.sample(lines, min(len(lines), count // 2))]
    parts = dict(PARTS)
    parts["special texts"] = [*pieces.special, *SPECIAL]
    if pieces.symbols:
        parts["user-defined symbols"] = pieces.symbols
    words = [word for line in rng.sample(lines, 200) for word in line.split(" ")]
    normal = [piece.replace("\u2581", " ") for piece in pieces.normal]

    def generated(kind, choices):
        drawn = []
        for _ in range(rng.randint(1, 4)):
            drawn += [rng.choice(choices), rng.choice(normal if normal and rng.random() < 0.3 else words)]
        return Text(kind, (" " if rng.random() < 0.3 else "").join(drawn))

    kinds = [*parts.items(), ("several", [part for choices in parts.values() for part in choices])]
    made = []
    for kind, choices in kinds:
        wanted = (count - len(natural)) // len(kinds)
        for part in choices[: wanted // 8]:
            made += [Text(kind, text) for text in (part, f"a{part}", f"{part}a", f"a{part}b")]
        own = sum(text.kind == kind for text in made)
        made += [generated(kind, choices) for _ in range(wanted - own)]
    return [*natural, Text("empty", ""), *made]


def by_length(text):
    return len(text), text


def shorter_texts(texts):
    """The parts of the beginnings of the shortest texts."""
    beginnings = [text[:40] for text in sorted(texts, key=by_length)[:4]]
    places = ((text, begin, end) for text in beginnings for begin in range(len(text)) for end in range(begin, len(text)))
    return {text[begin : end + 1] for text, begin, end in places}


def shown(text):
    """The text in a form that a terminal and a table can show."""
    if not text:
        return "the empty text"
    characters = (c if c.isprintable() and c not in "`|\u2581" and ord(c) < 0x300 else f"\\u{{{ord(c):x}}}" for c in text)
    return "`" + "".join(characters)[:60] + "`"


@dataclass
class Difference:
    """The texts of a kind to which a program gives other ids."""

    kind: str
    count: int
    total: int
    shortest: str

    def __str__(self):
        return f"{self.kind} {self.count} of {self.total}: {shown(self.shortest)}"


@dataclass
class Result:
    """How a program does with a model."""

    failure: str = ""
    share: str = "refused"
    differences: tuple = ()

    def __str__(self):
        return self.failure or "; ".join(map(str, self.differences))


def compare(work, program, model, texts):
    try:
        file = work.file_for(program, model)
        numbers = work.differing(program, file, model, [text.text for text in texts])
        return result_of(work, program, file, model, texts, [texts[number] for number in numbers])
    except Failure as failure:
        return Result(failure=str(failure).splitlines()[0])


def result_of(work, program, file, model, texts, differing):
    shortest = shortest_by_kind(work, program, file, model, differing)
    totals = Counter(text.kind for text in texts)
    counts = Counter(text.kind for text in differing)
    natural = 100 * (1 - counts["natural"] / totals["natural"])
    share = 100 * (1 - len(differing) / len(texts))
    differences = (Difference(kind, count, totals[kind], shortest[kind]) for kind, count in counts.most_common())
    return Result(share=f"{percent(share)} ({percent(natural)})", differences=tuple(differences))


def percent(share):
    """Never rounded to 100 if a line differs."""
    return "100" if share == 100 else f"{min(share, 99.99):.2f}"


def shortest_by_kind(work, program, file, model, differing):
    """For each kind the shortest text found that differs: one of the texts, or a part of one."""
    kinds = sorted({text.kind for text in differing})
    of_kind = {kind: [text.text for text in differing if text.kind == kind] for kind in kinds}
    parts = {kind: shorter_texts(of_kind[kind]) for kind in kinds}
    # A space alone differs for a reason of its own.
    parts["natural"] = {text for text in parts.get("natural", ()) if any(map(str.isalnum, text))}
    candidates = sorted(set().union(*parts.values()), key=by_length)
    found = {candidates[number] for number in work.differing(program, file, model, candidates)} if candidates else set()
    return {kind: min([*of_kind[kind], *(parts[kind] & found)], key=by_length) for kind in kinds}


def tables(work, programs, models, lines):
    results = {}
    for model in models:
        texts = texts_for(model, lines)
        for program in programs:
            results[program.name, model] = result = compare(work, program, model, texts)
            print(f"{model.stem}: {program.name}: {result}", file=sys.stderr, flush=True)
    print("| program |", " | ".join(model.stem for model in models), "|")
    print("|---" * (len(models) + 1) + "|")
    for program in programs:
        cells = (results[program.name, model].share for model in models)
        print(f"| {program.name} |", " | ".join(cells), "|")
    print("\n| program | model | lines with other ids, and the shortest text |\n|---|---|---|")
    for (name, model), result in results.items():
        if str(result):
            print(f"| {name} | {model.stem} | {result} |")


def encoding_table(work, lines):
    texts = texts_of_pieces(Pieces(), lines)
    plain = [text.text for text in texts]
    print("| program | encoding | equal | lines with other ids, and the shortest text |\n|---|---|---|---|")
    for encoding in ENCODINGS:
        for name in ENCODING_PROGRAMS:
            program = Program(name, "encodings.mjs", JAVASCRIPT, "ranks", arguments=(name,))
            if not work.install(program):
                raise SystemExit(f"not installed: {work.missing[JAVASCRIPT]}")
            ranks = work.folder / f"{encoding}.tiktoken"
            script = [work.environment(program) / program.runs, "ranks", encoding, ranks]
            subprocess.run(["node", *script], check=True, cwd=work.environment(program))
            differing = [texts[number] for number in work.differing(program, encoding, ranks, plain)]
            result = result_of(work, program, encoding, ranks, texts, differing)
            print(f"| {name} | {encoding} | {result.share} | {result} |", flush=True)


class Checks:
    """Compares verdicts with ids."""

    def __init__(self, work, lines):
        self.work, self.lines = work, lines
        self.passed = self.failed = self.without_example = 0

    def check(self, what, is_right):
        self.passed += is_right
        self.failed += not is_right
        if not is_right:
            print(f"FAILED: {what}", flush=True)

    def model(self, programs, model):
        run = self.work.run_spiece("inspect", model, "--runtimes", "--format=json")
        if run.returncode != 0:
            self.check(f"{model.stem}: inspect: {run.stderr.strip()}", False)
            return
        verdicts = {runtime["program"]: runtime for runtime in json.loads(run.stdout)["runtimes"]}
        texts = [text.text for text in texts_for(model, self.lines)]
        for program in programs:
            if program.name in verdicts:
                self.program(program, model, texts, verdicts[program.name])

    def program(self, program, model, texts, runtime):
        name = f"{model.stem}: {program.name}"
        examples = [reason["example"] for reason in runtime["reasons"] if reason["example"] is not None]
        try:
            file = self.work.file_for(program, model)
            differing = self.work.differing(program, file, model, [*examples, *texts])
        except NotRun:
            self.check(f"{name}: is not called exact", not runtime["is_exact"])
            return
        except Failure as failure:
            self.check(f"{name}: {failure}", not runtime["reads"])
            return
        self.check(f"{name}: reads the file", runtime["reads"])
        equal = [text for number, text in enumerate(examples) if number not in differing]
        # An example of a conversion is a text to which a step of it does something else; the ids can be equal again.
        is_shown = len(equal) < len(examples) if program.name in CONVERSIONS else not equal
        self.check(f"{name}: equal ids for the examples {equal}", is_shown or not examples)
        if runtime["is_exact"]:
            others = [texts[number - len(examples)] for number in differing][:3]
            self.check(f"{name}: other ids for {others}", not differing)
        elif not examples:
            self.without_example += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spiece", type=Path, required=True)
    parser.add_argument("--work", type=Path, default=ROOT / "target/runtimes")
    parser.add_argument("--lines", type=int, default=3000)
    parser.add_argument("--programs", default="", help="names, separated by semicolons; default: all")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--encodings", action="store_true")
    parser.add_argument("models", type=Path, nargs="*", metavar="MODEL")
    args = parser.parse_args()
    work = Work(args.work.resolve(), args.spiece.resolve(strict=True))
    work.folder.mkdir(parents=True, exist_ok=True)
    if args.encodings:
        encoding_table(work, args.lines)
        return
    names = [name for name in args.programs.split(";") if name]
    wanted = [program for program in PROGRAMS if not names or program.name in names]
    programs = [program for program in wanted if work.install(program)]
    for packages, reason in work.missing.items():
        print(f"not installed: {packages[0]}: {reason}", file=sys.stderr)
    default = sorted(GOLDEN.glob("*.model")) if args.check else [GOLDEN / f"{name}.model" for name in DEFAULT_MODELS]
    models = [model.resolve(strict=True) for model in args.models or default]
    if not args.check:
        tables(work, programs, models, args.lines)
        return
    checks = Checks(work, args.lines)
    for model in models:
        checks.model(programs, model)
    print(f"{checks.without_example} verdicts without an example")
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
