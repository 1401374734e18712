# SPDX-License-Identifier: Apache-2.0
"""Charts of the page of the committed receipts: marks, roofs, names, colours."""
import json
import math
import pathlib
import unittest

from browser import SOURCE, only_looks, stored_text
from sections import TIP, Sections, start

# Words of the chart with the corners of their boxes, which for those that run along a diagonal lie aslant.
WORDS = """[...document.querySelectorAll('#roofline-chart svg text')].filter(t => t.textContent.trim() && t.checkVisibility()).map(t => {
    const b = t.getBBox(), m = t.getScreenCTM();
    return [t.textContent.trim(), [[b.x, b.y], [b.x + b.width, b.y], [b.x + b.width, b.y + b.height], [b.x, b.y + b.height]]
        .map(([x, y]) => [m.a * x + m.c * y + m.e, m.b * x + m.d * y + m.f])]; })"""


def setUpModule():
    global browser, page
    browser, page = start()


def luminance(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def apart(one, other):
    """Whether a line along a side of either box parts the two."""
    for box in (one, other):
        for (x0, y0), (x1, y1) in zip(box, box[1:]):
            across = [[(y1 - y0) * x + (x0 - x1) * y for x, y in corners] for corners in (one, other)]
            if max(across[0]) <= min(across[1]) or max(across[1]) <= min(across[0]):
                return True
    return False


class Charts(Sections):
    @only_looks
    def test_axes_of_time_have_units(self):
        browser.see("scorecard-chart", "raceline.page.charts['scorecard-chart'] && raceline.page.charts['scorecard-chart'].view")
        # As the axis of the scorecard has it, drawn as SVG: Vega reads the expression itself.
        said = browser.get("""(() => { const {vega} = raceline.page, container = document.createElement("div");
            const view = new vega.View(vega.parse({width: 900, height: 20, data: [], scales: [{name: "x", type: "log", domain: [1e-7, 30], range: "width"}],
              axes: [{orient: "bottom", scale: "x", values: [1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 20], encode: raceline.secondsLabels}]}), {renderer: "svg", container});
            return view.runAsync().then(() => [...container.querySelectorAll("text")].map(text => text.textContent)); })()""")
        for name in ("100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "20 s"):
            self.assertIn(name, said)
        axis = browser.get("raceline.page.charts['scorecard-chart'].spec.axes[0]")
        self.assertIn("' µs'", axis["encode"]["labels"]["update"]["text"]["signal"])
        self.assertNotIn("format", axis)

    # Vega drops labels that have no room, those of powers of ten as gladly as others.
    @only_looks
    def test_logarithmic_axes_name_every_power_of_ten(self):
        for name, tick in (("scorecard-chart", "raceline.secondsLabels"), ("ladder-chart", "raceline.secondsLabels"), ("roofline-chart", None)):
            with self.subTest(name):
                browser.see(name, f"raceline.page.charts['{name}'] && raceline.page.charts['{name}'].view")
                low, high, width, places, overlap = browser.get(f"""(() => {{ const {{spec, view}} = raceline.page.charts['{name}'], axis = spec.axes[0];
                    return [...spec.scales[0].domain, view.signal('width'), axis.values, axis.labelOverlap ?? null]; }})()""")
                powers = [10.0 ** n for n in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
                self.assertEqual([at for at in powers if not any(math.isclose(at, place) for place in places)], [])
                self.assertIsNone(overlap)
                apart = min(math.log(b / a) for a, b in zip(places, places[1:])) / math.log(high / low) * width
                self.assertGreater(apart, 30, places)
        said = browser.get("""(() => { const {vega} = raceline.page, container = document.createElement("div"), axis = raceline.page.charts['roofline-chart'].spec.axes[0];
            const view = new vega.View(vega.parse({width: 900, height: 20, data: [], scales: [{name: "x", type: "log", domain: [0.01, 1e5], range: "width"}],
              axes: [{...axis, title: "", values: [0.1, 1, 100, 1000, 1e5]}]}), {renderer: "svg", container});
            return view.runAsync().then(() => [...container.querySelectorAll("text")].map(text => text.textContent)); })()""")
        self.assertEqual([text for text in said if text], ["0.1", "1", "100", "1k", "100k"])

    # Of one kernel at several commits each of these has a mark, and the kernel none.
    def test_legends_show_no_mark_that_is_not_drawn(self):
        self.show_all()
        browser.choose("choose-kernel", "prefill_sm90")
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'] && raceline.page.charts['roofline-chart'].view")
        kernels = browser.get("[...new Set(raceline.page.charts['roofline-chart'].points.map(p => p.of.kernel))]")
        self.assertEqual(len(kernels), 1)
        marks = browser.get("[...document.querySelectorAll('#roofline-legend > *')].map(entry => [entry.textContent, entry.querySelector('svg path')?.outerHTML ?? null])")
        self.assertIn([kernels[0], None], marks)
        looks = [mark for _, mark in marks if mark]
        self.assertEqual(len(looks), len(set(looks)))

    def test_commits_of_a_roofline_have_marks_of_their_own(self):
        self.show_all()
        browser.choose("choose-kernel", "prefill_sm90")
        drawn = "raceline.page.charts['roofline-chart'].spec.data[0].values"
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'] && raceline.page.charts['roofline-chart'].view")
        looks = """(() => { const chart = raceline.page.charts['roofline-chart'];
            return chart.points.map((p, i) => [p.of.kernel, p.of.commit, [%s[i].colour, %s[i].shape, %s[i].opacity].join(" ")]); })()""" % (drawn, drawn, drawn)
        one = browser.get(looks)
        commits = {commit for _, commit, _ in one}
        self.assertGreater(len(commits), 1)
        self.assertEqual(len({look for _, _, look in one}), len(commits))
        legend = browser.get("document.getElementById('roofline-legend').textContent")
        for commit in commits:
            self.assertIn(commit[:8], legend)
        browser.choose("choose-kernel", "")
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart']?.view && new Set(raceline.page.charts['roofline-chart'].points.map(p => p.of.kernel)).size > 1")
        every = browser.get(looks)
        kernels = {kernel for kernel, _, _ in every}
        for kernel in kernels:
            of_kernel = {(commit, look) for name, commit, look in every if name == kernel}
            self.assertEqual(len({look for _, look in of_kernel}), min(2, len({commit for commit, _ in of_kernel})))
        self.assertIn("paler: at an older commit", browser.get("document.getElementById('roofline-legend').textContent"))

    def test_marks_on_each_other_are_all_within_reach_of_the_mouse(self):
        self.show_all()
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

    def test_a_limiter_without_a_roof_says_whose_roof_is_meant(self):
        # Of a kernel with few cases: a turn of the table takes a while.
        kernel = browser.get("""(cases => { const all = kernel => cases.filter(c => c.kernel === kernel);
            return [...new Set(cases.filter(c => c.bound > 0 && c.limiter !== c.roof && ["tail", "latency", "launch"].includes(c.limiter)).map(c => c.kernel))]
              .sort((a, b) => all(a).length - all(b).length)[0]; })(raceline.page.data.cases.filter(c => c.device === raceline.chosen.device))""")
        self.show_all()
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
        self.assertGreater(len(cases), 50)
        for case in cases[::50]:
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
                # The kernels that are shown first need not count this level.
                if browser.get("raceline.page.charts['roofline-chart'] === undefined"):
                    own = browser.get("raceline.casesLeft().filter(c => c.ai[arguments[0]] > 0).length", level)
                    self.assertEqual(own, 0, (device, level))
                    self.assertRegex(browser.get("document.getElementById('roofline-said').textContent"), "^No case to draw: .* the bytes of this level are not known of them")
                    continue
                named = browser.get("raceline.page.data.roofs[arguments[0]].memory.filter(r => r[1] === arguments[1]).length", device, roof_of[level])
                drawn = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'roofs').values.filter(l => !l.engine).length")
                self.assertEqual(drawn, named)
                said = browser.get("document.getElementById('roofline-said').textContent")
                if not named:
                    self.assertRegex(said, "No ceiling of this device is known|is not known|rest on [0-9]+ sets of ceilings|rest on ceilings that no row of this page states")
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
            # What it begins with are few marks, so that it is an SVG, whose words a script can read.
            words = browser.get(WORDS)
            self.assertGreater(len(words), 10)
            covered = [(a, b) for i, (a, box) in enumerate(words) for b, other in words[i + 1:] if a != b and not apart(box, other)]
            self.assertEqual(covered, [], width)
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
            self.show_all()
            kernels = browser.get("[...document.getElementById('choose-kernel').options].map(o => o.value)")
            for kernel in [kernels[0], *kernels[1::4]]:
                browser.choose("choose-kernel", kernel)
                if not browser.get("raceline.casesLeft().some(c => c.flops > 0)"):
                    self.assertIn("no operations that a roofline counts", browser.get("document.getElementById('roofline-said').textContent"))
                    continue
                browser.see("roofline-chart", "(c => c && c.view && c.points.every(p => raceline.casesLeft().includes(p.of)))(raceline.page.charts['roofline-chart'])")
                # However far above the marks the engines are, one roof closes the chart.
                engines = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'labels').values.length")
                self.assertGreater(engines, 0, (device, kernel))
                for name, y, low, high in browser.get("""(({spec}) => { const [low, high] = spec.scales.find(s => s.name === "y").domain;
                        return spec.data.find(d => d.name === "labels").values.map(l => [l.name, l.y, low, high]); })(raceline.page.charts["roofline-chart"])"""):
                    self.assertTrue(low < y < high, (device, kernel, name, y, low, high))
                    names += 1
            browser.choose("choose-kernel", kernels[0])
        self.assertGreater(names, 20)

    def test_a_device_without_roofs_says_so(self):
        roofless = {name: roofs for name, roofs in browser.get("raceline.page.data.roofs").items() if not roofs["engines"]}
        self.assertTrue(roofless)
        # Machines of one name that rows tell apart have roofs each.
        self.assertLessEqual({"cpu (AMD EPYC, 256-bit SIMD, 512 KiB of L2)", "cpu (AMD EPYC, 512-bit SIMD, 1 MiB of L2)"},
                             set(browser.get("Object.keys(raceline.page.data.roofs)")) - set(roofless))
        def said(device):
            browser.choose("choose-device", device)
            return browser.get("document.getElementById('roofline-said').textContent")
        # Of one whose ceilings no row states; the section of ceilings says the same.
        # Where the committed rows have none, one of the others is taken for it.
        unstated = next((name for name, roofs in roofless.items() if roofs["unstated"]), next(iter(roofless)))
        browser.do(f"Object.assign(raceline.page.data.roofs[{json.dumps(unstated)}], {{sets: 1, unstated: true}})")
        words = "The predictions of this device rest on ceilings that no row of this page states"
        self.assertIn(words, said(unstated))
        if roofless[unstated]["unstated"]:
            browser.choose("provenance-device", unstated)
            self.assertIn(words, browser.get("document.getElementById('rates-unstated').textContent"))
        # Of those that rows do not tell apart one roof would be false; of others nothing is known.
        self.addCleanup(lambda: browser.do(f"raceline.page.data.roofs[{json.dumps(unstated)}] = {json.dumps(roofless[unstated])}"))
        for sets, words in ((3, "The rows of this device rest on 3 sets of ceilings"), (0, "No ceiling of this device is known, so that no roof is drawn")):
            browser.do(f"Object.assign(raceline.page.data.roofs[{json.dumps(unstated)}], {{sets: {sets}, unstated: false}})")
            self.assertIn(words, said(unstated))
            said("h200")
        browser.choose("choose-device", "h200")
        self.assertNotIn("not known", browser.get("document.getElementById('roofline-said').textContent"))

    def test_a_cpu_has_the_roofs_that_its_predictions_rest_on(self):
        browser.choose("choose-device", "cpu (Intel(R) Xeon(R) Processor)")
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        said = browser.get("document.getElementById('roofline-said').textContent")
        self.assertNotIn("not known", said)
        # The newest that this machine has measured, whichever file they stand in.
        files = (pathlib.Path(SOURCE) / "receipts" / "cpu").glob("*-ceilings-*.jsonl*")
        rows = sorted((json.loads(line) for file in files for line in stored_text(file).splitlines()), key=lambda row: row["written"])
        newest = {row["ceiling"]["resource"]: row["ceiling"]["value"] for row in rows if row["device"]["name"] == "Intel(R) Xeon(R) Processor"}
        drawn = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'roofs').values.map(r => r.rate)")
        for resource in ("byte.dram_read", "flop.fma.fp32"):
            self.assertIn(newest[resource], drawn)

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
        self.show_all()
        entry = "[...document.querySelectorAll('#roofline-legend button')].find(b => b.textContent === 'prefill_sm90')"
        browser.do(f"{entry}.click()")
        browser.wait("raceline.page.charts['roofline-chart'].points.every(p => p.of.kernel === 'prefill_sm90')")
        browser.do(f"{entry}.click()")
        browser.wait("raceline.page.charts['roofline-chart'].points.some(p => p.of.kernel === 'tiled')")

    def test_thousands_of_marks_are_smaller_and_paler_than_few(self):
        looks = """(chart => { const marks = chart.spec.marks[0].marks.find(m => m.name === 'measured').encode.update;
            return [marks.size.value, marks.strokeWidth.value, chart.spec.data[0].values.map(v => v.opacity)]; })(raceline.page.charts['roofline-chart'])"""
        for theme in ("light", "dark"):
            browser.look(1280, theme)
            browser.open(page)
            few_size, few_line, few = browser.get(looks)
            self.assertLess(len(few), 150)
            self.assertEqual(set(few), {1})
            self.show_all()
            size, line, many = browser.get(looks)
            self.assertGreater(len(many), 1000)
            self.assertLess(size, few_size / 2)
            self.assertLess(line, few_line)
            self.assertLess(max(many), 0.8)
            self.assertGreaterEqual(min(many), 0.4, "one that stands alone is to be seen")
            browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
            browser.screenshot(f"1280-{theme}-all-cases", "#roofline-chart")

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
            self.show_all()
            browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
            marks = set(browser.get("raceline.page.charts['roofline-chart'].spec.data[0].values.map(v => v.colour)"))
            self.assertLessEqual(marks, set(used))
            self.assertEqual(len(marks), len(used))


if __name__ == "__main__":
    unittest.main()
