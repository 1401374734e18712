# SPDX-License-Identifier: Apache-2.0
"""Tables of the page of the committed receipts, and the rows behind their numbers."""
import unittest

from browser import only_looks
from sections import Sections, start


def setUpModule():
    global browser, page
    browser, page = start()


class Tables(Sections):
    def test_every_number_of_the_tables_opens_its_row(self):
        # One of which every row is on the page.
        group = browser.get("""(({cases, scorecard}) => scorecard.groups.find((g, i) => g.n > 5 && g.n <= 50 &&
            cases.filter(c => c.group === i).length === g.n))(raceline.page.data)""")
        self.press_figure(group, f"{100 * group['bias']:+.1f} %".replace("-", "−"))
        for table in ("cases-table", "peers-table", "diff-table", "scorecard-groups", "scorecard-rows"):
            closed = browser.get(f"""[...document.querySelectorAll('#{table} tbody tr')].filter(row => !row.textContent.includes('in git at commit'))
                .flatMap(row => [...row.querySelectorAll('td.n')]).filter(cell => /[0-9]/.test(cell.textContent) && !cell.querySelector('.row-link')).map(cell => cell.textContent)""")
            self.assertEqual(closed, [], table)
            # The two newest commits of a device may have a single case in common.
            least = 1 if table == "diff-table" else 6
            self.assertGreaterEqual(browser.get(f"document.querySelectorAll('#{table} td.n').length"), least, table)

    def test_no_table_scrolls_sideways_and_what_folds_away_stands_behind_a_plus(self):
        tables = ("cases-table", "scorecard-groups", "peers-table", "diff-table", "rates-table", "whatif-kernels")
        for width in (1280, 768, 375):
            browser.look(width)
            browser.open(page)
            self.show_all()
            browser.see("whatif-body", "document.getElementById('whatif-limiter')")
            for table in tables:
                inside, outside = browser.get(f"(f => [f.scrollWidth, f.clientWidth])(document.querySelector('#{table} .scroll'))")
                self.assertLessEqual(inside, outside, f"{table} at {width}")
                self.assertGreaterEqual(browser.get(f"[...document.querySelectorAll('#{table} th[data-column]')].filter(h => !h.hidden).length"), 2)
            shown = browser.get("[...document.querySelectorAll('#cases-table th[data-column]')].filter(h => !h.hidden).map(h => h.dataset.column)")
            self.assertEqual(shown[:3], ["kernel", "shape", "measured"], f"at {width}")
            figures = browser.get("[...document.querySelectorAll('#scorecard-groups th[data-column]')].filter(h => !h.hidden).map(h => h.dataset.column)")
            self.assertIn("median_absolute", figures, f"at {width}")
            if width == 1280:
                self.assertEqual(shown[:8], ["kernel", "shape", "measured", "way", "predicted", "error", "roof", "limiter"])
            # What has no room is one press away, and sorts.
            browser.do("document.querySelector('#cases-table .further').click()")
            rest = browser.get("[...document.querySelectorAll('#cases-table tr.rest dt')].filter(d => !d.hidden).map(d => d.dataset.rest)")
            everything = browser.get("[...document.querySelectorAll('#cases-table th[data-column]')].map(h => h.dataset.column)")
            self.assertEqual(shown + rest, everything)
            self.assertIn("tile", rest)
            browser.do("""const select = document.querySelector('#cases-table .by select');
                          select.value = 'tile'; select.dispatchEvent(new Event('change'));""")
            tiles = [row["tile"] for row in self.table("cases-table")]
            self.assertEqual(tiles, sorted(tiles))
        browser.look()

    def test_errors_are_sorted_by_their_size_and_the_column_says_so(self):
        self.show_all()
        head = "document.querySelector('#cases-table th[data-column=error] button')"
        self.assertEqual(browser.get(f"[{head}.title, {head}.textContent]"), ["sorted by size, whatever the sign", "Error"])
        self.assertIn("Error, by size, whatever the sign", browser.get("[...document.querySelectorAll('#cases-table .by option')].map(o => o.textContent)"))
        browser.do(f"{head}.click()")
        self.assertEqual(browser.get(f"{head}.textContent"), "Error ▼ by size")
        errors = [float(row["error"].replace("−", "-").rstrip(" %")) for row in self.table("cases-table") if "%" in row["error"]]
        self.assertEqual([abs(error) for error in errors], sorted(map(abs, errors), reverse=True))
        self.assertGreater(len({error > 0 for error in errors}), 1)
        # Other columns say nothing of it.
        self.assertEqual(browser.get("document.querySelector('#cases-table th[data-column=measured] button').title"), "")

    def test_the_rate_of_a_case_without_operations_is_that_of_its_bytes(self):
        self.show_all()
        browser.choose("choose-kernel", "embedding_cuda")
        rates = [row["rate"] for row in self.table("cases-table")]
        self.assertGreater(len(rates), 3)
        for rate in rates:
            self.assertRegex(rate, r"^[0-9.]+ [GT]B/s$")
        told = dict(browser.get("raceline.tellCase({of: raceline.page.data.cases.find(c => c.shape.startsWith('op=embedding'))})"))
        self.assertRegex(told["rate"], r"^[0-9.]+ [GT]B/s$")
        browser.choose("choose-kernel", "prefill_sm90")
        self.assertRegex(self.table("cases-table")[0]["rate"], r" [GT]FLOP/s$")

    def test_commits_of_one_case_have_marks_of_their_own(self):
        self.show_all()
        browser.choose("choose-kernel", "prefill_sm90")
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        points = browser.get("""(chart => chart.points.map(p => ({shape: p.of.shape, commit: p.of.commit, written: p.of.written,
            place: raceline.placeOf(chart, p), true_x: chart.view.scale("x")(p.x)})))(raceline.page.charts["roofline-chart"])""")
        several, moved, places = 0, 0, set()
        for shape in {point["shape"] for point in points}:
            newest = {}
            for point in (point for point in points if point["shape"] == shape):
                newest.setdefault(point["commit"], []).append(point)
            order = sorted(newest.values(), key=lambda some: max(one["written"] for one in some), reverse=True)
            several += len(order) > 1
            shifts = [some[0]["place"][0] - some[0]["true_x"] for some in order]
            # What is moved stands at a wrong intensity: by no more than three marks.
            self.assertTrue(all(-0.01 <= shift - shifts[0] <= 25 for shift in shifts), shifts)
            moved += sum(shift - shifts[0] > 2 for shift in shifts)
            places.add(round(shifts[0], 3))
        self.assertGreater(several, 10)
        self.assertGreater(moved, 10)
        self.assertEqual(len(places), 1, "the newest commit stands in its place")
        self.assertIn("a mark for each", browser.get("document.getElementById('roofline-said').textContent"))

    @only_looks
    def test_nothing_has_no_sign(self):
        said = browser.get("[-0.04, 0.0004, -0.0004, -0.0006, 0, NaN].map(raceline.signedPercent)")
        self.assertEqual(said, ["−4.0 %", "0.0 %", "0.0 %", "−0.1 %", "0.0 %", "not known"])
        self.assertNotRegex(browser.get("document.body.textContent"), "[-−+]0(\\.0)? %")

    def test_turning_a_page_of_a_table_keeps_the_focus(self):
        def turn(name):
            button = f"document.querySelector('#cases-table [data-turn=\"{name}\"]')"
            browser.do(f"{button}.focus()")
            browser.key("Enter", 13)
            browser.do(f"{button}.click()")
            return browser.get("document.activeElement.dataset.turn ?? document.activeElement.tagName")
        kernel = browser.get("""(cases => { const all = kernel => cases.filter(c => c.kernel === kernel).length;
            return [...new Set(cases.map(c => c.kernel))].filter(k => all(k) > 150).sort((a, b) => all(a) - all(b))[0]; })(
            raceline.page.data.cases.filter(c => c.device === raceline.chosen.device))""")
        self.show_all()
        browser.choose("choose-kernel", kernel)
        self.assertEqual(turn("Further"), "Further")
        self.assertEqual(turn("Further"), "Further")
        focused = ""
        for _ in range(browser.get("raceline.page.data.cases.length")):
            if browser.get("document.querySelector('#cases-table [data-turn=\"Further\"]').disabled"):
                break
            focused = turn("Further")
        self.assertEqual(focused, "Back")  # nothing is further
        self.assertEqual(turn("Back"), "Back")

    def test_cases_say_how_they_were_launched(self):
        """Where those that are shown differ in it, beside the time: their times do not compare."""
        ways = browser.get("raceline.page.data.cases.filter(c => c.device === 'h200').map(c => c.way)")
        self.assertEqual(set(ways), {"cold, graph, sustained", "cold, graph, in turns with a peer"})
        browser.choose("choose-device", "h200")
        self.show_all()
        browser.choose("choose-kernel", "prefill_sm90")
        titles = browser.get("[...document.querySelectorAll('#cases-table th')].filter(h => !h.hidden).map(h => h.dataset.column)")
        self.assertEqual(titles[:4], ["kernel", "shape", "measured", "way"])
        # What they share need not be said.
        self.assertIn(self.table("cases-table")[0]["way"], ("sustained", "in turns with a peer"))
        number = self.lonely("roofline-chart")
        self.assertIn("cold, graph", self.hover("roofline-chart", number))
        browser.choose("choose-kernel", "naive")
        titles = browser.get("[...document.querySelectorAll('#cases-table th')].map(h => h.dataset.column)")
        self.assertNotEqual(titles[3], "way")

    def test_the_first_diff_is_of_the_commits_with_most_cases_in_common(self):
        counts, first = browser.get("""(() => { const names = new Map();
            for (const one of raceline.page.data.cases) {
              if (!names.has(one.commit)) names.set(one.commit, new Set());
              names.get(one.commit).add(one.same); }
            const all = [...names], counts = [];
            all.forEach(([a, of], i) => all.slice(i + 1).forEach(([b, other]) => counts.push([a, b, [...of].filter(same => other.has(same)).length])));
            return [counts, [raceline.diffChosen.before, raceline.diffChosen.after]]; })()""")
        most = max(count for _, _, count in counts)
        self.assertGreater(most, 10)
        self.assertIn(sorted(side.removeprefix("commit ") for side in first), [sorted(pair) for *pair, count in counts if count == most])


if __name__ == "__main__":
    unittest.main()
