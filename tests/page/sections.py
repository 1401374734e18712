# SPDX-License-Identifier: Apache-2.0
"""What tests of the sections of the page share: the page of the committed receipts in a browser, tables, the mouse."""
import json
import pathlib
import subprocess
import time
import unittest

from browser import SOURCE, committed_page, stored_text, the_browser

TIP = "document.getElementById('tip')"
browser = page = None


def index_lines():
    """Of each file that left the tree, the line of the index."""
    files = sorted((pathlib.Path(SOURCE) / "receipts").glob("index.jsonl*"))
    return [json.loads(line) for file in files for line in stored_text(file).splitlines()]


def start():
    """(browser, page), for the setUpModule of each file."""
    global browser, page
    page = committed_page()
    browser = the_browser()
    return browser, page


class Sections(unittest.TestCase):
    def setUp(self):
        browser.fresh(page, self)

    def row(self, place):
        """A row as its file has it."""
        path = browser.get("raceline.page.data.files[arguments[0]].path", place[0])
        return json.loads(stored_text(path).splitlines()[place[1] - 1])

    def table(self, identity):
        titles = browser.get(f"[...document.querySelectorAll('#{identity} th')].map(h => h.dataset.column)")
        rows = browser.get(f"[...document.querySelectorAll('#{identity} tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        return [dict(zip(titles, row)) for row in rows]

    def show_all(self):
        """All cases of the device: a page of many begins with few of them."""
        browser.do("document.getElementById('show-all')?.click()")

    def sort(self, table, column):
        browser.do(f"document.querySelector('#{table} th[data-column=\"{column}\"] button').click()")

    def place(self, chart, number):
        """Where a case's mark stands in the window, once the chart is there."""
        browser.see(chart, f"raceline.page.charts['{chart}'] && raceline.page.charts['{chart}'].view")
        return browser.get("""((id, i) => { const chart = raceline.page.charts[id];
            const box = document.getElementById(id).getBoundingClientRect();
            const [x, y] = raceline.placeOf(chart, chart.points[i]);
            return [box.left + x, box.top + y]; })(arguments[0], arguments[1])""", chart, number)

    def lonely(self, chart):
        """The number of a case whose mark no other one covers, in the window once the page stands still."""
        seen = None
        while seen != (seen := browser.get("[scrollY, document.documentElement.scrollHeight]")):
            browser.see(chart, f"raceline.page.charts['{chart}'] && raceline.page.charts['{chart}'].view")
            time.sleep(0.1)
        number = browser.get("""(id => { const chart = raceline.page.charts[id];
            const places = chart.points.map(p => raceline.placeOf(chart, p));
            const top = document.getElementById(id).getBoundingClientRect().top;
            return places.findIndex(([x, y], i) => top + y > 60 && top + y < innerHeight - 20 &&
                places.every(([a, b], j) => i === j || Math.hypot(a - x, b - y) > 16)); })(arguments[0])""", chart)
        self.assertGreaterEqual(number, 0)
        return number

    def hover(self, chart, number):
        """What the tip says of a mark. What is drawn above a chart, once it is seen, moves it: the mouse follows."""
        for _ in range(100):
            x, y = self.place(chart, number)
            browser.mouse(2, 2)
            browser.mouse(x, y)
            if self.place(chart, number) == [x, y] and not browser.get(f"{TIP}.hidden"):
                return browser.get(f"{TIP}.textContent")
            time.sleep(0.1)
        self.fail(f"no tip at mark {number} of {chart}")

    def click(self, chart, number):
        self.hover(chart, number)
        x, y = self.place(chart, number)
        browser.mouse(x, y, "mousePressed")
        browser.mouse(x, y, "mouseReleased")

    def opened(self):
        browser.wait("document.getElementById('row').open && document.querySelector('#row pre')")
        return json.loads(browser.get("document.querySelector('#row pre').textContent"))

    def press_figure(self, group, text):
        """Presses a figure in the line of a group, and gives the table of the rows behind it."""
        regime = {"<20us": "under 20 µs", "20-100us": "20–100 µs", ">100us": "over 100 µs"}[group["regime"]]
        for _ in range(1 + len(browser.get("raceline.page.data.scorecard.groups")) // 50):
            if browser.do("""const [kernel, regime, sight, device, text] = arguments;
                const row = [...document.querySelectorAll("#scorecard-groups tbody tr")].find(r => {
                  const said = [...r.cells].map(c => c.textContent);
                  return said[0] === kernel && said[1] === regime && said[2] === sight && said.includes(device); });
                const button = row && [...row.querySelectorAll(".row-link")].find(b => b.textContent === text);
                (button ?? document.querySelector("#scorecard-groups [data-turn=Further]")).click();
                return Boolean(button);""", group["kernel"], regime, group["class"], group["device"], text):
                break
        else:
            self.fail(f"no {text} in the line of {group}")
        what = f"of {group['kernel']} on {group['device']}, {regime}, {group['class']}"
        browser.wait(f"document.getElementById('scorecard-rows-title').textContent.endsWith({json.dumps(what)})")
        rows = self.table("scorecard-rows")
        while browser.get("Boolean(document.querySelector('#scorecard-rows [data-turn=Further]:not([disabled])'))"):
            browser.do("document.querySelector('#scorecard-rows [data-turn=Further]').click()")
            rows += self.table("scorecard-rows")
        return rows

    def check_command(self, file, written):
        """The command that is shown prints the one row of the file that was written then."""
        browser.wait("document.getElementById('row').open && document.getElementById('git-command')")
        command = browser.get("document.getElementById('git-command').textContent")
        line = next(line for line in index_lines() if line["path"] == file)
        self.assertIn(f"git show {line['commit']}:{file}", command)
        self.assertIn(line["sha256"], browser.get("document.getElementById('row-hash').textContent"))
        if subprocess.run(["git", "cat-file", "-e", line["commit"]], cwd=SOURCE, capture_output=True).returncode == 0:  # of a whole clone
            rows = subprocess.run(["sh", "-c", command], cwd=SOURCE, capture_output=True, text=True).stdout.splitlines()
            self.assertEqual([json.loads(row)["written"] for row in rows], [written])
        browser.do("document.getElementById('copy-command').click()")
        browser.wait("/Copied|Selected/.test(document.getElementById('copy-command').textContent)")
        browser.do("document.getElementById('row').close()")
