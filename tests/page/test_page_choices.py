# SPDX-License-Identifier: Apache-2.0
"""What the roofline of the committed receipts begins with, what it says of the rest, and choices that give way."""
import collections
import re
import unittest

from browser import only_looks
from sections import Sections, start

CHART = "raceline.page.charts['roofline-chart']"
DRAWN = f"{CHART} && {CHART}.view"
SAID = "document.getElementById('roofline-shown').textContent"


def setUpModule():
    global browser, page
    browser, page = start()


def counted(text):
    return int(text.replace(",", ""))


class Choices(Sections):
    def chosen(self):
        return browser.get("['device', 'suite', 'kernel', 'commit'].map(name => document.getElementById(`choose-${name}`).value)")

    def points(self):
        """The cases that the chart draws: [[kernel, suite, commit]]."""
        browser.see("roofline-chart", DRAWN)
        return browser.get(f"{CHART}.points.map(p => [p.of.kernel, p.of.suite, p.of.commit])")

    def all_cases(self):
        """Of the device that is chosen: [[kernel, suite, commit, written]]."""
        return browser.get("raceline.page.data.cases.filter(c => c.device === raceline.chosen.device).map(c => [c.kernel, c.suite, c.commit, c.written])")

    @only_looks
    def test_a_device_of_many_cases_begins_with_few(self):
        points, every = self.points(), self.all_cases()
        counts = browser.get("Object.values(raceline.page.data.cases.reduce((n, c) => ({...n, [c.device]: (n[c.device] ?? 0) + 1}), {}))")
        self.assertEqual(len(every), max(counts))
        self.assertGreater(len(every), 1000)
        rungs = set(browser.get("raceline.page.data.what_if.kernels.filter(([, , ladder]) => ladder).map(([name]) => name)"))
        self.assertEqual({kernel for kernel, _, _ in points} & rungs, set())
        self.assertEqual(len({suite for _, suite, _ in points}), 1)
        self.assertEqual(len({commit for _, _, commit in points}), 1)
        groups = collections.Counter((case[1], case[2]) for case in every)
        newest = max((case for case in every if case[0] not in rungs and case[1] and groups[case[1], case[2]] > 10), key=lambda case: case[3])
        self.assertEqual(points[0][2], newest[2])
        # Of the newest commit the suite that has most.
        self.assertGreater(len(points), 10)
        self.assertLess(len(points), 120)

    def test_it_says_what_is_shown_and_how_many_are_not(self):
        points, every = self.points(), self.all_cases()
        all_devices = browser.get("raceline.page.data.cases.length")
        device, suite, _, commit = self.chosen()
        self.assertEqual(commit, "newest")
        shown = browser.get("raceline.casesLeft().length")
        self.assertGreaterEqual(shown, len(points))
        said = browser.get(SAID)
        numbers = re.search(r"Shown: ([0-9,]+) of ([0-9,]+) cases of (.+?): .*Not shown: ([0-9,]+)\. Other devices have ([0-9,]+) cases", said)
        self.assertIsNotNone(numbers, said)
        self.assertEqual([counted(numbers[i]) for i in (1, 2, 4, 5)], [shown, len(every), len(every) - shown, all_devices - len(every)])
        for words in (device, "kernels of the API, without rungs of the ladder", f"suite {suite}", f"commit {points[0][2][:8]} of ", "the newest"):
            self.assertIn(words, said)
        # The cases' table has the same.
        self.assertIn(f"of {shown}", browser.get("document.querySelector('#cases-table .pages')?.textContent ?? `of ${document.querySelectorAll('#cases-table tbody tr').length}`"))
        # All of them are one press away, and so is the beginning; the focus stays at these buttons.
        self.assertFalse(browser.get("Boolean(document.getElementById('show-first'))"))
        browser.do("document.getElementById('show-all').click()")
        self.assertEqual(self.chosen(), [device, "", "", ""])
        self.assertEqual(browser.get("raceline.casesLeft().length"), len(every))
        self.assertGreater(len(self.points()), 0.8 * len(every))
        self.assertIn(f"Shown: all {len(every):,} cases of {device}.", browser.get(SAID))
        self.assertEqual(browser.get("document.activeElement.id"), "show-first")
        browser.do("document.getElementById('show-first').click()")
        self.assertEqual(self.chosen(), [device, suite, "*engines", "newest"])
        self.assertEqual(self.points(), points)
        self.assertEqual(browser.get("document.activeElement.id"), "show-all")

    def test_what_is_chosen_last_holds_and_the_others_give_way(self):
        device, suite, _, _ = self.chosen()
        every = self.all_cases()
        rungs = {case[0] for case in every} & set(browser.get("raceline.page.data.what_if.kernels.filter(([, , ladder]) => ladder).map(([name]) => name)"))
        # A kernel that the first suite has no case of.
        kernel = sorted(rungs - {case[0] for case in every if case[1] == suite})[0]
        browser.choose("choose-kernel", kernel)
        self.assertEqual(self.chosen(), [device, "", kernel, "newest"])
        self.assertEqual({one for one, _, _ in self.points()}, {kernel})
        self.assertEqual(browser.get("document.activeElement.id"), "choose-kernel")
        # A commit that measured no such thing: all of it is shown.
        commit = next(case[2] for case in every if case[0] != kernel and not any(case[2] == other[2] and other[0] == kernel for other in every))
        browser.choose("choose-commit", commit)
        self.assertEqual(self.chosen(), [device, "", "", commit])
        self.assertEqual(browser.get("raceline.casesLeft().length"), sum(case[2] == commit for case in every))
        # A suite that this commit did not run: the newest one that did.
        other = next(case[1] for case in every if case[1] and not any(case[1] == one[1] and one[2] == commit for one in every))
        browser.choose("choose-suite", other)
        self.assertEqual(self.chosen(), [device, other, "", "newest"])
        self.assertEqual({one[1] for one in self.points()}, {other})

    def test_a_device_of_few_cases_begins_with_all_of_them(self):
        counts = browser.get("raceline.page.data.cases.reduce((n, c) => ({...n, [c.device]: (n[c.device] ?? 0) + 1}), {})")
        few = min(counts, key=counts.get)
        self.assertLess(counts[few], 61)
        browser.choose("choose-device", few)
        self.assertEqual(self.chosen(), [few, "", "", ""])
        self.assertEqual(browser.get("raceline.casesLeft().length"), counts[few])
        self.assertIn("Shown: ", browser.get(SAID))
        self.assertEqual(browser.get("document.querySelectorAll('#roofline-shown button').length"), 0)
        # One choice, and the way back is there.
        browser.choose("choose-kernel", browser.get("document.querySelector('#choose-kernel optgroup option').value"))
        browser.do("document.getElementById('show-first').click()")
        self.assertEqual(self.chosen(), [few, "", "", ""])

    @only_looks
    def test_kernels_are_listed_as_engines_and_rungs(self):
        groups = browser.get("[...document.querySelectorAll('#choose-kernel optgroup')].map(g => [g.label, [...g.children].map(o => o.value)])")
        rungs = set(browser.get("raceline.page.data.what_if.kernels.filter(([, , ladder]) => ladder).map(([name]) => name)"))
        self.assertEqual([label for label, _ in groups][:2], ["Kernels of the API", "Rungs of the ladder, for teaching"])
        self.assertFalse(set(groups[0][1]) & rungs)
        self.assertLessEqual(set(groups[1][1]), rungs)


if __name__ == "__main__":
    unittest.main()
