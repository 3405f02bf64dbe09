#!/usr/bin/env python3
"""Checks GGUF files and training data that spiece writes against the programs that read them.

    tests/formats/gguf_files.py --spiece PATH [--lines 600] [--work DIR] MODEL...

For each BPE model: `spiece convert` writes a GGUF file; the package `gguf` reads its pieces and scores; llama.cpp (the prebuilt
program of node-llama-cpp) encodes real text and pieces joined at random. If the verdict is "ids equal for all text", no line may
differ from SentencePiece; a file with another verdict has to be refused without --force. Each file is read back, and its model
has to give the ids of the original in SentencePiece. NumPy reads `--output_format=npy` and `u16`.

Packages are installed into --work. The last line is "N passed, M failed"; the exit status is 1 if M is not 0, and 77 if a
package cannot be installed.
"""

import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from unittest import mock

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tests/conformance"))
from differential import bootstrap  # noqa: E402

PACKAGES = ["gguf==0.19.0", "numpy", "sentencepiece==0.2.3"]
# The names in tokenizer.ggml.pre of which no named pretokenizer has the cuts.
PATTERNS = ["deepseek-llm", "deepseek-coder", "falcon", "default"]
NODE_PACKAGE = "node-llama-cpp@3.22.1"
SKIPPED = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def install(work):
    """Installs the packages, and starts this program again with the Python that has them."""
    if Path(sys.prefix).resolve() != (work / "venv").resolve():
        try:
            python = bootstrap.make_environment(work / "venv", PACKAGES)
        except bootstrap.SetupError as error:
            skip(error)
        os.execv(python, [str(python), *sys.argv])
    if not shutil.which("npm"):
        skip("npm is not installed, so llama.cpp cannot be fetched")
    if not (work / "node_modules/node-llama-cpp").exists():
        npm = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", work, NODE_PACKAGE]
        if subprocess.run(npm, stdout=subprocess.DEVNULL).returncode != 0:
            skip(f"{NODE_PACKAGE} cannot be installed")
    shutil.copy(HERE / "llama_cpp.mjs", work)


def lines_for(model, count):
    """Real lines, and pieces joined at random; the texts of special pieces are frequent."""
    rng = random.Random(5)
    real = (ROOT / "testdata/udhr.txt").read_text("utf-8").split("\n")
    real = rng.sample(real, min(len(real), count // 2))
    pieces = [model.id_to_piece(number) for number in range(model.get_piece_size())]
    special = [piece for number, piece in enumerate(pieces) if model.is_control(number) or piece.startswith(("<", "["))]
    special += ["<0x41>", " ", "  ", "\n", "\t", "\u2581", "\u00e9", "\U0001f600", "\u0301"]

    def text():
        parts = (rng.choice(special if rng.random() < 0.3 else pieces) for _ in range(rng.randint(1, 9)))
        return "".join(part.replace("\u2581", rng.choice(" \u2581")) for part in parts)

    made = [text() for _ in range(count - len(real))]
    return [line for line in real + made if "\0" not in line and "\ufffd" not in line]


def texts_with_cuts(count):
    """Natural lines and generated ones, of characters of all classes that the expressions name."""
    rng = random.Random(6)
    real = (ROOT / "testdata/udhr.txt").read_text("utf-8").split("\n")
    real = [line for line in rng.sample(real, count // 2) if line]
    characters = "aZ\u00e9\u0431\u4e2d\u3042\ud55c1234\u0663\u00b2 \n\r\t\u00a0\u3000!$+<`|~.\uff01\u3002'st\u0301\U0001f600"
    made = ("".join(rng.choices(characters, k=rng.randint(1, 12))) for _ in range(count // 2))
    return real + list(made)


def with_pattern(file, name):
    """A file with another name of its pattern."""
    key = b"tokenizer.ggml.pre" + struct.pack("<I", 8)
    at = file.index(key) + len(key)
    (length,) = struct.unpack_from("<Q", file, at)
    return file[:at] + struct.pack("<Q", len(name)) + name.encode() + file[at + 8 + length :]


class Checks:
    def __init__(self, spiece, work, lines):
        self.spiece, self.work, self.lines = spiece, work, lines
        self.passed = self.failed = 0

    def check(self, what, is_right, detail=""):
        if is_right:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what} {detail}")

    def run(self, *arguments):
        return subprocess.run([self.spiece, *arguments], capture_output=True, text=True, cwd=self.work)

    def llama_cpp(self, file, texts):
        """The ids of llama.cpp; None if it fails."""
        (self.work / "texts.json").write_text(json.dumps(texts), "utf-8")
        command = ["node", "llama_cpp.mjs", file, "texts.json", "ids.json"]
        (self.work / "ids.json").unlink(missing_ok=True)
        subprocess.run(command, cwd=self.work, capture_output=True, timeout=300)
        output = self.work / "ids.json"
        return json.loads(output.read_text()) if output.exists() else None

    def model(self, path):
        import gguf
        import numpy
        import sentencepiece

        try:
            model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except RuntimeError as error:
            # There are no ids to compare with.
            self.check(f"{path.name}: refused, as SentencePiece does", self.run("convert", path, "m.gguf").returncode == 1)
            print(f"{path.name}: SentencePiece refuses it: {error}")
            return
        texts = lines_for(model, self.lines)
        expected = model.encode(texts)
        file = self.work / "m.gguf"
        file.unlink(missing_ok=True)
        run = self.run("convert", path, file)
        is_exact = run.returncode == 0
        if not is_exact:
            if "has no form for" in run.stderr or "cannot be a" in run.stderr:
                print(f"{path.name}: {run.stderr.strip()}")
                return
            self.check(f"{path.name}: nothing is written without --force", not file.exists())
            run = self.run("convert", path, file, "--force")
        self.check(f"{path.name}: convert", run.returncode == 0, run.stderr)
        # The reader makes a slice for each number; a slice of an array takes a fraction of the time of a slice of a memmap.
        with mock.patch.object(numpy, "memmap", lambda path, mode: numpy.fromfile(path, numpy.uint8)):
            fields = gguf.GGUFReader(file).fields
        tokens, scores = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.scores"]
        own = [model.get_score(number) for number in range(model.get_piece_size())]
        self.check(f"{path.name}: the package gguf reads the pieces", len(tokens.data) == len(own))
        read = [float(scores.parts[part][0]) for part in scores.data]
        self.check(f"{path.name}: the package gguf reads the scores", read == own)
        run = self.run("convert", file, "back.model", "--force")
        self.check(f"{path.name}: reading back", run.returncode == 0, run.stderr)
        back = sentencepiece.SentencePieceProcessor(model_file=str(self.work / "back.model"))
        self.check(f"{path.name}: ids of the file that was read back", back.encode(texts) == expected)
        if fields["general.architecture"].contents() == "llama" and "unknown_character" not in run.stderr:
            self.compare(path, texts, expected, is_exact)

    def compare(self, path, texts, expected, is_exact):
        found = self.llama_cpp("m.gguf", texts)
        if found is None:
            self.check(f"{path.name}: llama.cpp reads the file", False)
            return
        different = [text for text, ids, others in zip(texts, expected, found) if ids != others]
        verdict = "equal" if is_exact else "can differ"
        print(f"{path.name}: {len(texts)} lines, {len(different)} with other ids in llama.cpp; verdict: {verdict}", flush=True)
        self.check(f"{path.name}: ids of llama.cpp", not (is_exact and different), repr(different[:3]))

    def names_of_patterns(self):
        """The ids of a vocabulary whose tokens cross every cut, with each list of expressions of llama.cpp."""
        texts = texts_with_cuts(self.lines)
        (self.work / "crossing.txt").write_text("\n".join(texts), "utf-8")
        training = ("train", "--model_type=byte_bpe", "--pattern=none", "--vocab_size=3000", "--format=tiktoken")
        run = self.run(*training, "--input=crossing.txt", "--model_prefix=crossing")
        self.check("a vocabulary without cuts is trained", run.returncode == 0, run.stderr)
        run = self.run("convert", "crossing.tiktoken", "crossing.gguf", "--pattern=gpt2", "--force")
        self.check("it is written", run.returncode == 0, run.stderr)
        (self.work / "texts.jsonl").write_text("".join(json.dumps({"text": it}) + "\n" for it in texts), "utf-8")
        file = (self.work / "crossing.gguf").read_bytes()
        for name in PATTERNS:
            (self.work / "named.gguf").write_bytes(with_pattern(file, name))
            run = self.run("encode", "--model=named.gguf", "--output_format=id", "--json_field=text", "texts.jsonl")
            self.check(f"{name}: encode", run.returncode == 0, run.stderr)
            expected = [[int(number) for number in line.split()] for line in run.stdout.split("\n")[:-1]]
            found = self.llama_cpp("named.gguf", texts) or []
            different = [text for text, ids, others in zip(texts, expected, found, strict=True) if ids != others]
            print(f"{name}: {len(texts)} texts, {len(different)} with other ids in llama.cpp", flush=True)
            self.check(f"{name}: ids of llama.cpp", not different, repr(different[:3]))

    def training_data(self, path):
        import numpy
        import sentencepiece

        model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        text = ROOT / "testdata/udhr_small.txt"
        lines = text.read_text("utf-8").removesuffix("\n").split("\n")
        expected = model.encode(lines)
        flat = [number for ids in expected for number in ids]
        for name in ("npy", "u16", "u32"):
            output = self.work / f"t.{name}"
            run = self.run("encode", f"--model={path}", f"--output_format={name}", f"--output={output}", text)
            self.check(f"{name}: written", run.returncode == 0, run.stderr)
            if name == "npy":
                ids = numpy.load(output, mmap_mode="r")
                self.check("npy: the type", ids.dtype == numpy.uint16)
            else:
                ids = numpy.memmap(output, dtype=f"<{name[0]}{int(name[1:]) // 8}", mode="r")
            self.check(f"{name}: the ids", ids.tolist() == flat)
            offsets = numpy.memmap(f"{output}.offsets", dtype="<u8", mode="r")
            documents = [ids[begin:end].tolist() for begin, end in zip(offsets[:-1], offsets[1:])]
            self.check(f"{name}: the documents", documents == expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spiece", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=600)
    parser.add_argument("--work", type=Path, default=ROOT / "target/formats")
    parser.add_argument("models", type=Path, nargs="+", metavar="MODEL")
    args = parser.parse_args()
    args.work = args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    install(args.work)
    checks = Checks(args.spiece.resolve(strict=True), args.work, args.lines)
    checks.training_data(args.models[0].resolve(strict=True))
    checks.names_of_patterns()
    for path in args.models:
        checks.model(path.resolve(strict=True))
    print(f"{checks.passed} passed, {checks.failed} failed")
    sys.exit(1 if checks.failed else 0)


if __name__ == "__main__":
    main()
