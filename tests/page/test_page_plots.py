# SPDX-License-Identifier: Apache-2.0
"""Every picture of `raceline plot` and `raceline diff` as Chromium shows it: words can be read, legends cover no data."""
import base64
import concurrent.futures
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from browser import PROGRAM, SCREENSHOTS, SOURCE, stored_text, the_browser

H200 = "receipts/h200"
# Every type; of the roofline and of comparisons also what has many kernels, shapes and peers.
PICTURES = {
    "roofline": ["plot", "roofline", *(f"{H200}/2026-11-23-{kernel}-training-16k-4b2ec0278ce6.jsonl.gz"
                                       for kernel in ("prefill_mma", "prefill_sm90", "prefill_sm90_fp8"))],
    # Entries of legends that are longer than a line.
    "roofline-datasheet": ["plot", "roofline", "receipts/h100-sxm/2026-11-23-prefill_sm90-training-16k-be8691d8caad.jsonl.gz"],
    "sweep-tiles": ["plot", "sweep", f"{H200}/2026-11-23-prefill_sm90_fp8-lengths-4b2ec0278ce6.jsonl.gz"],
    "roofline-cpu": ["plot", "roofline", "receipts/cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz",
                     "receipts/cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz"],
    "roofline-many": ["plot", "roofline", f"{H200}/2026-11-21-ladder-12c3875edbd2.jsonl.gz",
                      "tests/data/from-scratch-5ea677882833.jsonl"],
    # Of two kernels at many commits.
    "roofline-commits": ["plot", "roofline", f"{H200}/2026-11-21-ladder-12c3875edbd2.jsonl.gz",
                         f"{H200}/2026-11-21-from-scratch-12c3875edbd2.jsonl.gz", "tests/data/from-scratch-5ea677882833.jsonl",
                         *(str(file.relative_to(SOURCE)) for kind in ("compare", "training")
                           for file in sorted(pathlib.Path(SOURCE).glob(f"{H200}/*-{kind}-*.jsonl.gz")))],
    "compare": ["plot", "compare", f"{H200}/2026-11-23-compare-4b2ec0278ce6.jsonl.gz"],
    "compare-many": ["plot", "compare", f"{H200}/2026-11-22-compare-prefill_mma-4780f87e724b.jsonl.gz",
                     f"{H200}/2026-11-22-compare-spread-3d1ff90bf28f.jsonl.gz",
                     f"{H200}/2026-11-22-compare-spread-prefill_mma-9065707500a7.jsonl.gz",
                     f"{H200}/2026-11-23-compare-4b2ec0278ce6.jsonl.gz", f"{H200}/2026-11-23-compare-decode_sm90-b29739d91fca.jsonl.gz",
                     f"{H200}/2026-11-23-compare-e4m3-4b2ec0278ce6.jsonl.gz"],
    # Of one library on two CPUs, whose names are long.
    "compare-cpu": ["plot", "compare", "receipts/cpu/2026-11-21-torch-5ea677882833.jsonl.gz",
                    "receipts/cpu/2026-11-21-torch-d1ca717f26ff.jsonl.gz"],
    "trajectory": ["plot", "trajectory", f"{H200}/2026-11-21-ladder-12c3875edbd2.jsonl.gz"],
    "ladder": ["plot", "ladder", "--track", "decode", f"{H200}/2026-11-21-ladder-12c3875edbd2.jsonl.gz"],
    "scorecard": ["plot", "scorecard"],
    "sweep": ["plot", "sweep", f"{H200}/2026-11-23-prefill_sm90-training-16k-4b2ec0278ce6.jsonl.gz"],
    "diff": ["diff", f"{H200}/2026-11-21-from-scratch-12c3875edbd2.jsonl.gz", "tests/data/from-scratch-5ea677882833.jsonl"],
}


# The receipt of each device alone that holds most: each is a picture that somebody will ask for. All of them in a browser
# would take longer than the four minutes of CI: tests/plot/roofline_words_test.cpp places the words of every receipt
# without one.
TIMED = [file for file in sorted(pathlib.Path(SOURCE).resolve().glob("receipts/*/2*.jsonl*"), key=lambda file: (len(stored_text(file)), file))
         if any(f'"kind":"{kind}"' in stored_text(file) for kind in ("measurement", "comparison"))]
ROOFLINES = {f"roofline of {file.parent.name}": ["plot", "roofline", str(file.relative_to(pathlib.Path(SOURCE).resolve()))] for file in TIMED}

# Words with the corners of their boxes in pixels, those that run along a line too.
WORDS = """return [...document.querySelectorAll('text')].filter(t => t.textContent.trim()).map(t => {
    const b = t.getBBox(), m = t.getScreenCTM();
    return [t.textContent.trim(), [[b.x, b.y], [b.x + b.width, b.y], [b.x + b.width, b.y + b.height], [b.x, b.y + b.height]]
        .map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f])]; });"""
# Data: marks are uses of the symbols gpPt1 and so on.
MARKS = """return [...document.querySelectorAll('use')].map(u => { const r = u.getBoundingClientRect();
    return [(r.left + r.right) / 2, (r.top + r.bottom) / 2]; });"""


def run(words):
    return subprocess.run([PROGRAM, *words], cwd=SOURCE, capture_output=True, text=True, env={**os.environ, "TERM": "dumb"})


def shrunk(corners, slack=2.5):
    """A box without the white that a font leaves around its letters."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners
    wide, high = math.hypot(x1 - x0, y1 - y0), math.hypot(x3 - x0, y3 - y0)
    right, down = ((x1 - x0) / wide, (y1 - y0) / wide), ((x3 - x0) / high, (y3 - y0) / high)
    x, y, a, b = (x0 + x2) / 2, (y0 + y2) / 2, max(wide - slack, 0) / 2, max(high - slack, 0) / 2
    return [(x + s * a * right[0] + t * b * down[0], y + s * a * right[1] + t * b * down[1])
            for s, t in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def overlaps(one, other):
    """Whether no line along a side of either parts the two boxes."""
    # Words on a white ground are written twice, the first time for the ground.
    if one == other:
        return False
    boxes = [shrunk(one[1]), shrunk(other[1])]
    for box in boxes:
        for (x0, y0), (x1, y1) in zip(box, box[1:]):
            along = [[(y1 - y0) * x + (x0 - x1) * y for x, y in some] for some in boxes]
            if max(along[0]) <= min(along[1]) or max(along[1]) <= min(along[0]):
                return False
    return True


@unittest.skipUnless(subprocess.run(["which", "gnuplot"], capture_output=True).returncode == 0, "no gnuplot in PATH")
class Plots(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = the_browser()
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = {name: pathlib.Path(cls.folder.name) / f"{name}.svg" for name in [*PICTURES, *ROOFLINES]}
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            cls.drawn = dict(zip(cls.files, pool.map(
                lambda name: run([*(PICTURES.get(name) or ROOFLINES[name]), "-o", cls.files[name], "--keep-script"]), cls.files)))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def draw(self, name):
        """Opens a picture at its own size and keeps it as a screenshot."""
        file = self.files[name]
        self.assertEqual(self.drawn[name].returncode, 0, self.drawn[name].stderr)
        driver = self.browser.driver
        driver.get(file.as_uri())
        width, height = map(round, self.browser.get("document.documentElement.getAttribute('viewBox').split(' ').slice(2).map(Number)"))
        self.browser.look(width, height=height)
        self.assertGreater(len(self.browser.do(MARKS)), 4, f"{name} holds no marks")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        taken = driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        (SCREENSHOTS / f"plot-{name}.png").write_bytes(base64.b64decode(taken["data"]))
        return width, height

    def test_words_can_be_read(self):
        for name in [*PICTURES, *ROOFLINES]:
            with self.subTest(name):
                width, height = self.draw(name)
                words = self.browser.do(WORDS)
                self.assertGreater(len(words), 8)
                for text, corners in words:
                    self.assertTrue(all(-1 < x < width + 1 and -1 < y < height + 1 for x, y in corners), text)
                # gnuplot leaves out a legend that has no room, without a word.
                script = pathlib.Path(f"{self.files[name]}.gp").read_text()
                titles = {title.replace("''", "'") for title in re.findall(r"title '((?:[^']|'')+)'", script)}
                self.assertEqual(titles - {text for text, _ in words}, set())
                covered = [(a[0], b[0]) for i, a in enumerate(words) for b in words[i + 1:] if overlaps(a, b)]
                self.assertEqual(covered, [])

    def test_legends_cover_no_data(self):
        for name in ("roofline-many", "compare-many", "roofline", "roofline-datasheet", "compare", "sweep", "sweep-tiles"):
            with self.subTest(name):
                self.draw(name)
                words = self.browser.do(WORDS)
                titles = [word for word in words if "left to" in word[0] or word[0] in ("cuDNN", "FlashInfer", "measured")
                          or word[0].startswith(("prefill_sm90", "at ", "FlashAttention"))]
                self.assertGreater(len(titles), 1)
                marks = self.browser.do(MARKS)
                self.assertGreater(len(marks), 20)
                for x, y in marks:
                    for text, [(left, top), _, (right, bottom), _] in titles:
                        self.assertFalse(left < x < right and top < y < bottom, (text, x, y))

    def test_other_formats_and_the_terminal(self):
        folder = pathlib.Path(self.folder.name)
        # One script serves all formats: of two pictures these are tried, and in the terminal every type.
        asked = [[*PICTURES[name], "-o", folder / f"{name}.{ending}", "--keep-script"] for name in ("roofline", "compare") for ending in ("png", "pdf")]
        terminal = [PICTURES[name] for name in ("roofline-cpu", "compare", "trajectory", "ladder", "sweep")]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            done = list(pool.map(run, [*asked, *terminal]))
        for words, one in zip([*asked, *terminal], done, strict=True):
            self.assertEqual(one.returncode, 0, (words, one.stderr))
        for words in asked:
            file = words[-2]
            self.assertTrue(file.read_bytes().startswith(b"\x89PNG" if file.suffix == ".png" else b"%PDF"), file)
            self.assertTrue((folder / f"{file.name}.gp").read_text().startswith("# Draws"))
        for words, one in zip(terminal, done[len(asked):], strict=True):
            self.assertGreater(len(one.stdout.splitlines()), 20, words)


if __name__ == "__main__":
    unittest.main()
