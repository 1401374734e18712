# SPDX-License-Identifier: Apache-2.0
"""Pages of receipts that lack something, of two runs, and of ten thousand rows."""
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

from browser import SOURCE, Browser, report

QUICKSTART = "receipts/cpu/2026-11-22-quickstart-f13186e093fd.jsonl"
BEFORE = "receipts/h200/2026-11-21-from-scratch-12c3875edbd2.jsonl"
AFTER = "receipts/h200/2026-11-21-from-scratch-5ea677882833.jsonl"
LADDER = "receipts/h200/2026-11-21-ladder-12c3875edbd2.jsonl"
MISSING = "document.getElementById('missing-body').textContent"


def setUpModule():
    global browser
    browser = Browser()
    browser.look()


def tearDownModule():
    browser.quit()


class Receipts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = pathlib.Path(self.folder.name) / "page.html"
        self.text = (pathlib.Path(SOURCE) / QUICKSTART).read_text()

    def show(self, text):
        """The page of a file with this text."""
        receipts = pathlib.Path(self.folder.name) / "r.jsonl"
        receipts.write_text(text)
        self.show_files(receipts)

    def show_files(self, *receipts):
        done = report(self.page, *receipts)
        self.assertEqual(done.returncode, 0, done.stderr)
        browser.open(self.page)
        self.assertEqual(browser.complaints(), [])
        self.assertEqual(browser.requests(), [])
        self.assertTrue(browser.get("document.getElementById('failure').hidden"))

    def test_a_whole_file_lacks_nothing(self):
        self.show(self.text)
        self.assertEqual(browser.get("raceline.page.data.files[0].findings"), [])
        self.assertNotIn("hash", browser.get(MISSING))
        self.assertNotIn("unfinished", browser.get(MISSING))

    def test_an_empty_file(self):
        self.show("")
        self.assertIn("no rows, the file is empty", browser.get(MISSING))
        self.assertIn("No case to draw", browser.get("document.getElementById('roofline-said').textContent"))
        self.assertEqual(browser.get("document.querySelectorAll('#roofline-chart svg').length"), 0)
        for part, words in (("cases-table", "Nothing to show"), ("peers-table", "No comparison"),
                            ("provenance-body", "no timed case"), ("ladder-body", "not run")):
            self.assertIn(words, browser.get(f"document.getElementById('{part}').textContent"))
        # The model needs no receipts.
        browser.see("whatif-body", "document.getElementById('whatif-limiter')")

    def test_a_file_that_was_cut_off(self):
        lines = self.text.splitlines(keepends=True)
        self.show("".join(lines[:7]) + lines[7][:200])
        self.assertIn("its last line is unfinished", browser.get(MISSING))
        self.assertIn("7 sound rows", browser.get(MISSING))

    def test_rows_that_were_taken_out(self):
        self.show("".join(line for line in self.text.splitlines(keepends=True) if '"kind":"prediction"' not in line))
        self.assertIn("rows were removed, inserted, changed or re-ordered", browser.get(MISSING))
        self.assertIn("further findings", browser.get(MISSING))
        self.assertEqual(browser.get("raceline.page.data.cases.length"), 0)

    def test_ceilings_alone(self):
        self.show((pathlib.Path(SOURCE) / "receipts/h200/ceilings.jsonl").read_text())
        self.assertIn("No timed case stands in these rows", browser.get(MISSING))

    def test_a_changed_number_and_a_line_that_is_no_row(self):
        lines = self.text.splitlines(keepends=True)
        changed = next(i for i, line in enumerate(lines) if '"seconds_median":0.' in line or '"seconds_median":' in line)
        before, after = lines[changed].split('"seconds_median":', 1)
        digit = next(i for i, letter in enumerate(after) if letter.isdigit() and letter != "0")
        lines[changed] = before + '"seconds_median":' + after[:digit] + str(10 - int(after[digit])) + after[digit + 1:] \
            if after[digit] != "5" else before + '"seconds_median":' + after[:digit] + "6" + after[digit + 1:]
        self.show("".join(lines) + "junk\n")
        said = browser.get(MISSING)
        self.assertIn(f"line {changed + 1}", said)
        self.assertIn(f"line {len(lines) + 1}", said)
        # What was changed counts for nothing, and opens with the reason.
        self.assertFalse(browser.get("raceline.page.data.cases.some(c => c.row[1] === arguments[0])", changed + 1))
        browser.do("document.querySelector(`#missing-list [data-row='0,${arguments[0]}']`).click()", changed + 1)
        browser.wait("document.querySelector('#row pre')")
        self.assertIn("hash", browser.get("document.querySelector('#row .note').textContent"))

    def test_stale_rows_are_counted_and_marked(self):
        self.show((pathlib.Path(SOURCE) / LADDER).read_text())
        stale = browser.get("raceline.page.data.cases.filter(c => c.stale).length")
        self.assertGreater(stale, 0)
        self.assertIn(f"{stale} rows stale", browser.get(MISSING))

    def test_two_runs_stand_beside_each_other(self):
        self.show_files(BEFORE, AFTER)
        self.assertFalse(browser.get("document.getElementById('diff').hidden"))
        told = subprocess.run([os.environ.get("RACELINE", "build/raceline"), "diff", BEFORE, AFTER], cwd=SOURCE,
                              capture_output=True, text=True, check=True).stdout
        ratios = browser.get("raceline.page.data.diff.cases.map(c => c.ratio.toFixed(2))")
        self.assertGreater(len(ratios), 0)
        for ratio in ratios:
            self.assertIn(ratio, told)
        browser.screenshot("1280-light-diff", "#diff")

    def test_a_build_without_the_model_says_so(self):
        self.show(self.text)
        whole = self.page.read_text()
        begin = whole.index('<script type="text/plain" id="model">')
        self.page.write_text(whole[:begin] + whole[whole.index("</script>", begin) + len("</script>"):])
        browser.open(self.page)
        self.assertIn("not in this build", browser.get("document.getElementById('whatif-absent').textContent"))
        self.assertEqual(browser.complaints(), [])

    def test_ten_thousand_rows(self):
        receipts = pathlib.Path(self.folder.name) / "many.jsonl"
        subprocess.run([os.environ["MANY_ROWS"], receipts, "10000", LADDER, QUICKSTART], cwd=SOURCE, check=True)
        self.assertEqual(len(receipts.read_text().splitlines()), 10000)
        done = report(self.page, receipts)
        self.assertEqual(done.returncode, 0, done.stderr)
        size = self.page.stat().st_size
        began = time.monotonic()
        browser.open(self.page)
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        opened = time.monotonic() - began
        browser.see("scorecard-chart", "raceline.page.charts['scorecard-chart'].view")
        cases = browser.get("raceline.page.data.cases.length")
        print(f"\n10,000 rows: {size / 1e6:.1f} MB, {cases} cases, opens and shows its roofline in {opened:.1f} s")
        self.assertGreater(cases, 4000)
        self.assertEqual(browser.complaints(), [])
        self.assertLess(size, 6e6)
        self.assertLess(opened, 3)


if __name__ == "__main__":
    unittest.main()
