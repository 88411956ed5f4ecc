# SPDX-License-Identifier: MIT
"""A headless Chromium and its pages, driven by its DevTools protocol: JSON over two pipes."""

import base64
import itertools
import json
import os
import select
import subprocess
import tempfile
import time
from pathlib import Path

from suite import PATIENCE_S, expect
from labkit import Failed

CHROMIUM = Path("/usr/lib/chromium/chromium-headless-shell")


class Browser:
    """Its pages live as long as it does."""

    def __init__(self):
        self.place = tempfile.TemporaryDirectory(prefix="rfm-browser-")
        commands, self.to = os.pipe()
        self.answers, events = os.pipe()
        # Its ends must be 3 and 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{commands} 4>&{events}', "sh", CHROMIUM, "--no-sandbox", "--disable-gpu",
             "--remote-debugging-pipe", f"--user-data-dir={self.place.name}", "--no-first-run", "about:blank"],
            pass_fds=(commands, events), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(commands)
        os.close(events)
        self.numbers = itertools.count(1)
        self.rest = b""
        self.requested = []         # the address of everything that any page has asked for

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(PATIENCE_S)
        os.close(self.to)
        os.close(self.answers)
        self.place.cleanup()

    def message(self, end):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            more = os.read(self.answers, 1 << 20) if ready else b""
            expect(more, "the browser says nothing")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, session=None, **params):
        number = next(self.numbers)
        call = {"id": number, "method": method, "params": params}
        if session:
            call["sessionId"] = session
        os.write(self.to, json.dumps(call).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while True:
            message = self.message(end)
            if message.get("method") == "Network.requestWillBeSent":
                self.requested.append(message["params"]["request"]["url"])
            if message.get("id") != number:
                continue
            if "error" in message:
                raise Failed(f"{method}: {message['error']['message']}")
            return message["result"]


class Page:
    def __init__(self, browser, address, width=1920, height=1080, scheme="light"):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.call("Network.enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=address)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def resize(self, width, height=1080):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def run(self, script):
        """The value of an expression in the page."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        expect("exceptionDetails" not in done, f"{script}: {done.get('exceptionDetails')}")
        return done["result"].get("value")

    def text(self, selector):
        """What stands there, or None if there is nothing of that kind."""
        return self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]
        Path(path).write_bytes(base64.b64decode(data))

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)
