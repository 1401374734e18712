# SPDX-License-Identifier: Apache-2.0
"""Pages of receipts that lack something, and of two runs."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from browser import SOURCE, committed_page, report, stored_text, the_browser

QUICKSTART = "receipts/cpu/2026-11-22-quickstart-f13186e093fd.jsonl.gz"
BEFORE = "receipts/h200/2026-11-21-from-scratch-12c3875edbd2.jsonl.gz"
CEILINGS = "receipts/cpu/2026-11-22-ceilings-f13186e093fd.jsonl.gz"
AFTER = "tests/data/from-scratch-5ea677882833.jsonl"
LADDER = "receipts/h200/2026-11-21-ladder-12c3875edbd2.jsonl.gz"
MISSING = "document.getElementById('missing-body').textContent"


def setUpModule():
    global browser
    browser = the_browser()
    browser.look()


class Receipts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.page = pathlib.Path(self.folder.name) / "page.html"
        self.text = stored_text(QUICKSTART)

    def show(self, text, code=0):
        """The page of a file with this text."""
        receipts = pathlib.Path(self.folder.name) / "r.jsonl"
        receipts.write_text(text)
        self.show_files(receipts, code=code)

    def show_files(self, *receipts, code=0):
        done = report(self.page, *receipts)
        self.assertEqual(done.returncode, code, done.stderr)
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
        self.show("", code=2)
        self.assertIn("no rows, the file is empty", browser.get(MISSING))
        self.assertIn("No case to draw", browser.get("document.getElementById('roofline-said').textContent"))
        self.assertEqual(browser.get("document.querySelectorAll('#roofline-chart svg').length"), 0)
        for part, words in (("cases-table", "Nothing to show"), ("peers-table", "No comparison"),
                            ("provenance-body", "no timed case"), ("ladder-body", "not run")):
            self.assertIn(words, browser.get(f"document.getElementById('{part}').textContent"))
        # The model needs no receipts.
        browser.see("whatif-body", "document.getElementById('whatif-limiter')")

    def test_an_index_alone(self):
        self.show_files(pathlib.Path(SOURCE) / "receipts/index.jsonl.gz")
        said = browser.get(MISSING)
        self.assertIn("an index of files that left the tree", said)
        self.assertNotIn("No receipt file was given", said)
        # What the sentence promises.
        self.assertIn("prefill_sm90", browser.get("document.getElementById('scorecard-body').textContent"))

    def test_a_file_that_was_cut_off(self):
        lines = self.text.splitlines(keepends=True)
        self.show("".join(lines[:7]) + lines[7][:200])
        self.assertIn("its last line is unfinished", browser.get(MISSING))
        self.assertIn("7 sound rows", browser.get(MISSING))
        self.show(lines[0][:200], code=2)
        self.assertIn("so that it has no row", browser.get(MISSING))
        self.assertNotIn("empty", browser.get(MISSING))

    def test_rows_that_were_taken_out(self):
        self.show("".join(line for line in self.text.splitlines(keepends=True) if '"kind":"prediction"' not in line), code=2)
        self.assertIn("rows were removed, inserted, changed or re-ordered", browser.get(MISSING))
        self.assertIn("further findings", browser.get(MISSING))
        self.assertEqual(browser.get("raceline.page.data.cases.length"), 0)

    def test_ceilings_alone(self):
        self.show((pathlib.Path(SOURCE) / "receipts/h200/ceilings.jsonl").read_text())
        self.assertIn("No timed case stands in these rows", browser.get(MISSING))
        # Their roofs are what there is to see.
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        self.assertIn("its roofs alone", browser.get("document.getElementById('roofline-said').textContent"))
        roofs = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'roofs').values.map(r => r.name)")
        self.assertGreater(len(roofs), 4)
        self.assertGreater(browser.get("document.querySelectorAll('#roofline-chart svg, #roofline-chart canvas').length"), 0)

    def test_a_cpu_whose_ceilings_the_page_holds_is_one_to_ask_about(self):
        self.show_files(SOURCE + "/" + QUICKSTART, SOURCE + "/" + CEILINGS)
        own = browser.get("raceline.page.data.what_if.own")
        self.assertTrue(any(name.startswith("cpu (") for name in own), own)
        browser.see("whatif-body", "document.getElementById('whatif-limiter')")
        self.assertTrue(set(own) <= set(browser.get("[...document.getElementById('whatif-device').options].map(o => o.value)")))

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

    def test_a_file_that_is_none_is_named_and_takes_nothing_with_it(self):
        garbage = pathlib.Path(self.folder.name) / "garbage.jsonl"
        garbage.write_bytes(bytes(range(256)) * 2000)
        self.show_files(garbage, SOURCE + "/" + QUICKSTART)
        said = browser.get(MISSING)
        self.assertIn("garbage.jsonl is no receipt file", said)
        self.assertIn("Nothing of it is on this page", said)
        self.assertGreater(browser.get("raceline.page.data.cases.length"), 10)
        self.assertEqual(browser.get("raceline.page.data.files.length"), 1)
        # Likewise one of compressed data that were cut off on the way here, or damaged.
        packed = (pathlib.Path(SOURCE) / LADDER).read_bytes()
        cut, damaged = pathlib.Path(self.folder.name) / "cut.jsonl.gz", pathlib.Path(self.folder.name) / "damaged.jsonl.gz"
        cut.write_bytes(packed[:len(packed) // 2])
        damaged.write_bytes(packed[:len(packed) // 2] + bytes([packed[len(packed) // 2] ^ 0x55]) + packed[len(packed) // 2 + 1:])
        self.show_files(cut, SOURCE + "/" + QUICKSTART, damaged)
        said = browser.get(MISSING)
        self.assertRegex(said, r"cut\.jsonl\.gz: its compressed data end too early[^.]*\. Nothing of it is on this page")
        self.assertRegex(said, r"damaged\.jsonl\.gz: its compressed data are damaged[^.]*\. Nothing of it is on this page")
        self.assertEqual(browser.get("raceline.page.data.files.length"), 1)
        self.assertGreater(browser.get("raceline.page.data.cases.length"), 10)
        # Alone, or as an index, it leaves a page that says so.
        index = pathlib.Path(self.folder.name) / "index.jsonl"
        index.write_text("no index\n")
        self.show_files(garbage, index, code=2)
        self.assertIn("garbage.jsonl is no receipt file", browser.get(MISSING))
        self.assertIn("index.jsonl", browser.get(MISSING))
        self.assertEqual(browser.get("raceline.page.data.cases.length"), 0)

    def test_stale_rows_are_counted_and_marked(self):
        self.show(stored_text(LADDER))
        stale = browser.get("raceline.page.data.cases.filter(c => c.stale).length")
        self.assertGreater(stale, 0)
        self.assertIn(f"{stale} rows stale", browser.get(MISSING))

    def diff_told(self, before, after):
        """What `raceline diff` says: lines of the table by shape and tile, and the sentence below it."""
        # As wide as its lines are: none goes on in a second one.
        told = subprocess.run([os.environ.get("RACELINE", "build/raceline"), "diff", before, after], cwd=SOURCE,
                              capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "1000"}).stdout
        table = [re.split(r" {2,}", line.strip()) for line in told.splitlines()]
        heading = next(line for line in table if line[0] == "shape")
        return [dict(zip(heading, line)) for line in table if re.match(r"(b|h)=", line[0])], told

    def diff_shown(self):
        titles = browser.get("[...document.querySelectorAll('#diff-table th')].map(h => h.dataset.column)")
        rows = []
        while True:
            rows += browser.get("[...document.querySelectorAll('#diff-table tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
            if not browser.get("Boolean(document.querySelector('#diff-table [data-turn=Further]:not([disabled])'))"):
                return [dict(zip(titles, row)) for row in rows]
            browser.do("document.querySelector('#diff-table [data-turn=Further]').click()")

    def check_diff(self, before, after):
        """The page has what the command has: call, tile, ratio, interval, change and prediction."""
        lines, told = self.diff_told(before, after)
        shown = self.diff_shown()
        self.assertGreater(len(lines), 0)
        self.assertEqual(len(shown), len(lines))
        said = browser.get("document.getElementById('diff-said').textContent")

        def count(word):
            return re.search(rf"([0-9]+) {word}", told)[1]
        for word in ("faster", "slower"):
            self.assertRegex(said, rf"\b{count(word)} (became )?{word}")
        self.assertIn(f"{count('mispredicted')} are mispredicted", said)
        of_page = sorted((row["shape"], row.get("way"), row["tile"], row["ratio"], row["change"], row["prediction"]) for row in shown)
        of_command = sorted((line["shape"], line.get("call"), line["tile"], f"{line['before / after']} ({line['interval']})",
                             line["change"], line["prediction"]) for line in lines)
        self.assertEqual(of_page, of_command)

    def test_two_files_stand_beside_each_other(self):
        self.show_files(BEFORE, AFTER)
        self.assertFalse(browser.get("document.getElementById('diff').hidden"))
        self.check_diff(BEFORE, AFTER)
        browser.screenshot("1280-light-diff", "#diff")
        browser.do("document.querySelector('#diff-table .row-link').click()")
        browser.wait("document.getElementById('row').open && document.querySelector('#row pre')")
        browser.do("document.getElementById('row').close()")
        # A phone has room for what changed, and how.
        browser.look(375)
        # The window is narrow at once, its tables fit a frame later.
        browser.wait("(f => f.clientWidth < 375 && f.scrollWidth <= f.clientWidth)(document.querySelector('#diff-table .scroll'))")
        shown = browser.get("[...document.querySelectorAll('#diff-table th[data-column]')].filter(h => !h.hidden).map(h => h.dataset.column)")
        self.assertEqual(shown[:3], ["shape", "ratio", "change"])
        inside, outside = browser.get("(f => [f.scrollWidth, f.clientWidth])(document.querySelector('#diff-table .scroll'))")
        self.assertLessEqual(inside, outside)
        browser.screenshot("375-light-diff", "#diff")
        browser.look()

    def test_two_commits_stand_beside_each_other(self):
        browser.open(committed_page())
        # Those of the example in docs/pictures.md, which has to show something, the other way round.
        short = re.search(r"raceline diff ([0-9a-f]+) ([0-9a-f]+) -o", (pathlib.Path(SOURCE) / "docs/pictures.md").read_text()).groups()
        commits = browser.get("[...new Set(raceline.page.data.cases.map(c => c.commit))]")
        after, before = (next(commit for commit in commits if commit.startswith(name)) for name in short)
        browser.choose("diff-before", f"commit {before}")
        browser.choose("diff-after", f"commit {after}")
        self.check_diff(before, after)
        # Sides without a case in common say so.
        browser.choose("diff-before", "commit f13186e093fd")
        browser.wait("document.getElementById('diff-said').textContent.includes('No case was timed on both sides')")
        self.assertEqual(browser.complaints(), [])

    def test_a_file_named_twice_counts_once(self):
        self.show_files(BEFORE)
        once = browser.get("raceline.page.data.cases.length")
        self.assertTrue(browser.get("document.getElementById('diff').hidden"))
        self.show_files(BEFORE, f"./{BEFORE}")
        self.assertEqual(browser.get("[raceline.page.data.cases.length, raceline.page.data.files.length]"), [once, 1])
        # Nor do rows that were copied to another file.
        copy = pathlib.Path(self.folder.name) / "copy.jsonl"
        copy.write_text(stored_text(BEFORE))
        self.show_files(BEFORE, copy)
        self.assertEqual(browser.get("raceline.page.data.cases.length"), once)
        self.assertIn("stand in another file as well, and count once", browser.get(MISSING))

    def test_extreme_times_are_left_out_and_counted(self):
        receipts = pathlib.Path(self.folder.name) / "extreme.jsonl"
        subprocess.run([os.environ["MANY_ROWS"], receipts, "40", QUICKSTART, "--extreme"], cwd=SOURCE, check=True)
        self.show_files(receipts)
        self.assertEqual(browser.get("raceline.page.data.files[0].findings.filter(f => f[1].includes('hash'))"), [])
        times = browser.get("raceline.page.data.cases.map(c => c.measured)")
        self.assertIn(5e-324, times)
        self.assertIn(1e308, times)
        self.assertIn("beyond what any device reaches", browser.get("document.getElementById('roofline-said').textContent"))
        for chart in ("roofline", "scorecard"):
            browser.see(f"{chart}-chart", f"raceline.page.charts['{chart}-chart'].view")
            self.assertTrue(browser.get(f"raceline.page.charts['{chart}-chart'].points.every(p => Number.isFinite(p.x) && Number.isFinite(p.y) && p.x > 1e-30 && p.y < 1e30)"))
            self.assertTrue(browser.get(f"[...document.querySelectorAll('#{chart}-chart svg path, #{chart}-chart svg g')].every(p => !/NaN|Infinity/.test(p.outerHTML.slice(0, 300)))"))
        words = browser.get("document.getElementById('cases-table').textContent + document.getElementById('scorecard-groups').textContent")
        self.assertNotRegex(words, "NaN|Infinity|undefined")
        self.assertEqual(browser.complaints(), [])

    def test_a_build_without_the_model_says_so(self):
        self.show(self.text)
        whole = self.page.read_text()
        begin = whole.index('<script type="text/plain" id="model">')
        self.page.write_text(whole[:begin] + whole[whole.index("</script>", begin) + len("</script>"):])
        browser.open(self.page)
        self.assertIn("not in this build", browser.get("document.getElementById('whatif-absent').textContent"))
        self.assertEqual(browser.complaints(), [])


if __name__ == "__main__":
    unittest.main()
