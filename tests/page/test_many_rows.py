# SPDX-License-Identifier: Apache-2.0
"""Pages of ten thousand rows. How fast one opens is judged, so nothing else runs beside: tests/page/in_browser.py."""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from browser import SOURCE, report, the_browser

COUNT = 10000


def write_many(folder, suite):
    """Receipts of so many rows of drawn shapes, no two of which are alike, and their page."""
    files = [str(file.relative_to(SOURCE)) for file in sorted(pathlib.Path(SOURCE).glob(f"receipts/h200/*-{suite}-*.jsonl.gz"))]
    receipts, page = (pathlib.Path(folder) / f"{suite}.{ending}" for ending in ("jsonl", "html"))
    subprocess.run([os.environ["MANY_ROWS"], receipts, str(COUNT), *files, "--suite", suite], cwd=SOURCE, check=True)
    done = report(page, receipts)
    assert done.returncode == 0, done.stderr
    return receipts, page


class ManyRows(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            suites = ("serving", "random")  # ragged batches name the length of every sequence; all types, masks, caches and kernels
            cls.written = dict(zip(suites, pool.map(lambda suite: write_many(folder.name, suite), suites)))
        cls.browser = the_browser()
        cls.browser.look()

    def check_rows(self, receipts):
        rows = [json.loads(line) for line in receipts.read_text().splitlines()]
        self.assertEqual(len(rows), COUNT)
        # Real predictions, each of its own: a few that are repeated would compress to nothing.
        predictions = [json.dumps(row["prediction"]["layer1"]) for row in rows if row["kind"] == "prediction"]
        self.assertEqual(len(predictions), COUNT // 2)
        self.assertGreater(len(set(predictions)), 0.97 * len(predictions))
        self.assertEqual(len({row["measurement"]["seconds_median"] for row in rows if row["kind"] == "measurement"}), COUNT // 2)

    def test_ragged_batches(self):
        receipts, page = self.written["serving"]
        self.check_rows(receipts)
        browser, size = self.browser, page.stat().st_size
        began = time.monotonic()
        browser.open(page)
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        opened = time.monotonic() - began
        browser.see("scorecard-chart", "raceline.page.charts['scorecard-chart'].view")
        cases = browser.get("raceline.page.data.cases.length")
        print(f"\n10,000 rows: {size / 1e6:.1f} MB, {cases} cases, opens and shows its roofline in {opened:.1f} s")
        self.assertEqual(cases, 5000)
        self.assertEqual(browser.get("raceline.page.data.files[0].findings.filter(f => !f[1].includes('dirty'))"), [])
        self.assertEqual(browser.complaints(), [])
        self.assertLess(size, 6e6)
        self.assertLess(opened, 3)

    def test_random_shapes(self):
        receipts, page = self.written["random"]
        self.check_rows(receipts)
        browser, size = self.browser, page.stat().st_size
        print(f"\n10,000 rows of random suites: {size / 1e6:.1f} MB")
        self.assertLess(size, 6e6)
        browser.open(page)
        # The rows are there as they stand in the file.
        lines = receipts.read_text().splitlines()
        browser.driver.set_script_timeout(30)
        asked = [1, 2, 777, 5000, 9999, 10000]
        texts = browser.driver.execute_async_script("""const [asked, done] = arguments;
            (async () => { const texts = []; for (const line of asked) texts.push(await raceline.rowText(0, line)); done(texts); })();""", asked)
        self.assertEqual(texts, [lines[line - 1] for line in asked])
        self.assertIsNone(browser.driver.execute_async_script("raceline.rowText(0, 10001).then(text => arguments[0](text ?? null))"))


if __name__ == "__main__":
    unittest.main()
