#!/usr/bin/env python3
"""Compares the fast tokenizers of transformers on spiece with those on tokenizers, call by call.

Usage: transformers_surface.py --ours PYTHON --reference PYTHON [--spiece PROGRAM] [FILE...]

PYTHON is the interpreter of an environment: one with spiece and transformers, one with transformers (it can be the same), of
the same release, 4.57.6 or 5.24.0; both with numpy and jinja2. FILE is a tokenizer.json, a file with one in each line, a .model
of SentencePiece, which PROGRAM converts, or a folder for AutoTokenizer; by default those of the test data. Values have to be
equal, with their types; exceptions, with their classes and messages. The last line has the numbers of calls that passed and
failed, and the exit status is 1 if one failed.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import differential

#: The classes of well-known tokenizers, which set components of their own.
CLASSES = {
    "bert_base_uncased": "BertTokenizer",
    "clip": "CLIPTokenizer",
    "gpt2": "GPT2Tokenizer",
    "gpt_neox_20b": "GPTNeoXTokenizer",
    "roberta_base": "RobertaTokenizer",
    "t5_small": "T5Tokenizer",
    "whisper_tiny": "WhisperTokenizer",
}
#: The names that special tokens have in files, by the names that transformers gives them.
SPECIAL = {
    "bos_token": ["<s>", "<bos>", "<|begin_of_text|>"],
    "eos_token": ["</s>", "<eos>", "<|endoftext|>", "<|end_of_text|>"],
    "unk_token": ["<unk>", "[UNK]"],
    "pad_token": ["<pad>", "[PAD]"],
    "cls_token": ["[CLS]"],
    "sep_token": ["[SEP]"],
    "mask_token": ["<mask>", "[MASK]"],
}
TESTDATA = differential.TESTDATA
DEFAULT = [TESTDATA / "pipelines/cases.jsonl", *sorted(TESTDATA.glob("bytes/*.json"))]


def write_folder(folder, content):
    """A folder for AutoTokenizer with a tokenizer.json."""
    folder.mkdir()
    name = CLASSES.get(folder.name, "PreTrainedTokenizerFast")
    texts = [token["content"] for token in json.loads(content)["added_tokens"]]
    special = {name: text for name, known in SPECIAL.items() for text in known[::-1] if text in texts}
    (folder / "tokenizer.json").write_text(content, encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, **special}), encoding="utf-8")


def folders_of(file, folder, program):
    """The folders of a file; none if it cannot be converted."""
    if file.is_dir():
        return [file]
    made = folder / file.stem
    if file.suffix == ".model":
        made = folder / f"{file.stem}-model"
        done = subprocess.run([program, "convert", file, f"{made}/", "--force"], capture_output=True, text=True)
        if done.returncode:
            print(f"{file.name}: {program} refuses to convert it: {done.stderr.strip().splitlines()[-1][:200]}", file=sys.stderr)
            return []
        return [made]
    content = file.read_text(encoding="utf-8")
    if file.suffix == ".jsonl":
        # Every second one: half of the test data takes a minute.
        cases = [json.loads(line) for line in content.splitlines()[::2]]
        for case in cases:
            write_folder(folder / f"pipeline-{case['seed']}", json.dumps(case["file"]))
        return [folder / f"pipeline-{case['seed']}" for case in cases]
    if "added_tokens" not in json.loads(content):
        return []
    write_folder(made, content)
    return [made]


def main():
    """Runs the probe with and without spiece, and compares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", required=True)
    parser.add_argument("--reference", required=True)
    parser.add_argument("--spiece", default="spiece")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    given = parser.parse_args()
    probe = differential.HERE / "fast_tokenizers_probe.py"
    passed = failed = panics = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        (work / "from").mkdir()
        folders = [folder for file in given.files or DEFAULT for folder in folders_of(file, work / "from", given.spiece)]
        arguments = list(map(str, folders))
        reference = differential.run(probe, given.reference, "transformers", work / "a", arguments)
        ours = differential.run(probe, given.ours, "spiece.transformers", work / "b", arguments)
        refusals = (work / "b" / "refusals.txt").read_text().splitlines()
    if [row["label"] for row in ours] != [row["label"] for row in reference]:
        sys.exit("the probes made different calls")
    for mine, theirs in zip(ours, reference):
        if mine == theirs:
            passed += 1
            continue
        if "value" in mine and theirs.get("error", [""])[0] == "PanicException":
            # Such as a decoder that strips more than there is.
            panics += 1
            continue
        failed += 1
        print(f"{mine['label']}\n   reference: {differential.described(theirs)}\n   ours:      {differential.described(mine)}")
    print(f"{len(folders)} tokenizers; not on spiece: {'; '.join(refusals) or 'none'}")
    print(f"{panics} accepted: tokenizers panics, and spiece has a result")
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
