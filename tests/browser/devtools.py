"""Headless Chromium for tests, over its debugging pipe: no package is needed and no port is open.

    with Browser() as browser:
        page = browser.page(url, width=1440, height=900, dark=True)
        page.wait_for("document.title.includes('ready')")
        page.evaluate("document.body.scrollWidth")
        page.screenshot("page.png")
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp()
        to_browser, self.to = os.pipe()
        self.back, from_browser = os.pipe()

        def as_three_and_four():  # where Chromium looks for the pipe; first out of the way of both
            high = [os.dup2(to_browser, 60), os.dup2(from_browser, 61)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        words = [find_browser(), "--headless", "--disable-gpu", "--disable-background-networking", "--hide-scrollbars",
                 "--remote-debugging-pipe", f"--user-data-dir={self.profile}", "about:blank"]
        if os.geteuid() == 0:
            words.insert(1, "--no-sandbox")  # Chromium refuses its sandbox to root
        self.process = subprocess.Popen(words, preexec_fn=as_three_and_four, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.read, self.number = b"", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._next()
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]

    def _next(self):
        while b"\0" not in self.read:
            more = os.read(self.back, 1 << 16)
            if not more:
                raise RuntimeError("the browser has ended")
            self.read += more
        text, self.read = self.read.split(b"\0", 1)
        return json.loads(text)

    def page(self, url, width=1366, height=768, dark=False):
        return Page(self, url, width, height, dark)


class Page:
    def __init__(self, browser, url, width, height, dark):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.size(width, height, dark)
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def size(self, width, height, dark=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def evaluate(self, script):
        reply = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(f"{script}: {reply['exceptionDetails']}")
        return reply["result"].get("value")

    def wait_for(self, script, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.evaluate(f"Boolean({script})"):
                    return
            except RuntimeError:  # the page is not there yet
                pass
            time.sleep(0.05)
        raise TimeoutError(f"not within {seconds} s: {script}")

    def move_mouse(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def screenshot(self, path, whole=False):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]))
