"""A headless Chromium, driven through chromedriver by the W3C WebDriver protocol."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

PROGRAMS = {"chromium": "chromium", "chromedriver": "chromium-driver"}
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
PATIENCE_SECONDS = 60


def missing():
    """A line for each program that is not there, with the Debian package that brings it."""
    return [f"{program}: Debian package {package}"
            for program, package in PROGRAMS.items() if shutil.which(program) is None]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Browser:
    """One window. Methods wait until a page has been loaded; they raise RuntimeError when asked
    for what there is not."""

    def __init__(self, log, width=1500, height=1900):
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        with open(log, "wb") as output:
            self.driver = subprocess.Popen(
                ["chromedriver", f"--port={port}"], stdout=output, stderr=subprocess.STDOUT)
        self.session = ""
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", f"--window-size={width},{height}"]
        wanted = {"goog:chromeOptions": {"args": arguments},
                  "goog:loggingPrefs": {"browser": "ALL"}}
        until = time.monotonic() + PATIENCE_SECONDS
        while not self.session:
            try:
                answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
                self.session = f"/session/{answer['sessionId']}"
            except urllib.error.URLError:
                if time.monotonic() > until or self.driver.poll() is not None:
                    self.driver.kill()
                    raise RuntimeError(f"chromedriver does not start: {log}") from None
                time.sleep(0.2)

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            said = json.load(error)["value"]
            raise RuntimeError(f"{said['error']}: {said['message'].splitlines()[0]}") from None

    def open(self, address):
        self._call("POST", f"{self.session}/url", {"url": address})

    def address(self):
        return self._call("GET", f"{self.session}/url")

    def run(self, script, *arguments):
        """What a script in the page returns."""
        return self._call(
            "POST", f"{self.session}/execute/sync", {"script": script, "args": list(arguments)})

    def _find(self, xpath):
        found = self._call(
            "POST", f"{self.session}/element", {"using": "xpath", "value": xpath})
        return f"{self.session}/element/{found[ELEMENT]}"

    def click(self, xpath):
        element = self._find(xpath)
        # Spark's scroll buttons lie over the right end of a page.
        self.run("arguments[0].scrollIntoView({block: 'center'})",
                 {ELEMENT: element.rsplit("/", 1)[1]})
        self._call("POST", f"{element}/click", {})

    def write(self, xpath, text):
        """Puts a text into a field, sends its form and waits for the page that answers."""
        element = self._find(xpath)
        self.run("window.isThePageBefore = true")
        self._call("POST", f"{element}/clear", {})
        self._call("POST", f"{element}/value", {"text": text + "\ue007"})
        until = time.monotonic() + PATIENCE_SECONDS
        # Unlike a click, a key does not wait for what it leads to.
        while not self.run("return window.isThePageBefore === undefined"
                           " && document.readyState === 'complete'"):
            if time.monotonic() > until:
                raise RuntimeError(f"no page answers the form of {xpath}")
            time.sleep(0.1)

    def is_shown(self, xpath):
        return self._call("GET", f"{self._find(xpath)}/displayed")

    def errors(self):
        """What the page has complained of since the last call."""
        entries = self._call("POST", f"{self.session}/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def screenshot(self, file):
        Path(file).write_bytes(base64.b64decode(self._call("GET", f"{self.session}/screenshot")))

    def close(self):
        try:
            self._call("DELETE", self.session)
        finally:
            self.driver.terminate()
            self.driver.wait(30)
