#!/usr/bin/env python3
"""The playground of the npm package in a browser, as a person uses it.

Usage: tests/browser/playground.py [--spiece PROGRAM] [--page FOLDER] [--screenshots FOLDER]

Needs wasm/build, chromium and chromedriver. Serves the folder from this machine, opens it in headless Chromium, and opens
files, types, drops, selects tokens by keys, compares two tokenizers and trains a model. Checks: the ids are those of
`spiece encode`, a trained model has the bytes of `spiece train`; nothing but the folder is requested, no console message, no
horizontal scrolling at 360 pixels, enough contrast in both colour schemes. Exit status 0 if all checks pass, 1 if one fails,
77 if a program is missing.
"""

import base64
import functools
import http.server
import sys
import threading
from pathlib import Path

sys.dont_write_bytecode = True

from pages import PHONE_WIDTH, ROOT, PageTest, Program, parser, run_in_browser  # noqa: E402

TEXT = "The right é漢 ½ x <s> 🙂"


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".js": "text/javascript", ".wasm": "application/wasm"}

    def log_message(self, *_):
        pass


class PlaygroundTest(PageTest):
    def __init__(self, options, browser, folder, address):
        super().__init__(Program(options.spiece), browser, folder, options.screenshots)
        self.address = address

    def open(self):
        """Opens the page, which loads its first example; only its own files are requested."""
        self.browser.requests()
        self.browser.open(self.address)
        foreign = [url for url in self.browser.requests() if not url.startswith((self.address, "data:"))]
        self.checks.equal(foreign, [], "requests of the page")
        self.check_console("the page")

    def rows(self):
        script = "return [...document.querySelectorAll('#counts tbody tr')].map((row) => [...row.cells].slice(0, 8).map((cell) => cell.textContent))"
        return self.browser.run(script)

    def shown_ids(self, side=0):
        text = self.browser.run("return document.querySelectorAll('.ids')[arguments[0]].textContent", side)
        return [int(id) for id in text.split()]

    def type_text(self, text):
        self.browser.run("const box = document.getElementById('text'); box.value = ''; box.focus();")
        self.browser.press(*text)
        self.wait_for(f"document.getElementById('text').value.length === {len(text.encode('utf-16-le')) // 2}")
        self.wait_for(f"document.getElementById('text-note').textContent.includes('{len(text.encode())} bytes')")

    def open_file(self, path, count):
        """Chooses a file, and waits until there are so many tokenizers."""
        self.browser.choose("#open", path)
        self.wait_for(f"document.querySelectorAll('#counts tbody tr').length === {count}")

    def check_typing(self):
        """What is typed is encoded as the program does."""
        model = ROOT / "testdata/golden/llama2.model"
        self.type_text(TEXT)
        ids = self.program.ids(model, [TEXT.encode()])[0]
        self.checks.equal(self.shown_ids(), ids, "ids of typed text")
        self.browser.click("#special")
        found = self.shown_ids()
        self.browser.click("#special")
        self.checks.check(1 in found and 1 not in ids, f"special tokens are found where they are allowed: {found}")

    def check_keyboard(self):
        """Tab reaches the tokens, arrow keys select them, the panel explains them, Escape closes it."""
        self.browser.run("document.querySelector('.tokens [tabindex=\"0\"]').focus()")
        self.browser.press("Home")
        ids = self.shown_ids()
        details = self.browser.run("return document.getElementById('details-content').textContent")
        self.checks.check(f"Id{ids[0]}Kind" in details and "Bytes" in details, f"the panel shows the first token: {details!r}")
        self.checks.check("Merges of its text" in details and "→" in details, f"the panel shows merges: {details!r}")
        self.browser.press("ArrowRight")
        details = self.browser.run("return document.getElementById('details-content').textContent")
        self.checks.check(f"Id{ids[1]}Kind" in details, f"the panel shows the second token: {details!r}")
        self.checks.equal(self.browser.run("return document.querySelectorAll('[aria-selected=true]').length"), 1, "selected tokens")
        visible = self.browser.run("return getComputedStyle(document.activeElement).outlineStyle")
        self.checks.equal(visible, "solid", "the focus is visible")
        self.take_screenshots("token")
        self.browser.set_width(PHONE_WIDTH)
        self.check_phone("the panel on a phone")
        self.browser.press("Escape")
        hidden = self.browser.run("return document.getElementById('details').hidden")
        self.checks.check(hidden, "Escape closes the panel")
        focused = self.browser.run("return document.activeElement.className")
        self.checks.check("token" in focused, f"the focus returns to the token: {focused}")

    def check_files(self):
        """A second tokenizer is opened and compared; files without a pattern and files that are none say what is wrong."""
        other = ROOT / "testdata/bytes/gpt2.json"
        self.open_file(other, 2)
        self.checks.equal(self.shown_ids(1), self.program.ids(other, [TEXT.encode()])[0], "ids of the second tokenizer")
        self.checks.check(any(int(row[6]) > 0 for row in self.rows()), "boundaries of one tokenizer are counted")
        marked = self.browser.run("return document.querySelectorAll('.token.only').length")
        self.checks.check(marked > 0, "boundaries of one tokenizer are marked")
        self.browser.choose("#open", ROOT / "testdata/bytes/gpt2.tiktoken")
        self.wait_for("document.getElementById('message').textContent.includes('pattern')")
        self.browser.run("document.getElementById('pattern').value = 'gpt2'")
        self.open_file(ROOT / "testdata/bytes/gpt2.tiktoken", 3)
        self.browser.run("document.getElementById('pattern').value = ''")
        self.browser.choose("#open", ROOT / "Cargo.toml")
        self.wait_for("document.getElementById('message').textContent.startsWith('Cargo.toml: ')")
        self.browser.run("document.querySelectorAll('#counts tbody button')[2].click()")
        self.wait_for("document.querySelectorAll('#counts tbody tr').length === 2")

    def check_drop(self):
        """A dropped text becomes the text; a long one is counted as a whole."""
        text = (ROOT / "testdata/udhr.txt").read_bytes()
        self.browser.run(
            "const [name, base64] = arguments;"
            "const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));"
            "const transfer = new DataTransfer(); transfer.items.add(new File([bytes], name));"
            "document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));",
            "udhr.txt",
            base64.b64encode(text).decode(),
        )
        self.wait_for(f"document.getElementById('text-note').textContent.replace(/\\u202f/g, '').includes('{len(text)} bytes')")
        model = ROOT / "testdata/bytes/gpt2.json"
        out = self.program.run("encode", f"--model={model}", "--output_format=id", "--document=file", text=text)
        tokens = int(self.rows()[1][3].replace("\u202f", ""))
        self.checks.equal(tokens, len(out.split()), "tokens of a dropped text")

    def check_training(self):
        """A model is trained, has the bytes of the program's, is opened, and can be downloaded."""
        corpus = ROOT / "testdata/udhr_small.txt"
        self.browser.choose("#train-files", corpus)
        for kind, flags in (("bpe", ["--hard_vocab_limit=false"]), ("byte_bpe", [])):
            before = len(self.rows())
            self.browser.run(
                "const [kind] = arguments; const type = document.getElementById('train-type'); type.value = kind;"
                "type.dispatchEvent(new Event('change')); document.getElementById('train-size').value = 400;",
                kind,
            )
            self.browser.click("#train-start")
            self.wait_for(f"document.querySelectorAll('#counts tbody tr').length === {before + 1}", seconds=60)
            prefix = self.folder / kind
            self.program.run("train", "--quiet", f"--input={corpus}", f"--model_prefix={prefix}", f"--model_type={kind}", "--vocab_size=400", *flags)
            ending = ".json" if kind == "byte_bpe" else ".model"
            name = self.browser.run("return document.getElementById('train-download').download")
            self.checks.check(name.endswith(ending), f"the download is named {name}")
            line = corpus.read_bytes().split(b"\n")[0]
            self.type_text("a")
            self.browser.run("const box = document.getElementById('text'); box.value = arguments[0]; box.dispatchEvent(new Event('input'))", line.decode())
            self.wait_for(f"document.getElementById('text-note').textContent.includes('{len(line)} bytes')")
            expected = self.program.ids(prefix.with_suffix(ending), [line])[0]
            self.checks.equal(self.shown_ids(before), expected, f"ids of the trained {kind}")
        status = self.browser.run("return document.getElementById('train-status').textContent")
        self.checks.check("Trained in" in status, f"the status of the training: {status}")

    def run(self):
        self.open()
        self.check_typing()
        self.check_keyboard()
        self.check_files()
        self.check_phone("two tokenizers")
        self.check_contrast("two tokenizers")
        self.take_screenshots("two")
        self.check_drop()
        self.open()
        self.check_training()
        self.take_screenshots("trained")
        self.check_console("at the end")


def main():
    flags = parser(__doc__)
    flags.add_argument("--page", default=ROOT / "target/playground", help="the folder that wasm/build wrote")
    options = flags.parse_args()
    handler = functools.partial(QuietHandler, directory=str(options.page))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_address[1]}/"
        status = run_in_browser(lambda browser, folder: PlaygroundTest(options, browser, folder, address))
        server.shutdown()
    return status


if __name__ == "__main__":
    sys.exit(main())
