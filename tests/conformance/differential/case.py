"""One test case as plain data, and its form on disk.

Job: hold everything that one comparison needs, so that it can be generated, shrunk, saved and replayed.
Input: a kind's generator, or a folder written earlier. Output: a folder with case.json, lines.bin and files/.
"""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional


@dataclass
class Case:
    """`options` are flags of the program or settings of the kind, `files` the inputs, `lines` the text to run."""

    kind: str
    name: str
    options: Dict[str, str] = field(default_factory=dict)
    files: Dict[str, bytes] = field(default_factory=dict)
    lines: List[bytes] = field(default_factory=list)

    def copy(self):
        return copy.deepcopy(self)

    def with_options(self, options):
        return Case(self.kind, self.name, options, self.files, self.lines)

    def with_file(self, name, data):
        return Case(self.kind, self.name, self.options, {**self.files, name: data}, self.lines)

    def with_lines(self, lines):
        return Case(self.kind, self.name, self.options, self.files, list(lines))

    def write_files(self, folder):
        """Writes the files into the working folder of one side."""
        for name, data in self.files.items():
            (Path(folder) / name).write_bytes(data)

    def save(self, folder):
        """Writes the case into `folder`, from which `load` restores it."""
        folder = Path(folder)
        (folder / "files").mkdir(parents=True, exist_ok=True)
        self.write_files(folder / "files")
        head = {"kind": self.kind, "name": self.name, "options": self.options, "lines": len(self.lines)}
        (folder / "case.json").write_text(json.dumps(head, indent=2) + "\n")
        (folder / "lines.bin").write_bytes(b"".join(line + b"\n" for line in self.lines))

    @staticmethod
    def load(folder):
        folder = Path(folder)
        head = json.loads((folder / "case.json").read_text())
        lines = (folder / "lines.bin").read_bytes().split(b"\n")[: head["lines"]]
        files = {path.name: path.read_bytes() for path in sorted((folder / "files").iterdir())}
        return Case(head["kind"], head["name"], head["options"], files, lines)


@dataclass
class Difference:
    """What disagrees. Minimization keeps the category; `detail` is for the reader.

    `line`: the text line concerned; `known`: the entry of `known.py`, if the comparison found it out itself.
    """

    category: str
    detail: str
    line: Optional[bytes] = None
    known: str = ""


@dataclass
class Outcome:
    """The result of one comparison: no differences means that the case passed.

    `compared` counts the comparisons made (lines, files); `accepted`: neither side refused; `note` reports what is
    no difference but worth reading, such as a crash of the reference; `known` has the names of known differences.
    """

    differences: List[Difference] = field(default_factory=list)
    compared: int = 0
    accepted: bool = False
    note: str = ""
    known: List[str] = field(default_factory=list)

    def add(self, category, detail, line=None, known=""):
        self.differences.append(Difference(category, detail, line, known))

    def categories(self):
        return {difference.category for difference in self.differences}
