# SPDX-License-Identifier: Apache-2.0
"""The page of the committed receipts: what it shows, and that every control does what it says."""
import hashlib
import json
import pathlib
import re
import unittest

from browser import SOURCE, committed_page, only_looks, stored_text, the_browser

TIP = "document.getElementById('tip')"


def setUpModule():
    global browser, page
    page = committed_page()
    browser = the_browser()


class Page(unittest.TestCase):
    def setUp(self):
        browser.fresh(page, self)

    def point(self, number):
        """A case of the roofline as the page has it, and where its measured mark stands in the window."""
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        return browser.get("""(i => { const chart = raceline.page.charts["roofline-chart"];
            const element = document.getElementById("roofline-chart");
            const box = element.getBoundingClientRect();
            const [x, y] = raceline.placeOf(chart, chart.points[i]);
            return {of: chart.points[i].of, x: box.left + x, y: box.top + y, atX: chart.points[i].x}; })(arguments[0])""", number)

    def rows(self, table):
        return browser.get(f"[...document.querySelectorAll('#{table} tbody tr')].map(r => [...r.cells].map(c => c.textContent))")

    def column(self, table, name):
        titles = browser.get(f"[...document.querySelectorAll('#{table} th')].map(h => h.dataset.column)")
        return [row[titles.index(name)] for row in self.rows(table)]

    @only_looks
    def test_it_opens_without_complaint_and_without_a_network(self):
        for part in ("roofline-chart", "scorecard-chart", "ladder-chart", "peers-chart"):
            browser.see(part, f"document.querySelectorAll('#{part} svg, #{part} canvas').length === 1")
        browser.see("whatif-body", "document.getElementById('whatif-limiter')")
        self.assertEqual(browser.complaints(), [])
        self.assertEqual(browser.requests(), [])
        self.assertEqual(browser.get("document.getElementById('failure').hidden"), True)

    @only_looks
    def test_first_sight_and_seen_share_no_figure(self):
        said = browser.get("document.getElementById('scorecard-said').textContent")
        cases = browser.get("raceline.page.data.cases.filter(c => c.sight && c.predicted > 0).map(c => [c.sight, c.predicted / c.measured])")
        self.assertGreater(len({sight for sight, _ in cases}), 1)
        for sight in {sight for sight, _ in cases}:
            of = [ratio for one, ratio in cases if one == sight]
            self.assertIn(f"{sight} {sum(abs(ratio - 1) <= 0.2 for ratio in of)} of {len(of)}", said)
        # What the tables count, files that left the tree too, is said first: the chart has some of it.
        groups = browser.get("raceline.page.data.scorecard.groups.map(g => [g.class, g.n, g.within_20])")
        for name in {name for name, _, _ in groups}:
            of = [(n, share) for one, n, share in groups if one == name]
            n = sum(n for n, _ in of)
            shown = re.search(rf"{name} ([0-9.]+) % of {n}\b", said)
            self.assertIsNotNone(shown, said)
            self.assertAlmostEqual(float(shown[1]), 100 * sum(n * share for n, share in of) / n, delta=0.06)
        inside = sum(abs(ratio - 1) <= 0.2 for _, ratio in cases)
        self.assertNotIn(f" {inside} of", said)
        self.assertNotIn("median", browser.get("document.getElementById('roofline-said').textContent"))

    def test_hovering_shows_the_figures_of_the_row(self):
        browser.choose("choose-kernel", "tiled")
        browser.wait("raceline.page.charts['roofline-chart'].points.every(p => p.of.kernel === 'tiled')")
        # One that no other mark covers.
        number = browser.get("""(points => points.findIndex((p, i) => points.every((o, j) => i === j ||
            Math.abs(Math.log(o.x / p.x)) > 0.2 || Math.abs(Math.log(o.y / p.y)) > 0.3)))(raceline.page.charts["roofline-chart"].points)""")
        self.assertGreaterEqual(number, 0)
        point = self.point(number)
        browser.mouse(point["x"], point["y"])
        browser.wait(f"!{TIP}.hidden")
        said = browser.get(f"{TIP}.textContent")
        case = point["of"]
        file, line = case["row"]
        path = browser.get("raceline.page.data.files[arguments[0]].path", file)
        row = json.loads(stored_text(path).splitlines()[line - 1])
        self.assertEqual(row.get("measurement", {}).get("seconds_median"), case["measured"])
        self.assertEqual(row["kernel"], "tiled")
        for word in (case["kernel"], case["tile"], case["shape"], case["limiter"]):
            self.assertIn(word, said)
        for time in (case["measured"], case["predicted"]):
            scale, unit = (1e3, " ms") if time >= 1e-3 else (1e6, " µs")
            self.assertIn(f"{time * scale:.4g}{unit}", said)
        self.assertIn(f"{100 * case['bound'] / case['measured']:.1f} %", said)
        browser.mouse(2, 2)
        browser.wait(f"{TIP}.hidden")

    def test_the_level_moves_the_points(self):
        browser.do("document.getElementById('show-all').click()")
        before = {tuple(p["of"]["row"]): p["atX"] for p in map(self.point, range(0, 700, 20))}
        browser.choose("choose-level", "l2")
        browser.wait("document.getElementById('roofline-chart').textContent.includes('L2') || "
                     "raceline.page.charts['roofline-chart'].spec.axes[0].title.includes('L2')")
        after = browser.get("raceline.page.charts['roofline-chart'].points.map(p => [p.of.row, p.x, p.of.ai.l2])")
        moved = [before[tuple(row)] != x for row, x, _ in after if tuple(row) in before]
        self.assertGreater(len(moved), 10)
        # What is read once from DRAM and through the L2 stays where it was, as most operations do.
        self.assertGreater(sum(moved), len(moved) / 10)
        self.assertTrue(all(x == ai for _, x, ai in after))
        roof = browser.get("raceline.page.charts['roofline-chart'].spec.data.find(d => d.name === 'roofs').values.filter(l => !l.engine).map(l => l.name)")
        self.assertTrue(roof and all(name.startswith("L2") for name in roof), roof)

    def test_device_and_suite_choose(self):
        for device in browser.get("[...document.getElementById('choose-device').options].map(o => o.value)"):
            browser.choose("choose-device", device)
            browser.wait(f"raceline.page.charts['roofline-chart'].points.every(p => p.of.device === {json.dumps(device)})")
        browser.choose("choose-device", "h200")
        browser.choose("choose-suite", "ladder")
        self.assertEqual(set(self.column("cases-table", "suite")), {"ladder"})

    def test_sorting_sorts(self):
        def measured():
            units = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}
            texts = [text.split() for text in self.column("cases-table", "measured")]
            return [float(value) * units[unit] for value, unit in texts]
        browser.do("document.getElementById('show-all').click()")
        button = "document.querySelector('#cases-table th[data-column=\"measured\"] button')"
        self.assertEqual(measured(), sorted(measured(), reverse=True))
        browser.do(f"{button}.click()")
        self.assertEqual(browser.get(f"{button}.parentElement.getAttribute('aria-sort')"), "ascending")
        self.assertEqual(measured(), sorted(measured()))
        least = min(c["measured"] for c in browser.get("raceline.page.data.cases.filter(c => c.device === raceline.chosen.device)"))
        self.assertAlmostEqual(measured()[0], least, delta=1e-3 * least)
        browser.do("document.querySelector('#cases-table th[data-column=\"kernel\"] button').click()")
        self.assertEqual(self.column("cases-table", "kernel"), sorted(self.column("cases-table", "kernel")))

    @only_looks
    def test_a_number_opens_its_row(self):
        link = "document.querySelector('#cases-table tbody tr .row-link[title]')"
        file, line = map(int, browser.get(f"{link}.dataset.row").split(","))
        browser.do(f"{link}.click()")
        browser.wait("document.getElementById('row').open && document.querySelector('#row pre')")
        path = browser.get("raceline.page.data.files[arguments[0]].path", file)
        row = json.loads(stored_text(path).splitlines()[line - 1])
        self.assertEqual(browser.get("document.getElementById('row-title').textContent"), f"{path}, line {line}")
        self.assertIn(row["hash"], browser.get("document.getElementById('row-hash').textContent"))
        self.assertEqual(json.loads(browser.get("document.querySelector('#row pre').textContent")), row)

    @only_looks
    def test_a_long_row_leaves_its_button_in_sight(self):
        for width, height in ((375, 667), (1280, 600)):
            browser.look(width, height=height)
            browser.do("document.querySelector('[data-row]').click()")
            browser.wait("document.querySelector('#row[open] pre')")
            low, end = browser.get("[document.querySelector('#row form button').getBoundingClientRect().bottom, document.getElementById('row').getBoundingClientRect().bottom]")
            self.assertLess(low, end)
            self.assertLess(end, height)
            browser.do("document.querySelector('#row form button').click()")
        browser.look()

    @only_looks
    def test_every_line_of_every_file_is_there(self):
        files = browser.get("raceline.page.data.files.map(f => [f.path, f.lines])")
        asked, wanted = [], []
        for number, (path, lines) in enumerate(files):
            texts = stored_text(path).splitlines()
            self.assertEqual(len(texts), lines)
            if number % 10 == 0:
                line = lines // 2 + 1
                asked.append([number, line])
                wanted.append([f"{path}, line {line}", texts[line - 1]])
        browser.driver.set_script_timeout(60)
        # All of them byte for byte, some as a reader opens them.
        hashes = browser.driver.execute_async_script("""const [files, done] = arguments;
            (async () => { const hashes = [];
              for (let file = 0; file < files.length; file += 1) {
                let text = "";
                for (let line = 1; line <= files[file][1]; line += 1) text += `${await raceline.rowText(file, line)}\\n`;
                const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
                hashes.push([...new Uint8Array(digest)].map(byte => byte.toString(16).padStart(2, "0")).join(""));
              }
              done(hashes); })();""", files)
        self.assertEqual(hashes, [hashlib.sha256(stored_text(path).encode()).hexdigest() for path, _ in files])
        shown = browser.driver.execute_async_script("""const [asked, done] = arguments;
            const at = id => document.getElementById(id);
            const put = (id, value) => { at(id).value = value; for (const kind of ["input", "change"]) at(id).dispatchEvent(new Event(kind, {bubbles: true})); };
            (async () => { const shown = [];
              for (const [file, line] of asked) {
                at("row").close();
                at("row-body").replaceChildren();
                put("any-file", String(file));
                put("any-line", String(line));
                at("any-open").click();
                while (!(at("row").open && document.querySelector("#row pre"))) await new Promise(then => setTimeout(then, 1));
                shown.push([at("row-title").textContent, document.querySelector("#row pre").textContent]);
              }
              done(shown); })();""", asked)
        for (title, text), (place, line) in zip(shown, wanted, strict=True):
            self.assertEqual(title, place)
            self.assertEqual(json.loads(text), json.loads(line))

    def test_a_slider_changes_the_verdict(self):
        self.assertIsNone(browser.get("document.getElementById('whatif-absent')"), "this build has no what-if panel")
        browser.see("whatif-body", "document.getElementById('whatif-limiter')")

        def verdict():
            return browser.get("['kernel', 'seconds', 'limiter'].map(n => document.getElementById('whatif-' + n).textContent)")

        def move(identity, value):
            answered = browser.get("document.getElementById('whatif-body').dataset.answered")
            browser.choose(identity, value)
            browser.wait(f"document.getElementById('whatif-body').dataset.answered !== {json.dumps(answered)}")
            return verdict()
        first = verdict()
        self.assertEqual(first[2], "dram")
        slower = move("ceiling-byte.dram_read", "-1")
        self.assertEqual(slower[2], "dram")
        self.assertGreater(float(slower[1].split()[0]), 1.8 * float(first[1].split()[0]))
        # With eight times the bandwidth something else limits it.
        self.assertNotEqual(move("ceiling-byte.dram_read", "3")[2], "dram")
        browser.do("document.getElementById('whatif-reset').click()")
        browser.wait(f"document.getElementById('whatif-seconds').textContent === {json.dumps(first[1])}")
        self.assertNotEqual(move("whatif-q", "9"), first)
        self.assertIn("q=2048", browser.get("document.getElementById('whatif-shape').value"))
        move_to_eight_bits = "document.getElementById('whatif-shape').value.includes('dtype=e4m3')"
        answered = browser.get("document.getElementById('whatif-body').dataset.answered")
        browser.choose("whatif-dtype", "e4m3")
        browser.wait(f"{move_to_eight_bits} && document.getElementById('whatif-body').dataset.answered !== {json.dumps(answered)}")
        browser.choose("whatif-shape", "h=0")
        browser.wait("document.getElementById('whatif-error')")
        self.assertEqual(browser.complaints(), [])

    @only_looks
    def test_the_ladder_has_lessons_and_code(self):
        rung = "[...document.querySelectorAll('.rung')].find(r => r.querySelector('strong').textContent === 'tiled')"
        browser.do(f"{rung}.open = true")
        self.assertIn("__global__", browser.get(f"[...{rung}.querySelectorAll('pre')].map(p => p.textContent).join('')"))
        lesson = (pathlib.Path(SOURCE) / "ladder/lessons.md").read_text().split("## tiled\n")[1].split("\n## ")[0]
        self.assertIn(" ".join(lesson.split())[:40].replace("`", ""), browser.get(f"{rung}.textContent"))

    def test_keyboard_reaches_every_control(self):
        browser.see("whatif-body", "document.getElementById('whatif-body').dataset.answered")
        # Further rows of a table have what the first ones have, and a thousand stops take half a minute.
        browser.do("""const style = document.createElement("style"); style.textContent = "tbody tr:nth-child(n+4) { display: none; }";
                      document.head.append(style);""")
        wanted = browser.get("""(() => { const all = [...document.querySelectorAll(
            "a[href], button, input, select, summary, [tabindex='0']")].filter(e => e.checkVisibility() && !e.disabled);
            all.forEach((e, i) => e.dataset.stop = i); return all.length; })()""")
        self.assertGreater(wanted, 100)
        browser.do("document.activeElement.blur(); scrollTo(0, 0)")
        browser.do("window.reached = new Set(); addEventListener('focusin', e => reached.add(e.target.dataset.stop))")
        before = 0
        for turn in range(wanted + 20):
            browser.tab()
            if turn % 100 == 99 or turn > wanted:
                now = browser.get("reached.size")
                if now == before:
                    break
                before = now
        reached = set(browser.get("[...reached]"))
        missed = [browser.get("document.querySelector(`[data-stop='${arguments[0]}']`).outerHTML.slice(0, 120)", i)
                  for i in range(wanted) if str(i) not in reached]
        self.assertEqual(missed, [])

    @only_looks
    def test_keys_go_through_a_chart(self):
        browser.see("roofline-chart", "raceline.page.charts['roofline-chart'].view")
        browser.do("document.getElementById('roofline-chart').focus()")
        browser.key("ArrowRight", 39)
        first = browser.get("document.getElementById('said').textContent")
        self.assertIn("measured:", first)
        self.assertFalse(browser.get(f"{TIP}.hidden"))
        browser.key("ArrowRight", 39)
        self.assertNotEqual(browser.get("document.getElementById('said').textContent"), first)
        # The mark has a ring around it; far ones are a few keys away.
        def ring():
            return browser.get("""(() => { const chart = raceline.page.charts["roofline-chart"], r = document.querySelector("#roofline-chart .ring");
                const [x, y] = raceline.placeOf(chart, chart.points[chart.at]);
                return [chart.at, Math.abs(parseFloat(r.style.left) - x) + Math.abs(parseFloat(r.style.top) - y)]; })()""")
        count = browser.get("raceline.page.charts['roofline-chart'].points.length")
        for key, code, at in (("End", 35, count - 1), ("Home", 36, 0), ("PageDown", 34, max(2, round(count / 20))), ("PageUp", 33, 0), ("ArrowLeft", 37, count - 1)):
            browser.key(key, code)
            self.assertEqual([round(number, 1) for number in ring()], [at, 0], key)
            self.assertTrue(browser.get("document.getElementById('said').textContent").startswith(f"{at + 1} of {count};"))
        browser.key("Enter", 13)
        browser.wait("document.getElementById('row').open")

    @only_looks
    def test_charts_have_words_and_controls_have_names(self):
        for chart in browser.get("[...document.querySelectorAll('.chart')].filter(c => c.checkVisibility()).map(c => [c.getAttribute('aria-label'), document.getElementById(c.getAttribute('aria-describedby')).textContent])"):
            self.assertTrue(all(words and len(words) > 30 for words in chart), chart)
        nameless = browser.get("[...document.querySelectorAll('input, select')].filter(e => e.labels.length === 0).map(e => e.outerHTML)")
        self.assertEqual(nameless, [])

    def test_other_colours_and_widths_keep_what_a_reader_chose(self):
        browser.do("document.querySelector('#peers-table th[data-column=shape] button').click()")
        browser.do("document.querySelector('#peers-table [data-turn=Further]').click()")
        browser.do("document.querySelector('#scorecard-groups th[data-column=kernel] button').click()")
        browser.do("document.querySelector('#ladder-body details.rung').open = true")
        tables = [self.rows(table) for table in ("peers-table", "scorecard-groups")]
        for change in (lambda: browser.choose("theme", "dark"), lambda: browser.look(600), lambda: browser.look(1280)):
            browser.do("document.querySelector('#peers-table table').dataset.old = 'true'")
            change()
            browser.wait("!document.querySelector('#peers-table table').dataset.old")
            self.assertEqual([self.rows(table) for table in ("peers-table", "scorecard-groups")], tables)
            self.assertEqual(browser.get("[...document.querySelectorAll('#ladder-body details.rung')].map(d => d.open).lastIndexOf(true)"), 0)
        browser.choose("theme", "")

    def test_it_fits_in_375_pixels_and_changes_colours(self):
        papers, shown = {}, 0
        for width, theme in ((1280, "light"), (1280, "dark"), (375, "light"), (375, "dark")):
            browser.look(width, theme)
            browser.open(page)
            self.assertEqual(browser.get("document.documentElement.scrollWidth"), width)
            papers[width, theme] = browser.get("getComputedStyle(document.body).backgroundColor")
            browser.see("whatif-body", "document.getElementById('whatif-limiter')")
            # Every part in one width of each theme, and of the other one what is drawn most densely.
            parts = ("roofline", "cases", "whatif", "scorecard", "ladder", "peers", "provenance")
            for part in parts if (width, theme) in ((1280, "light"), (375, "dark")) else ("roofline", "scorecard"):
                charts = [f"{part}-chart"] if browser.get(f"document.getElementById('{part}-chart') !== null") else []
                browser.screenshot_with(charts, f"{width}-{theme}-{part}", f"#{part}")
                shown += len(charts)
            self.assertEqual(browser.complaints(), [])
        self.assertEqual(shown, 2 * 4 + 2 * 2)
        self.assertNotEqual(papers[1280, "light"], papers[1280, "dark"])
        browser.choose("theme", "light")
        browser.wait(f"getComputedStyle(document.body).backgroundColor === '{papers[1280, 'light']}'")


if __name__ == "__main__":
    unittest.main()
