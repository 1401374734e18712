# SPDX-License-Identifier: Apache-2.0
"""Peers and the ladder on the page of the committed receipts."""
import json
import pathlib
import unittest

from browser import SOURCE, only_looks
from sections import Sections, start


def setUpModule():
    global browser, page
    browser, page = start()


class Comparisons(Sections):
    @only_looks
    def test_ratios_of_peers_have_grid_lines_where_they_are_read(self):
        places = browser.get("[[0.9, 3.3], [0.95, 1.3], [0.05, 40]].map(([low, high]) => raceline.ratioPlaces(low, high))")
        self.assertTrue({1, 1.25, 1.5, 2, 3} <= set(places[0]), places)
        self.assertTrue({1, 1.1, 1.2} <= set(places[1]), places)
        self.assertTrue({0.1, 1, 2, 10} <= set(places[2]), places)
        self.assertTrue(all(len(some) <= 10 for some in places), places)
        browser.see("peers-chart", "raceline.page.charts['peers-chart'] && raceline.page.charts['peers-chart'].view")
        axis = browser.get("raceline.page.charts['peers-chart'].spec.axes[0]")
        self.assertTrue(axis["grid"] and 1 in axis["values"], axis)

    def test_a_peer_has_the_look_of_pictures_whatever_stands_beside_it(self):
        def looks():
            browser.see("peers-chart", "raceline.page.charts['peers-chart'] && raceline.page.charts['peers-chart'].view")
            drawn = browser.get("raceline.page.charts['peers-chart'].points.map(p => [p.of.peer, p.look.colour, p.look.shape])")
            return {peer: (colour, shape) for peer, colour, shape in drawn}
        light = browser.get("raceline.palettes.light")
        # nth_colour() and nth_mark() of src/plot/chart.cpp for the numbers of src/plot/peer_looks.cpp.
        wanted = {"cudnn": (light[0], "circle"), "fa2": (light[1], "square"), "fa3": (light[2], "triangle-up"), "fa4": (light[3], "triangle-down"),
                  "flashinfer": (light[4], "diamond"), "xqa": (light[5], "cross"), "flashinfer_decode": (light[4], "cross")}
        seen = set()
        for device, kernel in (("h200", "prefill_sm90"), ("h200", "prefill_sm90_fp8"), ("h200", "prefill_mma"), ("h200", "decode_sm90")):
            browser.choose("peers-device", device)
            browser.choose("peers-kernel", kernel)
            browser.choose("peers-commit", "")
            for peer, look in looks().items():
                self.assertEqual(look, wanted[peer], f"{peer} beside {kernel}")
                seen.add(peer)
        self.assertEqual(seen, set(wanted))
        legend = browser.get("[...document.querySelectorAll('#peers-legend span')].map(s => [s.textContent.split(',')[0], s.querySelector('path').getAttribute('stroke')])")
        # In full, as pictures have them: "FlashInfer" for flashinfer_decode.
        titles = {"cudnn": "cuDNN", "xqa": "XQA", "flashinfer_decode": "FlashInfer"}
        self.assertEqual({name: colour for name, colour in legend if name in titles.values()},
                         {titles[name]: wanted[name][0] for name in looks()})

    def test_the_legend_says_that_stale_peers_are_hollow(self):
        kernel = browser.get("(p => [p.device, p.kernel])(raceline.page.data.peers.find(peer => peer.stale))")
        browser.choose("peers-device", kernel[0])
        browser.choose("peers-kernel", kernel[1])
        browser.choose("peers-commit", "")
        self.assertIn("stale: our kernel has changed since", browser.get("document.getElementById('peers-legend').textContent"))

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

    def test_peers_begin_with_what_todays_program_was_compared_with(self):
        defaults = "['device', 'kernel', 'commit'].map(name => document.getElementById(`peers-${name}`).value)"
        # A device that has more comparisons, all of an older program.
        browser.do("""const {data} = raceline.page, stale = data.peers.filter(p => p.stale), n = data.peers.length;
            for (let i = 0; i < 2 * n; i++) data.peers.unshift({...stale[i % stale.length], device: "older"});""")
        browser.choose("peers-device", "none")
        device, kernel, commit = browser.get(defaults)
        self.assertNotEqual(device, "older")
        of = f"raceline.page.data.peers.filter(p => p.device === {json.dumps(device)}"
        self.assertTrue(browser.get(f"{of} && p.kernel === {json.dumps(kernel)} && p.commit === {json.dumps(commit)}).every(p => !p.stale)"))
        # A kernel and a commit of it that have more, likewise.
        browser.do(f"""const {{data}} = raceline.page, some = {of} && p.stale);
            for (let i = 0; i < 2000; i++) data.peers.unshift({{...some[0], kernel: "old_kernel"}}, {{...some[0], kernel: {json.dumps(kernel)}, commit: "0".repeat(12)}});""")
        browser.choose("peers-device", "none")
        self.assertEqual(browser.get(defaults), [device, kernel, commit])
        # Where there are no others they are shown, and marked.
        browser.do("for (const peer of raceline.page.data.peers) peer.stale = true;")
        browser.choose("peers-device", "none")
        for words, where in (("are stale", "said"), ("stale: our kernel has changed since", "legend")):
            self.assertIn(words, browser.get(f"document.getElementById('peers-{where}').textContent"))

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


if __name__ == "__main__":
    unittest.main()
