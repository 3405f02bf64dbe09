#!/usr/bin/env python3
"""The HTML report of spiece in a browser.

Usage: tests/browser/html_report.py [--spiece PROGRAM] [--models FOLDER] [--lines N] [--screenshots FOLDER] [MODEL...]

Writes reports of models (by default some of testdata/; with --models or the variable SPIECE_MODELS also those of a
folder) and opens them in headless Chromium. Checks: the ids of each page equal those of
`spiece encode` on the same lines; the boundaries of two models equal those of `spiece compare`; hostile pieces stay text;
keys select tokens; no console message, no request, no horizontal scrolling at 360 pixels, enough contrast in both
colour schemes; the size of the file. Exit status 0 if all checks pass, 1 if one fails, 77 if a program is missing.
"""

import argparse
import base64
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import unquote

sys.dont_write_bytecode = True

from hostile_models import hostile_models  # noqa: E402
from webdriver import Browser, missing_program  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
# Trained models: one of each type, option of the normalizer and set of rules. All models of testdata/run/, which are made
# for rare cases of encoding, are compared, too.
TRAINED_MODELS = [
    "char_all", "char_small", "hostile", "hostile_bytes", "llama2", "nfkc_cf", "no_split_whitespace",
    "no_split_whitespace_suffix", "nmt_nfkc_cf", "rule_files", "spm_default", "symbols", "tsv",
]
# User-defined symbols that rules would change, and with spaces at all positions.
ADDED_SYMBOLS = ["Ａ", "½", "a b", " x", "b ", "  ", "e\u0301"]
MAX_BYTES_OF_32000_PIECES = 2_000_000
PHONE_WIDTH = 360
# Parts of generated lines: spaces, marks, text of rules, symbols, marks of direction, markup.
PARTS = [
    " ", "  ", "\u3000", "\t", "\u00a0", "▁", "▁▁", "\0", "\u0001", "\u200b", "\u200d", "\ufeff", "\ufffd", "\u202e",
    "\u2066", "a", "A", "e\u0301", "\u0301", "ﬁ", "Ａ", "ｶﾞ", "㍿", "½", "ß", "İ", "Σς", "각", "각", "漢字", "😀", "👩‍👩‍👧", "🇩🇪",
    "\U0010ffff", "\ue000", "<s>", "</s>", "<unk>", "<0x41>", "</script>", "<!--", "&lt;", "the ", "ing", "1234", "!!!!",
    "aaaaaaaa", "a b", " x", "нет", "नमस्ते", "مرحبا", "\r",
]


class Checks:
    """Counts checks and prints those that fail."""

    def __init__(self):
        self.passed = 0
        self.failures = []

    def check(self, is_right, what):
        if is_right:
            self.passed += 1
        else:
            self.failures.append(what)
            print(f"FAILED: {what}", flush=True)

    def equal(self, found, expected, what):
        self.check(found == expected, f"{what}: {found!r:.300} instead of {expected!r:.300}")


class Program:
    """The program spiece."""

    def __init__(self, path):
        self.path = path

    def run(self, *arguments, text=b"", statuses=(0,)):
        done = subprocess.run([self.path, *map(str, arguments)], input=text, capture_output=True)
        if done.returncode not in statuses:
            raise RuntimeError(f"spiece {arguments}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def refusal(self, model):
        """Why the program does not load a model; empty if it does."""
        done = subprocess.run([self.path, "encode", f"--model={model}"], input=b"", capture_output=True)
        return done.stderr.decode(errors="replace").strip() if done.returncode else ""

    def ids(self, model, lines):
        """The ids of lines."""
        text = b"".join(line + b"\n" for line in lines)
        out = self.run("encode", f"--model={model}", "--output_format=id", text=text)
        return [[int(id) for id in line.split()] for line in out.decode().split("\n")[:-1]]


def generated_line(random_numbers):
    """A line of hostile parts; every fifth has bytes that are not UTF-8."""
    parts = [random_numbers.choice(PARTS).encode() for _ in range(random_numbers.randrange(12))]
    if random_numbers.randrange(5) == 0:
        noise = bytes(random_numbers.randrange(256) for _ in range(random_numbers.randrange(1, 5)))
        parts.insert(random_numbers.randrange(len(parts) + 1), noise)
    return b"".join(parts).replace(b"\n", b" ")


def test_lines(count):
    """Lines of text in many languages, hostile lines of testdata/, and generated ones."""
    random_numbers = random.Random(20)
    texts = (ROOT / "testdata/udhr.txt").read_bytes().split(b"\n")[:-1]
    lines = random_numbers.sample(texts, min(len(texts), count // 2))
    lines += (ROOT / "testdata/hostile_text.txt").read_bytes().split(b"\n")[: count // 10]
    lines += [b"", b" ", b"   ", b"a" * 3000, "▁".encode() * 500, b"ab " * 1000, b"t" + b"i" * 120]
    return lines + [generated_line(random_numbers) for _ in range(count - len(lines))]


class ReportTest:
    """Reports and what is checked on them."""

    def __init__(self, options, browser, folder):
        self.program = Program(options.spiece)
        self.browser = browser
        self.folder = Path(folder)
        self.screenshots = options.screenshots
        self.lines = options.lines
        self.checks = Checks()

    def report(self, name, *arguments, statuses=(0,)):
        """Writes a report and opens it; the path of the file."""
        path = self.folder / f"{name}.html"
        self.program.run(*arguments, "--format=html", f"--output={path}", statuses=statuses)
        self.open(path)
        return path

    def open(self, path):
        """Opens a page; nothing but the file may be requested, and the console stays empty."""
        self.browser.requests()
        self.browser.open(path)
        requests = [unquote(url) for url in self.browser.requests() if not url.startswith("data:")]
        self.checks.equal(requests, [f"file://{path}"], f"{path.name}: requests")
        self.check_console(path.name)

    def check_console(self, name):
        self.checks.equal(self.browser.console_messages(), [], f"{name}: console")

    def page_values(self, function, side, lines):
        """The results of a function of the page for lines, in batches."""
        script = f"const [side, lines] = arguments; return lines.map((line) => spieceReport.{function}(side, line));"
        values = []
        for start in range(0, len(lines), 100):
            batch = [base64.b64encode(line).decode() for line in lines[start : start + 100]]
            values += self.browser.run(script, side, batch)
        return values

    def check_ids(self, name, model, lines, side=0):
        """The ids of the page are those of the program. Each line is a check of its own."""
        found = self.page_values("ids", side, lines)
        expected = self.program.ids(model, lines)
        assert len(expected) == len(lines), name
        for line, ids, right in zip(lines, found, expected):
            self.checks.equal(ids, right, f"{name}: ids of {line!r:.200}")

    def check_model(self, model, lines):
        """One report: size, ids, layout on a phone. A model that the program refuses has no report."""
        refusal = self.program.refusal(model)
        if refusal:
            return print(f"{model.name} is refused: {refusal}", flush=True)
        path = self.report(model.stem, "inspect", model)
        pieces = self.browser.run("return JSON.parse(document.getElementById('data').textContent).models[0].pieces.length")
        size = path.stat().st_size
        if pieces <= 32_000:
            self.checks.check(size <= MAX_BYTES_OF_32000_PIECES, f"{model.name}: {size} bytes for {pieces} pieces")
        self.check_ids(model.name, model, lines)
        self.check_phone(model.name)
        self.check_console(model.name)
        return print(f"{model.name}: {pieces} pieces, {size} bytes, {len(lines)} lines compared", flush=True)

    def check_normalizers(self):
        """All combinations of the options of the normalizer, with rules and user-defined symbols."""
        symbols = [f"--add_user_defined={symbol}" for symbol in ADDED_SYMBOLS]
        lines = test_lines(300)
        for base in ("golden/nfkc_cf", "run/unigram_suffix", "run/char"):
            for number in range(8):
                flags = ["add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces"]
                values = [f"--{flag}={str(number >> bit & 1 == 1).lower()}" for bit, flag in enumerate(flags)]
                prefix = self.folder / f"{Path(base).name}_{number}"
                model = prefix.with_suffix(".model")
                arguments = [ROOT / "testdata" / f"{base}.model", f"--model_prefix={prefix}", "--quiet", *values]
                self.program.run("edit", *arguments, *symbols)
                self.report(prefix.name, "inspect", model)
                self.check_ids(model.name, model, lines)
        print("normalizers: 24 models, 300 lines each", flush=True)

    def check_phone(self, name):
        """A narrow page is not scrolled horizontally."""
        self.browser.set_width(PHONE_WIDTH)
        width = self.browser.run("return document.documentElement.scrollWidth")
        self.checks.check(width <= PHONE_WIDTH, f"{name}: {width} pixels wide on a phone")
        self.browser.set_width(1280)

    def check_typing(self):
        """What is typed is tokenized: the ids of the page are those of the program."""
        model = ROOT / "testdata/golden/spm_default.model"
        self.report("typing", "inspect", model)
        self.type_text("")
        self.browser.press(*"The right é漢 ½ x")
        self.wait_for("document.getElementById('counts').textContent.includes('20 bytes')")
        shown = self.browser.run("return document.getElementById('ids').value")
        expected = self.program.ids(model, ["The right é漢 ½ x".encode()])
        self.checks.equal(shown.split(), [str(id) for id in expected[0]], "typed text")
        self.check_input_limit()
        self.check_console("typing")

    def check_input_limit(self):
        """A long text is tokenized quickly, a longer one is refused with a message."""
        self.type_text("aaaa bbbb " * 9_999)
        self.wait_for("document.getElementById('counts').textContent.includes('are shown')")
        self.checks.equal(self.message(), "", "a text of 99,990 bytes")
        self.type_text("aaaa bbbb " * 10_001)
        self.wait_for("document.getElementById('input-message').textContent !== ''")
        self.checks.check("at most" in self.message(), "a text of 100,010 bytes is refused")

    def type_text(self, text):
        """Replaces the text of the box, which gets the focus."""
        script = (
            "const input = document.getElementById('input'); input.value = arguments[0]; input.focus();"
            "input.dispatchEvent(new Event('input'));"
        )
        self.browser.run(script, text)

    def message(self):
        return self.browser.run("return document.getElementById('input-message').textContent")

    def wait_for(self, condition):
        """Waits until a condition holds in the page, for ten seconds at most."""
        limit = time.monotonic() + 10
        while not self.browser.run(f"return {condition}"):
            if time.monotonic() > limit:
                return self.checks.check(False, f"in the page: {condition}")
            time.sleep(0.03)
        return self.checks.check(True, condition)

    def check_keyboard(self):
        """Tab reaches the tokens, arrow keys select them, the panel shows id, bytes, score, kind and merges."""
        model = ROOT / "testdata/golden/llama2.model"
        self.report("keyboard", "inspect", model)
        self.type_text("the rights é")
        self.wait_for("document.querySelectorAll('.token').length === 5")
        self.browser.press("Tab", "Tab")
        focused = "return document.activeElement.className"
        self.checks.check("token" in self.browser.run(focused), "Tab reaches the tokens")
        self.browser.press("ArrowRight")
        ids = self.program.ids(model, ["the rights é".encode()])[0]
        details = self.browser.run("return document.getElementById('details-content').textContent")
        self.checks.check(f"Id{ids[1]}Kindnormal" in details, f"the panel shows the second token: {details!r}")
        self.checks.check("E2 96 81 72 69 67 68 74" in details, f"the panel shows the bytes: {details!r}")
        self.checks.check("Merge tree" in details and "merge 6" in details, f"the panel shows the merges: {details!r}")
        selected = self.browser.run("return document.querySelectorAll('[aria-selected=true]').length")
        self.checks.equal(selected, 1, "selected tokens")
        visible = self.browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        self.checks.equal(visible, "solid", "the focus is visible")
        self.check_phone_panel()
        self.browser.press("End")
        details = self.browser.run("return document.getElementById('details-content').textContent")
        self.checks.check(f"Id{ids[-1]}Kindbyte" in details, f"the panel shows a byte piece: {details!r}")
        self.check_console("keyboard")

    def check_phone_panel(self):
        """On a phone the panel covers the bottom of the page, and Escape closes it."""
        self.browser.set_width(PHONE_WIDTH)
        displayed = "return getComputedStyle(document.getElementById('details')).display"
        self.checks.equal(self.browser.run(displayed), "block", "the panel of a phone is open")
        self.check_phone("the panel of a phone")
        self.browser.set_width(PHONE_WIDTH)
        self.browser.press("Escape")
        self.checks.equal(self.browser.run(displayed), "none", "the panel of a phone is closed")
        self.browser.set_width(1280)

    def check_policy(self):
        """The page runs no script but its own, and makes no request."""
        self.browser.run(
            "const script = document.createElement('script'); script.textContent = 'attacked = 1';"
            "document.body.append(script); script.remove();"
            "fetch('https://example.invalid/').catch(() => { window.refused = 1; });"
        )
        self.wait_for("window.refused === 1")
        self.checks.equal(self.browser.run("return typeof attacked"), "undefined", "foreign scripts")
        messages = self.browser.console_messages()
        violations = [message for message in messages if "Content Security Policy" in message]
        self.checks.check(len(violations) >= 2, f"the policy refuses scripts and requests: {messages}")

    def check_hostile(self):
        """Hostile pieces and names are text: no script runs, and the page has their text."""
        for model, texts in hostile_models(self.folder):
            self.report(model.stem, "inspect", model, f"--text={ROOT / 'testdata/hostile_text.txt'}")
            scripts = self.browser.run("return [document.scripts.length, document.images.length, window.attacked || 0]")
            self.checks.equal(scripts, [2, 0, 0], f"{model.name}: scripts, images, attacks")
            shown = self.browser.run("return [...document.querySelectorAll('#pieces .piece')].map((node) => node.textContent)")
            for text in texts:
                self.checks.check(text in shown, f"{model.name}: {text!r} is shown")
            self.check_ids(model.name, model, test_lines(200) + [text.encode() for text in texts])
            self.check_phone(model.name)
            self.check_console(model.name)

    def check_comparison(self):
        """Two models: ids of both, and as many boundaries of one model alone as the program counts."""
        models = [ROOT / "testdata/golden/llama2.model", ROOT / "testdata/golden/spm_default.model"]
        text = self.folder / "text.txt"
        lines = test_lines(300)
        text.write_bytes(b"".join(line + b"\n" for line in lines))
        statuses = (0, 1)
        self.report("comparison", "compare", *models, f"--text={text}", statuses=statuses)
        out = self.program.run("compare", *models, f"--text={text}", "--format=json", statuses=statuses)
        counted = json.loads(out)
        sides = [self.page_values("boundaries", side, lines) for side in (0, 1)]
        own = [sum(len(set(ours) - set(others)) for ours, others in zip(a, b)) for a, b in (sides, sides[::-1])]
        self.checks.equal(own, [counted["boundaries_only_a"], counted["boundaries_only_b"]], "boundaries of one model")
        for side, model in enumerate(models):
            self.check_ids(f"side {side}", model, lines, side)
        marked = self.browser.run("return document.querySelectorAll('.own-boundary').length")
        self.checks.check(marked > 0, "boundaries of one model are marked")
        self.check_phone("comparison")
        self.check_contrast("comparison")
        self.take_screenshots("comparison")

    def check_contrast(self, name):
        """The contrast of all texts is that of WCAG 2 AA in both colour schemes, and the schemes differ."""
        backgrounds = []
        for scheme in ("light", "dark"):
            self.browser.set_scheme(scheme)
            low = self.browser.run((ROOT / "tests/browser/contrast.js").read_text())
            self.checks.equal(low, [], f"{name}, {scheme}: texts with low contrast")
            backgrounds.append(self.browser.run("return getComputedStyle(document.body).backgroundColor"))
        self.checks.check(backgrounds[0] != backgrounds[1], f"{name}: the dark page has its own background")
        self.browser.set_scheme("light")

    def check_full_report(self):
        """A report with all sections."""
        model = ROOT / "testdata/golden/llama2.model"
        text = f"--text={ROOT / 'testdata/mixed.txt'}"
        path = self.report("full", "inspect", model, text, "--languages")
        sections = self.browser.run("return [...document.querySelectorAll('#report section')].map((node) => node.id)")
        expected = ["overview", "vocabulary", "findings", "text", "languages", "pieces"]
        self.checks.equal(sections, expected, "sections")
        rows = self.browser.run("return document.querySelectorAll('#languages tbody tr').length")
        self.checks.equal(rows, 28, "languages")
        again = self.folder / "again.html"
        self.program.run("inspect", model, text, "--languages", "--format=html", f"--output={again}")
        self.checks.check(path.read_bytes() == again.read_bytes(), "equal reports have equal bytes")
        self.check_phone("full")
        self.check_contrast("full")
        self.browser.click(".token")
        self.take_screenshots("full")

    def take_screenshots(self, name):
        """The page in both schemes, and on a phone."""
        if not self.screenshots:
            return
        folder = Path(self.screenshots)
        folder.mkdir(parents=True, exist_ok=True)
        for scheme, width, height in (("light", 1280, 2600), ("dark", 1280, 2600), ("light", PHONE_WIDTH, 1600)):
            self.browser.set_scheme(scheme)
            self.browser.set_width(width, height)
            self.browser.screenshot(folder / f"{name}_{scheme}_{width}.png")
        self.browser.set_scheme("light")
        self.browser.set_width(1280)


def models_of(options):
    """The models whose ids are compared."""
    if options.model:
        return [Path(model) for model in options.model]
    models = [ROOT / "testdata/golden" / f"{name}.model" for name in TRAINED_MODELS]
    models += sorted((ROOT / "testdata/run").glob("*.model"))
    folder = options.models or os.environ.get("SPIECE_MODELS")
    return models + (sorted(Path(folder).glob("*.model")) if folder else [])


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--spiece", default=ROOT / "target/release/spiece", help="the program")
    parser.add_argument("--models", help="a folder with more .model files")
    parser.add_argument("--lines", type=int, default=1000, help="lines compared with each model")
    parser.add_argument("--text", action="append", default=[], help="compare the lines of this file, too")
    parser.add_argument("--screenshots", help="write screenshots into this folder")
    parser.add_argument("model", nargs="*", help="compare the ids of these models alone")
    return parser.parse_args()


def main():
    options = parse_options()
    missing = missing_program()
    if missing:
        print(f"skipped: {missing} is not installed (Debian: apt-get install chromium chromium-driver)")
        return SKIPPED
    lines = test_lines(options.lines)
    for text in options.text:
        lines += Path(text).read_bytes().split(b"\n")
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        browser.set_width(1280)
        test = ReportTest(options, browser, folder)
        for model in models_of(options):
            test.check_model(model, lines)
        if not options.model:
            test.check_normalizers()
            test.check_full_report()
            test.check_typing()
            test.check_keyboard()
            test.check_hostile()
            test.check_policy()
            test.check_comparison()
    checks = test.checks
    print(f"{checks.passed} checks passed, {len(checks.failures)} failed")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
