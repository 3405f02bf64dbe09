#!/usr/bin/env python3
"""The HTML report of spiece in a browser.

Usage: tests/browser/html_report.py [--spiece PROGRAM] [--screenshots FOLDER]

Writes reports of one model, of two, and of models with hostile pieces, and opens them in headless Chromium. Checks: the rows
of the page are those of the report as text; hostile pieces stay text; no script, no console message, no request, no
horizontal scrolling at 360 pixels, enough contrast in both colour schemes; equal reports have equal bytes. Exit status 0 if
all checks pass, 1 if one fails, 77 if a program is missing.
"""

import sys
from urllib.parse import unquote

sys.dont_write_bytecode = True

from hostile_models import hostile_models  # noqa: E402
from pages import ROOT, PageTest, Program, parser, run_in_browser  # noqa: E402

TEXT = f"--text={ROOT / 'testdata/hostile_text.txt'}"


class ReportTest(PageTest):
    def report(self, name, *arguments):
        """Writes a report and opens it; nothing but the file may be requested, and the console stays empty."""
        path = self.folder / f"{name}.html"
        self.program.run(*arguments, "--format=html", f"--output={path}", statuses=(0, 1))
        self.browser.requests()
        self.browser.open(path)
        requests = [unquote(url) for url in self.browser.requests() if not url.startswith("data:")]
        self.checks.equal(requests, [f"file://{path}"], f"{name}: requests")
        self.checks.equal(self.browser.run("return document.scripts.length"), 0, f"{name}: scripts")
        self.check_console(name)
        self.check_phone(name)
        return path

    def shown(self):
        return self.browser.run("return document.body.textContent")

    def check_rows(self, name, *arguments):
        """Every row and item of the report as text is on the page."""
        lines = self.program.run(*arguments, statuses=(0, 1)).decode().split("\n")
        shown = self.shown()
        for line in lines:
            is_row = line[:1].strip() and len(line) > 21 and line[20] == " "
            parts = line[21:].split(", ") if is_row else [line.strip()]
            words = [word for part in parts if not part.endswith(" more") for word in part.rsplit(" ", 1)]
            missing = [word for word in words if word not in shown]
            self.checks.equal(missing, [], f"{name}: parts of {line!r:.200} that the page lacks")

    def check_report(self, name, *arguments):
        path = self.report(name, *arguments)
        self.check_rows(name, *arguments)
        first = path.read_bytes()
        self.report(name, *arguments)
        self.checks.check(first == path.read_bytes(), f"{name}: equal reports have equal bytes")
        self.check_contrast(name)
        self.take_screenshots(name)

    def check_hostile(self):
        for model in hostile_models(self.folder):
            self.report(model.stem, "inspect", model, TEXT)
            self.checks.equal(self.browser.run("return [document.images.length, window.attacked || 0]"), [0, 0], f"{model.name}: attacks")
            self.check_rows(model.stem, "inspect", model, TEXT)

    def run(self):
        llama = ROOT / "testdata/golden/llama2.model"
        self.check_report("model", "inspect", llama, TEXT, "--languages")
        self.check_report("bytes", "inspect", ROOT / "testdata/bytes/gpt2.json", TEXT)
        self.check_report("two", "compare", llama, ROOT / "testdata/golden/spm_default.model", TEXT)
        self.check_hostile()


def main():
    options = parser(__doc__).parse_args()
    return run_in_browser(lambda browser, folder: ReportTest(Program(options.spiece), browser, folder, options.screenshots))


if __name__ == "__main__":
    sys.exit(main())
