# SPDX-License-Identifier: Apache-2.0
"""The what-if panel: one shape in every control, where rates come from, and answers to odd questions."""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from browser import PROGRAM, SOURCE, report, the_browser

# Positions of the sliders, as page/whatif.js has them.
QUERY_STEPS = [1, 2, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]


def setUpModule():
    global browser, folder, page
    folder = tempfile.TemporaryDirectory()
    page = pathlib.Path(folder.name) / "page.html"
    # The model needs no receipts.
    (pathlib.Path(folder.name) / "none.jsonl").write_text("")
    done = report(page, pathlib.Path(folder.name) / "none.jsonl")
    assert done.returncode == 2, done.stderr  # nothing else is on the page
    browser = the_browser()


def tearDownModule():
    folder.cleanup()


class WhatIf(unittest.TestCase):
    def setUp(self):
        browser.look()
        browser.open(page)
        browser.see("whatif-body", "document.getElementById('whatif-limiter')")

    def choose(self, identity, value):
        """What a reader does, until the panel has answered."""
        answered = browser.get("document.getElementById('whatif-body').dataset.answered")
        browser.choose(identity, value)
        browser.wait(f"document.getElementById('whatif-body').dataset.answered !== {json.dumps(answered)}")

    def shown(self):
        """What each of the controls says of the shape."""
        return browser.get("""(() => { const value = n => document.getElementById('whatif-' + n).value;
            const said = n => document.getElementById('whatif-' + n).parentElement.querySelector('output').textContent;
            return {text: value('shape'), suite: value('suite'), sliders: ['batch', 'heads', 'kv', 'q', 'k', 'd'].map(said),
                    choices: ['dtype', 'cache', 'page', 'mask'].map(value)}; })()""")

    def test_sliders_suites_and_the_typed_shape_agree(self):
        def agrees(text, sliders, choices):
            shown = self.shown()
            self.assertEqual((shown["text"], shown["sliders"], shown["choices"]), (text, sliders, choices))
            self.assertIn(shown["suite"], ("", text))
            return shown
        # Of a suite: everything follows.
        shape = browser.get("[...document.getElementById('whatif-suite').options].map(o => o.value).find(v => v.startsWith('b=16,h=16,q=1024,k=1024,d=128'))")
        self.choose("whatif-suite", shape)
        dtype = "bf16" if "bf16" in shape else "fp16"
        causal = "causal" if "causal" in shape else "full"
        self.assertEqual(agrees(shape, ["16", "16", "16", "1024", "1024", "128"], [dtype, "own", "0", causal])["suite"], shape)
        # One slider of it: the text has the new value, all else stays, and it is no suite's shape any more.
        self.choose("whatif-q", str(QUERY_STEPS.index(1)))
        moved = shape.replace("q=1024", "q=1")
        self.assertEqual(agrees(moved, ["16", "16", "16", "1", "1024", "128"], [dtype, "own", "0", causal])["suite"] in ("", moved), True)
        # Typed, with values that no slider has a step for and a page that no choice lists.
        self.choose("whatif-shape", "b=3,h=12/4,q=7,k=5000,d=72,dtype=fp16,kv=e4m3,page=32,causal")
        agrees("b=3,h=12/4,q=7,k=5000,d=72,dtype=fp16,kv=e4m3,page=32,causal", ["3", "12", "4", "7", "5000", "72"], ["fp16", "e4m3", "32", "causal"])
        # Fields that no control has stay when one is moved.
        self.choose("whatif-shape", "h=8/2,q=16,k=4096,d=64,dtype=bf16,window=512,softcap=30")
        self.choose("whatif-mask", "causal")
        self.assertEqual(sorted(self.shown()["text"].split(",")), sorted("h=8/2,q=16,k=4096,d=64,dtype=bf16,window=512,softcap=30,causal".split(",")))
        self.assertEqual(self.shown()["choices"][3], "causal")
        self.choose("whatif-dtype", "fp16")
        self.assertEqual(self.shown()["choices"][:2], ["fp16", "own"])
        self.choose("whatif-cache", "e4m3")
        self.assertIn("kv=e4m3", self.shown()["text"])
        self.choose("whatif-dtype", "bf16")
        self.assertEqual(self.shown()["choices"][:2], ["bf16", "e4m3"])
        # What the text says of a field that a control writes anew does not stay beside it.
        for typed, identity, value, text in (
                ("h=8,q=64,k=64,d=64,dtype=fp16,full", "whatif-mask", "causal", "h=8,q=64,k=64,d=64,dtype=fp16,causal"),
                ("h=8,q=64,k=64,d=64,dtype=bf16,kv=bf16", "whatif-dtype", "fp16", "h=8,q=64,k=64,d=64,dtype=fp16"),
                ("h=32/16,q=64,k=64,d=64,dtype=bf16", "whatif-heads", "5", "h=24/12,q=64,k=64,d=64,dtype=bf16")):
            self.choose("whatif-shape", typed)
            self.choose(identity, value)
            self.assertEqual(self.shown()["text"], text)
            self.assertEqual(browser.get("document.getElementById('whatif-shape').getAttribute('aria-invalid')"), "false")
        # More heads of K and V than query heads there cannot be.
        self.choose("whatif-heads", "0")
        self.assertEqual(self.shown()["sliders"][1:3], ["1", "1"])

    def test_a_shape_that_is_none_leaves_no_control_with_another(self):
        before = self.shown()["text"]
        self.choose("whatif-shape", "h=0")
        self.assertTrue(browser.get("document.getElementById('whatif-error').textContent.length > 10"))
        self.assertEqual(self.shown()["sliders"], ["—"] * 6)
        self.assertEqual(self.shown()["suite"], "")
        self.assertEqual(browser.get("document.getElementById('whatif-shape').getAttribute('aria-invalid')"), "true")
        # A slider takes up the shape before it.
        self.choose("whatif-q", str(QUERY_STEPS.index(2048)))
        self.assertEqual(self.shown()["text"], before.replace("q=1,", "q=2048,"))
        self.assertEqual(self.shown()["sliders"][3], "2048")
        self.assertEqual(browser.get("document.getElementById('whatif-shape').getAttribute('aria-invalid')"), "false")

    def test_sliders_move_a_shape_that_was_typed_in_other_words(self):
        # As --shape takes it: other names of fields, in another order.
        typed = "heads=32/8,seqlen_q=128,seqlen_k=128,headdim=128,batch=2,type=fp16"
        steps = {"batch": ("3", "b=8"), "heads": ("4", "h=16/8"), "kv": ("2", "h=32/4"), "q": ("0", "q=1"), "k": ("2", "k=256"), "d": ("1", "d=64")}
        for name, (step, wanted) in steps.items():
            self.choose("whatif-shape", typed)
            before = self.shown()["sliders"]
            self.choose(f"whatif-{name}", step)
            self.assertFalse(browser.get("Boolean(document.getElementById('whatif-error'))"), name)
            self.assertIn(wanted, self.shown()["text"].split(","))
            # What was not moved stays.
            place = list(steps).index(name)
            after = self.shown()["sliders"]
            self.assertEqual(after[:place] + after[place + 1:], before[:place] + before[place + 1:])
            self.assertNotEqual(after[place], before[place])
        for name, value in (("dtype", "bf16"), ("cache", "e4m3"), ("page", "64"), ("mask", "causal")):
            self.choose("whatif-shape", typed)
            self.choose(f"whatif-{name}", value)
            self.assertFalse(browser.get("Boolean(document.getElementById('whatif-error'))"), name)
            self.assertEqual(browser.get(f"document.getElementById('whatif-{name}').value"), value)

    def test_an_operation_has_sliders_of_its_own(self):
        sizes = """[...document.querySelectorAll('#whatif-sizes label')].map(l => [l.firstChild.textContent, l.querySelector('output').textContent])"""
        hidden = "['batch', 'heads', 'k', 'mask', 'dtype'].map(n => document.getElementById('whatif-' + n).parentElement.hidden)"
        self.choose("whatif-shape", "op=linear,m=64,n=4096,k=4096,dtype=bf16")
        self.assertEqual(browser.get(sizes), [["m", "64"], ["n", "4096"], ["k", "4096"]])
        self.assertEqual(browser.get(hidden), [True, True, True, True, False])
        self.assertEqual(self.shown()["choices"][0], "bf16")
        self.assertEqual(browser.get("document.getElementById('whatif-limiter').textContent"), "dram")
        self.choose("whatif-size-m-0", "13")
        self.assertEqual(self.shown()["text"], "op=linear,m=8192,n=4096,k=4096,dtype=bf16")
        self.assertIn("wgmma", browser.get("document.getElementById('whatif-limiter').textContent"))
        self.choose("whatif-dtype", "fp32")
        self.assertEqual(self.shown()["text"], "op=linear,m=8192,n=4096,k=4096,dtype=fp32")
        # A grid has two sizes; the second one alone moves.
        self.choose("whatif-shape", "op=rmsnorm,n=8192x4096,dtype=bf16")
        self.assertEqual(browser.get(sizes)[:2], [["rows", "8192"], ["width", "4096"]])
        self.choose("whatif-size-n-1", "10")
        self.assertIn("n=8192x1024", self.shown()["text"])
        # Attention has its own back.
        self.choose("whatif-shape", "h=8,q=64,k=64,d=64,dtype=fp16")
        self.assertEqual(browser.get(hidden), [False] * 5)
        self.assertTrue(browser.get("document.getElementById('whatif-sizes').hidden"))
        self.assertEqual(self.shown()["sliders"], ["1", "8", "8", "64", "64", "64"])
        self.assertEqual(browser.complaints(), [])

    def test_two_sliders_that_move_at_once_both_count(self):
        self.choose("whatif-shape", "b=2,h=32/8,q=128,k=128,d=128,dtype=fp16")
        answered = browser.get("document.getElementById('whatif-body').dataset.answered")
        browser.do("""for (const [name, step] of [["batch", "3"], ["k", "2"]]) {
            const slider = document.getElementById("whatif-" + name);
            slider.value = step;
            slider.dispatchEvent(new Event("input", {bubbles: true})); }""")
        browser.wait(f"Number(document.getElementById('whatif-body').dataset.answered) > Number({json.dumps(answered)}) + 1")
        self.assertEqual(self.shown()["sliders"], ["8", "32", "8", "128", "256", "128"])

    def test_a_browser_that_refuses_the_model_is_told_of(self):
        # Before the page's own scripts, which may ask for the model at once.
        added = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {
            "source": "WebAssembly.instantiate = () => Promise.reject(new Error('refused by a test'))"})
        self.addCleanup(browser.driver.execute_cdp_cmd, "Page.removeScriptToEvaluateOnNewDocument", added)
        browser.open(page)
        browser.see("whatif-body", "document.getElementById('whatif-refused')")
        self.assertIn("refused by a test", browser.get("document.getElementById('whatif-refused').textContent"))
        self.assertEqual(browser.complaints(), [])

    def test_lengths_of_their_own_and_latent_caches_hold_their_sliders(self):
        self.choose("whatif-shape", "h=128,q=1,k=8192,mla=512+64,dtype=fp16")
        self.assertEqual(browser.get("['kv', 'd', 'q'].map(n => document.getElementById('whatif-' + n).disabled)"), [True, True, False])
        self.choose("whatif-k", "0")
        self.assertIn("k=64", self.shown()["text"])
        self.assertIn("mla=512+64", self.shown()["text"])

    def test_it_says_whose_the_rates_are(self):
        def origin():
            return browser.get("document.getElementById('whatif-origin').textContent")
        self.choose("whatif-device", "gh200")
        self.assertIn("None of its rates was measured on this device: byte.", origin())
        self.assertNotIn("datasheet's are", origin())
        self.assertRegex(origin(), r"byte\.dram_read \(datasheet x 0\.\d\d of h200\)")
        self.assertIn("op.issue (datasheet)", origin())
        browser.do("document.getElementById('whatif-rates').open = true")
        self.assertRegex(browser.get("document.getElementById('ceiling-byte.dram_read').parentElement.textContent"), r"datasheet x 0\.\d\d of h200")
        self.choose("whatif-device", "mi300x")  # no kernel runs there: the bound's
        self.assertIn("(datasheet)", origin())
        self.choose("whatif-device", "h200")
        self.assertNotIn("None of its rates", origin())
        self.assertNotIn("byte.dram_read", origin())
        self.choose("ceiling-byte.dram_read", "-1")
        self.assertIn("Ceilings that were moved are assumed", origin())

    def test_the_limiter_has_a_bar_or_a_sentence_that_says_where_it_is(self):
        bold = "[...document.querySelectorAll(`#whatif-${arguments[0]} strong`)].map(name => name.textContent)"
        where = "document.getElementById('whatif-limiter-where')?.textContent ?? ''"
        def limiter():
            return browser.get("document.getElementById('whatif-limiter').textContent")
        # A resource with bars in both lists.
        self.choose("whatif-shape", "b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16")
        self.assertEqual([limiter(), browser.get(bold, "terms"), browser.get(bold, "resources"), browser.get(where)], ["dram", ["dram"], ["dram"], ""])
        # What is waited for is a term and no resource.
        self.choose("whatif-shape", "h=4,q=2048,k=2048,d=64,dtype=fp32")
        self.assertEqual([limiter(), browser.get(bold, "terms"), browser.get(bold, "resources")], ["latency", ["latency"], []])
        self.assertEqual(browser.get(where), "The limiter latency is no resource and has no ceiling; its bar, with its name in bold, is among the terms.")
        # A resource of which the work is counted within another's.
        self.choose("whatif-shape", "b=32,h=32,q=512,k=512,d=64,dtype=bf16")
        self.choose("ceiling-byte.l2_link", "-3")
        self.assertEqual([limiter(), browser.get(bold, "terms"), browser.get(bold, "resources")], ["byte.l2_link", ["byte.l2_link"], []])
        self.assertIn("The work of the limiter byte.l2_link is not counted by itself here; its bar", browser.get(where))

    def test_a_ceiling_that_was_moved_does_not_keep_its_origin(self):
        def origin():
            return browser.get("document.getElementById('ceiling-byte.dram_read').parentElement.querySelector('.origin').textContent")
        self.choose("whatif-device", "h200")
        before = origin()
        self.choose("ceiling-byte.dram_read", "-1")
        self.assertRegex(origin(), f"^assumed: 0.5 times [0-9.]+ TB/s, which is {before}$")
        self.choose("ceiling-byte.dram_read", "0")
        self.assertEqual(origin(), before)

    def test_rates_that_a_row_of_the_page_measured_are_no_datasheets(self):
        own = pathlib.Path(folder.name) / "own.html"
        done = report(own, "receipts/cpu/2026-11-25-quickstart-10ce1dc4c1bd.jsonl.gz")
        self.assertEqual(done.returncode, 0, done.stderr)
        browser.open(own)
        browser.see("whatif-body", "document.getElementById('whatif-limiter')")
        self.choose("whatif-device", "cpu (AMD EPYC)")
        self.assertEqual(browser.get("document.getElementById('whatif-origin').textContent"),
                         "Its rates were measured on this device, as rows of this page say.")
        browser.do("document.getElementById('whatif-rates').open = true")
        self.assertIn("measured on this device", browser.get("document.getElementById('ceiling-byte.dram_read').parentElement.textContent"))
        self.choose("whatif-device", "cpu")  # of which nothing is measured
        self.assertEqual(browser.get("document.getElementById('whatif-device').selectedOptions[0].textContent"), "cpu (generic)")
        self.assertIn("None of its rates was measured on this device", browser.get("document.getElementById('whatif-origin').textContent"))

    def test_one_kernel_that_does_not_serve_a_shape_says_nothing_of_the_others(self):
        def said(part):
            return browser.get("document.getElementById(arguments[0]).textContent", part)
        self.choose("whatif-which", "cpu_flash")
        self.assertIn("cpu_flash does not serve this shape on this device: ", said("whatif-verdict"))
        self.assertNotIn("No kernel", said("whatif-verdict"))
        self.assertIn("1 kernel that does not serve it", said("whatif-others"))
        self.assertIn("Its bound's rates were measured", said("whatif-origin"))
        self.choose("whatif-which", "")
        self.choose("whatif-device", "mi300x")
        self.assertIn("No kernel serves this shape on this device", said("whatif-verdict"))

    # Of kernels and devices of all kinds.
    def test_it_names_the_kernel_that_the_api_runs(self):
        rungs = set(browser.get("raceline.page.data.what_if.kernels.filter(([, , ladder]) => ladder).map(([name]) => name)"))
        faster_rungs = 0
        for device, shape in (("h200", "b=64,h=32/8,q=1,k=8192,d=128,dtype=bf16"), ("h200", "b=1,h=1,q=1,k=64,d=64,dtype=fp16"), ("h200", "b=2,h=8,q=1024,k=1024,d=64,dtype=fp32"),
                              ("cpu", "b=1,h=8,q=512,k=512,d=64,dtype=fp32"),
                              ("rtx4090", "b=4,h=16,q=1024,k=1024,d=128,dtype=fp16")):
            self.choose("whatif-device", device)
            self.choose("whatif-shape", shape)
            kernel, verdict = browser.get("['kernel', 'verdict'].map(name => document.getElementById(`whatif-${name}`).textContent)")
            said = subprocess.run([PROGRAM, "predict", "--device", device, "--shape", shape], cwd=SOURCE, capture_output=True, text=True)
            self.assertEqual(said.returncode, 0, said.stderr)
            if device != "cpu":  # whose prediction is of the machine at hand
                self.assertEqual(kernel, re.search(r"^kernel +(\w+), which the API runs", said.stdout, re.M)[1], (device, shape))
                tile = re.search(r"^tile +(.+(?:\n +.+)*)", said.stdout, re.M)[1]
                self.assertIn(f"(tile {''.join(tile.split())})", verdict)
            self.assertNotIn(kernel, rungs)
            self.assertIn(f"The API runs {kernel} here", verdict)
            asked = browser.get("raceline.ask({shape: arguments[0], device: raceline.assumedDevice(), kernel: '', cold: true, launch_path: 'graph'})", shape)
            self.assertEqual(asked["call"], kernel)
            least = min((one for one in asked["kernels"] if one.get("seconds")), key=lambda one: one["seconds"])
            faster_rungs += least["kernel"] in rungs
            listed = browser.get("[...document.querySelectorAll('#whatif-kernels tbody tr:not(.rest)')].map(row => row.cells[0].textContent)")
            self.assertEqual(listed[0], kernel)
            self.assertEqual(set(listed) & rungs, set())
            # Rungs are apart, and marked as what they are.
            taught = browser.get("[...document.querySelectorAll('#whatif-rungs tbody tr:not(.rest)')].map(row => row.cells[0].textContent)")
            self.assertLessEqual(set(taught), rungs)
            self.assertEqual(len(listed) + len(taught), sum("seconds" in one for one in asked["kernels"]))
            if taught:
                self.assertRegex(browser.get("document.querySelector('#whatif-rungs summary').textContent"), "^[0-9]+ rungs? of the ladder, for teaching; the API does not run")
        self.assertGreater(faster_rungs, 0)

    def test_it_stays_first_where_the_models_own_time_of_another_is_shorter(self):
        self.assertFalse(browser.get("Boolean(document.getElementById('whatif-shorter'))"))
        browser.do("""const {model} = raceline.whatIf, real = model.ccall;
            model.ccall = (...asked) => { const answer = JSON.parse(real.apply(model, asked));
                answer.kernels.find(one => one.kernel === answer.call).seconds *= 100;
                return JSON.stringify(answer); };""")
        self.choose("whatif-k", "6")
        kernel = browser.get("document.getElementById('whatif-kernel').textContent")
        listed = browser.get("[...document.querySelectorAll('#whatif-kernels tbody tr:not(.rest)')].map(row => row.cells[0].textContent)")
        self.assertGreater(len(listed), 2)
        self.assertEqual(listed[0], kernel)
        self.assertIn(f"time of {listed[1]} and of {listed[2]}", browser.get("document.getElementById('whatif-shorter').textContent"))

    def test_a_rung_that_is_chosen_says_what_it_is(self):
        self.choose("whatif-shape", "b=1,h=8,q=1024,k=1024,d=64,dtype=fp32")
        self.choose("whatif-which", "tiled")
        verdict = browser.get("document.getElementById('whatif-verdict').textContent")
        self.assertRegex(verdict, "^tiled takes .*It is a rung of the ladder: the API runs it only where it is named")
        self.assertFalse(browser.get("Boolean(document.getElementById('whatif-rungs'))"))

    def test_what_was_opened_stays_open_while_sliders_move(self):
        self.choose("whatif-shape", "b=1,h=8,q=1024,k=1024,d=64,dtype=fp32")
        browser.do("document.getElementById('whatif-rungs').open = true")
        self.choose("whatif-k", "6")
        self.assertTrue(browser.get("document.getElementById('whatif-rungs').open"))
        self.assertTrue(browser.get("(f => f.clientWidth > 0 && f.scrollWidth <= f.clientWidth)(document.querySelector('#whatif-rungs .scroll'))"))

    def test_the_bound_follows_a_scaled_ceiling(self):
        def bound():
            value, unit = browser.get("document.getElementById('whatif-bound').textContent").split()
            return float(value) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[unit]
        for device in ("gh200", "h200"):  # a datasheet's rates, and measured ones
            self.choose("whatif-device", device)
            for rate in ("byte.dram_read", "byte.dram_write"):
                self.choose(f"ceiling-{rate}", "0")
            first = bound()
            self.choose("ceiling-byte.dram_write", "-1")
            self.choose("ceiling-byte.dram_read", "-1")
            self.assertAlmostEqual(bound() / first, 2, delta=0.01)
            # No kernel is faster than what no program beats.
            seconds = browser.get("raceline.ask({...{shape: document.getElementById('whatif-shape').value, device: raceline.assumedDevice(), kernel: '', cold: true, launch_path: 'graph'}})")
            self.assertGreaterEqual(seconds["kernels"][0]["seconds"], seconds["bound"]["seconds"])

    def test_ceilings_out_of_all_reason_break_nothing(self):
        for value in (5e-324, 1e308):
            browser.do("""for (const device of Object.values(raceline.page.data.what_if.devices))
                              for (const rate of Object.values(device.rates)) rate.value = arguments[0];""", value)
            self.choose("whatif-device", "h100-sxm")
            said = browser.get("document.getElementById('whatif-body').textContent")
            self.assertNotRegex(said, "NaN|Infinity|undefined|null")
        for shape in ("b=1e308,h=1,q=1,k=64,d=64", "h=1,q=5e-324,k=64,d=64", f"h=1,q={2 ** 62},k={2 ** 62},d=64", "softcap=1e308,h=1,q=1,k=64,d=64"):
            self.choose("whatif-shape", shape)
            self.assertNotRegex(browser.get("document.getElementById('whatif-body').textContent"), "NaN|Infinity|undefined|null")
        self.assertEqual(browser.complaints(), [])


if __name__ == "__main__":
    unittest.main()
