"""What the tests of pages have in common: counted checks, the program, and checks that hold for every page."""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

from webdriver import Browser, missing_program

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77
PHONE_WIDTH = 360


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

    def report(self):
        """Prints the sums; the exit status."""
        print(f"{self.passed} checks passed, {len(self.failures)} failed")
        return 1 if self.failures else 0


class Program:
    """The program spiece."""

    def __init__(self, path):
        self.path = path

    def run(self, *arguments, text=b"", statuses=(0,)):
        done = subprocess.run([self.path, *map(str, arguments)], input=text, capture_output=True)
        if done.returncode not in statuses:
            raise RuntimeError(f"spiece {arguments}: {done.stderr.decode(errors='replace')}")
        return done.stdout

    def ids(self, model, lines):
        """The ids of lines."""
        text = b"".join(line + b"\n" for line in lines)
        out = self.run("encode", f"--model={model}", "--output_format=id", text=text)
        return [[int(id) for id in line.split()] for line in out.decode().split("\n")[:-1]]


class PageTest:
    """A page in a browser, and what is checked on it."""

    def __init__(self, program, browser, folder, screenshots):
        self.program = program
        self.browser = browser
        self.folder = Path(folder)
        self.screenshots = screenshots
        self.checks = Checks()

    def wait_for(self, condition, seconds=10):
        """Waits until a condition holds in the page."""
        limit = time.monotonic() + seconds
        while not self.browser.run(f"return {condition}"):
            if time.monotonic() > limit:
                return self.checks.check(False, f"in the page: {condition}")
            time.sleep(0.03)
        return self.checks.check(True, condition)

    def check_console(self, name):
        self.checks.equal(self.browser.console_messages(), [], f"{name}: console")

    def check_phone(self, name):
        """A narrow page is not scrolled horizontally."""
        self.browser.set_width(PHONE_WIDTH)
        width = self.browser.run("return document.documentElement.scrollWidth")
        self.checks.check(width <= PHONE_WIDTH, f"{name}: {width} pixels wide on a phone")
        self.browser.set_width(1280)

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

    def take_screenshots(self, name):
        """The page in both schemes, and on a phone."""
        if not self.screenshots:
            return
        folder = Path(self.screenshots)
        folder.mkdir(parents=True, exist_ok=True)
        for scheme, width, height in (("light", 1280, 1800), ("dark", 1280, 1800), ("light", PHONE_WIDTH, 1600)):
            self.browser.set_scheme(scheme)
            self.browser.set_width(width, height)
            self.browser.screenshot(folder / f"{name}_{scheme}_{width}.png")
        self.browser.set_scheme("light")
        self.browser.set_width(1280)


def parser(description):
    """The flags that all tests have."""
    made = argparse.ArgumentParser(description=description.split("\n")[0])
    made.add_argument("--spiece", default=ROOT / "target/release/spiece", help="the program")
    made.add_argument("--screenshots", help="write screenshots into this folder")
    return made


def run_in_browser(make_test):
    """Runs the test that is made of a browser and a folder; the exit status."""
    missing = missing_program()
    if missing:
        print(f"skipped: {missing} is not installed (Debian: apt-get install chromium chromium-driver)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        browser.set_width(1280)
        test = make_test(browser, folder)
        test.run()
    return test.checks.report()
