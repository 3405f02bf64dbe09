"""Files of version 2.0 against tokenizers 1.0.0rc3: what spiece writes, and how it runs what the library writes.

Usage: version_2.py --spiece PROGRAM (--cases CASES.jsonl | FILE...)
       version_2.py --record --cases CASES.jsonl > recorded.jsonl

Needs tokenizers 1.0.0rc3. CASES are lines of pipelines.py, which needs tokenizers 0.23; each has a tokenizer.json and texts.
FILEs are tokenizer.json files of any version; the texts are lines of testdata, and random ones. For each file:

* what `spiece convert --format=tokenizer.json@2` writes is what the library saves after it has read the file, and has the
  same ids in the library and in spiece, unless the texts have characters that the verdict is about;
* what the library saves opens in spiece with the same ids;
* of what spiece refuses to write, the number that the library runs with the ids of 0.23 is printed by the component.

Ends with the number of files of each kind, and fails if any differs. With --record it prints the files that the library
saves, with the ids that it gives; `testdata/pipelines/version_2.jsonl` has those of `testdata/pipelines/cases.jsonl`.
"""

import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from tokenizers import Tokenizer

TESTDATA = pathlib.Path(__file__).parents[2] / "testdata"


def saved(tokenizer):
    """The file that the library makes of a tokenizer: it pickles that text."""
    return tokenizer.__reduce__()[1][0]


def texts_of_files():
    chooser = random.Random(1)
    lines = (TESTDATA / "udhr.txt").read_text().splitlines()
    texts = chooser.sample(lines, min(400, len(lines)))
    parts = [*" \t\n_-'.,", "  ", "\u2581", "é", "e\u0301", "日本", "ひらがな", "한국", "İ", "ß", "①", "😀", "1234567", "don't",
             "<s>", "</s>", "<unk>", "[MASK]", "<|endoftext|>", "\u200d", "\u00a0", "ﬁ", "x" * 20]  # fmt: skip
    while len(texts) < 900:
        texts.append("".join(chooser.choices(parts, k=chooser.randint(1, 12))))
    return texts


def ids_in_spiece(program, path, texts):
    records = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    command = [program, "encode", f"--model={path}", "--json_field=text", "--output_format=id", "--allowed_special=all", "-"]
    run = subprocess.run(command, input=records, capture_output=True, text=True)
    if run.returncode:
        return run.stderr.strip()
    return [[int(id) for id in line.split()] for line in run.stdout.split("\n")[:-1]]


def ids_in_library(tokenizer, texts):
    found = []
    for text in texts:
        try:
            found.append(list(tokenizer.encode(text, add_special_tokens=False).ids))
        except BaseException as error:  # It panics on some texts.
            if isinstance(error, KeyboardInterrupt):
                raise
            found.append(f"error: {error}")
    return found


def first_difference(texts, left, right):
    if isinstance(left, str):
        return left
    pairs = zip(texts, left, right, strict=True)
    return next(((text, a, b) for text, a, b in pairs if a != b), None)


def plain(component):
    """A component without forms that say the same: sequences of one step or none, and decoders of Metaspace."""
    if isinstance(component, list):
        return [plain(step) for step in component]
    if not isinstance(component, dict):
        return component
    steps = [value for value in component.values() if isinstance(value, list)]
    if component.get("type") == "Sequence" and len(steps[0]) < 2:
        return plain(steps[0][0]) if steps[0] else None
    if component.get("type") == "Metaspace" and component["prepend_scheme"] == "first":
        component["prepend_scheme"] = "always"
    return {key: plain(value) for key, value in component.items()}


def comparable(file):
    file = json.loads(file)
    for name in ["normalizer", "pre_tokenizer", "decoder"]:
        file[name] = plain(file[name])
    return file


class Comparison:
    def __init__(self, program, folder):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.counts = collections.Counter()
        self.failures = []

    def fail(self, name, problem, difference):
        self.counts[problem] += 1
        self.failures.append(f"{name}: {problem}: {str(difference)[:600]}")

    def compare(self, name, path, texts, expected=None):
        """`expected` are the ids of 0.23, if they are known."""
        try:
            library = Tokenizer.from_file(str(path))
        except BaseException as error:
            library = str(error)
        written = self.folder / "written.json"
        command = [self.program, "convert", str(path), str(written), "--format=tokenizer.json@2", "--force"]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            return self.judge_refusal(name, run.stderr, library, texts, expected)
        try:
            own = Tokenizer.from_file(str(written))
        except BaseException as error:
            return self.fail(name, "written, and refused by the library", error)
        ids = ids_in_library(own, texts)
        if expected is not None and (difference := first_difference(texts, ids, expected)):
            if "equal for all text" in run.stderr:
                return self.fail(name, "other ids than 0.23 and a verdict that says equal", difference)
            self.counts["other ids than 0.23, as the verdict says"] += 1
            return
        if difference := first_difference(texts, ids_in_spiece(self.program, written, texts), ids):
            if "unknown_character" in run.stderr:
                self.counts["other ids than spiece, as the verdict says"] += 1
                return
            return self.fail(name, "other ids for the file of spiece", difference)
        if isinstance(library, str):
            self.counts["equal, and the library has no form for the file of version 1.0"] += 1
            return
        left, right = comparable(saved(own)), comparable(saved(library))
        if left != right:
            keys = [key for key in left if left[key] != right.get(key)]
            self.fail(name, "another file", [(key, str(left[key])[:200], str(right.get(key))[:200]) for key in keys])
        self.read_back(name, library, texts)

    def judge_refusal(self, name, message, library, texts, expected):
        if isinstance(library, str):
            self.counts["refused by both"] += 1
        elif expected is not None and ids_in_library(library, texts) == expected:
            component = message.split("tokenizer: ")[-1].split(" is ")[0]
            self.counts[f"refused by spiece, with equal ids of these texts: {component}"] += 1
        else:
            self.counts["refused by spiece, with other ids or errors in the library"] += 1

    def read_back(self, name, library, texts):
        """What the library saves; it changes normalized added tokens and drops an empty token, so it reads the file, too."""
        theirs = self.folder / "saved.json"
        theirs.write_text(saved(library))
        if any(token["normalized"] for token in json.loads(saved(library))["added_tokens"]):
            self.counts["equal; saved with other added tokens"] += 1
            return
        ids = ids_in_library(Tokenizer.from_file(str(theirs)), texts)
        if difference := first_difference(texts, ids_in_spiece(self.program, theirs, texts), ids):
            return self.fail(name, "other ids for the file of the library", difference)
        self.counts["equal"] += 1


def record(cases):
    """The files of cases, as the library saves them, with its ids; without files that it changes, or runs unlike 0.23."""
    for line in cases:
        case = json.loads(line)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(json.dumps(case["file"]))
            file.flush()
            try:
                tokenizer = Tokenizer.from_file(file.name)
            except BaseException:
                continue
        texts = [text["text"] for text in case["texts"]]
        saved_file = json.loads(saved(tokenizer))
        is_changed = any(token["normalized"] for token in saved_file["added_tokens"])
        ids = ids_in_library(tokenizer, texts)
        if not is_changed and ids == [text["ids"] for text in case["texts"]]:
            found = [{"text": text, "ids": found} for text, found in zip(texts, ids, strict=True)]
            print(json.dumps({"seed": case["seed"], "file": saved_file, "texts": found}, ensure_ascii=False))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spiece")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--cases")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    if arguments.record:
        return record(open(arguments.cases))
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(arguments.spiece, folder)
        for path in arguments.files:
            comparison.compare(path, path, texts_of_files())
        for line in open(arguments.cases) if arguments.cases else []:
            case = json.loads(line)
            path = comparison.folder / "case.json"
            path.write_text(json.dumps(case["file"]))
            texts = [text["text"] for text in case["texts"]]
            ids = [text["ids"] for text in case["texts"]]
            comparison.compare(f"seed {case['seed']}", path, texts, ids)
    for kind, count in sorted(comparison.counts.items()):
        print(f"{count} {kind}")
    print("\n".join(comparison.failures))
    sys.exit(bool(comparison.failures))


if __name__ == "__main__":
    main()
