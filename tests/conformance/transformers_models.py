#!/usr/bin/env python3
"""Compares the ids that transformers gives for `.model` files of BPE and unigram models with those of SentencePiece.

    tests/conformance/transformers_models.py --spiece PATH MODEL=CLASS...

For each model three folders are opened with AutoTokenizer: `alone` has tokenizer.model, `class` has the file under the name that
the class looks for and a tokenizer_config.json that names it, and `hf` is what `spiece convert MODEL hf/ --force` writes. The
texts are those of testdata/udhr.txt, the same with something inserted, and special cases. Prints how many have other ids; there
is no verdict, since the releases of transformers differ. Needs transformers, sentencepiece and protobuf:

    python3 -m venv v && v/bin/pip install transformers==5.24.0 tokenizers==0.23.3 sentencepiece==0.2.3 protobuf
    v/bin/python tests/conformance/transformers_models.py --spiece target/release/spiece llama2.model=LlamaTokenizer
"""

import argparse
import json
import logging
import os
import random
import shutil
import subprocess
import tempfile
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
logging.disable(logging.WARNING)
import sentencepiece  # noqa: E402
import transformers  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
FILES = {"LlamaTokenizer": "tokenizer.model", "T5Tokenizer": "spiece.model", "AlbertTokenizer": "spiece.model", "DebertaV2Tokenizer": "spm.model"}
CASES = ["  a  b", "\ta\tb", "", "   ", "a\0b", "<0x41>", "\u2581a", "a\u2581\u2581b", "日本語 テキスト", "x = 1;\n    y = 2;\n"]
CASES += ["e\u0301", "\ufb01", "<s> a </s>", " ", "\u2026", "\u200b x"]
INSERTED = ["  ", " \t", "\n", "\u3000", "<s>", "1234567", "  \n  ", "\U0001f600"]


def texts():
    rng = random.Random(3)
    base = [line for line in (ROOT / "testdata/udhr.txt").read_text("utf-8").split("\n") if line] + CASES
    changed = []
    for _ in range(1500):
        line = rng.choice(base)
        place = rng.randrange(len(line) + 1)
        changed.append(line[:place] + rng.choice(INSERTED) + line[place:])
    return base + changed


def make_folder(kind, model, name, folder, spiece):
    if kind == "hf":
        subprocess.run([spiece, "convert", model, f"{folder}/", "--force"], capture_output=True, check=True)
        return
    file = "tokenizer.model" if kind == "alone" else FILES[name]
    shutil.copyfile(model, folder / file)
    if kind == "class":
        (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spiece", required=True, type=Path)
    parser.add_argument("models", nargs="+", metavar="MODEL=CLASS")
    args = parser.parse_args()
    lines = texts()
    print(f"transformers {transformers.__version__}, sentencepiece {sentencepiece.__version__}, {len(lines)} texts")
    for argument in args.models:
        model, _, name = argument.partition("=")
        expected = sentencepiece.SentencePieceProcessor(model_file=model).encode(lines)
        for kind in ("alone", "class", "hf"):
            with tempfile.TemporaryDirectory(prefix="tokenizer") as folder:
                make_folder(kind, model, name, Path(folder), args.spiece.resolve(strict=True))
                try:
                    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
                except (OSError, ValueError) as error:
                    print(f"{model}, {kind}: refused: {str(error).splitlines()[0][:80]}")
                    continue
                ids = [tokenizer.encode(line, add_special_tokens=False, split_special_tokens=True) for line in lines]
            different = sum(one != other for one, other in zip(expected, ids))
            print(f"{model}, {kind}: {type(tokenizer).__name__}, {different} texts with other ids", flush=True)


if __name__ == "__main__":
    main()
