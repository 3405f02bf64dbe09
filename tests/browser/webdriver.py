"""A headless Chromium, driven through chromedriver by the WebDriver protocol (https://www.w3.org/TR/webdriver2/).

Job: open local pages, run scripts in them, press keys, and report console messages and requests. Input: the programs
chromium and chromedriver. Needs the standard library only.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

BROWSERS = ["chromium", "chromium-browser", "google-chrome"]
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
]
ELEMENT_KEY = "element-6066-11e4-a52e-4f735466cecf"
# Keys that are no characters, as the protocol encodes them.
KEYS = {
    "Tab": "\ue004",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "End": "\ue010",
    "Home": "\ue011",
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
}


def missing_program():
    """What must be installed; None if nothing."""
    if not find_browser():
        return "chromium"
    return None if shutil.which("chromedriver") else "chromedriver"


def find_browser():
    """The path of the browser."""
    paths = [shutil.which(name) for name in BROWSERS]
    return next((path for path in paths if path), None)


class Browser:
    """A session. Use it in a `with` statement, which ends the session and both programs."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        command = [shutil.which("chromedriver"), "--port=0"]
        self.driver = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.address = f"http://127.0.0.1:{self.read_port()}"
        self.session = None
        options = {"binary": find_browser(), "args": [*FLAGS, f"--user-data-dir={self.folder}"]}
        capabilities = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        created = self.call("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self.session = created["sessionId"]

    def read_port(self):
        """The port that chromedriver has chosen."""
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                return int(line.split("on port")[1].strip(" .\n"))
        raise RuntimeError("chromedriver has not started")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.command("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()
            shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, path, body=None):
        """A request to chromedriver; the value of its answer."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(self.address + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(json.load(error)["value"]["message"]) from None

    def command(self, method, path, body=None):
        """A command of the session."""
        return self.call(method, f"/session/{self.session}{path}", body)

    def open(self, page):
        """Opens a page, a file or an address, and waits until its script, if it has one, has filled it."""
        url = page if str(page).startswith("http://") else "file://" + os.path.abspath(page)
        self.command("POST", "/url", {"url": url})
        limit = time.monotonic() + 30
        is_ready = "document.scripts.length > 0 ? document.documentElement.dataset.ready === 'true' : document.readyState === 'complete'"
        while not self.run(f"return {is_ready}"):
            if time.monotonic() > limit:
                raise RuntimeError(f"{page}: the page is not ready: {self.console_messages()}")
            time.sleep(0.05)

    def run(self, script, *arguments):
        """Runs a script in the page; its `return` value."""
        return self.command("POST", "/execute/sync", {"script": script, "args": arguments})

    def devtools(self, name, **parameters):
        """A command of the DevTools protocol."""
        return self.command("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def press(self, *keys):
        """Presses keys, one after another: names of `KEYS`, or characters."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        keyboard = {"type": "key", "id": "keyboard", "actions": actions}
        self.command("POST", "/actions", {"actions": [keyboard]})

    def click(self, selector):
        """Clicks the first element that a CSS selector finds."""
        found = self.command("POST", "/element", {"using": "css selector", "value": selector})
        self.command("POST", f"/element/{found[ELEMENT_KEY]}/click", {})

    def choose(self, selector, path):
        """Chooses a file in the input that a CSS selector finds."""
        found = self.command("POST", "/element", {"using": "css selector", "value": selector})
        self.command("POST", f"/element/{found[ELEMENT_KEY]}/value", {"text": str(path)})

    def set_width(self, width, height=800):
        """Gives the page a size in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.devtools("Emulation.setDeviceMetricsOverride", **size)

    def set_scheme(self, scheme):
        """Prefers the colour scheme `light` or `dark`."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def console_messages(self):
        """The messages of the console since the last call, violations of the policy included."""
        return [entry["message"] for entry in self.command("POST", "/se/log", {"type": "browser"})]

    def requests(self):
        """The addresses that were requested since the last call."""
        entries = self.command("POST", "/se/log", {"type": "performance"})
        events = [json.loads(entry["message"])["message"] for entry in entries]
        sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
        # The browser's own first page, with its frames, may still be loading.
        own = ("chrome://", "chrome-untrusted://")
        return [request["request"]["url"] for request in sent if not request["documentURL"].startswith(own)]

    def screenshot(self, path):
        """Writes what the page shows as PNG."""
        image = self.command("GET", "/screenshot")
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))
