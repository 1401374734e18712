# SPDX-License-Identifier: Apache-2.0
"""Scorecard, peers, ladder, tables, roofs and colours of the page of the committed receipts."""
import json
import pathlib
import time
import unittest

from browser import SOURCE, committed_page, stored_text, the_browser

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
        browser.look()
        browser.open(page)

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

    def test_a_figure_of_several_rows_shows_them(self):
        groups = browser.get("raceline.page.data.scorecard.groups")
        counted = browser.get("raceline.page.data.cases.reduce((n, c) => { if (c.group !== undefined) n[c.group] = (n[c.group] ?? 0) + 1; return n; }, {})")
        whole = [i for i, group in enumerate(groups) if counted.get(str(i)) == group["n"] and 2 < group["n"] <= 50]
        self.assertGreater(len(whole), 2)
        for i in whole[:3]:
            group = groups[i]
            self.sort("scorecard-groups", "kernel")
            while not browser.do("""const [kernel, regime, sight, device] = arguments;
                const row = [...document.querySelectorAll("#scorecard-groups tbody tr")].find(r =>
                  r.cells[0].textContent === kernel && r.cells[1].textContent === regime && r.cells[2].textContent === sight && [...r.cells].at(-1).textContent === device);
                document.querySelectorAll(".asked").forEach(r => r.classList.remove("asked"));
                if (row) row.classList.add("asked"); else document.querySelector("#scorecard-groups [data-turn=Further]").click();
                return Boolean(row);""", group["kernel"], group["regime"], group["class"], group["device"]):
                pass
            median = f"{100 * group['median_absolute']:.1f} %"
            browser.do("[...document.querySelectorAll('.asked .row-link')].find(b => b.textContent === arguments[0]).click()", median)
            rows = self.table("cases-table")
            self.assertEqual(len(rows), group["n"])
            self.assertEqual({(row["kernel"], row["sight"]) for row in rows}, {(group["kernel"], group["class"])})
            errors = sorted(abs(float(row["error"].replace("−", "-").replace(" %", ""))) for row in rows)
            middle = (errors[(len(errors) - 1) // 2] + errors[len(errors) // 2]) / 2
            self.assertAlmostEqual(middle, 100 * group["median_absolute"], delta=0.11)
        # A choice above the table takes its rows back.
        browser.choose("choose-suite", browser.get("document.getElementById('choose-suite').options[1].value"))
        self.assertEqual(browser.get("document.querySelectorAll('.only').length"), 0)

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
        several, places = 0, set()
        for shape in {point["shape"] for point in points}:
            newest = {}
            for point in (point for point in points if point["shape"] == shape):
                newest.setdefault(point["commit"], []).append(point)
            order = sorted(newest.values(), key=lambda some: max(one["written"] for one in some), reverse=True)
            several += len(order) > 1
            shifts = [some[0]["place"][0] - some[0]["true_x"] for some in order]
            self.assertEqual(shifts, sorted(shifts))
            self.assertTrue(all(after - before > 6 for before, after in zip(shifts, shifts[1:])), shifts)
            places.add(round(shifts[0], 3))
        self.assertGreater(several, 10)
        self.assertEqual(len(places), 1, "the newest commit stands in its place")
        self.assertIn("a mark for each", browser.get("document.getElementById('roofline-said').textContent"))

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
        shown = 0
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
                    self.assertTrue(one["left"].endswith(".jsonl"), one)
                    self.assertFalse((pathlib.Path(SOURCE) / one["left"]).exists())
                    self.assertIn(f"its receipt is not on this page: {one['left']} left the tree", browser.get(f"{entry}.textContent"))
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
            self.assertIn(rung["shown"]["left"], said)
            browser.wait(f"document.querySelector('[data-rung=\"{rung['rung']['rung']}\"]').open")

    def test_turning_a_page_of_a_table_keeps_the_focus(self):
        def turn(name):
            button = f"document.querySelector('#cases-table [data-turn=\"{name}\"]')"
            browser.do(f"{button}.focus()")
            browser.key("Enter", 13)
            browser.do(f"{button}.click()")
            return browser.get("document.activeElement.dataset.turn ?? document.activeElement.tagName")
        self.assertEqual(turn("Further"), "Further")
        self.assertEqual(turn("Further"), "Further")
        for _ in range(40):
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
                named = browser.get("raceline.page.data.roofs[arguments[0]].memory.filter(r => r[1] === arguments[1]).length", device, roof_of[level])
                drawn = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'roofs').values.filter(l => !l.engine).length")
                self.assertEqual(drawn, named)
                said = browser.get("document.getElementById('roofline-said').textContent")
                if not named:
                    self.assertIn("is not known", said.replace("No ceiling of this device is known", "is not known"))
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
            said = browser.get("document.getElementById('roofline-chart').textContent + document.getElementById('roofline-legend').textContent")
            for name in engines:
                self.assertIn(name, said)
            # Nothing is wider than the chart, and no name stands on a mark.
            self.assertEqual(browser.get("document.documentElement.scrollWidth"), width)
            inside = browser.get("""(() => { const box = document.getElementById('roofline-chart').getBoundingClientRect();
                return [...document.querySelectorAll('#roofline-chart text')].every(t => { const r = t.getBoundingClientRect();
                    return r.left >= box.left - 1 && r.right <= box.right + 1; }); })()""")
            self.assertTrue(inside)

    def test_a_device_without_roofs_says_so(self):
        roofless = [name for name, roofs in browser.get("raceline.page.data.roofs").items() if not roofs["engines"]]
        self.assertGreater(len(roofless), 0)
        for device in roofless:
            browser.choose("choose-device", device)
            self.assertIn("No ceiling of this device is known, so that no roof is drawn", browser.get("document.getElementById('roofline-said').textContent"))
        browser.choose("choose-device", "h200")
        self.assertNotIn("not known", browser.get("document.getElementById('roofline-said').textContent"))

    def test_the_legend_shows_one_kernel_alone(self):
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
            browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
            marks = set(browser.get("raceline.page.charts['roofline-chart'].spec.data[0].values.map(v => v.colour)"))
            self.assertLessEqual(marks, set(used))
            self.assertEqual(len(marks), len(used))


if __name__ == "__main__":
    unittest.main()
