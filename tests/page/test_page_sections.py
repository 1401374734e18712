# SPDX-License-Identifier: Apache-2.0
"""Scorecard, peers, ladder, tables, roofs and colours of the page of the committed receipts."""
import json
import pathlib
import subprocess
import time
import unittest

from browser import SOURCE, committed_page, only_looks, stored_text, the_browser

TIP = "document.getElementById('tip')"


def setUpModule():
    global browser, page
    page = committed_page()
    browser = the_browser()


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


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

    @only_looks
    def test_the_scorecard_hovers_and_opens_its_row(self):
        number = self.lonely("scorecard-chart")
        case = browser.get("raceline.page.charts['scorecard-chart'].points[arguments[0]].of", number)
        said = self.hover("scorecard-chart", number)
        self.assertIn(case["kernel"], said)
        self.assertIn(case["sight"], said)
        error = case["predicted"] / case["measured"] - 1
        self.assertIn(f"{'+' if error >= 0 else '−'}{100 * abs(error):.1f} %", said)
        self.click("scorecard-chart", number)
        row = self.opened()
        self.assertEqual(row, self.row(case["row"]))
        self.assertEqual(row["measurement"]["seconds_median"], case["measured"])

    def test_the_scorecard_sorts_and_has_both_figures_of_a_baseline(self):
        groups = browser.get("raceline.page.data.scorecard.groups")
        self.assertEqual(self.table("scorecard-groups")[0]["n"], str(max(group["n"] for group in groups)))
        self.sort("scorecard-groups", "kernel")
        names = [row["kernel"] for row in self.table("scorecard-groups")]
        self.assertEqual(names, sorted(group["kernel"] for group in groups)[:len(names)])
        self.sort("scorecard-groups", "measured_roofline")
        with_both = [group["measured_roofline"] for group in groups if (group.get("measured_roofline") or {}).get("n", 0) > 0]
        with_both.sort(key=lambda one: -one["median_absolute"])
        self.assertGreater(len(with_both), 20)
        self.assertEqual(self.table("scorecard-groups")[0]["measured_roofline"],
                         f"{100 * with_both[0]['median_absolute']:.1f} % ({100 * with_both[0]['seconds_median_absolute']:.1f} %)")
        # The second figure is one of its own.
        self.assertTrue(any(one["median_absolute"] != one["seconds_median_absolute"] for one in with_both))

    def pressed(self, where, text, table, what):
        """The table after a number was pressed that summarises rows, and how many there are; then all are shown again."""
        before = self.table(table)
        browser.do("[...document.querySelectorAll(`${arguments[0]} .row-link`)].find(b => b.textContent === arguments[1]).click()", where, text)
        said = browser.get(f"document.querySelector('#{table} .only').textContent")
        self.assertIn(what, said)
        self.assertEqual(browser.get("document.activeElement.textContent"), "All again")
        self.assertTrue(browser.get(f"(y => y >= 0 && y < innerHeight)(document.querySelector('#{table} .only').getBoundingClientRect().top)"))
        rows = self.table(table)
        # In other colours it still shows what was asked for.
        browser.choose("theme", "dark")
        self.assertEqual(self.table(table), rows)
        browser.choose("theme", "light")
        browser.do(f"document.querySelector('#{table} .only button').click()")
        self.assertEqual(self.table(table), before)
        return int(said.split()[0].replace(",", "")), rows

    def press_figure(self, group, text):
        """Presses a figure in the line of a group, and gives the table of the rows behind it."""
        for _ in range(1 + len(browser.get("raceline.page.data.scorecard.groups")) // 50):
            if browser.do("""const [kernel, regime, sight, device, text] = arguments;
                const row = [...document.querySelectorAll("#scorecard-groups tbody tr")].find(r => {
                  const said = [...r.cells].map(c => c.textContent);
                  return said[0] === kernel && said[1] === regime && said[2] === sight && said.includes(device); });
                const button = row && [...row.querySelectorAll(".row-link")].find(b => b.textContent === text);
                (button ?? document.querySelector("#scorecard-groups [data-turn=Further]")).click();
                return Boolean(button);""", group["kernel"], group["regime"], group["class"], group["device"], text):
                break
        else:
            self.fail(f"no {text} in the line of {group}")
        what = f"of {group['kernel']} on {group['device']}, {group['regime']}, {group['class']}"
        browser.wait(f"document.getElementById('scorecard-rows-title').textContent.endsWith({json.dumps(what)})")
        rows = self.table("scorecard-rows")
        while browser.get("Boolean(document.querySelector('#scorecard-rows [data-turn=Further]:not([disabled])'))"):
            browser.do("document.querySelector('#scorecard-rows [data-turn=Further]').click()")
            rows += self.table("scorecard-rows")
        return rows

    def errors(self, rows, column):
        return sorted(abs(float(row[column].replace("−", "-").replace(" %", ""))) for row in rows)

    def test_every_figure_of_the_scorecard_opens_its_rows(self):
        groups = browser.get("raceline.page.data.scorecard.groups")
        on_page = {"on": 0, "left": 0}
        chosen = [next(g for g in groups if 2 < g["n"] <= 120 and all((g.get(name) or {}).get("n", 0) > 0 for name in ("uncalibrated", "measured_roofline"))),
                  next(g for g in groups if g["class"] != "seen" and 2 < g["n"] <= 120), next(g for g in groups if g.get("limiter") and g["n"] <= 120)]
        for group in chosen:
            self.sort("scorecard-groups", "kernel")
            for name in ("median_absolute", "p90_absolute", "within_20"):
                rows = self.press_figure(group, f"{100 * group[name]:.1f} %")
                self.assertEqual(len(rows), group["n"])
            errors = self.errors(rows, "error")
            middle = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
            self.assertAlmostEqual(middle, 100 * group["median_absolute"], delta=0.11)
            for name in ("uncalibrated", "datasheet_roofline", "measured_roofline", "roofline_and_launch_floor"):
                beside = group.get(name) or {}
                if beside.get("n", 0) > 0:
                    text = f"{100 * beside['median_absolute']:.1f} % ({100 * beside['seconds_median_absolute']:.1f} %)"
                    errors = self.errors(self.press_figure(group, text), "other_error")
                    self.assertEqual(len(errors), beside["n"])
                    self.assertAlmostEqual((errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2, 100 * beside["median_absolute"], delta=0.11)
            if group.get("limiter"):
                rows = self.press_figure(group, f"{group['limiter']['hits']} of {group['limiter']['n']}")
                self.assertEqual(len(rows), group["limiter"]["n"])
            for place in browser.get("[...document.querySelectorAll('#scorecard-rows td')].map(c => c.querySelector('[data-row]')?.dataset.row).filter(Boolean)")[:1]:
                browser.do("document.querySelector('#scorecard-rows [data-row]').click()")
                self.assertEqual(self.opened(), self.row(list(map(int, place.split(",")))))
                browser.do("document.getElementById('row').close()")
            for row in rows:
                on_page["left" if "in git at commit" in row["place"] else "on"] += 1
        self.assertGreater(on_page["on"], 0)

    def test_rows_of_files_that_left_the_tree_say_which_file_and_commit_hold_them(self):
        index = {}
        for line in (pathlib.Path(SOURCE) / "receipts/index.jsonl").read_text().splitlines():
            file = json.loads(line)
            index[file["path"]] = file["commit"]
        groups = browser.get("raceline.page.data.scorecard.groups.length")
        counted = browser.driver.execute_async_script("""const done = arguments[1];
            Promise.all([...Array(arguments[0]).keys()].map(raceline.scoredRows)).then(all => done(all.map(rows =>
              rows.map(row => [row.place, row.left?.[0], row.left && raceline.page.data.left[row.left[0]][0]]))))""", groups)
        self.assertEqual([len(rows) for rows in counted], browser.get("raceline.page.data.scorecard.groups.map(g => g.n)"))
        left = [(file, commit) for rows in counted for place, file, commit in rows if place is None]
        for file, commit in set(left):
            self.assertEqual(index[file], commit)
        for place in [place for rows in counted for place, _, _ in rows if place][::300]:
            self.assertEqual(self.row(place)["kind"], "measurement")
        if left:
            number = next(i for i, rows in enumerate(counted) if any(place is None for place, _, _ in rows))
            group = browser.get("raceline.page.data.scorecard.groups[arguments[0]]", number)
            rows = self.press_figure(group, f"{100 * group['p90_absolute']:.1f} %")
            gone = next(row for row in rows if "in git at commit" in row["place"])
            file, commit = gone["place"].split(", in git at commit ")
            self.assertTrue(index[file].startswith(commit))
            # It opens the command that gets the row, as text that can be copied, beside the hash of its file.
            browser.do("document.querySelector('#scorecard-rows [data-left]').click()")
            self.check_command(*json.loads(browser.get("document.querySelector('#scorecard-rows [data-left]').dataset.left")))

    def check_command(self, file, written):
        """The command that is shown prints the one row of the file that was written then."""
        browser.wait("document.getElementById('row').open && document.getElementById('git-command')")
        command = browser.get("document.getElementById('git-command').textContent")
        line = next(line for line in map(json.loads, (pathlib.Path(SOURCE) / "receipts/index.jsonl").read_text().splitlines()) if line["path"] == file)
        self.assertIn(f"git show {line['commit']}:{file}", command)
        self.assertIn(line["sha256"], browser.get("document.getElementById('row-hash').textContent"))
        if subprocess.run(["git", "cat-file", "-e", line["commit"]], cwd=SOURCE, capture_output=True).returncode == 0:  # of a whole clone
            rows = subprocess.run(["sh", "-c", command], cwd=SOURCE, capture_output=True, text=True).stdout.splitlines()
            self.assertEqual([json.loads(row)["written"] for row in rows], [written])
        browser.do("document.getElementById('copy-command').click()")
        browser.wait("/Copied|Selected/.test(document.getElementById('copy-command').textContent)")
        browser.do("document.getElementById('row').close()")

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

    @only_looks
    def test_marks_on_each_other_are_all_within_reach_of_the_mouse(self):
        def crowded(chart):
            """A mark that others lie on, the last of which is drawn over it."""
            browser.see(chart, f"raceline.page.charts['{chart}'] && raceline.page.charts['{chart}'].view")
            return browser.get("""(id => { const chart = raceline.page.charts[id];
                const places = chart.points.map(p => raceline.placeOf(chart, p));
                const others = ([x, y], i) => places.filter(([a, b], j) => j !== i && Math.hypot(a - x, b - y) < 3).length;
                return places.findIndex((place, i) => others(place, i) >= 1 && raceline.near(chart, ...place).length < 6); })(arguments[0])""", chart)
        for chart in ("roofline-chart", "scorecard-chart"):
            number = crowded(chart)
            self.assertGreaterEqual(number, 0)
            said = self.hover(chart, number)
            # Those that are surely within reach, wherever in its pixel the mouse stands.
            here = browser.get("""(([id, i]) => { const chart = raceline.page.charts[id];
                const places = chart.points.map(p => raceline.placeOf(chart, p)), [x, y] = places[i];
                return chart.points.filter((_, j) => Math.hypot(places[j][0] - x, places[j][1] - y) < 3).map(p => [p.of.shape, p.of.row]); })(arguments)""", chart, number)
            self.assertGreater(len(here), 1)
            self.assertIn(here[0][0] if len(here) == 1 else "also here", said)
            self.assertRegex(said, r"[0-9]+ other marks?; a click lists all [0-9]+")
            # A tip cannot be scrolled: all of it is in the window.
            self.assertTrue(browser.get(f"(r => r.top >= 0 && r.left >= 0 && r.bottom <= innerHeight && r.right <= innerWidth)({TIP}.getBoundingClientRect())"))
            # A click lists all of them, and each opens its row.
            opened = []
            while True:
                self.click(chart, number)
                browser.wait("document.querySelectorAll('#row[open] #marks-here button').length > 1")
                listed = browser.get("document.querySelectorAll('#marks-here button').length")
                browser.do("document.querySelectorAll('#marks-here button')[arguments[0]].click()", len(opened))
                opened.append(self.opened()["id"])
                browser.do("document.getElementById('row').close()")
                if len(opened) == listed:
                    break
            self.assertEqual(len(set(opened)), len(opened))
            for _, row in here:
                self.assertIn(self.row(row)["id"], opened)

    def test_no_table_scrolls_sideways_and_what_folds_away_stands_behind_a_plus(self):
        tables = ("cases-table", "scorecard-groups", "peers-table", "diff-table", "rates-table", "whatif-kernels")
        for width in (1280, 768, 375):
            browser.look(width)
            browser.open(page)
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

    def test_a_limiter_without_a_roof_says_whose_roof_is_meant(self):
        # Of a kernel with few cases: a turn of the table takes a while.
        kernel = browser.get("""(cases => { const all = kernel => cases.filter(c => c.kernel === kernel);
            return [...new Set(cases.filter(c => c.bound > 0 && c.limiter !== c.roof && ["tail", "latency", "launch"].includes(c.limiter)).map(c => c.kernel))]
              .sort((a, b) => all(a).length - all(b).length)[0]; })(raceline.page.data.cases.filter(c => c.device === raceline.chosen.device))""")
        browser.choose("choose-kernel", kernel)
        browser.see("roofline-chart", f"raceline.page.charts['roofline-chart']?.view && raceline.page.charts['roofline-chart'].points.every(p => p.of.kernel === {json.dumps(kernel)})")
        cases = browser.get("raceline.page.data.cases.filter(c => c.device === raceline.chosen.device && c.kernel === arguments[0] && c.bound > 0)", kernel)
        without = [case for case in cases if case["limiter"] in ("tail", "latency", "launch")]
        self.assertGreater(len(without), 0)
        self.assertTrue({case["limiter"] for case in without} & {"tail", "latency", "launch"})
        self.sort("cases-table", "limiter")
        seen = 0
        while True:
            for row in self.table("cases-table"):
                if row["roof"] == "—":
                    continue
                of = row["roof"].split(" % of ")[1] if " % of " in row["roof"] else row["limiter"]
                self.assertNotIn(of, ("tail", "latency", "launch"))
                if row["limiter"] not in ("tail", "latency", "launch"):
                    self.assertEqual(of, row["limiter"])
                seen += of != row["limiter"]
            if not browser.get("Boolean(document.querySelector('#cases-table [data-turn=Further]:not([disabled])'))"):
                break
            browser.do("document.querySelector('#cases-table [data-turn=Further]').click()")
        self.assertEqual(seen, len(without))
        number = browser.get("raceline.page.charts['roofline-chart'].points.findIndex(p => p.of.bound > 0 && ['tail', 'latency', 'launch'].includes(p.of.limiter))")
        case = browser.get("raceline.page.charts['roofline-chart'].points[arguments[0]].of", number)
        self.assertIn(f"of {case['roof']}: the limiter {case['limiter']} is no resource", "".join(browser.get(
            "raceline.page.charts['roofline-chart'].tell(raceline.page.charts['roofline-chart'].points[arguments[0]]).flat()", number)))

    @only_looks
    def test_a_limiter_that_is_not_the_busiest_resource_has_a_roof_of_its_own(self):
        def told(case):
            """The share of its roof, as the tip has it of a case."""
            return browser.get("raceline.tellCase({of: arguments[0]}).find(([name]) => name === 'of roof')[1]", case)
        cases = browser.get("raceline.page.data.cases.filter(c => c.limiter === 'op.ex2' && c.roof !== 'op.ex2' && c.bound > 0)")
        self.assertGreater(len(cases), 100)
        for case in cases[::100]:
            # What the row says that its limiter needs alone.
            needs = self.row(case["prediction_row"])["prediction"]["layer1"]
            share, busiest = (round(100 * needs[name] / case["measured"], 1) for name in ("op.ex2", case["roof"]))
            said = told(case)
            self.assertRegex(said, rf"^{share} % of the limiter op\.ex2; {busiest} % of {case['roof']}, the busiest resource")
            self.assertNotIn("no roof", said)
        resources = browser.get("""raceline.page.data.cases.filter(c => c.bound > 0 && !["tail", "latency"].includes(c.limiter) && !c.limiter.startsWith("launch"))""")
        self.assertGreater(len(resources), 1000)
        self.assertEqual([case for case in resources if case["limiter"] != case["roof"] and "limiter_bound" not in case], [])
        above = browser.get("raceline.page.data.cases.filter(c => c.bound > c.measured)")
        self.assertGreater(len(above), 0)
        for case in above:
            self.assertIn("faster than its roof", told(case))
        self.assertNotIn("faster than its roof", told(next(case for case in resources if case["bound"] < 0.9 * case["measured"])))

    @only_looks
    def test_no_line_crosses_the_names_of_shapes_beside_peers(self):
        browser.see("peers-chart", "raceline.page.charts['peers-chart'] && raceline.page.charts['peers-chart'].view")
        names, covers, order = browser.get("""(() => { const chart = document.getElementById("peers-chart");
            const box = e => (r => [r.left, r.top, r.right, r.bottom])(e.getBoundingClientRect());
            const shapes = new Set(raceline.page.charts["peers-chart"].points.map(p => p.y));
            const texts = [...chart.querySelectorAll("text")].filter(t => shapes.has(t.textContent));
            const behind = [...chart.querySelectorAll(".behind-names path")], rules = [...chart.querySelectorAll("line")];
            return [texts.map(box), behind.map(box), rules.filter(r => r.getBoundingClientRect().height > 100)
              .every(r => r.compareDocumentPosition(behind[0]) & Node.DOCUMENT_POSITION_FOLLOWING)]; })()""")
        self.assertGreater(len(names), 30)
        self.assertTrue(order, "what stands behind the names is drawn after the lines")
        for left, top, right, bottom in names:
            self.assertTrue(any(a <= left and b <= top + 3 and c >= right - 1 and d >= bottom - 3 for a, b, c, d in covers), (left, top, right, bottom))

    def test_a_chart_without_marks_is_in_no_screenshot(self):
        for chart in ("roofline-chart", "scorecard-chart", "ladder-chart", "peers-chart"):
            self.assertTrue(browser.marks(chart))
            browser.do("""const element = document.getElementById(arguments[0]), canvas = element.querySelector("canvas");
                element.querySelectorAll(".mark-symbol").forEach(mark => mark.remove());
                if (canvas) { canvas.width = canvas.width; }""", chart)  # which clears it
            with self.assertRaisesRegex(AssertionError, "holds 0 marks"):
                browser.marks(chart)

    def test_shared_memory_says_what_its_bytes_are(self):
        browser.choose("choose-level", "smem")
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        self.assertIn("loaded or stored", browser.get("raceline.page.charts['roofline-chart'].spec.axes[0].title"))
        self.assertIn("count together", browser.get("document.getElementById('roofline-said').textContent"))

    def test_counts_of_the_scorecard_and_of_peers_show_their_rows(self):
        of = browser.get("raceline.page.data.cases.filter(c => c.sight === 'seen' && c.predicted > 0).length")
        count, rows = self.pressed("#scorecard-said", str(of), "cases-table", "seen")
        self.assertEqual(count, of)
        self.assertEqual({row["sight"] for row in rows}, {"seen"})
        browser.choose("peers-kernel", "prefill_sm90")
        browser.choose("peers-commit", "")
        peers = browser.get("raceline.page.data.peers.filter(p => p.kernel === 'prefill_sm90' && p.device === document.getElementById('peers-device').value).map(p => [p.low, p.high])")
        faster = sum(low > 1 for low, _ in peers)
        self.assertGreater(faster, 0)
        count, rows = self.pressed("#peers-said", str(faster), "peers-table", "ours is faster")
        self.assertEqual(count, faster)
        self.assertTrue(all(float(row["low"].split()[0]) > 1 for row in rows))

    def test_commits_of_one_case_have_marks_of_their_own(self):
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

    def test_peers_hover_sort_and_open_their_row(self):
        browser.choose("peers-kernel", "prefill_sm90")
        number = self.lonely("peers-chart")
        peer = browser.get("raceline.page.charts['peers-chart'].points[arguments[0]].of", number)
        said = self.hover("peers-chart", number)
        for word in (peer["shape"], peer["name"], f"{peer['ratio']:.3f} ({peer['low']:.3f} to {peer['high']:.3f})", peer["commit"][:8], peer["written"][:10]):
            self.assertIn(word, said)
        self.click("peers-chart", number)
        self.assertEqual(self.opened()["ratio"], peer["ratio"])
        browser.do("document.getElementById('row').close()")
        ratios = [float(row["ratio"]) for row in self.table("peers-table")]
        self.assertEqual(ratios, sorted(ratios))
        self.sort("peers-table", "ratio")
        again = [float(row["ratio"]) for row in self.table("peers-table")]
        self.assertEqual(again, sorted(again, reverse=True))
        browser.do("document.querySelector('#peers-table .row-link').click()")
        row = self.opened()
        self.assertEqual(f"{row['ratio']:.3f}", self.table("peers-table")[0]["ratio"])
        self.assertEqual(row["kind"], "comparison")

    def test_peers_of_two_commits_stand_apart_and_stale_ones_are_marked(self):
        browser.choose("peers-kernel", "prefill_sm90")
        peers = browser.get("raceline.page.data.peers.filter(p => p.kernel === 'prefill_sm90')")
        for peer in peers[::40]:
            row = self.row(peer["row"])
            self.assertEqual((peer["commit"], peer["written"]), (row["git"]["commit"][:12], row["written"]))
        commits = {peer["commit"] for peer in peers}
        self.assertGreater(len(commits), 1)
        offered = browser.get("[...document.getElementById('peers-commit').options].map(o => [o.value, o.textContent])")
        self.assertEqual({value for value, _ in offered}, commits | {""})
        stale = {peer["commit"] for peer in peers if peer["stale"]}
        self.assertGreater(len(stale), 0)
        for value, text in offered[:-1]:
            self.assertEqual("stale" in text, value in stale, text)
        for commit in commits:
            browser.choose("peers-commit", commit)
            browser.wait(f"raceline.page.charts['peers-chart'].points.every(p => p.of.commit === {json.dumps(commit)})")
            self.assertTrue(all(commit[:8] in row["written"] and ("stale" in row["written"]) == (commit in stale) for row in self.table("peers-table")))
            self.assertEqual("stale" in browser.get("document.getElementById('peers-said').textContent"), commit in stale)
        browser.choose("peers-commit", "")
        browser.wait(f"raceline.page.charts['peers-chart'].points.length === {len(peers)}")

    def test_every_time_of_the_ladder_opens_its_row_or_says_where_it_is(self):
        shown = left = 0
        for track in ("prefill", "decode", "from-scratch"):
            browser.choose("ladder-track", track)
            browser.wait(f"document.getElementById('ladder-track').value === '{track}'")
            for rung in browser.get("""raceline.page.data.ladder.find(t => t.name === arguments[0]).rungs.map(r =>
                    [r.rung, r.devices[document.getElementById('ladder-device').value]?.shown])""", track):
                name, one = rung
                if not one or not one["measured"] > 0:
                    continue
                shown += 1
                entry = f"document.querySelector('[data-rung=\"{name}\"] .figures')"
                if one["row"]:
                    row = self.row(one["row"])
                    self.assertEqual(row["measurement"]["seconds_median"], one["measured"])
                    self.assertIn(",".join(map(str, one["row"])), browser.get(f"[...{entry}.querySelectorAll('.row-link')].map(l => l.dataset.row)"))
                else:
                    file, written = one["left"]
                    self.assertFalse((pathlib.Path(SOURCE) / file).exists())
                    self.assertIn(f"(of {file}, which left the tree)", browser.get(f"{entry}.textContent"))
                    if not left:
                        browser.do(f"{entry}.querySelector('[data-left]').click()")
                        self.check_command(file, written)
                    left += 1
        self.assertGreater(shown, 15)

    def test_the_ladder_hovers_and_opens(self):
        browser.choose("ladder-track", "from-scratch")
        number = self.lonely("ladder-chart")
        rung = browser.get("raceline.page.charts['ladder-chart'].points[arguments[0]]", number)
        said = self.hover("ladder-chart", number)
        for word in (rung["rung"]["rung"], rung["shown"]["shape"], rung["shown"]["limiter"], rung["result"]["verdict"]):
            self.assertIn(word, said)
        self.click("ladder-chart", number)
        if rung["shown"]["row"]:
            self.assertEqual(self.opened()["kernel"], rung["rung"]["rung"])
        else:
            self.assertIn(rung["shown"]["left"][0], said)
            self.check_command(*rung["shown"]["left"])

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

    def test_bytes_and_roof_are_of_one_level(self):
        roof_of = {"dram": "byte.dram_read", "llc": "byte.llc", "l2": "byte.l2", "l1": "byte.l1", "smem": "byte.smem_lsu"}
        levels = set()
        for device in browser.get("[...document.getElementById('choose-device').options].map(o => o.value)"):
            browser.choose("choose-device", device)
            for level in browser.get("[...document.getElementById('choose-level').options].map(o => o.value)"):
                levels.add((device.split()[0], level))
                browser.choose("choose-level", level)
                browser.wait(f"document.getElementById('choose-level').value === '{level}'")
                cases = browser.get("raceline.page.data.cases.filter(c => c.device === arguments[0] && c.ai[arguments[1]] > 0).length", device, level)
                self.assertGreater(cases, 0, (device, level))
                # The kernel that is shown first need not count this level.
                if browser.get("raceline.page.charts['roofline-chart'] === undefined"):
                    own = browser.get("raceline.page.data.cases.filter(c => c.device === arguments[0] && [c.kernel, ''].includes(document.getElementById('choose-kernel').value) && c.ai[arguments[1]] > 0).length", device, level)
                    self.assertEqual(own, 0, (device, level))
                    self.assertRegex(browser.get("document.getElementById('roofline-said').textContent"), "^No case to draw: .* the bytes of this level are not known of them")
                    continue
                named = browser.get("raceline.page.data.roofs[arguments[0]].memory.filter(r => r[1] === arguments[1]).length", device, roof_of[level])
                drawn = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'roofs').values.filter(l => !l.engine).length")
                self.assertEqual(drawn, named)
                said = browser.get("document.getElementById('roofline-said').textContent")
                if not named:
                    self.assertRegex(said, "No ceiling of this device is known|is not known|rest on [0-9]+ sets of ceilings")
        # A core's own L2 is what cpu_flash counts, and nobody counts the last level.
        self.assertIn(("cpu", "l2"), levels)
        self.assertNotIn(("cpu", "llc"), levels)
        self.assertIn(("h200", "smem"), levels)

    def test_every_roof_has_a_name_and_no_name_covers_another(self):
        for width in (1280, 375):
            browser.look(width)
            browser.open(page)
            browser.choose("choose-device", "h200")
            browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
            data = {one["name"]: one["values"] for one in browser.get("raceline.page.charts['roofline-chart'].spec.data")}
            engines = [roof["name"] for roof in data["roofs"] if roof["engine"]]
            self.assertEqual(sorted(label["name"] for label in data["labels"]), sorted(engines))
            self.assertEqual(len(data["diagonals"]), 1)
            heights = sorted(browser.get("raceline.page.charts['roofline-chart'].view.data('labels').map(l => raceline.page.charts['roofline-chart'].view.scale('y')(l.y))"))
            self.assertTrue(all(b - a > 11 for a, b in zip(heights, heights[1:])), heights)
            # A chart of this many marks is a canvas, whose words no script can read: the same view as an SVG, in its place.
            browser.do("""raceline.page.charts['roofline-chart'].view.toSVG().then(text => {
                document.querySelector('#roofline-chart > div').innerHTML = text; });""")
            browser.wait("document.querySelector('#roofline-chart svg text')")
            # Where there is little room a letter stands for each, and its name in the legend.
            said = browser.get("document.getElementById('roofline-chart').textContent + document.getElementById('roofline-legend').textContent")
            for name in engines:
                self.assertIn(name, said)
            # Nothing is wider than the chart, and no name stands on a mark.
            self.assertEqual(browser.get("document.documentElement.scrollWidth"), width)
            inside = browser.get("""(() => { const box = document.getElementById('roofline-chart').getBoundingClientRect();
                return [...document.querySelectorAll('#roofline-chart text')].every(t => { const r = t.getBoundingClientRect();
                    return r.left >= box.left - 1 && r.right <= box.right + 1; }); })()""")
            self.assertTrue(inside)

    def test_names_of_roofs_stand_between_the_ends_of_the_chart(self):
        """Of every device, and of kernels whose marks lie far below the roofs or in one corner."""
        names = 0
        for device in browser.get("Object.keys(raceline.page.data.roofs).filter(d => raceline.page.data.roofs[d].engines.length > 0)"):
            browser.choose("choose-device", device)
            kernels = browser.get("[...document.getElementById('choose-kernel').options].map(o => o.value)")
            for kernel in [kernels[0], *kernels[1::4]]:
                browser.choose("choose-kernel", kernel)
                if kernel and not browser.get("raceline.page.data.cases.some(c => c.device === arguments[0] && c.kernel === arguments[1] && c.flops > 0)", device, kernel):
                    self.assertIn("no operations that a roofline counts", browser.get("document.getElementById('roofline-said').textContent"))
                    continue
                browser.see("roofline-chart", f"(c => c && c.view && c.points.every(p => p.of.device === {json.dumps(device)} && {json.dumps(kernel)}.includes(p.of.kernel)) || {json.dumps(kernel)} === {json.dumps(kernels[0])})(raceline.page.charts['roofline-chart'])")
                for name, y, low, high in browser.get("""(({spec}) => { const [low, high] = spec.scales.find(s => s.name === "y").domain;
                        return spec.data.find(d => d.name === "labels").values.map(l => [l.name, l.y, low, high]); })(raceline.page.charts["roofline-chart"])"""):
                    self.assertTrue(low < y < high, (device, kernel, name, y, low, high))
                    names += 1
            browser.choose("choose-kernel", kernels[0])
        self.assertGreater(names, 20)

    def test_a_device_without_roofs_says_so(self):
        roofless = {name: roofs["sets"] for name, roofs in browser.get("raceline.page.data.roofs").items() if not roofs["engines"]}
        self.assertTrue(roofless)
        # Machines of one name that rows tell apart have roofs each.
        self.assertLessEqual({"cpu (AMD EPYC, 256-bit SIMD, 512 KiB of L2)", "cpu (AMD EPYC, 512-bit SIMD, 1 MiB of L2)"},
                             set(browser.get("Object.keys(raceline.page.data.roofs)")) - set(roofless))
        # Of those that rows do not tell apart one roof would be false.
        several = min(roofless)
        before = roofless[several]
        self.addCleanup(lambda: browser.do(f"raceline.page.data.roofs[{json.dumps(several)}].sets = {before}"))
        browser.do(f"raceline.page.data.roofs[{json.dumps(several)}].sets = 3")
        roofless[several] = 3
        for device, sets in roofless.items():
            browser.choose("choose-device", device)
            self.assertIn(f"The rows of this device rest on {sets} sets of ceilings" if sets > 1 else "No ceiling of this device is known, so that no roof is drawn",
                          browser.get("document.getElementById('roofline-said').textContent"))
        browser.choose("choose-device", "h200")
        self.assertNotIn("not known", browser.get("document.getElementById('roofline-said').textContent"))

    def test_a_cpu_has_the_roofs_that_its_predictions_rest_on(self):
        browser.choose("choose-device", "cpu (Intel(R) Xeon(R) Processor)")
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        said = browser.get("document.getElementById('roofline-said').textContent")
        self.assertNotIn("not known", said)
        row = next(json.loads(line) for line in stored_text("receipts/cpu/2026-11-23-random-921767378-36f10dd2f060.jsonl.gz").splitlines() if '"kind":"device"' in line)
        drawn = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'roofs').values.map(r => r.rate)")
        for resource in ("byte.dram_read", "flop.fma.fp32"):
            self.assertIn(row["state"]["rates"][resource]["value"], drawn)

    def test_cases_say_how_they_were_launched(self):
        """Where those that are shown differ in it, beside the time: their times do not compare."""
        ways = browser.get("raceline.page.data.cases.filter(c => c.device === 'h200').map(c => c.way)")
        self.assertEqual(set(ways), {"cold, graph, sustained", "cold, graph, in turns with a peer"})
        browser.choose("choose-device", "h200")
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

    @only_looks
    def test_rows_of_the_scorecard_name_their_device(self):
        # Those of one kernel on two devices would look alike.
        shown = browser.get("[...document.querySelectorAll('#scorecard-groups th')].filter(h => !h.hidden).map(h => h.dataset.column)")
        self.assertEqual(shown[:5], ["kernel", "regime", "class", "median_absolute", "device"])

    def test_a_device_of_many_kernels_begins_with_one(self):
        """Marks of thirty kernels on one chart tell nobody anything; all of them are one choice away."""
        self.assertEqual(len(set(browser.get("raceline.page.charts['roofline-chart'].points.map(p => p.of.kernel)"))), 1)
        self.assertNotEqual(browser.get("document.getElementById('choose-kernel').value"), "")
        browser.choose("choose-kernel", "")
        browser.wait("new Set(raceline.page.charts['roofline-chart'].points.map(p => p.of.kernel)).size > 20")
        # A device of few kernels begins with all of them.
        few = browser.get("""(cases => [...new Set(cases.map(c => c.device))].find(device =>
            new Set(cases.filter(c => c.device === device).map(c => c.kernel)).size <= 6))(raceline.page.data.cases)""")
        browser.choose("choose-device", few)
        self.assertEqual(browser.get("document.getElementById('choose-kernel').value"), "")

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

    @only_looks
    def test_the_choice_of_colours_stands_beside_its_name(self):
        for width in (1280, 375):
            browser.look(width)
            name, choice = browser.get("""(() => { const select = document.getElementById("theme");
                const range = document.createRange();
                range.selectNode([...select.parentElement.childNodes].find(node => node.textContent.trim() === "Colours"));
                return [range, select].map(one => (r => [r.left, r.right, (r.top + r.bottom) / 2])(one.getBoundingClientRect())); })()""")
            self.assertLess(abs(name[2] - choice[2]), 6, width)
            self.assertLess(choice[0] - name[1], 20, width)
        browser.look()

    def test_the_legend_shows_one_kernel_alone(self):
        browser.choose("choose-kernel", "")
        entry = "[...document.querySelectorAll('#roofline-legend button')].find(b => b.textContent === 'prefill_sm90')"
        browser.do(f"{entry}.click()")
        browser.wait("raceline.page.charts['roofline-chart'].points.every(p => p.of.kernel === 'prefill_sm90')")
        browser.do(f"{entry}.click()")
        browser.wait("raceline.page.charts['roofline-chart'].points.some(p => p.of.kernel === 'tiled')")

    def test_every_colour_stands_out_in_light_and_dark(self):
        for theme in ("light", "dark"):
            browser.look(1280, theme)
            browser.open(page)
            names = ("paper", "panel", "ink", "faint", "link", "bad", "mark")
            colours = browser.get("Object.fromEntries(arguments[0].map(n => [n, getComputedStyle(document.documentElement).getPropertyValue('--' + n).trim()]))", list(names))
            for ground in ("paper", "panel"):
                for text in ("ink", "faint", "link", "bad"):
                    self.assertGreaterEqual(contrast(colours[text], colours[ground]), 4.5, (theme, text, ground))
                for mark in browser.get("raceline.palettes[arguments[0]]", theme):
                    self.assertGreaterEqual(contrast(mark, colours[ground]), 3, (theme, mark, ground))
            used = browser.get("raceline.palettes[arguments[0]]", theme)
            browser.choose("choose-kernel", "")
            browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
            marks = set(browser.get("raceline.page.charts['roofline-chart'].spec.data[0].values.map(v => v.colour)"))
            self.assertLessEqual(marks, set(used))
            self.assertEqual(len(marks), len(used))


if __name__ == "__main__":
    unittest.main()
