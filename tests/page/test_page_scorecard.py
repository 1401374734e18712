# SPDX-License-Identifier: Apache-2.0
"""The scorecard of the page of the committed receipts."""
import json
import unittest

from browser import only_looks
from sections import Sections, index_lines, start


def setUpModule():
    global browser, page
    browser, page = start()


class Scorecard(Sections):
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

    def errors(self, rows, column):
        return sorted(abs(float(row[column].replace("−", "-").replace(" %", ""))) for row in rows)

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
        index = {line["path"]: line["commit"] for line in index_lines()}
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

    @only_looks
    def test_rows_of_the_scorecard_name_their_device(self):
        # Those of one kernel on two devices would look alike.
        shown = browser.get("[...document.querySelectorAll('#scorecard-groups th')].filter(h => !h.hidden).map(h => h.dataset.column)")
        self.assertEqual(shown[:5], ["kernel", "regime", "class", "median_absolute", "device"])


if __name__ == "__main__":
    unittest.main()
