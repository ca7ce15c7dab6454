"""A real browser, spoken to over its own protocol: for tests of the page and pictures of it."""

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
from collections import deque
from pathlib import Path

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    "--remote-debugging-port=0",
)
KEYS = {
    "ArrowRight": 39,
    "ArrowLeft": 37,
    "ArrowDown": 40,
    "ArrowUp": 38,
    "Home": 36,
    "End": 35,
    "Enter": 13,
    "Tab": 9,
    "Escape": 27,
    " ": 32,
}
TROUBLE = {"Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"}
PATIENCE = 20.0  # seconds: two busy cores may take long to start a browser


class Browser:
    """A tab: it loads pages, presses keys, runs expressions, and remembers all that happened."""

    def __init__(self, socket):
        self._socket = socket
        self._ids = itertools.count(1)
        self._events = deque()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        """Send a command, and return its result."""
        own = next(self._ids)
        self._socket.send(json.dumps({"id": own, "method": method, "params": parameters}))
        while (message := json.loads(self._socket.recv())).get("id") != own:
            self._events.append(message)
        if "error" in message:
            raise RuntimeError(f"{method}: {message['error']['message']}")
        return message["result"]

    def _until(self, method):
        """Take in what happens until a certain thing does."""
        seen = len(self._events)
        while all(it.get("method") != method for it in itertools.islice(self._events, seen, None)):
            self._events.append(json.loads(self._socket.recv()))

    def load(self, url, *, scripts=True):
        """Show a page, with nothing remembered of what came before."""
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self._events.clear()
        self.call("Page.navigate", url=url)
        if all(it.get("method") != "Page.loadEventFired" for it in self._events):
            self._until("Page.loadEventFired")
        if scripts:
            self.run("new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)))")
        self.call("Emulation.setScriptExecutionDisabled", value=False)

    def run(self, expression):
        """Return what an expression is in the page."""
        reply = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in reply:
            raise RuntimeError(reply["exceptionDetails"]["exception"]["description"])
        return reply["result"].get("value")

    def press(self, key, times=1, modifiers=0):
        """Press a key, as fingers do."""
        code = KEYS.get(key, ord(key.upper()[0]))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        event = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        for _ in range(times):
            down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.call("Input.dispatchKeyEvent", **event, **down)
            self.call("Input.dispatchKeyEvent", **event, type="keyUp")

    def type(self, text):
        """Write a text where the cursor is."""
        self.call("Input.insertText", text=text)

    def click(self, selector):
        """Click in the middle of an element, wherever it is."""
        x, y = self.run(
            f"""(() => {{
                const it = document.querySelector({json.dumps(selector)});
                it.scrollIntoView({{block: "center", behavior: "instant"}});
                const box = it.getBoundingClientRect();
                return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        at = {"x": x, "y": y, "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", **at)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", **at)

    def before_load(self, script):
        """Run a script in every page that is loaded from now on; return how to end that."""
        own = self.call("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        return lambda: self.call("Page.removeScriptToEvaluateOnNewDocument", identifier=own)

    def give_file(self, selector, text, name="decisions.csv"):
        """Put a text or bytes into a field for files, as if somebody had chosen a file."""
        data = text if isinstance(text, bytes) else text.encode()
        self.run(
            f"""(() => {{
                const bytes = Uint8Array.from(atob({json.dumps(base64.b64encode(data).decode())}),
                    letter => letter.charCodeAt(0));
                const files = new DataTransfer();
                files.items.add(new File([bytes], {json.dumps(name)}));
                const field = document.querySelector({json.dumps(selector)});
                field.files = files.files;
                field.dispatchEvent(new Event("change"));
            }})()"""
        )
        self.run("new Promise(done => setTimeout(done, 60))")

    def saved_file(self, selector):
        """Click on something that saves a file, and return its name and its bytes."""
        self.run(
            """window.__saved = new Promise(done => {
                const make = URL.createObjectURL;
                URL.createObjectURL = (blob) => {
                    URL.createObjectURL = make;
                    HTMLAnchorElement.prototype.click = function () {
                        delete HTMLAnchorElement.prototype.click;
                        const reader = new FileReader();
                        reader.onload = () => done([this.download, reader.result.split(",")[1]]);
                        reader.readAsDataURL(blob);
                    };
                    return make.call(URL, blob);
                };
            }); 0"""
        )
        self.click(selector)
        name, data = self.run("window.__saved")
        return name, base64.b64decode(data)

    def resize(self, width, height=900, *, mobile=False):
        """Change the size of the window."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def prefer(self, **features):
        """Set what a reader prefers, such as ``colour="dark"`` or ``motion="reduce"``."""
        names = {"colour": "prefers-color-scheme", "motion": "prefers-reduced-motion"}
        wanted = [{"name": names[name], "value": value} for name, value in features.items()]
        self.call("Emulation.setEmulatedMedia", features=wanted)

    def picture(self, path, *, whole=True):
        """Save what is to be seen."""
        reply = self.call(
            "Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole)
        )
        Path(path).write_bytes(base64.b64decode(reply["data"]))

    def _clip(self, whole):
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "scale": 1, **{k: size[k] for k in ("width", "height")}}}

    @property
    def trouble(self):
        """What the console says: errors, warnings, anything."""
        self.run("0")
        return [it["params"] for it in self._events if it.get("method") in TROUBLE]

    @property
    def requests(self):
        """The addresses that the page asked for."""
        self.run("0")
        sent = (it for it in self._events if it.get("method") == "Network.requestWillBeSent")
        return [it["params"]["request"]["url"] for it in sent]


@contextlib.contextmanager
def started():
    """Start a browser, and end it; skip the tests if there is none."""
    websocket = pytest.importorskip(
        "websocket", reason="a browser is spoken to by websocket-client"
    )
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("there is no chromium to show the page")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        command = [program, *FLAGS, f"--user-data-dir={home}", "about:blank"]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            socket = websocket.create_connection(
                _address(Path(home), process), timeout=PATIENCE, suppress_origin=True
            )
            try:
                yield Browser(socket)
            finally:
                with contextlib.suppress(Exception):
                    Browser.call(_closing(socket), "Browser.close")
                socket.close()
        finally:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _closing(socket):
    tab = Browser.__new__(Browser)
    tab._socket, tab._ids, tab._events = socket, itertools.count(10**6), deque()
    return tab


def _address(home, process):
    """Return where the first tab listens."""
    from urllib.request import urlopen

    note, end = home / "DevToolsActivePort", time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        if note.exists() and (lines := note.read_text().split()):
            with urlopen(f"http://127.0.0.1:{lines[0]}/json/list", timeout=PATIENCE) as reply:
                tabs = [it for it in json.load(reply) if it["type"] == "page"]
            if tabs:
                return tabs[0]["webSocketDebuggerUrl"]
        time.sleep(0.05)
    pytest.skip("chromium did not start here")
