# SPDX-License-Identifier: Apache-2.0
"""Debian's Chromium on a page of `raceline report --html`, driven by selenium, without a network."""
import atexit
import base64
import functools
import gzip
import json
import math
import os
import pathlib
import subprocess
import tempfile
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

PROGRAM = os.environ.get("RACELINE", "build/raceline")
SOURCE = os.environ.get("RACELINE_SOURCE", ".")
SCREENSHOTS = pathlib.Path(os.environ.get("SCREENSHOTS", "build/page_screenshots"))


def stored_text(path):
    """The text of a receipt file of the tree, which may be compressed."""
    content = (pathlib.Path(SOURCE) / path).read_bytes()
    return (gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content).decode()


def report(page, *receipts):
    """Writes a page; of the committed receipts if none are named."""
    return subprocess.run([PROGRAM, "report", "--html", str(page), *map(str, receipts)], cwd=SOURCE,
                          capture_output=True, text=True)


@functools.cache
def committed_page():
    """The page of the committed receipts, which takes seconds to write: once for all tests (tests/page/in_browser.py)."""
    if written := os.environ.get("COMMITTED_PAGE"):
        return pathlib.Path(written)
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    page = pathlib.Path(folder.name) / "page.html"
    done = report(page)
    assert done.returncode == 0, done.stderr
    return page


@functools.cache
def the_browser():
    """One for all tests; each opens what it needs."""
    browser = Browser()
    atexit.register(browser.quit)
    return browser


# How many marks a chart of the page holds: shapes of an SVG, or of a canvas the pixels that are not its ground. They are
# read from a copy, as Chromium complains where those of what it draws are read twice.
MARKS_OF_CHART = """((id) => {
    const element = document.getElementById(id), canvas = element.querySelector("canvas");
    if (!canvas) return [...element.querySelectorAll("svg .mark-symbol path")].filter(p => p.getBoundingClientRect().width > 2).length;
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", {willReadFrequently: true});
    copy.drawImage(canvas, 0, 0);
    const pixels = new Uint32Array(copy.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return pixels.filter(pixel => pixel !== pixels[0]).length;
})(arguments[0])"""


def only_looks(test):
    """Marks a test that leaves its page as it was, but for what Browser.fresh() sets right."""
    test.only_looks = True
    return test


class Browser:
    def __init__(self):
        self.untouched = None
        options = webdriver.ChromeOptions()
        options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
        # In a container there is no namespace for a sandbox, and little shared memory.
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                         "--disable-background-networking", "--no-first-run", "--force-prefers-reduced-motion"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(
            options=options, service=Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")))

    def look(self, width=1280, theme="light", height=900):
        """The size of the window and the system's colours, as a phone has them below 500 pixels."""
        self.looked = (width, theme, height)
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": theme}]})

    def open(self, page):
        """Opens a page and waits until it shows everything; seconds."""
        self.untouched = None
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        began = time.monotonic()
        self.driver.get(pathlib.Path(page).resolve().as_uri())
        self.wait("document.documentElement.dataset.ready || !document.getElementById('failure').hidden")
        return time.monotonic() - began

    def fresh(self, page, test):
        """A page as it is when it was opened; one that the tests before only looked at is not opened again, which takes
        two seconds of a processor."""
        self.look()
        if self.untouched == page:
            self.do("""for (const open of document.querySelectorAll("dialog[open]")) open.close();
                       document.activeElement.blur(); scrollTo(0, 0);""")
            self.mouse(2, 2)
        else:
            self.open(page)
        only_looks = getattr(getattr(test, test._testMethodName), "only_looks", False)
        self.untouched = page if only_looks else None

    def do(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def get(self, expression, *arguments):
        return self.do(f"return {expression}", *arguments)

    def wait(self, condition, seconds=20):
        """Until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.get(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise AssertionError(f"still not so after {seconds} s: {condition}")
            time.sleep(0.02)

    def see(self, identity, condition="true"):
        """Scrolls to an element, as charts and the model wait to be seen, until a condition holds."""
        end = time.monotonic() + 20
        while True:
            # Again and again: what is drawn above moves it away.
            self.do("document.getElementById(arguments[0]).scrollIntoView({block: 'center'})", identity)
            if self.get(f"Boolean({condition})"):
                return
            if time.monotonic() > end:
                raise AssertionError(f"still not so after 20 s beside {identity}: {condition}")
            time.sleep(0.03)

    def complaints(self):
        """What the console says since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def requests(self):
        """Addresses that were asked for since the page was opened, but for the page itself."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return [url for url in found if not url.startswith("file://") and url != "data:,"]

    def mouse(self, x, y, kind="mouseMoved"):
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **button})

    def key(self, key, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code})

    def tab(self):
        """To the next control: a key that is held moves on as often as it is told, so that hundreds take seconds."""
        self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {
            "type": "rawKeyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9})

    def choose(self, identity, value):
        """What a reader does who picks a choice or types a value."""
        self.do("""const element = document.getElementById(arguments[0]);
                   element.value = arguments[1];
                   element.dispatchEvent(new Event("input", {bubbles: true}));
                   element.dispatchEvent(new Event("change", {bubbles: true}));""", identity, value)

    def marks(self, chart):
        """Waits until a chart is drawn, and says how many marks it holds and how often it was drawn."""
        self.see(chart, f"raceline.page.charts['{chart}'] && raceline.page.charts['{chart}'].view")
        points = self.get("raceline.page.charts[arguments[0]].points.length", chart)
        held = self.get(MARKS_OF_CHART, chart)
        assert points > 0 and held >= points, f"{chart} of {points} points holds {held} marks"
        return self.get("document.getElementById(arguments[0]).dataset.drawn", chart)

    def screenshot_with(self, charts, name, selector):
        """The same with charts that must be in it. One that is drawn anew while it is taken is empty for a moment:
        it is taken again."""
        for _ in range(5):
            before = [self.marks(chart) for chart in charts]
            self.screenshot(name, selector)
            if before == [self.marks(chart) for chart in charts]:
                return
        raise AssertionError(f"{charts} never stand still for {name}")

    def screenshot(self, name, selector=None):
        """The whole page, or one element of it, as a picture in the build folder."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.do("document.querySelector('nav').style.position = 'static'")
        place = """(s => { const r = (s ? document.querySelector(s) : document.documentElement).getBoundingClientRect();
            return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: Math.min(r.height, 12000)}; })(arguments[0])"""
        # In a window as high as the picture: a capture beyond the window changes its width for a moment, at which charts
        # are drawn anew, and may be missing.
        width, theme, height = self.looked
        self.look(width, theme, math.ceil(self.get(place, selector)["height"]))
        # Not into view: below the bar of links it would end below the window, where nothing is painted.
        self.do("scrollTo(0, arguments[0])", self.get(place, selector)["y"])
        taken = self.driver.execute_cdp_cmd("Page.captureScreenshot", {
            "format": "png", "optimizeForSpeed": True, "clip": {**self.get(place, selector), "scale": 1}})
        (SCREENSHOTS / f"{name}.png").write_bytes(base64.b64decode(taken["data"]))
        self.look(width, theme, height)

    def quit(self):
        self.driver.quit()
